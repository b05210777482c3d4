//! Command lines that cannot be followed, and every option of every command with a value longer than any
//! screen.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Field;
use super::tried::{Random, Tally, run};

/// A message may take so long, also of a binary that is not optimised on a busy machine.
const AT_MOST: Duration = Duration::from_secs(10);

/// What stands before a value that must be refused, and the codes that may be promised for it.
const OPTIONS: &[(&[&str], &[i32])] = &[
    (&["pingpong", "--backend", "host", "--gpus"], &[2, 77]),
    (&["pingpong", "--backend", "host", "--cpus"], &[2]),
    (&["pingpong", "--backend", "host", "--membind"], &[2]),
    (&["pingpong", "--backend", "host", "--size"], &[2]),
    (&["pingpong", "--backend", "host", "--floats"], &[2]),
    (&["pingpong", "--backend", "host", "--reps"], &[2]),
    (&["pingpong", "--backend", "host", "--max-time"], &[2]),
    (&["pingpong", "--backend", "host", "--timeout"], &[2]),
    (&["pingpong", "--backend", "host", "--direction"], &[2]),
    (&["pingpong", "--backend", "host", "--memory"], &[2]),
    (&["place", "-n"], &[2]),
    (&["place", "--cores-per-rank"], &[2]),
    (&["place", "--strategy"], &[2]),
    (&["place", "--reserve"], &[2]),
    (&["place", "--from"], &[2]),
    (&["place", "--input"], &[2]),
    (&["place", "--emit"], &[2]),
    (&["exec", "--print", "--ranks", "2", "--rank"], &[2]),
    (&["exec", "--print", "--rank", "0", "--ranks"], &[2]),
    (&["exec", "--print", "--membind"], &[2]),
    (&["exec", "--print", "--from"], &[2]),
    (&["check", "--pid"], &[2]),
    (&["check", "--timeout"], &[2]),
    (&["topo", "--input"], &[2]),
    (&["topo", "diff", "/dev/null"], &[2]),
];

/// What nobody can mean, of any option.
const VALUES: &[&str] = &[
    "",
    "-",
    "-1",
    "18446744073709551616",
    "99999999999999999999999999",
    "-4294967296",
    "1e400",
    "nan",
    "0x",
    "7-3",
    "1,,2",
    "0-4294967295:0",
    ",",
    "é",
    "\u{202e}abc",
    "a\u{1b}[31mb",
    "../../../../nowhere",
    "/nowhere/at/all",
    "/dev/zero",
    "%s%n%d",
    "1GiB..",
    "..1GiB",
    "10s10s",
    "one",
];

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let mut slowest = Duration::ZERO;
    for _ in 0..field.extent.lines {
        let ((before, codes), value) = (random.pick(OPTIONS), random.pick(VALUES));
        // Standard input ends at once here: a path that stands for it holds nothing.
        let args: Vec<&str> = before.iter().copied().chain([*value]).collect();
        let ended = run(Command::new(field.binary).args(&args), &field.folder)?;
        slowest = slowest.max(ended.took);
        let told = ended.err.lines().any(|line| line.contains("error: "));
        // An empty list of GPUs, PUs or sizes is refused as well, and so is a missing value.
        let wrong = match ended.code {
            _ if ended.signal.is_some() => Some(format!("ended by signal {:?}", ended.signal)),
            Some(code) if !codes.contains(&code) => Some(format!("code {code}: {}{}", ended.out, ended.err)),
            _ if !told => Some(format!("no message: {}", ended.err)),
            _ if ended.err.contains("panicked") => Some(ended.err),
            _ if ended.took > AT_MOST => Some(format!("it took {:.1} s", ended.took.as_secs_f64())),
            _ => None,
        };
        tally.count(&format!("{args:?}"), wrong);
    }
    tally.note(format!("the slowest took {:.2} s", slowest.as_secs_f64()));
    echoes(field, random, tally)
}

/// What no option may bring back whole.
const LONG: usize = 20_000;

/// No line that is shown has more characters; `trial`'s line to paste stands apart, and is not had with one
/// run of `true`.
const LONGEST_SHOWN: usize = 1600;

/// Every option of every command, as their help lists them, with a long value.
fn echoes(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let help = |args: &[&str]| -> Result<String> {
        Ok(run(Command::new(field.binary).args(args).arg("--help"), &field.folder)?.out)
    };
    let commands = help(&[])?;
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    let mut all = Vec::new();
    for command in names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())) {
        let words = help(&[command])?;
        let options = words.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        let named = options.map(|word| word.trim_matches(|c: char| c != '-' && !c.is_ascii_lowercase()));
        let names: BTreeSet<String> = named.map(str::to_owned).collect();
        all.extend(names.into_iter().map(|option| (command.to_owned(), option)));
    }
    for (command, option) in random.sample(&all, field.extent.single) {
        for value in ["a".repeat(LONG), format!("A={}", "b".repeat(LONG)), format!("{}=1", "c".repeat(LONG))]
        {
            let mut child = Command::new(field.binary);
            child.args([command, &format!("{option}={value}")]).current_dir(&field.folder);
            // Nothing is measured: what is missing, or the plan, is the answer.
            match &command[..] {
                "trial" => drop(child.args(["--max-runs", "6", "--", "true"])),
                "check" | "place" | "exec" | "topo" | "doctor" => {}
                _ => drop(child.arg("--dry-run")),
            }
            let ended = run(&mut child, &field.folder)?;
            let longest = ended.out.lines().chain(ended.err.lines()).map(|line| line.chars().count()).max();
            let wrong = match ended.code {
                None => Some(format!("ended by signal {:?}", ended.signal)),
                _ if ended.err.contains("panicked") => Some(ended.err),
                _ if longest > Some(LONGEST_SHOWN) => Some(format!("a line of {longest:?} characters")),
                _ => None,
            };
            tally.count(&format!("{command} {option}={}…", &value[..1]), wrong);
        }
    }
    Ok(())
}
