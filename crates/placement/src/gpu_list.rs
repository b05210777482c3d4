//! A list of GPUs as a user writes it: `none`, or a selection.

use std::str::FromStr;

use crate::{Selection, SelectionError};

/// The ranks' GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuList {
    /// Ranks without a GPU.
    None,
    /// These.
    Some(Selection),
}

impl FromStr for GpuList {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "none" { Ok(Self::None) } else { text.parse().map(Self::Some) }
    }
}
