//! Items that are alike put together, in the order of first appearance: what a table lists once, and what a
//! sentence says of several at once.
//!
//! Left out: an order of their own, which `BTreeMap` gives, and any speed for thousands of different ones:
//! each item is compared with those before it.

/// Each item once.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Each key once, with all that came with it.
pub fn grouped<K: PartialEq, V, C: Default + Extend<V>>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, C)> {
    let mut groups: Vec<(K, C)> = Vec::new();
    for (key, value) in pairs {
        let known = groups.iter().position(|(known, _)| *known == key);
        let at = known.unwrap_or_else(|| {
            groups.push((key, C::default()));
            groups.len() - 1
        });
        groups[at].1.extend([value]);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IdSet;

    #[test]
    fn what_is_alike_stands_once_where_it_came_first() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
        let by_reason: Vec<(&str, IdSet)> = grouped([("late", 4), ("lost", 2), ("late", 1)]);
        assert_eq!(by_reason, [("late", IdSet::from_iter([1, 4])), ("lost", IdSet::from_iter([2]))]);
    }
}
