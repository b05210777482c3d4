//! How the document's enumerations are said in a table.

pub(super) use analysis::words::{
    NEWER, by, count, devices, direction, direction_in, lanes, membind, memory,
};
use stats::IdSet;
use stats::compare::TwoSampleVerdict;
use stats::flag::Flag;
use stats::stage::Stage;
use stats::stop::StopReason;

use report::case::{Order, Timing};
use report::device::{Device, DeviceKind};
use report::rank::Locality;
use report::settings::{OrderAsked, TimingAsked};

pub(super) fn order(order: Order) -> &'static str {
    match order {
        Order::Simultaneous => "all ranks at once",
        Order::Alone => "each rank alone",
        Order::Newer => NEWER,
    }
}

pub(super) fn order_asked(order: OrderAsked) -> &'static str {
    match order {
        OrderAsked::Simultaneous => "simultaneous (all ranks at once)",
        OrderAsked::Alone => "alone (one rank after the other)",
        OrderAsked::Both => "both (each rank alone, and all at once)",
        OrderAsked::Newer => NEWER,
    }
}

pub(super) fn timing(timing: Timing) -> &'static str {
    match timing {
        Timing::Host => "host timing",
        Timing::Device => "device timing",
        Timing::Newer => NEWER,
    }
}

pub(super) fn timing_asked(timing: TimingAsked) -> &'static str {
    match timing {
        TimingAsked::Auto => "auto (what was used is said with the numbers)",
        TimingAsked::Host => "host",
        TimingAsked::Device => "device",
        TimingAsked::Newer => NEWER,
    }
}

pub(crate) fn locality(locality: Locality) -> &'static str {
    match locality {
        Locality::L3Local => "L3-local",
        Locality::NumaLocal => "NUMA-local",
        Locality::SamePackage => "same package",
        Locality::Remote => "REMOTE",
        Locality::Unknown => "locality unknown",
        Locality::Newer => NEWER,
    }
}

/// How a PU lies to a device, in a column that is headed so.
pub(crate) fn locality_short(of: Locality) -> &'static str {
    match of {
        Locality::Unknown => "unknown",
        known => locality(known),
    }
}

/// Why a result has no more blocks.
pub(super) fn stopped(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Target => "reached the precision asked for",
        StopReason::Plateau => "stopped where more blocks no longer narrowed the interval",
        StopReason::Costly => "stopped where a narrower interval would have taken long (--precision)",
        StopReason::MaxBlocks => "reached the most blocks allowed",
        StopReason::MaxTime => "reached the time limit (--max-time)",
        StopReason::Fixed => "had the rounds asked for (--reps)",
        StopReason::Brief => "had the few blocks of a comparison (--order both measures both in full)",
        StopReason::Signal => "ended at a signal",
        StopReason::Error => "ended because a rank failed",
        StopReason::Newer => "stopped for a reason that a newer numabench knows",
    }
}

pub(super) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Bind => "binding the thread",
        Stage::Open => "opening the device",
        Stage::Allocate => "allocating memory",
        Stage::Prove => "proving the placement",
        Stage::WarmUp => "warming up",
        Stage::Measure => "measuring",
        Stage::Verify => "verifying the data",
        Stage::Newer => NEWER,
    }
}

pub(super) fn verdict(verdict: TwoSampleVerdict) -> &'static str {
    match verdict {
        TwoSampleVerdict::NoMeasurableDifference => "no measurable difference",
        TwoSampleVerdict::Lower => "slower at once",
        TwoSampleVerdict::Higher => "faster at once",
        TwoSampleVerdict::Undecided => "undecided",
    }
}

/// A flag where there is room for one letter. No two flags have the same.
pub(super) fn flag_letter(flag: Flag) -> char {
    match flag {
        Flag::FewBlocks => 'f',
        Flag::SlowFirstBlock => 's',
        Flag::Drift => 'd',
        Flag::Bimodal => 'b',
        Flag::TimerLimited => 't',
        Flag::Noisy => 'n',
        Flag::Throttled => 'h',
        Flag::SharedGpu => 'o',
        Flag::Cached => 'c',
        Flag::Newer => '?',
    }
}

/// `flags: d drift, n noisy`: what the letters under a table stand for.
pub(super) fn flag_letters<'a>(flags: impl IntoIterator<Item = &'a Flag>) -> String {
    let named: Vec<String> =
        flags.into_iter().map(|&flag| format!("{} {}", flag_letter(flag), flag.name())).collect();
    format!("flags: {}", named.join(", "))
}

/// `GPU 0 (0000:c1:00.0)`, or `device: memory of node 1`.
pub(super) fn device(device: &Device) -> String {
    match device.kind {
        DeviceKind::HostMemory => format!("device: memory of {}", device.id),
        DeviceKind::Gpu | DeviceKind::Newer => format!("GPU {} ({})", device.index, device.id),
    }
}

/// A longer list of ids is not read to its end.
const LONGEST_LIST: usize = 40;

/// `rank 3`, `ranks 0-7`.
pub(super) fn ranks(ranks: &IdSet) -> String {
    format!("{} {}", if ranks.len() > 1 { "ranks" } else { "rank" }, ids(ranks))
}

/// The ids as a list; of a long one its beginning and how many they are.
pub(super) fn ids(ids: &IdSet) -> String {
    let list = ids.to_string();
    match list.get(..LONGEST_LIST).and_then(|beginning| beginning.rsplit_once(',')) {
        Some((beginning, _)) => format!("{beginning},… ({} in all)", ids.len()),
        None => list,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_long_list_of_ids_is_cut_and_counted() {
        assert_eq!(ranks(&(0..512).collect()), "ranks 0-511");
        assert_eq!(ranks(&IdSet::from_iter([3])), "rank 3");
        let odd: IdSet = (0..100).map(|n| 2 * n + 1).collect();
        assert_eq!(ranks(&odd), "ranks 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,… (100 in all)");
    }

    #[test]
    fn no_two_flags_have_the_same_letter() {
        let all = [
            Flag::FewBlocks,
            Flag::SlowFirstBlock,
            Flag::Drift,
            Flag::Bimodal,
            Flag::TimerLimited,
            Flag::Noisy,
            Flag::Throttled,
            Flag::SharedGpu,
            Flag::Cached,
            Flag::Newer,
        ];
        let letters: BTreeSet<char> = all.into_iter().map(flag_letter).collect();
        assert_eq!(letters.len(), all.len());
    }
}
