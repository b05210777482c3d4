//! `--dry-run`: the plan as it would be carried out, without touching a GPU.

use std::fmt::Write;

use placement::TargetId;
use stats::units::counted;
use topo::Topology;

use crate::args::Pingpong;
use crate::backends::Untouched;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::planned;
use crate::{backends, config, terminal};

/// Plans and prints.
pub fn show(args: &Pingpong, topology: &Topology) -> Result<Exit, Fault> {
    let Untouched { kind, targets, source } = backends::untouched(args.backend, args.gpus.is_some(), topology)?;
    let plan = planned(args, topology, targets)?;
    let config = config::checked(args, kind, plan.ranks.len())?;
    let mut text = String::new();
    let host = |node| topology.memory_bytes(node);
    let fits = pingpong::check_budget(&config, &plan, host, |_| None);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Plan (dry run: no GPU was touched, nothing was measured)");
    let _ = writeln!(text, "platform  {source}");
    for rank in &plan.ranks {
        let device = match rank.target.id {
            TargetId::Gpu(pci) => format!("GPU {} = {pci}", rank.target.index),
            TargetId::Node(node) => format!("memory of node {node}"),
        };
        let closeness = rank.verdict.closeness.text();
        let _ = writeln!(
            text,
            "rank {:<3} PU {:<4} memory on node {:<3} {device}  {closeness}",
            rank.rank, rank.pu, rank.memory_node
        );
        let _ = writeln!(text, "         PU: {}", rank.chosen_by.text());
        let _ = writeln!(text, "         {}", rank.verdict.reason);
    }
    plan.notes.iter().for_each(|note| {
        let _ = writeln!(text, "note      {note}");
    });
    let cases = pingpong::Case::all(&config);
    let sizes: Vec<String> = config.sizes.iter().map(|size| stats::units::size(*size as u64)).collect();
    let memory: Vec<&str> = config.memory.iter().map(|kind| kind.name()).collect();
    let directions: Vec<&str> = config.directions.iter().map(|direction| direction.name()).collect();
    let _ = writeln!(text, "cases     {} on {}", cases.len(), counted(plan.ranks.len(), "rank"));
    let _ = writeln!(text, "sizes     {}", sizes.join(", "));
    let _ = writeln!(text, "memory    {}, directions {}", memory.join(", "), directions.join(", "));
    if config.max_time != std::time::Duration::MAX {
        let _ = writeln!(text, "time      no further pass after {:.0} s of measuring", config.max_time.as_secs_f64());
    }
    terminal::print(text.as_bytes())?;
    fits.map(|()| Exit::Ok).map_err(Fault::usage)
}
