//! `numabench export`: read a document, write it in another form.
//!
//! Also that of a run that did not end well: what it measured is of use, and a dashboard must learn of it.
//! What is missing is said, and the exit code is that of a run with so much of a result.

use analysis::any_document::AnyDocument;
use analysis::incomplete::Incomplete;
use experiments::documents;
use render::export::any;
use report::block::BlockTime;
use report::document::Status;

use crate::args::export::Export;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::write;
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Export) -> Result<Exit, Fault> {
    let sink = args.output.as_deref().map(output_file::open).transpose()?;
    // No form has blocks; their times are the least that a reader keeps.
    let document: AnyDocument<BlockTime> = documents::read_kept(&args.result)?;
    let bytes = any(&document).export(args.to).map_err(|error| Fault::new(Exit::NoResult, error))?;
    match sink {
        Some(sink) => write(&sink, &bytes)?,
        None => terminal::print(&bytes)?,
    }
    let Some(incomplete) = document.incomplete() else { return Ok(Exit::Ok) };
    terminal::say(&format!("warning: {}: {incomplete}", args.result.display()));
    Ok(exit(&incomplete))
}

/// Wrong bytes first, then whether anything was measured.
fn exit(incomplete: &Incomplete) -> Exit {
    match (incomplete.status, incomplete.figures) {
        (Status::DataCorrupt, _) => Exit::DataCorrupt,
        (_, 0) => Exit::NoResult,
        _ => Exit::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_result_is_not_well() {
        let exit = |status, figures| {
            exit(&Incomplete { status, reason: None, figures, results: 4, missing_ranks: 0 })
        };
        assert_eq!(exit(Status::Running, 4), Exit::Partial);
        assert_eq!(exit(Status::Interrupted, 1), Exit::Partial);
        assert_eq!(exit(Status::TimedOut, 0), Exit::NoResult);
        assert_eq!(
            (exit(Status::DataCorrupt, 3), exit(Status::DataCorrupt, 0)),
            (Exit::DataCorrupt, Exit::DataCorrupt)
        );
    }
}
