//! The JSON Schemas of the documents made here, generated from their types and committed in
//! `crates/analysis/schema`, as `report`'s are.

/// The name of each schema's file, and its text as committed.
pub const COMMITTED: [(&str, &str); 5] = [
    ("comparison-v1.json", include_str!("../schema/comparison-v1.json")),
    ("baseline-v1.json", include_str!("../schema/baseline-v1.json")),
    ("gate-v1.json", include_str!("../schema/gate-v1.json")),
    ("history-v1.json", include_str!("../schema/history-v1.json")),
    ("nodes-v1.json", include_str!("../schema/nodes-v1.json")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use report::SavedDocument;
    use report::schema::{file, stale};

    use crate::baseline::Baseline;
    use crate::comparison::{self, Comparison};
    use crate::gate::Checked;
    use crate::history::{self, History};
    use crate::nodes::{self, Nodes};

    #[test]
    fn the_committed_schemas_are_the_generated_ones() -> std::io::Result<()> {
        let all = [
            file::<Comparison>(comparison::VERSION, "two sides of runs, compared"),
            file::<Baseline>(Baseline::VERSION, "what is normal for a class of hardware"),
            file::<Checked>(Checked::VERSION, "what check --bandwidth found of a node"),
            file::<History>(history::VERSION, "step changes over many runs"),
            file::<Nodes>(nodes::VERSION, "nodes side by side, and which are unlike the others"),
        ];
        let stale = stale(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema")), &all)?;
        assert!(stale.is_empty(), "{stale:?}: run `cargo xtask schema` and look at the diff");
        Ok(())
    }
}
