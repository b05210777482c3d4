//! How much runs that follow each other hang together: one figure, which all cases of a comparison tell
//! together.
//!
//! Where a machine wanders, three runs of one minute are worth less than three. One case's runs tell next to
//! nothing of that; those of many cases do (`neighbours`), around what the cases share at each moment, and
//! from six runs on with it. What all cases share in five runs and fewer is left out: it shows only where the
//! two sides took turns.

use std::collections::BTreeMap;

use crate::interval::{mean, median};
use crate::neighbours::Neighbours;

/// Of so many cases it is seen what they share at each moment.
const SEVERAL: usize = 8;

/// Of so many values on a side it is seen whether what the cases share wanders too: that is one series, and
/// of a short one nothing is seen.
const LONG: usize = 6;

/// From so many cases on a strong correlation is believed, and taken too high where it is shown.
const MANY: usize = 7;

/// By so many standard errors above none a correlation is shown, and by so many more than likely it is then
/// taken.
const SHOWN: f64 = 2.0;

/// The correlation from run to run of these series of logarithms, by case and side.
pub(crate) fn correlation<'s>(cases: impl Iterator<Item = [&'s [f64]; 2]>) -> f64 {
    let mut alike: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
    let mut count = 0;
    for case in cases {
        count += 1;
        for (side, series) in case.into_iter().enumerate().filter(|(_, series)| series.len() > 2) {
            let mean = mean(series);
            alike
                .entry((side, series.len()))
                .or_default()
                .push(series.iter().map(|log| log - mean).collect());
        }
    }

    let longest = alike.keys().map(|(_, runs)| *runs).max().unwrap_or(0);
    let (mut own, mut all) = (Neighbours::default(), Neighbours::default());
    for ((_, runs), mut cases) in alike {
        scale(&mut cases);
        if runs >= LONG {
            cases.iter().for_each(|case| all.add(case));
        }
        if cases.len() >= SEVERAL {
            take_away_what_is_shared(&mut cases, runs);
        }
        cases.iter().for_each(|case| own.add(case));
    }

    let likely = |of: &Neighbours| {
        let is_shown = count >= MANY && of.likely(-SHOWN).is_some_and(|least| least > 0.0);
        of.likely(if is_shown { SHOWN } else { 0.0 }).unwrap_or(0.0)
    };
    likely(&own).max(likely(&all)).min(strongest(longest, count))
}

/// Puts the cases on one scale. A noisy case counts as a middling one, and a quiet one by what it is: over
/// its own deviation a short series shows less than there is.
fn scale(cases: &mut [Vec<f64>]) {
    let squares = |case: &[f64]| case.iter().map(|log| log * log).sum::<f64>();
    let middling = median(&cases.iter().map(|case| squares(case)).collect::<Vec<_>>()).unwrap_or(0.0);
    for case in cases {
        let scale = (squares(case) + middling).sqrt();
        // What rounding leaves of equal values tells nothing.
        case.iter_mut().for_each(|log| *log = if scale > 1e-12 { *log / scale } else { 0.0 });
    }
}

fn take_away_what_is_shared(cases: &mut [Vec<f64>], runs: usize) {
    for at in 0..runs {
        let shared = cases.iter().map(|case| case[at]).sum::<f64>() / cases.len() as f64;
        cases.iter_mut().for_each(|case| case[at] -= shared);
    }
}

/// The strongest correlation that is believed. With few cases nothing but their own few runs speaks for it,
/// and at 0.9 five runs a side are worth so little that half the rate, with 2 % from run to run, would be no
/// finding: 0.4 of up to five runs, 0.85 from thirteen on, rising slowly, so that more runs never find less.
fn strongest(longest: usize, cases: usize) -> f64 {
    if cases >= MANY { 0.9 } else { (0.4 + 0.06 * longest.saturating_sub(5) as f64).min(0.85) }
}
