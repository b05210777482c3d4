//! Cores that are slower than the machine's others by design: the small ones of hybrid CPUs (Raptor Lake's
//! Atoms, GB10's Cortex-A725).
//!
//! hwloc's CPU kinds tell, and their infos are compared in the order of what says most: Intel's name for the
//! kind of core, the kernel's capacity (1024 is the fastest core), the highest frequency. Favoured cores of
//! one design differ by a few per cent and are no other kind, so less than four fifths of the fastest is
//! slow. Left out: how much slower, which depends on the program.

use hwlocality::Topology as Hwloc;
use stats::IdSet;

use crate::bitmap::ids;
use crate::hwloc_object::text;
use crate::model::SlowCores;

/// Cores that share these infos.
struct Kind {
    pus: IdSet,
    core_type: Option<String>,
    capacity: Option<u64>,
    mhz: Option<u64>,
}

/// The slow cores; `None` where all are alike, or nothing tells them apart.
pub(crate) fn slow_cores(hwloc: &Hwloc) -> Option<SlowCores> {
    let kinds = hwloc.cpu_kinds().ok()?.map(|kind| {
        let info = |name: &str| {
            kind.infos.iter().find(|info| text(info.name()) == name).map(|info| text(info.value()))
        };
        let number = |name: &str| info(name)?.parse().ok();
        Kind {
            pus: ids(&kind.cpuset),
            core_type: info("CoreType"),
            capacity: number("LinuxCapacity"),
            mhz: number("FrequencyMaxMHz"),
        }
    });
    slow_of(&kinds.collect::<Vec<_>>())
}

fn slow_of(kinds: &[Kind]) -> Option<SlowCores> {
    const FAST: &str = "IntelCore";
    let is_fast = |kind: &Kind| kind.core_type.as_deref() == Some(FAST);
    if let Some(small) = kinds.iter().find_map(|kind| kind.core_type.as_deref().filter(|name| *name != FAST))
        && kinds.iter().any(is_fast)
    {
        let slow = kinds.iter().filter(|kind| kind.core_type.is_some() && !is_fast(kind));
        return merged_slow_cores(slow, format!("{small} beside {FAST}"));
    }

    let by = |value: fn(&Kind) -> Option<u64>, words: fn(u64, u64) -> String| {
        let values: Vec<u64> = kinds.iter().map(value).collect::<Option<_>>()?;
        let fastest = values.iter().max().copied()?;
        let is_slow = |value: u64| value.saturating_mul(5) < fastest.saturating_mul(4);
        let slowest = values.iter().copied().filter(|value| is_slow(*value)).min()?;
        merged_slow_cores(
            kinds.iter().filter(|kind| value(kind).is_some_and(is_slow)),
            words(slowest, fastest),
        )
    };

    by(|kind| kind.capacity, |slow, fast| format!("capacity {slow}, the fastest have {fast}"))
        .or_else(|| by(|kind| kind.mhz, |slow, fast| format!("at most {slow} MHz, the fastest {fast} MHz")))
}

fn merged_slow_cores<'k>(slow: impl Iterator<Item = &'k Kind>, reason: String) -> Option<SlowCores> {
    let pus = slow.fold(IdSet::default(), |all, kind| all.or(&kind.pus));
    (!pus.is_empty()).then_some(SlowCores { pus, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(pus: &str, core_type: Option<&str>, capacity: Option<u64>, mhz: Option<u64>) -> Kind {
        Kind { pus: pus.parse().unwrap_or_default(), core_type: core_type.map(str::to_owned), capacity, mhz }
    }

    fn slow(kinds: &[Kind]) -> Option<(String, String)> {
        slow_of(kinds).map(|slow| (slow.pus.to_string(), slow.reason))
    }

    #[test]
    fn small_cores_are_told_by_their_name_their_capacity_or_their_frequency() {
        let said = |pus: &str, reason: &str| Some((pus.to_owned(), reason.to_owned()));
        let intel = |name, pus, mhz| kind(pus, Some(name), None, Some(mhz));
        let meteor_lake = [
            intel("IntelAtom", "12-15", 3800),
            intel("IntelCore", "0-11", 4800),
            intel("IntelAtom", "20-21", 2500),
        ];
        assert_eq!(slow(&meteor_lake), said("12-15,20-21", "IntelAtom beside IntelCore"));
        let gb10 =
            [kind("0-4,10-14", None, Some(718), Some(2808)), kind("5-9,15-19", None, Some(1024), Some(3900))];
        assert_eq!(slow(&gb10), said("0-4,10-14", "capacity 718, the fastest have 1024"));
        let raptor_lake = [kind("12-19", None, None, Some(3900)), kind("0-11", None, None, Some(5200))];
        assert_eq!(slow(&raptor_lake), said("12-19", "at most 3900 MHz, the fastest 5200 MHz"));
    }

    #[test]
    fn favoured_cores_of_one_kind_and_unknown_ones_are_not_slow() {
        assert_eq!(slow(&[kind("0-5", None, None, Some(5000)), kind("6-7", None, None, Some(5200))]), None);
        assert_eq!(slow(&[kind("0-5", None, None, Some(2000)), kind("6-7", None, None, None)]), None);
        assert_eq!(slow(&[kind("0-5", Some("IntelAtom"), None, Some(2000))]), None, "all are");
        assert_eq!(slow(&[]), None);
    }
}
