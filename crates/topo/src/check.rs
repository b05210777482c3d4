//! Whether a model holds together: a file may be well formed for hwloc and still contradict itself.
//!
//! Only what the queries rely on is checked: ids name one thing and are what their sets say, parts lie within
//! what they are parts of, and sizes and rates are such as a machine can have.

use std::collections::BTreeSet;

use hwlocality::Topology as Hwloc;
use hwlocality::object::types::ObjectType;
use stats::IdSet;
use stats::units::{rate as written, rounded_size};

use crate::TopoError;
use crate::hwloc_object::{nodes_of, os_index, pus_of};
use crate::model::{Topology, Unsaid};

/// What 52 bits of physical address reach, the most of any processor numabench runs on.
const MOST_MEMORY: u64 = 1 << 52;
/// Several times what 32 lanes of PCIe 7 carry.
const FASTEST_LINK: u64 = 2_000_000_000_000;

/// Whether hwloc's PUs and NUMA nodes are what their own sets say.
///
/// # Errors
/// [`TopoError::Inconsistent`], naming the first that is not.
pub(crate) fn check_ids(hwloc: &Hwloc) -> Result<(), TopoError> {
    let kinds = [(ObjectType::PU, "PU", "cpuset"), (ObjectType::NUMANode, "NUMA node", "nodeset")];
    for (kind, name, set_name) in kinds {
        for object in hwloc.objects_with_type(kind) {
            let set = if kind == ObjectType::PU { pus_of(object) } else { nodes_of(object) };
            // An offline PU has no set, and some files leave sets out.
            if let Some(id) = os_index(object).filter(|id| !set.is_empty() && set != IdSet::from_iter([*id]))
            {
                let what = format!("{name} {id} has the {set_name} {set}");
                return Err(TopoError::Inconsistent { what });
            }
        }
    }
    Ok(())
}

impl Topology {
    /// # Errors
    /// [`TopoError::Inconsistent`], naming the first contradiction.
    pub(crate) fn check(&self) -> Result<(), TopoError> {
        let contradiction = |what: String| Err(TopoError::Inconsistent { what });
        let pus: IdSet = self.pus.iter().map(|pu| pu.os_index).collect();
        let may_be_unsaid = self.source.unsaid().contains(&Unsaid::Cpus);
        if self.allowed.pus.is_empty() && self.cores.is_empty() && !may_be_unsaid {
            return contradiction("it has no PU".to_owned());
        }
        let mut nodes = BTreeSet::new();
        if let Some(node) = self.nodes.iter().find(|node| !nodes.insert(node.os_index)) {
            return contradiction(format!("two NUMA nodes have the OS index {}", node.os_index));
        }

        if let Some(node) = self.nodes.iter().find(|node| node.total_bytes > MOST_MEMORY) {
            let size = rounded_size(node.total_bytes);
            return contradiction(format!(
                "NUMA node {} has {size} of memory, more than any processor reaches",
                node.os_index
            ));
        }

        let rate = |gpu: &crate::model::Gpu| gpu.link.as_ref().and_then(|link| link.bytes_per_s).unwrap_or(0);

        if let Some(gpu) = self.gpus.iter().find(|gpu| rate(gpu) > FASTEST_LINK) {
            let rate = written(rate(gpu) as f64);
            return contradiction(format!(
                "the PCIe link of GPU {} carries {rate}, more than there are",
                gpu.pci
            ));
        }

        let mut addresses = BTreeSet::new();
        if let Some(gpu) = self.gpus.iter().find(|gpu| !addresses.insert(gpu.pci)) {
            return contradiction(format!("two GPUs have the PCI address {}", gpu.pci));
        }
        let mut in_cores = IdSet::default();

        for core in &self.cores {
            if !core.pus.and(&in_cores).is_empty() {
                return contradiction(format!("PUs {} are in more than one core", core.pus.and(&in_cores)));
            }
            in_cores = in_cores.or(&core.pus);
        }

        let parts = [("the cores have", in_cores), ("the allowed set has", self.allowed.pus.clone())];

        for (who, part) in parts {
            if !part.is_subset(&pus) {
                return contradiction(format!(
                    "{who} PUs {} that the machine does not have",
                    part.minus(&pus)
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::model;
    use crate::load;
    use crate::model::TopologySource;

    fn machine() -> Result<Topology, Box<dyn std::error::Error>> {
        let hwloc = load::synthetic("numa:2 core:2 pu:2")?;
        Ok(model(&hwloc, TopologySource::ThisSystem, String::new(), None))
    }

    #[test]
    fn a_machine_of_hwlocs_own_making_holds_together() -> Result<(), Box<dyn std::error::Error>> {
        Ok(machine()?.check()?)
    }

    #[test]
    fn each_contradiction_is_named() -> Result<(), Box<dyn std::error::Error>> {
        let [mut twice, mut shared, mut foreign, mut boundless] =
            [machine()?, machine()?, machine()?, machine()?];
        twice.nodes[1].os_index = 0;
        shared.cores[1].pus = shared.cores[0].pus.clone();
        foreign.allowed.pus = [99].into_iter().collect();
        boundless.nodes[0].total_bytes = u64::MAX;
        let mut said = Vec::new();
        for topology in [twice, shared, foreign, boundless] {
            let Err(TopoError::Inconsistent { what }) = topology.check() else {
                return Err("it holds together".into());
            };
            said.push(what);
        }
        insta::assert_snapshot!("contradictions", said.join("\n"));
        Ok(())
    }
}
