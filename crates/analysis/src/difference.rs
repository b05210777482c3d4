//! What each node has otherwise than most nodes: pure, over the facts of all of them.
//!
//! Most means more than half. Where no value is that of so many (two nodes, or a partition of two halves)
//! nobody can say which is the odd one, and each node is said to differ from the others. Amounts need not be
//! equal: kernels of the same machine keep a little more or less memory for themselves, and a clock's cost is
//! itself a measurement.

use report::environment::Probe;
use report::node::{Difference, NodeFacts, NodeGpu};

/// The probes that should be alike on all nodes. The others (host name, cgroup, job) are a node's own.
pub const ALIKE: [&str; 12] = [
    "kernel.release",
    "os.name",
    "cpu.model",
    "cpu.governor",
    "kernel.clocksource",
    "memory.transparent_huge_pages",
    "kernel.numa_balancing",
    "limits.memlock_soft_bytes",
    "limits.memlock_hard_bytes",
    "platform.virtual_machine",
    "driver.nvidia",
    "driver.amdgpu",
];

/// Memory that differs by less than this share is alike: the kernel's and the firmware's own part varies by a
/// few tenths of a per cent, while one module of the usual 8 to 32 is 3 % or more.
const LIKE_MEMORY: f64 = 0.02;

/// A clock that costs no more than this is alike to any other such: the TSC is read in some 20 to 40 ns.
const CHEAP_CLOCK_NS: f64 = 100.0;

/// Clocks that cost more are alike up to this factor. The HPET and the ACPI timer cost ten times the TSC and
/// more.
const LIKE_CLOCK: f64 = 2.0;

/// For each node, in the order given, what it has otherwise than most.
pub fn differences(nodes: &[NodeFacts]) -> Vec<Vec<Difference>> {
    let mut found = vec![Vec::new(); nodes.len()];
    for name in ALIKE {
        compare(name, nodes, &mut found, |facts| probe(facts, name), |a, b| a == b, String::clone);
    }
    let text = |text: &String| text.clone();
    compare("api_version", nodes, &mut found, |facts| facts.api_version.clone(), |a, b| a == b, text);
    compare("timer.clock", nodes, &mut found, |facts| Some(facts.timer.clock.clone()), |a, b| a == b, text);
    compare(
        "timer.cost_ns",
        nodes,
        &mut found,
        |facts| Some(facts.timer.cost_ns),
        like_clocks,
        |ns| stats::units::duration_ns(*ns),
    );

    compare("cpu_models", nodes, &mut found, |facts| Some(counted(&facts.cpu_models)), |a, b| a == b, text);
    compare("numa_nodes", nodes, &mut found, |facts| Some(facts.numa_nodes), |a, b| a == b, u32::to_string);
    compare(
        "memory_bytes",
        nodes,
        &mut found,
        |facts| Some(facts.memory_bytes),
        like_memory,
        |bytes| stats::units::rounded_size(*bytes),
    );

    let names = |facts: &NodeFacts| facts.gpus.iter().map(|gpu| gpu.name.clone()).collect::<Vec<_>>();
    compare("gpus", nodes, &mut found, |facts| Some(counted(&names(facts))), |a, b| a == b, text);
    let links = |facts: &NodeFacts| facts.gpus.iter().map(NodeGpu::link_text).collect::<Vec<_>>();
    compare("gpus.link", nodes, &mut found, |facts| Some(counted(&links(facts))), |a, b| a == b, text);
    compare(
        "topology_digest",
        nodes,
        &mut found,
        |facts| facts.topology_digest.value.clone(),
        |a, b| a == b,
        text,
    );
    found
}

/// Compares one fact over all nodes and notes what is not as most have it. An unknown value is a value: a
/// probe that fails on one node only is a difference.
fn compare<T>(
    fact: &str,
    nodes: &[NodeFacts],
    found: &mut [Vec<Difference>],
    of: impl Fn(&NodeFacts) -> Option<T>,
    alike: impl Fn(&T, &T) -> bool,
    text: impl Fn(&T) -> String,
) {
    let values: Vec<Option<T>> = nodes.iter().map(of).collect();
    let same = |a: &Option<T>, b: &Option<T>| match (a, b) {
        (Some(a), Some(b)) => alike(a, b),
        (None, None) => true,
        _ => false,
    };
    let Some(first) = values.first() else { return };
    if values.iter().all(|value| same(first, value)) {
        return;
    }
    let shown = |value: &Option<T>| value.as_ref().map_or("not known".to_owned(), &text);
    let holders = |one: &Option<T>| values.iter().filter(|value| same(one, value)).count();
    let most =
        values.iter().map(|value| (holders(value), value)).reduce(|a, b| if b.0 > a.0 { b } else { a });
    let most = most.filter(|(holders, _)| 2 * holders > values.len()).map(|(_, value)| value);

    for (value, found) in values.iter().zip(found) {
        if most.is_none_or(|most| !same(most, value)) {
            found.push(Difference { fact: fact.to_owned(), this: shown(value), most: most.map(shown) });
        }
    }
}

fn probe(facts: &NodeFacts, name: &str) -> Option<String> {
    let is = |probe: &&Probe| probe.name == name;
    let value = facts.probes.iter().find(is)?.value.as_ref()?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// `8 × NVIDIA H200`, in the order of first appearance; `none` for an empty list.
fn counted(texts: &[Option<String>]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for text in texts.iter().map(|text| text.as_deref().unwrap_or("not known")) {
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    let parts: Vec<String> = counts.into_iter().map(|(text, count)| format!("{count} × {text}")).collect();
    if parts.is_empty() { "none".into() } else { parts.join(", ") }
}

fn like_memory(a: &u64, b: &u64) -> bool {
    a.abs_diff(*b) as f64 <= LIKE_MEMORY * *a.max(b) as f64
}

fn like_clocks(a: &f64, b: &f64) -> bool {
    let (less, more) = (a.min(*b), a.max(*b));
    more <= CHEAP_CLOCK_NS || more <= LIKE_CLOCK * less
}
