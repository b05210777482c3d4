//! What was done, in one line a rank; the same as shell assignments.

use std::ffi::OsString;

use launchers::LaunchSize;

use stats::IdSet;
use sys::policy::NodeUse;

use super::{RankBinding, RankSetup, WorkersSetup};

/// The line of a rank: who it is, where it was put and why, which GPUs it has, which variables were set.
pub fn line(setup: &RankSetup, host: &str) -> String {
    let RankSetup { slot, place, drives, pool, .. } = setup;
    let of_node = format!("rank {} of {} on {host}", slot.local_rank, slot.local_size);
    let who = match slot.of_all {
        Some((rank, LaunchSize::Known(size))) => format!("rank {rank} of {size} ({of_node})"),
        Some((rank, LaunchSize::AtLeast(_))) => format!("rank {rank} ({of_node})"),
        None if slot.is_only() => format!("one process on {host}"),
        None => of_node,
    };
    let mut parts =
        vec![format!("PUs {} ({})", place.pus, if place.is_bound { &place.why } else { &pool.how })];
    if place.is_bound {
        parts.push(format!("taken from {} ({})", pool.pus, pool.how));
    }
    parts.push(memory(place));
    for seen in drives {
        let name = seen.part.as_deref().map(|part| format!(" ({part})")).unwrap_or_default();
        parts.push(format!("GPU {} = {}{name}", seen.target.index, seen.target.id));
    }

    if let Some(closeness) = place.closeness {
        parts.push(closeness.text().to_owned());
    }

    if setup.variables.is_empty() {
        parts.push("no variable set".to_owned());
    } else {
        let set = setup.variables.iter().map(|(name, value)| format!("{name}={value}"));
        parts.push(set.collect::<Vec<_>>().join(" "));
    }

    parts.extend(setup.notes.iter().cloned());
    format!("{who}: {}", parts.join("; "))
}

fn memory(place: &RankBinding) -> String {
    let nodes = &place.memory;
    match place.memory_use {
        _ if nodes.is_empty() => "memory as it was".to_owned(),
        NodeUse::Interleave => format!("memory interleaved over {}", nodes_named(nodes)),
        NodeUse::WeightedInterleave => {
            format!("memory interleaved over {} by the kernel's weights", nodes_named(nodes))
        }
        NodeUse::Bind => format!("memory bound to {}", nodes_named(nodes)),
    }
}

fn nodes_named(nodes: &IdSet) -> String {
    if nodes.len() == 1 { format!("node {nodes}") } else { format!("nodes {nodes}") }
}

/// The variables as a shell sets them, and in comments the rest.
pub fn assignments(setup: &RankSetup, host: &str) -> String {
    let mut text = format!("# {}\n", line(setup, host));
    let mut wrapper = Vec::new();
    if setup.place.is_bound {
        wrapper.push(format!("taskset -c {}", setup.place.pus));
    }

    if !setup.place.memory.is_empty() {
        let option = match setup.place.memory_use {
            NodeUse::Bind => "--membind",
            NodeUse::Interleave => "--interleave",
            NodeUse::WeightedInterleave => "--weighted-interleave",
        };
        wrapper.push(format!("numactl {option}={}", setup.place.memory));
    }

    if !wrapper.is_empty() {
        text.push_str(&format!("# bound as by: {}\n", wrapper.join(" ")));
    }
    for (name, value) in &setup.variables {
        text.push_str(&assignment(name, value));
    }
    text
}

/// The variables of an engine as a shell sets them, and in comments what its workers get.
pub fn engine(setup: &WorkersSetup, variables: &[(&'static str, OsString)]) -> String {
    let mut text = String::new();
    for line in setup.lines().iter().chain(&setup.notes) {
        text.push_str(&format!("# {line}\n"));
    }
    for (name, value) in variables {
        text.push_str(&assignment(name, &value.to_string_lossy()));
    }
    text
}

fn assignment(name: &str, value: &str) -> String {
    format!("export {name}='{}'\n", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use launchers::Launcher;
    use placement::Closeness;

    use super::*;
    use crate::machine::{NVIDIA, set, start};
    use crate::place::RankBinding;
    use crate::pool::{Pool, PoolOwner};
    use crate::rank_slot::RankSlot;
    use crate::visible::VisibleGpus;

    fn setup() -> RankSetup {
        let visible = VisibleGpus::of(&start(NVIDIA, &[1], &[]));
        RankSetup {
            slot: RankSlot {
                launcher: Launcher::Srun,
                of_all: Some((5, LaunchSize::Known(8))),
                local_rank: 1,
                local_size: 4,
            },
            pool: Pool { pus: set("0-15"), owner: PoolOwner::AllRanks, how: "the step's PUs".to_owned() },
            place: RankBinding {
                pus: set("6-7"),
                is_bound: true,
                memory: set("1"),
                memory_use: NodeUse::Bind,
                closeness: Some(Closeness::NumaLocal),
                why: "its share".to_owned(),
            },
            drives: visible.gpus,
            variables: vec![
                ("CUDA_VISIBLE_DEVICES", "GPU-1".to_owned()),
                ("OMP_NUM_THREADS", "2".to_owned()),
            ],
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn a_line_says_who_where_with_what_and_why() {
        assert_eq!(
            line(&setup(), "n0"),
            "rank 5 of 8 (rank 1 of 4 on n0): PUs 6-7 (its share); taken from 0-15 (the step's PUs); memory \
             bound to node 1; GPU 1 = 0000:02:00.0; NUMA-local; CUDA_VISIBLE_DEVICES=GPU-1 \
             OMP_NUM_THREADS=2; a note"
        );
    }

    #[test]
    fn a_process_on_its_own_that_keeps_its_pus_says_that() {
        let mut setup = setup();
        setup.slot = RankSlot { launcher: Launcher::Nobody, of_all: None, local_rank: 0, local_size: 1 };
        setup.pool.how = "kept as they were".to_owned();
        (setup.place.is_bound, setup.place.memory, setup.place.closeness) = (false, set(""), None);
        (setup.drives, setup.variables, setup.notes) = (Vec::new(), Vec::new(), Vec::new());
        let line = line(&setup, "n0");
        assert_eq!(line, "one process on n0: PUs 6-7 (kept as they were); memory as it was; no variable set");
    }

    #[test]
    fn assignments_can_be_read_by_a_shell_whatever_a_value_holds() {
        let mut setup = setup();
        setup.variables[0].1 = "it's".to_owned();
        let text = assignments(&setup, "n0");
        assert!(text.contains("# bound as by: taskset -c 6-7 numactl --membind=1\n"), "{text}");
        assert!(text.contains("export CUDA_VISIBLE_DEVICES='it'\\''s'\n"), "{text}");
        let lines_are_fit = |line: &str| line.starts_with("# ") || line.starts_with("export ");
        assert!(text.lines().all(lines_are_fit), "{text}");
    }
}
