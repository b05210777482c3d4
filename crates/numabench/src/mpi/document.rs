//! The document of a run of `numabench mpi`, from what the session said.

use std::collections::BTreeMap;
use std::path::Path as File;
use std::time::{Duration, Instant};

use exchange::{Attempt, CaseFound, Found, GpuThreadAt, Outcome, PairFound, Path, Placed, verdict};
use ranks::Launch;
use report::MpiDocument;
use report::document::Status;
use report::mpi::{
    MpiCase, MpiDeviceMemory, MpiGpuThread, MpiLibrary, MpiOperation, MpiPair, MpiPlaced, MpiRank, MpiSettings,
    MpiWitness, SCHEMA, rows, schema_version,
};
use report::render::Style;
use report::sink::Sink;
use stats::interval::{median, median_interval};
use stats::summary::CONFIDENCE;

use super::channel::{Met, RankFacts};
use super::gpu_cpus::ThreadSpot;
use super::matrix;
use super::session::pattern_of;
use super::words;
use crate::args::mpi::{Expect, Mpi};
use crate::began::Began;
use crate::document_journal::{is_due, print_document, settled};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::survive_file_size_limit;
use crate::{terminal, version};

/// Variables that decide how an MPI library sends: shown as they were set.
const VARIABLES: [&str; 17] = [
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "UCX_TLS",
    "UCX_NET_DEVICES",
    "UCX_RNDV_THRESH",
    "OMPI_MCA_pml",
    "OMPI_MCA_btl",
    "OMPI_MCA_osc",
    "OMPI_MCA_opal_cuda_support",
    "OMPI_MCA_btl_smcuda_use_cuda_ipc",
    "MPICH_GPU_SUPPORT_ENABLED",
    "MPICH_GPU_IPC_ENABLED",
    "MPICH_OFI_NIC_POLICY",
    "MPIR_CVAR_ENABLE_GPU",
    "MPIR_CVAR_NOLOCAL",
    "I_MPI_OFFLOAD",
];

/// How the session ended.
pub struct Ending {
    /// Why it is not complete; `None` where it is.
    pub why: Option<String>,
    /// The exit for the signal that came, if one did.
    pub signal: Option<Exit>,
    /// Whether the session did all it was to do.
    pub over: bool,
}

/// The document, kept while it grows.
pub struct Kept<'a> {
    args: &'a Mpi,
    launcher: &'static str,
    began: Began,
    sink: Option<Sink>,
    written: Option<(Instant, Duration)>,
    /// Whether something is known that the file does not have.
    behind: bool,
    warned: bool,
}

impl<'a> Kept<'a> {
    /// Opens the file of the document first: a run whose result cannot be kept must not begin.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(args: &'a Mpi, launch: &Launch) -> Result<Self, Fault> {
        survive_file_size_limit();
        let file = args.json.as_deref().filter(|path| *path != File::new("-") && launch.speaks());
        let sink = file.map(Sink::open).transpose().map_err(Fault::usage)?;
        Ok(Self {
            args,
            launcher: launch.launcher.name(),
            began: Began::now(),
            sink,
            written: None,
            behind: false,
            warned: false,
        })
    }

    /// Writes what is known so far, if it is time to.
    pub fn keep(&mut self, met: &Met, found: &Found) {
        self.behind = true;
        self.catch_up(met, found);
    }

    /// Writes what it was not time to write, if it is now: an operation that hangs brings nothing new.
    pub fn catch_up(&mut self, met: &Met, found: &Found) {
        if self.behind && self.written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took)) {
            self.write(&self.document(met, found, Status::Running, None, None));
        }
    }

    /// Writes what is known when a signal came.
    pub fn interrupted(&mut self, met: &Met, found: &Found, exit: Exit) {
        self.write(&self.document(met, found, Status::Interrupted, Some("a signal came".to_owned()), Some(exit)));
    }

    fn write(&mut self, document: &MpiDocument) {
        let Some(sink) = self.sink.as_ref() else { return };
        let began = Instant::now();
        let kept = json(document).and_then(|bytes| Ok(sink.write(&bytes)?));
        if let (Err(why), false) = (kept, self.warned) {
            terminal::say(&format!("warning: the document could not be kept up to date: {why}"));
            self.warned = true;
        }
        self.written = Some((Instant::now(), began.elapsed()));
        self.behind = false;
    }

    /// Writes the document for good and shows it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn conclude(self, met: &Met, found: &Found, ending: &Ending) -> Result<Exit, Fault> {
        let (status, exit) = ended(self.args, met.pairs.len(), found, ending);
        let document = self.document(met, found, status, ending.why.clone(), Some(exit));
        let bytes = json(&document).map_err(|error| Fault::new(Exit::NoResult, error))?;
        let (saved_to, kept) =
            self.sink.as_ref().map_or((None, Ok(())), |sink| settled(sink, sink.write_or_rescue(&bytes), exit));
        let printed = if self.args.json.as_deref() == Some(File::new("-")) {
            print_document(&bytes)
        } else {
            let saved_to = saved_to.map(|path| path.display().to_string());
            let (width, color) = (terminal::width(), terminal::color(self.args.color));
            let style = Style { width, color, quiet: self.args.quiet, saved_to };
            terminal::print(report::render::mpi(&document, &style).as_bytes())
        };
        kept.and(printed).map(|()| exit)
    }

    fn document(
        &self,
        met: &Met,
        found: &Found,
        status: Status,
        status_reason: Option<String>,
        exit: Option<Exit>,
    ) -> MpiDocument {
        let args = self.args;
        let ranks: Vec<MpiRank> = met.ranks.iter().map(rank).collect();
        let pairs: Vec<MpiPair> = found.pairs.iter().map(pair).collect();
        let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
        let mut document = MpiDocument {
            schema: SCHEMA.to_owned(),
            schema_version: schema_version(),
            tool: version::tool(),
            argv: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            started_at: self.began.started_at(),
            elapsed_s: self.began.elapsed().as_secs_f64(),
            status,
            status_reason,
            exit_code: exit.map(Exit::code),
            simulated: met.ranks.iter().find_map(|rank| rank.simulated.clone()),
            verdict: Vec::new(),
            mpi: MpiLibrary {
                library: Some(met.library.clone()),
                launcher: self.launcher.to_owned(),
                says: met.says.clone(),
                thread_level: Some(met.thread_level.clone()),
                variables: VARIABLES.iter().filter_map(variable).collect::<BTreeMap<_, _>>(),
            },
            settings: MpiSettings {
                sizes_bytes: args.sizes(),
                patterns: args.patterns().iter().map(|pattern| pattern_of(*pattern).name().to_owned()).collect(),
                operations: args.operations().iter().map(|o| o.name().to_owned()).collect(),
                operation_timeout_s: args.operation_timeout.as_secs(),
                seed: args.seed,
            },
            ranks,
            matrix: args.matrix.map(|by| matrix::matrix(by, &met.ranks)),
            rows: rows(&pairs),
            pairs,
            notes: notes(&met.ranks),
        };
        document.verdict = words::verdict(&document);
        document
    }
}

fn json(document: &MpiDocument) -> anyhow::Result<Vec<u8>> {
    Ok(report::render::json_value(document)?)
}

/// How the run of so many pairs stands at its end.
fn ended(args: &Mpi, pairs: usize, found: &Found, ending: &Ending) -> (Status, Exit) {
    if let Some(signal) = ending.signal {
        return (Status::Interrupted, signal);
    }
    let cases = || found.pairs.iter().flat_map(|pair| &pair.cases);
    // What MPI does wrong with device memory is what is looked for: a finding, and no fault of the run. Wrong bytes of host memory are one.
    let host = cases().any(|case| {
        case.case.path != Path::GpuAware && case.trouble.as_deref().is_some_and(|why| why.starts_with("corrupt"))
    });
    if host {
        return (Status::DataCorrupt, Exit::DataCorrupt);
    }
    let figures = cases().filter(|case| case.trouble.is_none() && !case.block_ns.is_empty()).count();
    if figures == 0 {
        return (Status::Failed, Exit::NoResult);
    }
    let ended_by_mpi = |pair: &PairFound| {
        pair.attempts.iter().any(|attempt| matches!(attempt.outcome, Outcome::Crash(_) | Outcome::Hang(_)))
    };
    // A library that died in an operation that it was tried with did what was asked: it answered, if no pair is left that it was not tried with.
    let last = found.pairs.len() == pairs && found.pairs.iter().all(|pair| !pair.attempts.is_empty());
    let answered = ending.over || (last && found.pairs.iter().any(ended_by_mpi));
    let all = cases().all(|case| case.trouble.is_none() || case.case.path == Path::GpuAware);
    if !answered || !all {
        return (Status::Partial, Exit::Partial);
    }
    let harms =
        |attempt: &Attempt| matches!(attempt.outcome, Outcome::Crash(_) | Outcome::Hang(_) | Outcome::Garbage(_));
    if found.pairs.iter().flat_map(|pair| &pair.attempts).any(harms) {
        return (Status::Complete, Exit::Finding);
    }
    (Status::Complete, expected(args, found))
}

/// The exit that `--expect` asks for.
fn expected(args: &Mpi, found: &Found) -> Exit {
    use verdict::{Awareness, Transport};
    let Some(expect) = args.expect else { return Exit::Ok };
    let mut exit = Exit::Ok;
    for pair in &found.pairs {
        let said = verdict::verdict(pair);
        let holds = match (expect, said.awareness, said.transport) {
            (_, Awareness::Unknown, _) => None,
            (Expect::Aware, awareness, _) => Some(awareness == Awareness::Aware),
            (Expect::Direct, Awareness::Aware, Transport::Unknown) => None,
            (Expect::Direct, awareness, transport) => {
                Some(awareness == Awareness::Aware && transport == Transport::Direct)
            }
        };
        match holds {
            Some(true) => {}
            Some(false) => return Exit::Finding,
            None => exit = Exit::Undecided,
        }
    }
    if found.pairs.is_empty() { Exit::Undecided } else { exit }
}

fn rank(facts: &RankFacts) -> MpiRank {
    MpiRank {
        rank: facts.rank as u32,
        host: facts.host.clone(),
        pu: facts.pu,
        memory_node: facts.memory_node,
        gpu: facts.gpu,
        gpu_name: facts.gpu_name.clone(),
        locality: facts.locality.clone(),
        gpu_threads: facts.gpu_threads.iter().map(gpu_thread).collect(),
    }
}

fn gpu_thread(spot: &ThreadSpot) -> MpiGpuThread {
    let at = match spot.at {
        GpuThreadAt::Near => "near",
        GpuThreadAt::Apart => "apart",
    };
    MpiGpuThread { at: at.to_owned(), pu: spot.pu, memory_node: spot.memory_node }
}

fn pair(found: &PairFound) -> MpiPair {
    let device = found.cases.iter().any(|case| case.case.path != Path::Host);
    MpiPair {
        ranks: found.ranks.map(|rank| rank as u32),
        device_memory: device.then(|| device_memory(found)),
        operations: found.attempts.iter().map(operation).collect(),
        cases: found.cases.iter().map(case).collect(),
        placed: found.placed.each_ref().map(|both| both.each_ref().map(|one| one.as_ref().map(placed))),
    }
}

fn device_memory(found: &PairFound) -> MpiDeviceMemory {
    let said = verdict::verdict(found);
    let names = |operations: &[exchange::Operation]| operations.iter().map(|o| o.name().to_owned()).collect();
    let witness = |witness: verdict::Witness| MpiWitness {
        name: witness.name.to_owned(),
        says: witness.says.to_owned(),
        detail: witness.detail,
    };
    let turn = verdict::crossover(&found.cases, Path::GpuAware, Path::Staged);
    MpiDeviceMemory {
        awareness: said.awareness.name().to_owned(),
        transport: said.transport.name().to_owned(),
        failing: names(&said.failing),
        not_tried: names(&said.not_tried),
        faster_than_staged_from_bytes: turn.faster_from.map(|bytes| bytes as u64),
        slower_than_staged_up_to_bytes: turn.slower_up_to.map(|bytes| bytes as u64),
        witnesses: said.witnesses.into_iter().map(witness).collect(),
        peer_copies: found.peer.clone(),
    }
}

fn operation(attempt: &Attempt) -> MpiOperation {
    let (outcome, detail) = match &attempt.outcome {
        Outcome::Works => ("works", None),
        Outcome::Garbage(wrong) => ("garbage", Some(wrong.said())),
        Outcome::Error(why) => ("error", Some(why.clone())),
        Outcome::Crash(how) => ("crash", Some(how.clone())),
        Outcome::Hang(seconds) => ("hang", Some(format!("did not return within {seconds} s"))),
        Outcome::NotTried => ("not-tried", None),
    };
    let name = attempt.operation.name().to_owned();
    MpiOperation { operation: name, bytes: attempt.bytes as u64, outcome: outcome.to_owned(), detail }
}

fn case(found: &CaseFound) -> MpiCase {
    let message_ns = median(&found.block_ns);
    MpiCase {
        path: found.case.path.name().to_owned(),
        pattern: found.case.pattern.name().to_owned(),
        bytes: found.case.bytes as u64,
        window: found.case.messages_a_round() as u32,
        rounds: found.rounds,
        message_interval_ns: median_interval(&found.block_ns, CONFIDENCE),
        bytes_per_s: message_ns.map(|ns| found.case.bytes_a_turn() / ns * 1e9),
        message_ns,
        block_ns: found.block_ns.clone(),
        gpu_bytes_per_s: median(&found.gpu_bytes_per_s),
        gpu_block_bytes_per_s: found.gpu_bytes_per_s.clone(),
        verified_bytes: found.verified_bytes,
        stop: found.stop.map(|stop| stop.name().to_owned()),
        reason: found.trouble.clone(),
    }
}

fn placed(placed: &Placed) -> MpiPlaced {
    MpiPlaced {
        pu: placed.pu,
        affinity: placed.affinity.clone(),
        pages: placed.pages.clone(),
        mismatch: placed.mismatch.clone(),
        gpu_threads: placed.gpu_threads.iter().map(self::placed).collect(),
    }
}

fn notes(ranks: &[RankFacts]) -> Vec<String> {
    let without: Vec<&RankFacts> = ranks.iter().filter(|rank| rank.gpu.is_none()).collect();
    match without.first() {
        None => Vec::new(),
        Some(first) if without.len() == ranks.len() => {
            let why = first.why_host.as_deref().unwrap_or("none was asked for");
            vec![format!("no GPU took part, host memory alone was sent: {why}")]
        }
        Some(first) => {
            vec![format!("rank {} has no GPU, so host memory alone was sent: every rank needs one", first.rank)]
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use exchange::{Case, Operation, Pattern};

    use super::*;
    use crate::args::{Args, Command};

    fn pair(ranks: [usize; 2], attempts: Vec<Attempt>) -> PairFound {
        let case = Case { path: Path::Host, pattern: Pattern::PingPong, bytes: 8 };
        let measured = CaseFound {
            case,
            block_ns: vec![500.0],
            gpu_bytes_per_s: Vec::new(),
            rounds: 1,
            verified_bytes: 16,
            stop: None,
            trouble: None,
        };
        let placed = [[None, None], [None, None]];
        PairFound { ranks, cases: vec![measured], attempts, counted: None, peer: None, placed }
    }

    #[test]
    fn what_it_was_not_time_to_write_is_written_when_it_is_though_nothing_new_comes() -> Result<(), Fault> {
        let folder = tempfile::tempdir().map_err(Fault::usage)?;
        let file = folder.path().join("mpi.json");
        let words = ["numabench", "mpi", "--json", &file.display().to_string()].map(str::to_owned);
        let Command::Mpi(args) = Args::parse_from(words).command else { panic!("it is `mpi`") };
        let launch = Launch { launcher: ranks::Launcher::Mpirun, ..Launch::ALONE };
        let mut kept = Kept::open(&args, &launch)?;
        let met = Met {
            library: String::new(),
            says: Vec::new(),
            thread_level: String::new(),
            ranks: Vec::new(),
            pairs: vec![[0, 1]],
        };
        let found = Found { pairs: vec![pair([0, 1], Vec::new())], interrupted: false };
        let length = || std::fs::metadata(&file).map_or(0, |file| file.len());
        kept.keep(&met, &Found::default());
        let first = length();
        assert!(first > 0);
        // A disk that took a second for it: the next is due ten seconds later, or five.
        kept.written = Some((Instant::now(), Duration::from_secs(1)));
        kept.keep(&met, &found);
        assert_eq!(length(), first);
        kept.written = Instant::now().checked_sub(Duration::from_secs(6)).map(|then| (then, Duration::from_secs(1)));
        kept.catch_up(&met, &found);
        assert!(length() > first);
        let last = std::fs::metadata(&file).and_then(|file| file.modified()).map_err(Fault::usage)?;
        kept.written = None;
        kept.catch_up(&met, &found);
        assert_eq!(std::fs::metadata(&file).and_then(|file| file.modified()).map_err(Fault::usage)?, last);
        Ok(())
    }

    #[test]
    fn a_crash_is_the_answer_of_a_run_only_where_no_pair_is_left() {
        let Command::Mpi(args) = Args::parse_from(["numabench", "mpi"]).command else { panic!("it is `mpi`") };
        let crash = || {
            let outcome = Outcome::Crash("SIGSEGV".to_owned());
            vec![Attempt { operation: Operation::Send, bytes: 1024, outcome }]
        };
        let ending = || Ending { why: Some("it died".to_owned()), signal: None, over: false };
        let ended = |pairs: usize, found: Vec<PairFound>| {
            ended(&args, pairs, &Found { pairs: found, interrupted: false }, &ending())
        };
        assert_eq!(ended(1, vec![pair([0, 1], crash())]), (Status::Complete, Exit::Finding));
        // One not begun, and one whose device memory was not.
        assert_eq!(ended(2, vec![pair([0, 1], crash())]), (Status::Partial, Exit::Partial));
        let other = pair([0, 2], Vec::new());
        assert_eq!(ended(2, vec![pair([0, 1], crash()), other]), (Status::Partial, Exit::Partial));
    }
}
