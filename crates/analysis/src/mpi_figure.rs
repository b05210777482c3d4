//! A figure of a message, as tables and sentences have it.

use report::message::MessagePattern;
use report::mpi::MpiCase;

use crate::headline;

/// From this size on a time says less than a rate.
const RATES_FROM: u64 = 1 << 20;

/// A figure as tables have it, with its interval where that keeps it out of sentences.
pub fn mpi_figure(case: &MpiCase) -> String {
    let (figure, half_width) = (time_or_rate(case), half_width(case));
    if headline::is_known(half_width) { figure } else { format!("{figure} ± {:.0} %", half_width * 100.0) }
}

/// The time of a message one way, or the rate.
fn time_or_rate(case: &MpiCase) -> String {
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
    headline::figure(time_or_rate(case), half_width(case))
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

#[cfg(test)]
mod tests {
    use report::{MpiDocument, SavedDocument};
    use stats::interval::Interval;

    use super::*;

    #[test]
    fn a_figure_that_sentences_leave_out_stands_in_tables_with_its_interval()
    -> Result<(), Box<dyn std::error::Error>> {
        let kept = include_bytes!("../../render/tests/results/documents/mpi-1.0-aware.json");
        let document = MpiDocument::from_json(kept)?;
        let cases = &document.pairs[0].cases;
        let timed = |case: &&MpiCase| case.counted_ns().is_some();
        let mut case = cases.iter().find(timed).ok_or("no message")?.clone();
        let ns = case.message_ns.ok_or("no time")?;
        let mut within = |part: f64| {
            let [low, high] = [ns, ns * (1.0 + 2.0 * part)];
            case.message_interval_ns = Some(Interval { low, high, confidence: 0.95 });
            (mpi_figure(&case), headline_figure(&case))
        };

        let (known, said) = within(0.2);
        assert_eq!(known, said);
        let (noisy, said) = within(2.57);
        assert_eq!((noisy, said), (format!("{known} ± 257 %"), "too noisy (± 257 %)".to_owned()));
        Ok(())
    }
}
