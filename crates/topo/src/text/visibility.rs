//! Which GPUs a program sees that is started here: a line in the default view where a variable says so, all
//! of it for `--identity`.

use super::layout::wrapped;
use crate::model::TopologySource;
use crate::survey::Survey;
use crate::visibility::{Visibility, Visible};

/// The runtimes whose list a variable changes; nothing where none is set.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let told = survey.visibility.iter().filter(|visibility| !visibility.variables.is_empty());
    told.flat_map(|visibility| of_runtime(survey, visibility, width)).collect()
}

/// Every runtime that has GPUs here.
pub(super) fn all(survey: &Survey, width: usize) -> Vec<String> {
    if survey.visibility.is_empty() && !survey.identities.is_empty() {
        let why = "the file does not say which variables were set where it was written";
        return wrapped("runtime index not known: ", why, width);
    }
    survey.visibility.iter().flat_map(|visibility| of_runtime(survey, visibility, width)).collect()
}

fn of_runtime(survey: &Survey, visibility: &Visibility, width: usize) -> Vec<String> {
    let label = match survey.topology.source {
        TopologySource::ThisSystem => "visible to programs started here: ",
        TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => {
            "visible where the file was written: "
        }
    };
    let set: Vec<String> =
        visibility.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = if set.is_empty() { "no variable is set".to_owned() } else { set.join(" ") };
    let runtime = visibility.runtime.word();
    let list = match (&visibility.devices, &visibility.reason) {
        (Some(devices), _) if devices.is_empty() => format!("no GPU to {runtime}"),
        (Some(devices), _) => format!("{} as {runtime} {}", called(survey, devices), range(0, devices.len())),
        (None, why) => format!("not known for {runtime}: {}", why.as_deref().unwrap_or("no reason is given")),
    };
    let mut lines = wrapped(label, &format!("{list} ({set})"), width);
    lines.extend(visibility.notes.iter().flat_map(|note| wrapped("  ", note, width)));

    lines
}

/// The devices in the runtime's order: `GPU 2,0`, `GPU 4-7`, `MIG-…`.
fn called(survey: &Survey, devices: &[Visible]) -> String {
    let index = |device: &Visible| {
        let gpu = survey.topology.gpus.iter().find(|gpu| Some(gpu.pci) == device.pci);
        gpu.map(|gpu| gpu.index).filter(|_| device.part.is_none())
    };

    match devices.iter().map(index).collect::<Option<Vec<u32>>>() {
        Some(indices) => {
            let runs: Vec<String> = indices
                .chunk_by(|one, next| *next == one + 1)
                .map(|run| range(run.first().copied().unwrap_or(0) as usize, run.len()))
                .collect();
            format!("GPU {}", runs.join(","))
        }
        None => {
            let name = |device: &Visible| {
                let of = device.pci.map_or_else(String::new, |pci| format!(" of {pci}"));
                device
                    .part
                    .as_ref()
                    .map_or_else(|| of.trim_start_matches(" of ").to_owned(), |part| format!("{part}{of}"))
            };
            devices.iter().map(name).collect::<Vec<_>>().join(", ")
        }
    }
}

/// `4-7`, `4`.
fn range(first: usize, length: usize) -> String {
    if length > 1 { format!("{first}-{}", first + length - 1) } else { first.to_string() }
}
