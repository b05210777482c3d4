//! The fits of time against size that a document's cases give, and the sentences on them.

use report::Document;
use report::case::{Case, Order};
use report::result::BlockSample;
use report::settings::{Direction, MemoryKind};
use report::sweep_fit::{SweepDip, SweepFit};
use stats::line_fit::{Point, line_fit};
use stats::units;

use crate::words;

/// The fits of a document whose cases are copies of several sizes.
pub fn sweep_fits(document: &Document) -> Vec<SweepFit> {
    let mut fits = Vec::new();
    let mut done: Vec<(Order, MemoryKind, Direction)> = Vec::new();
    // Accesses by the CPU are of a range, and cases of a group of some ranks: neither is a size of a sweep.
    let copies = || document.cases.iter().filter(|case| case.range_bytes.is_none() && case.group.is_none());
    for case in copies() {
        let axes = (case.order, case.memory, case.direction);
        if done.contains(&axes) {
            continue;
        }
        done.push(axes);
        let alike: Vec<&Case> = copies().filter(|other| (other.order, other.memory, other.direction) == axes).collect();
        fits.extend(document.ranks.iter().filter_map(|rank| fit(document.settings.seed, rank.rank, &alike)));
    }
    fits
}

/// What the fits say: a sentence each, and which sizes are slow.
pub fn verdict(document: &Document) -> Vec<String> {
    let sentence = |fit: &SweepFit| {
        let rank = document.ranks.iter().find(|rank| rank.rank == fit.rank);
        let device = rank.and_then(|rank| document.devices.iter().find(|device| device.id == rank.asked.device));
        let of = match device {
            Some(device) if document.devices.len() > 1 => format!("GPU {}, ", device.index),
            _ => String::new(),
        };
        let (way, memory) = (words::direction(fit.direction), words::memory(fit.memory));
        let latency = units::duration_ns(fit.latency_ns);
        let half = units::rounded_size(fit.half_rate_bytes as u64);
        let dips: Vec<String> = fit
            .dips
            .iter()
            .map(|dip| format!("{} ({:.0} % below its neighbours)", units::size(dip.bytes), (1.0 - dip.ratio) * 100.0))
            .collect();
        let dips = if dips.is_empty() { String::new() } else { format!("; slow at {}", dips.join(", ")) };
        let rate = fit.bytes_per_s / 1e9;
        format!("{of}{way}, {memory} memory: {latency} and then {rate:.1} GB/s; half of that rate at {half}{dips}.")
    };
    document.fits.iter().map(sentence).collect()
}

fn fit(seed: u64, rank: u32, alike: &[&Case]) -> Option<SweepFit> {
    let time =
        |block: &BlockSample| block.elapsed_ns / (block.rounds as f64 * f64::from(block.copies_per_round.max(1)));
    let point = |case: &&Case| {
        let result = case.ranks.iter().find(|result| result.rank == rank)?;
        result.summary()?;
        // What a round moves, where that is both ways.
        let ways = if case.direction == Direction::RoundTrip { 2.0 } else { 1.0 };
        Some(Point { bytes: case.bytes as f64 * ways, blocks_ns: result.blocks.iter().map(time).collect() })
    };
    let mut points: Vec<Point> = alike.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let first = alike.first()?;
    let ways = if first.direction == Direction::RoundTrip { 2.0 } else { 1.0 };
    let found = line_fit(&points, seed)?;
    Some(SweepFit {
        rank,
        order: first.order,
        memory: first.memory,
        direction: first.direction,
        sizes: points.len() as u32,
        latency_ns: found.latency_ns,
        latency_interval_ns: found.latency_interval_ns,
        bytes_per_s: found.bytes_per_s,
        interval_bytes_per_s: found.interval_bytes_per_s,
        half_rate_bytes: found.half_rate_bytes / ways,
        dips: found.dips.iter().map(|dip| SweepDip { bytes: (dip.bytes / ways) as u64, ratio: dip.ratio }).collect(),
    })
}
