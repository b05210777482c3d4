//! What is behind the pictures, folded away: figures, placement asked and seen, every block, the machine and
//! its state.

use std::collections::BTreeSet;

use analysis::figure::{Figure, status_word};
use analysis::words::lanes;
use report::Document;
use report::result::{NodePages, PlacementSeen};
use report::round_count::RoundCount;
use report::row::Row as FigureRow;
use stats::units::counted;

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::terminal::locality;
use crate::{digits, names};

/// Results whose blocks are drawn.
const STRIPS: usize = 60;
/// About how many blocks of one are drawn: of more, every so manyth, and the last.
const SPECKS: usize = 100;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    figures(document, page);
    placement(document, page);
    blocks(document, page);
    surroundings(document, page);
}

fn figures(document: &Document, page: &mut HtmlPage) {
    let header = ["case", "", "time ", "± 95 % ", "rate ", "of the link's limit ", "blocks ", "status"];
    let caption = format!("All {}", counted(document.rows.len(), "figure"));
    page.folded_first_rows(&caption, &header, document.rows.iter().map(|row| cells(document, row)));
}

fn cells(document: &Document, row: &FigureRow) -> Vec<String> {
    let dash = || "–".to_owned();
    let ends = digits::time_interval(row);
    let half = ends.as_ref().zip(row.median_ns).map(|(ends, ns)| ends.relative_half_width(ns));
    let case = document.cases.iter().find(|case| case.id == row.case);

    vec![
        case.map_or_else(|| row.case.clone(), |case| names::case(document, case)),
        names::rank(document, row.rank),
        row.median_ns.map_or_else(dash, |ns| digits::time(ns, ends.as_ref())),
        half.map_or_else(dash, digits::percent),
        digits::row_rate(row).unwrap_or_else(dash),
        row.percent_of_bound.map_or_else(dash, |percent| format!("{percent:.0} %")),
        row.blocks.map_or_else(dash, |blocks| blocks.to_string()),
        match &row.reason {
            None => status_word(row.status).to_owned(),
            Some(reason) => format!("{}: {reason}", status_word(row.status)),
        },
    ]
}

fn placement(document: &Document, page: &mut HtmlPage) {
    let rows = document.ranks.iter().map(|rank| {
        let seen: Vec<&PlacementSeen> = document
            .cases
            .iter()
            .flat_map(|case| case.ranks.iter().filter(|result| result.rank == rank.rank))
            .flat_map(|result| result.seen_before.iter().chain(&result.seen_after))
            .collect();
        let pus: BTreeSet<u32> = seen.iter().filter_map(|seen| seen.pu.value).collect();
        let pages = seen.iter().filter_map(|seen| seen.host_pages.value.as_ref()).flatten();
        let nodes: BTreeSet<u32> = pages.map(|NodePages { node, .. }| *node).collect();
        let known = |all: BTreeSet<u32>| match all.is_empty() {
            true => "not known".to_owned(),
            false => all.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        vec![
            names::rank(document, rank.rank),
            rank.host.clone(),
            rank.asked.pu.to_string(),
            known(pus),
            rank.asked.memory_nodes().map_or("any".to_owned(), |nodes| nodes.to_string()),
            known(nodes),
            rank.asked.device.clone(),
            locality(rank.locality).to_owned(),
        ]
    });
    let header = ["", "host", "PU asked ", "PU seen ", "node asked ", "pages seen on ", "device", "locality"];
    page.folded_first_rows("Placement of each rank, asked and seen", &header, rows);
}

/// Every block as a speck beside the median: drift, two modes and a slow first block are seen here before any
/// test names them.
fn blocks(document: &Document, page: &mut HtmlPage) {
    let results = document.cases.iter().flat_map(|case| case.ranks.iter().map(move |result| (case, result)));
    let figures = results.filter_map(|(case, result)| {
        Some((case, result, Figure::of(case, result, RoundCount::of(document, case)).ok()?))
    });
    let several: Vec<_> = figures.filter(|(.., figure)| figure.blocks.len() > 1).collect();
    if several.is_empty() {
        return;
    }
    let row = |(case, result, figure): &(&report::case::Case, &report::result::RankResult, Figure)| {
        let name = format!("{}, {}", names::rank(document, result.rank), names::case(document, case));
        let percent = |value: f64| (value / figure.median - 1.0) * 100.0;
        let last = figure.blocks.len();
        let step = last.div_ceil(SPECKS);
        let drawn = |at: usize| at.is_multiple_of(step) || at + 1 == last;
        let blocks = figure.blocks.iter().enumerate().filter(|(at, _)| drawn(*at));
        let marks = blocks.map(|(at, value)| {
            // The first and the last have a value: thousands of them would be most of the page.
            let said = if at == 0 || at + 1 == last {
                format!("block {} of {last}: {:+.2} %", at + 1, percent(*value))
            } else {
                String::new()
            };
            (Mark::Speck(percent(*value)), said)
        });
        let said = match step {
            1 => counted(last, "block"),
            _ => format!("{last} blocks, 1 of {step} drawn"),
        };
        Row { said, colour: series(0), marks: marks.collect(), name }
    };

    let rows = Rows {
        title: "% off the median".to_owned(),
        rows: several.iter().take(STRIPS).map(row).collect(),
        zone: Some((-1.0, 1.0, "1 % to both sides".to_owned())),
        signed: true,
        ..Rows::default()
    };

    page.folded("Every block", |page| {
        page.picture("Blocks of each figure against its median", &counted(several.len(), "figure"), |wide| {
            rows.drawn(wide)
        });
        if several.len() > STRIPS {
            page.element(
                "p",
                &format!("Blocks of {} more figures are in the document.", several.len() - STRIPS),
            );
        }
    });
}

fn surroundings(document: &Document, page: &mut HtmlPage) {
    let environment = &document.environment;
    let fact = |name: &str, value: String, source: &str| vec![name.to_owned(), value, source.to_owned()];
    let mut facts = vec![
        fact("numabench", document.tool.version.clone(), "this program"),
        fact("command", document.argv.join(" "), "this program"),
        fact("started", document.started_at.clone(), "the system's clock"),
        fact("took", format!("{} s", digits::shown(document.elapsed_s, None)), "the system's clock"),
        fact("host", environment.hostname.clone(), "the kernel"),
        fact("seed", document.settings.seed.to_string(), "--seed"),
    ];

    facts.extend(document.devices.iter().map(|device| {
        let link = device.link.value.as_ref().map(|link| {
            let most = lanes(link.max_generation, link.max_width);
            format!("PCIe {} of {most}", lanes(link.generation, link.width))
        });
        let link = link.or(device.link.reason.clone()).unwrap_or("not known".to_owned());
        match &device.host_link {
            Some(other) => {
                let name = other.value.as_deref().unwrap_or("another link than PCIe");
                fact(&device.id, format!("{}, {name}", device.name), &other.source)
            }
            None => fact(&device.id, format!("{}, {link}", device.name), &device.link.source),
        }
    }));

    facts.extend(environment.probes.iter().map(|probe| {
        let value = probe.value.as_ref().map(|value| value.to_string().trim_matches('"').to_owned());
        let value = value.or(probe.reason.clone()).unwrap_or("not known".to_owned());
        fact(&probe.name, value, &probe.source)
    }));
    facts.extend(environment.variables.iter().map(|(name, value)| fact(name, value.clone(), "environment")));
    page.folded_table(
        "Environment: the machine and its state, each fact with its source",
        &["fact", "value", "source"],
        facts.into_iter(),
    );
}
