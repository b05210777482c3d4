//! `baseline`: how often the limit of a class keeps what it promises, 999,999 of a million measurements of well GPUs, and the GPUs at half that it would miss.

use analysis::baseline::{Class, Value, learn};
use report::document::Tool;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FOUND, Length, Limit};
use super::noise::Noise;

/// Baselines whose limit keeps its share; 95 % are promised.
const KEPT: (&str, Limit) = ("limits that keep 999,999 of a million", Limit::AtLeast(0.95));

/// GPUs that the limit finds.
const BELOW: (&str, Limit) = ("GPUs at half that are below the limit", FOUND);

/// Of a standard normal law this many deviations above the mean lie above so many of a million.
const FAR: f64 = 4.753_424;

/// How GPUs differ, by their logarithms.
#[derive(Clone, Copy)]
struct Fleet {
    nodes: usize,
    runs: usize,
    of_nodes: f64,
    of_gpus: f64,
    of_runs: f64,
}

impl Fleet {
    /// The limit learned from it, as the logarithm of its part of the true rate.
    fn limit(self, random: &mut SplitMix64) -> Option<f64> {
        let class = Class { gpu: "a GPU".into(), best_link: None, cpu: None, locality: "numalocal".into() };
        let mut values = Vec::new();
        for node in 0..self.nodes {
            let of_node = self.of_nodes * random.normal();
            let gpus = Noise::Independent.field(random, 8, 1, self.of_gpus);
            for (gpu, of_gpu) in gpus.into_iter().enumerate() {
                for _ in 0..self.runs {
                    let rate = 50e9 * (of_node + of_gpu[0] + self.of_runs * random.normal()).exp();
                    let (host, device) = (format!("node {node}"), format!("0000:{gpu:02x}:00.0"));
                    values.push(Value { class: class.clone(), case: "h2d".into(), host, device, rate });
                }
            }
        }
        let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
        let learned = learn(tool, (self.nodes * self.runs) as u32, &values).ok()?;
        Some((learned.normals.first()?.limit_bytes_per_s / 50e9).ln())
    }

    /// How widely single measurements of well GPUs scatter.
    fn deviation(self) -> f64 {
        (self.of_nodes.powi(2) + self.of_gpus.powi(2) + self.of_runs.powi(2)).sqrt()
    }
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for &nodes in length.choose(&[3, 20][..], &[3, 6, 10, 20, 60]) {
        for &(of_nodes, of_gpus, of_runs, runs) in length.choose(
            &[(0.01, 0.002, 0.002, 1)][..],
            &[
                (0.01, 0.003, 0.003, 1),
                (0.01, 0.003, 0.003, 3),
                (0.005, 0.003, 0.005, 3),
                (0.0, 0.005, 0.005, 1),
                (0.01, 0.0, 0.01, 3),
            ],
        ) {
            let fleet = Fleet { nodes, runs, of_nodes, of_gpus, of_runs };
            let words = format!(
                "{nodes} nodes of 8 GPUs, runs of each: {runs}; between nodes {of_nodes}, GPUs {of_gpus}, runs {of_runs}"
            );
            let trial = move |random: &mut SplitMix64| {
                fleet.limit(random).is_some_and(|limit| limit <= -FAR * fleet.deviation())
            };
            all.push(Experiment::new(KEPT, words.clone(), length.choose(60, 400), trial));
            // A GPU at half is measured three times, and must lie below the limit each time.
            let trial = move |random: &mut SplitMix64| {
                let limit = fleet.limit(random).unwrap_or(f64::NEG_INFINITY);
                let level = 0.5_f64.ln() + fleet.of_nodes.hypot(fleet.of_gpus) * random.normal();
                (0..3).all(|_| level + fleet.of_runs * random.normal() < limit)
            };
            all.push(Experiment::new(BELOW, words, length.choose(40, 100), trial));
        }
    }
    all
}
