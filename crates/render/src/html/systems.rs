//! Unlike systems on one page: a chart for each thing that was measured, a bar for each place and system, and
//! one table with a column for each system.

use analysis::answer_status::AnswerStatus;
use analysis::figure::Unit;
use analysis::systems::{SystemFigure, Systems};

use super::write::{HtmlPage, simulated};
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits::compared as figure;

/// So many charts are drawn; the table has all.
const CHARTS: usize = 12;

/// The report of these systems.
pub fn systems(systems: &Systems) -> String {
    let mut page = HtmlPage::begin(&format!("numabench: {} systems side by side", systems.measured));
    page.standing("No verdict");
    page.answer(AnswerStatus::Undecided, &[systems.answer()]);
    let said = systems.systems.iter().flat_map(|system| {
        let of_devices =
            system.simulated.as_deref().map(|why| format!("{}: {}", system.name, simulated(why)));
        let trouble = system.trouble.as_ref().map(|why| format!("{}: {why}", system.name));
        [Some(format!("{}: {}", system.name, system.hardware)), of_devices, trouble].into_iter().flatten()
    });
    page.list(&said.collect::<Vec<_>>());

    let things = systems.by_thing();
    for (what, figures) in things.iter().take(CHARTS) {
        page.rows(&format!("{what}, by place and system"), &chart(systems, figures));
    }
    if things.len() > CHARTS {
        page.element("p", &format!("{} more cases are in the table.", things.len() - CHARTS));
    }
    table(systems, &mut page);
    page.end()
}

fn chart(systems: &Systems, figures: &[&SystemFigure]) -> Rows {
    let bars = |of_place: &&SystemFigure| {
        let SystemFigure { place, unit, values, .. } = *of_place;
        let bar = move |(at, value): (usize, &Option<f64>)| {
            let value = (*value)?;
            let name = format!("{place}, {}", systems.systems[at].name);
            let said = figure(*unit, value);
            let marks = vec![(Mark::Bar(value / scale(*unit)), format!("{name}: {said}"))];
            Some(Row { name, said, colour: series(at), marks })
        };
        values.iter().enumerate().filter_map(bar).collect::<Vec<_>>()
    };
    let title = figures.first().map_or("", |of_place| axis(of_place.unit)).to_owned();
    Rows { title, rows: figures.iter().flat_map(bars).collect(), from_zero: true, ..Rows::default() }
}

/// What a unit's axis counts in.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::BytesPerS | Unit::FlopPerS | Unit::KeysPerS => 1e9,
        Unit::Ns => 1e3,
        Unit::S | Unit::More | Unit::Less => 1.0,
        Unit::Share | Unit::EstimatedShare => 0.01,
    }
}

fn axis(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerS => "GB/s",
        Unit::FlopPerS => "GFLOP/s",
        Unit::KeysPerS => "Gkey/s",
        Unit::Ns => "µs",
        Unit::S => "s",
        Unit::More | Unit::Less => "",
        Unit::Share | Unit::EstimatedShare => "%",
    }
}

fn table(systems: &Systems, page: &mut HtmlPage) {
    let names: Vec<String> = systems.systems.iter().map(|system| format!("{} ", system.name)).collect();
    let header: Vec<&str> = ["", ""].into_iter().chain(names.iter().map(String::as_str)).collect();
    let cells = |SystemFigure { what, place, unit, values }: &SystemFigure| {
        let shown = values.iter().map(|value| value.map_or("–".to_owned(), |value| figure(*unit, value)));
        [what.clone(), place.clone()].into_iter().chain(shown).collect()
    };
    page.table("Each figure of each system", &header, systems.figures.iter().map(cells));
}

#[cfg(test)]
mod tests {
    use analysis::systems::System;

    use super::*;

    #[test]
    fn the_title_counts_the_machines_that_have_figures() {
        let system = |name: &str, trouble: Option<&str>| System {
            name: name.to_owned(),
            hardware: "a GPU".to_owned(),
            simulated: None,
            trouble: trouble.map(str::to_owned),
        };
        let all = vec![system("a", None), system("b", None), system("c", Some("all its figures failed"))];
        let page = systems(&Systems { systems: all, measured: 2, figures: Vec::new() });
        assert!(page.contains("<title>numabench: 2 systems side by side</title>"), "{page}");
        assert!(page.contains("c: all its figures failed"));
    }
}
