//! Links that go from each to each (between GPUs, between NUMA nodes): those that are linked stand on a ring,
//! a line a pair in the colour of its figure.

use std::cmp::Ordering;
use std::f64::consts::TAU;

use analysis::measured_links::{LinkEnd, Measured, MeasuredLink};
use analysis::words::direction;
use report::Document;
use report::device::name_on_node;
use report::settings::Direction;
use stats::alike::grouped;
use stats::interval::range;
use stats::units::{duration_range, range as range_of};

use super::scale::{Colours, MARKED, noise, shortest};
use crate::{digits, names};
use svg::text_metrics::{cut, width};
use svg::{Anchor, Picture};

/// The room of a ring, px.
const SIDE: f64 = 330.0;
/// More than so many have no room for their whole names.
const CROWDED: usize = 10;
/// Up to so many have their figures on their lines.
const NUMBERED: usize = 4;
/// A line among few is as thick as this, px.
const THICK: f64 = 6.0;

/// A ring.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) title: String,
    pub(super) names: Vec<String>,
    pub(super) lines: Vec<RingLine>,
}

/// Two of a ring by their numbers, the lower one first, and what is between them, each way.
pub(super) type RingLine = ((usize, usize), Vec<MeasuredLink>);

impl Ring {
    /// The rings of a document's links: copies between GPUs, then accesses from node to node.
    pub(super) fn all(document: &Document, links: &[MeasuredLink]) -> Vec<Self> {
        let is_pair = |link: &&MeasuredLink| {
            link.from != link.to
                && matches!(
                    (&link.from, &link.to),
                    (LinkEnd::Device(_), LinkEnd::Device(_)) | (LinkEnd::Numa(_), LinkEnd::Numa(_))
                )
        };

        let kinds: Vec<(_, Vec<&MeasuredLink>)> =
            grouped(links.iter().filter(is_pair).map(|link| ((link.direction, link.is_time), link)));
        let ring = |((way, is_time), of_kind): ((Direction, bool), Vec<&MeasuredLink>)| {
            let mut ends: Vec<&LinkEnd> = of_kind.iter().flat_map(|link| [&link.from, &link.to]).collect();
            ends.sort();
            ends.dedup();
            let at = |end: &LinkEnd| ends.iter().position(|other| *other == end).unwrap_or(0);
            let between = |link: &MeasuredLink| {
                let (one, other) = (at(&link.from), at(&link.to));
                (one.min(other), one.max(other))
            };
            let lines = grouped(of_kind.iter().map(|link| (between(link), (*link).clone())));
            let noun = if ends.iter().any(|end| matches!(end, LinkEnd::Device(_))) {
                "GPU to GPU"
            } else {
                "from node to node"
            };
            let unit = if is_time { ", time" } else { ", GB/s" };
            Self {
                title: format!("{} {noun}{unit}", direction(way)),
                names: ends
                    .iter()
                    .map(|end| name(document, end))
                    .map(|name| within(name, ends.len()))
                    .collect(),
                lines,
            }
        };
        kinds.into_iter().map(ring).collect()
    }
}

fn name(document: &Document, end: &LinkEnd) -> String {
    match end {
        LinkEnd::Numa(node) => format!("node {node}"),
        LinkEnd::Device(id) => {
            let device = document.devices.iter().find(|device| device.id == *id);
            device.map_or_else(|| short(id), names::device)
        }
    }
}

/// Among many there is room for the number alone.
fn within(name: String, all: usize) -> String {
    match name.strip_prefix("GPU ") {
        Some(number) if all > CROWDED => number.to_owned(),
        _ => name,
    }
}

/// A device of which the document has no more than the address, without what is the same for all.
fn short(id: &str) -> String {
    let name = name_on_node(id);
    name.strip_prefix("0000:").and_then(|name| name.strip_suffix(".0")).unwrap_or(name).to_owned()
}

/// The rings from `top` on, side by side where there is room.
pub(super) fn drawn(rings: &[Ring], picture: &mut Picture, top: f64, colours: &Colours) {
    let across = ((picture.width / SIDE) as usize).max(1);
    let side = SIDE.min(picture.width);
    for (at, ring) in rings.iter().enumerate() {
        let (x, y) = (side * (at % across) as f64, top + (side * 0.86 + 30.0) * (at / across) as f64);
        ring.drawn(picture, (x, y), side, colours);
    }
    let rows = rings.len().div_ceil(across);
    picture.height = top + (side * 0.86 + 30.0) * rows as f64 + 6.0;
}

impl Ring {
    fn drawn(&self, picture: &mut Picture, (x, y): (f64, f64), side: f64, colours: &Colours) {
        let titles = [self.title_with_range(), self.title.clone()];
        let title = titles.iter().find(|title| width(title) <= side - 8.0).unwrap_or(&self.title);
        picture.text(x + 4.0, y + 14.0, Anchor::Start, &cut(title, side - 8.0));

        let middle = (x + side / 2.0, y + 26.0 + side * 0.42);
        let (across, down) = (side / 2.0 - 40.0, side * 0.36);
        let place = |at: usize| {
            let angle = TAU * (at as f64 / self.names.len() as f64 - 0.25);
            (middle.0 + across * angle.cos(), middle.1 + down * angle.sin())
        };
        let thick = (THICK - self.names.len() as f64 / 4.0).max(2.0);

        // The slower lie on top: they are what a reader looks for.
        let mut lines: Vec<_> = self.lines.iter().filter_map(|line| Some((line, slowest(line)?))).collect();
        lines.sort_by(|(_, (_, one)), (_, (link, other))| by_speed(link.is_time, one, other).reverse());

        for ((ends, links), (link, measured)) in lines {
            let (from, to) = (place(ends.0), place(ends.1));
            let (fill, _) = colours.paint(link, &measured);
            let figures: Vec<String> = links.iter().filter_map(|link| self.link_line(link, *ends)).collect();
            let d = format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
            // The lightest colours would be lost on white without an edge.
            let edge = format!(
                "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.45\" stroke-width=\"{:.1}\"",
                thick + 1.6
            );
            picture.form(&d, &edge, "");
            if links.iter().any(|link| link.is_below) {
                let edge = format!("fill=\"none\" stroke-width=\"{:.1}\" {MARKED}", thick + 5.0);
                picture.form(&d, &edge, "");
            }
            picture.form(
                &d,
                &format!("fill=\"none\" stroke=\"{fill}\" stroke-width=\"{thick:.1}\""),
                &figures.join("; "),
            );
        }

        if self.names.len() <= NUMBERED {
            self.numbers(picture, &place);
        }
        for (at, name) in self.names.iter().enumerate() {
            let (px, py) = place(at);
            let wide = width(name) + 10.0;
            let paint = "class=\"chip\" fill=\"#f4f4f1\" stroke=\"#5a5a5a\" rx=\"4\"";
            picture.rect((px - wide / 2.0, py - 10.0), (wide, 20.0), paint, "");
            picture.text_on(px, py + 4.0, Anchor::Middle, "#1a1a1a", name);
        }
    }

    /// `D2D GPU to GPU, GB/s: 147–290`.
    fn title_with_range(&self) -> String {
        let links = || self.lines.iter().flat_map(|(_, links)| links);
        let is_time = links().any(|link| link.is_time);
        let known = links().filter_map(MeasuredLink::first).filter(|measured| noise(measured).is_none());
        match range(known.map(|measured| measured.value)) {
            None => self.title.clone(),
            Some((low, high)) if is_time => format!("{}: {}", self.title, duration_range(low, high)),
            Some((low, high)) => format!("{}: {}", self.title, range_of(low / 1e9, high / 1e9)),
        }
    }

    /// On each line its figure, beside the middle, where the longest lines cross: paper has no pointer.
    fn numbers(&self, picture: &mut Picture, place: &dyn Fn(usize) -> (f64, f64)) {
        for ((one, other), links) in &self.lines {
            let (from, to) = (place(*one), place(*other));
            let along = |part: f64| (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            let (x, y) = along(0.36);
            let figures = links.iter().filter_map(|link| Some((link, link.first()?)));
            let said = figures.map(|(link, measured)| match noise(&measured) {
                Some(half_width) => format!("± {:.0} %", half_width * 100.0),
                None => shortest(link.is_time, measured.value, measured.interval.as_ref()),
            });

            let mut said: Vec<String> = said.collect();
            said.dedup();
            let said = said.join("/");
            let wide = width(&said) + 8.0;
            let paint = "class=\"chip\" fill=\"#ffffff\" stroke=\"#8a8f98\" rx=\"3\"";
            picture.rect((x - wide / 2.0, y - 9.0), (wide, 18.0), paint, "");
            picture.text_on(x, y + 4.0, Anchor::Middle, "#1a1a1a", &said);
        }
    }

    /// `GPU 0 to GPU 1: 380 GB/s`.
    fn link_line(&self, link: &MeasuredLink, (one, other): (usize, usize)) -> Option<String> {
        let measured = link.first()?;
        // Ends are sorted, and so are the names.
        let (from, to) = if link.from < link.to { (one, other) } else { (other, one) };
        let below = if link.is_below { ", far below others of its kind" } else { "" };
        let figure = match noise(&measured) {
            Some(half_width) => format!("too noisy (± {:.0} %)", half_width * 100.0),
            None => digits::figure(link.is_time, measured.value, measured.interval.as_ref()),
        };
        Some(format!("{} to {}: {figure}{below}", self.names[from], self.names[to]))
    }
}

/// The slowest link of a line, with its figure.
fn slowest((_, links): &RingLine) -> Option<(&MeasuredLink, Measured)> {
    let measured = links.iter().filter_map(|link| Some((link, link.first()?)));
    measured.min_by(|(link, one), (_, other)| by_speed(link.is_time, one, other))
}

/// The slower figure first.
fn by_speed(is_time: bool, one: &Measured, other: &Measured) -> Ordering {
    let by_value = one.value.total_cmp(&other.value);
    if is_time { by_value.reverse() } else { by_value }
}
