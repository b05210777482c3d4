//! The documents that commands print and that no other crate knows: what `topo --json`, `topo diff --json`
//! and `check --json` say, with a version each, and their JSON Schemas.
//!
//! Their contents are the types that those commands work with, so a field that is renamed there is a new
//! major version here: the schemas are committed in `crates/numabench/schema`, and a test compares them. Left
//! out: reading them back, which no command does (`topo --input` reads hwloc's XML).

use report::versioned::Version;
use schemars::JsonSchema;
use serde::Serialize;
use topo::difference::Difference;

/// `topo --json`.
pub const TOPOLOGY: Version = Version { schema: "numabench.topology", major: 1, minor: 3 };
/// `topo diff --json`.
pub const DIFFERENCES: Version = Version { schema: "numabench.topology-diff", major: 1, minor: 2 };

/// What `topo diff --json` says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Differences {
    /// What is different in the second file from the first; empty where nothing is.
    pub differences: Vec<Difference>,
    /// What is not compared because a file does not say it, in words; absent where both say all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.2"))]
    pub not_compared: Vec<String>,
}

/// The name of each schema's file, and its text as committed.
pub const COMMITTED: [(&str, &str); 3] = [
    ("topology-v1.json", include_str!("../schema/topology-v1.json")),
    ("topology-diff-v1.json", include_str!("../schema/topology-diff-v1.json")),
    ("check-v1.json", include_str!("../schema/check-v1.json")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use report::schema::{file, stale};
    use report::versioned::Versioned;

    use super::*;
    use check::document::{CHECK, Document as Check};

    #[test]
    fn the_committed_schemas_are_the_generated_ones() -> std::io::Result<()> {
        let all = [
            file::<Versioned<topo::Survey>>(TOPOLOGY, "a machine: what topo shows of it"),
            file::<Versioned<Differences>>(DIFFERENCES, "what is different between two machines"),
            file::<Versioned<Check<'static>>>(CHECK, "whether ranks of a node are well placed"),
        ];
        let stale = stale(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema")), &all)?;
        assert!(stale.is_empty(), "{stale:?}: run `cargo xtask schema` and look at the diff");
        Ok(())
    }
}
