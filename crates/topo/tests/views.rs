//! Every view of the project's own files, word for word (snapshots). A change of a view shows as a diff of one.

use std::error::Error;
use std::path::Path;

use roxmltree::{Document, Node};
use topo::model::{Source, Topology};
use topo::{Survey, survey_xml, text};

type Outcome = Result<(), Box<dyn Error>>;
type View = fn(&Survey, usize) -> String;

const FIXTURES: [&str; 5] =
    ["two-packages-gpus", "superchips", "eight-gpus-nvswitch", "four-gcds-xgmi", "nvlink-matrix"];

/// The view of a file, a picture as its words, with what another checkout has otherwise taken out.
fn seen(fixture: &str, view: View, width: usize) -> Result<String, Box<dyn Error>> {
    let name = format!("{fixture}.xml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(&name);
    let survey = survey_xml(&path)?;
    let version = format!("hwloc {}", survey.topology.hwloc_version);
    Ok(view(&survey, width).replace(&path.display().to_string(), &name).replace(&version, "hwloc VERSION"))
}

/// The words of a picture as its boxes are nested, a line a box; a core's PUs are one line.
fn outline(picture: &str) -> Result<String, Box<dyn Error>> {
    let document = Document::parse(picture)?;
    let mut lines = String::new();
    parts(document.root_element(), "g").for_each(|sheet| outline_of(sheet, 0, &mut lines));
    Ok(lines)
}

fn outline_of(group: Node<'_, '_>, depth: usize, lines: &mut String) {
    let is_core = parts(group, "title").any(|title| title.text().is_some_and(|title| title.starts_with("core ")));
    let words: Vec<&str> = match is_core {
        true => {
            group.descendants().filter(|part| part.has_tag_name((SVG, "text"))).filter_map(|part| part.text()).collect()
        }
        false => parts(group, "text").filter_map(|text| text.text()).collect(),
    };
    if !words.is_empty() {
        lines.push_str(&format!("{}{}\n", "  ".repeat(depth), words.join(" | ")));
    }
    if !is_core {
        parts(group, "g").for_each(|part| outline_of(part, depth + usize::from(!words.is_empty()), lines));
    }
}

const SVG: &str = "http://www.w3.org/2000/svg";

fn parts<'a, 'input: 'a>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name((SVG, name)))
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

#[test]
fn what_the_picture_says_is_as_it_was() -> Outcome {
    // The path's length decides where the words below the title are broken.
    let picture: View = |survey, _| {
        let source = Source::XmlFile { path: "FILE".to_owned() };
        let topology = Topology { source, ..survey.topology.clone() };
        topo::svg::svg(&Survey { topology, ..survey.clone() })
    };
    for fixture in FIXTURES {
        insta::assert_snapshot!(format!("svg_{fixture}"), outline(&seen(fixture, picture, 0)?)?);
    }
    Ok(())
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
