//! One task a node: each node measures itself alone, or looks at its settings, and writes its own document
//! into one folder; the first task waits for the others and shows all nodes in one table. No MPI: the folder
//! is all that the nodes share.
//!
//! Several tasks on a node would measure while the others do, and are refused. The first task's code speaks
//! for all: others end with 0, because launchers end a launch when one task fails, and the nodes that are
//! still measuring are then lost. What became of each stands in its record (`fleet_record`).
//!
//! A document that lies in the folder from before is set aside (`HOST.json.earlier`) until the node has
//! written its own: no table, now or later, shows it as of this launch. That it will be replaced is said
//! first, once for all nodes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use analysis::node_run::NodeRun;
use analysis::nodes::{Mark, MissingNode, Nodes, nodes};
use launchers::{Launch, LaunchSize, host_list};
use report::document::Tool;

use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::fleet_record::{DocumentId, NodeProgress, NodeRecord, NodeRecords};
use crate::launched::said_once;

/// How long the first node waits for the others after its own end, where that is more than it took itself.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long where a signal has ended it: the others were sent it too.
const LAST_WORD: Duration = Duration::from_secs(2);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(200);
/// When it says that it waits.
const SAY_AFTER: Duration = Duration::from_secs(10);

/// The folder that documents of nodes go to, where `--json` names one: it is a folder, or ends with `/`.
pub fn folder(json: Option<&Path>) -> Option<&Path> {
    json.filter(|path| path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir())
}

/// Whether this process is one of a launch of several.
pub fn is_launched() -> bool {
    !Launch::here().is_alone()
}

/// What the first node of several does with what it has of all.
#[derive(Clone, Copy)]
pub struct FleetDesk<'a> {
    /// What makes the document of all nodes.
    pub tool: &'a Tool,
    /// Says something on standard error, at once.
    pub say: fn(&str),
    /// Shows all nodes.
    pub show: &'a dyn Fn(&Nodes) -> Result<(), Fault>,
}

/// Measures this node by `measure`, which is given the file for the document, and as the first of several
/// shows them all.
///
/// # Errors
/// The launch has several tasks on a node, or the folder cannot be written.
pub fn run(
    folder: &Path,
    desk: FleetDesk<'_>,
    measure: impl FnOnce(&Path) -> Result<Exit, Fault>,
) -> Result<Exit, Fault> {
    let launch = Launch::here();
    let host = host();
    let file = folder.join(format!("{host}.json"));
    let usable = |error| {
        Fault::usage(format!("the folder {} cannot be written: {error}; name another", folder.display()))
    };
    if launch.is_alone() {
        fs::create_dir_all(folder).map_err(usable)?;
        say_replaced(&file, desk);
        return measure(&file);
    }
    let (rank, size) = one_a_node(&launch).map_err(|why| said_once(Fault::usage(why), &launch))?;
    fs::create_dir_all(folder).map_err(usable)?;
    let records = NodeRecords::of(folder, |name| std::env::var(name).ok()).map_err(usable)?;
    let began = Instant::now();
    let mut record = NodeRecord { host, state: NodeProgress::Begun };
    records.write(rank, &record).map_err(usable)?;
    let own_name = records.take_name(rank, &record.host).map_err(usable)?;
    if rank == 0 {
        say_replaced(&file, desk);
    }
    let (ended, document) = match own_name {
        None => measured(&file, measure).map_err(usable)?,
        Some(other) => (Err(same_name(&record.host, other)), None),
    };
    let (code, message) = match &ended {
        Ok(exit) => (exit.code(), String::new()),
        Err(fault) => (fault.exit.code(), fault.to_string()),
    };
    record.state = NodeProgress::Ended { code, document, message };
    let written = records.write(rank, &record).map_err(usable);

    if let Err(fault) = &ended
        && fault.error.is_some()
    {
        (desk.say)(&format!("error: {fault}"));
    }

    if rank > 0 {
        return written.map(|()| Exit::Ok);
    }
    let patience = match &ended {
        Ok(Exit::Signal(_)) => LAST_WORD,
        _ => PATIENCE.max(began.elapsed()),
    };
    show(folder, &records, size, patience, desk)
}

/// Says that a document of an earlier run will be replaced, while it can still be kept.
fn say_replaced(file: &Path, desk: FleetDesk<'_>) {
    if file.exists() {
        (desk.say)(&format!(
            "note: {} is of an earlier run and will be replaced: to keep it, give another folder to --json",
            file.display()
        ));
    }
}

/// What measuring came to, and the id of the document that it wrote. An earlier document of the name is set
/// aside before, and removed once there is a new one.
fn measured(
    file: &Path,
    measure: impl FnOnce(&Path) -> Result<Exit, Fault>,
) -> io::Result<(Result<Exit, Fault>, Option<DocumentId>)> {
    let earlier = file.with_extension("json.earlier");
    if file.exists() {
        fs::rename(file, &earlier)?;
    }

    let ended = measure(file);
    let document = DocumentId::of(file);
    if document.is_some() && earlier.exists() {
        fs::remove_file(earlier)?;
    }
    Ok((ended, document))
}

/// Why a node has no document of its own.
fn same_name(host: &str, other: usize) -> Fault {
    let other = if other == usize::MAX { "another task".to_owned() } else { format!("task {other}") };
    Fault::usage(format!(
        "{other} of this launch has the host name {host} too, so their documents would be one file: give \
         each node a host name of its own, or run each node by itself with --json FILE"
    ))
}

/// This process's number and how many there are, where each node has one.
fn one_a_node(launch: &Launch) -> Result<(usize, usize), String> {
    let way_out = "use srun --ntasks-per-node=1 --cpu-bind=none (mpirun --map-by ppr:1:node --bind-to none): \
        one task measures its whole node";
    if launch.local_size.is_some_and(|size| size > 1) || launch.local_rank.is_some_and(|rank| rank > 0) {
        return Err(format!(
            "this launch has several tasks on a node, and each would measure while the others do: {way_out}"
        ));
    }

    match (launch.rank, launch.size) {
        (Some(rank), LaunchSize::Known(size)) if launch.local_size == Some(1) => Ok((rank, size)),
        _ => {
            let launcher = launch.launcher.name();
            Err(format!(
                "{launcher} does not say how many tasks it started on each node: {way_out}, or run each node \
                 by itself with --json DIR/"
            ))
        }
    }
}

/// The node's name: Slurm's, or its host name.
fn host() -> String {
    let slurms = std::env::var("SLURMD_NODENAME").ok().filter(|_| is_launched());
    let name = slurms.or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok()).unwrap_or_default();
    let plain: String = name
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect();
    if plain.is_empty() || plain.starts_with('.') { "node".to_owned() } else { plain }
}

/// Waits for the other nodes and shows all.
fn show(
    folder: &Path,
    records: &NodeRecords,
    size: usize,
    patience: Duration,
    desk: FleetDesk<'_>,
) -> Result<Exit, Fault> {
    let waiting = Instant::now();
    let has_ended = |rank: &usize| {
        records.read(*rank).is_some_and(|record| matches!(record.state, NodeProgress::Ended { .. }))
    };
    let (mut open, mut said): (Vec<usize>, bool) = ((0..size).collect(), false);

    loop {
        open.retain(|rank| !has_ended(rank));
        if open.is_empty() || waiting.elapsed() >= patience {
            break;
        }
        if !said && waiting.elapsed() >= SAY_AFTER {
            let limit = patience.as_secs();
            (desk.say)(&format!("waiting for {} of {size} nodes, for {limit} s at most", open.len()));
            said = true;
        }
        thread::sleep(LOOK);
    }

    let hosts =
        ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"].iter().find_map(|name| std::env::var(name).ok());
    let hosts = hosts.map(|list| host_list(&list)).filter(|hosts| hosts.len() == size).unwrap_or_default();
    let (mut runs, mut missing, mut codes) = (Vec::new(), Vec::new(), Vec::new());

    for rank in 0..size {
        let record = records.read(rank);
        let host = record.as_ref().map(|record| record.host.clone()).or_else(|| hosts.get(rank).cloned());
        let host = host.unwrap_or_else(|| format!("task {rank}"));
        let within = waiting.elapsed().as_secs();
        match record.map(|record| record.state) {
            None => missing.push(MissingNode { host, reason: "its task never began".to_owned() }),
            Some(NodeProgress::Begun) => {
                let reason = format!("it began and did not end within {within} s of the first node's end");
                missing.push(MissingNode { host, reason });
            }
            Some(NodeProgress::Ended { code, document, message }) => {
                codes.push(code);
                match of_node(folder, &host, document) {
                    Ok(found) => runs.extend(found),
                    Err(why) => {
                        let why = if message.is_empty() { why } else { message };
                        missing
                            .push(MissingNode { host, reason: format!("it ended with code {code}: {why}") });
                    }
                }
            }
        }
    }

    let found = nodes(desk.tool.clone(), runs, missing);
    (desk.show)(&found)?;
    (desk.say)(&format!(
        "the nodes' documents are in {}: `numabench report {}` shows them again",
        folder.display(),
        folder.display()
    ));
    if open.is_empty() {
        records.remove();
    }
    let has = |exit: Exit| codes.contains(&exit.code());

    Ok(match () {
        () if has(Exit::DataCorrupt) => Exit::DataCorrupt,
        () if found.rows.is_empty() => Exit::NoResult,
        () if found.marked(Mark::Slow) > 0 || has(Exit::Finding) => Exit::Finding,
        () if !found.missing.is_empty()
            || codes.iter().any(|code| ![0, Exit::Undecided.code()].contains(code)) =>
        {
            Exit::Partial
        }
        () if found.marked(Mark::Suspect) > 0 || has(Exit::Undecided) => Exit::Undecided,
        () => Exit::Ok,
    })
}

/// What the document that the node wrote in this launch says of it. It goes by the name that its task has it
/// by.
fn of_node(folder: &Path, host: &str, document: Option<DocumentId>) -> Result<Vec<NodeRun>, String> {
    let file: PathBuf = folder.join(format!("{host}.json"));
    let Some(document) = document else { return Err("it wrote no document".to_owned()) };
    if DocumentId::of(&file) != Some(document) {
        return Err(format!("{} is not the document that it wrote", file.display()));
    }
    let runs = documents::node_runs_of(&file).map_err(|error| error.to_string())?;
    let named = |run: NodeRun| NodeRun { host: host.to_owned(), ..run };
    let runs: Vec<NodeRun> = runs.into_iter().map(named).collect();
    let is_empty = runs.iter().all(|run| run.points.is_empty() && run.checks.is_empty());
    if is_empty { Err("its document has no figure".to_owned()) } else { Ok(runs) }
}
