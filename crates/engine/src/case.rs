//! What the engine must know of a case: who takes part, whether at once, and what it shares with other cases.
//! What is timed is the suite's.

/// How the ranks of a case share the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// All ranks at once.
    Simultaneous,
    /// One rank after the other, the others waiting.
    Alone,
}

impl Order {
    /// So many ranks at once; one has nobody to be at once with.
    pub fn of(ranks: usize) -> Self {
        if ranks > 1 { Self::Simultaneous } else { Self::Alone }
    }
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its position in the list of cases.
    pub index: usize,
    /// How its ranks share the machine.
    pub order: Order,
    /// Cases with the same number use what one [`crate::Site::set_up`] makes; they are measured together in
    /// each pass.
    pub setup: usize,
    /// Cases of a later phase are measured when all of an earlier one are done: what they do to a driver
    /// would show in the others' figures.
    pub phase: u8,
    /// The ranks that take part; `None` for all of them.
    pub members: Option<Vec<usize>>,
    /// The case ends with this many blocks if the run's rule has not ended it before; `None`: the rule alone
    /// ends it.
    pub most_blocks: Option<usize>,
}

impl Case {
    /// A case by these ranks, at once where they are several; its memory is no other one's.
    pub fn by(index: usize, ranks: Vec<usize>) -> Self {
        Self {
            index,
            order: Order::of(ranks.len()),
            setup: index,
            phase: 0,
            members: Some(ranks),
            most_blocks: None,
        }
    }

    /// Whether this rank takes part.
    pub fn has(&self, rank: usize) -> bool {
        self.members.as_ref().is_none_or(|members| members.contains(&rank))
    }
}
