//! Where a launcher said that it put its ranks: `--report-bindings` of Open MPI 4 and 5, `--cpu-bind=verbose`
//! of srun and of PALS' mpiexec, HYDRA_TOPO_DEBUG of MPICH, I_MPI_DEBUG=4 of Intel MPI. What `check
//! --printed` judges on a saved machine.
//!
//! Masks of srun and PALS, Intel MPI's lists and MPICH's bits are PUs as the kernel numbers them. Open MPI
//! numbers the cores that its job has, in hwloc's order, and the PUs of a core; Open MPI 5 writes the
//! kernel's numbers of PUs (`hwt:12`, from 5.0.9 on `hwt:L12` for the same PU). All forms of Open MPI, MPICH
//! and Intel MPI are from real launchers on saved machines (`tests/printed_bindings.rs`), srun's and PALS'
//! from public logs.
//!
//! A text of several nodes has ranks of each, in the order of their first ranks. A text of several launches,
//! as a job's log is, is refused: two processes have one number there. Left out: the launch itself, which is
//! not known from this.
//!
//! Some 420 lines because each launcher that prints has a reader here, of a dozen lines or two.

use std::collections::{BTreeMap, BTreeSet};

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;
use topo::running::UsableGpus;

use crate::dialect::parse_mask;
use crate::launcher::Launcher;
use crate::line::{Launched, LineRank, Reading};
use crate::objects::{JobMachine, Part};
use crate::process::Known;

/// The text cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--printed: {0}")]
pub struct PrintedError(String);

/// A line that says where a rank is.
struct Bound {
    launcher: Launcher,
    /// The host, where the line names it.
    host: Option<String>,
    /// Its process, where the line names it.
    process: Option<String>,
    /// The daemon of the launch on that host, where the line names it.
    daemon: Option<String>,
    /// Its number in the launch.
    world: usize,
    /// Its number on its node, where the line says it.
    local: Option<usize>,
    pus: Place,
}

impl Bound {
    /// Whether a line is of the same rank of the same launch: a launcher may print it again.
    fn is_again(&self, before: &Self) -> bool {
        let is_same = match (&self.process, &before.process) {
            (Some(process), Some(before)) => process == before,
            _ => self.pus == before.pus,
        };
        is_same && (&self.host, &self.daemon) == (&before.host, &before.daemon)
    }

    /// `process 53 on nid001`, as far as the line says it.
    fn words(&self) -> String {
        let process = self.process.as_ref().map(|process| format!("process {process}"));
        let daemon = self.daemon.as_ref().map(|daemon| format!("a process of daemon {daemon}"));
        let host = self.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        process.or(daemon).unwrap_or_else(|| "a process".to_owned()) + &host
    }
}

/// What a line says of a rank's place.
#[derive(PartialEq)]
enum Place {
    /// PUs as the kernel numbers them.
    Pus(IdSet),
    /// MPICH's bits: the PUs below their number, and whether each is the rank's.
    Bits(String),
    /// Open MPI 4's map of packages, cores and PUs: `[BB/..][../..]`.
    Map(String),
    /// Open MPI 5's numbers of cores.
    Cores(IdSet),
    /// It may run anywhere.
    Unbound,
    /// The binding did not work: how the launcher ends its line.
    Failed(String),
}

/// The ranks of each node, as a launcher said where they are: at least one node.
///
/// # Errors
/// [`PrintedError`]: no line is a launcher's, lines are of several launchers or launches, or they cannot be
/// of this machine.
pub fn read(text: &str, topology: &Topology) -> Result<Vec<Launched>, PrintedError> {
    let mut lines: Vec<Bound> = Vec::new();
    let mut pins = false;
    for line in text.lines() {
        pins |= line.contains("Pin cpu");
        lines.extend(bound(line, pins));
    }
    let Some(launcher) = lines.first().map(|line| line.launcher) else {
        return Err(PrintedError(
            "no line says where a rank is, as --report-bindings (Open MPI), --cpu-bind=verbose (srun, PALS), \
             HYDRA_TOPO_DEBUG=1 (MPICH) or I_MPI_DEBUG=4 (Intel MPI) print it"
            .to_owned(),
        ));
    };
    if lines.iter().any(|line| line.launcher != launcher) {
        return Err(PrintedError("it has lines of several launchers: give those of one launch".to_owned()));
    }

    let mut hosts: Vec<(Option<String>, Vec<Bound>)> = Vec::new();
    for line in of_one_launch(lines)? {
        match hosts.iter_mut().find(|(host, _)| *host == line.host) {
            Some((_, of_host)) => of_host.push(line),
            None => hosts.push((line.host.clone(), vec![line])),
        }
    }

    let nodes = hosts.len();
    let all: usize = hosts.iter().map(|(_, ranks)| ranks.len()).sum();
    let one = |(node, (host, lines)): (usize, (Option<String>, Vec<Bound>))| {
        let size = lines.len();
        let ranks = ranks_of_node(lines, topology)?;
        let of = (nodes > 1).then(|| format!("{}, of {nodes} nodes in the text", host.unwrap_or_default()));
        Ok(Launched {
            readings: vec![Reading::certain(ranks)],
            launcher,
            of,
            node,
            size: (all == nodes * size).then_some(all),
            notes: assumptions(launcher),
            binds_behind: false,
            shows_behind: false,
            has_own_part: false,
        })
    };
    hosts.into_iter().enumerate().map(one).collect()
}

/// A line for each rank, in the order of their numbers in the launch; of a rank that is printed again the
/// last one counts.
///
/// # Errors
/// [`PrintedError`]: two processes have one number.
fn of_one_launch(lines: Vec<Bound>) -> Result<Vec<Bound>, PrintedError> {
    let mut ranks: BTreeMap<usize, Bound> = BTreeMap::new();
    for line in lines {
        match ranks.get(&line.world) {
            Some(before) if !line.is_again(before) => {
                let (first, second) = (before.words(), line.words());
                let both = if first == second {
                    "with two bindings".to_owned()
                } else {
                    format!("as {first} and as {second}")
                };
                return Err(PrintedError(format!(
                    "rank {} is there twice, {both}: the text is of several launches, give the lines of one",
                    line.world
                )));
            }
            _ => drop(ranks.insert(line.world, line)),
        }
    }

    Ok(ranks.into_values().collect())
}

/// The ranks of the lines of one node, by their numbers in the launch.
fn ranks_of_node(lines: Vec<Bound>, topology: &Topology) -> Result<Vec<LineRank>, PrintedError> {
    let job = JobMachine::of(topology);
    let mut ranks = Vec::new();
    for (at, line) in lines.into_iter().enumerate() {
        let pus = pus(&line.pus, &job)?;
        ranks.push(rank(line.local.unwrap_or(at), line.world, pus, topology));
    }
    ranks.sort_by_key(|rank| rank.rank);

    let unique: BTreeSet<usize> = ranks.iter().map(|rank| rank.rank).collect();
    if unique.len() != ranks.len() {
        return Err(PrintedError(
            "two ranks have one number on their node: give the lines of one launch".to_owned(),
        ));
    }
    Ok(ranks)
}

/// What is taken to be so without the text saying it.
fn assumptions(launcher: Launcher) -> Vec<String> {
    let of_cores = "taken to be so: the job had all PUs that the saved machine allows (Open MPI numbers the \
        cores of its job)";
    let of_memory = "taken to be so: nothing set a memory policy; no launcher prints it";
    let is_open_mpi = launcher == Launcher::Mpirun;
    is_open_mpi.then_some(of_cores).into_iter().chain([of_memory]).map(str::to_owned).collect()
}

fn rank(rank: usize, world: usize, pus: Known<IdSet>, topology: &Topology) -> LineRank {
    LineRank {
        rank,
        world,
        pus,
        policy: Ok((PolicyMode::Default, IdSet::default())),
        gpus: UsableGpus {
            devices: topology.gpus.is_empty().then(Vec::new),
            reason: "the launcher did not print it; give its line with --launch too".to_owned(),
            ..UsableGpus::default()
        },
        exec: None,
        asked_gpus: None,
    }
}

/// What a line says; `None` for a line of another kind. `pins` is whether Intel MPI's table of pinned CPUs
/// has begun.
fn bound(line: &str, pins: bool) -> Option<Bound> {
    open_mpi(line)
        .or_else(|| srun(line))
        .or_else(|| pals(line))
        .or_else(|| mpich(line))
        .or_else(|| intel_mpi(line).filter(|_| pins))
}

/// `[host:123] MCW rank 0 bound to socket 0[core 0[hwt 0-1]]: [BB/..][../..]`, or `[host:123] Rank 0 bound to
/// package[0][core:L0-5]`.
fn open_mpi(line: &str) -> Option<Bound> {
    let (before, after) = line.split_once("ank ")?;
    let is_four = before.ends_with("MCW r");
    let names = before.rsplit_once('[').and_then(|(_, rest)| rest.split_once(':'));
    let host = names.map(|(host, _)| host.to_owned());
    let daemon = names.and_then(|(_, daemon)| Some(daemon.split_once(']')?.0.to_owned()));
    let (number, rest) = after.split_once(' ')?;
    let pus = if rest.starts_with("is not bound") {
        Place::Unbound
    } else {
        let places = rest.strip_prefix("bound to ")?;
        match places.find(": [") {
            Some(map) if is_four => Place::Map(places[map + 2..].to_owned()),
            _ => numbers(places, "hwt:")
                .map(Place::Pus)
                .or_else(|| numbers(places, "core:").map(Place::Cores))?,
        }
    };

    let world = number.parse().ok()?;
    Some(Bound { launcher: Launcher::Mpirun, host, process: None, daemon, world, local: None, pus })
}

/// All numbers behind a word of Open MPI 5: `[hwt:L0-3]`, `[hwt:0][hwt:12]`.
fn numbers(text: &str, word: &str) -> Option<IdSet> {
    let lists =
        text.split(word).skip(1).map(|rest| rest.split(']').next().unwrap_or_default().replace('L', ""));
    let sets: Option<Vec<IdSet>> = lists.map(|list| list.parse().ok()).collect();
    sets.map(IdSet::of_all).filter(|set| !set.is_empty())
}

/// `cpu-bind=MASK - nid001, task 5 1 [123]: mask 0xff00 set`: the task's number, its number on the node, its
/// process.
fn srun(line: &str) -> Option<Bound> {
    let (_, rest) = line.split_once("cpu-bind").or_else(|| line.split_once("cpu_bind"))?;
    let (host, rest) = rest.split_once(" - ")?.1.split_once(',')?;
    let (task, mask) = rest.trim_start().strip_prefix("task")?.split_once(": mask ")?;
    let mut numbers = task.split_whitespace();
    let (world, local) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let process = numbers.next().map(|process| process.trim_matches(['[', ']']).to_owned());

    let (mask, outcome) = mask.trim().split_once(' ').unwrap_or((mask.trim(), "set"));
    let pus = match outcome {
        "set" => Place::Pus(parse_mask(mask)?),
        _ => Place::Failed(outcome.to_ascii_lowercase()),
    };
    Some(Bound {
        launcher: Launcher::Srun,
        host: Some(host.to_owned()),
        process,
        daemon: None,
        world,
        local: Some(local),
        pus,
    })
}

/// `cpubind:list x4717c0s6b0n0 pid 118589 rank 12 0: mask 0x1c`: the rank's number, and its number on the
/// node.
fn pals(line: &str) -> Option<Bound> {
    let (_, rest) = line.split_once("cpubind:")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, host, "pid", process, "rank", world, local, "mask", mask] = words[..] else { return None };
    Some(Bound {
        launcher: Launcher::Pals,
        host: Some(host.to_owned()),
        process: Some(process.to_owned()),
        daemon: None,
        world: world.parse().ok()?,
        local: local.trim_end_matches(':').parse().ok(),
        pus: Place::Pus(parse_mask(mask)?),
    })
}

/// `process 0 binding: 00110000000000`.
fn mpich(line: &str) -> Option<Bound> {
    let (number, bits) = line.trim().strip_prefix("process ")?.split_once(" binding: ")?;
    let is_bits = !bits.is_empty() && bits.bytes().all(|bit| bit == b'0' || bit == b'1');
    let pus = if is_bits { Place::Bits(bits.to_owned()) } else { return None };
    let world = number.parse().ok()?;
    Some(Bound {
        launcher: Launcher::Hydra,
        host: None,
        process: None,
        daemon: None,
        world,
        local: None,
        pus,
    })
}

/// `[0] MPI startup(): 1       16643    vm         {0,1}`.
fn intel_mpi(line: &str) -> Option<Bound> {
    let (_, rest) = line.split_once("MPI startup(): ")?;
    let (columns, list) = rest.split_once('{')?;
    let words: Vec<&str> = columns.split_whitespace().collect();
    let [number, process, host] = words[..] else { return None };
    let pus = Place::Pus(list.split('}').next()?.trim_end_matches(',').parse().ok()?);
    Some(Bound {
        launcher: Launcher::Hydra,
        host: Some(host.to_owned()),
        process: Some(process.to_owned()),
        daemon: None,
        world: number.parse().ok()?,
        local: None,
        pus,
    })
}

/// The PUs of a place on this machine.
fn pus(place: &Place, job: &JobMachine<'_>) -> Result<Known<IdSet>, PrintedError> {
    let all: IdSet = job.topology.pus.iter().map(|pu| pu.os_index).collect();
    let pus = match place {
        Place::Pus(pus) => pus.clone(),
        Place::Bits(bits) => match bits_of(bits, &job.pus) {
            Ok(pus) => pus,
            Err(why) => return Ok(Err(why)),
        },
        Place::Map(map) => pus_of_map(map, job)?,
        Place::Cores(numbers) => pus_of_cores(numbers, job)?,
        Place::Unbound => job.pus.clone(),
        Place::Failed(why) => return Ok(Err(format!("the launcher printed that its binding {why}"))),
    };

    if !pus.is_subset(&all) {
        let absent = pus.minus(&all);
        return Err(PrintedError(format!(
            "PUs {absent} are not on the saved machine: the text is of another one"
        )));
    }
    Ok(Ok(pus))
}

/// MPICH prints as many bits as the job has PUs, so that those of higher numbers are missing where some below
/// are not the job's.
fn bits_of(bits: &str, own: &IdSet) -> Known<IdSet> {
    let shown: IdSet = (0..).zip(bits.bytes()).filter(|(_, bit)| *bit == b'1').map(|(pu, _)| pu).collect();
    let length = u32::try_from(bits.len()).unwrap_or(u32::MAX);
    match own.iter().any(|pu| pu >= length) {
        true => Err(format!("MPICH shows PUs below {length} only, and this machine has more")),
        false => Ok(shown),
    }
}

/// Cores by their order among the job's; where a core is one PU, Open MPI 5 writes the kernel's number of
/// that PU.
fn pus_of_cores(numbers: &IdSet, job: &JobMachine<'_>) -> Result<IdSet, PrintedError> {
    if !job.has_threads() {
        return Ok(numbers.clone());
    }
    let cores = job.parts(Part::Core);
    let found = numbers.iter().map(|number| {
        let why = || format!("core {number} of the text is beyond the {} that a job has here", cores.len());
        cores.get(number as usize).ok_or_else(|| PrintedError(why()))
    });
    found.collect::<Result<Vec<_>, _>>().map(IdSet::of_all)
}

/// The PUs at the places of a `B`, once the map has as many packages, cores and PUs as the machine.
fn pus_of_map(map: &str, job: &JobMachine<'_>) -> Result<IdSet, PrintedError> {
    let packages = map.split(']').filter_map(|part| part.trim_start().strip_prefix('['));
    let drawn: Vec<Vec<&str>> = packages
        .map(|package| package.split(['/', ' ']).filter(|core| !core.is_empty()).collect())
        .filter(|cores: &Vec<&str>| !cores.is_empty())
        .collect();
    let cores = job.parts(Part::Core);
    let of_packages: Vec<Vec<&IdSet>> = job
        .parts(Part::Package)
        .iter()
        .map(|package| cores.iter().filter(|core| core.is_subset(package)).collect())
        .collect();

    // Open MPI 1 draws a core as one sign and has spaces between.
    let is_whole = map.contains(' ') && !map.contains('/');
    let fits = drawn.len() == of_packages.len()
        && drawn.iter().zip(&of_packages).all(|(drawn, cores)| {
            drawn.len() == cores.len()
                && drawn.iter().zip(cores).all(|(drawn, core)| is_whole || drawn.len() == core.len())
        });

    if !fits {
        return Err(PrintedError(format!(
            "Open MPI's map {map} is not of the packages, cores and PUs that a job has on the saved machine: \
             it is of another one, or its job had a part of it"
        )));
    }

    let mut pus = IdSet::default();

    for (drawn, core) in drawn.iter().flatten().zip(of_packages.iter().flatten()) {
        if is_whole && drawn.contains('B') {
            pus.extend(core.iter());
        } else {
            pus.extend(drawn.bytes().zip(core.iter()).filter(|(sign, _)| *sign == b'B').map(|(_, pu)| pu));
        }
    }
    Ok(pus)
}
