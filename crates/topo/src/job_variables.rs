//! The launcher's, job's and runtime's environment variables that change where things run: an allow-list.
//!
//! Never the whole environment: it holds tokens and paths that nobody wants in a published result. For the
//! same reason no job name, user name or file path is listed, and families (`PMI_*`) are spelled out: some of
//! their members are secrets.

use std::collections::BTreeMap;

const LISTED: [&str; 51] = [
    // Job and step
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURM_STEP_ID",
    "SLURM_NNODES",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_CPU_BIND_LIST",
    "SLURM_MEM_BIND",
    "SLURM_MEM_BIND_TYPE",
    "SLURM_MEM_BIND_LIST",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
    "SLURM_THREADS_PER_CORE",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "PBS_JOBID",
    "LSB_JOBID",
    "FLUX_JOB_ID",
    // MPI launchers
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
    "PMI_SIZE",
    "PMI_RANK",
    "PMI_LOCAL_SIZE",
    "PMI_LOCAL_RANK",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    // Which GPUs are seen, and in which order
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_ENABLE_SDMA",
    // Threads and places
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    // What hwloc is told
    "HWLOC_COMPONENTS",
    "HWLOC_PCI_LOCALITY",
    "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES",
];

/// Those of the list that are set, by name.
pub(crate) fn set(value_of: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    LISTED.iter().filter_map(|name| Some(((*name).to_owned(), value_of(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_that_are_set_are_kept() {
        let environment = |name: &str| match name {
            "SLURM_JOB_ID" => Some("4711".to_owned()),
            "AWS_SECRET_ACCESS_KEY" | "PMI_AUTH" => Some("secret".to_owned()),
            _ => None,
        };
        let kept = set(environment);
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [("SLURM_JOB_ID".to_owned(), "4711".to_owned())]);
    }

    #[test]
    fn a_variable_is_listed_once() {
        let names: std::collections::BTreeSet<&str> = LISTED.into_iter().collect();
        assert_eq!(names.len(), LISTED.len());
    }
}
