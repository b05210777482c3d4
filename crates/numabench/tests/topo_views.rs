//! The views of `numabench topo --input FILE`: each option gives the view of its name, of every machine at
//! hand, and the table of cores for GPUs is the published one on LUMI-G's type of node.
//!
//! What a view says of the project's own machines is tested in `topo`; here it is only compared with what the
//! library gives. A view is one row of [`VIEWS`]. Captures of real machines are not part of the repository:
//! they are read from `../shared/topologies` beside the checkout, or from `NUMABENCH_TOPOLOGIES`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use topo::Survey;

type Done = Result<(), Box<dyn Error>>;
type View = fn(&Survey, usize) -> String;

/// The views: what is typed, what the library gives.
const VIEWS: [(&[&str], View); 6] = [
    (&[], topo::text::render),
    (&["--numa"], topo::text::numa),
    (&["--tree"], topo::text::tree),
    (&["--matrix"], topo::text::matrix),
    (&["--identity"], topo::text::identity),
    (&["--json"], json),
];

const COLUMNS: usize = 100;

fn json(survey: &Survey, _: usize) -> String {
    let bytes = report::json::json_value(survey).unwrap_or_default();
    let said = String::from_utf8_lossy(&bytes).into_owned();
    // What the document says of itself goes before.
    said.replacen("{\n", "{\n  \"schema\": \"numabench.topology\",\n  \"schema_version\": \"1.3\",\n", 1)
}

/// What `numabench topo` prints; it must end well and complain of nothing.
fn topo(view: &[&str], path: &Path) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
    let output = command
        .arg("topo")
        .args(view)
        .arg("--input")
        .arg(path)
        .env("COLUMNS", COLUMNS.to_string())
        .output()?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(
        output.status.success() && err.is_empty(),
        "{view:?} of {}: {}: {err}",
        path.display(),
        output.status
    );
    assert!(!out.trim().is_empty(), "{view:?} of {} is empty", path.display());
    Ok(out)
}

fn xml_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    Ok(files)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures")
}

#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn captures(what: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from).join("xml");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED {what}: no captures at {} (set NUMABENCH_TOPOLOGIES)", folder.display());
    None
}

/// Each view through the binary is what the library gives.
fn each_view_of(files: Vec<PathBuf>) -> Done {
    assert!(!files.is_empty());
    for path in files {
        let survey = topo::survey_xml(&path)?;
        for (option, view) in VIEWS {
            assert!(topo(option, &path)? == view(&survey, COLUMNS), "{option:?} of {}", path.display());
        }
    }
    Ok(())
}

#[test]
fn each_option_shows_the_view_of_its_name_of_the_projects_own_machines() -> Done {
    each_view_of(xml_files(&fixtures())?)
}

#[test]
fn each_option_shows_the_view_of_its_name_of_the_captured_machines() -> Done {
    let Some(folder) = captures("every view of the captured machines") else { return Ok(()) };
    each_view_of(xml_files(&folder)?)
}

/// The columns "cores to use" and "first" of the table of cores, a row for each GPU.
fn cores_and_first(path: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let text = topo(&[], path)?;
    let rows = text.lines().skip_while(|line| !line.starts_with("which cores")).skip(2);
    let rows = rows.take_while(|line| line.trim().starts_with(|c: char| c.is_ascii_digit()));
    let cells = |row: &str| -> Option<(String, String)> {
        let mut cells = row.split_whitespace().rev();
        let first = cells.next()?.to_owned();
        Some((cells.next()?.to_owned(), first))
    };
    Ok(rows.filter_map(cells).collect())
}

const LUMI_G: [(&str, &str); 8] = [
    ("48-55", "48"),
    ("56-63", "56"),
    ("16-23", "16"),
    ("24-31", "24"),
    ("0-7", "0"),
    ("8-15", "8"),
    ("32-39", "32"),
    ("40-47", "40"),
];
const LUMI_G_LOW_NOISE: [(&str, &str); 8] = [
    ("49-55", "49"),
    ("57-63", "57"),
    ("17-23", "17"),
    ("25-31", "25"),
    ("1-7", "1"),
    ("9-15", "9"),
    ("33-39", "33"),
    ("41-47", "41"),
];

fn owned(table: [(&str, &str); 8]) -> Vec<(String, String)> {
    table.iter().map(|(cores, first)| ((*cores).to_owned(), (*first).to_owned())).collect()
}

#[test]
fn the_cores_for_each_gpu_of_lumi_gs_shape_are_the_published_ones() -> Done {
    assert_eq!(cores_and_first(&fixtures().join("lumi-g.xml"))?, owned(LUMI_G));
    assert_eq!(cores_and_first(&fixtures().join("lumi-g-low-noise.xml"))?, owned(LUMI_G_LOW_NOISE));
    Ok(())
}

#[test]
fn the_cores_for_each_gpu_of_a_captured_node_of_lumi_gs_type_are_the_published_ones() -> Done {
    let Some(folder) = captures("the cores for LUMI-G's GPUs") else { return Ok(()) };
    let capture = folder.join("mi250x-tioga.xml");
    assert_eq!(cores_and_first(&capture)?, owned(LUMI_G));
    // A file says itself what may be used: the same capture with LUMI-G's low-noise set, all but PUs 0, 8,
    // ..., 120.
    let text = fs::read_to_string(capture)?;
    let (before, rest) = text.split_once(" allowed_cpuset=\"").ok_or("no allowed_cpuset")?;
    let (_, after) = rest.split_once('"').ok_or("no end of allowed_cpuset")?;
    let words = ["0xfefefefe"; 4].join(",");
    let low_noise = tempfile::NamedTempFile::with_suffix(".xml")?;
    fs::write(low_noise.path(), format!("{before} allowed_cpuset=\"{words}\"{after}"))?;
    assert_eq!(cores_and_first(low_noise.path())?, owned(LUMI_G_LOW_NOISE));
    Ok(())
}
