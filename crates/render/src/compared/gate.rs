//! What the gate found of a node, for a terminal and a prologue's log.

use analysis::gate::{Checked, Gate};
use stats::units::counted;

use crate::terminal::page::{Page, Tone};

/// What was found of a node, a line a finding: what an administrator reads in a prologue's log.
pub fn gate(checked: &Checked, width: usize) -> String {
    let mut page = Page::new(width);
    let (tone, word) = match checked.gate {
        Gate::Well => (Tone::Plain, "well"),
        Gate::Undecided => (Tone::Warning, "UNDECIDED"),
        Gate::Finding => (Tone::Bad, "FINDING"),
    };
    let (gpus, passes) = (counted(checked.gpus as usize, "GPU"), counted(checked.passes as usize, "pass"));
    page.words(tone, "", &format!("{}: {word}; {gpus}, {passes}, {:.1} s", checked.host, checked.elapsed_s));
    if let Some(simulated) = &checked.simulated {
        page.words(Tone::Warning, "  THE DEVICES ARE SIMULATED: ", simulated);
    }
    for suspect in &checked.suspects {
        let rate = suspect.bytes_per_s / 1e9;
        let words = match (suspect.normal_bytes_per_s, suspect.limit_bytes_per_s) {
            (Some(normal), Some(limit)) => format!(
                "{}, {}: {rate:.2} GB/s where {:.2} is normal and {:.2} the least, below it in {} of {}",
                suspect.device,
                suspect.case,
                normal / 1e9,
                limit / 1e9,
                suspect.below,
                counted(suspect.passes as usize, "pass")
            ),
            _ => format!(
                "{}, {}: {rate:.2} GB/s, and the baseline knows no such GPU in such a node: learn it with `numabench baseline`",
                suspect.device, suspect.case
            ),
        };
        page.words(tone, "  ", &words);
    }
    for slower in &checked.slower_twins {
        let (rate, twins) = (slower.bytes_per_s / 1e9, slower.twins_bytes_per_s / 1e9);
        page.words(
            tone,
            "  ",
            &format!("{}, {}: {rate:.2} GB/s where its twins here reach {twins:.2}", slower.device, slower.case),
        );
    }
    for cause in &checked.causes {
        page.words(Tone::Plain, "  cause: ", cause);
    }
    page.finish(false)
}
