//! A launcher that speaks PMI and is known by nothing else.

use crate::facts::{LauncherFacts, OF_ANY, Sensed};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "a launcher that speaks PMI",
    sensed: |variables| {
        // The second pair is that of MVAPICH's mpirun_rsh.
        let pairs = [("PMI_SIZE", "PMI_RANK"), ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK")];
        pairs.into_iter().find_map(|(size, rank)| {
            let size = variables.number(size).filter(|_| variables.is_set(rank))?;
            Some(Sensed::one_of(size, rank))
        })
    },
    local_rank: &["MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK", "MPI_LOCALRANKID"],
    local_size: |variables| {
        variables.first(&["MV2_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "MPI_LOCALNRANKS"])
    },
    one_process: Some("without a launcher"),
    ..OF_ANY
};
