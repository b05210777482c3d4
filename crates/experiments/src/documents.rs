//! Documents that others wrote, from files and folders, for the commands that read them.
//!
//! A folder stands for the documents in it, in the order of their names; what cannot be used (a comparison, a
//! run still under way, a damaged file, a folder, a compressed file) is left out and said, so that one file
//! does not stop a folder of a year. A file that was named must be a document that can be used. One document
//! under two names (a copy, a link, a folder beside its file) counts once. Each is taken apart before the
//! next is read: a folder of large ones fits the memory of one.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::any_document::{AnyDocument, DocumentKind};
use analysis::gate::Checked;
use analysis::node_run::NodeRun;
use analysis::read_document::ReadDocument;
use analysis::witness_launch::{WitnessLaunch, launches};
use report::block::BlockTime;
use report::read::{OfBlock, ReadError};
use report::timestamp::rfc3339_utc;
use report::{DoctorDocument, Document, PlaceDocument, SavedDocument, WitnessDocument};

use crate::fault::Fault;
use crate::fleet_record::DocumentId;

/// Why a document that can be read cannot be used.
pub type Unusable = Box<dyn Error + Send + Sync>;

/// Longer than any document: a thousand ranks with a hundred blocks of twenty cases are 665 MiB.
const MOST_BYTES: u64 = 8 << 30;

/// The bytes of a file that is named as a document, whatever it is: a pipe and an endless device are refused,
/// `-` is standard input.
///
/// # Errors
/// It cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    topo::read_input(path, MOST_BYTES)
        .map_err(|error| Fault::usage(format!("cannot read {}: {error}", path.display())))
}

/// When the run was that wrote these files, and who says so: what a user was told, else the time of the first
/// file.
pub fn began(told: Option<&str>, files: &[PathBuf]) -> (String, String) {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let first = files.first().filter(|path| *path != Path::new("-"));
    match (told, first.and_then(|path| Some((path, changed(path)?)))) {
        (Some(told), _) => (told.to_owned(), "--started-at".to_owned()),
        (None, Some((path, changed))) => (rfc3339_utc(changed), format!("the time of {}", path.display())),
        (None, None) => (rfc3339_utc(SystemTime::now()), "the time of the import".to_owned()),
    }
}

/// Reads one result document.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read(path: &Path) -> Result<Document, Fault> {
    match read_kept(path)? {
        AnyDocument::Result(document) => Ok(*document),
        other => {
            let kind = other.kind().name();
            Err(Fault::usage(format!("{} is a document of kind {kind}, not a result", path.display())))
        }
    }
}

/// Reads one document with figures, of any kind.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read_kept<B: OfBlock>(path: &Path) -> Result<AnyDocument<B>, Fault> {
    AnyDocument::from_json(&bytes(path)?).map_err(|error| refused(path, &error))
}

/// Which of the documents count.
pub(crate) enum OneKind {
    /// Those with figures that were measured, and what was found of nodes.
    Measured,
    /// Those of what a program copied.
    Copied,
}

/// What `report` shows in a terminal.
#[derive(Clone, Debug)]
pub enum TerminalReport {
    /// What documents say of their nodes.
    Nodes(Vec<NodeRun>),
    /// The runs of programs whose copies `witness` looked at.
    Programs(Vec<WitnessLaunch>),
}

/// What a compressed file's name ends in.
const COMPRESSED: [&str; 5] = ["gz", "xz", "zst", "bz2", "zip"];

/// The files that were taken, by their documents.
type TakenFiles = BTreeMap<DocumentId, PathBuf>;

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Documents of these files and folders; what is left out of a folder is said.
#[derive(Clone, Copy)]
pub struct Documents<'p> {
    /// The files and folders.
    pub paths: &'p [PathBuf],
    /// Says what is left out.
    pub say: fn(&str),
}

impl Documents<'_> {
    /// Each result document, of whose blocks `B` is kept, as what `take` makes of it. What `take` has against
    /// one is said with the file's name.
    ///
    /// # Errors
    /// A file that was named cannot be used, or nothing of a folder can.
    pub fn each_result<B: OfBlock, T>(
        self,
        mut take: impl FnMut(Document<B>) -> Result<T, Unusable>,
    ) -> Result<Vec<T>, Fault> {
        self.each(AnyDocument::from_json, |_, kept| match kept {
            AnyDocument::Result(document) => take(*document),
            other => {
                let kind = other.kind().name();
                Err(format!(
                    "it is a document of kind {kind}: give documents that `numabench pingpong --json` wrote"
                )
                .into())
            }
        })
    }

    /// Which documents are taken where some are of what a program copied and others are not: those that were
    /// named; of folders the others. What is left out is said.
    pub(crate) fn of_one_kind(
        self,
        others: &[String],
        copies: &[(String, WitnessDocument)],
    ) -> Result<OneKind, Fault> {
        let is_named = |name: &&String| self.paths.iter().any(|path| path.display().to_string() == **name);
        let copies: Vec<&String> = copies.iter().map(|(name, _)| name).collect();
        let named = [others.iter().find(is_named), copies.iter().copied().find(is_named)];
        if let [Some(other), Some(copied)] = named {
            return Err(Fault::usage(format!(
                "{copied} says what a program copied, and {other} does not: they have no figure in common; \
                 give documents of one kind"
            )));
        }

        let takes_copies = others.is_empty() || named[1].is_some();
        let left_out: Vec<&String> = if takes_copies { others.iter().collect() } else { copies };
        for file in left_out {
            let why = "it has no figure in common with the other documents; give it by itself";
            (self.say)(&format!("note: {file} is left out: {why}"));
        }
        Ok(if takes_copies { OneKind::Copied } else { OneKind::Measured })
    }

    /// Each document that a report shows, with its name: documents with figures, and what `check
    /// --bandwidth`, `doctor` and `place` wrote.
    ///
    /// # Errors
    /// As [`Self::each_result`].
    pub fn each_shown(self) -> Result<Vec<(String, ReadDocument)>, Fault> {
        let read = |bytes: &[u8]| {
            ReadDocument::from_json(bytes, &[Checked::SCHEMA, DoctorDocument::SCHEMA, PlaceDocument::SCHEMA])
        };
        self.each(read, |name, document| Ok((name.to_owned(), document)))
    }

    /// What a terminal shows: what each document says of its nodes (result documents, and what `check
    /// --bandwidth --json` and `doctor --json` wrote), or the runs of programs under `witness`.
    ///
    /// # Errors
    /// A file that was named cannot be used, no document says anything of a node or a program's copies, or
    /// there are documents of both.
    pub fn terminal_report(self) -> Result<TerminalReport, Fault> {
        let (mut runs, mut others, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = TakenFiles::default();
        let mut add = |file: &Path| -> Result<(), Unusable> {
            let bytes = topo::read_input(file, MOST_BYTES)?;
            if self.is_twin(&known, file, &bytes) {
                return Ok(());
            }
            match of_terminal(&bytes)? {
                ReadDocument::WithFigures(AnyDocument::Witness(document)) => {
                    copies.push((file.display().to_string(), *document));
                }
                document => {
                    runs.extend(of_nodes(document)?);
                    others.push(file.display().to_string());
                }
            }
            known.insert(DocumentId::of_bytes(&bytes), file.to_path_buf());
            Ok(())
        };
        for path in self.paths {
            if !path.is_dir() {
                add(path).map_err(|error| refused(path, &*error))?;
                continue;
            }
            for file in self.in_folder(path)? {
                add(&file).unwrap_or_else(|error| self.leave_out(&file, &*error));
            }
        }

        if runs.is_empty() && copies.is_empty() {
            return Err(Fault::usage(
                "no document of a node or of a program's copies: give a folder of files that a \
                 measurement's, `check --bandwidth`'s, `doctor`'s or `witness`'s --json wrote",
            ));
        }
        Ok(match self.of_one_kind(&others, &copies)? {
            OneKind::Measured => TerminalReport::Nodes(runs),
            OneKind::Copied => TerminalReport::Programs(launches(copies)),
        })
    }

    /// Reads each document by `read`, and keeps of it what `take` makes of it.
    pub(crate) fn each<D, T>(
        self,
        read: impl Fn(&[u8]) -> Result<D, ReadError>,
        mut take: impl FnMut(&str, D) -> Result<T, Unusable>,
    ) -> Result<Vec<T>, Fault> {
        let (mut taken, mut known) = (Vec::new(), TakenFiles::default());
        for path in self.paths {
            if !path.is_dir() {
                let bytes = bytes(path)?;
                if self.is_twin(&known, path, &bytes) {
                    continue;
                }
                let document = read(&bytes).map_err(|error| refused(path, &error))?;
                taken.push(
                    take(&path.display().to_string(), document).map_err(|error| refused(path, &*error))?,
                );
                known.insert(DocumentId::of_bytes(&bytes), path.to_path_buf());
                continue;
            }

            let (mut usable, files) = (0, self.in_folder(path)?);
            for file in &files {
                match self.in_a_folder(file, &mut known, &read, &mut take) {
                    Ok(one) => {
                        usable += 1;
                        taken.extend(one);
                    }
                    Err(error) => self.leave_out(file, &*error),
                }
            }
            if usable == 0 {
                let what = if files.is_empty() {
                    "holds no result document"
                } else {
                    "holds no document that can be used"
                };
                let way_out = "give a folder of files that `numabench pingpong --json` wrote";
                return Err(Fault::usage(format!("{} {what}: {way_out}", path.display())));
            }
        }

        Ok(taken)
    }

    /// What `take` makes of a document that nobody named, where what is no document is foreign and no
    /// mistake; `None` of one that was taken under another name.
    fn in_a_folder<D, T>(
        self,
        file: &Path,
        known: &mut TakenFiles,
        read: &impl Fn(&[u8]) -> Result<D, ReadError>,
        take: &mut impl FnMut(&str, D) -> Result<T, Unusable>,
    ) -> Result<Option<T>, Unusable> {
        let bytes = topo::read_input(file, MOST_BYTES)?;
        if self.is_twin(known, file, &bytes) {
            return Ok(None);
        }
        let document = match read(&bytes) {
            Err(ReadError::NotADocument { .. }) => return Err("it is not a result document".into()),
            read => read?,
        };
        let one = take(&file.display().to_string(), document)?;
        known.insert(DocumentId::of_bytes(&bytes), file.to_path_buf());
        Ok(Some(one))
    }

    /// Whether the same document was taken from another file, which is said: one run counts once.
    fn is_twin(self, known: &TakenFiles, file: &Path, bytes: &[u8]) -> bool {
        let twin = known.get(&DocumentId::of_bytes(bytes));
        if let Some(twin) = twin {
            let why = format!("it is the same document as {}, which counts once", twin.display());
            (self.say)(&format!("note: {} is left out: {why}", file.display()));
        }
        twin.is_some()
    }

    /// The files of a folder whose names end in `.json`, in the order of their names. Folders and compressed
    /// documents in it are said to be left out.
    fn in_folder(self, folder: &Path) -> Result<Vec<PathBuf>, Fault> {
        let list =
            || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
        let mut paths = list()
            .map_err(|error| Fault::usage(format!("cannot read the folder {}: {error}", folder.display())))?;
        paths.sort();

        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.into_iter().partition(|path| path.is_dir());
        let (compressed, files): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|file| {
            COMPRESSED.iter().any(|end| file.to_string_lossy().ends_with(&format!(".json.{end}")))
        });
        let folders: Vec<PathBuf> = folders.into_iter().filter(|path| !is_hidden(path)).collect();
        for (which, what, way_out) in [
            (folders, "folder", "give what is to count too"),
            (compressed, "compressed document", "unpack what is to count"),
        ] {
            let Some(first) = which.first() else { continue };
            let more = match which.len() {
                1 => format!("it is a {what}: {way_out}"),
                several => format!("it and {} more are {what}s: {way_out}", several - 1),
            };
            (self.say)(&format!("note: {} is left out: {more}", first.display()));
        }
        Ok(files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")).collect())
    }

    pub(crate) fn leave_out(self, file: &Path, why: &dyn Error) {
        (self.say)(&format!("note: {} is left out: {why}", file.display()));
    }
}

/// What a document says of its nodes. Of its blocks only the times are kept.
///
/// # Errors
/// It cannot be read, or says nothing of a node.
pub fn node_runs_of(file: &Path) -> Result<Vec<NodeRun>, Unusable> {
    of_nodes(of_terminal(&topo::read_input(file, MOST_BYTES)?)?)
}

fn of_terminal(bytes: &[u8]) -> Result<ReadDocument<BlockTime>, ReadError> {
    ReadDocument::from_json(bytes, &[Checked::SCHEMA, DoctorDocument::SCHEMA])
}

fn of_nodes(document: ReadDocument<BlockTime>) -> Result<Vec<NodeRun>, Unusable> {
    match document {
        ReadDocument::WithFigures(kept) if kept.kind() != DocumentKind::Result => {
            let kind = kept.kind().name();
            Err(format!("a document of kind {kind} says nothing of a node: -o FILE writes it as a page")
                .into())
        }
        document => Ok(document.node_runs()),
    }
}

pub(crate) fn refused(path: &Path, error: &dyn Error) -> Fault {
    Fault::usage(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
