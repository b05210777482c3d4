//! What connects a GPU to its CPU where that is no PCIe link, told from the platform: the CPU's model beside
//! the GPU's kind.
//!
//! The kernel shows a PCIe link of these GPUs too, over which they are configured and no copy goes, so that
//! its rate would be a wrong bound. GPUs that share memory with their CPU are `coherence`'s; the others have
//! memory of their own behind a link that is not PCIe:
//!
//! | platform | link | a direction | by |
//! |---|---|---|---|
//! | MI250X, EPYC 7A53 (Frontier, LUMI-G) | Infinity Fabric | 36 GB/s | OLCF's user guide; LUMI's docs |
//! | V100 SXM2, POWER9 (AC922), four GPUs (Sierra) | NVLink 2, 3 links | 75 GB/s | LLNL's Sierra pages |
//! | V100 SXM2, POWER9 (AC922), six GPUs (Summit) | NVLink 2, 2 links | 50 GB/s | OLCF's Summit user guide |
//! | P100 SXM2, POWER8 (S822LC) | NVLink 1, 2 links | 40 GB/s | IBM's S822LC redpaper (REDP-5405) |
//!
//! Left out: what no platform of these names. A GPU whose CPU is not known keeps the link that the kernel
//! shows.

use stats::units::{counted, rate};

use crate::coherence::Coherence;
use crate::gpu_class::{AMD, NVIDIA};
use crate::model::{Gpu, Topology};

/// PCI device ids of the MI250X, and of the MI250 under the same name (pci.ids).
const MI250X: [u16; 2] = [0x7408, 0x740c];
/// PCI device ids of the V100 in SXM2 modules (pci.ids); cards have others.
const V100_SXM2: [u16; 3] = [0x1db1, 0x1db3, 0x1db5];
/// PCI device id of the P100 in an SXM2 module.
const P100_SXM2: u16 = 0x15f9;

/// One direction of one link, bytes/s (NVLink 1 and 2).
const NVLINK_1: u64 = 20_000_000_000;
const NVLINK_2: u64 = 25_000_000_000;

/// A link that is not PCIe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLink {
    /// What it is called.
    pub name: &'static str,
    /// What it carries in one direction, bytes/s; `None` where no copy goes over a link, or where nobody
    /// says.
    pub bytes_per_s: Option<u64>,
    /// Who says what it carries, and how it is known that it is there; without a figure, why there is none.
    pub source: String,
}

/// A GPU that hangs on its CPU otherwise on some platforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Module {
    Mi250x,
    V100Sxm2,
    P100Sxm2,
}

impl Module {
    fn of(gpu: &Gpu) -> Option<Self> {
        match (gpu.vendor_id, gpu.device_id) {
            (AMD, id) if MI250X.contains(&id) => Some(Self::Mi250x),
            (NVIDIA, id) if V100_SXM2.contains(&id) => Some(Self::V100Sxm2),
            (NVIDIA, P100_SXM2) => Some(Self::P100Sxm2),
            _ => None,
        }
    }

    /// As drivers name it.
    fn named(name: &str) -> Option<Self> {
        let names = [("MI250X", Self::Mi250x), ("V100-SXM2", Self::V100Sxm2), ("P100-SXM2", Self::P100Sxm2)];
        names.into_iter().find(|(part, _)| name.contains(part)).map(|(_, module)| module)
    }
}

impl HostLink {
    /// The link of a GPU that shares memory with its CPU.
    pub fn shared(coherence: Coherence) -> Self {
        let bytes_per_s = coherence.published_bytes_per_s();
        let source = if bytes_per_s.is_some() { "its maker's figure" } else { coherence.no_pcie_bound() };
        Self { name: coherence.link(), bytes_per_s, source: source.to_owned() }
    }

    /// The link and its figure in one sentence; `None` without a figure.
    pub fn figure(&self) -> Option<String> {
        let figure = rate(self.bytes_per_s? as f64);
        Some(format!("{} carries {figure} a direction by {}", self.name, self.source))
    }
}

impl Topology {
    /// What connects a GPU to its CPU; `None` for a PCIe link, and where nothing speaks against one.
    pub fn host_link(&self, gpu: &Gpu) -> Option<HostLink> {
        match gpu.coherence() {
            Some(coherence) => Some(HostLink::shared(coherence)),
            None => self.link_of(Module::of(gpu)?),
        }
    }

    /// The same of a GPU that only its driver knows, by the name that it gives.
    pub fn host_link_of_name(&self, name: &str) -> Option<HostLink> {
        match Coherence::by_name(name) {
            Some(coherence) => Some(HostLink::shared(coherence)),
            None => self.link_of(Module::named(name)?),
        }
    }

    fn link_of(&self, module: Module) -> Option<HostLink> {
        let mut models = self.packages.iter().filter_map(|package| package.cpu_model.as_deref());
        let mut cpu = |part: &str| models.any(|model| model.contains(part));

        match module {
            Module::Mi250x if cpu("EPYC 7A53") => Some(HostLink {
                name: "Infinity Fabric",
                bytes_per_s: Some(36_000_000_000),
                source: "the guides of Frontier and LUMI (an MI250X beside an EPYC 7A53)".to_owned(),
            }),
            Module::V100Sxm2 if cpu("POWER9") => Some(self.of_power9()),
            Module::P100Sxm2 if cpu("POWER8") => Some(HostLink {
                name: "NVLink 1",
                bytes_per_s: Some(2 * NVLINK_1),
                source: "IBM's guide of the S822LC (2 links from each P100 to its POWER8)".to_owned(),
            }),
            _ => None,
        }
    }

    /// An AC922 shares the six links of each CPU among its two or three GPUs.
    fn of_power9(&self) -> HostLink {
        let gpus = self.gpus.iter().filter(|gpu| Module::of(gpu) == Some(Module::V100Sxm2)).count();
        let (links, source) = match gpus {
            4 => (Some(3), "the guide of Sierra (3 links from each of four V100 to its POWER9)".to_owned()),
            6 => (Some(2), "the guide of Summit (2 links from each of six V100 to its POWER9)".to_owned()),
            _ => {
                let seen = counted(gpus, "GPU");
                (
                    None,
                    format!(
                        "a V100 has 2 links to its POWER9 in a node of six GPUs and 3 in one of four; {seen} \
                         can be seen here"
                    ),
                )
            }
        };

        HostLink { name: "NVLink 2", bytes_per_s: links.map(|links: u64| links * NVLINK_2), source }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn fixture(name: &str) -> Result<Topology, Box<dyn std::error::Error>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        Ok(crate::from_xml(&path)?)
    }

    fn links(topology: &Topology) -> Vec<Option<(&'static str, Option<u64>)>> {
        let link = |gpu: &Gpu| topology.host_link(gpu).map(|link| (link.name, link.bytes_per_s));
        topology.gpus.iter().map(link).collect()
    }

    #[test]
    fn the_platform_says_what_connects_its_gpus() -> Outcome {
        let lumi = fixture("lumi-g.xml")?;
        assert_eq!(links(&lumi), [Some(("Infinity Fabric", Some(36_000_000_000))); 8]);
        let named = |name: &str| lumi.host_link_of_name(name).map(|link| link.name);
        assert_eq!(
            (named("AMD Instinct MI250X"), named("NVIDIA GH200 120GB")),
            (Some("Infinity Fabric"), Some("NVLink-C2C"))
        );
        assert_eq!(
            (named("Tesla V100-SXM2-32GB"), named("AMD Instinct MI210")),
            (None, None),
            "no such platform"
        );
        let sierra = fixture("power9.xml")?;
        assert_eq!(links(&sierra), [Some(("NVLink 2", Some(75_000_000_000))); 4]);
        let mut summit = sierra.clone();
        summit.gpus.extend(sierra.gpus[..2].iter().cloned());
        assert_eq!(links(&summit)[0], Some(("NVLink 2", Some(50_000_000_000))));
        let mut part = sierra.clone();
        part.gpus.truncate(1);
        assert_eq!(links(&part), [Some(("NVLink 2", None))], "nobody says how many links");
        let mut minsky = sierra;
        minsky
            .packages
            .iter_mut()
            .for_each(|package| package.cpu_model = Some("POWER8NVL (raw), altivec supported".to_owned()));
        minsky.gpus.iter_mut().for_each(|gpu| gpu.device_id = P100_SXM2);
        assert_eq!(links(&minsky), [Some(("NVLink 1", Some(40_000_000_000))); 4]);

        Ok(())
    }

    #[test]
    fn the_same_gpus_elsewhere_have_the_link_that_the_kernel_shows() -> Outcome {
        for name in ["lumi-g.xml", "power9.xml"] {
            let mut elsewhere = fixture(name)?;
            for model in [None, Some("AMD EPYC 7763 64-Core Processor".to_owned())] {
                elsewhere.packages.iter_mut().for_each(|package| package.cpu_model.clone_from(&model));
                assert!(links(&elsewhere).iter().all(Option::is_none), "{name}");
            }
        }
        Ok(())
    }
}
