//! What `numabench exec --workers` tells the workers of an engine, kept from before the program runs: a
//! program may write over its environment later.

use std::sync::OnceLock;

use crate::sys;
use crate::text::Text;
use crate::threads::{Nodes, Pus};
use crate::worker_table::{AFFINITY, LONGEST, NEXT_WORKER, NODES, PARENT, REPORT, TOKEN, VARIABLE, VERSION};

static TABLE: OnceLock<Table> = OnceLock::new();

/// The table.
pub struct Table {
    line: Text<LONGEST>,
}

/// A GPU's words.
#[derive(Clone, Copy, Debug)]
pub struct GpuCores<'t> {
    /// The PUs of each of its workers.
    pub parts: &'t str,
    /// The nodes near it; `none`: memory is left alone.
    pub nodes: &'t str,
}

/// Whose an affinity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityOwner {
    /// Nobody bound the thread since the engine began.
    Unbound,
    /// A worker's, by its parent's binding or its own.
    Worker,
    /// Somebody else's.
    Foreign,
}

/// Keeps the variable's table; whether there is one that this library can read.
pub fn keep() -> bool {
    let line = Text::<64>::of(format_args!("{VARIABLE}"))
        .and_then(|name| sys::variable(name.c_text()?)?.to_str().ok())
        .filter(|line| line.split(' ').next() == Some(VERSION));
    let line = line.and_then(|line| Text::of(format_args!("{line}")));
    line.is_some_and(|line| TABLE.set(Table { line }).is_ok())
}

/// The kept table.
pub fn kept() -> Option<&'static Table> {
    TABLE.get()
}

impl Table {
    fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        let line = core::str::from_utf8(self.line.bytes()).unwrap_or_default();
        line.split(' ').filter_map(|word| word.split_once('='))
    }

    fn word(&self, name: &str) -> &str {
        self.words().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The process that stays free.
    pub fn parent(&self) -> u32 {
        self.word(PARENT).parse().unwrap_or(0)
    }

    /// This start's own word.
    pub fn token(&self) -> &str {
        self.word(TOKEN)
    }

    /// Whether each worker says what it did.
    pub fn reports(&self) -> bool {
        self.word(REPORT) == "1"
    }

    /// The words of the GPU at this address.
    pub fn gpu(&self, address: u64) -> Option<GpuCores<'_>> {
        let (_, value) = self.words().find(|(name, _)| address_of(name) == Some(address))?;
        Some(GpuCores::of(value))
    }

    /// Whose this affinity is.
    pub fn owner_of(&self, affinity: &Pus) -> AffinityOwner {
        if set_of(self.word(AFFINITY)).as_ref() == Some(affinity) {
            return AffinityOwner::Unbound;
        }
        let gives = |share: GpuCores<'_>| {
            share.each().any(|part| set_of(part).as_ref() == Some(affinity)) || share.all() == *affinity
        };
        let mut gpus = self.words().filter(|(name, _)| address_of(name).is_some());
        if gpus.any(|(_, value)| gives(GpuCores::of(value))) {
            AffinityOwner::Worker
        } else {
            AffinityOwner::Foreign
        }
    }
}

impl<'t> GpuCores<'t> {
    fn of(value: &'t str) -> Self {
        let (parts, nodes) = value.split_once(NODES).unwrap_or((value, ""));
        Self { parts, nodes }
    }

    /// The PUs of each of its workers.
    pub fn each(self) -> impl Iterator<Item = &'t str> {
        self.parts.split(NEXT_WORKER)
    }

    /// The PUs of all of them.
    pub fn all(self) -> Pus {
        let mut all: Pus = [0; 128];
        for part in self.each().filter_map(set_of::<128>) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
        }
        all
    }

    /// The nodes as a mask.
    pub fn node_mask(self) -> Option<Nodes> {
        set_of(self.nodes)
    }
}

/// A PCI address as a number, however it is written; `None` of what is none.
pub fn address_of(text: &str) -> Option<u64> {
    let mut parts = text.split([':', '.']);
    let mut next = || u64::from_str_radix(parts.next()?, 16).ok();
    let (domain, bus, device, function) = (next()?, next()?, next()?, next()?);
    Some(domain << 16 | bus << 8 | device << 3 | function)
}

/// A list such as `0-3,8`, as bits; `None` of an empty one, and of one beyond the last bit.
pub fn set_of<const WORDS: usize>(list: &str) -> Option<[u64; WORDS]> {
    let mut bits = [0_u64; WORDS];
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        for bit in first.parse::<usize>().ok()?..=last.parse().ok()? {
            *bits.get_mut(bit / 64)? |= 1 << (bit % 64);
        }
    }
    Some(bits)
}
