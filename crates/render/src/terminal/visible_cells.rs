//! What a case shows for a rank: its numbers, or the words that stand in their place.

use report::case::{Case, CaseStatus};
use report::result::{BlockSample, Outcome, RankResult};
use stats::flag::Flag;
use stats::stop::StopReason;
use stats::summary::Summary;

use super::page::Tone;
use super::words;

/// Numbers or words.
pub(super) enum Shown<'a> {
    Numbers {
        summary: &'a Summary,
        percent_of_bound: Option<f64>,
        stop_reason: StopReason,
        flags: &'a [Flag],
        blocks: &'a [BlockSample],
    },
    Words {
        tone: Tone,
        text: String,
    },
}

/// What `case` shows for `rank`. An invalid case shows no rank's numbers.
pub(super) fn shown(case: &Case, rank: u32) -> Shown<'_> {
    match case.ranks.iter().find(|result| result.rank == rank) {
        Some(result) => of_result(case, result),
        None => Shown::Words { tone: Tone::Warning, text: format!("no result: {}", reason(case)) },
    }
}

fn reason(case: &Case) -> &str {
    case.reason.as_deref().unwrap_or("no reason was recorded")
}

/// What `case` shows for the rank that has this result in it.
pub(super) fn of_result<'a>(case: &'a Case, result: &'a RankResult) -> Shown<'a> {
    if case.status == CaseStatus::Invalid && result.summary().is_some() {
        return Shown::Words { tone: Tone::Bad, text: format!("INVALID: {}", reason(case)) };
    }
    match &result.outcome {
        Outcome::Measured { summary, percent_of_bound, stop_reason, flags } => {
            let (percent_of_bound, stop_reason) = (*percent_of_bound, *stop_reason);
            Shown::Numbers { summary, percent_of_bound, stop_reason, flags, blocks: &result.blocks }
        }
        other => {
            let (tone, text) = in_words(other, result);
            Shown::Words { tone, text }
        }
    }
}

fn in_words(outcome: &Outcome, result: &RankResult) -> (Tone, String) {
    match outcome {
        Outcome::Skipped { reason } => (Tone::Warning, format!("skipped: {reason}")),
        Outcome::Failed { stage, call, code, message } => {
            let named = call.as_deref().filter(|call| !message.contains(call));
            let call = named.map_or(String::new(), |call| match code {
                Some(code) => format!(" ({call}, code {code})"),
                None => format!(" ({call})"),
            });
            (Tone::Bad, format!("FAILED at {}: {message}{call}", words::stage(*stage)))
        }
        Outcome::Invalid { reason } => (Tone::Bad, format!("INVALID: {reason}")),
        Outcome::Corrupt { reason } => {
            let first = result.verification.mismatch.map_or(String::new(), |m| {
                let (offset, expected, got) = (m.offset_bytes, m.expected, m.got);
                format!(
                    "; first in block {} at offset {offset}: sent {expected:#04x}, got {got:#04x}",
                    m.block
                )
            });
            (Tone::Bad, format!("DATA CORRUPT: {reason}{first}"))
        }
        Outcome::Measured { .. } | Outcome::Newer => (Tone::Warning, format!("a result {}", words::NEWER)),
    }
}
