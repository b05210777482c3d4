//! What the passes of a node's check come to. Pure.
//!
//! Figures are judged by a baseline. Without one slower twins are counted as suspects are, a GPU and a case
//! at a time. A copy whose driver call fails in every pass is a finding too; one that fails in some of them
//! is undecided, for that is no disturbance. Where nothing was compared the node is not well but undecided.

use std::collections::BTreeMap;

use report::slower_twin::SlowerTwin;

use super::{Decision, Gate, PASSES, Suspect, WITHIN, decide, own_device};
use crate::baseline::{Baseline, Value};
use crate::lost_figure::LostFigure;
use crate::slower_twins::{ComparedTwins, worst};

/// One pass of a node's check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckPass {
    /// Its figures.
    pub values: Vec<Value>,
    /// How GPUs compare with their twins.
    pub twins: ComparedTwins,
    /// Copies without a figure.
    pub lost: Vec<LostFigure>,
}

impl CheckPass {
    /// Whether a figure was compared with that of a twin.
    pub fn has_compared(&self, value: &Value) -> bool {
        self.twins.compared.contains(&(own_device(&value.device), value.case.clone()))
    }
}

/// What the passes so far come to.
#[derive(Clone, Debug, PartialEq)]
pub struct PassesVerdict {
    /// The gate; `None` where another pass is needed.
    pub gate: Option<Gate>,
    /// GPUs below the limit of a baseline, and those that it does not know.
    pub suspects: Vec<Suspect>,
    /// GPUs slower than their twins in most passes.
    pub slower_twins: Vec<SlowerTwin>,
    /// Copies without a figure in most passes, or that failed in one.
    pub lost: Vec<LostFigure>,
}

/// Judges the passes so far, by a baseline where there is one, else by twins.
pub fn judge_passes(baseline: Option<&Baseline>, passes: &[CheckPass]) -> PassesVerdict {
    let values: Vec<Vec<Value>> = passes.iter().map(|pass| pass.values.clone()).collect();
    let (of_lost, lost) = decide_by_lost(passes);
    let (of_twins, twins) = decide_by_twins(passes);
    let (of_figures, suspects) = match baseline.map(|baseline| decide(baseline, &values)) {
        Some(Decision::Decided(gate, suspects)) => (Some(gate), suspects),
        Some(Decision::Again) => (None, Vec::new()),
        None => (of_twins, Vec::new()),
    };

    // With a baseline a slower twin that is within what is normal is none.
    let has_slow = baseline.is_none() || of_figures == Some(Gate::Finding);
    PassesVerdict {
        gate: of_figures.zip(of_lost).map(|(of_figures, of_lost)| of_figures.max(of_lost)),
        suspects,
        slower_twins: if has_slow { twins } else { Vec::new() },
        lost,
    }
}

/// What comes of something that so many of these passes show; `None` where another pass may tell.
fn gate_of(shown: usize, passes: usize) -> Option<Gate> {
    match shown {
        _ if passes < PASSES => None,
        PASSES => Some(Gate::Finding),
        shown if shown * 2 > PASSES => Some(Gate::Undecided),
        _ => Some(Gate::Well),
    }
}

/// What slower twins come to, and those of most passes: of each GPU, its own memory apart, the worst case.
fn decide_by_twins(passes: &[CheckPass]) -> (Option<Gate>, Vec<SlowerTwin>) {
    let mut all: BTreeMap<(&str, &str), Vec<&SlowerTwin>> = BTreeMap::new();
    for slower in passes.iter().flat_map(|pass| &pass.twins.slower) {
        all.entry((&slower.device, &slower.case)).or_default().push(slower);
    }
    let gate = |shown: &Vec<&SlowerTwin>| gate_of(shown.len(), passes.len());
    let is_compared = |pass: &CheckPass| pass.values.iter().any(|value| pass.has_compared(value));
    let least = if passes.last().is_some_and(is_compared) { Gate::Well } else { Gate::Undecided };
    let worst_gate = all.values().map(gate).try_fold(least, |worst, gate| Some(worst.max(gate?)));

    let mut named: BTreeMap<(&str, bool), Vec<SlowerTwin>> = BTreeMap::new();
    for ((device, case), shown) in all.iter().filter(|(_, shown)| gate(shown) > Some(Gate::Well)) {
        let last = shown.last().map(|slower| (*slower).clone());
        named.entry((device, case.ends_with(WITHIN))).or_default().extend(last);
    }
    (worst_gate, named.into_values().filter_map(|cases| worst(cases.into_iter())).collect())
}

/// What copies without a figure come to, and those that count.
fn decide_by_lost(passes: &[CheckPass]) -> (Option<Gate>, Vec<LostFigure>) {
    let mut all: BTreeMap<(&str, &str), Vec<&LostFigure>> = BTreeMap::new();
    for lost in passes.iter().flat_map(|pass| &pass.lost) {
        all.entry((&lost.device, &lost.case)).or_default().push(lost);
    }
    let gate = |shown: &Vec<&LostFigure>| {
        let gate = gate_of(shown.len(), passes.len())?;
        Some(match shown.iter().filter(|lost| lost.has_failed()).count() {
            0 => gate.min(Gate::Undecided),
            PASSES => Gate::Finding,
            _ => Gate::Undecided,
        })
    };
    let worst_gate = all.values().map(gate).try_fold(Gate::Well, |worst, gate| Some(worst.max(gate?)));

    let (of, named) = (passes.len() as u32, all.values().filter(|shown| gate(shown) > Some(Gate::Well)));
    let together = |shown: &Vec<&LostFigure>| {
        let last = (*shown.last()?).clone();
        Some(LostFigure { lost: shown.len() as u32, passes: of, ..last })
    };
    (worst_gate, named.filter_map(together).collect())
}

#[cfg(test)]
mod tests {
    use report::row::RowStatus;

    use super::*;
    use crate::baseline::Class;

    const CASE: &str = "alone/pinned/h2d/67108864";

    /// A pass of three GPUs that are twins, in which some are slower.
    fn pass(slower: &[&str]) -> CheckPass {
        let class = Class { gpu: "a GPU".into(), best_link: None, cpu: None, locality: "l3".into() };
        let gpus = ["GPU 0", "GPU 1", "GPU 2"];
        let value = |gpu: &str| Value {
            class: class.clone(),
            case: CASE.into(),
            host: "n1".into(),
            device: gpu.into(),
            rate: if slower.contains(&gpu) { 27e9 } else { 54e9 },
        };
        let twin = |gpu: &&str| SlowerTwin {
            device: (*gpu).into(),
            rank: 0,
            case: CASE.into(),
            bytes_per_s: 27e9,
            twins_bytes_per_s: 54e9,
            twins: 2,
            slower_cases: 1,
            judged_cases: 1,
            cause: String::new(),
        };
        let compared = gpus.map(|gpu| (gpu.to_owned(), CASE.to_owned())).into();
        let twins = ComparedTwins { compared, slower: slower.iter().map(twin).collect() };
        CheckPass { values: gpus.map(value).into(), twins, lost: Vec::new() }
    }

    /// The same pass without the figure of one GPU.
    fn without(gpu: &str, status: RowStatus) -> CheckPass {
        let mut pass = pass(&[]);
        pass.values.retain(|value| value.device != gpu);
        let (device, case, reason) = (gpu.to_owned(), CASE.to_owned(), "error 719".to_owned());
        pass.lost.push(LostFigure { device, case, status, reason, lost: 1, passes: 1 });
        pass
    }

    fn judged(passes: &[CheckPass]) -> (Option<Gate>, Vec<String>) {
        let PassesVerdict { gate, slower_twins, lost, .. } = judge_passes(None, passes);
        let slow = slower_twins.into_iter().map(|twin| twin.device);
        (gate, slow.chain(lost.into_iter().map(|lost| lost.device)).collect())
    }

    #[test]
    fn another_gpu_that_is_slow_in_each_pass_is_no_finding() {
        let [zero, one, two] = [pass(&["GPU 0"]), pass(&["GPU 1"]), pass(&["GPU 2"])];
        assert_eq!(judged(&[zero.clone(), one, two.clone()]), (Some(Gate::Well), vec![]));
        assert_eq!(judged(&[pass(&[]), pass(&[]), two]), (Some(Gate::Well), vec![]), "of a fleet");
        assert_eq!(judged(&[pass(&[])]), (Some(Gate::Well), vec![]));
        assert_eq!(judged(&[zero]).0, None, "it is looked at again");
    }

    #[test]
    fn a_gpu_that_is_slow_in_all_passes_is_a_finding_and_in_two_undecided() {
        let (slow, well) = (pass(&["GPU 1"]), pass(&[]));
        let named = vec!["GPU 1".to_owned()];
        assert_eq!(judged(&[slow.clone(), slow.clone()]).0, None);
        assert_eq!(judged(&[slow.clone(), slow.clone(), slow.clone()]), (Some(Gate::Finding), named.clone()));
        assert_eq!(judged(&[slow.clone(), slow, well]), (Some(Gate::Undecided), named));
    }

    #[test]
    fn a_gpu_whose_copies_fail_is_never_well_and_one_of_all_passes_is_a_finding() {
        let dead = without("GPU 2", RowStatus::Failed);
        let named = vec!["GPU 2".to_owned()];
        assert_eq!(judged(std::slice::from_ref(&dead)).0, None);
        assert_eq!(judged(&[dead.clone(), dead.clone(), dead.clone()]), (Some(Gate::Finding), named.clone()));
        assert_eq!(judged(&[dead, pass(&[]), pass(&[])]), (Some(Gate::Undecided), named.clone()));

        // What was not tried, or not as asked, is no fault of the GPU.
        let skipped = without("GPU 2", RowStatus::Skipped);
        let three = [skipped.clone(), skipped.clone(), skipped.clone()];
        assert_eq!(judged(&three), (Some(Gate::Undecided), named));
        assert_eq!(judged(&[skipped, pass(&[]), pass(&[])]), (Some(Gate::Well), vec![]));
    }

    #[test]
    fn a_node_of_which_nothing_was_compared_is_not_well() {
        let alone = CheckPass { twins: ComparedTwins::default(), ..pass(&[]) };
        assert_eq!(judged(&[alone]), (Some(Gate::Undecided), vec![]));
        assert_eq!(judged(&[CheckPass::default()]), (Some(Gate::Undecided), vec![]));
    }
}
