//! `numabench topo --svg`: the picture is written beside the view, whole or not at all, of this machine and
//! of a saved one. What is in the picture is tested where it is drawn, in `topo`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Done = Result<(), Box<dyn Error>>;

fn topo(args: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
    command
        .arg("topo")
        .args(args)
        .env("COLUMNS", "100")
        .env_remove("HWLOC_XMLFILE")
        .env_remove("HWLOC_SYNTHETIC")
        .output()
}

fn fixture() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../topo/tests/fixtures/two-packages-gpus.xml")
        .display()
        .to_string()
}

/// A name in a folder of its own.
fn target(folder: &tempfile::TempDir) -> (PathBuf, String) {
    let path = folder.path().join("node.svg");
    let shown = path.display().to_string();
    (path, shown)
}

#[test]
fn a_dash_is_standard_output_and_that_alone() -> Done {
    let drawn = topo(&["--input", &fixture(), "--svg", "-"])?;
    let picture = String::from_utf8(drawn.stdout)?;
    assert!(
        picture.contains("<svg") && picture.ends_with("</svg>\n") && !picture.contains("which cores"),
        "{picture}"
    );
    let saved = String::from_utf8(topo(&["--save", "-"])?.stdout)?;
    assert!(saved.starts_with("<?xml") && saved.trim_end().ends_with("</topology>"), "{saved}");
    assert_eq!(topo(&["--save", "-", "--svg", "-"])?.status.code(), Some(2));
    assert!(!Path::new("-").exists());
    Ok(())
}

#[test]
fn a_saved_machine_is_drawn_beside_whatever_view_is_asked_for() -> Done {
    let folder = tempfile::tempdir()?;
    let (path, name) = target(&folder);
    for view in [&[][..], &["--tree"], &["--numa"], &["--json"]] {
        let plain = topo(&[&["--input", &fixture()], view].concat())?;
        let drawn = topo(&[&["--input", &fixture(), "--svg", &name], view].concat())?;
        assert_eq!(drawn.status.code(), Some(0), "{view:?}: {}", String::from_utf8_lossy(&drawn.stderr));
        assert!(drawn.stdout == plain.stdout && drawn.stderr.is_empty(), "{view:?}");
        let picture = fs::read_to_string(&path)?;
        assert!(
            picture.contains("<svg") && picture.contains("0000:03:00.0") && picture.ends_with("</svg>\n"),
            "{view:?}"
        );
        fs::remove_file(&path)?;
    }
    Ok(())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips something says so")]
fn this_machine_is_drawn_and_saved_at_once_and_xmllint_finds_nothing_wrong() -> Done {
    let folder = tempfile::tempdir()?;
    let (path, name) = target(&folder);
    let saved = folder.path().join("node.xml").display().to_string();
    fs::write(&path, "an older picture")?;
    let output = topo(&["--svg", &name, "--save", &saved])?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let of_machine = fs::read_to_string(&path)?;
    topo(&["--svg", &name, "--input", &saved])?;
    let source = |picture: &str| {
        picture.lines().filter(|line| !line.contains("read from ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(source(&fs::read_to_string(&path)?).len(), source(&of_machine).len());
    assert_eq!(fs::read_dir(folder.path())?.count(), 2, "no temporary file is left");
    match Command::new("xmllint").args(["--noout", &name]).output() {
        Ok(lint) => assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stderr)),
        Err(error) => eprintln!("SKIPPED xmllint on a picture: xmllint: {error}"),
    }
    Ok(())
}

#[test]
fn a_picture_that_cannot_be_written_is_refused_by_name_before_anything_is_shown() -> Done {
    let folder = tempfile::tempdir()?;
    let nowhere = folder.path().join("no/such/folder/node.svg").display().to_string();
    let as_folder = folder.path().display().to_string();
    let mut said = String::new();
    for path in [&*nowhere, &as_folder, "/dev/null"] {
        let output = topo(&["--svg", path])?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{path}: {message}");
        assert!(output.stdout.is_empty() && message.contains(path), "{path}: {message}");
        said += &message.replace(&as_folder, "FOLDER");
    }
    insta::assert_snapshot!(said, @"
    numabench: error: FOLDER/no/such/folder/node.svg cannot be written, because there is no folder FOLDER/no/such/folder: make it (mkdir -p FOLDER/no/such/folder) or name another file
    numabench: error: FOLDER is a folder: name a file in it, e.g. FOLDER/result.json
    numabench: error: /dev/null is not a regular file, and a document is replaced as a whole: name a file, or `-` for standard output
    ");
    let (path, name) = target(&folder);
    fs::write(&path, "an older picture")?;
    let output = topo(&["--svg", &name, "--input", "/nowhere/node.xml"])?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&path)?, "an older picture", "what was there stays until there is another");
    Ok(())
}

#[test]
fn the_node_is_drawn_with_what_a_result_measured_on_its_links() -> Result<(), Box<dyn Error>> {
    let gallery = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gallery");
    let (result, trial) = (format!("{gallery}/contend.json"), format!("{gallery}/trial.json"));
    let drawn = topo(&["--svg", "-", "--with", &result])?;
    let svg = String::from_utf8(drawn.stdout)?;
    assert!(svg.contains("<svg ") && svg.contains("NUMA node 0") && svg.contains("H2D 54.2"), "{svg}");
    assert!(svg.contains("with all at once "), "and what all at once get, under the pointer: {svg}");
    assert_eq!(topo(&["--svg", "-", "--with", &trial])?.status.code(), Some(2));
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../render/tests/results/documents");
    for (name, words) in [("place-1.1.json", "place --measure"), ("mpi-1.0-aware.json", "mpi --matrix")] {
        let refused = topo(&["--svg", "-", "--with", &format!("{documents}/{name}")])?;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(words), "{name}: {said}");
    }
    assert_eq!(topo(&["--with", &result])?.status.code(), Some(2), "a picture needs a file");
    Ok(())
}
