//! Where Flux's shell puts the tasks of a node: its options `cpu-affinity` and `gpu-affinity`, and mpibind,
//! which binds in its place.
//!
//! flux-shell-options(7), and flux-core's `src/shell/affinity.c` and `gpubind.c`. Three things are a site's,
//! and each way that a line leaves open is a layout:
//!
//! * what a job gets that asks for a part of a node (flux-config-sched-fluxion-resource(5)): the first cores
//!   and GPUs, the last ones (`first`, the default of Fluxion, begins with the highest number), or the whole
//!   node by a node-exclusive policy. That other jobs may have some of them before is said in a note;
//! * whether jobs are confined to theirs (`sdexec-constrain-resources`), where the line goes beyond them;
//! * whether LLNL's mpibind is loaded (`flux/plugin.c` there): it is on where it is loaded, sets
//!   `cpu-affinity=off` and `gpu-affinity=off` whatever the line says, and binds by rules of its own, which
//!   are not followed. `mpibind=off` is passed over where it is not loaded: the shell reads the options that
//!   it knows, and no others.

use std::ops::Range;

use stats::IdSet;
use topo::gpu_class::AMD;

use super::request::Share;
use crate::assumption::{Assumption, Choice};
use crate::error::LineError;
use crate::layout::{Layout, Start};
use crate::objects::{JobMachine, Part};
use crate::parse_mask;
use crate::process::Known;
use crate::value::ids;

const CUDA: &str = "CUDA_VISIBLE_DEVICES";
const ROCR: &str = "ROCR_VISIBLE_DEVICES";
const IS_LOADED: &str = "mpibind is loaded";
const IS_NOT_LOADED: &str = "mpibind is not loaded";
const BY_MPIBIND: &str = "mpibind binds the ranks and shows them GPUs by its own rules: run numabench check \
    inside of the launch, or switch it off (-o mpibind=off)";
const OVERRIDDEN: &str = "where mpibind is loaded, it binds whatever cpu-affinity and gpu-affinity say: -o \
    mpibind=off keeps it out";
const IS_CONFINED: &str = "the site confines jobs to their cores and GPUs (sdexec-constrain-resources)";
const IS_NOT_CONFINED: &str = "the site does not confine jobs to their cores and GPUs";
const BEYOND: &str =
    "the line goes beyond what the job asks for: -N with --exclusive gives it the whole node";
const MORE_TASKS: &str = "it then starts a task for each of the node's cores";
const WHOLE: &str = "Flux gives the job the whole node (Fluxion's lonodex, hinodex and firstnodex)";
const HIDDEN: &str = "Flux hides the GPUs from a job that asks for none (CUDA_VISIBLE_DEVICES=-1): -g1 gives \
    each task one";
/// HIP reads CUDA's variable where its own is not set (ROCclr, `Device::init`).
const EMPTY: &str = "there are fewer GPUs than tasks, and gpu-affinity=per-task then leaves \
    CUDA_VISIBLE_DEVICES empty: HIP shows all GPUs or none for that";

/// What the shell is told.
#[derive(Debug)]
pub(super) struct Affinity<'l> {
    cpu: &'l str,
    gpu: &'l str,
    mpibind: Mpibind,
}

/// Whether mpibind binds the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mpibind {
    IfLoaded,
    On,
    Off,
}

/// What a job may get of its node.
struct Gift {
    /// The way that gives it so.
    way: Vec<Assumption>,
    /// Its cores, and the PUs of all of them.
    cores: Vec<IdSet>,
    pus: IdSet,
    /// Its GPUs.
    gpus: Range<usize>,
}

/// What a job may get of a node without other jobs: nothing is open where it asks for all.
fn gifts(share: Share, machine: &JobMachine<'_>) -> Vec<Gift> {
    let (all, total) = (machine.parts(Part::Core), machine.topology.gpus.len());
    let gift = |assumes: Option<String>, cores: Range<usize>, gpus: Range<usize>| Gift {
        way: assumes
            .map(|what| Assumption { choice: Choice::FluxPart, what: what.into() })
            .into_iter()
            .collect(),
        cores: all[cores.clone()].to_vec(),
        pus: IdSet::of_all(&all[cores]),
        gpus,
    };
    if (share.cores, share.gpus) == (all.len(), total) {
        return vec![gift(None, 0..all.len(), 0..total)];
    }

    let what = match (share.cores < all.len(), share.gpus > 0 && share.gpus < total) {
        (true, true) => "cores and GPUs",
        (_, false) => "cores",
        (false, true) => "GPUs",
    };
    let at = |end: &str| Some(format!("Flux gives the job the {end} {what} of the node"));
    vec![
        gift(at("first"), 0..share.cores, 0..share.gpus),
        gift(at("last"), all.len() - share.cores..all.len(), total - share.gpus..total),
        gift(Some(WHOLE.to_owned()), 0..all.len(), 0..total),
    ]
}

impl<'l> Affinity<'l> {
    /// What it does without a word of the line.
    pub const DEFAULT: Self = Self { cpu: "on", gpu: "on", mpibind: Mpibind::IfLoaded };

    /// Takes an option of the shell: `NAME=VALUE`, or a name alone.
    pub fn option(&mut self, option: &'l str) {
        match option.split_once('=').unwrap_or((option, "on")) {
            ("cpu-affinity", how) => self.cpu = bound(how),
            ("gpu-affinity", how) => self.gpu = how,
            ("mpibind", how) => {
                let last = how.split(',').rfind(|word| matches!(*word, "on" | "off"));
                self.mpibind = if last == Some("off") { Mpibind::Off } else { Mpibind::On };
            }
            _ => {}
        }
    }

    /// Whether the shell names GPUs by CUDA's variables, which it then has in PCI order.
    pub fn sets_variables(&self) -> bool {
        self.gpu != "off"
    }

    /// The tasks of a node in each way that a site may start them, and what is to be known beside.
    ///
    /// # Errors
    /// [`LineError`]: a map is none.
    pub fn layouts(
        &self,
        share: Share,
        machine: &JobMachine<'_>,
    ) -> Result<(Vec<Layout>, Vec<String>), LineError> {
        let unknown = |variable, why: &str| {
            let variables = vec![(variable, Err(why.to_owned()))];
            let start = Start { pus: Some(Err(why.to_owned())), variables, ..Start::FREE };
            Layout::certain(vec![start; share.tasks])
        };
        let by_mpibind = unknown(if has_amds(machine) { ROCR } else { CUDA }, BY_MPIBIND);
        if self.mpibind == Mpibind::On {
            return Ok((vec![by_mpibind], Vec::new()));
        }

        let mut layouts = Vec::new();
        for gift in gifts(share, machine) {
            if share.is_per_core && gift.cores.len() > share.cores {
                layouts.push(Layout { ways: vec![gift.way], ..unknown(CUDA, MORE_TASKS) });
                continue;
            }
            let starts = (0..share.tasks).map(|rank| self.start(rank, share.tasks, &gift, machine));
            layouts.push(Layout { starts: starts.collect::<Result<_, _>>()?, ways: vec![gift.way] });
        }
        if self.goes_beyond(share, machine) {
            layouts = assuming(layouts, Choice::FluxConfines, IS_NOT_CONFINED);
            layouts.push(unknown(CUDA, BEYOND).assuming(Choice::FluxConfines, IS_CONFINED));
        }
        if self.mpibind == Mpibind::IfLoaded {
            layouts = assuming(layouts, Choice::Mpibind, IS_NOT_LOADED);
            layouts.push(by_mpibind.assuming(Choice::Mpibind, IS_LOADED));
        }
        Ok((layouts, self.notes(share, machine)))
    }

    /// Whether it lets tasks have more than the job asks for.
    fn goes_beyond(&self, share: Share, machine: &JobMachine<'_>) -> bool {
        let is_beyond = |how: &str| how == "off" || how.starts_with("map:");
        share.cores < machine.parts(Part::Core).len() && is_beyond(self.cpu)
            || share.gpus < machine.topology.gpus.len() && is_beyond(self.gpu)
    }

    fn start(
        &self,
        rank: usize,
        tasks: usize,
        gift: &Gift,
        machine: &JobMachine<'_>,
    ) -> Result<Start, LineError> {
        let shown = self.cuda(rank, tasks, gift, machine)?;
        let variables = shown.map(|gpus| (CUDA, gpus)).into_iter().collect();
        Ok(Start { pus: self.pus(rank, tasks, gift)?.map(Ok), variables, ..Start::FREE })
    }

    /// The PUs of a task; `None` where nothing binds it.
    fn pus(&self, rank: usize, tasks: usize, gift: &Gift) -> Result<Option<IdSet>, LineError> {
        let map = self.cpu.strip_prefix("map:").map(|map| of_rank(map, rank));
        Ok(match (self.cpu, map) {
            ("off", _) => None,
            ("per-task", _) => Some(distributed(&gift.cores, tasks, rank)),
            (_, Some(text)) => {
                let mask = if text.starts_with("0x") { parse_mask(text) } else { None };
                Some(mask.map_or_else(|| ids("cpu-affinity=map", text), Ok)?)
            }
            _ => Some(gift.pus.clone()),
        })
    }

    /// What the shell sets `CUDA_VISIBLE_DEVICES` to for a task; `None` where it hides no GPU.
    fn cuda(
        &self,
        rank: usize,
        tasks: usize,
        gift: &Gift,
        machine: &JobMachine<'_>,
    ) -> Result<Option<Known<String>>, LineError> {
        let listed = |gpus: Vec<usize>| gpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        if let Some(map) = self.gpu.strip_prefix("map:") {
            let asked = ids("gpu-affinity=map", of_rank(map, rank))?;
            return Ok(Some(Ok(listed(asked.iter().map(|gpu| gpu as usize).collect()))));
        }

        let each = gift.gpus.len() / tasks;
        let first = gift.gpus.start + rank * each;
        Ok(match self.gpu {
            "off" => None,
            "per-task" if each > 0 => Some(Ok(listed((first..first + each).collect()))),
            "per-task" if has_amds(machine) => Some(Err(EMPTY.to_owned())),
            "per-task" => Some(Ok("-1".to_owned())),
            _ if gift.gpus.is_empty() => Some(Ok("-1".to_owned())),
            _ if gift.gpus.len() == machine.topology.gpus.len() => None,
            _ => Some(Ok(listed(gift.gpus.clone().collect()))),
        })
    }

    fn notes(&self, share: Share, machine: &JobMachine<'_>) -> Vec<String> {
        let (all, total) = (machine.parts(Part::Core).len(), machine.topology.gpus.len());
        let of_job = |how: &str, own: usize, all: usize| {
            how != "off" && !how.starts_with("map:") && own > 0 && own < all
        };
        let part = |what: &str, own: usize, all: usize| format!("{own} of the node's {all} {what}");
        let parts = [
            of_job(self.cpu, share.cores, all).then(|| part("cores", share.cores, all)),
            of_job(self.gpu, share.gpus, total).then(|| part("GPUs", share.gpus, total)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();

        let mut notes = Vec::new();
        if !parts.is_empty() {
            notes.push(format!(
                "the job asks for {}, and Flux chooses which or gives it the whole node: judged are the \
                 first, the last and all of a node without other jobs; -N with --exclusive asks for all",
                parts.join(" and ")
            ));
        }
        if total > 0 && share.gpus == 0 && self.gpu == "on" {
            notes.push(HIDDEN.to_owned());
        }
        if self.mpibind == Mpibind::IfLoaded {
            notes.push(OVERRIDDEN.to_owned());
        }
        notes
    }
}

/// In each of these layouts this is so too.
fn assuming(layouts: Vec<Layout>, choice: Choice, what: &'static str) -> Vec<Layout> {
    layouts.into_iter().map(|layout| layout.assuming(choice, what)).collect()
}

fn has_amds(machine: &JobMachine<'_>) -> bool {
    machine.topology.gpus.iter().any(|gpu| gpu.vendor_id == AMD)
}

/// What binds tasks, of what may be written before it.
fn bound(how: &str) -> &str {
    let mut how = how;
    while let Some(rest) = how.strip_prefix("verbose") {
        how = rest.strip_prefix(',').unwrap_or(rest);
    }
    // What would be bound is shown, and nothing is.
    if how.starts_with("dry-run") { "off" } else { how }
}

/// A task's entry of a map, which begins again where there are more tasks.
fn of_rank(map: &str, rank: usize) -> &str {
    map.split(';').filter(|entry| !entry.is_empty()).cycle().nth(rank).unwrap_or_default()
}

/// A task's part of the job's cores: `hwloc_distrib` with each of them as a root.
fn distributed(cores: &[IdSet], tasks: usize, rank: usize) -> IdSet {
    let at = |rank: usize| rank * cores.len() / tasks;
    IdSet::of_all(&cores[at(rank)..at(rank + 1).max(at(rank) + 1)])
}
