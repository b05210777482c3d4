//! One whole line that starts a program's ranks in their places: the first thing to paste.
//!
//! Under srun the masks bind, and a shell of one line shows rank i its GPU, by its number on any node of this
//! kind. Other launchers have no short way to say both, nor has a step with a part of a node: there
//! `numabench exec` does it inside of each rank.

use std::fmt;
use std::str::FromStr;

use topo::model::Topology;

use super::srun::overcommits;
use super::{Situation, VisibilityVariables, flux, srun, visible};
use placement::NodePlaces;
use stats::units::counted;

/// A launcher that a whole line can be for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starter {
    /// Slurm's srun.
    #[default]
    Srun,
    /// Open MPI's mpirun.
    Mpirun,
    /// The mpiexec of MPICH and its relatives.
    Mpiexec,
    /// PyTorch's torchrun.
    Torchrun,
    /// Flux's run.
    Flux,
    /// The mpiexec of PALS.
    Pals,
}

impl Starter {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Srun, Self::Mpirun, Self::Mpiexec, Self::Torchrun, Self::Flux, Self::Pals];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Srun => "srun",
            Self::Mpirun => "mpirun",
            Self::Mpiexec => "mpiexec",
            Self::Torchrun => "torchrun",
            Self::Flux => "flux",
            Self::Pals => "pals",
        }
    }
}

impl fmt::Display for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not the name of a launcher.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown launcher \"{asked}\": write one of {}", Starter::ALL.map(Starter::name).join(", "))]
pub struct StarterError {
    /// As asked.
    pub asked: String,
}

impl FromStr for Starter {
    type Err = StarterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|starter| starter.name() == text)
            .ok_or_else(|| StarterError { asked: text.to_owned() })
    }
}

/// The line, and what to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Whose.
    pub starter: Starter,
    /// What to paste; `PROGRAM` stands for the program and its arguments.
    pub text: String,
    /// What to know of it.
    pub remarks: Vec<String>,
}

/// The line of `starter` for these places. `exec` has the options of `numabench exec` that give the same
/// places, each with a blank before it; `threads` is the number for each rank where one was asked for.
pub fn command(
    topology: &Topology,
    places: &NodePlaces,
    starter: Starter,
    situation: &Situation,
    exec: &str,
    threads: Option<usize>,
) -> Command {
    let ranks = places.places.len();
    let by_exec = |start: String| {
        let binds = "numabench exec binds each rank to its cores and memory and shows it its GPU";
        (format!("{start} numabench exec{exec} -- PROGRAM"), vec![binds.to_owned()])
    };
    let (text, mut remarks) = match starter {
        Starter::Mpirun => by_exec(format!("mpirun -np {ranks} --bind-to none")),
        Starter::Mpiexec => by_exec(format!("mpiexec -n {ranks} -bind-to none")),
        Starter::Torchrun => by_exec(format!("torchrun --nproc-per-node {ranks} --no-python")),
        Starter::Pals => by_exec(format!("mpiexec -n {ranks} --ppn {ranks} --cpu-bind none")),
        Starter::Flux => match flux_line(topology, places, situation) {
            Some(line) => {
                let words: Vec<String> = openmp(places, threads).into_iter().chain([line]).collect();
                (words.join(" "), Vec::new())
            }
            None => by_exec(format!("{} -o cpu-affinity=off", flux::start(topology, ranks, situation))),
        },
        Starter::Srun => match (situation.owns_node, shown(topology, places)) {
            (None | Some(true), Some(shown)) => by_masks(topology, places, situation, &shown, threads),
            _ => {
                let gpus = if has_gpus(places) { " --gpu-bind=none" } else { "" };
                by_exec(format!("{} --cpu-bind=none{gpus}", srun_of(topology, ranks)))
            }
        },
    };

    if starter != Starter::Torchrun {
        remarks.push(format!("for one node; for more: {} a node", counted(ranks, "rank")));
    }
    Command { starter, text, remarks }
}

/// srun with so many tasks.
fn srun_of(topology: &Topology, ranks: usize) -> String {
    format!("srun -N1 -n{ranks}{}", if overcommits(topology, ranks) { " --overcommit" } else { "" })
}

fn by_masks(
    topology: &Topology,
    places: &NodePlaces,
    situation: &Situation,
    shown: &Shown,
    threads: Option<usize>,
) -> (String, Vec<String>) {
    let ranks = places.places.len();
    let is_job = situation.owns_node.is_some();
    let mut words: Vec<String> = openmp(places, threads).into_iter().collect();
    words.push(srun_of(topology, ranks));
    let mut remarks = Vec::new();
    if !is_job {
        remarks.push(whole_node(shown));
    }
    if let Shown::Gpus { gpus, .. } = shown {
        words.push(format!("--gpus-per-node={gpus} --gpu-bind=none"));
    }
    let is_single = places.places.iter().all(|place| place.pus.len() == 1);
    let bind = if is_single { srun::map_list(places) } else { srun::mask_list(places) };
    words.push(format!("--cpu-bind={bind}"));

    match shown {
        Shown::None => words.push("PROGRAM".to_owned()),
        Shown::Gpus { script, remark, .. } => {
            words.push(format!("sh -c '{script}exec \"$@\"' sh PROGRAM"));
            remarks.extend(remark.clone());
        }
    }
    (words.join(" "), remarks)
}

/// The threads of each rank, where some have several PUs.
fn openmp(places: &NodePlaces, threads: Option<usize>) -> Option<String> {
    let widths = || places.places.iter().map(|place| place.pus.len());
    let threads = threads.or(widths().min()).unwrap_or(1);
    widths().any(|width| width > 1).then(|| format!("OMP_NUM_THREADS={threads}"))
}

/// Flux's own line; `None` where it cannot show the ranks their GPUs.
fn flux_line(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Option<String> {
    shown(topology, places)?;
    flux::line(topology, places, situation).ok()
}

/// What has to stand around a line with masks. Seen with Slurm 22.05: `srun --exclusive` makes a step of `-n`
/// × `-c` CPUs, in an allocation and without one, and so does `-c`; masks beyond those are refused.
fn whole_node(shown: &Shown) -> String {
    let gpus = match shown {
        Shown::Gpus { gpus, .. } => format!(" --gpus-per-node={gpus}"),
        Shown::None => String::new(),
    };
    format!(
        "for a job that has the whole node (salloc -N1 --exclusive{gpus}): srun refuses masks outside of its \
         step, which its own --exclusive or -c make smaller"
    )
}

/// How ranks get their GPUs.
enum Shown {
    /// They have none.
    None,
    /// A shell sets variables from the rank's number.
    Gpus { gpus: usize, script: String, remark: Option<String> },
}

fn has_gpus(places: &NodePlaces) -> bool {
    places.places.iter().any(|place| place.target.is_some())
}

/// The shell's words; `None` where one variable cannot say it.
fn shown(topology: &Topology, places: &NodePlaces) -> Option<Shown> {
    if !has_gpus(places) {
        return Some(Shown::None);
    }
    let all: Vec<VisibilityVariables> = places
        .places
        .iter()
        .map(|place| Some(visible(topology, place.target.as_ref()?)))
        .collect::<Option<_>>()?;
    let (name, _) = all.first()?.variables.last()?;
    let values: Vec<usize> = all
        .iter()
        .map(|one| one.variables.last().filter(|(other, _)| other == name)?.1.parse().ok())
        .collect::<Option<_>>()?;
    let value = of_rank(&values);
    let fixed = all.first()?.variables.iter().rev().skip(1).map(|(name, value)| format!("{name}={value} "));
    let fixed: String = fixed.collect();
    let cleared = all.first()?.cleared;
    let cleared = if cleared.is_empty() { String::new() } else { format!("unset {}; ", cleared.join(" ")) };
    let script = match value {
        Some(value) => format!("{cleared}export {fixed}{name}={value}; "),
        None => {
            let list = values.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
            format!(
                "{cleared}n=0; for g in {list}; do [ $n = $SLURM_LOCALID ] && export {fixed}{name}=$g; \
                 n=$((n+1)); done; "
            )
        }
    };
    let gpus = topology.gpus.len();

    Some(Shown::Gpus { gpus, script, remark: all.first()?.remark.clone() })
}

/// The value as arithmetic over the rank's number, where it is even blocks from the first.
fn of_rank(values: &[usize]) -> Option<String> {
    let block = values.iter().take_while(|value| **value == 0).count();
    let is_even = block > 0 && values.iter().enumerate().all(|(rank, value)| *value == rank / block);
    is_even
        .then(|| if block == 1 { "$SLURM_LOCALID".to_owned() } else { format!("$((SLURM_LOCALID/{block}))") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_blocks_are_arithmetic_and_other_orders_are_not() {
        assert_eq!(of_rank(&[0, 1, 2]).as_deref(), Some("$SLURM_LOCALID"));
        assert_eq!(of_rank(&[0, 0, 1, 1]).as_deref(), Some("$((SLURM_LOCALID/2))"));
        assert_eq!(of_rank(&[1, 0]), None);
        assert_eq!(of_rank(&[0, 1, 1]), None);
    }

    #[test]
    fn a_launcher_is_read_by_the_name_it_prints() {
        for starter in Starter::ALL {
            assert_eq!(starter.to_string().parse(), Ok(starter));
        }
        assert!("qsub".parse::<Starter>().is_err());
    }
}
