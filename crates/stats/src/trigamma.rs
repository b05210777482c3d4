//! The trigamma function and its inverse: how much the logarithm of a variance scatters that is known from a
//! few differences. statrs has the digamma function only.

/// The second derivative of the logarithm of the gamma function, of a positive number: the variance of the
/// logarithm of a chi-squared value with twice as many degrees of freedom. By recurrence to 8, and the
/// asymptotic series from there on (Abramowitz and Stegun 6.4.12).
pub(crate) fn trigamma(of: f64) -> f64 {
    let (mut x, mut sum) = (of, 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + (1.0 + (0.5 + (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0)) / x) / x) / x
}

/// The number whose trigamma it is; trigamma falls everywhere.
pub(crate) fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e6_f64);
    while high / low > 1.0 + 1e-9 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_is_that_of_scipy_and_its_inverse_gives_it_back() {
        // scipy.special.polygamma(1, [0.5, 1, 2.5, 4.5, 20, 30])
        for (of, value) in [
            (0.5, 4.934_802_200_544_68),
            (1.0, 1.644_934_066_848_226_6),
            (2.5, 0.490_357_756_100_234_9),
            (4.5, 0.248_725_103_039_010_35),
            (20.0, 0.051_270_822_935_203_124),
            (30.0, 0.033_895_060_357_739_946),
        ] {
            assert!((trigamma(of) / value - 1.0).abs() < 1e-8, "{of}: {}", trigamma(of));
            assert!((inverse_trigamma(value) / of - 1.0).abs() < 1e-7, "{of}: {}", inverse_trigamma(value));
        }
    }
}
