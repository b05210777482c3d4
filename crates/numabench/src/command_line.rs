//! From words to arguments that are checked: clap's rules, then those between options.

use std::ffi::OsString;

use clap::{Command, FromArgMatches};

use crate::args::Args;
use crate::{examples, rules};

/// The arguments that these words are, the program's name before them.
///
/// # Errors
/// What cannot be followed, as clap says it.
pub fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Args, clap::Error> {
    parse_as(&mut examples::command(), words)
}

/// The same by a description that is at hand.
///
/// # Errors
/// As [`parse`].
pub fn parse_as(
    command: &mut Command,
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Args, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    rules::refuse_ignored(command, &matches)?;
    let mut args = Args::from_arg_matches(&matches)?;
    if let Some(found) = args.command.for_one_platform_mut() {
        *found = rules::for_one_platform(command, &matches);
    }
    Ok(args)
}
