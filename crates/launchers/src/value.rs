//! Values of options: numbers, ids, lists with repetitions. What is not one is refused with the option's name
//! and what it takes.

use placement::MOST_RANKS;
use stats::IdSet;

use crate::error::LineError;

/// A value that the option does not take.
pub(crate) fn wrong(option: &str, value: &str, wanted: impl Into<String>) -> LineError {
    LineError::Value { option: option.to_owned(), value: value.to_owned(), wanted: wanted.into() }
}

/// A whole number.
pub(crate) fn number(option: &str, value: &str) -> Result<usize, LineError> {
    value.parse().map_err(|_| wrong(option, value, "write a whole number"))
}

/// A number as Slurm reads it, decimal or behind 0x.
pub(crate) fn decimal_or_hex(text: &str) -> Option<usize> {
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// How many of something: at least one.
pub(crate) fn count(option: &str, value: &str) -> Result<usize, LineError> {
    match number(option, value)? {
        0 => Err(wrong(option, value, "write 1 or more")),
        count => Ok(count),
    }
}

/// OS ids, at least one.
pub(crate) fn ids(option: &str, value: &str) -> Result<IdSet, LineError> {
    let wanted = "write OS ids as taskset does: 0-3,8";
    let ids: IdSet = value.parse().map_err(|_| wrong(option, value, wanted))?;
    if ids.is_empty() { Err(wrong(option, value, wanted)) } else { Ok(ids) }
}

/// The entries of srun's list, each as often as it says: `0,1*2`.
pub(crate) fn repeated<T: Clone>(
    option: &str,
    list: &str,
    one: impl Fn(&str) -> Result<T, LineError>,
) -> Result<Vec<T>, LineError> {
    let mut all = Vec::new();
    for entry in list.split(',') {
        let (value, times) = entry.split_once('*').unwrap_or((entry, "1"));
        let times = count(option, times)?;
        if all.len().saturating_add(times) > MOST_RANKS {
            return Err(wrong(option, list, format!("a node has {MOST_RANKS} ranks at most")));
        }
        all.extend(std::iter::repeat_n(one(value)?, times));
    }
    Ok(all)
}
