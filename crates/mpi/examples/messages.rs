//! Messages without the command line: how long one takes between two ranks of a launch, from host memory to
//! host memory.
//!
//! `mpirun -n 2 target/release/examples/messages` prints one line a size: the median of its proven blocks.
//! Each rank starts this program again, as the session that its supervisor may lose.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints what it found")]

use experiments::began::Began;
use experiments::document::Origin;
use experiments::journal::FinishedRun;
use experiments::options::Backend;
use experiments::supervised::{Caller, PlaceAsked, run};
use experiments::{Exit, Fault};
use launchers::Launch;
use mpi::{MessageOptions, MessagePattern};
use report::MpiDocument;
use report::document::Tool;

fn main() -> Result<(), Fault> {
    let options = MessageOptions {
        place: PlaceAsked { backend: Backend::Host, ..PlaceAsked::default() },
        sizes: vec![8, 64 << 10],
        patterns: vec![MessagePattern::PingPong],
        max_time: std::time::Duration::from_secs(2),
        ..MessageOptions::default()
    };

    let tool = Tool { name: "example".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), git: None };
    let caller = Caller {
        origin: Origin { tool, argv: std::env::args().collect(), began: Began::now() },
        say: |text| eprintln!("{text}"),
        open: &|| Ok(None),
        show: &|ended: FinishedRun<MpiDocument>| {
            for case in ended.document.pairs.iter().flat_map(|pair| &pair.cases) {
                println!("{} B: {:.0} ns", case.bytes, case.message_ns.unwrap_or_default());
            }
            Ok(ended.exit)
        },
    };

    match run(&options, &Launch::here(), caller)? {
        Exit::Ok => Ok(()),
        exit => Err(Fault::silent(exit)),
    }
}
