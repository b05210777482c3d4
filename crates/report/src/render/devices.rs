//! The devices that took part: one line each, and what is not known of them once, with the reason.

use stats::units;

use super::grid::Grid;
use super::page::{Page, Tone};
use super::words;
use crate::device::{Device, DeviceKind, Link, ReadWhen};
use crate::{Document, Known};

pub(super) fn draw(document: &Document, page: &mut Page) {
    let devices = &document.devices;
    page.line(Tone::Title, heading(document));
    let one_name = devices.iter().all(|device| device.name == devices[0].name);
    // A UUID takes 40 columns; where they are not there, it has a line of its own below.
    let has_uuid = devices.iter().any(|device| device.uuid.is_some());
    let wide = grid(devices, one_name, has_uuid);
    let uuids_in_grid = has_uuid && wide.width() <= page.width();
    let grid = if uuids_in_grid { wide } else { grid(devices, one_name, false) };
    grid.draw(page);
    if has_uuid && !uuids_in_grid {
        for device in devices {
            let uuid = device.uuid.as_deref().unwrap_or("no UUID");
            page.line(Tone::Plain, format!("    {} {uuid}", words::devices(device.kind, [device.index].into_iter())));
        }
    }
    for note in notes(document) {
        page.words(Tone::Faint, "    ", &note);
    }
    page.blank();
}

fn heading(document: &Document) -> String {
    let (devices, platform) = (&document.devices, &document.platform);
    let visible = platform.visible_devices;
    let name = match &devices[..] {
        [] => return format!("No device took part, {visible} visible"),
        [first, rest @ ..] if rest.iter().all(|device| device.name == first.name) => first.name.clone(),
        all if all.iter().all(|device| device.kind == DeviceKind::HostMemory) => "host memory".into(),
        _ => "of several kinds".into(),
    };
    let mut parts = vec![name, format!("{} used of {visible} visible", devices.len())];
    parts.extend(platform.driver_version.as_ref().map(|version| format!("driver {version}")));
    parts.extend(platform.api_version.as_ref().map(|version| format!("API {version}")));
    format!("Devices: {}", parts.join(", "))
}

fn grid(devices: &[Device], one_name: bool, with_uuid: bool) -> Grid {
    let gpus = devices.iter().any(|device| device.kind != DeviceKind::HostMemory);
    let mut header = vec![if gpus { "GPU" } else { "index" }];
    let mut columns: Vec<fn(&Device) -> String> = vec![|device| device.index.to_string()];
    let mut column = |show: bool, name: &'static str, cell: fn(&Device) -> String| {
        if show {
            header.push(name);
            columns.push(cell);
        }
    };
    column(!one_name, "name", |device| device.name.clone());
    column(true, if gpus { "PCI address" } else { "device" }, |device| device.id.clone());
    column(with_uuid, "UUID", |device| device.uuid.clone().unwrap_or("none".into()));
    column(gpus, "link", |device| device.link.value.as_ref().map_or("unknown".into(), link));
    column(true, "memory", |device| units::rounded_size(device.total_bytes));
    column(gpus, "node", |device| device.numa_node.value.map_or("unknown".into(), |node| node.to_string()));
    // All of them are labels: nothing here is compared by its decimal point.
    let mut grid = Grid::new(header.len(), &header);
    for device in devices {
        grid.row(columns.iter().map(|cell| cell(device)).collect(), Vec::new());
    }
    grid
}

/// `PCIe 5 x16`, with what it could be where that is more.
fn link(link: &Link) -> String {
    let part = |value: Option<u8>| value.map_or("?".to_owned(), |value| value.to_string());
    let now = format!("PCIe {} x{}", part(link.generation), part(link.width));
    let less = |now: Option<u8>, most: Option<u8>| matches!((now, most), (Some(now), Some(most)) if now < most);
    match less(link.generation, link.max_generation) || less(link.width, link.max_width) {
        true => format!("{now} (of {} x{})", part(link.max_generation), part(link.max_width)),
        false => now,
    }
}

/// What is said of devices in words, and of which: equal texts are said once.
fn notes(document: &Document) -> Vec<String> {
    let mut texts: Vec<(String, Vec<&Device>)> = Vec::new();
    for device in &document.devices {
        for text in notes_on(device) {
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, devices)) => devices.push(device),
                None => texts.push((text, vec![device])),
            }
        }
    }
    let all = document.devices.len();
    let named = |devices: &[&Device]| match devices {
        [first, ..] if devices.len() < all => {
            format!("{}: ", words::devices(first.kind, devices.iter().map(|device| device.index)))
        }
        _ if all > 1 => "all: ".into(),
        _ => String::new(),
    };
    texts.into_iter().map(|(text, devices)| format!("{}{text}", named(&devices))).collect()
}

fn notes_on(device: &Device) -> Vec<String> {
    let mut notes = Vec::new();
    if device.kind == DeviceKind::Gpu {
        match &device.link.value {
            Some(link) => {
                let when = match link.read_when {
                    ReadWhen::Idle => "while idle, so it may be trained down",
                    ReadWhen::UnderLoad => "under load",
                    ReadWhen::Newer => words::NEWER,
                };
                notes.push(format!("link from {}, read {when}", device.link.source));
            }
            None => notes.extend(unknown("link", &device.link)),
        }
        match device.numa_node.value {
            Some(_) => notes.push(format!("NUMA node from {}", device.numa_node.source)),
            None => notes.extend(unknown("NUMA node", &device.numa_node)),
        }
        notes.extend(unknown("latch for device timing", &device.latch));
    }
    match device.bound_bytes_per_s.value {
        Some(bound) => {
            notes.push(format!(
                "100 % of bound is {} a direction ({})",
                units::rate(bound),
                device.bound_bytes_per_s.source
            ));
        }
        // A node's memory has no link that could bound it.
        None if device.kind == DeviceKind::HostMemory => {}
        None => notes.extend(unknown("bound", &device.bound_bytes_per_s)),
    }
    notes
}

fn unknown<T>(what: &str, known: &Known<T>) -> Option<String> {
    let reason = known.reason.as_deref().filter(|_| known.value.is_none())?;
    Some(format!("{what} unknown: {reason} ({})", known.source))
}
