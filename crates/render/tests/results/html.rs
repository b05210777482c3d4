//! The HTML report: it holds what it must, nothing of a document becomes markup, and it stays small and quick.

use render::html::html;
use report::Document;
use report::loaded_latency::{LoadedLatency, LoadedPoint, TwiceIdle};
use report::settings::Direction;
use stats::IdSet;
use stats::interval::Interval;

use crate::made::{Done, between_gpus, document};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

fn runs(documents: Vec<Document>) -> Vec<(String, Document)> {
    documents.into_iter().enumerate().map(|(at, document)| (format!("run-{at}.json"), document)).collect()
}

#[test]
fn the_verdict_stands_before_any_figure_and_names_the_slow_gpu() -> Done {
    let mut slow = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    slow.slower_twins = analysis::slower_twins::slower_twins(&slow);
    let text = html(&runs(vec![slow]));
    let verdict = text.find("Complete, with a finding: 1 of 2 GPUs slower").ok_or("a verdict")?;
    assert!(verdict < text.find("<svg").ok_or("a picture")? && verdict < text.find("<table").ok_or("a table")?);
    assert!(text.contains("0000:c6:00.0 (rank 1) copies at 12.3 GB/s where its twins reach 24.3"));
    for part in
        ["Placement, asked and seen", "Figures", "Rates by rank and case", "Rank by rank", "Every block", "Environment"]
    {
        assert!(text.contains(&format!(">{part}</h2>")), "{part}");
    }
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
    nasty.rows = report::rows::rows(&nasty);
    let html = html(&runs(vec![nasty.clone(), nasty]));
    for markup in ["<script", "<img", "src=", "href=", "url(", "@import", "\u{1}"] {
        assert!(!html.replace("&lt;img src=x", "").contains(markup), "{markup}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)"));
    Ok(())
}

#[test]
fn several_documents_show_what_got_worse_and_their_history() -> Done {
    let days: Result<Vec<Document>, _> =
        (0..5).map(|day| document(&[24.3e9, if day < 3 { 24.3e9 } else { 12.3e9 }], &BOTH, day)).collect();
    let mut days = days?;
    for (day, document) in days.iter_mut().enumerate() {
        document.started_at = format!("2026-02-{:02}T03:00:00.000Z", day + 1);
    }
    let text = html(&runs(days));
    assert!(text.contains("run-4.json against run-0.json: REGRESSED: 2 of 4 cases; the worst by 49."));
    assert!(text.contains(">History</h2>") && text.contains("4.0 days later"));
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
    let text = html(&runs(vec![large]));
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    for element in
        ["svg", "table", "tr", "td", "th", "div", "text", "p", "details", "main", "h2", "title", "ul", "ol", "li"]
    {
        let opened = text.matches(&format!("<{element}>")).count() + text.matches(&format!("<{element} ")).count();
        assert_eq!(opened, text.matches(&format!("</{element}>")).count(), "{element}");
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
    let without = html(&runs(vec![loaded.clone()]));
    assert!(!without.contains("Rates over sizes") && !without.contains("Latency over traffic"));
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
    let text = html(&runs(vec![loaded]));
    let picture = text
        .split("Latency over traffic</h2>")
        .nth(1)
        .and_then(|rest| rest.split("</figure>").next())
        .ok_or("no picture")?;
    assert!(picture.contains("idle: 100.0 ns at 0.0 GB/s, full read traffic: 200.0 ns at 40.0 GB/s"), "{picture}");
    assert_eq!(picture.matches("stroke-width=\"2\"").count(), 1, "one line between two points");
    assert_eq!(picture.matches("stroke-width=\"6\"").count(), 2, "an interval each");
    Ok(())
}

#[test]
fn pairs_of_gpus_are_as_pale_as_they_are_slower_than_pairs_and_a_gpus_own_memory_is_no_measure_of_them() -> Done {
    // The second GPU's own memory at ten times the rate of pairs, and of the first one's.
    let text = html(&runs(vec![between_gpus(2, 0.1)?]));
    let opacity = |full: &str| text.matches(&format!("fill-opacity=\"{full}\"")).count();
    assert_eq!((opacity("0.45"), opacity("0.05")), (3, 1), "{text}");
    Ok(())
}
