//! Nodes beside each other: those listed as far from the others (`stats::peer_outlier`), and nodes checked
//! against their baseline in up to three passes (`analysis::gate`).

use analysis::baseline::{Class, Value, learn};
use analysis::gate::{Decision, Gate, decide};
use report::document::Tool;
use stats::peer_outlier::{a_fifth, peer_outliers};
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Noise};

/// The rates of a document's nodes in each of its cases; those of the first node are so many times as large.
fn unlike(
    random: &mut SplitMix64,
    noise: Noise,
    nodes: usize,
    cases: usize,
    deviation: f64,
    first: f64,
) -> Vec<usize> {
    // Nodes are the moments: what is shared by all cases of one is the node's own.
    let field = noise.field(random, cases, nodes, deviation);
    let named = |logs: &Vec<f64>| -> Vec<usize> {
        let rate = |(at, log): (usize, &f64)| 50e9 * log.exp() * if at == 0 { first } else { 1.0 };
        let rates: Vec<f64> = logs.iter().enumerate().map(rate).collect();
        let judged =
            peer_outliers(&rates, cases, a_fifth(nodes)).map(|judged| judged.outliers).unwrap_or_default();
        judged.iter().map(|one| one.index).collect()
    };
    field.iter().flat_map(named).collect()
}

/// What a check says of a node of eight GPUs, of which the first is so many times as quick, where normal is
/// what this many nodes like it showed.
fn checked(random: &mut SplitMix64, nodes: usize, of_runs: f64, first: f64) -> Option<Gate> {
    let class = Class { gpu: "a GPU".into(), best_link: None, cpu: None, locality: "numalocal".into() };
    let value = |host: &str, gpu: usize, log: f64| {
        let (case, device) = ("h2d".to_owned(), format!("0000:{gpu:02x}:00.0"));
        Value { class: class.clone(), case, host: host.to_owned(), device, rate: 50e9 * log.exp() }
    };
    let levels = |random: &mut SplitMix64| -> Vec<f64> {
        let of_node = 0.005 * random.normal();
        (0..8).map(|_| of_node + 0.003 * random.normal()).collect()
    };
    let pass = |random: &mut SplitMix64, host: &str, levels: &[f64]| -> Vec<Value> {
        levels
            .iter()
            .enumerate()
            .map(|(gpu, level)| value(host, gpu, level + of_runs * random.normal()))
            .collect()
    };
    let mut seen = Vec::new();
    for node in 0..nodes {
        let levels = levels(random);
        seen.extend(pass(random, &format!("node {node}"), &levels));
    }
    let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
    let baseline = learn(tool, nodes as u32, &seen).ok()?;
    let mut own = levels(random);
    own[0] += f64::ln(first);
    let mut passes = Vec::new();
    loop {
        passes.push(pass(random, "checked", &own));
        if let Decision::Decided(gate, _) = decide(&baseline, &passes) {
            return Some(gate);
        }
    }
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for noise in noise::ALL {
        for &(nodes, cases) in length.choose(
            &[(8, 4)][..],
            &[(5, 1), (5, 20), (8, 4), (16, 1), (16, 20), (64, 4), (200, 4), (1000, 4)],
        ) {
            for &deviation in length.choose(&[0.03][..], &[0.01, 0.03, 0.1]) {
                let limit = match noise {
                    Noise::HeavyTails => Limit::Told("a list: one that is hit by 5 times the noise is on it"),
                    Noise::Bimodal if nodes < 64 => {
                        Limit::Told("a list: of few nodes a fifth may be in the other mode")
                    }
                    Noise::Ties => {
                        Limit::Told("steps as wide as the noise: equal nodes show less of it than there is")
                    }
                    Noise::SharedByAllocation | Noise::Autocorrelated => {
                        Limit::Told("nodes that are alike in rows: nodes have no order")
                    }
                    _ => FALSE_CLAIMS,
                };
                let setting = format!("like nodes: {nodes}, cases: {cases}, {} {deviation}", noise.name());
                let trial = move |random: &mut SplitMix64| {
                    !unlike(random, noise, nodes, cases, deviation, 1.0).is_empty()
                };
                let trials = length.choose(100, (400_000 / (nodes * cases)).clamp(100, 1000));
                all.push(Experiment::new(("documents that name a node", limit), setting, trials, trial));
            }
        }
    }
    for &(nodes, cases, deviation) in length.choose(
        &[(8, 4, 0.02)][..],
        &[(5, 1, 0.02), (5, 20, 0.02), (8, 4, 0.02), (16, 20, 0.03), (64, 4, 0.05)],
    ) {
        let setting =
            format!("one of {nodes} nodes at half in every case, cases: {cases}, independent {deviation}");
        let trial = move |random: &mut SplitMix64| {
            let named = unlike(random, Noise::Independent, nodes, cases, deviation, 0.5);
            (named.iter().filter(|at| **at == 0).count(), cases)
        };
        all.push(Experiment::new(("found", FOUND), setting, length.choose(100, 400), trial));
    }
    for &(nodes, of_runs) in
        length.choose(&[(20, 0.005)][..], &[(3, 0.005), (20, 0.002), (20, 0.005), (20, 0.02)])
    {
        for (first, what, wanted, limit) in [
            (1.0, "well nodes with a finding", Gate::Finding, FALSE_CLAIMS),
            (0.5, "found", Gate::Finding, FOUND),
        ] {
            let level = if first < 1.0 { "one of 8 GPUs at half" } else { "8 GPUs as all are" };
            let setting = format!("{level}, normal by {nodes} nodes, runs differ by {of_runs}");
            let trial = move |random: &mut SplitMix64| checked(random, nodes, of_runs, first) == Some(wanted);
            all.push(Experiment::new((what, limit), setting, length.choose(20, 200), trial));
        }
    }
    all
}
