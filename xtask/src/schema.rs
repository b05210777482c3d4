//! `cargo xtask schema`: the JSON Schema of the result document, from the types that write the documents.
//!
//! The schema is committed, so that a reader needs no build; `tidy` fails when it is not what the types say.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Where the committed schema lies in the repository.
pub const PATH: &str = "crates/report/schema/result-v1.json";

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("takes no arguments, but was given {:?}", args.join(" "));
    }
    let path = root.join(PATH);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    std::fs::write(&path, report::schema::text()).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {PATH}");
    Ok(())
}
