//! Cores and their PUs: a small box a PU with the id that users write, siblings side by side in their core's
//! box.

use std::collections::BTreeMap;

use super::block::{Block, Grid, Panel, Size};
use super::columns::Level;
use super::look::Look;
use super::text_metrics::Font;
use crate::model::{Core, PuStatus, Topology};
use crate::text::layout::named;

/// Between cores, px.
const APART: i32 = 4;
/// Around the PUs in their core's box, px: they are a little smaller than it, so that its outline shows.
const RIM: i32 = 1;
/// The most PUs of a core in one row; POWER has up to eight.
const IN_A_ROW: usize = 4;

/// How each PU is drawn.
#[derive(Debug)]
pub(super) struct Pus {
    looks: BTreeMap<u32, Look>,
    cell: Size,
}

impl Pus {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut looks: BTreeMap<u32, Look> =
            topology.pus.iter().map(|pu| (pu.os_index, status_look(pu.status))).collect();
        for core in topology.reserved_cores() {
            looks.extend(core.pus.iter().map(|pu| (pu, Look::Reserved)));
        }
        let widest = looks.keys().map(|pu| Font::SMALL.width(&pu.to_string())).max().unwrap_or(0);
        Self { looks, cell: Size { width: widest.max(16) + 6, height: Font::SMALL.line_height() + 3 } }
    }

    /// The look of each PU there is, for the legend.
    pub(super) fn looks(&self) -> impl Iterator<Item = Look> {
        self.looks.values().copied()
    }

    pub(super) fn cell_size(&self) -> Size {
        self.cell
    }

    /// A box for one PU.
    pub(super) fn pu(&self, pu: u32, of: &str) -> Block {
        let look = self.looks.get(&pu).copied().unwrap_or(Look::Allowed);
        Block::cell(look, format!("PU {pu}{of}: {}", state(look)), pu.to_string(), self.cell)
    }

    /// Grids of cores, one for each number of PUs that they have (a hybrid CPU has cores with two and with
    /// one).
    pub(super) fn cores(&self, cores: &[&Core]) -> Vec<Panel> {
        let mut by_pus: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
        for core in cores {
            by_pus.entry(core.pus.len()).or_default().push(self.core(core));
        }
        by_pus.into_values().rev().map(|alike| Panel::new(Grid::Even(Level::Cores), APART, alike)).collect()
    }

    fn core(&self, core: &Core) -> Block {
        let of = core.os_index.map_or_else(String::new, |id| format!(" of core {id}"));
        let pus: Vec<Block> = core.pus.iter().map(|pu| self.pu(pu, &of)).collect();
        let tooltip = format!("core{}: {}", of.trim_start_matches(" of core"), named("PU", &core.pus));
        let row = pus.len().min(IN_A_ROW);
        Block::new(Look::Core, tooltip, Vec::new()).spaced(RIM, 0).with(Panel::new(Grid::Fixed(row), 0, pus))
    }
}

fn status_look(status: PuStatus) -> Look {
    match status {
        PuStatus::Allowed => Look::Allowed,
        PuStatus::NotInCgroup => Look::NotInCgroup,
        PuStatus::NotInAffinity => Look::NotInAffinity,
        PuStatus::Offline => Look::Offline,
    }
}

/// What a PU's look says, in the words of the other views.
pub(super) fn state(look: Look) -> &'static str {
    match look {
        Look::Reserved => "reserved (as many cores in every L3)",
        Look::NotInCgroup => "outside the cpuset",
        Look::NotInAffinity => "outside the affinity",
        Look::Offline => "offline, or left out of the file",
        _ => "allowed",
    }
}
