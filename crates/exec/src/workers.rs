//! The workers that an engine starts itself: each GPU's cores and memory, as the variable that the hook
//! reads.
//!
//! A GPU's share is that of a plan of the whole node, one worker (or so many) on each GPU, so it does not
//! depend on which of them the engine uses. The engine is left where it is. Which process is a worker and of
//! which GPU, the hook sees when it opens one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use launchers::Launch;
use placement::{Ask, GpuChoice, GpuList, Strategy, Target, TargetId, recommend};
use stats::IdSet;
use topo::Start;
use topo::model::{Gpu, Topology};
use topo::visibility::Runtime;

use crate::error::ExecError;
use crate::place::RankPlaceError;
use crate::worker_table::{AFFINITY, LONGEST, NEXT_WORKER, NODES, PARENT, REPORT, TOKEN, VARIABLE, VERSION};

/// What the dynamic linker loads before all others.
const PRELOAD: &str = "LD_PRELOAD";
/// How many threads OpenMP's programs start.
const THREADS: &str = "OMP_NUM_THREADS";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct AskedWorkers {
    /// Workers of each GPU that have cores of their own; more than these share the GPU's cores.
    pub of_each_gpu: usize,
    /// GPUs that the cores are shared among; `None`: all of the machine.
    pub gpus: Option<GpuList>,
    /// All hardware threads of a core instead of one.
    pub smt: bool,
    /// PUs whose cores no worker gets.
    pub reserve: IdSet,
    /// Whether memory is left alone.
    pub keeps_memory: bool,
}

/// A GPU's cores and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerShare {
    /// The GPU.
    pub target: Target,
    /// The PUs of each of its workers.
    pub parts: Vec<IdSet>,
    /// The nodes that memory is preferred on; empty: it is left alone.
    pub nodes: IdSet,
    /// Why these PUs.
    pub why: String,
}

/// All that an engine's workers are told.
#[derive(Clone, Debug)]
pub struct WorkersSetup {
    /// Each GPU's.
    pub shares: Vec<WorkerShare>,
    /// The PUs of a process that nobody has bound.
    affinity: IdSet,
    /// Why no worker will be bound, where that is to be expected.
    pub unseen: Option<String>,
    /// What the user should know beside these.
    pub notes: Vec<String>,
}

/// Each GPU's cores and memory; nothing is done yet.
///
/// # Errors
/// [`ExecError`]: there is no GPU, or what was asked does not fit the machine.
pub fn plan_workers(launch: &Launch, start: &Start, asked: &AskedWorkers) -> Result<WorkersSetup, ExecError> {
    if let Some(tasks) = launch.local_size.filter(|tasks| *tasks > 1) {
        return Err(ExecError::SeveralEngines(tasks));
    }
    let pool = crate::pool(launch, start, false);
    let topology = with_gpus(&start.topology, asked.gpus.as_ref())?;
    let targets = Target::gpus_of(&topology);
    if targets.is_empty() {
        return Err(ExecError::NoGpuForWorkers);
    }

    let each = asked.of_each_gpu;
    let ask = Ask {
        ranks: Some(targets.len() * each),
        gpus: GpuChoice::These(targets.clone()),
        pus: Some(pool.pus.clone()),
        cores_per_rank: None,
        smt: asked.smt,
        strategy: Strategy::Close,
        reserve: asked.reserve.clone(),
    };
    let plan = recommend(&topology, &ask).map_err(RankPlaceError::from)?;

    let shares = targets.into_iter().zip(plan.places.chunks(each)).map(|(target, places)| {
        let has_choice = topology.allowed.nodes.len() > 1 && !asked.keeps_memory;
        let nodes = places.iter().filter_map(|place| place.memory_node).filter(|_| has_choice);
        WorkerShare {
            target,
            parts: places.iter().map(|place| place.pus.clone()).collect(),
            nodes: nodes.collect(),
            why: places.first().map(|place| place.why.clone()).unwrap_or_default(),
        }
    });
    let affinity = start.topology.allowed.pus.clone();
    let is_seen = |gpu: &Gpu| Runtime::of_vendor(gpu.vendor_id).is_some();
    let unseen = (!topology.gpus.iter().any(is_seen)).then(|| {
        "no GPU here is NVIDIA's or AMD's: a worker is bound when it opens a GPU by CUDA or HIP".to_owned()
    });
    let setup = WorkersSetup { shares: shares.collect(), affinity, unseen, notes: plan.notes };
    // A process's number and the time, at their longest.
    let line = setup.table(Some(u32::MAX), "4294967295.18446744073709551615", true);
    if line.len() < LONGEST { Ok(setup) } else { Err(ExecError::TooManyWorkers { each, room: LONGEST }) }
}

/// The machine with these GPUs alone.
fn with_gpus(topology: &Topology, asked: Option<&GpuList>) -> Result<Topology, ExecError> {
    let mut topology = topology.clone();
    if let Some(GpuList::Some(selection)) = asked {
        let chosen = selection.resolve(&Target::gpus_of(&topology))?;
        topology.gpus.retain(|gpu| chosen.iter().any(|target| target.id == TargetId::Gpu(gpu.pci)));
    }
    Ok(topology)
}

impl WorkersSetup {
    /// The variables that the engine is given. `parent`: the process that becomes it; `None` where it is
    /// started otherwise, and no process is left free.
    pub fn variables(
        &self,
        hook: &Path,
        parent: Option<u32>,
        token: &str,
        reports: bool,
        environment: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, OsString)> {
        let mut preload = hook.as_os_str().to_owned();
        if let Some(before) = environment.get(PRELOAD).filter(|before| !before.is_empty()) {
            preload.push(":");
            preload.push(before);
        }

        let mut all = vec![(PRELOAD, preload), (VARIABLE, self.table(parent, token, reports).into())];
        let threads = self.shares.iter().flat_map(|share| &share.parts).map(IdSet::len).min();
        if let Some(threads) = threads.filter(|_| !environment.contains_key(THREADS)) {
            all.push((THREADS, threads.to_string().into()));
        }
        all
    }

    fn table(&self, parent: Option<u32>, token: &str, reports: bool) -> String {
        let (parent, affinity, report) = (parent.unwrap_or(0), &self.affinity, u8::from(reports));
        let mut line =
            format!("{VERSION} {PARENT}={parent} {TOKEN}={token} {AFFINITY}={affinity} {REPORT}={report}");

        for share in &self.shares {
            let parts: Vec<String> = share.parts.iter().map(IdSet::to_string).collect();
            // Writing to a text does not fail.
            let _ = write!(
                line,
                " {}={}{NODES}{}",
                share.target.id,
                parts.join(&NEXT_WORKER.to_string()),
                share.nodes
            );
        }
        line
    }

    /// A line for each GPU: its workers' PUs and memory, and why.
    pub fn lines(&self) -> Vec<String> {
        let line = |share: &WorkerShare| {
            let parts: Vec<String> = share.parts.iter().map(IdSet::to_string).collect();
            let memory = if share.nodes.is_empty() {
                "memory as it is".to_owned()
            } else {
                format!("memory preferred on node {}", share.nodes)
            };

            let Target { index, id, .. } = &share.target;
            format!("workers of GPU {index} = {id}: PUs {} ({}); {memory}", parts.join(" | "), share.why)
        };
        self.shares.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use launchers::Launch;

    use super::*;
    use crate::machine::{AMD, NVIDIA, set, set_to, start};

    fn asked(of_each_gpu: usize) -> AskedWorkers {
        AskedWorkers { of_each_gpu, gpus: None, smt: false, reserve: IdSet::default(), keeps_memory: false }
    }

    /// The GPUs' words of the table.
    fn words(start: &Start, asked: &AskedWorkers) -> Result<String, ExecError> {
        let table = plan_workers(&Launch::ALONE, start, asked)?.table(None, "t", false);
        Ok(table.split_once(" report=0 ").map(|(_, gpus)| gpus.to_owned()).unwrap_or_default())
    }

    #[test]
    fn each_gpus_share_is_that_of_the_whole_node_whichever_gpus_a_variable_shows() -> Result<(), ExecError> {
        let all = "0000:01:00.0=4-5@1 0000:02:00.0=6-7@1 0000:03:00.0=0-1@0 0000:04:00.0=2-3@0";
        assert_eq!(words(&start(NVIDIA, &[0, 1, 2, 3], &[]), &asked(1))?, all);
        let one = start(NVIDIA, &[3], &[("CUDA_VISIBLE_DEVICES", "3")]);
        assert_eq!(words(&one, &asked(1))?, all);
        let smt = words(&one, &AskedWorkers { smt: true, ..asked(1) })?;
        assert!(smt.starts_with("0000:01:00.0=4-5,12-13@1 "), "{smt}");
        Ok(())
    }

    #[test]
    fn workers_of_a_gpu_have_parts_of_its_share_and_gpus_that_are_named_share_all_there_is()
    -> Result<(), Box<dyn std::error::Error>> {
        let start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        assert!(words(&start, &asked(2))?.starts_with("0000:01:00.0=4|5@1 0000:02:00.0=6|7@1 "));
        let named = AskedWorkers { gpus: Some("0,3".parse()?), ..asked(1) };
        assert_eq!(words(&start, &named)?, "0000:01:00.0=4-7@1 0000:04:00.0=0-3@0");
        let reserved = AskedWorkers { reserve: set("4"), keeps_memory: true, ..named };
        assert_eq!(words(&start, &reserved)?, "0000:01:00.0=5-7@none 0000:04:00.0=0-3@none");
        let many = words(&start, &asked(2000));
        assert!(matches!(many, Err(ExecError::TooManyWorkers { each: 2000, .. })), "{many:?}");
        let absent = AskedWorkers { gpus: Some("7".parse()?), ..asked(1) };
        assert!(matches!(words(&start, &absent), Err(ExecError::Gpus(_))));
        Ok(())
    }

    #[test]
    fn gpus_of_unknown_locality_have_equal_shares_of_their_own_and_the_memory_there() -> Result<(), ExecError>
    {
        let mut start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        for gpu in &mut start.topology.gpus {
            (gpu.locality.rung, gpu.locality.pus) = (topo::model::Rung::Unknown, IdSet::default());
            gpu.locality.nodes = IdSet::default();
        }
        let even = "0000:01:00.0=0-1@0 0000:02:00.0=2-3@0 0000:03:00.0=4-5@1 0000:04:00.0=6-7@1";
        assert_eq!(words(&start, &asked(1))?, even);
        Ok(())
    }

    #[test]
    fn the_engine_is_given_the_library_before_those_it_has_and_as_many_threads_as_a_worker_has_cores()
    -> Result<(), ExecError> {
        let setup = plan_workers(&Launch::ALONE, &start(NVIDIA, &[0], &[]), &asked(1))?;
        let set = |before: &[(&str, &str)]| {
            setup.variables(Path::new("/x.so"), Some(7), "7.1", true, &set_to(before))
        };
        let all = set(&[("LD_PRELOAD", "/y.so")]);
        assert_eq!(all[0], ("LD_PRELOAD", "/x.so:/y.so".into()));
        let table = all[1].1.to_string_lossy();
        assert!(table.starts_with("1 parent=7 token=7.1 affinity=0-15 report=1 0000:01:00.0="), "{table}");
        assert_eq!(all[2], ("OMP_NUM_THREADS", "2".into()));
        assert_eq!(set(&[("OMP_NUM_THREADS", "9")]).len(), 2, "the user's stays");
        Ok(())
    }

    #[test]
    fn several_tasks_of_a_launch_on_one_node_are_no_engines_and_one_a_node_is() {
        let start = start(NVIDIA, &[0], &[]);
        let of = |tasks| Launch { local_size: Some(tasks), ..Launch::ALONE };
        let several = plan_workers(&of(4), &start, &asked(1));
        assert!(matches!(several, Err(ExecError::SeveralEngines(4))), "{several:?}");
        assert!(plan_workers(&of(1), &start, &asked(1)).is_ok());
    }

    #[test]
    fn gpus_that_neither_cuda_nor_hip_opens_are_warned_of_and_without_any_there_is_no_plan() {
        const INTEL: u16 = 0x8086;
        let unseen = |start: &Start| plan_workers(&Launch::ALONE, start, &asked(1)).map(|setup| setup.unseen);
        assert!(matches!(unseen(&start(AMD, &[0], &[])), Ok(None)));
        let mut start = start(INTEL, &[0], &[]);
        assert!(unseen(&start).is_ok_and(|unseen| unseen.is_some_and(|why| why.contains("NVIDIA"))));
        start.topology.gpus.clear();
        assert!(matches!(words(&start, &asked(1)), Err(ExecError::NoGpuForWorkers)));
    }
}
