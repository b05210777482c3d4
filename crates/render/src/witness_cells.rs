//! The tables about a program's copies, as cells: a terminal and a page show the same. Headers that end in a
//! space are of numbers.

use std::collections::BTreeSet;

use analysis::witness_answer::{direction, distance, memory, percent, spoken};
use analysis::witness_launch::WitnessLaunch;
use report::WitnessDocument;
use report::witness::WitnessBuffer;
use stats::units::rate;

/// The columns of a launch's ranks; the first three are labels.
pub(crate) const RANKS: [&str; 8] =
    ["rank", "host", "GPU", "MB ", "far ", "pageable ", "waited ", "of its time "];

/// The columns of buffers; the first six are labels.
pub(crate) const BUFFERS: [&str; 9] =
    ["buffer", "GPU", "way", "memory", "nodes", "", "MB ", "copies ", "GB/s "];

/// A row a rank, all of them together first.
pub(crate) fn ranks(launch: &WitnessLaunch) -> Vec<[String; 8]> {
    let together: f64 = launch.ranks.iter().map(|rank| rank.elapsed_s).sum();
    let hosts: BTreeSet<&String> = launch.ranks.iter().filter_map(|rank| rank.host.as_ref()).collect();
    let on = match hosts.len() {
        0 | 1 => hosts.first().map_or(String::new(), |host| (*host).clone()),
        several => format!("{several} hosts"),
    };

    let of_rank = |document: &WitnessDocument| {
        let name = document.rank.map_or("?".to_owned(), |rank| rank.to_string());
        let host = document.host.clone().unwrap_or_default();
        rank(document, [name, host, gpus(document)], document.elapsed_s)
    };
    let all = rank(&launch.sum, ["all".to_owned(), on, gpus(&launch.sum)], together);
    std::iter::once(all).chain(launch.ranks.iter().map(of_rank)).collect()
}

fn rank(document: &WitnessDocument, [name, host, gpus]: [String; 3], time_s: f64) -> [String; 8] {
    let total = &document.total;
    let share = |part: u64| if total.bytes == 0 { "-".to_owned() } else { percent(part, total.bytes) };
    let waited = document.waited_s;
    let of_time = waited.map(|waited| format!("{:.1} %", waited / time_s.max(1e-9) * 100.0));
    let dash = || "-".to_owned();

    [
        name,
        host,
        gpus,
        megabytes(total.bytes),
        if total.near_bytes + total.far_bytes == 0 { "?".to_owned() } else { share(total.far_bytes) },
        share(total.pageable_bytes),
        waited.map_or_else(dash, spoken),
        of_time.unwrap_or_else(dash),
    ]
}

/// The GPUs that a document's copies were from and to: `0, 1`.
fn gpus(document: &WitnessDocument) -> String {
    let names: BTreeSet<String> = document.buffers.iter().map(gpu).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn gpu(buffer: &WitnessBuffer) -> String {
    buffer.gpu_index.map_or_else(|| buffer.gpu.clone(), |index| index.to_string())
}

/// A buffer's cells; where several processes copied, its process stands before its address.
pub(crate) fn buffer(buffer: &WitnessBuffer, has_several: bool) -> [String; 9] {
    let address = buffer.address.clone().unwrap_or_else(|| "others".to_owned());
    let name = if has_several { format!("{}:{address}", buffer.pid) } else { address };
    let timed = (buffer.timed > 0 && buffer.timed_s > 0.0)
        .then(|| rate(buffer.timed_bytes as f64 / buffer.timed_s).replace(" GB/s", ""));

    [
        name,
        gpu(buffer),
        direction(buffer.direction).to_owned(),
        memory(buffer.memory).to_owned(),
        nodes(buffer),
        distance(buffer.distance).to_owned(),
        megabytes(buffer.bytes),
        buffer.copies.to_string(),
        timed.unwrap_or_else(|| "-".to_owned()),
    ]
}

/// The nodes of a buffer, with shares where there are several.
fn nodes(buffer: &WitnessBuffer) -> String {
    let share = |bytes: u64| bytes as f64 / buffer.bytes.max(1) as f64 * 100.0;
    match &buffer.nodes[..] {
        [] => "?".to_owned(),
        [only] => only.node.to_string(),
        several => {
            let parts: Vec<String> =
                several.iter().map(|node| format!("{} ({:.0} %)", node.node, share(node.bytes))).collect();
            parts.join(", ")
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}
