//! Saved topologies through the command line: files that cannot be read, each with its message; and, where
//! they are at hand, the captures of real machines with every GPU's locality.
//!
//! The captures are not part of the repository: they are read from `../shared/topologies` beside the
//! checkout, or from `NUMABENCH_TOPOLOGIES`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stats::IdSet;

use crate::proof::{list, text};
use crate::run::{Done, run, skipped};

fn captures(what: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    if folder.join("xml").is_dir() {
        return Some(folder);
    }
    skipped(&format!("{what}: no captures at {} (set NUMABENCH_TOPOLOGIES)", folder.display()));
    None
}

fn xml_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    Ok(files)
}

#[test]
fn a_topology_file_that_cannot_be_read_is_answered_with_why_and_how_to_make_one() -> Done {
    let folder = tempfile::tempdir()?;
    let hwloc = format!("hwloc {}", text(&run(&["topo", "--json"]).json()?, "/hwloc_version"));
    let mut said = String::new();
    for (name, content) in [
        ("missing.xml", None),
        (".", None),
        ("empty.xml", Some("")),
        ("text.xml", Some("hello")),
        ("page.xml", Some("<html></html>")),
        ("cut.xml", Some("<topology version=\"2.0\"><object")),
        ("new.xml", Some("<topology version=\"3.0\"></topology>")),
        ("hollow.xml", Some("<topology version=\"2.0\"></topology>")),
    ] {
        let path = folder.path().join(name);
        content.map(|content| fs::write(&path, content)).transpose()?;
        let path = path.display().to_string();
        let refused = run(&["topo", "--input", &path]).refused(2, &[&path]).err;
        assert_eq!(run(&["topo", "--json", "--input", &path]).refused(2, &[&path]).err, refused);
        said +=
            &refused.replace(&folder.path().display().to_string(), "FOLDER").replace(&hwloc, "hwloc VERSION");
    }
    insta::assert_snapshot!(said, @"
    numabench: error: cannot read the topology file FOLDER/missing.xml: No such file or directory (os error 2); give the path of a file written by `lstopo FILE.xml`
    numabench: error: cannot read the topology file FOLDER/.: Is a directory (os error 21); give the path of a file written by `lstopo FILE.xml`
    numabench: error: FOLDER/empty.xml is not XML: it is empty; give a file written by `lstopo FILE.xml`
    numabench: error: FOLDER/text.xml: neither hwloc XML nor the output of a tool that is read: lscpu (also -e, -p), numactl -H, lstopo, nvidia-smi (also topo -m, -L, -q), rocm-smi --showtopo; give one of these, whole
    numabench: error: FOLDER/page.xml is XML but not an hwloc topology: its root element is <html>, hwloc's is <topology>; give a file written by `lstopo FILE.xml`
    numabench: error: FOLDER/cut.xml ends before </topology>: the file is cut off; write or copy it again
    numabench: error: FOLDER/new.xml is in the format of hwloc 3.0, which hwloc 2 cannot read; on the machine it came from, export it again with `lstopo --export-xml-flags v2 FILE.xml`
    numabench: error: hwloc VERSION refuses FOLDER/hollow.xml: it is damaged or contradicts itself; write it again with `lstopo FILE.xml`
    ");
    Ok(())
}

#[test]
fn hwloc_3_files_get_the_message_that_says_how_to_export_them_again() -> Done {
    let Some(folder) = captures("hwloc 3 files") else { return Ok(()) };
    let files = xml_files(&folder.join("xml-v3-unloadable"))?;
    assert!(!files.is_empty());
    for path in files {
        run(&["topo", "--input", &path.display().to_string()])
            .refused(2, &["format of hwloc 3", "--export-xml-flags v2"]);
    }
    Ok(())
}

#[test]
fn every_capture_loads_as_text_and_as_json() -> Done {
    let Some(folder) = captures("captures of real machines") else { return Ok(()) };
    for path in xml_files(&folder.join("xml"))? {
        let path = path.display().to_string();
        let text = run(&["topo", "--input", &path]).well().out;
        // The path is the user's, and as long as they made it.
        let lines = text.lines().filter(|line| !line.starts_with("read"));
        let widest = lines.map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= 100, "{path}: {widest} columns where there are 100:\n{text}");
        let json = run(&["topo", "--json", "--input", &path]).well().json()?;
        assert!(!list(&json, "/pus").is_empty(), "{path}");
    }
    Ok(())
}

/// `-` for the empty set, as the expectations write it; in JSON a set is the list of its ids.
fn same_ids(expected: &str, got: &Value) -> bool {
    let expected: Result<IdSet, _> = expected.trim_start_matches('-').parse();
    let got: Option<Vec<u32>> = serde_json::from_value(got.clone()).ok();
    expected.ok().map(|ids| ids.iter().collect()) == got && got.is_some()
}

/// What differs between a row of the expectations and a GPU of `topo --json`.
fn differences(row: &[String], gpu: &Value) -> Vec<String> {
    let [_, index, address, pci_type, os_devices, attached, pus, nodes] = row else {
        return vec![format!("{} columns", row.len())];
    };
    let id = |field: &str| gpu[field].as_u64().unwrap_or_default();
    let shown_type = format!("{:04x} [{:04x}:{:04x}]", id("class_id"), id("vendor_id"), id("device_id"));
    let names: Vec<&str> = list(gpu, "/os_devices").iter().filter_map(Value::as_str).collect();
    let names = if names.is_empty() { "-".to_owned() } else { names.join(",") };
    let found = [
        ("index", gpu["index"].as_u64() == index.parse().ok()),
        ("address", text(gpu, "/pci") == address),
        ("type", shown_type == *pci_type),
        ("OS devices", names == *os_devices),
        ("attached to", text(gpu, "/locality/attached_to") == attached),
        ("PUs", same_ids(pus, &gpu["locality"]["pus"])),
        ("nodes", same_ids(nodes, &gpu["locality"]["nodes"])),
    ];
    found.iter().filter(|(_, same)| !same).map(|(what, _)| format!("{what} of {row:?}: {gpu}")).collect()
}

#[test]
fn every_row_of_the_expected_gpu_localities_comes_out_right() -> Done {
    let Some(folder) = captures("the expected GPU localities") else { return Ok(()) };
    let table = fs::read_to_string(folder.join("expected-gpu-locality.tsv"))?;
    let mut expected: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let row: Vec<String> = line.split('\t').map(str::to_owned).collect();
        expected.entry(row[0].clone()).or_default().push(row);
    }
    assert!(expected.len() > 5, "{} files in the table", expected.len());
    let mut wrong = Vec::new();
    for path in xml_files(&folder.join("xml"))? {
        let name = format!("xml/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let json = run(&["topo", "--json", "--input", &path.display().to_string()]).well().json()?;
        let gpus = list(&json, "/gpus");
        let Some(rows) = expected.remove(&name) else {
            // No row: there is no GPU, or hwloc does not know where it is, and then nobody may guess.
            let guessed = gpus.iter().filter(|gpu| {
                text(gpu, "/locality/rung") != "unknown" || gpu["locality"]["nodes"] != json!([])
            });
            wrong.extend(guessed.map(|gpu| format!("{name}: a locality out of nowhere: {gpu}")));
            continue;
        };
        if gpus.len() != rows.len() {
            wrong.push(format!("{name}: {} GPUs for {} rows", gpus.len(), rows.len()));
        }
        rows.iter().zip(gpus).for_each(|(row, gpu)| wrong.extend(differences(row, gpu)));
    }
    wrong.extend(expected.keys().map(|name| format!("{name}: rows without a file")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
