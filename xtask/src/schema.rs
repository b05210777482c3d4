//! `cargo xtask schema`: the JSON Schemas of the documents, from the types that write them.
//!
//! The schemas are committed, so that a reader needs no build; `tidy` fails when they are not what the types say.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Where the committed schemas lie in the repository.
pub const FOLDER: &str = "crates/report/schema";

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("takes no arguments, but was given {:?}", args.join(" "));
    }
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in report::schema::all() {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {FOLDER}/{name}");
    }
    Ok(())
}
