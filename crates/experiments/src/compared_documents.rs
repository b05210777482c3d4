//! The two sides of a comparison, from the files and folders of each.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use analysis::any_document::{AnyDocument, DocumentKind};
use analysis::gate::Checked;
use analysis::model_answer::texts;
use analysis::node_run::NodeRun;
use analysis::read_document::ReadDocument;
use analysis::run::Run;
use analysis::witness;
use analysis::witness_launch::{WitnessLaunch, launches};
use report::block::BlockTime;
use report::{SavedDocument, WitnessDocument};

use crate::documents::{Documents, OneKind, refused};
use crate::fault::Fault;

/// A document as comparisons take it.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Its figures.
    pub run: Run,
    /// What it says of its nodes.
    pub nodes: Vec<NodeRun>,
    /// How its figures stand against reference figures, in sentences.
    pub reference: Vec<String>,
    /// The kind of its document: what `check --bandwidth` wrote counts as a result.
    pub kind: DocumentKind,
}

/// A document as it was read for a comparison.
enum ReadRun {
    /// One that is a run by itself.
    Run(Box<ComparedRun>),
    /// A program's copies, with the file's name: the ranks of a launch are a run together.
    Copies(String, Box<WitnessDocument>),
}

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ComparedSide {
    /// Its runs.
    pub runs: Vec<Run>,
    /// What they say of their nodes.
    pub nodes: Vec<NodeRun>,
    /// How their figures stand against reference figures, in sentences.
    pub reference: Vec<String>,
    /// The kinds of their documents.
    kinds: BTreeSet<DocumentKind>,
}

impl ComparedSide {
    fn of(runs: Vec<ComparedRun>) -> Self {
        let mut side = Self::default();
        for ComparedRun { run, nodes, reference, kind } in runs {
            side.kinds.insert(kind);
            side.runs.push(run);
            side.nodes.extend(nodes);
            side.reference.extend(reference);
        }
        side
    }
}

impl Documents<'_> {
    /// Each run: documents with figures, what `check --bandwidth --json` wrote, and of a launch under
    /// `witness` the documents of all its ranks together.
    ///
    /// # Errors
    /// As [`Self::each_result`]; documents of `witness` beside others.
    pub fn each_run(self) -> Result<Vec<ComparedRun>, Fault> {
        let read = |bytes: &[u8]| ReadDocument::<BlockTime>::from_json(bytes, &[Checked::SCHEMA]);
        let taken = self.each(read, |name, document| {
            let kind = match document {
                ReadDocument::WithFigures(AnyDocument::Witness(copies)) => {
                    return Ok(ReadRun::Copies(name.to_owned(), copies));
                }
                ReadDocument::WithFigures(ref document) => document.kind(),
                _ => DocumentKind::Result,
            };
            let (run, reference) = (document.run(name)?, texts(document.reference_answers()));
            Ok(ReadRun::Run(Box::new(ComparedRun { run, reference, nodes: document.node_runs(), kind })))
        })?;

        let (mut runs, mut copies) = (Vec::new(), Vec::new());
        for one in taken {
            match one {
                ReadRun::Run(run) => runs.push(*run),
                ReadRun::Copies(name, document) => copies.push((name, *document)),
            }
        }
        let others: Vec<String> = runs.iter().map(|run| run.run.name.clone()).collect();
        match self.of_one_kind(&others, &copies)? {
            OneKind::Measured => copies.clear(),
            OneKind::Copied => runs.clear(),
        }
        runs.extend(self.runs_of_launches(launches(copies))?);
        Ok(runs)
    }

    /// The launches as runs; one without a counted copy is left out and said.
    fn runs_of_launches(self, launches: Vec<WitnessLaunch>) -> Result<Vec<ComparedRun>, Fault> {
        let (mut runs, mut unusable) = (Vec::new(), Vec::new());
        for launch in launches {
            match witness::run(&launch) {
                Ok(run) => runs.push(ComparedRun {
                    run,
                    nodes: Vec::new(),
                    reference: Vec::new(),
                    kind: DocumentKind::Witness,
                }),
                Err(error) => unusable.push((launch.name, error)),
            }
        }

        if let (true, Some((name, error))) = (runs.is_empty(), unusable.first()) {
            return Err(refused(Path::new(name), error));
        }
        unusable.iter().for_each(|(name, error)| self.leave_out(Path::new(name), error));
        Ok(runs)
    }

    /// Both sides of a comparison, at once where a thread can be had: reading is most of the work where
    /// documents are large.
    ///
    /// # Errors
    /// As [`Self::each_result`].
    pub fn sides(base: Self, new: Self) -> Result<[ComparedSide; 2], Fault> {
        let side = |documents: Self| documents.each_run().map(ComparedSide::of);
        let read: Result<[ComparedSide; 2], Fault> =
            thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, || side(new)) {
                Ok(reading) => {
                    let base = side(base);
                    let new = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    Ok([base?, new?])
                }
                Err(_) => Ok([side(base)?, side(new)?]),
            });
        let [base, new] = read?;
        refuse_mixed(base.kinds.union(&new.kinds).copied())?;
        Ok([base, new])
    }
}

/// Refuses sides of which one is of what a program copied and the other is not.
fn refuse_mixed(kinds: impl Iterator<Item = DocumentKind>) -> Result<(), Fault> {
    let kinds: BTreeSet<DocumentKind> = kinds.collect();
    if kinds.len() < 2 || !kinds.contains(&DocumentKind::Witness) {
        return Ok(());
    }
    let names: Vec<&str> = kinds.into_iter().map(DocumentKind::name).collect();
    Err(Fault::usage(format!(
        "these documents are of kinds {}, which have no figure in common: give documents of one kind",
        names.join(" and ")
    )))
}
