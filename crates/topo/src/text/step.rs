//! The job step: what of the node it has, and the node's rest.

use stats::IdSet;

use super::layout::{count, ids, wrapped};
use crate::model::Topology;
use crate::step::{GpuShare, Step, StepShare};
use crate::survey::Survey;

/// A row for PUs and one for GPUs, each with what is not in the step; nothing outside of a step.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let Some(step) = &survey.step else { return Vec::new() };
    let mut lines = vec![title(step)];
    lines.extend(rows("PUs", &pus(&survey.topology, &step.cpus), width));
    lines.extend(rows("GPUs", &gpus(&survey.topology, &step.gpus), width));
    lines
}

fn title(step: &Step) -> String {
    let what = match step.step.as_str() {
        "batch" => "its batch script".to_owned(),
        "interactive" => "its interactive step".to_owned(),
        number => format!("step {number}"),
    };
    let node = step.node.as_ref().map_or_else(String::new, |node| format!(", on node {node}"));
    format!("Slurm job {}, {what}{node}", step.job)
}

fn rows(name: &str, sentences: &[String], width: usize) -> Vec<String> {
    let lead = |at: usize| if at == 0 { format!("  {name:<6}") } else { " ".repeat(8) };
    sentences.iter().enumerate().flat_map(|(at, sentence)| wrapped(&lead(at), sentence, width)).collect()
}

fn pus(topology: &Topology, share: &StepShare) -> Vec<String> {
    let cores = topology.cores.iter().filter(|core| !core.pus.and(&share.usable).is_empty()).count();
    let own = format!("{} ({cores} of {})", ids(&share.usable), count(topology.cores.len(), "core"));
    let told =
        share.count.is_some_and(|count| u32::try_from(share.usable.len()).is_ok_and(|own| count >= own));
    sentences(own, share, ids, !told)
}

fn gpus(topology: &Topology, gpus: &GpuShare) -> Vec<String> {
    let by_slurm = |numbers: &IdSet| format!("{} as Slurm numbers them", ids(numbers));
    if topology.gpus.is_empty() {
        let mut lines = Vec::new();
        match (&gpus.numbers, gpus.share.count) {
            (Some(numbers), Some(all)) if all as usize > numbers.len() => {
                lines.push(format!("this task has {}, of the step's {all}", by_slurm(numbers)));
            }
            (Some(numbers), _) => lines.push(by_slurm(numbers)),
            (None, Some(all)) => lines.push(format!("{all} in this step; Slurm does not say which")),
            (None, None) => {}
        }
        if !gpus.other_numbers.is_empty() {
            lines.push(format!("not in this step: {}", by_slurm(&gpus.other_numbers)));
        }
        lines.push(gpus.share.reason.clone());
        return lines;
    }

    let own: Vec<String> = topology
        .gpus
        .iter()
        .filter(|gpu| gpus.share.usable.contains(gpu.index))
        .map(|gpu| format!("{} ({})", gpu.index, gpu.pci))
        .collect();
    let own = if own.is_empty() { "none known to be in this step".to_owned() } else { own.join(", ") };
    sentences(own, &gpus.share, ids, true)
}

/// What is whose, and how that is known where `doubtful` or where something is untold.
fn sentences(own: String, share: &StepShare, list: impl Fn(&IdSet) -> String, doubtful: bool) -> Vec<String> {
    let mut lines = vec![own];
    for (words, set) in [
        ("not in this step", &share.not_in_step),
        ("in this step, but not this task's", &share.other_tasks),
        ("perhaps in this step", &share.untold),
    ] {
        if !set.is_empty() {
            lines.push(format!("{words}: {}", list(set)));
        }
    }
    if doubtful || !share.untold.is_empty() {
        lines.push(share.reason.clone());
    }
    lines
}
