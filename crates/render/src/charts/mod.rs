//! Charts, drawn with the crate `svg`.
//!
//! * `colours` those of series and of rates: told apart by those who see few colours, on black and on white;
//! * `scale` axes; `plot` values over values with bands, lines and dots; `rows` a line a name, with
//!   intervals, dots and bars.
//!
//! A chart is laid out for a width: a page has two of it, one for a telephone.

pub(crate) mod colours;
pub(crate) mod plot;
pub(crate) mod rows;
pub(crate) mod scale;
