//! NVML's answers as plain values, and as lines of text for a saved file.
//!
//! The text is the project's own and small, one line a GPU, a link and a pair of GPUs, so that a saved
//! machine shows the matrix that the machine showed. JSON would bring a parser into this crate for this
//! alone.

use std::fmt;
use std::str::FromStr;

use stats::{IdSet, PciAddress};

use crate::pci_path::PciLevel;

/// What NVML said of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The driver's version.
    pub(crate) driver: String,
    /// Its GPUs, in its order.
    pub(crate) gpus: Vec<NvGpu>,
    /// What is between two GPUs without NVLink.
    pub(crate) paths: Vec<(PciAddress, PciAddress, PciLevel)>,
}

/// What NVML said of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NvGpu {
    pub(crate) pci: PciAddress,
    /// The index that nvidia-smi uses.
    pub(crate) smi_index: u32,
    /// N of `/dev/nvidiaN`.
    pub(crate) minor: Option<u32>,
    pub(crate) uuid: Option<String>,
    /// Near PUs and NUMA nodes.
    pub(crate) pus: Option<IdSet>,
    pub(crate) nodes: Option<IdSet>,
    /// The NUMA node that is this GPU's memory.
    pub(crate) memory_node: Option<u32>,
    /// UUIDs of its MIG instances.
    pub(crate) mig: Vec<String>,
    /// The line rate of each link in one direction.
    pub(crate) link_mbytes_per_s: Option<u64>,
    /// Its active NVLinks.
    pub(crate) links: Vec<NvLink>,
}

/// An active NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NvLink {
    pub(crate) number: u32,
    /// NVML's code of the version.
    pub(crate) version: Option<u32>,
    pub(crate) remote: Remote,
}

/// What is at the other end of an NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    /// An NVSwitch. In a virtual machine it has no address.
    Switch,
    /// A CPU (POWER).
    Cpu,
    /// The device with this address.
    Pci(PciAddress),
    /// Nobody says.
    Unknown,
}

/// An unknown value.
const NONE: &str = "-";

impl Facts {
    /// What was said of the GPU at `pci`.
    pub(crate) fn gpu(&self, pci: PciAddress) -> Option<&NvGpu> {
        self.gpus.iter().find(|gpu| gpu.pci == pci)
    }

    /// What is between two GPUs without NVLink.
    pub(crate) fn path(&self, one: PciAddress, other: PciAddress) -> Option<PciLevel> {
        let wanted = |(a, b): (PciAddress, PciAddress)| (a, b) == (one, other) || (a, b) == (other, one);
        self.paths.iter().find(|(a, b, _)| wanted((*a, *b))).map(|(_, _, level)| *level)
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn or<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
        }
        write!(f, "driver {}", self.driver)?;

        for gpu in &self.gpus {
            let mig = if gpu.mig.is_empty() { NONE.to_owned() } else { gpu.mig.join(",") };
            write!(f, "\ngpu {} {} {} {}", gpu.pci, gpu.smi_index, or(gpu.minor), or(gpu.uuid.as_ref()))?;
            write!(f, " {} {} {}", or(gpu.pus.as_ref()), or(gpu.nodes.as_ref()), or(gpu.memory_node))?;
            write!(f, " {mig} {}", or(gpu.link_mbytes_per_s))?;
            for link in &gpu.links {
                let remote = match link.remote {
                    Remote::Switch => "switch".to_owned(),
                    Remote::Cpu => "cpu".to_owned(),
                    Remote::Pci(pci) => pci.to_string(),
                    Remote::Unknown => NONE.to_owned(),
                };
                write!(f, "\nlink {} {} {} {remote}", gpu.pci, link.number, or(link.version))?;
            }
        }

        self.paths
            .iter()
            .try_for_each(|(one, other, level)| write!(f, "\npath {one} {other} {}", level.word()))
    }
}

impl FromStr for Facts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut facts = Self { driver: String::new(), gpus: Vec::new(), paths: Vec::new() };
        for line in text.lines() {
            facts.take(line).ok_or_else(|| format!("\"{}\"", line.chars().take(60).collect::<String>()))?;
        }
        Ok(facts)
    }
}

impl Facts {
    /// Takes one line in; `None` where it is none of ours.
    fn take(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let words: Vec<&str> = rest.split(' ').collect();
        match (kind, &words[..]) {
            ("driver", _) => self.driver = rest.to_owned(),
            ("gpu", [pci, smi_index, minor, uuid, pus, nodes, memory_node, mig, mbytes]) => {
                let some = |word: &str| (word != NONE).then(|| word.to_owned());
                self.gpus.push(NvGpu {
                    pci: pci.parse().ok()?,
                    smi_index: smi_index.parse().ok()?,
                    minor: known(minor)?,
                    uuid: some(uuid),
                    pus: known(pus)?,
                    nodes: known(nodes)?,
                    memory_node: known(memory_node)?,
                    mig: some(mig).map_or_else(Vec::new, |all| all.split(',').map(str::to_owned).collect()),
                    link_mbytes_per_s: known(mbytes)?,
                    links: Vec::new(),
                });
            }
            ("link", [pci, number, version, remote]) => {
                let pci: PciAddress = pci.parse().ok()?;
                let remote = match *remote {
                    "switch" => Remote::Switch,
                    "cpu" => Remote::Cpu,
                    NONE => Remote::Unknown,
                    pci => Remote::Pci(pci.parse().ok()?),
                };
                let link = NvLink { number: number.parse().ok()?, version: known(version)?, remote };
                self.gpus.iter_mut().find(|gpu| gpu.pci == pci)?.links.push(link);
            }
            ("path", [one, other, level]) => {
                self.paths.push((one.parse().ok()?, other.parse().ok()?, PciLevel::of_word(level)?));
            }
            _ => return None,
        }

        Some(())
    }
}

/// A value or the sign for none; `None` where it is neither.
fn known<T: FromStr>(word: &str) -> Option<Option<T>> {
    if word == NONE { Some(None) } else { word.parse().ok().map(Some) }
}
