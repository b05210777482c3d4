//! The answer about a program's copies in sentences: far bytes first, then pageable ones, rates, waiting and
//! gain. From the document alone, so that the sums over a launch's ranks are said as one process is.

use report::WitnessDocument;
use report::witness::{Distance, WitnessBytes, WitnessDirection, WitnessGain, WitnessMemory, WitnessRate};
use stats::units::{counted, rate, spoken_seconds};

/// The command that measures the rates for a prediction.
const MATRIX: &str = "numabench matrix --memory pinned,pageable --direction h2d,d2h --json matrix.json";

/// What the document's figures say; `times` are how long each of the ranks ran that they are the sum of, in
/// seconds.
pub fn verdict(document: &WitnessDocument, times: &[f64]) -> Vec<String> {
    let total = &document.total;
    let mut said: Vec<String> = not_counted(document).into_iter().chain(still_running(document)).collect();
    if total.bytes == 0 {
        said.push(no_copy(document));
        return said;
    }
    said.push(far_and_near(document));
    said.push(kinds(total));
    said.extend(rates(document));
    said.extend(waited(document, times));
    said.extend(gain(document));

    match &document.remedy {
        Some(remedy) => said.push(format!("To place memory near: {remedy}")),
        None if total.far_bytes > 0 => said.push(
            "No single place is near to all of these GPUs: start one process for each GPU, or allocate each \
             buffer on a node of its GPU."
                .to_owned(),
        ),
        None => {}
    }
    said
}

/// What makes all that follows a part of the truth.
fn not_counted(document: &WitnessDocument) -> Option<String> {
    let processes = counted(document.not_counted as usize, "process");
    let why = "its record could not be written or read: see the end";
    (document.not_counted > 0).then(|| format!("PARTIAL: {processes} copied and nothing was counted; {why}."))
}

/// That the program's end was not the end of its copies.
fn still_running(document: &WitnessDocument) -> Option<String> {
    let left = document.still_running.as_ref().filter(|left| !left.is_empty())?;
    Some(format!(
        "PARTIAL: {} still ran when the program had ended; later copies are not counted: let the program \
         wait for what it starts.",
        counted(left.len(), "process")
    ))
}

fn no_copy(document: &WitnessDocument) -> String {
    if document.loaded == 0 {
        return "Nothing was counted: the program did not load the library that counts (it is linked \
            statically, or has other rights than its user)."
            .to_owned();
    }

    let watched = counted(document.loaded as usize, "process");
    let devices: u64 = document.processes.iter().map(|process| process.device_copies).sum();
    match devices {
        0 if document.not_counted > 0 => {
            "No other process made a copy between host memory and a GPU.".to_owned()
        }
        0 => format!(
            "No copy between host memory and a GPU was seen, in {watched}; what is started without \
             LD_PRELOAD (by `env -i`, sudo, in a container) is not watched."
        ),
        _ => format!(
            "Only copies between or within GPUs were seen ({devices}, in {watched}): no host memory took \
             part."
        ),
    }
}

fn far_and_near(document: &WitnessDocument) -> String {
    let total = &document.total;
    let of = format!("{} copied between host memory and GPUs", bytes(total.bytes));
    if total.near_bytes + total.far_bytes == 0 {
        let why = document.distance_unknown.as_deref().unwrap_or("the document does not say why");
        return format!("Near or far is not known for the {of}: {why}.");
    }
    let unknown = match total.unknown_bytes {
        0 => String::new(),
        unknown => {
            let why = document.distance_unknown.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            format!("; of {} the place is not known{why}", bytes(unknown))
        }
    };
    if total.far_bytes == 0 {
        return match total.unknown_bytes {
            0 => format!("No far memory: the {of} are near."),
            _ => {
                format!("No far memory was seen: {} of the {of} are near{unknown}.", bytes(total.near_bytes))
            }
        };
    }

    format!(
        "{} of the {of} are far from their GPU: {}{unknown}.",
        percent(total.far_bytes, total.bytes),
        bytes(total.far_bytes)
    )
}

fn kinds(total: &WitnessBytes) -> String {
    if total.pinned_bytes == total.bytes {
        return "All of this memory is pinned.".to_owned();
    }
    let managed = match total.managed_bytes {
        0 => String::new(),
        managed => format!(", {} managed", percent(managed, total.bytes)),
    };
    format!(
        "{} of these bytes are pageable ({}), {} pinned{managed}.",
        percent(total.pageable_bytes, total.bytes),
        bytes(total.pageable_bytes),
        percent(total.pinned_bytes, total.bytes)
    )
}

fn rates(document: &WitnessDocument) -> Option<String> {
    let part = |of: &WitnessRate| {
        let place = match of.distance {
            Distance::Near => " near",
            Distance::Far => " far",
            Distance::Mixed => " near and far",
            Distance::Unknown | Distance::Newer => "",
        };
        format!("{} {}{place} {}", direction(of.direction), memory(of.memory), rate(of.bytes_per_s))
    };
    let parts: Vec<String> = document.rates.iter().map(part).collect();

    (!parts.is_empty()).then(|| format!("Rates of the copies that events timed: {}.", parts.join(", ")))
}

/// The time in copies that block, as a share of the run's time: of several ranks, of all their times.
fn waited(document: &WitnessDocument, times: &[f64]) -> Option<String> {
    let (waited, together) = (document.waited_s?, times.iter().sum::<f64>());
    let share = waited / together.max(1e-9) * 100.0;
    let run = if times.len() > 1 { format!("{} ranks'", times.len()) } else { "the run's".to_owned() };

    Some(format!(
        "Threads waited {} in copies that block, kernels queued before them included ({share:.1} % of \
         {run} {}).",
        spoken(waited),
        spoken(together)
    ))
}

fn gain(document: &WitnessDocument) -> Option<String> {
    if document.total.far_bytes == 0 {
        return None;
    }
    let Some(gain) = &document.gain else {
        return Some(format!(
            "No prediction without this node's rates: measure them with `{MATRIX}`, then give \
             `--matrix matrix.json`."
        ));
    };
    let without = match gain.without_rates_bytes {
        0 => String::new(),
        bytes_without => format!("; {} has no rates for {} of far bytes", gain.matrix, bytes(bytes_without)),
    };
    if gain.far_bytes == 0 {
        return Some(format!("No prediction{without}."));
    }

    Some(format!(
        "Near memory would save {} to {} of the copies' time; the program gains at least {} (copies that \
         block, if nothing else runs beside them) and at most {}{without}.{}",
        spoken(gain.copies_low_s),
        spoken(gain.copies_high_s),
        spoken(gain.program_low_s),
        spoken(gain.program_high_s),
        narrower(document, gain)
    ))
}

/// How to a narrower interval, where it is as wide as copies of another size than the matrix' make it.
fn narrower(document: &WitnessDocument, gain: &WitnessGain) -> String {
    let Some(buffer) = document.buffers.first().filter(|_| gain.copies_high_s > 2.0 * gain.copies_low_s)
    else {
        return String::new();
    };
    let size = (buffer.bytes / buffer.copies.max(1)).max(1);
    format!(
        " If the matrix has no copies of {}, their rates may narrow this: measure it also with \
         `--size {size}`, and give both files to `--matrix`.",
        bytes(size)
    )
}

/// A direction as figures are named.
pub fn direction(direction: WitnessDirection) -> &'static str {
    match direction {
        WitnessDirection::ToDevice => "H2D",
        WitnessDirection::ToHost => "D2H",
        WitnessDirection::Newer => "?",
    }
}

/// A kind of memory.
pub fn memory(memory: WitnessMemory) -> &'static str {
    match memory {
        WitnessMemory::Pinned => "pinned",
        WitnessMemory::Pageable => "pageable",
        WitnessMemory::Managed => "managed",
        WitnessMemory::Newer => "?",
    }
}

/// How far memory is, in a word.
pub fn distance(distance: Distance) -> &'static str {
    match distance {
        Distance::Near => "near",
        Distance::Far => "far",
        Distance::Mixed => "mixed",
        Distance::Unknown | Distance::Newer => "unknown",
    }
}

/// Bytes, exact below a million.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{bytes} bytes"),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// A time in seconds, with a unit that suits it.
pub fn spoken(seconds: f64) -> String {
    if seconds == 0.0 {
        "0 s".to_owned()
    } else if seconds < 1.0 {
        stats::units::duration_carried(seconds * 1e9, Some(seconds * 1e7))
    } else {
        spoken_seconds(seconds)
    }
}

/// A share; what is not all or nothing does not read so.
pub fn percent(part: u64, all: u64) -> String {
    let share = part as f64 / all.max(1) as f64 * 100.0;
    match share {
        _ if part == 0 || part == all => format!("{share:.0} %"),
        share => format!("{:.1} %", share.clamp(0.1, 99.9)),
    }
}
