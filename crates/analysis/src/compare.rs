//! Two sides of runs, case by case: what differs between their conditions, what is missing, and what got worse.

use std::collections::BTreeMap;

use report::document::Tool;
use stats::interval::range;
use stats::units::counted;

use crate::comparison::{ComparedCase, Comparison, Counts, Lacking, RunName, VERSION};
use crate::conditions::{Differing, differing};
use crate::figure::{Figure, Key, Unit};
use crate::judge::{Basis, CasePair, ChangeVerdict, JudgedCase, judge};
use crate::run::Run;

/// The changes that matter, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Of rates.
    pub bandwidth: f64,
    /// Of times of small copies.
    pub latency: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { bandwidth: 0.03, latency: 0.05 }
    }
}

/// The two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCompared {
    /// They did not measure the same thing.
    #[error(
        "the two sides did not measure the same thing: {differs}; give runs that agree in it, or --force to compare them all the same"
    )]
    Essential {
        /// What differs, in words.
        differs: String,
    },
    /// They have no case in common.
    #[error(
        "the two sides have no case in common (base: {base}; new: {new}): compare runs of the same sizes, directions, memory, PUs and GPUs"
    )]
    NothingInCommon {
        /// One of the base's cases.
        base: String,
        /// One of the new side's.
        new: String,
    },
}

/// The figures of one key over a side's runs, and the reason of a run that has none.
#[derive(Default)]
struct Side<'r> {
    figures: Vec<&'r Figure>,
    reason: Option<&'r String>,
}

/// Compares the `new` runs with those of the `base`.
///
/// # Errors
/// [`NotCompared`]: they did not measure the same thing, and nobody insists (`force`); or they have nothing in common.
pub fn compare(
    tool: Tool,
    base: &[Run],
    new: &[Run],
    thresholds: Thresholds,
    force: bool,
) -> Result<Comparison, NotCompared> {
    let conditions = |side: &'_ [Run]| -> Vec<_> { side.iter().flat_map(|run| run.conditions.clone()).collect() };
    let differing = differing(conditions(base).iter(), conditions(new).iter());
    refuse(&differing, force)?;

    let (base_side, new_side) = (gathered(base), gathered(new));
    let has = |side: &BTreeMap<&Key, Side<'_>>, key: &Key| side.get(key).is_some_and(|side| !side.figures.is_empty());
    let keys: Vec<&Key> = base_side.keys().copied().filter(|key| has(&base_side, key) && has(&new_side, key)).collect();
    if keys.is_empty() {
        let one = |side: &BTreeMap<&Key, Side<'_>>| {
            let key = side.keys().find(|key| has(side, key)).or(side.keys().next());
            key.map_or("none".to_owned(), ToString::to_string)
        };
        return Err(NotCompared::NothingInCommon { base: one(&base_side), new: one(&new_side) });
    }
    let values = |side: &Side<'_>| side.figures.iter().map(|figure| (figure.median, figure.blocks.clone())).collect();
    let pair = |key: &&Key| {
        let unit = base_side[key].figures[0].unit;
        let threshold = if unit == Unit::Ns { thresholds.latency } else { thresholds.bandwidth };
        CasePair { unit, base: values(&base_side[key]), new: values(&new_side[key]), threshold }
    };
    let pairs: Vec<CasePair> = keys.iter().map(pair).collect();
    let judged = judge(&pairs);
    let mut cases: Vec<ComparedCase> =
        keys.iter().zip(&pairs).zip(&judged).map(|((key, pair), judged)| compared(key, pair, judged)).collect();
    let worse =
        |case: &ComparedCase| if case.unit.more_is_better() { case.new / case.base } else { case.base / case.new };
    cases.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(worse(a).total_cmp(&worse(b))));

    let lacking = |of: &BTreeMap<&Key, Side<'_>>, other: &BTreeMap<&Key, Side<'_>>| -> Vec<Lacking> {
        let only = of.keys().filter(|key| has(of, key) && !has(other, key));
        only.map(|key| Lacking { key: (*key).clone(), reason: other.get(key).and_then(|side| side.reason.cloned()) })
            .collect()
    };
    let (missing, added) = (lacking(&base_side, &new_side), lacking(&new_side, &base_side));
    let of = |verdict| cases.iter().filter(|case| case.verdict == verdict).count() as u32;
    let counts = Counts {
        regressed: of(ChangeVerdict::Regressed),
        improved: of(ChangeVerdict::Improved),
        same: of(ChangeVerdict::Same),
        inconclusive: of(ChangeVerdict::Inconclusive),
        missing: missing.len() as u32,
        added: added.len() as u32,
    };
    let named = |side: &[Run]| -> Vec<RunName> {
        side.iter().map(|run| RunName { file: run.name.clone(), started_at: run.started_at.clone() }).collect()
    };
    Ok(Comparison {
        schema: VERSION.schema.to_owned(),
        schema_version: VERSION.number(),
        tool,
        summary: summary(&counts, &cases, found_from(&judged)),
        counts,
        base: named(base),
        new: named(new),
        bandwidth_threshold: thresholds.bandwidth,
        latency_threshold: thresholds.latency,
        differing,
        notes: notes(&cases, &judged, base.len(), new.len()),
        cases,
        missing,
        added,
        nodes: None,
    })
}

fn refuse(differing: &[Differing], force: bool) -> Result<(), NotCompared> {
    let essential = differing.iter().filter(|differs| differs.essential);
    let words = essential.map(|differs| {
        let (base, new) = differs.sides();
        format!("{} is {base} in the base and {new} in the new", differs.fact)
    });
    let words: Vec<String> = words.collect();
    match words.len() {
        0 => Ok(()),
        _ if force => Ok(()),
        1..=3 => Err(NotCompared::Essential { differs: words.join("; ") }),
        more => Err(NotCompared::Essential { differs: format!("{}; and {} more", words[..3].join("; "), more - 3) }),
    }
}

fn gathered(runs: &[Run]) -> BTreeMap<&Key, Side<'_>> {
    let mut sides: BTreeMap<&Key, Side<'_>> = BTreeMap::new();
    // In the order measured: what follows each other may hang together.
    let mut in_time: Vec<&Run> = runs.iter().collect();
    in_time.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    for (key, figure) in in_time.into_iter().flat_map(|run| &run.figures) {
        let side = sides.entry(key).or_default();
        match figure {
            Ok(figure) => side.figures.push(figure),
            Err(reason) => side.reason = Some(reason),
        }
    }
    sides
}

fn compared(key: &Key, pair: &CasePair, judged: &JudgedCase) -> ComparedCase {
    let evidence = judged.evidence;
    ComparedCase {
        key: key.clone(),
        unit: pair.unit,
        base: judged.base,
        new: judged.new,
        basis: judged.basis,
        base_values: judged.base_values as u32,
        new_values: judged.new_values as u32,
        ratio: evidence.map(|evidence| evidence.ratio),
        ratio_interval: evidence.map(|evidence| evidence.interval),
        cliffs_delta: evidence.map(|evidence| evidence.effect),
        p_value: evidence.map(|evidence| evidence.p_value),
        p_adjusted: evidence.map(|evidence| evidence.p_adjusted),
        threshold: pair.threshold,
        verdict: judged.verdict,
    }
}

/// A case that a larger change than this would be needed for shows none that anybody asks for.
const BLIND_FROM: f64 = 4.0;

/// From what change on cases that are not decided would be called changed: half of them, and all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FoundFrom {
    half: f64,
    all: f64,
}

fn found_from(judged: &[JudgedCase]) -> Option<FoundFrom> {
    let inconclusive = judged.iter().filter(|judged| judged.verdict == ChangeVerdict::Inconclusive);
    let changes: Vec<f64> = inconclusive.filter_map(|judged| judged.found_from).collect();
    let all = changes.iter().copied().reduce(f64::max)?;
    Some(FoundFrom { half: stats::interval::median(&changes)?, all })
}

/// ` (with these runs a change from 4.2 % on would be found in half of them, from 9.5 % on in all)`.
fn power(from: FoundFrom) -> String {
    let FoundFrom { half, all } = from;
    let [half_text, all_text] = [half, all].map(percent);
    match (half < BLIND_FROM, all < BLIND_FROM) {
        (true, true) if half_text == all_text => {
            format!(" (with these runs a change from {all_text} on would be found)")
        }
        (true, true) => {
            format!(
                " (with these runs a change from {half_text} on would be found in half of them, from {all_text} on in all)"
            )
        }
        (true, false) => format!(
            " (with these runs a change from {half_text} on would be found in half of them, and none in those that scatter most)"
        ),
        (false, _) => " (with these runs no change of most of them would be found)".to_owned(),
    }
}

/// One sentence: the worst first.
fn summary(counts: &Counts, cases: &[ComparedCase], found_from: Option<FoundFrom>) -> String {
    let all = cases.len();
    let of = |count: u32| if all == 1 { "the only case".to_owned() } else { format!("{count} of {all} cases") };
    let mut parts = Vec::new();
    if counts.regressed > 0 {
        let worst = cases.first().map(|case| {
            let by = change(case.unit, case.new / case.base);
            format!("; the worst by {by}: {}", case.key)
        });
        parts.push(format!("REGRESSED: {}{}", of(counts.regressed), worst.unwrap_or_default()));
    }
    if counts.missing > 0 {
        parts.push(format!("MISSING: {} of the base's cases have no new figure", counts.missing));
    }
    if counts.improved > 0 {
        parts.push(format!("IMPROVED: {}", of(counts.improved)));
    }
    if counts.inconclusive > 0 {
        let power = found_from.map(power).unwrap_or_default();
        parts.push(format!("INCONCLUSIVE: {}{power}", of(counts.inconclusive)));
    }
    if counts.same > 0 {
        parts.push(format!("SAME: {}", of(counts.same)));
    }
    parts.join(". ")
}

/// `10.2 % slower` from new over base.
pub fn change(unit: Unit, ratio: f64) -> String {
    let slower = (ratio < 1.0) == unit.more_is_better();
    format!("{:.1} % {}", (ratio - 1.0).abs() * 100.0, if slower { "slower" } else { "faster" })
}

/// A change in words: `4.2 %`; one beyond half or double is told as a factor.
fn percent(change: f64) -> String {
    if change < 1.0 { format!("{:.1} %", change * 100.0) } else { format!("a factor of {:.1}", 1.0 + change) }
}

fn notes(cases: &[ComparedCase], judged: &[JudgedCase], base: usize, new: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if cases.iter().any(|case| case.basis == Basis::Blocks) {
        notes.push(format!(
            "{base} run in the base and {new} in the new: blocks of one run do not show how runs differ, so only a change that is wholly \
             beyond the threshold is called one. Give several runs a side (folders work) to see smaller ones"
        ));
    }
    // What a case that was not decided could have shown, by its own values and spread.
    let undecided = judged.iter().filter(|judged| judged.verdict == ChangeVerdict::Inconclusive);
    let blind: Vec<f64> = undecided.filter_map(|judged| judged.detectable).collect();
    if let Some((least, most)) = range(blind.iter().copied()) {
        let cases = counted(blind.len(), "inconclusive case");
        let range =
            if most - least < 0.0005 { percent(most) } else { format!("{} to {}", percent(least), percent(most)) };
        notes.push(format!(
            "A change must be larger than {range} to be called one in {cases}: more runs a side show smaller ones"
        ));
    }
    let few = cases.iter().filter(|case| case.ratio.is_none()).count();
    if few > 0 {
        notes.push(format!(
            "{few} of {} {} too few values to be judged: a run needs 6 blocks, or a side several runs",
            counted(cases.len(), "case"),
            if few == 1 { "has" } else { "have" }
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_found_is_said_of_the_typical_case_and_of_the_worst() {
        let said = |half, all| power(FoundFrom { half, all });
        assert_eq!(said(0.042, 0.042), " (with these runs a change from 4.2 % on would be found)");
        assert!(said(0.042, 0.95).contains("from 4.2 % on would be found in half of them, from 95.0 % on in all"));
        for worst in [94.4, 4_746_514.7] {
            let text = said(0.042, worst);
            assert!(text.contains("4.2 %") && !text.contains("factor"), "{text}");
        }
        assert!(said(7.0, 90.0).contains("no change"));
    }
}
