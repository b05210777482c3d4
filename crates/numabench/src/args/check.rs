//! `numabench check` as typed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use experiments::bandwidth_check::CheckedCopies;

use super::{MOST, Word, duration, one_of, whole};

/// Linux has no larger process id (PID_MAX_LIMIT).
const MOST_PID: u64 = 1 << 22;

/// What `check --bandwidth` measures.
const COPIES: &[Word<CheckedCopies>] = &[
    (CheckedCopies::H2d.name(), CheckedCopies::H2d, "Host to device"),
    (CheckedCopies::D2h.name(), CheckedCopies::D2h, "Device to host"),
    (CheckedCopies::Hbm.name(), CheckedCopies::Hbm, "Within each GPU's memory"),
    (CheckedCopies::Peer.name(), CheckedCopies::Peer, "From each GPU to the next"),
];

/// `numabench check`.
#[derive(Debug, clap::Args)]
pub struct Check {
    /// Look at these running processes instead of this one and the ranks started with it
    #[arg(long, value_name = "PID[,PID...]", value_parser = whole::<u32>(1..=MOST_PID), value_delimiter = ',',
          conflicts_with = "program")]
    pub pid: Vec<u32>,
    /// Look at every process here that uses a GPU: the processes of the drivers' lists (NVML's, amdkfd's),
    /// else those with a GPU's device file open
    #[arg(long, conflicts_with_all = ["pid", "program", "input", "rank", "ranks"])]
    pub all: bool,
    /// Show the threads of each process too, and the processes that it started, by name and PUs. Without it
    /// one line says where they are not bound alike
    #[arg(long, conflicts_with_all = ["launch", "bandwidth"])]
    pub threads: bool,
    /// Say of each rank which network adapter is near its GPU and which one its variables name
    /// (UCX_NET_DEVICES, NCCL_IB_HCA, FI_CXI_DEVICE_NAME, …), before anything is sent; one that names another
    /// is a finding (exit code 5)
    #[arg(long, conflicts_with = "bandwidth")]
    pub nic: bool,
    /// Judge by a saved machine (an hwloc XML file of `topo --save`, or `lstopo FILE.xml`; or texts, as `topo
    /// --input` takes them) whether the placement seen here would be right there
    #[arg(long, value_name = "FILE")]
    pub input: Vec<PathBuf>,
    /// This process's number among the ranks of its node, from 0, for a launcher that numabench does not know
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=MOST - 1), conflicts_with = "pid")]
    pub rank: Option<usize>,
    /// How many ranks this node has, where the launcher does not say it
    #[arg(long, value_name = "M", value_parser = whole::<NonZeroUsize>(1..=MOST), conflicts_with = "pid")]
    pub ranks: Option<NonZeroUsize>,
    /// Judge this line as if it were run, and run nothing: "srun -n8 --cpu-bind=map_cpu:… --gpus-per-task=1
    /// PROGRAM", of mpirun, mpiexec, numactl or taskset, or with a wrapper whose script is here
    #[arg(long, value_name = "LINE", conflicts_with_all = ["pid", "all", "program", "rank", "ranks"])]
    pub launch: Option<String>,
    /// Judge what a launcher printed of where it put the ranks of one launch: --report-bindings (Open MPI),
    /// --cpu-bind=verbose (srun, PALS), HYDRA_TOPO_DEBUG=1 (MPICH), I_MPI_DEBUG=4 (Intel MPI); - is standard
    /// input. With --input the machine, with --launch the line that says their GPUs
    #[arg(long, value_name = "FILE|-",
          conflicts_with_all = ["pid", "all", "program", "rank", "ranks", "threads"])]
    pub printed: Option<PathBuf>,
    /// With an srun line: the site's gres.conf, whose Cores= say which GPUs Slurm takes for near to a task
    #[arg(long, value_name = "FILE")]
    pub gres_conf: Option<PathBuf>,
    /// With an srun line: the site's slurm.conf, or what `scontrol show node NAME` prints: which parts of the
    /// node are Slurm's sockets and CPUs, and its version
    #[arg(long, value_name = "FILE")]
    pub slurm_conf: Option<PathBuf>,
    /// Measure instead whether this node's GPUs copy as fast as equal GPUs: against each other, or, with
    /// --against, a baseline. Takes seconds; as a prologue run it once a node, while nothing else runs
    #[arg(long, conflicts_with_all = ["pid", "all", "program", "input", "launch", "printed", "rank", "ranks"],
          help_heading = "Bandwidth")]
    pub bandwidth: bool,
    /// What is measured: copies to the GPUs and back, within each GPU's memory (hbm), and from each GPU to
    /// the next (peer); each has a class and a limit of its own
    #[arg(long, value_parser = one_of(COPIES), value_delimiter = ',', default_values = ["h2d", "d2h"],
          hide_default_value = true,
          value_name = "LIST", help_heading = "Bandwidth")]
    pub what: Vec<CheckedCopies>,
    /// What is normal for this class of hardware, as `numabench baseline` learned it
    #[arg(long, value_name = "BASELINE.json", help_heading = "Bandwidth")]
    pub against: Option<PathBuf>,
    /// How long the ranks of a node wait for each other; with --bandwidth, how long each run of a
    /// pass may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// With --bandwidth: one line, the worst finding, as a node's reason or for a log
    #[arg(short, long, help_heading = "Bandwidth")]
    pub quiet: bool,
    /// With a program: start it only if all ranks of the node are well placed
    #[arg(long)]
    pub strict: bool,
    /// Print the observed placement and the verdict as JSON, or write it to FILE; with --bandwidth also into
    /// a folder (DIR/), under the node's name: of a launch with one task a node the first one then shows all
    /// nodes
    #[arg(long, value_name = "FILE|-|DIR/", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// A program to become afterwards, looked for in PATH, and its arguments; the table then goes to standard
    /// error
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}
