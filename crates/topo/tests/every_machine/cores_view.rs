//! The table that a binding is written from: for each GPU its near PUs that may be used, a core by its first
//! one.

use stats::IdSet;
use topo::model::{Gpu, Rung, Topology};
use topo::text;

use crate::file::{Outcome, each};
use crate::page::{WIDE, cut, listed, section, table};
use crate::words::near_nodes;

/// The longest list that a cell shows whole.
const CELL: usize = 22;

/// The first usable near PU of each core that has one.
fn cores(topology: &Topology, gpu: &Gpu) -> IdSet {
    let usable = gpu.locality.pus.and(&topology.allowed.pus);
    topology.cores.iter().filter_map(|core| core.pus.iter().find(|pu| usable.contains(*pu))).collect()
}

/// The first of them that is no slow core's.
fn first(topology: &Topology, gpu: &Gpu) -> Option<u32> {
    let (cores, slow) = (cores(topology, gpu), topology.slow.as_ref().map(|slow| &slow.pus));
    cores.iter().find(|pu| slow.is_none_or(|slow| !slow.contains(*pu))).or(cores.first())
}

#[test]
fn each_gpu_has_a_row_with_its_near_pus_its_cores_and_the_first_of_them() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let view = text::render(machine.survey, WIDE);
        let lines = section(&view, "which cores for which GPU");
        let titles = ["GPU", "PCI address", "node", "L3 or local PUs", "cores to use", "first"];
        let rows = table(&lines, &titles).unwrap_or_default();
        let cells = |gpu: &Gpu| {
            let list = |ids: &IdSet| match (gpu.locality.rung, ids.is_empty()) {
                (Rung::Unknown, _) => "?".to_owned(),
                (_, true) => "-".to_owned(),
                _ => cut(&listed(ids), CELL),
            };
            let own = first(topology, gpu);
            let shared = topology.gpus.iter().filter(|other| first(topology, other) == own).count() > 1;
            let own =
                own.map_or("-".to_owned(), |pu| if shared { "shared".to_owned() } else { pu.to_string() });
            let (pus, cores) = (list(&gpu.locality.pus), list(&cores(topology, gpu)));
            vec![
                gpu.index.to_string(),
                gpu.pci.to_string(),
                near_nodes(topology, &gpu.locality),
                pus,
                cores,
                own,
            ]
        };
        let expected: Vec<Vec<String>> = topology.gpus.iter().map(cells).collect();
        assert_eq!(rows.get(..expected.len()), Some(&expected[..]), "{}", machine.name);
        let mut below = Vec::new();
        if expected.iter().any(|row| row[5] == "shared") {
            below.push(
                "  shared: several GPUs are near these cores; numabench place shares them out".to_owned(),
            );
        }
        for gpu in &topology.gpus {
            for (what, ids) in [("local PUs", &gpu.locality.pus), ("cores", &cores(topology, gpu))] {
                let whole = (listed(ids).len() > CELL)
                    .then(|| format!("  GPU {}: {what} {}", gpu.index, listed(ids)));
                below.extend(whole);
            }
        }
        let after = lines.iter().skip(2 + expected.len()).collect::<Vec<_>>();
        assert_eq!(after, below.iter().collect::<Vec<_>>(), "{}", machine.name);
        Ok(())
    })
}
