//! How a user names devices: `all`, or a list of indices (`0,1`, `0-3`), PCI addresses and UUIDs, mixed as
//! they like.
//!
//! An index is the position in PCI order (`CUDA_DEVICE_ORDER=PCI_BUS_ID`), not the runtime's own; a device
//! may be named more than once, which makes several ranks share it.

use std::fmt;
use std::str::FromStr;

use stats::id_list::IdListError;
use stats::{IdList, PciAddress};

use crate::Target;
use crate::target::listed;

/// The devices asked for, in rank order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every one, in PCI order.
    All,
    /// These, one for each rank.
    These(Vec<Selector>),
}

/// One device as named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// By position in PCI order (by OS index for a node).
    Index(u32),
    /// By PCI address.
    Pci(PciAddress),
    /// By UUID (`GPU-…`, `MIG-…`), or the beginning of one that fits only one device.
    Uuid(String),
}

/// The selection cannot be read, or names what is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Not an index, an address, a UUID or `all`.
    #[error(
        "\"{item}\" names no device: write indices in PCI order (0,1 or 0-3), PCI addresses (0000:c1:00.0), \
         UUIDs (GPU-…) or all"
    )]
    Malformed {
        /// The item.
        item: String,
    },
    /// A malformed index list.
    #[error(transparent)]
    List(#[from] IdListError),
    /// A device that is not there.
    #[error("there is no device {asked} here: {present}")]
    Absent {
        /// As asked.
        asked: String,
        /// What there is.
        present: String,
    },
    /// A UUID's beginning that fits several devices.
    #[error("\"{asked}\" fits more than one device: {fits}; write more of the UUID")]
    Ambiguous {
        /// As asked.
        asked: String,
        /// What it fits.
        fits: String,
    },
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let mut selectors = Vec::new();

        for item in text.split(',').map(str::trim) {
            if item.starts_with("GPU-") || item.starts_with("MIG-") {
                selectors.push(Selector::Uuid(item.to_owned()));
            } else if item.contains(':') && !item.contains('-') {
                let pci = item.parse().map_err(|_| SelectionError::Malformed { item: item.to_owned() })?;
                selectors.push(Selector::Pci(pci));
            } else {
                match item.parse::<IdList>() {
                    Ok(ids) => selectors.extend(ids.0.into_iter().map(Selector::Index)),
                    Err(IdListError::Item { item, .. }) => return Err(SelectionError::Malformed { item }),
                    Err(other) => return Err(other.into()),
                }
            }
        }
        Ok(Self::These(selectors))
    }
}

impl Selection {
    /// The targets meant, in the order asked.
    ///
    /// # Errors
    /// [`SelectionError::Absent`] with what there is, [`SelectionError::Ambiguous`].
    pub fn resolve(&self, targets: &[Target]) -> Result<Vec<Target>, SelectionError> {
        match self {
            Self::All => Ok(targets.to_vec()),
            Self::These(selectors) => selectors.iter().map(|selector| selector.resolve(targets)).collect(),
        }
    }
}

impl Selector {
    pub(crate) fn resolve(&self, targets: &[Target]) -> Result<Target, SelectionError> {
        let fits: Vec<&Target> = match self {
            Self::Index(index) => targets.iter().filter(|t| t.index == *index).collect(),
            Self::Pci(pci) => targets.iter().filter(|t| t.id == crate::TargetId::Gpu(*pci)).collect(),
            Self::Uuid(text) => {
                targets.iter().filter(|t| t.uuid.as_ref().is_some_and(|u| u.starts_with(text))).collect()
            }
        };
        match fits[..] {
            [one] => Ok(one.clone()),
            [] => Err(SelectionError::Absent { asked: self.to_string(), present: present(targets) }),
            _ => {
                let fits = fits.iter().filter_map(|t| t.uuid.clone()).collect::<Vec<_>>().join(", ");
                Err(SelectionError::Ambiguous { asked: self.to_string(), fits })
            }
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Pci(pci) => pci.fmt(f),
            Self::Uuid(uuid) => uuid.fmt(f),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::These(selectors) => {
                let texts: Vec<String> = selectors.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

/// The devices there are, in words.
fn present(targets: &[Target]) -> String {
    if targets.is_empty() { "there are none".to_owned() } else { format!("there are {}", listed(targets)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TargetId;

    fn two() -> Vec<Target> {
        let gpu = |index, bus, uuid: &str| Target {
            index,
            id: TargetId::Gpu(PciAddress { domain: 0, bus, device: 0, function: 0 }),
            uuid: Some(uuid.to_owned()),
        };
        vec![gpu(0, 0xc1, "GPU-aa11"), gpu(1, 0xc6, "GPU-aa22")]
    }

    fn indices(text: &str) -> Result<Vec<u32>, SelectionError> {
        let selection: Selection = text.parse()?;
        let targets = selection.resolve(&two())?;
        Ok(targets.iter().map(|t| t.index).collect())
    }

    #[test]
    fn a_device_can_be_named_by_index_address_uuid_or_all() {
        assert_eq!(indices("1,0"), Ok(vec![1, 0]));
        assert_eq!(indices("0-1"), Ok(vec![0, 1]));
        assert_eq!(indices("c6:00.0,0"), Ok(vec![1, 0]));
        assert_eq!(indices("0000:C1:00.0"), Ok(vec![0]));
        assert_eq!(indices("GPU-aa2"), Ok(vec![1]));
        assert_eq!(indices("all"), Ok(vec![0, 1]));
    }

    #[test]
    fn a_device_named_twice_is_shared() {
        assert_eq!(indices("0,0"), Ok(vec![0, 0]));
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        for text in ["2", "d1:00.0", "GPU-bb"] {
            let error = indices(text);
            let Err(SelectionError::Absent { present, .. }) = &error else { panic!("{error:?}") };
            assert_eq!(present, "there are 0 = 0000:c1:00.0 = GPU-aa11, 1 = 0000:c6:00.0 = GPU-aa22");
        }
        assert!(
            matches!(indices("GPU-aa"), Err(SelectionError::Ambiguous { asked, .. }) if asked == "GPU-aa")
        );
        assert!(matches!(indices("gpu0"), Err(SelectionError::Malformed { item }) if item == "gpu0"));
        let refused = ["2", "GPU-aa", "gpu0"].map(|text| indices(text).expect_err("a refusal").to_string());
        insta::assert_snapshot!("refused_selections", refused.join("\n"));
    }
}
