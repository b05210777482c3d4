//! Where a rank is pretended to run: a machine of two cores has no core 49, so a replay of runs on a larger one says which core
//! each of its ranks stands for.
//!
//! `FAKE_PUS` is a list of PUs, one for each rank of the node, in the form that srun's map_cpu has; which rank this process is it
//! learns from the launcher's variable. The PU's NUMA node is the described one (`node` in `FAKE_DEVICES`), and the rank's
//! host memory is taken to lie there. This is a pretence: nothing is bound and no page is looked at.

use std::env;
use std::sync::OnceLock;

use crate::{devices, told};

const VARIABLE: &str = "FAKE_PUS";
/// A process's number on its node, as Slurm, Open MPI and MPICH give it.
const LOCAL_RANK: [&str; 3] = ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"];

/// The NUMA node that this process's host memory is taken to lie on; `None` where none is pretended.
pub fn node() -> Option<u32> {
    static NODE: OnceLock<Option<u32>> = OnceLock::new();
    *NODE.get_or_init(|| {
        let list = env::var(VARIABLE).ok()?;
        let pus = devices::told_pus(&list).unwrap_or_else(|why| told::wrong(VARIABLE, &list, &why));
        let number = LOCAL_RANK.iter().find_map(|name| env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(0);
        let pu = pus.get(number).unwrap_or_else(|| told::wrong(VARIABLE, &list, &format!("no PU for rank {number}")));
        let node = devices::all().nodes.iter().find(|(_, pus)| pus.contains(pu)).map(|(node, _)| *node);
        Some(node.unwrap_or_else(|| told::wrong(VARIABLE, &list, &format!("PU {pu} is on no node of FAKE_DEVICES"))))
    })
}
