//! Boxes that know how large they must be, and where their parts go: all rectangles are computed before
//! anything is drawn.
//!
//! A block has lines of text, and below them panels: grids of further blocks. First sizes go up (a block is
//! as large as its parts need), then places go down (parts that may are stretched to the room there is). How
//! many columns a grid has is either fixed or chosen for the whole picture (`arrange`). Everything is in
//! whole px.

mod grid;

use ::svg::Anchor;

use super::columns::{Columns, Count, Levels};
use super::look::Look;
use super::text_metrics::Font;
pub(super) use grid::{Grid, Panel};

/// Around the contents of a block, px.
pub(super) const PADDING: i32 = 8;
/// Between two lines' texts that share a line, px.
const APART: i32 = 14;

/// Where something is, px from the sheet's top left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A width and a height, px.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A line of a block: a text at the left, and perhaps one at the right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    left: String,
    font: Font,
    right: String,
    /// Of all its words, px.
    width: i32,
    keeping_right: bool,
    /// The room it asks for at most, px; with less room than its words need they are cut.
    at_most: i32,
}

impl Line {
    pub(super) fn new(font: Font, words: impl Into<String>) -> Self {
        let left = words.into();
        let width = font.width(&left);
        Self { left, font, right: String::new(), width, keeping_right: false, at_most: i32::MAX }
    }

    /// With words at the right end, in the body's font.
    pub(super) fn and(self, right: impl Into<String>) -> Self {
        let right = right.into();
        let width = self.width + if right.is_empty() { 0 } else { APART + Font::SMALL.width(&right) };
        Self { right, width, ..self }
    }

    /// Not to be the reason why its block is wider than this.
    pub(super) fn asking_at_most(self, px: i32) -> Self {
        Self { at_most: px, ..self }
    }

    /// With the left words giving way, where there is too little room, and the right ones whole.
    pub(super) fn keeping_right(self) -> Self {
        Self { keeping_right: true, ..self }
    }

    /// The texts between `x` and `x + room`.
    fn placed(&self, x: i32, y: i32, room: i32, texts: &mut Vec<Text>) {
        let y = y + self.font.baseline();
        let kept = if self.keeping_right { APART + Font::SMALL.width(&self.right) } else { 0 };
        let left = self.font.cut(&self.left, room - kept);
        let used = self.font.width(&left);
        texts.push(Text { x, y, anchor: Anchor::Start, font: self.font, words: left });
        let right = Font::SMALL.cut(&self.right, room - used - APART);
        if !right.is_empty() {
            texts.push(Text { x: x + room, y, anchor: Anchor::End, font: Font::SMALL, words: right });
        }
    }
}

/// A text where it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) x: i32,
    /// Of the baseline.
    pub(super) y: i32,
    pub(super) anchor: Anchor,
    pub(super) font: Font,
    pub(super) words: String,
}

/// A straight line between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) from: (i32, i32),
    pub(super) to: (i32, i32),
    /// 0 for the thickest.
    pub(super) weight: usize,
}

/// A box with its words and its parts.
#[derive(Clone, Debug)]
pub(super) struct Block {
    look: Look,
    tooltip: String,
    lines: Vec<Line>,
    panels: Vec<Panel>,
    /// Parts at places of their own, from its top left corner, and lines behind them.
    free: Vec<(i32, i32, Block)>,
    wires: Vec<Wire>,
    padding: i32,
    /// Between its panels, px.
    gap: i32,
    size: Size,
    /// Whether its one text is in its middle.
    cell: bool,
    /// What its size was found for, and the kinds of grids in it that the size depends on.
    measured: Option<(Columns, Levels)>,
}

/// A box where it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) rect: Rect,
    pub(super) look: Look,
    pub(super) tooltip: String,
    pub(super) texts: Vec<Text>,
    pub(super) wires: Vec<Wire>,
    pub(super) inside: Vec<Drawn>,
}

impl Block {
    /// A box with these lines at its top.
    pub(super) fn new(look: Look, tooltip: impl Into<String>, lines: Vec<Line>) -> Self {
        let (tooltip, size) = (tooltip.into(), Size::default());
        Self {
            look,
            tooltip,
            lines,
            panels: Vec::new(),
            free: Vec::new(),
            wires: Vec::new(),
            padding: PADDING,
            gap: PADDING,
            size,
            cell: false,
            measured: None,
        }
    }

    /// A small box of a given size with a text in its middle.
    pub(super) fn cell(look: Look, tooltip: impl Into<String>, words: impl Into<String>, size: Size) -> Self {
        let lines = vec![Line::new(Font::SMALL, words)];
        let measured = Some((Columns::default(), Levels::default()));
        Self { size, cell: true, measured, padding: 0, ..Self::new(look, tooltip, lines) }
    }

    /// An unseen box of a given size with parts and lines at places of their own.
    pub(super) fn free(size: Size, parts: Vec<(i32, i32, Self)>, wires: Vec<Wire>) -> Self {
        Self { free: parts, wires, ..Self::cell(Look::Unseen, "", "", size) }
    }

    /// With another room around its contents, and between its panels, px.
    pub(super) fn spaced(self, padding: i32, gap: i32) -> Self {
        Self { padding, gap, ..self }
    }

    /// With another panel below; one without blocks is left out.
    pub(super) fn with(mut self, panel: Panel) -> Self {
        if !panel.is_empty() {
            self.panels.push(panel);
        }
        self
    }

    /// The kinds of grids that its size depends on, once measured.
    pub(super) fn levels(&self) -> Levels {
        self.measured.map_or_else(Levels::default, |(_, levels)| levels)
    }

    /// How large the block must be when its grids have these columns.
    pub(super) fn measure(&mut self, columns: &Columns) -> Size {
        if self.measured.is_some_and(|(before, levels)| before.same_for(columns, levels)) {
            return self.size;
        }
        let mut width = self.lines.iter().map(|line| line.width.min(line.at_most)).max().unwrap_or(0);
        let mut height = self.lines_height();
        for panel in &mut self.panels {
            let size = panel.measure(columns, width);
            width = width.max(size.width);
            height += size.height + if height > 0 { self.gap } else { 0 };
        }
        self.size = Size { width: width + 2 * self.padding, height: height + 2 * self.padding };
        self.measured = Some((*columns, self.panels.iter().map(Panel::levels).collect()));
        self.size
    }

    /// Counts the grids in it.
    pub(super) fn count(&self, count: &mut Count) {
        if self.levels() != Levels::default() {
            self.panels.iter().for_each(|panel| panel.count(count));
        }
    }

    fn lines_height(&self) -> i32 {
        self.lines.iter().map(|line| line.font.line_height()).sum()
    }

    /// The block in a rectangle that has at least its size.
    pub(super) fn placed(self, rect: Rect) -> Drawn {
        let mut texts = Vec::new();
        let (x, room) = (rect.x + self.padding, rect.width - 2 * self.padding);
        let mut y = rect.y + self.padding;
        if let Some(line) = self.lines.first().filter(|_| self.cell) {
            let (x, y) = (rect.x + rect.width / 2, rect.y + (rect.height + line.font.size * 3 / 4) / 2);
            texts.push(Text { x, y, anchor: Anchor::Middle, font: line.font, words: line.left.clone() });
        } else {
            for line in &self.lines {
                line.placed(x, y, room, &mut texts);
                y += line.font.line_height();
            }
        }

        let at = |(x, y): (i32, i32)| (rect.x + x, rect.y + y);
        let wires = self
            .wires
            .into_iter()
            .map(|wire| Wire { from: at(wire.from), to: at(wire.to), ..wire })
            .collect();
        let mut inside = Vec::new();
        for (x, y, part) in self.free {
            let Size { width, height } = part.size;
            inside.push(part.placed(Rect { x: rect.x + x, y: rect.y + y, width, height }));
        }

        for panel in self.panels {
            y += if y > rect.y + self.padding { self.gap } else { 0 };
            y += panel.placed(x, y, room, &mut inside);
        }
        Drawn { rect, look: self.look, tooltip: self.tooltip, texts, wires, inside }
    }
}
