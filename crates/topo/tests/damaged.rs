//! Damaged and foreign files: every one ends in a topology or an error that names it, never in a crash of this process.
//!
//! hwloc's own reader dies on some of these, which is what `child` is for: a run without it kills this test with SIGSEGV.

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
    Ok(survey_xml(file.path()).map(|survey| text::matrix(&survey, 100).len() + text::identity(&survey, 100).len()))
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
    let cases: [(&[u8], &str); 11] = [
        (b"", "it is empty"),
        (b"\x7fELF\x02\x01\x01\x00", "NUL bytes"),
        (b"\xff\xfe<\x00t\x00", "not UTF-8"),
        (b"hello", "does not start with an XML element"),
        (b"{\"a\": 1}", "does not start with an XML element"),
        (b"<html><body/></html>", "its root element is <html>"),
        (b"<topologydiff></topologydiff>", "its root element is <topologydiff>"),
        (b"<topology version=\"2.0\"></topology>", "refuses"),
        (cut.as_bytes(), "cut off"),
        (newer.as_bytes(), "format of hwloc 3.0"),
        (wide.as_bytes(), "10000:03:00.0"),
    ];
    for (bytes, wanted) in cases {
        let message = reading(bytes)?.err().ok_or_else(|| format!("{wanted}: it was loaded"))?.to_string();
        assert!(message.contains(wanted), "wanted \"{wanted}\" in: {message}");
    }
    Ok(())
}

#[test]
fn a_file_that_is_missing_or_a_directory_is_named() {
    for path in ["/nowhere/at all.xml", "/"] {
        let message = from_xml(Path::new(path)).map_or_else(|error| error.to_string(), |_| String::new());
        assert!(message.contains(&format!("cannot read the topology file {path}")), "{message}");
    }
}

#[test]
fn a_device_without_end_is_no_file() {
    let error = from_xml(Path::new("/dev/zero")).err();
    assert!(matches!(error, Some(TopoError::Unreadable { .. })), "{error:?}");
}
