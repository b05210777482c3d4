//! How far below the mean of what was seen the lowest of what will be seen may lie: the one-sided tolerance limit of a normal sample; and how
//! large a share may be of which few were seen.
//!
//! A limit that a share of all future values keeps with some confidence is mean − k·s; k pays for how little is known of both from `n` values.
//! The factor is Natrella's approximation ("Experimental Statistics", NBS Handbook 91, 1963, section 2-5.3; also NIST's e-Handbook 7.2.6.3), within
//! 1.2 % of the exact one (the noncentral t's quantile) from 8 values on.

use statrs::distribution::{Beta, ContinuousCDF, Normal};

/// The factor k for `n` values, so that at least `share` of the population lies above mean − k·s with this confidence. `None` with so few values
/// that no factor is large enough, or where a share or confidence is not between 0 and 1.
pub fn lower_factor(n: usize, share: f64, confidence: f64) -> Option<f64> {
    let is_part = |part: f64| part > 0.0 && part < 1.0;
    if n < 2 || !is_part(share) || !is_part(confidence) {
        return None;
    }
    let normal = Normal::standard();
    let (of_share, of_confidence) = (normal.inverse_cdf(share), normal.inverse_cdf(confidence));
    let a = 1.0 - of_confidence.powi(2) / (2.0 * (n as f64 - 1.0));
    let b = of_share.powi(2) - of_confidence.powi(2) / n as f64;
    let factor = (of_share + (of_share.powi(2) - a * b).sqrt()) / a;
    (a > 0.0 && factor.is_finite()).then_some(factor)
}

/// The largest share that `found` of `of` trials may be of all, with this confidence (Clopper and Pearson, "The use of confidence or fiducial limits", 1934).
pub fn largest_share(found: u32, of: u32, confidence: f64) -> f64 {
    let distribution = Beta::new(f64::from(found) + 1.0, f64::from(of.saturating_sub(found)));
    distribution.map_or(1.0, |share| share.inverse_cdf(confidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_is_that_of_which_so_few_would_hardly_be_seen() {
        // None of n is seen with a chance of (1 - share)^n: 1 - 0.05^(1/n). All of n: any share.
        for n in [10_u32, 100] {
            let want = 1.0 - 0.05_f64.powf(1.0 / f64::from(n));
            assert!((largest_share(0, n, 0.95) - want).abs() < 1e-6, "{n}");
        }
        assert_eq!(largest_share(7, 7, 0.95), 1.0);
        assert!(largest_share(5, 100, 0.95) > 0.09 && largest_share(5, 100, 0.95) < 0.11);
    }

    #[test]
    fn the_factors_are_close_to_the_exact_ones() {
        // scipy.stats.nct.ppf(.95, n - 1, norm.ppf(p) * sqrt(n)) / sqrt(n)
        for (n, share, exact) in [
            (8, 0.99, 4.35385580922933),
            (8, 0.999999, 8.631642512288487),
            (20, 0.99, 3.2951569361708546),
            (20, 0.999999, 6.569773229684647),
            (200, 0.99, 2.5697371164080733),
            (200, 0.999999, 5.200482671286728),
        ] {
            let factor = lower_factor(n, share, 0.95).unwrap_or_default();
            assert!((factor / exact - 1.0).abs() < 0.012, "{n} {share}: {factor}, not {exact}");
        }
    }

    #[test]
    fn too_few_values_have_no_factor() {
        assert_eq!(lower_factor(1, 0.99, 0.95), None);
        assert_eq!(lower_factor(2, 0.99, 0.95), None, "no factor is large enough");
        assert_eq!(lower_factor(20, 1.0, 0.95), None);
    }
}
