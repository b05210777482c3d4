//! What AMD's kernel driver counts and reads of a GPU at work: how long its clocks were held down and by
//! what, the clocks, PCIe replays.
//!
//! `gpu_metrics` beside the device in sysfs is a table of the GPU's firmware, readable without privilege;
//! amd-smi reads it too. Its header says how long it is and which layout it has (the kernel's
//! `kgd_pp_interface.h`, in native order, what is not known all ones). Since layout 1.6 (MI300) it counts the
//! firmware's cycles and, for each throttler, those in which it held clocks down: counters, so that two
//! readings miss nothing that lay between them. Older layouts (MI200: 1.3) have the state at this moment
//! only, which is not taken for what lay between.
//!
//! The partitions of a GPU share the table of its first function. Processes are amdkfd's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use stats::PciAddress;
use stats::clock_limit::Limit;

use crate::counted::Counted;
use crate::fs_root::FsRoot;
use crate::gpu_use::GpuUse;
use crate::kfd;

/// The layouts of format 1 that are read.
const LAYOUTS: [Layout; 6] = [
    Layout { minor: 3, bytes: 120, cycles: None, replays: None, sm: 54, sms: 1, memory: 58 },
    Layout { minor: 4, bytes: 288, cycles: None, replays: Some(88), sm: 240, sms: 8, memory: 280 },
    Layout { minor: 5, bytes: 360, cycles: None, replays: Some(152), sm: 312, sms: 8, memory: 352 },
    Layout { minor: 6, bytes: 1664, cycles: Some(32), replays: Some(104), sm: 264, sms: 8, memory: 304 },
    Layout { minor: 7, bytes: 2208, cycles: Some(40), replays: Some(112), sm: 296, sms: 8, memory: 336 },
    Layout { minor: 8, bytes: 3360, cycles: Some(40), replays: Some(112), sm: 296, sms: 8, memory: 336 },
];

/// Throttlers that are counted, as they follow the cycles: PROCHOT, PPT, and the temperatures of socket,
/// regulators and HBM.
const THROTTLERS: usize = 5;

/// Where the members of one layout begin, bytes from its start.
struct Layout {
    minor: u8,
    /// Its length.
    bytes: usize,
    /// `accumulation_counter`, u32; the throttlers follow.
    cycles: Option<usize>,
    /// `pcie_replay_count_acc`, u64.
    replays: Option<usize>,
    /// `current_gfxclk`, so many of u16, MHz.
    sm: usize,
    sms: usize,
    /// `current_uclk`, u16, MHz.
    memory: usize,
}

/// The table of one GPU.
pub(crate) struct GpuMetrics {
    file: PathBuf,
    pci: PciAddress,
    root: FsRoot,
    layout: &'static Layout,
    /// The first reading that had counters.
    first: Option<(Instant, Residencies)>,
}

/// For how many of the firmware's cycles each throttler held clocks down, since some time in the past.
#[derive(Clone, Copy)]
struct Residencies {
    cycles: u32,
    throttled: [Option<u32>; THROTTLERS],
}

impl GpuMetrics {
    /// Finds the table of the GPU at this address.
    ///
    /// # Errors
    /// There is none, or one of a layout that is not read.
    pub(crate) fn open(root: &FsRoot, pci: PciAddress) -> Result<Self, String> {
        let whole = PciAddress { function: 0, ..pci };
        let of = |pci: PciAddress| format!("/sys/bus/pci/devices/{pci}/gpu_metrics");
        let path = [pci, whole].map(of).into_iter().find(|path| root.exists(path)).unwrap_or_else(|| of(pci));
        let file = root.disk(&path)?;
        let table = std::fs::read(&file).map_err(|error| format!("{path}: {error}"))?;
        let header = (number(&table, 0, 2), number(&table, 2, 1), number(&table, 3, 1));
        let (Some(bytes), Some(format), Some(minor)) = header else {
            return Err(format!("{path} has {} bytes, which is no table", table.len()));
        };
        let known = LAYOUTS.iter().filter(|_| format == 1).find(|layout| u64::from(layout.minor) == minor);

        // 1.6 had another layout, which was shorter, before it was released.
        let layout = known.filter(|layout| bytes as usize == layout.bytes && table.len() >= layout.bytes);
        let layout = layout.ok_or_else(|| {
            let read = LAYOUTS.map(|layout| format!("1.{}", layout.minor)).join(", ");
            format!("{path} has layout {format}.{minor} of {bytes} bytes; those that are read: {read}")
        })?;
        Ok(Self { file, pci, root: root.clone(), layout, first: None })
    }

    /// Where the figures come from.
    pub(crate) fn source(&self) -> String {
        format!("gpu_metrics 1.{}", self.layout.minor)
    }

    /// What it says now.
    pub(crate) fn read(&mut self) -> Counted {
        let at = Instant::now();
        let table = std::fs::read(&self.file).unwrap_or_default();
        let clocks = (0..self.layout.sms).filter_map(|which| known(&table, self.layout.sm + 2 * which, 2));
        let pci = self.pci;
        let users = |uses: Vec<GpuUse>| {
            uses.iter().filter(|one| one.pci == pci).map(|one| one.pid).collect::<BTreeSet<u32>>().len()
                as u32
        };

        Counted {
            held_ns: self.held(at, &table),
            // Its dies have clocks of their own, and copies by kernels are as fast as the slowest.
            sm_mhz: clocks.min().map(|mhz| mhz as u32),
            memory_mhz: known(&table, self.layout.memory, 2).map(|mhz| mhz as u32),
            replays: self
                .layout
                .replays
                .and_then(|at| known(&table, at, 8))
                .and_then(|count| count.try_into().ok()),
            processes: kfd::uses(&self.root).ok().map(users),
        }
    }

    /// The parts of its cycles for which clocks were held down since the first reading, as times.
    fn held(&mut self, at: Instant, table: &[u8]) -> [Option<u64>; 5] {
        let Some(now) = self.layout.cycles.and_then(|start| residencies(table, start)) else {
            return [None; 5];
        };
        let (began, first) = *self.first.get_or_insert((at, now));
        let cycles = u64::from(now.cycles.wrapping_sub(first.cycles));
        let elapsed = (at - began).as_nanos();
        let of = |which: usize| {
            let held = u64::from(now.throttled[which]?.wrapping_sub(first.throttled[which]?));
            match (cycles, elapsed) {
                (_, 0) => Some(0),
                // Firmware that did not count meanwhile says nothing of it, nor one that was started anew.
                (0, _) => None,
                (cycles, _) if held > cycles => None,
                (cycles, elapsed) => Some((u128::from(held) * elapsed / u128::from(cycles)) as u64),
            }
        };

        let [prochot, power, temperatures @ ..] = [0, 1, 2, 3, 4].map(of);

        Limit::ALL.map(|limit| match limit {
            Limit::Power => power,
            Limit::Thermal => temperatures.into_iter().flatten().max(),
            Limit::Board => prochot,
            Limit::SyncBoost | Limit::Reliability | Limit::Newer => None,
        })
    }
}

fn residencies(table: &[u8], start: usize) -> Option<Residencies> {
    let counter = |which: usize| known(table, start + 4 * which, 4).map(|count| count as u32);
    Some(Residencies { cycles: counter(0)?, throttled: [1, 2, 3, 4, 5].map(counter) })
}

/// The number of so many bytes at an offset, unless the driver did not fill it in.
fn known(table: &[u8], at: usize, bytes: usize) -> Option<u64> {
    number(table, at, bytes).filter(|value| *value != u64::MAX >> (64 - 8 * bytes))
}

/// The number of so many bytes (at most 8) at an offset, in this machine's order, which is little endian
/// wherever amdgpu runs.
fn number(table: &[u8], at: usize, bytes: usize) -> Option<u64> {
    Some(table.get(at..at + bytes)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PCI: PciAddress = PciAddress { domain: 0, bus: 0xc1, device: 0, function: 0 };

    /// A table of this layout in which nothing is known but what is written to it.
    fn table(minor: u8, bytes: u16, members: &[(usize, &[u8])]) -> Vec<u8> {
        let mut table = vec![0xff; usize::from(bytes)];
        table[..2].copy_from_slice(&bytes.to_le_bytes());
        table[2..4].copy_from_slice(&[1, minor]);
        for (at, member) in members {
            table[*at..at + member.len()].copy_from_slice(member);
        }
        table
    }

    fn machine(pci: PciAddress, table: &[u8]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        let device = root.path().join(format!("sys/bus/pci/devices/{pci}"));
        std::fs::create_dir_all(&device)?;
        std::fs::write(device.join("gpu_metrics"), table)?;
        Ok(root)
    }

    fn opened(
        pci: PciAddress,
        table: &[u8],
    ) -> std::io::Result<(tempfile::TempDir, Result<GpuMetrics, String>)> {
        let root = machine(pci, table)?;
        let metrics = GpuMetrics::open(&FsRoot::at(root.path()), pci);
        Ok((root, metrics))
    }

    /// Cycles, PROCHOT, PPT, three temperatures.
    fn counters(values: [u32; 6]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn each_layout_is_read_where_its_members_are() -> std::io::Result<()> {
        // Offsets are those of a C compiler for the kernel's structures: clocks of the dies, of memory,
        // replays.
        for (minor, bytes, sm, memory, replays) in [
            (3, 120, 54, 58, None),
            (4, 288, 240, 280, Some(88)),
            (5, 360, 312, 352, Some(152)),
            (6, 1664, 264, 304, Some(104)),
            (7, 2208, 296, 336, Some(112)),
            (8, 3360, 296, 336, Some(112)),
        ] {
            let mut members: Vec<(usize, &[u8])> = vec![(sm, &[0x34, 0x08]), (memory, &[0x84, 0x03])];
            members.extend(replays.map(|at| (at, [7, 0, 0, 0, 0, 0, 0, 0].as_slice())));
            let (_root, metrics) = opened(PCI, &table(minor, bytes, &members))?;
            let mut metrics = metrics.map_err(std::io::Error::other)?;
            assert_eq!(metrics.source(), format!("gpu_metrics 1.{minor}"));
            let seen = metrics.read();
            assert_eq!((seen.sm_mhz, seen.memory_mhz), (Some(2100), Some(900)), "1.{minor}");
            assert_eq!(seen.replays, replays.map(|_| 7), "1.{minor}");
            assert_eq!((seen.held_ns, seen.processes), ([None; 5], None), "all ones are not counted");
        }
        Ok(())
    }

    #[test]
    fn clocks_were_held_down_for_the_part_of_the_cycles_in_which_they_were() -> std::io::Result<()> {
        for (minor, bytes, start) in [(6, 1664, 32), (7, 2208, 40), (8, 3360, 40)] {
            let at = |values| table(minor, bytes, &[(start, &counters(values))]);
            // Counters that run over go on at 0.
            let (_root, metrics) = opened(PCI, &at([u32::MAX - 99, 5, 10, 20, 30, u32::MAX]))?;
            let mut metrics = metrics.map_err(std::io::Error::other)?;
            let began = Instant::now();
            let first = metrics.held(began, &at([u32::MAX - 99, 5, 10, 20, 30, u32::MAX]));
            assert_eq!(
                first,
                [Some(0), Some(0), None, Some(0), None],
                "nothing was held before the first reading"
            );
            let later =
                metrics.held(began + Duration::from_nanos(8_000), &at([700, 5, 210, 20, 430, u32::MAX]));
            assert_eq!(
                later,
                [Some(2_000), Some(4_000), None, Some(0), None],
                "200 and 400 of 800 cycles in 1.{minor}"
            );
            let stuck =
                metrics.held(began + Duration::from_nanos(1), &at([u32::MAX - 99, 5, 10, 20, 30, u32::MAX]));
            assert_eq!(stuck, [None; 5], "firmware that does not count says nothing");
            let anew = metrics.held(began + Duration::from_nanos(1), &at([50, 1, 2, 3, 4, u32::MAX]));
            assert_eq!(anew, [None; 5], "firmware that was started anew counts from 0 again");
        }
        Ok(())
    }

    #[test]
    fn a_partition_has_the_table_of_its_gpu() -> std::io::Result<()> {
        let root = machine(PCI, &table(6, 1664, &[(304, &[0x84, 0x03])]))?;
        let partition = PciAddress { function: 3, ..PCI };
        let mut metrics =
            GpuMetrics::open(&FsRoot::at(root.path()), partition).map_err(std::io::Error::other)?;
        assert_eq!(metrics.read().memory_mhz, Some(900));
        Ok(())
    }

    #[test]
    fn a_table_that_is_missing_short_or_of_another_layout_says_so() -> std::io::Result<()> {
        let why = |table: &[u8]| -> std::io::Result<String> {
            Ok(opened(PCI, table)?.1.err().unwrap_or_else(|| "opened".to_owned()))
        };
        let path = "/sys/bus/pci/devices/0000:c1:00.0/gpu_metrics";
        let read = "those that are read: 1.3, 1.4, 1.5, 1.6, 1.7, 1.8";
        assert_eq!(why(&[])?, format!("{path} has 0 bytes, which is no table"));
        assert_eq!(why(&table(9, 8, &[]))?, format!("{path} has layout 1.9 of 8 bytes; {read}"));
        assert_eq!(why(&table(6, 400, &[]))?, format!("{path} has layout 1.6 of 400 bytes; {read}"));
        assert_eq!(why(&table(6, 1664, &[])[..900])?, format!("{path} has layout 1.6 of 1664 bytes; {read}"));
        let mut apu = table(3, 120, &[]);
        apu[2] = 2;
        assert_eq!(why(&apu)?, format!("{path} has layout 2.3 of 120 bytes; {read}"));
        let nowhere = GpuMetrics::open(&FsRoot::at(tempfile::tempdir()?.path()), PCI);
        assert!(nowhere.is_err_and(|why| why.starts_with(&format!("{path}: No such file"))));
        Ok(())
    }
}
