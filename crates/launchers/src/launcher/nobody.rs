//! No launcher: a process that was started by hand, or by one that sets no variable that is known.

use crate::dialect::{Dialect, say};
use crate::facts::{LauncherFacts, OF_ANY, Proof, SharedPus, Written};
use crate::interface::Interface;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "an unknown launcher",
    interface: |_| Interface::None,
    shared_pus: SharedPus::OfRank("this process's affinity"),
    frees_from_affinity: "start without the binding (taskset, numactl, srun --cpu-bind=none)",
    belongs_to_one_mpi: false,
    one_process: Some("without a launcher"),
    // A line for each process.
    writes: Some(|topology, places, situation| {
        let text = say(topology, places, Dialect::Taskset, situation).usable()?;
        let lines = text.lines().map(|line| line.split("  #").next().unwrap_or_default().to_owned());
        Ok(Written { proof: Proof::Lines(lines.collect()), text })
    }),
    through_exec: "numabench exec -- PROGRAM",
    ..OF_ANY
};
