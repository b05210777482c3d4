//! Texts word for word: the help, and `topo` of the project's own files. A change shows as a diff of a
//! snapshot.
//!
//! Left out: tables of measured runs (the renderer's own snapshots are in `report`).

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Done, end, numabench, run};

/// The project's own hwloc files.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures")
}

/// `topo` of this file at this width, with what another machine has otherwise taken out.
fn topo(name: &str, columns: &str) -> Result<String, Box<dyn Error>> {
    let path = fixtures().join(name).display().to_string();
    let ended = end(numabench().env("COLUMNS", columns), ["topo", "--input", &path]).well();
    let text = ended.out.replace(&path, name);
    let version = hwloc_version(&path)?;
    Ok(text.replace(&format!("hwloc {version}"), "hwloc VERSION"))
}

fn hwloc_version(path: &str) -> Result<String, Box<dyn Error>> {
    let topology = run(&["topo", "--json", "--input", path]).well().json()?;
    Ok(topology["hwloc_version"].as_str().ok_or("no version")?.to_owned())
}

#[test]
fn the_help_is_what_is_documented_with_every_exit_code() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_check", &["check", "--help"]),
        ("help_pingpong", &["pingpong", "--help"]),
        ("help_topo", &["topo", "--help"]),
        ("help_place", &["place", "--help"]),
        ("help_exec", &["exec", "--help"]),
    ] {
        let text = run(args).well().out;
        for code in [
            "0  ok",
            "1  no",
            "2  usage",
            "3  partial",
            "4  data",
            "5  a finding",
            "6  und",
            "77  ",
            "124  ",
            "126  ",
            "127  ",
            "128+n",
        ] {
            assert!(text.contains(code), "{name} has no {code}");
        }
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn topo_of_two_packages_names_l3s_gpus_reserved_cores_and_offline_pus() -> Done {
    insta::assert_snapshot!("topo_two_packages", topo("two-packages-gpus.xml", "100")?);
    Ok(())
}

#[test]
fn topo_of_superchips_tells_host_memory_from_gpu_memory() -> Done {
    insta::assert_snapshot!("topo_superchips", topo("superchips.xml", "80")?);
    Ok(())
}

#[test]
fn every_fixture_is_shown_within_the_columns_and_says_the_same_as_json() -> Done {
    for entry in fs::read_dir(fixtures())? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        let path = path.display().to_string();
        let json = run(&["topo", "--json", "--input", &path]).well().json()?;
        let text = run(&["topo", "--input", &path]).well().out;
        for gpu in crate::proof::list(&json, "/gpus") {
            assert!(text.contains(crate::proof::text(gpu, "/pci")), "{path}: {gpu}");
        }
    }
    Ok(())
}
