//! The table of one family: for each machine and line what each version did.
//!
//! ```text
//! [vm-two-nodes]
//! = 4 0;1;2;3 | 5 0-3*4
//! mpirun -np 4 …
//! ```
//!
//! Lines with the same outcomes stand together below them. `4` is every version of the table that begins so,
//! `4.1.4,4.1.8` those two, `*` every one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::launcher::version_key;
use super::start::Outcome;

/// What each version did.
type Outcomes = BTreeMap<String, Outcome>;

/// What is known, in the order of the file.
#[derive(Default)]
pub struct Table {
    machines: Vec<(String, Vec<(String, Outcomes)>)>,
}

impl Table {
    /// Reads the file; without one the table is empty.
    ///
    /// # Errors
    /// The file is no table.
    pub fn read(path: &Path) -> Result<Self> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(Self::default()) };
        let versions: Vec<String> = text
            .lines()
            .find_map(|line| line.strip_prefix("# versions: "))
            .with_context(|| format!("{} does not say its versions", path.display()))?
            .split(' ')
            .map(str::to_owned)
            .collect();
        let mut table = Self::default();
        let mut outcomes = Outcomes::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table.machines.push((name.to_owned(), Vec::new()));
            } else if let Some(groups) = line.strip_prefix("= ") {
                outcomes = parse(groups, &versions)?;
            } else {
                let (_, lines) =
                    table.machines.last_mut().with_context(|| format!("no machine before {line:?}"))?;
                lines.push((line.to_owned(), outcomes.clone()));
            }
        }
        Ok(table)
    }

    /// Forgets the lines of a machine that are not among these.
    pub fn keep_only(&mut self, machine: &str, wanted: &[String]) {
        let wanted: BTreeSet<&String> = wanted.iter().collect();
        if let Some((_, lines)) = self.machines.iter_mut().find(|(name, _)| name == machine) {
            lines.retain(|(line, _)| wanted.contains(line));
        }
    }

    /// Whether it is known what a version did with a line.
    pub fn has(&self, machine: &str, line: &str, version: &str) -> bool {
        let lines = self.machines.iter().find(|(name, _)| name == machine).map(|(_, lines)| lines);
        let outcomes = lines.and_then(|lines| lines.iter().find(|(known, _)| known == line));
        outcomes.is_some_and(|(_, outcomes)| outcomes.contains_key(version))
    }

    pub fn insert(&mut self, machine: &str, line: &str, version: &str, outcome: Outcome) {
        let at = self.machines.iter().position(|(name, _)| name == machine).unwrap_or_else(|| {
            self.machines.push((machine.to_owned(), Vec::new()));
            self.machines.len() - 1
        });
        let lines = &mut self.machines[at].1;
        match lines.iter_mut().find(|(known, _)| known == line) {
            Some((_, outcomes)) => {
                outcomes.insert(version.to_owned(), outcome);
            }
            None => lines.push((line.to_owned(), Outcomes::from([(version.to_owned(), outcome)]))),
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let all = self.machines.iter().flat_map(|(_, lines)| lines);
        let mut versions: Vec<&String> =
            all.flat_map(|(_, outcomes)| outcomes.keys()).collect::<BTreeSet<_>>().into_iter().collect();
        versions.sort_by_cached_key(|version| version_key(version));

        let mut text = String::from(
            "# Made by `cargo xtask launch-truth`, by starting every line; see the README of this folder.\n",
        );
        let named: Vec<&str> = versions.iter().map(|version| version.as_str()).collect();
        writeln!(text, "# versions: {}", named.join(" "))?;
        for (machine, lines) in &self.machines {
            write!(text, "\n[{machine}]\n")?;
            let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
            for (line, outcomes) in lines {
                groups.entry(grouped(outcomes, &versions)).or_default().insert(line);
            }
            for (outcomes, lines) in groups {
                writeln!(text, "= {outcomes}")?;
                for line in lines {
                    writeln!(text, "{line}")?;
                }
            }
        }
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// `4 0;1 | 5.0.8 0-1*2 | 5.0.11 !`.
fn grouped(outcomes: &Outcomes, versions: &[&String]) -> String {
    let mut groups: Vec<(Vec<&String>, &Outcome)> = Vec::new();
    for version in versions {
        let Some(outcome) = outcomes.get(*version) else { continue };
        match groups.iter_mut().find(|(_, known)| *known == outcome) {
            Some((versions, _)) => versions.push(version),
            None => groups.push((vec![version], outcome)),
        }
    }
    let one = |(group, outcome): &(Vec<&String>, &Outcome)| format!("{} {outcome}", label(group, versions));
    groups.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// What stands for these versions.
fn label(group: &[&String], versions: &[&String]) -> String {
    if group.len() == versions.len() {
        return "*".to_owned();
    }
    let major = |version: &str| version.split('.').next().unwrap_or_default().to_owned();
    let mut parts: Vec<String> = Vec::new();
    for version in group {
        let major = major(version);
        let all = |versions: &[&String]| {
            versions.iter().filter(|one| one.starts_with(&format!("{major}."))).count()
        };
        let part = if all(group) == all(versions) { major.clone() } else { (*version).clone() };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(",")
}

fn parse(groups: &str, versions: &[String]) -> Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    for group in groups.split(" | ") {
        let Some((label, outcome)) = group.split_once(' ') else { bail!("no outcome in {group:?}") };
        for part in label.split(',') {
            let fits = |version: &&String| {
                part == "*" || *version == part || version.starts_with(&format!("{part}."))
            };
            for version in versions.iter().filter(fits) {
                outcomes.insert(version.clone(), Outcome(outcome.to_owned()));
            }
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written_and_a_major_version_stands_for_its_own() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("open-mpi.txt");
        let mut table = Table::default();
        for (line, version, outcome) in [
            ("mpirun -np 2", "4.1.4", "0;1"),
            ("mpirun -np 2", "4.1.10", "0;1"),
            ("mpirun -np 2", "5.0.8", "0-1*2"),
            ("mpirun -np 3", "4.1.4", "!"),
            ("mpirun -np 3", "4.1.10", "-*3"),
        ] {
            table.insert("two", line, version, Outcome(outcome.to_owned()));
        }
        table.write(&path)?;
        let text = std::fs::read_to_string(&path)?;
        assert!(text.contains("# versions: 4.1.4 4.1.10 5.0.8\n"), "{text}");
        assert!(text.contains("= 4 0;1 | 5 0-1*2\nmpirun -np 2\n"), "{text}");
        assert!(text.contains("= 4.1.4 ! | 4.1.10 -*3\nmpirun -np 3\n"), "{text}");

        let mut read = Table::read(&path)?;
        assert!(read.has("two", "mpirun -np 3", "4.1.10") && !read.has("two", "mpirun -np 3", "5.0.8"));
        read.write(&path)?;
        assert_eq!(std::fs::read_to_string(&path)?, text);
        read.keep_only("two", &["mpirun -np 2".to_owned()]);
        assert!(!read.has("two", "mpirun -np 3", "4.1.10"));
        Ok(())
    }
}
