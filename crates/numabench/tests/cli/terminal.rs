//! What a terminal of 80 columns and 24 lines shows of each command that this machine can run: a screen at
//! most, no line wider than it, the answer first.
//!
//! `script` gives the terminal. Without it these tests skip.

use std::process::{Command, Stdio};

use crate::run::{BINARY, Done, Ended, no_driver, skipped, variables};

/// The lines that a prompt and the command itself leave of 24.
const SCREEN: usize = 22;
const COLUMNS: usize = 80;

/// What a terminal is given by `numabench LINE`; `None` where there is no `script`.
fn on_a_terminal(line: &str) -> Result<Option<Ended>, Box<dyn std::error::Error>> {
    let command = format!("stty rows 24 cols {COLUMNS}; exec {BINARY} {line}");
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).envs(variables(&no_driver())).stdin(Stdio::null());
    match script.env("TERM", "xterm").env("NO_COLOR", "1").output() {
        Ok(output) => Ok(Some(Ended::of(&output))),
        Err(_) => {
            skipped("what a terminal shows: there is no script(1) here");
            Ok(None)
        }
    }
}

/// The lines as they stand at the end: what a line of progress had drawn over is gone.
fn lines(ended: &Ended) -> Vec<String> {
    let text = ended.out.replace("\r\n", "\n");
    let last = |line: &str| {
        line.rsplit('\r').next().unwrap_or_default().replace("\u{1b}[2K", "").replace("\u{1b}[K", "")
    };
    text.lines().map(last).collect()
}

#[test]
fn what_a_command_shows_is_a_screen_and_no_line_is_wider_than_it() -> Done {
    let copies = "--backend host --reps 6";
    for line in [
        "topo 2>/dev/null".to_owned(),
        "doctor 2>/dev/null".to_owned(),
        "check 2>/dev/null".to_owned(),
        "place 2>/dev/null".to_owned(),
        "place --gpus none --ranks 2 2>/dev/null".to_owned(),
        format!("pingpong --gpus 0 --size 64KiB {copies} 2>/dev/null"),
        format!("matrix {copies} --max-time 3s 2>/dev/null"),
        format!("sweep --gpus 0 --size 4KiB..1MiB {copies} 2>/dev/null"),
        "laplace --backend host --grid 64x64 --max-time 2s 2>/dev/null".to_owned(),
        "trial --vary X=1 --max-runs 8 --max-time 3s -- sleep 0.01 2>/dev/null".to_owned(),
        "reference 2>/dev/null | head -3".to_owned(),
    ] {
        let Some(ended) = on_a_terminal(&line)? else { return Ok(()) };
        let lines = lines(&ended);
        assert!(lines.len() <= SCREEN, "{line}: {} lines\n{}", lines.len(), lines.join("\n"));
        // The line to paste is whole.
        let pasted = lines.iter().skip_while(|line| *line != "Start it with").nth(1);
        let wide = lines.iter().filter(|line| line.chars().count() > COLUMNS && Some(*line) != pasted);
        assert_eq!(wide.collect::<Vec<_>>(), [""; 0], "{line}");
        assert!(
            lines.first().is_some_and(|first| !first.is_empty() && !first.starts_with("numabench ")),
            "{line}: {lines:?}"
        );
    }
    Ok(())
}

#[test]
fn a_long_error_is_broken_at_the_terminals_width_and_whole_in_a_file() -> Done {
    let Some(ended) = on_a_terminal("pingpong --backend cuda")? else { return Ok(()) };
    let wide: Vec<String> = lines(&ended).into_iter().filter(|line| line.chars().count() > COLUMNS).collect();
    assert_eq!(wide, [""; 0], "{}", ended.out);
    let piped = crate::run::run(&["pingpong", "--backend", "cuda"]);
    assert!(piped.err.lines().any(|line| line.chars().count() > COLUMNS), "{}", piped.err);
    Ok(())
}

#[test]
fn a_run_says_from_its_first_moment_what_it_does() -> Done {
    let Some(ended) = on_a_terminal("pingpong --backend host --gpus 0 --size 64KiB --reps 6")? else {
        return Ok(());
    };
    let first = ended.out.find("opening devices").unwrap_or(usize::MAX);
    assert!(first < ended.out.find("sample").unwrap_or(usize::MAX), "{}", ended.out);
    assert!(!lines(&ended).concat().contains("opening devices"), "the line is taken away: {}", ended.out);
    Ok(())
}

#[test]
fn topo_is_coloured_as_other_commands_are() -> Done {
    let run = |args: &[&str]| crate::run::run(&[&["topo"], args].concat()).well().out;
    let (plain, colored) = (run(&[]), run(&["--color", "always"]));
    assert!(!plain.contains('\u{1b}') && colored.starts_with("\u{1b}[1m"), "{colored}");
    // Free memory changes from run to run.
    let words = |text: &str| {
        text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace(|c: char| c.is_ascii_digit(), "")
    };
    assert_eq!(words(&colored), words(&plain), "colour changes no word");
    assert_eq!(words(&run(&["--color", "never"])), words(&plain));
    Ok(())
}
