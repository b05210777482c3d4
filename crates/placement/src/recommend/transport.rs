//! The cheapest way to seat ranks of several kinds on cores of several classes.
//!
//! The transportation problem, solved exactly by successive cheapest paths (Ahuja, Magnanti and Orlin,
//! *Network Flows*, 1993, §9.7). Nodes of computers have a few dozen kinds and classes, and a path carries as
//! many ranks as it can, so this takes no time that anybody would notice.

use super::cost::{Cost, MUST};

/// How many ranks a kind has, or a class takes: at least so many if there are any, and at most so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Bounds {
    pub(super) fn exactly(count: usize) -> Self {
        Self { least: count, most: count }
    }
}

/// Who is seated where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seating {
    /// The sum of what it costs.
    pub(super) cost: Cost,
    /// How many of each kind are in each class.
    pub(super) seated: Vec<Vec<usize>>,
}

/// Seats `total` ranks; `cost` is that of a kind in a class. Fewer are seated where there is no room for
/// more.
pub(super) fn cheapest(
    total: usize,
    kinds: &[Bounds],
    classes: &[Bounds],
    cost: impl Fn(usize, usize) -> Cost,
) -> Seating {
    let (source, sink) = (0, kinds.len() + classes.len() + 1);
    let of_kind = |kind: usize| 1 + kind;
    let of_class = |class: usize| 1 + kinds.len() + class;
    let mut network = Network::of(sink + 1);
    for (kind, bounds) in kinds.iter().enumerate() {
        network.join_within(source, of_kind(kind), bounds);
    }
    let first = network.arcs.len();

    for kind in 0..kinds.len() {
        for class in 0..classes.len() {
            network.join(of_kind(kind), of_class(class), total, cost(kind, class));
        }
    }

    for (class, bounds) in classes.iter().enumerate() {
        network.join_within(of_class(class), sink, bounds);
    }
    let mut left = total;

    while left > 0 {
        let Some(path) = network.cheapest_path(source, sink) else { break };
        let room = path.iter().map(|arc| network.arcs[*arc].room).min().unwrap_or(0).min(left);
        path.into_iter().for_each(|arc| network.send(arc, room));
        left -= room;
    }

    // What flows through an arc is the room of its way back.
    let flow = |kind: usize, class: usize| network.arcs[first + 2 * (kind * classes.len() + class) + 1].room;
    let seated: Vec<Vec<usize>> =
        (0..kinds.len()).map(|kind| (0..classes.len()).map(|class| flow(kind, class)).collect()).collect();
    let each = seated.iter().enumerate().flat_map(|(kind, row)| {
        let cost = &cost;
        row.iter()
            .enumerate()
            .map(move |(class, ranks)| cost(kind, class) * Cost::try_from(*ranks).unwrap_or(0))
    });
    Seating { cost: each.sum(), seated }
}

struct Arc {
    to: usize,
    room: usize,
    cost: Cost,
}

/// A network of arcs, each with its way back behind it.
struct Network {
    arcs: Vec<Arc>,
    from: Vec<Vec<usize>>,
}

impl Network {
    fn of(nodes: usize) -> Self {
        Self { arcs: Vec::new(), from: vec![Vec::new(); nodes] }
    }

    fn join(&mut self, from: usize, to: usize, room: usize, cost: Cost) {
        self.from[from].push(self.arcs.len());
        self.arcs.push(Arc { to, room, cost });
        self.from[to].push(self.arcs.len());
        self.arcs.push(Arc { to: from, room: 0, cost: -cost });
    }

    /// What must flow is worth more than anything that it costs elsewhere.
    fn join_within(&mut self, from: usize, to: usize, bounds: &Bounds) {
        self.join(from, to, bounds.least, -MUST);
        self.join(from, to, bounds.most - bounds.least, 0);
    }

    fn send(&mut self, arc: usize, ranks: usize) {
        self.arcs[arc].room -= ranks;
        self.arcs[arc ^ 1].room += ranks;
    }

    /// By Bellman and Ford, since what must flow has a negative cost; the first of equals.
    fn cheapest_path(&self, source: usize, sink: usize) -> Option<Vec<usize>> {
        let mut cost: Vec<Option<Cost>> = vec![None; self.from.len()];
        let mut by: Vec<Option<(usize, usize)>> = vec![None; self.from.len()];
        let mut waiting = std::collections::VecDeque::from([source]);
        cost[source] = Some(0);

        while let Some(node) = waiting.pop_front() {
            let Some(here) = cost[node] else { continue };
            for at in &self.from[node] {
                let arc = &self.arcs[*at];
                if arc.room > 0 && cost[arc.to].is_none_or(|known| here + arc.cost < known) {
                    cost[arc.to] = Some(here + arc.cost);
                    by[arc.to] = Some((node, *at));
                    if !waiting.contains(&arc.to) {
                        waiting.push_back(arc.to);
                    }
                }
            }
        }

        let mut path = Vec::new();
        let mut node = sink;

        while node != source {
            let (before, arc) = by[node]?;
            path.push(arc);
            node = before;
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_move_on_where_that_lets_another_one_in() {
        // Kind 0 may sit in both classes, kind 1 in class 0 alone without a cost: the first one in must give
        // way.
        let costs = [[0, 0], [0, 5]];
        let seating = cheapest(
            4,
            &[Bounds::exactly(2), Bounds::exactly(2)],
            &[Bounds::exactly(2); 2],
            |kind, class| costs[kind][class],
        );
        assert_eq!(seating, Seating { cost: 0, seated: vec![vec![0, 2], vec![2, 0]] });
    }

    #[test]
    fn what_must_be_used_is_used_and_the_rest_is_where_it_costs_least() {
        let classes = [Bounds { least: 0, most: 4 }, Bounds { least: 2, most: 3 }];
        let seating = cheapest(3, &[Bounds::exactly(3)], &classes, |_, class| [1, 7][class]);
        assert_eq!(seating.seated, [[1, 2]]);
        let kinds = [Bounds { least: 0, most: 1 }; 3];
        let seating = cheapest(2, &kinds, &[Bounds { least: 0, most: 9 }], |kind, _| [3, 1, 2][kind]);
        assert_eq!(seating, Seating { cost: 3, seated: vec![vec![0], vec![1], vec![1]] });
    }
}
