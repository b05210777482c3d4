//! Which way of sending small pieces is worth it, by figures of a test's choosing: the plainest one that is
//! not surely slower.

use analysis::pieces::{pieces, verdict};
use report::Document;
use report::pieces::{Pieces, Scattered, Way};
use report::result::Outcome;
use report::settings::Direction;
use stats::interval::Interval;

use crate::made::{BYTES, Done, document};

/// A rank that sends pieces of one size at these rates, GB/s, each with half the width of its interval as a
/// part of it.
fn sent(rates: &[(Way, f64, f64)]) -> Result<Document, Box<dyn std::error::Error>> {
    let mut document = document(&[50e9, 50e9], &[Direction::H2d], 1)?;
    let like = document.cases.remove(0);
    document.ranks.truncate(1);
    document.settings.sizes_bytes = vec![BYTES];
    document.settings.directions = vec![Direction::H2d];
    document.pieces = Some(Pieces { total_bytes: BYTES, scattered: Scattered::Both, worth: Vec::new() });
    for (way, rate, half) in rates {
        let mut case = like.clone();
        case.group = Some(way.name().to_owned());
        case.ranks.truncate(1);
        if let Outcome::Measured { summary, .. } = &mut case.ranks[0].outcome {
            let ns = BYTES as f64 / rate;
            (summary.median_ns, summary.median_bytes_per_s) = (ns, rate * 1e9);
            let ends = Interval { low: ns / (1.0 + half), high: ns / (1.0 - half), confidence: 0.95 };
            summary.median_interval_ns = Some(ends);
        }
        document.cases.push(case);
    }
    document.pieces = pieces(&document);
    Ok(document)
}

fn way(document: &Document) -> Option<Way> {
    document.pieces.as_ref()?.worth.first().map(|worth| worth.way)
}

#[test]
fn a_plainer_way_is_passed_over_only_where_the_intervals_say_that_it_is_slower() -> Done {
    for (plain, half, expected) in [
        (10.0, 0.001, Way::Kernel),
        (48.0, 0.001, Way::Kernel),
        (48.9, 0.001, Way::Loop),
        // As much slower by its median, and nobody knows.
        (46.0, 0.05, Way::Loop),
        (40.0, 0.05, Way::Kernel),
    ] {
        let document = sent(&[(Way::Kernel, 50.0, half), (Way::Loop, plain, half)])?;
        assert_eq!(way(&document), Some(expected), "{plain} GB/s ± {half}");
    }
    Ok(())
}

#[test]
fn how_much_faster_is_said_with_the_digits_that_tell_it_from_none() -> Done {
    let said = |plain: f64| -> Result<String, Box<dyn std::error::Error>> {
        let document = sent(&[(Way::Kernel, 50.0, 0.001), (Way::Loop, plain, 0.001)])?;
        Ok(verdict(&document).join(" "))
    };
    insta::assert_snapshot!("said_of_pieces", format!("{}\n{}", said(1.52)?, said(47.6)?));
    Ok(())
}

#[test]
fn a_document_without_pieces_has_none() -> Done {
    let document = document(&[50e9, 50e9], &[Direction::H2d], 1)?;
    assert!(pieces(&document).is_none() && verdict(&document).is_empty());
    Ok(())
}
