//! The document of `numabench import`: figures that another program measured, read from its own output.
//!
//! A document of its own beside the result document, because it cannot say what that one says: nobody saw on
//! which PU the program ran, where its memory lay, whether bytes arrived, or how its figure came about. It
//! has one figure a case and no blocks. So it is compared with documents of the same program only, and every
//! rendering says that nothing in it is verified. The rules of the result document hold here too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Status, Tool};

/// What every such document says of itself.
pub const NOT_VERIFIED: &str = "Not verified by numabench: placement was not seen, bytes were not compared, \
    and there is one figure a case without its repetitions.";

/// One run of another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedDocument {
    /// Always `numabench.imported`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it: the importer, which measured nothing.
    pub tool: Tool,
    /// The command line of the import, the program's name first.
    pub argv: Vec<String>,
    /// The program that measured.
    pub program: String,
    /// Its version; null where its output does not say.
    pub program_version: Option<String>,
    /// The files that were read.
    pub files: Vec<ImportedFile>,
    /// When the run was, RFC 3339 in UTC, as far as that is known.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Who says so: the command line, or the time at which the first file was last changed. These programs do
    /// not write it.
    pub started_at_source: String,
    /// The host; null where neither the output nor the command line says.
    pub host: Option<String>,
    /// `complete`; `partial` where a case failed, and `failed` where none was measured beside it.
    pub status: Status,
    /// Why, where it is not complete.
    pub status_reason: Option<String>,
    /// What it comes to, in sentences; one of them says that it is not verified.
    pub verdict: Vec<String>,
    /// What the output says of what it ran under.
    pub facts: Vec<ImportedFact>,
    /// The cases, in the order of the output.
    pub cases: Vec<ImportedCase>,
    /// What was in the output and is not here.
    pub notes: Vec<String>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// As it was named.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
}

/// Something that the output says of what it ran under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFact {
    /// Its name; the same in every run.
    pub name: String,
    /// As the program wrote it.
    pub value: String,
    /// Whether runs that have it otherwise measured another thing.
    pub essential: bool,
}

/// A figure, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedCase {
    /// What was measured; the same in every run of the same test.
    pub id: String,
    /// Between what, in the program's own numbers of GPUs, NUMA nodes or ranks.
    pub place: String,
    /// Bytes of a copy or message; null where the output does not say.
    pub bytes: Option<u64>,
    /// What the figure counts.
    pub unit: ImportedUnit,
    /// How it went.
    pub status: ImportedStatus,
    /// The figure, in the unit; null where there is none.
    pub value: Option<f64>,
    /// Why there is no figure, in the program's words; null where there is one.
    pub reason: Option<String>,
    /// The file, by its place in `files`.
    pub file: u32,
    /// The line that has it, 1 first; null where the file has no lines that tell.
    pub line: Option<u64>,
}

/// What an imported figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportedUnit {
    /// A rate, bytes a second.
    BytesPerS,
    /// A time, nanoseconds.
    Ns,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How an imported case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportedStatus {
    /// There is a figure.
    Measured,
    /// The program left it out on this machine.
    Waived,
    /// The program says that it failed.
    Failed,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl ImportedDocument {
    /// How many cases went so.
    pub fn count(&self, status: ImportedStatus) -> usize {
        self.cases.iter().filter(|case| case.status == status).count()
    }
}

impl ImportedCase {
    /// The figure, where it was measured and can be one.
    pub fn figure(&self) -> Option<f64> {
        let measured = self.status == ImportedStatus::Measured && self.unit != ImportedUnit::Newer;
        self.value.filter(|value| measured && value.is_finite() && *value > 0.0)
    }
}
