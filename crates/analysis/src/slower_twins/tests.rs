//! Who is slower than its twins, on given rates.

use super::*;

fn slow(twins: &[[f64; 2]]) -> Vec<f64> {
    let rate = |[rate, reach]: &[f64; 2]| TwinRate { bytes_per_s: *rate, reach: *reach };
    let rates: Vec<TwinRate> = twins.iter().map(rate).collect();
    let middling = middling_reach(rates.iter().copied());
    slower_than_others(SLOWER_ALONE, &rates, middling).into_iter().map(|(at, _)| twins[at][0]).collect()
}

#[test]
fn a_twin_is_not_named_beside_one_that_is_not_known_itself() {
    assert_eq!(slow(&[[7.7, 1.01], [15.2, 3.5]]), [0.0; 0], "the middling one of two is wide");
    assert_eq!(slow(&[[7.7, 1.01], [15.2, 1.02]]), [7.7]);
    assert!(TwinRate::of(1e9, 1.0, f64::NAN).is_none(), "what has no end is no rate");
}

#[test]
fn a_twin_whose_allocations_were_all_in_the_slow_mode_is_not_named_where_the_others_show_two_modes() {
    // Three allocations in two modes 20 % apart: Student's interval of those that were in both is wide,
    // and of one whose three were alike narrow.
    let mixed = [50.0, 1.6];
    assert_eq!(slow(&[[41.0, 1.002], mixed, mixed, [50.0, 1.001], mixed]), [0.0; 0]);
    let quiet = [50.0, 1.002];
    assert_eq!(slow(&[[41.0, 1.002], quiet, quiet, quiet, quiet]), [41.0]);
    assert_eq!(slow(&[[25.0, 1.002], mixed, mixed, mixed, mixed]), [25.0], "half of it is beyond both modes");
}
