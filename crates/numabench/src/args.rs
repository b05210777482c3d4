//! The command line as typed. What it means on this machine is `config`'s work; here only form is checked.

pub mod baseline;
pub mod check;
pub mod compare;
pub mod completions;
pub mod contend;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod history;
pub mod import;
pub mod kernels;
pub mod laplace;
pub mod latency;
pub mod man;
pub mod matrix;
pub mod measuring;
pub mod mpi;
mod number;
pub mod peer;
pub mod pingpong;
pub mod place;
pub mod reference;
pub mod report;
pub mod schema;
pub mod suite;
pub mod sweep;
pub mod topo;
pub mod trial;
pub mod witness;
mod words;

use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use experiments::for_one_platform::ForOnePlatform;
use placement::Membind;
use stats::units::{parse_duration, parse_sizes};
use stats::{IdList, IdSet};

use number::{percent, whole};
use words::{CLOCKS, DIRECTIONS, ENGINES, MEMORY, SWITCH, Word, one_of};

use crate::version;

/// More ranks or cores than this no node has: Linux counts up to 8,192 PUs.
pub const MOST: u64 = placement::MOST_RANKS as u64;

/// Show which CPUs, memory and GPUs of a node belong together, measure what a wrong placement costs, and
/// start programs in the right one.
#[derive(Debug, Parser)]
#[command(name = "numabench", version = version::LINE, propagate_version = true, max_term_width = 110)]
pub struct Args {
    /// With --version: also hwloc's version, and which MPI plug-ins are here and whether they fit this launch
    #[arg(short, long, requires = "version")]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which CPUs, memory and GPUs belong together, and which of them this process may use
    Topo(Box<topo::Topo>),
    /// Say which settings of this node cost placement or bandwidth, why, and how to change them: exit code 0
    /// none, 5 some, 6 not all can be known
    Doctor(doctor::Doctor),
    /// Bind each rank to its PU, copy host memory to its GPU and back, and prove what was measured
    Pingpong(Box<pingpong::Pingpong>),
    /// Measure bandwidth from every NUMA node (or L3, or core) to every GPU; without a GPU from every node's
    /// cores to every node's memory
    Matrix(Box<matrix::Matrix>),
    /// Measure the latency of a load of each node's memory, by each GPU or (without a GPU) by each node's
    /// core; or from core to core
    Latency(Box<latency::Latency>),
    /// Measure copies between the memory of every two GPUs and within each: one way, bidirectional, and the
    /// time of the smallest
    Peer(Box<peer::Peer>),
    /// Measure messages between ranks of a launch; say whether MPI takes device memory, and whether directly
    /// or through the host
    Mpi(Box<mpi::Mpi>),
    /// Measure bandwidth and time against size; give the latency and the peak rate that fit them
    Sweep(Box<sweep::Sweep>),
    /// Measure the bandwidth that ranks lose when they copy at once: GPUs that share a link, ranks that share
    /// a GPU
    Contend(Box<contend::Contend>),
    /// Measure kernels that compute, from every NUMA node to every GPU: with transfers and alone, and the
    /// cost of a far node for each
    Kernels(Box<kernels::Kernels>),
    /// Measure Jacobi's iteration over the ranks of a launch, its halos by cores alone, staged through the
    /// host, or by GPU-aware MPI
    Laplace(Box<laplace::Laplace>),
    /// Measure this node within a given time, as one document: its memory, its GPUs, and their loss when they
    /// copy at once
    Suite(Box<suite::Suite>),
    /// Recommend cores, memory and a GPU for each rank, with the line for srun, mpirun, numactl or others; or
    /// measure which placement is fastest
    Place(Box<place::Place>),
    /// Start a program in its rank's place: bound to its cores and its memory, with its GPU
    Exec(Box<exec::Exec>),
    /// Say whether the ranks of this launch, this process or running programs are well placed: exit code 0
    /// yes, 5 no, 6 unknown
    Check(Box<check::Check>),
    /// Run your own program under several placements in random order, until it is decided which is fastest
    /// and by how much
    Trial(Box<trial::Trial>),
    /// Run your own program once and say which of its copies between host memory and GPUs are far, how fast
    /// they were, and what near memory would gain: the exit code is the program's
    Witness(witness::Witness),
    /// Say whether runs got worse than earlier ones: exit code 0 no, 5 yes, 6 the data do not decide
    Compare(Box<compare::Compare>),
    /// Learn the normal figures of a class of hardware from result documents of your own nodes, for check
    /// --bandwidth
    Baseline(baseline::Baseline),
    /// List reference figures of GPUs and their links, published and our own, with their sources: to tell
    /// whether a measured one is normal
    Reference(reference::Reference),
    /// Find when figures changed over many runs, and what changed with them: exit code 0 no change, 5 changes
    History(history::History),
    /// Convert a result document for dashboards and pipelines: CSV, Bencher, GitHub, Prometheus, JUnit,
    /// InfluxDB
    Export(export::Export),
    /// Read the output of nvbandwidth, TransferBench or the OSU micro-benchmarks, as a document to compare,
    /// export and report
    Import(import::Import),
    /// Show nodes side by side, or write a report of one run or several as one HTML file: exit code 0
    /// whatever they say
    Report(report::Report),
    /// Print the JSON Schema of a kind of document
    Schema(schema::Schema),
    /// Print a shell's completions of these commands
    Completions(completions::Completions),
    /// Print the manual page, or write one for each command
    Man(man::Man),
}

impl Command {
    /// Where a command that measures keeps the options that say something on one platform only.
    pub fn for_one_platform_mut(&mut self) -> Option<&mut ForOnePlatform> {
        match self {
            Self::Topo(command) => Some(&mut command.for_one_platform),
            Self::Matrix(command) => Some(&mut command.measuring.for_one_platform),
            Self::Latency(command) => Some(&mut command.measuring.for_one_platform),
            Self::Peer(command) => Some(&mut command.measuring.for_one_platform),
            Self::Sweep(command) => Some(&mut command.measuring.for_one_platform),
            Self::Contend(command) => Some(&mut command.measuring.for_one_platform),
            Self::Kernels(command) => Some(&mut command.measuring.for_one_platform),
            Self::Suite(command) => Some(&mut command.measuring.for_one_platform),
            _ => None,
        }
    }
}

/// Sizes in bytes, ascending.
#[derive(Clone, Debug)]
pub struct Sizes(pub Vec<u64>);

pub(crate) fn sizes(text: &str) -> Result<Sizes, stats::units::SizesError> {
    parse_sizes(text).map(Sizes)
}

pub(crate) fn duration(text: &str) -> Result<Duration, stats::units::DurationError> {
    parse_duration(text)
}

/// Ids that are meant: none is what a variable that is not set leaves of an option's value.
pub(crate) fn ids(text: &str) -> Result<IdSet, stats::id_list::IdListError> {
    text.parse::<IdList>().map(|list| list.0.into_iter().collect())
}

/// Memory on one node: what MPI is given is bound before MPI sees it, and a rank has one place.
fn one_node(text: &str) -> Result<Membind, String> {
    match text.parse() {
        Ok(membind @ (Membind::Local | Membind::Node(_))) => Ok(membind),
        Ok(Membind::Spread(..)) => Err(format!(
            "\"{text}\": memory lies on one node here; pingpong, place --measure and exec spread it"
        )),
        Err(_) => Err(format!("\"{text}\" is neither local nor a NUMA node's number")),
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[cfg(test)]
mod tests {
    use ::laplace::LaplaceOptions;
    use ::mpi::MessageOptions;
    use ::trial::options::TrialOptions;
    use clap::CommandFactory;
    use experiments::options::{
        ComputingOptions, ContendOptions, LatencyOptions, MatrixOptions, PeerOptions,
    };

    use super::number::typed_size;
    use super::*;

    /// What the library of a command is told.
    fn options(line: &str) -> Result<String, clap::Error> {
        let args = Args::try_parse_from(format!("numabench {line}").split(' '))?;
        Ok(match args.command {
            Command::Matrix(command) => format!("{:?}", command.options()),
            Command::Latency(command) => format!("{:?}", command.options()),
            Command::Peer(command) => format!("{:?}", command.options()),
            Command::Contend(command) => format!("{:?}", command.options()),
            Command::Kernels(command) => format!("{:?}", command.options()),
            Command::Mpi(command) => format!("{:?}", command.options()),
            Command::Laplace(command) => format!("{:?}", command.options()),
            Command::Trial(command) => format!("{:?}", command.options()),
            other => panic!("{other:?} has no options with defaults"),
        })
    }

    #[test]
    fn a_command_line_that_says_nothing_is_the_librarys_default() -> Result<(), clap::Error> {
        let of_true = TrialOptions { program: vec!["true".into()], ..TrialOptions::default() };
        for (line, default) in [
            ("matrix", format!("{:?}", MatrixOptions::default())),
            ("latency", format!("{:?}", LatencyOptions::default())),
            ("peer", format!("{:?}", PeerOptions::default())),
            ("contend", format!("{:?}", ContendOptions::default())),
            ("kernels", format!("{:?}", ComputingOptions::default())),
            ("mpi", format!("{:?}", MessageOptions::default())),
            ("laplace", format!("{:?}", LaplaceOptions::default())),
            ("trial -- true", format!("{of_true:?}")),
        ] {
            assert_eq!(options(line)?, default, "{line}");
        }
        Ok(())
    }

    #[test]
    fn the_size_that_help_names_is_the_one_that_is_copied() {
        let all = Args::command();
        for name in ["pingpong", "contend", "place"] {
            let size = all
                .find_subcommand(name)
                .and_then(|command| command.get_arguments().find(|arg| arg.get_id() == "size"));
            let help = size.and_then(|size| size.get_help()).map(ToString::to_string);
            let names = format!("[default: {};", typed_size(MatrixOptions::default().size));
            assert!(help.as_ref().is_some_and(|help| help.contains(&names)), "{name}: {help:?}");
        }
    }

    /// Another option of exec in a line must not be taken for an unknown one.
    #[test]
    fn every_option_of_exec_is_known_in_a_launch_line() -> Result<(), Box<dyn std::error::Error>> {
        let machine =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/vm-two-nodes.xml");
        let topology = ::topo::from_xml(&machine)?;
        let mut all = Args::command();
        all.build();
        let exec = all.find_subcommand("exec").ok_or("no exec")?;
        let mut options = 0;
        for option in exec.get_arguments() {
            let Some(name) = option.get_long() else { continue };
            let value = if option.get_action().takes_values() { "=1" } else { "" };
            let line = format!("srun -n2 --cpu-bind=none numabench exec --{name}{value} -- ./app");
            let said = launchers::line::read(&line, &topology)
                .map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!said.contains("is no option"), "{line}: {said}");
            options += 1;
        }
        assert!(options > 10, "{options} options");
        Ok(())
    }
}
