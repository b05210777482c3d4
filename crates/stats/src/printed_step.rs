//! The step in which figures come that a program printed: what they differ by below it, rounding hid.
//!
//! Such a figure is no exact one: three runs of 0.18 and three of 0.19 may be the same but for a thousandth.
//! Nobody says how many digits a figure was printed with, so the figures themselves are asked.

/// Figures of more digits than this are taken for exact.
const MOST_DIGITS: i32 = 6;

/// How far a multiple of the step may be from a whole number, for what a change of units leaves.
const ROUNDING: f64 = 1e-6;

/// The coarsest power of ten of which all these figures are multiples, at most a tenth of the least of them:
/// nobody prints a figure with a single digit, and round ones hide no halving. `None` where they have more
/// than six digits, and where one is not positive and finite.
pub fn printed_step(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let digits = values.iter().copied().reduce(f64::max)?.log10().floor() as i32;
    let most = values.iter().copied().reduce(f64::min)? / 10.0;
    let is_multiple = |step: f64| {
        let mut counts = values.iter().map(|value| value / step);
        counts.all(|count| count > 0.5 && (count - count.round()).abs() < ROUNDING)
    };
    (digits - MOST_DIGITS + 1..=digits)
        .rev()
        .map(|power| 10_f64.powi(power))
        .find(|step| is_multiple(*step))
        .map(|step| step.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_the_last_digit_that_any_figure_has() {
        let near = |values: &[f64], step: f64| {
            let found = printed_step(values).unwrap_or(f64::NAN);
            assert!((found / step - 1.0).abs() < 1e-9, "{values:?}: {found}");
        };
        near(&[0.18, 0.19, 0.2], 0.01);
        near(&[2.8e9, 2.7e9, 3e9], 1e8);
        near(&[180.0, 190.0], 10.0);
        near(&[12345.6, 12.0], 0.1);
        near(&[20000.0, 10000.0], 1000.0);
        near(&[2.0, 1.0], 0.1);
    }

    #[test]
    fn figures_of_many_digits_have_no_step() {
        assert_eq!(printed_step(&[1.234_567_8, 2.0]), None);
        assert_eq!(printed_step(&[54.8e9 / 3.0, 54.9e9 / 3.0]), None);
        assert_eq!(printed_step(&[0.0, 1.0]), None);
        assert_eq!(printed_step(&[]), None);
    }
}
