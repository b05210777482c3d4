//! Documents with figures from files and folders, for the commands that read what others wrote.
//!
//! A folder stands for the documents in it, in the order of their names; what cannot be used (a comparison, a run still under way, a damaged file) is left
//! out and said, so that one file does not stop a folder of a year. A file that was named must be a document that can be used. Each is taken apart
//! before the next is read: a folder of large ones fits the memory of one.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::checked;
use analysis::gate::{self, Checked};
use analysis::kept::Kept;
use analysis::node_run::{self, NodeRun};
use analysis::run::Run;
use anyhow::{Context, anyhow};
use report::block::{BlockTime, NoBlock};
use report::place::PlaceDocument;
use report::read::{OfBlock, ReadError};
use report::{DoctorDocument, Document, doctor, schema_of};

use crate::fault::Fault;
use crate::terminal;

/// Reads each document of these files and folders, keeps of its blocks what `B` is, and of it what `take` makes of it. What `take` has against one is
/// said with the file's name.
pub fn each<B: OfBlock, T>(
    paths: &[PathBuf],
    take: impl FnMut(&str, Kept<B>) -> Result<T, anyhow::Error>,
) -> Result<Vec<T>, Fault> {
    each_as(paths, Kept::from_json, take)
}

/// Each document of these files and folders as a run to compare, with what it says of its nodes: documents with figures, and what `check --bandwidth --json`
/// wrote.
pub fn each_run(paths: &[PathBuf]) -> Result<Vec<(Run, Vec<NodeRun>)>, Fault> {
    enum Comparable {
        Kept(Kept<BlockTime>),
        Checked(Box<Checked>),
    }
    let read = |bytes: &[u8]| match schema_of(bytes).as_deref() {
        Some(gate::SCHEMA) => Checked::from_json(bytes).map(|checked| Comparable::Checked(Box::new(checked))),
        _ => Kept::from_json(bytes).map(Comparable::Kept),
    };
    each_as(paths, read, |name, document| {
        Ok(match document {
            Comparable::Checked(checked) => (checked::run(name, &checked)?, node_run::of_check(&checked)),
            Comparable::Kept(kept) => {
                let nodes =
                    if let Kept::Result(document) = &kept { node_run::of_document(document) } else { Vec::new() };
                (kept.run(name)?, nodes)
            }
        })
    })
}

/// What a report shows of a document.
pub enum Shown {
    /// The document itself.
    Kept(Kept),
    /// What a check or `doctor` says of nodes.
    Nodes(Vec<NodeRun>),
    /// Places of ranks.
    Place(Box<PlaceDocument>),
}

/// Each document of these files and folders for a report, with its name: documents with figures, and what `check --bandwidth --json` and `doctor --json` wrote.
pub fn each_shown(paths: &[PathBuf]) -> Result<Vec<(String, Shown)>, Fault> {
    let read = |bytes: &[u8]| match schema_of(bytes).as_deref() {
        Some(gate::SCHEMA) => Checked::from_json(bytes).map(|checked| Shown::Nodes(node_run::of_check(&checked))),
        Some(doctor::SCHEMA) => {
            DoctorDocument::from_json(bytes).map(|doctor| Shown::Nodes(vec![node_run::of_doctor(doctor)]))
        }
        Some(report::place::SCHEMA) => PlaceDocument::from_json(bytes).map(|document| Shown::Place(Box::new(document))),
        _ => Kept::from_json(bytes).map(Shown::Kept),
    };
    each_as(paths, read, |name, document| Ok((name.to_owned(), document)))
}

/// Reads each document of these files and folders by `read`, and keeps of it what `take` makes of it.
fn each_as<D, T>(
    paths: &[PathBuf],
    read: impl Fn(&[u8]) -> Result<D, ReadError>,
    mut take: impl FnMut(&str, D) -> Result<T, anyhow::Error>,
) -> Result<Vec<T>, Fault> {
    let mut taken = Vec::new();
    for path in paths {
        if !path.is_dir() {
            let name = path.display().to_string();
            let refused = |error: anyhow::Error| Fault::usage(anyhow!("{name}: {error}"));
            let document = read(&bytes(path)?).map_err(|error| refused(error.into()))?;
            taken.push(take(&name, document).map_err(refused)?);
            continue;
        }
        let (before, mut left_out) = (taken.len(), 0);
        for file in in_folder(path)? {
            let name = file.display().to_string();
            match in_a_folder(&file, &read).and_then(|document| take(&name, document)) {
                Ok(one) => taken.push(one),
                Err(error) => {
                    terminal::say(&format!("note: {name} is left out: {error}"));
                    left_out += 1;
                }
            }
        }
        if taken.len() == before {
            let what = if left_out == 0 { "holds no result document" } else { "holds no document that can be used" };
            let text =
                format!("{} {what}: give a folder of files that `numabench pingpong --json` wrote", path.display());
            return Err(Fault::usage(anyhow!(text)));
        }
    }
    Ok(taken)
}

/// Reads a document that nobody named: what is no document is foreign there, and no mistake.
fn in_a_folder<D>(file: &Path, read: impl Fn(&[u8]) -> Result<D, ReadError>) -> Result<D, anyhow::Error> {
    match read(&topo::read_input(file, MOST_BYTES)?) {
        Err(ReadError::NotADocument { .. }) => Err(anyhow!("it is not a result document")),
        read => Ok(read?),
    }
}

/// What each document of these files and folders says of its nodes: result documents, and what `check --bandwidth --json` and `doctor --json` wrote.
pub fn node_runs(paths: &[PathBuf]) -> Result<Vec<NodeRun>, Fault> {
    let mut runs = Vec::new();
    for path in paths {
        if !path.is_dir() {
            runs.extend(node_runs_of(path).map_err(|error| Fault::usage(anyhow!("{}: {error}", path.display())))?);
            continue;
        }
        for file in in_folder(path)? {
            match node_runs_of(&file) {
                Ok(found) => runs.extend(found),
                Err(error) => terminal::say(&format!("note: {} is left out: {error}", file.display())),
            }
        }
    }
    if runs.is_empty() {
        let text = "no document of a node: give a folder of files that a measurement's, `check --bandwidth`'s or `doctor`'s --json wrote";
        return Err(Fault::usage(anyhow!(text)));
    }
    Ok(runs)
}

/// The same of one file. Of its blocks nothing is kept.
pub fn node_runs_of(file: &Path) -> Result<Vec<NodeRun>, anyhow::Error> {
    let bytes = topo::read_input(file, MOST_BYTES)?;
    if schema_of(&bytes).as_deref() == Some(gate::SCHEMA) {
        return Ok(node_run::of_check(&Checked::from_json(&bytes)?));
    }
    if schema_of(&bytes).as_deref() == Some(doctor::SCHEMA) {
        return Ok(vec![node_run::of_doctor(DoctorDocument::from_json(&bytes)?)]);
    }
    match Kept::<NoBlock>::from_json(&bytes)? {
        Kept::Result(document) => Ok(node_run::of_document(&document)),
        other => Err(anyhow!("a document of kind {} says nothing of a node", other.kind().name())),
    }
}

/// The same of result documents alone.
pub fn each_result<B: OfBlock, T>(
    paths: &[PathBuf],
    mut take: impl FnMut(&str, Document<B>) -> Result<T, anyhow::Error>,
) -> Result<Vec<T>, Fault> {
    each(paths, |name, kept| match kept {
        Kept::Result(document) => take(name, *document),
        other => {
            let kind = other.kind().name();
            Err(anyhow!("it is a document of kind {kind}: give documents that `numabench pingpong --json` wrote"))
        }
    })
}

/// Longer than any document: a thousand ranks with a hundred blocks of twenty cases are 665 MiB.
const MOST_BYTES: u64 = 8 << 30;

/// The bytes of a file that is named as a document, whatever it is: a pipe and an endless device are refused, `-` is standard input.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    let read = topo::read_input(path, MOST_BYTES);
    read.with_context(|| format!("cannot read {}", path.display())).map_err(Fault::usage)
}

/// Reads one result document.
pub fn read(path: &Path) -> Result<Document, Fault> {
    match read_kept(path)? {
        Kept::Result(document) => Ok(*document),
        other => {
            let kind = other.kind().name();
            Err(Fault::usage(anyhow!("{} is a document of kind {kind}, not a result", path.display())))
        }
    }
}

/// Reads one document of any kind.
pub fn read_kept<B: OfBlock>(path: &Path) -> Result<Kept<B>, Fault> {
    Kept::from_json(&bytes(path)?).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: ReadError) -> Fault {
    Fault::usage(anyhow!("{}: {error}", path.display()))
}

/// The files of a folder whose names end in `.json`, in the order of their names.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        let paths: std::io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        Ok(paths)
    };
    list().with_context(|| format!("cannot read the folder {}", folder.display())).map_err(Fault::usage)
}
