//! The network adapters: one line each, and the first and last of many that are alike and unused.

use super::gpus::{link, node_cell, rung};
use super::layout::{cut, fitted};
use crate::model::Topology;
use crate::nics::{Nic, NicKind};

/// The most of a name, and of what the kernel calls it, that is shown.
const NAME_COLUMNS: usize = 28;
/// From how many on adapters that are alike, and that the kernel has given no name, are the first and the
/// last.
pub(crate) const MANY: usize = 4;

/// The table; nothing where there is no adapter.
pub(super) fn lines(topology: &Topology, nics: &[Nic], width: usize) -> Vec<String> {
    if nics.is_empty() {
        return Vec::new();
    }
    let longest = nics.iter().map(|nic| name(nic).chars().count()).max().unwrap_or(0);
    let mut lines = vec!["NICs, in PCI order".to_owned()];
    lines.extend(fitted(width, longest.min(NAME_COLUMNS), |name_columns| rows(topology, nics, name_columns)));
    lines
}

fn rows(topology: &Topology, nics: &[Nic], name_columns: usize) -> Vec<Vec<String>> {
    let links = nics.iter().any(|nic| nic.link.is_some());
    let mut rows =
        vec![["PCI address", "OS devices", "name", "node", "known from"].map(str::to_owned).to_vec()];
    if links {
        rows[0].push("PCIe link".to_owned());
    }

    for alike in nics.chunk_by(alike) {
        let shown = if alike.len() >= MANY { 1 } else { alike.len() };
        for nic in &alike[..shown] {
            let mut row = vec![
                nic.pci.to_string(),
                if nic.os_devices.is_empty() {
                    "-".to_owned()
                } else {
                    cut(&nic.os_devices.join(","), NAME_COLUMNS)
                },
                cut(&name(nic), name_columns),
                node_cell(topology, &nic.locality),
                rung(nic.locality.rung).to_owned(),
            ];
            if links {
                row.push(nic.link.as_ref().map_or_else(|| "-".to_owned(), link));
            }
            rows.push(row);
        }
        if let Some(last) = alike[shown..].last() {
            rows.push(vec![
                last.pci.to_string(),
                "-".to_owned(),
                format!("{} between, all alike", alike.len() - 2),
            ]);
        }
    }
    rows
}

/// Whether two adapters that follow each other say the same but for their address, and the kernel has named
/// neither.
pub(crate) fn alike(one: &Nic, next: &Nic) -> bool {
    let unnamed = one.os_devices.is_empty() && next.os_devices.is_empty();
    let same = (one.vendor_id, one.device_id) == (next.vendor_id, next.device_id);
    unnamed && same && one.locality.nodes == next.locality.nodes && one.link == next.link
}

pub(crate) fn name(nic: &Nic) -> String {
    let kind = match nic.kind {
        NicKind::Ethernet => "Ethernet",
        NicKind::Infiniband => "InfiniBand",
        NicKind::Fabric => "fabric",
        NicKind::Other => "network",
    };
    nic.name.clone().unwrap_or_else(|| format!("{kind} {:04x}:{:04x}", nic.vendor_id, nic.device_id))
}
