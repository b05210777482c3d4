//! Whether a model holds together: a file may be well formed for hwloc and still contradict itself.
//!
//! Only what the queries rely on is checked: ids name one thing, and parts lie within what they are parts of.

use std::collections::BTreeSet;

use stats::IdSet;

use crate::TopoError;
use crate::model::Topology;

impl Topology {
    /// # Errors
    /// [`TopoError::Inconsistent`], naming the first contradiction.
    pub(crate) fn check(&self) -> Result<(), TopoError> {
        let contradiction = |what: String| Err(TopoError::Inconsistent { what });
        let pus: IdSet = self.pus.iter().map(|pu| pu.os_index).collect();
        if self.allowed.pus.is_empty() && self.cores.is_empty() {
            return contradiction("it has no PU".to_owned());
        }
        let mut nodes = BTreeSet::new();
        if let Some(node) = self.nodes.iter().find(|node| !nodes.insert(node.os_index)) {
            return contradiction(format!("two NUMA nodes have the OS index {}", node.os_index));
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
                return contradiction(format!("{who} PUs {} that the machine has not", part.minus(&pus)));
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
    use crate::model::Source;

    fn machine() -> Result<Topology, Box<dyn std::error::Error>> {
        let hwloc = load::synthetic("numa:2 core:2 pu:2")?;
        Ok(model(&hwloc, Source::ThisSystem, String::new(), None))
    }

    #[test]
    fn a_machine_of_hwlocs_own_making_holds_together() -> Result<(), Box<dyn std::error::Error>> {
        Ok(machine()?.check()?)
    }

    #[test]
    fn each_contradiction_is_named() -> Result<(), Box<dyn std::error::Error>> {
        let says = |topology: Topology| topology.check().map_or_else(|error| error.to_string(), |()| String::new());
        let mut twice = machine()?;
        twice.nodes[1].os_index = 0;
        assert!(says(twice).contains("two NUMA nodes have the OS index 0"));
        let mut shared = machine()?;
        shared.cores[1].pus = shared.cores[0].pus.clone();
        assert!(says(shared).contains("PUs 0-1 are in more than one core"));
        let mut foreign = machine()?;
        foreign.allowed.pus = [99].into_iter().collect();
        assert!(says(foreign).contains("PUs 99"));
        Ok(())
    }
}
