//! One launch of a line on a saved machine, and what came of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use stats::IdSet;

use super::launcher::{Family, Installed};
use super::machine::Machine;
use crate::step;

/// A launch that takes longer hangs.
const SECONDS: &str = "60";

/// A rank as it was started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    number: usize,
    on_node: usize,
    /// `None`: nothing bound it.
    pus: Option<IdSet>,
}

/// What a launcher did with a line, as the table has it.
///
/// `0-1;2-3`: the PUs of each rank by its number, `-` for all; `0*4`: four ranks alike. `@0,2,1,3` behind
/// them: their numbers on the node, where these are others. `!`: refused; with ranks behind it, the option
/// was refused and the ranks started without it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome(pub String);

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What starts lines: the preloaded library, and the program that ranks run.
pub struct Recorder {
    folder: PathBuf,
    library: PathBuf,
    program: PathBuf,
    launches: AtomicUsize,
}

impl Recorder {
    /// Compiles the library into `folder`.
    ///
    /// # Errors
    /// There is no C compiler, or the folder cannot be written.
    pub fn build(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let [source, program, library] =
            ["recorder.c", "report.sh", "recorder.so"].map(|name| folder.join(name));
        std::fs::write(&source, include_str!("recorder.c"))?;
        std::fs::write(&program, include_str!("report.sh"))?;
        step::run(Command::new("chmod").arg("+x").arg(&program))?;
        // Another call may have the library loaded: it is replaced and not written over.
        let made = folder.join(format!("recorder-{}.so", std::process::id()));
        step::run(Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&made).arg(&source))?;
        std::fs::rename(&made, &library)?;
        Ok(Self { folder: folder.to_owned(), library, program, launches: AtomicUsize::new(0) })
    }

    /// Starts the line on this machine; files that it names are looked for in `files`.
    ///
    /// # Errors
    /// The launcher did not end, or some of its ranks did not report.
    pub fn start(
        &self,
        installed: &Installed,
        line: &str,
        machine: &Machine,
        files: &Path,
    ) -> Result<Outcome> {
        // On a busy machine a launcher may hang at its end, or lose a rank: what looks like a refusal is
        // tried once more.
        match self.start_once(installed, line, machine, files) {
            Ok(outcome) if outcome.0 != "!" => Ok(outcome),
            _ => self.start_once(installed, line, machine, files),
        }
    }

    fn start_once(
        &self,
        installed: &Installed,
        line: &str,
        machine: &Machine,
        files: &Path,
    ) -> Result<Outcome> {
        let number = self.launches.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("launch-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let output = self.command(installed, line, machine, &folder, files).output();
        let ranks = std::fs::read_to_string(folder.join("ranks")).unwrap_or_default();
        let _ = std::fs::remove_dir_all(&folder);

        let output = output.context("cannot run `timeout`")?;
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let what = || {
            format!(
                "{} {}: {line} on {}: {}",
                installed.family.name(),
                installed.version,
                machine.name,
                said.trim()
            )
        };
        if output.status.code() == Some(124) {
            bail!("did not end: {}", what());
        }
        let ranks = ranks_of(&ranks, machine).with_context(what)?;
        let is_refused = ranks.is_empty() || said.contains("IPL2 Error");
        Ok(Outcome(format!("{}{}", if is_refused { "!" } else { "" }, written(&ranks))))
    }

    fn command(
        &self,
        installed: &Installed,
        line: &str,
        machine: &Machine,
        folder: &Path,
        files: &Path,
    ) -> Command {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let behind = words.iter().position(|word| !is_assignment(word)).unwrap_or(0);
        let pus: Vec<String> = machine.pus.iter().map(u32::to_string).collect();
        let mut command = Command::new("timeout");
        command
            .args(["-k", "5", SECONDS])
            .arg(&installed.program)
            .args(&words[behind + 1..])
            .arg(&self.program);
        command.current_dir(files).stdin(Stdio::null()).env_clear();
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME"));
        command.envs(words[..behind].iter().filter_map(|word| word.split_once('=')));
        command
            .env("HWLOC_XMLFILE", &machine.path)
            .env("HWLOC_THISSYSTEM", "1")
            .env("LD_PRELOAD", &self.library);
        command.env("TRUTH_FOLDER", folder).env("TRUTH_ONLINE", pus.join(",")).env("TMPDIR", folder);
        if installed.family == Family::OpenMpi {
            for name in ["OMPI", "PRTE"] {
                command.env(format!("{name}_ALLOW_RUN_AS_ROOT"), "1");
                command.env(format!("{name}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
            }
        }
        command
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// The ranks that reported, by number.
fn ranks_of(text: &str, machine: &Machine) -> Result<Vec<Rank>> {
    let all: IdSet = machine.pus.iter().copied().collect();
    let mut ranks = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [number, on_node, pus] = words.as_slice() else { bail!("no rank: {line:?}") };
        let pus = match *pus {
            "free" => None,
            list => Some(list.parse::<IdSet>()?).filter(|pus| *pus != all),
        };
        ranks.push(Rank { number: number.parse()?, on_node: on_node.parse()?, pus });
    }
    ranks.sort();
    // A launcher that gives up after some ranks has refused the line.
    let all_are_here = ranks.iter().enumerate().all(|(at, rank)| rank.number == at);
    Ok(if all_are_here { ranks } else { Vec::new() })
}

fn written(ranks: &[Rank]) -> String {
    let pus = |rank: &Rank| rank.pus.as_ref().map_or_else(|| "-".to_owned(), IdSet::to_string);
    let mut text = String::new();
    for alike in ranks.chunk_by(|one, next| one.pus == next.pus) {
        let times = if alike.len() > 1 { format!("*{}", alike.len()) } else { String::new() };
        text += &format!("{}{}{times}", if text.is_empty() { "" } else { ";" }, pus(&alike[0]));
    }
    if ranks.iter().any(|rank| rank.number != rank.on_node) {
        let on_node: Vec<String> = ranks.iter().map(|rank| rank.on_node.to_string()).collect();
        text += &format!("@{}", on_node.join(","));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranks_are_written_by_number_with_those_that_are_alike_together() -> Result<()> {
        let pus: BTreeSet<u32> = (0..4).collect();
        let machine =
            Machine { name: "m".into(), path: PathBuf::new(), pus, cores: 4, packages: 1, numa_nodes: 1 };
        let outcome = |text: &str| ranks_of(text, &machine).map(|ranks| written(&ranks));
        assert_eq!(outcome("1 1 2,3\n0 0 0,1\n")?, "0-1;2-3");
        assert_eq!(outcome("0 0 0\n1 2 0\n2 1 free\n")?, "0*2;-@0,2,1");
        assert_eq!(outcome("0 0 0,1,2,3\n1 1 free\n")?, "-*2");
        // A launcher that gave up after one of three ranks.
        assert_eq!(outcome("2 2 0\n")?, "");
        assert!(outcome("0 0\n").is_err());
        Ok(())
    }
}
