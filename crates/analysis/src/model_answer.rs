//! Whether the figures of one model of GPU are normal: the same sentences for measurements, checks and other
//! programs' outputs. Pure.

use report::MpiDocument;
use stats::units::counted;

use crate::held_figure::HeldFigure;

/// The answer for the GPUs of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// Normal, low with what is low, or that no figure is known.
    pub text: String,
    /// A sentence a kind of figure: what it was held against.
    pub figures: Vec<String>,
}

impl ModelAnswer {
    /// The answer where no figure is known, and why.
    pub(crate) fn unknown(why: &str) -> Self {
        Self { text: format!("No figure known to hold these against: {why}."), figures: Vec::new() }
    }

    /// The answer for an output whose every case failed or was waived.
    pub(crate) fn without_figures() -> Self {
        Self { text: "No figure: the output has none that was measured.".to_owned(), figures: Vec::new() }
    }

    /// The answer for messages over MPI, of which no figure is known; none for simulated ones.
    pub fn of_mpi(document: &MpiDocument) -> Option<Self> {
        document.simulated.is_none().then(|| Self::unknown("`numabench reference` has none of MPI"))
    }

    /// The answer for a model whose figures were held against these.
    pub(crate) fn of_figures(model: &str, held: &[HeldFigure<'_>]) -> Self {
        let low = |figure: &HeldFigure<'_>| {
            let side = if figure.reference.is_time { "above" } else { "below" };
            Some(format!("{} is {:.0} % {side}", figure.what, 100.0 * figure.shortfall?))
        };
        let low: Vec<String> = held.iter().filter_map(low).collect();

        let text = match (held.len(), low.is_empty()) {
            (0, _) => return Self::unknown(&format!("`numabench reference` has none of {model} for them")),
            (count, true) => {
                format!(
                    "Normal for {model}: {} of figure held against figures of others.",
                    counted(count, "kind")
                )
            }
            (_, false) => format!("Low for {model}: {} what others have.", low.join(", ")),
        };
        Self { text, figures: held.iter().map(HeldFigure::sentence).collect() }
    }
}

/// All sentences of these answers, the answer of each before its figures.
pub fn sentences(answers: Vec<ModelAnswer>) -> Vec<String> {
    answers.into_iter().flat_map(|answer| std::iter::once(answer.text).chain(answer.figures)).collect()
}

/// The answers without what the figures were held against.
pub fn texts(answers: Vec<ModelAnswer>) -> Vec<String> {
    answers.into_iter().map(|answer| answer.text).collect()
}
