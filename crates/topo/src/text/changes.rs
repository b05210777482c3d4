//! Differences as a list that a mail or a ticket can hold.

use super::layout::{count, wrapped};
use super::source;
use crate::difference::{Difference, hidden, not_compared};
use crate::model::Topology;
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
            let file = source(if hidden.by_second { &old.topology.source } else { &new.topology.source });
            vec![
                format!("{guest} hides {}, which {host} shows; {differ}", hidden.words()),
                format!(
                    "  for NCCL in there: numabench topo --input {file} --emit nccl-topo --guest \
                     HOST=GUEST,..."
                ),
            ]
        }
        None => vec![differ],
    };
    lines.extend(differences.iter().flat_map(|difference| wrapped("  * ", &difference.words, width)));
    let open = not_compared(old, new);
    lines.extend(open.iter().flat_map(|words| wrapped("  not compared: ", words, width)));

    lines
}
