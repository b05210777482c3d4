//! `numabench topo` as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use experiments::for_one_platform::ForOnePlatform;
use experiments::options::Backend;
use placement::Selection;
use stats::PciAddress;
use stats::pci_address::PciAddressError;

use super::words::{BACKENDS, one_of};
use super::{ColorChoice, duration, whole};

/// `numabench topo`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Topo {
    /// Something else than a view.
    #[command(subcommand)]
    pub action: Option<TopoAction>,
    /// Read a saved hwloc XML file (of --save, or `lstopo FILE.xml`) instead of this machine, or what other
    /// tools printed of one: lscpu, numactl -H, lstopo, nvidia-smi topo -m (also -L, -q), rocm-smi
    /// --showtopo; one file with all, or the option several times
    #[arg(long, value_name = "FILE")]
    pub input: Vec<PathBuf>,
    /// Save this machine as hwloc XML too, for --input and for lstopo; - is standard output, without a view
    #[arg(long, value_name = "FILE.xml|-", conflicts_with = "input")]
    pub save: Option<PathBuf>,
    /// Draw the machine too, as a picture (SVG): NUMA nodes, L3s, cores, and each GPU and NIC where it
    /// belongs; - is standard output, without a view
    #[arg(long, value_name = "FILE.svg|-")]
    pub svg: Option<PathBuf>,
    /// Draw the rates that a document has of this node's links instead: of matrix, contend, peer, pingpong,
    /// latency, suite, place --measure or mpi --matrix. With --emit nccl-topo: take the groups of GPUs that
    /// topo --measure found
    #[arg(long, value_name = "RESULT.json")]
    pub with: Option<PathBuf>,
    /// Print a topology file for NCCL (NCCL_TOPO_FILE), for a virtual machine that hides which devices share
    /// a PCIe switch and a NUMA node: of the host that --input has, of this machine, or with the groups that
    /// --with has
    #[arg(long, value_enum, value_name = "NAME")]
    pub emit: Option<TopoEmit>,
    /// With --emit nccl-topo: the address that each device of the machine has in the guest; devices that are
    /// not named are left out
    #[arg(long, value_name = "HOST=GUEST,…", value_delimiter = ',', value_parser = guest_address)]
    pub guest: Vec<(PciAddress, PciAddress)>,
    /// Show NUMA nodes, distances, and this process's memory policy and bindings: what numactl -H and -s say
    #[arg(long, conflicts_with = "json")]
    pub numa: bool,
    /// Show the machine as a tree, as lstopo does: packages, NUMA nodes, L3s, cores, and devices under what
    /// is local to them
    #[arg(long, conflicts_with_all = ["json", "numa"])]
    pub tree: bool,
    /// Show the connection between every two GPUs and fast network adapters, as nvidia-smi topo -m does:
    /// NVLinks, xGMI, PCIe bridges, NUMA nodes. Asks NVIDIA's management library, where there is one
    #[arg(long, conflicts_with_all = ["json", "numa", "tree"])]
    pub matrix: bool,
    /// Show the names of each GPU: PCI address, UUID, the index that CUDA or HIP would give it here
    /// (predicted from the visible-devices variables; neither is started), nvidia-smi's index, device files
    #[arg(long, conflicts_with_all = ["json", "numa", "tree", "matrix"])]
    pub identity: bool,
    /// Print the whole model as JSON, all that any view shows (with --measure the result document) instead of
    /// the table, or write it to FILE beside it
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Whether headings are coloured, and of --measure the table
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,

    /// Measure which GPUs and which cores belong together: GPUs by the bandwidth that they lose when they
    /// copy at once, cores by their core-to-core latency; =gpus or =cores measures one of the two
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_values = ["gpus", "cores"],
        value_name = "gpus,cores",
        conflicts_with_all = ["input", "save", "svg", "numa", "tree", "matrix", "identity"],
        help_heading = "Measuring"
    )]
    pub measure: Vec<Measured>,
    /// The time that this may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2min",
          help_heading = "Measuring")]
    pub within: Duration,
    /// Give up after this time, whatever a device does [default: the time of --within and a minute]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Measuring")]
    pub timeout: Option<Duration>,
    /// The GPUs: indices in PCI order, PCI addresses, UUIDs, or all [default: all]
    #[arg(long, value_name = "LIST", help_heading = "Measuring")]
    pub gpus: Option<Selection>,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU, and cores only otherwise [default:
    /// auto]
    #[arg(long, value_parser = one_of(BACKENDS), help_heading = "Measuring")]
    pub backend: Option<Backend>,
    /// The size of one copy [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, help_heading = "Measuring")]
    pub size: Option<u64>,
    /// Measure this number of rounds a case; without it, blocks are measured until the interval is narrow
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=10_000_000), help_heading = "Measuring")]
    pub reps: Option<u64>,
    /// Seed of the payload and of the order of blocks [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), help_heading = "Measuring")]
    pub seed: Option<u64>,
    /// Print the plan of the measurement, and touch no GPU
    #[arg(long, conflicts_with = "json", help_heading = "Measuring")]
    pub dry_run: bool,
    /// Options that were typed and say something only with GPUs, or only without.
    #[arg(skip)]
    pub for_one_platform: ForOnePlatform,
}

/// What `--emit` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopoEmit {
    /// A topology file of NCCL
    NcclTopo,
}

/// A device's address on the host and in the guest.
fn guest_address(text: &str) -> Result<(PciAddress, PciAddress), String> {
    let (host, guest) =
        text.split_once('=').ok_or("write it as HOST=GUEST, e.g. 0000:17:00.0=0000:05:00.0")?;
    let address = |text: &str| text.parse().map_err(|error: PciAddressError| error.to_string());
    Ok((address(host)?, address(guest)?))
}

/// What `numabench topo --measure` groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Measured {
    /// GPUs, by the bandwidth that they lose when they copy at once
    Gpus,
    /// Cores, by their core-to-core latency
    Cores,
}

/// What `numabench topo` does besides showing.
#[derive(Debug, Subcommand)]
pub enum TopoAction {
    /// Show the differences between two saved files, of two machines or of one on two days: exit code 0 the
    /// same, 5 different
    Diff {
        /// The earlier file (of `topo --save`, or `lstopo FILE.xml`)
        #[arg(value_name = "A.xml")]
        old: PathBuf,
        /// The later file
        #[arg(value_name = "B.xml")]
        new: PathBuf,
        /// Print the differences as JSON instead of in words, or write them to FILE beside these
        #[arg(long, value_name = "FILE|-", num_args = 0..=1, require_equals = true,
              default_missing_value = "-")]
        json: Option<PathBuf>,
    },
}
