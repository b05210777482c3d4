//! Step changes for a terminal: what changed when, by how much, and what changed with it.

use analysis::compare::change;
use analysis::ended_series::AbsentHost;
use analysis::history::{History, MovingSeries};
use stats::change_point::LEAST_VALUES;
use stats::series_shape::SeriesShape;
use stats::units::counted;

use crate::digits::{compared as figure, signed_change};
use crate::terminal::page::{Page, Tone};

/// The history as text so many columns wide.
pub fn history(history: &History, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    let worse =
        |step: &analysis::history::LevelChange| (step.after < step.before) == step.unit.more_is_better();
    let slower = history.steps.iter().filter(|step| worse(step)).count();
    let found = match history.steps.len() {
        0 if !history.moving.is_empty() => {
            let verb = if history.moving.len() == 1 { "moves" } else { "move" };
            format!("No step change, but {} of the series {verb} without one (below),", history.moving.len())
        }
        0 => "No step change".to_owned(),
        1 => "1 step change".to_owned(),
        several => format!("{several} step changes, {slower} of them for the worse"),
    };

    let absent = match history.absent_hosts.len() {
        0 => String::new(),
        1 => "1 host has no run any more (below). ".to_owned(),
        several => format!("{several} hosts have no run any more (below). "),
    };
    let ended = match history.ended.len() {
        0 => String::new(),
        1 => "1 series ends in runs without a figure (below). ".to_owned(),
        several => format!("{several} series end in runs without a figure (below). "),
    };
    let runs = counted(history.runs as usize, "run");
    let searched = match history.series {
        0 => format!("Nothing was searched in {runs}: a series needs {LEAST_VALUES}"),
        series => format!("{found} in {runs}, {series} series"),
    };
    let is_lost = !history.ended.is_empty() || !history.absent_hosts.is_empty();
    let is_bad = slower > 0 || is_lost || history.moving.iter().any(drifts_to_the_worse);
    page.paragraph(if is_bad { Tone::Bad } else { Tone::Title }, "", &(absent + &ended + &searched));
    page.blank();

    for absent in &history.absent_hosts {
        page.paragraph(Tone::Warning, &format!("{}  ", absent.last_run), &last_run(absent));
    }

    for series in &history.ended {
        let text = format!(
            "{}: {} without a figure: {}",
            series.key,
            counted(series.runs_without as usize, "run"),
            series.reason
        );
        page.paragraph(Tone::Warning, &format!("{}  ", series.first_without), &text);
    }

    for step in &history.steps {
        let tone = if worse(step) { Tone::Warning } else { Tone::Plain };
        let by = change(step.unit, step.before, step.after);
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

    for series in &history.moving {
        page.paragraph(Tone::Warning, "  ", &format!("{}: {}", series.key, moves(series)));
    }
    page.blank();

    if history.series == 0 && history.runs as usize >= LEAST_VALUES {
        let text = "a series is of one place: where ranks run on other cores from run to run, --by gpu \
            makes a series of each GPU";
        page.paragraph(Tone::Plain, "", text);
    }
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

/// `the last run of n02, before 6 runs of other hosts`, of the day that stands before it.
pub(crate) fn last_run(absent: &AbsentHost) -> String {
    let since = counted(absent.runs_since as usize, "run");
    format!("the last run of {}, before {since} of other hosts", absent.host)
}

fn drifts_to_the_worse(series: &MovingSeries) -> bool {
    match series.shape {
        SeriesShape::Drifting { change } => (change < 0.0) == series.unit.more_is_better(),
        _ => false,
    }
}

/// How a series without a step moves.
fn moves(series: &MovingSeries) -> String {
    let of = |count: u32| counted(count as usize, "run");
    match series.shape {
        SeriesShape::Alternating { low, high, at_low, switches } => format!(
            "two levels that alternate, {} in {} and {} in {}, {switches} switches: look for what differs \
             between such runs",
            figure(series.unit, low),
            of(at_low),
            figure(series.unit, high),
            of(series.runs - at_low)
        ),
        SeriesShape::Drifting { change } => {
            format!("a slow drift, {} over {}: it has no day", signed_change(1.0 + change), of(series.runs))
        }
        SeriesShape::Wandering { correlation, range } => format!(
            "runs near to the one before (correlation {correlation:.1}) that wander over a range of {:.1} %: \
             compare runs that took turns",
            range * 100.0
        ),
    }
}
