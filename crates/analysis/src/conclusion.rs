//! What a run has found, once its cases are there: the figures that follow from them, and the sentences, the
//! answer first. One function a document, whichever command made it: what is said depends on what kind of
//! result it is.

use report::measured_groups::MeasuredGroups;
use report::{Document, Figures};

use crate::{
    answer, cached, groups, headline, kernels, laplace, latency_curves, matrix_analysis, moving, pair_sample,
    pieces, slower_twins, sweep_fits, throttling, unfinished,
};

/// Fills in what a run that goes on has found already, so that one which is killed leaves it: slower GPUs,
/// what sharing costs, the figures of Jacobi's iteration.
pub fn so_far(document: &mut Document) {
    document.slower_twins = slower_twins::slower_twins(document);
    document.penalties = matrix_analysis::penalties(document);
    document.laplace = laplace::laplace(document);
}

/// Fills in all that follows from a document's cases and rows: that, fits, groups, curves, and its verdict.
/// `declared` says what the platform declares that is like measured groups.
pub fn conclude(document: &mut Document, declared: impl Fn(&MeasuredGroups) -> Option<String>) {
    so_far(document);
    document.fits = sweep_fits::sweep_fits(document);
    document.size_losses = matrix_analysis::row_sweep::size_losses(document);
    document.kernels = kernels::kernels(document);
    document.pieces = pieces::pieces(document);
    document.loaded_latency = latency_curves::loaded_latencies(document);
    document.groups = groups::groups(document);
    for found in &mut document.groups {
        found.declared = declared(found);
    }
    document.verdict = sentences(document);
}

/// The sentences of a document that has been concluded, or of one that was kept before it was: a run that was
/// killed, or one of a numabench before 0.3.
pub fn said(document: &Document) -> Vec<String> {
    match document.figures().are_of_places() {
        false if document.verdict.is_empty() => answer::answer(document),
        _ => document.verdict.clone(),
    }
}

fn sentences(document: &Document) -> Vec<String> {
    let mut said = match document.figures() {
        Figures::Ranks => return answer::answer(document),
        Figures::Laplace(_) => return laplace::verdict(document),
        Figures::Sweep => sweep_fits::verdict(document),
        Figures::RowSweep(_) => [matrix_analysis::verdict(document), sweep_fits::verdict(document)].concat(),
        Figures::Matrices(_) => {
            [matrix_analysis::verdict(document), latency_curves::verdict(document), groups::verdict(document)]
                .concat()
        }
        Figures::Kernels(_) => [kernels::verdict(document), matrix_analysis::verdict(document)].concat(),
        Figures::Pieces(_) => pieces::verdict(document),
        Figures::Touches => moving::verdict(document),
    };
    let sample = document.pair_sample.as_ref().map(|sample| pair_sample::sentence(sample, "GPU"));
    said.splice(0..0, sample);
    said.extend(cached::sentence(document));
    said.extend(throttling::sentences(document));

    let said = unfinished::with_ending(document, headline::with_advice(said));
    with_own_time(&document.command, said)
}

/// Sentences advise a longer `--max-time`; the time of a suite and of `topo --measure` is all of their
/// `--within`.
pub fn with_own_time(command: &str, said: Vec<String>) -> Vec<String> {
    match command {
        "suite" | "topo" => {
            said.into_iter().map(|sentence| sentence.replace("--max-time", "--within")).collect()
        }
        _ => said,
    }
}
