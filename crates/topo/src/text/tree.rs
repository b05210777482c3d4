//! The machine as a tree, as `lstopo` prints it but in OS ids: machine > package > NUMA node > L3 > cores > PUs, with each
//! device, and each node without CPUs, under the largest place whose PUs are its local ones.
//!
//! Places nest by their PUs: where an L3 spans several nodes they are below it. Cores that have as many PUs are one line.
//! Left out, because the model has not got them: groups, L1 and L2, bridges.

use stats::IdSet;
use stats::units::rounded_size;

use super::gpus::{link, name};
use super::layout::{count, cut, ids, wrapped};
use super::nics::name as nic_name;
use crate::model::{Core, Locality, NodeKind, NumaNode, Rung, Topology};
use crate::survey::Survey;

/// The most of a name that is shown.
const NAME_COLUMNS: usize = 40;

/// A place and what is in it.
struct Place<'t> {
    words: String,
    pus: IdSet,
    /// Nodes without CPUs, and devices.
    leaves: Vec<String>,
    cores: Vec<&'t Core>,
    inside: Vec<Place<'t>>,
}

/// The whole tree.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let mut machine = filled(topology);
    let spare: IdSet =
        topology.nodes.iter().filter(|node| node.kind == NodeKind::Empty).map(|node| node.os_index).collect();
    for node in topology.nodes.iter().filter(|node| !is_place(node) && node.kind != NodeKind::Empty) {
        machine.innermost(&node.pus).leaves.push(node_words(topology, node));
    }
    if !spare.is_empty() {
        let noun = if spare.len() == 1 { "node" } else { "nodes" };
        machine.leaves.push(format!("{noun} {}  without memory and CPUs", ids(&spare)));
    }
    for gpu in &topology.gpus {
        let mut words = format!("GPU {}  {}  {}", gpu.index, gpu.pci, cut(&name(gpu), NAME_COLUMNS));
        match (topology.host_link(gpu), &gpu.link) {
            (Some(other), _) => words += &format!("  {}", other.name),
            (None, Some(now)) => words += &format!("  {}", link(now)),
            (None, None) => {}
        }
        machine.device(&gpu.locality, words);
    }
    for nic in &survey.nics {
        let mut words = format!("NIC  {}  {}", nic.pci, cut(&nic_name(nic), NAME_COLUMNS));
        if !nic.os_devices.is_empty() {
            words += &format!("  {}", cut(&nic.os_devices.join(", "), NAME_COLUMNS));
        }
        if let Some(now) = &nic.link {
            words += &format!("  {}", link(now));
        }
        machine.device(&nic.locality, words);
    }
    let mut lines = Vec::new();
    machine.write(topology, "", width, &mut lines);
    lines
}

/// The places with their cores.
fn filled(topology: &Topology) -> Place<'_> {
    let place = |words: String, pus: &IdSet| Place {
        words,
        pus: pus.clone(),
        leaves: Vec::new(),
        cores: Vec::new(),
        inside: Vec::new(),
    };
    let packages = topology.packages.iter().map(|package| {
        let id = package.os_index.map_or_else(|| "?".to_owned(), |id| id.to_string());
        place(format!("package {id}  {}", package.cpu_model.as_deref().unwrap_or("")), &package.pus)
    });
    let nodes =
        topology.nodes.iter().filter(|node| is_place(node)).map(|node| place(node_words(topology, node), &node.pus));
    let l3s = topology.l3s.iter().map(|l3| {
        let size = l3.size_bytes.map_or_else(String::new, |bytes| format!(" {}", rounded_size(bytes)));
        place(format!("L3{size}"), &l3.pus)
    });
    let mut places: Vec<Place<'_>> = packages.chain(nodes).chain(l3s).filter(|place| !place.pus.is_empty()).collect();
    // The largest first, so that each finds what it lies in already there; equals stay in the order above, one in the other.
    places.sort_by_key(|place| (std::cmp::Reverse(place.pus.len()), place.pus.first()));

    let online: IdSet = topology.cores.iter().flat_map(|core| core.pus.iter()).collect();
    let host = topology.hostname.as_deref().unwrap_or("machine");
    let (cores, pus) = (count(topology.cores.len(), "core"), count(online.len(), "PU"));
    let mut machine = place(format!("{host}  {cores}, {pus}"), &online);
    for place in places {
        machine.within(&place.pus).inside.push(place);
    }
    for core in &topology.cores {
        machine.within(&core.pus).cores.push(core);
    }
    machine
}

fn is_place(node: &NumaNode) -> bool {
    matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly) && !node.pus.is_empty()
}

fn node_words(topology: &Topology, node: &NumaNode) -> String {
    let what = match (node.kind, &node.subtype, topology.gpu_of_memory(node.os_index)) {
        (NodeKind::Normal, ..) => String::new(),
        (NodeKind::CpuOnly, ..) => "  without memory".to_owned(),
        (NodeKind::MemoryOnly, Some(subtype), _) => format!("  {}, without CPUs", cut(subtype, NAME_COLUMNS)),
        (NodeKind::MemoryOnly, None, _) => "  without CPUs".to_owned(),
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

impl<'t> Place<'t> {
    /// The smallest place that holds these PUs.
    fn within(&mut self, pus: &IdSet) -> &mut Self {
        match self.inside.iter().position(|place| pus.is_subset(&place.pus)) {
            Some(at) => self.inside[at].within(pus),
            None => self,
        }
    }

    /// The largest place that has just these PUs, else the smallest that holds them; the machine for none.
    fn innermost(&mut self, pus: &IdSet) -> &mut Self {
        if pus.is_empty() || self.pus == *pus {
            return self;
        }
        match self.inside.iter().position(|place| pus.is_subset(&place.pus)) {
            Some(at) => self.inside[at].innermost(pus),
            None => self,
        }
    }

    /// Hangs a device where its locality says, and says so where it does not.
    fn device(&mut self, locality: &Locality, mut words: String) {
        let local = locality.pus.or(&locality.outside_pus);
        if locality.rung == Rung::Unknown {
            words += "  (locality unknown)";
        } else if local.is_empty() {
            words += &format!("  (near node {}, which has no PUs)", ids(&locality.nodes.or(&locality.outside_nodes)));
        }
        self.innermost(&local).leaves.push(words);
    }

    fn write(&self, topology: &Topology, indent: &str, width: usize, lines: &mut Vec<String>) {
        lines.push(cut(format!("{indent}{}", self.words).trim_end(), width));
        let deeper = format!("{indent}  ");
        for cores in self.cores.chunk_by(|one, next| one.pus.len() == next.pus.len()) {
            let (lead, text) = core_words(topology, cores);
            lines.extend(wrapped(&format!("{deeper}{lead}"), &text, width));
        }
        let mut inside: Vec<&Self> = self.inside.iter().collect();
        inside.sort_by_key(|place| place.pus.first());
        inside.iter().for_each(|place| place.write(topology, &deeper, width, lines));
        lines.extend(self.leaves.iter().flat_map(|leaf| wrapped(&deeper, leaf, width)));
    }
}

/// Cores with as many PUs each: `cores 0-7 x 2 PUs  ` and `0-7,64-71; allowed 1-7,65-71`.
fn core_words(topology: &Topology, cores: &[&Core]) -> (String, String) {
    let pus: IdSet = cores.iter().flat_map(|core| core.pus.iter()).collect();
    let numbers: Option<IdSet> =
        cores.iter().map(|core| core.os_index).collect::<Option<Vec<u32>>>().map(|all| all.into_iter().collect());
    let noun = if cores.len() == 1 { "core" } else { "cores" };
    let which = match numbers.filter(|numbers| numbers.len() == cores.len()) {
        Some(numbers) => format!("{noun} {}", ids(&numbers)),
        None => format!("{} {noun}", cores.len()),
    };
    let threads = cores.first().map_or(0, |core| core.pus.len());
    let each = if threads == 1 { String::new() } else { format!(" x {threads}") };
    let allowed = pus.and(&topology.allowed.pus);
    let allowed = match (allowed == pus, allowed.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "; none allowed".to_owned(),
        (false, false) => format!("; allowed {}", ids(&allowed)),
    };
    let noun = if pus.len() == 1 { "PU" } else { "PUs" };
    (format!("{which}{each}  "), format!("{noun} {}{allowed}", ids(&pus)))
}
