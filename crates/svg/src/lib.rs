//! The one writer of SVG: what `topo --svg` draws of a machine and what the report draws of documents are
//! elements of the same [`Picture`].
//!
//! * [`Picture`] elements and text, each mark with its value under the pointer (`<title>`: no script),
//!   groups, and the file around them;
//! * [`text_metrics`] how wide a text is before anybody draws it;
//! * [`escaped`] text as XML and HTML have it.
//!
//! Left out: charts and machines, which their crates lay out. No library of others writes these few elements:
//! plotters' SVG has neither titles nor a colour that follows the page (`currentColor`), and a writer with a
//! type for each element would check nothing that is needed here.

#![forbid(unsafe_code)]

mod picture;
pub mod text_metrics;
mod xml;

pub use picture::{Anchor, GUIDE, MARK, Picture, Stroke};
pub use xml::escaped;
