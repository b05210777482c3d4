//! Damaged and foreign files: every one ends in a topology or an error that names it, never in a crash of
//! this process.
//!
//! hwloc's own reader dies on some of these, which is what `child` is for: a run without it kills this test
//! with SIGSEGV.

use std::error::Error;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use topo::{TopoError, from_xml, survey_xml, text};

/// A plain file, and those with matrices and with what numabench itself keeps in a file.
const FIXTURES: [&str; 4] =
    ["two-packages-gpus.xml", "nvlink-matrix.xml", "eight-gpus-nvswitch.xml", "four-gcds-xgmi.xml"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// What reading and showing a file with these bytes says.
fn reading(bytes: &[u8]) -> Result<Result<usize, TopoError>, Box<dyn Error>> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), bytes)?;
    Ok(survey_xml(file.path())
        .map(|survey| text::matrix(&survey, 100).len() + text::identity(&survey, 100).len()))
}

/// One thing that happens to files.
#[derive(Clone, Debug)]
enum Damage {
    /// The file ends early.
    CutAt(prop::sample::Index),
    /// A byte becomes another.
    Byte(prop::sample::Index, u8),
    /// A piece is lost.
    Lost(prop::sample::Index, usize),
    /// A piece is there twice.
    Twice(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        1 => at().prop_map(Damage::CutAt),
        6 => (at(), 0x20..0x7f_u8).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        2 => (at(), 1..200_usize).prop_map(|(at, length)| Damage::Lost(at, length)),
        1 => (at(), 1..200_usize).prop_map(|(at, length)| Damage::Twice(at, length)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let piece = |at: usize, length: usize| at..(at + length).min(bytes.len());
    match damage {
        Damage::CutAt(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Byte(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Damage::Lost(at, length) => {
            let range = piece(at.index(bytes.len()), *length);
            bytes.drain(range);
        }
        Damage::Twice(at, length) => {
            let range = piece(at.index(bytes.len()), *length);
            let copy = bytes[range.clone()].to_vec();
            bytes.splice(range.end..range.end, copy);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_takes_the_process_down(
        name in prop::sample::select(&FIXTURES[..]),
        hurts in prop::collection::vec(damage(), 1..4),
    ) {
        let mut bytes = std::fs::read(fixture(name)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        for hurt in &hurts {
            apply(&mut bytes, hurt);
        }
        let outcome = reading(&bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if let Err(error) = outcome {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn each_kind_of_unusable_file_gets_its_own_message() -> Result<(), Box<dyn Error>> {
    let whole = std::fs::read_to_string(fixture("two-packages-gpus.xml"))?;
    let cut = &whole[..whole.len() / 2];
    let newer = whole.replace("<topology version=\"2.0\">", "<topology version=\"3.0\">");
    let wide = whole.replace("pci_busid=\"0000:03:00.0\"", "pci_busid=\"10000:03:00.0\"");
    let cases: [&[u8]; 11] = [
        b"",
        b"\x7fELF\x02\x01\x01\x00",
        b"\xff\xfe<\x00t\x00",
        b"hello",
        b"{\"a\": 1}",
        b"<html><body/></html>",
        b"<topologydiff></topologydiff>",
        b"<topology version=\"2.0\"></topology>",
        cut.as_bytes(),
        newer.as_bytes(),
        wide.as_bytes(),
    ];
    let hwloc = format!("hwloc {}", from_xml(&fixture("two-packages-gpus.xml"))?.hwloc_version);
    let folder = std::env::temp_dir().display().to_string();
    let named = |word: &str| match word.strip_suffix(':').unwrap_or(word) {
        path if path.starts_with(&folder) => word.replace(path, "FILE"),
        _ => word.to_owned(),
    };
    let mut messages = Vec::new();
    for bytes in cases {
        let error =
            reading(bytes)?.err().ok_or_else(|| format!("{}: it was loaded", bytes.escape_ascii()))?;
        let message = error.to_string().replace(&hwloc, "hwloc VERSION");
        messages.push(message.split(' ').map(named).collect::<Vec<_>>().join(" "));
    }
    insta::assert_snapshot!(messages.join("\n"), @"
    FILE is not XML: it is empty; give a file written by `lstopo FILE.xml`
    FILE is not XML: it holds NUL bytes; give a file written by `lstopo FILE.xml`
    FILE is not XML: it is not UTF-8 text; give a file written by `lstopo FILE.xml`
    FILE is not XML: it does not start with an XML element; give a file written by `lstopo FILE.xml`
    FILE is not XML: it does not start with an XML element; give a file written by `lstopo FILE.xml`
    FILE is XML but not an hwloc topology: its root element is <html>, hwloc's is <topology>; give a file written by `lstopo FILE.xml`
    FILE is XML but not an hwloc topology: its root element is <topologydiff>, hwloc's is <topology>; give a file written by `lstopo FILE.xml`
    hwloc VERSION refuses FILE: it is damaged or contradicts itself; write it again with `lstopo FILE.xml`
    FILE ends before </topology>: the file is cut off; write or copy it again
    FILE is in the format of hwloc 3.0, which hwloc 2 cannot read; on the machine it came from, export it again with `lstopo --export-xml-flags v2 FILE.xml`
    FILE has a GPU at 10000:03:00.0, in a PCI domain above ffff, which hwloc 2 cannot read from a file; run numabench on that machine itself, where it reads such devices from /sys
    ");
    Ok(())
}

#[test]
fn a_file_that_is_missing_or_a_directory_is_named() {
    let messages = ["/nowhere/at all.xml", "/"]
        .map(|path| from_xml(Path::new(path)).map_or_else(|error| error.to_string(), |_| String::new()));
    insta::assert_snapshot!(messages.join("\n"), @"
    cannot read the topology file /nowhere/at all.xml: No such file or directory (os error 2); give the path of a file written by `lstopo FILE.xml`
    cannot read the topology file /: Is a directory (os error 21); give the path of a file written by `lstopo FILE.xml`
    ");
}

#[test]
fn a_device_without_end_is_no_file() {
    let error = from_xml(Path::new("/dev/zero")).err();
    assert!(matches!(error, Some(TopoError::Unreadable { .. })), "{error:?}");
}
