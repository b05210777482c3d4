//! The HTML report: the answer before the picture before the tables, nothing of a document becomes markup,
//! and it stays small and quick. How it looks in a browser is tested in `browser`.

use std::collections::BTreeSet;

use analysis::node_run::of_document;
use analysis::nodes::nodes;
use render::html::page;
use report::Document;
use report::case::{CaseStatus, Order};
use report::document::Status;
use report::loaded_latency::{LoadedLatency, LoadedPoint, TwiceIdle};
use report::matrix::Compares;
use report::result::Outcome;
use report::settings::{Direction, MemoryKind};
use report::sweep_fit::{SweepDip, SweepFit};
use stats::IdSet;
use stats::interval::Interval;

use crate::made::{Done, between_gpus, document};

pub const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

pub fn runs(documents: Vec<Document>) -> Vec<(String, Document)> {
    documents.into_iter().enumerate().map(|(at, document)| (format!("run-{at}.json"), document)).collect()
}

/// The markup of the figure with this title.
pub fn figure<'t>(html: &'t str, title: &str) -> Result<&'t str, String> {
    let rest = html.split(&format!("<figcaption>{title}")).nth(1).ok_or(format!("no figure {title:?}"))?;
    rest.split("</figure>").next().ok_or("no end".to_owned())
}

#[test]
fn the_answer_names_the_slow_gpu_the_picture_shows_it_and_tables_are_folded() -> Done {
    let mut slow = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    slow.slower_twins = analysis::slower_twins::slower_twins(&slow);
    let text = page(&runs(vec![slow]));
    let verdict = text.find("<p class=\"verdict finding\">GPU 1 (0000:c6:00.0), rank 1, is 49 % slower");
    let picture = text.find("<svg").ok_or("a picture")?;
    assert!(verdict.ok_or("a verdict")? < picture && picture < text.find("<details").ok_or("folded tables")?);
    assert!(!text[..picture].contains("<table"), "no table before the picture");
    let bars = figure(&text, "128 MiB of each rank")?;
    assert!(bars.contains("GPU 1 H2D: 12.3") && bars.contains("▼ below its twins"), "{bars}");
    for name in
        ["H2D, 128 MiB, pinned", "Placement of each rank, asked and seen", "Every block", "Environment"]
    {
        assert!(text.contains(name), "{name}");
    }
    assert!(
        !text.contains("simultaneous/pinned") && !text.contains("alone/pinned"),
        "names that a person says"
    );
    Ok(())
}

#[test]
fn an_answer_that_the_figures_do_not_decide_is_neither_good_nor_bad() -> Done {
    let mut undecided = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    undecided.exit_code = Some(6);
    assert!(page(&runs(vec![undecided])).contains("class=\"verdict undecided\""));
    assert!(page(&runs(vec![document(&[24.3e9, 24.3e9], &BOTH, 1)?])).contains("class=\"verdict\""));
    Ok(())
}

#[test]
fn nothing_that_a_document_says_becomes_markup_and_nothing_is_asked_for() -> Done {
    let mut nasty = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    let text = "<script>alert(1)</script>\"'&\u{1}<img src=x>";
    nasty.environment.hostname = text.into();
    nasty.devices[0].name = text.into();
    nasty.ranks[0].host = text.into();
    nasty.argv.push(text.into());
    nasty.cases[0].id = text.into();
    nasty.cases[0].group = Some(text.into());
    nasty.rows = report::rows::rows(&nasty);
    let html = page(&runs(vec![nasty.clone(), nasty]));
    for markup in ["<script", "<img", "src=", "href=", "url(", "@import", "\u{1}"] {
        assert!(!html.replace("src=x&gt;", "").contains(markup), "{markup}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)"));
    Ok(())
}

#[test]
fn several_documents_show_what_got_worse_beside_what_does_not_matter_and_when() -> Done {
    let days: Result<Vec<Document>, _> =
        (0..12).map(|day| document(&[24.3e9, if day < 6 { 24.3e9 } else { 12.3e9 }], &BOTH, day)).collect();
    let mut days = days?;
    for (day, document) in days.iter_mut().enumerate() {
        document.started_at = format!("2026-02-{:02}T03:00:00.000Z", day + 1);
    }
    // The first and the last are so by time, in whatever order they are given.
    let text = page(&runs(days).into_iter().rev().collect::<Vec<_>>());
    assert!(text.contains(
        "<p class=\"verdict undecided\">run-11.json against run-0.json: SUSPECT: 2 of 4 cases; 49."
    ));
    let changes = figure(&text, "What changed, the worst first")?;
    assert!(
        changes.contains("does not matter (±3.00 %)") || changes.contains("does not matter"),
        "{changes}"
    );
    assert!(
        changes.find("−49 %").ok_or("the loss")?
            < changes.find("SAME").ok_or("and those that are the same")?
    );
    assert!(text.contains("<li>2026-02-07T03:00:00.000Z: "), "when it changed");
    assert!(text.contains("changed 2026-02-07"), "and a line there");
    Ok(())
}

#[test]
fn many_nodes_are_one_page_that_names_the_slow_one_marks_its_cells_and_keeps_runs_folded() -> Done {
    let of = |at: u64, run: u64| -> Result<Document, Box<dyn std::error::Error>> {
        let mut document = document(&[24.3e9, if at == 5 { 12.3e9 } else { 24.3e9 }], &BOTH, at * 3 + run)?;
        document.environment.hostname = format!("nid{at:06}");
        document.ranks.iter_mut().for_each(|rank| rank.host = format!("nid{at:06}"));
        document.nodes.iter_mut().for_each(|node| node.host = format!("nid{at:06}"));
        document.started_at = format!("2026-02-01T0{run}:00:00.000Z");
        document.rows = report::rows::rows(&document);
        Ok(document)
    };
    let all: Result<Vec<Document>, _> = (0..8).flat_map(|at| (0..3).map(move |run| of(at, run))).collect();
    let runs = runs(all?);
    let of_nodes = || runs.iter().flat_map(|(_, document)| of_document(document)).collect();
    let tool = runs[0].1.tool.clone();
    let text = render::html::nodes(&nodes(tool.clone(), of_nodes(), Vec::new()), &runs);
    let alike = "7 nodes alike (none more than 10 % worse than normal in most runs).";
    let verdict = format!("<p class=\"verdict finding\">1 SLOW: nid000005; {alike}");
    let verdict = text.find(&verdict).ok_or("a verdict")?;
    let picture = figure(&text, "Every node&#39;s figures")?;
    assert!(picture.contains("nid000005, H2D 128 MiB: ") && picture.contains(", slow</title>"), "{picture}");
    assert!(verdict < text.find("<svg").ok_or("a picture")?);
    let cells: Vec<&str> = text.split("<td class=\"off\"").skip(1).collect();
    assert_eq!(cells.len(), 2, "each direction of the slow node, and no other");
    assert!(
        cells[0].contains("GB/s is normal"),
        "and under the pointer what is normal: {}",
        &cells[0][..200]
    );
    let first = text.find("<th scope=\"row\">nid0").ok_or("rows")?;
    assert!(text[first..].starts_with("<th scope=\"row\">nid000005</th>"), "the slow node comes first");
    let folded = text.find("<summary>nid000005: ").ok_or("its runs")?;
    assert!(folded < text.find("<summary>nid000000: ").ok_or("others")?, "and so do its runs");
    assert!(text.contains("12 more runs"), "of 24 runs a dozen are whole");
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    // What a check or doctor says needs no result document.
    let alone = render::html::nodes(&nodes(tool, of_nodes(), Vec::new()), &[]);
    assert!(alone.contains("1 SLOW: nid000005") && !alone.contains("<summary>nid"));
    Ok(())
}

#[test]
fn two_hundred_cases_are_less_than_a_megabyte_and_every_element_is_closed() -> Done {
    let mut large = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    let like = large.cases.clone();
    large.cases = (0..100)
        .flat_map(|at| {
            like.iter().cloned().map(move |mut case| {
                case.bytes = (1 << 20) + at;
                case.id = report::case::Case::id_for(case.order, case.memory, case.direction, case.bytes);
                case
            })
        })
        .collect();
    large.rows = report::rows::rows(&large);
    let text = page(&runs(vec![large]));
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    for element in [
        "svg", "table", "tr", "td", "th", "div", "text", "p", "details", "main", "h2", "title", "ul", "ol",
        "li", "figure",
    ] {
        let opened =
            text.matches(&format!("<{element}>")).count() + text.matches(&format!("<{element} ")).count();
        assert_eq!(opened, text.matches(&format!("</{element}>")).count(), "{element}");
    }
    Ok(())
}

#[test]
fn a_sweep_is_dots_with_their_band_the_fitted_line_and_a_mark_at_a_dip() -> Done {
    let mut sweep = document(&[24.3e9, 12.3e9], &[Direction::H2d], 1)?;
    sweep.ranks.truncate(1);
    let like = sweep.cases[0].clone();
    sweep.cases = (0..5)
        .map(|at| {
            let mut case = like.clone();
            case.ranks.truncate(1);
            (case.order, case.bytes) = (Order::Alone, 4096 << (2 * at));
            case.id = report::case::Case::id_for(case.order, case.memory, case.direction, case.bytes);
            case
        })
        .collect();
    sweep.rows = report::rows::rows(&sweep);
    let ends = |low, high| Interval { low, high, confidence: 0.95 };
    sweep.fits = vec![SweepFit {
        rank: 0,
        order: Order::Alone,
        memory: MemoryKind::Pinned,
        direction: Direction::H2d,
        sizes: 5,
        latency_ns: 2050.0,
        latency_interval_ns: ends(2040.0, 2060.0),
        bytes_per_s: 24e9,
        interval_bytes_per_s: ends(23.9e9, 24.1e9),
        half_rate_bytes: 49_200.0,
        dips: vec![SweepDip { bytes: 65_536, ratio: 0.8 }],
        lines: Vec::new(),
        misfit: None,
    }];
    let text = page(&runs(vec![sweep]));
    assert!(figure(&text, "Rate over")?.contains("limit of the link, "), "and what the link allows");
    for title in ["Rate over the size of a copy", "Time over the size of a copy"] {
        let picture = figure(&text, title)?;
        assert!(picture.contains("H2D: latency 2.05 µs, peak 24.0 GB/s, half of it at 48 KiB"), "{picture}");
        assert_eq!(
            picture.matches("; 20 % slower than its neighbours</title></path>").count(),
            2,
            "one a width"
        );
        assert_eq!(picture.matches("<circle").count(), 2 * 4, "the others are dots");
        let fitted = picture.matches("stroke=\"#1f77c9\" stroke-width=\"1.8\" stroke-dasharray").count();
        assert_eq!(fitted, 2, "the fitted line in the colour of its dots");
        assert!(picture.contains(">size of a copy</text>"), "an axis says what it counts");
    }
    Ok(())
}

#[test]
fn loads_beside_traffic_are_a_curve_and_one_size_in_several_rows_is_none() -> Done {
    let mut loaded = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    let like = loaded.cases[0].clone();
    for group in ["alone", "2 GPUs", "4 GPUs"] {
        let id = format!("{}/{group}", like.id);
        loaded.cases.push(report::case::Case { id, group: Some(group.into()), ..like.clone() });
    }
    loaded.rows = report::rows::rows(&loaded);
    let without = page(&runs(vec![loaded.clone()]));
    assert!(!without.contains("over the size of a copy") && !without.contains("Latency of a load beside"));
    let point = |name: &str, gb: f64, ns: f64| LoadedPoint {
        name: name.into(),
        bytes_per_s: gb * 1e9,
        interval_bytes_per_s: None,
        latency_ns: ns,
        interval_ns: Some(Interval { low: ns * 0.9, high: ns * 1.1, confidence: 0.95 }),
    };
    loaded.loaded_latency = vec![LoadedLatency {
        place: "node 0".into(),
        pu: 0,
        memory_node: 0,
        traffic: Direction::Read,
        traffic_pus: IdSet::from_iter([1]),
        points: vec![point("idle", 0.0, 100.0), point("full read traffic", 40.0, 200.0)],
        twice_idle: TwiceIdle::Undecided,
        knee_bytes_per_s: None,
    }];
    let text = page(&runs(vec![loaded]));
    let picture = figure(&text, "Latency of a load beside traffic")?;
    assert!(picture.contains("node 0, full read traffic: 200 ns at 40.0 GB/s"), "{picture}");
    assert!(picture.contains("twice the idle latency, 200 ns"), "{picture}");
    assert_eq!(picture.matches("<circle").count(), 2 * 2, "a dot each, at both widths");
    Ok(())
}

#[test]
fn cells_have_the_colours_of_one_scale_and_a_gpus_own_memory_is_no_measure_of_pairs() -> Done {
    // The second GPU's own memory at ten times the rate of pairs, and of the first one's.
    let text = page(&runs(vec![between_gpus(2, 0.1)?]));
    let coloured = |colour: &str| text.matches(&format!("<td style=\"background-color:{colour}")).count();
    assert_eq!(coloured("#fde725"), 2, "both pairs are the best: {text}");
    assert_eq!(text.matches("<td style").count(), 2, "and what a GPU copies within itself has no colour");
    let slower = page(&runs(vec![between_gpus(3, 1.0)?]));
    assert_eq!(slower.matches("background-color:#fde725;color:#000\" title=\"from GPU").count(), 6);
    Ok(())
}

/// The page up to its first picture.
fn before_the_picture(html: &str) -> &str {
    html.split("<figure>").next().unwrap_or_default()
}

#[test]
fn one_sentence_stands_before_the_picture_and_the_others_behind_it() -> Done {
    let mut document = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    document.verdict = (0..12).map(|at| format!("Sentence {at}.")).collect();
    let text = page(&runs(vec![document]));
    let before = before_the_picture(&text);
    assert!(before.contains("Sentence 0.") && !before.contains("Sentence 1."), "{before}");
    let behind = text.find("What else was found").ok_or("a heading")?;
    assert!(text.find("</figure>").ok_or("a picture")? < behind, "behind the first picture");
    assert!(behind < text.find("Sentence 11.").ok_or("the last")?, "no sentence is lost");
    assert!(text.contains("<summary>3 more sentences</summary>"));
    // What is folded away is on paper all the same.
    let print = text.split("@media print").nth(1).ok_or("rules for paper")?;
    assert!(print.contains("details::details-content { content-visibility: visible"), "{print}");
    Ok(())
}

#[test]
fn a_lost_case_stands_before_the_picture_also_where_a_gpu_is_slow() -> Done {
    let mut lost = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    lost.status = Status::Partial;
    lost.cases[1].status = CaseStatus::Invalid;
    lost.rows = report::rows::rows(&lost);
    lost.verdict = vec!["The other finding.".to_owned()];
    let sentence = "PARTIAL: 1 of 2 cases has no figure (D2H 128 MiB)";
    lost.verdict = analysis::unfinished::with_ending(&lost, lost.verdict.clone());
    let text = page(&runs(vec![lost.clone()]));
    assert!(
        text.contains(&format!("<p class=\"verdict finding\">{sentence}")),
        "{}",
        before_the_picture(&text)
    );
    assert!(!text.contains("Partial. 2 cases on 2 ranks: 2 invalid, 2 measured.</p>"), "it is said once");

    let twin = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    lost.slower_twins = analysis::slower_twins::slower_twins(&twin);
    let text = page(&runs(vec![lost]));
    let before = before_the_picture(&text);
    assert!(before.contains("GPU 1 (0000:c6:00.0), rank 1") && before.contains(sentence), "{before}");
    assert_eq!(text.matches(sentence).count(), 1);
    Ok(())
}

#[test]
fn a_case_that_had_no_time_makes_the_first_line_say_partial_and_what_to_do() -> Done {
    let mut lost = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    lost.status = Status::Partial;
    lost.status_reason = None;
    let skipped = Outcome::Skipped { reason: report::result::NO_BLOCK.to_owned() };
    lost.cases[1].ranks.iter_mut().for_each(|result| result.outcome = skipped.clone());
    lost.cases[1].status = CaseStatus::Skipped;
    lost.rows = report::rows::rows(&lost);
    let said = analysis::unfinished::with_ending(&lost, vec!["H2D 24.3 GB/s.".to_owned()]);
    insta::assert_snapshot!(said.join("\n"), @r"
    PARTIAL: 1 of 2 cases has no figure (D2H 128 MiB): the run ended before its first block. The other figures are unaffected. Give a longer --max-time.
    H2D 24.3 GB/s.
    ");
    Ok(())
}

/// A matrix of two NUMA nodes' memory and two GPUs, of which the platform declares these nodes near to both.
fn near_to(nodes: &[u32]) -> Result<String, Box<dyn std::error::Error>> {
    let mut document = between_gpus(2, 1.0)?;
    document.command = "matrix".to_owned();
    let matrix = &mut document.matrices[0];
    matrix.compares = Compares::Rows;
    for (at, row) in matrix.rows.iter_mut().enumerate() {
        (row.name, row.memory_node) = (format!("node {at}"), Some(at as u32));
    }
    for column in &mut matrix.columns {
        column.declared_nodes = report::Known::value(nodes.iter().copied().collect(), "the kernel");
    }
    Ok(page(&runs(vec![document])))
}

#[test]
fn near_memory_is_framed_where_that_tells_it_from_other_memory() -> Done {
    let framed = "Framed: the memory that the platform declares near";
    let one = near_to(&[0])?;
    assert!(one.contains(framed) && one.matches("<td class=\"near\"").count() == 2, "{one}");
    for all_or_none in [&[0, 1][..], &[]] {
        let text = near_to(all_or_none)?;
        assert!(!text.contains(framed) && !text.contains("<td class=\"near\""), "{all_or_none:?}");
    }
    Ok(())
}

#[test]
fn figures_of_about_one_size_in_a_table_have_as_many_digits() -> Done {
    let mut document = between_gpus(3, 1.0)?;
    for (at, result) in document.cases[0].ranks.iter_mut().enumerate() {
        let Outcome::Measured { summary, .. } = &mut result.outcome else { return Err("a figure".into()) };
        // Of some the interval carries a digit more.
        let half = if at % 2 == 0 { 0.005 } else { 0.0005 };
        let (low, high) = (summary.median_ns * (1.0 - half), summary.median_ns * (1.0 + half));
        summary.median_interval_ns = Some(Interval { low, high, confidence: 0.95 });
    }
    let text = page(&runs(vec![document]));
    let cells = text.split("title=\"from GPU").skip(1);
    let shown = cells.filter_map(|cell| cell.split_once('>')?.1.split('<').next());
    let decimals: BTreeSet<usize> =
        shown.map(|number| number.split('.').nth(1).unwrap_or_default().len()).collect();
    assert_eq!(decimals.len(), 1, "{decimals:?}");
    Ok(())
}

#[test]
fn a_change_beyond_all_others_does_not_stretch_the_scale_of_a_comparison() -> Done {
    let text =
        page(&runs(vec![document(&[24.3e9, 0.01e9], &BOTH, 1)?, document(&[24.3e9, 24.3e9], &BOTH, 2)?]));
    let picture = figure(&text, "What changed, the worst first")?;
    assert!(picture.contains("×243"), "the change itself is said: {picture}");
    let marks = picture.split("text-anchor=\"middle\"").skip(1).filter_map(|rest| rest.split('>').nth(1));
    let numbers =
        marks.filter_map(|text| text.split('<').next()?.trim_start_matches('+').parse::<f64>().ok());
    let largest = numbers.fold(0.0, f64::max);
    assert!((100.0..=300.0).contains(&largest), "{largest}: {picture}");
    Ok(())
}
