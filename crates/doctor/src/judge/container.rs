//! What this process may ask of the kernel: the calls that place threads and memory, which containers refuse
//! by default.

use engine::CallFailure;
use report::doctor::{Check, Part};

use super::probe::Probe;
use crate::facts::SystemFacts;

const SOURCE: &str =
    "Docker, Seccomp security profiles for Docker (significant syscalls blocked by the default profile)";
/// Docker's default profile allows the calls of memory policies with this capability.
const WITH_CAPABILITY: &str = "start the container with --cap-add SYS_NICE (a pod: \
    securityContext.capabilities.add [SYS_NICE]), or with a seccomp profile that allows set_mempolicy, mbind \
    and get_mempolicy";
const WITH_PROFILE: &str = "start the container with a seccomp profile that allows the call (Docker: \
    --security-opt seccomp=FILE, a pod: securityContext.seccompProfile)";

const AFFINITY: Probe = Probe {
    name: "container.affinity",
    part: Part::Container,
    why: "without it no rank can be bound to a core from here",
    source: "sched_setaffinity(2); Docker, Seccomp security profiles for Docker",
};

const POLICY: Probe = Probe {
    name: "container.memory-policy",
    part: Part::Container,
    why: "without it no memory can be placed on a node from here: numactl and MPI's own placement fail",
    source: SOURCE,
};

const PAGES: Probe = Probe {
    name: "container.page-nodes",
    part: Part::Container,
    why: "without it nobody can see on which node a page lies, so that no placement can be proven",
    source: SOURCE,
};

/// A kernel without NUMA has no such calls.
fn is_without_numa(facts: &SystemFacts<'_>, why: &str) -> bool {
    why.contains("os error 38") && facts.survey.topology.machine_has_one_node()
}

fn answered(
    facts: &SystemFacts<'_>,
    probe: &Probe,
    (call, change): (&str, &str),
    answer: &Result<(), CallFailure>,
) -> Option<Check> {
    match answer {
        Ok(()) => probe.ok(format!("{call} answers")),
        Err(CallFailure::Refused(why)) if is_without_numa(facts, why) => {
            probe.ok(format!("{call}: a kernel without NUMA"))
        }
        Err(CallFailure::Refused(why)) => probe.costs(format!("{call} is refused: {why}"), change),
        Err(CallFailure::NotAsked(why)) => probe.open(
            format!("{call} could not be tried: {why}"),
            "a process with fewer threads, or a higher limit (ulimit -u)",
        ),
    }
}

pub(super) fn affinity(facts: &SystemFacts<'_>) -> Option<Check> {
    answered(facts, &AFFINITY, ("sched_setaffinity", WITH_PROFILE), &facts.calls.affinity)
}

pub(super) fn memory_policy(facts: &SystemFacts<'_>) -> Option<Check> {
    answered(facts, &POLICY, ("set_mempolicy", WITH_CAPABILITY), &facts.calls.memory_policy)
}

pub(super) fn page_nodes(facts: &SystemFacts<'_>) -> Option<Check> {
    // move_pages is refused with any capability; get_mempolicy, which answers the same of one page, is not.
    let (call, answer) = match &facts.calls.page_nodes {
        Ok(call) => (*call, Ok(())),
        Err(why) => ("move_pages", Err(why.clone())),
    };
    answered(facts, &PAGES, (call, WITH_CAPABILITY), &answer)
}
