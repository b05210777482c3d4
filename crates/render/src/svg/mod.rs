//! Pictures as SVG: the one writer, and the charts that are made with it.
//!
//! * `write` elements and text, escaped, each mark with its value under the pointer (`<title>`: no script); `text_metrics` how wide a text is;
//! * `colours` those of series and of rates: told apart by those who see few colours, on black and on white;
//! * `scale` axes; `plot` values over values with bands, lines and dots; `rows` a line a name, with intervals, dots and bars.
//!
//! A chart is laid out for a width: a page has two of it, one for a telephone. No plotting library draws here: plotters' SVG has neither titles nor a colour
//! that follows the page (`currentColor`), and charming's pictures are a script.

pub(crate) mod colours;
pub(crate) mod plot;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod text_metrics;
pub(crate) mod write;
