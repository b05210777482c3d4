//! A report of one run or several as one HTML file: for people who were not there, in a browser, in print, in a CI server's artifact viewer.
//!
//! The file asks for nothing: no script, no font, no request; its style sheet can be stripped, as CI servers do, and it still reads from
//! top to bottom. Pictures are SVG made here, with colours as attributes and text as text; each has its figures in a table beside it. The
//! verdict stands first. No plotting crate is used: scales and axes are one small file (`scale`), and those crates draw pixels or text outlines,
//! where a screen reader needs titles and a stripped page needs attributes.
//!
//! * `verdict` what the runs come to; `place` where ranks were asked to be and were seen, with `picture` of the node;
//! * `figures` the table of figures; `heat`, `bars`, `curves`, `loaded` and `strips` the same seen otherwise;
//! * `surroundings` environment and penalties; `several` differences and history of more than one document;
//! * `trial` the same of trials, `mpi` of MPI runs, `imported` of other programs' figures;
//! * `write` elements, escaped; `scale` axes.

mod bars;
mod curves;
mod figures;
mod heat;
mod imported;
mod loaded;
mod mpi;
mod picture;
mod place;
mod scale;
mod several;
mod strips;
mod surroundings;
mod trial;
mod verdict;
mod write;

use analysis::run::Run;
pub use imported::imported;
pub use mpi::mpi;
use report::Document;
pub use trial::trials;
use write::Page;

use crate::xml::escaped;

/// The report of these runs, in the order given; `names` are their files.
pub fn html(runs: &[(String, Document)]) -> String {
    let title = match runs {
        [(_, only)] => format!("numabench {} on {}, {}", only.command, only.environment.hostname, only.started_at),
        several => format!("numabench: {} runs", several.len()),
    };
    let mut page = begin(&title);
    if let [(_, first), _, ..] = runs {
        let taken: Vec<Run> = runs.iter().filter_map(|(name, document)| Run::of(name, document).ok()).collect();
        several::draw(&taken, &first.tool, &mut page);
    }
    for (name, document) in runs {
        if runs.len() > 1 {
            page.element("h2", &format!("{name}: {}, {}", document.environment.hostname, document.started_at));
        }
        run(document, if runs.len() > 1 { 3 } else { 2 }, &mut page);
    }
    end(page)
}

/// A page up to its first heading.
fn begin(title: &str) -> Page {
    let mut page = Page::default();
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

fn end(mut page: Page) -> String {
    page.raw("</main>\n</body>\n</html>\n");
    page.text()
}

/// One run; its headings are of this level.
fn run(document: &Document, level: u8, page: &mut Page) {
    page.level = level;
    verdict::draw(document, page);
    place::draw(document, page);
    figures::draw(document, page);
    heat::draw(document, page);
    curves::draw(document, page);
    loaded::draw(document, page);
    bars::draw(document, page);
    strips::draw(document, page);
    surroundings::draw(document, page);
}
