//! srun's options: `--cpu-bind=map_cpu` and `mask_cpu`, `--gpu-bind=map`; and the first two read back.
//!
//! Both CPU options number the PUs of the whole node and are refused, with exit code 192 and "CPU binding
//! outside of job step allocation", where one of them is not the step's (Slurm 22.05). Masks are always
//! hexadecimal (srun(1)).

use stats::IdSet;
use stats::id_list::MAX_ID;
use stats::units::counted;
use topo::model::{Core, Topology};

use super::{Dialect, Saying, Situation};
use crate::value::decimal_or_hex;
use placement::{MOST_RANKS, NodePlaces, Place};

/// Not the CPU binding of an srun line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// No such option.
    #[error("\"{text}\" has no {option}: (as in --cpu-bind={option}:…)")]
    Missing {
        /// What was to be read.
        text: String,
        /// The option.
        option: &'static str,
    },
    /// An entry that is not what the option takes.
    #[error(
        "\"{entry}\" in \"{text}\" is not {wanted}, with *N behind it to repeat it; {MOST_RANKS} ranks at \
         most"
    )]
    Entry {
        /// The entry.
        entry: String,
        /// What was to be read.
        text: String,
        /// What the option takes.
        wanted: &'static str,
    },
}

pub(super) fn map_cpu(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Saying {
    let several = places.places.iter().any(|place| place.pus.len() > 1);
    let saying = Saying::new(Dialect::SrunMapCpu, format!("--cpu-bind={}", map_list(places)));
    of_cpu_bind(saying, topology, places, situation)
        .remark(several, || "one core per rank: for threads use the mask (--emit srun)".to_owned())
}

pub(super) fn mask_cpu(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Saying {
    let saying = Saying::new(Dialect::SrunMaskCpu, format!("--cpu-bind={}", mask_list(places)));
    of_cpu_bind(saying, topology, places, situation)
}

/// `map_cpu:` and each rank's first PU.
pub(super) fn map_list(places: &NodePlaces) -> String {
    let firsts: Vec<String> = places.places.iter().map(|place| place.first.to_string()).collect();
    format!("map_cpu:{}", firsts.join(","))
}

/// `mask_cpu:` and all PUs of each rank.
pub(super) fn mask_list(places: &NodePlaces) -> String {
    let masks: Vec<String> = places.places.iter().map(|place| whole_mask(&place.pus)).collect();
    format!("mask_cpu:{}", masks.join(","))
}

/// Whether srun refuses so many tasks without `--overcommit`: more than the node has CPUs, which for some
/// sites are cores.
pub(super) fn overcommits(topology: &Topology, ranks: usize) -> bool {
    let is_allowed = |core: &&Core| !core.pus.and(&topology.allowed.pus).is_empty();
    let cores = topology.cores.iter().filter(is_allowed).count();
    ranks > cores && cores > 0
}

fn of_cpu_bind(saying: Saying, topology: &Topology, places: &NodePlaces, situation: &Situation) -> Saying {
    let ranks = places.places.len();

    saying
        .cannot(situation.owns_node == Some(false), || {
            "this step does not own the whole node, and srun then refuses a map or mask: ask the job for the \
             whole node (sbatch or salloc --exclusive), or use numabench exec (or the wrapper) under \
             --cpu-bind=none"
                .to_owned()
        })
        .remark(situation.owns_node.is_none(), || {
            "needs the whole node (sbatch or salloc --exclusive; no --exclusive and no -c behind srun): srun \
             refuses it in a step that has a part"
                .to_owned()
        })
        .always(format!("for {} a node: use --ntasks-per-node={ranks}", counted(ranks, "task")))
        .remark(overcommits(topology, ranks), || {
            "more tasks than cores: srun refuses them without --overcommit".to_owned()
        })
        .remark(situation.gpus_are_confined == Some(true), confined)
}

/// PLACEMENT: what a GPU cgroup for each task breaks, silently.
fn confined() -> String {
    "each task is kept from the GPUs of the others: GPU-to-GPU copies between ranks (CUDA or HIP IPC, and \
     MPI on top of it) then fail or go through host memory. Add --gres-flags=allow-task-sharing, or \
     --gpu-bind=none with numabench exec or the wrapper"
        .to_owned()
}

/// Ranks in the order of their cores, so that the CPU side reads as people write it, and the GPU for each.
pub(super) fn gpu_bind(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Saying {
    let mut in_core_order: Vec<&Place> = places.places.iter().collect();
    in_core_order.sort_by_key(|place| place.first);
    let index = |place: &&Place| Some(topology.gpu_at(place.target.as_ref()?.id.gpu()?)?.index.to_string());
    let gpus: Option<Vec<String>> = in_core_order.iter().map(index).collect();
    let Some(gpus) = gpus else {
        return Saying::new(Dialect::GpuBind, String::new()).cannot(true, || {
            "not possible: needs one GPU per rank, and not every rank has a GPU; use --emit srun or the \
             wrapper"
                .to_owned()
        });
    };

    // 22.05 refuses `map:` ("Invalid --gpu-bind argument") and takes `map_gpu:`; Slurm's own tests of today
    // write `map:`.
    let old = situation.slurm.is_some_and(|version| version <= (22, 5));
    let map = if old { "map_gpu" } else { "map" };
    let masks: Vec<String> = in_core_order.iter().map(|place| whole_mask(&place.pus)).collect();
    let text = format!("--cpu-bind=mask_cpu:{} --gpu-bind={map}:{}", masks.join(","), gpus.join(","));
    let shared = gpus.iter().enumerate().any(|(at, gpu)| gpus[..at].contains(gpu));
    let is_renumbered = in_core_order.iter().enumerate().any(|(at, place)| place.rank != at);
    let saying = Saying::new(Dialect::GpuBind, text).remark(is_renumbered, || {
        let ranks: Vec<String> = in_core_order.iter().map(|place| place.rank.to_string()).collect();
        format!(
            "renumbered in core order: ranks 0, 1, … here are ranks {} of the table; use both options \
             together",
            ranks.join(",")
        )
    });

    let saying = of_cpu_bind(saying, topology, places, &Situation { gpus_are_confined: None, ..*situation });

    saying
        .remark(situation.slurm.is_none(), || {
            "where srun refuses map:, write map_gpu: (Slurm 22.05 knows only that)".to_owned()
        })
        .always(
            "Slurm counts the GPUs given to the job: its n-th is taken for the n-th in PCI order, so give \
             the job all of the node's",
        )
        .remark(shared, || "some GPUs are given to several ranks".to_owned())
        .remark(situation.gpus_are_confined != Some(false), || match situation.gpus_are_confined {
            Some(_) => confined(),
            None => {
                format!("where the site confines devices (ConstrainDevices in cgroup.conf): {}", confined())
            }
        })
}

/// A set as srun and taskset write it: one number. Masks of a thousand PUs do not fit into an integer.
pub(crate) fn whole_mask(pus: &IdSet) -> String {
    let highest = pus.iter().last().unwrap_or(0) / 4;
    let digit =
        |at: u32| (0..4).filter(|bit| pus.contains(at * 4 + bit)).fold(0, |digit, bit| digit | 1 << bit);
    let digits: String = (0..=highest).rev().filter_map(|at| char::from_digit(digit(at), 16)).collect();
    format!("0x{digits}")
}

/// The PUs of a hexadecimal mask (`fe`, `0xfe`); `None` where it is none, or names nothing.
pub fn parse_mask(text: &str) -> Option<IdSet> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > MAX_ID as usize / 4 {
        return None;
    }
    let mut pus = IdSet::default();
    for (at, digit) in (0..).zip(digits.chars().rev()) {
        let digit = digit.to_digit(16)?;
        pus.0.extend((0..4).filter(|bit| digit >> bit & 1 == 1).map(|bit| at * 4 + bit));
    }
    (!pus.is_empty()).then_some(pus)
}

/// The PU of each rank in the `map_cpu:` of an srun line.
///
/// # Errors
/// [`BindingError`]: where there is no such option, or an entry is not a PU's number.
pub fn parse_map_cpu(text: &str) -> Result<Vec<IdSet>, BindingError> {
    // srun(1): decimal, but hexadecimal behind 0x.
    let id =
        |entry: &str| decimal_or_hex(entry).and_then(|id| u32::try_from(id).ok()).filter(|id| *id <= MAX_ID);
    let number = |entry: &str| id(entry).map(|id| IdSet::from_iter([id]));
    parsed(text, "map_cpu", "the number of a PU", number)
}

/// The PUs of each rank in the `mask_cpu:` of an srun line.
///
/// # Errors
/// [`BindingError`]: where there is no such option, or an entry is not a hexadecimal mask.
pub fn parse_mask_cpu(text: &str) -> Result<Vec<IdSet>, BindingError> {
    parsed(text, "mask_cpu", "a hexadecimal mask of PUs", parse_mask)
}

fn parsed(
    text: &str,
    option: &'static str,
    wanted: &'static str,
    entry: impl Fn(&str) -> Option<IdSet>,
) -> Result<Vec<IdSet>, BindingError> {
    let after = text.split_once(&format!("{option}:")).map(|(_, after)| after);
    let list = after.and_then(|after| after.split_whitespace().next());
    let list = list.ok_or_else(|| BindingError::Missing { text: text.to_owned(), option })?;
    let mut ranks = Vec::new();
    for item in list.split(',') {
        let (value, times) = item.split_once('*').unwrap_or((item, "1"));
        // srun(1): "the lists may follow a map with an asterisk and repetition count".
        let most = MOST_RANKS.saturating_sub(ranks.len());
        let times = times.parse::<usize>().ok().filter(|times| (1..=most).contains(times));
        let refused = || BindingError::Entry { entry: item.to_owned(), text: text.to_owned(), wanted };
        let (pus, times) = entry(value).zip(times).ok_or_else(refused)?;
        ranks.extend(std::iter::repeat_n(pus, times));
    }
    Ok(ranks)
}
