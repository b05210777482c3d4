//! How the figures of several documents stand against reference figures, each answer once with all that it is
//! of. Decides nothing. Pure.

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

/// Each sentence once, with all that it is of. In the order of their words, by which *Low* comes before *No
/// figure known* and *Normal*.
pub fn gathered(sentences: impl Iterator<Item = (String, String)>) -> Vec<ReferenceAnswer> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (of, text) in sentences {
        by_text.entry(text).or_default().insert(of);
    }
    by_text.into_iter().map(|(text, of)| ReferenceAnswer { of: of.into_iter().collect(), text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_answer::ModelAnswer;

    #[test]
    fn what_is_low_comes_first_and_one_answer_is_said_once_with_all_that_it_is_of() {
        let unknown = ModelAnswer::unknown("the document is of no GPU").text;
        let [low, normal] = ["Low for NVIDIA H200: …", "Normal for NVIDIA H200: …"];
        let said = [("b", normal), ("c", &unknown[..]), ("a", normal), ("d", low), ("a", normal)];

        let answers = gathered(said.into_iter().map(|(of, text)| (of.to_owned(), text.to_owned())));

        let found: Vec<(&[String], &str)> =
            answers.iter().map(|answer| (&answer.of[..], &answer.text[..])).collect();
        assert_eq!(
            found,
            [
                (&["d".to_owned()][..], low),
                (&["c".to_owned()], &unknown),
                (&["a".to_owned(), "b".to_owned()], normal)
            ]
        );
    }
}
