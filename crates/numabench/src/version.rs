//! Which numabench this is: version, commit and build, for `--version` and for the documents; and, with
//! `--verbose`, what it would run with.

use std::ffi::OsString;

use report::document::Tool;
use startup::installed_plugins;

/// The version's number.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");
/// What `--version` says behind the name: version, commit, kind of build and what it was built for.
pub const LINE: &str = env!("NUMABENCH_VERSION");
/// The day of the commit, or of the build: 2026-11-22.
pub const DATE: &str = env!("NUMABENCH_DATE");

/// The commit it was built from, with a `+` where the sources differed; none outside a checkout.
pub fn commit() -> Option<String> {
    Some(env!("NUMABENCH_COMMIT")).filter(|commit| !commit.is_empty()).map(str::to_owned)
}

/// This program as documents name it.
pub fn tool() -> Tool {
    Tool { name: "numabench".to_owned(), version: NUMBER.to_owned(), git: commit() }
}

/// What `--version --verbose` says: the line, hwloc, and every plug-in with the MPI it has and whether
/// numabench can use it.
pub fn verbose() -> String {
    let hwloc = topo::read()
        .map_or_else(|error| format!("cannot read this machine: {error}"), |seen| seen.hwloc_version);
    let mut text = format!("numabench {LINE}\nhwloc: {hwloc}\n");
    for line in installed_plugins::lines(&["--version", "--verbose"]) {
        text += &format!("{line}\n");
    }
    text
}

/// Whether the words of a command line that asked for the version ask for all of it.
pub fn is_verbose(words: &[OsString]) -> bool {
    words.iter().any(|word| ["--verbose", "-v", "-vV", "-Vv"].iter().any(|verbose| word == verbose))
}
