//! What the gate found of a node, for a terminal and a prologue's log.

use analysis::figure::status_word;
use analysis::gate::{Checked, Gate, Suspect};
use analysis::lost_figure::LostFigure;
use report::slower_twin::SlowerTwin;
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
    page.paragraph(
        tone,
        "",
        &format!(
            "{}: {word}{}; {gpus}, {passes}, {:.1} s",
            checked.host,
            but_for(checked),
            checked.elapsed_s
        ),
    );
    if let Some(simulated) = &checked.simulated {
        page.paragraph(Tone::Warning, "  THE DEVICES ARE SIMULATED: ", simulated);
    }
    if let Some(what) = checked.not_judged.as_ref().filter(|_| checked.gate != Gate::Well) {
        page.paragraph(Tone::Plain, "  not judged: ", what);
    }
    findings(checked).iter().for_each(|words| page.paragraph(tone, "  ", words));
    for cause in &checked.causes {
        page.paragraph(Tone::Plain, "  cause: ", cause);
    }

    page.finish(false)
}

/// What a good answer leaves out.
fn but_for(checked: &Checked) -> String {
    let left_out = checked.not_judged.as_ref().filter(|_| checked.gate == Gate::Well);
    left_out.map_or_else(String::new, |what| format!(", but for {what}"))
}

/// What was found, a sentence each: copies that failed, suspects, slower twins, and copies that were not
/// made.
fn findings(checked: &Checked) -> Vec<String> {
    let (failed, not_made): (Vec<&LostFigure>, Vec<&LostFigure>) =
        checked.lost.iter().partition(|lost| lost.has_failed());
    let failed = failed.into_iter().map(lost_words);
    let suspects = checked.suspects.iter().map(suspect_words);
    let twins = checked.slower_twins.iter().map(twin_words);
    failed.chain(suspects).chain(twins).chain(not_made.into_iter().map(lost_words)).collect()
}

fn lost_words(lost: &LostFigure) -> String {
    format!(
        "{}, {}: no figure in {} of {} ({}: {})",
        lost.device,
        lost.case,
        lost.lost,
        counted(lost.passes as usize, "pass"),
        status_word(lost.status),
        lost.reason
    )
}

fn suspect_words(suspect: &Suspect) -> String {
    let rate = suspect.bytes_per_s / 1e9;

    match (suspect.normal_bytes_per_s, suspect.limit_bytes_per_s) {
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
            "{}, {}: {rate:.2} GB/s, and the baseline knows no such GPU in such a node: learn it with \
             `numabench baseline`",
            suspect.device, suspect.case
        ),
    }
}

fn twin_words(slower: &SlowerTwin) -> String {
    let (rate, twins) = (slower.bytes_per_s / 1e9, slower.twins_bytes_per_s / 1e9);
    format!("{}, {}: {rate:.2} GB/s where its twins here reach {twins:.2}", slower.device, slower.case)
}

/// What was found in one line, the worst of it, for a node's reason in Slurm or a log; how many more there
/// are stands behind it.
pub fn reason(checked: &Checked) -> String {
    let simulated = if checked.simulated.is_some() { "SIMULATED: " } else { "" };
    let failed = checked.lost.iter().filter(|lost| lost.has_failed()).count();
    let word = match checked.gate {
        Gate::Well => "well",
        Gate::Undecided => "undecided",
        Gate::Finding if failed > 0 => "failed",
        Gate::Finding => "slow",
    };

    // A copy that failed comes first, then the suspect that was below in most passes.
    let most = checked.suspects.iter().enumerate();
    let most = most.max_by_key(|(at, suspect)| (suspect.below, usize::MAX - at)).map_or(0, |(at, _)| at);
    let worst = if failed > 0 { 0 } else { most };

    let found = findings(checked);
    let more = if found.len() > 1 { format!(" (and {} more)", found.len() - 1) } else { String::new() };
    let not_judged = checked.not_judged.as_ref().filter(|_| checked.gate != Gate::Well);
    let alone = || match not_judged {
        Some(what) => format!("{word}: not judged: {what}"),
        None => format!("{word}{}", but_for(checked)),
    };
    let text = found.get(worst).map_or_else(alone, |finding| format!("{word}: {finding}{more}"));
    format!("{simulated}{text}\n")
}
