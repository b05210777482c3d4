//! `baseline`: how often the limit of a class keeps what it promises, 999 of 1,000 measurements of well GPUs,
//! and the GPUs at half that it would miss.

use analysis::baseline::{Class, Value, learn};
use report::document::Tool;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FOUND, Length, Limit};

/// Baselines whose limit keeps its share; 95 % are promised.
const KEPT: (&str, Limit) = ("limits that keep 999 of 1,000", Limit::AtLeast(0.95));

/// GPUs that the limit finds.
const BELOW: (&str, Limit) = ("GPUs at half that are below the limit", FOUND);

/// So many new measurements of well GPUs are drawn for each limit; of these one in a thousand may lie below.
const DRAWN: usize = 4000;

/// How the nodes of a fleet differ.
#[derive(Clone, Copy, Debug)]
enum Nodes {
    /// Normally.
    Normal,
    /// Normally, and a fifth of them is 4 % slower.
    FifthSlower,
    /// By an exponential law: many near to the best, few far below.
    Skewed,
}

/// How GPUs differ, by their logarithms.
#[derive(Clone, Copy)]
struct Fleet {
    shape: Nodes,
    nodes: usize,
    runs: usize,
    of_nodes: f64,
    of_gpus: f64,
    of_runs: f64,
}

impl Fleet {
    fn node(self, random: &mut SplitMix64) -> f64 {
        match self.shape {
            Nodes::Normal => self.of_nodes * random.normal(),
            Nodes::FifthSlower => {
                let slower = if random.below(5) == 0 { -0.04 } else { 0.0 };
                slower + self.of_nodes * random.normal()
            }
            Nodes::Skewed => self.of_nodes * random.uniform().ln(),
        }
    }

    /// The limit learned from it, as the logarithm of its part of the true rate.
    fn limit(self, random: &mut SplitMix64) -> Option<f64> {
        let class = Class { gpu: "a GPU".into(), best_link: None, cpu: None, locality: "numalocal".into() };
        let mut values = Vec::new();
        for node in 0..self.nodes {
            let of_node = self.node(random);
            for gpu in 0..8 {
                let of_gpu = self.of_gpus * random.normal();
                for _ in 0..self.runs {
                    let rate = 50e9 * (of_node + of_gpu + self.of_runs * random.normal()).exp();
                    let (host, device) = (format!("node {node}"), format!("0000:{gpu:02x}:00.0"));
                    values.push(Value { class: class.clone(), case: "h2d".into(), host, device, rate });
                }
            }
        }
        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let learned = learn(tool, (self.nodes * self.runs) as u32, &values).ok()?;
        Some((learned.normals.first()?.limit_bytes_per_s / 50e9).ln())
    }

    /// A new measurement of a well GPU of a new node.
    fn measured(self, random: &mut SplitMix64) -> f64 {
        self.node(random) + self.of_gpus.hypot(self.of_runs) * random.normal()
    }
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for shape in [Nodes::Normal, Nodes::FifthSlower, Nodes::Skewed] {
        for &nodes in length.choose(&[3, 30][..], &[3, 5, 10, 20, 24, 30, 60]) {
            for &(of_nodes, of_gpus, of_runs, runs) in length.choose(
                &[(0.01, 0.002, 0.002, 1)][..],
                &[
                    (0.01, 0.003, 0.003, 1),
                    (0.005, 0.003, 0.005, 3),
                    (0.001, 0.005, 0.005, 1),
                    (0.002, 0.001, 0.001, 1),
                ],
            ) {
                let fleet = Fleet { shape, nodes, runs, of_nodes, of_gpus, of_runs };
                let words = format!(
                    "{shape:?}, {nodes} nodes of 8 GPUs, runs of each: {runs}; between nodes {of_nodes}, \
                     GPUs {of_gpus}, runs {of_runs}"
                );
                let trial = move |random: &mut SplitMix64| {
                    let Some(limit) = fleet.limit(random) else { return false };
                    let below = (0..DRAWN).filter(|_| fleet.measured(random) < limit).count();
                    below * 1000 <= DRAWN
                };
                all.push(Experiment::new(KEPT, words.clone(), length.choose(60, 300), trial));
                // A GPU at half is measured three times, and must lie below the limit each time.
                let trial = move |random: &mut SplitMix64| {
                    let limit = fleet.limit(random).unwrap_or(f64::NEG_INFINITY);
                    let level = 0.5_f64.ln() + fleet.node(random) + fleet.of_gpus * random.normal();
                    (0..3).all(|_| level + fleet.of_runs * random.normal() < limit)
                };
                all.push(Experiment::new(BELOW, words, length.choose(40, 100), trial));
            }
        }
    }
    all
}
