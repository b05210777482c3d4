//! `nvidia-smi`'s lists of GPUs: `-L`, `-q`, and the table that it prints without options.
//!
//! All number GPUs alike. Only `-q` and the table say PCI addresses. `-q` has no numbers: its sections come
//! in their order, unless `-i` left some out: fewer than are attached have a number only where another list
//! of the same texts gives it.

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
///
/// # Errors
/// `-q` leaves out GPUs, and nothing says the number of one that it has; in words.
pub(super) fn read(lines: &[&str]) -> Result<BTreeMap<u32, NvidiaGpu>, String> {
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

    for log in logs(lines) {
        let sections = sections(log);
        let attached = log.first().and_then(|line| attached(line)).filter(|all| *all > sections.len());
        for (at, found) in (0..).zip(sections) {
            let is_it = |gpu: &NvidiaGpu| is_same(&gpu.uuid, &found.uuid) || is_same(&gpu.pci, &found.pci);
            let listed = || gpus.iter().find(|(_, gpu)| is_it(gpu)).map(|(number, _)| *number);
            let index = match attached {
                None => at,
                Some(all) => listed().ok_or_else(|| unnumbered(&found, all))?,
            };
            let gpu = gpus.entry(index).or_default();
            *gpu = NvidiaGpu {
                name: found.name.or(gpu.name.take()),
                uuid: found.uuid.or(gpu.uuid.take()),
                ..found
            };
        }
    }
    Ok(gpus)
}

fn is_same<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    one.is_some() && one == other
}

fn unnumbered(gpu: &NvidiaGpu, attached: usize) -> String {
    let pci = gpu.pci.map_or_else(|| "a GPU".to_owned(), |pci| format!("GPU {pci}"));
    format!(
        "nvidia-smi -q -i shows not all of the {attached} GPUs that are attached, and not the number of \
         {pci}: give the output of nvidia-smi -q without -i, or of nvidia-smi -L too"
    )
}

/// The outputs of `-q`, each from its count of GPUs on; what stands before the first one is one too.
fn logs<'l, 't>(lines: &'l [&'t str]) -> Vec<&'l [&'t str]> {
    let mut logs = Vec::new();
    let mut rest = lines;
    while let Some(next) = rest.iter().skip(1).position(|line| attached(line).is_some()) {
        let (log, after) = rest.split_at(next + 1);
        logs.push(log);
        rest = after;
    }
    logs.push(rest);
    logs
}

/// `Attached GPUs : 8`.
fn attached(line: &str) -> Option<usize> {
    line.trim_start().strip_prefix("Attached GPUs")?.trim_start().strip_prefix(':')?.trim().parse().ok()
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
        let gpus = read(&lines(text)).unwrap_or_default();
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
        let gpus = read(&lines(text)).unwrap_or_default();
        let gpu = &gpus[&0];
        assert_eq!((gpu.minor, gpu.uuid.as_deref()), (Some(2), Some("GPU-aa")));
        let link = gpu.link.clone().unwrap_or_default();
        assert_eq!(
            (link.generation, link.max_generation, link.width, link.max_width),
            (Some(1), Some(4), Some(8), Some(16))
        );
    }

    #[test]
    fn a_gpu_that_was_asked_for_alone_is_not_the_first_one() {
        let log =
            |gpu: &str| format!("Attached GPUs : 2\nGPU 00000000:{gpu}:00.0\n    GPU UUID : GPU-{gpu}\n");
        let refused = read(&lines(&log("81")));
        assert!(refused.is_err_and(|why| why.contains("0000:81:00.0") && why.contains("2 GPUs")));

        let list = "GPU 0: A (UUID: GPU-07)\nGPU 1: A (UUID: GPU-81)\n";
        let pci = |text: &str| -> Vec<(u32, Option<PciAddress>)> {
            let gpus = read(&lines(text)).unwrap_or_default();
            gpus.iter().map(|(number, gpu)| (*number, gpu.pci)).collect()
        };
        assert_eq!(pci(&(list.to_owned() + &log("81"))), [(0, None), (1, "81:00.0".parse().ok())]);
        let whole = log("07") + "GPU 00000000:81:00.0\n    GPU UUID : GPU-81\n";
        let both = [(0, "07:00.0".parse().ok()), (1, "81:00.0".parse().ok())];
        assert_eq!(pci(&whole), both);
        assert_eq!(pci(&(whole.clone() + &whole)), both, "the same twice");
    }
}
