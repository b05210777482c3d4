//! The sentences of the answer that need more than the document: what was not seen, by the records, and why
//! near and far are not known, by the topology.

use analysis::witness_answer::{bytes, percent};
use report::WitnessDocument;

use crate::buffers::NearNodes;
use crate::gain::MatrixRates;
use crate::layout::head;
use crate::record::Records;

/// Why near and far are not known; `None` where the distance of some bytes is known, and without a copy.
pub fn distance_unknown(document: &WitnessDocument, near: &[NearNodes]) -> Option<String> {
    let total = &document.total;
    let buffer = document.buffers.first().filter(|_| total.near_bytes + total.far_bytes == 0)?;
    Some(match near.iter().find(|near| near.gpu == buffer.gpu) {
        None => format!("the topology does not show GPU {}", buffer.gpu),
        Some(gpu) if gpu.nodes.is_empty() => format!("GPU {}: locality unknown ({})", gpu.index, gpu.reason),
        Some(_) => "no page could be looked at".to_owned(),
    })
}

/// Why the rates of a matrix may not be, or are not, those of this program's copies.
pub fn of_matrix(matrix: &MatrixRates, document: &WitnessDocument) -> Option<String> {
    let files = &matrix.files;
    if !document.processes.is_empty() && !matrix.are_as_real_as(document.simulated) {
        let whose = if document.simulated { "the program's GPUs are" } else { "its GPUs are" };
        return Some(format!("Not used: the rates of {files}, because only {whose} simulated."));
    }
    let others = matrix.other_hosts(document.host.as_deref());
    (!others.is_empty()).then(|| format!("The rates of {files} were measured on {}.", others.join(", ")))
}

/// What was not seen or not counted.
pub fn not_seen(records: &Records, document: &WitnessDocument) -> Vec<String> {
    let mut said = Vec::new();
    let sum = |word: usize| records.processes.iter().map(|process| process.head(word)).sum::<u64>();
    let total = &document.total;
    if total.looked_at_bytes < total.bytes {
        let (dropped, of) = (sum(head::LOOKS_DROPPED), sum(head::LOOKS));
        let dropped =
            if dropped > 0 { format!(", {dropped} of {of} looks found no room") } else { String::new() };
        said.push(format!(
            "Pages were looked at for {} of the bytes; nodes of the rest follow from these{dropped}.",
            percent(total.looked_at_bytes, total.bytes)
        ));
    }

    let counted = [
        (head::GRAPHS_UNSEEN, "launches of graphs whose copies are not known"),
        (head::OTHER_DRIVER, "functions of a second copy of the driver in the process"),
        (head::LOST, "copies for which the record had no room"),
    ];

    for (word, what) in counted {
        let count = sum(word);
        if count > 0 {
            said.push(format!("Not counted: {what} ({count})."));
        }
    }

    let prefetches = sum(head::PREFETCHES);
    if prefetches > 0 {
        let prefetched = bytes(sum(head::PREFETCH_BYTES));
        said.push(format!("Not placed: {prefetches} prefetches of managed memory ({prefetched})."));
    }
    let pages_error =
        records.processes.iter().map(|process| process.head(head::PAGES_ERROR)).max().unwrap_or(0);
    if pages_error > 0 {
        let error = std::io::Error::from_raw_os_error(i32::try_from(pages_error).unwrap_or(0));
        said.push(format!("The kernel refused move_pages ({error}); pages were asked for one by one."));
    }

    for (pid, error) in &records.passive {
        let error = std::io::Error::from_raw_os_error(*error);
        said.push(format!(
            "Process {pid} copied and nothing was counted: its record could not be written ({error}); \
             name a folder with room in TMPDIR."
        ));
    }

    let runs = |pid: u32| records.still_running.contains(&pid);
    let killed = document.processes.iter().filter(|process| !process.ended && !runs(process.pid)).count();

    if killed > 0 {
        let processes = if killed == 1 { "process" } else { "processes" };
        said.push(format!(
            "{killed} {processes} ended without running exit handlers: copies are counted, the last looks \
             and times are missing."
        ));
    }

    if records.broken > 0 {
        said.push(format!("Records that cannot be read: {}.", records.broken));
    }
    said
}
