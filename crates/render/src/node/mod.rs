//! The node with its measured rates as one picture: NUMA nodes, their GPUs, what is between them, and on each link what was measured, in the colours of one scale over the
//! whole picture. A link below its kind, or a GPU below its twins, is marked.
//!
//! * `placed` what `place --measure` and `mpi --matrix` measured of a node;
//! * `scale` the colours; `model` what stands where; `draw` the boxes and links between a node and its GPUs; `ring` links that go from each to each.

mod draw;
mod model;
mod placed;
mod ring;
mod scale;

use analysis::any_document::AnyDocument;
use analysis::measured_links::measured_links;
use report::read::ReadError;
use report::{Document, MpiDocument, PlaceDocument, SavedDocument};

use model::Node;
use svg::Picture;

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

/// The picture of the recommended way of a placement document, with what it says in words; `None` where nothing was measured.
pub(crate) fn placed(document: &PlaceDocument) -> Option<(String, impl Fn(f64) -> Picture)> {
    let node = placed::of_place(document)?;
    Some((node.described(), move |wide: f64| node.drawn(wide)))
}

/// The picture of a matrix of messages; `None` where the document has none.
pub(crate) fn messages(document: &MpiDocument) -> Option<impl Fn(f64) -> Picture> {
    let node = placed::of_mpi(document)?;
    Some(move |wide: f64| node.drawn(wide))
}

/// The picture of a document of any kind that has one as an SVG file of its own.
///
/// # Errors
/// In words: it is no such document, or nothing of it can be drawn.
pub fn svg_of_any(bytes: &[u8]) -> Result<String, String> {
    let unread = |error: ReadError| error.to_string();
    if report::schema_of(bytes).as_deref() == Some(PlaceDocument::SCHEMA) {
        return svg_of_place(&PlaceDocument::from_json(bytes).map_err(unread)?);
    }
    match AnyDocument::from_json(bytes).map_err(unread)? {
        AnyDocument::Result(document) => svg(&document),
        AnyDocument::Mpi(document) => svg_of_mpi(&document),
        other => Err(format!("it is a document of kind {}, not a result", other.kind().name())),
    }
}

/// The picture of a placement document as an SVG file of its own.
///
/// # Errors
/// In words: nothing was measured.
pub fn svg_of_place(document: &PlaceDocument) -> Result<String, String> {
    let (_, draw) = placed(document).ok_or("nothing was measured for it: give one of place --measure")?;
    let host = document.machine.hostname.clone().unwrap_or_default();
    Ok(draw(FILE).file(&format!("numabench place --measure on {host}, {}", document.started_at)))
}

/// The picture of an MPI document as an SVG file of its own.
///
/// # Errors
/// In words: it has no matrix.
pub fn svg_of_mpi(document: &MpiDocument) -> Result<String, String> {
    let draw = messages(document).ok_or("it has no messages between places: give one of mpi --matrix")?;
    Ok(draw(FILE).file(&format!("numabench mpi --matrix, {}", document.started_at)))
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
