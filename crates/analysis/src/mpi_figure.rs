//! A figure of a message, as tables and sentences have it.

use report::message::MessagePattern;
use report::mpi::MpiCase;

use crate::headline;

/// From this size on a time says less than a rate.
const RATES_FROM: u64 = 1 << 20;

/// A figure as tables have it: the time of a message one way, or the rate.
pub fn mpi_figure(case: &MpiCase) -> String {
    let rate = case.counted_bytes_per_s().map(gbs);
    match (case.counted_ns(), rate, case.pattern) {
        (Some(ns), _, MessagePattern::PingPong) if case.bytes < RATES_FROM => format!("{:.2} µs", ns / 1e3),
        (Some(_), Some(rate), MessagePattern::PingPong) => format!("{rate} GB/s"),
        (Some(_), Some(rate), _) => rate,
        _ => "-".to_owned(),
    }
}

/// The same as sentences have it: none where it is not known well enough.
pub(crate) fn headline_figure(case: &MpiCase) -> String {
    headline::figure(mpi_figure(case), half_width(case))
}

/// Half of the interval of a message's time, as a part of it.
pub(crate) fn half_width(case: &MpiCase) -> f64 {
    headline::half_width(case.message_ns.unwrap_or(f64::NAN), case.message_interval_ns.as_ref())
}

/// Whether the rate is that of one direction.
pub(crate) fn is_one_way(case: &MpiCase) -> bool {
    matches!(case.pattern, MessagePattern::PingPong | MessagePattern::OneWay)
}

/// A rate in GB/s, without its unit: four digits behind the point where two would leave little.
pub fn gbs(bytes_per_s: f64) -> String {
    let rate = bytes_per_s / 1e9;
    if rate < 0.1 { format!("{rate:.4}") } else { format!("{rate:.2}") }
}
