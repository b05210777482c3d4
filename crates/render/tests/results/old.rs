//! Documents that earlier versions wrote are read for ever: one of every schema version that a release wrote
//! (none wrote 1.4), as it was written then.
//!
//! A new minor version adds the last document of the one before. Left out: whether they follow the committed
//! schemas, for which this crate has no validator.

use analysis::any_document::{AnyDocument, DocumentKind};
use report::block::BlockTime;
use report::read::ReadError;
use report::result::BlockSample;
use report::row::{Row, RowStatus};
use report::{PlaceDocument, SavedDocument};

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
