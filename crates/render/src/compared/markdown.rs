//! A comparison for a merge request: GitHub's and GitLab's Markdown, the verdict first, long lists folded
//! away.

use analysis::comparison::{ComparedCase, Comparison, Lacking};
use analysis::judge::ChangeVerdict;

use super::escaped::escaped;
use super::figures::{self, verdict};
use super::node_changes;
use super::reference_lines::reference_lines;

/// Cases shown at most; a comment of a merge request has a limit (65,536 characters at GitHub).
const SHOWN: usize = 200;

/// The comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("**{}**\n", escaped(&comparison.summary));
    for differs in &comparison.differing {
        let (base, new) = differs.sides();
        text += &format!("\n- differs: {}: {} → {}", escaped(&differs.fact), escaped(&base), escaped(&new));
    }

    if !comparison.differing.is_empty() {
        text.push('\n');
    }
    text += &comparison.nodes.as_ref().map(node_changes::markdown).unwrap_or_default();
    lacking("Missing in the new", &comparison.missing, &mut text);
    lacking("New, not in the base", &comparison.added, &mut text);
    let (same, others): (Vec<&ComparedCase>, Vec<&ComparedCase>) =
        comparison.cases.iter().partition(|case| case.verdict == ChangeVerdict::Same);
    cases(&others, &mut text);

    if !same.is_empty() {
        text += &format!("\n<details><summary>{} the same</summary>\n", same.len());
        cases(&same, &mut text);
        text += "\n</details>\n";
    }

    for note in &comparison.notes {
        text += &format!("\n> {}\n", escaped(note));
    }
    for line in reference_lines(&comparison.reference) {
        text += &format!("\n> {}\n", escaped(&line));
    }
    text
}

fn lacking(title: &str, cases: &[Lacking], text: &mut String) {
    if cases.is_empty() {
        return;
    }
    *text += &format!("\n{title}:\n\n");
    for case in cases.iter().take(SHOWN) {
        let reason = case.reason.as_ref().map_or(String::new(), |reason| format!(": {}", escaped(reason)));
        *text +=
            &format!("- {}, {}{reason}\n", escaped(&case.key.case_in_words()), escaped(&case.key.place()));
    }
    rest(cases.len(), text);
}

fn cases(cases: &[&ComparedCase], text: &mut String) {
    if cases.is_empty() {
        return;
    }
    *text += "\n| | case | place | base | new | change | 95 % interval | values |\n\
        |---|---|---|---:|---:|---:|---:|---|\n";
    for case in cases.iter().take(SHOWN) {
        *text += &format!(
            "| {} | {} | {} | {} |\n",
            verdict(case.verdict),
            escaped(&case.key.case_in_words()),
            escaped(&case.key.place()),
            figures::cells(case, true).join(" | "),
        );
    }
    rest(cases.len(), text);
}

fn rest(all: usize, text: &mut String) {
    if all > SHOWN {
        *text += &format!("\nand {} more\n", all - SHOWN);
    }
}
