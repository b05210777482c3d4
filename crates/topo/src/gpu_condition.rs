//! What a GPU is under while something is measured on it: its link, what holds its clocks down, who else
//! computes on it.
//!
//! [`GpuWatch`] reads it from time to time and [`GpuConditions`] is what was seen since the first reading, so
//! that what happened between two readings is not missed where the driver counts it. The link is sysfs's; the
//! rest is NVML's, or on AMD GPUs `gpu_metrics`' and amdkfd's.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stats::PciAddress;
use stats::clock_limit::Limit;

use crate::counted::Counted;
use crate::fs_root::FsRoot;
use crate::gpu_class;
use crate::gpu_metrics::GpuMetrics;
use crate::link;
use crate::model::Link;
use crate::nvml;

/// Readings of the driver take at most this part of the time.
const SHARE: u32 = 25;

/// What was seen of a GPU from the first reading to the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuConditions {
    /// The GPU.
    pub pci: PciAddress,
    /// Its link right after it was last used; `None` where it was not, or the kernel shows none.
    pub link: Option<Link>,
    /// The link that could carry the least right after any use.
    pub lowest_link: Option<Link>,
    /// What the driver counted; or why it is not known.
    pub counted: Result<CountedConditions, String>,
}

/// What the driver counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedConditions {
    /// Who counted.
    pub source: String,
    /// From the first reading to the last that counted anything, ns.
    pub elapsed_ns: u64,
    /// How often it was read.
    pub readings: u32,
    /// For how long each limit held the clocks down meanwhile, ns; those that this GPU counts.
    pub held_ns: Vec<(Limit, u64)>,
    /// The lowest and the highest clock of the multiprocessors that was read, MHz; of several dies the
    /// slowest's. The first reading, before which nothing was measured, is left out.
    pub sm_mhz: Option<(u32, u32)>,
    /// The same of its memory.
    pub memory_mhz: Option<(u32, u32)>,
    /// Packets that went over PCIe once more.
    pub replays: Option<u32>,
    /// The most processes that computed on it, this one among them.
    pub processes: Option<u32>,
}

/// A GPU that is read from time to time.
pub struct GpuWatch {
    root: FsRoot,
    counter: Option<Counter>,
    first: Counted,
    began: Instant,
    /// When the driver was read last, and how long that took; the first reading, which wakes things up, is
    /// not counted.
    last: (Instant, Duration),
    seen: GpuConditions,
}

/// Who counts.
enum Counter {
    Nvml(Box<nvml::Counter>),
    Metrics(GpuMetrics),
}

impl Counter {
    fn source(&self) -> String {
        match self {
            Self::Nvml(_) => "NVML".to_owned(),
            Self::Metrics(metrics) => metrics.source(),
        }
    }

    fn read(&mut self) -> Counted {
        match self {
            Self::Nvml(counter) => counter.read(),
            Self::Metrics(metrics) => metrics.read(),
        }
    }
}

impl GpuWatch {
    /// Opens what there is to read of the GPU at this address, of this vendor (PCI id), and reads it for the
    /// first time.
    pub fn open(pci: PciAddress, vendor: u16) -> Self {
        Self::under(FsRoot::default(), pci, vendor)
    }

    /// [`GpuWatch::open`], with files under another root.
    fn under(root: FsRoot, pci: PciAddress, vendor: u16) -> Self {
        let mut counter = match vendor {
            gpu_class::NVIDIA => nvml::Counter::open(pci).map(|counter| Counter::Nvml(Box::new(counter))),
            gpu_class::AMD => GpuMetrics::open(&root, pci).map(Counter::Metrics),
            other => Err(format!("of GPUs of vendor {other:#06x} nothing is read")),
        };
        let began = Instant::now();
        let first = counter.as_mut().map(Counter::read).unwrap_or_default();
        let counted = counter.as_ref().map(|counter| begun(counter.source(), first)).map_err(Clone::clone);
        let seen = GpuConditions { pci, link: None, lowest_link: None, counted };
        Self { root, counter: counter.ok(), first, began, last: (began, Duration::ZERO), seen }
    }

    /// The GPU this watches.
    pub fn pci(&self) -> PciAddress {
        self.seen.pci
    }

    /// Reads its link; to be called right after the GPU was used, because idle ones train their link down.
    pub fn read_link(&mut self) {
        if let Some(now) = link::under(&self.root, self.seen.pci) {
            let lowest = self.seen.lowest_link.take().into_iter().chain([now.clone()]);
            self.seen.lowest_link = lowest.min_by_key(link::lanes_times_rate);
            self.seen.link = Some(now);
        }
    }

    /// Reads the driver's counters again, unless that would take too much of the time.
    pub fn read(&mut self) {
        let (at, took) = self.last;
        let (Some(counter), Ok(counted)) = (&mut self.counter, &mut self.seen.counted) else { return };
        if at.elapsed() < took * SHARE {
            return;
        }
        let begins = Instant::now();
        let now = counter.read();
        counted.add(self.first, now, begins - self.began);
        self.last = (Instant::now(), begins.elapsed());
    }

    /// What was seen so far.
    pub fn seen(&self) -> &GpuConditions {
        &self.seen
    }
}

fn begun(source: String, first: Counted) -> CountedConditions {
    let mut counted = CountedConditions { source, ..CountedConditions::default() };
    counted.add(first, first, Duration::ZERO);
    counted
}

impl CountedConditions {
    fn add(&mut self, first: Counted, now: Counted, after: Duration) {
        if !self.held_ns.is_empty() && now.held_ns.iter().all(Option::is_none) {
            return; // a reading that failed: what was counted so far stands, for the time that it is of
        }

        let is_first = self.readings == 0;
        self.elapsed_ns = after.as_nanos() as u64;
        self.readings += 1;
        let held = |at: usize| Some(now.held_ns[at]?.saturating_sub(first.held_ns[at]?));
        for (at, limit) in (0..).zip(Limit::ALL) {
            let Some(ns) = held(at) else { continue };
            match self.held_ns.iter_mut().find(|(known, _)| *known == limit) {
                Some(known) => known.1 = ns,
                None => self.held_ns.push((limit, ns)),
            }
        }

        if !is_first {
            self.sm_mhz = widened(self.sm_mhz, now.sm_mhz);
            self.memory_mhz = widened(self.memory_mhz, now.memory_mhz);
        }
        self.replays =
            now.replays.zip(first.replays).map(|(now, first)| now.saturating_sub(first)).or(self.replays);
        self.processes = self.processes.max(now.processes);
    }
}

fn widened(range: Option<(u32, u32)>, value: Option<u32>) -> Option<(u32, u32)> {
    match (range, value) {
        (Some((low, high)), Some(value)) => Some((low.min(value), high.max(value))),
        (range, value) => range.or(value.map(|value| (value, value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_from_the_first_reading_on_and_states_with_their_extremes() {
        let reading = |power: u64, sm: u32, processes: u32| Counted {
            held_ns: [Some(power), Some(7), None, None, None],
            sm_mhz: Some(sm),
            memory_mhz: None,
            replays: Some(3),
            processes: Some(processes),
        };

        let first = reading(1_000, 1980, 1);
        let mut counted = begun("NVML".to_owned(), first);
        counted.add(first, reading(1_200, 1200, 2), Duration::from_nanos(500));
        counted.add(first, reading(1_300, 1500, 1), Duration::from_nanos(900));
        assert_eq!(
            counted.held_ns,
            [(Limit::Power, 300), (Limit::Thermal, 0)],
            "what is not counted is left out"
        );
        assert_eq!((counted.sm_mhz, counted.memory_mhz), (Some((1200, 1500)), None), "not the first");
        assert_eq!((counted.elapsed_ns, counted.readings), (900, 3));
        assert_eq!((counted.replays, counted.processes), (Some(0), Some(2)));

        let before = counted.clone();
        counted.add(first, Counted::default(), Duration::from_nanos(9_000));
        assert_eq!(counted, before, "a reading that failed takes nothing away");
    }

    #[test]
    fn an_amd_gpu_is_read_from_its_own_files_with_the_processes_that_have_queues_on_it() -> std::io::Result<()>
    {
        let folder = tempfile::tempdir()?;
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
            std::fs::write(path, bytes)
        };

        // Layout 1.6, as an idle MI300X has it: nothing was held down in 1000 cycles of the firmware, its
        // dies run at 132 MHz.
        let metrics = |cycles: u32, power: u32, mhz: u8| {
            let mut table = vec![0xff; 1664];
            table[..4].copy_from_slice(&[0x80, 0x06, 1, 6]);
            table[32..56].fill(0);
            table[32..36].copy_from_slice(&cycles.to_le_bytes());
            table[40..44].copy_from_slice(&power.to_le_bytes());
            table[264..266].copy_from_slice(&[mhz, 0]);
            table
        };

        let pci = PciAddress { domain: 0, bus: 0xc1, device: 0, function: 0 };
        let file = "sys/bus/pci/devices/0000:c1:00.0/gpu_metrics";
        write(file, &metrics(1_000, 0, 132))?;
        write(
            "sys/class/kfd/kfd/topology/nodes/1/properties",
            b"simd_count 304\nlocation_id 49408\ndomain 0\n",
        )?;
        write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", b"51234\n")?;
        for pid in [7, 8] {
            write(&format!("sys/class/kfd/kfd/proc/{pid}/queues/0/gpuid"), b"51234\n")?;
        }

        // Another GPU and who uses that.
        write(
            "sys/class/kfd/kfd/topology/nodes/2/properties",
            b"simd_count 304\nlocation_id 50688\ndomain 0\n",
        )?;
        write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", b"7\n")?;
        write("sys/class/kfd/kfd/proc/9/queues/0/gpuid", b"7\n")?;
        let mut watch = GpuWatch::under(FsRoot::at(folder.path()), pci, gpu_class::AMD);
        write(file, &metrics(1_400, 100, 210))?;
        watch.read();
        let counted = watch.seen().counted.clone().map_err(std::io::Error::other)?;
        assert_eq!((counted.source.as_str(), counted.readings), ("gpu_metrics 1.6", 2));
        assert_eq!((counted.sm_mhz, counted.processes), (Some((210, 210)), Some(2)));
        let held: Vec<Limit> = counted.held_ns.iter().map(|(limit, _)| *limit).collect();
        assert_eq!(held, [Limit::Power, Limit::Thermal, Limit::Board]);
        let is_held: Vec<bool> = counted.held_ns.iter().map(|(_, ns)| *ns > 0).collect();
        assert_eq!(is_held, [true, false, false], "power did in 100 of 400 cycles: {counted:?}");
        Ok(())
    }

    #[test]
    fn a_link_is_read_after_a_use_alone_and_its_least_is_kept() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let gpu = folder.path().join("sys/devices/pci0000:00/0000:c1:00.0");
        let bus = folder.path().join("sys/bus/pci/devices");
        std::fs::create_dir_all(&gpu)?;
        std::fs::create_dir_all(&bus)?;
        std::os::unix::fs::symlink(&gpu, bus.join("0000:c1:00.0"))?;
        let train = |speed: &str| {
            std::fs::write(gpu.join("current_link_width"), "16\n")?;
            std::fs::write(gpu.join("current_link_speed"), format!("{speed} GT/s PCIe\n"))
        };
        let pci = PciAddress { domain: 0, bus: 0xc1, device: 0, function: 0 };
        let generation = |link: &Option<Link>| link.as_ref().and_then(|link| link.generation);

        train("2.5")?;
        let mut watch = GpuWatch::under(FsRoot::at(folder.path()), pci, gpu_class::AMD);
        watch.read();
        assert_eq!(watch.seen().link, None, "another GPU was used so far");
        for speed in ["8.0", "32.0"] {
            train(speed)?;
            watch.read_link();
        }
        train("2.5")?;
        watch.read();
        let seen = watch.seen();
        assert_eq!([&seen.link, &seen.lowest_link].map(generation), [Some(5), Some(3)]);
        Ok(())
    }

    #[test]
    fn a_gpu_that_nobody_counts_says_why() {
        let pci = PciAddress { domain: 0xfffe, bus: 0, device: 0, function: 0 };
        let counted = |vendor| GpuWatch::open(pci, vendor).seen().counted.clone();
        assert_eq!(counted(0x8086), Err("of GPUs of vendor 0x8086 nothing is read".to_owned()));
        assert!(counted(gpu_class::AMD).is_err_and(|why| why.contains("fffe:00:00.0/gpu_metrics")));
        assert!(counted(gpu_class::NVIDIA).is_err(), "there is no such GPU");
    }
}
