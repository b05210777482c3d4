//! Every view of the project's own files, word for word (snapshots). A change of a view shows as a diff of one.

use std::error::Error;
use std::path::Path;

use topo::{Survey, survey_xml, text};

type Outcome = Result<(), Box<dyn Error>>;
type View = fn(&Survey, usize) -> String;

const FIXTURES: [&str; 5] =
    ["two-packages-gpus", "superchips", "eight-gpus-nvswitch", "four-gcds-xgmi", "nvlink-matrix"];

/// The view of a file, with what another checkout has otherwise taken out.
fn seen(fixture: &str, view: View, width: usize) -> Result<String, Box<dyn Error>> {
    let name = format!("{fixture}.xml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(&name);
    let survey = survey_xml(&path)?;
    let version = format!("hwloc {}", survey.topology.hwloc_version);
    Ok(view(&survey, width).replace(&path.display().to_string(), &name).replace(&version, "hwloc VERSION"))
}

fn golden(view_name: &str, view: View) -> Outcome {
    as_it_was(view_name, view)?;
    for fixture in FIXTURES {
        for width in [60, 80, 120] {
            let text = seen(fixture, view, width)?;
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            // A table of ids has a least width; 80 is what every view promises.
            assert!(widest <= width.max(80), "{view_name} of {fixture} at {width}: {widest} columns\n{text}");
        }
    }
    Ok(())
}

fn as_it_was(view_name: &str, view: View) -> Outcome {
    for fixture in FIXTURES {
        let text = seen(fixture, view, 100)?;
        insta::assert_snapshot!(format!("{view_name}_{fixture}"), text);
    }
    Ok(())
}

#[test]
fn the_default_view_is_as_it_was() -> Outcome {
    golden("default", text::render)
}

#[test]
fn the_tree_is_as_it_was() -> Outcome {
    golden("tree", text::tree)
}

#[test]
fn the_numa_view_is_as_it_was() -> Outcome {
    golden("numa", text::numa)
}

// A table of devices by devices, and one of everything a GPU is called, are as wide as what is in them.
#[test]
fn the_matrix_is_as_it_was() -> Outcome {
    as_it_was("matrix", text::matrix)
}

#[test]
fn the_identities_are_as_they_were() -> Outcome {
    as_it_was("identity", text::identity)
}
