//! Reads this machine.
//!
//! Two sources, in this order: hwloc for the structure, the kernel's and drivers' files for what hwloc leaves
//! out. Neither a GPU runtime nor the thread's binding is touched, so this can run first, before any thread
//! is bound. NVIDIA's management library is opened only for [`survey_with_nvml()`] and for what is saved,
//! because that takes a while.

use hwlocality::Topology as Hwloc;

use crate::TopoError;
use crate::convert::{NvmlUse, model, survey as convert};
use crate::fs_root::FsRoot;
use crate::load;
use crate::model::{Topology, TopologySource};
use crate::save;
use crate::settings::{self, Setting};
use crate::step;
use crate::survey::Survey;

/// This machine as this process finds it now: what it has, and what of it may be used.
///
/// # Errors
/// [`TopoError::NotThisSystem`] where the environment points hwloc elsewhere, [`TopoError::Hwloc`] where
/// hwloc fails.
pub fn read() -> Result<Topology, TopoError> {
    let alone = load::alone();
    let hwloc = load::this_machine(&alone)?;
    let topology = model(&hwloc, TopologySource::ThisSystem, load::hwloc_version(), Some(&FsRoot::default()));
    topology.check()?;
    Ok(topology)
}

/// This machine with all that is shown of it.
///
/// # Errors
/// As [`read()`].
pub fn survey() -> Result<Survey, TopoError> {
    let alone = load::alone();
    surveyed(&load::this_machine(&alone)?, &FsRoot::default(), NvmlUse::Untouched)
}

/// The same with what only NVIDIA's management library knows, where there is an NVIDIA GPU: NVLinks,
/// nvidia-smi's indices.
///
/// # Errors
/// As [`read()`]; that the library is missing is none.
pub fn survey_with_nvml() -> Result<Survey, TopoError> {
    let alone = load::alone();
    surveyed(&load::this_machine(&alone)?, &FsRoot::default(), NvmlUse::Asked)
}

/// The same, and hwloc XML that holds all of it and what `judge` says of its settings, for
/// [`crate::survey_xml()`] and for `lstopo --input`.
///
/// # Errors
/// As [`read()`].
pub fn survey_and_xml(judge: impl FnOnce(&Survey) -> Vec<Setting>) -> Result<(Survey, String), TopoError> {
    let root = FsRoot::default();
    let alone = load::alone();
    let hwloc = load::this_machine(&alone)?;
    let mut survey = surveyed(&hwloc, &root, NvmlUse::Asked)?;
    settings::keep(&root, &judge(&survey));
    survey.settings = settings::kept(&root);
    Ok((survey, save::xml(&hwloc, &root)?))
}

fn surveyed(hwloc: &Hwloc, root: &FsRoot, drivers: NvmlUse) -> Result<Survey, TopoError> {
    let mut survey = convert(hwloc, TopologySource::ThisSystem, Some(root), drivers)?;
    survey.step = step::here(&survey.topology);
    Ok(survey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs_root::value_of;

    #[test]
    fn the_pus_allowed_are_those_the_kernel_lets_this_process_run_on()
    -> Result<(), Box<dyn std::error::Error>> {
        let topology = read()?;
        let status = FsRoot::default().text("/proc/self/status")?;
        let affinity: stats::IdSet = value_of(&status, "Cpus_allowed_list").unwrap_or_default().parse()?;
        assert!(!topology.allowed.pus.is_empty());
        assert!(topology.allowed.pus.is_subset(&affinity), "{} outside {affinity}", topology.allowed.pus);
        Ok(())
    }

    #[test]
    fn every_allowed_pu_has_a_core_and_a_node() -> Result<(), Box<dyn std::error::Error>> {
        let topology = read()?;
        for pu in topology.allowed.pus.iter() {
            assert!(topology.core_of(pu).is_some(), "PU {pu} has no core");
            assert!(topology.pu(pu).is_some_and(|pu| !pu.nodes.is_empty()), "PU {pu}: no node");
        }
        Ok(())
    }

    #[test]
    fn free_memory_is_read_and_is_less_than_all() -> Result<(), Box<dyn std::error::Error>> {
        for node in read()?.nodes {
            let Some(free) = node.free_bytes else {
                continue; // no /sys/devices/system/node here
            };
            assert!(free <= node.total_bytes, "node {}: {free} of {}", node.os_index, node.total_bytes);
        }
        Ok(())
    }
}
