//! Two sides of documents: the verdicts, what is missing, what is refused, what differs, and how it is shown.
//!
//! Some 420 lines because each kind of change has its documents and what is said of them side by side.

use std::slice::from_ref;

use analysis::compare::{NotCompared, Thresholds, compare};
use analysis::comparison::{Comparison, Counts};
use analysis::figure::Unit;
use analysis::judge::{Basis, ChangeVerdict};
use analysis::kernels::kernels;
use analysis::node_run::of_document;
use analysis::reference_answer::gathered;
use analysis::run::{NoRun, Run};
use render::compared::{markdown, table};
use report::case::Order;
use report::document::{PlatformKind, Status, Tool};
use report::kernels::{COPIES, WorkUnit};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::result::Outcome;
use report::settings::Direction;
use report::{Document, Known, SavedDocument};
use stats::IdSet;

use crate::made::{Done, between_gpus, document, sgemm};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

fn tool() -> Tool {
    Tool { name: "numabench".into(), version: "0.0.0".into(), git: None }
}

fn compared(
    base: &[Document],
    new: &[Document],
    force: bool,
) -> Result<Comparison, Box<dyn std::error::Error>> {
    let side = |documents: &[Document]| -> Result<Vec<Run>, NoRun> {
        documents.iter().enumerate().map(|(at, document)| Run::of(&format!("{at}.json"), document)).collect()
    };
    Ok(compare(tool(), &side(base)?, &side(new)?, Thresholds::default(), force)?)
}

#[test]
fn a_gpu_at_half_its_rate_is_suspected_from_one_run_and_named_in_the_first_sentence() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let new = document(&[24.3e9, 12.3e9], &BOTH, 2)?;
    let got = compared(&[base], &[new], false)?;
    assert_eq!(got.counts, Counts { suspect: 2, same: 2, ..Counts::default() });
    let first = &got.cases[0];
    assert!(
        got.summary.starts_with("SUSPECT:") && got.summary.contains(&first.key.place()),
        "{}",
        got.summary
    );
    assert_eq!((&first.key.device[..], first.key.pu), ("0000:c6:00.0", 57));
    assert_eq!((first.verdict, first.basis, first.base_values), (ChangeVerdict::Suspect, Basis::Blocks, 12));
    assert!(first.ratio.is_some_and(|ratio| (ratio - 12.3 / 24.3).abs() < 0.01));
    assert_eq!(first.cliffs_delta, Some(-1.0));
    assert!(first.assumed_run_deviation.is_some_and(|assumed| assumed >= 0.005), "{first:?}");
    assert_eq!(got.notes.len(), 1, "one run a side: {:?}", got.notes);
    Ok(())
}

#[test]
fn three_runs_a_side_beside_a_gpu_that_jumps_from_run_to_run_suspect_and_ask_for_four() -> Done {
    let side =
        |first: f64, jumps: [f64; 3], seed: u64| -> Result<Vec<Document>, Box<dyn std::error::Error>> {
            let runs = jumps.iter().zip(seed..);
            runs.map(|(jumps, seed)| document(&[first, *jumps], &BOTH, seed)).collect()
        };
    // Half of its runs are in each mode: by so many it may be chance as well that none of a side is.
    let base = side(24.3e9, [24.3e9, 22.3e9, 24.3e9], 1)?;
    let got = compared(&base, &side(22.8e9, [22.3e9, 24.3e9, 22.3e9], 4)?, false)?;
    assert_eq!((got.counts.suspect, got.counts.regressed), (2, 0), "{}", got.summary);
    assert!(got.summary.contains("; four or five runs a side decide"), "{}", got.summary);

    // A third of its runs is in the other mode: that hides nothing of another GPU's.
    let got = compared(&base, &side(22.8e9, [24.3e9, 22.3e9, 24.3e9], 4)?, false)?;
    assert_eq!(got.counts.regressed, 2, "{}", got.summary);
    Ok(())
}

#[test]
fn how_each_side_stands_against_reference_figures_is_said_last_and_not_to_the_quiet() -> Done {
    let one = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let plain = compared(from_ref(&one), from_ref(&one), false)?;
    let sides = [("base", "Normal for a GPU."), ("new", "Low for a GPU."), ("new", "Low for a GPU.")];
    let reference = gathered(sides.map(|(side, text)| (side.to_owned(), text.to_owned())).into_iter());
    let told = Comparison { reference, ..plain.clone() };

    let (without, with) = (table(&plain, 100, false, false), table(&told, 100, false, false));
    assert_eq!(with, without + "new: Low for a GPU.\nbase: Normal for a GPU.\n");
    assert_eq!(table(&told, 100, false, true), table(&plain, 100, false, true));
    assert_eq!(markdown(&told), markdown(&plain) + "\n> new: Low for a GPU.\n\n> base: Normal for a GPU.\n");
    Ok(())
}

#[test]
fn a_run_compared_with_itself_is_the_same_and_differs_in_nothing() -> Done {
    let one = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let got = compared(from_ref(&one), from_ref(&one), false)?;
    assert_eq!(got.counts, Counts { same: 4, ..Counts::default() });
    assert!(got.differing.is_empty() && got.missing.is_empty() && got.added.is_empty());
    assert_eq!(got.summary, "SAME: 4 of 4 cases");
    assert!(got.notes.len() == 1 && got.notes[0].contains("very same measurement"), "{:?}", got.notes);

    // Also where no test could tell: three blocks that scatter.
    let mut few = one;
    for result in few.cases.iter_mut().flat_map(|case| &mut case.ranks) {
        result.blocks.truncate(3);
        result.blocks[0].elapsed_ns *= 1.5;
    }
    let got = compared(from_ref(&few), from_ref(&few), false)?;
    assert_eq!(got.counts, Counts { same: 4, ..Counts::default() }, "{}", got.summary);
    Ok(())
}

#[test]
fn several_runs_a_side_are_compared_run_by_run() -> Done {
    let side =
        |rate: f64, seeds: std::ops::Range<u64>| -> Result<Vec<Document>, Box<dyn std::error::Error>> {
            // Each run has a level of its own, 1 % around the rate.
            let level = |seed: u64| rate * (1.0 + 0.01 * ((seed * 7 % 11) as f64 / 5.0 - 1.0));
            seeds.map(|seed| document(&[level(seed), level(seed + 3)], &BOTH, seed)).collect()
        };
    let got = compared(&side(50e9, 0..8)?, &side(46e9, 20..28)?, false)?;
    assert_eq!(got.counts, Counts { regressed: 4, ..Counts::default() });
    assert!(got.cases.iter().all(|case| case.basis == Basis::Runs && case.base_values == 8));
    let alike = compared(&side(50e9, 0..8)?, &side(50e9, 20..28)?, false)?;
    assert_eq!(alike.counts.regressed + alike.counts.improved, 0, "{}", alike.summary);
    Ok(())
}

#[test]
fn a_case_that_is_gone_or_failed_is_missing_and_a_new_one_is_added() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut new = document(&[24.3e9, 24.3e9], &[Direction::H2d, Direction::RoundTrip], 2)?;
    new.cases[0].ranks[1].outcome = Outcome::Skipped { reason: "the time was up".into() };
    let got = compared(&[base], &[new], false)?;
    assert_eq!(got.counts, Counts { same: 1, missing: 3, added: 2, ..Counts::default() });
    let with_reason: Vec<_> = got.missing.iter().filter_map(|case| case.reason.as_deref()).collect();
    assert_eq!(with_reason, ["skipped: the time was up"]);
    assert!(got.summary.starts_with("MISSING:"), "{}", got.summary);
    Ok(())
}

#[test]
fn what_was_not_the_same_experiment_is_refused_unless_forced() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut other = base.clone();
    other.devices.iter_mut().for_each(|device| device.name = "NVIDIA GH200".into());
    other.platform.simulated = Some("a stand-in".into());
    let refused = compared(from_ref(&base), from_ref(&other), false).err().ok_or("nothing refused it")?;
    assert!(matches!(refused.downcast_ref(), Some(NotCompared::Essential { .. })), "{refused}");
    insta::assert_snapshot!("refused_as_another_experiment", refused);
    let forced = compared(&[base], &[other], true)?;
    assert_eq!(forced.differing.iter().filter(|differs| differs.essential).count(), 2);
    Ok(())
}

#[test]
fn runs_of_one_side_that_are_not_the_same_experiment_are_refused_too() -> Done {
    let of = |other: bool, seed: u64| -> Result<Document, Box<dyn std::error::Error>> {
        let mut document = document(&[24.3e9, 24.3e9], &BOTH, seed)?;
        if other {
            document.devices.iter_mut().for_each(|device| device.name = "NVIDIA A100".into());
        }
        Ok(document)
    };
    let base = [of(false, 1)?, of(false, 2)?, of(true, 3)?];
    let new = [of(false, 4)?, of(true, 5)?, of(true, 6)?];
    let refused = compared(&base, &new, false).err().ok_or("nothing refused it")?.to_string();
    assert!(refused.contains("GPU model is NVIDIA A100 and NVIDIA H200 in the base"), "{refused}");
    assert_eq!(compared(&base, &new, true)?.differing[0].fact, "GPU model");

    // Runs without a case in common may be of anything.
    let apart = |mut document: Document| {
        document.cases.iter_mut().for_each(|case| case.id = format!("{}/other", case.id));
        document
    };
    let both =
        |at: u64| -> Result<_, Box<dyn std::error::Error>> { Ok([of(false, at)?, apart(of(true, at)?)]) };
    assert_eq!(compared(&both(1)?, &both(2)?, false)?.cases.len(), 8);
    Ok(())
}

#[test]
fn the_first_line_says_the_change_that_the_table_and_the_document_have() -> Done {
    let side = |rates: [f64; 3], seed: u64| -> Result<Vec<Document>, Box<dyn std::error::Error>> {
        rates
            .iter()
            .zip(seed..)
            .map(|(rate, seed)| document(&[*rate, 24.3e9], &[Direction::H2d], seed))
            .collect()
    };
    // The medians lie 12 % apart, the means 10.4 %.
    let got = compared(&side([50e9, 50e9, 49e9], 1)?, &side([44e9, 44e9, 45.5e9], 4)?, false)?;
    let worst = &got.cases[0];
    let percent = format!("{:.1} %", -worst.change() * 100.0);
    assert!(got.summary.contains(&format!("the worst by {percent} slower")), "{} {percent}", got.summary);
    assert!(table(&got, 120, false, false).contains(&format!("-{percent}")));
    assert_ne!(
        percent,
        format!("{:.1} %", (1.0 - worst.new / worst.base) * 100.0),
        "this test tells them apart"
    );
    Ok(())
}

#[test]
fn the_quiet_are_told_too_that_both_sides_are_the_same_measurement() -> Done {
    let one = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let got = compared(from_ref(&one), from_ref(&one), false)?;
    assert!(table(&got, 100, false, true).contains("very same measurement"));
    let other = compared(&[one], &[document(&[24.3e9, 24.3e9], &BOTH, 2)?], false)?;
    assert!(!table(&other, 100, false, true).contains("note:"));
    Ok(())
}

#[test]
fn intervals_of_single_runs_stand_in_a_log_too_with_what_they_assume() -> Done {
    let got = compared(
        &[document(&[24.3e9, 24.3e9], &BOTH, 1)?],
        &[document(&[24.3e9, 12.3e9], &BOTH, 2)?],
        false,
    )?;
    let (log, wide) = (table(&got, 100, false, false), table(&got, 140, false, false));
    assert!(log.contains("95 % interval") && log.contains("-50.1 % .. -48.7 %"), "{log}");
    assert!(log.contains("to be 0.5 %"), "{log}");
    assert!(wide.contains("-50.1 % .. -48.7 % if runs differ by 0.5 %"), "{wide}");
    Ok(())
}

#[test]
fn a_driver_or_a_link_that_changed_is_said_and_not_refused() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut new = base.clone();
    new.platform.driver_version = Some("999.1".into());
    if let Some(link) = &mut new.devices[1].link.value {
        (link.width, link.max_width) = (Some(8), Some(16));
    }
    let got = compared(&[base], &[new], false)?;
    let facts: Vec<_> =
        got.differing.iter().map(|differs| (&differs.fact[..], &differs.new[0][..])).collect();
    assert!(facts.contains(&("driver version", "999.1")), "{facts:?}");
    assert!(
        facts.iter().any(|(fact, new)| *fact == "link of 0000:c6:00.0" && new.ends_with("x8")),
        "{facts:?}"
    );
    Ok(())
}

#[test]
fn what_has_nothing_to_compare_is_refused_with_the_reason() -> Done {
    let base = document(&[24.3e9, 24.3e9], &[Direction::H2d], 1)?;
    let other = document(&[24.3e9, 24.3e9], &[Direction::D2h], 1)?;
    let refused = compared(from_ref(&base), &[other], false).err().ok_or("nothing refused it")?;
    assert!(matches!(refused.downcast_ref(), Some(NotCompared::NothingInCommon { .. })), "{refused}");
    insta::assert_snapshot!("refused_without_a_case_in_common", refused);
    let mut running = base.clone();
    running.status = Status::Running;
    assert!(matches!(Run::of("x", &running), Err(NoRun::Unfinished)));
    running = base;
    running.cases.clear();
    assert!(matches!(Run::of("x", &running), Err(NoRun::Empty)));
    Ok(())
}

#[test]
fn host_memory_is_never_compared_with_a_gpu() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut new = base.clone();
    new.platform.kind = PlatformKind::Host;
    let error = compared(&[base], &[new], false).err().ok_or("nothing refused it")?;
    assert!(matches!(error.downcast_ref(), Some(NotCompared::Essential { .. })), "{error}");
    Ok(())
}

#[test]
fn a_terminal_and_a_merge_request_show_it_word_for_word() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut new = document(&[24.3e9, 12.3e9], &[Direction::H2d], 2)?;
    new.platform.driver_version = Some("999.1|".into());
    let got = compared(&[base], &[new], false)?;
    insta::assert_snapshot!("table", table(&got, 110, false, false));
    insta::assert_snapshot!("markdown", markdown(&got));
    Ok(())
}

#[test]
fn a_case_whose_ranks_were_not_at_once_is_no_figure_anywhere() -> Done {
    let base = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    let mut new = document(&[24.3e9, 12.3e9], &BOTH, 2)?;
    (new.cases[0].status, new.cases[0].reason) =
        (report::case::CaseStatus::Invalid, Some("not at once".into()));
    new.rows = report::rows::rows(&new);
    assert!(
        new.rows[..2].iter().all(|row| row.median_bytes_per_s.is_none() && row.percent_of_bound.is_none())
    );
    assert_eq!(new.rows[1].reason.as_deref(), Some("not at once"));
    let judged = analysis::slower_twins::slower_twins(&new);
    assert_eq!((judged.len(), judged[0].judged_cases), (1, 1), "the other case is");
    let got = compared(&[base], &[new], false)?;
    assert_eq!((got.counts.missing, got.counts.suspect), (2, 1));
    assert!(
        got.missing.iter().all(|case| case.reason.as_deref() == Some("invalid: not at once")),
        "{:?}",
        got.missing
    );
    Ok(())
}

#[test]
fn every_copy_between_gpus_is_compared_with_itself() -> Done {
    for gpus in [2, 3] {
        let comparison = compared(&[between_gpus(gpus, 1.0)?], &[between_gpus(gpus, 2.0)?], false)?;
        assert_eq!(comparison.cases.len(), gpus * gpus, "a place of its own for each");
        assert_eq!((comparison.counts.suspect, comparison.counts.same), (1, (gpus * gpus - 1) as u32));
        let last = format!("0000:{:02x}:00.0", gpus - 1);
        assert_eq!(comparison.cases[0].key.device, format!("{last} with {last}"));
    }
    // As earlier versions have it: with two GPUs the source tells the pair.
    let two = between_gpus(2, 1.0)?;
    let devices: Vec<String> = Run::of("run", &two)?
        .figures
        .into_keys()
        .map(|key| key.device)
        .filter(|device| !device.contains("with"))
        .collect();
    assert_eq!(devices, ["0000:00:00.0", "0000:01:00.0"]);
    Ok(())
}

#[test]
fn a_kernel_is_compared_and_set_beside_other_nodes_by_its_work_a_second_as_the_screen_shows_it() -> Done {
    let document = Document::from_json(include_bytes!("../../../../docs/gallery/kernels.json"))?;
    let comparison = compared(from_ref(&document), from_ref(&document), false)?;
    let of_node: Vec<_> = of_document(&document).into_iter().flat_map(|run| run.points).collect();

    for kernel in &document.kernels {
        let unit = match kernel.unit {
            WorkUnit::Flop => Unit::FlopPerS,
            WorkUnit::Key => Unit::KeysPerS,
            _ => Unit::BytesPerS,
        };
        let shown = kernel.places[0].per_s;
        let is_shown = |value: f64| (value / shown - 1.0).abs() < 1e-12;
        let ending = format!("/{}", kernel.name);
        let compared =
            comparison.cases.iter().find(|case| case.key.case.ends_with(&ending)).ok_or("no case")?;
        assert!(
            (compared.unit, is_shown(compared.base)) == (unit, true),
            "{}: {compared:?}, {shown}",
            kernel.name
        );
        let point = of_node.iter().find(|point| point.column == kernel.name);
        let point = point.ok_or("no figure of the node")?;
        assert!((point.unit, is_shown(point.value)) == (unit, true), "{}: {point:?}, {shown}", kernel.name);
    }
    let said = table(&comparison, 100, false, false);
    assert!(said.contains("27360 GFLOP/s") && said.contains("2.887 Gkey/s"), "{said}");
    Ok(())
}

#[test]
fn threads_that_compute_together_have_the_sum_of_their_rates_on_the_screen_and_among_nodes() -> Done {
    let mut document = document(&[24.3e9, 12.3e9], &[Direction::Kernel], 1)?;
    let case = &mut document.cases[0];
    (case.order, case.group) = (Order::Simultaneous, Some("sgemm".to_owned()));
    case.id = format!("simultaneous/pinned/kernel/{}/sgemm", case.bytes);
    let ranks: IdSet = (0..2).collect();
    document.matrices = vec![Matrix {
        title: "cores and memory".to_owned(),
        compares: Compares::Columns,
        rows: vec![MatrixRow {
            name: "node 0".to_owned(),
            pus: ranks.clone(),
            memory_node: Some(0),
            ranks: ranks.clone(),
            group: Some(COPIES.to_owned()),
            reason: None,
            note: None,
        }],
        columns: vec![MatrixColumn {
            name: "node 0".to_owned(),
            device: document.devices[0].id.clone(),
            ranks,
            declared_nodes: Known::value((0..1).collect(), "hwloc"),
        }],
    }];
    document.kernels = vec![sgemm(1)];

    document.rows = report::rows::rows(&document);
    document.kernels = kernels(&document);

    let of_threads = document.rows.iter().filter_map(|row| row.median_ns).map(|ns| 1e9 / ns * 1e9);
    let sum: f64 = of_threads.sum();
    let place = &document.kernels[0].places[0];
    let point = of_document(&document).into_iter().flat_map(|run| run.points).next().ok_or("no figure")?;
    assert!(
        (place.per_s / sum - 1.0).abs() < 1e-12 && (point.value / sum - 1.0).abs() < 1e-12,
        "{place:?} {point:?}"
    );
    Ok(())
}

#[test]
fn the_clock_of_a_case_without_a_figure_is_not_known_and_makes_no_other_experiment() -> Done {
    let clocks = |document: &Document| -> Result<usize, Box<dyn std::error::Error>> {
        let run = Run::of("run", document)?;
        Ok(run.conditions.iter().filter(|condition| condition.fact.starts_with("clock of")).count())
    };
    let mut measured = document(&[24.3e9, 12.3e9], &[Direction::H2d, Direction::D2h], 1)?;
    assert_eq!(clocks(&measured)?, 2);
    for result in &mut measured.cases[1].ranks {
        result.outcome = Outcome::Skipped { reason: "the time was up".to_owned() };
    }
    assert_eq!(clocks(&measured)?, 1);
    Ok(())
}
