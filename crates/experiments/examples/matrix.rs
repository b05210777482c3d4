//! A matrix without the command line: how fast each NUMA node's memory is copied to each GPU, or without a
//! GPU read by each node's cores.
//!
//! `cargo run --release -p numabench-experiments --example matrix` prints one line a figure: who, from where,
//! and the median rate of its proven blocks.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints what it found")]

use engine::EngineConfig;
use experiments::Fault;
use experiments::began::Began;
use experiments::document::Origin;
use experiments::driver::{RunContext, measure};
use experiments::observer::Nobody;
use experiments::options::{MatrixOptions, Measuring};
use experiments::signals::Signals;
use report::document::Tool;

fn main() -> Result<(), Fault> {
    let max_time = Some(std::time::Duration::from_secs(5));
    let engine = EngineConfig { max_time, ..EngineConfig::default() };
    let measuring = Measuring { engine, ..Measuring::default() };
    let options = MatrixOptions { size: 64 << 20, measuring, ..MatrixOptions::default() };
    let tool = Tool { name: "example".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), git: None };
    let session = RunContext {
        origin: Origin { tool, argv: std::env::args().collect(), began: Began::now() },
        sink: None,
        signals: &Signals::catch()?,
        observer: &mut Nobody,
        say: |text| eprintln!("{text}"),
    };

    let ended = measure(&options, session)?;

    for case in &ended.document.cases {
        for rank in &case.ranks {
            if let Some(summary) = rank.summary() {
                println!("{} rank {}: {:.2} GB/s", case.id, rank.rank, summary.median_bytes_per_s / 1e9);
            }
        }
    }
    Ok(())
}
