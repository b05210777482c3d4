//! `numabench witness` as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgAction;

use super::{Word, one_of};

/// `numabench witness`.
#[derive(Debug, clap::Args)]
pub struct Witness {
    /// Predict what near memory would gain from the rates in these files, documents of `numabench matrix
    /// --json` of this node; several sizes of copies (`--size`) narrow it
    #[arg(long, value_name = "FILES", value_delimiter = ',', help_heading = "What is seen")]
    pub matrix: Vec<PathBuf>,
    /// Which copies the driver's events time: a share of them, or all
    #[arg(long, value_parser = one_of(SHARES), action = ArgAction::Set, value_name = "share|all",
          default_value = "share", help_heading = "What is seen")]
    pub time: bool,
    /// Which pages are looked at: those of first copies and a share of the others, at most 4096 pages of
    /// each; or all pages of all copies
    #[arg(long, value_parser = one_of(SHARES), action = ArgAction::Set, value_name = "share|all",
          default_value = "share", help_heading = "What is seen")]
    pub pages: bool,

    /// Write the document to FILE; in a launch each rank writes its own, with its rank before the file's
    /// extension (FILE.rank3.json)
    #[arg(long, value_name = "FILE", value_parser = file, help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print all buffers, not the first ten
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// The program, looked for in PATH, and its arguments, which are not touched; a -- before it is not
    /// needed
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// How much is timed or looked at: whether all.
pub(crate) const SHARES: &[Word<bool>] =
    &[("share", false, "First ones and a share of the others"), ("all", true, "Every one")];

fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard output is the program's: name a file".to_owned()),
        text => Ok(text.into()),
    }
}
