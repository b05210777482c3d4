//! What a document says of one case in one place: a figure with the blocks behind it, or the reason there is
//! none.
//!
//! The place is told by what stays the same from run to run: PU, memory node and the device's address on its
//! node. Ranks are numbered by the launcher and hosts are named by the scheduler, so neither belongs to it,
//! except that hosts tell the nodes of one run apart.

use std::collections::BTreeMap;
use std::fmt;

use report::block::BlockTime;
use report::case::{Case, Order, axes};
use report::device::name_on_node;
use report::quantity::Quantity;
use report::rank::{L3, Rank, l3_sharers};
use report::result::RankResult;
use report::round_count::RoundCount;
use report::row::RowStatus;
use report::settings::{Direction, MemoryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::touch::Touch;
use stats::units::size;

use crate::mpi_matrix::MpiPlane;
use crate::{moving, words};

/// Copies of up to this many bytes are judged by their time: what they cost is latency, and a rate of them
/// says nothing.
pub const LATENCY_UP_TO_BYTES: u64 = 64 << 10;

/// What stands between two devices in a key.
pub(crate) const BETWEEN: &str = " with ";

/// What stands before the number of a second figure in the same place.
const NUMBER: &str = " #";

/// One case in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// The case's `id`.
    pub case: String,
    /// The host, where the runs were on several nodes; null otherwise.
    pub host: Option<String>,
    /// The device on its node: a PCI address, or `node N`; the whole place in words where `place` has it. A
    /// second figure in the same place, as of two ranks with one PU and one GPU, has ` #2` behind it.
    pub device: String,
    /// The PU asked (OS index); 0, and no PU, where `place` has the place in words.
    pub pu: u32,
    /// The NUMA node of the host memory asked (OS index); null when it was left to the kernel.
    pub memory_node: Option<u32>,
    /// How the host memory is spread over NUMA nodes, `interleave:0-1`; null where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.6"))]
    pub memory_spread: Option<String>,
    /// The place in words, where it is not a PU with a device: a trial's variant, two ranks of an MPI run, an
    /// imported figure's own words.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub place: Option<String>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A rate: more is better.
    BytesPerS,
    /// A time: less is better.
    Ns,
    /// A kernel's floating-point operations a second: more is better.
    FlopPerS,
    /// A kernel's keys a second: more is better.
    KeysPerS,
    /// A program's time in seconds: less is better.
    S,
    /// A program's own figure of which more is better.
    More,
    /// A program's own figure of which less is better.
    Less,
    /// A counted part of a whole: less is better.
    Share,
    /// A part of a whole of which a sample was looked at: less is better.
    EstimatedShare,
}

impl Unit {
    /// The unit by which copies of this size are judged.
    pub fn of(bytes: u64) -> Self {
        if bytes <= LATENCY_UP_TO_BYTES { Self::Ns } else { Self::BytesPerS }
    }

    /// The unit by which figures of such a quantity and size are judged.
    pub fn judging(quantity: Quantity, bytes: u64) -> Self {
        match quantity {
            Quantity::Bandwidth => Self::of(bytes),
            Quantity::Latency => Self::Ns,
            Quantity::KernelBandwidth => Self::BytesPerS,
            Quantity::FlopRate => Self::FlopPerS,
            Quantity::KeyRate => Self::KeysPerS,
            Quantity::WorkRate => Self::More,
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        match self {
            Self::BytesPerS | Self::FlopPerS | Self::KeysPerS | Self::More => true,
            Self::Ns | Self::S | Self::Less | Self::Share | Self::EstimatedShare => false,
        }
    }

    /// Whether it is a part of a whole, 0 to 1: a change is a difference there, because nothing is no base of
    /// a ratio.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Share | Self::EstimatedShare)
    }

    /// A figure of it as one of which more is better: a time's inverse.
    pub(crate) fn as_rate(self, value: f64) -> f64 {
        if self.more_is_better() { value } else { 1.0 / value }
    }
}

/// A figure and the blocks behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it counts.
    pub unit: Unit,
    /// The figure: the median over blocks.
    pub median: f64,
    /// Each block's value, in order; empty where the document keeps none.
    pub blocks: Vec<f64>,
    /// Whether it is of work that another run may not do: there it is not missing.
    pub is_incidental: bool,
}

impl Figure {
    /// A figure that every run of the same work has.
    pub fn measured(unit: Unit, median: f64, blocks: Vec<f64>) -> Self {
        Self { unit, median, blocks, is_incidental: false }
    }

    /// The figure of a result; `count` is what a round of its case counts.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn of<B>(case: &Case<B>, result: &RankResult<B>, count: RoundCount) -> Result<Self, String>
    where
        for<'b> BlockTime: From<&'b B>,
    {
        let (status, reason) = RowStatus::with_reason(case, result);
        let summary = match (result.summary(), status) {
            (Some(summary), RowStatus::Measured) => summary,
            _ => return Err(format!("{}: {}", status_word(status), reason.unwrap_or_default())),
        };

        let unit = Unit::judging(count.quantity, case.bytes);
        let value =
            |ns: f64, bytes_per_s: f64| if unit == Unit::Ns { ns } else { count.value(ns, bytes_per_s) };
        let of_block = |block: BlockTime| {
            let ns = block.elapsed_ns / (block.rounds as f64 * f64::from(block.copies_per_round.max(1)));
            value(ns, block.bytes as f64 / block.elapsed_ns * 1e9)
        };
        let median = value(summary.median_ns, summary.median_bytes_per_s);
        let blocks: Vec<f64> = result.blocks.iter().map(|block| of_block(block.into())).collect();
        let is_figure = |value: &f64| value.is_finite() && *value > 0.0;
        if !is_figure(&median) || !blocks.iter().all(is_figure) {
            return Err("its figures are not all positive, finite numbers".to_owned());
        }
        Ok(Self::measured(unit, median, blocks))
    }
}

/// A status in one word.
pub fn status_word(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Measured => "measured",
        RowStatus::Skipped => "skipped",
        RowStatus::Failed => "failed",
        RowStatus::Invalid => "invalid",
        RowStatus::Corrupt => "corrupt",
        RowStatus::Newer => "known to a newer numabench",
    }
}

/// In a key in the place of a range's bytes: it goes beyond the caches, and how far says nothing of the
/// figure.
pub const BEYOND_CACHES: &str = "beyond-caches";
/// So many times the L3 a range must be for that, with those of the ranks that share the cache at once.
pub const TIMES_L3: u64 = 4;

/// How many of a case's ranks are at once behind each L3; none of ranks one after the other.
pub fn at_once_on_l3s<'r, B>(case: &Case<B>, ranks: &BTreeMap<u32, &'r Rank>) -> BTreeMap<L3<'r>, u64> {
    let at_once = case.ranks.iter().filter(|_| case.order == Order::Simultaneous);
    l3_sharers(at_once.filter_map(|result| ranks.get(&result.rank).copied()))
}

/// A case's id; where the CPU streams through a range beyond its caches, with that in the place of the bytes.
/// A range that is chosen for a machine differs with
/// what a job may use of it, and its figure does not.
fn case_by_meaning<B>(case: &Case<B>, rank: &Rank, sharers: u64) -> String {
    let streams = matches!(case.direction, Direction::Read | Direction::Write | Direction::Copy);
    let (Some(range), Some(l3), true) = (case.range_bytes, rank.l3_bytes, streams) else {
        return case.id.clone();
    };
    if range.saturating_mul(sharers) < l3.saturating_mul(TIMES_L3) {
        return case.id.clone();
    }
    case.id.replacen(&format!("/{}", case.bytes), &format!("/{BEYOND_CACHES}"), 1)
}

impl Key {
    /// The key of a case on a rank of a run on one or `several` nodes, where `sharers` ranks behind its L3
    /// are at once; `other` is the device that this rank's copies to, or loads from, where its own does not
    /// tell.
    pub fn of<B>(case: &Case<B>, rank: &Rank, sharers: u64, several: bool, other: Option<&str>) -> Self {
        let device = name_on_node(&rank.asked.device);
        Self {
            case: case_by_meaning(case, rank, sharers),
            host: several.then(|| rank.host.clone()),
            device: other.map_or(device.to_owned(), |other| format!("{device}{BETWEEN}{other}")),
            pu: rank.asked.pu,
            memory_node: rank.asked.memory_node,
            memory_spread: rank.asked.spread_in_words(),
            place: None,
        }
    }

    /// The device without the number of a second figure in the same place.
    pub(crate) fn device_alone(&self) -> &str {
        self.device.split_once(NUMBER).map_or(&self.device, |(device, _)| device)
    }

    /// The key of another figure in the same place, with its number.
    pub(crate) fn numbered(&self, number: usize) -> Self {
        Self { device: format!("{}{NUMBER}{number}", self.device), ..self.clone() }
    }

    /// Whether it is of a copy or a load between two devices, or within one.
    pub fn is_between_devices(&self) -> bool {
        self.device.contains(BETWEEN)
    }

    /// The key of a case whose place is no PU with a device.
    pub fn in_words(case: &str, place: String) -> Self {
        Self {
            case: case.to_owned(),
            host: None,
            device: place.clone(),
            pu: 0,
            memory_node: None,
            memory_spread: None,
            place: Some(place),
        }
    }

    /// The case as a person says it: `H2D, 4 MiB, pinned, at once`, or of messages `host memory, 8 B, one
    /// message at a time`; its id where that is of another kind of document.
    pub fn case_in_words(&self) -> String {
        let id = self.case.replacen(&format!("/{BEYOND_CACHES}"), "/0", 1);
        let is_beyond = id != self.case;
        let Some((order, memory, direction, bytes, group)) = axes(&id) else {
            return MpiPlane::of_id(&self.case).map_or_else(|| self.case.clone(), |plane| plane.name());
        };
        if let (true, Some(touch)) = (memory.moves(), group.and_then(Touch::named)) {
            let who = moving::who(direction);
            return format!(
                "{who}, {}, {}, {}",
                size(bytes),
                words::memory(memory),
                moving::touch_name(touch, direction)
            );
        }

        let mut parts = vec![words::direction(direction).to_owned()];
        parts.push(if is_beyond { "beyond the caches".to_owned() } else { size(bytes) });
        if memory != MemoryKind::Device {
            parts.push(words::memory(memory).to_owned());
        }
        parts.extend(group.map(str::to_owned));
        parts.extend((order == Order::Simultaneous).then(|| "at once".to_owned()));
        parts.join(", ")
    }

    /// The place in few words: `0000:c1:00.0 from PU 49, node 3`.
    pub fn place(&self) -> String {
        if let Some(place) = &self.place {
            return self.host.as_ref().map_or(place.clone(), |host| format!("{host} {place}"));
        }
        let host = self.host.as_ref().map_or(String::new(), |host| format!("{host} "));
        format!("{host}{} from PU {}{}", self.device, self.pu, self.memory())
    }

    /// The key of a series with its node: the run's host, unless the run was of several and the key says
    /// which.
    pub(crate) fn on_host(&self, host: &str) -> Self {
        Self { host: Some(self.host.clone().unwrap_or_else(|| host.to_owned())), ..self.clone() }
    }

    /// Where its host memory is, in words behind others: `, node 3`; empty when it was left to the kernel.
    pub(crate) fn memory(&self) -> String {
        let node = self.memory_node.map(|node| format!(", node {node}"));
        let spread = self.memory_spread.as_ref().map(|spread| format!(", memory {spread}"));
        node.or(spread).unwrap_or_default()
    }
}

/// The case and the place, in words.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.case_in_words(), self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_of_any_kind_of_document_is_said_in_words() {
        let place = || "GPU 0".to_owned();
        let said = |case: &str| {
            let key = Key {
                case: case.to_owned(),
                host: None,
                device: place(),
                pu: 0,
                memory_node: None,
                memory_spread: None,
                place: Some(place()),
            };
            key.case_in_words()
        };

        assert_eq!(said("simultaneous/pinned/h2d/4194304"), "H2D, 4 MiB, pinned, at once");
        assert_eq!(said("alone/managed/h2d/1048576/first"), "GPU, 1 MiB, managed, from the core");
        assert_eq!(said("alone/system/d2h/1048576/first"), "core, 1 MiB, system, from the GPU");
        assert_eq!(said("alone/managed/roundtrip/4096/in-turns"), "GPU and core, 4 KiB, managed, in turns");
        assert_eq!(
            said("simultaneous/pageable/read/beyond-caches/node 0, memory of node 0"),
            "read, beyond the caches, pageable, node 0, memory of node 0, at once"
        );
        assert_eq!(said("host/ping-pong/8"), "host memory, 8 B, one message at a time");

        for other in ["a metric of a user", "host/ping-pong/many", "host/sideways/8"] {
            assert_eq!(said(other), other);
        }
    }
}
