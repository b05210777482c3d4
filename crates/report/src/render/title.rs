//! The first lines: which program ran where and when, whether GPUs took part at all, and whether ranks are missing.

use super::hosts;
use super::missing;
use super::page::{Page, Tone};
use crate::Document;
use crate::document::{Platform, PlatformKind};

pub(super) fn draw(document: &Document, page: &mut Page) {
    let tool = &document.tool;
    let nodes = hosts::nodes(document).len();
    let place = if nodes > 1 { format!("{nodes} nodes") } else { document.environment.hostname.clone() };
    let git = tool.git.as_ref().map_or(String::new(), |git| format!(" ({git})"));
    let started = &document.started_at;
    page.line(Tone::Title, format!("{} {}{git} {} on {place}, {started}", tool.name, tool.version, document.command));
    devices(&document.platform, page);
    missing::count(document, page);
    page.blank();
}

/// Whether the figures are those of real GPUs.
pub(super) fn devices(platform: &Platform, page: &mut Page) {
    if platform.kind == PlatformKind::Host {
        let text = "the memory of a NUMA node stands in for the device, and copies are memory copies by the rank's PU";
        let reason = platform.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        page.words(Tone::Warning, "NO GPU TOOK PART: ", &format!("{text}{reason}."));
    }
    if let Some(simulated) = &platform.simulated {
        let text = format!("{simulated}. The numbers below say nothing about real hardware.");
        page.words(Tone::Warning, "THE DEVICES ARE SIMULATED: ", &text);
    }
}
