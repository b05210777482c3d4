//! Bandwidth as shown: GB/s = 1e9 bytes/s at every magnitude, so that two rows can be compared without
//! reading their units.

use super::decimal::significant;

/// `23.460 GB/s` from bytes per second.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{} GB/s", significant(bytes_per_s / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_decimal_gigabytes_at_every_magnitude() {
        assert_eq!(rate(23.459_52e9), "23.460 GB/s");
        assert_eq!(rate(520_000.0), "0.00052000 GB/s");
        assert_eq!(rate(1.234_567e12), "1234.6 GB/s");
        assert_eq!(rate(0.0), "0 GB/s");
    }
}
