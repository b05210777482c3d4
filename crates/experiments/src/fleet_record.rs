//! What each node of a fleet leaves for the first one to read: who it is, and how it ended. A small text file
//! a node in a hidden folder beside the documents, since nodes share nothing but the folder.
//!
//! Records of an earlier launch are no answer: the folder has the launch's own name where the launcher has
//! one, and a record older than the launch is passed over. They are removed when all have ended. A record
//! names the document that its task wrote by an id, so that a document of an earlier launch, or of another
//! node, is never taken for it; and each host name is one task's.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Clocks of nodes, and of the file server, may differ by so much.
const CLOCKS: Duration = Duration::from_secs(120);

/// Variables by which launchers name a launch, those of a step before those of a job.
const NAMES: [&[&str]; 5] = [
    &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    &["PMIX_NAMESPACE"],
    &["PALS_APID"],
    &["FLUX_JOB_ID"],
    &["PMI_JOBID"],
];

/// The records of a launch.
pub struct NodeRecords {
    folder: PathBuf,
    began: SystemTime,
}

/// How far a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProgress {
    /// It has begun.
    Begun,
    /// It has ended with this code, wrote the document of this id, if it wrote one, and said this.
    Ended { code: u8, document: Option<DocumentId>, message: String },
}

/// What tells a document from every other one: a hash of its bytes, which hold when it was begun and all that
/// was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentId(u64);

impl DocumentId {
    /// The id of the document in this file, where there is one.
    pub fn of(file: &Path) -> Option<Self> {
        fs::read(file).ok().filter(|bytes| !bytes.is_empty()).map(|bytes| Self::of_bytes(&bytes))
    }

    /// The id of the document of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        // FNV-1a: the same on every node.
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, add))
    }
}

/// A node's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// The node.
    pub host: String,
    /// How far it is.
    pub state: NodeProgress,
}

impl NodeRecords {
    /// The records of this launch among the documents of `folder`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn of(folder: &Path, variable: impl Fn(&str) -> Option<String>) -> io::Result<Self> {
        let named = NAMES
            .iter()
            .find_map(|names| names.iter().map(|name| variable(name)).collect::<Option<Vec<_>>>());
        let plain =
            |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect::<String>();
        let name = named.map_or_else(|| "launch".to_owned(), |parts| plain(&parts.join(".")));
        let folder = folder.join(format!(".numabench-{name}"));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, began: SystemTime::now() })
    }

    fn path(&self, rank: usize) -> PathBuf {
        self.folder.join(rank.to_string())
    }

    /// Takes a host name for a rank; the rank that has it already, where there is another.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn take_name(&self, rank: usize, host: &str) -> io::Result<Option<usize>> {
        let path = self.folder.join(format!("{host}.name"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(rank.to_string().as_bytes())?;
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }

        if self.is_of_earlier_launch(&path) {
            fs::write(&path, rank.to_string())?;
            return Ok(None);
        }

        // Its writer may be between making the file and writing its rank.
        let other = fs::read_to_string(&path)?.trim().parse().unwrap_or(usize::MAX);
        Ok(Some(other).filter(|other| *other != rank))
    }

    fn is_of_earlier_launch(&self, path: &Path) -> bool {
        let written = fs::metadata(path).and_then(|meta| meta.modified());
        written.is_ok_and(|written| written + CLOCKS < self.began)
    }

    /// Writes the record of a rank, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, rank: usize, record: &NodeRecord) -> io::Result<()> {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        let state = match &record.state {
            NodeProgress::Begun => "begun\n".to_owned(),
            NodeProgress::Ended { code, document, message } => {
                let document =
                    document.map_or_else(|| "none".to_owned(), |DocumentId(id)| format!("{id:016x}"));
                format!("ended {code} {document}\n{}\n", line(message))
            }
        };
        let draft = self.folder.join(format!("{rank}.draft"));
        fs::write(&draft, format!("{}\n{state}", line(&record.host)))?;
        fs::rename(draft, self.path(rank))
    }

    /// The record of a rank of this launch, where there is one.
    pub fn read(&self, rank: usize) -> Option<NodeRecord> {
        let path = self.path(rank);
        if self.is_of_earlier_launch(&path) {
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let (host, state) = (lines.next()?.to_owned(), lines.next()?);
        let state = match state.strip_prefix("ended ") {
            Some(ended) => {
                let (code, document) = ended.split_once(' ')?;
                NodeProgress::Ended {
                    code: code.parse().ok()?,
                    document: u64::from_str_radix(document, 16).ok().map(DocumentId),
                    message: lines.next().unwrap_or_default().to_owned(),
                }
            }
            None => NodeProgress::Begun,
        };

        Some(NodeRecord { host, state })
    }

    /// Removes them all; a node that comes later writes its own again.
    pub fn remove(&self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_one_of_an_earlier_launch_is_none() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let slurm = |name: &str| match name {
            "SLURM_JOB_ID" => Some("17".to_owned()),
            "SLURM_STEP_ID" => Some("3".to_owned()),
            _ => None,
        };
        let mut records = NodeRecords::of(folder.path(), slurm)?;
        assert!(folder.path().join(".numabench-17.3").is_dir());
        assert_eq!(records.read(0), None);
        let begun = NodeRecord { host: "nid1".into(), state: NodeProgress::Begun };
        records.write(0, &begun)?;
        assert_eq!(records.read(0), Some(begun));
        let ended = NodeProgress::Ended { code: 77, document: None, message: "no GPU, in two lines".into() };
        records.write(
            0,
            &NodeRecord {
                host: "nid1".into(),
                state: NodeProgress::Ended {
                    code: 77,
                    document: None,
                    message: "no GPU,\nin two lines".into(),
                },
            },
        )?;

        assert_eq!(records.read(0).map(|record| record.state), Some(ended));
        let file = folder.path().join("nid1.json");
        fs::write(&file, "{}")?;
        let document = DocumentId::of(&file);
        let ended = NodeProgress::Ended { code: 0, document, message: String::new() };
        records.write(0, &NodeRecord { host: "nid1".into(), state: ended.clone() })?;
        assert!(document.is_some() && records.read(0).map(|record| record.state) == Some(ended));
        fs::write(&file, "{ }")?;
        assert_ne!(DocumentId::of(&file), document);
        assert_eq!((records.take_name(0, "nid1")?, records.take_name(1, "nid1")?), (None, Some(0)));
        assert_eq!((records.take_name(0, "nid1")?, records.take_name(1, "nid2")?), (None, None));
        records.began += CLOCKS + Duration::from_secs(60);
        assert_eq!(records.read(0), None, "of an earlier launch");
        assert_eq!(records.take_name(2, "nid1")?, None, "taken by an earlier launch");
        records.remove();
        assert!(!folder.path().join(".numabench-17.3").exists());
        Ok(())
    }
}
