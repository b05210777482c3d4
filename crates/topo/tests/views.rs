//! Every view of eight machines of the project's own (`machines`), word for word (snapshots): those that
//! differ most in what there is to show. A change of a view shows as a diff. What holds of every machine is
//! `every_machine`'s.
//!
//! A view is one row of [`VIEWS`]. The model as JSON is shown in digest: sets as ranges, what fits on a line
//! on one. That the options of `numabench topo` give these views is tested with the binary.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};
use serde_json::Value;
use stats::IdSet;
use topo::model::{Topology, TopologySource};
use topo::{Survey, survey_xml, text};

type Outcome = Result<(), Box<dyn Error>>;
type View = fn(&Survey, usize) -> String;

/// The views: name in snapshots, what makes it, whether it keeps within the columns.
/// A table of devices by devices, and one of everything a GPU is called, are as wide as what is in them.
const VIEWS: [(&str, View, bool); 7] = [
    ("default", text::render, true),
    ("numa", text::numa, true),
    ("tree", text::tree, true),
    ("matrix", text::matrix, false),
    ("identity", text::identity, false),
    ("json", digest, false),
    ("svg", picture, false),
];

/// The machines whose views are kept, with what only they show.
const KEPT: [(&str, &str); 8] = [
    ("lumi-g-low-noise", "GPUs on single L3s, reserved cores, Slingshot, a link that is not PCIe"),
    (
        "hgx-h100",
        "a saved process with an affinity, a memory policy and a limit, PCIe links, huge pages, switches",
    ),
    ("superchips", "memory of GPUs as nodes; no L3, no distances, no host name"),
    ("knl", "memory without CPUs, four PUs a core, no device"),
    ("job-share", "what is outside a cpuset, a node that is not allowed"),
    ("two-packages-gpus", "each way to know a locality, and none; offline PUs"),
    ("eight-gpus-nvswitch", "what NVML said, NVLinks through switches, CUDA_VISIBLE_DEVICES"),
    ("four-gcds-xgmi", "xGMI by the driver's nodes, device files, ROCR_VISIBLE_DEVICES"),
];

/// What a picture says. The path's length decides where the words below the title are broken, so it is one
/// for all.
fn picture(survey: &Survey, _width: usize) -> String {
    let source = TopologySource::XmlFile { path: "FILE".to_owned() };
    let topology = Topology { source, ..survey.topology.clone() };
    let drawn = topo::svg::svg(&Survey { topology, ..survey.clone() });
    outline(&drawn).unwrap_or_else(|error| format!("no picture: {error}"))
}

/// The words of a picture as its boxes are nested, a line a box; a core's PUs are one line.
fn outline(picture: &str) -> Result<String, Box<dyn Error>> {
    let document = Document::parse(picture)?;
    let mut lines = String::new();
    parts(document.root_element(), "g").for_each(|sheet| outline_of(sheet, 0, &mut lines));
    Ok(lines)
}

fn outline_of(group: Node<'_, '_>, depth: usize, lines: &mut String) {
    let is_core =
        parts(group, "title").any(|title| title.text().is_some_and(|title| title.starts_with("core ")));
    let words: Vec<&str> = match is_core {
        true => group
            .descendants()
            .filter(|part| part.has_tag_name((SVG, "text")))
            .filter_map(|part| part.text())
            .collect(),
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

fn parts<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name((SVG, name)))
}

fn fixtures() -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            all.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path));
        }
    }
    all.sort();
    Ok(all)
}

/// The survey of a file, with what another checkout or another hwloc has otherwise taken out.
fn survey(name: &str, path: &Path) -> Result<Survey, Box<dyn Error>> {
    let mut survey = survey_xml(path)?;
    survey.topology.source = TopologySource::XmlFile { path: format!("{name}.xml") };
    survey.topology.hwloc_version = "VERSION".to_owned();
    Ok(survey)
}

#[test]
fn every_view_of_the_machines_that_are_kept_is_as_it_was() -> Outcome {
    for (name, shows) in KEPT {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.xml"));
        let survey = survey(name, &path).map_err(|error| format!("{name} ({shows}): {error}"))?;
        for (view_name, view, _) in VIEWS {
            insta::assert_snapshot!(format!("{view_name}_{name}"), view(&survey, 100));
        }
    }
    Ok(())
}

#[test]
fn every_view_keeps_within_the_columns() -> Outcome {
    let fixtures = fixtures()?;
    assert!(fixtures.len() >= 28, "{}", fixtures.len());
    for (name, path) in fixtures {
        let survey = survey(&name, &path)?;
        for (view_name, view, _) in VIEWS.iter().filter(|(.., within)| *within) {
            for width in [60, 80, 100, 120] {
                let text = view(&survey, width);
                let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                // A table of ids has a least width; 80 is what every view promises.
                assert!(
                    widest <= width.max(80),
                    "{view_name} of {name} at {width}: {widest} columns\n{text}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn no_view_prints_what_a_terminal_would_obey() -> Outcome {
    for (name, path) in fixtures()? {
        let survey = survey(&name, &path)?;
        for (view_name, view, _) in VIEWS {
            let text = view(&survey, 100);
            // The range of marks that steer text also holds the ellipsis, which a picture cuts names with,
            // and the dash of ranges.
            let steers = |c: &char| ('\u{200b}'..='\u{206f}').contains(c) && !['…', '–'].contains(c);
            let obeyed = text.chars().find(|c| c.is_control() && *c != '\n' || steers(c));
            assert_eq!(obeyed, None, "{view_name} of {name}\n{text:?}");
        }
    }
    Ok(())
}

#[test]
fn every_snapshot_is_one_of_a_view_and_a_machine_that_is_kept() -> Outcome {
    let names =
        VIEWS.iter().flat_map(|(view, ..)| KEPT.map(|(name, _)| format!("views__{view}_{name}.snap")));
    let wanted: BTreeSet<String> = names.collect();
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("views__") && name.ends_with(".snap") {
            there.insert(name);
        }
    }
    let (missing, orphans): (Vec<_>, Vec<_>) =
        (wanted.difference(&there).collect(), there.difference(&wanted).collect());
    assert!(missing.is_empty() && orphans.is_empty(), "missing: {missing:?}, of nothing: {orphans:?}");
    Ok(())
}

/// Every key of a document by its path, with the type of what it holds, and the words of those that name one
/// of several.
fn names(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                // What variables are called is theirs.
                let key = if path.ends_with(".variables") { "*" } else { key };
                names(field, &format!("{path}.{key}"), all);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, &format!("{path}[]"), all)),
        Value::Null => {}
        Value::String(word)
            if ["kind", "rung", "status", "mode", "runtime"].iter().any(|key| path.ends_with(key)) =>
        {
            all.insert(format!("{path}: {word}"));
        }
        Value::String(_) => _ = all.insert(format!("{path}: text")),
        Value::Number(_) => _ = all.insert(format!("{path}: number")),
        Value::Bool(_) => _ = all.insert(format!("{path}: yes or no")),
    }
}

#[test]
fn the_json_of_the_machines_that_are_kept_has_every_name_but_these() -> Outcome {
    let (mut kept, mut others) = (BTreeSet::new(), BTreeSet::new());
    for (name, path) in fixtures()? {
        let is_kept = KEPT.iter().any(|(kept, _)| *kept == name);
        names(
            &serde_json::to_value(survey(&name, &path)?)?,
            "",
            if is_kept { &mut kept } else { &mut others },
        );
    }
    let only_others: Vec<&String> = others.difference(&kept).collect();
    let expected = [
        ".gpus[].partition.number: number",
        ".gpus[].partition.of: number",
        ".nics[].kind: fabric",
        ".nics[].kind: other",
        ".nics[].locality.rung: unknown",
        ".nodes[].kind: cpu-only",
        ".nodes[].kind: empty",
        ".process.policy.mode: default",
        ".slow.pus[]: number",
        ".slow.reason: text",
        ".virtual_machine: text",
    ];
    assert_eq!(only_others, expected);
    Ok(())
}

/// Of more items than this in a list, the digest has the first two and the last: every one of all machines is
/// held against the file in `every_machine`.
const MANY: usize = 6;

/// The model as JSON, short enough to be read.
fn digest(survey: &Survey, width: usize) -> String {
    let mut out = String::new();
    match serde_json::to_value(survey) {
        Ok(value) => write_value(&mut out, &value, "", width),
        Err(error) => out = error.to_string(),
    }
    out + "\n"
}

fn write_value(out: &mut String, value: &Value, indent: &str, width: usize) {
    let line = one_line(value);
    let deeper = format!("{indent}  ");
    match value {
        _ if indent.len() + line.len() <= width => out.push_str(&line),
        Value::Array(items) if items.iter().all(Value::is_number) => out.push_str(&line),
        Value::Array(items) => {
            out.push_str("[\n");
            for (at, item) in items.iter().enumerate() {
                match (items.len() > MANY, at) {
                    (true, 2) => {
                        let _ = writeln!(out, "{deeper}... {} between", items.len() - 3);
                        continue;
                    }
                    (true, at) if at > 2 && at + 1 < items.len() => continue,
                    _ => {}
                }
                out.push_str(&deeper);
                write_value(out, item, &deeper, width);
                out.push('\n');
            }
            let _ = write!(out, "{indent}]");
        }
        Value::Object(fields) => {
            out.push_str("{\n");
            for (name, field) in fields {
                let _ = write!(out, "{deeper}{name}: ");
                write_value(out, field, &deeper, width);
                out.push('\n');
            }
            let _ = write!(out, "{indent}}}");
        }
        _ => out.push_str(&line),
    }
}

/// A value on one line; an ascending list of ids as a set.
fn one_line(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => {
            let ids: Vec<u32> =
                items.iter().filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok()).collect();
            if !ids.is_empty() && ids.len() == items.len() && ids.is_sorted_by(|one, next| one < next) {
                return format!("[{}]", ids.into_iter().collect::<IdSet>());
            }
            format!("[{}]", joined(items.iter().map(one_line).collect()))
        }
        Value::Object(fields) => {
            format!(
                "{{{}}}",
                joined(fields.iter().map(|(name, field)| format!("{name}: {}", one_line(field))).collect())
            )
        }
        other => other.to_string(),
    }
}
