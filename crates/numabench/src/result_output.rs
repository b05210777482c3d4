//! Where the result of a command that measures goes, and how it is shown.

use std::path::Path;

use analysis::reference::Reference;
use experiments::document::Origin;
use experiments::journal::FinishedRun;
use render::terminal::{Style, brief, table_beside};
use report::sink::Sink;
use serde::Serialize;

use crate::args::ColorChoice;
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::output_file;
use crate::terminal;

/// Where the result goes, and how it is shown.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The file of the document; `-` is standard output, in place of the table.
    pub json: Option<&'a Path>,
    /// Only the figures and the problems.
    pub quiet: bool,
    /// How much of it.
    pub extent: Extent,
    /// Whether the table is coloured.
    pub color: ColorChoice,
    /// What others measured, to be held beside.
    pub reference: &'a [Reference],
}

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    Full,
    /// What a screen holds.
    Screen,
}

impl Extent {
    /// As told, else a screenful on a terminal and everything where none is: of a job nothing may be left but
    /// its log.
    pub fn of(full: bool, brief: bool, quiet: bool) -> Self {
        if brief || (!full && !quiet && terminal::is_terminal()) { Self::Screen } else { Self::Full }
    }
}

/// What makes the documents of this process.
pub fn origin() -> Origin {
    Origin {
        tool: crate::version::tool(),
        argv: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        began: Began::now(),
    }
}

impl<'a> Output<'a> {
    /// That of a command whose figures nobody has published.
    pub fn plain(json: Option<&'a Path>, extent: Extent, quiet: bool, color: ColorChoice) -> Self {
        Self { json, quiet, extent, color, reference: &[] }
    }

    /// Opens the file that the document goes to, where it goes to one.
    pub fn open(&self) -> Result<Option<Sink>, Fault> {
        output_file::of_document(self.json)
    }

    /// Prints what was asked for. The table comes whatever became of the document.
    pub fn show(&self, ended: FinishedRun) -> Result<Exit, Fault> {
        self.show_as(ended, |document, style| match self.extent {
            Extent::Full => table_beside(document, style, self.reference),
            Extent::Screen => brief(document, style, self.reference, terminal::has_letters()),
        })
    }

    /// The same of a document of any kind, whose table is drawn so, and told where the document is.
    pub fn show_as<D: Serialize>(
        &self,
        ended: FinishedRun<D>,
        draw: impl FnOnce(&D, &Style) -> String,
    ) -> Result<Exit, Fault> {
        let FinishedRun { document, exit, saved_to, fault } = ended;
        let printed = if self.json == Some(Path::new("-")) {
            terminal::print_document(&json(&document)?)
        } else {
            let (width, color) = (terminal::width(), terminal::color(self.color));
            let saved_to = saved_to.map(|path| path.display().to_string());
            let screen = (self.extent == Extent::Screen).then(terminal::screen);
            let style = Style { width, color, quiet: self.quiet, saved_to, screen };
            terminal::print(draw(&document, &style).as_bytes())
        };
        fault.map_or(Ok(()), Err).and(printed).map(|()| exit)
    }
}

/// Where what a command found goes as JSON, opened before it is looked for: a file beside the table, or
/// standard output in its place (`-`).
pub struct JsonOutput {
    sink: Option<Sink>,
    is_printed: bool,
}

impl JsonOutput {
    /// Opens it.
    pub fn open(json: Option<&Path>) -> Result<Self, Fault> {
        Ok(Self { sink: output_file::of_document(json)?, is_printed: json == Some(Path::new("-")) })
    }

    /// Writes what was found, where it goes to a file.
    pub fn keep<T: Serialize>(&self, found: &T) -> Result<(), Fault> {
        self.sink.as_ref().map_or(Ok(()), |sink| write(sink, &json(found)?))
    }

    /// Writes what was found, and prints it or its table.
    pub fn show<T: Serialize>(&self, found: &T, table: impl FnOnce(&T) -> String) -> Result<(), Fault> {
        self.keep(found)?;
        terminal::print(&if self.is_printed { json(found)? } else { table(found).into_bytes() })
    }
}

/// A document as it is written.
pub fn json<T: Serialize>(document: &T) -> Result<Vec<u8>, Fault> {
    report::json::json_value(document).map_err(|error| Fault::new(Exit::NoResult, error))
}

/// Writes a file, whole or not at all.
pub fn write(sink: &Sink, bytes: &[u8]) -> Result<(), Fault> {
    sink.write(bytes).map_err(|error| Fault::new(Exit::NoResult, error))
}
