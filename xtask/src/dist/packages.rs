//! What is compiled into the binary for one architecture: cargo's own word, for the licences and the bill of
//! materials.
//!
//! Normal dependencies only: what builds or tests the program is not in it. hwloc, which is no crate, is
//! added where it is needed.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// The packages, each once, by name and version.
pub fn all(root: &Path, target: &str) -> Result<Vec<Package>> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml"));
    command.other_options(["--locked".to_owned(), "--filter-platform".to_owned(), target.to_owned()]);
    let metadata = command.exec().context("cargo metadata cannot be read")?;
    packages_of(&metadata, "numabench")
}

fn packages_of(metadata: &Metadata, name: &str) -> Result<Vec<Package>> {
    let nodes = &metadata.resolve.as_ref().context("cargo resolved nothing")?.nodes;
    let nodes: HashMap<&PackageId, _> = nodes.iter().map(|node| (&node.id, node)).collect();
    let packages: HashMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let first = metadata
        .packages
        .iter()
        .find(|package| package.name == name)
        .context("the binary's package is not there")?;
    let (mut seen, mut next) = (BTreeSet::new(), vec![&first.id]);
    while let Some(id) = next.pop() {
        let Some(node) = nodes.get(id).filter(|_| seen.insert(id)) else { continue };
        let normal = |dep: &&cargo_metadata::NodeDep| {
            dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        };
        next.extend(node.deps.iter().filter(normal).map(|dep| &dep.pkg));
    }
    let mut found: Vec<Package> =
        seen.iter().filter_map(|id| packages.get(*id).map(|package| (*package).clone())).collect();
    found.sort_by(|a, b| (a.name.as_str(), &a.version).cmp(&(b.name.as_str(), &b.version)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_made_of_its_crates_and_of_nothing_that_only_tests_or_builds_it() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let names: Vec<String> = all(root, &target)?.iter().map(|package| package.name.to_string()).collect();
        for inside in ["numabench", "numabench-topo", "hwlocality", "clap", "cudarc"] {
            assert!(names.iter().any(|name| name == inside), "{inside}: {names:?}");
        }
        for outside in ["insta", "pkg-config", "mpi-sys", "xtask", "windows-sys"] {
            assert!(!names.iter().any(|name| name == outside), "{outside}");
        }
        Ok(())
    }
}
