//! What a launcher's options say of each rank of one node, before anything behind the launcher is looked at.
//!
//! Where an option leaves something to the site (what Slurm takes for a socket, whether it gives GPUs by number or by nearness), there is one
//! layout for each way that a site may have it. A verdict that all of them share needs no guess.

use std::collections::BTreeMap;

use crate::launch::Launcher;
use stats::IdSet;
use topo::process::PolicyMode;

use crate::count::Count;
use crate::process::{Known, Policy};

/// How a launcher starts one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Its PUs; `None`: nothing binds it.
    pub pus: Option<Known<IdSet>>,
    /// Its GPUs by index; `None`: the launcher hides none.
    pub gpus: Option<Known<Vec<usize>>>,
    /// Its memory policy.
    pub policy: Policy,
}

impl Start {
    /// Not bound, all GPUs, memory where it falls.
    pub const FREE: Self =
        Self { pus: None, gpus: None, policy: (PolicyMode::Default, IdSet(std::collections::BTreeSet::new())) };

    /// Bound to these.
    pub fn on(pus: IdSet) -> Self {
        Self { pus: Some(Ok(pus)), ..Self::FREE }
    }
}

/// The ranks of a node in one of the ways that the line may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// What it takes the site to do; empty where the line leaves nothing open.
    pub assumes: Vec<String>,
    /// In order.
    pub starts: Vec<Start>,
}

impl Layout {
    /// A layout that assumes nothing.
    pub fn certain(starts: Vec<Start>) -> Self {
        Self { assumes: Vec::new(), starts }
    }

    /// These sets of PUs for so many ranks; the list begins again where there are more ranks.
    pub fn lists(lists: &[IdSet], ranks: usize) -> Self {
        Self::certain(lists.iter().cycle().take(ranks).cloned().map(Start::on).collect())
    }

    /// Ranks that nothing binds.
    pub fn free(ranks: usize) -> Self {
        Self::certain(vec![Start::FREE; ranks])
    }

    /// Ranks of which nobody knows where they are bound.
    pub fn unknown(ranks: usize, why: &str) -> Self {
        Self::certain(vec![Start { pus: Some(Err(why.to_owned())), ..Start::FREE }; ranks])
    }

    pub fn assuming(mut self, what: impl Into<String>) -> Self {
        self.assumes.push(what.into());
        self
    }
}

/// The launcher that a command's name stands for, as far as a name tells: `mpirun` and `mpiexec` are several's.
pub(crate) fn launcher_of(command: &str) -> Option<Launcher> {
    match command {
        "srun" => Some(Launcher::Srun),
        "mpirun" | "orterun" | "prterun" | "mpirun.openmpi" | "mpiexec.openmpi" => Some(Launcher::Mpirun),
        "mpiexec" | "mpiexec.hydra" | "mpirun.mpich" | "mpiexec.mpich" => Some(Launcher::Hydra),
        "jsrun" => Some(Launcher::Jsrun),
        "flux" => Some(Launcher::Flux),
        _ => None,
    }
}

/// A launcher's options, read.
#[derive(Debug)]
pub(crate) struct Options<'l> {
    pub launcher: Launcher,
    /// How many ranks.
    pub count: Count,
    /// The ways that the ranks of one node may be laid out: at least one.
    pub layouts: Vec<Layout>,
    /// What it starts.
    pub program: &'l [&'l str],
    /// Variables that it gives its ranks.
    pub environment: BTreeMap<String, String>,
    /// What is to be known beside.
    pub notes: Vec<String>,
}

/// What a variable of a launcher tells a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Its number on its node.
    LocalRank,
    /// Its number.
    Rank,
    /// How many there are on its node.
    LocalSize,
    /// How many there are.
    Size,
    /// The number of its node.
    Node,
}

/// The variables that each launcher sets, by the documents named in `ranks`' own table of them.
pub(crate) const TELLING: &[(Launcher, &[(&str, Tells)])] = &[
    (
        Launcher::Srun,
        &[
            ("SLURM_LOCALID", Tells::LocalRank),
            ("SLURM_PROCID", Tells::Rank),
            ("SLURM_NTASKS", Tells::Size),
            ("SLURM_NPROCS", Tells::Size),
            ("SLURM_NODEID", Tells::Node),
        ],
    ),
    (
        Launcher::Mpirun,
        &[
            ("OMPI_COMM_WORLD_LOCAL_RANK", Tells::LocalRank),
            ("OMPI_COMM_WORLD_NODE_RANK", Tells::LocalRank),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", Tells::LocalSize),
            ("OMPI_COMM_WORLD_RANK", Tells::Rank),
            ("OMPI_COMM_WORLD_SIZE", Tells::Size),
        ],
    ),
    (
        Launcher::Hydra,
        &[
            ("MPI_LOCALRANKID", Tells::LocalRank),
            ("MPI_LOCALNRANKS", Tells::LocalSize),
            ("PMI_RANK", Tells::Rank),
            ("PMI_SIZE", Tells::Size),
        ],
    ),
    (
        Launcher::Pals,
        &[
            ("PALS_LOCAL_RANKID", Tells::LocalRank),
            ("PALS_LOCAL_SIZE", Tells::LocalSize),
            ("PALS_RANKID", Tells::Rank),
            ("PALS_NODEID", Tells::Node),
            ("PMI_LOCAL_RANK", Tells::LocalRank),
            ("PMI_LOCAL_SIZE", Tells::LocalSize),
            ("PMI_RANK", Tells::Rank),
            ("PMI_SIZE", Tells::Size),
        ],
    ),
    (
        Launcher::Jsrun,
        &[
            ("JSM_NAMESPACE_LOCAL_RANK", Tells::LocalRank),
            ("JSM_NAMESPACE_RANK", Tells::Rank),
            ("JSM_NAMESPACE_SIZE", Tells::Size),
            ("OMPI_COMM_WORLD_LOCAL_RANK", Tells::LocalRank),
            ("OMPI_COMM_WORLD_RANK", Tells::Rank),
            ("OMPI_COMM_WORLD_SIZE", Tells::Size),
            ("PMIX_RANK", Tells::Rank),
        ],
    ),
    (
        Launcher::Flux,
        &[
            ("FLUX_TASK_LOCAL_ID", Tells::LocalRank),
            ("FLUX_TASK_RANK", Tells::Rank),
            ("FLUX_JOB_SIZE", Tells::Size),
            ("PMI_RANK", Tells::Rank),
            ("PMI_SIZE", Tells::Size),
        ],
    ),
    (
        Launcher::Torchrun,
        &[
            ("LOCAL_RANK", Tells::LocalRank),
            ("LOCAL_WORLD_SIZE", Tells::LocalSize),
            ("RANK", Tells::Rank),
            ("WORLD_SIZE", Tells::Size),
            ("GROUP_RANK", Tells::Node),
        ],
    ),
];

/// Variables of other libraries that no launcher here sets by itself, beside those above.
const NOBODYS: [&str; 4] = ["MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_RANK", "MPI_LOCALRANKID", "ALPS_APP_PE"];

/// The names that this launcher does not set, and some other one does.
pub(crate) fn not_told(launcher: Launcher) -> Vec<&'static str> {
    let own = |name: &&'static str| {
        TELLING.iter().any(|(one, names)| *one == launcher && names.iter().any(|(known, _)| known == name))
    };
    // What Slurm's plug-ins for PMI set depends on `--mpi`.
    let open =
        |name: &&'static str| launcher == Launcher::Srun && (name.starts_with("PMI") || name.starts_with("PALS"));
    let all = TELLING.iter().flat_map(|(_, names)| names.iter().map(|(name, _)| *name)).chain(NOBODYS);
    all.filter(|name| !own(name) && !open(name)).collect()
}
