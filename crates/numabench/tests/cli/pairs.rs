//! Every pair of options of the commands that print no plan: the result changes with each of the two, or the pair is refused with exit 2 and both names.
//!
//! Options are those that `--help` lists; each has a value here, and what it needs beside it. What is observed of a line is its exit code, what it prints and the files it
//! writes, without the moment and the command line that documents keep. Commands that print a plan have theirs in the binary's own tests (`rules`), where no process is needed.
//! A pair of which one option cannot show on a plain machine (`--nic` without an adapter) is named with the reason.
//! Left out: options whose effect is no text (time limits, colour of a line that has none); those of `place --measure` and `topo --measure`, which would measure.
#![allow(clippy::print_stdout, reason = "a count of what was tried is a figure of this test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::{Done, end, numabench};

/// An option, a value of it as typed, and what it needs beside it.
type Sample = (&'static str, &'static str, &'static str);

/// A command.
struct Command {
    name: &'static str,
    /// What stands in every line.
    base: &'static str,
    samples: &'static [Sample],
    /// Pairs of which one changes nothing on this machine, and why.
    same: &'static [(&'static str, &'static str, &'static str)],
    /// Options that are in no pair that is run, and why.
    unseen: &'static [(&'static str, &'static str)],
    /// What stands behind all options.
    end: &'static str,
}

const MEASURES: &str = "its pairs would measure";
const NO_GPU: &str = "this machine may have no GPU and no adapter";
const UNDECIDED: &str = "these runs are too few to decide at any threshold";
const TIME: &str = "a limit of time is no text";

const COMMANDS: &[Command] = &[
    Command {
        name: "topo",
        base: "",
        samples: &[
            ("input", "--input machine.xml", ""),
            ("save", "--save saved.xml", ""),
            ("save", "--save -", ""),
            ("svg", "--svg saved.svg", ""),
            ("svg", "--svg -", ""),
            ("with", "--with links.json", "--svg saved.svg"),
            ("numa", "--numa", ""),
            ("tree", "--tree", ""),
            ("matrix", "--matrix", ""),
            ("identity", "--identity", ""),
            ("json", "--json", ""),
        ],
        same: &[],
        unseen: &[
            ("measure", MEASURES),
            ("within", MEASURES),
            ("timeout", MEASURES),
            ("gpus", MEASURES),
            ("backend", MEASURES),
            ("size", MEASURES),
            ("reps", MEASURES),
            ("seed", MEASURES),
            ("dry-run", MEASURES),
        ],
        end: "",
    },
    Command {
        name: "place",
        base: "--input machine.xml",
        samples: &[
            ("ranks", "--ranks 4", ""),
            ("gpus", "--gpus 0,1,2", ""),
            ("gpus", "--gpus none", ""),
            ("cores-per-rank", "--cores-per-rank 2", ""),
            ("threads", "--threads 3", ""),
            ("smt", "--smt", ""),
            ("strategy", "--strategy spread", ""),
            ("reserve", "--reserve 16,48,49,56", ""),
            ("launcher", "--launcher mpirun", ""),
            ("emit", "--emit numactl", ""),
            ("emit", "--emit wrapper", ""),
            ("emit", "--emit gres-conf", ""),
            ("nic", "--nic near", "--emit wrapper"),
            ("json", "--json out.json", ""),
            ("json", "--json -", ""),
            ("quiet", "--quiet", ""),
            ("color", "--color always", ""),
        ],
        same: &[],
        unseen: &[
            ("input", "it is in every line"),
            ("from", "it is a plan of this machine"),
            ("measure", MEASURES),
            ("backend", MEASURES),
            ("size", MEASURES),
            ("memory", MEASURES),
            ("max-time", MEASURES),
            ("timeout", MEASURES),
            ("seed", MEASURES),
        ],
        end: "",
    },
    Command {
        name: "check",
        base: "",
        samples: &[
            ("pid", "--pid 1", ""),
            ("all", "--all", ""),
            ("threads", "--threads", ""),
            ("nic", "--nic", ""),
            ("input", "--input machine.xml", ""),
            ("launch", "--launch 'srun -n2 true'", ""),
            ("printed", "--printed bindings.txt", ""),
            ("json", "--json out.json", ""),
            ("json", "--json -", ""),
            ("strict", "--strict -- true", ""),
        ],
        same: &[
            ("all", "threads", "no process uses a GPU"),
            ("all", "nic", "no process uses a GPU"),
            ("threads", "nic", "this process has one thread"),
            ("threads", "input", "this process has one thread"),
            ("threads", "strict", "this process has one thread"),
            ("launch", "printed", "this line says nothing of GPUs"),
        ],
        unseen: &[
            ("rank", "ranks meet other processes"),
            ("ranks", "ranks meet other processes"),
            ("gres-conf", "a line's own file, which must fit the machine; refused without one (rules)"),
            ("slurm-conf", "a line's own file, which must fit the machine; refused without one (rules)"),
            ("timeout", TIME),
            ("bandwidth", MEASURES),
            ("what", MEASURES),
            ("against", MEASURES),
            ("quiet", MEASURES),
        ],
        end: "",
    },
    Command {
        name: "exec",
        base: "",
        samples: &[
            ("gpus", "--gpus none", ""),
            ("gpu", "--gpu near", ""),
            ("cores-per-rank", "--cores-per-rank 1", ""),
            ("reserve", "--reserve 0", ""),
            ("membind", "--membind 0", ""),
            ("nic", "--nic near", ""),
            ("keep-cpus", "--keep-cpus", ""),
            ("report", "--report", ""),
            ("print", "--print", ""),
        ],
        same: &[
            ("gpus", "cores-per-rank", NO_GPU),
            ("gpus", "reserve", NO_GPU),
            ("gpus", "membind", NO_GPU),
            ("gpus", "keep-cpus", NO_GPU),
            ("gpus", "report", NO_GPU),
            ("gpus", "print", NO_GPU),
            ("gpu", "cores-per-rank", NO_GPU),
            ("gpu", "reserve", NO_GPU),
            ("gpu", "membind", NO_GPU),
            ("gpu", "nic", NO_GPU),
            ("gpu", "keep-cpus", NO_GPU),
            ("gpu", "report", NO_GPU),
            ("gpu", "print", NO_GPU),
            ("nic", "cores-per-rank", NO_GPU),
            ("nic", "reserve", NO_GPU),
            ("nic", "membind", NO_GPU),
            ("nic", "keep-cpus", NO_GPU),
            ("nic", "report", NO_GPU),
            ("cores-per-rank", "reserve", "of two cores one is left either way"),
        ],
        unseen: &[
            ("smt", "this machine may have one thread a core"),
            ("strategy", "this machine may have one place"),
            ("from", "it is a plan of this machine"),
            ("rank", "ranks meet other processes"),
            ("ranks", "ranks meet other processes"),
        ],
        end: "sh -c 'env | grep -E \"OMP|VISIBLE|UCX|NCCL\"; grep _allowed_list /proc/self/status; cut -d\" \" -f2 /proc/self/numa_maps | sort -u'",
    },
    Command {
        name: "doctor",
        base: "",
        samples: &[
            ("input", "--input machine.xml", ""),
            ("json", "--json out.json", ""),
            ("json", "--json -", ""),
            ("quiet", "--quiet", ""),
            ("color", "--color always", ""),
        ],
        same: &[],
        unseen: &[],
        end: "",
    },
    Command {
        name: "compare",
        base: "run.json other.json",
        samples: &[
            ("more-base", "--more-base third.json", ""),
            ("more-new", "--more-new third.json", ""),
            ("threshold", "--threshold 90%", ""),
            ("fail-on", "--fail-on added", ""),
            ("markdown", "--markdown", ""),
            ("json", "--json out.json", ""),
            ("json", "--json -", ""),
            ("quiet", "--quiet", ""),
            ("color", "--color always", ""),
        ],
        same: &[("threshold", "markdown", UNDECIDED), ("threshold", "quiet", UNDECIDED)],
        unseen: &[("force", "these runs measured the same")],
        end: "",
    },
    Command {
        name: "report",
        base: "run.json",
        samples: &[
            ("output", "--output page.html", ""),
            ("json", "--json out.json", ""),
            ("json", "--json -", ""),
            ("color", "--color always", ""),
        ],
        same: &[],
        unseen: &[],
        end: "",
    },
    Command {
        name: "reference",
        base: "",
        samples: &[
            ("gpu", "--gpu H200", ""),
            ("reference", "--reference lines.txt", ""),
            ("lines", "--lines", ""),
            ("color", "--color always", ""),
        ],
        same: &[],
        unseen: &[],
        end: "",
    },
    Command {
        name: "export",
        base: "run.json",
        samples: &[("to", "--to csv", ""), ("output", "--output out.csv", "--to bmf")],
        same: &[],
        unseen: &[],
        end: "",
    },
    Command {
        name: "history",
        base: "run.json third.json other.json",
        samples: &[("threshold", "--threshold 90%", ""), ("json", "--json", "")],
        same: &[("threshold", "json", UNDECIDED)],
        unseen: &[],
        end: "",
    },
    Command {
        name: "baseline",
        base: "run.json third.json other.json --output learned.json",
        samples: &[("lines", "--lines learned.txt", "")],
        same: &[],
        unseen: &[("output", "it is in every line")],
        end: "",
    },
    Command {
        name: "import",
        base: "stream stream.txt",
        samples: &[
            ("output", "--output imported.json", ""),
            ("started-at", "--started-at 2026-01-02T03:04:05Z", ""),
            ("host", "--host nid1", ""),
        ],
        same: &[],
        unseen: &[("reference", "lines of GPUs say nothing of STREAM's figures")],
        end: "",
    },
];

/// The options that the help of a command lists.
fn options(command: &str) -> Vec<String> {
    let help = end(&mut numabench(), [command, "--help"]).out;
    let indented = |line: &&str| line.starts_with(' ') && !line.starts_with("        ");
    let long = |line: &str| {
        let (_, long) = line.split_once("--")?;
        Some(long.split([' ', '[', '=']).next().unwrap_or(long).to_owned())
    };
    let begins = |line: &&str| line.trim_start().starts_with('-');
    let found = help.lines().filter(indented).filter(begins).filter_map(long);
    found.filter(|long| !["help", "version"].contains(&&long[..])).collect()
}

/// What becomes of a line: its exit code, its words, its files.
type Observed = (Option<i32>, String, String, BTreeMap<String, String>);

/// Without what every run has of its own.
fn redacted(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        // The moment stands in the heading of some tables.
        let own = |word: &str| word.len() > 20 && word.ends_with('Z') && word.contains('T');
        let line =
            |line: &str| line.split(' ').map(|word| if own(word) { "NOW" } else { word }).collect::<Vec<_>>().join(" ");
        return text.lines().map(line).collect::<Vec<_>>().join("\n");
    };
    fn without(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for own in ["argv", "started_at", "elapsed_s", "pages", "memory_pages", "free_bytes"] {
                    fields.remove(own);
                }
                fields.values_mut().for_each(without);
            }
            Value::Array(values) => values.iter_mut().for_each(without),
            _ => {}
        }
    }
    without(&mut value);
    value.to_string()
}

struct Tried<'a> {
    command: &'a Command,
    files: &'a Path,
    seen: BTreeMap<String, Observed>,
    ignored: Vec<String>,
    refused: usize,
    changed: usize,
    same: usize,
}

fn option_of(typed: &str) -> &str {
    typed.split([' ', '=']).next().unwrap_or(typed)
}

impl Tried<'_> {
    fn line(&self, samples: &[&Sample], also: &[&Sample]) -> String {
        let mut words: Vec<&str> = samples.iter().map(|(_, typed, _)| *typed).collect();
        for beside in samples.iter().chain(also).map(|(.., beside)| *beside).filter(|beside| !beside.is_empty()) {
            let is_there = |typed: &&str| option_of(typed) == option_of(beside);
            if !words.iter().chain(also.iter().map(|(_, typed, _)| typed)).any(is_there) {
                words.insert(0, beside);
            }
        }
        // A program stands last.
        words.sort_by_key(|word| word.contains(" -- "));
        format!("{} {} {} {}", self.command.name, self.command.base, words.join(" "), self.command.end)
    }

    fn observe(&mut self, line: String) -> Result<Observed, Box<dyn std::error::Error>> {
        if let Some(seen) = self.seen.get(&line) {
            return Ok(seen.clone());
        }
        let folder = tempfile::tempdir()?;
        for file in fs::read_dir(self.files)? {
            let file = file?;
            fs::copy(file.path(), folder.path().join(file.file_name()))?;
        }
        let ended = end(numabench().current_dir(folder.path()), shell_words::split(&line)?);
        let mut written = BTreeMap::new();
        for file in fs::read_dir(folder.path())? {
            let file = file?;
            if !self.files.join(file.file_name()).exists() {
                let text = String::from_utf8_lossy(&fs::read(file.path())?).into_owned();
                written.insert(file.file_name().to_string_lossy().into_owned(), redacted(&text));
            }
        }
        let seen = (ended.code, redacted(&ended.out), redacted(&ended.err), written);
        self.seen.insert(line, seen.clone());
        Ok(seen)
    }

    fn pair(&mut self, one: &Sample, other: &Sample) -> Done {
        let both = self.line(&[one, other], &[]);
        let done = self.observe(both.clone())?;
        let names = |sample: &Sample| {
            let named = |typed: &str| !typed.is_empty() && done.2.contains(option_of(typed));
            named(sample.1) || named(sample.2)
        };
        match done.0 {
            Some(2) if names(one) && names(other) => self.refused += 1,
            Some(2) => self.ignored.push(format!("{both}: the refusal does not name both: {}", done.2)),
            _ => {
                let (by_one, by_other) = (self.line(&[other], &[one]), self.line(&[one], &[other]));
                let changes = [self.observe(by_one)? != done, self.observe(by_other)? != done];
                let is_pair = |(a, b, _): &&(&str, &str, &str)| [(one.0, other.0), (other.0, one.0)].contains(&(a, b));
                match changes {
                    [true, true] => self.changed += 1,
                    _ if self.command.same.iter().any(|pair| is_pair(&pair)) => self.same += 1,
                    [false, _] => self.ignored.push(format!("{both}: {} changes nothing", one.1)),
                    _ => self.ignored.push(format!("{both}: {} changes nothing", other.1)),
                }
            }
        }
        Ok(())
    }
}

/// A figure of somebody's own, in the form of `reference --lines`.
const LINES: &str =
    "H200 | - | device | local | ce | 512MiB | - | 2000-2100 GB/s | 2400 | report | 1 | a test | 2026-11 | here\n";

/// What srun prints with `--cpu-bind=verbose`.
const BINDINGS: &str = "\
cpu-bind=MASK - vm, task  0  0 [4711]: mask 0x1 set
cpu-bind=MASK - vm, task  1  1 [4712]: mask 0x2 set
";

/// What STREAM 5.10 prints.
const STREAM: &str = "\
STREAM version $Revision: 5.10 $
This system uses 8 bytes per array element.
Array size = 10000000 (elements), Offset = 0 (elements)
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           12345.6     0.013000     0.012960     0.013100
Scale:          11234.5     0.014300     0.014242     0.014400
Add:            12789.0     0.018800     0.018766     0.018900
Triad:          12700.1     0.018950     0.018897     0.019000
Solution Validates: avg error less than 1.000000e-13 on all three arrays
";

/// The files that lines name.
fn write_files(folder: &Path) -> Done {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/dgx-a100.xml");
    fs::copy(fixture, folder.join("machine.xml"))?;
    fs::write(folder.join("lines.txt"), LINES)?;
    fs::write(folder.join("stream.txt"), STREAM)?;
    fs::write(folder.join("bindings.txt"), BINDINGS)?;
    for (name, size) in [("run.json", "4KiB"), ("other.json", "4KiB,8KiB"), ("third.json", "4KiB")] {
        let path = folder.join(name).display().to_string();
        let line = ["pingpong", "--backend", "host", "--gpus", "0", "--size", size, "--reps", "40", "--json", &path];
        end(&mut numabench(), line);
    }
    let path = folder.join("links.json").display().to_string();
    end(&mut numabench(), ["matrix", "--backend", "host", "--range", "1MiB", "--max-time", "1s", "--json", &path]);
    Ok(())
}

fn no_pair_is_ignored(name: &str) -> Done {
    let folder = tempfile::tempdir()?;
    write_files(folder.path())?;
    let command = COMMANDS.iter().find(|command| command.name == name).ok_or("no such command")?;
    let mut tried = Tried {
        command,
        files: folder.path(),
        seen: BTreeMap::new(),
        ignored: Vec::new(),
        refused: 0,
        changed: 0,
        same: 0,
    };
    for option in options(name) {
        let is_known = command.samples.iter().any(|(name, ..)| *name == option)
            || command.unseen.iter().any(|(name, _)| *name == option);
        assert!(is_known, "numabench {name} has --{option}: add a value of it");
    }
    for (at, one) in command.samples.iter().enumerate() {
        for other in command.samples[at + 1..].iter().filter(|other| other.0 != one.0) {
            tried.pair(one, other)?;
        }
    }
    let Tried { ignored, refused, changed, same, .. } = tried;
    println!(
        "{name}: {} pairs, {refused} refused, {changed} changed, {same} the same on this machine, {} ignored",
        refused + changed + same + ignored.len(),
        ignored.len()
    );
    assert!(ignored.is_empty(), "{} ignored:\n{}", ignored.len(), ignored.join("\n"));
    Ok(())
}

#[test]
fn no_pair_of_options_of_topo_is_ignored() -> Done {
    no_pair_is_ignored("topo")
}

#[test]
fn no_pair_of_options_of_place_is_ignored() -> Done {
    no_pair_is_ignored("place")
}

#[test]
fn no_pair_of_options_of_check_is_ignored() -> Done {
    no_pair_is_ignored("check")
}

#[test]
fn no_pair_of_options_of_exec_is_ignored() -> Done {
    no_pair_is_ignored("exec")
}

#[test]
fn no_pair_of_options_of_commands_that_read_documents_is_ignored() -> Done {
    ["compare", "report", "reference", "export", "doctor", "history", "baseline", "import"]
        .into_iter()
        .try_for_each(no_pair_is_ignored)
}
