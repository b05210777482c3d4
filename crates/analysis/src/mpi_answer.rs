//! What a measurement of messages found, in the sentences read first: what MPI does with device memory, the
//! figures, and what to set.

use report::MpiDocument;
use report::awareness::{Awareness, DeviceOperation, MpiDeviceMemory, OperationOutcome, Transport};
use report::document::Status;
use report::message::{MessagePattern, MpiPath};
use report::mpi::{MpiCase, MpiPair};
use stats::alike::distinct;

use crate::mpi_figure::{half_width, is_one_way};
use crate::words::{capital, three_digits};
use crate::{headline, mpi_adapters, mpi_matrix, mpi_rails, mpi_threads, pair_sample};

/// From this size on a message has a rate worth naming.
const LARGE: u64 = 1 << 20;

/// The answer, the first line first.
pub fn verdict(document: &MpiDocument) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Status::Failed, Some(why)) = (document.status, &document.status_reason) {
        return vec![format!("No figure was measured: {why}.")];
    }

    if let Some(matrix) = document.matrix.as_ref().filter(|_| !document.pairs.is_empty()) {
        lines.extend(mpi_matrix::verdict(document, matrix));
        // The same of most pairs: each sentence once.
        for pair in document.pairs.iter().filter(|pair| !pair.operations.is_empty()) {
            let said = pair.device_memory.as_ref().map(|memory| aware(memory, pair));
            lines.extend(said.filter(|said| !lines.contains(said)));
        }
    }

    let one_by_one = if document.matrix.is_none() { &document.pairs[..] } else { &[] };

    for pair in one_by_one {
        let who = if document.pairs.len() > 1 {
            format!("Ranks {} and {}: ", pair.ranks[0], pair.ranks[1])
        } else {
            String::new()
        };
        // Whoever asked for threads asked for this.
        lines.extend(mpi_threads::verdict(pair).into_iter().map(|said| format!("{who}{said}")));
        if let Some(memory) = &pair.device_memory {
            lines.push(format!("{who}{}", aware(memory, pair)));
            lines.extend(turn(memory, pair));
        }
        lines.extend(
            figures(pair)
                .map(|said| if pair.device_memory.is_some() { said } else { format!("{who}{said}") }),
        );
        lines.extend(shared_gpu(document, pair).map(|said| format!("{who}{said}")));
        if let Some(advice) = pair.device_memory.as_ref().and_then(|memory| advice(memory, document)) {
            lines.push(advice);
        }
    }

    lines.extend(mpi_adapters::verdict(document));
    lines.extend(mpi_rails::verdict(document));
    if lines.is_empty() {
        lines.push("Nothing was measured yet.".to_owned());
    }
    let sample = document.pair_sample.as_ref().map(|sample| pair_sample::sentence(sample, "rank"));
    lines.splice(0..0, sample);

    if let Some(why) = &document.status_reason {
        let tail = if document.status == Status::Complete {
            "What was measured before is kept."
        } else {
            "What was measured before is kept; the rest is missing."
        };
        lines.push(format!("The run ended early: {why}. {tail}"));
    }
    headline::with_advice(lines)
}

fn aware(memory: &MpiDeviceMemory, pair: &MpiPair) -> String {
    let failing = DeviceOperation::names(&memory.failing);
    let way = match memory.transport {
        Transport::Direct => "goes directly from GPU to GPU",
        Transport::Staged => "is staged through host memory by MPI",
        Transport::Unknown => "takes a path that could not be determined",
        Transport::Newer => "takes a path that a newer numabench knows",
    };

    match memory.awareness {
        Awareness::Aware => format!(
            "MPI is GPU-aware: device memory works in all {} operations tried, and {way}.",
            tried(pair)
        ),
        Awareness::HalfAware => {
            format!("MPI is half GPU-aware: device memory {way}, but these operations fail: {failing}.")
        }
        Awareness::NotAware => {
            format!("MPI is not GPU-aware: MPI_Send of device memory fails{}.", how_send_fails(pair))
        }
        Awareness::Unknown if pair.operations.is_empty() => {
            "Device memory was staged by numabench; MPI was not given any.".to_owned()
        }
        Awareness::Unknown => "Unknown whether MPI is GPU-aware: not every operation was tried.".to_owned(),
        Awareness::Newer => "A newer numabench knows whether MPI is GPU-aware.".to_owned(),
    }
}

/// ` (crash: SIGSEGV)`: how MPI_Send of device memory fails, where that is known.
fn how_send_fails(pair: &MpiPair) -> String {
    let failed = pair.operations.iter().find(|tried| {
        let is_bad = !matches!(tried.outcome, OperationOutcome::Works | OperationOutcome::Newer);
        tried.operation == DeviceOperation::Send && is_bad
    });
    failed.map_or(String::new(), |tried| {
        let detail = tried.detail.as_deref().map_or(String::new(), |detail| format!(": {detail}"));
        format!(" ({}{detail})", tried.outcome.name())
    })
}

/// From which size on MPI's own way with device memory is worth taking, where it was measured beside staged
/// copies.
fn turn(memory: &MpiDeviceMemory, pair: &MpiPair) -> Option<String> {
    let measured =
        |path: MpiPath| pair.cases.iter().any(|case| case.path == path && case.counted_ns().is_some());
    if !measured(MpiPath::GpuAware) || !measured(MpiPath::Staged) {
        return None;
    }
    let size = stats::units::size;

    Some(match (memory.slower_than_staged_up_to_bytes, memory.faster_than_staged_from_bytes) {
        (None, Some(from)) => {
            format!("It is faster than staging by hand from {} on, and at no size slower.", size(from))
        }
        (Some(to), Some(from)) => format!(
            "It is faster than staging by hand from {} on, and slower up to {}; it changes between the two.",
            size(from),
            size(to)
        ),
        (Some(to), None) => {
            format!("It is slower than staging by hand up to {}, and at no size surely faster.", size(to))
        }
        (None, None) => "At no size is it surely faster or slower than staging by hand.".to_owned(),
    })
}

fn tried(pair: &MpiPair) -> usize {
    let mut operations: Vec<DeviceOperation> = pair.operations.iter().map(|tried| tried.operation).collect();
    operations.dedup();
    operations.len()
}

/// What both ranks' copies to and from one GPU wait for: a GPU runs one process's work at a time, and going
/// over to another's takes it far longer than a copy of a few bytes, unless NVIDIA's MPS makes one context of
/// both.
fn shared_gpu(document: &MpiDocument, pair: &MpiPair) -> Option<String> {
    let end = |number: u32| document.ranks.iter().find(|rank| rank.rank == number);
    let [from, to] = pair.ranks.map(end);
    let (from, to) = (from?, to?);
    let gpu =
        from.gpu.as_ref().filter(|_| from.host == to.host && from.gpu == to.gpu && from.rank != to.rank)?;
    let copies = |case: &&MpiCase| {
        matches!(case.path, MpiPath::Staged | MpiPath::Pipelined) && case.counted_ns().is_some()
    };
    pair.cases.iter().find(copies)?;
    Some(format!(
        "Both ranks use GPU {gpu}: the times of small staged messages are those of the GPU changing between \
         two processes, and no property of staging. Give each rank a GPU of its own, or use NVIDIA MPS."
    ))
}

/// The paths whose figures stand in one line, and what they are called there.
const HEADS: [(MpiPath, &str); 5] = [
    (MpiPath::GpuAware, "GPU-aware"),
    (MpiPath::Pipelined, "staged by hand in chunks"),
    (MpiPath::Staged, "staged by hand"),
    (MpiPath::PeerCopy, "peer copy"),
    (MpiPath::Host, "host to host"),
];

/// The rate of each path's large messages and the time of its small ones; where neither was measured, the
/// rate of what was. The line reads as a comparison, so that all paths stand there with the same sizes.
fn figures(pair: &MpiPair) -> Option<String> {
    let is_large_rate = |case: &MpiCase| is_one_way(case) && case.bytes >= LARGE && has_rate(case);
    let is_small_time = |case: &MpiCase| case.pattern == MessagePattern::PingPong && case.bytes < LARGE;
    let mut rates = at_shared_size(pair, is_large_rate, |bytes| bytes);
    let times = at_shared_size(pair, is_small_time, |bytes| u64::MAX - bytes);

    if rates.iter().chain(&times).all(|case| case.path == MpiPath::PeerCopy) {
        let of =
            |pattern| at_shared_size(pair, |case| case.pattern == pattern && has_rate(case), |bytes| bytes);
        let windows = [MessagePattern::OneWay, MessagePattern::BothWays].map(of);
        rates.extend(windows.into_iter().find(|cases| !cases.is_empty()).unwrap_or_default());
    }

    let part = |(path, head): (MpiPath, &str)| {
        let said: Vec<String> = best_rate(path, &rates).into_iter().chain(time(path, &times)).collect();
        (!said.is_empty()).then(|| format!("{head} {}", said.join(", ")))
    };
    let parts: Vec<String> = HEADS.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("{}.", capital(&parts.join("; "))))
}

/// The counted figures of some kind at the size that the most paths have, the first by `order` of several.
fn at_shared_size(
    pair: &MpiPair,
    is_of_kind: impl Fn(&MpiCase) -> bool,
    order: impl Fn(u64) -> u64,
) -> Vec<&MpiCase> {
    let is_shown = |case: &&MpiCase| {
        HEADS.iter().any(|(path, _)| case.path == *path) && case.counted_ns().is_some() && is_of_kind(case)
    };
    let mut cases: Vec<&MpiCase> = pair.cases.iter().filter(is_shown).collect();
    let paths_at =
        |bytes: u64| distinct(cases.iter().filter(|case| case.bytes == bytes).map(|case| case.path)).len();
    let size = cases.iter().map(|case| case.bytes).max_by_key(|bytes| (paths_at(*bytes), order(*bytes)));
    cases.retain(|case| Some(case.bytes) == size);
    cases
}

fn has_rate(case: &MpiCase) -> bool {
    case.counted_bytes_per_s().is_some()
}

/// `24.1 GB/s at 64 MiB`: the best rate of a path among these figures.
fn best_rate(path: MpiPath, cases: &[&MpiCase]) -> Option<String> {
    let rate = |case: &&&MpiCase| case.counted_bytes_per_s().unwrap_or_default();
    let of_path = cases.iter().filter(|case| case.path == path);
    let best = of_path.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let figure = headline::figure(format!("{} GB/s", three_digits(rate(&best) / 1e9)), half_width(best));
    let both = if best.pattern == MessagePattern::BothWays { " both ways" } else { "" };
    Some(format!("{figure}{both} at {}", stats::units::size(best.bytes)))
}

/// `2.05 µs for 8 B`: the time of a path's message among these figures.
fn time(path: MpiPath, cases: &[&MpiCase]) -> Option<String> {
    let case = cases.iter().find(|case| case.path == path)?;
    let figure = headline::figure(format!("{} µs", three_digits(case.counted_ns()? / 1e3)), half_width(case));
    Some(format!("{figure} for {}", stats::units::size(case.bytes)))
}

/// What to set, by the library's own documents: Open MPI's FAQ on CUDA and UCX's, MPICH's CHANGES, Cray
/// MPICH's mpi(3).
fn advice(memory: &MpiDeviceMemory, document: &MpiDocument) -> Option<String> {
    let library = document.mpi.library.as_deref().unwrap_or_default();
    let is_cray = library.to_lowercase().contains("cray");

    match (memory.awareness, memory.transport) {
        (Awareness::NotAware, _) if is_cray => Some(
            "To change it: set MPICH_GPU_SUPPORT_ENABLED=1 and load the module of the GPU's target \
             (craype-accel-…)."
                .to_owned(),
        ),
        (Awareness::NotAware, _) if library.contains("Open MPI") => Some(
            "To change it: use an Open MPI built --with-cuda or --with-rocm, or one with UCX that has CUDA \
             or ROCm (ucx_info -d | grep -E 'cuda|rocm') and `--mca pml ucx`; until then copy to host memory \
             before MPI_Send."
                .to_owned(),
        ),
        (Awareness::NotAware, _) => Some(
            "To change it: use an MPI that was built with CUDA or ROCm; until then copy to host memory \
             before MPI_Send."
                .to_owned(),
        ),
        (Awareness::HalfAware, _) => Some(format!(
            "Until the library is changed: copy to host memory before {}.",
            DeviceOperation::names(&memory.failing)
        )),
        (Awareness::Aware, Transport::Staged) => Some(
            "To change it: let UCX use cuda_ipc or rocm_ipc (UCX_TLS), let both ranks see both GPUs (a \
             --gpu-bind or device cgroup that hides one forbids IPC), and look for variables above that \
             switch IPC off."
                .to_owned(),
        ),
        (Awareness::Aware, Transport::Direct | Transport::Unknown | Transport::Newer)
        | (Awareness::Unknown | Awareness::Newer, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use report::SavedDocument;

    use super::*;

    #[test]
    fn two_ranks_on_one_gpu_are_told_that_it_changes_between_their_processes()
    -> Result<(), Box<dyn std::error::Error>> {
        let kept = include_bytes!("../../render/tests/results/documents/mpi-1.0-aware.json");
        let mut document = MpiDocument::from_json(kept)?;
        let is_said = |document: &MpiDocument| {
            verdict(document)
                .iter()
                .any(|line| line.contains("Both ranks use GPU") && line.contains("NVIDIA MPS"))
        };
        assert!(!is_said(&document), "each rank has a GPU of its own");
        let (host, gpu) = (document.ranks[0].host.clone(), document.ranks[0].gpu);
        (document.ranks[1].host, document.ranks[1].gpu) = (host, gpu);
        assert!(is_said(&document), "{:?}", verdict(&document));
        // GPUs of one address on two nodes are two.
        document.ranks[1].host = "another".to_owned();
        assert!(!is_said(&document));
        Ok(())
    }

    /// A document whose first pair has figures of these paths, patterns and sizes alone.
    fn with_figures(
        figures: &[(MpiPath, MessagePattern, u64)],
    ) -> Result<MpiDocument, Box<dyn std::error::Error>> {
        let kept = include_bytes!("../../render/tests/results/documents/mpi-1.0-aware.json");
        let mut document = MpiDocument::from_json(kept)?;
        let pair = &mut document.pairs[0];
        let case = pair.cases.iter().find(|case| case.counted_ns().is_some()).ok_or("a figure")?.clone();

        let of = |(path, pattern, bytes): &(MpiPath, MessagePattern, u64)| MpiCase {
            path: *path,
            pattern: *pattern,
            bytes: *bytes,
            bytes_per_s: Some(2.5e8),
            ..case.clone()
        };
        pair.cases = figures.iter().map(of).collect();
        pair.device_memory = None;
        Ok(document)
    }

    #[test]
    fn whatever_the_pattern_and_size_a_figure_that_counts_is_told() -> Result<(), Box<dyn std::error::Error>>
    {
        use MessagePattern::{BothWays, OneWay};
        for (pattern, bytes, expected) in [
            (OneWay, 65_536, "Host to host 0.25 GB/s at 64 KiB."),
            (BothWays, 65_536, "Host to host 0.25 GB/s both ways at 64 KiB."),
            (BothWays, 8 << 20, "Host to host 0.25 GB/s both ways at 8 MiB."),
        ] {
            let of = |bytes| (MpiPath::Host, pattern, bytes);
            let said = verdict(&with_figures(&[of(8), of(bytes)])?);
            assert!(said.iter().any(|line| line == expected), "{said:?}");
        }
        Ok(())
    }

    #[test]
    fn paths_in_one_line_have_one_size() -> Result<(), Box<dyn std::error::Error>> {
        use MessagePattern::PingPong;
        let document = with_figures(&[
            (MpiPath::GpuAware, PingPong, 65_536),
            (MpiPath::Staged, PingPong, 8),
            (MpiPath::Staged, PingPong, 65_536),
            (MpiPath::Host, PingPong, 8),
            (MpiPath::Host, PingPong, 65_536),
        ])?;
        let said = verdict(&document).join(" ");
        assert_eq!(said.matches(" for 64 KiB").count(), 3, "{said}");
        assert!(!said.contains(" for 8 B"), "{said}");
        Ok(())
    }
}
