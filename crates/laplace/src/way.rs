//! The ways of halos between ranks, and which of them a launch can have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stats::units::counted;

/// Who computes, and how halos go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HaloWay {
    /// Ranks compute with their own cores; MPI of host memory.
    Cpu,
    /// A GPU computes; a rank alone has no halos.
    Gpu,
    /// GPUs compute; halos go through pinned host memory.
    Staged,
    /// GPUs compute; MPI is given device memory.
    GpuAware,
}

impl HaloWay {
    /// All that can be asked for.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Gpu, Self::Staged, Self::GpuAware];

    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Staged => "staged",
            Self::GpuAware => "gpu-aware",
        }
    }

    /// Whether a GPU computes.
    pub fn has_gpu(self) -> bool {
        self != Self::Cpu
    }
}

impl FromStr for HaloWay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|way| way.name() == text);
        named.ok_or_else(|| {
            format!("no way is called {text}; there are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// A way, whether halos go while the inner rows are computed, and by how many ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WayVariant {
    /// The way.
    pub way: HaloWay,
    /// Whether halos overlap with the inner rows.
    pub overlap: bool,
    /// The first so many ranks of the launch; `None`: all, and nothing else was asked for.
    pub ranks: Option<usize>,
}

impl WayVariant {
    /// The way by all ranks.
    pub fn by_all(way: HaloWay, overlap: bool) -> Self {
        Self { way, overlap, ranks: None }
    }
}

impl fmt::Display for WayVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.way.name(), if self.overlap { ", overlapped" } else { "" })?;
        self.ranks.map_or(Ok(()), |ranks| write!(f, ", {}", counted(ranks, "rank")))
    }
}

/// The variants of each of these numbers of ranks, the fewest first. A rank alone has no halos: what GPUs
/// compute by whichever way is there `gpu`.
pub fn variants_by_ranks(
    counts: &[usize],
    gpu: bool,
    asked: &[HaloWay],
    overlap: Option<bool>,
) -> Vec<WayVariant> {
    let of_one: Vec<HaloWay> =
        asked.iter().map(|way| if way.has_gpu() { HaloWay::Gpu } else { *way }).collect();
    let by = |count: usize| {
        let asked = if count == 1 { &of_one[..] } else { asked };
        variants(count, gpu, asked, overlap)
            .into_iter()
            .map(move |variant| WayVariant { ranks: Some(count), ..variant })
    };
    counts.iter().copied().flat_map(by).collect()
}

/// The variants of so many ranks: those of `asked` (all where that is empty), with overlap and without or as
/// `overlap` says. The one that MPI may not survive is last.
pub fn variants(ranks: usize, gpu: bool, asked: &[HaloWay], overlap: Option<bool>) -> Vec<WayVariant> {
    let alone = ranks == 1;
    let has = |way: HaloWay| match way {
        HaloWay::Cpu => true,
        HaloWay::Gpu => gpu && alone,
        HaloWay::Staged | HaloWay::GpuAware => gpu && !alone,
    };
    let is_asked = |way: HaloWay| asked.is_empty() || asked.contains(&way);
    let ways = HaloWay::ALL.into_iter().filter(|way| has(*way) && is_asked(*way));
    let overlaps = move |overlapped: bool| {
        !(alone && overlapped) && (alone || overlap.is_none_or(|only| only == overlapped))
    };

    ways.flat_map(|way| {
        [false, true]
            .into_iter()
            .filter(move |on| overlaps(*on))
            .map(move |overlap| WayVariant::by_all(way, overlap))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(ranks: usize, gpu: bool, asked: &[HaloWay], overlap: Option<bool>) -> Vec<String> {
        variants(ranks, gpu, asked, overlap).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rank_alone_has_no_halos_and_several_have_each_way_with_overlap_and_without() {
        assert_eq!(named(1, true, &[], None), ["cpu", "gpu"]);
        assert_eq!(named(1, false, &[], Some(true)), ["cpu"]);
        assert_eq!(named(2, false, &[], None), ["cpu", "cpu, overlapped"]);
        let all = named(2, true, &[], None);
        assert_eq!(all.len(), 6);
        assert_eq!(all.last().map(String::as_str), Some("gpu-aware, overlapped"));
        assert_eq!(named(4, true, &[HaloWay::Staged], Some(false)), ["staged"]);
        assert_eq!("gpu-aware".parse(), Ok(HaloWay::GpuAware));
        let over = |asked: &[HaloWay]| -> Vec<String> {
            let found = variants_by_ranks(&[1, 2], true, asked, Some(false));
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(over(&[HaloWay::Staged]), ["gpu, 1 rank", "staged, 2 ranks"]);
        assert_eq!(over(&[HaloWay::Cpu]), ["cpu, 1 rank", "cpu, 2 ranks"]);
        assert!("direct".parse::<HaloWay>().is_err_and(|why| why.contains("cpu, gpu, staged, gpu-aware")));
    }
}
