//! Prints this machine, or each hwloc XML file given, as `numabench topo` does: for trying the crate without
//! the binary, as in a guest. `-w N` sets the width, `-e` prints the environment too.

#![allow(clippy::print_stderr)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut width = 100;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "-e" {
            environment();
        } else if argument == "-w" {
            width = arguments.next().and_then(|width| width.parse().ok()).unwrap_or(width);
        } else {
            files.push(argument);
        }
    }

    let readings = if files.is_empty() {
        vec![topo::survey()]
    } else {
        files.iter().map(|file| topo::survey_xml(Path::new(file))).collect()
    };
    let mut code = ExitCode::SUCCESS;

    for reading in readings {
        match reading {
            Ok(survey) => {
                // A closed pipe (`| head`) is the reader's choice, not an error.
                let _ = writeln!(std::io::stdout(), "{}", topo::text::render(&survey, width));
            }
            Err(error) => {
                eprintln!("error: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Each probe on a line, with its source where it has a value and the reason where it has none.
fn environment() {
    let environment = topo::environment::probe();
    for probe in environment.probes {
        let value = probe.value.map_or_else(|| "-".to_owned(), |value| format!("{value:?}"));
        let _ =
            writeln!(std::io::stdout(), "{}: {value} ({})", probe.name, probe.reason.unwrap_or(probe.source));
    }
    for (name, value) in environment.variables {
        let _ = writeln!(std::io::stdout(), "{name}={value}");
    }
}
