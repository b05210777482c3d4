//! Step changes for a terminal: what changed when, by how much, and what changed with it.

use analysis::compare::change;
use analysis::history::History;
use stats::units::counted;

use crate::digits::compared as figure;
use crate::terminal::page::{Page, Tone};

/// The history as text so many columns wide.
pub fn history(history: &History, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    let worse = |step: &analysis::history::LevelChange| (step.after < step.before) == step.unit.more_is_better();
    let slower = history.steps.iter().filter(|step| worse(step)).count();
    let found = match history.steps.len() {
        0 => "No step change".to_owned(),
        1 => "1 step change".to_owned(),
        several => format!("{several} step changes, {slower} of them for the worse"),
    };
    let tone = if slower > 0 { Tone::Bad } else { Tone::Title };
    page.paragraph(
        tone,
        "",
        &format!("{found} in {}, {} series", counted(history.runs as usize, "run"), history.series),
    );
    page.blank();
    for step in &history.steps {
        let tone = if worse(step) { Tone::Warning } else { Tone::Plain };
        let by = change(step.unit, step.after / step.before);
        page.paragraph(tone, &format!("{}  ", step.first_after), &format!("{by}: {}", step.key));
        let levels = format!(
            "{} over {} to {}, then {} over {} ({})",
            figure(step.unit, step.before),
            counted(step.runs_before as usize, "run"),
            step.last_before,
            figure(step.unit, step.after),
            step.runs_after,
            step.file
        );
        page.paragraph(Tone::Plain, "    level     ", &levels);
        for differs in &step.differing {
            page.paragraph(Tone::Plain, "    changed   ", &differs.then());
        }
        if step.differing.is_empty() {
            page.paragraph(Tone::Faint, "    changed   ", "no recorded change of the environment");
        }
    }
    page.blank();
    if history.too_short > 0 {
        page.paragraph(
            Tone::Faint,
            "",
            &match history.too_short {
                1 => "1 series has fewer than 10 runs and was not searched".to_owned(),
                several => format!("{several} series have fewer than 10 runs and were not searched"),
            },
        );
    }
    page.finish(color)
}
