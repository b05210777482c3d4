//! How the figures of several documents stand against reference figures, each answer once with all that it is of. Decides nothing. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How figures stand against reference figures, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceAnswer {
    /// Whose figures they are: hosts, or sides of a comparison.
    pub of: Vec<String>,
    /// Normal, low, or that no figure is known, and for which GPU.
    pub text: String,
}

/// Each sentence once, with all that it is of: low figures first.
pub fn gathered(sentences: impl Iterator<Item = (String, String)>) -> Vec<ReferenceAnswer> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (of, text) in sentences {
        by_text.entry(text).or_default().insert(of);
    }
    by_text.into_iter().map(|(text, of)| ReferenceAnswer { of: of.into_iter().collect(), text }).collect()
}
