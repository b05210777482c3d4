//! What each node of a fleet leaves for the first one to read: who it is, and how it ended. A small text file a node in a hidden folder beside
//! the documents, since nodes share nothing but the folder.
//!
//! Records of an earlier launch are no answer: the folder has the launch's own name where the launcher has one, and a record older than the launch is
//! passed over. They are removed when all have ended.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Clocks of nodes, and of the file server, may differ by so much.
const CLOCKS: Duration = Duration::from_secs(120);

/// Variables by which launchers name a launch, those of a step before those of a job.
const NAMES: [&[&str]; 5] =
    [&["SLURM_JOB_ID", "SLURM_STEP_ID"], &["PMIX_NAMESPACE"], &["PALS_APID"], &["FLUX_JOB_ID"], &["PMI_JOBID"]];

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
    /// It has ended with this code, and said this.
    Ended { code: u8, message: String },
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
        let named = NAMES.iter().find_map(|names| names.iter().map(|name| variable(name)).collect::<Option<Vec<_>>>());
        let plain = |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect::<String>();
        let name = named.map_or_else(|| "launch".to_owned(), |parts| plain(&parts.join(".")));
        let folder = folder.join(format!(".numabench-{name}"));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, began: SystemTime::now() })
    }

    fn path(&self, rank: usize) -> PathBuf {
        self.folder.join(rank.to_string())
    }

    /// Writes the record of a rank, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, rank: usize, record: &NodeRecord) -> io::Result<()> {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        let state = match &record.state {
            NodeProgress::Begun => "begun\n".to_owned(),
            NodeProgress::Ended { code, message } => format!("ended {code}\n{}\n", line(message)),
        };
        let draft = self.folder.join(format!("{rank}.draft"));
        fs::write(&draft, format!("{}\n{state}", line(&record.host)))?;
        fs::rename(draft, self.path(rank))
    }

    /// The record of a rank of this launch, where there is one.
    pub fn read(&self, rank: usize) -> Option<NodeRecord> {
        let path = self.path(rank);
        let written = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        if written + CLOCKS < self.began {
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let (host, state) = (lines.next()?.to_owned(), lines.next()?);
        let state = match state.strip_prefix("ended ") {
            Some(code) => {
                NodeProgress::Ended { code: code.parse().ok()?, message: lines.next().unwrap_or_default().to_owned() }
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
        let ended = NodeProgress::Ended { code: 77, message: "no GPU, in two lines".into() };
        records.write(
            0,
            &NodeRecord {
                host: "nid1".into(),
                state: NodeProgress::Ended { code: 77, message: "no GPU,\nin two lines".into() },
            },
        )?;
        assert_eq!(records.read(0).map(|record| record.state), Some(ended));
        records.began += CLOCKS + Duration::from_secs(60);
        assert_eq!(records.read(0), None, "of an earlier launch");
        records.remove();
        assert!(!folder.path().join(".numabench-17.3").exists());
        Ok(())
    }
}
