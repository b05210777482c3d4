//! What a family of cases claims and misses, by its own values and beside the others.

use super::*;
use crate::noise;
use crate::random::SplitMix64;

fn side(random: &mut SplitMix64, count: usize, level: f64, deviation: f64) -> Vec<f64> {
    (0..count).map(|_| level * (deviation * noise::normal(random)).exp()).collect()
}

/// Cases of so many values a side of which the first are at half.
fn cases(random: &mut SplitMix64, cases: usize, at_half: usize, values: usize, deviation: f64) -> Vec<FamilyTest> {
    let mut case = |at: usize| {
        let level = if at < at_half { 0.5 } else { 1.0 };
        let (a, b) = (side(random, values, 1.0, deviation), side(random, values, level, deviation));
        Values::of(&a, &b).map_or(FamilyTest::Alone(1.0), FamilyTest::Values)
    };
    (0..cases).map(&mut case).collect()
}

fn found(tests: &[FamilyTest]) -> usize {
    Family::of(tests).adjusted().iter().filter(|p_value| **p_value < ALPHA).count()
}

#[test]
fn half_is_found_where_runs_climb_from_each_to_the_next_and_more_of_them_never_find_less() {
    let mut random = SplitMix64::new(2);
    for values in [4, 5, 6, 8, 10, 12, 20] {
        let mut side = |level: f64| -> Vec<f64> {
            let steps = (0..values).map(|at| level * (0.01 * f64::from(at) + 0.003 * noise::normal(&mut random)).exp());
            steps.collect()
        };
        let mut case = |_| Values::of(&side(1.0), &side(0.5)).map_or(FamilyTest::Alone(1.0), FamilyTest::Values);
        let tests: Vec<FamilyTest> = (0..12).map(&mut case).collect();
        assert_eq!(found(&tests), 12, "{values} values a side");
    }
}

#[test]
fn half_is_found_at_every_count_from_three_values_on_however_many_cases_there_are() {
    let mut random = SplitMix64::new(1);
    for values in [3, 4, 5, 6, 8, 9, 10, 20, 50] {
        for (all, at_half) in [(1, 1), (6, 1), (7, 1), (39, 1), (39, 39), (280, 280), (1000, 1)] {
            let tests = cases(&mut random, all, at_half, values, 0.02);
            assert_eq!(found(&tests), at_half, "{values} values a side, {at_half} of {all}");
        }
    }
}

#[test]
fn one_disturbed_case_does_not_hide_the_others() {
    let mut random = SplitMix64::new(2);
    let mut tests = cases(&mut random, 40, 5, 3, 0.01);
    let disturbed = Values::of(&[1.0, 0.4, 1.0], &[1.0, 1.0, 1.0]).map_or(FamilyTest::Alone(1.0), FamilyTest::Values);
    tests.push(disturbed);
    assert_eq!(found(&tests), 5);
}

#[test]
fn two_modes_that_happen_to_be_sorted_are_no_finding_beside_other_cases() {
    // Of forty cases with two modes 10 % apart, one in 32 has one mode a side.
    let mut random = SplitMix64::new(3);
    let false_claims = (0..200).filter(|_| {
        let mut side = || [0.0; 3].map(|_| if random.below(2) == 0 { 1.0 } else { 1.1 });
        let tests: Vec<FamilyTest> =
            (0..40).map(|_| Values::of(&side(), &side()).map_or(FamilyTest::Alone(1.0), FamilyTest::Values)).collect();
        found(&tests) > 0
    });
    assert_eq!(false_claims.count(), 0);
}

#[test]
fn a_change_as_large_as_the_detectable_one_is_just_found() {
    let mut random = SplitMix64::new(4);
    for (all, values) in [(1, 4), (5, 4), (60, 3), (60, 12)] {
        let sides: Vec<[Vec<f64>; 2]> =
            (0..all).map(|_| [side(&mut random, values, 1.0, 0.01), side(&mut random, values, 1.0, 0.01)]).collect();
        let tests = |sides: &[[Vec<f64>; 2]]| -> Vec<FamilyTest> {
            sides.iter().filter_map(|[a, b]| Values::of(a, b).map(FamilyTest::Values)).collect()
        };
        let before = tests(&sides);
        let detectable = Family::of(&before).detectable(0).unwrap_or_default();
        let FamilyTest::Values(first) = &before[0] else { panic!("it has values") };
        let seen = first.distance.difference;
        let found_at = |to: f64| {
            let mut moved = sides.clone();
            moved[0][1].iter_mut().for_each(|value| *value *= (to - seen).exp());
            Family::of(&tests(&moved)).adjusted()[0] < ALPHA
        };
        assert!(
            found_at(detectable * 1.001) && !found_at(detectable * 0.95),
            "{all} cases, {values} values: {detectable}"
        );
    }
}

#[test]
fn p_values_that_stand_alone_are_holms() {
    let tests = [0.01, 0.04, 0.03, 0.005].map(FamilyTest::Alone);
    let got = Family::of(&tests).adjusted();
    for (got, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((got - want).abs() < 1e-12, "{got}, not {want}");
    }
    assert!(Family::of(&[]).adjusted().is_empty());
}
