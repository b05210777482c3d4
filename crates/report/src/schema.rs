//! The JSON Schemas of the result, the placement, the trial, the MPI, the imported, the doctor's and the
//! witness's document, generated from their types.
//!
//! They are committed in `crates/report/schema`, so that a change of the interface is a line in a diff and a
//! reader needs no build. `cargo xtask schema` writes them, by the test here that compares them with the
//! types.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::versioned::Version;

/// The name of each schema's file, and its text as committed: what the types give, without the code that
/// makes it.
pub const COMMITTED: [(&str, &str); 7] = [
    ("result-v1.json", include_str!("../schema/result-v1.json")),
    ("place-v1.json", include_str!("../schema/place-v1.json")),
    ("trial-v1.json", include_str!("../schema/trial-v1.json")),
    ("mpi-v1.json", include_str!("../schema/mpi-v1.json")),
    ("imported-v1.json", include_str!("../schema/imported-v1.json")),
    ("doctor-v1.json", include_str!("../schema/doctor-v1.json")),
    ("witness-v1.json", include_str!("../schema/witness-v1.json")),
];

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

/// The schemas of these names whose committed file in `folder` is not what the types say: for tests. Where
/// the variable `NUMABENCH_WRITE_SCHEMAS` is set, as `cargo xtask schema` sets it, they are written.
///
/// # Errors
/// A file cannot be written, or read.
pub fn stale(folder: &Path, schemas: &[(String, String)]) -> std::io::Result<Vec<String>> {
    let mut stale = Vec::new();
    for (name, text) in schemas {
        let file = folder.join(name);
        if std::env::var_os("NUMABENCH_WRITE_SCHEMAS").is_some() {
            std::fs::write(&file, text)?;
        }

        if std::fs::read_to_string(&file)? != *text {
            stale.push(file.display().to_string());
        }
    }
    Ok(stale)
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
    use crate::{
        DoctorDocument, Document, ImportedDocument, MpiDocument, PlaceDocument, SavedDocument, TrialDocument,
        WitnessDocument,
    };

    fn all() -> [(String, String); 7] {
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

    #[test]
    fn the_committed_schemas_are_the_generated_ones() -> std::io::Result<()> {
        let stale = stale(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema")), &all())?;
        assert!(stale.is_empty(), "{stale:?}: run `cargo xtask schema` and look at the diff");
        Ok(())
    }

    #[test]
    fn a_schema_that_is_not_what_the_types_say_is_named_and_one_that_is_not_there_is_an_error() {
        let named = |name: &str, text: &str| [(name.to_owned(), text.to_owned())];
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema"));
        assert_eq!(
            stale(folder, &named("result-v1.json", "{}\n")).ok(),
            Some(vec![folder.join("result-v1.json").display().to_string()])
        );
        assert!(stale(folder, &named("none-v1.json", "{}\n")).is_err());
    }

    #[test]
    fn a_value_kept_for_newer_documents_is_not_in_the_schema() {
        for (name, text) in all() {
            assert!(!text.contains("\"newer\""), "{name}: Newer is for reading only");
        }
    }
}
