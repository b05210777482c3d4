//! The tree: places within places, each with the PUs that the cores below it have, and each device and each
//! node without CPUs where it is near.

use std::error::Error;

use stats::IdSet;
use stats::units::rounded_size;
use topo::model::{Locality, NodeKind, NumaNode, Rung, Topology};
use topo::text;

use crate::file::{Outcome, each};
use crate::page::{WIDE, cut, listed, with_noun};
use crate::words::{gpu_name, link_words, nic_name, other_link};

/// A line of the tree, and the PUs of the cores on it and below it.
struct Line<'t> {
    depth: usize,
    words: &'t str,
    pus: IdSet,
    /// The line that it hangs from.
    above: Option<usize>,
}

fn lines(tree: &str) -> Result<Vec<Line<'_>>, Box<dyn Error>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for line in tree.lines().take_while(|line| !line.is_empty()) {
        let words = line.trim_start();
        let depth = (line.len() - words.len()) / 2;
        let above = lines.iter().rposition(|other| other.depth < depth);
        let is_core = words.starts_with("core") && depth > 0;
        let list = words.split_once("  PU").filter(|_| is_core).map(|(_, list)| list.trim_start_matches('s'));
        let pus: IdSet = list
            .map_or(Ok(IdSet::default()), |list| list.split(';').next().unwrap_or_default().trim().parse())?;
        let mut at = above;
        while let Some(place) = at {
            lines[place].pus = lines[place].pus.or(&pus);
            at = lines[place].above;
        }
        lines.push(Line { depth, words, pus, above });
    }
    Ok(lines)
}

#[test]
fn each_package_node_and_l3_is_in_the_tree_once_with_its_own_cores() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let tree = text::tree(machine.survey, WIDE);
        let lines = lines(&tree)?;
        let is_place = |node: &&NumaNode| matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly);
        let packages = topology.packages.iter().filter(|package| !package.pus.is_empty()).map(|package| {
            let id = package.os_index.map_or("?".to_owned(), |id| id.to_string());
            let words = format!("package {id}  {}", package.cpu_model.as_deref().unwrap_or_default());
            (words.trim_end().to_owned(), package.pus.clone())
        });
        let nodes = topology.nodes.iter().filter(is_place);
        let nodes = nodes.map(|node| (node_words(topology, node), node.pus.clone()));
        let l3s = topology.l3s.iter().map(|l3| {
            let size = l3.size_bytes.map_or(String::new(), |bytes| format!(" {}", rounded_size(bytes)));
            (format!("L3{size}"), l3.pus.clone())
        });
        let mut expected: Vec<(String, IdSet)> = packages.chain(nodes).chain(l3s).collect();
        let kinds = ["package ", "node ", "L3"];
        let places = lines.iter().filter(|line| kinds.iter().any(|kind| line.words.starts_with(kind)));
        let places = places.filter(|line| !line.pus.is_empty());
        let mut shown: Vec<(String, IdSet)> =
            places.map(|line| (line.words.to_owned(), line.pus.clone())).collect();
        let key = |(words, pus): &(String, IdSet)| (words.clone(), pus.0.clone());
        expected.sort_by_key(key);
        shown.sort_by_key(key);
        assert_eq!(shown, expected, "{}\n{tree}", machine.name);
        let cores: usize = topology.cores.iter().map(|core| core.pus.len()).sum();
        let host = topology.hostname.as_deref().unwrap_or("machine");
        let first =
            format!("{host}  {}, {}", with_noun(topology.cores.len(), "core"), with_noun(cores, "PU"));
        assert_eq!((lines[0].words, lines[0].pus.len()), (&*first, cores), "{}", machine.name);
        // What lies in something larger hangs from it.
        for line in lines.iter().filter(|line| !line.pus.is_empty()) {
            let around = line.above.map_or(&lines[0].pus, |above| &lines[above].pus);
            assert!(line.pus.is_subset(around), "{}: {}", machine.name, line.words);
        }
        Ok(())
    })
}

#[test]
fn each_core_is_in_the_tree_once_with_what_of_it_may_be_used() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let tree = text::tree(machine.survey, WIDE);
        let mut left = IdSet(topology.cores.iter().flat_map(|core| core.pus.iter()).collect());
        for line in lines(&tree)?.iter().filter(|line| line.words.starts_with("core") && line.depth > 0) {
            let cores: Vec<_> =
                topology.cores.iter().filter(|core| !core.pus.and(&line.pus).is_empty()).collect();
            assert!(line.pus.is_subset(&left), "{}: twice: {}", machine.name, line.words);
            left = left.minus(&line.pus);
            let each = cores[0].pus.len();
            assert!(cores.iter().all(|core| core.pus.len() == each), "{}: {}", machine.name, line.words);
            let numbers: IdSet = cores.iter().filter_map(|core| core.os_index).collect();
            let noun = if cores.len() == 1 { "core" } else { "cores" };
            let which = if numbers.len() == cores.len() {
                format!("{noun} {}", listed(&numbers))
            } else {
                format!("{} {noun}", cores.len())
            };
            let each = if each == 1 { String::new() } else { format!(" x {each}") };
            let usable = line.pus.and(&topology.allowed.pus);
            let usable = match (usable == line.pus, usable.is_empty()) {
                (true, _) => String::new(),
                (_, true) => "; none allowed".to_owned(),
                _ => format!("; allowed {}", listed(&usable)),
            };
            let noun = if line.pus.len() == 1 { "PU" } else { "PUs" };
            assert_eq!(
                line.words,
                format!("{which}{each}  {noun} {}{usable}", listed(&line.pus)),
                "{}",
                machine.name
            );
        }
        assert_eq!(left, IdSet::default(), "{}: not in the tree", machine.name);
        Ok(())
    })
}

fn node_words(topology: &Topology, node: &NumaNode) -> String {
    let size =
        if node.total_bytes == 0 { String::new() } else { format!("  {}", rounded_size(node.total_bytes)) };
    let what = match (node.kind, &node.subtype) {
        (NodeKind::CpuOnly, _) => "  without memory".to_owned(),
        (NodeKind::MemoryOnly, Some(subtype)) => format!("  {subtype}, without CPUs"),
        (NodeKind::MemoryOnly, None) => "  without CPUs".to_owned(),
        (NodeKind::GpuMemory, _) => {
            let near = topology.gpus.iter().filter(|gpu| gpu.locality.nodes.contains(node.os_index));
            let owners: Vec<u32> = near.map(|gpu| gpu.index).collect();
            let owner = if let [only] = owners[..] { format!("GPU {only}") } else { "a GPU".to_owned() };
            format!("  the memory of {owner}")
        }
        _ => String::new(),
    };
    let allowed = if node.allowed || node.total_bytes == 0 { "" } else { "  not allowed here" };
    format!("node {}{size}{what}{allowed}", node.os_index)
}

/// That the one line with these words hangs from the largest place with just these PUs, else from the
/// smallest that holds them.
fn hangs_right(lines: &[Line<'_>], words: &str, pus: &IdSet, machine: &str) -> Outcome {
    let with_words: Vec<&Line<'_>> = lines.iter().filter(|line| line.words == words).collect();
    let [line] = with_words[..] else { return Err(format!("{} lines \"{words}\"", with_words.len()).into()) };
    let place = &lines[line.above.ok_or("in nothing")?];
    let holding = lines.iter().filter(|place| !place.pus.is_empty() && !place.words.starts_with("core"));
    let exact = holding.clone().filter(|place| place.pus == *pus).min_by_key(|place| place.depth);
    let least = holding.filter(|place| pus.is_subset(&place.pus)).min_by_key(|place| place.pus.len());
    let right = exact.or(least).filter(|_| !pus.is_empty()).unwrap_or(&lines[0]);
    assert_eq!((place.words, place.depth), (right.words, right.depth), "{machine}: {words}");
    assert_eq!(place.pus, right.pus, "{machine}: {words}");
    Ok(())
}

#[test]
fn each_device_and_each_node_without_cpus_hangs_from_the_place_that_it_is_near() -> Outcome {
    each(|machine| {
        let (survey, name) = (machine.survey, machine.name);
        let topology = &survey.topology;
        let tree = text::tree(survey, WIDE);
        let lines = lines(&tree)?;
        let near = |locality: &Locality| {
            let pus = locality.pus.or(&locality.outside_pus);
            let words = match locality.rung {
                Rung::Unknown => "  (locality unknown)".to_owned(),
                _ if pus.is_empty() => {
                    let nodes = locality.nodes.or(&locality.outside_nodes);
                    format!("  (near node {}, which has no PUs)", listed(&nodes))
                }
                _ => String::new(),
            };
            (pus, words)
        };
        for gpu in &topology.gpus {
            let (pus, unknown) = near(&gpu.locality);
            let link = other_link(name).map(str::to_owned).or(gpu.link.as_ref().map(link_words));
            let link = link.map_or(String::new(), |link| format!("  {link}"));
            let words = format!("GPU {}  {}  {}{link}{unknown}", gpu.index, gpu.pci, cut(&gpu_name(gpu), 40));
            hangs_right(&lines, &words, &pus, name)?;
        }
        for nic in &survey.nics {
            let (pus, unknown) = near(&nic.locality);
            let names = cut(&nic.os_devices.join(", "), 40);
            let names = if names.is_empty() { names } else { format!("  {names}") };
            let link = nic.link.as_ref().map_or(String::new(), |link| format!("  {}", link_words(link)));
            let words = format!("NIC  {}  {}{names}{link}{unknown}", nic.pci, cut(&nic_name(nic), 40));
            hangs_right(&lines, &words, &pus, name)?;
        }
        for node in &topology.nodes {
            if matches!(node.kind, NodeKind::MemoryOnly | NodeKind::GpuMemory) {
                hangs_right(&lines, &node_words(topology, node), &node.pus, name)?;
            }
        }
        let devices =
            lines.iter().filter(|line| line.words.starts_with("GPU ") || line.words.starts_with("NIC "));
        assert_eq!(devices.count(), topology.gpus.len() + survey.nics.len(), "{name}");
        let spare = topology.nodes.iter().filter(|node| node.kind == NodeKind::Empty);
        let spare: IdSet = spare.map(|node| node.os_index).collect();
        let words = format!("nodes {}  without memory and CPUs", listed(&spare));
        assert_eq!(lines.iter().any(|line| line.words == words), !spare.is_empty(), "{name}");
        Ok(())
    })
}
