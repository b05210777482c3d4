//! Values as bytes, between processes of one run.
//!
//! They are JSON like documents, of which they may be parts: the schema's tagged enumerations cannot be
//! written in a format without names.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value. The schema's types cannot fail to be written; whatever else does gives nothing, which no
/// reader takes for a value.
pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Reads what [`to_bytes`] wrote.
///
/// # Errors
/// What is wrong with the bytes, in words.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // As text, like documents that are read from files: one reader of the types in the binary, not two.
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}
