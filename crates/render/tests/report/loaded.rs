//! What curves of loaded latency hold, say and show: one that climbs, one that does not, one whose points are
//! missing.

use analysis::latency_curves::{loaded_latencies, verdict};
use render::terminal::{Style, table};
use report::Document;
use report::case::{CaseStatus, Order};
use report::loaded_latency::TwiceIdle;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use report::{Known, document::PlatformKind};
use stats::IdSet;

use crate::golden::cases;
use crate::samples::{self, MIB};

/// A node whose PU 0 loads, beside reads by PUs 1 and 2: (GB/s of both together, ns a load), the first idle.
pub fn curve(points: &[(f64, f64)]) -> Document {
    let mut document = samples::empty();
    document.command = "latency".into();
    document.platform.kind = PlatformKind::Host;
    document.platform.reason = Some("cores were asked for: --loaded".into());
    document.ranks = (0..3).map(|pu| samples::rank(pu, pu, 0, "node 0")).collect();
    let mut rows = Vec::new();
    for (at, (gb, ns)) in points.iter().enumerate() {
        let idle = at == 0;
        let name = match at {
            0 => "idle".to_owned(),
            last if last == points.len() - 1 => "full read traffic".to_owned(),
            step => format!("{step}0 % read traffic"),
        };
        let group = format!("node 0, {name}");
        let order = if idle { Order::Alone } else { Order::Simultaneous };
        // A rank's round of 64 bytes, or of 64 MiB at half of the rate.
        let mut case = |direction, bytes: u64, ns: [f64; 3], ranks: &[u32]| {
            let mut case = samples::case(&document, direction, bytes, MemoryKind::Pageable, order, &ns);
            case.ranks.retain(|result| ranks.contains(&result.rank));
            (case.group, case.range_bytes) = (Some(group.clone()), Some(64 * MIB));
            case.id = format!("{}/{group}", case.id);
            document.cases.push(case);
        };
        case(Direction::Load, 64, [*ns; 3], &[0]);
        if !idle {
            case(Direction::Read, 64 * MIB, [(64 * MIB) as f64 / (gb / 2.0); 3], &[1, 2]);
        }
        let of = |ids: &[u32]| IdSet::from_iter(ids.iter().copied());
        rows.push(MatrixRow {
            name,
            pus: if idle { of(&[0]) } else { of(&[0, 1, 2]) },
            memory_node: Some(0),
            ranks: if idle { of(&[0]) } else { of(&[0, 1, 2]) },
            group: Some(group),
            reason: None,
            note: None,
        });
    }
    let column = |name: &str, ranks: &[u32]| MatrixColumn {
        name: name.into(),
        device: "node 0".into(),
        ranks: ranks.iter().copied().collect(),
        declared_nodes: Known::value(IdSet::from_iter([0]), "the node itself"),
    };
    document.matrices = vec![Matrix {
        title: "node 0".into(),
        compares: Compares::Loaded,
        rows,
        columns: vec![column("load latency", &[0]), column("read traffic", &[1, 2])],
    }];
    worked_out(document)
}

fn worked_out(mut document: Document) -> Document {
    document.rows = report::rows::rows(&document);
    document.loaded_latency = loaded_latencies(&document);
    document.verdict = verdict(&document);
    document
}

/// As a server's curve is: flat, and then steep.
pub fn steep() -> Document {
    curve(&[(0.0, 100.0), (40.0, 102.0), (80.0, 106.0), (120.0, 118.0), (150.0, 180.0), (160.0, 320.0)])
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 120, color: false, quiet: true, saved_to: None, screen: None })
}

#[test]
fn a_curve_has_its_points_and_twice_idle_lies_between_two_of_them() {
    let document = steep();
    let [found] = &document.loaded_latency[..] else { panic!("{:?}", document.loaded_latency) };
    assert_eq!((found.pu, found.memory_node, found.traffic), (0, 0, Direction::Read));
    assert_eq!(
        found.traffic_pus,
        IdSet::from_iter([1, 2]),
        "the threads that make traffic, and not the one that loads"
    );
    let points: Vec<(f64, f64)> = found
        .points
        .iter()
        .map(|point| ((point.bytes_per_s / 1e9).round(), point.latency_ns.round()))
        .collect();
    let want = [(0.0, 100.0), (40.0, 102.0), (80.0, 106.0), (120.0, 118.0), (150.0, 180.0), (160.0, 320.0)];
    assert_eq!(points, want, "traffic is the sum of both threads");
    assert!(found.points[0].interval_bytes_per_s.is_none() && found.points[1].interval_bytes_per_s.is_some());
    let TwiceIdle::Reached { bytes_per_s, above_bytes_per_s, below_bytes_per_s } = found.twice_idle else {
        panic!("{:?}", found.twice_idle)
    };
    assert!(150e9 < bytes_per_s && bytes_per_s < 152.5e9, "{bytes_per_s}");
    assert!(above_bytes_per_s < bytes_per_s && bytes_per_s < below_bytes_per_s);
}

/// A flat curve, of which the traffic never doubles the latency.
fn flat() -> Document {
    curve(&[(0.0, 100.0), (40.0, 104.0), (80.0, 120.0)])
}

/// The curve that climbs, of which this row is no figure.
fn without(group: &str) -> Document {
    let mut document = steep();
    for case in document.cases.iter_mut().filter(|case| case.group.as_deref() == Some(group)) {
        (case.status, case.reason) = (CaseStatus::Invalid, Some("they were not at work at once".into()));
    }
    worked_out(document)
}

#[test]
fn what_is_said_of_a_curve_is_idle_full_twice_and_where_it_climbs_and_nothing_that_was_not_measured() {
    let said = |document: &Document| document.verdict.join("\n");
    insta::assert_snapshot!(
        "said_of_loaded_latency",
        cases(&[
            ("a curve that climbs", said(&steep())),
            ("a flat one", said(&flat())),
            ("without the point of 30 %", said(&without("node 0, 30 % read traffic"))),
            ("without idle", said(&without("node 0, idle"))),
        ])
    );
}

#[test]
fn the_table_of_a_curve_begins_with_the_answer_and_has_its_points_and_why_one_is_none() {
    let text = shown(&steep());
    let first = text.lines().next().unwrap_or_default();
    assert!(steep().verdict[0].starts_with(first), "the answer first: {text}");
    insta::assert_snapshot!("table_of_loaded_latency", shown(&without("node 0, 30 % read traffic")));
}

#[test]
fn a_flat_curve_claims_neither_twice_nor_a_knee() {
    let document = flat();
    let [found] = &document.loaded_latency[..] else { panic!("{:?}", document.loaded_latency) };
    assert_eq!((found.twice_idle, found.knee_bytes_per_s), (TwiceIdle::NotReached, None));
    assert_eq!(document.verdict.len(), 1);
}

#[test]
fn without_idle_nothing_is_claimed() {
    assert_eq!(without("node 0, 30 % read traffic").loaded_latency[0].points.len(), 5);
    let document = without("node 0, idle");
    assert_eq!(document.loaded_latency[0].twice_idle, TwiceIdle::Undecided);
    assert_eq!(document.verdict.len(), 1);
}
