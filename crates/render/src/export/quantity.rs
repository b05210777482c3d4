//! What a row of a result counts, by the kind of result: bytes that were moved, the time of one access, or
//! the work of a kernel in that kernel's own unit.

use std::borrow::Cow;

use analysis::figure::Unit;
use report::Document;
use report::case::Case;
use report::kernels::{KernelFigures, RESIDENT, WorkUnit};
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
    /// A kernel's work: its unit, and how much of it a round is; `None` where a round's bytes are its work.
    Work(WorkUnit, Option<f64>),
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
            Direction::Kernel => {
                let work = document.kernels.iter().find_map(|kernel| work_of(kernel, case.group.as_deref()?));
                work.unwrap_or(Self::Work(WorkUnit::Byte, None))
            }
            _ => Self::Bytes,
        }
    }

    /// What it is called in a table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bandwidth",
            Self::Access => "latency",
            Self::Work(WorkUnit::Flop, _) => "flop rate",
            Self::Work(WorkUnit::Byte, _) => "kernel bandwidth",
            Self::Work(WorkUnit::Key, _) => "key rate",
            Self::Work(WorkUnit::Newer, _) => "work rate",
        }
    }

    /// Its unit there.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Bytes | Self::Work(WorkUnit::Byte, _) => "B/s",
            Self::Access => "ns",
            Self::Work(WorkUnit::Flop, _) => "FLOP/s",
            Self::Work(WorkUnit::Key, _) => "keys/s",
            Self::Work(WorkUnit::Newer, _) => "1/s",
        }
    }

    /// A row's rate, a second.
    fn rate(self, row: &Row) -> Option<f64> {
        match self {
            Self::Access => None,
            Self::Bytes | Self::Work(_, None) => row.median_bytes_per_s,
            Self::Work(_, Some(amount)) => row.median_ns.map(|ns| amount / ns * 1e9),
        }
    }

    /// A row's figures: the rate of the median block, and the median time of a round. Copies up to 64 KiB are
    /// judged by their time, as comparisons judge them.
    pub(super) fn figures(self, row: &Row) -> Vec<Estimate> {
        let by_time = self == Self::Access || Unit::of(row.bytes) == Unit::Ns;
        let rate_measure = match self {
            Self::Work(unit, _) => work_rate(unit),
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
            Self::Work(unit, _) => format!("{rate:.3} {}, median round {time:.3} µs", unit.giga()),
        }
    }
}

/// The work of a round of a kernel's case, where the group is one of its.
fn work_of(kernel: &KernelFigures, group: &str) -> Option<Quantity> {
    let rest = group.strip_prefix(&kernel.name)?;
    let runs = match rest {
        RESIDENT => 1.0,
        _ if rest.is_empty() || rest.starts_with(',') => f64::from(kernel.iterations),
        _ => return None,
    };
    Some(Quantity::Work(kernel.unit, Some(kernel.amount * runs)))
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
