//! The HTML report: it holds what it must, nothing of a document becomes markup, and it stays small and quick.

use report::Document;
use report::settings::Direction;
use results::html::html;

use crate::made::{Done, document};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

fn runs(documents: Vec<Document>) -> Vec<(String, Document)> {
    documents.into_iter().enumerate().map(|(at, document)| (format!("run-{at}.json"), document)).collect()
}

#[test]
fn the_verdict_stands_before_any_figure_and_names_the_slow_gpu() -> Done {
    let mut slow = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    slow.slower_twins = report::twin::slower_twins(&slow);
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
    nasty.rows = report::row::rows(&nasty);
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
    large.rows = report::row::rows(&large);
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
