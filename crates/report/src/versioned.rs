//! The name and version of a document's schema, and a wrapper that puts both before content of another
//! crate's type.
//!
//! Documents that are read back have these two fields in their own types.

use schemars::JsonSchema;
use serde::Serialize;

/// A document's schema: what it says of itself before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The schema's name.
    pub schema: &'static str,
    /// Its major version: a reader refuses another.
    pub major: u32,
    /// Its minor version: a reader accepts a larger one.
    pub minor: u32,
}

/// A document: its schema, the version, and what it says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct Versioned<T> {
    /// The schema's name.
    pub schema: &'static str,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The content, on the same level as these two fields.
    #[serde(flatten)]
    pub content: T,
}

impl Version {
    /// `major.minor`.
    pub fn number(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// This content as a document of this version.
    pub fn versioned<T>(self, content: T) -> Versioned<T> {
        Versioned { schema: self.schema, schema_version: self.number(), content }
    }
}
