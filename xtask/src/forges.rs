//! The files that only a forge reads, held against the forges' own schemas: workflows, forms for issues,
//! pipelines handed to sites, the citation.
//!
//! No runner is at hand when a change is made, and a key that a forge does not know ends a workflow before
//! its first step. The schemas come with `check-jsonschema`, in the Python environment of the tests.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{python_tools, step};

/// The schema's name, what has to be done to a file before (GitLab has a tag of its own in YAML), and the
/// files.
const FILES: [(&str, &[&str], &[&str]); 5] = [
    (
        "vendor.github-workflows",
        &[],
        &[
            ".github/workflows/ci.yml",
            ".github/workflows/publish.yml",
            ".github/workflows/release.yml",
            "contrib/github/numabench.yml",
        ],
    ),
    (
        "vendor.github-issue-forms",
        &[],
        &[".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/wrong-number.yml"],
    ),
    ("vendor.github-issue-config", &[], &[".github/ISSUE_TEMPLATE/config.yml"]),
    ("vendor.gitlab-ci", &["--data-transform", "gitlab-ci"], &["contrib/gitlab/numabench.gitlab-ci.yml"]),
    ("vendor.citation-file-format", &[], &["CITATION.cff"]),
];

/// Checks all of them; a note where the environment cannot be made.
///
/// # Errors
/// A file does not follow its schema; what is wrong has been printed.
pub fn check(root: &Path) -> Result<()> {
    let tools = match python_tools::ready() {
        Ok(tools) => tools,
        Err(error) => {
            eprintln!("test: note: files of the forges were not checked: {error:#}");
            return Ok(());
        }
    };
    for (schema, transform, files) in FILES {
        let mut check = Command::new(tools.join("bin/check-jsonschema"));
        check.args(["--quiet", "--builtin-schema", schema]).args(transform).args(files);
        step::run(check.current_dir(root))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_forge_is_held_against_a_schema() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
        let held: Vec<_> =
            FILES.iter().flat_map(|(.., files)| files.iter()).map(|file| root.join(file)).collect();
        for folder in [".github/workflows", ".github/ISSUE_TEMPLATE", "contrib/github", "contrib/gitlab"] {
            for entry in std::fs::read_dir(root.join(folder))? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml") {
                    assert!(held.contains(&path), "{}", path.display());
                }
            }
        }
        Ok(())
    }
}
