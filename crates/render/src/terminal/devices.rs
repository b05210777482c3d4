//! The devices that took part: one line each, and what is not known of them once, with the reason.

use std::collections::BTreeSet;

use report::conditions::{ClockRange, Conditions};
use report::device::{Device, DeviceKind, Link, ReadWhen, name_on_node};
use report::document::PlatformKind;
use stats::alike::grouped;
use stats::{IdSet, units};

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::row_folding::{self, alike};
use super::{hosts, words};
use report::{Document, Known};

pub(super) fn draw(document: &Document, page: &mut Page) {
    page.line(Tone::Title, heading(document));
    if hosts::are_several(document) {
        on_several_nodes(document, page)
    } else {
        on_one_node(&document.devices, page)
    }
    for note in notes(document) {
        page.paragraph(Tone::Faint, "    ", &note);
    }
    page.blank();
}

fn on_one_node(devices: &[Device], page: &mut Page) {
    let all: Vec<&Device> = devices.iter().collect();
    let columns = Columns::of(&all);
    // A UUID takes 40 columns; where they are not there, it has a line of its own below.
    let has_uuid = devices.iter().any(|device| device.uuid.is_some());
    let wide = columns.grid(&all, has_uuid);
    let uuids_in_grid = has_uuid && wide.width() <= page.width();
    let grid = if uuids_in_grid { wide } else { columns.grid(&all, false) };
    grid.draw(page);

    if has_uuid && !uuids_in_grid {
        for device in devices {
            let uuid = device.uuid.as_deref().unwrap_or("no UUID");
            page.line(
                Tone::Plain,
                format!("    {} {uuid}", words::devices(device.kind, [device.index].into_iter())),
            );
        }
    }
}

/// The devices of nodes that have the same ones once. UUIDs, which no two have alike, are in the document.
fn on_several_nodes(document: &Document, page: &mut Page) {
    let all: Vec<&Device> = document.devices.iter().collect();
    let columns = Columns::of(&all);
    let of_node = |node| {
        let devices = document.devices.iter().filter(|device| device.node == node);
        devices.map(|device| columns.cells(device, false)).collect::<Vec<_>>()
    };
    let (ways, others) = row_folding::shown(alike(document, of_node));
    let mut grid = columns.grid(&[], false);
    for way in ways {
        grid.caption(row_folding::on(document, &way.nodes));
        way.what.into_iter().for_each(|cells| grid.row(cells, Vec::new()));
    }

    if let Some(others) = others {
        grid.foot(Tone::Faint, others);
    }
    grid.draw(page);
}

fn heading(document: &Document) -> String {
    let (devices, platform) = (&document.devices, &document.platform);
    let name = match &devices[..] {
        [] => return format!("No device took part, {} visible", platform.visible_devices),
        [first, rest @ ..] if rest.iter().all(|device| device.name == first.name) => first.name.clone(),
        all => {
            let name = |device: &Device| match device.kind {
                DeviceKind::HostMemory => "host memory".to_owned(),
                _ => device.name.clone(),
            };
            all.iter().map(name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" and ")
        }
    };

    let mut parts = vec![name];
    parts.extend(used(document));
    parts.extend(platform.driver_version.as_ref().map(|version| format!("driver {version}")));
    parts.extend(platform.api_version.as_ref().map(|version| format!("API {version}")));
    format!("Devices: {}", parts.join(", "))
}

/// How many devices were used, and how many could have been: under a launcher each rank may see its own only.
/// Host memory beside GPUs is none of them.
fn used(document: &Document) -> Option<String> {
    let gpus = document.devices.iter().filter(|device| device.kind != DeviceKind::HostMemory).count();
    let is_host = document.platform.kind == PlatformKind::Host;
    if gpus == 0 && !is_host {
        return None;
    }
    let used = if is_host { document.devices.len() } else { gpus };
    let visible: BTreeSet<u32> = document.ranks.iter().filter_map(|rank| rank.visible_devices).collect();
    Some(match (visible.first(), visible.last()) {
        (Some(least), Some(most)) if least != most => {
            format!("{used} used, {least}–{most} visible to each rank")
        }
        (Some(all), _) if document.launch.is_some() => format!("{used} used, {all} visible to each rank"),
        _ => format!("{used} used of {} visible", document.platform.visible_devices),
    })
}

/// Which columns there are: those in which all devices have nothing to say are left out.
struct Columns {
    gpus: bool,
    names: bool,
}

impl Columns {
    fn of(devices: &[&Device]) -> Self {
        let gpus = devices.iter().any(|device| device.kind != DeviceKind::HostMemory);
        Self { gpus, names: devices.iter().any(|device| device.name != devices[0].name) }
    }

    fn grid(&self, devices: &[&Device], with_uuid: bool) -> TextGrid {
        let mut header = vec![if self.gpus { "GPU" } else { "index" }];
        header.extend(self.names.then_some("name"));
        header.push(if self.gpus { "PCI address" } else { "device" });
        header.extend(with_uuid.then_some("UUID"));
        header.extend(self.gpus.then_some("link"));
        header.push("memory");
        header.extend(self.gpus.then_some("node"));
        // All of them are labels: nothing here is compared by its decimal point.
        let mut grid = TextGrid::new(header.len(), &header);
        devices.iter().for_each(|device| grid.row(self.cells(device, with_uuid), Vec::new()));
        grid
    }

    fn cells(&self, device: &Device, with_uuid: bool) -> Vec<String> {
        let is_other = self.gpus && device.kind == DeviceKind::HostMemory;
        let mut cells = vec![if is_other { "–".to_owned() } else { device.index.to_string() }];
        cells.extend(self.names.then(|| device.name.clone()));
        cells.push(name_on_node(&device.id).to_owned());
        cells.extend(with_uuid.then(|| device.uuid.clone().unwrap_or("none".into())));
        cells.extend(self.gpus.then(|| link_to_cpu(device)));
        // No device has no memory: nobody told (a machine without /sys).
        let memory = Some(device.total_bytes).filter(|bytes| *bytes > 0);
        cells.push(memory.map_or("unknown".to_owned(), units::rounded_size));
        let node = || device.numa_node.value.map_or("unknown".into(), |node| node.to_string());
        cells.extend(self.gpus.then(node));
        cells
    }
}

/// What copies between host memory and the device go over.
fn link_to_cpu(device: &Device) -> String {
    let other = device.other_link().map(str::to_owned);
    other.unwrap_or_else(|| device.link.value.as_ref().map_or("unknown".into(), link))
}

/// `PCIe 5 x16`, with what it could be where that is more.
fn link(link: &Link) -> String {
    let now = format!("PCIe {}", words::lanes(link.generation, link.width));
    let less =
        |now: Option<u8>, most: Option<u8>| matches!((now, most), (Some(now), Some(most)) if now < most);
    match less(link.generation, link.max_generation) || less(link.width, link.max_width) {
        true => format!("{now} (of {})", words::lanes(link.max_generation, link.max_width)),
        false => now,
    }
}

/// More notes than this are of many devices, each with its own.
const MOST_NOTES: usize = 16;

/// What is said of devices in words, and of which: equal texts are said once.
fn notes(document: &Document) -> Vec<String> {
    let notes = document
        .devices
        .iter()
        .flat_map(|device| notes_on(device).into_iter().map(move |text| (text, device)));
    let texts: Vec<(String, Vec<&Device>)> = grouped(notes);
    let all = document.devices.len();
    let of = |devices: &[&Device]| match devices {
        [first, ..] if devices.len() < all => {
            let nodes: IdSet = devices.iter().map(|device| device.node).collect();
            let indices: BTreeSet<u32> = devices.iter().map(|device| device.index).collect();
            let which = words::devices(first.kind, indices.iter().copied());
            match hosts::are_several(document) {
                false => format!("{which}: "),
                // The same ones of each of these nodes, or as many as there are.
                true if nodes.len() * indices.len() == devices.len() => {
                    format!("{which} {}: ", row_folding::on(document, &nodes))
                }
                true => format!("{} of {all} devices: ", devices.len()),
            }
        }
        _ if all > 1 => "all: ".into(),
        _ => String::new(),
    };

    let more = texts.len().saturating_sub(MOST_NOTES);
    let mut notes: Vec<String> =
        texts.into_iter().take(MOST_NOTES).map(|(text, devices)| format!("{}{text}", of(&devices))).collect();
    notes.extend((more > 0).then(|| format!("{more} more like these are in the document")));
    notes
}

/// `clocks 1200-1980 MHz, memory 3201 MHz, held down for 12.0 % of the time, 0 PCIe replays, 0 other
/// processes`.
fn conditions_in_words(conditions: &Conditions) -> String {
    let range = |clock: ClockRange| match clock.low == clock.high {
        true => format!("{} MHz", clock.low),
        false => format!("{}-{} MHz", clock.low, clock.high),
    };
    let held = conditions.held_back.iter().map(|held| held.ns).max();
    let held = held.map(|ns| ns as f64 / conditions.elapsed_ns.max(1) as f64 * 100.0);
    let parts = [
        conditions.sm_clock_mhz.map(|clock| format!("clocks {}", range(clock))),
        conditions.memory_clock_mhz.map(|clock| format!("memory {}", range(clock))),
        held.map(|percent| format!("held down for {percent:.1} % of the time")),
        conditions.replays.map(|replays| words::count(u64::from(replays), "PCIe replay")),
        conditions.other_processes.map(|others| match others {
            1 => "1 other process".to_owned(),
            others => format!("{others} other processes"),
        }),
    ];

    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn notes_on(device: &Device) -> Vec<String> {
    let mut notes = Vec::new();
    if device.kind == DeviceKind::Gpu {
        match &device.link.value {
            _ if device.other_link().is_some() => {}
            Some(link) => {
                let when = match link.read_when {
                    ReadWhen::Idle => "while idle, so it may be trained down",
                    ReadWhen::UnderLoad => "under load",
                    ReadWhen::Newer => words::NEWER,
                };
                notes.push(format!("link from {}, read {when}", device.link.source));
            }
            None => notes.extend(unknown("PCIe link", &device.link)),
        }
        match device.numa_node.value {
            Some(_) => notes.push(format!("NUMA node from {}", device.numa_node.source)),
            None => notes.extend(unknown("NUMA node", &device.numa_node)),
        }
        notes.extend(device.memory_node.as_ref().and_then(|known| match known.value {
            Some(node) => Some(format!("its memory is NUMA node {node}, by {}", known.source)),
            None => Some(format!("its memory is not a NUMA node: {}", known.reason.as_ref()?)),
        }));
        notes.extend(unknown("latch for device timing", &device.latch));
        notes.extend(device.conditions.as_ref().and_then(|known| match &known.value {
            Some(conditions) => Some(format!("{} ({})", conditions_in_words(conditions), known.source)),
            None => unknown("clocks and what holds them down", known),
        }));
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
