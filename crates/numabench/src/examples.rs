//! Exit codes and examples at the end of every `--help` and in the manual pages; and the command line's description with them.
//!
//! They stand in one table beside the description instead of in each command's attributes, so that help, manual and the test that parses every
//! line read the same words. A command without an example fails that test.

use clap::{Command, CommandFactory};

use crate::args::Args;
use crate::exit::TABLE;

/// A line as it is typed, and what it is for.
type Example = (&'static str, &'static str);

/// The examples of each command, by its path.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "numabench",
        &[
            ("numabench topo", "what belongs together on this machine"),
            ("numabench pingpong", "what each GPU copies, from a core near it"),
            ("numabench place", "where ranks belong, and the line that puts them there"),
            ("srun numabench check", "whether this launch is well placed"),
        ],
    ),
    (
        "numabench topo",
        &[
            ("numabench topo", "packages, NUMA nodes, L3s, GPUs, and what is reserved"),
            ("numabench topo --matrix", "what is between every two GPUs and network adapters"),
            ("numabench topo --measure", "measure which GPUs and cores belong together"),
            ("numabench topo --save node.xml", "keep this machine, to look at it elsewhere"),
            ("numabench topo --input node.xml --svg node.svg", "draw a saved machine"),
            ("numabench topo --svg node.svg --with result.json", "draw the node with its measured rates"),
        ],
    ),
    (
        "numabench topo diff",
        &[("numabench topo diff before.xml after.xml", "a GPU gone, a DIMM missing, SMT off: exit code 5")],
    ),
    (
        "numabench pingpong",
        &[
            ("numabench pingpong", "one rank for each GPU, all at once"),
            ("numabench pingpong --cpus 49,57 --gpus 0,1", "rank i on PU i of the list, with GPU i"),
            ("numabench pingpong --cpus 1 --gpus 0 --membind 3", "PU, memory and GPU chosen apart"),
            ("numabench pingpong --size 4B..1GiB --memory pinned,pageable --json sweep.json", "many sizes, as data"),
            ("srun -n 8 numabench pingpong", "each task a rank; needs the MPI plug-in"),
        ],
    ),
    (
        "numabench matrix",
        &[
            ("numabench matrix", "every NUMA node's memory to every GPU"),
            ("numabench matrix --rows l3 --concurrent", "from each L3, to all GPUs at once"),
            ("numabench matrix --backend host --access read,load", "memory only: bandwidth and latency"),
        ],
    ),
    (
        "numabench latency",
        &[
            ("numabench latency", "the time of one load from each node's memory"),
            ("numabench latency --loaded", "the same beside the traffic of other cores: a curve"),
            ("numabench latency --between cores", "the latency from each core to each other"),
        ],
    ),
    ("numabench peer", &[("numabench peer", "every GPU's memory to every other's, and to its own")]),
    (
        "numabench mpi",
        &[
            ("mpirun -n 2 --bind-to none numabench mpi", "host memory, and what MPI does with GPU memory"),
            ("srun -n 2 --gpus-per-task=1 numabench mpi --expect direct", "in CI: 5 where it is not direct"),
            ("mpirun -n 4 numabench mpi --pairs all --operations none", "every two ranks, staged by numabench"),
            (
                "srun -N2 --ntasks-per-node=4 --cpu-bind=none numabench mpi --matrix",
                "by the NUMA node that each rank runs on",
            ),
            (
                "mpirun -n 2 --bind-to none numabench mpi --mpi-cpus 0,1 --gpu-cpus 32,33",
                "beside a thread of each rank that copies to its GPU, near and apart",
            ),
        ],
    ),
    (
        "numabench sweep",
        &[
            ("numabench sweep", "bandwidth and time from 4 B to 1 GiB"),
            ("numabench sweep --gpus 0 --size 4B..64MiB:4 --memory pinned,pageable", "one GPU, every fourth size"),
        ],
    ),
    (
        "numabench kernels",
        &[
            ("numabench kernels", "twelve kernels from every NUMA node to every GPU, with transfers and alone"),
            (
                "numabench kernels --kernels stencil,fft --iterations 10",
                "two of them, ten runs on data that stays on the GPU",
            ),
            (
                "numabench kernels --backend host",
                "the same kernels by the cores of each node, with the memory of each node",
            ),
        ],
    ),
    (
        "numabench laplace",
        &[
            ("numabench laplace", "one rank: its core and its GPU"),
            (
                "mpirun -n 4 --bind-to none numabench laplace --grid 32768x32768",
                "four ranks: halos by cores alone, through the host and by GPU-aware MPI, each overlapped and not",
            ),
            (
                "numabench trial --metric 'gpu: ([0-9.e]+) cells' --better higher -- numabench laplace --ways gpu",
                "whether another placement has more cells a second",
            ),
        ],
    ),
    (
        "numabench contend",
        &[
            ("numabench contend", "one GPU, then two, up to all at once"),
            ("numabench contend --ranks-per-gpu 4", "one to four ranks on one GPU"),
            ("numabench contend --beside read", "copies beside cores that read memory"),
        ],
    ),
    (
        "numabench suite",
        &[
            ("numabench suite --within 2min --json node.json", "the acceptance of a node"),
            ("srun --ntasks-per-node=1 numabench suite --json nodes/", "each node by itself, all in one table"),
        ],
    ),
    (
        "numabench place",
        &[
            ("numabench place", "the table, the reasons and one line to start with"),
            ("numabench place -n 4 --threads 8 --emit srun", "only srun's words, for four ranks of eight threads"),
            ("numabench place --input node.xml --launcher mpirun", "for a saved machine"),
            ("numabench place --measure --json best.json", "which placement is the fastest here"),
        ],
    ),
    (
        "numabench exec",
        &[
            ("srun -n 8 numabench exec -- ./app input.nml", "every rank in its place"),
            ("numabench exec --report -- ./app", "the same, and say where that is"),
            ("torchrun --nproc-per-node 8 --no-python numabench exec -- python train.py", "torchrun's workers"),
            ("srun numabench exec --from best.json -- ./app", "where `place --measure` found it best"),
        ],
    ),
    (
        "numabench check",
        &[
            ("srun -n 8 numabench check", "every rank of this launch"),
            ("srun -n 8 numabench check -- ./app", "the same, and then become the program"),
            ("numabench check --pid 4711,4712", "programs that run already"),
            ("numabench check --launch 'srun -n8 --gpus-per-task=1 ./app'", "a line, without running it"),
            ("numabench check --bandwidth --against normal.json", "whether this node's GPUs copy as they should"),
        ],
    ),
    (
        "numabench trial",
        &[
            ("numabench trial -- ./app input.nml", "does placement matter for this program?"),
            ("numabench trial --metric 'rate: ([0-9.]+)' --better higher -- ./app", "by a number that it prints"),
            ("numabench trial --launch 'srun -n 8 {bind} {app}' -- ./app", "under a launcher"),
        ],
    ),
    (
        "numabench compare",
        &[
            ("numabench compare last-week/ today/", "exit code 5 where a figure got worse"),
            ("numabench compare --markdown base.json new.json", "for a merge request"),
        ],
    ),
    (
        "numabench baseline",
        &[("numabench baseline -o normal.json results/", "what is normal, from documents of several nodes")],
    ),
    (
        "numabench doctor",
        &[
            ("numabench doctor", "settings of this node that cost placement or bandwidth"),
            (
                "srun -N1 -n1 numabench doctor --json doctor.json",
                "the same inside a job, with its cores and memory, as data",
            ),
        ],
    ),
    (
        "numabench reference",
        &[
            ("numabench reference --gpu H200", "what others measured on such a GPU, with sources"),
            ("numabench reference --lines", "the file itself, and what each part of a line means"),
        ],
    ),
    (
        "numabench history",
        &[("numabench history results/", "when a figure changed its level, and what changed with it")],
    ),
    (
        "numabench export",
        &[
            ("numabench export --to csv result.json", "for a spreadsheet"),
            ("numabench export --to openmetrics -o numabench.prom result.json", "for node_exporter"),
        ],
    ),
    (
        "numabench import",
        &[
            (
                "numabench import nvbandwidth nvbandwidth.json -o imported.json",
                "then compare, export, report and history read it",
            ),
            ("numabench import osu latency.txt bw.txt bibw.txt -o osu.json", "several tests of one run"),
        ],
    ),
    (
        "numabench report",
        &[
            ("numabench report -o report.html results/", "one file to open in a browser"),
            ("numabench report nodes/", "nodes side by side, and which is unlike the others"),
        ],
    ),
    ("numabench schema", &[("numabench schema result", "what a result document may hold")]),
    (
        "numabench completions",
        &[
            ("source <(numabench completions bash)", "in this shell; in ~/.bashrc for all"),
            ("numabench completions zsh > ~/.zfunc/_numabench", "with ~/.zfunc in zsh's fpath"),
            ("numabench completions fish > ~/.config/fish/completions/numabench.fish", "for fish"),
        ],
    ),
    (
        "numabench man",
        &[
            ("numabench man | man -l -", "read it"),
            ("numabench man --dir ~/.local/share/man/man1", "then `man numabench-pingpong`"),
        ],
    ),
];

/// The examples of the command of this path (`numabench topo diff`).
pub fn of(path: &str) -> Option<&'static [Example]> {
    EXAMPLES.iter().find(|(name, _)| *name == path).map(|(_, examples)| *examples)
}

/// Commands that end as any program does: exit codes are not explained there.
const CODELESS: [&str; 3] = ["numabench schema", "numabench completions", "numabench man"];

/// The command line's description, with exit codes and each command's examples behind its help.
pub fn command() -> Command {
    with_examples(Args::command(), "numabench")
}

fn with_examples(mut command: Command, path: &str) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in below {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |below| with_examples(below, &path));
    }
    let Some(examples) = of(path) else { return command };
    let mut text = if CODELESS.contains(&path) { String::new() } else { format!("{TABLE}\n\n") };
    text += "Examples:";
    for (line, what) in examples {
        text += &format!("\n  {line}\n      {what}");
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for below in command.get_subcommands() {
            paths(below, &format!("{path} {}", below.get_name()), found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        let mut commands = Vec::new();
        paths(&command(), "numabench", &mut commands);
        let without: Vec<_> = commands.iter().filter(|path| of(path).is_none_or(<[_]>::is_empty)).collect();
        assert_eq!(without, [""; 0], "add a line to EXAMPLES");
        for (path, _) in EXAMPLES {
            assert!(commands.iter().any(|command| command == path), "{path} is no command");
        }
    }

    #[test]
    fn every_example_is_a_command_line_of_this_version() {
        for (path, examples) in EXAMPLES {
            for (line, _) in *examples {
                let typed = line.split(['|', '>']).next().unwrap_or(line).replace("source <(", "").replace(')', "");
                let typed = if line.contains('\'') { (*line).to_owned() } else { typed };
                let words = shell_words::split(&typed).unwrap_or_else(|error| panic!("{line}: {error}"));
                let ours = words.iter().skip_while(|word| *word != "numabench");
                let parsed = command().try_get_matches_from(ours);
                assert!(parsed.is_ok(), "{line}: {}", parsed.err().map(|error| error.to_string()).unwrap_or_default());
                assert!(line.contains(path), "{line} is no example of {path}");
            }
        }
    }
}
