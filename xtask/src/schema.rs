//! `cargo xtask schema`: the JSON Schemas of the documents, from the types that write them.
//!
//! The binary's own (`topo --json` and its like) are known to it alone, so a test of it writes them. The
//! schemas are committed, so that a reader needs no build; `tidy` fails when they are not what the types say.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step;

/// The test of the binary that writes the schemas of documents that only it knows.
const OF_THE_BINARY: &str = "schemas::tests::the_committed_schemas_are_the_generated_ones";

/// Every schema of the libraries: where its file lies in the repository, and its text.
pub fn all() -> Vec<(PathBuf, String)> {
    let of = |crate_name: &str, schemas: Vec<(String, String)>| -> Vec<(PathBuf, String)> {
        let folder = Path::new("crates").join(crate_name).join("schema");
        schemas.into_iter().map(|(name, text)| (folder.join(name), text)).collect()
    };
    [of("report", report::schema::all().into()), of("analysis", analysis::schema::all().into())].concat()
}

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::no_arguments(args)?;
    for (file, text) in all() {
        let path = root.join(&file);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", file.display());
    }
    // The test that compares them knows the types.
    let mut test = Command::new("cargo");
    test.args([
        "test",
        "--quiet",
        "--package",
        "numabench",
        "--bin",
        "numabench",
        "--",
        "--exact",
        OF_THE_BINARY,
    ]);
    step::run(test.current_dir(root).env("NUMABENCH_WRITE_SCHEMAS", "1"))?;
    println!("wrote those of crates/numabench/schema");
    Ok(())
}
