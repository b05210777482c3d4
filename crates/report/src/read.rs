//! A document from bytes. What is no document, or is newer than this program can know, is refused with a
//! clear word.

use serde::de::DeserializeOwned;

use crate::block::BlockTime;
use crate::device::DeviceKind;
use crate::header::Header;
use crate::result::BlockSample;
use crate::rows::rows;
use crate::versioned::Version;
use crate::{
    DoctorDocument, Document, ImportedDocument, MpiDocument, PlaceDocument, TrialDocument, WitnessDocument,
};

/// The bytes are not a document that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON.
    #[error("this is not JSON ({fault}): give a file that `{}` wrote", .wanted.writer)]
    NotJson {
        /// What was to be read.
        wanted: Wanted,
        /// What the parser says.
        fault: serde_json::Error,
    },
    /// JSON of something else.
    #[error(
        "this is JSON, but no {} document (its `schema` is {found}): give a file that `{}` wrote", .wanted.version.schema, .wanted.writer
    )]
    NotADocument {
        /// What was to be read.
        wanted: Wanted,
        /// What its `schema` says.
        found: String,
    },
    /// A version that cannot be parsed.
    #[error("the document's schema_version is {found}; it must be major.minor, e.g. {}.{}", .wanted.version.major, .wanted.version.minor)]
    BadVersion {
        /// What was to be read.
        wanted: Wanted,
        /// What it says.
        found: String,
    },
    /// A newer major version.
    #[error(
        "the document follows schema {found}; this numabench reads {}.x: read it with the numabench that \
         wrote it, or a newer one", .wanted.version.major
    )]
    OtherMajor {
        /// What was to be read.
        wanted: Wanted,
        /// What it follows.
        found: String,
    },
    /// The right version, but a field is missing or has the wrong type.
    #[error("the document says schema {version}, but does not follow it: {fault}")]
    Malformed {
        /// What it says it follows.
        version: String,
        /// What is wrong, with the line and column.
        fault: serde_json::Error,
    },
    /// A newer minor version with something this program cannot read over.
    #[error(
        "the document follows schema {version}, newer than the {}.{} known here, and has something unknown \
         to it ({fault}): use a newer numabench", .wanted.version.major, .wanted.version.minor
    )]
    NewerMinor {
        /// What was to be read.
        wanted: Wanted,
        /// What it follows.
        version: String,
        /// What could not be read.
        fault: serde_json::Error,
    },
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its schema: the major version that is read, the minor one that is written.
    pub version: Version,
    /// The command that writes it.
    pub writer: &'static str,
}

/// A document that is read back.
pub trait SavedDocument: DeserializeOwned {
    /// Its schema.
    const VERSION: Version;
    /// The command that writes it.
    const WRITER: &'static str;
    /// Its schema's name, by which a reader knows it.
    const SCHEMA: &'static str = Self::VERSION.schema;

    /// Reads a document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, Wanted { version: Self::VERSION, writer: Self::WRITER }).map(|(document, _)| document)
    }
}

impl SavedDocument for Document {
    const VERSION: Version = Version { schema: "numabench.result", major: 1, minor: 6 };
    const WRITER: &'static str = "numabench pingpong --json FILE";

    fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        OfBlock::document(bytes)
    }
}

impl SavedDocument for PlaceDocument {
    const VERSION: Version = Version { schema: "numabench.place", major: 1, minor: 2 };
    const WRITER: &'static str = "numabench place --json FILE";
}

impl SavedDocument for TrialDocument {
    const VERSION: Version = Version { schema: "numabench.trial", major: 1, minor: 3 };
    const WRITER: &'static str = "numabench trial --json FILE";
}

impl SavedDocument for MpiDocument {
    const VERSION: Version = Version { schema: "numabench.mpi", major: 1, minor: 4 };
    const WRITER: &'static str = "numabench mpi --json FILE";
}

impl SavedDocument for DoctorDocument {
    const VERSION: Version = Version { schema: "numabench.doctor", major: 1, minor: 1 };
    const WRITER: &'static str = "numabench doctor --json FILE";
}

impl SavedDocument for WitnessDocument {
    const VERSION: Version = Version { schema: "numabench.witness", major: 1, minor: 1 };
    const WRITER: &'static str = "numabench witness --json FILE";
}

impl SavedDocument for ImportedDocument {
    const VERSION: Version = Version { schema: "numabench.imported", major: 1, minor: 0 };
    const WRITER: &'static str = "numabench import PROGRAM FILE -o FILE";
}

/// What is kept of a block. Documents are read by a function for each, so that the code of reading is
/// compiled in this crate, for speed, and once.
pub trait OfBlock: Sized {
    /// Reads a result document of this major version, of an older or newer minor one too, and keeps this of
    /// each block.
    ///
    /// # Errors
    /// [`ReadError`].
    fn document(bytes: &[u8]) -> Result<Document<Self>, ReadError>;
}

impl OfBlock for BlockSample {
    fn document(bytes: &[u8]) -> Result<Document<Self>, ReadError> {
        Document::with_blocks_of(bytes)
    }
}

impl OfBlock for BlockTime {
    fn document(bytes: &[u8]) -> Result<Document<Self>, ReadError> {
        Document::with_blocks_of(bytes)
    }
}

impl<B: DeserializeOwned> Document<B> {
    /// The same, keeping of each block what `B` is.
    pub(crate) fn with_blocks_of(bytes: &[u8]) -> Result<Self, ReadError> {
        let wanted = Wanted { version: Document::VERSION, writer: Document::WRITER };
        let (mut document, minor): (Self, u32) = read(bytes, wanted)?;
        if minor == 0 {
            document.complete_from_1_0();
        }
        // Before 1.2 there were none, and before 1.6 they said less.
        if minor < 6 {
            document.rows = rows(&document);
        }
        Ok(document)
    }

    /// Fills what 1.0 had no fields for and what follows from it: all of its ranks were on one node, of which
    /// it says nothing that nodes are compared by, so `nodes` stays empty.
    fn complete_from_1_0(&mut self) {
        for rank in &mut self.ranks {
            rank.node_rank = rank.rank;
        }
        for device in self.devices.iter_mut().filter(|device| device.kind == DeviceKind::Gpu) {
            device.pci_address = device.id.parse().ok();
        }
    }
}

/// The number at this JSON pointer (RFC 6901) of any JSON text: what a program wrote of itself.
///
/// # Errors
/// In words: not JSON, nothing there, or no number.
pub fn number_at(bytes: &[u8], pointer: &str) -> Result<f64, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON ({error})"))?;
    let found = value.pointer(pointer).ok_or_else(|| format!("it has nothing at {pointer}"))?;
    found.as_f64().ok_or_else(|| format!("at {pointer} it has {found}, which is no number"))
}

/// A value of any JSON text: another program's output.
///
/// # Errors
/// What is wrong with the bytes, in words.
pub fn any<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // As text, like documents: one reader of the types in the binary, not two.
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A document of this kind, and the minor version it follows.
fn read<T: DeserializeOwned>(bytes: &[u8], wanted: Wanted) -> Result<(T, u32), ReadError> {
    let header = Header::of(bytes).map_err(|fault| ReadError::NotJson { wanted, fault })?;
    let shown = |value: Option<serde_json::Value>| value.map_or("missing".into(), |value| value.to_string());
    if header.schema.as_ref().and_then(|schema| schema.as_str()) != Some(wanted.version.schema) {
        return Err(ReadError::NotADocument { wanted, found: shown(header.schema) });
    }
    let Some((major, minor)) =
        header.schema_version.as_ref().and_then(|v| v.as_str()).and_then(parse_version)
    else {
        return Err(ReadError::BadVersion { wanted, found: shown(header.schema_version) });
    };
    let version = format!("{major}.{minor}");
    if major != wanted.version.major {
        return Err(ReadError::OtherMajor { wanted, found: version });
    }

    // Text that is known to be UTF-8 is read faster: the parser does not look at every name and every word
    // again.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("it is not UTF-8 at byte {}", error.valid_up_to());
        ReadError::NotJson { wanted, fault: serde::de::Error::custom(text) }
    })?;
    let read = serde_json::from_str(text).map_err(|fault| match fault.is_data() {
        false => ReadError::NotJson { wanted, fault },
        true if minor > wanted.version.minor => ReadError::NewerMinor { wanted, version, fault },
        true => ReadError::Malformed { version, fault },
    })?;
    Ok((read, minor))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
