//! The document of a run of `numabench mpi`, from what the session said.

use std::collections::BTreeMap;

use analysis::mpi_answer;
use experiments::Exit;
use experiments::document::DocumentState;
use experiments::supervised::SupervisedRun;
use report::awareness::{MpiDeviceMemory, MpiOperation, OperationOutcome};
use report::mpi::{
    MpiAdapter, MpiCarried, MpiCase, MpiGpuThread, MpiLibrary, MpiPair, MpiPerByte, MpiPlaced, MpiRank,
    MpiSettings, rows,
};
use report::{MpiDocument, SavedDocument};
use stats::alpha::CONFIDENCE;
use stats::interval::{median, median_interval};

use super::facts::{MessageRanks, RankFacts};
use super::gpu_cpus::ThreadSpot;
use super::matrix;
use super::options::MessageOptions;
use crate::carried::{Carried, PerByte};
use crate::case::MessagePath;
use crate::operation::{Attempt, AttemptOutcome};
use crate::results::{CaseFound, MessageResults, PairFound, RankSeen};
use crate::verdict;

/// Variables that decide how an MPI library sends: shown as they were set.
const VARIABLES: [&str; 20] = [
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "UCX_TLS",
    "UCX_NET_DEVICES",
    "UCX_RNDV_THRESH",
    "FI_CXI_DEVICE_NAME",
    "FI_TCP_IFACE",
    "OMPI_MCA_btl_tcp_if_include",
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

/// The document of what is known of a run.
pub fn document(
    options: &MessageOptions,
    run: &SupervisedRun,
    met: &MessageRanks,
    found: &MessageResults,
    state: DocumentState,
) -> MpiDocument {
    let (launcher, origin) = (run.launch.launcher.name(), run.origin);
    let ranks: Vec<MpiRank> = met.ranks.iter().map(rank).collect();
    let pairs: Vec<MpiPair> = found.pairs.iter().map(|found| pair(found, &met.ranks)).collect();
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let mut document = MpiDocument {
        schema: MpiDocument::SCHEMA.to_owned(),
        schema_version: MpiDocument::VERSION.number(),
        tool: origin.tool.clone(),
        argv: origin.argv.clone(),
        started_at: origin.began.started_at(),
        elapsed_s: origin.began.elapsed().as_secs_f64(),
        status: state.status,
        status_reason: state.reason,
        exit_code: state.exit.map(Exit::code),
        simulated: met.ranks.iter().find_map(|rank| rank.simulated.clone()),
        verdict: Vec::new(),
        mpi: MpiLibrary {
            library: Some(met.library.clone()),
            launcher: launcher.to_owned(),
            says: met.says.clone(),
            thread_level: Some(met.thread_level),
            variables: VARIABLES.iter().filter_map(variable).collect::<BTreeMap<_, _>>(),
        },
        settings: MpiSettings {
            sizes_bytes: options.sizes.clone(),
            patterns: options.patterns.clone(),
            operations: options.operations.clone(),
            operation_timeout_s: options.operation_timeout.as_secs(),
            seed: options.seed,
            others_send: options.others_send,
        },
        ranks,
        pair_sample: met.pair_sample.clone(),
        matrix: options.matrix.map(|by| matrix::matrix(by, &met.ranks)),
        rows: rows(&pairs),
        pairs,
        notes: notes(&met.ranks),
    };
    document.verdict = mpi_answer::verdict(&document);

    document
}

fn rank(facts: &RankFacts) -> MpiRank {
    let location = &facts.location;
    MpiRank {
        rank: facts.rank() as u32,
        host: facts.host().to_owned(),
        pu: location.pu,
        memory_node: location.memory_node,
        gpu: location.gpu,
        gpu_name: facts.gpu_name.clone(),
        locality: facts.locality,
        gpu_threads: facts.gpu_threads.iter().map(gpu_thread).collect(),
        adapters: facts.adapters.clone(),
    }
}

fn gpu_thread(spot: &ThreadSpot) -> MpiGpuThread {
    MpiGpuThread { at: spot.at, pu: spot.pu, memory_node: spot.memory_node }
}

fn pair(found: &PairFound, ranks: &[RankFacts]) -> MpiPair {
    let device = found.cases.iter().any(|case| case.case.path.of_messages() != MessagePath::Host);
    MpiPair {
        ranks: found.ranks.map(|rank| rank as u32),
        device_memory: device.then(|| device_memory(found)),
        operations: found.attempts.iter().map(operation).collect(),
        cases: found.cases.iter().map(case).collect(),
        placed: found.placed.each_ref().map(|both| both.each_ref().map(|one| one.as_ref().map(placed))),
        carried: found.carried.iter().flat_map(|one| carried(one, found.ranks, ranks)).collect(),
    }
}

/// What each adapter of both ranks' hosts counted.
fn carried(found: &Carried, pair: [usize; 2], ranks: &[RankFacts]) -> Vec<MpiCarried> {
    let per_byte = |windows: &[f64]| {
        Some(MpiPerByte { median: median(windows)?, interval: median_interval(windows, CONFIDENCE)? })
    };
    let of_host = |(rank, counted): (usize, &Vec<PerByte>)| -> Vec<MpiCarried> {
        let of = |(adapter, counted): (&MpiAdapter, &PerByte)| MpiCarried {
            path: found.case.path.in_documents(),
            pattern: found.case.pattern,
            bytes: found.case.bytes as u64,
            rank: rank as u32,
            adapter: adapter.name.clone(),
            sent: per_byte(&counted.sent),
            received: per_byte(&counted.received),
        };
        ranks[rank].adapters.iter().zip(counted).map(of).collect()
    };

    pair.into_iter().zip(&found.by).flat_map(of_host).collect()
}

fn device_memory(found: &PairFound) -> MpiDeviceMemory {
    let said = verdict::verdict(found);
    let crossover = verdict::crossover(&found.cases, MessagePath::GpuAware, MessagePath::Staged);

    MpiDeviceMemory {
        awareness: said.awareness,
        transport: said.transport,
        failing: said.failing,
        not_tried: said.not_tried,
        faster_than_staged_from_bytes: crossover.faster_from.map(|bytes| bytes as u64),
        slower_than_staged_up_to_bytes: crossover.slower_up_to.map(|bytes| bytes as u64),
        witnesses: said.witnesses,
        peer_copies: found.peer.clone(),
    }
}

fn operation(attempt: &Attempt) -> MpiOperation {
    let (outcome, detail) = match &attempt.outcome {
        AttemptOutcome::Works => (OperationOutcome::Works, None),
        AttemptOutcome::Garbage(wrong) => (OperationOutcome::Garbage, Some(wrong.description())),
        AttemptOutcome::Error(why) => (OperationOutcome::Error, Some(why.clone())),
        AttemptOutcome::Crash(how) => (OperationOutcome::Crash, Some(how.clone())),
        AttemptOutcome::Hang(seconds) => {
            (OperationOutcome::Hang, Some(format!("did not return within {seconds} s")))
        }
        AttemptOutcome::NotTried => (OperationOutcome::NotTried, None),
    };
    MpiOperation { operation: attempt.operation, bytes: attempt.bytes as u64, outcome, detail }
}

fn case(found: &CaseFound) -> MpiCase {
    let message_ns = median(&found.block_ns);

    MpiCase {
        path: found.case.path.in_documents(),
        pattern: found.case.pattern,
        bytes: found.case.bytes as u64,
        window: found.case.messages_a_round() as u32,
        rounds: found.rounds,
        message_interval_ns: median_interval(&found.block_ns, CONFIDENCE),
        bytes_per_s: message_ns
            .filter(|_| found.case.bytes > 0)
            .map(|ns| found.case.bytes_a_turn() / ns * 1e9),
        message_ns,
        block_ns: found.block_ns.clone(),
        gpu_bytes_per_s: median(&found.gpu_bytes_per_s),
        gpu_block_bytes_per_s: found.gpu_bytes_per_s.clone(),
        verified_bytes: found.verified_bytes,
        stop: found.stop,
        reason: found.trouble.clone(),
    }
}

fn placed(placed: &RankSeen) -> MpiPlaced {
    MpiPlaced {
        pu: placed.pu,
        affinity: placed.affinity.clone(),
        pages: placed.pages.clone(),
        mismatch: placed.mismatch.clone(),
        gpu_threads: placed.gpu_threads.iter().map(self::placed).collect(),
    }
}

fn notes(ranks: &[RankFacts]) -> Vec<String> {
    let without: Vec<&RankFacts> = ranks.iter().filter(|rank| rank.location.gpu.is_none()).collect();
    match without.first() {
        None => Vec::new(),
        Some(first) if without.len() == ranks.len() => {
            let why = first.location.why_host.as_deref().unwrap_or("none was asked for");
            vec![format!("no GPU took part, host memory alone was sent: {why}")]
        }
        Some(first) => {
            vec![format!(
                "rank {} has no GPU, so host memory alone was sent: every rank needs one",
                first.rank()
            )]
        }
    }
}
