//! What the reader of a comparison should know of how much it can tell, in sentences.

use stats::interval::range;
use stats::moderated::LEAST_A_SIDE;
use stats::units::counted;

use crate::comparison::{ComparedCase, Counts, are_of_single_runs};
use crate::figure::Unit;
use crate::judge::{Basis, ChangeVerdict};

/// How much the comparison of what was measured can tell.
pub(crate) fn notes(
    cases: &[ComparedCase],
    counts: &Counts,
    runs: [usize; 2],
    in_turns: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let [base, new] = runs;
    let is_single = are_of_single_runs(cases);
    let is_of_few = |case: &ComparedCase| {
        let least_runs = case.base_values.min(case.new_values) as usize;
        case.basis == Basis::Blocks || least_runs < LEAST_A_SIDE
    };
    let is_of_few_runs = cases.iter().any(|case| case.verdict == ChangeVerdict::Suspect && is_of_few(case));
    let change =
        if cases.iter().any(|case| case.unit.is_share()) { "a rate's or time's change" } else { "a change" };
    if let Some(assumed) = assumed_deviation(cases).filter(|_| is_single) {
        notes.push(format!(
            "{} in the base and {new} in the new: nothing shows how runs differ, so {change} is suspected \
             and never found, and each interval assumes the deviation between runs to be {assumed}. Give \
             three runs a side or more (folders work)",
            counted(base, "run")
        ));
    } else if counts.suspect > 0 {
        let cases = if counts.suspect == 1 { "1 case is" } else { &format!("{} cases are", counts.suspect) };
        let why = if base.min(new) < LEAST_A_SIDE || is_of_few_runs {
            "with one or two runs a side, one disturbed run looks like a change"
        } else {
            "runs of other cases fall into two modes, and chance alone can sort them by side like this"
        };
        notes.push(format!(
            "{cases} suspected and not found: {why}. Give more runs a side: three, or four or five where \
             runs of other cases fall into two modes"
        ));
    }

    let is_found = |case: &ComparedCase| {
        let changed = matches!(case.verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved);
        changed && !case.unit.is_share()
    };
    if !in_turns && cases.iter().any(is_found) {
        notes.push(
            "The runs of the two sides did not take turns: what changed with time counts as a change. Run \
             both states alternately to tell them apart"
                .to_owned(),
        );
    }

    let few = cases.iter().filter(|case| case.ratio.is_none() && !case.unit.is_share()).count();
    // What `witness` sees of a program has one value a run.
    let needs = if cases.iter().any(|case| case.unit.is_share()) {
        "a side needs several runs"
    } else {
        "a run needs 6 blocks, or a side several runs"
    };

    if few > 0 {
        notes.push(format!(
            "{few} of {} {} too few values to be judged: {needs}",
            counted(cases.len(), "case"),
            if few == 1 { "has" } else { "have" }
        ));
    }
    notes
}

/// The deviations between runs that intervals assume, `0.5 %` or `0.5 to 1.2 %`; `None` without an interval.
fn assumed_deviation(cases: &[ComparedCase]) -> Option<String> {
    let (low, high) = range(cases.iter().filter_map(|case| case.assumed_run_deviation))?;
    let [low, high] = [low, high].map(|deviation| format!("{:.1}", deviation * 100.0));
    Some(if low == high { format!("{low} %") } else { format!("{low} to {high} %") })
}

/// What the reader should know of shares, and of figures of work that only the base or only the new side did.
pub(crate) fn share_notes(cases: &[ComparedCase], only: [Vec<String>; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |unit: Unit| cases.iter().filter(|case| case.unit == unit).count();
    if count(Unit::Share) > 0 {
        notes.push("Shares of bytes are counted: a difference between two runs is a fact".to_owned());
    }
    let estimated = count(Unit::EstimatedShare);
    if estimated > 0 {
        notes.push(format!(
            "{} estimated: not all pages were looked at (`witness --pages all` does), or not all copies were \
             counted",
            if estimated == 1 { "1 share is".to_owned() } else { format!("{estimated} shares are") }
        ));
    }

    for (name, figures) in ["base", "new side"].into_iter().zip(only) {
        if !figures.is_empty() {
            notes.push(format!("Only the {name} made such copies: {}", figures.join("; ")));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use report::document::Tool;

    use crate::compare::{Thresholds, compare};
    use crate::conditions::Condition;
    use crate::figure::{Figure, Key, Unit};
    use crate::run::Run;

    /// A run with ten blocks of this time in each of these cases.
    fn run(cases: &[&str], ns: f64) -> Run {
        let blocks: Vec<f64> = (0..10).map(|block| ns * (1.0 + 0.001 * f64::from(block))).collect();
        let figure = || Ok(Figure::measured(Unit::Ns, ns, blocks.clone()));
        Run {
            name: format!("{ns}"),
            host: "a node".to_owned(),
            started_at: String::new(),
            asked: None,
            conditions: vec![Condition::new("platform", "CUDA", true)],
            engine: report::settings::CopyEngine::default(),
            figures: cases
                .iter()
                .map(|case| (Key::in_words(case, "GPU 0".to_owned()), figure()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn of_three_runs_a_side_none_is_said_to_stand_alone_where_one_case_is_a_single_runs() -> Result<(), String>
    {
        let both: &[&str] = &["h2d", "d2h"];
        let side = |ns: f64| [run(both, ns), run(&["h2d"], ns * 1.01), run(&["h2d"], ns * 0.99)];
        let tool = Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None };
        let told = |base: &[Run], new: &[Run]| {
            let thresholds = Thresholds { bandwidth: 0.03, latency: 0.03 };
            let compared = compare(tool.clone(), base, new, thresholds, false);
            compared.map(|compared| compared.notes.join("\n")).map_err(|error| error.to_string())
        };
        let notes = told(&side(100.0), &side(130.0))?;
        assert!(!notes.contains("nothing shows how runs differ"), "{notes}");
        assert!(notes.contains("one disturbed run looks like a change"), "{notes}");
        let single = told(&side(100.0)[..1], &side(130.0)[..1])?;
        assert!(single.contains("nothing shows how runs differ"), "{single}");
        assert!(single.contains("assumes the deviation between runs to be 0.5 %"), "{single}");

        // Without blocks there is no interval, and nothing is suspected.
        let printed = |ns: f64| {
            let without = |figure: Result<Figure, String>| figure.map(|one| Figure { blocks: vec![], ..one });
            let run = run(both, ns);
            let figures = run.figures.into_iter().map(|(key, figure)| (key, without(figure)));
            Run { figures: figures.collect(), ..run }
        };
        let notes = told(&[printed(100.0)], &[printed(130.0)])?;
        assert!(!notes.contains("interval") && notes.contains("too few values to be judged"), "{notes}");
        Ok(())
    }
}
