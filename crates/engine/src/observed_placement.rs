//! What was seen of a placement: where the thread runs and where the pages lie, looked up in the kernel,
//! never inferred from what was asked.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::stage::Stage;
use sys::mapping::HUGE_PAGE_BYTES;
use sys::policy::MemoryNodes;

use crate::failure::Failure;

/// Pages are looked up this many at a time: 512 KiB of addresses.
const BATCH: usize = 65_536;

/// How closely pages are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCheck {
    /// For the first time on this memory: every page.
    First,
    /// Again, after it was used: every page, or where pages cannot move (pinned ones) one in each 2 MiB.
    Again,
}

/// Where pages cannot move one base page in so many bytes is looked at: each huge one of 2 MiB, whatever the
/// size of base pages.
const SAMPLED_BYTES: usize = 2 << 20;

/// One base page of so many bytes in this many is looked at where pages cannot move.
fn sampled(page_bytes: usize) -> usize {
    (SAMPLED_BYTES / page_bytes.max(1)).max(1)
}

/// Where the pages of one rank's host memory lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesPerNode {
    /// Base pages on each node, by OS index.
    pub per_node: BTreeMap<u32, u64>,
    /// One base page in so many was looked at; 1: every one; 0: none yet.
    pub one_in: u64,
    /// Base pages the kernel would not say anything of.
    pub unknown: u64,
    /// Why not.
    pub unknown_reason: Option<String>,
}

/// Where the pages of a device's memory lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DevicePages {
    /// Of a device that is a node of the host: as closely looked at as the host's.
    OfNode(PagesPerNode),
    /// Of a GPU that may share memory with its CPU: a few, as far as the kernel knows of them.
    OfGpu(PagesPerNode),
}

/// A placement as seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedPlacement {
    /// The PU the thread ran on.
    pub pu: u32,
    /// The PUs it could have run on.
    pub affinity: IdSet,
    /// Where its host memory lies.
    pub pages: PagesPerNode,
    /// Where its device's memory lies, when the device is a node or its memory may be one.
    pub device_pages: Option<DevicePages>,
}

impl ObservedPlacement {
    /// Looks up the calling thread; its memory is added by [`PagesPerNode::of`].
    ///
    /// # Errors
    /// The kernel does not say where the thread is.
    pub fn thread() -> Result<Self, Failure> {
        let failure = |call: &'static str| {
            move |error: std::io::Error| {
                Failure::system(Stage::Prove, call, &error, "the placement cannot be proven here")
            }
        };
        let pu = sys::affinity::current_pu().map_err(failure("getcpu"))?;
        let affinity = sys::affinity::get().map_err(failure("sched_getaffinity"))?;
        Ok(Self { pu, affinity, pages: PagesPerNode::default(), device_pages: None })
    }

    /// What is not as asked, in words; `None` when nothing is known to be wrong. `device_node` is the node
    /// that stands in for the device, where one does.
    pub fn mismatch(&self, pu: u32, node: u32, device_node: Option<u32>) -> Option<String> {
        let host = || Some(format!("asked for memory on node {node}, {}", self.pages.elsewhere(node)?));
        self.other_pu(pu).or_else(host).or_else(|| self.other_device(device_node))
    }

    /// The same for memory that is spread over several nodes.
    pub fn mismatch_spread(
        &self,
        pu: u32,
        spread: &SpreadMemory,
        device_node: Option<u32>,
    ) -> Option<String> {
        let host = || spread.mismatch(&self.pages);
        self.other_pu(pu).or_else(host).or_else(|| self.other_device(device_node))
    }

    fn other_pu(&self, pu: u32) -> Option<String> {
        let is_other = self.pu != pu || self.affinity != IdSet::from_iter([pu]);
        is_other.then(|| format!("asked for PU {pu}, ran on PU {} (affinity {})", self.pu, self.affinity))
    }

    fn other_device(&self, device_node: Option<u32>) -> Option<String> {
        match (&self.device_pages, device_node) {
            (Some(DevicePages::OfNode(pages)), Some(node)) => {
                pages.elsewhere(node).map(|found| format!("the device is node {node}, {found}"))
            }
            _ => None,
        }
    }
}

/// Ranges of memory that were asked to lie over several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadMemory {
    /// The nodes, and how it is taken from them.
    pub nodes: MemoryNodes,
    /// Bytes of each range.
    pub range_bytes: usize,
    /// How many ranges.
    pub ranges: u64,
    /// Whether the kernel may take huge pages whole.
    pub huge_pages: bool,
}

impl SpreadMemory {
    /// The bytes that the kernel takes from a node at once.
    pub fn granule_bytes(huge_pages: bool) -> usize {
        let page = rustix::param::page_size();
        if huge_pages { HUGE_PAGE_BYTES.max(page) } else { page }
    }

    /// Which node has not its share of the pages, in words. Every page must have been looked at.
    fn mismatch(&self, seen: &PagesPerNode) -> Option<String> {
        // Memory of which some pages are unknown is not proven, and not wrong either.
        if seen.unknown > 0 || seen.per_node.is_empty() {
            return None;
        }
        let page = rustix::param::page_size();
        let pages = self.range_bytes.div_ceil(page) as u64;
        let granule = (Self::granule_bytes(self.huge_pages) / page) as u64;
        let wrong = |node: u32| {
            let share = self.nodes.share(node, pages, granule);
            let (least, most) = (share.start() * self.ranges, share.end() * self.ranges);
            let found = seen.per_node.get(&node).copied().unwrap_or(0);
            let asked = if least == most { least.to_string() } else { format!("{least} to {most}") };
            (found < least || found > most)
                .then(|| format!("node {node} has {found} pages instead of {asked}"))
        };

        let asked = self.nodes.nodes();
        let all = asked.or(&seen.per_node.keys().copied().collect());
        let wrong: Vec<String> = all.iter().filter_map(wrong).collect();
        // Where no huge page was free at its turn, small ones have taken a place each.
        let hint = match self.huge_pages {
            true => " (where no huge page was free, small ones took its turn)",
            false => "",
        };
        (!wrong.is_empty())
            .then(|| format!("asked for memory spread over nodes {asked}: {}{hint}", wrong.join(", ")))
    }
}

impl PagesPerNode {
    /// Where the pages of one range lie. `movable`: the kernel may move them, so that all are looked at each
    /// time.
    pub fn of(range: &[u8], look: PageCheck, movable: bool) -> Self {
        let start = range.as_ptr().addr();
        Self::at(start..start + range.len(), look, movable)
    }

    /// Whether looking moves no page: managed memory's may be with the GPU.
    pub fn are_left_where_they_are() -> bool {
        sys::policy::PageLookup::leaves_pages()
    }

    /// As [`PagesPerNode::of`], for memory that others may write meanwhile: its addresses are never read.
    pub fn at(addresses: Range<usize>, look: PageCheck, movable: bool) -> Self {
        let one_in =
            if look == PageCheck::First || movable { 1 } else { sampled(rustix::param::page_size()) };
        let mut pages = Self { one_in: one_in as u64, ..Self::default() };
        pages.count(addresses, one_in);
        pages
    }

    /// Where the pages of a device's areas lie, a few of them. On a coherent machine the kernel may know; of
    /// a GPU's own memory it knows nothing (EFAULT, ENOENT), and then these pages are unknown.
    pub fn of_device(areas: &[Range<usize>]) -> Self {
        let one_in = sampled(rustix::param::page_size());
        let mut pages = Self { one_in: one_in as u64, ..Self::default() };
        areas.iter().for_each(|area| pages.count(area.clone(), one_in));
        pages
    }

    /// Adds another range's pages.
    pub fn merge(&mut self, other: Self) {
        other.per_node.into_iter().for_each(|(node, count)| *self.per_node.entry(node).or_default() += count);
        self.one_in = self.one_in.max(other.one_in);
        self.unknown += other.unknown;
        self.unknown_reason = other.unknown_reason.or(self.unknown_reason.take());
    }

    /// The system call that these counts are from.
    pub fn source() -> &'static str {
        sys::policy::PageLookup::here().name()
    }

    /// What lies elsewhere than on `node`, in words.
    fn elsewhere(&self, node: u32) -> Option<String> {
        let others = self.per_node.iter().filter(|(other, _)| **other != node);
        let others: Vec<String> = others.map(|(other, count)| format!("{count} on node {other}")).collect();
        let there = self.per_node.get(&node).copied().unwrap_or(0);
        (!others.is_empty()).then(|| format!("found {there} pages there and {}", others.join(", ")))
    }

    /// Looks up one base page in so many of these addresses, which are never read.
    fn count(&mut self, range: Range<usize>, one_in: usize) {
        if range.is_empty() {
            return;
        }
        let size = rustix::param::page_size();
        let first = range.start / size * size;
        let addresses: Vec<*const u8> =
            (first..range.end).step_by(size * one_in).map(|address| address as *const u8).collect();

        for batch in addresses.chunks(BATCH) {
            match sys::policy::page_nodes(batch) {
                Ok(nodes) => self.add(batch, &nodes),
                Err(error) => {
                    self.unknown += batch.len() as u64;
                    self.unknown_reason = Some(reason(&error));
                }
            }
        }
    }

    fn add(&mut self, batch: &[*const u8], nodes: &[i32]) {
        for (address, node) in batch.iter().zip(nodes) {
            // With NUMA balancing on, a resident page that is marked for a hint fault answers -EFAULT or
            // -ENOENT: looking again settles it once the page was touched, and a placement is never called
            // wrong for it.
            let node = if *node < 0 {
                sys::policy::page_nodes(&[*address]).ok().and_then(|n| n.first().copied()).unwrap_or(*node)
            } else {
                *node
            };

            match u32::try_from(node) {
                Ok(node) => *self.per_node.entry(node).or_default() += 1,
                Err(_) => {
                    self.unknown += 1;
                    self.unknown_reason = Some(reason(&std::io::Error::from_raw_os_error(-node)));
                }
            }
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    format!("{}: {error}", PagesPerNode::source())
}

#[cfg(test)]
mod tests {
    use sys::policy::NodeUse;

    use super::*;

    fn seen(per_node: &[(u32, u64)]) -> ObservedPlacement {
        let pages = PagesPerNode { per_node: per_node.iter().copied().collect(), ..PagesPerNode::default() };
        ObservedPlacement { pu: 3, affinity: IdSet::from_iter([3]), pages, device_pages: None }
    }

    #[test]
    fn a_thread_or_a_page_elsewhere_is_a_mismatch() {
        assert_eq!(seen(&[(1, 10)]).mismatch(3, 1, None), None);
        let has =
            |text: &str, parts: &[&str]| assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        has(&seen(&[(1, 10)]).mismatch(4, 1, None).unwrap_or_default(), &["PU 4", "PU 3"]);
        let mixed = seen(&[(1, 10), (2, 1)]).mismatch(3, 1, None).unwrap_or_default();
        has(&mixed, &["10 pages", "1 on node 2"]);
        let loose = ObservedPlacement { affinity: IdSet::from_iter([2, 3]), ..seen(&[(1, 10)]) };
        assert!(loose.mismatch(3, 1, None).is_some(), "a thread that may wander is not bound");
    }

    #[test]
    fn spread_memory_has_each_nodes_share_to_the_page_and_nothing_elsewhere() {
        let nodes = MemoryNodes { node_use: NodeUse::WeightedInterleave, in_turn: [(1, 3), (2, 1)].into() };
        let page = rustix::param::page_size();
        let spread = SpreadMemory { nodes, range_bytes: 40 * page, ranges: 2, huge_pages: false };
        let mismatch = |pages: &[(u32, u64)]| seen(pages).mismatch_spread(3, &spread, None);
        assert_eq!(mismatch(&[(1, 60), (2, 20)]), None);
        let uneven = mismatch(&[(1, 61), (2, 19)]).unwrap_or_default();
        assert!(uneven.contains("node 1 has 61 pages instead of 60"), "{uneven}");
        assert!(uneven.contains("node 2 has 19 pages instead of 20"), "{uneven}");
        let elsewhere = mismatch(&[(1, 60), (2, 19), (5, 1)]).unwrap_or_default();
        assert!(elsewhere.contains("node 5 has 1 pages instead of 0"), "{elsewhere}");
        assert!(mismatch(&[(1, 80)]).is_some(), "all on one node");
        assert!(seen(&[(1, 60), (2, 20)]).mismatch_spread(4, &spread, None).is_some(), "the PU counts too");
        // Whole huge pages go to a node in turn: of five of them node 2 has one or two.
        let huge = SpreadMemory { range_bytes: 5 * HUGE_PAGE_BYTES, ranges: 1, huge_pages: true, ..spread };
        let of = |pages: u64| pages * (HUGE_PAGE_BYTES / page) as u64;
        assert_eq!(seen(&[(1, of(3)), (2, of(2))]).mismatch_spread(3, &huge, None), None);
        assert!(seen(&[(1, of(2)), (2, of(3))]).mismatch_spread(3, &huge, None).is_some());
    }

    #[test]
    fn a_device_that_is_a_node_must_lie_there() {
        let on = |node| ObservedPlacement {
            device_pages: Some(DevicePages::OfNode(PagesPerNode {
                per_node: [(node, 5)].into(),
                ..PagesPerNode::default()
            })),
            ..seen(&[(1, 10)])
        };
        assert_eq!(on(2).mismatch(3, 1, Some(2)), None);
        let text = on(0).mismatch(3, 1, Some(2)).unwrap_or_default();
        assert!(["node 2", "0 pages", "5 on node 0"].iter().all(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn touched_memory_is_found_and_pages_that_cannot_move_are_sampled_the_second_time() {
        let memory = vec![1_u8; 8 << 20];
        let count = |look, movable| {
            let pages = PagesPerNode::of(&memory, look, movable);
            pages.per_node.values().sum::<u64>() + pages.unknown
        };
        assert!(count(PageCheck::First, false) >= 2048);
        assert!(count(PageCheck::Again, true) >= 2048);
        let sampled = count(PageCheck::Again, false);
        assert!((4..=8).contains(&sampled), "{sampled} pages of 8 MiB");
    }

    #[test]
    fn one_page_in_2_mib_is_sampled_whatever_the_size_of_pages() {
        let kib = [4, 16, 64, 2048, 16384];
        assert_eq!(kib.map(|kib| sampled(kib << 10)), [512, 128, 32, 1, 1]);
    }

    #[test]
    fn a_range_that_is_not_there_has_no_pages() {
        let none = PagesPerNode::of(&[], PageCheck::First, true);
        assert_eq!((none.per_node.len(), none.unknown), (0, 0));
    }

    #[test]
    fn a_devices_pages_are_located_by_address_and_what_the_kernel_does_not_know_is_unknown() {
        let memory = vec![1_u8; 8 << 20];
        let start = memory.as_ptr().addr();
        let area = start..start + memory.len();
        let located = PagesPerNode::of_device(std::slice::from_ref(&area));
        assert!((4..=8).contains(&(located.per_node.values().sum::<u64>() + located.unknown)), "{located:?}");
        // No process has a page there: x86-64 and arm64 keep the first page of an address space free.
        let nowhere = PagesPerNode::of_device(&[0..4096, 0..0]);
        assert_eq!((nowhere.per_node.len(), nowhere.unknown), (0, 1));
        assert!(nowhere.unknown_reason.is_some_and(|reason| reason.starts_with(PagesPerNode::source())));
    }

    #[test]
    fn the_thread_is_seen_on_a_pu_that_it_may_use() -> Result<(), Failure> {
        let seen = ObservedPlacement::thread()?;
        assert!(seen.affinity.contains(seen.pu));
        Ok(())
    }
}
