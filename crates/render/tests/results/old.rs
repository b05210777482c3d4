//! Documents that earlier versions wrote are read for ever: one of every schema version that a release wrote
//! (none wrote 1.4), as it was written then. So are those of newer minor versions: what they have that is not
//! known here is read over, and shown as such.
//!
//! A new minor version adds the last document of the one before. Left out: whether they follow the committed
//! schemas, for which this crate has no validator.

use analysis::any_document::{AnyDocument, DocumentKind};
use analysis::compare::{Thresholds, compare};
use analysis::mpi_adapters::{Nearness, nearness};
use analysis::{mpi, mpi_answer, mpi_matrix};
use render::{export, html, terminal};
use report::awareness::{
    Awareness, DeviceOperation, EvidenceFinding, EvidenceKind, OperationOutcome, Transport,
};
use report::block::BlockTime;
use report::json::{JsonError, json_value};
use report::message::{GpuThreadAt, MessagePattern, MpiPath, MpiPlaceKind, MpiThreadLevel};
use report::mpi::rows;
use report::rank::Locality;
use report::read::ReadError;
use report::result::BlockSample;
use report::row::{Row, RowStatus};
use report::{MpiDocument, NEWER, PlaceDocument, SavedDocument};
use serde_json::{Value, json};
use stats::stop::StopReason;

use crate::made::Done;

fn bytes(name: &str) -> Result<Vec<u8>, std::io::Error> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/results/documents/");
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/fixtures/");
    std::fs::read(own.to_owned() + name).or_else(|_| std::fs::read(report.to_owned() + name))
}

#[test]
fn a_document_of_every_version_is_read_and_compared() -> Done {
    let all = [
        ("v1.0-two-ranks.json", DocumentKind::Result, 7),
        ("result-1.1.json", DocumentKind::Result, 1),
        ("result-1.2.json", DocumentKind::Result, 1),
        ("result-1.3.json", DocumentKind::Result, 3),
        ("result-1.5.json", DocumentKind::Result, 6),
        ("trial-1.0.json", DocumentKind::Trial, 2),
        ("mpi-1.0-aware.json", DocumentKind::Mpi, 14),
        ("mpi-1.0-not-aware.json", DocumentKind::Mpi, 12),
    ];
    for (name, kind, least) in all {
        let kept: AnyDocument = AnyDocument::from_json(&bytes(name)?)?;
        assert_eq!(kept.kind(), kind, "{name}");
        let run = kept.run(name)?;
        let figures = run.figures.values().filter(|figure| figure.is_ok()).count();
        assert!(figures >= least, "{name}: {figures} figures");
        // What a comparison reads is the same with less of each block.
        let less = AnyDocument::<BlockTime>::from_json(&bytes(name)?)?.run(name)?;
        assert_eq!((less.figures, less.conditions), (run.figures, run.conditions), "{name}");
        if let AnyDocument::Result(document) = kept {
            assert!(document.rows.len() >= least, "{name} has rows, whichever version wrote it");
            let has_value = |row: &Row| row.value.is_some() == (row.status == RowStatus::Measured);
            assert!(
                document.rows.iter().all(has_value),
                "{name}: rows have what later versions write in them"
            );
        }
    }
    for name in ["place-1.0.json", "place-1.1.json"] {
        assert!(!PlaceDocument::from_json(&bytes(name)?)?.candidates.is_empty(), "{name}");
    }
    Ok(())
}

#[test]
fn a_newer_major_version_of_every_kind_is_refused_by_name() {
    for kind in ["result", "trial", "mpi", "imported"] {
        let text = format!("{{\"schema\": \"numabench.{kind}\", \"schema_version\": \"2.0\"}}");
        let error = AnyDocument::<BlockSample>::from_json(text.as_bytes()).err();
        let Some(ReadError::OtherMajor { wanted, found }) = &error else { panic!("{kind}: {error:?}") };
        assert_eq!(
            (wanted.version.schema, wanted.version.major, &found[..]),
            (&format!("numabench.{kind}")[..], 1, "2.0")
        );
    }
    let error = AnyDocument::<BlockSample>::from_json(br#"{"schema": "other"}"#).err();
    assert!(
        matches!(&error, Some(ReadError::NotADocument { found, .. }) if found.contains("other")),
        "{error:?}"
    );
}

#[test]
fn fields_and_values_of_a_newer_minor_version_are_read_over() -> Done {
    let text = String::from_utf8(bytes("mpi-1.0-aware.json")?)?;
    let newer =
        text.replacen("\"schema_version\": \"1.0\"", "\"schema_version\": \"1.9\", \"new_field\": [1]", 1);
    assert_eq!(AnyDocument::<BlockSample>::from_json(newer.as_bytes())?.run("newer")?.figures.len(), 14);
    Ok(())
}

/// Messages of which each enumeration has a value that this version does not know.
fn messages_of_tomorrow() -> Result<Value, Box<dyn std::error::Error>> {
    const UNKNOWN: &str = "of-tomorrow";
    let mut messages: Value = serde_json::from_slice(&bytes("mpi-1.0-aware.json")?)?;
    messages["schema_version"] = "1.9".into();

    for field in [
        "/mpi/thread_level",
        "/settings/patterns/0",
        "/settings/operations/0",
        "/ranks/0/locality",
        "/pairs/0/device_memory/awareness",
        "/pairs/0/device_memory/transport",
        "/pairs/0/device_memory/failing/0",
        "/pairs/0/device_memory/not_tried/0",
        "/pairs/0/device_memory/witnesses/0/name",
        "/pairs/0/device_memory/witnesses/1/says",
        "/pairs/0/operations/0/operation",
        "/pairs/0/operations/2/outcome",
        "/pairs/0/cases/0/path",
        "/pairs/0/cases/1/pattern",
        "/pairs/0/cases/2/stop",
    ] {
        *messages.pointer_mut(field).ok_or(field)? = UNKNOWN.into();
    }

    messages["ranks"][0]["gpu_threads"] = json!([{"at": UNKNOWN, "pu": 3, "memory_node": 0}]);
    let counted = json!({"median": 1.0, "interval": {"low": 0.99, "high": 1.01, "confidence": 0.95}});
    let carried = |path: &str, pattern: &str| {
        json!({"path": path, "pattern": pattern, "bytes": 8, "rank": 0, "adapter": "r0", "sent": counted,
               "received": null})
    };
    messages["pairs"][0]["carried"] = json!([carried(UNKNOWN, "ping-pong"), carried("host", UNKNOWN)]);
    Ok(messages)
}

#[test]
fn a_value_of_a_newer_version_is_read_in_each_enumeration_of_messages() -> Done {
    let read = MpiDocument::from_json(&serde_json::to_vec(&messages_of_tomorrow()?)?)?;
    assert_eq!(read.mpi.thread_level, Some(MpiThreadLevel::Newer));
    assert_eq!(read.settings.patterns, [MessagePattern::Newer]);
    assert_eq!(read.settings.operations[0], DeviceOperation::Newer);
    assert_eq!(read.ranks[0].locality, Some(Locality::Newer));
    assert_eq!(read.ranks[0].gpu_threads[0].at, GpuThreadAt::Newer);

    let pair = &read.pairs[0];
    let memory = pair.device_memory.as_ref().ok_or("device memory")?;
    assert_eq!((memory.awareness, memory.transport), (Awareness::Newer, Transport::Newer));
    assert_eq!([memory.failing[0], memory.not_tried[0]], [DeviceOperation::Newer; 2]);
    let [kind, finding] = [&memory.witnesses[0], &memory.witnesses[1]];
    assert_eq!((kind.name, finding.says), (EvidenceKind::Newer, EvidenceFinding::Newer));
    let tried = &pair.operations;
    assert_eq!(tried[0].operation, DeviceOperation::Newer);
    assert_eq!(tried[2].outcome, OperationOutcome::Newer);

    let cases = &pair.cases;
    assert_eq!((cases[0].path, cases[1].pattern), (MpiPath::Newer, MessagePattern::Newer));
    assert_eq!(cases[2].stop, Some(StopReason::Newer));
    assert_eq!(pair.carried[0].path, MpiPath::Newer);
    assert_eq!(pair.carried[1].pattern, MessagePattern::Newer);
    let flat = rows(&read.pairs);
    assert_eq!((flat[0].path, flat[1].pattern), (MpiPath::Newer, MessagePattern::Newer));

    // What was not understood cannot be written as if it had been.
    assert!(matches!(json_value(&read), Err(JsonError::Value(_))));
    Ok(())
}

#[test]
fn a_value_of_a_newer_version_is_shown_as_such_and_not_judged() -> Done {
    let mut read = MpiDocument::from_json(&serde_json::to_vec(&messages_of_tomorrow()?)?)?;
    read.verdict = mpi_answer::verdict(&read);
    let said = read.verdict.join(" ");
    assert!(said.starts_with("A newer numabench knows whether MPI is GPU-aware."), "{said}");
    let advice = ["To change it", "Until the library", "is half GPU-aware", "is not GPU-aware"];
    assert!(!advice.iter().any(|words| said.contains(words)), "{said}");
    assert_eq!(nearness(&read), Nearness::Unknown);

    // Two figures that cannot be told apart are none, and none is missing of a run against itself.
    let figures = mpi::run("newer", &read)?.figures;
    assert_eq!(figures.values().filter(|figure| figure.is_ok()).count(), 12);
    let why: Vec<&String> = figures.values().filter_map(|figure| figure.as_ref().err()).collect();
    assert_eq!(why, ["its path or pattern is known to a newer numabench"; 2]);
    let run = || mpi::run("newer", &read);
    let found = compare(read.tool.clone(), &[run()?], &[run()?], Thresholds::default(), false)?;
    assert_eq!((found.missing.len(), found.added.len(), found.counts.regressed), (0, 0, 0));

    let memory = read.pairs[0].device_memory.as_mut().ok_or("device memory")?;
    memory.awareness = Awareness::Aware;
    let said = mpi_answer::verdict(&read).join(" ");
    assert!(said.contains("operations tried, and takes a path that a newer numabench knows."), "{said}");

    let style = terminal::Style { width: 200, color: false, quiet: false, saved_to: None, screen: None };
    let text = terminal::mpi(&read, &style);
    for shown in [
        &format!("thread level {NEWER}"),
        &format!("3 {NEWER}"),
        &format!("  {NEWER}: fails: "),
        &format!("  rate: {NEWER}: "),
        &format!("  isend of 1 KiB: {NEWER}"),
        &format!("Not shown: 2 figures of a path or pattern {NEWER}"),
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }

    let page = html::page(&[("newer.json".to_owned(), read.clone())]);
    for shown in [format!("{NEWER}/ping-pong/"), format!("/{NEWER}/"), format!("<td>{NEWER}")] {
        assert!(page.contains(&shown), "{shown}: {page}");
    }
    let table = String::from_utf8(export::mpi(&read).export(export::Form::Csv)?)?;
    assert_eq!(table.lines().filter(|line| line.contains(&format!(",{NEWER},"))).count(), 2, "{table}");
    Ok(())
}

#[test]
fn a_kind_of_place_that_a_newer_version_knows_is_shown_and_its_paths_are_not_compared() -> Done {
    let mut messages = messages_of_tomorrow()?;
    let place = |rank: u32| json!({"rank": rank, "name": format!("die {rank}"), "nics": []});
    messages["matrix"] = json!({
        "places": "die",
        "rows": [place(0)],
        "columns": [place(1)],
        "missing": []
    });
    let read = MpiDocument::from_json(&serde_json::to_vec(&messages)?)?;
    let matrix = read.matrix.as_ref().ok_or("a matrix")?;
    assert_eq!(matrix.places, MpiPlaceKind::Newer);
    assert!(render::node::svg_of_mpi(&read)?.contains(&format!("messages between places ({NEWER})")));
    assert!(!mpi_matrix::verdict(&read, matrix).join(" ").contains(NEWER));
    Ok(())
}
