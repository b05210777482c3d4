//! The first lines where not every rank has a figure: whom they count, and what they then do not say.

use analysis::answer::answer;
use render::terminal;
use report::Document;
use report::case::Order;
use report::document::Status;
use report::result::Outcome;
use report::settings::Direction;

use crate::samples;

/// Eight ranks whose H2D at once arrived wrong on these.
fn corrupt(ranks: std::ops::Range<u32>) -> Document {
    let mut document = samples::eight_ranks();
    (document.status, document.status_reason) =
        (Status::DataCorrupt, Some("rank 0: byte 4 should be 0 and is 1".into()));
    let of_h2d = |case: &&mut report::case::Case| case.order == Order::Simultaneous && case.direction == Direction::H2d;
    for case in document.cases.iter_mut().filter(|case| of_h2d(case)) {
        for result in case.ranks.iter_mut().filter(|result| ranks.contains(&result.rank)) {
            result.outcome = Outcome::Corrupt { reason: "byte 4 should be 0 and is 1".into() };
        }
    }
    for penalty in &mut document.penalties {
        if penalty.direction == Direction::H2d && ranks.contains(&penalty.rank) {
            penalty.comparison = None;
        }
    }
    document
}

#[test]
fn a_rank_without_a_figure_is_not_counted_and_what_is_left_is_no_sum_of_all() {
    let said = answer(&corrupt(0..1));
    assert!(said[0].starts_with("DATA CORRUPT: rank 0"), "{said:?}");
    assert!(said[1].starts_with("8 GPUs at once: H2D "), "{said:?}");
    let (h2d, d2h) = said[1].split_once("; ").unwrap_or_default();
    assert!(h2d.contains(" GB/s each (") && h2d.contains(", 7 of 8 ranks only") && !h2d.contains("sum"), "{said:?}");
    assert!(d2h.starts_with("D2H 12.8 GB/s each (10.5–15.0), sum 102.1"), "{said:?}");
    assert_eq!(
        said[2],
        "At once each of them loses 51–64 % H2D, 73–81 % D2H of what it has alone (7 of 8 ranks compared)."
    );
    assert_eq!(said[3], "Placed as asked, seen before and after; every byte of these figures compared.");
}

#[test]
fn the_figure_of_a_single_rank_is_no_figure_each() {
    let said = answer(&corrupt(0..7));
    assert!(said[1].starts_with("8 GPUs at once: H2D 27.1 GB/s, 1 of 8 ranks only; D2H "), "{said:?}");
    let none = answer(&corrupt(0..8));
    assert!(none[1].starts_with("8 GPUs at once: D2H 12.8 GB/s each"), "{none:?}");
}

#[test]
fn ranks_that_are_missing_from_the_run_are_told_beside_and_not_in_each_figure() {
    let mut document = corrupt(7..8);
    document.missing =
        vec![report::launch::MissingRank { rank: 7, host: None, why: "nothing was heard of it".to_owned() }];
    let said = answer(&document);
    assert!(said[1].starts_with("7 GPUs at once: H2D ") && said[1].contains("sum"), "{said:?}");
    let style = terminal::Style { width: 100, color: false, quiet: false, saved_to: None };
    assert!(terminal::table(&document, &style).contains("RANKS ARE MISSING: 1 of 8 ranks"));
}
