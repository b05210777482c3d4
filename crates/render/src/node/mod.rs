//! The node with its measured rates as one picture: NUMA nodes, their GPUs, what is between them, and on each
//! link what was measured, in the colours of one scale over the whole picture. A link below its kind, or a
//! GPU below its twins, is marked.
//!
//! * `placed` what `place --measure` and `mpi --matrix` measured of a node;
//! * `scale` the colours; `model` what stands where; `draw` the boxes and links between a node and its GPUs;
//!   `ring` links that go from each to each.

mod draw;
mod model;
mod placed;
mod ring;
mod scale;

use analysis::any_document::AnyDocument;
use analysis::measured_links::measured_links;
use report::read::ReadError;
use report::{Document, MpiDocument, PlaceDocument, SavedDocument};

pub(crate) use model::Node;
pub(crate) use placed::{of_mpi, of_place};

/// The picture of a document's first node; `None` where no link was measured.
pub(crate) fn of_result(document: &Document) -> Option<Node> {
    Node::of(document, &measured_links(document))
}

/// The picture of a document of any kind that has one as an SVG file of its own.
///
/// # Errors
/// In words: it is no such document, or nothing of it can be drawn.
pub fn svg_of_any(bytes: &[u8]) -> Result<String, String> {
    let unread = |error: ReadError| error.to_string();
    if report::schema_of(bytes).as_deref() == Some(PlaceDocument::SCHEMA) {
        let document = PlaceDocument::from_json(bytes).map_err(unread)?;
        let node = of_place(&document).ok_or("nothing was measured for it: give one of place --measure")?;
        let host = document.machine.hostname.unwrap_or_default();
        return Ok(node.file(&format!("numabench place --measure on {host}, {}", document.started_at)));
    }
    match AnyDocument::from_json(bytes).map_err(unread)? {
        AnyDocument::Result(document) => svg(&document),
        AnyDocument::Mpi(document) => svg_of_mpi(&document),
        other => Err(format!("it is a document of kind {}, not a result", other.kind().name())),
    }
}

/// The picture of an MPI document as an SVG file of its own.
///
/// # Errors
/// In words: it has no matrix.
pub fn svg_of_mpi(document: &MpiDocument) -> Result<String, String> {
    let node = of_mpi(document).ok_or("it has no messages between places: give one of mpi --matrix")?;
    Ok(node.file(&format!("numabench mpi --matrix, {}", document.started_at)))
}

fn svg(document: &Document) -> Result<String, String> {
    let node = of_result(document).ok_or(
        "the document has no figure of a link: give one of matrix, contend, peer, pingpong or suite",
    )?;
    let title = format!(
        "numabench {} on {}, {}",
        document.command, document.environment.hostname, document.started_at
    );
    Ok(node.file(&title))
}

/// The width of a file of its own: that of a slide.
const FILE: f64 = 960.0;

impl Node {
    fn file(&self, title: &str) -> String {
        self.drawn(FILE).file(title)
    }
}
