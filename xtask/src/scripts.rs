//! The shell scripts of the repository: each must parse, and pass shellcheck where that is installed. Job
//! scripts above all: a user finds their mistakes after hours in a queue.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::listing::listed;
use crate::need::on_path;
use crate::step;

const FOLDERS: [&str; 4] = ["jobs", "bench", "tests/lab", "tests/hardware"];

/// Checks every script.
///
/// # Errors
/// A script does not parse, or shellcheck found something; what is wrong has been printed.
pub fn check(root: &Path) -> Result<()> {
    let scripts = find(root)?;
    for script in &scripts {
        // One file a call: bash would take a second one as an argument of the first.
        step::run(Command::new("bash").arg("-n").arg(script).current_dir(root))?;
    }
    if on_path("shellcheck") {
        return step::run(
            Command::new("shellcheck").arg("--severity=warning").args(&scripts).current_dir(root),
        );
    }
    eprintln!("test: note: shellcheck is not installed; the scripts were parsed only");
    Ok(())
}

/// The scripts, relative to `root`, sorted.
fn find(root: &Path) -> Result<Vec<PathBuf>> {
    let mut scripts = vec![PathBuf::from(".ci/run")];
    for folder in FOLDERS {
        // `.env`: values that scripts read.
        let is_script = |path: &PathBuf| path.extension().is_some_and(|end| end == "sh" || end == "env");
        for path in listed(&root.join(folder))?.into_iter().filter(is_script) {
            scripts.push(path.strip_prefix(root)?.to_path_buf());
        }
    }
    scripts.sort();
    Ok(scripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_does_not_parse_is_an_error() -> Result<()> {
        let tree = tempfile::tempdir()?;
        for folder in FOLDERS.iter().chain(&[".ci"]) {
            std::fs::create_dir_all(tree.path().join(folder))?;
        }
        let script = |name: &str, text: &str| std::fs::write(tree.path().join(name), text);
        script(".ci/run", "#!/bin/bash\ntrue\n")?;
        script("jobs/good.sh", "#!/bin/bash\ntrue\n")?;
        script("jobs/notes.md", "if\n")?;
        check(tree.path())?;
        script("jobs/bad.sh", "#!/bin/bash\nif true; then\n")?;
        assert!(check(tree.path()).is_err_and(|error| error.to_string().contains("bash -n jobs/bad.sh")));
        Ok(())
    }
}
