//! What kind of result a document is. Whoever says what it found or draws its tables matches [`Figures`], and
//! a new kind is a variant that the compiler asks each of them for. What only some documents of a kind have
//! (a line that was fitted, groups) is asked of its own field.
//!
//! The document itself stays one flat list of fields: that is the JSON which users have, and a document of
//! hundreds of megabytes, which is written while it is walked, can't be turned round first. So the kind is a
//! view.

use crate::Document;
use crate::kernels::KernelFigures;
use crate::laplace::Laplace;
use crate::matrix::{Compares, Matrix};
use crate::pieces::Pieces;

/// The kinds of results, each with the figures that only it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figures<'d> {
    /// Copies of each rank in its own place: `pingpong`.
    Ranks,
    /// The same over sizes: `sweep`.
    Sweep,
    /// Copies over sizes from several rows of the machine, `sweep --rows`; this says which row a rank is.
    RowSweep(&'d Matrix),
    /// Figures in rows and columns, whose ranks are the cells: `matrix`, `peer`, `contend`, `latency`,
    /// `suite`, `topo --measure`.
    Matrices(&'d [Matrix]),
    /// Kernels that compute, in rows and columns: `kernels`.
    Kernels(&'d [KernelFigures]),
    /// Jacobi's iteration over the ranks of a launch: `laplace`.
    Laplace(&'d Laplace),
    /// Small pieces sent in several ways: `sweep --pieces`.
    Pieces(&'d Pieces),
    /// Memory whose pages go to whoever touches them: `sweep --memory managed,system`.
    Touches,
}

impl Figures<'_> {
    /// Whether the document's ranks are places in rows and columns, and not those who ran.
    pub fn are_of_places(&self) -> bool {
        match self {
            Self::RowSweep(_) | Self::Matrices(_) | Self::Kernels(_) => true,
            Self::Ranks | Self::Sweep | Self::Laplace(_) | Self::Pieces(_) | Self::Touches => false,
        }
    }

    /// Whether its rates are those of links: one of pieces is that of a way of sending them, and one of
    /// touches that of moving pages.
    pub fn are_of_links(&self) -> bool {
        !matches!(self, Self::Pieces(_) | Self::Touches)
    }
}

impl<B> Document<B> {
    /// What kind of result it is.
    pub fn figures(&self) -> Figures<'_> {
        let is_sweep = self.command == "sweep";
        let rows = |matrix: &&Matrix| is_sweep && matrix.compares == Compares::Rows;

        match (&self.laplace, &self.pieces, &self.kernels[..], &self.matrices[..]) {
            (Some(laplace), ..) => Figures::Laplace(laplace),
            (_, Some(pieces), ..) => Figures::Pieces(pieces),
            (_, _, kernels @ [_, ..], _) => Figures::Kernels(kernels),
            (.., []) if self.has_touches() => Figures::Touches,
            (.., []) if is_sweep => Figures::Sweep,
            (.., []) => Figures::Ranks,
            (.., matrices) => match matrices.iter().find(rows) {
                Some(matrix) => Figures::RowSweep(matrix),
                None => Figures::Matrices(matrices),
            },
        }
    }

    fn has_touches(&self) -> bool {
        self.cases.iter().any(|case| case.touch().is_some())
    }
}
