//! OS ids of PUs and NUMA nodes, in the list syntax of taskset and numactl: `0-3,8`, `0-31:2`.
//!
//! Two types, because users mean two things: a [`IdList`] keeps the order typed (rank i takes the i-th), an
//! [`IdSet`] is what a machine has. Both print in the same syntax, so that what is printed can be pasted.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The largest id that is accepted: far above any machine, and small enough that a range cannot exhaust
/// memory.
pub const MAX_ID: u32 = 1 << 16;
/// As many as there are: a list of a hundred characters could else name a million, and one that fills a
/// command line a gigabyte of them.
const MOST_IDS: usize = MAX_ID as usize + 1;

/// A list of OS ids in the order typed; an id may appear more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdList(pub Vec<u32>);

/// A set of OS ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdSet(pub BTreeSet<u32>);

/// The text is not a list of ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdListError {
    /// Nothing between two commas, or an empty text.
    #[error(
        "the list \"{0}\" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 or 0-31:2"
    )]
    Empty(String),
    /// An item that is neither `N`, `N-M` nor `N-M:STEP`.
    #[error(
        "\"{item}\" in the list \"{list}\" is not an id or a range: write N, N-M or N-M:STEP, e.g. 49, 0-3 \
         or 0-31:2"
    )]
    Item {
        /// The item that failed.
        item: String,
        /// The whole list.
        list: String,
    },
    /// A range that ends before it starts.
    #[error("the range \"{0}\" runs backwards: write the smaller id first")]
    Backwards(String),
    /// A step of zero.
    #[error("the range \"{0}\" has a step of 0: the step must be 1 or more")]
    ZeroStep(String),
    /// More ids than there are.
    #[error("the list \"{shown}…\" has more than {MOST_IDS} ids: name each once")]
    TooMany {
        /// How the list begins.
        shown: String,
    },
    /// An id above [`MAX_ID`].
    #[error("the id in \"{0}\" is above {MAX_ID}, the largest that numabench accepts")]
    TooLarge(String),
}

impl FromStr for IdList {
    type Err = IdListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut ids = Vec::new();
        for item in text.split(',') {
            let item = item.trim();
            if item.is_empty() {
                return Err(IdListError::Empty(text.to_owned()));
            }
            let number = |digits: &str| -> Result<u32, IdListError> {
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(IdListError::Item { item: item.to_owned(), list: text.to_owned() });
                }
                match digits.parse::<u32>() {
                    Ok(id) if id <= MAX_ID => Ok(id),
                    _ => Err(IdListError::TooLarge(item.to_owned())),
                }
            };
            match item.split_once('-') {
                None => ids.push(number(item)?),
                Some((first, rest)) => {
                    let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
                    let (first, last, step) = (number(first)?, number(last)?, number(step)?);
                    if step == 0 {
                        return Err(IdListError::ZeroStep(item.to_owned()));
                    }
                    if last < first {
                        return Err(IdListError::Backwards(item.to_owned()));
                    }
                    ids.extend((first..=last).step_by(step as usize));
                }
            }
            if ids.len() > MOST_IDS {
                return Err(IdListError::TooMany { shown: text.chars().take(40).collect() });
            }
        }

        Ok(Self(ids))
    }
}

impl FromStr for IdSet {
    type Err = IdListError;

    /// As [`IdList`], and the empty text is the empty set (as the kernel writes it in sysfs).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            Ok(Self::default())
        } else {
            Ok(text.trim().parse::<IdList>()?.0.into_iter().collect())
        }
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}

impl Extend<u32> for IdSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ids: I) {
        self.0.extend(ids);
    }
}

impl IdSet {
    /// Whether `id` is in the set.
    pub fn contains(&self, id: u32) -> bool {
        self.0.contains(&id)
    }

    /// Whether the set has no id.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many ids the set has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest id.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Ids in both sets.
    pub fn and(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    /// Ids of this set that are not in `other`.
    pub fn minus(&self, other: &Self) -> Self {
        self.0.difference(&other.0).copied().collect()
    }

    /// Ids in either set.
    pub fn or(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }

    /// The ids of all these sets.
    pub fn of_all(sets: impl IntoIterator<Item = impl Borrow<Self>>) -> Self {
        let mut all = Self::default();
        sets.into_iter().for_each(|set| all.extend(set.borrow().iter()));
        all
    }

    /// Whether every id of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl fmt::Display for IdSet {
    /// Ranges with commas between (`0-3,8`), `none` for the empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let mut ids = self.iter().peekable();
        let mut separator = "";

        while let Some(first) = ids.next() {
            let mut last = first;
            while let Some(next) = ids.next_if(|id| *id == last + 1) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for IdList {
    /// The ids with commas between, in the order typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, id) in self.0.iter().enumerate() {
            write!(f, "{}{id}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl serde::Serialize for IdSet {
    /// As an array of numbers: a consumer needs no range parser.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> serde::Deserialize<'de> for IdSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<u32>::deserialize(deserializer).map(|ids| ids.into_iter().collect())
    }
}

impl schemars::JsonSchema for IdSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IdSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "array",
            "items": { "type": "integer", "minimum": 0 },
            "description": "OS ids in ascending order"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_the_order_typed() {
        assert_eq!("49,57,1".parse(), Ok(IdList(vec![49, 57, 1])));
        assert_eq!("0,0".parse(), Ok(IdList(vec![0, 0])));
    }

    #[test]
    fn ranges_and_steps_are_tasksets() {
        assert_eq!("0-3,8".parse(), Ok(IdList(vec![0, 1, 2, 3, 8])));
        assert_eq!("0-6:2".parse(), Ok(IdList(vec![0, 2, 4, 6])));
    }

    #[test]
    fn malformed_lists_name_the_item() {
        let error = |text: &str| {
            text.parse::<IdList>().map_or_else(|e| e.to_string(), |ids| format!("parsed: {ids}"))
        };
        assert!(error("3-1").contains("\"3-1\" runs backwards"), "{}", error("3-1"));
        let refused = |text: &str| text.parse::<IdList>().expect_err("no list");
        assert_eq!(refused("1,,2"), IdListError::Empty("1,,2".to_owned()));
        assert_eq!(refused(""), IdListError::Empty(String::new()));
        assert!(error("1,x").contains("\"x\""));
        assert!(error("-1").contains("\"-1\""));
        assert_eq!(refused("0-9:0"), IdListError::ZeroStep("0-9:0".to_owned()));
        assert!(error("99999999999999").contains("above"));
        assert!(error("0-4294967295").contains("above"));
        assert!("0-65536".parse::<IdList>().is_ok_and(|ids| ids.0.len() == 65537));
        assert!(matches!(refused("0-65536,0"), IdListError::TooMany { .. }));
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        for (error, said) in [
            (
                IdListError::Empty("1,,2".to_owned()),
                "the list \"1,,2\" has an empty item: write ids and ranges with commas between, e.g. 0-3,8 \
                 or 0-31:2",
            ),
            (
                IdListError::ZeroStep("0-9:0".to_owned()),
                "the range \"0-9:0\" has a step of 0: the step must be 1 or more",
            ),
            (
                IdListError::TooMany { shown: "0-".to_owned() },
                "the list \"0-…\" has more than 65537 ids: name each once",
            ),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn a_set_prints_what_it_parses() {
        for text in ["0-3,8", "5", "0-1", "0,2,4"] {
            assert_eq!(text.parse::<IdSet>().map(|s| s.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(IdSet::default().to_string(), "none");
    }
}
