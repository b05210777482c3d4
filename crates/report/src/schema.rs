//! The JSON Schema of the result document, generated from its types.
//!
//! It is committed as `crates/report/schema/result-v1.json`, so that a change of the interface is a line in a diff and a
//! reader needs no build. `cargo xtask schema` writes it; a test here and `cargo xtask tidy` compare it with [`text`].

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::document::{Document, SCHEMA, SCHEMA_MAJOR};

/// The schema as it follows from the types: JSON Schema draft 2020-12, keys in alphabetical order, newline at its end.
pub fn text() -> String {
    // What this version writes: every field is there, null where there is nothing. (A reader accepts less, and more.)
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Document>();
    let mut schema = schema.to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("$id".into(), format!("urn:{SCHEMA}:{SCHEMA_MAJOR}").into());
        root.insert("title".into(), format!("{SCHEMA} {SCHEMA_MAJOR}: one run of numabench").into());
    }
    format!("{:#}\n", sorted(schema))
}

/// The same value with the keys of all objects in alphabetical order, whichever map serde_json was built with in this
/// workspace (another crate may switch its `preserve_order` on).
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_the_generated_one() -> Result<(), Box<dyn std::error::Error>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/result-v1.json");
        let committed = std::fs::read_to_string(path)?;
        assert!(committed == text(), "{path} is not what the types say: run `cargo xtask schema` and look at the diff");
        Ok(())
    }

    #[test]
    fn a_value_kept_for_newer_documents_is_not_in_the_schema() {
        assert!(!text().contains("\"newer\""), "Newer is for reading only");
    }
}
