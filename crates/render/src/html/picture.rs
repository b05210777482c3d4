//! The node as a picture: its NUMA nodes as boxes, with the devices that are local to each and the ranks that run on its PUs.
//!
//! Drawn from what the document holds of the first node; `numabench topo --svg` draws the whole machine.

use report::Document;
use report::device::{Device, name_on_node};
use report::rank::Rank;

use super::write::{COLOURS, Page, label};
use crate::xml::escaped;

const WIDTH: f64 = 400.0;
const GAP: f64 = 16.0;
const LINE: f64 = 18.0;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let nodes = &document.environment.topology.nodes;
    let devices: Vec<&Device> = document.devices.iter().filter(|device| device.node == 0).collect();
    let local = |node: u32| devices.iter().filter(move |device| device.numa_node.value == Some(node));
    let ranks: Vec<&Rank> = document.ranks.iter().filter(|rank| rank.node == 0).collect();
    let shown: Vec<_> = nodes
        .iter()
        .map(|node| {
            let mut lines: Vec<(bool, String)> = vec![(false, format!("PUs {}", short(&node.pus.to_string())))];
            lines.extend(
                local(node.os_index).map(|device| (true, format!("{} {}", device.name, name_on_node(&device.id)))),
            );
            let here = ranks.iter().filter(|rank| node.pus.0.contains(&rank.asked.pu));
            lines.extend(here.map(|rank| {
                (false, format!("rank {} on PU {} → {}", rank.rank, rank.asked.pu, name_on_node(&rank.asked.device)))
            }));
            (format!("NUMA node {}", node.os_index), lines)
        })
        .collect();
    let elsewhere: Vec<(bool, String)> = devices
        .iter()
        .filter(|device| device.numa_node.value.is_none())
        .map(|device| (true, format!("{} {}", device.name, name_on_node(&device.id))))
        .collect();
    let mut boxes = shown;
    if !elsewhere.is_empty() {
        boxes.push(("Place unknown".to_owned(), elsewhere));
    }
    if boxes.is_empty() {
        return;
    }
    let (mut svg, mut top, mut described) = (String::new(), 0.0, Vec::new());
    for pair in boxes.chunks(2) {
        let tallest = pair.iter().map(|(_, lines)| lines.len()).max().unwrap_or_default();
        let height = LINE * (tallest as f64 + 2.0);
        for (at, (name, lines)) in pair.iter().enumerate() {
            let left = 1.0 + at as f64 * (WIDTH + GAP);
            svg += &format!(
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\" rx=\"6\" fill=\"none\" stroke=\"currentColor\"/>\n",
                top + 1.0
            );
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>\n",
                left + 10.0,
                top + LINE,
                escaped(name)
            );
            for (line, (is_device, text)) in lines.iter().enumerate() {
                let y = top + LINE * (line as f64 + 2.0);
                if *is_device {
                    svg += &format!(
                        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{LINE}\" rx=\"3\" fill=\"{}\" fill-opacity=\"0.25\"/>\n",
                        left + 6.0,
                        y - LINE + 5.0,
                        WIDTH - 12.0,
                        COLOURS[0]
                    );
                }
                svg += &label(left + 12.0, y, "start", text);
            }
            let lines: Vec<&str> = lines.iter().map(|(_, text)| &text[..]).collect();
            described.push(format!("{name}: {}", lines.join("; ")));
        }
        top += height + GAP;
    }
    page.picture("NUMA nodes, devices and ranks", &described.join(". "), 2.0 * WIDTH + GAP + 2.0, top, &svg);
}

/// A list of PUs that fits a box.
fn short(text: &str) -> String {
    match text.char_indices().nth(44) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
