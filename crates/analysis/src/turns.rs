//! Whether the runs of two sides took turns.

use crate::run::Run;

/// Whether the runs of both sides alternated, so that what the machine did meanwhile met both.
///
/// In order of time they change sides as often as the smaller side has runs, and twice at least; and nowhere
/// do more runs of one side follow each other than its share of a turn, or two. So the last three of six runs
/// that have no partner are no turns: what befell the machine during them would count as a change.
pub(crate) fn took_turns(base: &[Run], new: &[Run]) -> bool {
    let (fewer, more) = (base.len().min(new.len()), base.len().max(new.len()));
    let sides =
        base.iter().map(|run| (&run.started_at, false)).chain(new.iter().map(|run| (&run.started_at, true)));
    let mut in_time: Vec<(&String, bool)> = sides.collect();
    in_time.sort();

    let stretches = in_time.chunk_by(|one, next| one.1 == next.1);
    let changes = stretches.clone().count().saturating_sub(1);
    let longest = stretches.map(<[_]>::len).max().unwrap_or(0);
    changes >= fewer && changes > 1 && longest <= more.div_ceil(fewer.max(1)).max(2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Whether runs in this order, `b` of the base and `n` new, took turns.
    fn in_turns(order: &str) -> bool {
        let side = |wanted: char| -> Vec<Run> {
            let own = order.chars().enumerate().filter(|(_, side)| *side == wanted);
            own.map(|(at, _)| Run {
                name: String::new(),
                host: String::new(),
                started_at: format!("2026-01-01T00:{at:02}:00Z"),
                asked: None,
                conditions: Vec::new(),
                engine: report::settings::CopyEngine::default(),
                figures: BTreeMap::new(),
            })
            .collect()
        };
        took_turns(&side('b'), &side('n'))
    }

    #[test]
    fn runs_take_turns_where_neither_side_is_left_to_itself() {
        for order in ["bnbnbn", "nbnbnb", "bnnbbn", "bnnbnnbnn", "bnbnb"] {
            assert!(in_turns(order), "{order}");
        }
        for order in ["bbbnnn", "bn", "bnbnbnnnn", "bbbnbnbn", "bnnnbbbn", "bbbnnnbbbnnn"] {
            assert!(!in_turns(order), "{order}");
        }
    }
}
