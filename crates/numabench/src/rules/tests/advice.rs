//! What libraries advise: an option that a text names is one that every command has which can print the text.
//!
//! Texts are those of the sources: string literals outside of tests and comments. A file whose texts every
//! measurement can print may name only options that all of those commands have; `numabench pingpong --timing
//! host` names the command, and options of other programs (srun, docker) stand behind those programs' names.
#![allow(clippy::print_stdout, reason = "a count of what was tried is a figure of this test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::examples;

/// Commands that measure with the engine.
const MEASURING: &[&str] = &["pingpong", "matrix", "latency", "peer", "sweep", "contend", "kernels", "suite"];

/// Whose texts the sources below a path are; the first that fits counts.
const SPEAKERS: &[(&str, &[&str])] = &[
    // The limit of a run, which `check --bandwidth` and `topo --measure` have too.
    ("engine/src/lead.rs", MEASURING),
    ("engine/src/line_cycle.rs", &["matrix", "latency", "peer", "contend"]),
    ("engine/src", MEASURING),
    ("stats/src/flag.rs", MEASURING),
    ("hostmem/src", MEASURING),
    ("backend-cuda/src", MEASURING),
    ("backend-host/src", MEASURING),
    ("analysis/src/matrix_analysis", &["matrix", "latency", "peer", "contend", "kernels"]),
    ("analysis/src/latency_curves.rs", &["latency"]),
    ("analysis/src/laplace.rs", &["laplace"]),
    ("analysis/src/kernels.rs", &["kernels"]),
    ("analysis/src/mpi_matrix.rs", &["mpi"]),
    // As they are written; `topo --measure` has its --within in the place of --max-time.
    ("analysis/src/groups/words.rs", &["latency"]),
    ("analysis/src/groups", &["topo"]),
    ("experiments/src/backends.rs", MEASURING),
    ("experiments/src/beside.rs", &["contend"]),
    ("experiments/src/contend.rs", &["contend"]),
    ("experiments/src/computing.rs", &["kernels"]),
    ("experiments/src/gpu_kernels.rs", &["kernels"]),
    ("experiments/src/thread_kernels.rs", &["kernels"]),
    ("experiments/src/gpu_matrix.rs", &["matrix"]),
    ("experiments/src/loaded.rs", &["latency"]),
    ("experiments/src/latency.rs", &["latency"]),
    ("experiments/src/groups.rs", &["topo"]),
    ("experiments/src/pieces.rs", &["sweep"]),
    ("kernels/src", &["kernels"]),
    ("mpi/src", &["mpi"]),
    ("trial/src/metric.rs", &["trial"]),
    ("trial/src/planned.rs", &["trial"]),
    ("trial/src/answer.rs", &["trial"]),
    ("exec/src/error.rs", &["exec"]),
    ("exec/src/rank_slot.rs", &["exec"]),
    ("place/src/error.rs", &["place"]),
    ("place/src/decide.rs", &["place"]),
];

/// Programs whose options stand behind their names.
const OTHERS: &[&str] =
    &["srun", "mpirun", "mpiexec", "docker", "numactl", "nvidia-smi", "rocm-smi", "taskset", "flux", "jsrun"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The string literals of a source, without those of its tests and of its comments.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or(source);
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut found = Vec::new();
    let mut rest = &code[..];
    while let Some((_, after)) = rest.split_once('"') {
        let mut text = String::new();
        let mut characters = after.char_indices();
        let mut end = after.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => text
                    .extend(characters.next().map(|(_, escaped)| escaped).filter(|escaped| *escaped != '\n')),
                other => text.push(other),
            }
        }
        found.push(text);
        rest = &after[end..];
    }
    found
}

/// The options that a text names as its own command's.
fn named(text: &str) -> BTreeSet<String> {
    // A line of a command in backquotes says whose it is.
    let own: String = text.split('`').step_by(2).collect();
    let mut found = BTreeSet::new();
    let mut is_others = false;
    for word in own.split(|c: char| c.is_whitespace() || c == '(' || c == ',') {
        is_others |= OTHERS.contains(&word.trim_end_matches(':'));
        let long = word.strip_prefix("--").filter(|long| long.starts_with(|c: char| c.is_ascii_lowercase()));
        if let Some(long) = long.filter(|_| !is_others) {
            found.insert(
                long.split(|c: char| c != '-' && !c.is_ascii_lowercase()).next().unwrap_or(long).to_owned(),
            );
        }
        is_others &= !word.ends_with([')', ';']);
    }
    found
}

#[test]
fn no_advice_names_an_option_that_its_command_lacks() {
    let description = examples::command();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut files, mut texts, mut wrong) = (Vec::new(), 0, Vec::new());
    sources(&crates, &mut files);
    for file in files {
        let name = file.strip_prefix(&crates).unwrap_or(&file).display().to_string();
        let Some((_, commands)) = SPEAKERS.iter().find(|(begins, _)| name.starts_with(begins)) else {
            continue;
        };
        if name.contains("/tests") {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap_or_default();
        for text in literals(&source) {
            for option in named(&text) {
                texts += 1;
                let has = |command: &&&str| {
                    let command = description.find_subcommand(command).expect("a command");
                    let mut arguments = command.get_arguments();
                    arguments.any(|arg| {
                        arg.get_long_and_visible_aliases().is_some_and(|longs| longs.contains(&&option[..]))
                    })
                };
                let without: Vec<_> = commands.iter().filter(|command| !has(command)).collect();
                if !without.is_empty() {
                    wrong.push(format!("{name}: {without:?} have no --{option}: {text}"));
                }
            }
        }
    }
    println!("{texts} options named in advice, {} files' speakers known", SPEAKERS.len());
    assert!(texts > 20, "{texts}: the search finds no texts");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
