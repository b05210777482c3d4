//! Documents follow the committed schema, and read back as they were written.

use proptest::prelude::*;
use report::document::Status;
use report::read::ReadError;
use report::render::{self, JsonError};
use report::result::Outcome;
use report::{Document, schema};
use serde_json::Value;

use crate::samples;

type Done = Result<(), Box<dyn std::error::Error>>;

fn samples() -> [Document; 5] {
    [samples::one_rank(), samples::eight_ranks(), samples::host(), samples::sweep(), samples::empty()]
}

fn committed() -> Result<jsonschema::Validator, Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/result-v1.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(jsonschema::validator_for(&schema)?)
}

#[test]
fn every_sample_follows_the_committed_schema() -> Done {
    let validator = committed()?;
    for document in samples() {
        let value: Value = serde_json::from_slice(&render::json(&document)?)?;
        let faults: Vec<String> =
            validator.iter_errors(&value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
    Ok(())
}

#[test]
fn the_schema_refuses_what_is_no_document() -> Done {
    let validator = committed()?;
    let good: Value = serde_json::from_slice(&render::json(&samples::one_rank())?)?;
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        if let Some(place) = bad.pointer_mut(pointer) {
            *place = value;
        }
        bad
    };
    assert!(validator.is_valid(&good));
    assert!(!validator.is_valid(&with("/schema", "other".into())));
    assert!(!validator.is_valid(&with("/schema_version", "2.0".into())));
    assert!(!validator.is_valid(&with("/status", "newer".into())));
    assert!(!validator.is_valid(&with("/elapsed_s", "N/A".into())));
    assert!(!validator.is_valid(&with("/cases/0/ranks/0/outcome/summary/median_ns", Value::Null)));
    assert!(!validator.is_valid(&with("/cases/0/ranks/0/outcome", serde_json::json!({"status": "skipped"}))));
    assert!(
        validator.is_valid(&with("/messages", serde_json::json!([{"level": "info", "text": "", "new": 1}]))),
        "a newer field"
    );
    Ok(())
}

#[test]
fn the_schema_is_itself_a_valid_schema_with_a_title() -> Done {
    let schema: Value = serde_json::from_str(&schema::text())?;
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["title"], "numabench.result 1: one run of numabench");
    assert!(jsonschema::meta::is_valid(&schema));
    Ok(())
}

#[test]
fn a_document_reads_back_as_it_was_written_and_ends_with_a_newline() -> Done {
    for document in samples() {
        let bytes = render::json(&document)?;
        assert_eq!(bytes.last(), Some(&b'\n'));
        assert!(Document::from_json(&bytes)? == document, "{}", document.argv.join(" "));
    }
    Ok(())
}

#[test]
fn a_float_that_is_no_number_is_an_error_with_its_place_and_never_a_null() {
    let mut document = samples::one_rank();
    if let Outcome::Measured { summary, .. } = &mut document.cases[1].ranks[0].outcome {
        summary.std_ns = Some(f64::NAN);
    }
    let error = render::json(&document).map_or_else(|error| error.to_string(), |_| "written".into());
    assert!(error.starts_with("cases[1].ranks[0].outcome.summary.std_ns is NaN"), "{error}");
}

/// A document with one value replaced, as bytes.
fn edited(pointer: &str, value: Value) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut document: Value = serde_json::from_slice(&render::json(&samples::one_rank())?)?;
    *document.pointer_mut(pointer).ok_or("no such place")? = value;
    Ok(serde_json::to_vec(&document)?)
}

#[test]
fn what_is_no_document_is_refused_with_the_reason() -> Done {
    let error = |bytes: &[u8]| Document::from_json(bytes).map_or_else(|error| error.to_string(), |_| "read".into());
    assert!(error(b"").starts_with("this is not JSON"));
    assert!(error(b"{\"schema\": ").starts_with("this is not JSON"));
    for other in [&b"[]"[..], b"null", b"3", b"{}", b"{\"schema\": 1}", b"{\"schema\": \"else\"}"] {
        assert!(error(other).contains("no numabench.result document"), "{}", error(other));
    }
    assert!(error(&edited("/schema_version", "one".into())?).contains("must be major.minor"));
    assert!(error(&edited("/schema_version", Value::Null)?).contains("must be major.minor"));
    assert!(error(&edited("/schema_version", "2.0".into())?).contains("follows schema 2.0; this numabench reads 1.x"));
    let malformed = error(&edited("/elapsed_s", "N/A".into())?);
    assert!(malformed.contains("says schema 1.1, but does not follow it") && malformed.contains("line"), "{malformed}");
    Ok(())
}

#[test]
fn a_newer_minor_with_fields_and_values_unknown_here_is_read() -> Done {
    let mut document: Value = serde_json::from_slice(&render::json(&samples::one_rank())?)?;
    document["schema_version"] = "1.7".into();
    document["energy_j"] = 12.5.into();
    document["status"] = "checkpointed".into();
    document["settings"]["memory"][0] = "managed".into();
    document["settings"]["membind"] = serde_json::json!({"kind": "interleave", "nodes": [0, 1]});
    document["cases"][0]["ranks"][0]["outcome"] = serde_json::json!({"status": "estimated", "by": "model"});
    let read = Document::from_json(&serde_json::to_vec(&document)?)?;
    assert_eq!(read.status, Status::Newer);
    assert_eq!(read.cases[0].ranks[0].outcome, Outcome::Newer);
    // What was not understood cannot be written as if it had been.
    assert!(matches!(render::json(&read), Err(JsonError::Value(_))));
    // And a table shows it as what it is.
    let style = render::Style { width: 100, color: false, quiet: false, saved_to: None };
    assert!(render::table(&read, &style).contains("(known to a newer numabench)"));
    Ok(())
}

#[test]
fn a_newer_minor_that_cannot_be_read_over_says_so() -> Done {
    let mut document: Value = serde_json::from_slice(&render::json(&samples::one_rank())?)?;
    document["schema_version"] = "1.7".into();
    document["elapsed_s"] = serde_json::json!({"wall": 1.0});
    let read = Document::from_json(&serde_json::to_vec(&document)?);
    assert!(matches!(read, Err(ReadError::NewerMinor { .. })));
    Ok(())
}

proptest! {
    #[test]
    fn every_finite_float_survives_to_the_last_bit(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL) {
        let mut document = samples::empty();
        document.elapsed_s = value;
        let read = render::json(&document).ok().and_then(|bytes| Document::from_json(&bytes).ok());
        prop_assert_eq!(read.map(|read| read.elapsed_s.to_bits()), Some(value.to_bits()));
    }
}
