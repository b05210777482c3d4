//! A version for what `topo --json`, `topo diff --json` and `check --json` print: the schema's name and version stand before what is said.
//!
//! The documents that other crates make have these two fields in their own types.

use schemars::JsonSchema;
use serde::Serialize;

/// What a document says of itself before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The schema's name.
    pub schema: &'static str,
    /// Its major version: a reader refuses a larger one.
    pub major: u32,
    /// Its minor version: a reader accepts a larger one.
    pub minor: u32,
}

/// `topo --json`.
pub const TOPOLOGY: Version = Version { schema: "numabench.topology", major: 1, minor: 0 };
/// `topo diff --json`.
pub const DIFFERENCES: Version = Version { schema: "numabench.topology-diff", major: 1, minor: 0 };
/// `check --json`.
pub const CHECK: Version = Version { schema: "numabench.check", major: 1, minor: 0 };

/// A document: its schema, the version, and what it says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct Versioned<T> {
    /// The schema's name.
    pub schema: &'static str,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// What it says, beside these two.
    #[serde(flatten)]
    pub content: T,
}

impl Version {
    /// This content as a document of this version.
    pub fn of<T>(self, content: T) -> Versioned<T> {
        Versioned { schema: self.schema, schema_version: format!("{}.{}", self.major, self.minor), content }
    }
}
