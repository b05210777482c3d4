//! `flux run`: its facts. What a line asks for is read in `request`, and where it puts tasks in `affinity`.

mod affinity;
mod request;

use std::collections::BTreeMap;

use ranks::Flavour;

use crate::dialect::{Starter, flux};
use crate::error::LineError;
use crate::facts::{LauncherFacts, MpiOption, OF_ANY, Reads, Sensed, SharedPus, Written};
use crate::grammar::{Grammar, Style};
use crate::interface::Interface;
use crate::layout::{LaunchLine, Options, Tells};

use affinity::Affinity;
use request::Request;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "flux run",
    // flux-core, src/shell/task.c; the broker takes these away from what runs in an instance but is no job of
    // it.
    sensed: |variables| {
        let size = variables.number("FLUX_JOB_SIZE").filter(|_| variables.is_set("FLUX_TASK_RANK"))?;
        Some(Sensed::one_of(size, "FLUX_TASK_RANK"))
    },
    // It tells no number of processes for a node, which is known where the job has one node.
    local_rank: &["FLUX_TASK_LOCAL_ID"],
    number_of_nodes: Some("FLUX_JOB_NNODES"),
    tells: &[
        ("FLUX_TASK_LOCAL_ID", Tells::LocalRank),
        ("FLUX_TASK_RANK", Tells::Rank),
        ("FLUX_JOB_SIZE", Tells::Size),
        ("PMI_RANK", Tells::Rank),
        ("PMI_SIZE", Tells::Size),
    ],
    of_one_launch: &["FLUX_JOB_ID"],
    starters: &["flux-shell"],
    shared_pus: SharedPus::OfDaemons(&["flux-shell"]),
    frees_from_affinity: "start it with flux run -o mpibind=off -o cpu-affinity=off",
    widens_cpuset: "ask for the whole node (flux run -N1 --exclusive)",
    shows_devices: "show every task all GPUs (flux run -o mpibind=off -o gpu-affinity=off), or leave --gpus \
        out",
    belongs_to_one_mpi: false,
    // flux-pmix, README.
    mpi_option: |library| {
        let start = "flux run -o pmi=pmix …".to_owned();
        (library.flavour == Flavour::OpenMpi).then_some(MpiOption { offers: Some(Interface::Pmix), start })
    },
    reads: Reads::Own(&["flux"], read),
    writes: Some(|topology, places, situation| flux::line(topology, places, situation).map(Written::line)),
    leaves_unbound: &["-o", "mpibind=off", "-o", "cpu-affinity=off"],
    through_exec: "flux run -o mpibind=off -o cpu-affinity=off … numabench exec -- PROGRAM",
    starter: Some(Starter::Flux),
    ..OF_ANY
};

const FLUX: Grammar = Grammar {
    tool: "flux run",
    style: Style::Getopt,
    letters: "n:N:c:g:o:t:q:B:xO:lvS:",
    names: "exclusive verbose dry-run unbuffered label-io coral2-chassis ntasks: nodes: nslots: \
        cores-per-task: gpus-per-task: gpus-per-node: tasks-per-node: tasks-per-core: cores: setopt: \
        setattr: time-limit: queue: bank: env: env-remove: env-file: output: error: input: job-name: \
        urgency: cwd: requires: rlimit: begin-time: signal: taskmap: add-file: conf: flags: dependency: log: \
        log-stderr:",
    is_open: true,
};

/// Reads `flux run`'s options.
///
/// # Errors
/// [`LineError`]: flux would refuse them.
fn read<'l>(line: &LaunchLine<'l>) -> Result<Options<'l>, LineError> {
    let LaunchLine { words, machine, .. } = *line;
    let words = match words.split_first() {
        Some((&("run" | "submit" | "mini"), rest)) => rest.strip_prefix(&["run"]).unwrap_or(rest),
        _ => return Err(LineError::NotSaid("of flux, the line of flux run is read".to_owned())),
    };
    let (given, program) = FLUX.read(words)?;
    let (mut request, mut affinity) = (Request::default(), Affinity::DEFAULT);
    let mut environment = BTreeMap::new();

    for one in &given {
        match one.name {
            "env" => environment.extend(one.assignment()),
            "o" | "setopt" => affinity.option(one.value()),
            _ => request.option(one)?,
        }
    }

    let (count, share) = request.share(machine)?;
    let (layouts, mut notes) = affinity.layouts(share, machine)?;
    let is_uneven = count.ranks.zip(count.nodes).is_some_and(|(tasks, nodes)| !tasks.is_multiple_of(nodes));
    if is_uneven && share.is_whole {
        notes.push(format!(
            "judged is a node with {} tasks: one with fewer divides its cores and GPUs among those",
            share.tasks
        ));
    }
    notes.extend(FLUX.notes(&given));
    let order = "CUDA_DEVICE_ORDER";
    if affinity.sets_variables() && !line.variables.contains_key(order) {
        environment.entry(order.to_owned()).or_insert_with(|| "PCI_BUS_ID".to_owned());
    }

    Ok(Options { count, layouts, program, environment, withheld: Vec::new(), notes })
}
