//! Unlike systems side by side for a terminal: a column for each, under what was measured a line for each
//! place.

use analysis::systems::{SystemFigure, Systems};

use crate::digits::compared as figure;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// The systems as text so many columns wide.
pub fn systems(systems: &Systems, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    page.paragraph(Tone::Title, "", &systems.answer());
    for system in &systems.systems {
        page.paragraph(Tone::Plain, &format!("  {}: ", system.name), &system.hardware);
        if let Some(why) = &system.simulated {
            page.paragraph(Tone::Warning, "    THE DEVICES ARE SIMULATED: ", why);
        }
        if let Some(why) = &system.trouble {
            page.paragraph(Tone::Warning, "    ", why);
        }
    }
    page.blank();

    let names = systems.systems.iter().map(|system| &system.name[..]);
    let header: Vec<&str> = std::iter::once("").chain(names).collect();
    let mut grid = TextGrid::new(1, &header);
    for (what, figures) in systems.by_thing() {
        grid.caption(what.to_owned());
        figures.into_iter().for_each(|of_place| grid.row(cells(of_place), Vec::new()));
    }
    grid.draw(&mut page);
    page.finish(color)
}

fn cells(SystemFigure { place, unit, values, .. }: &SystemFigure) -> Vec<String> {
    let shown = values.iter().map(|value| value.map_or("–".to_owned(), |value| figure(*unit, value)));
    std::iter::once(place.clone()).chain(shown).collect()
}
