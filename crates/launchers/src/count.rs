//! How many ranks one node gets: placement is a node's own matter, and a line may start ranks on several.

use placement::MOST_RANKS;

use crate::error::LineError;
use crate::value::wrong;

/// What the line says of numbers of ranks and nodes, in whatever order.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Ranks in all.
    pub ranks: Option<usize>,
    /// Nodes.
    pub nodes: Option<usize>,
    /// Ranks a node.
    pub of_a_node: Option<usize>,
    /// Slots of each host, where the line names hosts.
    pub slots: Vec<usize>,
}

impl Count {
    /// The ranks of one node, the first; `lists` are places that the line has, where it has no number.
    pub fn here(&self, lists: usize) -> Result<usize, LineError> {
        let count = match (self.of_a_node, self.ranks) {
            // srun(1): beside --ntasks it is the most that a node gets.
            (Some(each), Some(all)) => each.min(all),
            (Some(each), None) => each,
            (None, Some(all)) => self.of_all(all),
            (None, None) => lists,
        };
        if count > MOST_RANKS {
            let wanted =
                format!("a node has {MOST_RANKS} at most; with several nodes say how many (-N, --nodes)");
            return Err(wrong("the number of ranks", &count.to_string(), wanted));
        }
        Ok(count.max(1))
    }

    /// Hosts that are named fill their slots one after another, and again from the first where there are more
    /// ranks.
    fn of_all(&self, all: usize) -> usize {
        let slots: usize = self.slots.iter().sum();
        match (self.nodes, self.slots.first()) {
            (Some(nodes), _) => all.div_ceil(nodes.max(1)),
            (None, Some(first)) if slots > 0 => {
                (all / slots).saturating_mul(*first) + first.min(&(all % slots))
            }
            _ => all,
        }
    }

    /// `16 ranks on 2 nodes` where the ranks that are judged are not all.
    pub fn beyond(&self, here: usize) -> Option<String> {
        let nodes =
            self.nodes.or((!self.slots.is_empty()).then_some(self.slots.len())).filter(|nodes| *nodes > 1);
        let ranks = self.ranks.filter(|ranks| *ranks > here);
        match (ranks, nodes) {
            (Some(ranks), Some(nodes)) => Some(format!("of {ranks} ranks on {nodes} nodes")),
            (Some(ranks), None) => Some(format!("of {ranks} ranks")),
            (None, Some(nodes)) => Some(format!("of {nodes} nodes")),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_of_a_node_are_what_it_is_given_or_an_even_part_or_all() {
        let count = |ranks, nodes, of_a_node, slots: &[usize]| {
            Count { ranks, nodes, of_a_node, slots: slots.to_vec() }
                .here(3)
                .map_err(|error| error.to_string())
        };

        for (given, ranks) in [
            (count(None, None, None, &[]), 3),
            (count(Some(16), None, None, &[]), 16),
            (count(Some(16), Some(2), None, &[]), 8),
            (count(Some(17), Some(2), None, &[]), 9),
            (count(Some(16), Some(2), Some(4), &[]), 4),
            (count(None, Some(2), Some(4), &[]), 4),
            (count(Some(4), Some(1), Some(8), &[]), 4),
            (count(Some(16), None, None, &[8, 8]), 8),
            (count(Some(8), None, None, &[8, 8]), 8),
            (count(Some(4), None, None, &[1, 1]), 2),
            (count(Some(3), None, None, &[1, 1]), 2),
            (count(Some(1 << 20), Some(1 << 10), None, &[]), 1024),
        ] {
            assert_eq!(given, Ok(ranks));
        }

        let refused = count(Some(8193), None, None, &[]).err().unwrap_or_default();
        assert!(refused.contains("\"8193\"") && refused.contains("8192 at most"), "{refused}");
        let whole = Count { ranks: Some(16), nodes: Some(2), ..Count::default() };
        assert_eq!(whole.beyond(8).as_deref(), Some("of 16 ranks on 2 nodes"));
        assert_eq!(Count { ranks: Some(8), nodes: Some(1), ..Count::default() }.beyond(8), None);
    }
}
