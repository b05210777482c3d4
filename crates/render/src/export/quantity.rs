//! A row's figures by what the row counts: bytes that were moved, the time of one access, or the work of a
//! kernel in that kernel's own unit.

use std::borrow::Cow;

use analysis::figure::Unit;
use report::kernels::WorkUnit;
use report::quantity::Quantity;
use report::row::Row;

use super::points::{Estimate, Measure, MetricFamily, RATE, TIME};

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

/// A row's figures: the rate of the median block, and the median time of a round. Which is the main one is
/// what comparisons judge by.
pub(super) fn figures(row: &Row) -> Vec<Estimate> {
    let is_time = row.quantity == Quantity::Latency;
    let by_time = is_time || Unit::judging(row.quantity, row.bytes) == Unit::Ns;
    let time = row.median_ns.map(|value| Estimate {
        measure: TIME,
        is_main: by_time,
        value,
        low: row.median_low_ns,
        high: row.median_high_ns,
    });

    let rate = row.value.filter(|_| !is_time).map(|value| Estimate {
        measure: row.quantity.work().map_or(RATE, work_rate),
        is_main: !by_time,
        value,
        low: row.value_low,
        high: row.value_high,
    });
    rate.into_iter().chain(time).collect()
}

/// The figure that a person is told, in words.
pub(super) fn in_words(row: &Row) -> String {
    let time = row.median_ns.unwrap_or_default() / 1e3;
    if row.quantity == Quantity::Latency {
        return format!("{:.1} ns", row.median_ns.unwrap_or_default());
    }
    let unit = row.quantity.work().map_or("GB/s", WorkUnit::giga);
    format!("{:.3} {unit}, median round {time:.3} µs", row.value.unwrap_or_default() / 1e9)
}

/// The metrics of every quantity; those without a sample are not written.
pub(super) fn metrics() -> Vec<MetricFamily> {
    let help = [
        "Rate of the median block of copies",
        "Median time of a round: of a copy, a load, a handover or a kernel",
    ];
    let mut all = MetricFamily::rate_and_time("numabench_copy", help, true);

    for (unit, words) in [
        (WorkUnit::Flop, "flops_per_second"),
        (WorkUnit::Byte, "bytes_per_second"),
        (WorkUnit::Key, "keys_per_second"),
    ] {
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
