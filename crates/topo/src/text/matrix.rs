//! The matrix: what is between every two devices, in the words and the order of `nvidia-smi topo -m`.
//!
//! The cells of the table are nvidia-smi's, so that the two can be compared by a script; what numabench knows
//! beyond (links, bandwidth, what is not known and why) stands below. A table of many adapters is as wide as
//! nvidia-smi's: it is not broken.

use stats::IdSet;
use stats::units::{rate, rate_range};

use super::gpus::link;
use super::layout::{columns, count, grouped, named, wrapped};
use crate::interconnect::{Endpoint, Fabric, Interconnect, InterconnectSource, NvLinks, Pair};
use crate::model::{Gpu, Rung, Topology, TopologySource};
use crate::survey::Survey;

/// A value that nobody knows.
const UNKNOWN: &str = crate::interconnect::UNKNOWN_LINK;

/// The table; nothing where there is no device to have a row.
pub(super) fn table(interconnect: &Interconnect) -> Vec<String> {
    let devices = &interconnect.devices;
    if devices.is_empty() {
        return vec!["no GPU and no adapter of a fast network among the PCI devices".to_owned()];
    }
    let labels = devices.iter().map(|device| device.label.clone());
    let mut head: Vec<String> = std::iter::once(String::new()).chain(labels).collect();
    head.extend(["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"].map(str::to_owned));
    let mut rows = vec![head];

    for (at, device) in devices.iter().enumerate() {
        let mut row = vec![device.label.clone()];
        row.extend(
            (0..devices.len())
                .map(|other| interconnect.between(at, other).map_or("X".to_owned(), Pair::sign)),
        );
        row.extend(affinity(device));
        rows.push(row);
    }
    columns(&rows)
}

fn affinity(device: &Endpoint) -> Vec<String> {
    let Some(affinity) = &device.affinity else { return Vec::new() };
    let set = |set: &Option<IdSet>| match set {
        Some(set) if set.is_empty() => "N/A".to_owned(),
        Some(set) => set.to_string(),
        None => UNKNOWN.to_owned(),
    };
    let memory_node = affinity.memory_node.map_or_else(|| "N/A".to_owned(), |node| node.to_string());
    vec![set(&affinity.pus), set(&affinity.nodes), memory_node]
}

/// The signs that the table may hold.
pub(super) fn legend(interconnect: &Interconnect) -> Vec<String> {
    if interconnect.devices.is_empty() {
        return Vec::new();
    }
    let cells: Vec<String> = interconnect.pairs.iter().map(Pair::sign).collect();
    let affinities: Vec<String> = interconnect.devices.iter().flat_map(affinity).collect();
    let mut lines = vec![
        "legend".to_owned(),
        "  X     self".to_owned(),
        "  SYS   PCIe and the interconnect between NUMA nodes (e.g. QPI, UPI)".to_owned(),
        "  NODE  PCIe and the interconnect between PCIe host bridges within a NUMA node".to_owned(),
        "  PHB   PCIe and a PCIe host bridge (typically the CPU)".to_owned(),
        "  PXB   several PCIe bridges, without a host bridge".to_owned(),
        "  PIX   at most a single PCIe bridge".to_owned(),
    ];

    if interconnect.nvlink.is_some() {
        lines.push("  NV#   a bonded set of # NVLinks".to_owned());
    }
    if interconnect.xgmi.is_some() {
        lines.push("  XGMI  AMD's links between GPUs (Infinity Fabric)".to_owned());
    }
    if cells.iter().chain(&affinities).any(|cell| cell.contains(UNKNOWN)) {
        lines.push(format!("  {UNKNOWN}     not known"));
    }
    lines
}

/// The adapters behind the columns NIC#.
pub(super) fn adapters(interconnect: &Interconnect) -> Vec<String> {
    let named = interconnect.devices.iter().filter_map(|device| Some((device, device.name.as_ref()?)));
    let rows: Vec<Vec<String>> = named
        .map(|(device, name)| vec![format!("{}:", device.label), name.clone(), device.pci.to_string()])
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    std::iter::once("NICs".to_owned()).chain(columns(&rows)).collect()
}

/// The links of the GPUs, and who says so.
pub(super) fn links(survey: &Survey, width: usize) -> Vec<String> {
    let interconnect = &survey.interconnect;
    let mut lines = source_lines("NVLink", interconnect.nvlink.as_ref(), width);
    let gpus = &survey.topology.gpus;
    let of_gpu = |gpu: &Gpu| interconnect.devices.get(gpu.index as usize)?.nvlinks.as_ref();
    lines.extend(grouped(gpus.iter().filter_map(|gpu| Some((gpu.index, nvlinks(of_gpu(gpu)?)))), width));

    if gpus.iter().all(|gpu| of_gpu(gpu).is_none()) {
        lines.extend(pairs(interconnect, width, |fabric| match fabric {
            Fabric::Nvlink { bytes_per_s: Some(all), .. } => {
                Some(format!("{} in each direction", rate(all as f64)))
            }
            _ => None,
        }));
    }

    lines.extend(source_lines("xGMI", interconnect.xgmi.as_ref(), width));
    lines.extend(pairs(interconnect, width, xgmi));

    if gpus.iter().any(|gpu| gpu.link.is_some()) {
        let when = match survey.topology.source {
            TopologySource::ThisSystem => "now",
            TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => "when the file was written",
        };
        let carries_none = gpus.iter().all(|gpu| survey.topology.host_link(gpu).is_some());
        let whose =
            if carries_none { ": no copy between host memory and these GPUs goes over it" } else { "" };
        lines.push(format!("PCIe {when} (idle links train down){whose}"));
        lines.extend(grouped(
            gpus.iter().filter_map(|gpu| Some((gpu.index, link(gpu.link.as_ref()?)))),
            width,
        ));
    }
    lines
}

fn nvlinks(nvlinks: &NvLinks) -> String {
    let version =
        nvlinks.version.as_ref().map_or_else(String::new, |version| format!(" of NVLink {version}"));
    let each = nvlinks
        .bytes_per_s_each
        .map(|each| format!(", line rate {} a link and direction", rate(each as f64)));
    format!("{}{version}{}", count(nvlinks.links as usize, "link"), each.unwrap_or_default())
}

fn source_lines(what: &str, told: Option<&InterconnectSource>, width: usize) -> Vec<String> {
    match told {
        Some(InterconnectSource { source: Some(source), .. }) => {
            wrapped(&format!("{what}, by "), source, width)
        }
        Some(InterconnectSource { reason: Some(reason), .. }) => {
            wrapped(&format!("{what} is not known here: "), &format!("{reason}; the cells show PCIe"), width)
        }
        _ => Vec::new(),
    }
}

fn xgmi(fabric: Fabric) -> Option<String> {
    let Fabric::Xgmi { hops, least_bytes_per_s, most_bytes_per_s } = fabric else { return None };
    let hops = hops.map_or_else(|| "hops not known".to_owned(), |hops| count(hops as usize, "hop"));
    let speed = match (least_bytes_per_s, most_bytes_per_s) {
        (Some(least), Some(most)) if least != most => format!(", {}", rate_range(least as f64, most as f64)),
        (_, Some(one)) | (Some(one), None) => format!(", {}", rate(one as f64)),
        (None, None) => String::new(),
    };
    Some(format!("{hops}{speed}"))
}

/// Pairs of GPUs by what is said of their link: `every two of GPU 0-7`, or one by one.
fn pairs(interconnect: &Interconnect, width: usize, words: impl Fn(Fabric) -> Option<String>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&Pair>)> = Vec::new();
    for pair in &interconnect.pairs {
        let Some(words) = pair.fabric.and_then(&words) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((words, vec![pair])),
        }
    }
    groups
        .iter()
        .flat_map(|(words, pairs)| wrapped(&format!("  {words}: "), &pair_names(interconnect, pairs), width))
        .collect()
}

fn pair_names(interconnect: &Interconnect, pairs: &[&Pair]) -> String {
    let place = |label: &str| interconnect.devices.iter().position(|device| device.label == label);
    let of = |pair: &&Pair| [place(&pair.from), place(&pair.to)];
    let ends: IdSet =
        pairs.iter().flat_map(of).flatten().filter_map(|place| u32::try_from(place).ok()).collect();
    // GPUs are the first devices, so that places are their indices.
    if ends.len() > 2 && pairs.len() == ends.len() * (ends.len() - 1) / 2 {
        return format!("every two of {}", named("GPU", &ends));
    }
    pairs.iter().map(|pair| format!("{}-{}", pair.from, pair.to)).collect::<Vec<_>>().join(", ")
}

/// What is not known, once per reason, and where numabench judges another way than the columns.
pub(super) fn notes(survey: &Survey, width: usize) -> Vec<String> {
    let interconnect = &survey.interconnect;
    let mut reasons: Vec<(&str, Vec<&Pair>)> = Vec::new();
    for pair in interconnect.pairs.iter().filter(|pair| pair.pci.is_none() && pair.fabric.is_none()) {
        let why = pair.reason.as_deref().unwrap_or("no reason is given");
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, pairs)) => pairs.push(pair),
            None => reasons.push((why, vec![pair])),
        }
    }

    let unknown = |(why, pairs): &(&str, Vec<&Pair>)| {
        let pairs: Vec<String> = pairs.iter().map(|pair| format!("{}-{}", pair.from, pair.to)).collect();
        wrapped(&format!("  {UNKNOWN}, because {why}: "), &pairs.join(", "), width)
    };
    let mut lines: Vec<String> = reasons.iter().flat_map(unknown).collect();
    lines.extend(localities(&survey.topology, interconnect, width));
    lines.extend(other_indices(survey, width));
    if !lines.is_empty() {
        lines.insert(0, "notes".to_owned());
    }
    lines
}

/// GPUs whose affinity NVML gives though nothing says what is near.
fn localities(topology: &Topology, interconnect: &Interconnect, width: usize) -> Vec<String> {
    let by_nvml = |gpu: &&Gpu| {
        let affinity =
            interconnect.devices.get(gpu.index as usize).and_then(|device| device.affinity.as_ref());
        gpu.locality.rung == Rung::Unknown && affinity.is_some_and(|affinity| affinity.pus.is_some())
    };
    let unknown: IdSet = topology.gpus.iter().filter(by_nvml).map(|gpu| gpu.index).collect();
    let Some(first) = unknown.first().and_then(|index| topology.gpus.get(index as usize)) else {
        return Vec::new();
    };
    let text = format!(
        "the affinity columns are NVML's; numabench takes the locality as unknown: {}",
        first.locality.reason
    );
    wrapped(&format!("  {}: ", named("GPU", &unknown)), &text, width)
}

/// GPUs that nvidia-smi numbers another way, so that its GPU# is another.
fn other_indices(survey: &Survey, width: usize) -> Vec<String> {
    let differ = survey
        .identities
        .iter()
        .filter(|identity| identity.smi_index.is_some_and(|smi| smi != identity.index));
    let listed: Vec<String> = differ
        .filter_map(|identity| Some(format!("GPU{} is {}", identity.index, identity.smi_index?)))
        .collect();
    if listed.is_empty() {
        return Vec::new();
    }
    wrapped("  GPU# counts in PCI order; in the management library ", &listed.join(", "), width)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn survey() -> Result<Survey, crate::TopoError> {
        crate::survey_xml(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/eight-gpus-nvswitch.xml"),
        )
    }

    #[test]
    fn what_is_not_known_is_a_question_mark_and_the_reason_names_the_pairs() -> Result<(), crate::TopoError> {
        let mut survey = survey()?;
        for at in [0, 1] {
            let pair = &mut survey.interconnect.pairs[at];
            (pair.pci, pair.fabric, pair.reason) = (None, None, Some("nobody said so".to_owned()));
        }
        let unknown = |survey: &Survey| {
            let text = super::super::matrix(survey, 100);
            text.lines().filter(|line| line.contains('?')).collect::<Vec<_>>().join("\n")
        };
        let without_a_link = unknown(&survey);
        survey.interconnect.pairs[0].fabric =
            Some(Fabric::Nvlink { links: None, bytes_per_s: Some(50_000_000_000) });
        insta::assert_snapshot!("pairs_not_known", format!("{without_a_link}\n\n{}", unknown(&survey)));
        Ok(())
    }

    #[test]
    fn where_the_columns_say_more_than_numabench_believes_a_note_says_so() -> Result<(), crate::TopoError> {
        let mut survey = survey()?;
        assert_eq!(notes(&survey, 100), [""; 0]);
        for gpu in &mut survey.topology.gpus[..2] {
            (gpu.locality.rung, gpu.locality.reason) = (Rung::Unknown, "a virtual machine".to_owned());
        }
        survey.identities[6].smi_index = Some(7);
        insta::assert_snapshot!("notes", notes(&survey, 200).join("\n"));
        Ok(())
    }
}
