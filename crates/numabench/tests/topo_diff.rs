//! `numabench topo diff A B`: words and exit codes. What counts as a difference is tested where it is
//! decided, in `topo`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

type Done = Result<(), Box<dyn Error>>;

/// The exit code, standard output, standard error.
fn topo(args: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
    let output = command.arg("topo").args(args).env("COLUMNS", "100").output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/two-packages-gpus.xml")
}

#[test]
fn the_same_machine_ends_with_0_and_another_with_5_and_says_what_in_words() -> Done {
    let folder = tempfile::tempdir()?;
    let old = fixture().display().to_string();
    let new = folder.path().join("new.xml");
    let changed = fs::read_to_string(&old)?
        .replace("local_memory=\"8589934592\"", "local_memory=\"6442450944\"")
        .replace("allowed_cpuset=\"0x0000fffc\"", "allowed_cpuset=\"0x0000ffff\"")
        .replace(">10 32 32 10 <", ">10 21 21 10 <")
        .replace("pci_busid=\"0000:c3:00.0\"", "pci_busid=\"0000:c4:00.0\"");
    fs::write(&new, changed)?;
    let new = new.display().to_string();

    let (code, out, err) = topo(&["diff", &old, &old])?;
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    insta::assert_snapshot!(out.replace(&old, "FILE"), @"no difference between FILE (fixture01) and FILE \
        (fixture01)");

    let (code, out, err) = topo(&["diff", &old, &new])?;
    assert_eq!((code, err.as_str()), (Some(5), ""), "{out}");
    let said: Vec<&str> = out.lines().skip(1).collect();
    let wanted = [
        "  * NUMA node 0: 6 GiB of memory, was 8 GiB (2 GiB less)",
        "  * NUMA node 1: 6 GiB of memory, was 8 GiB (2 GiB less)",
        "  * distance from NUMA node 0 to 1: 21, was 32",
        "  * distance from NUMA node 1 to 0: 21, was 32",
        "  * GPU 0000:c3:00.0 (PCI 10de:2330) gone",
        "  * GPU 0000:c4:00.0 (PCI 10de:2330) new",
        "  * allowed PUs 0-1 new",
    ];
    assert_eq!(said, wanted, "{out}");
    assert!(out.starts_with('7') && out.contains(&old), "{out}");

    let (code, out, _) = topo(&["diff", "--json", &old, &new])?;
    let json: Value = serde_json::from_str(&out)?;
    assert_eq!(
        (&json["schema"], &json["schema_version"]),
        (&"numabench.topology-diff".into(), &"1.2".into())
    );
    let json = &json["differences"];
    assert_eq!((code, json.as_array().map(Vec::len)), (Some(5), Some(7)));
    assert_eq!(
        (&json[4]["what"], &json[4]["words"]),
        (&"gpu".into(), &"GPU 0000:c3:00.0 (PCI 10de:2330) gone".into())
    );
    Ok(())
}

#[test]
fn this_machine_saved_twice_is_the_same_though_its_free_memory_is_not() -> Done {
    let folder = tempfile::tempdir()?;
    let name = |file: &str| folder.path().join(file).display().to_string();
    let (old, new) = (name("old.xml"), name("new.xml"));
    for file in [&old, &new] {
        assert_eq!(topo(&["--save", file])?.0, Some(0));
    }
    let (code, out, err) = topo(&["diff", &old, &new])?;
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    Ok(())
}

#[test]
fn files_that_cannot_be_read_and_options_of_the_views_are_refused() -> Done {
    let old = fixture().display().to_string();
    for (args, words) in [
        (&["diff", &old, "/nowhere/b.xml"][..], "/nowhere/b.xml"),
        (&["diff", "/nowhere/a.xml", &old], "/nowhere/a.xml"),
        (&["diff", &old], "<B.xml>"),
        (&["--input", &old, "diff", &old, &old], "--input"),
        (&["--numa", "diff", &old, &old], "--numa"),
    ] {
        let (code, out, err) = topo(args)?;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {err}");
        assert!(err.contains(words), "{args:?}: {err}");
    }
    Ok(())
}
