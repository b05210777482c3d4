//! `numabench reference`: the figures that others published, listed; and those that measurements are held
//! against.

use std::path::Path;

use analysis::reference::{self, Reference, committed, parse};
use anyhow::anyhow;
use experiments::documents;

use crate::args::reference::Reference as Args;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Fault> {
    if args.lines {
        terminal::print(reference::COMMITTED.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let references = with(args.reference.as_deref())?;
    let (width, color) = (terminal::width(), terminal::color(args.color));
    terminal::print(render::terminal::references(&references, args.gpu.as_deref(), width, color).as_bytes())?;
    Ok(Exit::Ok)
}

/// The figures that come with numabench, and those of a site's own file.
///
/// # Errors
/// Exit 2 for a file that cannot be read, or a line in it that is no figure.
pub fn with(file: Option<&Path>) -> Result<Vec<Reference>, Fault> {
    let mut references = committed().map_err(|error| Fault::new(Exit::NoResult, error))?;
    if let Some(file) = file {
        let bytes = documents::bytes(file)?;
        let text = String::from_utf8_lossy(&bytes);
        references
            .extend(parse(&text).map_err(|error| Fault::usage(anyhow!("{}: {error}", file.display())))?);
    }
    Ok(references)
}
