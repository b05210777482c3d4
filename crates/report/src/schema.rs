//! The JSON Schema of the result document, generated from its types.
//!
//! It is committed as `crates/report/schema/result-v1.json`, so that a change of the interface is a line in a diff and a
//! reader needs no build. `cargo xtask schema` writes it; a test here and `cargo xtask tidy` compare it with [`text`].

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::document::{Document, SCHEMA, SCHEMA_MAJOR};

/// The schema as it follows from the types: JSON Schema draft 2020-12, keys in alphabetical order, newline at its end.
pub fn text() -> String {
    // What this version writes: null where there is nothing. (A reader accepts less, and more.)
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Document>();
    let mut schema = schema.to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("$id".into(), format!("urn:{SCHEMA}:{SCHEMA_MAJOR}").into());
        root.insert("title".into(), format!("{SCHEMA} {SCHEMA_MAJOR}: one run of numabench").into());
    }
    later_fields_are_not_required(&mut schema);
    format!("{:#}\n", sorted(schema))
}

/// A field that came with a minor version (`since`) is not required: documents of older minor versions follow this schema too.
fn later_fields_are_not_required(schema: &mut Value) {
    let came_later = |properties: &Value, name: &Value| {
        name.as_str().and_then(|name| properties.get(name)).is_some_and(|field| field.get("since").is_some())
    };
    match schema {
        Value::Object(map) => {
            let properties = map.get("properties").cloned().unwrap_or_default();
            if let Some(required) = map.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|name| !came_later(&properties, name));
            }
            map.values_mut().for_each(later_fields_are_not_required);
        }
        Value::Array(items) => items.iter_mut().for_each(later_fields_are_not_required),
        _ => {}
    }
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
