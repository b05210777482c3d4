//! What the near placement would gain, predicted from the rates of a matrix of the same node.
//!
//! Far bytes take their time at the rate of their node, and would take it at the rate of the best near node;
//! the difference is the copies' time that is saved. Its ends follow from the ends of the rates' 95 %
//! intervals, taken the unfavourable and the favourable way. How much of it the program gains depends on what
//! hides the copies: of copies that block nothing is hidden, so they are the lower end; the upper end is all
//! of it.

use report::result::BlockSample;
use report::row::{Row, RowStatus};
use report::settings::{Direction, MemoryKind};
use report::witness::{WitnessBuffer, WitnessDirection, WitnessGain, WitnessMemory};
use report::{Document, quantity::Quantity};

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

/// The rates that a document has of nodes and GPUs.
pub fn rates(matrix: &Document<BlockSample>) -> Vec<MatrixRate> {
    matrix.rows.iter().filter_map(rate_of).collect()
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

/// The gain by these rates; `None` where nothing is far.
pub fn gain(
    file: &str,
    rates: &[MatrixRate],
    buffers: &[WitnessBuffer],
    near: &[NearNodes],
) -> Option<WitnessGain> {
    let (mut far_bytes, mut without_rates_bytes) = (0, 0);
    let (mut copies, mut program) = ([0.0_f64; 2], [0.0_f64; 2]);
    for buffer in buffers.iter().filter(|buffer| buffer.far_bytes > 0) {
        let Some(gpu) = near.iter().find(|near| near.gpu == buffer.gpu) else { continue };
        let of = |node: u32| rate_for(rates, buffer, node);
        let best = gpu.nodes.iter().filter_map(of).max_by(|a, b| a.middle.total_cmp(&b.middle));
        let blocking = buffer.blocking_bytes as f64 / buffer.bytes.max(1) as f64;

        for node in buffer.nodes.iter().filter(|node| !gpu.nodes.contains(node.node)) {
            let (Some(best), Some(far)) = (best, of(node.node)) else {
                without_rates_bytes += node.bytes;
                continue;
            };
            let saved = |far: f64, near: f64| node.bytes as f64 * (1.0 / far - 1.0 / near);
            let (low, high) = (saved(far.high, best.low), saved(far.low, best.high));
            far_bytes += node.bytes;
            copies = [copies[0] + low, copies[1] + high];
            program = [program[0] + low * blocking, program[1] + high];
        }
    }
    // A far node that is as fast as a near one gains nothing.
    let [copies_low_s, copies_high_s] = copies.map(|end| end.max(0.0));
    let [program_low_s, program_high_s] = program.map(|end| end.max(0.0));
    let gain = WitnessGain {
        matrix: file.to_owned(),
        far_bytes,
        without_rates_bytes,
        copies_low_s,
        copies_high_s,
        program_low_s,
        program_high_s,
    };
    (far_bytes + without_rates_bytes > 0).then_some(gain)
}

/// The rate between a node and a buffer's GPU, of the same direction and kind; of several sizes that nearest
/// to the buffer's copies.
fn rate_for<'r>(rates: &'r [MatrixRate], buffer: &WitnessBuffer, node: u32) -> Option<&'r MatrixRate> {
    let mean = (buffer.bytes / buffer.copies.max(1)).max(1) as f64;
    let distance = |rate: &MatrixRate| ((rate.bytes.max(1) as f64).ln() - mean.ln()).abs();
    let is_of = |rate: &&MatrixRate| {
        rate.node == node
            && rate.gpu == buffer.gpu
            && rate.direction == buffer.direction
            && rate.memory == buffer.memory
    };
    rates.iter().filter(is_of).min_by(|a, b| distance(a).total_cmp(&distance(b)))
}
