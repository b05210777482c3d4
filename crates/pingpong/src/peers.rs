//! Copies from one GPU's memory to another's, or to its own: the third kind of work.
//!
//! A rank is a GPU: the thread that drives it makes copies from it or to it, alone, or at once with other
//! ranks' copies. Before a block the source has the block's own bytes and the destination wrong ones; after
//! it every byte at the destination is compared, on the device where that can run a kernel. The wrong bytes
//! are laid out once more after the round that does not count, so that copies which stop when the clock
//! starts are seen.
//!
//! A device that makes copies of several ranks at once is given them one at a time, and the host times them:
//! of queues that are full it may serve one to its end before the next one's (METHOD, "Several ranks").

use std::collections::BTreeSet;
use std::sync::Arc;

use device::{BytePattern, CopyBy, PeerCopier, PeerEnd, Platform};
use engine::{
    Bound, Failure, Latch, ObservedPlacement, PageCheck, Site, Suite, TimeSpent, Timing, Trouble, Work,
    Worker, clock, no_memory,
};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::case::DEVICE_TIMING_FROM_BYTES;
use crate::devices::Devices;
use crate::fault::{measuring, skipped_or_failed, verifying};

/// What one rank copies in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCopy {
    /// The rank whose thread drives it: that of either device.
    pub rank: usize,
    /// Where the bytes come from.
    pub from: TargetId,
    /// Where they go: the same device for a copy within its memory.
    pub to: TargetId,
}

impl PeerCopy {
    /// The device that does it.
    fn by(&self, end: PeerEnd) -> TargetId {
        match end {
            PeerEnd::Source => self.from,
            PeerEnd::Destination => self.to,
        }
    }
}

/// A case: one copy alone, or several at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCase {
    /// The copies, of different ranks.
    pub copies: Vec<PeerCopy>,
    /// The size of each, bytes.
    pub bytes: usize,
}

impl PeerCase {
    /// The clock of a rank's copies where this end's device does them; `has_latch`: whether it can hold a
    /// queue back.
    fn timing(&self, end: PeerEnd, has_latch: bool) -> Timing {
        let devices: BTreeSet<TargetId> = self.copies.iter().map(|copy| copy.by(end)).collect();
        let each_its_own = devices.len() == self.copies.len();
        if has_latch && each_its_own && self.bytes >= DEVICE_TIMING_FROM_BYTES {
            Timing::Device
        } else {
            Timing::Host
        }
    }
}

/// Copies between devices as a suite.
pub struct PeerSuite {
    cases: Vec<PeerCase>,
    workers: Vec<Worker>,
    platform: Arc<dyn Platform>,
    end: PeerEnd,
    by: CopyBy,
    seed: u64,
}

impl PeerSuite {
    /// These cases by these ranks; `end` says which device does it, `by` what of it. The source of a rank's
    /// first copy is the device that it opens first, and whose latch it names.
    pub fn new(
        cases: Vec<PeerCase>,
        workers: Vec<Worker>,
        platform: &Arc<dyn Platform>,
        (end, by): (PeerEnd, CopyBy),
        seed: u64,
    ) -> Self {
        Self { cases, workers, platform: Arc::clone(platform), end, by, seed }
    }

    fn copy(&self, case: usize, rank: usize) -> Option<PeerCopy> {
        self.cases[case].copies.iter().find(|copy| copy.rank == rank).copied()
    }
}

impl Suite for PeerSuite {
    fn cases(&self) -> Vec<engine::Case> {
        let ranks = |case: &PeerCase| case.copies.iter().map(|copy| copy.rank).collect();
        self.cases.iter().enumerate().map(|(index, case)| engine::Case::by(index, ranks(case))).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let own = self.workers.iter().find(|other| other.rank == worker.rank).copied().unwrap_or(*worker);
        let first = (0..self.cases.len()).find_map(|case| self.copy(case, own.rank)).map(|copy| copy.from);
        let devices = Devices::new(&self.platform, first)?;
        Ok(Box::new(PeerSite { held: None, devices, keeping: Keeping::default(), own, suite: self }))
    }
}

/// One rank's end: the areas of the setup at hand.
struct PeerSite {
    // Dropped in this order: what uses devices before them.
    held: Option<(usize, u32, Box<dyn PeerCopier>)>,
    devices: Devices,
    keeping: Keeping,
    own: Worker,
    suite: Arc<PeerSuite>,
}

/// Which devices keep the areas of this allocation for the next pair.
#[derive(Default)]
struct Keeping {
    allocation: u32,
    devices: BTreeSet<TargetId>,
}

impl PeerSite {
    /// Has a device keep its areas for all pairs of this allocation where it has room for those of all ranks:
    /// each has one there to copy to, and the device's own one more to copy from. Four times the room, as
    /// others use the device too.
    fn keep_areas(&mut self, target: TargetId) -> Result<(), Trouble> {
        let device = self.devices.open(target)?;
        if self.keeping.devices.insert(target) {
            let sizes: BTreeSet<usize> = self.suite.cases.iter().map(|case| case.bytes).collect();
            let needs = sizes.iter().sum::<usize>().saturating_mul(self.suite.workers.len() + 1);
            let memory = device.memory().map_err(skipped_or_failed)?;
            device.keep_areas(memory.total_bytes / 4 >= needs as u64);
        }
        Ok(())
    }

    /// Gives back what an earlier allocation kept.
    fn begin(&mut self, allocation: u32) {
        if self.keeping.allocation != allocation {
            let kept = std::mem::take(&mut self.keeping.devices);
            kept.iter()
                .filter_map(|target| self.devices.get(*target))
                .for_each(|device| device.keep_areas(false));
            self.keeping.allocation = allocation;
        }
    }
}

impl Site for PeerSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(None)
    }

    fn read_links(&mut self) {
        let held = self.held.as_ref().and_then(|(setup, ..)| self.suite.copy(*setup, self.own.rank));
        if let Some(PeerCopy { from, to, .. }) = held {
            self.devices.read_links(&[from, to]);
        }
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.devices.conditions()
    }

    fn set_up(
        &mut self,
        _: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        if self.held.as_ref().is_some_and(|(held, there, _)| (*held, *there) == (setup, allocation)) {
            return Ok(false);
        }
        self.held = None;
        let nothing = || Trouble::Skipped("it takes no part".to_owned());
        let PeerCopy { from, to, .. } = self.suite.copy(setup, self.own.rank).ok_or_else(nothing)?;
        self.begin(allocation);
        self.keep_areas(from)?;
        self.keep_areas(to)?;
        let (source, destination) = self.devices.get(from).zip(self.devices.get(to)).ok_or_else(nothing)?;
        let PeerSuite { end, by, cases, .. } = &*self.suite;
        let made = clock::timed(&mut spent.allocate_ns, || {
            let mut copier = source.peer_copier(destination, *end, cases[setup].bytes)?;
            copier.copy_by(*by).map(|()| copier)
        });
        self.held = Some((setup, allocation, made.map_err(skipped_or_failed)?));

        Ok(true)
    }

    fn set_aside(&mut self) {
        self.held = None;
    }

    fn look(&mut self, _how: PageCheck) -> Result<ObservedPlacement, Failure> {
        ObservedPlacement::thread()
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        // No host memory takes part, so that any node will do.
        seen.mismatch(self.own.pu, 0, None)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let PeerSuite { cases, end, .. } = &*self.suite;
        let (rank, bytes) = (self.own.rank as u64, cases[case].bytes);
        let by = self.suite.copy(case, self.own.rank).map(|copy| copy.by(*end));
        let timing =
            cases[case].timing(*end, by.is_some_and(|device| self.devices.timing(device) == Timing::Device));
        let mix = |key: u64, part: u64| stats::random::mix(key ^ stats::random::mix(part.wrapping_add(1)));
        let key = [rank, case as u64, pass].into_iter().fold(stats::random::mix(self.suite.seed), mix);
        let (.., copier) = self.held.as_mut().ok_or_else(no_memory)?;
        Ok(Box::new(PeerWork { copier: &mut **copier, bytes, timing, sent: BytePattern::new(key) }))
    }
}

/// One block of copies.
struct PeerWork<'a> {
    copier: &'a mut dyn PeerCopier,
    bytes: usize,
    timing: Timing,
    sent: BytePattern,
}

impl Work for PeerWork<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn bytes_a_round(&self) -> f64 {
        self.bytes as f64
    }

    fn lay_out(&mut self) -> Result<(), Failure> {
        self.copier.fill(PeerEnd::Source, self.sent, self.bytes).map_err(verifying)?;
        self.copier.fill(PeerEnd::Destination, self.sent.inverted(), self.bytes).map_err(verifying)
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.copier.fill(PeerEnd::Destination, self.sent.inverted(), self.bytes).map_err(verifying)
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.copier.round(self.bytes).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.copier.hold().map_err(measuring)
    }

    fn enqueue(&mut self, rounds: u32) -> Result<(), Failure> {
        self.copier.enqueue(self.bytes, rounds).map_err(measuring)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.copier.release().map_err(measuring)
    }

    fn ended(&mut self) -> Result<usize, Failure> {
        self.copier.rounds_ended().map_err(measuring)
    }

    fn finish(&mut self, [first, _]: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        self.copier.finish(first).map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        match self.copier.compare(self.sent, self.bytes).map_err(verifying)? {
            None => Ok(self.bytes as u64),
            Some(mismatch) => Err(Trouble::Corrupt(mismatch)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn gpu(number: u32) -> TargetId {
        TargetId::Node(number)
    }

    /// Copies from where to where, each by a rank of its own.
    fn case(copies: &[(u32, u32)], bytes: usize) -> PeerCase {
        let copy =
            |(rank, (from, to)): (usize, &(u32, u32))| PeerCopy { rank, from: gpu(*from), to: gpu(*to) };
        PeerCase { copies: copies.iter().enumerate().map(copy).collect(), bytes }
    }

    #[test]
    fn the_device_times_copies_of_one_mebibyte_and_more_alone_within_it_and_there_and_back() {
        for copies in [&[(0, 1)][..], &[(0, 0)], &[(0, 1), (1, 0)]] {
            for end in [PeerEnd::Source, PeerEnd::Destination] {
                assert_eq!(case(copies, MIB).timing(end, true), Timing::Device, "{copies:?} by the {end:?}");
                assert_eq!(
                    case(copies, MIB - 1).timing(end, true),
                    Timing::Host,
                    "{copies:?} by the {end:?}"
                );
                assert_eq!(case(copies, MIB).timing(end, false), Timing::Host, "{copies:?} by the {end:?}");
            }
        }
    }

    #[test]
    fn the_host_times_copies_at_once_that_one_device_makes() {
        let (into_one, out_of_one) = (case(&[(1, 0), (2, 0)], MIB), case(&[(0, 1), (0, 2)], MIB));
        let timings =
            |case: &PeerCase| [PeerEnd::Source, PeerEnd::Destination].map(|end| case.timing(end, true));
        assert_eq!(timings(&into_one), [Timing::Device, Timing::Host]);
        assert_eq!(timings(&out_of_one), [Timing::Host, Timing::Device]);
    }
}
