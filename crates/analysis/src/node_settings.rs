//! Settings of nodes side by side, as `doctor` saw them: which cost placement or bandwidth and where, and
//! which nodes are set up unlike most. Pure.
//!
//! A node is unlike most where more than half of the nodes have a setting one way and it has another. Where
//! no such way is common because what was seen has something of each node's own in it (a process's number),
//! the checks' states are compared instead. The latest document of a node counts.

use std::collections::BTreeMap;

use report::doctor::{Check, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alike::{distinct, grouped};

use crate::node_run::NodeRun;

/// A setting that costs placement or bandwidth on a node, or that nodes have differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSetting {
    /// The check's name, `memory.numa-balancing`.
    pub name: String,
    /// How nodes have it, the commonest way first.
    pub ways: Vec<SettingWay>,
}

/// One way in which nodes have a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingWay {
    /// How it is; null where these nodes have no such thing.
    pub state: Option<State>,
    /// Whether it costs placement or bandwidth, or could where it is unknown.
    pub costs: bool,
    /// What was seen; empty where there is no such thing.
    pub seen: String,
    /// How to change it; null where there is nothing to change.
    pub change: Option<String>,
    /// The nodes that have it this way.
    pub hosts: Vec<String>,
    /// Whether most nodes have it otherwise.
    pub is_unlike_most: bool,
}

/// How many settings of a node are how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingCounts {
    /// Those that cost placement or bandwidth.
    pub costly: u32,
    /// Those worth a look at no such cost.
    pub remarks: u32,
    /// Those that cannot be known there.
    pub unknown: u32,
    /// Those in order.
    pub well: u32,
    /// The names of those that most nodes have otherwise.
    pub unlike_most: Vec<String>,
}

/// The settings worth naming, those that cost first, and each node's counts; both empty without a document of
/// `doctor`. `runs` stand in the order of time.
pub(crate) fn settings(runs: &[NodeRun]) -> (Vec<NodeSetting>, BTreeMap<&str, SettingCounts>) {
    let latest: BTreeMap<&str, &[Check]> = runs
        .iter()
        .filter(|run| !run.checks.is_empty())
        .map(|run| (&run.host[..], &run.checks[..]))
        .collect();
    let mut counts: BTreeMap<&str, SettingCounts> =
        latest.iter().map(|(host, checks)| (*host, counted(checks))).collect();
    let mut found: Vec<NodeSetting> = Vec::new();

    for name in distinct(latest.values().copied().flatten().map(|check| &check.name[..])) {
        let setting = setting(name, &latest);
        for host in setting.ways.iter().filter(|way| way.is_unlike_most).flat_map(|way| &way.hosts) {
            if let Some(counts) = counts.get_mut(&host[..]) {
                counts.unlike_most.push(name.to_owned());
            }
        }
        let first = setting.ways.first().map(how);
        if setting.ways.iter().any(|way| way.is_costly() || way.is_unlike_most || Some(how(way)) != first) {
            found.push(setting);
        }
    }

    found.sort_by_key(|setting| !setting.ways.iter().any(SettingWay::is_costly));
    (found, counts)
}

impl SettingWay {
    /// Whether it costs placement or bandwidth for certain.
    pub fn is_costly(&self) -> bool {
        self.costs && self.state == Some(State::Look)
    }
}

/// What two ways have in common where what was seen is left aside.
fn how(way: &SettingWay) -> (Option<State>, bool) {
    (way.state, way.costs)
}

fn counted(checks: &[Check]) -> SettingCounts {
    let with = |holds: fn(&Check) -> bool| checks.iter().filter(|check| holds(check)).count() as u32;
    SettingCounts {
        costly: with(Check::is_costly),
        remarks: with(|check| check.state == State::Look && !check.costs),
        unknown: with(|check| check.state == State::Unknown),
        well: with(|check| check.state == State::Ok),
        unlike_most: Vec::new(),
    }
}

fn setting(name: &str, latest: &BTreeMap<&str, &[Check]>) -> NodeSetting {
    let mut ways: Vec<SettingWay> = Vec::new();
    for (host, checks) in latest {
        let check = checks.iter().find(|check| check.name == name);
        let way = SettingWay {
            state: check.map(|check| check.state),
            costs: check.is_some_and(|check| check.costs),
            seen: check.map_or_else(String::new, |check| check.seen.clone()),
            change: check.and_then(|check| check.change.clone()),
            hosts: Vec::new(),
            is_unlike_most: false,
        };
        let known = ways.iter().position(|known| (how(known), &known.seen) == (how(&way), &way.seen));
        let at = known.unwrap_or_else(|| {
            ways.push(way);
            ways.len() - 1
        });
        ways[at].hosts.push((*host).to_owned());
    }

    ways.sort_by_key(|way| std::cmp::Reverse(way.hosts.len()));
    let is_most = |hosts: usize| hosts * 2 > latest.len();

    if is_most(ways.first().map_or(0, |way| way.hosts.len())) {
        ways.iter_mut().skip(1).for_each(|way| way.is_unlike_most = true);
    } else {
        let by_state: Vec<(_, Vec<usize>)> = grouped(ways.iter().map(|way| (how(way), way.hosts.len())));
        if let Some((common, _)) = by_state.into_iter().find(|(_, hosts)| is_most(hosts.iter().sum())) {
            ways.iter_mut().for_each(|way| way.is_unlike_most = how(way) != common);
        }
    }
    NodeSetting { name: name.to_owned(), ways }
}

#[cfg(test)]
mod tests {
    use report::doctor::Part;

    use super::*;

    fn check(name: &str, state: State, costs: bool, seen: &str) -> Check {
        Check {
            name: name.to_owned(),
            part: Part::Memory,
            state,
            costs,
            seen: seen.to_owned(),
            why: String::new(),
            source: String::new(),
            change: None,
            who: None,
        }
    }

    fn run(host: &str, day: u32, checks: Vec<Check>) -> NodeRun {
        let started_at = format!("2026-11-2{day}T00:00:00Z");
        NodeRun {
            host: host.into(),
            started_at,
            asked: "doctor".into(),
            trouble: None,
            simulated: None,
            points: Vec::new(),
            checks,
            reference: Vec::new(),
        }
    }

    fn names(found: &[NodeSetting]) -> Vec<&str> {
        found.iter().map(|setting| &setting.name[..]).collect()
    }

    #[test]
    fn the_node_that_is_set_up_unlike_most_is_named_and_what_all_have_is_not() {
        let of = |host: usize| {
            let balancing = if host == 3 {
                check("b", State::Look, true, "on (1)")
            } else {
                check("b", State::Ok, false, "off")
            };
            let pages = check("p", State::Ok, false, if host == 5 { "always" } else { "madvise" });
            let mut checks = vec![check("same", State::Ok, false, "x"), pages, balancing];
            // Numbers of each node's own.
            checks.push(check("pids", State::Ok, false, &format!("{host}")));
            if host != 7 {
                checks.push(check("gpu", State::Ok, false, "8 GPUs"));
            }
            run(&format!("n{host}"), 4, checks)
        };

        let runs: Vec<NodeRun> = (0..10).map(of).collect();
        let (found, counts) = settings(&runs);
        assert_eq!(names(&found), ["b", "p", "gpu"], "what costs comes first");
        let unlike: Vec<(&str, &[String])> = counts
            .iter()
            .filter(|(_, counts)| !counts.unlike_most.is_empty())
            .map(|(host, counts)| (*host, &counts.unlike_most[..]))
            .collect();
        assert_eq!(
            unlike,
            [("n3", &["b".to_owned()][..]), ("n5", &["p".to_owned()]), ("n7", &["gpu".to_owned()])]
        );
        assert_eq!((counts["n3"].costly, counts["n3"].well, counts["n0"].costly), (1, 4, 0));
        assert_eq!((found[0].ways[0].hosts.len(), &found[0].ways[1].hosts[..]), (9, &["n3".to_owned()][..]));
        assert_eq!((found[2].ways[1].state, &found[2].ways[1].seen[..]), (None, ""));
    }

    #[test]
    fn what_costs_on_all_nodes_is_named_and_no_node_is_unlike_for_its_own_numbers() {
        let busy = |host: usize| {
            run(&format!("n{host}"), 4, vec![check("processes", State::Look, true, &format!("pid {host}"))])
        };
        let mut runs: Vec<NodeRun> = (0..4).map(busy).collect();
        let (found, counts) = settings(&runs);
        assert_eq!((names(&found), found[0].ways.len()), (vec!["processes"], 4));
        assert!(counts.values().all(|counts| counts.unlike_most.is_empty()));
        // The latest document counts.
        runs.push(run("n1", 5, vec![check("processes", State::Ok, false, "nobody")]));
        let (_, counts) = settings(&runs);
        assert_eq!(counts["n1"].unlike_most, ["processes"]);
        assert_eq!(counts["n0"].unlike_most, Vec::<String>::new());
    }

    #[test]
    fn of_two_nodes_neither_is_unlike_most_and_their_difference_is_named() {
        let runs = [
            run("a", 4, vec![check("b", State::Ok, false, "off")]),
            run("b", 4, vec![check("b", State::Unknown, true, "not shown")]),
        ];
        let (found, counts) = settings(&runs);
        assert_eq!(names(&found), ["b"]);
        assert!(counts.values().all(|counts| counts.unlike_most.is_empty()));
        assert_eq!(settings(&[]), (Vec::new(), BTreeMap::new()));
    }
}
