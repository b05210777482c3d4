//! The document, from the records of a run.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use analysis::witness_answer;
use report::document::Tool;
use report::witness::{WitnessBuffer, WitnessProcess};
use report::{SavedDocument, WitnessDocument};

use crate::buffers::{self, NearNodes};
use crate::gain::MatrixRates;
use crate::layout::head;
use crate::record::{ProcessRecord, Records};
use crate::{answer, gain};

/// What is known of the run beside its records.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// The program that writes the document.
    pub tool: Tool,
    /// Its command line.
    pub argv: Vec<String>,
    /// When the program was started, RFC 3339.
    pub started_at: String,
    /// How long it ran.
    pub elapsed: Duration,
    /// The host.
    pub host: Option<String>,
    /// The rank in a launch.
    pub rank: Option<u32>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// How it ended.
    pub status: ExitStatus,
}

/// The document; `matrix` is the rates of this node.
pub fn document(
    about: RunFacts,
    records: &Records,
    near: &[NearNodes],
    matrix: Option<&MatrixRates>,
) -> WitnessDocument {
    let found = buffers::buffers(&records.processes, near);
    let total = buffers::total(&found);
    let waited: f64 = found.iter().filter_map(|buffer| buffer.waited_s).sum();
    let remedy = remedy(&found, &about, near);
    let simulated = records.processes.iter().any(|process| process.head(head::SIMULATED) == 1);
    let used = matrix.filter(|matrix| matrix.are_as_real_as(simulated));
    let mut document = WitnessDocument {
        schema: WitnessDocument::SCHEMA.to_owned(),
        schema_version: WitnessDocument::VERSION.number(),
        tool: about.tool,
        argv: about.argv,
        started_at: about.started_at,
        elapsed_s: about.elapsed.as_secs_f64(),
        host: about.host,
        rank: about.rank,
        exit_code: about.status.code(),
        signal: about.status.signal(),
        simulated,
        verdict: Vec::new(),
        not_seen: Vec::new(),
        total,
        waited_s: found.iter().any(|buffer| buffer.waited_s.is_some()).then_some(waited),
        rates: buffers::rates(&found),
        gain: used.and_then(|matrix| gain::gain(&matrix.files, &matrix.rates, &found, near)),
        remedy,
        program: about.program,
        buffers: found,
        processes: records.processes.iter().map(process).collect(),
        loaded: records.loaded,
        not_counted: (records.passive.len() + records.broken) as u32,
        still_running: Some(records.still_running.iter().copied().collect()),
        distance_unknown: None,
    };

    document.distance_unknown = answer::distance_unknown(&document, near);
    document.verdict = witness_answer::verdict(&document, &[document.elapsed_s]);
    document.not_seen = answer::not_seen(records, &document);
    document.not_seen.extend(matrix.and_then(|matrix| answer::of_matrix(matrix, &document)));
    document
}

/// The line that starts the program near its GPUs; `None` where nothing is far, or where no single place is
/// near to all of them. A program that copies to several must see them all.
pub(crate) fn remedy(buffers: &[WitnessBuffer], about: &RunFacts, near: &[NearNodes]) -> Option<String> {
    if buffers.iter().all(|buffer| buffer.far_bytes == 0) {
        return None;
    }
    let gpus: BTreeSet<&str> = buffers.iter().map(|buffer| buffer.gpu.as_str()).collect();
    let of: Vec<&NearNodes> = near.iter().filter(|near| gpus.contains(near.gpu.as_str())).collect();
    let first = of.first()?;
    if of.iter().any(|other| other.nodes.and(&first.nodes).is_empty()) {
        return None;
    }
    let program = shell_words::join(&about.program);
    let sees = if gpus.len() > 1 { " --gpu near" } else { "" };
    Some(match about.rank {
        Some(_) => format!("the same launcher with numabench exec{sees} -- {program}"),
        None => format!("numabench exec --gpus {}{sees} -- {program}", first.index),
    })
}

fn process(record: &ProcessRecord) -> WitnessProcess {
    WitnessProcess {
        pid: u32::try_from(record.head(head::PID)).unwrap_or(0),
        name: record.name(),
        ended: record.head(head::ENDED) == 1,
        device_copies: record.head(head::DEVICE_COPIES),
        device_bytes: record.head(head::DEVICE_BYTES),
        host_copies: record.head(head::HOST_COPIES),
        host_bytes: record.head(head::HOST_BYTES),
        prefetches: record.head(head::PREFETCHES),
        prefetch_bytes: record.head(head::PREFETCH_BYTES),
        graphs: record.head(head::GRAPHS),
        graphs_not_seen: record.head(head::GRAPHS_UNSEEN),
        refused: record.head(head::REFUSED),
        lost: record.head(head::LOST),
        lost_bytes: record.head(head::LOST_BYTES),
        looks: record.head(head::LOOKS),
        looks_done: record.head(head::LOOKS_DONE),
        timings: record.head(head::TIMINGS),
        timings_read: record.head(head::TIMINGS_READ),
    }
}
