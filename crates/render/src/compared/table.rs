//! A comparison for a terminal: the verdict, what differs between the sides, the cases that changed, and at
//! the end those that did not.

use std::collections::BTreeMap;

use analysis::compare::SAME_MEASUREMENT;
use analysis::comparison::{ComparedCase, Comparison, Lacking, RunName};
use analysis::comparison_finding::ComparisonFinding;
use analysis::judge::ChangeVerdict;
use stats::units::counted;

use super::figures::{self, verdict};
use super::node_changes;
use super::reference_lines::reference_lines;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// So many cases that are the same are shown one by one; of more it is enough how many they are.
const SAME_SHOWN: usize = 40;

/// The comparison as text so many columns wide. `quiet` leaves out cases that are the same, and notes but
/// that both sides are the same measurement.
pub fn table(comparison: &Comparison, width: usize, color: bool, quiet: bool) -> String {
    let mut page = Page::new(width);
    let tone = match comparison {
        found if found.has(ComparisonFinding::Regressed) => Tone::Bad,
        found if found.has(ComparisonFinding::Missing) || found.is_undecided() => Tone::Warning,
        _ => Tone::Title,
    };
    page.paragraph(tone, "", &comparison.summary);
    page.blank();
    side("base", &comparison.base, &mut page);
    side("new", &comparison.new, &mut page);

    for differs in &comparison.differing {
        let (base, new) = differs.sides();
        let words = format!("{}: {base} in the base, {new} in the new", differs.fact);
        page.paragraph(if differs.essential { Tone::Bad } else { Tone::Warning }, "  differs   ", &words);
    }

    page.blank();
    lacking("Missing in the new", &comparison.missing, &mut page);
    lacking("New, not in the base", &comparison.added, &mut page);
    let same = comparison.cases.iter().filter(|case| case.verdict == ChangeVerdict::Same).count();
    let show_same = !quiet && same <= SAME_SHOWN;
    cases(comparison.cases.iter().filter(|case| show_same || case.verdict != ChangeVerdict::Same), &mut page);

    if !show_same && same > 0 {
        page.paragraph(
            Tone::Faint,
            "  ",
            &match same {
                1 => "1 case is the same within the threshold and not listed; --json has it".to_owned(),
                several => format!(
                    "{several} cases are the same within the threshold and not listed; --json has them"
                ),
            },
        );
    }

    page.blank();

    for note in comparison.notes.iter().filter(|note| !quiet || *note == SAME_MEASUREMENT) {
        page.paragraph(Tone::Plain, "note: ", note);
    }
    if !quiet {
        let text = format!(
            "a change matters from {:.1} % of a rate and {:.1} % of a small copy's time; intervals are 95 %, \
             tests adjusted for {} (Holm)",
            comparison.bandwidth_threshold * 100.0,
            comparison.latency_threshold * 100.0,
            counted(comparison.cases.len(), "case")
        );
        page.paragraph(Tone::Faint, "", &text);
    }

    if let Some(changes) = &comparison.nodes {
        node_changes::draw(changes, &mut page);
    }
    if !quiet {
        reference_lines(&comparison.reference).iter().for_each(|line| page.paragraph(Tone::Plain, "", line));
    }
    page.finish(color)
}

fn side(name: &str, runs: &[RunName], page: &mut Page) {
    let text = match runs {
        [only] => format!("{} ({})", only.file, only.started_at),
        several => {
            let begins = several.iter().map(|run| &run.started_at[..]);
            let (first, last) = (begins.clone().min().unwrap_or_default(), begins.max().unwrap_or_default());
            format!("{} runs, {first} to {last}", several.len())
        }
    };
    page.paragraph(Tone::Plain, &format!("  {name:<10}"), &text);
}

fn lacking(title: &str, cases: &[Lacking], page: &mut Page) {
    if cases.is_empty() {
        return;
    }
    page.line(Tone::Title, title);
    for case in cases.iter().take(SAME_SHOWN) {
        let reason = case.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        page.paragraph(Tone::Warning, "  ", &format!("{}{reason}", case.key));
    }
    if cases.len() > SAME_SHOWN {
        page.paragraph(Tone::Faint, "  ", &format!("and {} more; --json has them", cases.len() - SAME_SHOWN));
    }
    page.blank();
}

fn cases<'c>(cases: impl Iterator<Item = &'c ComparedCase>, page: &mut Page) {
    // By place, because most columns are about cases; the worst place first, since the cases come worst
    // first.
    let cases: Vec<&ComparedCase> = cases.collect();
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        first.entry(case.key.place()).or_insert(at);
    }
    let mut ordered = cases;
    ordered.sort_by_cached_key(|case| first.get(&case.key.place()).copied());

    // The deviation that intervals assume stands in a note too.
    let whole = grid(&ordered, true);
    let grid = if whole.width() <= page.width() { whole } else { grid(&ordered, false) };
    grid.draw_fitting(&["values", "95 % interval"], page);
}

/// A row for each case, under its place.
fn grid(ordered: &[&ComparedCase], with_assumed: bool) -> TextGrid {
    let mut grid = TextGrid::new(1, &["case", "base", "new", "change", "95 % interval", "values", "verdict"]);
    let mut place = None;
    for case in ordered {
        if place.as_ref() != Some(&case.key.place()) {
            place = Some(case.key.place());
            grid.caption(case.key.place());
        }
        let mut cells = vec![case.key.case_in_words()];
        cells.extend(figures::cells(case, with_assumed));
        cells.push(verdict(case.verdict).to_owned());
        grid.row(cells, Vec::new());
    }
    grid
}
