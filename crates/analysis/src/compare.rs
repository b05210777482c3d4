//! Two sides of runs, case by case: what differs between their conditions, what is missing, and what got
//! worse.
//!
//! Some 420 lines because each step of a comparison needs what the one before it has left.

use std::collections::{BTreeMap, BTreeSet};

use report::document::Tool;
use stats::interval::median;
use stats::moderated::LEAST_A_SIDE;
use stats::units::rate;

use crate::comparison::{ComparedCase, Comparison, Counts, Lacking, RunName, VERSION, are_of_single_runs};
use crate::comparison_notes::{notes, share_notes};
use crate::conditions::{ALL_PAIRS, Condition, Differing, PAIRS, differing_or_mixed};
use crate::figure::{Figure, Key, Unit};
use crate::judge::{CasePair, ChangeVerdict, JudgedCase, is_one_measurement, judge};
use crate::run::Run;
use crate::turns::took_turns;

/// Said where both sides are the same runs.
pub const SAME_MEASUREMENT: &str =
    "The base and the new side are the very same measurement: it says nothing of a change";

/// The changes that matter, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Of rates.
    pub bandwidth: f64,
    /// Of times of small copies.
    pub latency: f64,
}

impl Thresholds {
    /// The change that matters of figures that count this.
    pub fn of(self, unit: Unit) -> f64 {
        if unit == Unit::Ns { self.latency } else { self.bandwidth }
    }
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
        "the two sides did not measure the same thing: {differs}; give runs that agree in it, or --force to \
         compare them all the same"
    )]
    Essential {
        /// What differs, in words.
        differs: String,
    },
    /// They have no case in common.
    #[error(
        "the two sides have no case in common (base: {base}; new: {new}): compare runs of the same sizes, \
         directions, memory, PUs and GPUs"
    )]
    NothingInCommon {
        /// One of the base's cases.
        base: String,
        /// One of the new side's.
        new: String,
    },
}

/// The figures of one key over a side's runs, the reasons of runs that have none, and the number of runs that
/// have the case in other places alone.
#[derive(Default)]
struct Side<'r> {
    figures: Vec<&'r Figure>,
    reasons: Vec<&'r String>,
    absent: usize,
    /// What the runs that have it, or a reason, were asked for.
    asked: BTreeSet<Option<&'r str>>,
}

impl Side<'_> {
    /// How many runs have no figure.
    fn without(&self) -> usize {
        self.reasons.len() + self.absent
    }

    /// Why a figure is missing, with in how many of the runs where some have it.
    fn reason(&self) -> Option<String> {
        let last = self.reasons.last().map(|reason| (*reason).clone());
        if self.figures.is_empty() || self.without() == 0 {
            return last;
        }
        let runs = format!("in {} of {} runs", self.without(), self.figures.len() + self.without());
        Some(last.map_or(runs.clone(), |last| format!("{runs}, the last one: {last}")))
    }
}

/// Compares the `new` runs with those of the `base`.
///
/// # Errors
/// [`NotCompared`]: they did not measure the same thing, and nobody insists (`force`); or they have nothing
/// in common.
pub fn compare(
    tool: Tool,
    base: &[Run],
    new: &[Run],
    thresholds: Thresholds,
    force: bool,
) -> Result<Comparison, NotCompared> {
    let differing = differing_or_mixed(conditions(base), conditions(new), &mixed(base, new));
    refuse(&differing, force)?;

    let (base_side, new_side) = (gathered(base), gathered(new));
    let has = |side: &BTreeMap<&Key, Side<'_>>, key: &Key| {
        side.get(key).is_some_and(|side| !side.figures.is_empty())
    };
    let keys: Vec<&Key> =
        base_side.keys().copied().filter(|key| has(&base_side, key) && has(&new_side, key)).collect();
    if keys.is_empty() {
        let one = |side: &BTreeMap<&Key, Side<'_>>| {
            let key = side.keys().find(|key| has(side, key)).or(side.keys().next());
            key.map_or("none".to_owned(), ToString::to_string)
        };
        return Err(NotCompared::NothingInCommon { base: one(&base_side), new: one(&new_side) });
    }
    let values =
        |side: &Side<'_>| side.figures.iter().map(|figure| (figure.median, figure.blocks.clone())).collect();
    let pair = |key: &&Key| {
        // An estimate on one side makes the difference one.
        let units = base_side[key].figures.iter().chain(&new_side[key].figures).map(|figure| figure.unit);
        let unit = units.max().unwrap_or(base_side[key].figures[0].unit);
        CasePair {
            unit,
            base: values(&base_side[key]),
            new: values(&new_side[key]),
            threshold: thresholds.of(unit),
        }
    };
    let pairs: Vec<CasePair> = keys.iter().map(pair).collect();
    let in_turns = took_turns(base, new);
    let judged = judge(&pairs, in_turns);
    let mut cases: Vec<ComparedCase> = keys
        .iter()
        .zip(&pairs)
        .zip(&judged)
        .map(|((key, pair), judged)| compared(key, pair, judged))
        .collect();
    let better = |case: &ComparedCase| {
        if case.unit.more_is_better() { case.change() } else { -case.change() }
    };
    cases.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(better(a).total_cmp(&better(b))));

    // A pair that the other side's sample has not got is not missing there.
    let is_a_sample = |condition: &Condition| condition.fact == PAIRS && condition.value != ALL_PAIRS;
    let are_samples = base.iter().chain(new).flat_map(|run| &run.conditions).any(is_a_sample);
    let may_lack = |key: &Key| are_samples && key.is_between_devices();
    let lacking =
        |of: &BTreeMap<&Key, Side<'_>>, other: &BTreeMap<&Key, Side<'_>>, in_some: bool| -> Vec<Lacking> {
            let lacks = |key: &Key| {
                let in_some_there = || of[key].without() == 0 && other[key].without() > 0;
                !has(other, key) || (in_some && in_some_there())
            };
            let only = of.keys().filter(|key| has(of, key) && lacks(key) && !is_incidental(&of[*key]));
            let only = only.filter(|key| !may_lack(key));
            only.map(|key| Lacking { key: (*key).clone(), reason: other.get(key).and_then(Side::reason) })
                .collect()
        };
    // What some of the new runs have no figure of, and every one of the base has, is missing too.
    let (missing, added) = (lacking(&base_side, &new_side, true), lacking(&new_side, &base_side, false));
    let missing_in_some = missing.iter().filter(|lacking| has(&new_side, &lacking.key)).count() as u32;
    let of = |verdict| cases.iter().filter(|case| case.verdict == verdict).count() as u32;
    let counts = Counts {
        regressed: of(ChangeVerdict::Regressed),
        improved: of(ChangeVerdict::Improved),
        same: of(ChangeVerdict::Same),
        suspect: of(ChangeVerdict::Suspect),
        inconclusive: of(ChangeVerdict::Inconclusive),
        missing: missing.len() as u32,
        added: added.len() as u32,
    };
    let named = |side: &[Run]| -> Vec<RunName> {
        side.iter()
            .map(|run| RunName { file: run.name.clone(), started_at: run.started_at.clone() })
            .collect()
    };
    Ok(Comparison {
        schema: VERSION.schema.to_owned(),
        schema_version: VERSION.number(),
        tool,
        summary: summary(&counts, missing_in_some, &cases, [base.len(), new.len()]),
        counts,
        base: named(base),
        new: named(new),
        bandwidth_threshold: thresholds.bandwidth,
        latency_threshold: thresholds.latency,
        differing,
        notes: if is_one_measurement(&pairs) {
            vec![SAME_MEASUREMENT.to_owned()]
        } else {
            let only = [only_here(&base_side, &new_side), only_here(&new_side, &base_side)];
            let of_shares = share_notes(&cases, only);
            notes(&cases, &counts, [base.len(), new.len()], in_turns).into_iter().chain(of_shares).collect()
        },
        cases,
        missing,
        added,
        nodes: None,
        reference: Vec::new(),
    })
}

/// What all runs of a side were under.
fn conditions(side: &[Run]) -> impl Iterator<Item = &Condition> {
    side.iter().flat_map(|run| &run.conditions)
}

/// Essential facts in which runs differ that have a case and place in common with each other.
fn mixed<'r>(base: &'r [Run], new: &'r [Run]) -> BTreeSet<&'r str> {
    let runs: Vec<&Run> = base.iter().chain(new).collect();
    let mut first: BTreeMap<&Key, usize> = BTreeMap::new();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (at, run) in runs.iter().enumerate() {
        pairs.extend(run.figures.keys().map(|key| (*first.entry(key).or_insert(at), at)));
    }
    pairs.into_iter().flat_map(|(one, other)| unlike_essentials(runs[one], runs[other])).collect()
}

/// The essential facts in which two runs differ.
fn unlike_essentials<'r>(one: &'r Run, other: &'r Run) -> impl Iterator<Item = &'r str> {
    let essential = |run: &'r Run| {
        let facts = run.conditions.iter().filter(|condition| condition.essential);
        facts.map(|condition| (&condition.fact[..], &condition.value[..]))
    };
    let others: BTreeMap<&str, &str> = essential(other).collect();
    let is_unlike = move |(fact, value): &(&str, &str)| others.get(fact).is_some_and(|other| other != value);
    essential(one).filter(is_unlike).map(|(fact, _)| fact)
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
        more => Err(NotCompared::Essential {
            differs: format!("{}; and {} more", words[..3].join("; "), more - 3),
        }),
    }
}

/// Whether a figure is of work that another run need not do.
fn is_incidental(side: &Side<'_>) -> bool {
    side.figures.iter().all(|figure| figure.is_incidental)
}

fn gathered(runs: &[Run]) -> BTreeMap<&Key, Side<'_>> {
    let mut sides: BTreeMap<&Key, Side<'_>> = BTreeMap::new();
    // In the order measured: what follows each other may hang together.
    let mut in_time: Vec<&Run> = runs.iter().collect();
    in_time.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    let figures = in_time.into_iter().flat_map(|run| run.figures.iter().map(move |figure| (run, figure)));
    for (run, (key, figure)) in figures {
        let side = sides.entry(key).or_default();
        side.asked.insert(run.asked.as_deref());
        match figure {
            Ok(figure) => side.figures.push(figure),
            Err(reason) => side.reasons.push(reason),
        }
    }

    for run in runs {
        let cases: BTreeSet<_> = run.figures.keys().map(|key| (&key.case, &key.host)).collect();
        let absent = sides.iter_mut().filter(|(key, _)| !run.figures.contains_key(**key));
        // A job of another GPU was asked for something else.
        let absent = absent.filter(|(key, side)| {
            cases.contains(&(&key.case, &key.host)) && side.asked.contains(&run.asked.as_deref())
        });
        absent.for_each(|(_, side)| side.absent += 1);
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
        assumed_run_deviation: evidence.and_then(|evidence| evidence.assumed),
        cliffs_delta: evidence.map(|evidence| evidence.effect),
        p_value: evidence.map(|evidence| evidence.p_value),
        p_adjusted: evidence.map(|evidence| evidence.p_adjusted),
        threshold: pair.threshold,
        found_from: judged.found_from,
        verdict: judged.verdict,
    }
}

/// One sentence: the worst first.
fn summary(counts: &Counts, missing_in_some: u32, cases: &[ComparedCase], runs: [usize; 2]) -> String {
    let all = cases.len();
    let of =
        |count: u32| if all == 1 { "the only case".to_owned() } else { format!("{count} of {all} cases") };
    let first = |verdict: ChangeVerdict| cases.iter().find(|case| case.verdict == verdict);
    let by = |case: &ComparedCase| format!("{}: {}", change_in_words(case.unit, case.change()), case.key);
    let mut parts = Vec::new();

    if counts.regressed > 0 {
        let worst = first(ChangeVerdict::Regressed)
            .map_or(String::new(), |case| format!("; the worst by {}", by(case)));
        parts.push(format!("REGRESSED: {}{worst}", of(counts.regressed)));
    }

    if counts.missing > 0 {
        let have = |count: u32| if count == 1 { "has" } else { "have" };
        let (none, some) = (counts.missing - missing_in_some, missing_in_some);
        parts.push(match (none, some) {
            (none, 0) => format!("MISSING: {none} of the base's cases {} no new figure", have(none)),
            (0, some) => {
                format!("MISSING: {some} of the base's cases {} none in some of the new runs", have(some))
            }
            (none, some) => format!(
                "MISSING: {none} of the base's cases {} no new figure, and {some} none in some new runs",
                have(none)
            ),
        });
    }

    if counts.suspect > 0 {
        let one = first(ChangeVerdict::Suspect).map_or(String::new(), |case| format!("; {}", by(case)));
        // Of as many runs as that, modes of other cases are the reason: four a side allow five of them.
        let more = if runs.into_iter().min() < Some(LEAST_A_SIDE) { "three" } else { "four or five" };
        parts.push(format!("SUSPECT: {}{one}; {more} runs a side decide", of(counts.suspect)));
    }

    if counts.improved > 0 {
        parts.push(format!("IMPROVED: {}", of(counts.improved)));
    }
    if counts.inconclusive > 0 {
        parts.push(format!("INCONCLUSIVE: {} ({})", of(counts.inconclusive), power(cases, runs)));
    }
    if counts.same > 0 {
        parts.push(format!("SAME: {}", of(counts.same)));
    }
    parts.join(". ")
}

/// From what change on it would be found: in the middling case of all, and in the worst of those not decided.
fn power(cases: &[ComparedCase], runs: [usize; 2]) -> String {
    let from = |case: &ComparedCase| case.found_from.unwrap_or(f64::INFINITY);
    let measured = || cases.iter().filter(|case| !case.unit.is_share());
    let all: Vec<f64> = measured().map(from).collect();
    let typical = median(&all).and_then(percent);
    let undecided = measured().filter(|case| case.verdict == ChangeVerdict::Inconclusive);
    let worst = undecided.max_by(|a, b| from(a).total_cmp(&from(b)));
    let is_single = are_of_single_runs(cases);
    let found = if is_single { "suspected" } else { "found" };
    let Some(typical) = typical else {
        return match is_single || runs.into_iter().min() >= Some(LEAST_A_SIDE) {
            true => format!("with these runs no change could be {found}"),
            false => "a change is suspected at most: three runs a side find one".to_owned(),
        };
    };

    match worst.map(|case| (percent(from(case)), &case.key)) {
        Some((Some(worst), key)) if worst != typical => format!(
            "with these runs a change from {typical} on would be {found} in a typical case, from {worst} in \
             the worst: {key}"
        ),
        Some((None, key)) => format!(
            "with these runs a change from {typical} on would be {found} in a typical case, none in the \
             worst: {key}"
        ),
        _ => format!("with these runs a change from {typical} on would be {found}"),
    }
}

/// `10.2 % slower`; of a share `10.2 points more`.
pub fn change(unit: Unit, base: f64, new: f64) -> String {
    change_in_words(unit, if unit.is_share() { new - base } else { new / base - 1.0 })
}

/// The same of a change: a part of the base's figure, of a share the difference.
fn change_in_words(unit: Unit, change: f64) -> String {
    let percent = change.abs() * 100.0;
    if unit.is_share() {
        return format!("{percent:.1} points {}", if change > 0.0 { "more" } else { "less" });
    }
    let slower = (change < 0.0) == unit.more_is_better();
    format!("{percent:.1} % {}", if slower { "slower" } else { "faster" })
}

/// A change in words: `4.2 %`; one beyond half or double is told as a factor, and one beyond tenfold is none.
fn percent(change: f64) -> Option<String> {
    match change {
        change if change < 1.0 => Some(format!("{:.1} %", change * 100.0)),
        change if change < 9.0 => Some(format!("a factor of {:.1}", 1.0 + change)),
        _ => None,
    }
}

/// The figures of work that only this side did, in words.
fn only_here(of: &BTreeMap<&Key, Side<'_>>, other: &BTreeMap<&Key, Side<'_>>) -> Vec<String> {
    let only = of
        .iter()
        .filter(|(key, side)| !side.figures.is_empty() && is_incidental(side) && !other.contains_key(**key));
    only.map(|(key, side)| format!("{key}{}", rate_of(side))).collect()
}

/// ` (9.93 GB/s)` of a side's rate; nothing of what is none.
fn rate_of(side: &Side<'_>) -> String {
    let rates = side.figures.iter().filter(|figure| figure.unit == Unit::BytesPerS);
    let rates: Vec<f64> = rates.map(|figure| figure.median).collect();
    median(&rates).map_or(String::new(), |middle| format!(" ({})", rate(middle)))
}
