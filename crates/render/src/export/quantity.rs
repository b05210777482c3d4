//! What a row of a result counts, by the kind of result: bytes that were moved, the time of one access, or
//! the work of a kernel in that kernel's own unit.

use std::borrow::Cow;

use analysis::figure::Unit;
use report::Document;
use report::case::Case;
use report::kernels::{Work, WorkUnit};
use report::row::Row;
use report::settings::Direction;

use super::points::{Estimate, Measure, MetricFamily, RATE, TIME};

/// What a row counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    /// Bytes of copies, reads and writes.
    Bytes,
    /// One load, one handover between cores, or one round trip of a flag: a time, of which no rate says
    /// anything.
    Access,
    /// A kernel's work.
    Work(Work),
}

/// The rate of a kernel's work, in its unit.
fn work_rate(unit: WorkUnit) -> Measure {
    let name = match unit {
        WorkUnit::Flop => "kernel-flop-rate",
        WorkUnit::Byte => "kernel-bandwidth",
        WorkUnit::Key => "kernel-key-rate",
        WorkUnit::Newer => "kernel-work-rate",
    };
    Measure { name: Cow::Borrowed(name), unit: Cow::Borrowed(unit.giga()), ..RATE }
}

impl Quantity {
    /// What the rows of a case count.
    pub(super) fn of<B>(document: &Document<B>, case: &Case<B>) -> Self {
        match case.direction {
            Direction::Load | Direction::CoreToCore | Direction::CoreToGpu => Self::Access,
            _ => Work::of(document, case).map_or(Self::Bytes, Self::Work),
        }
    }

    /// What it is called in a table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bandwidth",
            Self::Access => "latency",
            Self::Work(work) => match work.unit {
                WorkUnit::Flop => "flop rate",
                WorkUnit::Byte => "kernel bandwidth",
                WorkUnit::Key => "key rate",
                WorkUnit::Newer => "work rate",
            },
        }
    }

    /// Its unit there.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Bytes => "B/s",
            Self::Access => "ns",
            Self::Work(work) => match work.unit {
                WorkUnit::Byte => "B/s",
                WorkUnit::Flop => "FLOP/s",
                WorkUnit::Key => "keys/s",
                WorkUnit::Newer => "1/s",
            },
        }
    }

    /// A row's rate, a second.
    fn rate(self, row: &Row) -> Option<f64> {
        match self {
            Self::Access => None,
            Self::Bytes => row.median_bytes_per_s,
            Self::Work(work) => row.median_ns.map(|ns| work.per_s(ns)),
        }
    }

    /// A row's figures: the rate of the median block, and the median time of a round. Copies up to 64 KiB are
    /// judged by their time, and kernels by their work, as comparisons judge them.
    pub(super) fn figures(self, row: &Row) -> Vec<Estimate> {
        let by_time = match self {
            Self::Access => true,
            Self::Bytes => Unit::of(row.bytes) == Unit::Ns,
            Self::Work(_) => false,
        };
        let rate_measure = match self {
            Self::Work(work) => work_rate(work.unit),
            Self::Bytes | Self::Access => RATE,
        };
        let time = row.median_ns.map(|value| Estimate {
            measure: TIME,
            is_main: by_time,
            value,
            low: row.median_low_ns,
            high: row.median_high_ns,
        });
        let rate = self.rate(row).zip(row.median_ns).map(|(value, ns)| {
            let at = |end: Option<f64>| end.map(|end| value * ns / end);
            let (low, high) = (at(row.median_high_ns), at(row.median_low_ns));
            Estimate { measure: rate_measure, is_main: !by_time, value, low, high }
        });
        rate.into_iter().chain(time).collect()
    }

    /// The figure that a person is told, in words.
    pub(super) fn words(self, row: &Row) -> String {
        let time = row.median_ns.unwrap_or_default() / 1e3;
        let rate = self.rate(row).unwrap_or_default() / 1e9;
        match self {
            Self::Access => format!("{:.1} ns", row.median_ns.unwrap_or_default()),
            Self::Bytes => format!("{rate:.3} GB/s, median round {time:.3} µs"),
            Self::Work(work) => format!("{rate:.3} {}, median round {time:.3} µs", work.unit.giga()),
        }
    }
}

/// The metrics of every quantity; those without a sample are not written.
pub(super) fn metrics() -> Vec<MetricFamily> {
    let help =
        ["Rate of the median block of copies", "Median time of a round: of a copy, a load, a handover or a kernel"];
    let mut all = MetricFamily::rate_and_time("numabench_copy", help, true);
    for (unit, words) in
        [(WorkUnit::Flop, "flops_per_second"), (WorkUnit::Byte, "bytes_per_second"), (WorkUnit::Key, "keys_per_second")]
    {
        all.push(MetricFamily {
            name: "numabench_kernel_rate".to_owned(),
            unit: words,
            help: "Rate of the median block of a kernel, in its own count of work",
            measure: Some(work_rate(unit).name),
            scale: 1.0,
            has_ends: true,
        });
    }
    all
}
