//! Places in the words of launchers and tools: lines that can be pasted, and why one cannot work here.
//!
//! CPU ids are OS ids everywhere, but each tool has its own way to write them, its own idea of a GPU's
//! number, and its own conditions. What was looked at: Slurm 22.05, Open MPI 4.1.4, MPICH 4.0.2, numactl
//! 2.0.16, util-linux 2.38; of other versions, their documents.
//!
//! * `srun` `--cpu-bind` and `--gpu-bind`, and `--cpu-bind` read back;
//! * `mpirun` Open MPI's and Hydra's options;
//! * `flux` the line of `flux run`;
//! * `alone` what is put before one rank's program: numactl, taskset, OpenMP's variable;
//! * `command` one whole line of a launcher, with the GPU of each rank;
//! * `wrapper` a script that does for each rank what `numabench exec` does, where there is no numabench;
//! * `visibility_variables` the variables that show a runtime one GPU.
//!
//! Nothing here changes a process or knows who launched it: what is known of that comes in as a
//! [`Situation`].

mod alone;
mod command;
pub(crate) mod flux;
mod mpirun;
mod srun;
mod visibility_variables;
mod wrapper;

use std::fmt;
use std::str::FromStr;

use topo::model::Topology;

pub use alone::omp_places;
pub use command::{Command, Starter, StarterError, command};
pub(crate) use srun::whole_mask;
pub use srun::{BindingError, parse_map_cpu, parse_mask, parse_mask_cpu};
pub use visibility_variables::{VisibilityVariables, visible};
pub use wrapper::{LOCAL_RANK_VARIABLES, wrapper};

use placement::NodePlaces;

/// A way to say where ranks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// srun: one PU for each rank.
    SrunMapCpu,
    /// srun: all PUs of each rank.
    SrunMaskCpu,
    /// srun: ranks in the order of their cores, and the GPU of each.
    GpuBind,
    /// Open MPI 4's rankfile.
    OpenMpi,
    /// The `mpiexec` of MPICH and its relatives (Hydra).
    Mpich,
    /// numactl before each rank's program.
    Numactl,
    /// taskset before each rank's program.
    Taskset,
    /// OpenMP's places, for the threads of each rank.
    OmpPlaces,
    /// A shell script before every rank's program.
    Wrapper,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SrunMaskCpu,
        Self::SrunMapCpu,
        Self::GpuBind,
        Self::OpenMpi,
        Self::Mpich,
        Self::Numactl,
        Self::Taskset,
        Self::OmpPlaces,
        Self::Wrapper,
    ];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SrunMapCpu => "srun-map",
            Self::SrunMaskCpu => "srun",
            Self::GpuBind => "gpu-bind",
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
            Self::Numactl => "numactl",
            Self::Taskset => "taskset",
            Self::OmpPlaces => "omp-places",
            Self::Wrapper => "wrapper",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format \"{asked}\": write one of {}", Dialect::ALL.map(Dialect::name).join(", "))]
pub struct DialectError {
    /// As asked.
    pub asked: String,
}

impl FromStr for Dialect {
    type Err = DialectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|dialect| dialect.name() == text);
        named.ok_or_else(|| DialectError { asked: text.to_owned() })
    }
}

/// What is known of the job step that the words are for. The default knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// Whether the step has the whole node.
    pub owns_node: Option<bool>,
    /// Slurm's version, as in 22.05.
    pub slurm: Option<(u32, u32)>,
    /// Whether a cgroup keeps each task from the GPUs of the others.
    pub gpus_are_confined: Option<bool>,
    /// How many ranks the launch has on all its nodes, each of which has as many as this one.
    pub ranks: Option<usize>,
}

impl Situation {
    /// The ranks of the whole launch, of which so many are on this node.
    pub(crate) fn ranks_of_launch(&self, here: usize) -> usize {
        self.ranks.map_or(here, |all| all.max(here))
    }
}

/// What to paste, and what to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// The dialect.
    pub dialect: Dialect,
    /// What to paste; without a newline at its end. Empty only where there is nothing to say, and `cannot`
    /// says why.
    pub text: String,
    /// Why it cannot work here, and what to do instead.
    pub cannot: Option<String>,
    /// What to know of it.
    pub remarks: Vec<String>,
}

impl Saying {
    fn new(dialect: Dialect, text: String) -> Self {
        Self { dialect, text, cannot: None, remarks: Vec::new() }
    }

    /// What to paste, or why it cannot work here.
    pub(crate) fn usable(self) -> Result<String, String> {
        self.cannot.map_or(Ok(self.text), Err)
    }

    fn always(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    fn remark(mut self, condition: bool, remark: impl FnOnce() -> String) -> Self {
        if condition {
            self.remarks.push(remark());
        }
        self
    }

    fn cannot(mut self, condition: bool, why: impl FnOnce() -> String) -> Self {
        if condition && self.cannot.is_none() {
            self.cannot = Some(why());
        }
        self
    }
}

/// The places in this dialect.
pub fn say(topology: &Topology, places: &NodePlaces, dialect: Dialect, situation: &Situation) -> Saying {
    let saying = match dialect {
        Dialect::SrunMapCpu => srun::map_cpu(topology, places, situation),
        Dialect::SrunMaskCpu => srun::mask_cpu(topology, places, situation),
        Dialect::GpuBind => srun::gpu_bind(topology, places, situation),
        Dialect::OpenMpi => mpirun::open_mpi(topology, places),
        Dialect::Mpich => mpirun::mpich(places),
        Dialect::Numactl => alone::numactl(topology, places),
        Dialect::Taskset => alone::taskset(topology, places),
        Dialect::OmpPlaces => alone::omp(places),
        Dialect::Wrapper => wrapper(topology, places, situation, &[]),
    };

    let gpus = gpu_indices(places);

    saying.remark(!names_gpus(dialect) && gpus.is_some(), || {
        let gpus: Vec<String> = gpus.iter().flatten().map(u32::to_string).collect();
        let gpus = gpus.join(",");
        format!(
            "{dialect} says cores alone, and its ranks 0, 1, … are meant for GPUs {gpus}: --emit wrapper \
             gives each rank its own too"
        )
    })
}

/// Whether what is printed says which GPU each rank has.
fn names_gpus(dialect: Dialect) -> bool {
    match dialect {
        Dialect::GpuBind | Dialect::Numactl | Dialect::Taskset | Dialect::Wrapper => true,
        Dialect::SrunMapCpu
        | Dialect::SrunMaskCpu
        | Dialect::OpenMpi
        | Dialect::Mpich
        | Dialect::OmpPlaces => false,
    }
}

/// The GPU of each rank by index, in rank order; `None` where some rank has none.
pub(crate) fn gpu_indices(places: &NodePlaces) -> Option<Vec<u32>> {
    let targets = places.places.iter().map(|place| place.target.as_ref());
    let all: Vec<u32> = targets
        .map(|target| target.filter(|target| target.id.gpu().is_some()).map(|target| target.index))
        .collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}
