//! The node with its measured rates as one picture: NUMA nodes, their GPUs, what is between them, and on each link what was measured, in the colours of one scale over the
//! whole picture. A link below its kind, or a GPU below its twins, is marked.
//!
//! * `scale` the colours; `model` what stands where; `draw` the boxes and links between a node and its GPUs; `ring` links that go from each to each.

mod draw;
mod model;
mod ring;
mod scale;

use analysis::measured_links::measured_links;
use report::Document;

use crate::svg::write::Picture;
use model::Node;

/// The picture of a document's first node; `None` where no link was measured.
pub(crate) fn node(document: &Document) -> Option<impl Fn(f64) -> Picture> {
    let links = measured_links(document);
    let node = Node::of(document, &links)?;
    Some(move |wide: f64| node.drawn(wide))
}

/// What the picture says in words, for those who cannot see it.
pub(crate) fn described(document: &Document) -> String {
    let links = measured_links(document);
    Node::of(document, &links).map_or(String::new(), |node| node.described())
}

/// The picture as an SVG file of its own.
///
/// # Errors
/// In words: the document has no link that was measured.
pub fn svg(document: &Document) -> Result<String, String> {
    let draw = node(document)
        .ok_or("the document has no figure of a link: give one of matrix, contend, peer, pingpong or suite")?;
    let title = format!("numabench {} on {}, {}", document.command, document.environment.hostname, document.started_at);
    Ok(draw(FILE).file(&title))
}

/// The width of a file of its own: that of a slide.
const FILE: f64 = 960.0;
