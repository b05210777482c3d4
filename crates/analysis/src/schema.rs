//! The JSON Schemas of the documents made here, generated from their types and committed in `crates/analysis/schema`, as `report`'s are.

use report::schema::text;

use crate::baseline::{self, Baseline};
use crate::comparison::{self, Comparison};
use crate::gate::{self, Checked};
use crate::history::{self, History};
use crate::nodes::{self, Nodes};

/// The name of each schema's file, and its text as committed.
pub const COMMITTED: [(&str, &str); 5] = [
    ("comparison-v1.json", include_str!("../schema/comparison-v1.json")),
    ("baseline-v1.json", include_str!("../schema/baseline-v1.json")),
    ("gate-v1.json", include_str!("../schema/gate-v1.json")),
    ("history-v1.json", include_str!("../schema/history-v1.json")),
    ("nodes-v1.json", include_str!("../schema/nodes-v1.json")),
];

/// The name of each schema's file, and its text.
pub fn all() -> [(&'static str, String); 5] {
    let comparison = text::<Comparison>(comparison::SCHEMA, comparison::SCHEMA_MAJOR, "two sides of runs, compared");
    let baseline = text::<Baseline>(baseline::SCHEMA, baseline::SCHEMA_MAJOR, "what is normal for a class of hardware");
    let gate = text::<Checked>(gate::SCHEMA, gate::SCHEMA_MAJOR, "what check --bandwidth found of a node");
    let history = text::<History>(history::SCHEMA, history::SCHEMA_MAJOR, "step changes over many runs");
    let nodes =
        text::<Nodes>(nodes::SCHEMA, nodes::SCHEMA_MAJOR, "nodes side by side, and which are unlike the others");
    [
        ("comparison-v1.json", comparison),
        ("baseline-v1.json", baseline),
        ("gate-v1.json", gate),
        ("history-v1.json", history),
        ("nodes-v1.json", nodes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schemas_are_the_generated_ones() -> Result<(), std::io::Error> {
        for (name, text) in all() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/").to_owned() + name;
            let committed = std::fs::read_to_string(&path)?;
            assert!(
                committed == text,
                "{path} is not what the types say: run `cargo xtask schema` and look at the diff"
            );
        }
        Ok(())
    }
}
