//! What a trial comes to, in four lines: which variant, by how much, how sure, and the line to use; no line
//! while nothing is decided.
//!
//! A variant is said to be faster or slower as far as the runs show it: that it differs, and that the
//! difference matters, are two things. The best variant is the one with the best ratio among those that are
//! better than the baseline. That it is better than another variant nobody has tested: where their intervals
//! overlap, the other may be as good, which is said. Where none is better, the baseline stays: a placement
//! that gains nothing is one thing less to maintain.
//!
//! Some 440 lines because half of them are tests of the sentences.

use report::trial::{TrialComparison, TrialMetric, TrialStop, TrialVariant, TrialVerdict};

/// What a trial comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialAnswer {
    /// The variant to use, by its place among the variants.
    pub best: usize,
    /// Variants that may be as good, by their places.
    pub as_good: Vec<usize>,
    /// Whether all that was asked is decided.
    pub is_decided: bool,
    /// The lines.
    pub lines: Vec<String>,
}

/// The answer by the metric that decides; `comparisons` are those of the variants but the first, in order, by
/// that metric. `differ_by_place` says of each variant whether it differs from the first by its placement
/// alone: only then placement is what matters.
pub fn answer(
    variants: &[TrialVariant],
    differ_by_place: &[bool],
    metric: &TrialMetric,
    comparisons: &[TrialComparison],
    equivalence: f64,
    stop: Option<TrialStop>,
) -> TrialAnswer {
    let ratio = |at: usize| comparisons.get(at).and_then(|found| found.ratio).unwrap_or(1.0);
    let gain = |at: usize| if metric.more_is_better { ratio(at) } else { 1.0 / ratio(at) };
    let better: Vec<usize> =
        (0..comparisons.len()).filter(|at| comparisons[*at].verdict == TrialVerdict::Better).collect();
    let leader = better.iter().copied().max_by(|a, b| gain(*a).total_cmp(&gain(*b)));
    let may_be_as_good = |at: &usize| {
        let found = &comparisons[*at];
        let reaches = |of_leader: &TrialComparison| {
            let (own, best) = (found.ratio_interval, of_leader.ratio_interval);
            own.zip(best).is_none_or(|(own, best)| {
                if metric.more_is_better { own.high >= best.low } else { own.low <= best.high }
            })
        };
        found.pairs > 0 && leader.is_some_and(|leader| *at != leader && reaches(&comparisons[leader]))
    };

    let as_good: Vec<usize> = (0..comparisons.len()).filter(may_be_as_good).map(|at| at + 1).collect();
    let undecided: Vec<usize> =
        (0..comparisons.len()).filter(|at| comparisons[*at].verdict == TrialVerdict::Undecided).collect();
    let best = leader.map_or(0, |at| at + 1);
    let mut lines = vec![
        match leader {
            Some(at) => {
                let is_placement = differ_by_place.get(at + 1) == Some(&true);
                what_matters(variants, metric, at, is_placement, &as_good)
            }
            None => none_is_better(variants, metric, &undecided, comparisons, equivalence),
        },
        how_much(variants, metric, comparisons, leader),
        how_sure(variants, comparisons, leader, &undecided, equivalence, stop),
    ];

    // While nothing is decided no line is better than another.
    if leader.is_some() || undecided.is_empty() {
        lines.push(format!("Use: {}", variants.get(best).map_or("", |variant| variant.line.as_str())));
    }
    TrialAnswer { best, as_good, is_decided: undecided.is_empty() && !comparisons.is_empty(), lines }
}

/// The answer where starting the program is more than a quarter of its run: a run takes `run_s`, and the
/// longest start `start_s`.
pub fn too_short(run_s: f64, start_s: f64) -> TrialAnswer {
    let lines = vec![
        "Not decided: this program is too short for its placement to be told from its start.".to_owned(),
        format!(
            "By how much: nothing was compared. A run takes {:.3} ms, and starting a program that does \
             nothing takes {:.3} ms.",
            run_s * 1e3,
            start_s * 1e3
        ),
        format!(
            "How sure: give the program more work, {:.0} ms or more, or a --metric of its own that leaves \
             the start out.",
            start_s * 4e3
        ),
    ];
    TrialAnswer { best: 0, as_good: Vec::new(), is_decided: false, lines }
}

fn names_of(variants: &[TrialVariant], places: &[usize]) -> String {
    places.iter().map(|at| variants[*at].name.as_str()).collect::<Vec<_>>().join(", ")
}

fn what_matters(
    variants: &[TrialVariant],
    metric: &TrialMetric,
    leader: usize,
    is_placement: bool,
    as_good: &[usize],
) -> String {
    let what = if is_placement { "Placement matters for this program" } else { "A difference that matters" };
    let best = if metric.name == "wall" { "fastest" } else { "best" };
    let also = match as_good {
        [] => String::new(),
        some => format!(", and {} may be as good", names_of(variants, some)),
    };
    format!("{what}: {} is {best}{also}.", variants[leader + 1].name)
}

fn none_is_better(
    variants: &[TrialVariant],
    metric: &TrialMetric,
    undecided: &[usize],
    comparisons: &[TrialComparison],
    equivalence: f64,
) -> String {
    let baseline = variants.first().map_or("", |variant| variant.name.as_str());
    let (better, worse) = if metric.name == "wall" { ("faster", "slower") } else { ("better", "worse") };
    let is_worse = |at: &usize| comparisons[*at].verdict == TrialVerdict::Worse;
    let names: Vec<&str> =
        (0..comparisons.len()).filter(is_worse).map(|at| variants[at + 1].name.as_str()).collect();
    let them = if names.len() == 1 { "is" } else { "are" };

    match () {
        () if undecided.iter().any(|at| comparisons[*at].direction.is_some()) => {
            let on = |side: TrialVerdict, word: &str| -> Option<String> {
                let on_it = undecided.iter().filter(|at| comparisons[**at].direction == Some(side));
                let names: Vec<&str> = on_it.map(|at| variants[at + 1].name.as_str()).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                (!names.is_empty()).then(|| format!("{} {verb} {word}", names.join(", ")))
            };
            let sides = [on(TrialVerdict::Better, better), on(TrialVerdict::Worse, worse)];
            let sides = sides.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            format!(
                "Not decided: {sides} than the {baseline}, but these runs do not show whether by more than \
                 the {:.1} % that matter.",
                equivalence * 100.0
            )
        }
        () if !undecided.is_empty() => {
            let who = match (undecided, comparisons.len()) {
                ([at], 1) => format!("{} differs", variants[at + 1].name),
                ([_], all) => format!("1 of {all} variants differs"),
                (several, all) => format!("{} of {all} variants differ", several.len()),
            };
            format!("Not decided: these runs do not show whether {who} from the {baseline}.")
        }
        () if names.is_empty() => {
            format!("No difference that matters: no variant is {better} or {worse} than the {baseline}.")
        }
        () => format!("No variant is {better} than the {baseline}; {} {them} {worse}.", names.join(", ")),
    }
}

fn how_much(
    variants: &[TrialVariant],
    metric: &TrialMetric,
    comparisons: &[TrialComparison],
    leader: Option<usize>,
) -> String {
    let of = |at: usize| {
        let found = &comparisons[at];
        format!("{} {}", variants[at + 1].name, change(metric, found))
    };
    match leader {
        Some(at) => format!("By how much: {} against the {}.", of(at), variants[0].name),
        None => {
            let all: Vec<String> = (0..comparisons.len()).map(of).collect();
            format!(
                "By how much: {}.",
                if all.is_empty() { "nothing was compared".to_owned() } else { all.join("; ") }
            )
        }
    }
}

/// `takes 8.1 % less time (6.9–9.2 %)`, `gives 3.0 % more (2.1–4.0 %)`, `takes 6.2 % less time (28.2 % less
/// to 13.6 % more)`.
pub fn change(metric: &TrialMetric, found: &TrialComparison) -> String {
    let Some(ratio) = found.ratio else {
        return "has too few runs to compare".to_owned();
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let middle = percent(ratio);
    let is_time = metric.name == "wall";
    let (verb, unit) = if is_time { ("takes", " time") } else { ("gives", "") };
    let sense = if middle < 0.0 { "less" } else { "more" };
    let Some(ends) = found.ratio_interval else {
        let pairs = if found.pairs == 1 { "pair" } else { "pairs" };
        return format!(
            "{verb} {:.1} % {sense}{unit} in {} {pairs} of runs, too few for an interval",
            middle.abs(),
            found.pairs
        );
    };

    let (low, high) = (percent(ends.low), percent(ends.high));
    let interval = match (low < 0.0, high < 0.0) {
        // From the smaller change to the larger one, both in that sense.
        (true, true) => percent_range(-high, -low),
        (false, _) => percent_range(low, high),
        // The ends lie on both sides of no change, and say which is which, as the table's signs do.
        (true, false) => format!("{:.1} % less to {high:.1} % more", -low),
    };
    format!("{verb} {:.1} % {sense}{unit} ({interval})", middle.abs())
}

/// `6.9–9.2 %`, `20.0 %` where both ends read alike.
fn percent_range(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(|end| format!("{end:.1}"));
    if low == high { format!("{high} %") } else { format!("{low}–{high} %") }
}

fn how_sure(
    variants: &[TrialVariant],
    comparisons: &[TrialComparison],
    leader: Option<usize>,
    undecided: &[usize],
    equivalence: f64,
    stop: Option<TrialStop>,
) -> String {
    let names = |all: &[usize]| names_of(variants, all);
    let mut parts = Vec::new();

    if let Some((p, pairs)) = leader.and_then(|at| Some((comparisons[at].p_value?, comparisons[at].pairs))) {
        parts.push(format!(
            "against the {}: p {} after {pairs} pairs of runs, wrong in at most 5 % of such trials",
            variants[0].name,
            p_in_words(p)
        ));
    } else if undecided.is_empty() {
        let pairs = comparisons.iter().map(|found| found.pairs).min().unwrap_or(0);
        let worse = comparisons.iter().filter(|found| found.verdict == TrialVerdict::Worse).count();
        let within = format!("within ± {:.1} % of the baseline", equivalence * 100.0);
        let sure = match worse {
            0 => format!("every interval lies {within}"),
            all if all == comparisons.len() => {
                format!(
                    "the interval of every other variant lies beyond {:.1} % on the worse side",
                    equivalence * 100.0
                )
            }
            _ => format!("every interval lies beyond that on the worse side or {within}"),
        };
        parts.push(format!("after {pairs} pairs of runs {sure} (95 %)"));
    }

    let (without, undecided): (Vec<usize>, Vec<usize>) =
        undecided.iter().partition(|at| comparisons[**at].pairs == 0);
    if !without.is_empty() {
        let without: Vec<usize> = without.iter().map(|at| at + 1).collect();
        parts.push(format!("no figure of {}", names(&without)));
    }

    if !undecided.is_empty() {
        let open: Vec<usize> = undecided.iter().map(|at| at + 1).collect();
        let wanted = undecided.iter().filter_map(|at| comparisons[*at].pairs_wanted).max();
        let wanted = wanted.map_or(String::new(), |wanted| format!(" (about {wanted} runs a variant would)"));
        let why = match stop {
            Some(TrialStop::CannotDecide) => "--max-runs would not decide it",
            Some(TrialStop::MaxTime) => "--max-time was reached",
            Some(TrialStop::MaxRuns) => "--max-runs was reached",
            Some(TrialStop::Signal) => "the trial was interrupted",
            Some(TrialStop::Failing) => "too many runs gave no figure",
            Some(TrialStop::Decided) => "the runs themselves are decided",
            _ => "runs are missing",
        };
        parts.push(format!("undecided against the {}: {}, {why}{wanted}", variants[0].name, names(&open)));
    }

    let by_start: Vec<usize> =
        (0..comparisons.len()).filter(|at| comparisons[*at].starting_decides).map(|at| at + 1).collect();

    if !by_start.is_empty() {
        parts.push(format!(
            "what starting the program costs would decide for {}: give the program more work",
            names(&by_start)
        ));
    }
    format!("How sure: {}.", parts.join("; "))
}

fn p_in_words(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

/// Whether the variant that was expected is the best, or as good as far as the runs can tell; `None`: the
/// runs do not say.
pub fn holds(answer: &TrialAnswer, comparisons: &[TrialComparison], expected: usize) -> Option<bool> {
    let own = expected.checked_sub(1).and_then(|at| comparisons.get(at)).map(|found| found.verdict);
    if answer.best == expected {
        // The baseline is the best only once nothing that may be better is left.
        return (expected != 0 || answer.is_decided).then_some(true);
    }
    match own {
        Some(TrialVerdict::Undecided) => None,
        Some(TrialVerdict::Better) => Some(answer.as_good.contains(&expected)),
        Some(TrialVerdict::Same) => Some(answer.best == 0 || answer.as_good.contains(&expected)),
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use stats::interval::Interval;

    use super::*;

    fn variants() -> Vec<TrialVariant> {
        let one = |name: &str| TrialVariant {
            name: name.to_owned(),
            what: String::new(),
            line: format!("run {name}"),
            pus: None,
            memory_nodes: None,
        };
        ["baseline", "close", "spread"].map(one).to_vec()
    }

    fn wall() -> TrialMetric {
        TrialMetric { name: "wall".to_owned(), unit: Some("s".to_owned()), more_is_better: false }
    }

    fn found(ratio: f64, half: f64, verdict: TrialVerdict) -> TrialComparison {
        TrialComparison {
            variant: String::new(),
            metric: "wall".to_owned(),
            pairs: 10,
            ratio: Some(ratio),
            ratio_interval: Some(Interval { low: ratio - half, high: ratio + half, confidence: 0.95 }),
            p_value: Some(0.002),
            verdict,
            direction: None,
            decided_after: None,
            pairs_wanted: Some(80),
            starting_decides: false,
        }
    }

    fn answer_to(comparisons: &[TrialComparison], stop: TrialStop) -> TrialAnswer {
        answer(&variants(), &[false, true, false], &wall(), comparisons, 0.03, Some(stop))
    }

    #[test]
    fn the_best_comes_first_with_how_much_how_sure_and_the_line() {
        let all = [found(0.9, 0.02, TrialVerdict::Better), found(1.3, 0.05, TrialVerdict::Worse)];
        let found = answer_to(&all, TrialStop::Decided);
        assert_eq!(
            found.lines,
            [
                "Placement matters for this program: close is fastest.",
                "By how much: close takes 10.0 % less time (8.0–12.0 %) against the baseline.",
                "How sure: against the baseline: p = 0.0020 after 10 pairs of runs, wrong in at most 5 % of \
                 such trials.",
                "Use: run close",
            ]
        );

        assert!(found.is_decided);
        assert_eq!(
            [0, 1, 2].map(|expected| holds(&found, &all, expected)),
            [Some(false), Some(true), Some(false)]
        );
    }

    #[test]
    fn placement_matters_only_where_it_is_all_that_differs_from_the_baseline() {
        let all = [found(1.0, 0.01, TrialVerdict::Same), found(0.5, 0.02, TrialVerdict::Better)];
        let found = answer_to(&all, TrialStop::Decided);
        assert_eq!(found.lines[0], "A difference that matters: spread is fastest.");
    }

    #[test]
    fn another_that_reaches_the_best_is_named_and_may_be_expected() {
        let all = [found(0.9, 0.02, TrialVerdict::Better), found(0.91, 0.03, TrialVerdict::Better)];
        let found = answer_to(&all, TrialStop::Decided);
        insta::assert_snapshot!("another_may_be_as_good", found.lines.join("\n"));
        assert_eq!(holds(&found, &all, 2), Some(true));
    }

    #[test]
    fn of_two_that_are_better_nobody_has_tested_which_is_and_their_intervals_say_whether_it_may_be_either() {
        // The leader's own interval is wide: the other's lies within it, and not beyond its middle.
        let wide = TrialComparison { pairs: 6, ..found(0.80, 0.12, TrialVerdict::Better) };
        let of_it = answer_to(&[wide, found(0.88, 0.01, TrialVerdict::Better)], TrialStop::Decided);
        assert_eq!(of_it.as_good, [2]);
        assert!(
            of_it.lines[0].ends_with("close is fastest, and spread may be as good."),
            "{:?}",
            of_it.lines
        );
        assert!(of_it.lines[2].contains("after 6 pairs"), "{:?}", of_it.lines);
    }

    #[test]
    fn a_variant_whose_runs_all_fail_is_not_as_good_and_is_said_to_have_no_figure() {
        let none = TrialComparison {
            pairs: 0,
            ratio: None,
            ratio_interval: None,
            p_value: None,
            ..found(1.0, 0.1, TrialVerdict::Undecided)
        };
        let of_it = answer_to(&[found(0.9, 0.02, TrialVerdict::Better), none], TrialStop::Decided);
        assert_eq!(of_it.as_good, [0; 0]);
        let sure = &of_it.lines[2];
        assert!(sure.contains("no figure of spread") && !sure.contains("are decided"), "{sure}");
    }

    #[test]
    fn where_nothing_is_better_the_baseline_stays() {
        let all = [found(1.0, 0.01, TrialVerdict::Same), found(1.2, 0.02, TrialVerdict::Worse)];
        let found = answer_to(&all, TrialStop::Decided);
        insta::assert_snapshot!("nothing_is_better", found.lines.join("\n"));
        assert_eq!(
            [0, 1, 2].map(|expected| holds(&found, &all, expected)),
            [Some(true), Some(true), Some(false)]
        );
    }

    #[test]
    fn a_known_side_is_said_and_that_it_may_not_matter_too() {
        let all = [
            TrialComparison {
                direction: Some(TrialVerdict::Worse),
                ..found(1.08, 0.079, TrialVerdict::Undecided)
            },
            found(1.0, 0.01, TrialVerdict::Same),
        ];
        let of_it = answer_to(&all, TrialStop::MaxRuns);
        insta::assert_snapshot!("a_known_side", of_it.lines.join("\n"));
        assert_eq!((of_it.is_decided, of_it.best), (false, 0));
    }

    #[test]
    fn what_starting_decides_is_not_the_programs() {
        let by_start =
            TrialComparison { starting_decides: true, ..found(1.08, 0.02, TrialVerdict::Undecided) };
        let of_it = answer_to(&[by_start, found(1.0, 0.01, TrialVerdict::Same)], TrialStop::Decided);
        insta::assert_snapshot!("starting_decides", of_it.lines[2]);
        let short = too_short(0.0012, 0.0011);
        insta::assert_snapshot!(short.lines.join("\n"), @"
        Not decided: this program is too short for its placement to be told from its start.
        By how much: nothing was compared. A run takes 1.200 ms, and starting a program that does nothing takes 1.100 ms.
        How sure: give the program more work, 4 ms or more, or a --metric of its own that leaves the start out.
        ");
        assert!(!short.is_decided);
    }

    #[test]
    fn what_is_not_decided_says_why_and_how_many_runs_it_would_take() {
        let all = [found(1.0, 0.2, TrialVerdict::Undecided), found(1.0, 0.01, TrialVerdict::Same)];
        let found = answer_to(&all, TrialStop::CannotDecide);
        insta::assert_snapshot!("not_decided", found.lines.join("\n"));
        assert_eq!([0, 1].map(|expected| holds(&found, &all, expected)), [None, None]);
    }
}
