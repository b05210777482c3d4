//! Documents follow the committed schema, and read back as they were written.

use proptest::prelude::*;
use render::terminal;
use report::contention::{Aggregate, NodeAggregate};
use report::document::Status;
use report::json::{self, JsonError};
use report::launch::{Launch, MissingRank};
use report::node::Difference;
use report::outlier_node::OutlierNode;
use report::read::ReadError;
use report::result::Outcome;
use report::{Document, Known, SavedDocument, schema};
use serde_json::Value;
use stats::stop::StopReason;

use crate::{loaded, samples};

type Done = Result<(), Box<dyn std::error::Error>>;

fn samples() -> [Document; 7] {
    let several_nodes = samples::several_nodes(6, 2);
    [
        loaded::steep(),
        samples::one_rank(),
        samples::eight_ranks(),
        samples::host(),
        samples::sweep(),
        samples::empty(),
        several_nodes,
    ]
}

/// A document that numabench wrote when the schema was at 1.0.
fn of_1_0() -> Result<Vec<u8>, std::io::Error> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/fixtures/v1.0-two-ranks.json"))
}

fn committed() -> Result<jsonschema::Validator, Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/schema/result-v1.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(jsonschema::validator_for(&schema)?)
}

#[test]
fn every_sample_follows_the_committed_schema() -> Done {
    let validator = committed()?;
    for document in samples() {
        let value: Value = serde_json::from_slice(&json::json_value(&document)?)?;
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
    Ok(())
}

#[test]
fn the_schema_refuses_what_is_no_document() -> Done {
    let validator = committed()?;
    let good: Value = serde_json::from_slice(&json::json_value(&samples::one_rank())?)?;
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
    let schema: Value = serde_json::from_str(schema::COMMITTED[0].1)?;
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["title"], "numabench.result 1: one run of numabench");
    assert!(jsonschema::meta::is_valid(&schema));
    Ok(())
}

#[test]
fn a_document_reads_back_as_it_was_written_and_ends_with_a_newline() -> Done {
    for document in samples() {
        let bytes = json::json_value(&document)?;
        assert_eq!(bytes.last(), Some(&b'\n'));
        assert!(Document::from_json(&bytes)? == document, "{}", document.argv.join(" "));
    }
    Ok(())
}

#[test]
fn a_block_has_a_line_of_its_own() -> Done {
    let document = samples::one_rank();
    let text = String::from_utf8(json::json_value(&document)?)?;
    let blocks =
        text.lines().filter(|line| line.contains(r#"{"index": "#) && line.contains(r#""max_round_ns": "#));
    assert_eq!(blocks.count(), 3 * 10);
    Ok(())
}

#[test]
fn a_float_that_is_no_number_is_an_error_with_its_place_and_never_a_null() {
    let mut document = samples::one_rank();
    if let Outcome::Measured { summary, .. } = &mut document.cases[1].ranks[0].outcome {
        summary.std_ns = Some(f64::NAN);
    }
    let error = json::json_value(&document).err();
    let Some(JsonError::NonFinite(error)) = &error else { panic!("{error:?}") };
    assert_eq!((&error.path[..], &error.value[..]), ("cases[1].ranks[0].outcome.summary.std_ns", "NaN"));
    insta::assert_snapshot!("refused_float", error);
}

/// A document with one value replaced, as bytes.
fn edited(pointer: &str, value: Value) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut document: Value = serde_json::from_slice(&json::json_value(&samples::one_rank())?)?;
    *document.pointer_mut(pointer).ok_or("no such place")? = value;
    Ok(serde_json::to_vec(&document)?)
}

#[test]
fn what_is_no_document_is_refused_with_the_reason() -> Done {
    let error = |bytes: &[u8]| Document::from_json(bytes).err();
    for half in [&b""[..], b"{\"schema\": "] {
        assert!(matches!(error(half), Some(ReadError::NotJson { .. })), "{:?}", error(half));
    }
    for other in [&b"[]"[..], b"null", b"3", b"{}", b"{\"schema\": 1}", b"{\"schema\": \"else\"}"] {
        let error = error(other);
        assert!(
            matches!(&error, Some(ReadError::NotADocument { wanted, .. }) if wanted.version == Document::VERSION),
            "{error:?}"
        );
    }
    for version in ["one".into(), Value::Null] {
        let error = error(&edited("/schema_version", version)?);
        assert!(matches!(error, Some(ReadError::BadVersion { .. })), "{error:?}");
    }
    let newer = error(&edited("/schema_version", "2.0".into())?);
    assert!(
        matches!(&newer, Some(ReadError::OtherMajor { found, wanted }) if found == "2.0" && wanted.version.major == 1),
        "{newer:?}"
    );
    let malformed = error(&edited("/elapsed_s", "N/A".into())?);
    let Some(ReadError::Malformed { version, fault }) = &malformed else { panic!("{malformed:?}") };
    assert!(version == "1.6" && fault.line() > 0, "{malformed:?}");
    Ok(())
}

#[test]
fn every_refusal_of_a_document_says_what_to_give_instead() -> Done {
    let said =
        |bytes: &[u8]| Document::from_json(bytes).map_or_else(|error| error.to_string(), |_| "read".into());
    let mut newer: Value = serde_json::from_slice(&edited("/schema_version", "1.7".into())?)?;
    newer["elapsed_s"] = serde_json::json!({"wall": 1.0});
    let texts = [
        said(b""),
        said(b"{}"),
        said(b"{\"schema\": \"else\"}"),
        said(&edited("/schema_version", "one".into())?),
        said(&edited("/schema_version", "2.0".into())?),
        said(&edited("/elapsed_s", "N/A".into())?),
        said(&serde_json::to_vec(&newer)?),
    ];
    insta::assert_snapshot!("refused_documents", texts.join("\n"));
    Ok(())
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_place() -> Done {
    let mut bytes = json::json_value(&samples::one_rank())?;
    let at = bytes.len() - 10;
    bytes[at] = 0xff;
    let Err(error) = Document::from_json(&bytes) else { return Err("nothing refused it".into()) };
    assert!(error.to_string().contains(&format!("not UTF-8 at byte {at}")), "{error}");
    Ok(())
}

#[test]
fn a_newer_minor_with_fields_and_values_unknown_here_is_read() -> Done {
    let mut document: Value = serde_json::from_slice(&json::json_value(&samples::one_rank())?)?;
    document["schema_version"] = "1.7".into();
    document["energy_j"] = 12.5.into();
    document["status"] = "checkpointed".into();
    document["settings"]["memory"][0] = "managed".into();
    document["settings"]["membind"] = serde_json::json!({"kind": "interleave", "nodes": [0, 1]});
    document["cases"][0]["ranks"][0]["outcome"] = serde_json::json!({"status": "estimated", "by": "model"});
    document["cases"][1]["ranks"][0]["outcome"]["stop_reason"] = "out-of-energy".into();
    let read = Document::from_json(&serde_json::to_vec(&document)?)?;
    assert_eq!(read.status, Status::Newer);
    assert_eq!(read.cases[0].ranks[0].outcome, Outcome::Newer);
    let stopped = &read.cases[1].ranks[0].outcome;
    assert!(matches!(stopped, Outcome::Measured { stop_reason: StopReason::Newer, .. }), "{stopped:?}");
    // What was not understood cannot be written as if it had been.
    assert!(matches!(json::json_value(&read), Err(JsonError::Value(_))));
    // And a table shows it as what it is.
    let style = terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let table = terminal::table(&read, &style);
    assert!(table.contains("(known to a newer numabench)"), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 result stopped for a reason that a newer numabench knows"), "{table}");
    Ok(())
}

#[test]
fn a_document_of_1_0_is_read_and_stands_on_one_node() -> Done {
    let read = Document::from_json(&of_1_0()?)?;
    assert_eq!(read.schema_version, "1.0");
    assert!(read.launch.is_none() && read.nodes.is_empty() && read.missing.is_empty());
    let ranks: Vec<(u32, u32, u32)> =
        read.ranks.iter().map(|rank| (rank.rank, rank.node, rank.node_rank)).collect();
    assert_eq!(ranks, [(0, 0, 0), (1, 0, 1)]);
    let addresses: Vec<String> =
        read.devices.iter().filter_map(|device| Some(device.pci_address?.to_string())).collect();
    assert_eq!(addresses, ["0000:c1:00.0", "0000:c6:00.0"]);
    assert!(read.cases.iter().all(|case| case.nodes.is_empty() && case.outlier_nodes.value.is_none()));
    assert_eq!((read.cases.len(), read.penalties.len(), read.messages.len()), (4, 3, 1));
    let style = terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let table = terminal::table(&read, &style);
    assert!(
        table.contains("Placement on nid005123") && table.contains("no result: 1 of 2 ranks were measured"),
        "{table}"
    );
    Ok(())
}

#[test]
fn a_document_of_1_0_keeps_every_value_when_it_is_written_again() -> Done {
    /// Whether `new` has all that `old` has; objects may have more.
    fn keeps(old: &Value, new: &Value) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                old.iter().all(|(key, value)| new.get(key).is_some_and(|new| keeps(value, new)))
            }
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| keeps(old, new))
            }
            _ => old == new,
        }
    }
    let old = of_1_0()?;
    let written: Value = serde_json::from_slice(&json::json_value(&Document::from_json(&old)?)?)?;
    assert!(keeps(&serde_json::from_slice(&old)?, &written));
    Ok(())
}

#[test]
fn a_document_of_1_0_follows_the_schema_too_and_what_came_later_says_so() -> Done {
    let validator = committed()?;
    let old: Value = serde_json::from_slice(&of_1_0()?)?;
    let faults: Vec<String> = validator.iter_errors(&old).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let schema: Value = serde_json::from_str(schema::COMMITTED[0].1)?;
    assert_eq!(schema["properties"]["nodes"]["since"], "1.1");
    assert_eq!(schema["$defs"]["Rank"]["properties"]["node_rank"]["since"], "1.1");
    let required = schema["required"].as_array().ok_or("no required")?;
    assert!(required.contains(&"ranks".into()) && !required.contains(&"nodes".into()));
    Ok(())
}

#[test]
fn a_newer_minor_that_cannot_be_read_over_says_so() -> Done {
    let mut document: Value = serde_json::from_slice(&json::json_value(&samples::one_rank())?)?;
    document["schema_version"] = "1.7".into();
    document["elapsed_s"] = serde_json::json!({"wall": 1.0});
    let read = Document::from_json(&serde_json::to_vec(&document)?);
    assert!(matches!(read, Err(ReadError::NewerMinor { .. })));
    Ok(())
}

fn some_float() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
}

fn maybe<T: Clone + std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::of(strategy)
}

fn node_aggregate() -> impl Strategy<Value = NodeAggregate> {
    let aggregate =
        (any::<u32>(), prop::array::uniform5(some_float())).prop_map(|(n, [sum, min, mean, max, part])| {
            Aggregate {
                ranks: n,
                sum_bytes_per_s: sum,
                min_bytes_per_s: min,
                mean_bytes_per_s: mean,
                max_bytes_per_s: max,
                slowest_rank: n,
                imbalance: part,
            }
        });
    let fields =
        (any::<u32>(), maybe(aggregate), maybe(any::<String>()), maybe(some_float()), maybe(some_float()));
    fields.prop_map(|(node, aggregate, reason, overlap, start_skew_ns)| NodeAggregate {
        node,
        aggregate,
        reason,
        overlap,
        start_skew_ns,
    })
}

fn outliers() -> impl Strategy<Value = Known<Vec<OutlierNode>>> {
    let one = (any::<u32>(), maybe(any::<u32>()), prop::array::uniform3(some_float())).prop_map(
        |(node, rank, [bytes_per_s, median_bytes_per_s, score])| OutlierNode {
            node,
            rank,
            bytes_per_s,
            median_bytes_per_s,
            score,
        },
    );
    let known = (prop::result::maybe_err(prop::collection::vec(one, 0..3), any::<String>()), any::<String>());
    known.prop_map(|(result, source)| Known::from_result(result, source))
}

fn launch() -> impl Strategy<Value = Launch> {
    let fields = (any::<String>(), any::<u32>(), any::<u32>(), maybe(any::<String>()));
    fields.prop_map(|(launcher, tasks, nodes, mpi_library)| Launch { launcher, tasks, nodes, mpi_library })
}

fn missing() -> impl Strategy<Value = MissingRank> {
    let fields = (any::<u32>(), maybe(any::<String>()), any::<String>());
    fields.prop_map(|(rank, host, why)| MissingRank { rank, host, why })
}

fn difference() -> impl Strategy<Value = Difference> {
    let fields = (any::<String>(), any::<String>(), maybe(any::<String>()));
    fields.prop_map(|(fact, this, most)| Difference { fact, this, most })
}

proptest! {
    #[test]
    fn what_is_said_of_several_nodes_reads_back_as_it_was_written(
        launch in maybe(launch()),
        missing in prop::collection::vec(missing(), 0..3),
        differs in prop::collection::vec(difference(), 0..3),
        aggregates in prop::collection::vec(node_aggregate(), 0..3),
        outliers in outliers(),
        host in any::<String>(),
        ranks in prop::collection::btree_set(any::<u32>(), 0..5),
        (node, node_rank, visible) in (any::<u32>(), any::<u32>(), maybe(any::<u32>())),
        address in maybe((any::<u32>(), any::<u8>(), 0_u8..32, 0_u8..8)),
    ) {
        let mut document = samples::on_nodes(2, 1, &|_, _| 1e6);
        let address = address.map(|(domain, bus, device, function)| {
            stats::PciAddress { domain, bus, device, function }
        });
        (document.launch, document.missing) = (launch, missing);
        let mine = &mut document.nodes[1];
        (mine.host, mine.differs, mine.ranks) = (host.clone(), differs, ranks.into_iter().collect());
        (document.cases[0].nodes, document.cases[0].outlier_nodes) = (aggregates, outliers);
        let rank = &mut document.ranks[1];
        (rank.node, rank.node_rank, rank.visible_devices) = (node, node_rank, visible);
        let device = &mut document.devices[1];
        (device.node, device.pci_address) = (node, address);
        device.id = format!("{host}/0000:c1:00.0");
        let read = json::json_value(&document).ok().and_then(|bytes| Document::from_json(&bytes).ok());
        prop_assert_eq!(read, Some(document));
    }

    #[test]
    fn every_finite_float_survives_to_the_last_bit(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL) {
        let mut document = samples::empty();
        document.elapsed_s = value;
        let read = json::json_value(&document).ok().and_then(|bytes| Document::from_json(&bytes).ok());
        prop_assert_eq!(read.map(|read| read.elapsed_s.to_bits()), Some(value.to_bits()));
    }
}
