//! What is different of GPUs and network adapters: which there are, their links to the CPU, their locality.

use stats::IdSet;
use stats::units::counted;

use super::coverage::{is_text, lists_gpu, lists_nics, name_gpus_alike};
use super::{Change, changed, matched};
use crate::model::{Gpu, Link, Locality, Rung};
use crate::nics::Nic;
use crate::survey::Survey;

fn called(gpu: &Gpu) -> String {
    let name = gpu.name.value.clone();
    let name = name.unwrap_or_else(|| format!("PCI {:04x}:{:04x}", gpu.vendor_id, gpu.device_id));
    let part =
        gpu.partition.map_or_else(String::new, |part| format!(", partition {} of {}", part.number, part.of));
    format!("GPU {} ({name}{part})", gpu.pci)
}

/// The changes of GPUs.
pub(super) fn gpus(before: &Survey, after: &Survey) -> Vec<String> {
    let listed = |gpu: &Gpu| lists_gpu(before, gpu) && lists_gpu(after, gpu);
    if !name_gpus_alike(before, after) {
        let count = |survey: &Survey| survey.topology.gpus.iter().filter(|gpu| listed(gpu)).count();
        let [was, is] = [before, after].map(count);
        // A file may have GPUs of which a text with numbers lists some.
        let change = (was != is && is_text(before) && is_text(after))
            .then(|| format!("{}, were {was}", counted(is, "GPU")));
        return change.into_iter().collect();
    }

    let said = |gpu: &Gpu, change: Change| format!("{} {}", called(gpu), change.word());
    let different = |was: &Gpu, is: &Gpu| {
        let mut words = same_gpu(was, is);
        let (old, new) = ((before, &was.locality), (after, &is.locality));
        words.extend(same_locality(&called(is), old, new).filter(|_| is_same_model(was, is)));
        words
    };
    let (old, new) = (&before.topology.gpus, &after.topology.gpus);
    matched(old, new, |gpu| gpu.pci, listed, said, different)
}

/// Whether nothing says that they are of two models; an id of 0 is not said.
pub(super) fn is_same_model(was: &Gpu, is: &Gpu) -> bool {
    let said = |id: u16| (id != 0).then_some(id);
    changed(said(was.vendor_id), said(is.vendor_id)).is_none()
        && changed(said(was.device_id), said(is.device_id)).is_none()
}

fn same_gpu(was: &Gpu, is: &Gpu) -> Vec<String> {
    if !is_same_model(was, is) {
        return vec![format!("GPU {}: now {}, was {}", is.pci, called(is), called(was))];
    }
    let mut words = Vec::new();
    let parts = |gpu: &Gpu| gpu.partition.map_or(1, |part| part.of);
    if parts(was) != parts(is) {
        words.push(format!("GPU {}: {} partitions, was {}", is.pci, parts(is), parts(was)));
    }
    if let Some((before, now)) = changed(was.uuid.as_ref(), is.uuid.as_ref()) {
        words.push(format!("{} is another one: UUID {now}, was {before}", called(is)));
    }
    words.extend(same_link(&called(is), was.link.as_ref(), is.link.as_ref()));
    words
}

/// Another locality of a device. Of texts it is compared where both know the nodes with CPUs: who says so is
/// another one, and memory without CPUs is not in all of them.
fn same_locality(
    device: &str,
    (old, was): (&Survey, &Locality),
    (new, is): (&Survey, &Locality),
) -> Option<String> {
    let (mut before, mut now) = (was.all_nodes(), is.all_nodes());
    if is_text(old) || is_text(new) {
        let with_cpus = |survey: &Survey, nodes: &IdSet| -> IdSet {
            let has_cpus = |id: &u32| survey.topology.node(*id).is_some_and(|node| node.kind.has_cpus());
            nodes.iter().filter(has_cpus).collect()
        };
        (before, now) = (with_cpus(old, &before), with_cpus(new, &now));
        if was.rung == Rung::Unknown || is.rung == Rung::Unknown || before.is_empty() || now.is_empty() {
            return None;
        }
    } else if was.rung != is.rung {
        return Some(format!("{device}: its locality: {}; was: {}", is.reason, was.reason));
    }
    (before != now).then(|| format!("{device}: local NUMA nodes {now}, were {before}"))
}

fn same_link(device: &str, was: Option<&Link>, is: Option<&Link>) -> Vec<String> {
    let Some((was, is)) = was.zip(is) else { return Vec::new() };
    let parts = [
        ("x", "", was.width, is.width),
        ("x", " at most", was.max_width, is.max_width),
        ("gen", " at most", was.max_generation, is.max_generation),
    ];
    let different = |(unit, most, before, now): (&str, &str, Option<u8>, Option<u8>)| {
        let (before, now) = changed(before, now)?;
        let change = if now < before { "downgraded" } else { "upgraded" };
        Some(format!("{device}: PCIe link {change}: {unit}{now}{most}, was {unit}{before}{most}"))
    };
    parts.into_iter().filter_map(different).collect()
}

/// The changes of network adapters.
pub(super) fn nics(before: &Survey, after: &Survey) -> Vec<String> {
    let called = |nic: &Nic| match &nic.os_devices[..] {
        [] => format!("NIC {} (PCI {:04x}:{:04x})", nic.pci, nic.vendor_id, nic.device_id),
        names => format!("NIC {} ({})", nic.pci, names.join(", ")),
    };
    let different = |was: &Nic, is: &Nic| {
        let mut words = same_link(&called(is), was.link.as_ref(), is.link.as_ref());
        words.extend(same_locality(&called(is), (before, &was.locality), (after, &is.locality)));
        words
    };
    let listed = |_: &Nic| lists_nics(before) && lists_nics(after);
    let (old, new) = (&before.nics, &after.nics);
    let said = |nic: &Nic, change: Change| format!("{} {}", called(nic), change.word());
    matched(old, new, |nic| nic.pci, listed, said, different)
}
