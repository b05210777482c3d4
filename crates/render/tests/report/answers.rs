//! The first lines where not every rank has a figure: whom they count, and what they then do not say.

use analysis::answer::answer;
use analysis::sweep_fits;
use render::terminal;
use report::case::Order;
use report::document::Status;
use report::result::Outcome;
use report::settings::Direction;
use report::{Document, SavedDocument};

use crate::golden::cases;
use crate::{samples, tables};

/// Eight ranks whose H2D at once arrived wrong on these.
fn corrupt(ranks: std::ops::Range<u32>) -> Document {
    let mut document = samples::eight_ranks();
    (document.status, document.status_reason) =
        (Status::DataCorrupt, Some("rank 0: byte 4 should be 0 and is 1".into()));
    let of_h2d = |case: &&mut report::case::Case| {
        case.order == Order::Simultaneous && case.direction == Direction::H2d
    };
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

/// Eight ranks of which the last one is missing, too.
fn missing() -> Document {
    let mut document = corrupt(7..8);
    document.missing =
        vec![report::launch::MissingRank { rank: 7, host: None, why: "nothing was heard of it".to_owned() }];
    document
}

#[test]
fn the_first_lines_count_and_sum_the_ranks_that_have_a_figure() {
    let said = |document: &Document| answer(document).join("\n");
    insta::assert_snapshot!(
        "first_lines",
        cases(&[
            ("every rank has a figure", said(&samples::eight_ranks())),
            ("one rank", said(&samples::one_rank())),
            ("H2D of rank 0 arrived wrong", said(&corrupt(0..1))),
            ("H2D of ranks 0-6 arrived wrong", said(&corrupt(0..7))),
            ("H2D of every rank arrived wrong", said(&corrupt(0..8))),
            ("rank 7 is missing from the run", said(&missing())),
            ("everything went wrong", said(&tables::troubled())),
        ])
    );
}

/// Eight ranks of which these keep at once what they have alone, by direction.
fn keeping(keepers: [(Direction, std::ops::Range<u32>); 2]) -> Document {
    let mut document = samples::eight_ranks();
    for (direction, ranks) in keepers {
        let alone = document.cases.iter().find(|case| case.direction == direction).cloned();
        let results = alone.map_or(Vec::new(), |case| case.ranks);
        let at_once = document
            .cases
            .iter_mut()
            .filter(|case| case.direction == direction && case.order == Order::Simultaneous);
        for result in at_once.flat_map(|case| &mut case.ranks).filter(|result| ranks.contains(&result.rank)) {
            *result = results[result.rank as usize].clone();
        }
        let penalties = document.penalties.iter_mut().filter(|penalty| penalty.direction == direction);
        for penalty in penalties.filter(|penalty| ranks.contains(&penalty.rank)) {
            penalty.simultaneous_bytes_per_s = penalty.alone_bytes_per_s;
        }
    }
    document
}

#[test]
fn losses_of_two_directions_are_joined_only_where_the_same_ranks_have_them() {
    let cost = |h2d: std::ops::Range<u32>, d2h: std::ops::Range<u32>| -> String {
        let said = answer(&keeping([(Direction::H2d, h2d), (Direction::D2h, d2h)]));
        said.into_iter().find(|sentence| sentence.starts_with("At once")).unwrap_or_default()
    };
    let others = cost(0..4, 4..8);
    assert!(
        others.starts_with("At once 4 of 8 ranks lose 51 % H2D, 4 of 8 ranks lose 81 % D2H of"),
        "{others}"
    );
    let same = cost(0..4, 0..4);
    assert!(same.starts_with("At once 4 of 8 ranks lose 51 % H2D, 73 % D2H of what they have"), "{same}");
}

#[test]
fn gpus_are_said_to_share_a_path_only_where_their_ranks_have_a_pu_and_a_gpu_each() {
    let claims =
        |document: &Document| answer(document).iter().any(|sentence| sentence.contains("share a path"));
    let whole = samples::eight_ranks();
    assert!(claims(&whole));
    let mut one_pu = whole.clone();
    one_pu.ranks[1].asked.pu = one_pu.ranks[0].asked.pu;
    assert!(!claims(&one_pu), "ranks on one PU wait for each other there");
    let said = answer(&one_pu).join("\n");
    assert!(said.contains(&format!(": ranks share PU {}.", one_pu.ranks[0].asked.pu)), "{said}");
    let mut one_gpu = whole;
    one_gpu.ranks[1].asked.device = one_gpu.ranks[0].asked.device.clone();
    assert!(!claims(&one_gpu), "ranks on one GPU share that");
}

#[test]
fn a_sweep_tells_no_latency_that_may_be_none_and_where_no_line_fits_what_its_ends_took()
-> Result<(), report::read::ReadError> {
    let mut sweep = Document::from_json(include_bytes!("../../../../docs/gallery/sweep.json"))?;
    let said = |document: &Document| sweep_fits::verdict(document).join("\n");
    let as_measured = said(&sweep);
    let late = &mut sweep.fits[0].lines[1];
    (late.latency_ns, late.latency_interval_ns.low) = (0.0, 0.0);
    let without = said(&sweep);
    sweep.fits[0].misfit = Some(1.57);
    let style = terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let misfit = sweep_fits::misfit(&sweep.fits[0]).unwrap_or_default();
    let shown = terminal::table(&sweep, &style).matches(&misfit).count();
    assert_eq!(shown, 1, "the table of fits says it too: {misfit}");
    insta::assert_snapshot!(
        "sweeps",
        cases(&[
            ("as measured", as_measured),
            ("the larger sizes' latency may be none", without),
            ("a size is 157 % off", said(&sweep)),
        ])
    );
    Ok(())
}

#[test]
fn ranks_that_are_missing_from_the_run_are_told_beside_the_figures() {
    let style = terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let table = terminal::table(&missing(), &style);
    let told = table.lines().filter(|line| line.contains("MISSING")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("missing_rank", told);
}

#[test]
fn one_rank_of_several_on_a_gpu_says_nothing_of_its_link() {
    let said = |document: &Document| answer(document).concat();
    let mut document = samples::several_nodes(6, 4);
    assert!(said(&document).contains("At once the slowest reaches"), "{}", said(&document));

    document.ranks[1].asked.device = document.ranks[0].asked.device.clone();
    assert!(!said(&document).contains("At once the slowest reaches"), "{}", said(&document));
}
