//! `lscpu`: its summary, and its lists (`lscpu -e`, `lscpu -p`), which say what the summary only counts.
//!
//! Seen with util-linux 2.23 to 2.40: the heads of lines are the same, `L3 cache: 16384K` became `L3: 256 MiB
//! (16 instances)`, and lines are indented since 2.37.

use std::collections::BTreeMap;

use stats::IdSet;

/// The summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lscpu {
    pub(super) online: Option<IdSet>,
    pub(super) offline: IdSet,
    pub(super) threads_per_core: Option<u32>,
    pub(super) sockets: Option<u32>,
    pub(super) node_count: Option<u32>,
    pub(super) nodes: BTreeMap<u32, IdSet>,
    pub(super) model: Option<String>,
    pub(super) architecture: Option<String>,
    pub(super) hypervisor: Option<String>,
    pub(super) l3: Option<L3Caches>,
    /// Whether caches are among what it says, so that a missing L3 is one that the CPU has not got.
    pub(super) names_caches: bool,
}

/// The line of the L3 caches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct L3Caches {
    /// All of them together, bytes; of releases that do not say how many there are, one of them.
    pub(super) bytes: Option<u64>,
    pub(super) instances: Option<u32>,
}

/// A row of `lscpu -e` or `lscpu -p`; `None` where the column is missing or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) cpu: u32,
    pub(super) node: Option<u32>,
    pub(super) socket: Option<u32>,
    pub(super) core: Option<u32>,
    pub(super) l3: Option<u32>,
    pub(super) is_online: bool,
}

/// The summary; `None` where there is none.
///
/// # Errors
/// Which line names CPUs in a way that cannot be read, in words.
pub(super) fn read(lines: &[&str]) -> Result<Option<Lscpu>, String> {
    let mut found = Lscpu::default();
    // `lscpu -x` writes masks also on the nodes' lines, whose head is that of lists.
    let has_masks = lines.iter().any(|line| line.trim_start().starts_with("On-line CPU(s) mask:"));
    let cpus = |head: &str, value: &str| {
        let set = if has_masks || value.starts_with("0x") { mask(value) } else { list(value) };
        set.ok_or_else(|| format!("lscpu's line \"{head}: {value}\" names no CPUs that can be read"))
    };
    for (head, value) in lines.iter().filter_map(|line| line.split_once(':')) {
        let (head, value) = (head.trim(), value.trim());
        let number = || value.parse().ok();
        match head {
            "On-line CPU(s) list" | "On-line CPU(s) mask" => found.online = Some(cpus(head, value)?),
            "Off-line CPU(s) list" | "Off-line CPU(s) mask" => found.offline = cpus(head, value)?,
            "Thread(s) per core" => found.threads_per_core = number(),
            "Socket(s)" => found.sockets = number(),
            "NUMA node(s)" => found.node_count = number(),
            "Model name" => {
                found.model = Some(value.to_owned()).filter(|name| !name.is_empty() && name != "-")
            }
            "Architecture" => found.architecture = Some(value.to_owned()),
            "Hypervisor vendor" => found.hypervisor = Some(value.to_owned()),
            "L2" | "L2 cache" | "L1d" | "L1d cache" => found.names_caches = true,
            "L3" | "L3 cache" => found.l3 = Some(l3(value)),
            _ => {
                let node = head.strip_prefix("NUMA node").and_then(|rest| rest.strip_suffix(" CPU(s)"));
                if let Some(node) = node.and_then(|node| node.parse().ok()) {
                    found.nodes.insert(node, cpus(head, value)?);
                }
            }
        }
    }

    // Without these no line was lscpu's: other tools too write of an architecture or a model name.
    Ok((found.online.is_some() || !found.nodes.is_empty()).then_some(found))
}

/// `0-3,8`; nothing, or `-`, is none.
fn list(value: &str) -> Option<IdSet> {
    if value == "-" { Some(IdSet::default()) } else { value.parse().ok() }
}

/// `0xff`, with commas between 32 bits or without: the lowest bit is CPU 0.
fn mask(value: &str) -> Option<IdSet> {
    let digits: String = value.trim_start_matches("0x").chars().filter(|digit| *digit != ',').collect();
    let mut set = IdSet::default();
    for (at, digit) in (0..).zip(digits.chars().rev()) {
        let bits = digit.to_digit(16)?;
        set.extend((0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| 4 * at + bit));
    }
    Some(set)
}

/// `256 MiB (16 instances)`, or `16384K`.
fn l3(value: &str) -> L3Caches {
    let (size, rest) = value.split_once('(').unwrap_or((value, ""));
    let size = size.trim();
    let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let unit = match size[digits..].trim() {
        "K" | "KiB" => Some(1024.0),
        "M" | "MiB" => Some(1024.0 * 1024.0),
        "G" | "GiB" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    let number: Option<f64> = size[..digits].parse().ok();
    L3Caches {
        bytes: number.zip(unit).map(|(number, unit)| (number * unit) as u64),
        instances: rest.split_whitespace().next().and_then(|count| count.parse().ok()),
    }
}

/// The rows of `lscpu -e` or `-p`; empty where there are none.
pub(super) fn read_list(lines: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut head: Option<(Vec<String>, bool)> = None;
    for line in lines {
        let trimmed = line.trim();
        if let Some(found) = list_head(trimmed) {
            head = Some(found);
            continue;
        }
        let Some((columns, has_commas)) = &head else { continue };
        match row(trimmed, columns, *has_commas) {
            Some(row) => rows.push(row),
            None => head = None,
        }
    }
    rows
}

/// The columns' names, and whether commas are between them: `CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE`, or
/// `# CPU,Core,Socket,Node,,L1d,L1i,L2,L3`.
fn list_head(line: &str) -> Option<(Vec<String>, bool)> {
    let names = |names: Vec<&str>| names.into_iter().map(str::to_ascii_lowercase).collect();
    let parsable = line.strip_prefix("# CPU,").map(|_| line.trim_start_matches("# ").split(',').collect());
    if let Some(columns) = parsable {
        return Some((names(columns), true));
    }
    let columns: Vec<&str> = line.split_whitespace().collect();
    let is_head = columns.first() == Some(&"CPU") && (columns.contains(&"CORE") || columns.contains(&"NODE"));
    is_head.then(|| (names(columns), false))
}

fn row(line: &str, columns: &[String], has_commas: bool) -> Option<Row> {
    let cells: Vec<&str> =
        if has_commas { line.split(',').map(str::trim).collect() } else { line.split_whitespace().collect() };
    let cell = |name: &str| cells.get(columns.iter().position(|column| column == name)?).copied();
    let caches = || {
        let at = columns.iter().position(|column| column.ends_with(":l3"))?;
        cells.get(at)?.rsplit(':').next()
    };
    let number = |name: &str| cell(name)?.parse().ok();

    Some(Row {
        cpu: cell("cpu")?.parse().ok()?,
        node: number("node"),
        socket: number("socket"),
        core: number("core"),
        l3: cell("l3").or_else(caches).and_then(|number| number.parse().ok()),
        is_online: cell("online").is_none_or(|word| !word.eq_ignore_ascii_case("no") && word != "N"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn both_forms_of_the_summary_say_the_same() {
        let old = "Architecture: x86_64\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nSocket(s): 1\n\
            NUMA node(s): 1\nL2 cache: 512K\nL3 cache: 16384K\nNUMA node0 CPU(s): 0-7\n";
        let new = "Architecture:            x86_64\n  On-line CPU(s) list:   0-7\n    Thread(s) per core:  \
            2\n    Socket(s):           1\nCaches (sum of all):\n  L2:  2 MiB (4 instances)\n  L3:  16 MiB \
            (1 instance)\nNUMA:\n  NUMA node(s):  1\n  NUMA node0 CPU(s):  0-7\n";
        let found = |text: &str| read(&lines(text)).ok().flatten();
        let (old, new) = (found(old), found(new));
        let same = |found: &Lscpu| (found.online.clone(), found.threads_per_core, found.nodes.clone());
        assert_eq!(old.as_ref().map(same), new.as_ref().map(same));
        assert_eq!(new.and_then(|new| new.l3), Some(L3Caches { bytes: Some(16 << 20), instances: Some(1) }));
        assert_eq!(old.and_then(|old| old.l3), Some(L3Caches { bytes: Some(16 << 20), instances: None }));
        assert_eq!(read(&["Architecture: x86_64", "Model name: X"]), Ok(None));
    }

    #[test]
    fn masks_are_read_as_masks_and_what_is_neither_is_refused() -> Result<(), String> {
        for (online, first, second) in [("0xff", "0xf", "0xf0"), ("ff", "f", "f0"), ("0,ff", "f", "f0")] {
            let text = format!(
                "On-line CPU(s) mask: {online}\nOff-line CPU(s) mask: 100\nNUMA node0 CPU(s): {first}\n\
                 NUMA node1 CPU(s): {second}\nNUMA node2 CPU(s):\n"
            );
            let found = read(&lines(&text))?.unwrap_or_default();
            let shown = |set: &IdSet| set.to_string();
            assert_eq!(found.online.as_ref().map(shown).as_deref(), Some("0-7"));
            assert_eq!((shown(&found.offline), shown(&found.nodes[&1])), ("8".to_owned(), "4-7".to_owned()));
            assert!(found.nodes[&2].is_empty());
        }
        for text in ["On-line CPU(s) list: all", "On-line CPU(s) list: 0-3\nNUMA node0 CPU(s): f"] {
            assert!(read(&lines(text)).is_err_and(|why| why.contains("CPU(s)")), "{text}");
        }
        Ok(())
    }

    #[test]
    fn both_lists_say_which_pus_share_a_core() {
        let extended = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n  0    0      0    0 0:0:0:1       \
            yes 3900\n  1    -      -    - -              no    -\nprompt$";
        let parsable = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,1\n";
        let first =
            Row { cpu: 0, node: Some(0), socket: Some(0), core: Some(0), l3: Some(1), is_online: true };
        assert_eq!(read_list(&lines(extended)), [first.clone(), Row { cpu: 1, ..Row::default() }]);
        assert_eq!(read_list(&lines(parsable)), [first]);
    }
}
