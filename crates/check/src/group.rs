//! Those that are judged together: the ranks of this process's launch on this node, those of a line that is
//! not run, or running processes.

use std::collections::BTreeMap;

use launchers::line::{Launched, LineError, LineRank, Reading};
use launchers::slurm_files::SlurmFiles;
use launchers::{Launch, LaunchSize, Launcher, Ways, line, printed_bindings};
use stats::IdSet;
use topo::Topology;
use topo::gpu_users::{GpuUsers, gpu_users};
use topo::running::{NoProcess, having_open};

use crate::error::CheckError;
use crate::exec_line;
use crate::key::key;
use crate::machine::Machine;
use crate::observed_rank::ObservedRank;
use crate::rendezvous::{First, MeetingPlace, missing};
use crate::request::CheckRequest;

/// The ranks that are judged together.
pub struct Group {
    /// In order.
    pub seen: Vec<ObservedRank>,
    /// Ranks of the node that did not come, by their number on it.
    pub missing: IdSet,
    /// What started them; `None`: they are running processes that were looked at.
    pub launcher: Option<Launcher>,
    /// What started the ranks, and in which job, in words.
    pub words: String,
    /// Which node of a launch it is, in words; `None` where there is no other.
    pub node: Option<String>,
    /// What is to be known beside what is found.
    pub notes: Vec<String>,
    /// The same ranks in all ways that a line may mean, those together that end alike; the first of them is
    /// that of `seen`.
    pub readings: Vec<(Ways, Vec<ObservedRank>)>,
    /// Whether what stands behind a line's launcher binds the ranks.
    pub binds_behind: bool,
    /// Whether what stands behind a line's launcher chooses their GPUs by variables.
    pub shows_behind: bool,
    /// How many ranks the launch has on all its nodes, each of which has as many as this one; `None`: not
    /// known.
    pub size: Option<usize>,
    /// Whether a line gives its ranks a smaller part of the node than the job has.
    pub has_own_part: bool,
}

/// Where a group is judged.
pub enum GroupMeeting {
    /// In this process; those others of the node wait to be answered.
    Here(Box<Group>, Option<First>),
    /// In the node's first rank, which says to end with this code.
    Elsewhere(u8),
}

impl GroupMeeting {
    /// A group that nobody waits for.
    pub fn alone(group: Group) -> Self {
        Self::Here(Box::new(group), None)
    }
}

impl Group {
    /// The ranks that a line would start, for each node whose ranks differ from those of the nodes before it.
    ///
    /// # Errors
    /// [`CheckError::Line`].
    pub fn of_line(line: &str, site: &SlurmFiles, machine: &Machine) -> Result<Vec<Self>, CheckError> {
        machine.judged_by().source.require_cores()?;
        let nodes = line::read_nodes(line, machine.judged_by(), site)?;
        let differ = nodes.len() > 1;
        nodes.into_iter().map(|node| Self::of_line_node(node, differ, machine.judged_by())).collect()
    }

    /// The ranks of one node of a line, whose nodes may differ.
    fn of_line_node(launched: Launched, differ: bool, topology: &Topology) -> Result<Self, CheckError> {
        let mut known = Vec::new();
        let mut observed = |reading: Reading| -> Result<(Ways, Vec<ObservedRank>), CheckError> {
            let ranks = exec_line::placed(launched.launcher, reading.ranks, topology, &mut known)?;
            Ok((reading.ways, of_line_ranks(ranks, topology)))
        };
        let readings = launched.readings.into_iter().map(&mut observed).collect::<Result<Vec<_>, _>>()?;
        let seen = readings.first().map(|(_, seen)| seen.clone()).unwrap_or_default();

        let node = format!("node {}", launched.node);
        let which = if differ { &node } else { "one node" };
        let of_node = launched.of.map(|of| format!(": those of {which} ({of})")).unwrap_or_default();
        let ranks = if seen.len() == 1 { "rank" } else { "ranks" };
        let words = format!("{} {ranks} of the line, which is not run{of_node}", seen.len());

        Ok(Self {
            node: Some(node),
            notes: launched.notes,
            readings,
            binds_behind: launched.binds_behind,
            shows_behind: launched.shows_behind,
            size: launched.size,
            has_own_part: launched.has_own_part,
            ..Self::whole(seen, Some(launched.launcher), words)
        })
    }

    /// The ranks whose places a launcher printed, for each node of the text; what `line` says of their GPUs.
    ///
    /// # Errors
    /// [`CheckError::Printed`], [`CheckError::Line`], and [`CheckError::OtherCount`].
    pub fn of_printed(
        text: &str,
        line: Option<&(String, SlurmFiles)>,
        machine: &Machine,
    ) -> Result<Vec<Self>, CheckError> {
        let topology = machine.judged_by();
        topology.source.require_cores()?;
        let printed = printed_bindings::read(text, topology)?;
        let of_line = match line {
            Some((line, site)) => line::read_nodes(line, topology, site)?,
            None => Vec::new(),
        };
        printed.into_iter().map(|node| Self::of_printed_node(node, &of_line, topology)).collect()
    }

    /// The ranks of one node that a launcher printed; what the nodes of the line say of their GPUs.
    fn of_printed_node(
        printed: Launched,
        of_line: &[Launched],
        topology: &Topology,
    ) -> Result<Self, CheckError> {
        let asked = of_line.iter().find(|node| node.node == printed.node).or(of_line.first());
        let (mut readings, mut notes) = (printed.readings, printed.notes);
        if let Some(asked) = asked {
            readings = with_line(&readings[0].ranks, printed.node, asked)?;
            notes.extend(asked.notes.iter().cloned());
        }
        let readings: Vec<(Ways, Vec<ObservedRank>)> = readings
            .into_iter()
            .map(|reading| (reading.ways, of_line_ranks(reading.ranks, topology)))
            .collect();

        let seen = readings.first().map(|(_, seen)| seen.clone()).unwrap_or_default();
        let of_node = printed.of.as_ref().map(|of| format!(" on {of}")).unwrap_or_default();
        let ranks = if seen.len() == 1 { "rank" } else { "ranks" };
        let words = format!("{} {ranks} as {} printed them{of_node}", seen.len(), printed.launcher.name());

        Ok(Self {
            node: printed.of,
            readings,
            notes,
            shows_behind: asked.is_some_and(|asked| asked.shows_behind),
            size: printed.size,
            has_own_part: asked.is_some_and(|asked| asked.has_own_part),
            ..Self::whole(seen, Some(printed.launcher), words)
        })
    }

    /// Running processes that were named, looked at from outside.
    ///
    /// # Errors
    /// [`CheckError::Process`]: one of them cannot be looked at.
    pub fn of_processes(pids: &[u32], machine: &Machine) -> Result<Self, CheckError> {
        let users = gpu_users(machine.judged_by());
        let seen = looked_at(pids, machine, &users).collect::<Result<_, _>>().map_err(CheckError::Process)?;
        Ok(Self::from_outside(seen, machine, users))
    }

    /// All running processes that use a GPU, by the drivers' lists; where there are none, or those of a host
    /// around this container, by who has a GPU's device file open.
    pub fn of_gpu_users(machine: &Machine) -> Self {
        let users = gpu_users(machine.judged_by());
        let is_told = !users.asked.is_empty() && !users.are_of_host;
        let pids = if is_told { users.pids() } else { having_open(machine.judged_by()) };
        // Of those that nobody named one may have ended meanwhile.
        let seen = looked_at(&pids, machine, &users).filter_map(Result::ok).collect();
        Self::from_outside(seen, machine, users)
    }

    fn from_outside(seen: Vec<ObservedRank>, machine: &Machine, users: GpuUsers) -> Self {
        let how = match &users.asked[..] {
            _ if machine.judged_by().gpus.is_empty() => String::new(),
            [] => ", GPUs by device files and variables".to_owned(),
            _ if users.are_of_host => {
                ", GPUs by device files and variables (the drivers' lists are of the host \
                around this container)"
                    .to_owned()
            }
            asked => format!(", GPUs by the list of processes of {}", asked.join(" and ")),
        };

        let words = match seen.len() {
            0 => format!("no process that can be seen from here uses a GPU{how}"),
            1 => format!("a process looked at from outside{how}"),
            count => format!("{count} processes looked at from outside{how}"),
        };
        Self { notes: users.silent, ..Self::whole(seen, None, words) }
    }

    /// This process, or all ranks of this launch on this node, which wait for each other.
    ///
    /// # Errors
    /// [`CheckError::Itself`] and [`CheckError::Meeting`].
    pub fn of_launch(
        launch: &Launch,
        machine: &Machine,
        asked: &CheckRequest,
    ) -> Result<GroupMeeting, CheckError> {
        let mut own = ObservedRank::of_this(machine, launch).map_err(CheckError::Itself)?;
        own.running.gpus = own.running.gpus.or_of_driver(asked.driver_gpus.as_deref());
        let launcher = Some(launch.launcher);
        let (rank, size) = match (launch.local_rank, launch.local_size) {
            (Some(rank), Some(size)) if rank < size => (rank, size),
            _ => {
                let name = launch.launcher.name();
                let words = format!("one process of {name}; how many it started on this node is not known");
                return Ok(GroupMeeting::alone(Self::whole(vec![own], launcher, words)));
            }
        };

        let words = in_words(launch, machine, size);
        if size == 1 {
            return Ok(GroupMeeting::alone(Self::whole(vec![own], launcher, words)));
        }
        let place = MeetingPlace::of(&key(launch), asked.wait);
        if rank > 0 {
            return Ok(GroupMeeting::Elsewhere(place.join(rank, &own)?));
        }
        let mut first = place.first()?;
        let mut said: BTreeMap<usize, ObservedRank> = first.gather(size);
        said.insert(rank, own);
        let missing = missing(&said, size);
        let size = match launch.size {
            LaunchSize::Known(all) => Some(all),
            LaunchSize::AtLeast(_) => None,
        };
        let group = Self { missing, size, ..Self::whole(said.into_values().collect(), launcher, words) };
        Ok(GroupMeeting::Here(Box::new(group), Some(first)))
    }

    /// Those of whom nobody is missing and nothing more is to be known.
    fn whole(seen: Vec<ObservedRank>, launcher: Option<Launcher>, words: String) -> Self {
        Self {
            seen,
            missing: IdSet::default(),
            launcher,
            words,
            node: None,
            notes: Vec::new(),
            readings: Vec::new(),
            binds_behind: false,
            shows_behind: false,
            size: None,
            has_own_part: false,
        }
    }
}

/// Ranks of a line as they are judged.
fn of_line_ranks(ranks: Vec<LineRank>, topology: &Topology) -> Vec<ObservedRank> {
    ranks.into_iter().map(|rank| ObservedRank::of_line(rank, topology)).collect()
}

/// Ranks that a launcher printed with the GPUs and the memory that their line gives them, in each way that
/// the line may mean.
///
/// # Errors
/// [`CheckError::OtherCount`], and [`LineError::NotSaid`] where what stands behind the launcher binds the
/// ranks again.
fn with_line(printed: &[LineRank], node: usize, asked: &Launched) -> Result<Vec<Reading>, CheckError> {
    if asked.binds_behind {
        let what = "what stands behind the launcher binds the ranks after the launcher has printed its own \
            binding: check the line without --printed";
        return Err(LineError::NotSaid(what.to_owned()).into());
    }

    let mut readings: Vec<Reading> = Vec::new();
    for reading in &asked.readings {
        let line = reading.ranks.len();
        // A node other than the first may have fewer ranks.
        if printed.len() > line || printed.len() < line && node == 0 {
            return Err(CheckError::OtherCount { line, printed: printed.len() });
        }

        let mut ranks = printed.to_vec();
        for (rank, asked) in ranks.iter_mut().zip(&reading.ranks) {
            rank.gpus = asked.gpus.clone();
            rank.asked_gpus.clone_from(&asked.asked_gpus);
            rank.policy.clone_from(&asked.policy);
        }

        Reading { ways: reading.ways.clone(), ranks }.join(&mut readings);
    }
    Ok(readings)
}

fn looked_at(
    pids: &[u32],
    machine: &Machine,
    users: &GpuUsers,
) -> impl Iterator<Item = Result<ObservedRank, NoProcess>> {
    pids.iter().map(|pid| ObservedRank::of_pid(machine, *pid, users))
}

/// `4 ranks of srun here, Slurm job 7, step 0`.
fn in_words(launch: &Launch, machine: &Machine, size: usize) -> String {
    let ranks = match (launch.launcher, size) {
        (Launcher::Nobody, 1) => "this process".to_owned(),
        (Launcher::Nobody, size) => format!("{size} ranks here"),
        (launcher, 1) => format!("1 rank of {} here", launcher.name()),
        (launcher, size) => format!("{size} ranks of {} here", launcher.name()),
    };
    let step = machine.step().map(|step| format!(", Slurm job {}, step {}", step.job, step.step));
    ranks + &step.unwrap_or_default()
}
