//! A page says what it leaves out: figures that were not searched or drawn, rows of tables, blocks, and of
//! several links each one's limit.

use render::html::page;
use report::Document;
use report::case::CaseStatus;
use report::kernels::{KernelFigures, KernelPlace};
use report::result::Outcome;
use report::settings::{CopyEngine, Direction};
use stats::IdSet;

use crate::html::{BOTH, figure, runs};
use crate::made::{Done, document, sgemm};

/// Runs of so many days, each with the rates of that day.
fn days(
    count: usize,
    rates: impl Fn(usize) -> [f64; 2],
) -> Result<Vec<Document>, Box<dyn std::error::Error>> {
    (0..count)
        .map(|day| {
            let mut document = document(&rates(day), &BOTH, day as u64)?;
            document.started_at = format!("2026-02-{:02}T03:00:00.000Z", day + 1);
            Ok(document)
        })
        .collect()
}

#[test]
fn few_runs_are_said_to_be_not_searched_for_changes_of_level() -> Done {
    let few = page(&runs(days(4, |_| [24.3e9, 24.3e9])?));
    assert!(few.contains("Not searched for changes of level: a figure needs 10 runs."));
    assert!(!few.contains("changed its level for certain"));

    let enough = page(&runs(days(12, |_| [24.3e9, 24.3e9])?));
    assert!(enough.contains("4 figures searched: none changed its level for certain."));

    let moving = page(&runs(days(12, |day| [24.3e9, 24.3e9 * 0.98_f64.powi(day as i32)])?));
    assert!(!moving.contains("none changed its level for certain"));
    assert!(moving.contains("drifts slowly, without a step"));
    Ok(())
}

#[test]
fn figures_that_the_last_runs_lack_are_said_over_time() -> Done {
    let mut lost = days(14, |_| [24.3e9, 24.3e9])?;
    for document in &mut lost[12..] {
        for result in &mut document.cases[1].ranks {
            result.outcome = Outcome::Skipped { reason: "the GPU fell off the bus".to_owned() };
        }
        document.cases[1].status = CaseStatus::Skipped;
        document.rows = report::rows::rows(document);
    }

    let text = page(&runs(lost));
    let missing =
        "run-13.json has no figure of D2H, 128 MiB, pinned, each GPU alone, GPU 0 from PU 49: skipped: ";
    assert!(text.contains(missing), "against the first");
    assert!(text.contains("2026-02-13T03:00:00.000Z: D2H"));
    assert!(text.contains("2 runs without a figure: skipped: the GPU fell off the bus"));
    assert!(!text.contains("changed its level for certain"));
    Ok(())
}

#[test]
fn a_step_of_copies_by_kernels_has_its_line_in_the_picture() -> Done {
    let mut by_kernels = days(12, |day| [24.3e9, if day < 6 { 24.3e9 } else { 12.3e9 }])?;
    by_kernels.iter_mut().for_each(|document| document.settings.engine = CopyEngine::Sm);
    let text = page(&runs(by_kernels));
    assert!(text.contains("<li>2026-02-07T03:00:00.000Z: H2D, 128 MiB"));
    assert!(text.contains(", --engine sm"));
    assert!(text.contains("changed 2026-02-07"), "a line where it changed");
    Ok(())
}

/// Runs of one direction in many sizes, whose rates are those of the first run times `factor`.
fn of_many_sizes(
    sizes: u64,
    factor: impl Fn(u64) -> f64,
) -> Result<Vec<Document>, Box<dyn std::error::Error>> {
    let run = |seed: u64, factor: &dyn Fn(u64) -> f64| -> Result<Document, Box<dyn std::error::Error>> {
        let mut all = document(&[24.3e9, 24.3e9], &[Direction::H2d], seed)?;
        all.cases.clear();

        for at in 0..sizes {
            let rate = 24.3e9 * factor(at);
            let mut one = document(&[rate, rate], &[Direction::H2d], seed)?.cases.swap_remove(0);
            one.ranks.truncate(1);
            one.bytes += at;
            one.id = report::case::Case::id_for(one.order, one.memory, one.direction, one.bytes);
            all.cases.push(one);
        }

        all.ranks.truncate(1);
        all.rows = report::rows::rows(&all);
        Ok(all)
    };
    Ok(vec![run(1, &|_| 1.0)?, run(2, &factor)?])
}

#[test]
fn the_largest_improvements_are_drawn_before_changes_that_are_smaller() -> Done {
    let text = page(&runs(of_many_sizes(70, |at| if at == 0 { 1.9 } else { 0.9 + 0.001 * at as f64 })?));
    let picture = figure(&text, "What changed, the worst first")?;
    assert!(picture.contains("+90 %"), "{picture}");
    assert!(text.contains("10 more cases changed less."));
    Ok(())
}

#[test]
fn tables_that_are_cut_say_how_many_rows_are_left_out() -> Done {
    let mut large = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let rank = large.ranks[0].clone();
    large.ranks.extend((2..500).map(|number| report::rank::Rank { rank: number, ..rank.clone() }));
    let text = page(&runs(vec![large]));
    assert!(text.contains("Not on this page: 100 more rows, in the JSON."));

    let text = page(&runs(of_many_sizes(410, |_| 1.0)?));
    let (_, table) = text.split_once("<summary>All cases, first against last").ok_or("a table")?;
    assert!(table.split("</details>").next().ok_or("an end")?.contains("Not on this page: 10 more rows"));
    Ok(())
}

#[test]
fn blocks_of_a_long_measurement_are_drawn_from_its_first_to_its_last() -> Done {
    let mut long = document(&[24.3e9, 24.3e9], &[Direction::H2d], 1)?;
    let result = &mut long.cases[0].ranks[0];
    let like = result.blocks.clone();
    result.blocks = like.iter().cycle().take(1000).cloned().collect();
    long.rows = report::rows::rows(&long);
    let text = page(&runs(vec![long]));
    let picture = figure(&text, "Blocks of each figure against its median")?;
    assert!(picture.contains("1000 blocks, 1 of 10 drawn"), "{picture}");
    assert!(picture.contains("block 1000 of 1000"));
    Ok(())
}

/// A sweep of both GPUs in these directions; the second GPU's link has half the width.
fn sweep_over_two_links(direction: Direction) -> Result<Document, Box<dyn std::error::Error>> {
    let mut sweep = document(&[24.3e9, 12.3e9], &[direction], 1)?;
    let like = sweep.cases[0].clone();
    sweep.cases = (0..5)
        .map(|at| {
            let mut case = like.clone();
            case.bytes = 4096 << (2 * at);
            case.id = report::case::Case::id_for(case.order, case.memory, case.direction, case.bytes);
            case
        })
        .collect();

    for (device, limit) in sweep.devices.iter_mut().zip([31.5e9, 15.75e9]) {
        device.bound_bytes_per_s = report::Known::value(limit, "the link");
    }
    sweep.rows = report::rows::rows(&sweep);
    Ok(sweep)
}

#[test]
fn each_link_has_its_own_limit_and_twice_of_it_in_both_directions() -> Done {
    let text = page(&runs(vec![sweep_over_two_links(Direction::H2d)?]));
    let picture = figure(&text, "Rate over the size of a copy")?;
    assert!(picture.contains("limit of the link of GPU 0, 31.5 GB/s"), "{picture}");
    assert!(picture.contains("limit of the link of GPU 1, 15.8 GB/s"), "{picture}");

    let text = page(&runs(vec![sweep_over_two_links(Direction::Bidirectional)?]));
    let picture = figure(&text, "Rate over the size of a copy")?;
    assert!(picture.contains("limit of the link of GPU 0 in both directions, 63.0 GB/s"), "{picture}");
    Ok(())
}

#[test]
fn places_of_kernels_without_a_picture_are_counted() -> Done {
    let mut document = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let place = |at: u32| KernelPlace {
        row: format!("node {at}"),
        column: "GPU 0".to_owned(),
        ranks: IdSet::from_iter([at]),
        median_ns: 2e6,
        interval_ns: None,
        host_ns: None,
        per_s: 5e11,
        resident_ns: Some(1e6),
        host_resident_ns: None,
        resident_interval_ns: None,
        resident_per_s: Some(1e12),
        transfer_share: Some(0.5),
    };

    document.kernels = vec![KernelFigures { places: (0..6).map(place).collect(), ..sgemm(1) }];
    assert!(page(&runs(vec![document])).contains("Transfers of 2 more places are in the JSON."));
    Ok(())
}
