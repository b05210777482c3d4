//! Whether a figure is known well enough to stand in a sentence, and what the sentences say in its place
//! where it is not.
//!
//! Every headline figure passes here, whatever command measured it. A figure of fewer blocks than an interval
//! needs stands as it is: how the run ended says so (`few_blocks`).

use stats::flag::NOISY;
use stats::interval::Interval;
use stats::summary::Summary;

/// The half-width of a figure's 95 % interval, as a part of the figure, up to which the figure is an answer.
pub const WIDEST: f64 = 0.25;

/// Stands where the figure would.
const TOO_NOISY: &str = "too noisy";

/// Half of the interval as a part of the figure; 0 where there is no interval.
pub(crate) fn half_width(value: f64, interval: Option<&Interval>) -> f64 {
    interval.map_or(0.0, |interval| interval.relative_half_width(value))
}

/// The same of a summary's median.
pub(crate) fn of_summary(summary: &Summary) -> f64 {
    half_width(summary.median_ns, summary.median_interval_ns.as_ref())
}

/// Whether a figure with such an interval is an answer.
pub(crate) fn is_known(half_width: f64) -> bool {
    half_width <= WIDEST
}

/// The figure in words where it is known, else that it is not: `too noisy (± 228 %)`.
pub(crate) fn figure(words: String, half_width: f64) -> String {
    if is_known(half_width) { words } else { too_noisy(half_width) }
}

/// ` ± 8 %`: behind figures the least known of which has such an interval, where that is noisy; else their
/// digits say how well they are known.
pub(crate) fn width(widest: f64) -> String {
    if widest > NOISY { format!(" ± {:.0} %", widest * 100.0) } else { String::new() }
}

/// What stands in the place of a figure that is not known.
pub(crate) fn too_noisy(half_width: f64) -> String {
    format!("{TOO_NOISY} (± {:.0} %)", half_width * 100.0)
}

/// The sentences, the first of which says what to do where a figure of theirs is not known.
pub fn with_advice(mut said: Vec<String>) -> Vec<String> {
    if is_noisy(&said) {
        said[0] = format!("{} {}", said[0], advice());
    }
    said
}

/// Whether a figure of the sentences is not known.
pub(crate) fn is_noisy(said: &[String]) -> bool {
    said.iter().any(|sentence| sentence.contains(TOO_NOISY))
}

fn advice() -> String {
    format!(
        "A figure whose 95 % interval is wider than ± {:.0} % is left out: measure again on an idle node \
         (exclusive), with a longer --max-time.",
        WIDEST * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_an_answer_up_to_a_quarter_to_either_side() {
        let words = || "53 GB/s".to_owned();
        assert_eq!([0.0, 0.25].map(|half| figure(words(), half)), ["53 GB/s", "53 GB/s"]);
        assert_eq!(figure(words(), 2.28), "too noisy (± 228 %)");
        assert_eq!(figure(words(), f64::NAN), "too noisy (± NaN %)", "what is no number is no answer");
    }

    #[test]
    fn the_interval_of_a_noisy_figure_is_said_beside_it() {
        assert_eq!([0.0, NOISY, 0.077].map(width), ["", "", " ± 8 %"]);
    }

    #[test]
    fn what_to_do_is_said_once_with_the_answer() {
        let said = |noisy: usize| {
            let sentences = ["The answer.".to_owned(), ["H2D too noisy (± 30 %)"].repeat(noisy).join("; ")];
            with_advice(sentences.to_vec())
        };
        assert_eq!(said(0).len(), 2);
        let first = &said(2)[0];
        assert!(
            first.starts_with("The answer. A figure whose 95 % interval is wider than ± 25 % is left out"),
            "{first}"
        );
        assert_eq!((said(2).len(), said(2).concat().matches("--max-time").count()), (2, 1));
        assert!(with_advice(Vec::new()).is_empty());
    }
}
