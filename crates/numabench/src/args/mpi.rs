//! `numabench mpi` as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use experiments::options::Backend;
use experiments::supervised::PlaceAsked;
use mpi::{DeviceOperation, Expectation, MessageOptions, MessagePattern, PairsAsked};
use placement::{RowsBy, Selection};
use ranks::ThreadLevel;
use stats::IdList;

use super::number::typed_seconds;
use super::words::{BACKENDS, Word, one_of};
use super::{ColorChoice, MOST, Sizes, duration, one_node, whole};

/// `numabench mpi`.
#[derive(Debug, clap::Args)]
pub struct Mpi {
    /// One PU for each rank of a node, OS ids as taskset writes them [default: near each rank's GPU]
    #[arg(long, visible_alias = "mpi-cpus", value_name = "LIST", help_heading = "Placement")]
    pub cpus: Option<IdList>,
    /// One GPU for each rank of a node: indices in PCI order, PCI addresses, UUIDs, or all [default: all that
    /// are visible, in turn]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub gpus: Option<Selection>,
    /// One PU for each rank of a node, for a thread that copies to and from the rank's GPU beside the
    /// messages: shows what copies and messages cost each other, there and on a core near the thread that
    /// calls MPI
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub gpu_cpus: Option<IdList>,
    /// Also measure messages (ping-pong of host memory) while the other ranks of the launch send messages of
    /// the same size, each with the next one: what ranks on all cores cost. An odd one rests, and so does
    /// rank 0, which leads, where it is not measured. With --gpu-cpus of fewer PUs than ranks the first ranks
    /// of a node copy, and the others send alone
    #[arg(long, conflicts_with = "matrix", help_heading = "Placement")]
    pub others_send: bool,
    /// Where host memory lies: local (the node of the rank's PU) or a NUMA node's number
    #[arg(long, value_name = "local|NODE", default_value = "local", value_parser = one_node,
          help_heading = "Placement")]
    pub membind: placement::Membind,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU; host sends host memory alone
    #[arg(long, value_parser = one_of(BACKENDS), default_value = "auto", help_heading = "Placement")]
    pub backend: Backend,
    /// Which ranks: all pairs, or pairs like 0-1,0-8; one way is from the lower rank to the higher
    /// [default: 0-1]
    #[arg(long, value_name = "PAIRS", value_parser = pairs, help_heading = "Placement")]
    pub pairs: Option<PairsAsked>,
    /// So many of all pairs of ranks: chosen by --seed, so that every rank takes part and every kind of
    /// neighbour is there (more pairs where that takes more)
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), conflicts_with = "pairs",
          help_heading = "Placement")]
    pub sample: Option<usize>,
    /// Compare places: each rank of a host runs on a NUMA node, L3 or core of its own and exchanges messages
    /// with each rank of the other host; on one host the ranks do so with each other (with twice as many
    /// ranks also within a place)
    #[arg(long, value_name = "node|l3|core", num_args = 0..=1, require_equals = true,
          default_missing_value = "node",
          conflicts_with_all = ["cpus", "membind", "pairs", "sample"], help_heading = "Placement")]
    pub matrix: Option<RowsBy>,

    /// Sizes of messages: a list or a geometric range like 8B..128MiB:8, up to 1 GiB; 0B in the list adds the
    /// latency of messages of no bytes (ping-pong of host memory) [default: 8B..128MiB:8; 8B,4MiB with
    /// --matrix]
    #[arg(long, value_name = "SIZES", value_parser = message_sizes, help_heading = "What is sent")]
    size: Option<Sizes>,
    /// How messages follow each other: ping-pong one at a time (as osu_latency), one-way and both-ways up to
    /// 64 at once (as osu_bw, osu_bibw) [default: all; ping-pong with --matrix]
    #[arg(long, value_parser = one_of(PATTERNS), value_delimiter = ',', value_name = "PATTERNS",
          help_heading = "What is sent")]
    pattern: Vec<MessagePattern>,
    /// What MPI is given device memory for: all, none, or
    /// send,isend,sendrecv,bcast,put,get,alltoall,allreduce. MPI may crash in it: a process of its own does
    /// it, and what was measured before is kept [default: all; none with --matrix]
    #[arg(long, value_parser = operations(), value_delimiter = ',', value_name = "OPERATIONS",
          help_heading = "What is sent")]
    operations: Vec<String>,

    /// The thread level that MPI is started with: single as OSU's programs and most MPI programs; others take
    /// up to 0.2 µs a message
    #[arg(long, value_parser = one_of(LEVELS), default_value = "single", value_name = "LEVEL",
          help_heading = "How it is measured")]
    pub thread_level: ThreadLevel,
    /// Begin no further pass over the cases of a phase after this time
    #[arg(long, value_name = "TIME", value_parser = duration,
          default_value = typed_seconds(MessageOptions::default().max_time),
          help_heading = "How it is measured")]
    pub max_time: Duration,
    /// End an MPI whose operation takes longer than this: it hangs
    #[arg(long, value_name = "TIME", value_parser = duration,
          default_value = typed_seconds(MessageOptions::default().operation_timeout),
          help_heading = "How it is measured")]
    pub operation_timeout: Duration,
    /// Give up on ranks that do not start within this time
    #[arg(long, value_name = "TIME", value_parser = duration,
          default_value = typed_seconds(MessageOptions::default().timeout),
          help_heading = "How it is measured")]
    pub timeout: Duration,
    /// The seed of the order of blocks
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX),
          default_value_t = MessageOptions::default().seed, help_heading = "How it is measured")]
    pub seed: u64,

    /// End with exit code 5 where this does not hold, with 6 where that is not known: what MPI does with
    /// device memory, or which network adapters carry messages between hosts. An operation that crashes,
    /// hangs or brings wrong bytes ends with 5 in any case
    #[arg(long, value_parser = one_of(EXPECTED), value_name = "WHAT", help_heading = "Output")]
    pub expect: Option<Expectation>,
    /// Print the document instead of the table, or write it to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print everything. By default so where no terminal is (a log keeps all), and on a terminal what a
    /// screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Print the answer alone
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,
}

impl Mpi {
    /// What is to be measured: under `--matrix` less of each place by default.
    pub fn options(&self) -> MessageOptions {
        let all = MessageOptions::default();
        let (sizes, patterns, operations) = match self.matrix {
            Some(_) => (vec![8, 4 << 20], vec![MessagePattern::PingPong], Vec::new()),
            None => (all.sizes, all.patterns, all.operations),
        };

        MessageOptions {
            place: PlaceAsked {
                cpus: self.cpus.clone(),
                gpus: self.gpus.clone(),
                membind: self.membind.clone(),
                backend: self.backend,
            },
            gpu_cpus: self.gpu_cpus.clone(),
            others_send: self.others_send,
            pairs: self.sample.map(PairsAsked::Sample).or_else(|| self.pairs.clone()),
            matrix: self.matrix,
            sizes: self.size.as_ref().map_or(sizes, |sizes| sizes.0.clone()),
            patterns: if self.pattern.is_empty() { patterns } else { self.pattern.clone() },
            operations: if self.operations.is_empty() { operations } else { tried(&self.operations) },
            thread_level: self.thread_level,
            max_time: self.max_time,
            operation_timeout: self.operation_timeout,
            timeout: self.timeout,
            seed: self.seed,
            expect: self.expect,
        }
    }
}

/// Sizes, one of which may be 0 B.
fn message_sizes(text: &str) -> Result<Sizes, stats::units::SizesError> {
    let is_zero = |item: &&str| matches!(item.trim(), "0" | "0B" | "0b");
    let (zeros, others): (Vec<&str>, Vec<&str>) = text.split(',').partition(is_zero);
    let none = if zeros.is_empty() { Vec::new() } else { vec![0] };
    let others = if others.is_empty() { Vec::new() } else { stats::units::parse_sizes(&others.join(","))? };
    Ok(Sizes([none, others].concat()))
}

fn pairs(text: &str) -> Result<PairsAsked, String> {
    if text == "all" {
        return Ok(PairsAsked::All);
    }
    let pair = |word: &str| -> Option<[usize; 2]> {
        let (one, other) = word.split_once('-')?;
        let (one, other): (usize, usize) = (one.trim().parse().ok()?, other.trim().parse().ok()?);
        (one != other).then_some([one.min(other), one.max(other)])
    };
    let parsed: Option<Vec<[usize; 2]>> = text.split(',').map(pair).collect();

    let neither = || format!("\"{text}\" is neither all nor pairs of two different ranks like 0-1,0-8");
    let these = parsed.ok_or_else(neither)?;
    let repeated = these.iter().enumerate().find(|(at, pair)| these[..*at].contains(pair));
    match repeated {
        Some((_, [one, other])) => {
            Err(format!("\"{text}\" names ranks {one} and {other} twice: leave one out"))
        }
        None => Ok(PairsAsked::These(these)),
    }
}

/// How messages follow each other.
const PATTERNS: &[Word<MessagePattern>] = &[
    ("ping-pong", MessagePattern::PingPong, "There and back, one at a time"),
    ("one-way", MessagePattern::OneWay, "Several at once, one way"),
    ("both-ways", MessagePattern::BothWays, "Several at once, both ways"),
];

/// What MPI is given device memory for: all, nothing, or operations by their names.
fn operations() -> PossibleValuesParser {
    let all = PossibleValue::new("all").help("All of these");
    let none = PossibleValue::new("none").help("Nothing: device memory is staged by numabench alone");
    let named = DeviceOperation::ALL.map(|operation| PossibleValue::new(operation.name()));
    PossibleValuesParser::new([all, none].into_iter().chain(named))
}

/// Those asked for, `send` first.
fn tried(asked: &[String]) -> Vec<DeviceOperation> {
    let is_asked =
        |operation: &DeviceOperation| asked.iter().any(|word| word == "all" || word == operation.name());
    let mut tried: Vec<DeviceOperation> = DeviceOperation::ALL.into_iter().filter(is_asked).collect();
    if !tried.is_empty() && !tried.contains(&DeviceOperation::Send) {
        tried.insert(0, DeviceOperation::Send);
    }
    tried
}

/// How many threads MPI is to reckon with.
const LEVELS: &[Word<ThreadLevel>] = &[
    ("single", ThreadLevel::Single, "MPI_THREAD_SINGLE"),
    ("funneled", ThreadLevel::Funneled, "MPI_THREAD_FUNNELED"),
    ("serialized", ThreadLevel::Serialized, "MPI_THREAD_SERIALIZED"),
    ("multiple", ThreadLevel::Multiple, "MPI_THREAD_MULTIPLE"),
];

/// What is expected of MPI.
const EXPECTED: &[Word<Expectation>] = &[
    ("aware", Expectation::Aware, "MPI takes device memory in every operation tried, whichever way it goes"),
    ("direct", Expectation::Direct, "That, and from device to device"),
    (
        "near",
        Expectation::Near,
        "No rank's bytes go over an adapter of another NUMA node while one of its GPU's node, or of its PU's \
         without a GPU, has a link",
    ),
];

#[cfg(test)]
mod tests {
    use clap::builder::TypedValueParser;

    use super::*;

    #[test]
    fn pairs_are_two_different_ranks_in_either_order() {
        assert_eq!(pairs("all"), Ok(PairsAsked::All));
        assert_eq!(pairs("0-1,8-0"), Ok(PairsAsked::These(vec![[0, 1], [0, 8]])));
        for twice in ["0-1,0-1", "0-1,1-0"] {
            assert!(pairs(twice).is_err_and(|why| why.contains("ranks 0 and 1 twice")), "{twice}");
        }
        for wrong in ["", "0", "1-1", "0-x", "0-1,"] {
            assert!(pairs(wrong).is_err_and(|why| why.contains("0-1,0-8")), "{wrong}");
        }
    }

    #[test]
    fn whatever_is_asked_for_send_comes_first() {
        let asked = |words: &[&str]| tried(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(asked(&["all"]), DeviceOperation::ALL);
        assert_eq!(asked(&["none"]), []);
        assert_eq!(
            asked(&["allreduce", "put"]),
            [DeviceOperation::Send, DeviceOperation::Put, DeviceOperation::Allreduce]
        );
    }

    #[test]
    fn every_operation_can_be_named() {
        for operation in DeviceOperation::ALL {
            let parsed = operations().parse_ref(&clap::Command::new(""), None, operation.name().as_ref());
            assert!(parsed.is_ok_and(|word| tried(&[word]).contains(&operation)), "{}", operation.name());
        }
    }
}
