//! What is learned of copies between GPUs where a node's pairs go ways of different length: simulated nodes
//! whose GPUs each copy to the next, with the decision code that gates real ones.

use analysis::baseline::{Baseline, Class, NotLearned, Value, learn, values};
use analysis::figure::Unit;
use analysis::gate::{Decision, Gate, PASSES, decide};
use analysis::node_run::{NodeRun, PlaceFigure};
use analysis::nodes::{Mark, nodes};
use report::Known;
use report::document::Tool;
use stats::random::SplitMix64;

use crate::made::{Done, between_gpus};

const CASE: &str = "alone/device/d2d/67108864/one-way";

fn tool() -> Tool {
    Tool { name: "numabench".into(), version: "0.0.0".into(), git: None }
}

/// A kind of node: half of its GPUs are on each of two NUMA nodes.
#[derive(Clone, Copy)]
struct Kind {
    gpus: usize,
    /// The rate between GPUs of two NUMA nodes, as a part of that on one.
    across: f64,
    /// The first so many GPUs copy to the next at half of the rate of their class, on every node.
    built_slower: usize,
    /// Whether documents say which NUMA node a GPU is on.
    told: bool,
}

const PCIE: Kind = Kind { gpus: 10, across: 0.6, built_slower: 0, told: true };

impl Kind {
    /// The figures of a ring on a node; that of pair `bad.0` is so many times its own.
    fn pass(self, host: usize, bad: (usize, f64), random: &mut SplitMix64) -> Vec<Value> {
        let value = |gpu: usize| {
            let next = (gpu + 1) % self.gpus;
            let is_across = gpu * 2 / self.gpus != next * 2 / self.gpus;
            let nodes = match (self.told, is_across) {
                (false, _) => "",
                (true, false) => ", one NUMA node",
                (true, true) => ", two NUMA nodes",
            };
            let way = if is_across { self.across } else { 1.0 };
            let built = if gpu < self.built_slower { 0.5 } else { 1.0 };
            let fault = if gpu == bad.0 { bad.1 } else { 1.0 };
            Value {
                class: Class {
                    gpu: "NVIDIA L40S".into(),
                    best_link: Some("PCIe 4 x16".into()),
                    cpu: Some("a CPU".into()),
                    locality: format!("peer{nodes}"),
                },
                case: CASE.into(),
                host: format!("nid{host:06}"),
                device: format!("0000:{gpu:02x}:00.0 with 0000:{next:02x}:00.0"),
                rate: 24e9 * way * built * fault * (1.0 + 0.004 * random.normal()),
            }
        };
        (0..self.gpus).map(value).collect()
    }

    fn learned(self, nodes: usize, random: &mut SplitMix64) -> Result<Baseline, NotLearned> {
        let values: Vec<Value> = (0..nodes).flat_map(|host| self.pass(host, (0, 1.0), random)).collect();
        learn(tool(), nodes as u32, &values)
    }

    /// What the gate says of a node one of whose pairs is so many times as fast as it should be.
    fn gate(self, baseline: &Baseline, bad: (usize, f64), random: &mut SplitMix64) -> Gate {
        let passes: Vec<Vec<Value>> = (0..PASSES).map(|_| self.pass(1000, bad, random)).collect();
        match (1..=PASSES).map(|count| decide(baseline, &passes[..count])).find(|one| *one != Decision::Again)
        {
            Some(Decision::Decided(gate, _)) => gate,
            _ => Gate::Undecided,
        }
    }
}

fn classes(baseline: &Baseline) -> Vec<&str> {
    baseline.normals.iter().map(|normal| &normal.class.locality[..]).collect()
}

#[test]
fn pairs_across_sockets_are_no_outliers_of_those_on_one() -> Done {
    let mut random = SplitMix64::new(1);
    let baseline = PCIE.learned(12, &mut random)?;
    assert_eq!(classes(&baseline), ["peer, one NUMA node", "peer, two NUMA nodes"]);
    assert_eq!((&baseline.left_out, &baseline.built_unlike), (&Vec::new(), &Vec::new()));
    for (bad, gate) in [
        ((0, 1.0), Gate::Well),
        // As fast as a pair across the sockets, and one of those at two thirds of its rate.
        ((3, 0.6), Gate::Finding),
        ((4, 0.67), Gate::Finding),
    ] {
        assert_eq!(PCIE.gate(&baseline, bad, &mut random), gate, "{bad:?}");
    }
    Ok(())
}

#[test]
fn three_nodes_are_enough_where_all_pairs_are_as_fast() -> Done {
    let mut random = SplitMix64::new(2);
    let switched = Kind { gpus: 8, across: 1.0, ..PCIE };
    let baseline = switched.learned(3, &mut random)?;
    assert_eq!((classes(&baseline), baseline.normals[0].gpus), (vec!["peer"], 24));
    assert_eq!(switched.gate(&baseline, (0, 1.0), &mut random), Gate::Well);
    assert_eq!(switched.gate(&baseline, (3, 0.6), &mut random), Gate::Finding);
    Ok(())
}

#[test]
fn too_few_pairs_across_sockets_are_undecided_and_no_finding() -> Done {
    let mut random = SplitMix64::new(3);
    let baseline = PCIE.learned(3, &mut random)?;
    assert_eq!(classes(&baseline), ["peer, one NUMA node"]);
    assert_eq!(baseline.too_few, [format!("6 pairs of GPUs of 3 nodes have {CASE} on NVIDIA L40S")]);
    assert_eq!(PCIE.gate(&baseline, (0, 1.0), &mut random), Gate::Undecided);
    assert_eq!(PCIE.gate(&baseline, (3, 0.6), &mut random), Gate::Finding);
    Ok(())
}

#[test]
fn a_baseline_of_before_has_one_class_for_all_pairs() -> Done {
    let mut random = SplitMix64::new(4);
    let before = Kind { across: 1.0, told: false, ..PCIE }.learned(12, &mut random)?;
    assert_eq!(classes(&before), ["peer"]);
    let now = Kind { across: 1.0, ..PCIE };
    assert_eq!(now.gate(&before, (0, 1.0), &mut random), Gate::Well);
    assert_eq!(now.gate(&before, (3, 0.6), &mut random), Gate::Finding);
    Ok(())
}

#[test]
fn a_place_that_is_slow_on_every_node_stays_in_and_is_named() -> Done {
    let mut random = SplitMix64::new(5);
    let behind_one_switch = Kind { built_slower: 1, ..PCIE };
    let baseline = behind_one_switch.learned(12, &mut random)?;
    assert_eq!(baseline.left_out, [""; 0]);
    assert_eq!(
        baseline.built_unlike,
        [format!("0000:00:00.0 with 0000:01:00.0: on 12 nodes unlike the others in {CASE}")]
    );
    let said = "in alone/device/d2d/67108864/one-way: by how the nodes are built; it stays in";
    let page = render::compared::baseline(&baseline, 160, false);
    assert!(page.contains(said), "{page}");
    assert_eq!(behind_one_switch.gate(&baseline, (0, 1.0), &mut random), Gate::Well);
    Ok(())
}

#[test]
fn nodes_side_by_side_say_of_such_a_place_that_it_is_so_by_how_they_are_built() {
    let mut random = SplitMix64::new(6);
    let behind_one_switch = Kind { built_slower: 1, ..PCIE };
    let point = |value: Value| PlaceFigure {
        column: value.case,
        unit: Unit::BytesPerS,
        place: value.device,
        by_index: String::new(),
        class: value.class,
        value: value.rate,
        is_held_back: false,
    };
    let run = |host: usize| NodeRun {
        host: format!("nid{host:06}"),
        started_at: "2026-11-30T00:00:00Z".into(),
        asked: "peer".into(),
        trouble: None,
        simulated: None,
        points: behind_one_switch.pass(host, (0, 1.0), &mut random).into_iter().map(point).collect(),
        checks: Vec::new(),
        reference: Vec::new(),
    };
    let found = nodes(tool(), (0..12).map(run).collect(), Vec::new());
    assert_eq!(found.marked(Mark::Well), 12);
    assert_eq!(
        found.not_judged,
        [format!(
            "0000:00:00.0 with 0000:01:00.0: on 12 nodes unlike the others in {CASE}, by how they are built"
        )]
    );
}

#[test]
fn documents_say_which_pairs_are_of_one_numa_node() -> Done {
    let mut document = between_gpus(4, 1.0)?;
    let device = document.devices[0].clone();
    let on_node = |gpu: usize| report::device::Device {
        id: format!("0000:{gpu:02x}:00.0"),
        numa_node: Known::value(gpu as u32 / 2, "a test"),
        ..device.clone()
    };
    document.devices = (0..4).map(on_node).collect();
    let localities = |document: &report::Document| -> Vec<String> {
        values(document).into_iter().take(4).map(|value| value.class.locality).collect()
    };
    assert_eq!(
        localities(&document),
        ["own memory", "peer, one NUMA node", "peer, two NUMA nodes", "peer, two NUMA nodes"]
    );
    document.devices[3].numa_node = Known::unknown("a test", "nobody says");
    assert_eq!(localities(&document)[3], "peer");
    Ok(())
}
