//! `numabench topo` in Linux guests with several NUMA nodes (`tests/lab/numa-guest.sh`), held against numactl
//! there.
//!
//! One boot a shape, since a boot takes seconds: everything is run in it and checked out here. numactl is the
//! reference, for the nodes as for the policies; where the two say different things on purpose, a comment
//! says which and why.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::process::Command;

use serde_json::{Value, json};
use stats::IdSet;

#[path = "cli/lab.rs"]
mod lab;

type Done = Result<(), Box<dyn Error>>;

/// Policies and bindings that `numactl OPTIONS COMMAND` gives the command: each sets a policy of its own, or
/// none.
const EVERY: &[&str] = &["", "-i 0,1", "-m 1", "-p 1", "-P 0,1", "-l", "-C 2-3", "-N 1 -m 0"];
/// Those that read what nodes a shape has, of whose kind the others are.
const SOME: &[&str] = &["", "-i 0,1", "-N 1 -m 0"];

/// What every shape runs.
fn script(options: &[&str]) -> String {
    let of_options = |options: &&str| {
        // Bare, numactl would show its help instead of running the command.
        let with = if options.is_empty() { String::new() } else { format!("numactl {options}") };
        format!("part s {options}; {with} numactl -s\npart json {options}; {with} numabench topo --json\n")
    };
    format!(
        "part() {{ echo \"@@@ $*\"; }}\n\
         # The console is a terminal, on which views are coloured.\n\
         export NO_COLOR=1\n\
         part H; numactl -H\n\
         part numa; numabench topo --numa\n\
         {}\
         echo 5 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages\n\
         part huge; numabench topo\n\
         part saved; numactl -C 2-3 -i 0,1 numabench topo --json --save /tmp/node.xml\n\
         part loaded; numabench topo --json --input /tmp/node.xml\n",
        options.iter().map(of_options).collect::<String>()
    )
}

/// What the parts of the script wrote, in a guest of this shape; `None` where no guest can run, which is
/// said.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn guest(shape: &str, script: &str) -> Result<Option<BTreeMap<String, String>>, Box<dyn Error>> {
    let numactl = Command::new("sh").args(["-c", "command -v numactl"]).output()?;
    if !numactl.status.success() {
        eprintln!("SKIPPED a guest of shape {shape}: numactl is not installed");
        return Ok(None);
    }
    // Errors are not counted: libnuma itself writes some for options that it then follows.
    let text = lab::written(shape, &[String::from_utf8(numactl.stdout)?.trim()], script)?;
    Ok(text.map(|text| lab::parts(&text)))
}

fn part<'t>(parts: &'t BTreeMap<String, String>, name: &str) -> Result<&'t str, Box<dyn Error>> {
    parts.get(name).map(String::as_str).ok_or_else(|| format!("the guest did not write {name}").into())
}

/// What follows `key` on its line, wherever the line begins: numactl leaves out a line's end under the policy
/// `local`.
fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split_once(key)?.1.lines().next().map(str::trim)
}

/// Numbers with spaces between, as numactl lists ids.
fn spaced(list: &str) -> Result<BTreeSet<u32>, std::num::ParseIntError> {
    list.split_whitespace().map(str::parse).collect()
}

/// Ids as numabench prints them.
fn listed(list: &str) -> Result<BTreeSet<u32>, Box<dyn Error>> {
    Ok(if list == "-" || list == "none" { BTreeSet::new() } else { list.parse::<IdSet>()?.0 })
}

/// Ids as JSON has them.
fn in_json(value: &Value) -> Result<BTreeSet<u32>, serde_json::Error> {
    serde_json::from_value(value.clone())
}

/// The numbers of a distance matrix: the rows after the line that begins with `title`, without their heads.
fn matrix(text: &str, title: &str) -> Result<Vec<Vec<u32>>, std::num::ParseIntError> {
    let rows = text.lines().skip_while(|line| !line.starts_with(title)).skip(2);
    let rows = rows.take_while(|line| line.trim().starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|row| row.split_whitespace().skip(1).map(str::parse).collect()).collect()
}

/// Nodes as `numactl -H` and `topo --numa` show them: the same PUs, sizes and distances; free memory within
/// what booting programs take meanwhile.
fn same_nodes(numactl: &str, numa: &str) -> Done {
    const MEANWHILE_MIB: u64 = 64;
    let available = after(numactl, "available:").ok_or("no available nodes")?;
    let number = available.split(' ').next().ok_or("no number")?;
    assert!(numa.lines().any(|line| line.starts_with(&format!("{number} NUMA nodes ("))), "{number}: {numa}");
    let node_rows =
        numa.lines().skip_while(|line| !line.contains("made of")).skip(1).take_while(|line| !line.is_empty());
    let mut rows = 0;
    for row in node_rows {
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let [node, made_of, pus, size, free, _] = cells[..] else {
            return Err(format!("not six cells: {row}").into());
        };
        let theirs =
            |what: &str| after(numactl, &format!("node {node} {what}:")).ok_or(format!("{node} {what}"));
        let mib = |text: &str| text.trim_end_matches(" MB").parse::<u64>();
        assert_eq!(listed(pus)?, spaced(theirs("cpus")?)?, "{row}");
        assert_eq!(mib(size)?, mib(theirs("size")?)?, "{row}");
        let (free, theirs_free) = (mib(free)?, mib(theirs("free")?)?);
        assert!(
            free.abs_diff(theirs_free) <= MEANWHILE_MIB,
            "{row} where numactl says {theirs_free} MiB free"
        );
        let wanted = match (pus == "-", size == "0") {
            (false, false) => "CPUs and memory",
            (true, false) => "memory without CPUs",
            (false, true) => "CPUs without memory",
            (true, true) => "nothing",
        };
        assert_eq!(made_of, wanted, "{row}");
        rows += 1;
    }
    assert_eq!(rows.to_string(), number, "{numa}");
    let ours = matrix(numa, "distances")?;
    assert_eq!(ours.len(), rows, "{numa}");
    assert_eq!(ours, matrix(numactl, "node distances:")?);
    Ok(())
}

/// The policy and the bindings as `numactl -s` and the JSON have them.
fn same_process(numactl: &str, json: &Value) -> Done {
    let policy = &json["process"]["policy"];
    let theirs = |key: &str| after(numactl, key).ok_or_else(|| format!("numactl says no {key} {numactl}"));
    let mode = theirs("policy:")?;
    assert_eq!(policy["mode"], mode, "{numactl}");
    let nodes = in_json(&policy["nodes"])?;
    assert_eq!(in_json(&json["process"]["affinity"])?, spaced(theirs("physcpubind:")?)?, "{numactl}");
    let memory = spaced(theirs("membind:")?)?;
    let allowed = in_json(&json["allowed"]["nodes"])?;
    match mode {
        "bind" => assert_eq!((&nodes, nodes.is_subset(&allowed)), (&memory, true), "{numactl}"),
        _ => assert_eq!(allowed, memory, "{numactl}"),
    }
    match mode {
        "interleave" => assert_eq!(nodes, spaced(theirs("interleavemask:")?)?, "{numactl}"),
        "preferred" => assert_eq!(nodes, spaced(theirs("preferred node:")?)?, "{numactl}"),
        "preferred-many" => assert_eq!(nodes, spaced(theirs("preferred:")?)?, "{numactl}"),
        "default" | "local" => assert!(nodes.is_empty(), "{policy}"),
        _ => {}
    }
    Ok(())
}

/// A saved file says what the machine said, also the localities, policy and affinity that hwloc's XML has no
/// place for.
fn same_when_saved(saved: &str, loaded: &str) -> Done {
    let (mut saved, mut loaded): (Value, Value) =
        (serde_json::from_str(saved)?, serde_json::from_str(loaded)?);
    assert_eq!(loaded["source"].take()["path"], "/tmp/node.xml");
    saved["source"].take();
    // Settings are what `doctor` saw when the file was saved, and no part of the live model.
    saved["settings"].take();
    loaded["settings"].take();
    assert_eq!(saved["process"]["policy"]["mode"], "interleave");
    assert_eq!(in_json(&saved["process"]["affinity"])?, [2, 3].into());
    let huge = saved["huge_pages"].as_array().and_then(|all| all.iter().find(|pages| pages["node"] == 1));
    assert_eq!(
        huge,
        Some(&json!({"node": 1, "page_bytes": 2 << 20, "total": 5, "free": 5})),
        "{}",
        saved["huge_pages"]
    );
    assert!(saved["gpus"].as_array().is_some_and(|gpus| !gpus.is_empty()), "{saved}");
    assert_eq!(saved, loaded);
    Ok(())
}

fn as_numactl_says(shape: &str, options: &[&str]) -> Done {
    let Some(parts) = guest(shape, &script(options))? else { return Ok(()) };
    same_nodes(part(&parts, "H")?, part(&parts, "numa")?)?;
    assert_eq!(
        part(&parts, "huge")?.matches("huge pages: 5 of 2 MiB (5 free)").count(),
        1,
        "{}",
        part(&parts, "huge")?
    );
    same_when_saved(part(&parts, "saved")?, part(&parts, "loaded")?)?;
    let is_state = |name: &&str| name.is_empty() || name.starts_with(' ');
    let states: Vec<&str> = parts.keys().filter_map(|name| name.strip_prefix('s')).filter(is_state).collect();
    assert_eq!(states.len(), options.len(), "{:?}", parts.keys());
    let mut modes = BTreeSet::new();
    for options in states {
        let json: Value = serde_json::from_str(part(&parts, &format!("json{options}"))?)?;
        same_process(part(&parts, &format!("s{options}"))?, &json)
            .map_err(|error| format!("{shape}{options}: {error}"))?;
        modes.insert(json["process"]["policy"]["mode"].to_string());
    }
    assert_eq!(modes.len(), if options == EVERY { 6 } else { 3 }, "{modes:?}");
    Ok(())
}

#[test]
fn in_a_guest_of_four_nodes_what_is_shown_is_numactls_and_what_is_saved_reads_back() -> Done {
    as_numactl_says("lumig", EVERY)
}

#[test]
fn in_a_guest_with_memory_only_nodes_what_is_shown_is_numactls_and_what_is_saved_reads_back() -> Done {
    as_numactl_says("gh200", SOME)
}

#[test]
fn in_a_guest_with_a_node_without_memory_what_is_shown_is_numactls_and_what_is_saved_reads_back() -> Done {
    as_numactl_says("odd", SOME)
}
