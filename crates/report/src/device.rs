//! A device that took part: who it is, how it hangs on the machine, how its copies are timed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::Known;
use crate::conditions::Conditions;

/// A device that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its identity, which ranks point to: a PCI address (`0000:c1:00.0`), or `node N` for a NUMA node's
    /// memory; with its host before it where the run was on several nodes (`nid005123/0000:c1:00.0`).
    pub id: String,
    /// Its node's `index`.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub node: u32,
    /// Its PCI address; null for a NUMA node's memory.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub pci_address: Option<PciAddress>,
    /// What it is.
    pub kind: DeviceKind,
    /// Its position in PCI order (node order on the host platform) among its node's: the index users give.
    pub index: u32,
    /// The index the runtime uses in this process; null where it has none. It may differ from `index`.
    pub runtime_index: Option<u32>,
    /// The marketing name, as the driver gives it.
    pub name: String,
    /// The UUID in the vendor's spelling (`GPU-…`); null where there is none.
    pub uuid: Option<String>,
    /// Memory in all, bytes.
    pub total_bytes: u64,
    /// The NUMA node it is local to.
    pub numa_node: Known<u32>,
    /// How it is attached to the host.
    pub link: Known<Link>,
    /// How it shares memory with its CPU, where copies do not go over PCIe; null for a GPU behind PCIe and
    /// for a node's memory.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub coherence: Option<Coherence>,
    /// What copies between host memory and it go over, where that is no PCIe link: `link` then bounds none of
    /// them; null for a GPU behind PCIe, and where nothing speaks against that.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub host_link: Option<Known<String>>,
    /// The NUMA node that its own memory is, where its CPU shares it; null for a GPU behind PCIe and for a
    /// node's memory.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub memory_node: Option<Known<u32>>,
    /// What it was under while it was measured; null for a node's memory.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub conditions: Option<Known<Conditions>>,
    /// The most that one direction of the link can carry, bytes/s, before packet overhead.
    pub bound_bytes_per_s: Known<f64>,
    /// What holds queued copies back for device timing; null with a reason where only host timing is
    /// possible.
    pub latch: Known<Latch>,
}

impl Device {
    /// What of it is well, in words, as far as it is seen.
    ///
    /// # Errors
    /// What of it is not, in words: the likely cause of a low figure.
    pub fn state(&self) -> Result<String, String> {
        let conditions = self.conditions.as_ref().and_then(|known| known.value.as_ref());
        let throttled = conditions.and_then(Conditions::throttled);
        let others = conditions.and_then(|conditions| conditions.other_processes).unwrap_or(0);
        match (self.link_state(), throttled) {
            (Err(fault), _) => Err(fault),
            (_, Some((limit, share))) => Err(format!(
                "it was throttled for {:.0} % of the time, by {}",
                share * 100.0,
                limit.description()
            )),
            (_, None) if others > 0 => Err("another process computed on it meanwhile".to_owned()),
            (Ok(state), None) => Ok(state),
        }
    }

    /// What copies between host memory and it go over, where that is no PCIe link.
    pub fn other_link(&self) -> Option<&str> {
        match self.coherence {
            Some(Coherence::NvlinkC2c) => Some("NVLink-C2C"),
            Some(Coherence::SharedHbm | Coherence::SharedMemory) => Some("one memory"),
            Some(Coherence::Newer) | None => self.host_link.as_ref()?.value.as_deref(),
        }
    }

    /// What copies between host memory and it go over at best, in a slot of its own: `PCIe 5 x16`,
    /// `NVLink-C2C`; `None` where that is not known.
    pub fn best_link(&self) -> Option<String> {
        self.link_by(|link| link.max_generation)
    }

    /// As [`Device::best_link`], in the slot that it is in.
    pub fn link_of_copies(&self) -> Option<String> {
        self.link_by(|link| Some(link.max_generation?.min(link.slot_generation.unwrap_or(u8::MAX))))
    }

    fn link_by(&self, generation: fn(&Link) -> Option<u8>) -> Option<String> {
        if let Some(other) = self.other_link() {
            return Some(other.to_owned());
        }
        let link = self.link.value.as_ref()?;
        Some(format!("PCIe {} x{}", generation(link)?, link.max_width?))
    }

    /// What of its link is well, in words.
    ///
    /// # Errors
    /// What of it is not, in words.
    pub fn link_state(&self) -> Result<String, String> {
        if let Some(other) = self.other_link() {
            return Ok(format!("its copies do not go over PCIe ({other})"));
        }
        match &self.link.value {
            Some(link) => link_fault(link).map_or_else(|| Ok(link_well(link)), Err),
            None => {
                let reason = self.link.reason.as_deref().unwrap_or("no reason is given");
                Ok(format!("its link is not known ({reason})"))
            }
        }
    }
}

/// What of a link without a fault is known to be well.
fn link_well(link: &Link) -> String {
    let is_loaded = link.read_when == ReadWhen::UnderLoad;
    let generation = link.generation.zip(link.max_generation).filter(|_| is_loaded);
    if let (Some((now, most)), Some(slot)) = (generation, link.slot_generation)
        && slot < most
    {
        return format!(
            "its link runs at PCIe {now}, and its slot can no more than PCIe {slot} of the GPU's {most}"
        );
    }
    match (generation, link.width.filter(|_| link.max_width.is_some())) {
        (Some(_), Some(_)) => "its link is as it should be".to_owned(),
        (None, Some(lanes)) => {
            format!("its link has all {lanes} lanes, and its generation under load is not known")
        }
        (Some((now, _)), None) => format!("its link runs at PCIe {now}, and its lanes are not known"),
        (None, None) => "neither the lanes of its link nor its generation under load are known".to_owned(),
    }
}

/// `its link has 8 of 16 lanes`: what of a link is less than it could be. The generation counts only where it
/// was read under load, because the links of idle GPUs train down; lanes stay.
fn link_fault(link: &Link) -> Option<String> {
    let less = |now: Option<u8>, most: Option<u8>| now.zip(most).filter(|(now, most)| now < most);
    if let Some((now, most)) = less(link.width, link.max_width) {
        return Some(format!("its link has {now} of {most} lanes"));
    }
    let (now, most) =
        less(link.generation, link.max_generation).filter(|_| link.read_when == ReadWhen::UnderLoad)?;
    match link.slot_generation {
        // The slot bounds it: nothing of it is wrong.
        Some(slot) if slot <= now => None,
        Some(slot) => Some(format!("its link runs at PCIe {now} and could at PCIe {}", most.min(slot))),
        None => Some(format!("its link runs at PCIe {now}, and the GPU can PCIe {most} if its slot can")),
    }
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// The memory of a NUMA node, standing in where no GPU takes part.
    HostMemory,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How a GPU and its CPU share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// Each has its own, and NVLink-C2C is between them (Grace).
    NvlinkC2c,
    /// The HBM of the package is the memory of both (MI300A).
    SharedHbm,
    /// Another memory is that of both, as the driver says.
    SharedMemory,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A PCIe link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// PCIe generation when read.
    pub generation: Option<u8>,
    /// Lanes when read.
    pub width: Option<u8>,
    /// Generation at most.
    pub max_generation: Option<u8>,
    /// Lanes at most.
    pub max_width: Option<u8>,
    /// Generation at most of the port that it is plugged into; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.6"))]
    pub slot_generation: Option<u8>,
    /// When it was read: links of idle GPUs train down.
    pub read_when: ReadWhen,
}

/// When a link was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadWhen {
    /// Before any copy: it may be trained down.
    Idle,
    /// While copies were running, or right after.
    UnderLoad,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// What holds queued copies back until the whole queue is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Latch {
    /// The driver's stream-memory wait on a pinned flag.
    StreamWait,
    /// A kernel that spins on the flag, with a timeout.
    SpinKernel,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A device's `id` from its name on its node (a PCI address, or `node N`), the number of that node, and the
/// hosts of all nodes: the name alone where there is one node, else `HOST/NAME`. Nodes that go by the same
/// host name are told apart by their numbers, `HOST#NODE/NAME`.
pub fn id(hosts: &[impl AsRef<str>], node: usize, name: impl std::fmt::Display) -> String {
    let Some(host) = hosts.get(node).map(AsRef::as_ref).filter(|_| hosts.len() > 1) else {
        return name.to_string();
    };
    match hosts.iter().filter(|other| other.as_ref() == host).count() {
        1 => format!("{host}/{name}"),
        _ => format!("{host}#{node}/{name}"),
    }
}

/// A device's name on its node, from its `id`.
pub fn name_on_node(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_the_host_only_where_there_are_several() {
        assert_eq!(id(&["nid1"], 0, "0000:c1:00.0"), "0000:c1:00.0");
        assert_eq!(id(&["nid1", "nid2"], 1, "0000:c1:00.0"), "nid2/0000:c1:00.0");
        assert_eq!(id(&[] as &[&str], 0, "node 3"), "node 3");
        for known in ["node 3", "nid2/node 3", "localhost#1/node 3"] {
            assert_eq!(name_on_node(known), "node 3");
        }
    }

    /// A link of 16 lanes that runs at this generation of 5.
    fn link(generation: u8, slot_generation: Option<u8>, read_when: ReadWhen) -> Link {
        let (generation, max_generation) = (Some(generation), Some(5));
        let (width, max_width) = (Some(16), Some(16));
        Link { generation, width, max_generation, max_width, slot_generation, read_when }
    }

    #[test]
    fn a_link_is_slow_only_beside_what_its_slot_can() {
        let fault = |now, slot| link_fault(&link(now, slot, ReadWhen::UnderLoad));
        assert_eq!(fault(4, Some(4)), None, "a machine without PCIe 5");
        assert_eq!(fault(3, Some(4)).as_deref(), Some("its link runs at PCIe 3 and could at PCIe 4"));
        assert_eq!(fault(3, Some(6)).as_deref(), Some("its link runs at PCIe 3 and could at PCIe 5"));
        let unknown = fault(4, None);
        assert_eq!(
            unknown.as_deref(),
            Some("its link runs at PCIe 4, and the GPU can PCIe 5 if its slot can")
        );
        assert_eq!(link_fault(&link(1, Some(5), ReadWhen::Idle)), None, "links of idle GPUs train down");
    }

    #[test]
    fn a_link_that_is_not_known_is_not_called_well() {
        let loaded = link(5, None, ReadWhen::UnderLoad);
        assert_eq!(link_well(&loaded), "its link is as it should be");
        let idle = link_well(&link(5, None, ReadWhen::Idle));
        assert_eq!(idle, "its link has all 16 lanes, and its generation under load is not known");
        let slow_slot = link_well(&link(3, Some(3), ReadWhen::UnderLoad));
        assert_eq!(slow_slot, "its link runs at PCIe 3, and its slot can no more than PCIe 3 of the GPU's 5");
        let no_lanes = link_well(&Link { width: None, ..loaded.clone() });
        assert_eq!(no_lanes, "its link runs at PCIe 5, and its lanes are not known");
        let nothing = link_well(&Link { width: None, generation: None, ..loaded });
        assert_eq!(nothing, "neither the lanes of its link nor its generation under load are known");
    }

    #[test]
    fn ids_are_unique_though_host_names_are_not() {
        let hosts = ["localhost", "nid2", "localhost"];
        let ids: Vec<String> = (0..3).map(|node| id(&hosts, node, "node 0")).collect();
        assert_eq!(ids, ["localhost#0/node 0", "nid2/node 0", "localhost#2/node 0"]);
    }
}
