//! `$(…)`: the output of the few commands whose output follows from their words.

use super::Unread;
use super::arithmetic::integer;
use super::parse::{Node, script};
use super::run::Shell;
use crate::error::LineError;
use crate::hwloc_location;
use crate::unknown::UNKNOWN;

impl Shell<'_> {
    /// What these commands write.
    pub(super) fn output(&mut self, script: &str) -> String {
        let text = self.worked_out(script).ok().flatten();
        // expr(1) fails where its value is 0.
        self.status = text.as_ref().filter(|text| *text != "0").map(|_| 0);
        text.unwrap_or_else(|| UNKNOWN.to_string())
    }

    fn worked_out(&mut self, text: &str) -> Result<Option<String>, LineError> {
        let unread = |_: Unread| LineError::NotSaid(String::new());
        let node = script(text).map_err(unread)?;
        let Node::List(list) = node else { return Ok(None) };
        let [(_, Node::Simple(simple))] = list.as_slice() else { return Ok(None) };
        if !simple.assignments.is_empty() {
            return Ok(None);
        }
        let all = self.all_split(&simple.words)?.words;
        let all: Vec<&str> = all.iter().map(String::as_str).collect();

        Ok(match all.as_slice() {
            ["hwloc-calc", rest @ ..] => hwloc_location::calculated(self.process.topology, rest),
            ["echo", "-n", rest @ ..] | ["echo", rest @ ..] if !starts_with_option(rest) => {
                Some(rest.join(" "))
            }
            ["printf", "%s" | "%s\\n", value] => Some((*value).to_owned()),
            ["printf", "%d" | "%d\\n", value] => integer(value).map(|value| value.to_string()),
            ["expr", rest @ ..] => {
                // expr(1) reads decimal digits, also behind a 0.
                let decimal = |word: &&str| {
                    word.parse::<i64>().map_or_else(|_| (*word).to_owned(), |number| number.to_string())
                };
                Some(self.arithmetic(&rest.iter().map(decimal).collect::<Vec<_>>().join(" "))?)
            }
            ["seq", "-s", between, first, last] => numbers(first, last).map(|all| all.join(between)),
            ["seq", first, last] => numbers(first, last).map(|all| all.join("\n")),
            ["seq", last] => numbers("1", last).map(|all| all.join("\n")),
            _ => None,
        })
    }
}

fn starts_with_option(words: &[&str]) -> bool {
    words.first().is_some_and(|word| {
        word.starts_with('-') && word.len() > 1 && !word[1..].starts_with(|c: char| c.is_ascii_digit())
    })
}

/// `seq FIRST LAST`, of a length that nodes have.
fn numbers(first: &str, last: &str) -> Option<Vec<String>> {
    let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
    (last.checked_sub(first)? < 10_000).then(|| (first..=last).map(|number| number.to_string()).collect())
}
