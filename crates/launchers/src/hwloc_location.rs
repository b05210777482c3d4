//! Places as hwloc's tools name them: `package:1.core:0-3`, `numanode:0`, `pu:2`, a mask; for `hwloc-bind`
//! and `$(hwloc-calc …)`.
//!
//! hwloc(7), "HWLOC LOCATION". Numbers are hwloc's logical ones, in the order of [`JobMachine::parts`]; `-p`
//! (physical) is read for PUs and NUMA nodes, whose OS numbers are plain. Left out: I/O devices, `root`, sets
//! that are taken away (`~`, `x`, `^`), tools' options that print or look at processes.
//! Some 430 lines because half are tests, against the installed tools where there are any.

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;

use crate::dialect::whole_mask;
use crate::error::LineError;
use crate::grammar::{Grammar, Style};
use crate::objects::{JobMachine, Part};
use crate::parse_mask;
use crate::process::{Known, Process};
use crate::unknown::is_unknown;

const BIND: Grammar = Grammar {
    tool: "hwloc-bind",
    style: Style::Words,
    letters: "lpqvfeh",
    names: "logical physical os-index quiet verbose force single strict taskset cpubind membind no-hbm hbm \
        restrict-flags: disallowed cpuset nodeset mempolicy: restrict: get pid: version help",
    is_open: false,
};

/// What hwloc-bind makes of the process; the words of its program.
///
/// # Errors
/// [`LineError`]: hwloc-bind would refuse its options, or no program stands behind its places.
pub(crate) fn bind<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let topology = process.topology;
    let (mut cpus, mut memory) = (Vec::new(), Vec::new());
    let (mut is_physical, mut is_of_memory, mut is_single, mut policy) = (false, false, false, "bind");

    // Options stand among the places too, and are of those behind them.
    let mut rest = words;
    loop {
        let (given, behind) = BIND.read(rest)?;
        for one in &given {
            match one.name {
                "p" | "physical" | "os-index" => is_physical = true,
                "l" | "logical" => is_physical = false,
                "membind" => is_of_memory = true,
                "cpubind" => is_of_memory = false,
                "single" => is_single = true,
                "mempolicy" => policy = one.value(),
                _ => {}
            }
        }
        let is_ended = rest[..rest.len() - behind.len()].last() == Some(&"--");
        rest = behind;
        match rest.split_first() {
            Some((place, behind)) if !is_ended && is_location(place) => {
                let places = if is_of_memory { &mut memory } else { &mut cpus };
                places.push(united(topology, &[place], is_physical));
                rest = behind;
            }
            _ => break,
        }
    }

    let all = |places: Vec<Option<IdSet>>| -> Result<IdSet, String> {
        let all = places.into_iter().collect::<Option<Vec<IdSet>>>();
        let all = all.ok_or("where hwloc-bind puts it does not follow from the line")?;
        let all = IdSet::of_all(&all);
        Ok(if is_single { all.first().into_iter().collect() } else { all })
    };
    if !cpus.is_empty() {
        process.bind(all(cpus));
    }
    if !memory.is_empty() {
        process.policy = all(memory).and_then(|pus| memory_policy(topology, policy, &pus));
    }
    Ok(rest)
}

/// The policy of `--mempolicy` for the nodes that these PUs touch.
fn memory_policy(topology: &Topology, policy: &str, pus: &IdSet) -> Known<(PolicyMode, IdSet)> {
    let touched = topology.nodes.iter().filter(|node| !node.pus.and(pus).is_empty());
    let touched = || touched.map(|node| node.os_index).collect::<IdSet>();
    match policy {
        "bind" => Ok((PolicyMode::Bind, touched())),
        "interleave" => Ok((PolicyMode::Interleave, touched())),
        "firsttouch" => Ok((PolicyMode::Local, IdSet::default())),
        "default" => Ok((PolicyMode::Default, IdSet::default())),
        other => Err(format!("what --mempolicy {other} of hwloc-bind does on Linux is not known")),
    }
}

/// What `hwloc-calc` prints: a mask, or with `-I`/`--intersect` a list of the numbers of PUs, cores or NUMA
/// nodes.
pub(crate) fn calculated(topology: &Topology, words: &[&str]) -> Option<String> {
    let (mut places, mut listed, mut is_physical, mut is_physical_out) = (Vec::new(), None, false, false);
    let mut is_for_taskset = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-p" | "--physical" => (is_physical, is_physical_out) = (true, true),
            "--pi" | "--physical-input" => is_physical = true,
            "--po" | "--physical-output" => is_physical_out = true,
            "--taskset" => is_for_taskset = true,
            "-l" | "--logical" | "--li" | "--lo" | "-q" | "--quiet" | "--logical-input"
            | "--logical-output" => {}
            "-I" | "--intersect" => listed = Some(*words.next()?),
            option if option.starts_with('-') => return None,
            place => places.push(place),
        }
    }

    let pus = united(topology, &places, is_physical)?;
    let Some(kind) = listed else {
        return Some(if is_for_taskset { whole_mask(&pus) } else { mask(&pus) });
    };
    let machine = JobMachine::of(topology);
    let number = |at: usize, part: &IdSet| {
        if is_physical_out { os_index(topology, kind, part) } else { u32::try_from(at).ok() }
    };
    let touched = machine.parts(counted(&machine, kind)?);
    let touched = touched.iter().enumerate().filter(|(_, part)| !part.and(&pus).is_empty());
    let numbers: Option<Vec<String>> =
        touched.map(|(at, part)| Some(number(at, part)?.to_string())).collect();
    Some(numbers?.join(",")).filter(|list| !list.is_empty())
}

/// Whether the word is a place.
fn is_location(word: &str) -> bool {
    word == "all"
        || word.starts_with("0x")
        || word.split('.').all(|part| part.split_once(':').is_some_and(|(kind, _)| part_of(kind).is_some()))
}

/// The PUs of all these places; `None` where one of them is not known.
fn united(topology: &Topology, places: &[&str], is_physical: bool) -> Option<IdSet> {
    let machine = JobMachine::of(topology);
    let all: Option<Vec<IdSet>> = places.iter().map(|place| pus_of(&machine, place, is_physical)).collect();
    Some(IdSet::of_all(&all?)).filter(|pus| !pus.is_empty())
}

fn pus_of(machine: &JobMachine<'_>, place: &str, is_physical: bool) -> Option<IdSet> {
    if is_unknown(place) {
        return None;
    }
    if place == "all" {
        return Some(machine.pus.clone());
    }
    if place.starts_with("0x") {
        return parse_mask(&place.replace(',', ""));
    }

    place.split('.').try_fold(machine.pus.clone(), |around, part| {
        let (kind, numbers) = part.split_once(':')?;
        let parts = machine.parts_in(counted(machine, kind)?, &around);
        let chosen = match is_physical {
            false => numbered(numbers, parts.len())?,
            true => {
                let wanted: IdSet = numbers.parse().ok()?;
                let is_wanted = |part: &IdSet| {
                    os_index(machine.topology, kind, part).is_some_and(|os| wanted.contains(os))
                };
                parts.iter().enumerate().filter(|(_, part)| is_wanted(part)).map(|(at, _)| at).collect()
            }
        };
        Some(IdSet::of_all(chosen.iter().filter_map(|at| parts.get(*at))))
    })
}

/// `2`, `0-3`, `4-`, `2:3` (three from 2 on), `all`, `even`, `odd`.
fn numbered(numbers: &str, count: usize) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse::<usize>().ok();
    Some(match numbers {
        "all" => (0..count).collect(),
        "even" => (0..count).step_by(2).collect(),
        "odd" => (1..count).step_by(2).collect(),
        text => match (text.split_once('-'), text.split_once(':')) {
            (Some((first, "")), _) => (number(first)?..count).collect(),
            (Some((first, last)), _) => (number(first)?..=number(last)?.min(count)).collect(),
            (None, Some((first, several))) => {
                let (first, several) = (number(first)?, number(several)?.min(count));
                (first..first.checked_add(several)?).map(|at| at % count.max(1)).collect()
            }
            (None, None) => vec![number(text)?],
        },
    })
}

/// hwloc's names of parts; `None` for a kind that is not read.
fn part_of(kind: &str) -> Option<Part> {
    match kind.to_ascii_lowercase().as_str() {
        "node" => Some(Part::Numa),
        "l2cache" | "l2" | "l1cache" | "l1" => None,
        kind => Part::named(kind),
    }
}

/// The kind of part, where all of them are known: hwloc counts nodes of memory alone among the NUMA nodes.
fn counted(machine: &JobMachine<'_>, kind: &str) -> Option<Part> {
    let has_cpus = || machine.topology.nodes.iter().all(|node| node.kind.has_cpus());
    part_of(kind).filter(|part| *part != Part::Numa || has_cpus())
}

/// The number that the system gives a part.
fn os_index(topology: &Topology, kind: &str, part: &IdSet) -> Option<u32> {
    match part_of(kind)? {
        Part::Thread => part.first(),
        Part::Numa => topology
            .nodes
            .iter()
            .find(|node| node.kind.has_cpus() && part.is_subset(&node.pus))
            .map(|node| node.os_index),
        Part::Package => topology.packages.iter().find(|package| part.is_subset(&package.pus))?.os_index,
        Part::Machine | Part::L3 | Part::Core => None,
    }
}

/// As hwloc prints a set: groups of 32 bits, an empty one as nothing and as 0x0 at the end.
fn mask(pus: &IdSet) -> String {
    let group = |(at, bits): (usize, &u32)| match (bits, at) {
        (0, 0) => "0x0".to_owned(),
        (0, _) => String::new(),
        _ => format!("0x{bits:08x}"),
    };
    groups(pus).iter().enumerate().rev().map(group).collect::<Vec<_>>().join(",")
}

/// The set in groups of 32 bits, up to the last that has one.
fn groups(pus: &IdSet) -> Vec<u32> {
    let last = pus.iter().last().unwrap_or(0) / 32;
    let bits =
        |at: u32| (0..32).filter(|bit| pus.contains(at * 32 + bit)).fold(0_u32, |bits, bit| bits | 1 << bit);
    (0..=last).map(bits).collect()
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::written_machine::machine;

    #[test]
    fn places_are_counted_as_hwloc_counts_them() {
        let machine = machine();
        for (places, pus) in [
            ("package:1", "4-7,12-15"),
            ("numanode:0", "0-3,8-11"),
            ("core:0-1", "0-1,8-9"),
            ("package:1.core:0", "4,12"),
            ("package:1.core:1.pu:1", "13"),
            ("core:6-", "6-7,14-15"),
            ("core:2:2", "2-3,10-11"),
            ("0x00000300", "8-9"),
            ("all", "0-15"),
        ] {
            let places: Vec<&str> = places.split(' ').collect();
            assert_eq!(
                united(&machine, &places, false).map(|pus| pus.to_string()).as_deref(),
                Some(pus),
                "{places:?}"
            );
        }

        assert_eq!(united(&machine, &["pu:4"], true).map(|pus| pus.to_string()).as_deref(), Some("4"));
        assert_eq!(united(&machine, &["gpu:0"], false), None);
    }

    #[test]
    fn what_hwloc_calc_prints_is_a_mask_or_a_list() {
        let machine = machine();
        let printed =
            |text: &str| calculated(&machine, &text.split(' ').collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(printed("core:0"), "0x00000101");
        assert_eq!(printed("--taskset package:1"), "0xf0f0");
        assert_eq!(printed("-I core package:1"), "4,5,6,7");
        assert_eq!(printed("--po -I pu core:1"), "1,9");
        assert_eq!(printed("--no-such core:1"), "");
    }

    /// What hwloc-bind binds to, as it prints sets: PUs, and the nodes of its memory policy.
    fn bound(topology: &Topology, words: &str) -> Result<(String, String), Box<dyn Error>> {
        let read = crate::line::read(&format!("hwloc-bind {words} -- ./a.out"), topology)?;
        let rank = &read.readings[0].ranks[0];
        let nodes = rank.policy.clone()?.1;
        Ok((mask(&rank.pus.clone()?), if nodes.is_empty() { String::new() } else { mask(&nodes) }))
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "no test is skipped silently")]
    fn options_of_hwloc_bind_are_of_the_places_behind_them_as_it_says_itself() -> Result<(), Box<dyn Error>> {
        if Command::new("hwloc-bind").arg("--version").output().is_err() {
            eprintln!("SKIPPED what the real hwloc-bind does: it is not installed (package hwloc)");
            return Ok(());
        }
        for machine in ["pascal", "interleaved", "power9"] {
            let file =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{machine}.xml"));
            let topology = topo::from_xml(&file)?;
            for words in [
                "core:0-15",
                "--membind package:0 --cpubind package:1",
                "--cpubind core:1 --membind package:1 --cpubind core:0",
                "core:0 --membind package:1 package:0",
                "core:1 -p pu:4 -l core:2",
                "core:0 --mempolicy interleave --membind package:1",
                "--mempolicy interleave --membind all --cpubind core:3",
                "core:0 --membind",
            ] {
                let mut real = Command::new("hwloc-bind");
                real.env("HWLOC_XMLFILE", &file).env("HWLOC_THISSYSTEM", "0");
                let output = real.arg("-v").args(words.split(' ')).args(["--", "true"]).output()?;
                let said = String::from_utf8(output.stderr)?;
                let set = |kind: &str| -> String {
                    let kind = format!("binding on {kind} set ");
                    said.lines().find_map(|line| line.strip_prefix(&kind)).unwrap_or_default().to_owned()
                };
                assert_eq!(bound(&topology, words)?, (set("cpu"), set("memory")), "{machine}: {words}");
            }
        }
        Ok(())
    }

    #[test]
    fn hwloc_bind_takes_one_pu_and_a_policy_by_options_before_and_behind_the_places()
    -> Result<(), Box<dyn Error>> {
        let machine = machine();
        let of = |words: &str| -> Result<String, Box<dyn Error>> {
            let read = crate::line::read(&format!("hwloc-bind {words} ./a.out"), &machine)?;
            let rank = &read.readings[0].ranks[0];
            let (mode, nodes) = rank.policy.clone()?;
            Ok(format!("{} {} {nodes}", rank.pus.clone()?, mode.word()))
        };
        for (words, wanted) in [
            ("core:1-3 --single", "1 default none"),
            ("--single core:1-3", "1 default none"),
            ("--membind numanode:1 --cpubind numanode:0", "0-3,8-11 bind 1"),
            ("core:0 --membind all --mempolicy interleave", "0,8 interleave 0-1"),
            ("--mempolicy firsttouch core:0 --membind all", "0,8 local none"),
        ] {
            assert_eq!(of(words)?, wanted, "{words}");
        }
        Ok(())
    }

    /// What the installed hwloc-calc prints for a saved machine; `None` where it refuses.
    fn really_printed(file: &Path, words: &[&str]) -> Result<Option<String>, Box<dyn Error>> {
        let output = Command::new("hwloc-calc").arg("-i").arg(file).args(words).output()?;
        let text = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok((output.status.success() && !text.is_empty()).then_some(text))
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "no test is skipped silently")]
    fn what_is_read_of_saved_machines_is_what_the_real_hwloc_calc_prints() -> Result<(), Box<dyn Error>> {
        if Command::new("hwloc-calc").arg("--version").output().is_err() {
            eprintln!("SKIPPED what the real hwloc-calc prints: it is not installed (package hwloc)");
            return Ok(());
        }
        let places = [
            "all",
            "package:0",
            "package:1",
            "package:all",
            "numanode:0",
            "numa:1",
            "numanode:2-3",
            "core:0",
            "core:3",
            "core:0-7",
            "core:4-",
            "core:2:3",
            "core:even",
            "core:odd",
            "pu:0",
            "pu:5",
            "pu:0-3",
            "l3:0",
            "l3cache:1",
            "package:0.core:0",
            "package:1.core:1-2",
            "package:1.core:0.pu:0",
            "numanode:1.core:0-1",
            "package:0.numanode:0",
            "core:0 core:5",
            "numanode:0 package:1",
            "0x00000003",
            "core:0.pu:all",
        ];

        let forms: [&[&str]; 7] = [
            &[],
            &["--taskset"],
            &["-I", "core"],
            &["-I", "pu"],
            &["--po", "-I", "pu"],
            &["--po", "-I", "numanode"],
            &["-p"],
        ];

        let (mut told, mut all, mut wrong) = (0, 0, Vec::new());

        for machine in ["lumi-g", "pascal", "interleaved", "power9"] {
            let file =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{machine}.xml"));
            let topology = topo::from_xml(&file)?;
            for (place, form) in places.iter().flat_map(|place| forms.iter().map(move |form| (place, form))) {
                let words: Vec<&str> = form.iter().copied().chain(place.split(' ')).collect();
                all += 1;
                let Some(read) = calculated(&topology, &words) else { continue };
                told += 1;
                let real = really_printed(&file, &words)?;
                if real.as_ref() != Some(&read) {
                    wrong.push(format!(
                        "{machine}: hwloc-calc {}: {read}, and really {real:?}",
                        words.join(" ")
                    ));
                }
            }
        }

        assert!(wrong.is_empty(), "{} of {told} are wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert!(told * 100 >= all * 75, "{told} of {all} are read");
        Ok(())
    }
}
