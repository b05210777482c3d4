//! The NUMA view: a row for each node with what it is made of, its PUs, its sizes in MiB and what of it may
//! be used; then the process.

use stats::IdSet;
use topo::model::{NodeKind, NumaNode};
use topo::text;

use crate::file::{Outcome, each};
use crate::page::{WIDE, cut, listed, section, table};

/// The PUs in the node: a node without CPUs has none, whatever is around it.
fn own(node: &NumaNode) -> IdSet {
    match node.kind {
        NodeKind::Normal | NodeKind::CpuOnly => node.pus.clone(),
        _ => IdSet::default(),
    }
}

#[test]
fn each_numa_node_has_a_row_with_its_pus_its_sizes_and_what_may_be_used() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let view = text::numa(machine.survey, WIDE);
        let all: IdSet = topology.nodes.iter().map(|node| node.os_index).collect();
        let plural = if all.len() == 1 { "" } else { "s" };
        let heading = format!("{} NUMA node{plural} ({})", all.len(), listed(&all));
        let lines = section(&view, &heading);
        assert!(!lines.is_empty(), "{}: no \"{heading}\"", machine.name);
        let titles = ["node", "made of", "PUs", "size MiB", "free MiB", "allowed here"];
        let rows = table(&lines, &titles).ok_or("no table of nodes")?;
        let cells = |node: &NumaNode| {
            let pus = own(node);
            let usable = pus.and(&topology.allowed.pus);
            let memory = node.allowed && node.total_bytes > 0;
            let allowed = match (usable == pus, usable.is_empty(), memory) {
                (true, false, _) if memory || node.total_bytes == 0 => "all".to_owned(),
                (true, true, true) => "all".to_owned(),
                (_, false, true) => format!("PUs {}, memory", listed(&usable)),
                (_, false, false) => format!("PUs {}", listed(&usable)),
                (_, true, true) => "memory".to_owned(),
                (_, true, false) => "nothing".to_owned(),
            };
            let made_of = match node.kind {
                NodeKind::Normal => "CPUs and memory",
                NodeKind::CpuOnly => "CPUs without memory",
                NodeKind::MemoryOnly => "memory without CPUs",
                NodeKind::GpuMemory => "a GPU's memory",
                NodeKind::Empty => "nothing",
            };
            let mib = |bytes: u64| (bytes / 1_048_576).to_string();
            let list = if pus.is_empty() { "-".to_owned() } else { cut(&listed(&pus), 22) };
            let (size, free) = (mib(node.total_bytes), node.free_bytes.map_or("-".to_owned(), mib));
            vec![node.os_index.to_string(), made_of.to_owned(), list, size, free, allowed]
        };
        let expected: Vec<Vec<String>> = topology.nodes.iter().map(cells).collect();
        assert_eq!(rows[..expected.len()], expected, "{}", machine.name);
        let long = topology.nodes.iter().filter(|node| listed(&own(node)).len() > 22);
        let long: Vec<String> =
            long.map(|node| format!("  node {}: PUs {}", node.os_index, listed(&own(node)))).collect();
        assert_eq!(lines[2 + expected.len()..], long, "{}", machine.name);
        Ok(())
    })
}

#[test]
fn what_the_process_may_use_is_shown_where_the_file_keeps_it() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let view = text::numa(machine.survey, WIDE);
        if machine.survey.process.is_none() {
            let silent = "no policy and no bindings: the file says nothing of the process that wrote it";
            assert_eq!(section(&view, "no policy"), [silent], "{}", machine.name);
            return Ok(());
        }
        let lines = section(&view, "the process that wrote the file");
        let said =
            |what: &str| lines.iter().find_map(|line| line.trim_start().strip_prefix(what)).map(str::trim);
        assert_eq!(said("PUs "), Some(&*listed(&topology.allowed.pus)), "{}", machine.name);
        let with_pus = topology.nodes.iter().filter(|node| !own(node).and(&topology.allowed.pus).is_empty());
        let with_pus: IdSet = with_pus.map(|node| node.os_index).collect();
        assert_eq!(said("on nodes"), Some(&*listed(&with_pus)), "{}", machine.name);
        let nodes = format!("nodes {}", listed(&topology.allowed.nodes));
        assert_eq!(said("memory from"), Some(&*nodes), "{}", machine.name);
        if machine.name == "gh200-quad" {
            assert_eq!(said("memory policy"), Some("default: the node of the PU that touches a page first"));
        }
        Ok(())
    })
}
