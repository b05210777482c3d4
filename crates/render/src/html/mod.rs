//! A report of one run or several as one HTML file: for people who were not there, in a browser, in print, in a CI server's artifact viewer.
//!
//! The answer stands first, in the colour of what it says; then the picture that shows it; tables are folded behind it. The file asks for nothing: no script, no
//! font, no request; its style sheet can be stripped, as CI servers do, and it still reads from top to bottom. Pictures are `svg`'s, laid out twice, for a page and for a
//! telephone; their values are under the pointer and in the tables.
//!
//! * `verdict` what the runs come to;
//! * the node with its measured rates (`crate::node`), `ranks`, `matrices` (of `heat` tables), `curves`, `contention`, `loaded` and `kernels` what was measured;
//! * `tables` figures, placement, blocks and environment, folded;
//! * `nodes` many nodes on one page, a row each;
//! * `several` differences and history of more than one document; `trial` the same of trials, `place` placements, `mpi` of MPI runs, `imported` of other programs' figures;
//! * `any_kind` documents as they were read, of whichever kind;
//! * `write` elements, escaped.

mod any_kind;
mod contention;
mod curves;
mod heat;
mod imported;
mod kernels;
mod loaded;
mod matrices;
mod mpi;
mod nodes;
mod place;
mod ranks;
mod several;
mod tables;
mod trial;
mod verdict;
mod write;

use std::collections::BTreeSet;

use analysis::figure::Key;
use analysis::run::Run;
pub use any_kind::report;
pub use imported::imported;
pub use mpi::{mpi, mpi_pictures};
pub use nodes::{nodes, nodes_pictures};
pub use place::{place_pictures, places};
use report::Document;
pub use trial::{trial_pictures, trials};
use write::HtmlPage;

use crate::{names, node};
use svg::escaped;

/// The report of these runs, in the order given; `names` are their files.
pub fn html(runs: &[(String, Document)]) -> String {
    let title = match runs {
        [(_, only)] => format!("numabench {} on {}, {}", only.command, only.environment.hostname, only.started_at),
        several => format!("numabench: {} runs", several.len()),
    };
    let mut page = begin(&title);
    together(runs, &mut page);
    for ((_, document), name) in runs.iter().zip(file_names(runs)) {
        if runs.len() > 1 {
            page.element("h2", &format!("{name}: {}, {}", document.environment.hostname, document.started_at));
        }
        run(document, if runs.len() > 1 { 3 } else { 2 }, &mut page);
    }
    end(page)
}

/// What differs between runs, where there are several.
fn together(runs: &[(String, Document)], page: &mut HtmlPage) {
    if let [(_, first), _, ..] = runs {
        let names = file_names(runs);
        let taken = runs.iter().zip(names).filter_map(|((_, document), name)| Run::of(name, document).ok());
        let taken: Vec<Run> = taken.collect();
        several::draw(&taken, &first.tool, &|key| in_words(runs, key), page);
    }
}

/// The files without the folders that they are in, where that tells them apart.
fn file_names(runs: &[(String, Document)]) -> Vec<&str> {
    let short = |name: &'_ String| name.rfind('/').map_or(0, |at| at + 1);
    let names: Vec<&str> = runs.iter().map(|(name, _)| &name[short(name)..]).collect();
    let different: BTreeSet<&&str> = names.iter().collect();
    match different.len() == names.len() {
        true => names,
        false => runs.iter().map(|(name, _)| &name[..]).collect(),
    }
}

/// The pictures of what differs between runs, each with its title, as SVG files of their own.
pub fn pictures_together(runs: &[(String, Document)]) -> Vec<(String, String)> {
    let mut page = HtmlPage::keeping();
    together(runs, &mut page);
    page.pictures()
}

/// The pictures of a run's report, each with its title, as SVG files of their own.
pub fn pictures(document: &Document) -> Vec<(String, String)> {
    let mut page = HtmlPage::keeping();
    run(document, 2, &mut page);
    page.pictures()
}

/// What a person calls a case in a place, by the first document that has it.
fn in_words(runs: &[(String, Document)], key: &Key) -> String {
    let found = runs.iter().find_map(|(_, document)| {
        let case = document.cases.iter().find(|case| case.id == key.case)?;
        let device = document.devices.iter().find(|device| report::device::name_on_node(&device.id) == key.device);
        let name = device.map_or_else(|| key.device.clone(), names::device);
        let host = key.host.as_ref().map_or(String::new(), |host| format!("{host} "));
        Some(format!("{}, {host}{name} from PU {}", names::case(document, case), key.pu))
    });
    found.unwrap_or_else(|| key.to_string())
}

/// A page up to its first heading.
fn begin(title: &str) -> HtmlPage {
    let mut page = HtmlPage::default();
    page.raw(&format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        escaped(title),
        include_str!("style.css")
    ));
    page.element("h1", title);
    page
}

fn end(mut page: HtmlPage) -> String {
    page.raw("</main>\n</body>\n</html>\n");
    page.text()
}

/// One run; its headings are of this level.
fn run(document: &Document, level: u8, page: &mut HtmlPage) {
    page.level = level;
    verdict::draw(document, page);
    // A rate of pieces is that of a way of sending them, and one of touches that of moving pages: neither is a link's.
    let is_of_links = document.pieces.is_none() && !analysis::moving::is_of(document);
    if let Some(draw) = node::node(document).filter(|_| is_of_links) {
        page.picture("The node, and what was measured on its links", &node::described(document), draw);
    }
    ranks::draw(document, page);
    curves::draw(document, page);
    loaded::draw(document, page);
    matrices::draw(document, page);
    contention::penalties(document, page);
    kernels::draw(document, page);
    tables::draw(document, page);
}
