//! The table of one node: a row a rank, what was found, the sum, and the line that puts it right. Plain
//! ASCII, like `topo`'s views. Some 410 lines because the rows, what is found and the sum share their
//! columns.

use std::collections::BTreeMap;
use std::time::Duration;

use placement::judge::{Finding, Ipc, Judgement, PlacementVerdict};
use placement::nic::{self, NearNic};
use stats::{IdSet, PciAddress};
use topo::Topology;
use topo::model::TopologySource;

use crate::observed_rank::ObservedRank;
use crate::threads;

/// What is shown of a node.
pub struct NodeTable<'s> {
    /// The name of the host that the check ran on.
    pub host: &'s str,
    /// The name of the machine that is judged by.
    pub judged_name: &'s str,
    /// What would decide an unknown verdict.
    pub decided_by: &'s [String],
    /// What the ways that a line may mean differ in.
    pub depends_on: &'s str,
    /// What started the ranks, and in which job, in words.
    pub launch: &'s str,
    /// The machine that it is judged by.
    pub topology: &'s Topology,
    /// The ranks, in order.
    pub seen: &'s [ObservedRank],
    /// Ranks of the node that did not come, by their number on it.
    pub missing: &'s IdSet,
    /// What is said of them.
    pub judgement: &'s Judgement,
    /// How long they were waited for.
    pub waited: Duration,
    /// The code's meaning.
    pub placed: PlacementVerdict,
    /// The adapter near the GPU of each rank; none where it has no GPU or several.
    pub nics: &'s [Option<NearNic>],
    /// Whether each group of threads has a row.
    pub threads: bool,
    /// Whether each rank's adapter is said, and not only one that a variable gets wrong.
    pub adapters: bool,
    /// What is to be known beside what was found.
    pub notes: &'s [String],
    /// The lines that put it right.
    pub fix: &'s [String],
}

impl NodeTable<'_> {
    /// How much of a rank's memory is neither on its PUs' nodes nor on memory beside them, from 0 to 1. Not
    /// by a saved machine, whose nodes are others.
    pub fn remote_share(&self, rank: usize) -> Option<f64> {
        let near = &self.judgement.ranks[rank].nodes;
        let is_here = self.topology.source == TopologySource::ThisSystem;
        is_here.then(|| self.seen[rank].remote_share(self.topology, near))?
    }

    fn index(&self, pci: PciAddress) -> Option<u32> {
        self.topology.gpu_at(pci).map(|gpu| gpu.index)
    }
}

/// With more ranks than this those that are well placed are one line, below the others.
const ROWS: usize = 16;
/// Of more findings of one kind than this the first are told, and of the rest whose they are.
const ALIKE: usize = 4;

/// The finding and what puts it right, then the table and the reasons, with a newline at its end.
pub fn table(shown: &NodeTable<'_>) -> String {
    let nobody = shown.seen.is_empty();
    let found = if nobody { "unknown: no process was found".to_owned() } else { sum(shown) };
    let sent = if shown.adapters { sent_elsewhere(shown.seen, shown.nics) } else { 0 };
    let elsewhere = match sent {
        0 => String::new(),
        1 => "; 1 rank is told to use an adapter that is not the near one".to_owned(),
        several => format!("; {several} ranks are told to use adapters that are not the near ones"),
    };
    let mut text = format!("{}: {found}{elsewhere}\n", shown.judged_name);
    for fix in shown.fix {
        // What has several lines stands by itself, so that it can be pasted.
        line(&mut text, &format!("fix:{}{fix}", if fix.contains('\n') { '\n' } else { ' ' }));
    }

    for what in shown.decided_by {
        line(&mut text, &format!("to decide it: {what}"));
    }
    line(&mut text, &format!("judged: {}", shown.launch));

    if let Some(path) = shown.topology.source.files() {
        // What a line says of memory is said of that machine; what is seen here is not.
        let memory = if !nobody && shown.seen.iter().all(ObservedRank::is_of_line) {
            ""
        } else {
            "; memory is not judged"
        };
        line(&mut text, &format!("judged by the saved machine {path}, not by this one{memory}"));
        if let Some(words) = shown.topology.source.unsaid_words() {
            line(&mut text, &format!("not said there: {words}"));
        }
    }

    if nobody {
        in_notes(&mut text, shown);
        return text;
    }
    let has_nic = shown.nics.iter().any(Option::is_some);
    let heads = ["who", "PUs", "NUMA", "memory", "pages", "GPU", "locality", "NIC"].map(str::to_owned);
    let (told, folded) = rows_shown(shown);
    let rows = told.iter().map(|rank| {
        let (seen, judged) = (&shown.seen[*rank], &shown.judgement.ranks[*rank]);
        let nic = shown.nics.get(*rank).and_then(Option::as_ref);
        [
            seen.name(),
            seen.running.pus.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
            if judged.nodes.is_empty() { "?".to_owned() } else { judged.nodes.to_string() },
            policy(seen),
            pages(seen, shown.remote_share(*rank)),
            gpus(shown, seen),
            judged.closeness.map_or("-", |closeness| closeness.text()).to_owned(),
            nic.map_or_else(|| "-".to_owned(), |nic| format!("{} {}", nic.name, nic.level.word())),
        ]
    });

    let rows: Vec<[String; 8]> = std::iter::once(heads).chain(rows).collect();
    in_columns(&mut text, &rows, if has_nic { 8 } else { 7 });
    if let Some(folded) = folded {
        line(&mut text, &format!("  {folded}"));
    }
    threads_of(&mut text, shown, &told);
    findings(&mut text, shown);
    adapters(&mut text, shown);
    openmp(&mut text, shown);
    in_notes(&mut text, shown);

    if !shown.missing.is_empty() {
        let (missing, waited) = (shown.missing, shown.waited.as_secs_f64());
        let who = if missing.len() == 1 { "rank" } else { "ranks" };
        line(&mut text, &format!("unknown: {who} {missing} of this node did not answer within {waited} s"));
    }

    match shown.judgement.ipc {
        Ipc::Possible => {
            line(&mut text, "note: IPC between the ranks' GPUs is possible: no device file is refused")
        }
        // A saved machine has no device files.
        Ipc::NotKnown if shown.topology.source == TopologySource::ThisSystem => {
            line(&mut text, "note: IPC between the ranks' GPUs: not known whether device files are refused");
        }
        Ipc::NotKnown | Ipc::NoPair | Ipc::Cut { .. } => {}
    }
    text
}

fn in_notes(text: &mut String, shown: &NodeTable<'_>) {
    shown.notes.iter().for_each(|note| line(text, &format!("note: {note}")));
}

/// Rows as wide as their cells; only the first columns of each.
fn in_columns<const N: usize>(text: &mut String, rows: &[[String; N]], columns: usize) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(text, format!("  {}", cells.join("  ")).trim_end());
    }
}

/// The threads of the ranks that have a row: a line for those that are not bound alike, or a row a group.
fn threads_of(text: &mut String, shown: &NodeTable<'_>, told: &[usize]) {
    for seen in told.iter().map(|rank| &shown.seen[*rank]) {
        if !shown.threads {
            if let Some(folded) = threads::folded(&seen.threads) {
                line(text, &format!("{}: {folded}", seen.name()));
            }
        } else if !seen.threads.own.is_empty() {
            line(text, &format!("{}: threads, and processes that it started", seen.name()));
            in_columns(text, &threads::rows(&seen.threads), 4);
        }
    }
}

/// Ranks whose OpenMP is told to have more threads than they have PUs; those that are told the same are one
/// line.
fn openmp(text: &mut String, shown: &NodeTable<'_>) {
    let mut crowded: BTreeMap<(u32, usize), Vec<String>> = BTreeMap::new();
    for seen in shown.seen {
        let both = seen.omp_threads.zip(seen.running.pus.as_ref().map(IdSet::len));
        if let Some((threads, pus)) = both.filter(|(threads, pus)| *threads as usize > *pus) {
            crowded.entry((threads, pus)).or_default().push(seen.name());
        }
    }

    for ((threads, pus), names) in crowded {
        let who = match &names[..] {
            [one] => format!("{one} has"),
            [first, ..] => format!("{} ranks ({first}, …) have", names.len()),
            [] => continue,
        };
        let (pus, are) = if pus == 1 { ("1 PU".to_owned(), "is") } else { (format!("{pus} PUs"), "are") };
        line(text, &format!("note: {who} OMP_NUM_THREADS={threads} and {pus}, which {are} oversubscribed"));
    }
}

/// Ranks that a variable sends to another adapter than the one near their GPU.
fn adapters(text: &mut String, shown: &NodeTable<'_>) {
    for (rank, seen) in shown.seen.iter().enumerate() {
        let (near, name) = (shown.nics.get(rank).and_then(Option::as_ref), seen.name());
        let Some(near) = near else {
            if shown.adapters {
                line(
                    text,
                    &format!("{name}: no network adapter is known to be near its GPU, or it has not one GPU"),
                );
            }
            continue;
        };

        let elsewhere = nic::elsewhere(near, &seen.nic_variables);
        for (variable, does) in &elsewhere {
            line(text, &format!("note: {variable} of {name} {does} near its GPU, {}", near.name));
        }
        if shown.adapters && elsewhere.is_empty() {
            line(text, &format!("{name}: {}", chosen(near, &seen.nic_variables)));
        }
    }
}

/// Which adapter a rank's libraries take, as far as its variables say, where none names a wrong one.
fn chosen(near: &NearNic, set: &BTreeMap<String, String>) -> String {
    let near_one = format!("{} ({}) is near its GPU", near.name, near.level.word());
    let agreeing = nic::agreeing(near, set);
    let all = set.iter().map(|(variable, value)| format!("{variable}={value}"));
    let open: Vec<String> = all.filter(|one| !agreeing.contains(one)).collect();
    let own = if agreeing.is_empty() { &open } else { &agreeing };

    match (&own[..], &near.variables[..]) {
        ([], []) => {
            format!("{near_one}; no variable names an adapter, so its libraries choose by themselves")
        }
        ([], tell) => format!(
            "{near_one}; no variable names an adapter, so its libraries choose by themselves; to name it: {}",
            tell.join(" ")
        ),
        (own, _) if agreeing.is_empty() => {
            format!("{near_one}; {} does not say whether its libraries take it", own.join(" "))
        }
        (own, _) => format!("{near_one}, and {} agrees", own.join(" ")),
    }
}

/// How many ranks a variable sends to another adapter than the one near their GPU.
pub fn sent_elsewhere(seen: &[ObservedRank], nics: &[Option<NearNic>]) -> usize {
    let is_sent = |(seen, near): (&ObservedRank, &Option<NearNic>)| {
        near.as_ref().is_some_and(|near| !nic::elsewhere(near, &seen.nic_variables).is_empty())
    };
    seen.iter().zip(nics).filter(|both| is_sent(*both)).count()
}

/// The ranks that have a row, the wrong ones first, and the line that stands for the others.
fn rows_shown(shown: &NodeTable<'_>) -> (Vec<usize>, Option<String>) {
    let all: Vec<usize> = (0..shown.seen.len()).collect();
    if all.len() <= ROWS {
        return (all, None);
    }
    let placed = |rank: &usize| shown.judgement.ranks[*rank].placed;
    let (well, mut others): (Vec<usize>, Vec<usize>) =
        all.into_iter().partition(|rank| placed(rank) == PlacementVerdict::Well);
    others.sort_by_key(|rank| std::cmp::Reverse(placed(rank)));
    let more = others.split_off(others.len().min(ROWS));
    let ids = |ranks: &[usize]| -> IdSet {
        ranks.iter().filter_map(|rank| u32::try_from(shown.seen[*rank].rank.unwrap_or(*rank)).ok()).collect()
    };
    let mut words = Vec::new();
    if !more.is_empty() {
        words.push(format!("{} more that are not well placed: {}", more.len(), ids(&more)));
    }
    if !well.is_empty() {
        let pus = IdSet::of_all(well.iter().filter_map(|rank| shown.seen[*rank].running.pus.as_ref()));
        words.push(format!("{} well placed: ranks {} on PUs {pus}", well.len(), ids(&well)));
    }

    (others, Some(words.join("; ")))
}

/// What was found, a line each; many of a kind by the first of them.
fn findings(text: &mut String, shown: &NodeTable<'_>) {
    let mut by_kind: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
    for finding in &shown.judgement.findings {
        by_kind.entry((std::cmp::Reverse(finding.weight), finding.kind)).or_default().push(finding);
    }

    for ((weight, _), alike) in by_kind {
        let alike = folded(shown, &alike);
        let word = if weight.0 == PlacementVerdict::Well { "note" } else { weight.0.name() };
        let most = if alike.len() > ROWS { ALIKE } else { alike.len() };
        let (first, rest) = alike.split_at(most);
        first.iter().for_each(|(finding, _)| line(text, &format!("{word}: {finding}")));
        let ranks = rest.iter().flat_map(|(_, ranks)| ranks).filter_map(|rank| u32::try_from(*rank).ok());
        let ranks: IdSet = ranks.collect();
        if !rest.is_empty() {
            line(text, &format!("{word}: the same of {} more: ranks {ranks}", rest.len()));
        }
    }
}

/// Findings that say the same of several ranks, as one with their numbers; each with its ranks.
fn folded(shown: &NodeTable<'_>, findings: &[&Finding]) -> Vec<(String, Vec<usize>)> {
    const RANK: &str = "\u{0}";
    let mut all: Vec<(String, Vec<usize>)> = Vec::new();
    for finding in findings {
        // One that speaks of several ranks, or of several numbers, is its own.
        let name = match finding.ranks.as_slice() {
            [rank] => shown.seen[*rank].name(),
            _ => RANK.to_owned(),
        };
        let pattern = finding.text.replace(&name, RANK);
        match all.iter_mut().find(|(known, _)| *known == pattern) {
            Some((_, ranks)) => ranks.extend(&finding.ranks),
            None => all.push((pattern, finding.ranks.clone())),
        }
    }

    let names = |ranks: &[usize]| match ranks {
        [rank] => shown.seen[*rank].name(),
        ranks => {
            let number = |rank: &usize| u32::try_from(shown.seen[*rank].rank.unwrap_or(*rank)).ok();
            format!("each of ranks {}", ranks.iter().filter_map(number).collect::<IdSet>())
        }
    };
    all.into_iter().map(|(pattern, ranks)| (pattern.replace(RANK, &names(&ranks)), ranks)).collect()
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn policy(seen: &ObservedRank) -> String {
    let policy = &seen.running.policy;
    match policy.mode {
        None => "?".to_owned(),
        Some(mode) if policy.nodes.is_empty() => mode.word().to_owned(),
        Some(mode) => format!("{} {}", mode.word(), policy.nodes),
    }
}

/// `3: 12 MiB`, the node with most of it first; two nodes at most. And how much is on nodes that are not its
/// PUs', where some is.
fn pages(seen: &ObservedRank, remote: Option<f64>) -> String {
    let percent = (remote.unwrap_or(0.0) * 100.0).round();
    let remote = if percent >= 1.0 { format!(" ({percent:.0} % remote)") } else { String::new() };
    by_node(seen) + &remote
}

fn by_node(seen: &ObservedRank) -> String {
    let Some(nodes) = &seen.running.pages.nodes else { return "?".to_owned() };
    let mut nodes: Vec<(u32, u64)> = nodes.iter().map(|pages| (pages.node, pages.bytes)).collect();
    nodes.sort_by_key(|(node, bytes)| (std::cmp::Reverse(*bytes), *node));
    let shown: Vec<String> =
        nodes.iter().take(2).map(|(node, bytes)| format!("{node}: {}", rounded(*bytes))).collect();
    match nodes.len() {
        0 => "none".to_owned(),
        1 | 2 => shown.join(", "),
        more => format!("{}, {} more", shown.join(", "), more - 2),
    }
}

fn rounded(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x1_0000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// `2 0000:c9:00.0`; of several their number.
fn gpus(shown: &NodeTable<'_>, seen: &ObservedRank) -> String {
    let index = |pci: PciAddress| shown.index(pci).map_or_else(|| "?".to_owned(), |index| index.to_string());
    match seen.running.gpus.devices.as_deref() {
        None => "?".to_owned(),
        Some([]) => "-".to_owned(),
        Some([one]) => match (one.pci, &one.part) {
            (Some(pci), None) => format!("{} {pci}", index(pci)),
            (Some(pci), Some(part)) => format!("{} {pci} {part}", index(pci)),
            (None, part) => part.clone().unwrap_or_default(),
        },
        Some(several) => {
            let indices: Option<IdSet> = several.iter().map(|one| shown.index(one.pci?)).collect();
            indices.map_or_else(|| format!("{} GPUs", several.len()), |indices| format!("{indices}"))
        }
    }
}

/// `WRONG: 1 of 8 ranks, 2 unknown`, `unknown: 2 of 8 ranks`, `well placed: 8 of 8 ranks`. Ranks that did not
/// answer are unknown ones.
fn sum(shown: &NodeTable<'_>) -> String {
    let count =
        |wanted: PlacementVerdict| shown.judgement.ranks.iter().filter(|rank| rank.placed == wanted).count();
    let all = shown.seen.len() + shown.missing.len();
    let unknown = count(PlacementVerdict::Unknown) + shown.missing.len();
    let of_all = format!("of {all} {}", if all == 1 { "rank" } else { "ranks" });

    match shown.placed {
        PlacementVerdict::Misplaced if unknown > 0 => {
            format!("WRONG: {} {of_all}, {unknown} unknown", count(PlacementVerdict::Misplaced))
        }
        PlacementVerdict::Misplaced => format!("WRONG: {} {of_all}", count(PlacementVerdict::Misplaced)),
        // What a site decides is said under the table.
        PlacementVerdict::Unknown if unknown == 0 => {
            format!("unknown: {all} {of_all}, it depends on {}", shown.depends_on)
        }
        PlacementVerdict::Unknown => format!("unknown: {unknown} {of_all}"),
        PlacementVerdict::Well if shown.judgement.leaves_gpus_to_programs() => {
            format!("well placed: {all} {of_all}, if each uses another GPU of those that it sees")
        }
        // On a node with GPUs that is seldom what was meant.
        PlacementVerdict::Well if none_sees_a_gpu(shown) => {
            format!("well placed: {all} {of_all}, none of which sees a GPU")
        }
        PlacementVerdict::Well => format!("well placed: {all} {of_all}"),
    }
}

/// Whether the machine has GPUs and it is known of all ranks that they see none.
fn none_sees_a_gpu(shown: &NodeTable<'_>) -> bool {
    let sees_none = |seen: &ObservedRank| seen.running.gpus.devices.as_ref().is_some_and(Vec::is_empty);
    !shown.topology.gpus.is_empty() && shown.missing.is_empty() && shown.seen.iter().all(sees_none)
}
