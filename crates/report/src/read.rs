//! A document from bytes. What is no document, or is newer than this program can know, is refused with a clear word.

use serde::de::DeserializeOwned;

use crate::Document;
use crate::block::{BlockTime, NoBlock};
use crate::device::DeviceKind;
use crate::doctor::{self, DoctorDocument};
use crate::document;
use crate::header::Header;
use crate::imported::{self, ImportedDocument};
use crate::mpi::{self, MpiDocument};
use crate::place::{self, PlaceDocument};
use crate::result::BlockSample;
use crate::rows::rows;
use crate::trial::{self, TrialDocument};

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
        "this is JSON, but no {} document (its `schema` is {found}): give a file that `{}` wrote", .wanted.schema, .wanted.writer
    )]
    NotADocument {
        /// What was to be read.
        wanted: Wanted,
        /// What its `schema` says.
        found: String,
    },
    /// A version that cannot be parsed.
    #[error("the document's schema_version is {found}; it must be major.minor, e.g. {}.{}", .wanted.major, .wanted.minor)]
    BadVersion {
        /// What was to be read.
        wanted: Wanted,
        /// What it says.
        found: String,
    },
    /// A newer major version.
    #[error(
        "the document follows schema {found}; this numabench reads {}.x: read it with the numabench that wrote it, or a newer one", .wanted.major
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
        "the document follows schema {version}, newer than the {}.{} known here, and has something unknown to it ({fault}): use a newer numabench", .wanted.major, .wanted.minor
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
    /// Its schema's name.
    pub schema: &'static str,
    /// The major version that is read.
    pub major: u32,
    /// The minor version that is written.
    pub minor: u32,
    /// The command that writes it.
    pub writer: &'static str,
}

const RESULT: Wanted = Wanted {
    schema: document::SCHEMA,
    major: document::SCHEMA_MAJOR,
    minor: document::SCHEMA_MINOR,
    writer: "numabench pingpong --json FILE",
};

const PLACE: Wanted = Wanted {
    schema: place::SCHEMA,
    major: place::SCHEMA_MAJOR,
    minor: place::SCHEMA_MINOR,
    writer: "numabench place --json FILE",
};

const TRIAL: Wanted = Wanted {
    schema: trial::SCHEMA,
    major: trial::SCHEMA_MAJOR,
    minor: trial::SCHEMA_MINOR,
    writer: "numabench trial --json FILE",
};

const MPI: Wanted = Wanted {
    schema: mpi::SCHEMA,
    major: mpi::SCHEMA_MAJOR,
    minor: mpi::SCHEMA_MINOR,
    writer: "numabench mpi --json FILE",
};

const DOCTOR: Wanted = Wanted {
    schema: doctor::SCHEMA,
    major: doctor::SCHEMA_MAJOR,
    minor: doctor::SCHEMA_MINOR,
    writer: "numabench doctor --json FILE",
};

const IMPORTED: Wanted = Wanted {
    schema: imported::SCHEMA,
    major: imported::SCHEMA_MAJOR,
    minor: imported::SCHEMA_MINOR,
    writer: "numabench import PROGRAM FILE -o FILE",
};

impl Document {
    /// Reads a document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        OfBlock::document(bytes)
    }
}

/// What is kept of a block. Documents are read by a function for each, so that the code of reading is compiled in this crate, for speed, and once.
pub trait OfBlock: Sized {
    /// Reads a result document of this major version, of an older or newer minor one too, and keeps this of each block.
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

impl OfBlock for NoBlock {
    fn document(bytes: &[u8]) -> Result<Document<Self>, ReadError> {
        Document::with_blocks_of(bytes)
    }
}

impl<B: DeserializeOwned> Document<B> {
    /// The same, keeping of each block what `B` is.
    pub(crate) fn with_blocks_of(bytes: &[u8]) -> Result<Self, ReadError> {
        let (mut document, minor): (Self, u32) = read(bytes, RESULT)?;
        if minor == 0 {
            document.complete_from_1_0();
        }
        if minor < 2 {
            document.rows = rows(&document);
        }
        Ok(document)
    }

    /// Fills what 1.0 had no fields for and what follows from it: all of its ranks were on one node, of which it says nothing
    /// that nodes are compared by, so `nodes` stays empty.
    fn complete_from_1_0(&mut self) {
        for rank in &mut self.ranks {
            rank.node_rank = rank.rank;
        }
        for device in self.devices.iter_mut().filter(|device| device.kind == DeviceKind::Gpu) {
            device.pci_address = device.id.parse().ok();
        }
    }
}

impl PlaceDocument {
    /// Reads a placement document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, PLACE).map(|(document, _)| document)
    }
}

impl TrialDocument {
    /// Reads a trial document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, TRIAL).map(|(document, _)| document)
    }
}

impl MpiDocument {
    /// Reads a document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, MPI).map(|(document, _)| document)
    }
}

impl DoctorDocument {
    /// Reads a document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, DOCTOR).map(|(document, _)| document)
    }
}

impl ImportedDocument {
    /// Reads a document of this major version, of an older or newer minor one too.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        read(bytes, IMPORTED).map(|(document, _)| document)
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
///
/// # Errors
/// [`ReadError`].
pub fn read<T: DeserializeOwned>(bytes: &[u8], wanted: Wanted) -> Result<(T, u32), ReadError> {
    let header = Header::of(bytes).map_err(|fault| ReadError::NotJson { wanted, fault })?;
    let shown = |value: Option<serde_json::Value>| value.map_or("missing".into(), |value| value.to_string());
    if header.schema.as_ref().and_then(|schema| schema.as_str()) != Some(wanted.schema) {
        return Err(ReadError::NotADocument { wanted, found: shown(header.schema) });
    }
    let Some((major, minor)) = header.schema_version.as_ref().and_then(|v| v.as_str()).and_then(parse_version) else {
        return Err(ReadError::BadVersion { wanted, found: shown(header.schema_version) });
    };
    let version = format!("{major}.{minor}");
    if major != wanted.major {
        return Err(ReadError::OtherMajor { wanted, found: version });
    }
    // Text that is known to be UTF-8 is read faster: the parser does not look at every name and every word again.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("it is not UTF-8 at byte {}", error.valid_up_to());
        ReadError::NotJson { wanted, fault: serde::de::Error::custom(text) }
    })?;
    let read = serde_json::from_str(text).map_err(|fault| match fault.is_data() {
        false => ReadError::NotJson { wanted, fault },
        true if minor > wanted.minor => ReadError::NewerMinor { wanted, version, fault },
        true => ReadError::Malformed { version, fault },
    })?;
    Ok((read, minor))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
