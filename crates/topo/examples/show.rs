//! Prints this machine, or each hwloc XML file given, as `numabench topo` does: for trying the crate without the binary, as
//! in a guest. `-w N` sets the width.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut width = 100;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "-w" {
            width = arguments.next().and_then(|width| width.parse().ok()).unwrap_or(width);
        } else {
            files.push(argument);
        }
    }
    let readings = if files.is_empty() {
        vec![topo::read()]
    } else {
        files.iter().map(|file| topo::from_xml(Path::new(file))).collect()
    };
    let mut code = ExitCode::SUCCESS;
    for reading in readings {
        match reading {
            Ok(topology) => println!("{}", topo::text::render(&topology, width)),
            Err(error) => {
                eprintln!("error: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
