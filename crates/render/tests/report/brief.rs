//! What a terminal shows by default fits a screen, and nothing that is wrong is left out for room.

use std::error::Error;

use render::terminal::{Style, brief};
use report::case::Order;
use report::settings::{Direction, MemoryKind};
use report::{Document, SavedDocument};

use crate::{samples, tables};

type Done = Result<(), Box<dyn Error>>;

fn shown(document: &Document, has_letters: bool) -> String {
    let style = Style { width: 100, color: false, quiet: false, saved_to: Some("run.json".into()) };
    brief(document, &style, &[], has_letters)
}

fn gallery(name: &str) -> Result<Document, Box<dyn Error>> {
    let path = format!("{}/../../docs/gallery/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Ok(Document::from_json(&std::fs::read(path)?)?)
}

/// Two GPUs, 29 sizes and three directions: 310 lines once.
fn sweep_of_two_ranks() -> Document {
    let mut document = samples::sweep();
    document.cases.clear();
    document.settings.memory.truncate(1);
    document.devices.push(samples::device(1, 0xc6, 3));
    document.ranks.push(samples::rank(1, 57, 3, "0000:c6:00.0"));
    document.nodes[0].ranks.0.insert(1);
    for bytes in document.settings.sizes_bytes.clone() {
        for (direction, legs) in [(Direction::H2d, 1.0), (Direction::D2h, 1.01), (Direction::RoundTrip, 2.01)] {
            let ns = |rate: f64| (1193.0 + bytes as f64 / rate) * legs;
            let times = [ns(55.3), ns(27.1)];
            let made = samples::case(&document, direction, bytes, MemoryKind::Pinned, Order::Simultaneous, &times);
            document.cases.push(made);
        }
    }
    document
}

#[test]
fn a_run_of_any_kind_is_forty_lines_at_most_and_begins_with_its_answer() -> Done {
    let mut documents: Vec<(String, Document)> = vec![
        ("one rank".to_owned(), samples::one_rank()),
        ("eight ranks".to_owned(), samples::eight_ranks()),
        ("case study".to_owned(), samples::case_study()),
        ("host".to_owned(), samples::host()),
        ("sweep".to_owned(), samples::sweep()),
        ("sweep of two ranks".to_owned(), sweep_of_two_ranks()),
        ("16 nodes".to_owned(), samples::several_nodes(16, 8)),
    ];
    for name in ["contend", "eight-gpus", "pingpong", "sweep"] {
        documents.push((name.to_owned(), gallery(name)?));
    }
    for (name, document) in documents {
        let text = shown(&document, true);
        assert!(text.lines().count() <= 40, "{name}: {} lines\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: {text}");
        let first = text.lines().next().unwrap_or("");
        assert!(!first.starts_with("numabench ") && !first.is_empty(), "{name} begins with its answer: {text}");
        let last = text.lines().rev().take(3).collect::<Vec<_>>().join(" ");
        assert!(last.contains("--full"), "{name} says where the rest is: {text}");
    }
    Ok(())
}

#[test]
fn a_sweep_is_a_small_curve_and_a_few_sizes_with_the_digits_that_intervals_carry() {
    let text = shown(&sweep_of_two_ranks(), true);
    assert!(text.contains("GB/s over the size of a copy; at the right, from the top: GPU 0"), "{text}");
    let curve = text.lines().filter(|line| line.contains('┤') || line.contains('┼')).count();
    assert!((8..=10).contains(&curve), "{curve} lines of it: {text}");
    assert!(text.contains("GB/s of 8 of 29 sizes, the slowest and the fastest of 6"), "{text}");
    let row = text.lines().find(|line| line.starts_with("    1 GiB")).unwrap_or("");
    let longest = row.split_whitespace().map(|cell| cell.replace('.', "").len()).max();
    assert!(row.contains("55.") && longest <= Some(4), "{row}");
    let plain = shown(&sweep_of_two_ranks(), false);
    assert!(!plain.contains('┤') && plain.contains("GB/s of 8 of 29 sizes"), "no curve without its letters: {plain}");
}

#[test]
fn what_is_wrong_is_shown_whatever_its_number() {
    let text = shown(&tables::troubled(), true);
    for words in ["FAILED at measuring", "DATA CORRUPT", "INVALID", "warning: ", "Status: "] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
