//! What is worked out of nodes: which of their facts differ, their aggregates, which are far from the others.

use analysis::difference::{ALIKE, differences};
use report::contention::{NodeAggregate, Together};
use report::device::ReadWhen;
use report::environment::Probe;
use report::node::{Difference, NodeFacts};
use report::outlier_node::outlier_nodes;
use report::result::Outcome;
use report::{Document, Known};

use crate::samples;

fn facts(count: usize) -> Vec<NodeFacts> {
    vec![samples::node(0, "nid1").facts; count]
}

fn difference(fact: &str, this: &str, most: Option<&str>) -> Difference {
    Difference { fact: fact.into(), this: this.into(), most: most.map(String::from) }
}

fn set_probe(facts: &mut NodeFacts, name: &str, value: Option<&str>) {
    facts.probes.retain(|probe| probe.name != name);
    let value = value.map(|value| value.into());
    facts.probes.push(Probe { name: name.into(), value, source: "a file".into(), reason: None });
}

#[test]
fn nodes_that_are_alike_do_not_differ_and_what_is_a_nodes_own_is_not_compared() {
    assert!(differences(&[]).is_empty());
    let mut nodes = facts(3);
    for (index, node) in nodes.iter_mut().enumerate() {
        set_probe(node, "host.name", Some(&format!("nid{index}")));
        set_probe(node, "cgroup.path", Some(&format!("/slurm/job_{index}")));
        node.memory_bytes += index as u64 * (2 << 30);
        node.timer.cost_ns = [21.0, 44.0, 96.0][index];
    }
    assert_eq!(differences(&nodes), [const { Vec::new() }; 3]);
}

#[test]
fn the_odd_node_is_named_with_what_it_has_and_what_most_have() {
    let mut nodes = facts(4);
    for name in ALIKE {
        nodes.iter_mut().for_each(|node| set_probe(node, name, Some("usual")));
        set_probe(&mut nodes[2], name, Some("odd"));
    }
    let odd = &mut nodes[2];
    odd.api_version = None;
    odd.timer.clock = "CLOCK_REALTIME".into();
    odd.timer.cost_ns = 1_100.0;
    odd.cpu_models.push(None);
    odd.numa_nodes = 8;
    odd.memory_bytes = 480 << 30;
    odd.topology_digest = Known::unknown("hwloc", "it failed");
    odd.gpus.truncate(7);
    let found = differences(&nodes);
    let mut want: Vec<Difference> = ALIKE.map(|name| difference(name, "odd", Some("usual"))).to_vec();
    want.extend([
        difference("api_version", "not known", Some("13.0")),
        difference("timer.clock", "CLOCK_REALTIME", Some("CLOCK_MONOTONIC_RAW")),
        difference("timer.cost_ns", "1.1000 µs", Some("21.300 ns")),
        difference(
            "cpu_models",
            "1 × AMD EPYC 7A53 64-Core Processor, 1 × not known",
            Some("1 × AMD EPYC 7A53 64-Core Processor"),
        ),
        difference("numa_nodes", "8", Some("4")),
        difference("memory_bytes", "480 GiB", Some("512 GiB")),
        difference("gpus", "7 × NVIDIA H200", Some("8 × NVIDIA H200")),
        difference("gpus.link", "7 × PCIe 5 x16", Some("8 × PCIe 5 x16")),
        difference("topology_digest", "not known", Some("5f8a61b0")),
    ]);
    assert_eq!(found[2], want);
    assert!([0, 1, 3].iter().all(|node| found[*node].is_empty()));
}

#[test]
fn a_link_that_came_up_narrow_differs_and_an_idle_one_that_trained_down_does_not() {
    let mut nodes = facts(3);
    for (node, (generation, width, read_when)) in nodes.iter_mut().zip([
        (5, 16, ReadWhen::UnderLoad),
        (1, 16, ReadWhen::Idle),
        (5, 8, ReadWhen::UnderLoad),
    ]) {
        if let Some(link) = &mut node.gpus[3].link {
            (link.generation, link.width, link.read_when) = (Some(generation), Some(width), read_when);
        }
    }
    let found = differences(&nodes);
    assert_eq!(found[2], [difference("gpus.link", "7 × PCIe 5 x16, 1 × PCIe 5 x8", Some("8 × PCIe 5 x16"))]);
    assert!(found[0].is_empty() && found[1].is_empty());
    // Under load the generation counts too.
    if let Some(link) = &mut nodes[1].gpus[3].link {
        (link.generation, link.read_when) = (Some(4), ReadWhen::UnderLoad);
    }
    assert_eq!(differences(&nodes)[1][0].this, "7 × PCIe 5 x16, 1 × PCIe 4 x16");
}

#[test]
fn without_a_majority_the_nodes_differ_from_each_other() {
    let of_kernels = |kernels: &[&str]| {
        let mut nodes = facts(kernels.len());
        nodes
            .iter_mut()
            .zip(kernels)
            .for_each(|(node, kernel)| set_probe(node, "kernel.release", Some(kernel)));
        differences(&nodes)
    };
    let one = |this: &str| vec![difference("kernel.release", this, None)];
    assert_eq!(of_kernels(&["5.14", "6.1"]), [one("5.14"), one("6.1")]);
    assert_eq!(of_kernels(&["a", "a", "b", "b"]), [one("a"), one("a"), one("b"), one("b")]);
    assert_eq!(of_kernels(&["a", "a", "b", "c"])[0], one("a"), "two of four are not most");
    let most = vec![difference("kernel.release", "b", Some("a"))];
    assert_eq!(of_kernels(&["b", "a", "a"]), [most, vec![], vec![]]);
}

#[test]
fn a_probe_that_failed_on_one_node_is_a_difference() {
    let mut nodes = facts(3);
    nodes.iter_mut().for_each(|node| set_probe(node, "cpu.governor", Some("performance")));
    set_probe(&mut nodes[0], "cpu.governor", None);
    assert_eq!(differences(&nodes)[0], [difference("cpu.governor", "not known", Some("performance"))]);
}

/// Nodes of `per_node` ranks with one case; rank r's rounds take `round_ns(node, node_rank)`.
fn run(nodes: u32, per_node: u32, round_ns: impl Fn(u32, u32) -> f64) -> Document {
    samples::on_nodes(nodes, per_node, &round_ns)
}

#[test]
fn a_nodes_aggregate_is_of_its_own_ranks_and_its_own_window() {
    let document = run(2, 3, |node, rank| 10e6 * f64::from(1 + node + rank));
    let case = &document.cases[0];
    let together =
        |node: u32| Together { overlap: Some(0.95 + 0.01 * f64::from(node)), ..Together::default() };
    let nodes = NodeAggregate::of_nodes(&document.ranks, &case.ranks, together);
    assert_eq!(
        nodes.iter().map(|node| (node.node, node.overlap)).collect::<Vec<_>>(),
        [(0, Some(0.95)), (1, Some(0.96))]
    );
    let aggregates: Vec<_> = nodes.iter().filter_map(|node| node.aggregate.as_ref()).collect();
    assert_eq!(aggregates.iter().map(|a| (a.ranks, a.slowest_rank)).collect::<Vec<_>>(), [(3, 2), (3, 5)]);
    assert!(aggregates[0].max_bytes_per_s > aggregates[1].max_bytes_per_s);
}

#[test]
fn a_node_that_lacks_a_rank_or_did_not_run_at_once_has_a_reason_and_no_aggregate() {
    let mut document = run(3, 2, |_, _| 10e6);
    document.cases[0].ranks[3].outcome = Outcome::Skipped { reason: "its process is gone".into() };
    let invalid = |node| (node == 2).then(|| "its ranks overlapped for 80.0 % only".to_owned());
    let together = |node: u32| Together { invalid: invalid(node), ..Together::default() };
    let nodes = NodeAggregate::of_nodes(&document.ranks, &document.cases[0].ranks, together);
    let reasons: Vec<Option<&str>> = nodes.iter().map(|node| node.reason.as_deref()).collect();
    let want = [None, Some("1 of its 2 ranks were measured"), Some("its ranks overlapped for 80.0 % only")];
    assert_eq!(reasons, want);
    assert!(nodes.iter().all(|node| node.aggregate.is_some() == node.reason.is_none()));
}

#[test]
fn ranks_are_compared_with_those_that_sit_alike_on_other_nodes() {
    let document = run(8, 8, |node, rank| match (node, rank) {
        (3, _) => 14e6,
        (5, 6) => 12e6,
        // Half of the ranks are slow on every node: that is how the machine is, and no outlier.
        (_, rank) if rank < 4 => 20e6,
        _ => 10e6,
    });
    let case = &document.cases[0];
    let found = outlier_nodes(&document.ranks, &case.ranks, &case.nodes, document.cases.len())
        .value
        .unwrap_or_default();
    let named: Vec<(u32, Option<u32>)> = found.iter().map(|one| (one.node, one.rank)).collect();
    // Node 3's ranks 0-3 are faster than the others' and its ranks 4-7 slower: their mean hardly moves.
    let mut want: Vec<(u32, Option<u32>)> = (24..32).map(|rank| (3, Some(rank))).collect();
    want.insert(7, (5, Some(46)));
    assert_eq!(named, want, "by the ranks' number on their node");
}

#[test]
fn outliers_need_five_nodes_that_ran_as_asked() {
    let mut document = run(5, 2, |node, _| if node == 4 { 20e6 } else { 10e6 });
    let judged = |document: &Document| {
        let case = &document.cases[0];
        outlier_nodes(&document.ranks, &case.ranks, &case.nodes, document.cases.len())
    };
    let named = |known: Known<Vec<report::outlier_node::OutlierNode>>| {
        known.value.map(|all| all.iter().map(|one| (one.node, one.rank)).collect::<Vec<_>>())
    };
    assert_eq!(named(judged(&document)), Some(vec![(4, None), (4, Some(8)), (4, Some(9))]));
    // A node whose ranks did not run at once is not compared, and then there are four.
    document.cases[0].nodes[1].aggregate = None;
    let reason = "of the nodes only 4 have a figure, and 5 are needed to tell which is unlike the others";
    assert_eq!(judged(&document).reason.as_deref(), Some(reason));
}
