//! A run as comparisons see it: its figures by case and place, the reasons for those that it lacks, and its
//! conditions.
//!
//! A document is read, taken apart and dropped: ten thousand cases with a hundred blocks each are a million
//! numbers here, and ten times that as a document.

use std::collections::BTreeMap;

use report::Document;
use report::block::BlockTime;
use report::document::Status;
use report::other_end::other_ends;
use report::round_count::RoundCount;
use report::settings::CopyEngine;

use crate::conditions::{Condition, conditions};
use crate::figure::{Figure, Key, at_once_on_l3s};

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is called: the file it was read from.
    pub name: String,
    /// Its host: the first, where there are several.
    pub host: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// What was asked for; `None` where runs asked the same may have unlike figures, as of another program.
    pub asked: Option<String>,
    /// What it ran under.
    pub conditions: Vec<Condition>,
    /// What moved the bytes of its copies; the copy engines where nothing says otherwise.
    pub engine: CopyEngine,
    /// Its figures, or why there is none.
    pub figures: BTreeMap<Key, Result<Figure, String>>,
}

/// A document that cannot be compared, learned from or put in a series. Who knows its file says which one it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRun {
    /// It was still under way.
    #[error("the run was still under way, or was killed: give the document of a run that has ended")]
    Unfinished,
    /// It has no case.
    #[error("the document has no cases: give one of a run that measured something")]
    Empty,
    /// It is of a check that did not keep its figures.
    #[error(
        "a check of an earlier numabench kept no figures: run `numabench check --bandwidth --json FILE` again"
    )]
    NoCheckedFigures,
    /// No copy of a program was counted.
    #[error(
        "the program made no copy between host memory and a GPU, or none was counted: give the document of a \
         run that copied"
    )]
    NoCopies,
}

/// Whether a run has ended, well or not: figures of one that goes on are not its last word.
///
/// # Errors
/// [`NoRun::Unfinished`].
pub fn ended(status: Status) -> Result<(), NoRun> {
    if status == Status::Running { Err(NoRun::Unfinished) } else { Ok(()) }
}

/// What a run was asked for: its command line, and how many processes were launched with it.
pub(crate) fn asked<B>(document: &Document<B>) -> String {
    let tasks = document.launch.as_ref().map_or(1, |launch| launch.tasks);
    format!("{} of {tasks}", command_line(&document.argv))
}

/// A command line without the program's name and without the file of the document, which has another name in
/// each run.
pub(crate) fn command_line(argv: &[String]) -> String {
    let (mut kept, mut words) = (Vec::new(), argv.iter().skip(1).peekable());
    while let Some(word) = words.next() {
        match &word[..] {
            "--json" => _ = words.next_if(|file| *file == "-" || !file.starts_with('-')),
            word if word.starts_with("--json=") => {}
            word => kept.push(word),
        }
    }
    kept.join(" ")
}

/// The key of a figure; of a second one in the same place, as of two ranks with one PU and one GPU, with its
/// number.
fn numbered<T>(key: Key, others: &BTreeMap<Key, T>) -> Key {
    let with = |number: usize| match number {
        1 => key.clone(),
        _ => key.numbered(number),
    };
    (1..).map(with).find(|key| !others.contains_key(key)).unwrap_or(key)
}

impl Run {
    /// Takes a document apart.
    ///
    /// # Errors
    /// [`NoRun`]: there is nothing in it to compare.
    pub fn of<B>(name: &str, document: &Document<B>) -> Result<Self, NoRun>
    where
        for<'b> BlockTime: From<&'b B>,
    {
        ended(document.status)?;
        if document.cases.is_empty() {
            return Err(NoRun::Empty);
        }
        let ranks: BTreeMap<u32, _> = document.ranks.iter().map(|rank| (rank.rank, rank)).collect();
        let several = document.nodes.len() > 1;
        let others = other_ends(document);
        let mut figures = BTreeMap::new();

        for case in &document.cases {
            let count = RoundCount::of(document, case);
            let sharers = at_once_on_l3s(case, &ranks);
            for result in &case.ranks {
                let Some(rank) = ranks.get(&result.rank) else { continue };
                let other = others.get(&result.rank).map(String::as_str);
                let sharers = sharers.get(&rank.l3()).copied().unwrap_or(1);
                let key = Key::of(case, rank, sharers, several, other);
                figures.insert(numbered(key, &figures), Figure::of(case, result, count));
            }
        }

        Ok(Self {
            name: name.to_owned(),
            host: document.environment.hostname.clone(),
            started_at: document.started_at.clone(),
            asked: Some(asked(document)),
            conditions: conditions(document),
            engine: document.settings.engine,
            figures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_that_differ_in_the_file_of_the_document_ask_for_the_same() {
        let asked = |line: &str| command_line(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());

        for line in ["a/numabench peer --json 1.json -q", "numabench peer --json=2.json -q"] {
            assert_eq!(asked(line), "peer -q", "{line}");
        }
        assert_eq!(asked("numabench peer --json --gpus 0"), "peer --gpus 0");
        assert_eq!(asked("numabench peer --json - --gpus 0"), "peer --gpus 0");
    }
}
