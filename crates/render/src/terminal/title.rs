//! The lines above the figures: which program ran where and when, whether GPUs took part at all, and whether
//! ranks are missing.

use report::document::{Platform, PlatformKind};
use report::{Document, Figures};

use super::hosts;
use super::missing;
use super::page::{Page, Tone};

pub(super) fn draw(document: &Document, page: &mut Page) {
    let tool = &document.tool;
    let nodes = hosts::nodes(document).len();
    let place = if nodes > 1 { format!("{nodes} nodes") } else { document.environment.hostname.clone() };
    let git = tool.git.as_ref().map_or(String::new(), |git| format!(" ({git})"));
    let started = &document.started_at;
    page.line(
        Tone::Title,
        format!("{} {}{git} {} on {place}, {started}", tool.name, tool.version, document.command),
    );
    let by_cpu = document.cases.iter().any(|case| case.range_bytes.is_some());

    if by_cpu && document.platform.kind == PlatformKind::Host {
        let text = format!("CPU accesses to host memory{}.", why_no_gpu(&document.platform));
        page.paragraph(Tone::Plain, "No GPU in this measurement: ", &text);
    } else if matches!(document.figures(), Figures::Laplace(_))
        && document.platform.kind == PlatformKind::Host
    {
        let text = format!("the ranks compute with their own cores alone{}.", why_no_gpu(&document.platform));
        page.paragraph(Tone::Warning, "NO GPU: ", &text);
    } else {
        devices(&document.platform, page);
    }

    missing::count(document, page);
    page.blank();
}

/// The reason for no GPU up to its first colon: what the linker said and what to do about it follow at the
/// end.
pub(super) fn in_short(reason: &str) -> &str {
    reason.split(": ").next().unwrap_or(reason)
}

/// ` (no libcuda.so.1 could be loaded)`: the reason for no GPU, in short.
fn why_no_gpu(platform: &Platform) -> String {
    platform.reason.as_ref().map_or(String::new(), |reason| format!(" ({})", in_short(reason)))
}

/// Warns where the figures are not those of real GPUs.
pub(super) fn devices(platform: &Platform, page: &mut Page) {
    if platform.kind == PlatformKind::Host {
        let text = format!("host memory was measured instead{}.", why_no_gpu(platform));
        page.paragraph(Tone::Warning, "NO GPU: ", &text);
    }
    if let Some(simulated) = &platform.simulated {
        let text = format!("{simulated}. The numbers below say nothing about real hardware.");
        page.paragraph(Tone::Warning, "THE DEVICES ARE SIMULATED: ", &text);
    }
}
