//! The machine as a picture: `numabench topo --svg`.
//!
//! Boxes in boxes, as the machine is built: packages, NUMA nodes with their memory, L3s, cores, PUs by the
//! ids that users write; each GPU and NIC in the box that is local to it, so that which cores are for which
//! GPU can be seen. What nobody knows the place of stands apart and says so; what may not be used looks
//! different, and a legend says how.
//!
//! A pure function of the survey, in three steps: `places` (what is in what), `picture` (every rectangle;
//! `block`, `columns` and `arrange` compute, `pus`, `nodes`, `devices`, `links` and `legend` say what is in a
//! box), `write` (by the crate `svg`, which writes the report's pictures too). Left out: distances, PCI
//! bridges, the L1 and L2 caches.

mod arrange;
mod block;
mod columns;
mod devices;
mod legend;
mod links;
mod look;
mod nodes;
mod picture;
mod places;
mod pus;
mod text_metrics;
mod write;

#[cfg(test)]
mod tests;

use crate::survey::Survey;
use links::GpuLink;

/// The picture of a machine as an SVG document of its own.
pub fn svg(survey: &Survey) -> String {
    with_links(survey, &links::known(survey))
}

fn with_links(survey: &Survey, links: &[GpuLink]) -> String {
    write::document(&picture::picture(survey, links), &picture::title(&survey.topology))
}
