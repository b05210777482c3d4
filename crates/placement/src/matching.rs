//! Who gets which of the things that each can do with, one for each: a maximum matching, by augmenting paths.

use std::collections::{BTreeMap, BTreeSet};

/// Gives `one` of those who want something a thing, moving others along where they have another choice;
/// whether it could. `tried` are then the things that were looked at.
pub(crate) fn is_assigned<T: Copy + Ord>(
    one: usize,
    wants: &[Vec<T>],
    owners: &mut BTreeMap<T, usize>,
    tried: &mut BTreeSet<T>,
) -> bool {
    for thing in &wants[one] {
        if !tried.insert(*thing) {
            continue;
        }
        let owner = owners.get(thing).copied();
        if owner.is_none_or(|owner| is_assigned(owner, wants, owners, tried)) {
            owners.insert(*thing, one);
            return true;
        }
    }
    false
}
