//! Every check on a node where it is right and on one where it is wrong: `node` is right in all of them, and
//! each case changes one thing of it.
//!
//! * `devices` PCIe, GPUs and adapters; `gpu_memory` what the host keeps in GPUs' memory; `system` memory,
//!   cores, containers; `jobs` Slurm and Kubernetes.

mod amd;
mod devices;
mod gpu_memory;
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

/// Each case on a node of its own. Where the change is not to the check's liking, the check was in order
/// before.
fn tried(cases: &[Case]) -> Outcome {
    let mut failures = Vec::new();

    for (at, (name, is, word, change)) in cases.iter().enumerate() {
        let mut node = Node::right()?;
        let before = how(&node, name);
        change(&mut node)?;
        let (now, seen) = how(&node, name);
        if now != *is || !seen.contains(word) {
            failures.push(format!("case {at}, {name}: {now:?} \"{seen}\", and not {is:?} \"{word}\""));
        }
        if !matches!(before.0, Is::Gone | Is::Well | Is::Odd) {
            failures.push(format!("case {at}, {name} before: {before:?}"));
        }
    }

    assert!(failures.is_empty(), "{}", failures.join("\n"));
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

/// The one check that nothing is wrong for: the platform reports where a GPU is, or it does not.
const TOLD_OR_NOT: &str = "memory.gpu-locality";

/// Every case of every file.
const ALL: [&[Case]; 11] = [
    devices::PATHS,
    devices::DRIVER,
    amd::AMD,
    jobs::FILES,
    jobs::STEPS,
    jobs::PODS,
    system::MEMORY,
    system::NODES,
    gpu_memory::GPU_NODES,
    system::CORES,
    system::CONTAINERS,
];

#[test]
fn every_check_has_a_node_where_it_is_right_one_where_it_is_wrong_and_one_where_it_is_unknown() -> Outcome {
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
    assert_eq!(names.len(), 47, "{names:?}");
    let right = Node::right()?;
    let mut lacking = Vec::new();

    for name in &names {
        let has = |wanted: &[Is]| {
            ALL.iter().copied().flatten().any(|(tried, is, ..)| tried == name && wanted.contains(is))
        };
        if !has(&[Is::Well]) && how(&right, name).0 != Is::Well {
            lacking.push(format!("{name}: no node where it is right"));
        }
        let is_told_or_not = name == TOLD_OR_NOT;
        if !has(&[Is::Costly, Is::Odd]) && !is_told_or_not {
            lacking.push(format!("{name}: no node where it is wrong"));
        }
        // What can cost is open where it is not known: an unknown setting must not end with exit code 0.
        let unknown = if has(&[Is::Costly]) || is_told_or_not { Is::Open } else { Is::Unknown };
        if !has(&[unknown]) {
            lacking.push(format!("{name}: no node where it is {unknown:?}"));
        }
    }

    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    Ok(())
}

/// What the judge says of the right node without some of its files: the names of its checks, and the exit
/// code.
fn without(folders: &[&str]) -> Result<(BTreeSet<String>, u8), Box<dyn Error>> {
    let node = Node::right()?;
    for folder in folders {
        node.gone(folder)?;
    }
    let checks = node.checks();
    Ok((checks.iter().map(|check| check.name.clone()).collect(), doctor::answer(&checks).exit_code))
}

#[test]
fn a_file_system_that_is_hidden_makes_settings_unknown_and_none_vanish() -> Outcome {
    let (all, exit_code) = without(&[])?;
    assert_eq!(exit_code, 0);

    for hidden in [&["/proc"][..], &["/sys"], &["/proc", "/sys"]] {
        let (shown, exit_code) = without(hidden)?;
        let vanished: Vec<_> = all.difference(&shown).collect();
        assert!(vanished.is_empty(), "without {hidden:?}: {vanished:?}");
        assert_eq!(exit_code, 6, "without {hidden:?}");
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
