//! `nvidia-smi`'s lists of GPUs: `-L`, `-q`, and the table that it prints without options.
//!
//! All number GPUs alike. Only `-q` and the table say PCI addresses. `-q` has no numbers: its sections come
//! in their order.

use std::collections::BTreeMap;

use stats::PciAddress;

use crate::model::Link;

/// One GPU, by nvidia-smi's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NvidiaGpu {
    pub(super) name: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) pci: Option<PciAddress>,
    pub(super) minor: Option<u32>,
    pub(super) link: Option<Link>,
}

/// The GPUs; empty where no line names one.
pub(super) fn read(lines: &[&str]) -> BTreeMap<u32, NvidiaGpu> {
    let mut gpus: BTreeMap<u32, NvidiaGpu> = BTreeMap::new();
    for (index, found) in lines.iter().filter_map(|line| list_line(line).or_else(|| table_line(line))) {
        let gpu = gpus.entry(index).or_default();
        *gpu = NvidiaGpu {
            name: gpu.name.take().or(found.name),
            uuid: gpu.uuid.take().or(found.uuid),
            pci: gpu.pci.or(found.pci),
            ..std::mem::take(gpu)
        };
    }

    for (index, found) in (0..).zip(sections(lines)) {
        let gpu = gpus.entry(index).or_default();
        *gpu =
            NvidiaGpu { name: found.name.or(gpu.name.take()), uuid: found.uuid.or(gpu.uuid.take()), ..found };
    }
    gpus
}

/// `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)`.
fn list_line(line: &str) -> Option<(u32, NvidiaGpu)> {
    let (index, rest) = line.trim().strip_prefix("GPU ")?.split_once(": ")?;
    let (name, uuid) = rest.split_once(" (UUID: ")?;
    let uuid = uuid.strip_suffix(')')?.to_owned();
    Some((
        index.parse().ok()?,
        NvidiaGpu { name: Some(name.to_owned()), uuid: Some(uuid), ..NvidiaGpu::default() },
    ))
}

/// `|   0  NVIDIA H100 80GB HBM3          On  | 00000000:1B:00.0 Off |                    0 |`.
fn table_line(line: &str) -> Option<(u32, NvidiaGpu)> {
    let mut cells = line.trim().strip_prefix('|')?.split('|');
    let (index, rest) = cells.next()?.trim().split_once(' ')?;
    let address = cells.next()?.split_whitespace().next()?;
    let pci = address.contains('.').then(|| address.parse().ok())??;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (_persistence, name) = words.split_last()?;
    let name = name.join(" ");
    // A long name is cut there, with dots at the cut.
    let name = Some(name).filter(|name| !name.is_empty() && !name.contains(".."));
    Some((index.parse().ok()?, NvidiaGpu { name, pci: Some(pci), ..NvidiaGpu::default() }))
}

/// The GPUs of `-q`, in its order.
fn sections(lines: &[&str]) -> Vec<NvidiaGpu> {
    let mut gpus: Vec<NvidiaGpu> = Vec::new();
    let mut heading = "";
    for line in lines {
        if let Some(address) = line.trim_end().strip_prefix("GPU ").filter(|address| address.contains('.')) {
            gpus.extend(address.parse().ok().map(|pci| NvidiaGpu { pci: Some(pci), ..NvidiaGpu::default() }));
            continue;
        }
        let Some(gpu) = gpus.last_mut() else { continue };
        let Some((head, value)) = line.split_once(" : ") else {
            heading = line.trim();
            continue;
        };
        let value = Some(value.trim()).filter(|value| !value.is_empty() && *value != "N/A");
        let Some(value) = value else { continue };
        let lanes = || value.trim_end_matches('x').parse().ok();
        match (heading, head.trim()) {
            (_, "Product Name") => gpu.name = Some(value.to_owned()),
            (_, "GPU UUID") => gpu.uuid = Some(value.to_owned()),
            (_, "Minor Number") => gpu.minor = value.parse().ok(),
            ("PCIe Generation", "Max") => gpu.link.get_or_insert_with(link).max_generation = lanes(),
            ("PCIe Generation", "Current") => gpu.link.get_or_insert_with(link).generation = lanes(),
            ("Link Width", "Max") => gpu.link.get_or_insert_with(link).max_width = lanes(),
            ("Link Width", "Current") => gpu.link.get_or_insert_with(link).width = lanes(),
            _ => {}
        }
    }

    gpus
}

fn link() -> Link {
    Link { source: "nvidia-smi -q".to_owned(), ..Link::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn the_list_says_names_and_the_table_addresses() {
        let text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a)\n  MIG 1g.10gb Device  0: (UUID: MIG-1)\n\
            |   0  NVIDIA H100 80GB...  On   | 00000000:1B:00.0 Off |                    0 |\n\
            |   1  Tesla T4            Off  | 00000000:3B:00.0 Off |  0 |\n\
            | N/A   30C    P0    60W / 700W |      0MiB / 81559MiB |  0%  Default |\n";
        let gpus = read(&lines(text));
        assert_eq!(gpus.len(), 2);
        assert_eq!(gpus[&0].name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!(gpus[&0].pci, "1b:00.0".parse().ok());
        assert_eq!((gpus[&1].name.as_deref(), gpus[&1].uuid.as_deref()), (Some("Tesla T4"), None));
    }

    #[test]
    fn a_section_is_one_gpu_and_its_link_now_is_not_its_link_at_most() {
        let text = "Attached GPUs : 1\nGPU 00000000:07:00.0\n    Product Name                    : NVIDIA \
            A100\n    GPU UUID                        : GPU-aa\n    Minor Number                    : 2\n    \
            PCI\n        Bus Id                      : 00000000:07:00.0\n        GPU Link Info\n            \
            PCIe Generation\n                Max                 : 4\n                Current             : \
            1\n                Device Max          : 4\n            Link Width\n                \
            Max                 : 16x\n                Current             : 8x\n    Clocks\n        \
            Graphics                    : 210 MHz\n";
        let gpus = read(&lines(text));
        let gpu = &gpus[&0];
        assert_eq!((gpu.minor, gpu.uuid.as_deref()), (Some(2), Some("GPU-aa")));
        let link = gpu.link.clone().unwrap_or_default();
        assert_eq!(
            (link.generation, link.max_generation, link.width, link.max_width),
            (Some(1), Some(4), Some(8), Some(16))
        );
    }
}
