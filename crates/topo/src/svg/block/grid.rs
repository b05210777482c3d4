//! Blocks in rows and columns.

use super::{Block, Drawn, Rect, Size};
use crate::svg::columns::{Columns, Count, Level, Levels};

/// The widest that a card is stretched to the room there is, px: a line of text across a whole screen is not
/// read.
const WIDEST_CARD: i32 = 420;

/// A grid of blocks.
#[derive(Clone, Debug)]
pub(in crate::svg) struct Panel {
    blocks: Vec<Block>,
    grid: Grid,
    /// Between blocks, px.
    gap: i32,
    /// What measuring found.
    widths: Vec<i32>,
    heights: Vec<i32>,
}

/// How many columns a grid has, and how wide they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::svg) enum Grid {
    /// So many columns, each as wide as its widest block.
    Fixed(usize),
    /// One below the other, as wide as the room there is.
    Stacked,
    /// As many columns as the level has, all of one width.
    Even(Level),
    /// The same, taking the room there is.
    Stretched(Level),
    /// As many columns as the level has, each as wide as its widest block, taking the room there is.
    Beside(Level),
    /// As many columns as the level has, and more where the block is wide enough anyway; all of one width.
    Filling(Level),
    /// The same, taking the room there is where that makes no card wider than [`WIDEST_CARD`].
    Cards(Level),
}

impl Grid {
    /// What it takes its number of columns from.
    fn level(self) -> Option<Level> {
        match self {
            Self::Fixed(_) | Self::Stacked => None,
            Self::Even(level)
            | Self::Stretched(level)
            | Self::Beside(level)
            | Self::Filling(level)
            | Self::Cards(level) => Some(level),
        }
    }
}

impl Panel {
    /// Blocks in a grid of this kind.
    pub(in crate::svg) fn new(grid: Grid, gap: i32, blocks: Vec<Block>) -> Self {
        Self { blocks, grid, gap, widths: Vec::new(), heights: Vec::new() }
    }

    pub(in crate::svg) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The kinds of grids that its size depends on, once measured.
    pub(in crate::svg) fn levels(&self) -> Levels {
        self.grid.level().into_iter().map(Levels::of).chain(self.blocks.iter().map(Block::levels)).collect()
    }

    /// The grid's size; `room` is how wide its block is without it.
    pub(in crate::svg) fn measure(&mut self, columns: &Columns, room: i32) -> Size {
        let sizes: Vec<Size> = self.blocks.iter_mut().map(|block| block.measure(columns)).collect();
        let widest = sizes.iter().map(|size| size.width).max().unwrap_or(0);
        let number = match self.grid {
            Grid::Fixed(number) => number,
            Grid::Stacked => 1,
            Grid::Even(level) | Grid::Stretched(level) | Grid::Beside(level) => columns.count(level),
            Grid::Filling(level) | Grid::Cards(level) => {
                let fitting = (room + self.gap) / (widest + self.gap);
                columns.count(level).max(usize::try_from(fitting).unwrap_or(1))
            }
        };

        let number = number.clamp(1, self.blocks.len().max(1));
        let width = |column: usize| {
            sizes.iter().skip(column).step_by(number).map(|size| size.width).max().unwrap_or(0)
        };
        self.widths = match self.grid {
            Grid::Fixed(_) | Grid::Beside(_) => (0..number).map(width).collect(),
            _ => vec![widest; number],
        };
        self.heights =
            sizes.chunks(number).map(|row| row.iter().map(|size| size.height).max().unwrap_or(0)).collect();
        Size { width: self.sum(&self.widths), height: self.sum(&self.heights) }
    }

    /// Counts itself, where its columns are chosen, and the grids in its blocks.
    pub(in crate::svg) fn count(&self, count: &mut Count) {
        if let Some(level) = self.grid.level() {
            count.add(level, self.blocks.len(), self.widths.len());
        }
        self.blocks.iter().for_each(|block| block.count(count));
    }

    fn sum(&self, parts: &[i32]) -> i32 {
        let gaps = i32::try_from(parts.len().saturating_sub(1)).unwrap_or(0);
        parts.iter().sum::<i32>() + self.gap * gaps
    }

    /// Puts the blocks at their places; gives the grid's height.
    pub(in crate::svg) fn placed(self, x: i32, y: i32, room: i32, into: &mut Vec<Drawn>) -> i32 {
        let height = self.sum(&self.heights);
        let columns = i32::try_from(self.widths.len()).unwrap_or(1).max(1);
        let free = (room - self.sum(&self.widths)).max(0) / columns;
        let more = |width: i32| match self.grid {
            Grid::Fixed(_) | Grid::Even(_) | Grid::Filling(_) => 0,
            Grid::Stacked | Grid::Stretched(_) | Grid::Beside(_) => free,
            Grid::Cards(_) => {
                if width + free <= WIDEST_CARD {
                    free
                } else {
                    0
                }
            }
        };

        let mut blocks = self.blocks.into_iter();
        let mut at_y = y;

        for height in &self.heights {
            let mut at_x = x;
            for (width, block) in self.widths.iter().zip(&mut blocks) {
                let width = width + more(*width);
                into.push(block.placed(Rect { x: at_x, y: at_y, width, height: *height }));
                at_x += width + self.gap;
            }
            at_y += height + self.gap;
        }
        height
    }
}
