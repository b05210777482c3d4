//! How the document's plain enumerations are spelled, in every form as in JSON.

use serde::Serialize;

/// A plain enumeration's value as documents name it; `newer` for one that only a newer numabench knows.
pub(super) fn word(value: &impl Serialize) -> String {
    let bytes = report::wire::to_bytes(value);
    let text: Result<String, String> = report::wire::from_bytes(&bytes);
    text.unwrap_or_else(|_| "newer".to_owned())
}
