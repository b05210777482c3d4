//! `cargo xtask schema`: the JSON Schemas of the documents, from the types that write them.
//!
//! The binary's own (`topo --json` and its like) are known to it alone, so it prints them. The schemas are committed, so that a reader needs no build; `tidy` fails when they are not what the types say.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The kinds of documents that only the binary knows.
const OF_THE_BINARY: [&str; 3] = ["topology", "topology-diff", "check"];

/// Every schema of the libraries: where its file lies in the repository, and its text.
pub fn all() -> Vec<(PathBuf, String)> {
    let of = |crate_name: &str, schemas: Vec<(&'static str, String)>| -> Vec<(PathBuf, String)> {
        let folder = Path::new("crates").join(crate_name).join("schema");
        schemas.into_iter().map(|(name, text)| (folder.join(name), text)).collect()
    };
    [of("report", report::schema::all().into()), of("results", results::schema::all().into())].concat()
}

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("takes no arguments, but was given {:?}", args.join(" "));
    }
    for (file, text) in all() {
        let path = root.join(&file);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", file.display());
    }
    for kind in OF_THE_BINARY {
        let file = Path::new("crates/numabench/schema").join(format!("{kind}-v1.json"));
        let words = ["run", "--quiet", "--package", "numabench", "--bin", "numabench", "--", "schema", kind];
        let output = Command::new("cargo").args(words).current_dir(root).output().context("cannot run cargo")?;
        if !output.status.success() {
            bail!("numabench schema {kind} failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::fs::write(root.join(&file), output.stdout).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", file.display());
    }
    Ok(())
}
