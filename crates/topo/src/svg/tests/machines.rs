//! Machines that nobody has, shaped like those that people have: hwloc's synthetic ones, with devices put on
//! them.

use std::error::Error;
use std::path::Path;

use stats::{IdSet, PciAddress};

use crate::convert::{self, NvmlUse};
use crate::load;
use crate::model::{Gpu, Locality, NodeKind, Rung, TopologySource};
use crate::nics::Nic;
use crate::survey::Survey;

pub(super) type Made = Result<Survey, Box<dyn Error>>;

/// One of the project's own files.
pub(super) fn fixture(name: &str) -> Made {
    Ok(crate::survey_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))?)
}

/// A machine without devices, of hwloc's making.
pub(super) fn bare(description: &str) -> Made {
    let hwloc = load::synthetic(description)?;
    Ok(convert::survey(&hwloc, TopologySource::ThisSystem, None, NvmlUse::Untouched)?)
}

/// Something to make devices of: a GPU and a NIC that a file has.
pub(super) struct Devices {
    gpu: Gpu,
    nic: Nic,
}

impl Devices {
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        let mut file = fixture("two-packages-gpus.xml")?;
        Ok(Self { gpu: file.topology.gpus.remove(0), nic: file.nics.remove(0) })
    }

    /// Puts a GPU where `locality` says.
    pub(super) fn gpu(&self, survey: &mut Survey, locality: Locality) {
        let gpus = &mut survey.topology.gpus;
        let index = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
        gpus.push(Gpu { index, pci: at(0, gpus.len()), locality, ..self.gpu.clone() });
    }

    /// Puts a NIC where `locality` says.
    pub(super) fn nic(&self, survey: &mut Survey, locality: Locality) {
        let (pci, name) = (at(1, survey.nics.len()), format!("hsn{}", survey.nics.len()));
        survey.nics.push(Nic { pci, os_devices: vec![name], locality, ..self.nic.clone() });
    }
}

fn at(domain: u32, number: usize) -> PciAddress {
    PciAddress { domain, bus: u8::try_from(number).unwrap_or(u8::MAX), device: 0, function: 0 }
}

/// Local to these PUs.
pub(super) fn near(survey: &Survey, pus: &IdSet, rung: Rung) -> Locality {
    let outside = pus.and(&survey.topology.allowed.not_in_cgroup_pus);
    let nodes =
        survey.topology.nodes.iter().filter(|node| !node.pus.and(pus).is_empty() && pus.is_subset(&node.pus));
    Locality {
        rung,
        reason: "somebody said so".to_owned(),
        attached_to: "Package".to_owned(),
        pus: pus.minus(&outside),
        nodes: nodes.map(|node| node.os_index).collect(),
        outside_pus: outside,
        outside_nodes: IdSet::default(),
        l3_pus: None,
    }
}

/// Local to nobody knows what.
pub(super) fn nowhere() -> Locality {
    Locality {
        rung: Rung::Unknown,
        reason: "the kernel says numa_node -1, and this machine has 2 NUMA nodes".to_owned(),
        attached_to: "Machine".to_owned(),
        pus: IdSet::default(),
        nodes: IdSet::default(),
        outside_pus: IdSet::default(),
        outside_nodes: IdSet::default(),
        l3_pus: None,
    }
}

/// So many GPUs and as many NICs in each package.
fn in_packages(description: &str, each: usize) -> Made {
    let (mut survey, devices) = (bare(description)?, Devices::new()?);
    let packages: Vec<IdSet> = survey.topology.packages.iter().map(|package| package.pus.clone()).collect();
    for pus in packages.iter().flat_map(|pus| std::iter::repeat_n(pus, each)) {
        let locality = near(&survey, pus, Rung::PciLocalCpus);
        devices.gpu(&mut survey, locality.clone());
        devices.nic(&mut survey, locality);
    }
    Ok(survey)
}

/// Eight GPUs, 128 cores, 256 PUs, as many NICs.
pub(super) fn eight_gpus() -> Made {
    in_packages("pack:2 [numa] l3:8 core:8 pu:2", 4)
}

/// A GPU in each L3, in an order of their own; the first core of each L3 is kept from jobs.
pub(super) fn lumi_g() -> Made {
    let (mut survey, devices) = (bare("pack:1 group:4 [numa] l3:2 core:8 pu:2")?, Devices::new()?);
    let l3s: Vec<IdSet> = survey.topology.l3s.iter().map(|l3| l3.pus.clone()).collect();
    for l3 in [6, 7, 2, 3, 0, 1, 4, 5] {
        let locality = near(&survey, &l3s[l3], Rung::L3);
        devices.gpu(&mut survey, Locality { l3_pus: Some(l3s[l3].clone()), ..locality });
    }
    let reserved: IdSet = "0-127:16".parse::<IdSet>()?.or(&"1-127:16".parse()?);
    survey.topology = survey.topology.restricted_to(&survey.topology.allowed.pus.minus(&reserved));
    Ok(survey)
}

/// Four superchips, each with a node of a GPU's memory, and the spare nodes of MIG instances.
pub(super) fn superchips() -> Made {
    let mut survey = in_packages("pack:4 [numa] [numa] l3:1 core:72 pu:1", 1)?;
    for node in survey.topology.nodes.iter_mut().filter(|node| node.os_index % 2 == 1) {
        node.kind = NodeKind::GpuMemory;
    }
    let spare = survey.topology.nodes[1].clone();
    let spares = (8..36).map(|os_index| {
        let pus = IdSet::default();
        crate::model::NumaNode { os_index, kind: NodeKind::Empty, total_bytes: 0, pus, ..spare.clone() }
    });
    survey.topology.nodes.extend(spares);
    Ok(survey)
}

/// A virtual machine that tells nothing.
pub(super) fn virtual_machine() -> Made {
    let (mut survey, devices) = (bare("pack:1 [numa] l3:1 core:128 pu:1")?, Devices::new()?);
    (0..8).for_each(|_| devices.gpu(&mut survey, nowhere()));
    devices.nic(&mut survey, nowhere());
    Ok(survey)
}

/// Cores with two PUs and with one.
pub(super) fn hybrid() -> Made {
    let mut survey = bare("pack:1 [numa] l3:1 core:14 pu:2")?;
    for core in &mut survey.topology.cores[6..] {
        let second = core.pus.iter().nth(1);
        core.pus.0.retain(|pu| Some(*pu) != second);
    }
    Ok(survey)
}

/// Words as long and as odd as they come.
pub(super) fn long_words() -> Made {
    let mut survey = eight_gpus()?;
    let long = "Ein sehr langer Name <mit> & \"Zeichen\", 日本語 und \u{7}mehr ".repeat(6);
    survey.topology.hostname = Some(long.clone());
    survey.topology.packages[0].cpu_model = Some(long.clone());
    survey.topology.nodes[0].subtype = Some("W".repeat(30));
    survey.topology.gpus[0].name.value = Some(long.clone());
    survey.topology.gpus[1].os_devices = vec![long.clone(); 3];
    survey.topology.gpus[2].locality.reason.clone_from(&long);
    survey.nics[0].os_devices = vec!["a-name-as-long-as-linux-lets-it".to_owned(); 4];
    survey.nics[1].name = Some(long);
    Ok(survey)
}

/// Every machine of this file with its name, and those of the project's own files.
pub(super) fn all() -> Result<Vec<(String, Survey)>, Box<dyn Error>> {
    let made = [
        ("eight GPUs", eight_gpus()?),
        ("LUMI-G's shape", lumi_g()?),
        ("superchips", superchips()?),
        ("a virtual machine", virtual_machine()?),
        ("a hybrid CPU", hybrid()?),
        ("long words", long_words()?),
        ("sixteen GPUs", in_packages("pack:2 [numa] l3:1 core:24 pu:2", 8)?),
        ("24 NUMA nodes", in_packages("pack:24 [numa] l3:1 core:8 pu:2", 0)?),
        ("eight PUs a core", in_packages("pack:2 [numa] core:12 pu:8", 3)?),
        ("2048 PUs", in_packages("pack:8 [numa] l3:4 core:16 pu:4", 1)?),
        ("an L3 over two nodes", in_packages("pack:2 l3:1 group:2 [numa] core:6 pu:1", 1)?),
        ("nodes without packages", in_packages("numa:3 core:5 pu:1", 0)?),
        ("one PU", bare("pu:1")?),
    ];
    let mut all: Vec<(String, Survey)> = made.map(|(name, survey)| (name.to_owned(), survey)).into();
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"))? {
        let name = file?.file_name().to_string_lossy().into_owned();
        let survey = fixture(&name)?;
        all.push((name, survey));
    }
    Ok(all)
}
