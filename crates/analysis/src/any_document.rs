//! A document of any kind that holds figures: one way to read it, and to compare it, whichever it is.

use report::block::BlockTime;
use report::read::{OfBlock, ReadError};
use report::result::BlockSample;
use report::{
    Document, ImportedDocument, MpiDocument, SavedDocument, TrialDocument, WitnessDocument, schema_of,
};

use crate::incomplete::Incomplete;
use crate::run::{NoRun, Run};
use crate::slower_twins::completed;
use crate::witness_launch::WitnessLaunch;
use crate::{imported, mpi, trial, witness};

/// A document with figures; `B` is what is kept of a result's blocks.
#[derive(Clone, Debug)]
pub enum AnyDocument<B = BlockSample> {
    /// What pingpong and its like measured.
    Result(Box<Document<B>>),
    /// What trial found.
    Trial(Box<TrialDocument>),
    /// What mpi found.
    Mpi(Box<MpiDocument>),
    /// What another program measured.
    Imported(Box<ImportedDocument>),
    /// Which copies a program made.
    Witness(Box<WitnessDocument>),
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// `numabench.result`.
    Result,
    /// `numabench.trial`.
    Trial,
    /// `numabench.mpi`.
    Mpi,
    /// `numabench.imported`.
    Imported,
    /// `numabench.witness`.
    Witness,
}

impl DocumentKind {
    /// What a document of it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Trial => "trial",
            Self::Mpi => "MPI",
            Self::Imported => "imported",
            Self::Witness => "witness",
        }
    }
}

impl<B: OfBlock> AnyDocument<B> {
    /// Reads a document, whichever it is.
    ///
    /// # Errors
    /// [`ReadError`]; what is of no kind is told as what is no result document.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        match schema_of(bytes).as_deref() {
            Some(TrialDocument::SCHEMA) => {
                TrialDocument::from_json(bytes).map(|trial| Self::Trial(Box::new(trial)))
            }
            Some(MpiDocument::SCHEMA) => MpiDocument::from_json(bytes).map(|mpi| Self::Mpi(Box::new(mpi))),
            Some(ImportedDocument::SCHEMA) => {
                ImportedDocument::from_json(bytes).map(|imported| Self::Imported(Box::new(imported)))
            }
            Some(WitnessDocument::SCHEMA) => {
                WitnessDocument::from_json(bytes).map(|witness| Self::Witness(Box::new(witness)))
            }
            _ => B::document(bytes).map(|document| Self::Result(Box::new(completed(document)))),
        }
    }
}

impl<B> AnyDocument<B> {
    /// Its kind.
    pub fn kind(&self) -> DocumentKind {
        match self {
            Self::Result(_) => DocumentKind::Result,
            Self::Trial(_) => DocumentKind::Trial,
            Self::Mpi(_) => DocumentKind::Mpi,
            Self::Imported(_) => DocumentKind::Imported,
            Self::Witness(_) => DocumentKind::Witness,
        }
    }

    /// Whether the devices of its figures were simulated; a trial and another program's output do not say.
    pub fn is_simulated(&self) -> bool {
        match self {
            Self::Result(document) => document.platform.simulated.is_some(),
            Self::Mpi(document) => document.simulated.is_some(),
            Self::Witness(document) => document.simulated,
            Self::Trial(_) | Self::Imported(_) => false,
        }
    }

    /// How its run ended, where that is not complete.
    pub fn incomplete(&self) -> Option<Incomplete> {
        match self {
            Self::Result(document) => Incomplete::of_result(document),
            Self::Trial(document) => Incomplete::of_trial(document),
            Self::Mpi(document) => Incomplete::of_mpi(document),
            Self::Imported(document) => Incomplete::of_imported(document),
            Self::Witness(document) => Incomplete::of_witness(document),
        }
    }
}

impl<B> AnyDocument<B>
where
    for<'b> BlockTime: From<&'b B>,
{
    /// It as comparisons see it.
    ///
    /// # Errors
    /// [`NoRun`]: there is nothing in it to compare.
    pub fn run(&self, name: &str) -> Result<Run, NoRun> {
        match self {
            Self::Result(document) => Run::of(name, document),
            Self::Trial(document) => trial::run(name, document),
            Self::Mpi(document) => mpi::run(name, document),
            Self::Imported(document) => imported::run(name, document),
            Self::Witness(document) => {
                witness::run(&WitnessLaunch::of_one(name, WitnessDocument::clone(document)))
            }
        }
    }
}
