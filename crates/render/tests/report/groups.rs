//! What measured groups say and show: cores of several caches, cores that are alike, and many that are
//! folded.

use analysis::groups::{groups, is_undecided, verdict};
use render::terminal::{Style, table};
use report::case::{Case, Order};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::measured_groups::{GroupedBy, MeasuredGroups};
use report::settings::{Direction, MemoryKind};
use report::{Document, SavedDocument};
use report::{Known, document::PlatformKind};
use stats::IdSet;
use stats::grouping::GroupingFinding;

use crate::golden;
use crate::samples;

/// Cores whose handovers take so many nanoseconds, each two once.
fn cores(count: u32, ns: impl Fn(u32, u32) -> f64) -> Document {
    let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    square(Compares::Cores, count, pairs, ns)
}

/// So many items against each other, of which these pairs have a figure, ns.
fn square(compares: Compares, count: u32, pairs: Vec<(u32, u32)>, ns: impl Fn(u32, u32) -> f64) -> Document {
    let mut document = samples::empty();
    document.command = "latency".into();
    document.platform.kind = PlatformKind::Host;
    for (number, (i, _)) in (0..).zip(&pairs) {
        document.ranks.push(samples::rank(number, *i, 0, "node 0"));
    }
    let times: Vec<f64> = pairs.iter().map(|(i, j)| ns(*i, *j)).collect();
    let mut all =
        samples::case(&document, Direction::CoreToCore, 64, MemoryKind::Pageable, Order::Alone, &times);
    // Taken out first: each case below is a copy of the rest.
    let results = std::mem::take(&mut all.ranks);
    for (result, (i, j)) in results.into_iter().zip(&pairs) {
        let group = format!("PUs {j},{i}");
        let id = format!("{}/{group}", all.id);
        let range_bytes = Some(1 << 18);
        document.cases.push(Case { id, range_bytes, group: Some(group), ranks: vec![result], ..all.clone() });
    }
    let ranks = |wanted: &dyn Fn(u32, u32) -> bool| -> IdSet {
        (0..).zip(&pairs).filter(|(_, (i, j))| wanted(*i, *j)).map(|(number, _)| number).collect()
    };
    let row = |pu: u32| MatrixRow {
        name: format!("PU {pu}"),
        pus: IdSet::from_iter([pu]),
        memory_node: Some(0),
        ranks: ranks(&|i, _| i == pu),
        group: None,
        reason: None,
        note: None,
    };
    let column = |pu: u32| MatrixColumn {
        name: format!("PU {pu}"),
        device: "node 0".into(),
        ranks: ranks(&|_, j| j == pu),
        declared_nodes: Known::value(IdSet::from_iter([0]), "the node of the PU"),
    };
    let matrix = Matrix {
        title: "core to core".into(),
        compares,
        rows: (0..count).map(row).collect(),
        columns: (0..count).map(column).collect(),
    };
    document.matrices = vec![matrix];
    document.groups = groups(&document);
    document.verdict = verdict(&document);
    document
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 120, color: false, quiet: true, saved_to: None, screen: None })
}

#[test]
fn cores_of_two_caches_are_two_groups_and_the_table_begins_with_them() {
    let document = of_two_caches();
    let [found] = &document.groups[..] else { panic!("{:?}", document.groups) };
    assert_eq!((found.by, found.finding), (GroupedBy::Handovers, GroupingFinding::Groups));
    assert_eq!(found.groups, [IdSet::from_iter(0..4), IdSet::from_iter(4..8)]);
    let text = shown(&document);
    let first = text.lines().next().unwrap_or_default();
    assert!(document.verdict[0].starts_with(first) && text.contains("p50"), "{text}");
    assert_eq!(text.matches("28.0 █").count(), 12, "each two once: {text}");
}

/// Eight cores of two caches.
fn of_two_caches() -> Document {
    cores(8, |i, j| if i / 4 == j / 4 { 28.0 } else { 110.0 })
}

#[test]
fn what_is_said_of_groups_names_them_how_sure_it_is_and_what_is_declared()
-> Result<(), Box<dyn std::error::Error>> {
    let mut declared = of_two_caches();
    declared.groups[0].declared = Some("its L3 caches".into());
    let mut newer: serde_json::Value = serde_json::from_slice(&report::json::json_value(&of_two_caches())?)?;
    newer["groups"][0]["finding"] = "nested-groups".into();
    let newer = Document::from_json(&serde_json::to_vec(&newer)?)?;
    let two = cores(2, |_, _| 52.0);
    assert!(two.groups.is_empty());
    insta::assert_snapshot!(
        "said_of_groups",
        golden::cases(&[
            ("two caches", verdict(&of_two_caches()).join("\n")),
            ("two caches, as the platform declares", verdict(&declared).join("\n")),
            ("a finding of a newer version", verdict(&newer).join("\n")),
            ("cores alike", verdict(&cores(6, |_, _| 52.0)).join("\n")),
            ("two cores", verdict(&two).join("\n")),
        ])
    );
    Ok(())
}

#[test]
fn many_cores_are_folded_into_bands_and_no_figure_is_lost_from_the_document() {
    let document = cores(40, |i, j| if i / 20 == j / 20 { 28.0 } else { 110.0 });
    assert_eq!(document.cases.len(), 780);
    let text = shown(&document);
    assert!(
        text.lines().filter(|line| line.contains("PU")).all(|line| line.chars().count() <= 120),
        "{text}"
    );
    insta::assert_snapshot!("bands_of_cores", text);
}

/// GPUs each of which keeps half of its rate beside any other; the measured groups are given.
fn gpus(findings: &[GroupingFinding]) -> Document {
    let pairs = (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).collect();
    let mut document = square(Compares::Beside, 3, pairs, |i, j| if i == j { 2_000.0 } else { 1_000.0 });
    let matrix = Matrix { compares: Compares::LeaveOneOut, ..document.matrices[0].clone() };
    document.matrices.push(matrix);
    let found = of_two_caches().groups[0].clone();
    let of = |finding: &GroupingFinding| MeasuredGroups {
        by: GroupedBy::GpuPairs,
        finding: *finding,
        groups: Vec::new(),
        ..found.clone()
    };
    document.groups = findings.iter().map(of).collect();
    document
}

#[test]
fn what_is_said_of_gpus_is_what_was_decided_also_where_one_figure_is_too_noisy() {
    let said = |document: &Document| verdict(document).join("\n");
    let mut noisy = gpus(&[GroupingFinding::Alike; 2]);
    for (at, block) in noisy.cases[1].ranks[0].blocks.iter_mut().enumerate() {
        block.elapsed_ns *= [0.4, 1.6][at % 2];
    }
    let one_question = gpus(&[GroupingFinding::Alike]);
    assert!(is_undecided(&one_question), "the other one has no answer");
    insta::assert_snapshot!(
        "said_of_gpus",
        golden::cases(&[
            ("alike", said(&gpus(&[GroupingFinding::Alike; 2]))),
            ("alike, and one pair is too noisy", said(&noisy)),
            ("one question is undecided", said(&gpus(&[GroupingFinding::Undecided, GroupingFinding::Alike]))),
            ("one question could not be asked", said(&one_question)),
            ("no groups", said(&gpus(&[GroupingFinding::NoGroups, GroupingFinding::Alike]))),
        ])
    );
}
