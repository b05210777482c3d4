//! Links between devices that got lost, and those that a file cannot show.

use super::*;

#[test]
fn a_gpu_with_fewer_nvlinks_is_said_once_and_not_for_every_gpu_that_it_reaches() -> Outcome {
    let (mut old, mut new) = (machine()?, machine()?);
    let links = |links| crate::interconnect::NvLinks {
        links,
        version: Some("4.0".to_owned()),
        bytes_per_s_each: Some(26_562_000_000),
    };
    let fabric = |links| Some(crate::interconnect::Fabric::Nvlink { links: Some(links), bytes_per_s: None });

    for (survey, first) in [(&mut old, 18), (&mut new, 2)] {
        for (at, count) in [(0, first), (1, 18), (2, 18)] {
            survey.interconnect.devices[at].nvlinks = Some(links(count));
        }
        for pair in &mut survey.interconnect.pairs {
            pair.fabric = (pair.to.starts_with("GPU")).then(|| fabric(first)).flatten();
        }
    }
    for pair in old.interconnect.pairs.iter_mut().chain(&mut new.interconnect.pairs) {
        if pair.from == "GPU1" && pair.to == "GPU2" {
            pair.fabric = fabric(18);
        }
    }
    assert_eq!(words(&old, &new), ["GPU 0000:03:00.0: 2 NVLinks, were 18"]);
    assert_eq!(differences(&old, &new)[0].what, DifferenceSubject::Interconnect);
    Ok(())
}

#[test]
fn a_pair_without_its_nvlinks_and_another_way_over_pcie_are_said() -> Outcome {
    let (old, mut new) = (load("nvlink-matrix.xml")?, load("nvlink-matrix.xml")?);
    let pair = new.interconnect.pairs.iter_mut().find(|pair| pair.fabric.is_some()).ok_or("no NVLink")?;
    let (sign, from, to) = (pair.sign(), pair.from.clone(), pair.to.clone());
    pair.fabric = None;
    let pci = |label: &str| {
        let device = old.interconnect.devices.iter().find(|device| device.label == label);
        device.map(|device| device.pci.to_string()).unwrap_or_default()
    };
    let wanted = format!("GPU {} to GPU {}: no NVLink, was {sign}", pci(&from), pci(&to));
    assert_eq!(words(&old, &new), [wanted]);

    let (old, mut new) = (machine()?, machine()?);
    let pair = new.interconnect.pairs.iter_mut().find(|pair| pair.pci.is_some()).ok_or("no way is known")?;
    let before = pair.pci.map(PciLevel::word).unwrap_or_default();
    let now = if before == "PIX" { "SYS" } else { "PIX" };
    pair.pci = PciLevel::of_word(now);
    let found = words(&old, &new);
    assert!(found.len() == 1 && found[0].ends_with(&format!("{now} over PCIe, was {before}")), "{found:?}");
    pair_without_source(&mut new);
    assert!(words(&old, &new).is_empty(), "two sources have two rules");
    Ok(())
}

#[test]
fn rates_of_two_sources_are_no_change_and_those_of_one_are() -> Outcome {
    let (old, mut new) = (load("nvlink-matrix.xml")?, load("nvlink-matrix.xml")?);
    let pair = new.interconnect.pairs.iter_mut().find(|pair| pair.fabric.is_some()).ok_or("no NVLink")?;
    let Some(crate::interconnect::Fabric::Nvlink { bytes_per_s: Some(rate), .. }) = &mut pair.fabric else {
        return Err("it has no rate".into());
    };
    *rate *= 2;
    assert_eq!(words(&old, &new).len(), 1);

    new.interconnect.nvlink.as_mut().ok_or("nobody says it")?.source = Some("NVML".to_owned());
    assert!(words(&old, &new).is_empty(), "NVML and hwloc count a rate by two rules");
    Ok(())
}

/// Lets NVML say every way over PCIe.
fn pair_without_source(survey: &mut Survey) {
    survey.interconnect.pairs.iter_mut().for_each(|pair| pair.pci_source = "NVML".to_owned());
}

#[test]
fn links_that_a_file_cannot_show_are_no_change() -> Outcome {
    let (old, mut new) = (load("nvlink-matrix.xml")?, load("nvlink-matrix.xml")?);
    new.interconnect.pairs.iter_mut().for_each(|pair| pair.fabric = None);
    new.interconnect.nvlink = None;
    new.topology.gpus.iter_mut().for_each(|gpu| gpu.os_devices.clear());
    let mut old = old;
    old.topology.gpus.iter_mut().for_each(|gpu| gpu.os_devices.clear());
    assert!(words(&old, &new).is_empty() && words(&new, &old).is_empty(), "{:?}", words(&old, &new));
    Ok(())
}
