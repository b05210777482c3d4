//! Every check on a node where it is right and on one where it is wrong: `node` is right in all of them, and each case changes one thing of it.
//!
//! * `devices` PCIe, GPUs and adapters; `system` memory, cores, containers; `jobs` Slurm and Kubernetes.

mod devices;
mod jobs;
mod node;
mod system;

use std::collections::BTreeSet;
use std::error::Error;

use node::Node;
use report::doctor::State;

/// What a check's name begins with.
const PARTS: [&str; 7] = ["pcie", "memory", "cpu", "gpu", "container", "slurm", "kubernetes"];

type Outcome = Result<(), Box<dyn Error>>;

/// What a change makes of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// In order.
    Well,
    /// Look at this, and it costs.
    Costly,
    /// Look at this.
    Odd,
    /// Unknown, and it could cost.
    Open,
    /// Unknown.
    Unknown,
    /// Not a thing of this node.
    Gone,
}

/// A change of the node that is right, and what it makes of one check, with a word of what is seen.
type Case = (&'static str, Is, &'static str, fn(&mut Node) -> std::io::Result<()>);

fn how(node: &Node, name: &str) -> (Is, String) {
    let Some(check) = node.checks().into_iter().find(|check| check.name == name) else {
        return (Is::Gone, String::new());
    };
    let is = match (check.state, check.costs) {
        (State::Ok, _) => Is::Well,
        (State::Look, true) => Is::Costly,
        (State::Look, false) => Is::Odd,
        (State::Unknown, true) => Is::Open,
        (State::Unknown | State::Newer, _) => Is::Unknown,
    };
    assert_eq!(check.change.is_some(), matches!(is, Is::Costly | Is::Odd), "{check:?}");
    assert_eq!(check.who.is_some(), matches!(is, Is::Open | Is::Unknown), "{check:?}");
    (is, check.seen)
}

/// Each case on a node of its own. Where the change is not to the check's liking, the check was in order before.
fn tried(cases: &[Case]) -> Outcome {
    for (at, (name, is, word, change)) in cases.iter().enumerate() {
        let mut node = Node::right()?;
        let before = how(&node, name);
        change(&mut node)?;
        let (now, seen) = how(&node, name);
        assert_eq!(now, *is, "case {at}, {name}: {seen}");
        assert!(seen.contains(word), "case {at}, {name}: {seen}");
        assert!(before.0 == Is::Gone || before.0 == Is::Well || before.0 == Is::Odd, "{name} before: {before:?}");
    }
    Ok(())
}

#[test]
fn a_node_that_is_as_it_should_be_has_nothing_that_costs_and_nothing_unknown() -> Outcome {
    let node = Node::right()?;
    let checks = node.checks();
    let other: Vec<_> = checks.iter().filter(|check| check.state != State::Ok).collect();
    // One node a package is a matter of taste.
    assert!(other.iter().all(|check| check.name == "memory.nodes-per-package" && !check.costs), "{other:#?}");
    assert_eq!(doctor::answer(&checks).exit_code, 0);
    assert!(checks.len() >= 36, "{}", checks.len());
    for check in &checks {
        assert!(!check.seen.is_empty() && !check.why.is_empty() && !check.source.is_empty(), "{check:?}");
    }
    let mut names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks.len(), "a name is a check's alone");
    Ok(())
}

/// Every case of every file.
const ALL: [&[Case]; 10] = [
    devices::PATHS,
    devices::DRIVER,
    devices::AMD,
    jobs::FILES,
    jobs::STEPS,
    jobs::PODS,
    system::MEMORY,
    system::NODES,
    system::CORES,
    system::CONTAINERS,
];

#[test]
fn every_check_has_a_node_where_it_is_right_and_one_where_it_is_wrong() -> Outcome {
    // The names as they stand in the code: a check that nobody tries cannot be forgotten here.
    let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/src/judge");
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(judge)? {
        let text = std::fs::read_to_string(file?.path())?;
        let is_name = |word: &&str| {
            let part = word.split_once('.').filter(|(_, name)| !name.is_empty()).map(|(part, _)| part);
            part.is_some_and(|part| PARTS.contains(&part))
                && word.chars().all(|c| c.is_ascii_lowercase() || "-.".contains(c))
        };
        names.extend(text.split('"').filter(is_name).map(str::to_owned));
    }
    assert_eq!(names.len(), 44, "{names:?}");
    let right = Node::right()?;
    for name in &names {
        let cases = || ALL.iter().copied().flatten().filter(|(tried, ..)| tried == name);
        let well = how(&right, name).0 == Is::Well || cases().any(|(_, is, ..)| *is == Is::Well);
        let wrong = cases().any(|(_, is, ..)| matches!(is, Is::Costly | Is::Odd | Is::Open));
        assert!(well && wrong, "{name}: right {well}, wrong {wrong}");
    }
    Ok(())
}

#[test]
fn a_machine_that_shows_nothing_gets_an_answer_without_a_guess() -> Outcome {
    let mut node = Node::right()?;
    for folder in ["/proc", "/sys", "/etc"] {
        node.gone(folder)?;
    }
    node.nvidia = Some(Err("libnvidia-ml.so.1 cannot be loaded".to_owned()));
    let checks = node.checks();
    let well: Vec<&str> =
        checks.iter().filter(|check| check.state == State::Ok).map(|check| check.name.as_str()).collect();
    assert!(well.iter().all(|name| !name.starts_with("gpu.")), "{well:?}");
    for name in ["pcie.acs", "memory.numa-balancing", "gpu.confidential", "pcie.peer-access"] {
        assert_eq!(how(&node, name).0, Is::Open, "{name}");
    }
    assert_eq!(doctor::answer(&checks).exit_code, 6);
    Ok(())
}
