//! Where a rank is pretended to run: a machine of two cores has no core 49, so a replay of runs on a larger
//! one says which core each of its ranks stands for.
//!
//! `FAKE_PUS` is a list of PUs, one for each rank of the node, in the form that srun's map_cpu has; which
//! rank this process is it learns from the launcher's variable. The PU's NUMA node is the described one
//! (`node` in `FAKE_DEVICES`), and the rank's host memory is taken to lie there. This is a pretence: nothing
//! is bound and no page is looked at. `FAKE_PUS=seen` is for ranks that are threads on a machine that has the
//! PUs: each is where its copies are made from, by the kernel's word.

use std::env;
use std::sync::OnceLock;

use crate::{devices, told};

const VARIABLE: &str = "FAKE_PUS";
const SEEN: &str = "seen";
/// A process's number on its node, as Slurm, Open MPI and MPICH give it.
const LOCAL_RANK: [&str; 3] = ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"];

/// The NUMA node that the calling thread's host memory is taken to lie on; `None` where none is pretended.
pub fn node() -> Option<u32> {
    static NODE: OnceLock<Where> = OnceLock::new();
    match NODE.get_or_init(told) {
        Where::Nowhere => None,
        Where::On(node) => Some(*node),
        Where::Seen => node_of(seen()),
    }
}

enum Where {
    Nowhere,
    On(u32),
    Seen,
}

fn told() -> Where {
    let Ok(list) = env::var(VARIABLE) else { return Where::Nowhere };
    if list == SEEN {
        return Where::Seen;
    }
    let pus = devices::told_pus(&list).unwrap_or_else(|why| told::wrong(VARIABLE, &list, &why));
    let number = LOCAL_RANK.iter().find_map(|name| env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(0);
    let pu =
        pus.get(number).unwrap_or_else(|| told::wrong(VARIABLE, &list, &format!("no PU for rank {number}")));
    Where::On(
        node_of(*pu).unwrap_or_else(|| {
            told::wrong(VARIABLE, &list, &format!("PU {pu} is on no node of FAKE_DEVICES"))
        }),
    )
}

fn node_of(pu: u32) -> Option<u32> {
    devices::all().nodes.iter().find(|(_, pus)| pus.contains(&pu)).map(|(node, _)| *node)
}

/// The PU that the calling thread is on. A stream's thread has the affinity of the rank that made it.
fn seen() -> u32 {
    unsafe extern "C" {
        safe fn sched_getcpu() -> std::ffi::c_int;
    }
    u32::try_from(sched_getcpu()).unwrap_or(u32::MAX)
}
