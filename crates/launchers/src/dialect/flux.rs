//! `flux run`: a task's cores and GPU by the shell's maps.

use placement::NodePlaces;
use topo::Topology;
use topo::gpu_class::{AMD, NVIDIA};

use super::{Situation, gpu_indices};
use crate::objects::{JobMachine, Part};

const NOT_SHOWN: &str = "Flux shows GPUs by CUDA_VISIBLE_DEVICES, which does not count those of this machine";

/// The line that puts each rank in its place, with its GPU.
pub(crate) fn line(
    topology: &Topology,
    places: &NodePlaces,
    situation: &Situation,
) -> Result<String, String> {
    let gpus = match gpu_indices(places) {
        None => String::new(),
        Some(_) if !are_counted_by_cuda(topology) => return Err(NOT_SHOWN.to_owned()),
        // The shell gives each task the next of the job's GPUs.
        Some(gpus) if gpus.len() == topology.gpus.len() && gpus.is_sorted() => {
            " -o gpu-affinity=per-task".to_owned()
        }
        Some(gpus) => {
            let map: Vec<String> = gpus.iter().map(u32::to_string).collect();
            format!(" -o gpu-affinity=\"map:{}\"", map.join(";"))
        }
    };

    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();
    let (start, map) = (start(topology, lists.len(), situation), lists.join(";"));
    Ok(format!("{start}{gpus} -o cpu-affinity=\"map:{map}\" PROGRAM"))
}

/// The beginning of a line for so many tasks on each node, which has all of it and binds by the shell alone.
pub(super) fn start(topology: &Topology, here: usize, situation: &Situation) -> String {
    let all = situation.ranks_of_launch(here);
    let nodes = all.div_ceil(here.max(1));
    // A task of -n takes a core.
    let tasks = match here > JobMachine::of(topology).parts(Part::Core).len() {
        true => format!("--tasks-per-node={here}"),
        false => format!("-n{all}"),
    };
    format!("flux run -N{nodes} {tasks} --exclusive -o mpibind=off")
}

/// Whether CUDA's variable counts all GPUs, of CUDA or of HIP.
fn are_counted_by_cuda(topology: &Topology) -> bool {
    let is_all_of = |vendor| topology.gpus.iter().all(|gpu| gpu.vendor_id == vendor);
    is_all_of(NVIDIA) || is_all_of(AMD)
}
