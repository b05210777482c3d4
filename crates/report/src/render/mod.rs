//! Renderers: pure functions from a document to bytes. What is shown is in the document; nothing is looked up.

mod json;

pub use json::{JsonError, json, json_value};
