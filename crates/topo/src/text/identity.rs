//! What each GPU is called by whom: one row a GPU, then why a column holds what it holds.

use super::layout::{columns, wrapped};
use super::visibility;
use crate::identity::{DeviceFile, Identity};
use crate::model::TopologySource;
use crate::survey::Survey;

/// The table and what is to say of it.
pub(super) fn lines(survey: &Survey) -> Vec<String> {
    if survey.identities.is_empty() {
        return vec!["no GPU among the PCI devices".to_owned()];
    }
    let head = ["#", "PCI address", "UUID", "runtime (predicted)", "SMI", "device files", "OS devices"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(survey.identities.iter().map(|identity| row(survey, identity)));
    let mut lines = vec!["what each GPU is called, in PCI order".to_owned()];
    lines.extend(columns(&rows));
    lines
}

fn row(survey: &Survey, identity: &Identity) -> Vec<String> {
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
    let list = |names: Vec<String>| if names.is_empty() { "-".to_owned() } else { names.join(",") };
    let here = matches!(survey.topology.source, TopologySource::ThisSystem);
    let file = |file: &DeviceFile| match (here, file.present) {
        (true, false) => format!("{} (not here)", file.path),
        _ => file.path.clone(),
    };

    vec![
        identity.index.to_string(),
        identity.pci.to_string(),
        or_unknown(identity.uuid.clone()),
        runtime(identity),
        or_unknown(identity.smi_index.map(|index| index.to_string())),
        list(identity.device_files.iter().map(file).collect()),
        list(identity.os_devices.clone()),
    ]
}

fn runtime(identity: &Identity) -> String {
    let Some(runtime) = identity.runtime else { return "-".to_owned() };
    match identity.runtime_indices.as_deref() {
        None => format!("{} ?", runtime.word()),
        Some([]) => format!("{} hidden", runtime.word()),
        Some(indices) => {
            let indices: Vec<String> = indices.iter().map(u32::to_string).collect();
            format!("{} {}", runtime.word(), indices.join(","))
        }
    }
}

/// What decides the predicted indices, and why others are not known.
pub(super) fn notes(survey: &Survey, width: usize) -> Vec<String> {
    let mut lines = visibility::all(survey, width);
    let mut reasons: Vec<&str> = Vec::new();
    for identity in survey.identities.iter().filter(|identity| identity.smi_index.is_none()) {
        if !reasons.contains(&identity.smi_source.as_str()) {
            reasons.push(&identity.smi_source);
        }
    }
    lines.extend(reasons.iter().flat_map(|why| wrapped("SMI index not known: ", why, width)));
    lines
}
