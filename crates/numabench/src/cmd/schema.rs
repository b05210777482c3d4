//! `numabench schema`: print the JSON Schema of a kind of document, as this version writes it.

use crate::args::schema::Schema;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Schema) -> Result<Exit, Fault> {
    // The committed texts, which tests hold against the types: the code that makes them is three times as
    // large.
    let all =
        [&report::schema::COMMITTED[..], &analysis::schema::COMMITTED, &crate::schemas::COMMITTED].concat();
    for (_, text) in all.into_iter().filter(|(name, _)| *name == args.kind) {
        terminal::print(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}
