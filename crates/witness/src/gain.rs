//! What the near placement would gain, predicted from the rates of matrices of the same node.
//!
//! A far copy takes its time at the rate of its node, and would take that of the best near node; the
//! difference is the copy's time that is saved. Its ends follow from the ends of the rates' 95 % intervals,
//! taken the unfavourable and the favourable way.
//!
//! The loss of one copy is a latency and a part that grows with its bytes. The latency that far copies have
//! beyond near ones is not known for sizes that were not measured: it is taken to lie between none and
//! [`LATENCY_S`]. Copies that share a link lose more than the matrix shows, where each is alone: if the
//! driver's events timed large copies, the upper end is at least their own time beyond a near copy's.
//!
//! How much of it the program gains depends on what hides the copies. The upper end is all of it. The lower
//! end is of copies that block, which nothing hides as long as no kernel runs and no other thread works
//! beside them, and of the process and GPU that lose most by these.

use std::collections::BTreeMap;

use report::case::Order;
use report::matrix::engine_of_group;
use report::result::BlockSample;
use report::row::{Row, RowStatus};
use report::settings::{CopyEngine, Direction, MemoryKind};
use report::witness::{WitnessBuffer, WitnessDirection, WitnessGain, WitnessMemory};
use report::{Document, quantity::Quantity};
use stats::alike::distinct;

use crate::buffers::NearNodes;

/// A figure of a matrix: the rate between a node's memory and a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixRate {
    /// The node, OS index.
    pub node: u32,
    /// The GPU's PCI address.
    pub gpu: String,
    /// Which way.
    pub direction: WitnessDirection,
    /// The kind of memory.
    pub memory: WitnessMemory,
    /// The size of a copy.
    pub bytes: u64,
    /// The rate, bytes/s.
    pub middle: f64,
    /// The lower end of its 95 % interval; the rate itself where it has none.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What the documents of matrices say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatrixRates {
    /// The names of their files.
    pub files: String,
    /// Their rates.
    pub rates: Vec<MatrixRate>,
    /// Of each document whose devices are simulated or not, whether they are.
    pub simulated: Vec<bool>,
    /// The hosts that they were measured on.
    pub hosts: Vec<String>,
}

impl MatrixRates {
    /// Takes a document's rates, if it has any.
    pub fn add(&mut self, file: &str, matrix: &Document<BlockSample>) -> bool {
        let before = self.rates.len();
        let is_by_kernel = |row: &Row| {
            let engine = row.group.as_deref().and_then(engine_of_group).unwrap_or(matrix.settings.engine);
            engine != CopyEngine::Ce
        };
        // A copy at the same time as others, or by a kernel, has another rate than the program's own.
        let is_like = |row: &&Row| row.order == Order::Alone && !is_by_kernel(row);
        self.rates.extend(matrix.rows.iter().filter(is_like).filter_map(rate_of));
        if !self.files.is_empty() {
            self.files.push_str(", ");
        }
        self.files.push_str(file);
        self.simulated.push(matrix.platform.simulated.is_some());
        self.hosts.push(matrix.environment.hostname.clone());
        self.rates.len() > before
    }

    /// Whether they are of such GPUs as the program's: simulated or real.
    pub(crate) fn are_as_real_as(&self, is_simulated: bool) -> bool {
        self.simulated.iter().all(|simulated| *simulated == is_simulated)
    }

    /// The hosts of them that are not this one.
    pub(crate) fn other_hosts(&self, host: Option<&str>) -> Vec<&str> {
        let others = self.hosts.iter().filter(|other| host.is_some_and(|host| host != *other));
        distinct(others.map(String::as_str))
    }
}

fn rate_of(row: &Row) -> Option<MatrixRate> {
    let direction = match row.direction {
        Direction::H2d => WitnessDirection::ToDevice,
        Direction::D2h => WitnessDirection::ToHost,
        _ => return None,
    };
    let memory = match row.memory {
        MemoryKind::Pinned | MemoryKind::PinnedDriver => WitnessMemory::Pinned,
        MemoryKind::Pageable => WitnessMemory::Pageable,
        _ => return None,
    };
    if row.status != RowStatus::Measured || row.quantity != Quantity::Bandwidth {
        return None;
    }
    let middle = row.value.filter(|value| *value > 0.0)?;
    let end = |end: Option<f64>| end.filter(|end| *end > 0.0).unwrap_or(middle);

    Some(MatrixRate {
        node: row.memory_node?,
        gpu: row.device.rsplit('/').next().unwrap_or_default().to_owned(),
        direction,
        memory,
        bytes: row.bytes,
        middle,
        low: end(row.value_low),
        high: end(row.value_high),
    })
}

/// The most latency that a far copy is taken to have beyond a near one, seconds: several crossings of a
/// fabric between sockets, whose loads take some 0.1 µs more.
const LATENCY_S: f64 = 2e-6;
/// Copies from this mean size on have their own time by the driver's events in the upper end: an event's cost
/// does not matter there.
const LARGE: f64 = 1048576.0;

/// The gain by these rates; `None` where nothing is far.
pub fn gain(
    file: &str,
    rates: &[MatrixRate],
    buffers: &[WitnessBuffer],
    near: &[NearNodes],
) -> Option<WitnessGain> {
    let (mut far_bytes, mut without_rates_bytes) = (0, 0);
    let mut copies = Loss::default();
    // Processes wait at the same time, and so do threads of one for several GPUs: the lower end is of one.
    let mut blocking_s: BTreeMap<(u32, &str), f64> = BTreeMap::new();

    for buffer in buffers.iter().filter(|buffer| buffer.far_bytes > 0) {
        let Some(gpu) = near.iter().find(|near| near.gpu == buffer.gpu) else { continue };
        let of: Vec<&MatrixRate> = rates.iter().filter(|rate| rate.is_of(buffer)).collect();
        let mut all = Loss::default();
        for node in buffer.nodes.iter().filter(|node| !gpu.nodes.contains(node.node)) {
            match loss(&differences(&of, node.node, gpu), buffer, node.bytes) {
                Some(loss) => {
                    far_bytes += node.bytes;
                    all.add(loss);
                }
                None => without_rates_bytes += node.bytes,
            }
        }

        let fastest = of.iter().filter(|rate| gpu.nodes.contains(rate.node)).map(|rate| rate.high);
        all.high = all.high.max(beyond_near(buffer, fastest.fold(0.0, f64::max)).unwrap_or(all.high));
        let share = buffer.blocking_bytes as f64 / buffer.bytes.max(1) as f64;
        *blocking_s.entry((buffer.pid, &buffer.gpu)).or_default() += all.low * share;
        copies.add(all);
    }

    // A far node that is as fast as a near one gains nothing.
    let gain = WitnessGain {
        matrix: file.to_owned(),
        far_bytes,
        without_rates_bytes,
        copies_low_s: copies.low.max(0.0),
        copies_high_s: copies.high.max(0.0),
        program_low_s: blocking_s.into_values().fold(0.0, f64::max),
        program_high_s: copies.high.max(0.0),
    };
    (far_bytes + without_rates_bytes > 0).then_some(gain)
}

/// Time that copies take beyond near ones, seconds.
#[derive(Clone, Copy, Default)]
struct Loss {
    low: f64,
    high: f64,
}

impl Loss {
    fn add(&mut self, other: Self) {
        self.low += other.low;
        self.high += other.high;
    }
}

/// What a far copy of one size takes beyond a near one, seconds, with the ends of its interval.
struct Difference {
    bytes: f64,
    low: f64,
    high: f64,
}

impl Difference {
    /// The ends of the same for a copy of another size: with a latency's share that is nothing or all that it
    /// can be.
    fn at(&self, bytes: f64) -> (f64, f64) {
        let scale = bytes / self.bytes;
        let of = |loss: f64, latency: f64| (loss - latency) * scale + latency;
        let all = |loss: f64| of(loss, LATENCY_S.min(loss.max(0.0)));
        (of(self.low, 0.0).min(all(self.low)), of(self.high, 0.0).max(all(self.high)))
    }
}

/// The differences of a far node's copies and those of the best near node, one of each size that both were
/// measured with.
fn differences(rates: &[&MatrixRate], node: u32, gpu: &NearNodes) -> Vec<Difference> {
    let far = rates.iter().filter(|rate| rate.node == node);
    let difference = |far: &&MatrixRate| {
        let near = rates.iter().filter(|rate| gpu.nodes.contains(rate.node) && rate.bytes == far.bytes);
        let best = near.max_by(|a, b| a.middle.total_cmp(&b.middle))?;
        let bytes = far.bytes.max(1) as f64;
        let between = |far: f64, near: f64| bytes / far - bytes / near;
        Some(Difference { bytes, low: between(far.high, best.low), high: between(far.low, best.high) })
    };
    far.filter_map(difference).collect()
}

/// The loss of so many bytes of a buffer's copies, by the nearest sizes below and above theirs; `None`
/// without any.
fn loss(differences: &[Difference], buffer: &WitnessBuffer, bytes: u64) -> Option<Loss> {
    let mean = mean_bytes(buffer);
    let copies = bytes as f64 / mean;
    let by_size = |a: &&Difference, b: &&Difference| a.bytes.total_cmp(&b.bytes);
    let below = differences.iter().filter(|known| known.bytes <= mean).max_by(by_size);
    let above = differences.iter().filter(|known| known.bytes >= mean).min_by(by_size);
    let bounds = below.into_iter().chain(above).map(|known| known.at(mean));
    let (low, high) =
        bounds.reduce(|(low, high), (other_low, other_high)| (low.max(other_low), high.min(other_high)))?;
    Some(Loss {
        // Noise may have put one size's bound beyond the other's.
        low: copies * low.min(high),
        high: copies * high.max(low),
    })
}

/// The time of all copies of a buffer, by those that events timed, beyond that of near copies at this rate;
/// `None` for small ones, and where none was timed.
fn beyond_near(buffer: &WitnessBuffer, near: f64) -> Option<f64> {
    let is_known = buffer.timed_bytes > 0 && near > 0.0 && mean_bytes(buffer) >= LARGE;
    is_known.then(|| buffer.bytes as f64 * (buffer.timed_s / buffer.timed_bytes as f64 - 1.0 / near))
}

fn mean_bytes(buffer: &WitnessBuffer) -> f64 {
    (buffer.bytes as f64 / buffer.copies.max(1) as f64).max(1.0)
}

impl MatrixRate {
    /// Whether it is of the buffer's GPU, direction and kind of memory.
    fn is_of(&self, buffer: &WitnessBuffer) -> bool {
        self.gpu == buffer.gpu && self.direction == buffer.direction && self.memory == buffer.memory
    }
}
