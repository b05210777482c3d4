//! `numabench reference` as typed.

use std::path::PathBuf;

use super::ColorChoice;

/// `numabench reference`.
#[derive(Debug, clap::Args)]
pub struct Reference {
    /// Only of GPUs with a word in their name that begins so: H200, GH200, MI250X
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Also the figures of this file, in the form of `--lines`: your site's own
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,
    /// Print the file of the figures itself, with the meaning of each part of a line
    #[arg(long, conflicts_with_all = ["gpu", "reference"])]
    pub lines: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}
