//! Differences as a list that a mail or a ticket can hold.

use super::layout::{count, wrapped};
use super::source;
use crate::difference::{Difference, hidden, not_compared};
use crate::gpu_class::NVIDIA;
use crate::model::{Topology, TopologySource};
use crate::survey::Survey;

/// What is compared, then one entry per difference.
pub(super) fn lines(old: &Survey, new: &Survey, differences: &[Difference], width: usize) -> Vec<String> {
    let named = |topology: &Topology| match &topology.hostname {
        Some(host) => format!("{} ({host})", source(&topology.source)),
        None => source(&topology.source),
    };
    let (from, to) = (named(&old.topology), named(&new.topology));
    let differ = if differences.is_empty() {
        format!("no difference between {from} and {to}")
    } else {
        format!("{} from {from} to {to}", count(differences.len(), "difference"))
    };
    let mut lines = match hidden(old, new) {
        Some(hidden) => {
            let (guest, host) = if hidden.by_second { (&to, &from) } else { (&from, &to) };
            let topology = if hidden.by_second { &old.topology } else { &new.topology };
            let first = format!("{guest} hides {}, which {host} shows; {differ}", hidden.words());
            std::iter::once(first).chain(nccl_line(topology)).collect()
        }
        None => vec![differ],
    };
    lines.extend(differences.iter().flat_map(|difference| wrapped("  * ", &difference.words, width)));
    let open = not_compared(old, new);
    lines.extend(open.iter().flat_map(|words| wrapped("  not compared: ", words, width)));

    lines
}

/// The command that writes a file for NCCL in a guest of this host; NCCL is a library for NVIDIA's GPUs.
fn nccl_line(host: &Topology) -> Option<String> {
    let input: String = match &host.source {
        TopologySource::ThisSystem => String::new(),
        TopologySource::XmlFile { path } => format!("--input {path} "),
        TopologySource::Texts { paths, .. } => paths.iter().map(|path| format!("--input {path} ")).collect(),
    };
    host.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA).then(|| {
        format!("  for NCCL in there: numabench topo {input}--emit nccl-topo --guest HOST=GUEST,...")
    })
}
