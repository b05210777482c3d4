//! A document that a command reads: one with figures, or what `check --bandwidth`, `doctor` and `place`
//! wrote, where the command takes that too.

use report::block::BlockTime;
use report::read::{OfBlock, ReadError};
use report::result::BlockSample;
use report::{DoctorDocument, PlaceDocument, SavedDocument, schema_of};

use crate::any_document::AnyDocument;
use crate::gate::Checked;
use crate::model_answer::ModelAnswer;
use crate::node_run::{NodeRun, of_check, of_doctor, of_document};
use crate::reference::known_figures;
use crate::run::{NoRun, Run};
use crate::{checked, imported_fits, reference_fits};

/// The document; `B` is what is kept of a result's blocks.
#[derive(Clone, Debug)]
pub enum ReadDocument<B = BlockSample> {
    /// One with figures.
    WithFigures(AnyDocument<B>),
    /// What a check of bandwidth found.
    Checked(Box<Checked>),
    /// What `doctor` saw.
    Doctor(Box<DoctorDocument>),
    /// Places of ranks.
    Place(Box<PlaceDocument>),
}

impl<B: OfBlock> ReadDocument<B> {
    /// Reads one with figures, or one whose schema is among these.
    ///
    /// # Errors
    /// [`ReadError`]: it is another document, or none.
    pub fn from_json(bytes: &[u8], also: &[&str]) -> Result<Self, ReadError> {
        match schema_of(bytes).as_deref().filter(|schema| also.contains(schema)) {
            Some(Checked::SCHEMA) => {
                Checked::from_json(bytes).map(|checked| Self::Checked(Box::new(checked)))
            }
            Some(DoctorDocument::SCHEMA) => {
                DoctorDocument::from_json(bytes).map(|document| Self::Doctor(Box::new(document)))
            }
            Some(PlaceDocument::SCHEMA) => {
                PlaceDocument::from_json(bytes).map(|document| Self::Place(Box::new(document)))
            }
            _ => AnyDocument::from_json(bytes).map(Self::WithFigures),
        }
    }
}

impl<B> ReadDocument<B> {
    /// What it says of its nodes; nothing where it says nothing of a node.
    pub fn node_runs(self) -> Vec<NodeRun> {
        match self {
            Self::WithFigures(AnyDocument::Result(document)) => of_document(&document),
            Self::Checked(checked) => of_check(&checked),
            Self::Doctor(document) => vec![of_doctor(*document)],
            Self::WithFigures(_) | Self::Place(_) => Vec::new(),
        }
    }

    /// Whether its figures are normal, held against those that come with numabench; no answer for what holds
    /// no figures of a machine.
    pub fn reference_answers(&self) -> Vec<ModelAnswer> {
        match self {
            Self::WithFigures(AnyDocument::Result(document)) => {
                reference_fits::answer(document, None, &known_figures())
            }
            Self::WithFigures(AnyDocument::Imported(document)) => {
                vec![imported_fits::answer(document, &known_figures())]
            }
            Self::WithFigures(AnyDocument::Mpi(document)) => {
                ModelAnswer::of_mpi(document).into_iter().collect()
            }
            Self::Checked(checked) => imported_fits::answer_of_checked(checked, &known_figures()),
            Self::WithFigures(AnyDocument::Trial(_) | AnyDocument::Witness(_))
            | Self::Doctor(_)
            | Self::Place(_) => Vec::new(),
        }
    }
}

impl<B> ReadDocument<B>
where
    for<'b> BlockTime: From<&'b B>,
{
    /// It as comparisons see it.
    ///
    /// # Errors
    /// [`NoRun`]: there is nothing in it to compare.
    pub fn run(&self, name: &str) -> Result<Run, NoRun> {
        match self {
            Self::WithFigures(kept) => kept.run(name),
            Self::Checked(checked) => checked::run(name, checked),
            Self::Doctor(_) | Self::Place(_) => Err(NoRun::Empty),
        }
    }
}
