//! How many ranks each node gets, and their numbers in the launch: placement is a node's own matter, and a
//! line may start ranks on several.

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
    /// In which order nodes get ranks.
    pub dealing: Dealing,
}

/// In which order the nodes of a launch get their ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dealing {
    /// One node is filled before the next.
    #[default]
    Filled,
    /// Node after node gets this many, again from the first.
    Turns(usize),
    /// Not known.
    Unknown,
}

/// The ranks of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DealtNode {
    /// The number of the node.
    pub node: usize,
    /// How many ranks it has.
    pub size: usize,
    /// Their numbers in the launch, in the order of their numbers on the node; `None`: not known.
    pub worlds: Option<Vec<usize>>,
}

/// Nodes that are looked at one by one, before the last.
const MOST_NODES: usize = 16;

/// Ranks of a launch whose numbers are worked out.
const MOST_DEALT: usize = 1 << 22;

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
            (Some(nodes), _) => match self.dealing {
                Dealing::Turns(each) => {
                    let round = each.saturating_mul(nodes).max(1);
                    (all / round).saturating_mul(each) + each.min(all % round)
                }
                Dealing::Filled | Dealing::Unknown => all.div_ceil(nodes.max(1)),
            },
            (None, Some(_)) if slots > 0 && self.dealing == Dealing::Turns(1) => {
                self.dealt_ranks(self.slots.len(), all).first().map_or(all, Vec::len)
            }
            (None, Some(first)) if slots > 0 => {
                (all / slots).saturating_mul(*first) + first.min(&(all % slots))
            }
            _ => all,
        }
    }

    /// How many nodes the launch has, of which the first has this many ranks.
    fn number_of_nodes(&self, here: usize) -> usize {
        let of_slots = (!self.slots.is_empty()).then_some(self.slots.len());
        let of_ranks = self.ranks.filter(|_| self.of_a_node.is_some()).map(|all| all.div_ceil(here.max(1)));
        self.nodes.or(of_slots).or(of_ranks).unwrap_or(1)
    }

    /// The nodes whose ranks are looked at, the first of which has this many: the first ones and the last.
    pub fn dealt(&self, here: usize) -> Vec<DealtNode> {
        let nodes = self.number_of_nodes(here);
        let first = |worlds| vec![DealtNode { node: 0, size: here, worlds }];
        if nodes <= 1 {
            return first(Some((0..here).collect()));
        }

        let all = self.ranks.unwrap_or(here.saturating_mul(nodes));
        if self.dealing == Dealing::Unknown || all.max(nodes) > MOST_DEALT {
            return first(None);
        }
        let dealt = self.dealt_ranks(nodes, all);
        if dealt.first().map(Vec::len) != Some(here) {
            return first(None);
        }

        let last = dealt.len() - 1;
        let is_looked_at = |(node, worlds): &(usize, Vec<usize>)| {
            (*node < MOST_NODES || *node == last) && !worlds.is_empty()
        };
        let looked_at = dealt.into_iter().enumerate().filter(is_looked_at);
        looked_at.map(|(node, worlds)| DealtNode { node, size: worlds.len(), worlds: Some(worlds) }).collect()
    }

    /// The numbers of all ranks, node by node.
    fn dealt_ranks(&self, nodes: usize, all: usize) -> Vec<Vec<usize>> {
        let even = |node: usize| all / nodes + usize::from(node < all % nodes);
        let turn = |node: usize| match (&self.dealing, self.of_a_node, self.slots.get(node)) {
            (Dealing::Turns(each), ..) => *each,
            (_, Some(each), _) => each,
            (_, None, Some(slots)) if self.nodes.is_none() => *slots,
            _ => even(node),
        };
        let slots: usize = self.slots.iter().sum();
        let room = |node: usize| match self.slots.get(node) {
            Some(own) if self.nodes.is_none() && self.of_a_node.is_none() && all <= slots => *own,
            _ => all,
        };

        let (mut dealt, mut next) = (vec![Vec::new(); nodes], 0);
        while next < all {
            let before = next;
            for (node, own) in dealt.iter_mut().enumerate() {
                let taken = turn(node).min(room(node) - own.len()).min(all - next);
                own.extend(next..next + taken);
                next += taken;
            }
            if next == before {
                break;
            }
        }
        dealt
    }

    /// How many ranks there are on all nodes, each of which has as many as this one; `None` where that is not
    /// known, or this one has fewer.
    pub fn of_all_nodes(&self, here: usize) -> Option<usize> {
        let of_nodes = self.of_a_node.zip(self.nodes).map(|(each, nodes)| each.saturating_mul(nodes));
        self.ranks.or(of_nodes).filter(|_| self.here(here).is_ok_and(|first| first == here))
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
            Count { ranks, nodes, of_a_node, slots: slots.to_vec(), ..Count::default() }
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

    /// The numbers of each node's ranks. srun's are those that Slurm 22.05 gave in a job with two nodes
    /// (`SLURM_NODEID`, `SLURM_PROCID`), Open MPI's those of 4.1.4.
    #[test]
    fn each_nodes_ranks_have_the_numbers_that_launchers_gave_them() {
        let worlds = |count: Count| -> Vec<Vec<usize>> {
            let here = count.here(1).unwrap_or_default();
            count.dealt(here).into_iter().map(|node| node.worlds.unwrap_or_default()).collect()
        };
        let srun = |ranks, of_a_node, dealing| {
            worlds(Count { ranks: Some(ranks), nodes: Some(2), of_a_node, dealing, ..Count::default() })
        };
        let slots = |ranks, slots: &[usize], dealing| {
            worlds(Count { ranks: Some(ranks), slots: slots.to_vec(), dealing, ..Count::default() })
        };

        assert_eq!(srun(7, None, Dealing::Filled), [vec![0, 1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(srun(3, Some(2), Dealing::Filled), [vec![0, 1], vec![2]]);
        assert_eq!(srun(7, None, Dealing::Turns(1)), [vec![0, 2, 4, 6], vec![1, 3, 5]]);
        assert_eq!(srun(6, None, Dealing::Turns(4)), [vec![0, 1, 2, 3], vec![4, 5]]);
        assert_eq!(srun(8, None, Dealing::Turns(3)), [vec![0, 1, 2, 6, 7], vec![3, 4, 5]]);
        assert_eq!(slots(6, &[4, 4], Dealing::Filled), [vec![0, 1, 2, 3], vec![4, 5]]);
        assert_eq!(slots(6, &[4, 4], Dealing::Turns(1)), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!(slots(5, &[4, 1], Dealing::Turns(1)), [vec![0, 2, 3, 4], vec![1]]);
        assert_eq!(srun(6, None, Dealing::Unknown), [vec![0; 0]], "not known");

        let of_hydra = Count { ranks: Some(8), of_a_node: Some(4), ..Count::default() };
        assert_eq!(worlds(of_hydra), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]], "the nodes follow from -ppn");
        let many = Count { ranks: Some(400), nodes: Some(100), ..Count::default() };
        let looked_at: Vec<usize> = many.dealt(4).into_iter().map(|node| node.node).collect();
        assert_eq!(looked_at, (0..16).chain([99]).collect::<Vec<_>>());
    }
}
