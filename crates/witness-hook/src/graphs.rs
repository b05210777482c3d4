//! Copies of graphs: found when a graph is instantiated, counted when it is launched.
//!
//! An instantiated graph makes the copies of its memcpy nodes, those of child graphs too, at each launch. A
//! graph whose nodes are changed later, that has conditional nodes, or that has more copies than there is
//! room for, is not counted but its launches are, as not seen. So is each with copies by HIP, whose libraries
//! do not say what the nodes of captured copies copy (ROCm 6.2: `hipGraphMemcpyNodeGetParams` answers with
//! memory that nobody wrote).

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::driver;
use crate::gpu_api::GpuApi;
use crate::span::{Copy, Span, Way};
use crate::volume;

/// Instantiated graphs that are known at once, copies of each, and nodes that are looked at.
const GRAPHS: usize = 256;
const COPIES: usize = 32;
const NODES: usize = 1024;
const DEPTH: usize = 4;
/// `CU_GRAPH_NODE_TYPE_MEMCPY`, `_GRAPH`, `_CONDITIONAL`; HIP's first two are the same, and 12 and 13 are
/// copies of symbols.
const MEMCPY: c_int = 1;
const CHILD: c_int = 4;
const FROM_SYMBOL: c_int = 12;
const CONDITIONAL: c_int = 13;

struct Graph {
    /// The handle; 0 free, 1 being filled.
    handle: AtomicUsize,
    /// How many copies; [`UNSEEN`] where they are not known.
    count: AtomicUsize,
    copies: [[AtomicUsize; 7]; COPIES],
}

const UNSEEN: usize = usize::MAX;
/// Ways, as their places stand in a copy's words.
const WAYS: [Way; 4] = [Way::ToDevice, Way::ToHost, Way::Devices, Way::Host];

static KNOWN: [Graph; GRAPHS] = [const {
    Graph {
        handle: AtomicUsize::new(0),
        count: AtomicUsize::new(0),
        copies: [const { [const { AtomicUsize::new(0) }; 7] }; COPIES],
    }
}; GRAPHS];

/// Keeps what a graph copies; `handle` is the instantiated one's.
pub fn instantiated(api: GpuApi, handle: usize, graph: usize) {
    forget(handle);
    let claim =
        |known: &&Graph| known.handle.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok();
    let Some(known) = KNOWN.iter().find(claim) else { return };
    known.count.store(0, Ordering::Release);
    if !known.add_nodes(api, graph, 0) {
        known.count.store(UNSEEN, Ordering::Release);
    }
    known.handle.store(handle, Ordering::Release);
}

impl Graph {
    /// Adds the copies of a graph's nodes; whether all are known.
    fn add_nodes(&self, api: GpuApi, graph: usize, depth: usize) -> bool {
        let mut nodes = [0_usize; NODES];
        let Some(count) = driver::graph_nodes(api, graph, &mut nodes) else { return false };
        nodes.iter().take(count).all(|node| {
            let Some(kind) = driver::node_type(api, *node) else { return false };
            match (api, kind) {
                (GpuApi::Hip, MEMCPY | FROM_SYMBOL) => false,
                (_, MEMCPY) => self.add_copy(*node),
                (_, CHILD) if depth < DEPTH => self.add_child(api, *node, depth),
                (_, CHILD | CONDITIONAL) => false,
                _ => true,
            }
        })
    }

    fn add_child(&self, api: GpuApi, node: usize, depth: usize) -> bool {
        driver::child_graph(api, node).is_some_and(|graph| self.add_nodes(api, graph, depth + 1))
    }

    fn add_copy(&self, node: usize) -> bool {
        let Some(words) = driver::copy_of_node(node) else { return false };
        let copy = volume::copy(GpuApi::Cuda, &words);
        let Some(room) = self.copies.get(self.count.load(Ordering::Acquire)) else { return false };
        let way = WAYS.iter().position(|way| *way == copy.way).unwrap_or(0);
        let values = copy.span.words().into_iter().chain([way]);
        room.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Release));
        self.count.fetch_add(1, Ordering::AcqRel);
        true
    }
}

fn find(handle: usize) -> Option<&'static Graph> {
    KNOWN.iter().find(|known| handle > 1 && known.handle.load(Ordering::Acquire) == handle)
}

/// Gives each copy of a launched graph; whether all are known.
pub fn copies_of(handle: usize, mut take: impl FnMut(Copy)) -> bool {
    let known = find(handle).map(|graph| (graph, graph.count.load(Ordering::Acquire)));
    let Some((graph, count)) = known.filter(|(_, count)| *count != UNSEEN) else { return false };
    for words in graph.copies.iter().take(count) {
        let [address, row, rows, pitch, slices, slice_pitch, way] =
            words.each_ref().map(|word| word.load(Ordering::Acquire));
        let way = WAYS.get(way).copied().unwrap_or(Way::Host);
        let span = Span::from_words([address, row, rows, pitch, slices, slice_pitch]);
        take(Copy { way, span });
    }
    true
}

/// A graph's nodes were changed: what it copies is no longer known.
pub fn changed(handle: usize) {
    if let Some(graph) = find(handle) {
        graph.count.store(UNSEEN, Ordering::Release);
    }
}

/// A graph is destroyed.
pub fn forget(handle: usize) {
    if let Some(graph) = find(handle) {
        graph.handle.store(0, Ordering::Release);
    }
}

/// In a fork's child there are none.
pub fn reset() {
    KNOWN.iter().for_each(|graph| graph.handle.store(0, Ordering::Release));
}
