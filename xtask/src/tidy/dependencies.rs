//! Which crate may depend on which: the arrows of the design, as a table, held against what cargo itself
//! reports.
//!
//! Development dependencies are free (a test may use anything); normal and build dependencies are not. Beside
//! the arrows between our crates, some crates of others have one owner each, so that what they stand for
//! stays in one place.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::finding::Finding;

/// What each of our crates may depend on, among ours. `numabench` ties everything together and is not listed.
const ARROWS: &[(&str, &str)] = &[
    ("stats", ""),
    ("plugin", ""),
    ("ranks", "plugin sys"),
    ("mpi-plugin", "plugin"),
    ("models", ""),
    ("sys", "stats"),
    ("device", "stats sys"),
    ("svg", "stats"),
    ("topo", "stats svg sys"),
    ("placement", "stats topo"),
    ("backend-gpu", "device stats sys"),
    ("backend-cuda", "backend-gpu device"),
    ("backend-hip", "backend-gpu device stats"),
    ("backend-host", "device stats sys"),
    ("engine", "ranks stats sys topo"),
    ("hostmem", "engine stats sys"),
    ("kernels", "device engine pingpong placement stats topo"),
    ("pingpong", "device engine placement ranks stats topo"),
    ("mpi", "analysis device engine experiments startup launchers placement ranks report stats topo"),
    ("laplace", "analysis device engine experiments kernels startup placement ranks report stats topo"),
    ("exec", "launchers placement stats sys topo"),
    ("launchers", "placement ranks stats topo"),
    ("check", "exec launchers placement ranks report stats topo"),
    ("doctor", "engine launchers report stats topo"),
    ("startup", "launchers placement ranks stats topo"),
    ("place", "device engine launchers pingpong placement ranks report stats topo"),
    ("report", "stats"),
    ("witness", "analysis report stats topo"),
    ("witness-hook", ""),
    ("analysis", "report stats"),
    ("render", "analysis report stats svg"),
    (
        "experiments",
        "analysis backend-cuda backend-hip backend-host check device engine exec hostmem kernels startup \
         launchers pingpong place placement ranks report stats topo",
    ),
    ("trial", "exec experiments launchers placement report stats sys topo"),
    ("xtask", "ranks"),
    ("proving", "analysis report stats xtask"),
    ("fake-driver", ""),
    ("fake-mpi", ""),
    ("hip-over-cuda", ""),
];

/// Crates of others that only some of ours may use, and why a stray use is wrong.
const OWNED: &[(&str, &[&str], &str)] = &[
    (
        "serde_json",
        &["proving", "ranks", "report", "topo", "xtask"],
        "JSON is written and read in `report` alone (`ranks` and `topo` hear other processes of the same run \
         in it, xtask writes the bill of materials): hand the value to it",
    ),
    (
        "anyhow",
        &["numabench", "proving", "xtask"],
        "libraries have typed errors (thiserror); anyhow is for the binary and xtask",
    ),
    ("hwlocality", &["topo"], "the machine is read in `topo` alone: ask it for the value"),
    (
        "nvml-wrapper",
        &["sys", "topo"],
        "NVIDIA's management library is asked in `topo` alone (`sys` has the calls that are not safe): ask \
         it for the value",
    ),
    (
        "nvml-wrapper-sys",
        &["sys"],
        "NVIDIA's management library is asked in `topo` alone (`sys` has the calls that are not safe): ask \
         it for the value",
    ),
    ("cudarc", &["backend-cuda"], "the CUDA driver is called from `backend-cuda` alone"),
    (
        "mpi-sys",
        &["mpi-plugin"],
        "MPI is called from the plug-in alone: the binary must start where there is no MPI",
    ),
    ("clap", &["numabench"], "arguments are read in the binary alone: libraries take typed values"),
];

const WRONG_WAY: &str = "dependencies point one way (ARROWS in xtask/src/tidy/dependencies.rs): move the \
    code, or the arrow in the design first";
const UNLISTED: &str = "say what it may depend on in ARROWS in xtask/src/tidy/dependencies.rs";

/// A normal or build dependency of one of our crates, by short name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edge {
    /// What the crate depends on.
    to: String,
    /// Whether `to` is one of ours.
    ours: bool,
}

/// Asks cargo for the workspace's dependencies and checks them.
///
/// # Errors
/// Cargo's metadata cannot be had.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec();
    let metadata = metadata.context("cargo metadata cannot be read")?;
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let manifest = package.manifest_path.as_std_path();
        let text = std::fs::read_to_string(manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let file: PathBuf = manifest.strip_prefix(root).unwrap_or(manifest).into();
        let edges = package
            .dependencies
            .iter()
            .filter(|edge| edge.kind != DependencyKind::Development)
            .map(|edge| Edge { to: short(&edge.name).to_owned(), ours: edge.path.is_some() });
        findings.extend(judge(&file, short(&package.name), &text, &edges.collect::<Vec<_>>()));
    }
    Ok(findings)
}

/// What is wrong with the dependencies of crate `from`, whose manifest is `file` with this `text`.
fn judge(file: &Path, from: &str, text: &str, edges: &[Edge]) -> Vec<Finding> {
    let line = |name: &str| 1 + text.lines().position(|line| line.starts_with(name)).unwrap_or(0);
    let mut findings = Vec::new();
    let arrows = ARROWS.iter().find(|(name, _)| *name == from).map(|(_, allowed)| *allowed);
    if arrows.is_none() && from != "numabench" {
        findings.push(Finding::new(file, 1, format!("no rule for the dependencies of `{from}`"), UNLISTED));
    }
    for Edge { to, ours, .. } in edges {
        let wrong_way = *ours && arrows.is_some_and(|allowed| allowed.split(' ').all(|one| one != to));
        if wrong_way {
            findings.push(Finding::new(
                file,
                line(to),
                format!("`{from}` must not depend on `{to}`"),
                WRONG_WAY,
            ));
        }
        if let Some((_, owners, remedy)) = OWNED.iter().find(|(name, ..)| name == to)
            && !owners.contains(&from)
        {
            findings.push(Finding::new(
                file,
                line(to),
                format!("`{from}` must not depend on `{to}`"),
                remedy,
            ));
        }
    }
    findings
}

/// A package's name inside the workspace: without the prefix that makes it publishable.
fn short(name: &str) -> &str {
    name.strip_prefix("numabench-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: &str, to: &str, ours: bool) -> Vec<String> {
        let text = format!("[package]\n\n[dependencies]\n{to}.workspace = true\n");
        let edge = Edge { to: to.into(), ours };
        judge(Path::new("Cargo.toml"), from, &text, &[edge]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_crate_of_others_stands_in_the_architectures_table_and_is_used() -> anyhow::Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
        let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
        let listed =
            manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next());
        let others = listed
            .unwrap_or_default()
            .lines()
            .filter(|line| !line.contains("path = ") && !line.starts_with('#'));
        let others: Vec<&str> = others.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        assert!(others.len() > 20, "{others:?}");
        let page = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
        let mut uses = std::fs::read_to_string(root.join("xtask/Cargo.toml"))?;
        uses += &std::fs::read_to_string(root.join("xtask/proving/Cargo.toml"))?;
        for folder in ["crates", "tests"] {
            for member in std::fs::read_dir(root.join(folder))? {
                uses += &std::fs::read_to_string(member?.path().join("Cargo.toml")).unwrap_or_default();
            }
        }
        for other in others {
            assert!(page.contains(&format!("`{other}`")), "{other}: for what, and why not by hand");
            assert!(
                uses.contains(&format!("\n{other}.workspace = true"))
                    || uses.contains(&format!("\n{other} = {{ workspace")),
                "{other}"
            );
        }
        Ok(())
    }

    #[test]
    fn an_arrow_of_the_design_is_allowed_and_its_reverse_is_not() {
        assert_eq!(found("pingpong", "device", true), [""; 0]);
        let wrong = found("device", "pingpong", true);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].starts_with("Cargo.toml:4: `device` must not depend on `pingpong`; "), "{wrong:?}");
    }

    #[test]
    fn the_pure_crates_depend_on_none_of_ours() {
        for pure in ["stats", "ranks"] {
            assert_eq!(found(pure, "device", true).len(), 1, "{pure}");
        }
    }

    #[test]
    fn the_binary_may_use_all_of_ours_but_not_json_itself() {
        assert_eq!(found("numabench", "backend-cuda", true), [""; 0]);
        assert_eq!(found("numabench", "anyhow", false), [""; 0]);
        assert_eq!(found("numabench", "serde_json", false).len(), 1);
    }

    #[test]
    fn a_library_must_not_use_anyhow() {
        assert_eq!(found("topo", "anyhow", false).len(), 1);
    }

    #[test]
    fn a_crate_nobody_made_a_rule_for_is_a_finding() {
        let wrong = found("new-crate", "libc", false);
        assert!(wrong[0].contains("no rule for the dependencies of `new-crate`"), "{wrong:?}");
    }
}
