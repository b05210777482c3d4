//! JSON: the document itself, and any other value (a topology, a plan) in the same manner.

use serde::Serialize;

use crate::Document;
use crate::finite::{self, NonFinite};

/// A value could not be written as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// A float is not finite.
    #[error(transparent)]
    NonFinite(#[from] NonFinite),
    /// The value itself refused.
    #[error("a value could not be written as JSON: {0}")]
    Value(#[from] serde_json::Error),
}

/// The document as indented JSON with a newline at its end.
///
/// # Errors
/// [`JsonError`]: a float is not finite, or a value was read from a newer document (`Newer`) and its text is lost.
pub fn json(document: &Document) -> Result<Vec<u8>, JsonError> {
    json_value(document)
}

/// Any value as indented JSON with a newline at its end.
///
/// # Errors
/// [`JsonError`]: a float is not finite, or the value itself refused.
pub fn json_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, JsonError> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    // After the writer, so that a value that refuses says so in its own words.
    finite::check(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
