//! JSON: the document itself, and any other value (a topology, a plan) in the same manner.
//!
//! A document is written as it is walked, never held as text: a thousand ranks' blocks are half a gigabyte of
//! it.

use std::io::{self, BufWriter, Write};

use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

use crate::finite::{self, NonFinite};

mod lines;

use lines::Lines;

/// A value could not be written as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// A float is not finite.
    #[error(transparent)]
    NonFinite(#[from] NonFinite),
    /// The value itself refused.
    #[error("a value could not be written as JSON: {0}")]
    Value(serde_json::Error),
    /// The writer refused.
    #[error("the JSON could not be written: {0}")]
    Io(#[from] io::Error),
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { Self::Io(error.into()) } else { Self::Value(error) }
    }
}

/// Large writes, few calls: what is written goes to a file on a cluster's file system.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a document as indented JSON with a newline at its end; what lies deep (a block, a summary) has a
/// line each. Nothing is written of a document with a float that is not finite.
///
/// # Errors
/// [`JsonError`]: a float is not finite, a value was read from a newer document (`Newer`) and its text is
/// lost, or the writer refused. In the last two cases a part has been written.
pub fn write_json<T: Serialize + ?Sized>(document: &T, writer: impl Write) -> Result<(), JsonError> {
    finite::check(document)?;
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    document.serialize(&mut Serializer::with_formatter(&mut writer, Lines::default()))?;
    writer.write_all(b"\n")?;
    Ok(writer.flush()?)
}

/// A value as [`write_json`] writes it, for documents that are small or shown.
///
/// # Errors
/// [`JsonError`]: a float is not finite, or the value itself refused.
pub fn json_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, JsonError> {
    let mut bytes = Vec::new();
    write_json(value, &mut bytes)?;
    Ok(bytes)
}

/// A plain enumeration's value as documents name it; `newer` for one that only a newer numabench knows.
pub fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|value| value.as_str()).unwrap_or("newer").to_owned()
}

/// The plain enumeration's value that documents name so. `Newer` stands for a word that only a newer
/// numabench knows; where the enumeration has none, there is no value.
pub fn from_word<'w, T: Deserialize<'w>>(word: &'w str) -> Option<T> {
    T::deserialize(StrDeserializer::<ValueError>::new(word)).ok()
}
