//! `numabench topo --save`: what was saved reads back as the same machine, also by lstopo, and what cannot be
//! written is refused before anything else is done. In guests with more to save than this machine:
//! `topo_guest`.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

type Done = Result<(), Box<dyn Error>>;

fn numabench(args: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
    command
        .args(args)
        .env("COLUMNS", "100")
        .env_remove("HWLOC_XMLFILE")
        .env_remove("HWLOC_SYNTHETIC")
        .output()
}

fn json(output: &Output) -> Result<Value, Box<dyn Error>> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_saved_machine_reads_back_as_it_was_but_for_the_source() -> Done {
    let folder = tempfile::tempdir()?;
    let path = shown(&folder.path().join("node.xml"));
    let mut saved = json(&numabench(&["topo", "--json", "--save", &path])?)?;
    let mut read = json(&numabench(&["topo", "--json", "--input", &path])?)?;
    assert_eq!(saved["source"]["kind"], "this-system");
    assert_eq!(read["source"]["path"], path);
    assert!(saved["nodes"][0]["free_bytes"].is_u64(), "there is more in it than hwloc's own file holds");
    // Settings are what `doctor` saw when the file was saved, and no part of the live model.
    assert!(read["settings"].as_array().is_some_and(|settings| !settings.is_empty()), "{read}");
    for of in ["source", "settings"] {
        saved[of].take();
        read[of].take();
    }
    assert_eq!(saved, read);
    Ok(())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips something says so")]
fn lstopo_reads_what_was_saved_and_its_own_copy_still_says_everything() -> Done {
    let folder = tempfile::tempdir()?;
    let (path, copy) = (shown(&folder.path().join("node.xml")), shown(&folder.path().join("copy.xml")));
    let saved = json(&numabench(&["topo", "--json", "--save", &path])?)?;
    let lstopo = match Command::new("lstopo-no-graphics").args(["--input", &path, "--only", "PU"]).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED lstopo on a saved file: lstopo-no-graphics: {error}");
            return Ok(());
        }
    };
    assert!(lstopo.status.success(), "{}", String::from_utf8_lossy(&lstopo.stderr));
    let pus = String::from_utf8_lossy(&lstopo.stdout).lines().filter(|line| line.contains("PU L#")).count();
    let in_cgroup = |pu: &&Value| pu["status"] == "allowed" || pu["status"] == "not-in-affinity";
    assert_eq!(Some(pus), saved["pus"].as_array().map(|pus| pus.iter().filter(in_cgroup).count()));
    let export =
        Command::new("lstopo-no-graphics").args(["--disallowed", "--input", &path, &copy]).output()?;
    assert!(export.status.success(), "{}", String::from_utf8_lossy(&export.stderr));
    let read = json(&numabench(&["topo", "--json", "--input", &copy])?)?;
    for part in ["hostname", "nodes", "allowed", "cores", "process"] {
        assert_eq!(read[part], saved[part], "{part}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_written_is_refused_by_name_and_nothing_is_shown() -> Done {
    let folder = tempfile::tempdir()?;
    let nowhere = shown(&folder.path().join("no/such/folder/node.xml"));
    let mut said = String::new();
    for path in [nowhere.as_str(), &shown(folder.path()), "/dev/null"] {
        let output = numabench(&["topo", "--save", path])?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{path}: {message}");
        assert!(output.stdout.is_empty() && message.contains(path), "{path}: {message}");
        said += &message.replace(&shown(folder.path()), "FOLDER");
    }
    insta::assert_snapshot!(said, @"
    numabench: error: FOLDER/no/such/folder/node.xml cannot be written, because there is no folder FOLDER/no/such/folder: make it (mkdir -p FOLDER/no/such/folder) or name another file
    numabench: error: FOLDER is a folder: name a file in it, e.g. FOLDER/result.json
    numabench: error: /dev/null is not a regular file, and a document is replaced as a whole: name a file, or `-` for standard output
    ");
    let both = numabench(&["topo", "--save", "a.xml", "--input", "b.xml"])?;
    assert_eq!(both.status.code(), Some(2));
    Ok(())
}
