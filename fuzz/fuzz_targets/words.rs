//! What users and launchers write: lists of PUs and GPUs, sizes, durations, addresses, names of placements,
//! and the variables of a launch.
//!
//! A finding is a panic, a number of ranks beyond what a node can have, or a list that does not read back as
//! it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use placement::{GpuList, RowsBy, Selection, Strategy};
use launchers::Launch;
use stats::units::{parse_duration, parse_size, parse_sizes};
use stats::{IdSet, PciAddress};

/// What the launchers that numabench knows write, and Slurm's lists of tasks.
const NAMES: [&str; 28] = [
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE",
    "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE",
    "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "FLUX_JOB_NNODES", "LOCAL_RANK", "WORLD_SIZE", "RANK",
    "LOCAL_WORLD_SIZE",
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(ids) = text.parse::<IdSet>() {
        assert_eq!(ids.to_string().parse::<IdSet>().ok(), Some(ids).filter(|ids| !ids.is_empty()));
    }
    if let Ok(address) = text.parse::<PciAddress>() {
        assert_eq!(address.to_string().parse::<PciAddress>().ok(), Some(address));
    }
    drop((text.parse::<Selection>(), text.parse::<GpuList>(), text.parse::<Strategy>(), text.parse::<RowsBy>()));
    drop((parse_size(&text), parse_sizes(&text), parse_duration(&text)));
    // A line is the value of the variable that its first byte chooses.
    let values: Vec<(&str, &str)> =
        text.lines().filter_map(|line| Some((NAMES[usize::from(*line.as_bytes().first()?) % NAMES.len()], line.get(1..)?))).collect();
    let launch = Launch::sensed(|name| values.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned()));
    assert!(launch.local_size.is_none_or(|size| (1..=65_535).contains(&size)), "{launch:?}");
    assert!(launch.local_size.zip(launch.local_rank).is_none_or(|(size, rank)| rank < size), "{launch:?}");
});
