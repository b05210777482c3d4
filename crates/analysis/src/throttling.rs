//! GPUs that were held back while they were measured, in sentences: throttled, shared with others, behind a
//! link of fewer lanes than they have.

use report::Document;
use report::conditions::Conditions;
use report::device::{Device, DeviceKind, ReadWhen};

/// More GPUs than this are counted, not named.
const MOST: usize = 4;

/// What a reader must hear of the conditions before he takes the figures for the hardware's.
pub fn sentences(document: &Document) -> Vec<String> {
    let mut said: Vec<String> =
        document.devices.iter().flat_map(|device| of_device(document, device)).collect();
    let more = said.len().saturating_sub(MOST);
    said.truncate(MOST);
    said.extend((more > 0).then(|| format!("{more} more like these: `devices` in the document has all.")));
    said
}

fn of_device(document: &Document, device: &Device) -> Vec<String> {
    if device.kind == DeviceKind::HostMemory {
        return Vec::new();
    }
    let name = if document.nodes.len() > 1 { device.id.clone() } else { format!("GPU {}", device.index) };
    let conditions = device.conditions.as_ref().and_then(|known| known.value.as_ref());
    let throttled = conditions.and_then(Conditions::throttled).map(|(limit, share)| {
        let percent = (share * 100.0).round();
        format!("{name} was throttled for {percent} % of the time, by {}.", limit.description())
    });
    let others = conditions.and_then(|conditions| conditions.other_processes).unwrap_or(0);
    let shared = (others > 0).then(|| match others {
        1 => format!("Another process computed on {name} meanwhile: `nvidia-smi` names it."),
        others => format!("{others} other processes computed on {name} meanwhile: `nvidia-smi` names them."),
    });
    let under_load = device.link.value.as_ref().is_some_and(|link| link.read_when == ReadWhen::UnderLoad);
    let fault = device.link_state().err().filter(|_| under_load);
    let link = fault.map(|fault| format!("{name}: {fault}."));

    throttled.into_iter().chain(shared).chain(link).collect()
}
