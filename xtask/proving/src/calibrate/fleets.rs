//! Fleets: nodes side by side, of which some are called slow or suspects (`analysis::nodes`). The nodes are
//! alike, and their runs scatter.

use analysis::baseline::Class;
use analysis::figure::Unit;
use analysis::node_run::{NodeRun, PlaceFigure};
use analysis::nodes::{Mark, nodes};
use report::document::Tool;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::Noise;

/// A fleet of nodes with four GPUs and two cases, each node measured so often.
#[derive(Clone, Copy)]
struct Fleet {
    nodes: usize,
    runs: usize,
    /// How the runs of all nodes scatter: a run moves all figures of its node.
    noise: Noise,
    deviation: f64,
}

impl Fleet {
    /// Whether the first node is marked so, which is at this part of its rate, and how many of the others
    /// are.
    fn marked(self, random: &mut SplitMix64, mark: Mark, first: f64) -> [usize; 2] {
        let class = Class { gpu: "a GPU".into(), best_link: None, cpu: None, locality: "numalocal".into() };
        let of_nodes: Vec<f64> = (0..self.nodes).map(|_| 0.003 * random.normal()).collect();
        let of_runs = self.noise.field(random, self.runs, self.nodes, self.deviation);
        let mut figure = |node: usize, run: usize, place: usize| {
            let part = if node == 0 { first } else { 1.0 };
            let log = of_nodes[node] + of_runs[run][node] + 0.002 * random.normal();
            PlaceFigure {
                column: if place < 4 { "H2D 64 MiB" } else { "D2H 64 MiB" }.to_owned(),
                unit: Unit::BytesPerS,
                place: format!("0000:{:02x}:00.0", place % 4),
                by_index: String::new(),
                class: class.clone(),
                value: 50e9 * part * log.exp(),
                is_held_back: false,
            }
        };
        let mut runs = Vec::new();
        for node in 0..self.nodes {
            for run in 0..self.runs {
                runs.push(NodeRun {
                    host: format!("node {node}"),
                    started_at: format!("2026-11-2{run}T00:00:00Z"),
                    asked: String::new(),
                    trouble: None,
                    simulated: None,
                    points: (0..8).map(|place| figure(node, run, place)).collect(),
                    checks: Vec::new(),
                    reference: Vec::new(),
                });
            }
        }
        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let side_by_side = nodes(tool, runs, Vec::new());
        let marked = side_by_side.rows.iter().filter(|row| row.mark == mark);
        let (first, others): (Vec<_>, Vec<_>) = marked.partition(|row| row.host == "node 0");
        [first.len(), others.len()]
    }

    fn name(self) -> String {
        let Self { nodes, runs, noise, deviation } = self;
        format!("{nodes} nodes, runs of each: {runs}, {} {deviation}", noise.name())
    }
}

/// Everything that is simulated: slow are nodes in three runs, suspects in one.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for (noise, suspects) in [
        (Noise::Independent, FALSE_CLAIMS),
        (Noise::Bimodal, FALSE_CLAIMS),
        // One run in ten is hit by noise five times as wide: its node is measured again.
        (Noise::HeavyTails, Limit::AtMostFor(0.5, "one run of a node that was hit: measure again")),
    ] {
        for &nodes in length.choose(&[16][..], &[16, 64, 200]) {
            for &deviation in length.choose(&[0.01][..], &[0.005, 0.01, 0.03]) {
                let fleet = |runs: usize| Fleet { nodes, runs, noise, deviation };
                let trials = length.choose(40, (30_000 / nodes).clamp(150, 400));
                for (runs, mark, what, limit) in [
                    (3, Mark::Slow, "fleets with a node called slow", FALSE_CLAIMS),
                    (1, Mark::Suspect, "fleets with a suspect", suspects),
                ] {
                    let fleet = fleet(runs);
                    let trial = move |random: &mut SplitMix64| fleet.marked(random, mark, 1.0) != [0, 0];
                    all.push(Experiment::new((what, limit), fleet.name(), trials, trial));
                }
                let fleet = fleet(3);
                let trial = move |random: &mut SplitMix64| fleet.marked(random, Mark::Slow, 0.5)[0] == 1;
                let setting = format!("a node of the fleet at half, {}", fleet.name());
                all.push(Experiment::new(("found", FOUND), setting, trials / 2, trial));
            }
        }
    }
    all
}
