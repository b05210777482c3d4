//! A figure held against a reference figure, whichever program measured it. Pure.

use stats::units::{counted, duration_range, range as range_of};

use crate::reference::{Reference, usual_causes};

/// A figure of one kind, and the reference figure that fits it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldFigure<'r> {
    /// The kind in words: `H2D by copy engine`.
    pub what: String,
    /// The lowest and the highest over the GPUs.
    pub measured: (f64, f64),
    /// The reference figure.
    pub reference: &'r Reference,
    /// How far the worst GPU falls short of the nearest end of the reference range, as a fraction of it;
    /// `None` within the margin.
    pub shortfall: Option<f64>,
}

impl HeldFigure<'_> {
    /// `H2D by copy engine 55.4 GB/s; known for H200 on PCIe 5 x16: 55.0–55.6, 3 machines (nvbandwidth 0.8,
    /// 2026-11, URL).`
    pub fn sentence(&self) -> String {
        let reference = self.reference;
        let range = |(low, high): (f64, f64)| match reference.is_time {
            true => duration_range(low, high),
            false => format!("{} GB/s", range_of(low / 1e9, high / 1e9)),
        };
        let machines = reference
            .machines
            .map_or(String::new(), |count| format!(", {}", counted(count as usize, "machine")));
        let causes = self.shortfall.map(|_| format!(" Usual causes: {}.", usual_causes(&reference.what)));

        format!(
            "{} {}; known for {}: {}{machines} ({}, {}, {}).{}",
            self.what,
            range(self.measured),
            reference.hardware(),
            range(reference.range),
            reference.source,
            reference.date,
            reference.found_at,
            causes.unwrap_or_default()
        )
    }
}
