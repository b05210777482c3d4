//! The records as values: what each process's file says, and why others say nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use report::document::PlatformKind;

use crate::layout::{LOADED, MAGIC, VERSION, WORDS, context, direction, entry, head, memory};
use crate::still_running::still_running;

/// What a process copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRecord {
    words: Vec<u64>,
}

/// One entry: a host address, a context, a direction and a kind of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host address; 0 for all that had no entry of their own.
    pub address: u64,
    /// The end of the largest copy.
    pub end: u64,
    /// The allocation that the driver knows there, where it knows one.
    pub range: Option<(u64, u64)>,
    /// The GPU's PCI address, as the driver says it.
    pub gpu: String,
    /// Whose driver it is; `None` where no context was kept.
    pub platform: Option<PlatformKind>,
    /// See [`crate::layout::direction`].
    pub direction: u64,
    /// See [`crate::layout::memory`].
    pub memory: u64,
    /// Copies, and their bytes.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of copies that block.
    pub blocking_bytes: u64,
    /// Bytes and time of blocking copies that the host's clock timed.
    pub waited: (u64, u64),
    /// Copies, bytes and time that events timed.
    pub timed: (u64, u64, u64),
    /// Bytes looked at on pages without a node.
    pub nowhere: u64,
    /// Bytes looked at, by node.
    pub nodes: Vec<(u32, u64)>,
}

/// All that the processes of a run left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The processes that copied.
    pub processes: Vec<ProcessRecord>,
    /// Processes that could not write a record, with the kernel's error.
    pub passive: Vec<(u32, i32)>,
    /// How many processes loaded the hook.
    pub loaded: u64,
    /// Files that are no record.
    pub broken: usize,
    /// Processes that still ran when these were read.
    pub still_running: BTreeSet<u32>,
}

impl Records {
    /// Reads the folder of records of a program that has ended.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut records = Self { still_running: still_running(folder), ..Self::default() };
        for file in fs::read_dir(folder)? {
            let (path, name) = file.map(|file| (file.path(), file.file_name()))?;
            let name = name.to_string_lossy();
            let mut parts = name.split('.');
            match (parts.next(), parts.next(), parts.next()) {
                (Some(LOADED), None, None) => records.loaded = fs::metadata(&path)?.len(),
                (Some(pid), Some("passive"), Some(error)) => {
                    records.passive.push((pid.parse().unwrap_or(0), error.parse().unwrap_or(0)));
                }
                (_, Some("record"), None) => match ProcessRecord::from_bytes(&fs::read(&path)?) {
                    Some(process) => records.processes.push(process),
                    None => records.broken += 1,
                },
                _ => {}
            }
        }

        records.processes.sort_by_key(|process| process.head(head::PID));
        Ok(records)
    }
}

impl ProcessRecord {
    /// A record from its file's bytes; `None` where it is none of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_ne_bytes));
        let words: Vec<u64> = words.collect::<Result<_, _>>().ok()?;
        Self::from_words(words)
    }

    /// A record from its words.
    pub fn from_words(words: Vec<u64>) -> Option<Self> {
        let record = Self { words };
        let is_known = record.head(head::MAGIC) == MAGIC && record.head(head::VERSION) == VERSION;
        (is_known && record.words.len() == WORDS).then_some(record)
    }

    /// A word of the head.
    pub fn head(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// The program's name.
    pub fn name(&self) -> String {
        self.text(head::NAME, 2)
    }

    fn text(&self, at: usize, words: usize) -> String {
        let bytes = (at..at + words).flat_map(|at| self.head(at).to_ne_bytes());
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The entries with copies.
    pub fn entries(&self) -> Vec<Entry> {
        let places = (0..entry::COUNT).map(|number| entry::AT + number * entry::WORDS);
        places.filter(|at| self.head(at + entry::COPIES) > 0).map(|at| self.entry(at)).collect()
    }

    fn entry(&self, at: usize) -> Entry {
        let word = |offset: usize| self.head(at + offset);
        let key = word(entry::KEY);
        let in_context = context::AT + usize::try_from(key >> 16).unwrap_or(0) * context::WORDS;
        let range = (word(entry::RANGE), word(entry::RANGE_BYTES));
        let nodes =
            (0..entry::NODE_COUNT).zip(0_u32..).map(|(offset, node)| (node, word(entry::NODES + offset)));

        Entry {
            address: word(entry::ADDRESS),
            end: word(entry::END),
            range: (range.1 > 0).then_some(range),
            gpu: self.text(in_context, context::PLATFORM).to_ascii_lowercase(),
            platform: platform(self.head(in_context + context::PLATFORM)),
            direction: (key >> 8) & 0xff,
            memory: key & 0xff,
            copies: word(entry::COPIES),
            bytes: word(entry::BYTES),
            blocking_bytes: word(entry::BLOCKING_BYTES),
            waited: (word(entry::WAITED_BYTES), word(entry::WAITED_NS)),
            timed: (word(entry::TIMED), word(entry::TIMED_BYTES), word(entry::TIMED_NS)),
            nowhere: word(entry::NOWHERE) + word(entry::HIGHER_NODES),
            nodes: nodes.filter(|(_, bytes)| *bytes > 0).collect(),
        }
    }
}

fn platform(word: u64) -> Option<PlatformKind> {
    match word {
        context::CUDA => Some(PlatformKind::Cuda),
        context::HIP => Some(PlatformKind::Hip),
        _ => None,
    }
}

impl Entry {
    /// Which way.
    pub fn way(&self) -> report::witness::WitnessDirection {
        match self.direction {
            direction::TO_DEVICE => report::witness::WitnessDirection::ToDevice,
            _ => report::witness::WitnessDirection::ToHost,
        }
    }

    /// The kind of memory.
    pub fn kind(&self) -> report::witness::WitnessMemory {
        match self.memory {
            memory::PINNED => report::witness::WitnessMemory::Pinned,
            memory::MANAGED => report::witness::WitnessMemory::Managed,
            _ => report::witness::WitnessMemory::Pageable,
        }
    }
}
