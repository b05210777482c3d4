//! Whether the machine changed over the trial: all variants together, block by block.
//!
//! Pairs of one block hardly feel a drift, but a reader of the medians does. Each run's logarithm is taken
//! less its variant's median, so that variants count alike; a block's value is the mean of its runs. Mann and
//! Kendall's test at 1 % says whether the blocks rise or fall, Sen's slope by how much.

use report::trial::TrialDrift;
use stats::interval::median;
use stats::trend::{mann_kendall_p, sen_slope};

/// Below this p-value the blocks rise or fall.
const LEVEL: f64 = 0.01;

/// The drift of these blocks; `None` with fewer than eight that have figures.
pub fn drift(blocks: &[Vec<Option<f64>>]) -> Option<TrialDrift> {
    let variants = blocks.iter().map(Vec::len).max()?;
    let logs = |variant: usize| blocks.iter().filter_map(move |block| (*block.get(variant)?).map(f64::ln));
    let medians: Vec<Option<f64>> =
        (0..variants).map(|variant| median(&logs(variant).collect::<Vec<_>>())).collect();
    let of_block = |block: &Vec<Option<f64>>| -> Option<f64> {
        let rest: Vec<f64> = block
            .iter()
            .zip(&medians)
            .filter_map(|(value, median)| Some((*value)?.ln() - (*median)?))
            .collect();
        (!rest.is_empty()).then(|| rest.iter().sum::<f64>() / rest.len() as f64)
    };

    let values: Vec<f64> = blocks.iter().filter_map(of_block).collect();
    let p_value = mann_kendall_p(&values)?;
    let ratio = (sen_slope(&values)? * (values.len() - 1) as f64).exp();
    Some(TrialDrift { ratio, p_value, is_found: p_value < LEVEL })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_gets_slower_is_found_whatever_the_variants_differ_by() {
        let block = |at: usize| {
            vec![Some(10.0 * 1.01_f64.powi(at as i32)), None, Some(3.0 * 1.01_f64.powi(at as i32))]
        };
        let found = drift(&(0..12).map(block).collect::<Vec<_>>());
        assert!(
            found.is_some_and(|drift| drift.is_found && (drift.ratio - 1.01_f64.powi(11)).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn noise_is_no_drift_and_too_few_blocks_say_nothing() {
        let block =
            |at: usize| vec![Some(10.0 + (at as f64 * 2.399).sin()), Some(5.0 + (at as f64 * 1.7).sin())];
        let all: Vec<_> = (0..20).map(block).collect();
        assert!(drift(&all).is_some_and(|drift| !drift.is_found));
        assert_eq!(drift(&all[..7]), None);
        assert_eq!(drift(&[]), None);
    }
}
