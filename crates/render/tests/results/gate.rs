//! What a check of a node says: GPUs whose copies failed, GPUs that a baseline does not know, and what there
//! is to learn from.

use analysis::baseline::{Baseline, lesson, lost_figures, values};
use analysis::gate::{CheckPass, Checked, Gate, PASSES, judge_passes};
use analysis::node_run::of_check;
use analysis::slower_twins::compared_twins;
use render::compared::{gate, reason};
use report::document::Tool;
use report::result::Outcome;
use report::rows::rows;
use report::settings::Direction;
use report::{Document, SavedDocument};
use stats::flag::Flag;

use crate::made::{Done, document};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

/// Copies of two GPUs of which each was alone.
fn alone() -> Result<Document, Box<dyn std::error::Error>> {
    let mut document = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    document.cases.iter_mut().for_each(|case| case.order = report::case::Order::Alone);
    document.rows = rows(&document);
    Ok(document)
}

/// What a check says that saw this document in so many passes.
fn checked(
    document: &Document,
    baseline: Option<&Baseline>,
    passes: usize,
) -> Result<Checked, Box<dyn std::error::Error>> {
    let pass =
        CheckPass { values: values(document), twins: compared_twins(document), lost: lost_figures(document) };
    let passes = vec![pass; passes];
    let verdict = judge_passes(baseline, &passes);
    let gate = verdict.gate.ok_or("it is decided")?;
    Ok(Checked::new(document, gate, verdict, &passes, 1.0))
}

/// A baseline that knows no GPU.
fn of_others() -> Baseline {
    Baseline {
        schema: Baseline::SCHEMA.to_owned(),
        schema_version: Baseline::VERSION.number(),
        tool: Tool { name: "numabench".into(), version: "0.0.0".into(), git: None },
        documents: 0,
        normals: Vec::new(),
        too_few: Vec::new(),
        left_out: Vec::new(),
        built_unlike: Vec::new(),
    }
}

#[test]
fn a_gpu_whose_copies_failed_in_every_pass_is_a_finding_with_the_reason_and_a_cause() -> Done {
    let mut document = alone()?;
    for result in document.cases.iter_mut().map(|case| &mut case.ranks[0]) {
        result.outcome = Outcome::Failed {
            stage: stats::stage::Stage::Measure,
            call: None,
            code: Some(719),
            message: "error 719".into(),
        };
    }
    document.rows = rows(&document);

    let found = checked(&document, None, PASSES)?;
    let id = &document.devices[0].id;
    assert_eq!((found.gate, found.gpus, found.lost.len()), (Gate::Finding, 1, 2));
    assert_eq!(found.causes.len(), 1, "{:?}", found.causes);
    let text = gate(&found, 200);
    assert!(text.contains("FINDING; 1 GPU, 3 passes"), "{text}");
    assert!(text.contains("no figure in 3 of 3 passes (failed: error 719)"), "{text}");
    assert!(text.contains(&format!("cause: {id}: ")) && text.contains("Xid"), "{text}");
    let line = reason(&found);
    assert!(line.contains(&format!("failed: {id}, ")) && line.contains("(and 1 more)"), "{line}");

    // A baseline that knows neither GPU hides it not.
    assert_eq!(checked(&document, Some(&of_others()), PASSES)?.gate, Gate::Finding);
    let run = analysis::checked::run("check.json", &found)?;
    assert_eq!(run.figures.values().filter(|figure| figure.is_err()).count(), 2);
    Ok(())
}

#[test]
fn of_a_gpu_that_the_baseline_does_not_know_no_cause_is_named() -> Done {
    let found = checked(&alone()?, Some(&of_others()), 1)?;
    assert_eq!((found.gate, found.suspects.len()), (Gate::Undecided, 4));
    assert_eq!(found.causes, [""; 0]);
    Ok(())
}

#[test]
fn what_a_node_cannot_compare_is_no_trouble_beside_other_nodes() -> Done {
    let mut one = alone()?;
    one.cases.iter_mut().for_each(|case| case.ranks.truncate(1));
    one.rows = rows(&one);
    let found = checked(&one, None, 1)?;
    assert_eq!((found.gate, found.gpus), (Gate::Undecided, 1));
    assert!(of_check(&found).iter().all(|run| run.trouble.is_none() && run.points.len() == 2));
    Ok(())
}

#[test]
fn an_undecided_check_says_in_one_line_what_was_not_judged() -> Done {
    let found = checked(&alone()?, None, 1)?;
    assert_eq!(found.gate, Gate::Well);
    let left_out = Some("peer, of which there is no figure here".to_owned());
    let undecided = Checked { gate: Gate::Undecided, not_judged: left_out, ..found };
    assert!(reason(&undecided).ends_with("undecided: not judged: peer, of which there is no figure here\n"));
    Ok(())
}

#[test]
fn nothing_is_learned_from_a_gpu_that_was_throttled_or_shared() -> Done {
    let mut document = alone()?;
    let first = document.rows[0].device.clone();
    for row in document.rows.iter_mut().filter(|row| row.device == first) {
        row.flags = vec![Flag::Throttled, Flag::SharedGpu, Flag::FewBlocks];
    }
    let learned = lesson(&document);
    assert!(learned.values.len() == 2 && learned.values.iter().all(|value| value.device != first));
    let why: Vec<(Flag, u32)> = learned.held_back.into_iter().collect();
    assert_eq!((learned.left_out, &why[..]), (2, &[(Flag::Throttled, 2), (Flag::SharedGpu, 2)][..]));
    assert_eq!(values(&document).len(), 4, "a check judges what there is");
    Ok(())
}
