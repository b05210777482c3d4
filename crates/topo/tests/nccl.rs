//! Topology files for NCCL, read back: every device stands once, under its NUMA node, and two devices are as
//! far from each other in the file as on the machine.
//!
//! The distance in the file is counted here as NCCL counts it (`src/graph/paths.cc`): the lowest element that
//! both are under is one switch, several, or a CPU.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};
use stats::PciAddress;
use topo::Survey;
use topo::gpu_class::NVIDIA;
use topo::interconnect::Endpoint;
use topo::nccl::{NcclError, NcclRequest, nccl_topology};
use topo::pci_path::PciLevel;

type Outcome = Result<(), Box<dyn Error>>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn survey(name: &str) -> Result<Survey, topo::TopoError> {
    topo::survey_xml(&fixture(name))
}

/// The elements above a device, from the CPU down.
fn above<'d>(node: Node<'d, 'd>) -> Vec<Node<'d, 'd>> {
    let mut above: Vec<Node> = node.ancestors().skip(1).filter(|node| node.is_element()).collect();
    above.reverse();
    above.into_iter().filter(|node| !node.has_tag_name("system")).collect()
}

/// The devices of a file, by what they are called there.
fn devices<'d>(file: &'d Document<'d>) -> BTreeMap<PciAddress, Node<'d, 'd>> {
    let is_device = |node: &Node| node.has_tag_name("pci") && node.attribute("class") != Some("0x060400");
    let address = |node: Node<'d, 'd>| Some((node.attribute("busid")?.parse().ok()?, node));
    file.descendants().filter(is_device).filter_map(address).collect()
}

/// How far two devices of a file are from each other.
fn level(one: Node<'_, '_>, other: Node<'_, '_>) -> PciLevel {
    let (one, other) = (above(one), above(other));
    let common = one.iter().zip(&other).take_while(|(one, other)| one.id() == other.id()).count();
    match common {
        0 => PciLevel::Sys,
        1 => PciLevel::Node,
        _ if one.len() == common && other.len() == common => PciLevel::Pix,
        _ => PciLevel::Pxb,
    }
}

/// The distances that the file has otherwise than the machine.
fn wrong(survey: &Survey, file: &Document<'_>) -> Vec<String> {
    let devices = devices(file);
    let mut wrong = Vec::new();
    for (at, one) in survey.interconnect.devices.iter().enumerate() {
        for (beyond, other) in survey.interconnect.devices.iter().enumerate().skip(at + 1) {
            let (Some(a), Some(b)) = (devices.get(&one.pci), devices.get(&other.pci)) else { continue };
            let is_one_card = (one.pci.bus, one.pci.device) == (other.pci.bus, other.pci.device);
            let Some(known) = survey.interconnect.between(at, beyond).and_then(|pair| pair.pci) else {
                continue;
            };
            // The CPU of a NUMA node is its host bridges.
            let known = if known == PciLevel::Phb { PciLevel::Node } else { known };
            let found = level(*a, *b);
            if found != known && !is_one_card {
                wrong.push(format!("{} and {}: {} for {}", one.pci, other.pci, found.word(), known.word()));
            }
        }
    }
    wrong
}

/// The XML files of a folder, by name; none where the folder is not there.
fn xml_files(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    Ok(files)
}

/// Real machines, which are not part of the repository (see `captures.rs`).
#[allow(clippy::print_stderr)]
fn captures(test: &str) -> Result<Vec<PathBuf>, std::io::Error> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    let files = [xml_files(&folder.join("xml"))?, xml_files(&folder.join("xml-more"))?].concat();
    if files.is_empty() {
        eprintln!("SKIPPED captures in {test}: none at {} (set NUMABENCH_TOPOLOGIES)", folder.display());
    }
    Ok(files)
}

/// The devices that are neither in the file nor named in a remark.
fn lost(survey: &Survey, file: &Document<'_>, remarks: &[String]) -> Vec<String> {
    let written = devices(file);
    let is_of_nccl = |device: &&Endpoint| {
        let gpu = survey.topology.gpus.iter().find(|gpu| gpu.pci == device.pci);
        device.affinity.is_none() || gpu.is_some_and(|gpu| gpu.vendor_id == NVIDIA)
    };
    let label = |device: &Endpoint| match survey.topology.gpus.iter().find(|gpu| gpu.pci == device.pci) {
        Some(gpu) if device.affinity.is_some() => format!("GPU {}", gpu.index),
        _ => device.name.clone().unwrap_or_else(|| device.label.clone()),
    };
    let devices = survey.interconnect.devices.iter().filter(is_of_nccl);
    let is_lost = |device: &&Endpoint| {
        let named = format!("{} ", label(device));
        !written.contains_key(&device.pci) && !remarks.iter().any(|remark| remark.starts_with(&named))
    };
    devices.filter(is_lost).map(label).collect()
}

/// What comes of a machine in a word or two, and what is wrong with its file.
fn outcome(path: &Path) -> Result<String, Box<dyn Error>> {
    let Ok(survey) = topo::survey_xml(path) else { return Ok("not read".to_owned()) };
    let file = match nccl_topology(&survey, &NcclRequest::default()) {
        Ok(file) => file,
        Err(error) => return Ok(format!("{error:?}").split('(').next().unwrap_or_default().to_owned()),
    };
    let parsed = Document::parse(&file.xml).map_err(|error| format!("{}: {error}", path.display()))?;
    assert_eq!(wrong(&survey, &parsed), Vec::<String>::new(), "{}", path.display());
    assert_eq!(lost(&survey, &parsed, &file.remarks), Vec::<String>::new(), "{}", path.display());

    let known = |pci: &PciAddress| survey.interconnect.devices.iter().any(|device| device.pci == *pci);
    assert!(devices(&parsed).keys().all(known), "{}", path.display());
    let switches = parsed.descendants().filter(|node| node.attribute("class") == Some("0x060400"));
    for switch in switches.clone() {
        let pci: PciAddress = switch.attribute("busid").unwrap_or_default().parse()?;
        assert!(!known(&pci), "{}: {pci} is a device's", path.display());
    }
    let nodes = parsed.descendants().filter(|node| node.has_tag_name("cpu")).count();
    Ok(format!("{} devices, {} switches, {nodes} nodes", devices(&parsed).len(), switches.count()))
}

/// What comes of each machine of the fixtures: the file's devices, switches and NUMA nodes, or the error.
const OUTCOMES: [(&str, &str); 28] = [
    ("cpu-only", "NoGpu"),
    ("dgx-a100", "16 devices, 4 switches, 4 nodes"),
    ("eight-gpus-nvswitch", "11 devices, 3 switches, 2 nodes"),
    ("four-gcds-xgmi", "NoGpu"),
    ("gh200-quad", "8 devices, 0 switches, 4 nodes"),
    ("hgx-h100", "18 devices, 8 switches, 2 nodes"),
    ("hostile-names", "NothingNew"),
    ("hybrid", "NothingNew"),
    ("interleaved", "2 devices, 0 switches, 2 nodes"),
    ("job-left-out", "NothingNew"),
    ("job-share", "NothingNew"),
    ("knl", "NoGpu"),
    ("leonardo", "NothingNew"),
    ("lumi-g-low-noise", "NoGpu"),
    ("lumi-g", "NoGpu"),
    ("memory-apart", "NoGpu"),
    ("mi300a-cpx", "NoGpu"),
    ("mi300a", "NoGpu"),
    ("nvlink-matrix", "4 devices, 0 switches, 2 nodes"),
    ("offline", "NoGpu"),
    ("pascal", "3 devices, 1 switches, 2 nodes"),
    ("power9", "6 devices, 0 switches, 2 nodes"),
    ("ring-of-24", "2 devices, 0 switches, 2 nodes"),
    ("smt-off", "NoGpu"),
    ("superchips", "2 devices, 0 switches, 2 nodes"),
    ("two-packages-gpus", "NothingNew"),
    ("vm-one-node", "NothingNew"),
    ("vm-two-nodes", "NothingKnown"),
];

#[test]
fn every_machine_of_the_fixtures_has_its_file_with_its_own_distances_or_the_reason_for_none() -> Outcome {
    let found = xml_files(&fixture(""))?.into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, outcome(&path)?))
    });
    let found = found.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let expected = OUTCOMES.map(|(name, outcome)| (format!("{name}.xml"), outcome.to_owned()));
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn every_capture_of_a_machine_comes_back_with_the_distances_that_it_has() -> Outcome {
    let captures = captures("every_capture_of_a_machine_comes_back_with_the_distances_that_it_has")?;
    let mut written = 0;
    for path in &captures {
        written += usize::from(outcome(path)?.contains("devices"));
    }
    assert!(captures.is_empty() || written > 0, "no file was written of {} captures", captures.len());
    Ok(())
}

#[test]
fn a_host_with_switches_has_the_form_of_the_cloud_providers_files() -> Outcome {
    let file = nccl_topology(&survey("hgx-h100.xml")?, &NcclRequest::default())?;
    insta::assert_snapshot!(
        "nccl_hgx-h100",
        file.xml.replace(&fixture("hgx-h100.xml").display().to_string(), "FILE")
    );
    Ok(())
}

/// NCCL's reader stops at a comment without a blank behind `<!--`, at two blanks between attributes and at a
/// blank before `/>`.
#[test]
fn nothing_is_written_that_nccls_own_reader_stops_at() -> Outcome {
    let mut survey = survey("hgx-h100.xml")?;
    survey.topology.hostname = Some("a--b-->c".to_owned());
    let xml = nccl_topology(&survey, &NcclRequest::default())?.xml;
    let (comment, elements) = xml.split_once("-->").ok_or("no comment")?;
    assert!(comment.starts_with("<!-- ") && !comment["<!--".len()..].contains("--"), "{comment}");
    assert!(elements.starts_with("\n<system "), "{elements}");
    for line in elements.lines().map(str::trim_start) {
        assert!(!line.contains("  ") && !line.contains(" />") && !line.contains(" >"), "{line}");
    }
    Ok(())
}

#[test]
fn addresses_of_the_guest_take_the_place_of_the_hosts_and_other_devices_are_named() -> Outcome {
    let survey = survey("hgx-h100.xml")?;
    let gpus: Vec<PciAddress> = survey.topology.gpus.iter().map(|gpu| gpu.pci).collect();
    let guest: BTreeMap<_, PciAddress> =
        [(gpus[0], "0000:05:00.0".parse()?), (gpus[4], "0000:06:00.0".parse()?)].into();
    let file = nccl_topology(&survey, &NcclRequest { guest, ..NcclRequest::default() })?;
    let parsed = Document::parse(&file.xml)?;
    let written: Vec<String> = devices(&parsed).keys().map(ToString::to_string).collect();
    assert_eq!(written, ["0000:05:00.0", "0000:06:00.0"]);
    assert!(file.remarks.iter().any(|remark| remark.starts_with("GPU 1 ")), "{:?}", file.remarks);
    let near = [(gpus[0], "0000:05:00.0".parse()?), (gpus[1], "0000:06:00.0".parse()?)].into();
    let same_node = nccl_topology(&survey, &NcclRequest { guest: near, ..NcclRequest::default() });
    assert_eq!(same_node, Err(NcclError::NothingNew));

    let twice = [(gpus[0], "0000:05:00.0".parse()?), (gpus[1], "0000:05:00.0".parse()?)].into();
    let refused = nccl_topology(&survey, &NcclRequest { guest: twice, ..NcclRequest::default() });
    assert_eq!(refused, Err(NcclError::SameAddress("0000:05:00.0".parse()?)));
    let other: PciAddress = "00ff:05:00.0".parse()?;
    let refused =
        nccl_topology(&survey, &NcclRequest { guest: [(other, gpus[0])].into(), ..NcclRequest::default() });
    assert_eq!(refused, Err(NcclError::NoSuchDevice(other)));
    Ok(())
}

#[test]
fn a_guest_without_locality_has_a_file_only_where_groups_were_measured() -> Outcome {
    let guest = survey("vm-one-node.xml")?;
    let gpus: Vec<PciAddress> = guest.topology.gpus.iter().map(|gpu| gpu.pci).collect();
    assert_eq!(nccl_topology(&guest, &NcclRequest::default()), Err(NcclError::NothingNew));
    let grouped = |survey: &Survey, gpus: &[PciAddress]| {
        nccl_topology(survey, &NcclRequest { groups: vec![gpus.to_vec()], ..NcclRequest::default() })
    };
    let file = grouped(&guest, &gpus)?;
    let parsed = Document::parse(&file.xml)?;
    let found = devices(&parsed);
    assert_eq!(level(found[&gpus[0]], found[&gpus[1]]), PciLevel::Pix, "{}", file.xml);
    assert!(file.xml.contains("GPU 0, GPU 1 were measured to share their way"), "{}", file.xml);
    let other: PciAddress = "00ff:05:00.0".parse()?;
    assert_eq!(grouped(&guest, &[other]), Err(NcclError::NotTheMachine(other)));

    // The GPUs of a host with a switch above each keep it.
    let host = survey("hgx-h100.xml")?;
    let gpus: Vec<PciAddress> = host.topology.gpus.iter().map(|gpu| gpu.pci).take(4).collect();
    let file = grouped(&host, &gpus)?;
    let parsed = Document::parse(&file.xml)?;
    let found = devices(&parsed);
    assert_eq!(level(found[&gpus[0]], found[&gpus[3]]), PciLevel::Pxb, "{}", file.xml);
    assert_eq!(file.xml.matches("class=\"0x060400\"").count(), 9, "{}", file.xml);
    Ok(())
}

#[test]
fn a_device_of_unknown_node_is_left_out_and_named() -> Outcome {
    let survey = survey("vm-two-nodes.xml")?;
    let found = nccl_topology(&survey, &NcclRequest::default());
    assert!(matches!(&found, Err(NcclError::NothingKnown(why)) if why.contains("GPU 0")), "{found:?}");
    let amd = nccl_topology(&crate::survey("lumi-g.xml")?, &NcclRequest::default());
    assert_eq!(amd, Err(NcclError::NoGpu));
    Ok(())
}
