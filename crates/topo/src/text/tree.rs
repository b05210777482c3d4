//! The machine as a tree, as `lstopo` prints it but in OS ids: machine > package > NUMA node > L3 > cores >
//! PUs, with each device, and each node without CPUs, under the largest place whose PUs are its local ones.
//!
//! Places nest by their PUs: where an L3 spans several nodes they are below it. Cores that have as many PUs
//! are one line. Left out, because the model has not got them: groups, L1 and L2, bridges.

use stats::IdSet;
use stats::units::rounded_size;

use super::gpus::{link, name};
use super::layout::{count, cut, ids, named, wrapped};
use super::nics::name as nic_name;
use crate::model::{Core, Gpu, Locality, NodeKind, NumaNode, Rung, Topology, Unsaid};
use crate::nest::{Place, PlaceKind};
use crate::nics::Nic;
use crate::survey::Survey;

/// The most of a name that is shown.
const NAME_COLUMNS: usize = 40;

/// The whole tree.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let mut machine = Place::nested(topology);
    for node in topology.nodes.iter().filter(|node| node.own_pus().is_empty() && node.kind != NodeKind::Empty)
    {
        innermost(&mut machine, &node.pus).inside.push(Place::new(PlaceKind::Node(node), IdSet::default()));
    }

    for gpu in &topology.gpus {
        innermost(&mut machine, &gpu.locality.all_pus()).gpus.push(gpu);
    }
    for nic in &survey.nics {
        innermost(&mut machine, &nic.locality.all_pus()).nics.push(nic);
    }
    machine.sort();
    let mut lines = Vec::new();
    write(&machine, topology, "", width, &mut lines);
    lines
}

/// The largest place that has just these PUs, else the smallest that holds them; the machine for none.
fn innermost<'p, 't>(machine: &'p mut Place<'t>, pus: &IdSet) -> &'p mut Place<'t> {
    if pus.is_empty() || machine.pus == *pus { machine } else { machine.around(pus) }
}

fn write(place: &Place<'_>, topology: &Topology, indent: &str, width: usize, lines: &mut Vec<String>) {
    lines.push(cut(format!("{indent}{}", place_words(topology, place)).trim_end(), width));
    let deeper = format!("{indent}  ");
    for cores in place.cores.chunk_by(|one, next| one.pus.len() == next.pus.len()) {
        let (lead, text) = core_words(topology, cores);
        lines.extend(wrapped(&format!("{deeper}{lead}"), &text, width));
    }

    let (bare, with_pus): (Vec<&Place<'_>>, Vec<_>) =
        place.inside.iter().partition(|part| part.pus.is_empty());
    with_pus.into_iter().for_each(|part| write(part, topology, &deeper, width, lines));

    // Packages of which no PU is shown are left out.
    let nodes = bare.into_iter().filter(|part| matches!(part.kind, PlaceKind::Node(_)));
    let nodes = nodes.map(|part| place_words(topology, part));
    let spare = matches!(place.kind, PlaceKind::Machine).then(|| spare_words(topology)).flatten();
    let gpus = place.gpus.iter().map(|gpu| gpu_words(topology, gpu));
    let leaves = nodes.chain(spare).chain(gpus).chain(place.nics.iter().map(|nic| nic_words(nic)));
    lines.extend(leaves.flat_map(|leaf| wrapped(&deeper, &leaf, width)));
}

fn place_words(topology: &Topology, place: &Place<'_>) -> String {
    match place.kind {
        PlaceKind::Machine => {
            let host = topology.hostname.as_deref().unwrap_or("machine");
            let cores = match topology.source.unsaid().contains(&Unsaid::Cores) {
                true => "? cores".to_owned(),
                false => count(topology.cores.len(), "core"),
            };
            format!("{host}  {cores}, {}", count(place.pus.len(), "PU"))
        }
        PlaceKind::Package(package) => {
            let id = package.os_index.map_or_else(|| "?".to_owned(), |id| id.to_string());
            format!("package {id}  {}", package.cpu_model.as_deref().unwrap_or(""))
        }
        PlaceKind::Node(node) => node_words(topology, node),
        PlaceKind::L3(l3) => {
            format!(
                "L3{}",
                l3.size_bytes.map_or_else(String::new, |bytes| format!(" {}", rounded_size(bytes)))
            )
        }
    }
}

fn spare_words(topology: &Topology) -> Option<String> {
    let spare = topology.nodes.iter().filter(|node| node.kind == NodeKind::Empty);
    let spare: IdSet = spare.map(|node| node.os_index).collect();
    (!spare.is_empty()).then(|| format!("{}  without memory and CPUs", named("node", &spare)))
}

fn gpu_words(topology: &Topology, gpu: &Gpu) -> String {
    let link = match (topology.host_link(gpu), &gpu.link) {
        (Some(other), _) => format!("  {}", other.name),
        (None, Some(now)) => format!("  {}", link(now)),
        (None, None) => String::new(),
    };
    let place = doubt(&gpu.locality);
    format!("GPU {}  {}  {}{link}{place}", gpu.index, gpu.pci, cut(&name(gpu), NAME_COLUMNS))
}

fn nic_words(nic: &Nic) -> String {
    let mut words = format!("NIC  {}  {}", nic.pci, cut(&nic_name(nic), NAME_COLUMNS));
    if !nic.os_devices.is_empty() {
        words += &format!("  {}", cut(&nic.os_devices.join(", "), NAME_COLUMNS));
    }
    if let Some(now) = &nic.link {
        words += &format!("  {}", link(now));
    }
    words + &doubt(&nic.locality)
}

/// What is to say of a device that is under no place of its own.
fn doubt(locality: &Locality) -> String {
    if locality.rung == Rung::Unknown {
        "  (locality unknown)".to_owned()
    } else if locality.all_pus().is_empty() {
        format!("  (near node {}, which has no PUs)", ids(&locality.all_nodes()))
    } else {
        String::new()
    }
}

fn node_words(topology: &Topology, node: &NumaNode) -> String {
    let cpus = if topology.hides_cpus_of(node) { "CPUs not shown" } else { "without CPUs" };
    let what = match (node.kind, &node.subtype, topology.gpu_of_memory(node.os_index)) {
        (NodeKind::Normal, ..) => String::new(),
        (NodeKind::CpuOnly, ..) => "  without memory".to_owned(),
        (NodeKind::MemoryOnly, Some(subtype), _) => format!("  {}, {cpus}", cut(subtype, NAME_COLUMNS)),
        (NodeKind::MemoryOnly, None, _) => format!("  {cpus}"),
        (NodeKind::GpuMemory, _, Some(gpu)) => format!("  the memory of GPU {}", gpu.index),
        (NodeKind::GpuMemory, _, None) => "  the memory of a GPU".to_owned(),
        (NodeKind::Empty, ..) => "  without memory and CPUs".to_owned(),
    };

    let size = match node.total_bytes {
        0 => String::new(),
        bytes => format!("  {}", rounded_size(bytes)),
    };
    let allowed = if node.allowed || node.total_bytes == 0 { "" } else { "  not allowed here" };
    format!("node {}{size}{what}{allowed}", node.os_index)
}

/// Cores with as many PUs each: `cores 0-7 x 2 PUs  ` and `0-7,64-71; allowed 1-7,65-71`.
fn core_words(topology: &Topology, cores: &[&Core]) -> (String, String) {
    let pus: IdSet = cores.iter().flat_map(|core| core.pus.iter()).collect();
    let numbers: Option<IdSet> = cores
        .iter()
        .map(|core| core.os_index)
        .collect::<Option<Vec<u32>>>()
        .map(|all| all.into_iter().collect());
    let which = match numbers.filter(|numbers| numbers.len() == cores.len()) {
        Some(numbers) => named("core", &numbers),
        None => count(cores.len(), "core"),
    };
    let threads = cores.first().map_or(0, |core| core.pus.len());
    let each = if threads == 1 { String::new() } else { format!(" x {threads}") };
    let allowed = pus.and(&topology.allowed.pus);
    let allowed = match (allowed == pus, allowed.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "; none allowed".to_owned(),
        (false, false) => format!("; allowed {}", ids(&allowed)),
    };

    (format!("{which}{each}  "), format!("{}{allowed}", named("PU", &pus)))
}
