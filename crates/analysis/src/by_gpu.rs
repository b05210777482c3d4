//! Runs in which each GPU is one place, wherever its rank ran: for the question what a queue, a launcher or a
//! map of ranks costs each GPU.
//!
//! Where the rank was is a condition then, so that a comparison names it where it differs. Ranks that share a
//! GPU keep their PUs: their figures are no figure of the GPU.

use std::collections::BTreeMap;

use crate::conditions::{Condition, RANKS_AT_ONCE};
use crate::figure::Key;
use crate::run::Run;

/// The same run, its places GPUs.
///
/// # Errors
/// The run's name, where no GPU has one rank of its own.
pub fn by_gpu(run: Run) -> Result<Run, String> {
    let mut ranks: BTreeMap<Key, usize> = BTreeMap::new();
    run.figures.keys().for_each(|key| *ranks.entry(of_gpu(key)).or_default() += 1);
    let is_alone = |key: &Key| key.place.is_none() && ranks.get(&of_gpu(key)) == Some(&1);

    if !run.figures.keys().any(is_alone) {
        return Err(run.name);
    }

    let mut places: Vec<Condition> = Vec::new();
    for key in run.figures.keys().filter(|key| is_alone(key)) {
        let where_it_was = format!("PU {}{}", key.pu, key.memory());
        let place = Condition::new(format!("rank of {}", key.device), where_it_was, false);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    // How many ranks were at once may differ: each GPU is compared by itself.
    let relaxed = |condition: Condition| {
        let essential = condition.essential && condition.fact != RANKS_AT_ONCE;
        Condition { essential, ..condition }
    };
    let conditions = run.conditions.into_iter().map(relaxed).chain(places).collect();
    let figures = run.figures.into_iter();
    let figures = figures.map(|(key, figure)| (if is_alone(&key) { of_gpu(&key) } else { key }, figure));
    Ok(Run { conditions, figures: figures.collect(), ..run })
}

fn of_gpu(key: &Key) -> Key {
    Key { host: key.host.clone(), ..Key::in_words(&key.case, key.device_alone().to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(places: &[(&str, u32)]) -> Run {
        let key = |(device, pu): &(&str, u32)| Key {
            case: "alone/pinned/h2d/4194304".to_owned(),
            host: None,
            device: (*device).to_owned(),
            pu: *pu,
            memory_node: Some(*pu / 72),
            memory_spread: None,
            place: None,
        };
        Run {
            engine: report::settings::CopyEngine::default(),
            name: "a run".to_owned(),
            host: "a node".to_owned(),
            started_at: String::new(),
            asked: None,
            conditions: vec![
                Condition::new(RANKS_AT_ONCE, "4", true),
                Condition::new("platform", "CUDA", true),
            ],
            figures: places.iter().map(|place| (key(place), Err("not measured".to_owned()))).collect(),
        }
    }

    #[test]
    fn a_gpu_is_one_place_and_where_its_rank_was_a_condition() -> Result<(), String> {
        let found = by_gpu(run(&[("0000:01:00.0", 0), ("0001:01:00.0", 100)]))?;
        let places: Vec<&str> = found.figures.keys().filter_map(|key| key.place.as_deref()).collect();
        assert_eq!(places, ["0000:01:00.0", "0001:01:00.0"]);
        let said: Vec<String> = found
            .conditions
            .iter()
            .map(|one| format!("{}: {} {}", one.fact, one.value, one.essential))
            .collect();
        let ranks =
            ["rank of 0000:01:00.0: PU 0, node 0 false", "rank of 0001:01:00.0: PU 100, node 1 false"];
        assert_eq!(said[..2], ["ranks at once: 4 false", "platform: CUDA true"]);
        assert_eq!(said[2..], ranks);
        Ok(())
    }

    #[test]
    fn ranks_that_share_a_gpu_keep_their_places() -> Result<(), String> {
        let found = by_gpu(run(&[("0000:01:00.0", 0), ("0000:01:00.0", 1), ("0001:01:00.0", 72)]))?;
        let pus: Vec<(u32, bool)> = found.figures.keys().map(|key| (key.pu, key.place.is_some())).collect();
        assert_eq!(pus, [(0, false), (1, false), (0, true)]);
        let none = by_gpu(run(&[("0000:01:00.0", 0), ("0000:01:00.0", 1)]));
        assert_eq!(none.err().as_deref(), Some("a run"));

        // Those that share its PU too are told apart by their numbers.
        let none = by_gpu(run(&[("0000:01:00.0", 0), ("0000:01:00.0 #2", 0)]));
        assert_eq!(none.err().as_deref(), Some("a run"));
        Ok(())
    }
}
