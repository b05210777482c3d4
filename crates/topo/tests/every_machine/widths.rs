//! What a view says does not depend on its width: lines are broken, and distances are shown in blocks of
//! columns, but nothing is lost.

use std::collections::BTreeMap;

use topo::model::NodeKind;
use topo::{Survey, text};

use crate::file::{Outcome, each};
use crate::page::WIDE;

/// The numbers of the lines with distances, by the nodes of their row and column, and how many lines, which
/// begin with `node`, name columns.
fn shown_distances(view: &str) -> (BTreeMap<(u32, u32), u64>, usize) {
    let mut lines = view.lines().skip_while(|line| !line.starts_with("distances"));
    lines.next();
    let (mut columns, mut shown, mut blocks) = (Vec::new(), BTreeMap::new(), 0);
    for line in lines.take_while(|line| line.is_empty() || line.starts_with("  ")) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("node") => {
                columns = words.filter_map(|word| word.parse().ok()).collect();
                blocks += 1;
            }
            Some(row) => {
                let Ok(row) = row.parse() else { continue };
                let cells = columns.iter().zip(words);
                shown.extend(cells.filter_map(|(column, word)| Some(((row, *column), word.parse().ok()?))));
            }
            None => {}
        }
    }
    (shown, blocks)
}

#[test]
fn the_distances_are_shown_without_the_nodes_that_have_nothing() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let mut expected = BTreeMap::new();
        if let Some(distances) = &topology.distances {
            for (from, row) in distances.nodes.iter().zip(&distances.rows) {
                expected
                    .extend(distances.nodes.iter().zip(row).map(|(to, distance)| ((*from, *to), *distance)));
            }
        }
        let empty = |node: u32| topology.node(node).is_some_and(|node| node.kind == NodeKind::Empty);
        expected.retain(|(from, to), _| !empty(*from) && !empty(*to));
        let nodes = topology.distances.as_ref().map_or(0, |distances| distances.nodes.len());
        for width in [60, 80, 100, WIDE] {
            let at = format!("{} at {width}", machine.name);
            let (all, view) = (text::numa(machine.survey, width), text::render(machine.survey, width));
            let (shown, blocks) = shown_distances(&all);
            assert_eq!(shown, expected, "{at}");
            // One block of columns or none in the default view.
            let too_wide = format!("  between {nodes} nodes: too wide for {width} columns, see --numa");
            assert_eq!(view.lines().any(|line| line == too_wide), blocks > 1, "{at}");
            assert!(blocks > 1 || shown_distances(&view).0 == expected, "{at}");
        }
        Ok(())
    })
}

#[test]
fn a_narrow_view_says_the_same_as_a_wide_one() -> Outcome {
    let views: [fn(&Survey, usize) -> String; 5] =
        [text::render, text::numa, text::tree, text::matrix, text::identity];
    each(|machine| {
        for (view, width) in views.iter().flat_map(|view| [80, 100].map(|width| (view, width))) {
            let letters = |width: usize| -> String {
                let text = view(machine.survey, width);
                // Distances are broken into blocks of columns.
                let sections = text
                    .split("\n\n")
                    .filter(|text| !text.starts_with("distances") && !text.starts_with("  node "));
                sections.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
            };
            let (narrow, wide) = (letters(width), letters(WIDE));
            // A name that is cut has dots, and so have those that are always cut.
            let cut = narrow.matches("...").count() > wide.matches("...").count()
                || machine.name == "hostile-names";
            assert!(cut || narrow == wide, "{} at {width}\n{narrow}\n{wide}", machine.name);
        }
        Ok(())
    })
}
