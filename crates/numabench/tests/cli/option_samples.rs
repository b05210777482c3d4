//! A value of every option of the commands that print no plan, what it needs beside it, and the files that
//! such lines name. Which pairs show nothing on a plain machine stands here with the reason; `pairs` runs all
//! others.

use std::fs;
use std::path::Path;

use crate::run::{Done, end, numabench};

/// An option, a value of it as typed, and what it needs beside it.
pub type Sample = (&'static str, &'static str, &'static str);

/// A command.
pub struct Command {
    pub name: &'static str,
    /// What stands in every line.
    pub base: &'static str,
    pub samples: &'static [Sample],
    /// Pairs of which one changes nothing on this machine, and why.
    pub same: &'static [(&'static str, &'static str, &'static str)],
    /// Options that are in no pair that is run, and why.
    pub unseen: &'static [(&'static str, &'static str)],
    /// What stands behind all options.
    pub end: &'static str,
}

const MEASURES: &str = "its pairs would measure";
/// It is of what a terminal shows.
const ON_TERMINAL: &str = "everything is printed where no terminal is";
const NO_GPU: &str = "this machine may have no GPU and no adapter";
const UNDECIDED: &str = "these runs are too few to decide at any threshold";
const TIME: &str = "a limit of time is no text";

pub const COMMANDS: &[Command] = &[
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
            ("emit", "--emit nccl-topo", "--input machine.xml"),
            ("numa", "--numa", ""),
            ("tree", "--tree", ""),
            ("matrix", "--matrix", ""),
            ("identity", "--identity", ""),
            ("json", "--json", ""),
            ("color", "--color always", ""),
        ],
        same: &[],
        unseen: &[
            ("guest", "it needs --emit and a machine with GPUs: its effect is tested in topo/tests/nccl.rs"),
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
            ("full", ON_TERMINAL),
            ("from", "it is a plan of this machine"),
            ("measure", MEASURES),
            ("map", MEASURES),
            ("backend", MEASURES),
            ("size", MEASURES),
            ("memory", MEASURES),
            ("membind", MEASURES),
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
            ("workers", "this machine may have no GPU that a worker opens"),
        ],
        end: "sh -c 'env | grep -E \"OMP|VISIBLE|UCX|NCCL\"; grep _allowed_list /proc/self/status; cut -d\" \
            \" -f2 /proc/self/numa_maps | sort -u'",
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
        unseen: &[("full", ON_TERMINAL)],
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
            ("by", "--by gpu", ""),
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
        samples: &[("threshold", "--threshold 90%", ""), ("by", "--by gpu", ""), ("json", "--json", "")],
        same: &[
            ("threshold", "json", UNDECIDED),
            ("threshold", "by", UNDECIDED),
            ("by", "json", "these runs are too few for a series"),
        ],
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

/// A figure of somebody's own, in the form of `reference --lines`.
const LINES: &str = "H200 | - | device | local | ce | 512MiB | - | 2000-2100 GB/s | 2400 | report | 1 | a \
    test | 2026-11 | here\n";

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
pub fn write_files(folder: &Path) -> Done {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/dgx-a100.xml");
    fs::copy(fixture, folder.join("machine.xml"))?;
    fs::write(folder.join("lines.txt"), LINES)?;
    fs::write(folder.join("stream.txt"), STREAM)?;
    fs::write(folder.join("bindings.txt"), BINDINGS)?;
    for (name, size) in [("run.json", "4KiB"), ("other.json", "4KiB,8KiB"), ("third.json", "4KiB")] {
        let path = folder.join(name).display().to_string();
        let line =
            ["pingpong", "--backend", "host", "--gpus", "0", "--size", size, "--reps", "40", "--json", &path];
        end(&mut numabench(), line);
    }
    let path = folder.join("links.json").display().to_string();
    end(
        &mut numabench(),
        ["matrix", "--backend", "host", "--range", "1MiB", "--max-time", "1s", "--json", &path],
    );
    Ok(())
}
