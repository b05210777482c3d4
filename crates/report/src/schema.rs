//! The JSON Schemas of the result, the placement, the trial, the MPI, the imported, the doctor's and the
//! witness's document, generated from their types.
//!
//! They are committed in `crates/report/schema`, so that a change of the interface is a line in a diff and a
//! reader needs no build. `cargo xtask schema` writes them; a test here and `cargo xtask tidy` compare them
//! with [`all`].

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::versioned::Version;
use crate::{
    DoctorDocument, Document, ImportedDocument, MpiDocument, PlaceDocument, SavedDocument, TrialDocument,
    WitnessDocument,
};

/// The name of each schema's file, and its text as committed: what [`all`] gives, without the code that makes
/// it.
pub const COMMITTED: [(&str, &str); 7] = [
    ("result-v1.json", include_str!("../schema/result-v1.json")),
    ("place-v1.json", include_str!("../schema/place-v1.json")),
    ("trial-v1.json", include_str!("../schema/trial-v1.json")),
    ("mpi-v1.json", include_str!("../schema/mpi-v1.json")),
    ("imported-v1.json", include_str!("../schema/imported-v1.json")),
    ("doctor-v1.json", include_str!("../schema/doctor-v1.json")),
    ("witness-v1.json", include_str!("../schema/witness-v1.json")),
];

/// The name of each schema's file, and its text: JSON Schema draft 2020-12, keys in alphabetical order,
/// newline at its end.
pub fn all() -> [(String, String); 7] {
    [
        file::<Document>(Document::VERSION, "one run of numabench"),
        file::<PlaceDocument>(PlaceDocument::VERSION, "places for the ranks of a node"),
        file::<TrialDocument>(TrialDocument::VERSION, "a program under several placements"),
        file::<MpiDocument>(
            MpiDocument::VERSION,
            "messages between ranks, and what MPI does with device memory",
        ),
        file::<ImportedDocument>(ImportedDocument::VERSION, "figures that another program measured"),
        file::<DoctorDocument>(DoctorDocument::VERSION, "the settings of a node"),
        file::<WitnessDocument>(WitnessDocument::VERSION, "the copies that one run of a program made"),
    ]
}

/// The name of the file of this schema, and its text, for documents of this type; also of other crates.
pub fn file<T: JsonSchema>(version: Version, what: &str) -> (String, String) {
    let Version { schema: name, major, .. } = version;
    // What this version writes: null where there is nothing. (A reader accepts less, and more.)
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();

    if let Some(root) = schema.as_object_mut() {
        root.insert("$id".into(), format!("urn:{name}:{major}").into());
        root.insert("title".into(), format!("{name} {major}: {what}").into());
        // Their values are of the schema, not of the type of these fields.
        let mut named = |field: &str, rule: &str, value: String| {
            if let Some(field) =
                root.get_mut("properties").and_then(|fields| fields.get_mut(field)?.as_object_mut())
            {
                field.entry(rule).or_insert(value.into());
            }
        };
        named("schema", "const", name.to_owned());
        named("schema_version", "pattern", format!("^{major}\\.[0-9]+$"));
    }

    later_fields_are_not_required(&mut schema);
    (format!("{}-v{major}.json", name.trim_start_matches("numabench.")), format!("{:#}\n", sorted(schema)))
}

/// A field that came with a minor version (`since`) is not required: documents of older minor versions follow
/// this schema too.
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

/// The same value with the keys of all objects in alphabetical order, whichever map serde_json was built with
/// in this workspace (another crate may switch its `preserve_order` on).
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
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
    fn the_committed_schemas_are_the_generated_ones() -> Result<(), Box<dyn std::error::Error>> {
        for (name, text) in all() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/").to_owned() + &name;
            let committed = std::fs::read_to_string(&path)?;
            assert!(
                committed == text,
                "{path} is not what the types say: run `cargo xtask schema` and look at the diff"
            );
        }
        Ok(())
    }

    #[test]
    fn a_value_kept_for_newer_documents_is_not_in_the_schema() {
        for (name, text) in all() {
            assert!(!text.contains("\"newer\""), "{name}: Newer is for reading only");
        }
    }
}
