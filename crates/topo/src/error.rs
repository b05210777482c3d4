//! Why a topology could not be had: one variant per cause, each with what to do about it.
//!
//! Only a whole topology fails. A part that is not known (a name, a link, a locality) is a value with a
//! reason in the model.

use std::io;
use std::path::PathBuf;

use stats::id_list::MAX_ID;

use crate::input::InputError;

/// The largest XML file that is read, bytes. The largest published hwloc file, of a machine with 1792 PUs,
/// has under 10 MiB.
pub const MAX_XML_BYTES: u64 = 64 << 20;

/// No topology.
#[derive(Debug, thiserror::Error)]
pub enum TopoError {
    /// The file cannot be opened or read.
    #[error("cannot read the topology file {}: {source}; give the path of a file written by `lstopo \
        FILE.xml`", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The reason.
        source: InputError,
    },
    /// The file has more than [`MAX_XML_BYTES`].
    #[error("{} has more than {} MiB, more than any hwloc XML file: give a file written by `lstopo \
        FILE.xml`", path.display(), MAX_XML_BYTES >> 20)]
    TooLarge {
        /// The path as given.
        path: PathBuf,
    },
    /// The file does not start as XML does.
    #[error("{} is not XML: {why}; give a file written by `lstopo FILE.xml`", path.display())]
    NotXml {
        /// The path as given.
        path: PathBuf,
        /// What was seen instead.
        why: String,
    },
    /// Text in which no known tool's output is found.
    #[error(
        "{paths}: neither hwloc XML nor the output of a tool that is read: lscpu (also -e, -p), numactl -H, \
         lstopo, nvidia-smi (also topo -m, -L, -q), rocm-smi --showtopo; give one of these, whole"
    )]
    UnknownText {
        /// The paths as given.
        paths: String,
    },
    /// Texts of other tools cannot be of one machine, or not be used.
    #[error("{what}")]
    Contradiction {
        /// Which texts, and why.
        what: String,
    },
    /// XML, with another root element than hwloc's.
    #[error("{} is XML but not an hwloc topology: its root element is <{root}>, hwloc's is <topology>; give \
        a file written by `lstopo FILE.xml`", path.display())]
    NotHwloc {
        /// The path as given.
        path: PathBuf,
        /// The root element's name.
        root: String,
    },
    /// hwloc's XML, cut off before its end.
    #[error("{} ends before </topology>: the file is cut off; write or copy it again", path.display())]
    CutOff {
        /// The path as given.
        path: PathBuf,
    },
    /// A format that is newer than hwloc 2's.
    #[error("{} is in the format of hwloc {version}, which hwloc 2 cannot read; on the machine it came from, \
        export it again with `lstopo --export-xml-flags v2 FILE.xml`", path.display())]
    NewerFormat {
        /// The path as given.
        path: PathBuf,
        /// The version the file states.
        version: String,
    },
    /// A GPU in a PCI domain above 0xffff, which hwloc 2 drops without a word.
    #[error("{} has a GPU at {address}, in a PCI domain above ffff, which hwloc 2 cannot read from a file; \
        run numabench on that machine itself, where it reads such devices from /sys", path.display())]
    WideDomain {
        /// The path as given.
        path: PathBuf,
        /// The GPU's address.
        address: String,
    },
    /// hwloc answered that it cannot load the file.
    #[error("hwloc {hwloc} refuses {}: it is damaged or contradicts itself; write it again with `lstopo \
        FILE.xml`", path.display())]
    Refused {
        /// The path as given.
        path: PathBuf,
        /// hwloc's version.
        hwloc: String,
    },
    /// Reading the file killed the process that did it.
    #[error("{} is damaged: reading it with hwloc {hwloc} ended in {how} (in a process of its own); write it \
        again with `lstopo FILE.xml`", path.display())]
    Crashed {
        /// The path as given.
        path: PathBuf,
        /// hwloc's version.
        hwloc: String,
        /// How that process ended.
        how: String,
    },
    /// The process that reads a file could not be run.
    #[error("no process of its own could read {}: {source}; the limit on processes (ulimit -u) may be \
        reached, or memory be short", path.display())]
    NoChild {
        /// The path as given.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A PU or NUMA node with a number above any machine's, for each of which hwloc would keep bits.
    #[error(
        "{} has a PU or NUMA node {index}, and {MAX_ID} is the largest id that numabench accepts: the file \
         is damaged; write it again with `lstopo FILE.xml`", path.display()
    )]
    WideIndex {
        /// The file.
        path: PathBuf,
        /// The number.
        index: u32,
    },
    /// hwloc loaded it, but the parts contradict each other.
    #[error(
        "the topology contradicts itself: {what}; if it was read from a file, write that again with `lstopo \
         FILE.xml`"
    )]
    Inconsistent {
        /// Which parts.
        what: String,
    },
    /// hwloc was told by the environment to read something else than this machine.
    #[error(
        "hwloc did not read this machine because {variables} set; unset that, or give the file with --input"
    )]
    NotThisSystem {
        /// The variables, with the verb (`HWLOC_XMLFILE is`).
        variables: String,
    },
    /// hwloc failed on this machine.
    #[error(
        "hwloc {hwloc} cannot read this machine: {step} failed ({reason}); does `lstopo-no-graphics` work \
         here?"
    )]
    Hwloc {
        /// hwloc's version.
        hwloc: String,
        /// The step.
        step: &'static str,
        /// hwloc's reason.
        reason: String,
    },
}
