//! What a terminal shows by default fits a screen, and nothing that is wrong is left out for room.

use std::error::Error;

use render::terminal::{SCREEN, Style, brief};
use report::case::Order;
use report::settings::{Direction, MemoryKind};
use report::{Document, SavedDocument};

use crate::{samples, tables};

type Done = Result<(), Box<dyn Error>>;

fn shown(document: &Document, has_letters: bool) -> String {
    on_screen(document, (100, SCREEN), has_letters)
}

fn on_screen(document: &Document, (width, screen): (usize, usize), has_letters: bool) -> String {
    let style =
        Style { width, color: false, quiet: false, saved_to: Some("run.json".into()), screen: Some(screen) };
    brief(document, &style, &[], has_letters)
}

/// What a terminal of 80 columns and 24 lines has room for below the command and above the prompt.
const SMALL: (usize, usize) = (80, 22);

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
        for (direction, legs) in [(Direction::H2d, 1.0), (Direction::D2h, 1.01), (Direction::RoundTrip, 2.01)]
        {
            let ns = |rate: f64| (1193.0 + bytes as f64 / rate) * legs;
            let times = [ns(55.3), ns(27.1)];
            let made =
                samples::case(&document, direction, bytes, MemoryKind::Pinned, Order::Simultaneous, &times);
            document.cases.push(made);
        }
    }
    document
}

/// Documents of runs that ended well, by name.
fn runs() -> Result<Vec<(String, Document)>, Box<dyn Error>> {
    let mut documents: Vec<(String, Document)> = vec![
        ("one rank".to_owned(), samples::one_rank()),
        ("eight ranks".to_owned(), samples::eight_ranks()),
        ("case study".to_owned(), samples::case_study()),
        ("host".to_owned(), samples::host()),
        ("sweep".to_owned(), samples::sweep()),
        ("sweep of two ranks".to_owned(), sweep_of_two_ranks()),
        ("16 nodes".to_owned(), samples::several_nodes(16, 8)),
    ];
    let names = [
        "contend",
        "eight-gpus",
        "kernels",
        "laplace",
        "loaded",
        "lumi-g",
        "moving",
        "peers",
        "pieces",
        "pingpong",
    ];
    for name in names.into_iter().chain(["suite", "sweep"]) {
        documents.push((name.to_owned(), gallery(name)?));
    }
    Ok(documents)
}

#[test]
fn a_run_of_any_kind_is_a_screen_at_most_and_begins_with_its_answer() -> Done {
    let all = runs()?;
    let sizes = [(100, SCREEN), SMALL];
    for ((width, screen), (name, document)) in
        sizes.iter().flat_map(|size| all.iter().map(move |run| (*size, run)))
    {
        let text = on_screen(document, (width, screen), true);
        assert!(text.lines().count() <= screen, "{name}: {} lines\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= width), "{name}: {text}");
        let first = text.lines().next().unwrap_or("");
        assert!(
            !first.starts_with("numabench ") && !first.is_empty(),
            "{name} begins with its answer: {text}"
        );
        let last = text.lines().rev().take(3).collect::<Vec<_>>().join(" ");
        assert!(last.contains("--full"), "{name} says where the rest is: {text}");
    }
    Ok(())
}

#[test]
fn shades_are_explained_where_there_are_shades() -> Done {
    for (name, document) in runs()? {
        for size in [(100, SCREEN), SMALL] {
            let text = on_screen(&document, size, true);
            let legend = "█ within 3 % of the best";
            let shades = text.lines().filter(|line| !line.contains(legend)).collect::<Vec<_>>().concat();
            assert_eq!(text.contains(legend), shades.contains(['█', '▓', '▒', '░']), "{name}: {text}");
        }
    }
    Ok(())
}

#[test]
fn an_answer_that_has_scrolled_away_stands_once_more_in_the_last_line() {
    let document = tables::troubled();
    let text = on_screen(&document, SMALL, true);
    assert!(text.lines().count() > SMALL.1, "what is wrong is not left out: {text}");
    let (first, last) = (text.lines().next().unwrap_or(""), text.lines().next_back().unwrap_or(""));
    assert!(last.starts_with("Answer: ") && last.contains(&first[..30]), "{text}");
    assert!(last.chars().count() <= SMALL.0, "{last}");
    let whole = on_screen(&samples::one_rank(), SMALL, true);
    assert!(!whole.contains("Answer: "), "{whole}");
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
    assert!(
        !plain.contains('┤') && plain.contains("GB/s of 8 of 29 sizes"),
        "no curve without its letters: {plain}"
    );
}

#[test]
fn what_is_wrong_is_shown_whatever_its_number() {
    let text = shown(&tables::troubled(), true);
    for words in ["FAILED at measuring", "DATA CORRUPT", "INVALID", "warning: ", "Status: "] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// What the gallery's runs look like on the two screens that most terminals have, looked at by a person.
#[test]
fn screens_of_the_gallery_are_those_that_were_looked_at() -> Done {
    let all = runs()?;
    for (name, size) in [("80x24", SMALL), ("120x40", (120, 38))] {
        let screen =
            |(name, document): &(String, Document)| format!("── {name}\n{}", on_screen(document, size, true));
        let screens: Vec<String> = all.iter().map(screen).collect();
        insta::assert_snapshot!(format!("screens_{name}"), screens.join("\n"));
    }
    Ok(())
}
