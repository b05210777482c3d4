//! GPUs against GPUs: the rate from each one's memory to each other's and to its own, one way, both ways at
//! once, and where asked all at once; the time of the smallest copy; and how long a load of another one's
//! memory takes.
//!
//! A rank of the engine is a GPU: one thread on the core that the plan gives it, which queues the copies; a
//! place of the document is a copy (`peer_copies`). Loads are those of another rank on the same core
//! (`engine::Joined`): there the first of a pair loads, from the second.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use device::{CopyBy, PeerEnd};
use engine::{EngineConfig, Order, Worker};
use pingpong::{PeerCase, PeerCopy, PeerLoadCase, PeerLoadSuite, PeerSuite};
use placement::{Membind, Plan, RankPlan, Request, Target, TargetId};
use report::pair_sample::PairSample;
use report::settings::{Direction, MemoryKind};
use stats::pair_sample::MemberEnds;
use topo::interconnect::{Interconnect, UNKNOWN_LINK};
use topo::{Survey, Topology};

use super::experiment::{Beforehand, CaseMap, DocumentCase, Experiment, RequestedSettings, place};
use super::gpu_loads;
use super::peer_copies::{OneCopy, every, pairs};
use super::peer_tables::{self, Gpus, LOADS, MadeBy, ONE_WAY, group, tables, why_not_all};
use crate::backends::FoundPlatform;
use crate::columns::name_of;
use crate::config;
use crate::fault::Fault;
use crate::options::{GpuPairs, PeerOptions};
use crate::pair_sample::{SampleAsked, refuse_whole, sampled};
use crate::reach::{Reach, Reached};
use crate::watchdog::OPENS;
use crate::{outline, settings};

/// The size of a copy where none is asked for. Source and destination together are four times the last cache
/// of a GPU of today (MI300X: 256 MB; B200: 126 MB).
pub const SIZE: u64 = 512 << 20;
/// The smallest copy, whose time is the latency.
const SMALLEST: usize = 4;

/// What is copied from where to where.
pub struct PeerPlan {
    engine: EngineConfig,
    end: PeerEnd,
    by: CopyBy,
    targets: Vec<Target>,
    ranks: Vec<RankPlan>,
    sizes: [usize; 2],
    /// The range that is loaded from, bytes, where the latency of loads is asked for.
    load_range: Option<usize>,
    /// Whether all copy to one and one to all.
    all: bool,
    /// Which pairs.
    which: GpuPairs,
    /// The sample, where not all pairs are measured.
    sample: Option<SampleAsked>,
    /// The pairs that the driver stages, by number.
    staged: BTreeSet<(usize, usize)>,
}

impl PeerPlan {
    /// The copies that `args` ask for between these GPUs, of those that are there.
    ///
    /// # Errors
    /// The size is too large for this machine, the GPUs have no place, or a sample would be all pairs.
    pub fn new(
        args: &PeerOptions,
        topology: &Topology,
        targets: Vec<Target>,
        available: Vec<Target>,
    ) -> Result<Self, Fault> {
        let size = usize::try_from(args.size.unwrap_or(SIZE)).map_err(Fault::usage)?;
        let request =
            Request { cpus: None, targets: Some(targets.clone()), available, membind: Membind::Local };
        let plan = placement::plan(topology, &request).map_err(Fault::usage)?;
        // No host memory takes part.
        let mut engine = EngineConfig { huge_pages: false, ..args.measuring.engine };
        let gpus = targets.len();
        let measured_pairs = match args.pairs {
            // Every GPU sends and receives in a sample, so it has as many pairs as there are GPUs.
            GpuPairs::All => args.sample.map_or(usize::MAX, |asked| asked.max(gpus)).min(pairs(gpus).len()),
            GpuPairs::Ring => gpus,
            GpuPairs::None => 0,
        };
        args.sample.map_or(Ok(()), |asked| refuse_whole(asked, gpus, pairs(gpus).len()))?;
        let loads = if args.latency { measured_pairs } else { 0 };
        let all_at_once = if args.all && why_not_all(gpus).is_none() { 2 * gpus } else { 0 };
        // A pair has a copy one way and the smallest copy, and a part in one both ways at once, which two
        // pairs share unless a sample has one of them alone; of a ring one way.
        let copies = match args.pairs {
            GpuPairs::All if args.sample.is_some() => measured_pairs * 3,
            GpuPairs::All => measured_pairs * 5 / 2,
            GpuPairs::Ring | GpuPairs::None => measured_pairs,
        };
        engine.max_time = config::time_for(&args.measuring, gpus + copies + loads + all_at_once);

        Ok(Self {
            engine,
            end: args.by,
            by: args.engine,
            all: args.all,
            which: args.pairs,
            sample: args.sample.map(|pairs| SampleAsked { pairs, seed: args.measuring.engine.seed }),
            staged: BTreeSet::new(),
            targets,
            ranks: plan.ranks,
            sizes: [size, SMALLEST],
            load_range: args.latency.then(|| gpu_loads::range(args.range)).transpose()?,
        })
    }

    /// What is asked of the opened GPUs before it is known which copies the driver stages.
    pub fn reach(&self) -> Reach {
        Reach { targets: self.targets.clone(), end: self.end, limit: self.engine.timeout.unwrap_or(OPENS) }
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<Duration> {
        self.engine.max_time
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let gpus = self.targets.len();
        let shown = stats::units::size(self.sizes[0] as u64);
        let end = match self.end {
            PeerEnd::Source => "",
            PeerEnd::Destination => ", by the GPU that the bytes go to",
        };
        self.pairs_description(gpus, &shown) + end + &outline::engines(&[self.by])
    }

    fn pairs_description(&self, gpus: usize, shown: &str) -> String {
        match self.which {
            GpuPairs::Ring if gpus > 1 => {
                format!("each GPU to the next: {shown} one way; {shown} within each GPU's memory")
            }
            GpuPairs::None if gpus > 1 => format!("{shown} within each GPU's memory"),
            _ => all_pairs_description(gpus, self.sample, self.sizes[0], self.load_range, self.all),
        }
    }

    /// The experiment, on this platform, between GPUs that reach each other so.
    pub fn experiment(
        mut self,
        args: &PeerOptions,
        survey: &Survey,
        found: &FoundPlatform,
        reached: &Reached,
    ) -> Experiment {
        self.staged.clone_from(&reached.staged);
        let topology = &survey.topology;
        let gpus = self.targets.len();
        let (pairs, pair_sample) = self.measured_pairs(&survey.interconnect);
        let [size, smallest] = self.sizes;
        let made_on_gpu = self.by != CopyBy::Engine;
        let none = BTreeSet::new();
        let mut tables = tables(
            gpus,
            MadeBy { end: self.end, by: self.by },
            self.all,
            if made_on_gpu { &self.staged } else { &none },
        );
        let is_asked = |copy: &OneCopy| match self.which {
            GpuPairs::All => copy.from == copy.to || pairs.contains(copy),
            GpuPairs::Ring => copy.from == copy.to || copy.to == (copy.from + 1) % gpus,
            GpuPairs::None => copy.from == copy.to,
        };
        let one_way = group(ONE_WAY, self.end);
        if self.which != GpuPairs::All {
            tables.retain(|table| table.group == one_way);
        }
        if self.which != GpuPairs::All || pair_sample.is_some() {
            // Both ways at once is one case of the two pairs, of which the sample may have one.
            tables.iter_mut().for_each(|table| table.cases.retain(|copies| copies.iter().any(is_asked)));
        }
        let copy = |one: &OneCopy| PeerCopy {
            rank: one.rank,
            from: self.targets[one.from].id,
            to: self.targets[one.to].id,
        };
        let (mut cases, mut figures) = (Vec::new(), CaseMap::default());
        let mut add = |group: &str, bytes: usize, copies: &[OneCopy]| {
            let case = DocumentCase {
                order: Order::of(copies.len()),
                memory: MemoryKind::Device,
                direction: Direction::Peer,
                bytes: bytes as u64,
                range_bytes: None,
                group: Some(group.to_owned()),
            };
            let places = copies.iter().map(|one| (one.rank, one.place)).collect();
            figures.add(cases.len(), case, places);
            cases.push(PeerCase { copies: copies.iter().map(copy).collect(), bytes });
        };

        for table in &tables {
            table.cases.iter().for_each(|copies| add(&table.group, size, copies));
        }
        if self.which == GpuPairs::All {
            pairs.iter().for_each(|pair| add(&one_way, smallest, &[*pair]));
        }
        let worker = |(rank, plan): (usize, &RankPlan)| Worker { rank, pu: plan.pu };
        let workers: Vec<Worker> = self.ranks.iter().enumerate().map(worker).collect();
        let place = |one: &OneCopy| {
            let (by, from) = (&self.ranks[one.rank], &self.ranks[one.from]);
            place(topology, one.place, by.pu, by.memory_node, from.target.clone())
        };
        let places = every(gpus, self.all && why_not_all(gpus).is_none()).iter().map(place).collect();
        let known = Gpus { targets: &self.targets, ranks: &self.ranks, topology, found };
        let notes = self.notes();
        let matrix = |table: &peer_tables::PeerTable| {
            table.matrix(&known, if table.is_of_pairs() { &notes } else { &[] })
        };
        let matrices = tables.iter().map(matrix).collect();
        let copying = PeerSuite::new(
            cases,
            workers.clone(),
            &found.platform,
            (self.end, self.by),
            args.measuring.engine.seed,
        );
        let sizes = if gpus > 1 && self.which == GpuPairs::All { &self.sizes[..] } else { &self.sizes[..1] };
        let no_pair = (gpus == 1 && self.load_range.is_some())
            .then(|| "--latency: there is one GPU, and no pair of GPUs whose loads take time".to_owned());
        let no_pair = no_pair.into_iter().collect();
        let experiment = Experiment {
            known: Beforehand { pair_sample, ..Beforehand::default() },
            command: "peer",
            suite: Arc::new(copying),
            workers: workers.clone(),
            engine: self.engine,
            places: Plan { ranks: places, notes: no_pair },
            figures,
            matrices,
            asked: RequestedSettings {
                sizes: sizes.iter().map(|size| *size as u64).collect(),
                directions: vec![Direction::Peer],
                memory: vec![MemoryKind::Device],
                engine: settings::engine(self.by),
                ..RequestedSettings::default()
            },
        };

        let Some(range) = self.load_range.filter(|_| gpus > 1) else { return experiment };
        let load = |pair: &OneCopy| {
            let (by, owner) = (self.targets[pair.from].id, self.targets[pair.to].id);
            PeerLoadCase { rank: pair.rank, by, owner }
        };
        let list = pairs.iter().map(load).collect();
        let loading = PeerLoadSuite::new(list, workers, &found.platform, range, args.measuring.engine.seed);
        let (memory, group) = (MemoryKind::Device, Some(LOADS.to_owned()));
        let case = DocumentCase { memory, group, ..gpu_loads::document_case(range) };
        let at: Vec<(usize, usize)> = pairs.iter().map(|pair| (pair.rank, pair.place)).collect();
        let mut experiment = experiment.with_loads(Arc::new(loading), &case, &at);

        // What cannot be loaded from is a figure's own reason, and no note.
        experiment.matrices.push(peer_tables::loads(pairs, gpus).matrix(&known, &[]));
        experiment
    }

    /// The pairs that are measured where all are asked for, and what the document says of a sample of them.
    fn measured_pairs(&self, interconnect: &Interconnect) -> (Vec<OneCopy>, Option<PairSample>) {
        let all = pairs(self.targets.len());
        let Some(asked) = self.sample.filter(|_| self.which == GpuPairs::All) else { return (all, None) };
        let address = |gpu: usize| match self.targets[gpu].id {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        };
        let link = |from: usize, to: usize| {
            let both = address(from).zip(address(to));
            let sign = both.map_or_else(
                || UNKNOWN_LINK.to_owned(),
                |(one, other)| interconnect.sign_between(one, other),
            );
            if self.staged.contains(&(from, to)) { format!("{sign}, staged") } else { sign }
        };

        let ends: Vec<(usize, usize)> = all.iter().map(|copy| (copy.from, copy.to)).collect();
        let (chosen, sample) = sampled(&ends, MemberEnds::Each, asked, link);
        (all.into_iter().filter(|copy| chosen.contains(&(copy.from, copy.to))).collect(), Some(sample))
    }

    /// Of each source, to which others its copies are staged, or out of a kernel's reach.
    fn notes(&self) -> Vec<Option<String>> {
        let how = match self.by {
            CopyBy::Kernel | CopyBy::Tma => "out of a kernel's reach",
            CopyBy::Engine => "staged through host memory by the driver",
        };
        let note = |from: usize| {
            let others =
                self.staged.iter().filter(|pair| pair.0 == from).map(|pair| name_of(&self.targets[pair.1]));
            let others: Vec<String> = others.collect();
            (!others.is_empty()).then(|| format!("{how} to {}", others.join(", ")))
        };
        (0..self.targets.len()).map(note).collect()
    }
}

/// The figures between so many GPUs, in words.
fn all_pairs_description(
    gpus: usize,
    sample: Option<SampleAsked>,
    size: usize,
    load_range: Option<usize>,
    all: bool,
) -> String {
    let shown = |bytes: usize| stats::units::size(bytes as u64);
    let size = shown(size);
    if gpus == 1 {
        return format!("{size} within the GPU's memory; there is one GPU, and so no pair to measure");
    }
    let all_pairs = pairs(gpus).len();
    let pairs = match sample {
        None => format!("{all_pairs} pairs"),
        Some(SampleAsked { pairs, seed }) => {
            let more = "or as many as every GPU and kind of link take";
            format!("a sample of {} of {all_pairs} pairs, {more} (seed {seed})", pairs.max(gpus))
        }
    };
    let loads = load_range.map_or_else(String::new, |range| format!("; load latency over {}", shown(range)));
    let at_once = match why_not_all(gpus) {
        _ if !all => String::new(),
        None => format!("; {size} all to one and one to all"),
        Some(why) => format!("; all to one and one to all are not measured: {why}"),
    };

    format!(
        "{pairs}: {size} one way and bidirectional, and the time of {SMALLEST} B; {size} within each \
         GPU's memory{loads}{at_once}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_copy_within_a_gpu_covers_four_times_its_last_cache() {
        // MiB, as their makers publish them: L2 of A100, of H100 and H200, of B200 (126 MB), Infinity Cache
        // of MI300X.
        for cache in [40, 50, 121, 256] {
            assert!(2 * SIZE >= 4 * (cache << 20), "{cache} MiB");
        }
    }

    #[test]
    fn what_is_said_beforehand_is_what_so_many_gpus_can_have() {
        let one = "512 MiB within the GPU's memory; there is one GPU, and so no pair to measure";
        assert_eq!(all_pairs_description(1, None, 512 * MIB, Some(64 * MIB), true), one);
        let two =
            "2 pairs: 4 MiB one way and bidirectional, and the time of 4 B; 4 MiB within each GPU's memory";
        assert_eq!(all_pairs_description(2, None, 4 * MIB, None, false), two);
        let why = "; all to one and one to all are not measured: between two GPUs they are the pairs one way";
        assert_eq!(
            all_pairs_description(2, None, 4 * MIB, Some(64 * MIB), true),
            format!("{two}; load latency over 64 MiB{why}")
        );
        let three = two.replace("2 pairs", "6 pairs");
        assert_eq!(
            all_pairs_description(3, None, 4 * MIB, None, true),
            format!("{three}; 4 MiB all to one and one to all")
        );
        let sample = Some(SampleAsked { pairs: 4, seed: 7 });
        let sampled = two.replace(
            "2 pairs",
            "a sample of 4 of 6 pairs, or as many as every GPU and kind of link take (seed 7)",
        );
        assert_eq!(all_pairs_description(3, sample, 4 * MIB, None, false), sampled);
    }
}
