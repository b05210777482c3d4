//! What is particular to one launcher: the columns of the table whose rows are the files in `launcher/`.
//!
//! A fact is data as far as it can be, and a function where a launcher has a way of its own. What most
//! launchers have alike stands in [`OF_ANY`], so that a row says what is its own. Left out: what one launcher
//! alone does in one place, which that place asks for by its name.

use placement::NodePlaces;
use ranks::{Flavour, Library};
use stats::IdSet;
use topo::Topology;

use crate::dialect::{Situation, Starter};
use crate::error::LineError;
use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::layout::{LaunchLine, Options, Tells};
use crate::process::Known;
use crate::variables::LauncherVariables;

/// What is known of one launcher. What to change at it, when a PU or a device that was asked for is not this
/// process's, is an ending for the sentences of the planner, which knows the machine but not who launched
/// what: it goes after "choose one of these, or …". Options are as their manuals spell them: srun(1),
/// mpirun(1) of Open MPI 4.1, Hydra's `mpiexec -bind-to` help, flux-run(1) `-o cpu-affinity`; only those of
/// `srun` and of the two `mpi*` were tried.
pub struct LauncherFacts {
    /// As a sentence names it.
    pub(crate) name: &'static str,
    /// What its variables say of the launch that a process belongs to; `None` where the process is not of its
    /// launch.
    pub(crate) sensed: fn(&LauncherVariables<'_>) -> Option<Sensed>,
    /// Where others set its variables too: whether they count.
    pub(crate) counts_inside: Option<CountsInside>,
    /// The variables that say a process's number on its node, the first that is a number.
    pub(crate) local_rank: &'static [&'static str],
    /// How many processes of the launch the node has.
    pub(crate) local_size: fn(&LauncherVariables<'_>) -> Option<usize>,
    /// The variable that says how many nodes the launch has.
    pub(crate) number_of_nodes: Option<&'static str>,
    /// What it offers its processes to find one another with.
    pub(crate) interface: fn(&LauncherVariables<'_>) -> Interface,
    /// The variables that it gives its ranks.
    pub(crate) tells: &'static [(&'static str, Tells)],
    /// The variables that the ranks of one launch on one node have alike, and no other processes have.
    pub of_one_launch: &'static [&'static str],
    /// Its processes that start ranks on a node, as the kernel names them.
    pub(crate) starters: &'static [&'static str],
    /// Where the PUs are seen that it had for all ranks of a node, before it bound each of them.
    pub shared_pus: SharedPus,
    /// What frees a process from the affinity it was started with.
    pub frees_from_affinity: &'static str,
    /// What widens the cpuset of a process.
    pub widens_cpuset: &'static str,
    /// What shows a process the devices that its neighbours have.
    pub shows_devices: &'static str,
    /// Whether it comes with one MPI, and starts no other.
    pub(crate) belongs_to_one_mpi: bool,
    /// The family of the MPI that it usually starts; `None`: that follows from what it offers.
    pub usual_mpi: Option<UsualMpi>,
    /// Its option for an MPI.
    pub(crate) mpi_option: fn(&Library) -> Option<MpiOption>,
    /// How one process is started; `None`: without it.
    pub(crate) one_process: Option<&'static str>,
    /// How its line is read.
    pub(crate) reads: Reads,
    /// The line that puts each rank in its place, or why it cannot; `None` where it has no words for that.
    pub(crate) writes: Option<Writer>,
    /// The words of its line by which it binds no rank; none where it has no such words, or no line.
    pub(crate) leaves_unbound: &'static [&'static str],
    /// What starts the program through `numabench exec`, which binds each rank itself: the launcher's own
    /// binding is switched off.
    pub through_exec: &'static str,
    /// Whose line starts ranks where it did.
    pub starter: Option<Starter>,
}

/// A launcher of which no more is known than what it speaks.
pub(crate) const OF_ANY: LauncherFacts = LauncherFacts {
    name: "",
    sensed: |_| None,
    counts_inside: None,
    local_rank: &[],
    local_size: |_| None,
    number_of_nodes: None,
    interface: Interface::sensed,
    tells: &[],
    of_one_launch: &["PMIX_NAMESPACE"],
    starters: &[],
    // Those of Open MPI and PRRTE. The last one is Open MPI's in the wheel that pip installs.
    shared_pus: SharedPus::OfDaemons(&[
        "orted",
        "prted",
        "prte",
        "prterun",
        "mpirun",
        "mpiexec",
        "orterun",
        "orterun_wrapper",
    ]),
    frees_from_affinity: "start it without the launcher's binding",
    widens_cpuset: "ask the job for the whole node (Slurm: --exclusive)",
    shows_devices: "show every process all GPUs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES: a wrapper may \
        set them), name the one it sees, or leave --gpus out",
    belongs_to_one_mpi: true,
    usual_mpi: None,
    mpi_option: |_| None,
    one_process: None,
    reads: Reads::Nothing,
    writes: None,
    leaves_unbound: &[],
    through_exec: "start the program through numabench exec -- PROGRAM",
    starter: None,
};

/// The launch that a launcher's variables tell of.
pub(crate) enum Sensed {
    /// One of so many processes, with its number in this variable.
    OneOf(LaunchSize, &'static str),
    /// A process on its own, whatever other variables say.
    Alone,
}

impl Sensed {
    /// One of this many processes, with its number in `rank`.
    pub fn one_of(size: usize, rank: &'static str) -> Self {
        Self::OneOf(LaunchSize::Known(size), rank)
    }
}

/// Whether a launch of this size counts inside of one of that size, if there is one.
pub(crate) type CountsInside = fn(&LauncherVariables<'_>, LaunchSize, Option<LaunchSize>) -> bool;

/// Where the PUs are seen that a launcher had for all ranks of a node, before it bound each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedPus {
    /// In the job step.
    OfStep,
    /// In the affinity of the processes by which it binds those it starts, as the kernel names them.
    OfDaemons(&'static [&'static str]),
    /// In each rank's own affinity, because it binds nobody: what that is, in words.
    OfRank(&'static str),
}

/// The MPI that a launcher starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualMpi {
    /// Its family.
    pub flavour: Flavour,
    /// Whether the launcher starts no other.
    pub is_only: bool,
}

/// An option of a launcher for an MPI.
pub(crate) struct MpiOption {
    /// What the launcher offers with it, which it does not help to ask for twice; `None` where that is not
    /// known.
    pub offers: Option<Interface>,
    /// The launcher with the option.
    pub start: String,
}

/// How a launcher's line is read.
pub(crate) enum Reads {
    /// By its own commands.
    Own(&'static [&'static str], LineReader),
    /// In `mpirun`, as one of those that are called `mpirun` or `mpiexec`; with the commands that are taken
    /// for its own where no option says whose they are.
    Mpirun(&'static [&'static str]),
    /// Not: it has no command, or is followed as a program is.
    Nothing,
}

/// Reads a launcher's line.
pub(crate) type LineReader = for<'l> fn(&LaunchLine<'l>) -> Result<Options<'l>, LineError>;

/// Writes a launcher's line for given places.
pub(crate) type Writer = fn(&Topology, &NodePlaces, &Situation) -> Result<Written, String>;

/// A line for given places.
pub(crate) struct Written {
    /// What is shown.
    pub text: String,
    /// What has to put each rank in its place.
    pub proof: Proof,
}

impl Written {
    /// A line that is shown as it is run.
    pub fn line(text: String) -> Self {
        Self { proof: Proof::Lines(vec![text.clone()]), text }
    }
}

/// What a written line is held against its places by.
pub(crate) enum Proof {
    /// The ranks of these lines, which are read as pasted ones are.
    Lines(Vec<String>),
    /// The PUs of each rank, read already.
    Pus(Vec<Known<IdSet>>),
}
