//! What a result document proves, read from its JSON as any program would read it.
//!
//! [`placed`] is the one function that says whether the work was where it was asked to be; the tests hold it
//! against wrong expectations too, since a checker that cannot fail proves nothing.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::run::{Done, Ended, run};

/// The document on standard output: it follows the committed schema, names the command that was given, and
/// its status and exit code agree with the process's.
pub fn document(ended: &Ended) -> Result<Value, Box<dyn Error>> {
    let document = ended.json()?;
    valid(&document)?;
    names_its_command(&document)?;
    agrees(&document, ended.code)?;
    Ok(document)
}

/// The document in a file: it follows the committed schema and names the command that was given.
pub fn file(path: &Path) -> Result<Value, Box<dyn Error>> {
    let document = serde_json::from_slice(&fs::read(path)?)?;
    valid(&document)?;
    names_its_command(&document)?;
    Ok(document)
}

/// Whether the document's command is the one that its command line has.
fn names_its_command(document: &Value) -> Result<(), String> {
    let (command, given) = (text(document, "/command"), text(document, "/argv/1"));
    if command == given {
        Ok(())
    } else {
        Err(format!("`{given}` was given, the document is of `{command}`"))
    }
}

/// Whether a result document follows its committed schema.
pub fn valid(document: &Value) -> Result<(), Box<dyn Error>> {
    follows(document, "result-v1.json")
}

/// Whether a document follows this committed schema.
pub fn follows(document: &Value, schema: &str) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/schema").join(schema);
    let schema: Value = serde_json::from_slice(&fs::read(path)?)?;
    let validator = jsonschema::validator_for(&schema)?;
    let faults: Vec<String> =
        validator.iter_errors(document).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// Whether the document's status and exit code are those of a process that ended so.
pub fn agrees(document: &Value, code: Option<i32>) -> Result<(), String> {
    let (status, noted) = (text(document, "/status"), document["exit_code"].as_i64());
    if noted != code.map(i64::from) {
        return Err(format!("the process ended with {code:?}, the document says {noted:?}"));
    }
    let fits = match code {
        Some(0 | 6) => status == "complete",
        Some(1) => status == "failed",
        Some(3 | 5) => status == "partial",
        Some(4) => status == "data-corrupt",
        Some(124) => status == "timed-out",
        Some(129 | 130 | 143 | 152) => status == "interrupted",
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("status {status} with exit code {code:?}")) }
}

/// Whether every case on every rank was measured on the PU and with all pages on the node expected of that
/// rank, before and after; `expected` has a PU and a NUMA node for each rank. Where a node's memory is the
/// device, its pages must be there too.
pub fn placed(document: &Value, expected: &[(u64, u64)]) -> Result<(), String> {
    let cases = list(document, "/cases");
    if cases.is_empty() {
        return Err("there is no case".to_owned());
    }
    for case in cases {
        let (id, ranks) = (text(case, "/id"), list(case, "/ranks"));
        if ranks.len() != expected.len() {
            return Err(format!("{id}: {} ranks", ranks.len()));
        }
        let bytes = number(case, "/bytes");
        let pages = ranges(document) * bytes / 4096;
        for (rank, (pu, node)) in ranks.iter().zip(expected) {
            let number_of_rank = &rank["rank"];
            let outcome = text(rank, "/outcome/status");
            if outcome != "measured" {
                return Err(format!("{id}: rank {number_of_rank} is {outcome}: {}", rank["outcome"]));
            }
            let asked = text(document, &format!("/ranks/{number_of_rank}/asked/device"));
            let device_node = asked.strip_prefix("node ").and_then(|node| node.parse().ok());
            for moment in ["seen_before", "seen_after"] {
                let seen = &rank[moment];
                bound(seen, *pu)
                    .and_then(|()| all_on(&seen["host_pages"], *node, pages))
                    .and_then(|()| {
                        device_node.map_or(Ok(()), |node| all_on(&seen["device_pages"], node, bytes / 4096))
                    })
                    .map_err(|error| format!("{id}: rank {number_of_rank}, {moment}: {error}"))?;
            }
        }
    }
    Ok(())
}

/// How many host ranges a rank has: one where copies go one way only.
fn ranges(document: &Value) -> u64 {
    match list(document, "/settings/directions") {
        [only] if *only == "h2d" || *only == "d2h" => 1,
        _ => 2,
    }
}

fn bound(seen: &Value, pu: u64) -> Result<(), String> {
    if seen["pu"]["value"] == pu && seen["affinity"]["value"] == json!([pu]) {
        return Ok(());
    }
    Err(format!("not bound to PU {pu}: {} (affinity {})", seen["pu"], seen["affinity"]))
}

fn all_on(found: &Value, node: u64, pages: u64) -> Result<(), String> {
    let places = list(found, "/value");
    // Pages that cannot move are looked at one in so many the second time.
    let one_in =
        text(found, "/source").split_once("one page in ").and_then(|(_, more)| more.split(':').next());
    let pages = pages.div_ceil(one_in.and_then(|one_in| one_in.parse().ok()).unwrap_or(1));
    if places.len() == 1 && places[0]["node"] == node && number(&places[0], "/pages") >= pages {
        return Ok(());
    }
    Err(format!("not {pages} pages or more, all on node {node}: {found}"))
}

/// The ids of the cases, in order.
pub fn case_ids(document: &Value) -> Vec<String> {
    list(document, "/cases").iter().map(|case| text(case, "/id").to_owned()).collect()
}

/// Every result of every case.
pub fn results(document: &Value) -> impl Iterator<Item = &Value> {
    list(document, "/cases").iter().flat_map(|case| list(case, "/ranks"))
}

/// The text at a JSON pointer; empty where there is none.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A text without its measured figures, for a snapshot: each number with a point in it, and each percentage,
/// is `#`.
pub fn without_figures(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let length = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        let number = from[..length].trim_end_matches('.');
        rest = &from[number.len()..];
        // Either end of a range, too.
        let is_figure = number.contains('.')
            || rest.trim_start().starts_with('%')
            || rest.starts_with('–')
            || before.ends_with('–');
        out.push_str(before);
        out.push_str(if is_figure { "#" } else { number });
    }
    out + rest
}

/// The number at a JSON pointer; 0 where there is none.
pub fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The list at a JSON pointer; empty where there is none.
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whatever takes result documents takes this one: exports have `word`, the page has `on_page`.
pub fn is_taken_by_all(file: &str, word: &str, on_page: &str) -> Done {
    for to in ["csv", "bmf", "openmetrics", "junit", "influx"] {
        let ended = run(&["export", file, "--to", to]);
        assert!(ended.code == Some(0) && ended.out.contains(word), "{to}: {}{}", ended.out, ended.err);
    }
    let compared = run(&["compare", file, file]);
    assert!(matches!(compared.code, Some(0 | 6)), "{}{}", compared.out, compared.err);
    let history = run(&["history", file, file]);
    assert_ne!(history.code, Some(2), "{}", history.err);
    let page = format!("{file}.html");
    assert_eq!(run(&["report", file, "-o", &page]).code, Some(0));
    assert!(fs::read_to_string(page)?.contains(on_page));
    Ok(())
}
