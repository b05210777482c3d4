//! The variables that are set for this process.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables that are set and are text: one whose bytes are none says nothing of GPUs and ranks.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).collect()
}
