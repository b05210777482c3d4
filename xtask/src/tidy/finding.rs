//! One thing that is not as it should be: where, what, and what to do. All checks report in this one form,
//! which editors and CI logs turn into links (`file:line: …`).

use std::fmt;
use std::path::{Path, PathBuf};

/// A finding; displayed as `file:line: what; remedy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    file: PathBuf,
    line: usize,
    what: String,
    remedy: &'static str,
}

impl Finding {
    /// `what` was seen in `line` (from 1) of `file`, and `remedy` puts it right.
    pub fn new(file: &Path, line: usize, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { file: file.to_path_buf(), line, what: what.into(), remedy }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}", self.file.display(), self.line, self.what, self.remedy)
    }
}
