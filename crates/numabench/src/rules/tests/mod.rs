//! What the table promises: its names exist, what it refuses is said with both names, and no pair of options
//! of any command that measures is ignored.

mod advice;
mod pairs;
mod samples;

use super::table;
use crate::examples;

fn refused(line: &str) -> String {
    let words = std::iter::once("numabench").chain(line.split_whitespace());
    let error = crate::command_line::parse(words).err().map(|error| error.to_string()).unwrap_or_default();
    error.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn every_name_of_the_table_is_an_argument_of_its_command() {
    let command = examples::command();
    for below in command.get_subcommands() {
        let known = |name: &str| {
            let option = name.split('=').next().unwrap_or(name);
            // The document and the colour are in the rules of all commands, and not all commands have them.
            below.get_arguments().any(|arg| arg.get_long() == Some(option) || arg.get_id() == option)
                || ["json", "color", "quiet"].contains(&option)
        };
        let rules = table::rules(below.get_name());
        let names = rules.flat_map(|rule| [rule.options, rule.others, rule.unless]).flatten();
        let unknown: Vec<_> = names.filter(|name| !known(name)).collect();
        assert_eq!(unknown, [&""; 0], "{}", below.get_name());
    }
}

#[test]
fn json_alone_prints_and_a_file_is_written_in_every_command_that_has_it() {
    let mut command = examples::command();
    command.build();
    let below =
        command.get_subcommands().flat_map(|below| std::iter::once(below).chain(below.get_subcommands()));
    let mut commands = 0;
    for below in below {
        let Some(json) = below.get_arguments().find(|arg| arg.get_long() == Some("json")) else { continue };
        // Standard output of `witness` is its program's.
        let expected = if below.get_name() == "witness" { 1..=1 } else { 0..=1 };
        assert_eq!(json.get_num_args(), Some(expected.into()), "{}", below.get_name());
        commands += 1;
    }
    assert!(commands > 15, "{commands}");
}

#[test]
fn an_option_that_would_be_ignored_is_refused_with_what_it_does_not_go_with() {
    let lines = [
        "check --nic --against /nonexistent.json",
        "check --against /nonexistent.json",
        "check --pid 1 --what h2d",
        "check --strict --all",
        "check --gres-conf /nonexistent --pid 1",
        "check --slurm-conf /nonexistent -- true",
        "check --launch srun --nic",
        "topo --numa --within 1min",
        "topo --input x.xml --gpus 99",
        "topo --save x.xml --reps 3",
        "topo --measure --with x.json",
        "topo --measure=cores --size 4KiB",
        "place --strategy worst --seed 3",
        "place --from x.json --backend host",
        "place --emit srun --launcher mpirun",
        "place --emit srun --json -",
        "place --emit gres-conf --smt",
        "sweep --size 4KiB --total 64MiB",
        "sweep --timing host --ways loop",
        "latency --cpus 0 --range 64MiB",
        "latency --loaded --cpus 0",
        "latency --between gpus --cpus 0",
        "contend --range 64MiB --ranks-per-gpu 2",
        "pingpong --warmup 3 --precision 5%",
        "mpi --matrix --gpu-cpus 0",
        "peer --pairs ring --all",
        "suite --max-time 10s",
        "exec --gpus none --gpu near true",
        "matrix --memory managed --access read",
        "matrix --json - --full",
        "compare a b --markdown --quiet",
        "compare a b --fail-on none,regressed",
        "compare a b --fail-on suspect,none",
    ];
    let said: Vec<String> = lines.iter().map(|line| format!("{line}\n  {}", refused(line))).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_goes_together_is_taken() {
    let lines = [
        "check --bandwidth --against x.json --quiet",
        "check --launch srun --gres-conf x",
        "latency --between cores --cpus 0,1",
        "place --measure --json - --quiet",
        "place --emit srun --color never",
        "pingpong --reps 5 --warmup 2",
        "peer --pairs ring --by destination",
        "sweep --pieces 4KiB --ways loop",
    ];
    for line in lines {
        assert_eq!(refused(line), "", "{line}");
    }
}
