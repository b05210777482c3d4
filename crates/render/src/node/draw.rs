//! Boxes: a NUMA node, below it a line to each of its GPUs with what was measured. As many side by side as
//! the width has room for.

use analysis::measured_links::Measured;

use super::model::{Card, Chip, Node, Place};
use super::ring;
use super::scale::{Colours, MARKED, noise, short, shortest};
use svg::text_metrics::{cut, cut_middle, lines, width};
use svg::{Anchor, Picture};

const CARD: f64 = 150.0;
const GAP: f64 = 14.0;
const PAD: f64 = 8.0;
/// From a node's box to its GPUs, px.
const LINK: f64 = 26.0;
const LINE: f64 = 19.0;
/// A link to a second row goes so far beside the cards, px, and is so thick.
const BESIDE: f64 = 8.0;
const BUS: f64 = 5.0;
/// A part of the way that several links share.
const SHARED: &str = "fill=\"currentColor\" fill-opacity=\"0.25\"";
/// So wide a cell has room for its number.
const NUMBERED: f64 = 34.0;
const OUTLINE: &str = "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.55\" rx=\"5\"";

impl Node {
    /// The picture at this width.
    pub(crate) fn drawn(&self, wide: f64) -> Picture {
        let mut picture = Picture::new(wide);
        picture.text(4.0, 16.0, Anchor::Start, &cut(&self.title, wide - 8.0));
        let mut top = self.colours.key(&mut picture, 26.0) + 10.0;
        let most = ((wide - 2.0 * PAD + GAP) / (CARD + GAP)).floor().max(1.0) as usize;
        let across = |place: &Place| place.cards.len().clamp(1, most.min(4));
        let room = |place: &Place| across(place) as f64 * (CARD + GAP) - GAP + 2.0 * PAD;
        let mut at = 0;

        while at < self.places.len() {
            // As many as fit, and rows of about the same number.
            let mut used = 0.0;
            let fits = self.places[at..].iter().take_while(|place| {
                used += room(place) + GAP;
                used - GAP <= wide
            });
            let fits = fits.count().max(1);
            let known = self.places[at..].iter().take_while(|place| place.index.is_some()).count().max(1);
            let count = known.div_ceil(known.div_ceil(fits));
            let row = &self.places[at..at + count];
            let (mut left, mut lowest) = (0.0, top);
            for place in row {
                let wide = room(place).min(wide);
                let bottom =
                    place.drawn(&mut picture, (left + 0.5, top), wide - 1.0, across(place), &self.colours);
                lowest = f64::max(lowest, bottom);
                left += wide + GAP;
            }
            top = lowest + GAP;
            at += count;
        }

        ring::drawn(&self.rings, &mut picture, top, &self.colours);
        picture
    }
}

/// A card where it stands, and the height of its row.
struct Standing<'n> {
    card: &'n Card,
    row: usize,
    at: (f64, f64),
    height: f64,
}

impl Place {
    fn drawn(
        &self,
        picture: &mut Picture,
        (x, y): (f64, f64),
        wide: f64,
        across: usize,
        colours: &Colours,
    ) -> f64 {
        let tall = 42.0 + LINE * self.chips.len() as f64 + if self.chips.is_empty() { 0.0 } else { 4.0 };
        picture.rect((x, y), (wide, tall), &format!("{OUTLINE} stroke-width=\"1.5\""), "");
        picture.text(x + PAD, y + 17.0, Anchor::Start, &cut(&self.name, wide - 2.0 * PAD));
        picture.text(x + PAD, y + 34.0, Anchor::Start, &cut(&self.detail, wide - 2.0 * PAD));

        for (at, chip) in self.chips.iter().enumerate() {
            chip.drawn(
                picture,
                (x + PAD, y + 41.0 + LINE * at as f64),
                wide.min(CARD + 20.0) - 2.0 * PAD,
                &self.name,
                colours,
            );
        }

        let mut below = y + tall;
        let mut standing: Vec<Standing<'_>> = Vec::new();

        for (row, cards) in self.cards.chunks(across).enumerate() {
            let top = below + LINK;
            let height = cards.iter().map(Card::height).fold(0.0, f64::max);
            let at = |at: usize| (x + PAD + at as f64 * (CARD + GAP), top);
            standing.extend(cards.iter().enumerate().map(|(column, card)| Standing {
                card,
                row,
                at: at(column),
                height,
            }));
            below = top + height;
        }

        let rows = self.cards.len().div_ceil(across);

        // The furthest first: the links to nearer rows lie over what goes on past them.
        for Standing { card, row, at, .. } in standing.iter().rev().filter(|_| self.index.is_some()) {
            card.link(picture, *at, y + tall, (*row, rows), &self.name, colours);
        }

        for Standing { card, at, height, .. } in &standing {
            card.drawn(picture, *at, *height, &self.name, colours);
        }
        below
    }
}

impl Card {
    fn height(&self) -> f64 {
        let strip = if self.from_nodes.is_empty() { 0.0 } else { 38.0 };
        42.0 + LINE * self.chips.len() as f64 + strip + 17.0 * self.marks().len() as f64 + 4.0
    }

    /// What of it is not as it should be, in lines.
    fn marks(&self) -> Vec<String> {
        self.marks.iter().flat_map(|mark| lines(&format!("▼ {mark}"), CARD - 14.0, 2)).collect()
    }

    /// The link from the node's box down to the card, in the colour of its first figure; to a second row
    /// beside the first. To more rows links share the gaps between cards, and each has its colour where it
    /// ends.
    fn link(
        &self,
        picture: &mut Picture,
        (left, top): (f64, f64),
        from: f64,
        (row, rows): (usize, usize),
        place: &str,
        colours: &Colours,
    ) {
        let Some((chip, measured)) =
            self.chips.iter().find_map(|chip| Some((chip, chip.link.alone.or(chip.link.at_once)?)))
        else {
            return;
        };
        let edge =
            if !self.marks.is_empty() { format!(" stroke-width=\"2\" {MARKED}") } else { String::new() };
        let paint = format!("fill=\"{}\"{edge}", colours.paint(&chip.link, &measured).0);
        let value = format!("{place} to {}: {}", self.name, chip.value());
        let beside = left - BESIDE;

        match row {
            0 => picture.rect((left + CARD / 2.0 - 4.0, from), (8.0, top - from), &paint, &value),
            _ if rows > 2 => {
                picture.rect((beside, from), (BUS, top + 24.0 - from), SHARED, "");
                picture.rect((beside, top + 14.0), (BESIDE, 10.0), &paint, &value);
            }
            _ => {
                picture.rect((beside, from), (BUS, top + 20.0 - from), &paint, &value);
                picture.rect((beside, top + 15.0), (BESIDE, BUS), &paint, &value);
            }
        }
    }

    fn drawn(&self, picture: &mut Picture, (x, y): (f64, f64), height: f64, place: &str, colours: &Colours) {
        let marked = format!("fill=\"none\" stroke-width=\"2.5\" rx=\"5\" {MARKED}");
        picture.rect((x, y), (CARD, height), if self.marks.is_empty() { OUTLINE } else { &marked }, "");
        picture.text(x + 8.0, y + 17.0, Anchor::Start, &cut_middle(&self.name, CARD - 16.0));
        picture.text(x + 8.0, y + 34.0, Anchor::Start, &cut(&self.detail, CARD - 16.0));
        let mut top = y + 41.0;
        for chip in &self.chips {
            chip.drawn(picture, (x + 6.0, top), CARD - 12.0, &format!("{place}, {}", self.name), colours);
            top += LINE;
        }

        if !self.from_nodes.is_empty() {
            let name = self.chips.first().map_or("", |chip| chip.name.split(' ').next().unwrap_or(""));
            picture.text(
                x + 8.0,
                top + 13.0,
                Anchor::Start,
                &cut(&format!("{name} from each node"), CARD - 14.0),
            );
            let side = (CARD - 12.0) / self.from_nodes.len() as f64;
            for (at, (node, link)) in self.from_nodes.iter().enumerate() {
                let Some(measured) = link.alone.or(link.at_once) else { continue };
                let (fill, ink) = colours.paint(link, &measured);
                let left = x + 6.0 + side * at as f64;
                let chip =
                    Chip { link: link.clone(), name: format!("{name} from node {node} to {}:", self.name) };
                picture.rect(
                    (left, top + 18.0),
                    (side - 1.0, 16.0),
                    &format!("fill=\"{fill}\""),
                    &chip.value(),
                );
                let said = shortest(link.is_time, measured.value, measured.interval.as_ref());
                if side >= NUMBERED && width(&said) < side - 2.0 {
                    picture.text_on(left + side / 2.0, top + 30.0, Anchor::Middle, ink, &said);
                }
            }
            top += 38.0;
        }

        for line in self.marks() {
            picture.text(x + 8.0, top + 13.0, Anchor::Start, &line);
            top += 17.0;
        }
    }
}

impl Chip {
    fn drawn(&self, picture: &mut Picture, (x, y): (f64, f64), wide: f64, place: &str, colours: &Colours) {
        let parts = [self.link.alone, self.link.at_once];
        let shown: Vec<_> = parts.into_iter().flatten().collect();
        let Some(first) = shown.first() else { return };
        let value = format!("{place}: {}", self.value());
        let (fill, ink) = colours.paint(&self.link, first);
        let edge = if self.link.is_below { format!(" stroke-width=\"2\" {MARKED}") } else { String::new() };
        let paint = format!("fill=\"{fill}\" rx=\"3\"{edge}");
        let Some(second) = shown.get(1) else {
            picture.rect((x, y), (wide - 1.0, LINE - 2.0), &paint, &value);
            return picture.text_on(x + 5.0, y + 13.0, Anchor::Start, ink, &self.text(first, wide - 7.0));
        };

        // What all at once get has a colour of its own, and both have room for their numbers.
        let of_all = format!("all {}", shortest(self.link.is_time, second.value, second.interval.as_ref()));
        let part = (wide - width(&of_all) - 8.0).max(wide / 2.0);
        picture.rect((x, y), (part - 1.0, LINE - 2.0), &paint, &value);
        picture.text_on(x + 5.0, y + 13.0, Anchor::Start, ink, &self.text(first, part - 7.0));
        let (fill, ink) = colours.paint(&self.link, second);
        picture.rect((x + part, y), (wide - part, LINE - 2.0), &format!("fill=\"{fill}\" rx=\"3\""), &value);
        picture.text_on(x + part + 4.0, y + 13.0, Anchor::Start, ink, &cut(&of_all, wide - part - 5.0));
    }

    /// The name and the figure, with fewer digits, then without what follows the direction, where there is no
    /// room.
    fn text(&self, measured: &Measured, room: f64) -> String {
        let fewer = shortest(self.link.is_time, measured.value, measured.interval.as_ref());
        let direction = self.name.split(' ').next().unwrap_or_default();
        if let Some(half_width) = noise(measured) {
            return cut(&format!("{direction} ± {:.0} %", half_width * 100.0), room);
        }
        let all = [
            format!("{} {}", self.name, short(self.link.is_time, measured.value, measured.interval.as_ref())),
            format!("{} {fewer}", self.name),
            format!("{direction} {fewer}"),
        ];
        let found = all.iter().find(|text| width(text) <= room);
        found.cloned().unwrap_or_else(|| cut(&all[2], room))
    }
}
