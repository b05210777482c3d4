//! Real machines: every capture loads, and every GPU of the expectations comes out right. Some 420
//! lines because each kind of machine has its expectations.
//!
//! The captures are not part of the repository. They are read from `../shared/topologies` beside the
//! checkout, or from `NUMABENCH_TOPOLOGIES`; where they are absent, each test says that it was skipped.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use stats::IdSet;
use topo::model::{Gpu, NodeKind, PuStatus, Rung, Topology};
use topo::{Survey, TopoError, from_xml, survey_xml};

type Outcome = Result<(), Box<dyn Error>>;

#[allow(clippy::print_stderr)]
fn captures(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    if folder.join("xml").is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED {test}: no captures at {} (set NUMABENCH_TOPOLOGIES)", folder.display());
    None
}

fn xml_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    Ok(files)
}

fn load(name: &str, folder: &Path) -> Result<Topology, TopoError> {
    from_xml(&folder.join("xml").join(format!("{name}.xml")))
}

/// `-` for the empty set, as the expectations write it, without ranges where they have none.
fn same_ids(expected: &str, got: &IdSet) -> bool {
    let expected = if expected == "-" { "" } else { expected };
    expected.parse::<IdSet>().is_ok_and(|expected| expected == *got)
}

fn row_errors(columns: &[&str], gpu: &Gpu) -> Vec<String> {
    let [_, _, busid, pci_type, osdevs, attach, cpuset, nodes] = columns[..] else {
        return vec![format!("{} columns", columns.len())];
    };
    let osdevs_got = if gpu.os_devices.is_empty() { "-".to_owned() } else { gpu.os_devices.join(",") };
    let type_got = format!("{:04x} [{:04x}:{:04x}]", gpu.class_id, gpu.vendor_id, gpu.device_id);
    let mut errors = Vec::new();
    let mut compare = |what: &str, good: bool, expected: &str, got: String| {
        if !good {
            errors.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    compare("address", gpu.pci.to_string() == busid, busid, gpu.pci.to_string());
    compare("type", type_got == pci_type, pci_type, type_got.clone());
    compare("OS devices", osdevs_got == osdevs, osdevs, osdevs_got.clone());
    compare("attached to", gpu.locality.attached_to == attach, attach, gpu.locality.attached_to.clone());
    compare("PUs", same_ids(cpuset, &gpu.locality.pus), cpuset, gpu.locality.pus.to_string());
    compare("nodes", same_ids(nodes, &gpu.locality.nodes), nodes, gpu.locality.nodes.to_string());
    errors
}

#[test]
fn every_gpu_of_the_expectations_comes_out_right_and_no_other_is_listed() -> Outcome {
    let Some(folder) = captures("the expected GPU localities") else { return Ok(()) };
    let table = std::fs::read_to_string(folder.join("expected-gpu-locality.tsv"))?;
    let mut expected: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        expected.entry(columns[0]).or_default().push(columns);
    }
    let mut errors = Vec::new();
    for path in xml_files(&folder.join("xml"))? {
        let name = format!("xml/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let rows = expected.remove(name.as_str()).unwrap_or_default();
        let topology = from_xml(&path)?;
        // In this one no row is expected because no locality can be known; its GPUs are listed all the same.
        let listed = if name.contains("no-locality") && rows.is_empty() {
            topology.gpus.iter().filter(|gpu| gpu.locality.rung != Rung::Unknown).count()
        } else {
            topology.gpus.len()
        };
        if listed != rows.len() {
            errors.push(format!("{name}: expected {} GPUs, got {listed}", rows.len()));
        }
        for (row, gpu) in rows.iter().zip(&topology.gpus) {
            errors.extend(
                row_errors(row, gpu).into_iter().map(|error| format!("{name} GPU {}: {error}", gpu.index)),
            );
        }
    }
    errors.extend(expected.keys().map(|name| format!("{name}: there are rows but no file")));
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    Ok(())
}

/// Captures for single points, which may be absent beside the others.
fn single_point(name: &str) -> Option<Result<Topology, TopoError>> {
    let path = captures(name)?.join("xml-more").join(format!("{name}.xml"));
    path.is_file().then(|| from_xml(&path))
}

#[test]
fn what_hwloc_says_is_kept_where_the_cpus_left_are_one_nodes() -> Outcome {
    for (name, wanted) in [
        (
            "juwels-booster-restricted-numa3",
            [("3", "18-23,66-71"), ("1", ""), ("7", ""), ("5", "")].as_slice(),
        ),
        ("drm-4gpu-restricted", &[("1", ""), ("2", ""), ("6", ""), ("7", "")]),
        ("one-socket-plus-hbm-node", &[("0-1", "0-71")]),
    ] {
        let Some(topology) = single_point(name).transpose()? else { continue };
        let found: Vec<(String, &IdSet)> =
            topology.gpus.iter().map(|gpu| (gpu.locality.nodes.to_string(), &gpu.locality.pus)).collect();
        assert_eq!(found.len(), wanted.len(), "{name}");
        for ((nodes, pus), (wanted_nodes, wanted_pus)) in found.iter().zip(wanted) {
            assert_eq!(
                (nodes.as_str(), *pus),
                (*wanted_nodes, &wanted_pus.parse::<IdSet>().unwrap_or_default()),
                "{name}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_uuid_that_is_blanked_names_no_gpu() -> Outcome {
    let Some(topology) = single_point("ipa20-anonymised").transpose()? else { return Ok(()) };
    assert_eq!(topology.gpus.len(), 4);
    assert!(topology.gpus.iter().all(|gpu| gpu.uuid.is_none()), "{:?}", topology.gpus);
    Ok(())
}

#[test]
fn a_divided_mi300a_has_as_many_devices_as_rocm_smi_counts() -> Outcome {
    for (mode, devices) in [("spx", 4), ("tpx", 12), ("cpx", 24)] {
        let Some(topology) = single_point(&format!("mi300a-tuolumne-{mode}")).transpose()? else { continue };
        assert_eq!(topology.gpus.len(), devices, "{mode}");
        for gpu in &topology.gpus {
            assert_eq!(gpu.os_devices, [format!("rsmi{}", gpu.index)], "{mode}");
            assert_eq!(
                gpu.locality.nodes.to_string(),
                (gpu.index as usize * 4 / devices).to_string(),
                "{mode}"
            );
        }
    }
    Ok(())
}

#[test]
fn hwloc_3_files_get_the_error_that_says_how_to_export_them_again() -> Outcome {
    let Some(folder) = captures("hwloc 3 files") else { return Ok(()) };
    for path in xml_files(&folder.join("xml-v3-unloadable"))? {
        let error = from_xml(&path).err().ok_or_else(|| format!("{} was loaded", path.display()))?;
        assert!(matches!(&error, TopoError::NewerFormat { version, .. } if version == "3.0"), "{error}");
        assert!(error.to_string().contains("--export-xml-flags v2"), "{error}");
    }
    Ok(())
}

#[test]
fn on_a_lumi_g_node_type_each_gpu_has_its_l3_and_its_first_core() -> Outcome {
    let Some(folder) = captures("LUMI-G's node type") else { return Ok(()) };
    let topology = load("mi250x-tioga", &folder)?;
    let first = |topology: &Topology| -> Vec<Option<u32>> {
        topology.gpus.iter().map(|gpu| topology.first_local_pu(gpu)).collect()
    };
    assert_eq!(first(&topology), [48, 56, 16, 24, 0, 8, 32, 40].map(Some));
    // LUMI-G's low-noise mode: the first core of each L3 is not for jobs.
    let reserved: IdSet = "0-120:8".parse()?;
    let low_noise = topology.restricted_to(&topology.allowed.pus.minus(&reserved));
    assert_eq!(first(&low_noise), [49, 57, 17, 25, 1, 9, 33, 41].map(Some));
    for gpu in &topology.gpus {
        assert_eq!(gpu.locality.rung, Rung::L3, "{}", gpu.locality.reason);
        assert!(gpu.locality.reason.contains("HPE CRAY EX235A"), "{}", gpu.locality.reason);
        assert_eq!(gpu.locality.l3_pus.as_ref(), Some(&gpu.locality.pus));
        assert_eq!(gpu.name.source, "hwloc");
    }
    assert_eq!(topology.gpus[4].uuid.as_deref(), Some("GPU-e850aef0615db971"));
    let status = |pu| low_noise.pu(pu).map(|pu| pu.status);
    assert_eq!((status(8), status(9)), (Some(PuStatus::NotInAffinity), Some(PuStatus::Allowed)));
    Ok(())
}

#[test]
fn a_virtual_machine_that_does_not_tell_leaves_its_gpus_unknown() -> Outcome {
    let Some(folder) = captures("eight H200 in a virtual machine") else { return Ok(()) };
    let topology = load("h200-x8-vm-no-locality", &folder)?;
    assert_eq!(topology.gpus.len(), 8);
    for gpu in &topology.gpus {
        assert_eq!(gpu.locality.rung, Rung::Unknown);
        assert!(gpu.locality.pus.is_empty() && gpu.locality.nodes.is_empty());
        assert!(gpu.locality.reason.contains("virtual machine"), "{}", gpu.locality.reason);
        assert!(topology.local_cores(gpu).is_empty());
    }
    Ok(())
}

#[test]
fn each_kind_of_node_is_named_as_what_it_is() -> Outcome {
    let Some(folder) = captures("kinds of NUMA nodes") else { return Ok(()) };
    let of_kind = |name: &str, kind: NodeKind| -> Result<String, TopoError> {
        let topology = load(name, &folder)?;
        let nodes: IdSet =
            topology.nodes.iter().filter(|node| node.kind == kind).map(|node| node.os_index).collect();
        Ok(nodes.to_string())
    };
    for (file, kind, nodes) in [
        ("gh200-quad-synthetic-gpunuma-kept", NodeKind::GpuMemory, "4,12,20,28"),
        ("gh200-quad-synthetic-gpunuma-kept", NodeKind::Normal, "0-3"),
        ("v100-lassen-gpunuma-hwloc1", NodeKind::GpuMemory, "252-255"),
        ("v100-lassen-gpunuma-hwloc1", NodeKind::Normal, "0,8"),
        ("v100-power9-6gpu-gpunuma-kept", NodeKind::GpuMemory, "250-255"),
        ("v100-power9-6gpu-gpunuma-kept", NodeKind::Normal, "0,8"),
        ("knl-quad-flat-hwloc1", NodeKind::MemoryOnly, "1"),
        ("knl-quad-flat-hwloc1", NodeKind::Normal, "0"),
        ("odd-numa-order-permuted", NodeKind::Normal, "0-7"),
        ("odd-offline-pus", NodeKind::Normal, "0"),
        ("odd-cgroup2-8numa", NodeKind::Normal, "0-5"),
    ] {
        assert_eq!(of_kind(file, kind)?, nodes, "{file} {kind:?}");
    }
    Ok(())
}

#[test]
fn nodes_whose_cpus_a_job_left_out_are_not_said_to_have_none() -> Outcome {
    let Some(folder) = captures("nodes of jobs") else { return Ok(()) };
    for (file, hidden, left_out) in [
        ("xml-more/drm-4gpu-restricted", "1-7", Some("PUs above 15")),
        ("xml-more/juwels-booster-restricted-numa3", "0-2,4-7", Some("PUs 0-17,24-65")),
        ("xml/knl-quad-flat-hwloc1", "none", None),
    ] {
        let topology = from_xml(&folder.join(format!("{file}.xml")))?;
        let nodes = topology.nodes.iter().filter(|node| topology.hides_cpus_of(node));
        let nodes: IdSet = nodes.map(|node| node.os_index).collect();
        assert_eq!((nodes.to_string(), topology.left_out_pus().as_deref()), (hidden.to_owned(), left_out));
    }
    Ok(())
}

#[test]
fn host_memory_never_goes_to_a_gpus_node() -> Outcome {
    let Some(folder) = captures("nodes of GPUs") else { return Ok(()) };
    let topology = load("gh200-quad-synthetic-gpunuma-kept", &folder)?;
    for gpu in &topology.gpus {
        assert_eq!(topology.host_nodes(gpu), [gpu.index].into_iter().collect(), "GPU {}", gpu.index);
        assert_eq!(gpu.locality.nodes.first(), Some(gpu.index));
    }
    let own = topology.pu(72).map(|pu| pu.nodes.clone());
    assert_eq!(own, Some(vec![1, 12]), "the host node comes first");
    Ok(())
}

#[test]
fn offline_and_disallowed_pus_are_named() -> Outcome {
    let Some(folder) = captures("PUs that are missing") else { return Ok(()) };
    let offline = load("odd-offline-pus", &folder)?.allowed.offline_pus;
    assert_eq!(offline.to_string(), "2,5,7-11,13-14");
    let uv = load("nogpu-uv2000-24numa", &folder)?;
    assert_eq!(
        uv.allowed.pus.or(&uv.allowed.not_in_cgroup_pus).len() + uv.allowed.offline_pus.len(),
        uv.pus.len()
    );
    let lassen = load("v100-lassen", &folder)?;
    assert!(!lassen.allowed.pus.contains(0), "PUs 0-7 are reserved: {:?}", lassen.pu(0));
    Ok(())
}

#[test]
fn the_table_of_cores_gives_each_gpu_of_a_lumi_g_node_type_its_cores() -> Outcome {
    let Some(folder) = captures("the cores for LUMI-G's GPUs") else { return Ok(()) };
    let survey = survey_xml(&folder.join("xml/mi250x-tioga.xml"))?;
    let table = |survey: &Survey| -> Vec<(String, String)> {
        let text = topo::text::render(survey, 100);
        let rows = text.lines().skip_while(|line| !line.starts_with("which cores")).skip(2).take(8);
        let cells = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        rows.map(|row| (cells(row)[4].clone(), cells(row)[5].clone())).collect()
    };
    let wanted = |cores: [&str; 8], first: [&str; 8]| -> Vec<(String, String)> {
        cores.iter().zip(first).map(|(cores, first)| ((*cores).to_owned(), first.to_owned())).collect()
    };
    let l3s = ["48-55", "56-63", "16-23", "24-31", "0-7", "8-15", "32-39", "40-47"];
    assert_eq!(table(&survey), wanted(l3s, ["48", "56", "16", "24", "0", "8", "32", "40"]));
    // LUMI-G's low-noise mode: the first core of each L3 is not for jobs.
    let allowed = survey.topology.allowed.pus.minus(&"0-120:8".parse()?);
    let low_noise = Survey { topology: survey.topology.restricted_to(&allowed), ..survey };
    let l3s = ["49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47"];
    assert_eq!(table(&low_noise), wanted(l3s, ["49", "57", "17", "25", "1", "9", "33", "41"]));
    Ok(())
}

#[test]
fn every_view_of_every_capture_names_every_gpu_and_every_node() -> Outcome {
    let Some(folder) = captures("every view of every capture") else { return Ok(()) };
    for path in xml_files(&folder.join("xml"))? {
        let survey = survey_xml(&path)?;
        let (tree, default) = (topo::text::tree(&survey, 100), topo::text::render(&survey, 100));
        for gpu in &survey.topology.gpus {
            let address = gpu.pci.to_string();
            assert!(tree.contains(&address) && default.contains(&address), "{}: {address}", path.display());
        }
        let numa = topo::text::numa(&survey, 100);
        for node in &survey.topology.nodes {
            let (words, row) = (format!("node {}", node.os_index), format!("\n  {} ", node.os_index));
            assert!(
                tree.contains(&words) && default.contains(&words) && numa.contains(&row),
                "{}: {words}",
                path.display()
            );
        }
        assert_eq!(topo::difference::differences(&survey, &survey), [], "{}", path.display());
    }
    Ok(())
}

/// The cells of a matrix by row and column: of numabench's and of nvidia-smi's.
fn cells(text: &str) -> BTreeMap<(String, String), String> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("GPU0"));
    let head = lines.next().unwrap_or_default().replace("CPU Affinity", "CPU-Affinity");
    let head = head.replace("NUMA Affinity", "NUMA-Affinity").replace("GPU NUMA ID", "GPU-NUMA-ID");
    let columns: Vec<&str> = head.split_whitespace().collect();
    let mut cells = BTreeMap::new();
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let row = words.next().unwrap_or_default();
        cells.extend(
            words
                .zip(&columns)
                .map(|(cell, column)| ((row.to_owned(), (*column).to_owned()), cell.to_owned())),
        );
    }
    cells
}

#[test]
fn between_gpus_the_files_say_nvlinks_xgmi_and_pcie_levels() -> Outcome {
    let Some(folder) = captures("what is between GPUs") else { return Ok(()) };
    let matrix = |name: &str| -> Result<_, Box<dyn Error>> {
        Ok(cells(&topo::text::matrix(&survey_xml(&folder.join("xml").join(format!("{name}.xml")))?, 100)))
    };
    let cell = |cells: &BTreeMap<(String, String), String>, row: &str, column: &str| {
        cells.get(&(row.to_owned(), column.to_owned())).cloned().unwrap_or_default()
    };
    let power8 = matrix("p100-power8-nvlink-distances")?;
    assert_eq!(
        (cell(&power8, "GPU0", "GPU1"), cell(&power8, "GPU0", "GPU2")),
        ("NV2".to_owned(), "SYS".to_owned())
    );
    let dgx2 = matrix("v100-dgx2-16gpu-restricted")?;
    let tioga = matrix("mi250x-tioga")?;
    for (cells, gpus, wanted) in [(&dgx2, 16, "NV6"), (&tioga, 8, "XGMI")] {
        for row in 0..gpus {
            for column in (0..gpus).filter(|column| *column != row) {
                assert_eq!(
                    cell(cells, &format!("GPU{row}"), &format!("GPU{column}")),
                    wanted,
                    "{row} {column}"
                );
            }
        }
    }
    // On this node type a NIC hangs beside each odd GPU, under the same host bridge.
    for (gpu, nic) in [("GPU1", "NIC0"), ("GPU3", "NIC1"), ("GPU5", "NIC2"), ("GPU7", "NIC3")] {
        assert_eq!(cell(&tioga, gpu, nic), "PHB", "{gpu} {nic}");
    }
    assert_eq!(
        (cell(&tioga, "GPU0", "NIC0"), cell(&tioga, "GPU0", "NIC1")),
        ("NODE".to_owned(), "SYS".to_owned())
    );
    let lassen = matrix("v100-lassen")?;
    assert_eq!(
        (cell(&lassen, "GPU0", "GPU1"), cell(&lassen, "GPU0", "GPU2")),
        ("PIX".to_owned(), "SYS".to_owned())
    );
    Ok(())
}

#[test]
fn the_affinity_columns_of_a_superchip_node_are_nvidia_smis() -> Outcome {
    let Some(folder) = captures("nvidia-smi's columns") else { return Ok(()) };
    let theirs = cells(&std::fs::read_to_string(folder.join("text/gh200-quad-nvidia-smi-topo-m.txt"))?);
    let survey = survey_xml(&folder.join("xml/gh200-quad-synthetic-gpunuma-kept.xml"))?;
    let text = topo::text::matrix(&survey, 100);
    let ours = cells(&text);
    // The rebuilt file has neither NVLinks nor the empty nodes of MIG, which nvidia-smi counts as near.
    for row in ["GPU0", "GPU1", "GPU2", "GPU3"] {
        for column in ["CPU-Affinity", "GPU-NUMA-ID"] {
            let at = (row.to_owned(), column.to_owned());
            assert_eq!(ours.get(&at), theirs.get(&at), "{at:?}");
        }
    }
    assert!(text.contains("NVLink is not known here"), "{text}");
    Ok(())
}

#[test]
fn every_capture_has_a_square_matrix_and_a_row_of_names_for_each_gpu() -> Outcome {
    let Some(folder) = captures("every matrix") else { return Ok(()) };
    for path in xml_files(&folder.join("xml"))? {
        let survey = survey_xml(&path)?;
        let devices = &survey.interconnect.devices;
        assert_eq!(survey.interconnect.pairs.len(), devices.len() * devices.len().saturating_sub(1) / 2);
        for (row, device) in devices.iter().enumerate() {
            for (column, other) in devices.iter().enumerate().filter(|(column, _)| *column != row) {
                let pair = survey.interconnect.between(row, column).ok_or("no pair")?;
                let mut ends = [&*pair.from, &*pair.to];
                ends.sort_by_key(|end| *end != device.label);
                assert_eq!(ends, [&*device.label, &*other.label], "{}", path.display());
                assert!(pair.pci.is_some() != pair.reason.is_some(), "{}: {pair:?}", path.display());
            }
        }
        let (matrix, identity) = (topo::text::matrix(&survey, 100), topo::text::identity(&survey, 100));
        for gpu in &survey.topology.gpus {
            assert!(matrix.contains(&format!("\n  GPU{} ", gpu.index)), "{}\n{matrix}", path.display());
            assert!(identity.contains(&gpu.pci.to_string()), "{}\n{identity}", path.display());
        }
    }
    Ok(())
}
