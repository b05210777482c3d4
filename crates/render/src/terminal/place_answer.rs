//! The first sentence of a placement: which one is the fastest where the candidates were measured, else how
//! many ranks are near their GPU.

use report::place::{Candidate, Measured, MeasuredFinding, Place, PlaceDocument};
use report::rank::Locality;
use stats::compare::TwoSampleVerdict;
use stats::units::counted;

use super::page::Tone;
use super::words;

/// The answer of a document.
pub(crate) fn answer(document: &PlaceDocument) -> (Tone, String) {
    match (&document.measured, document.candidates.first()) {
        (Some(measured), _) => finding(document, measured),
        (None, Some(candidate)) => planned(candidate),
        (None, None) => (Tone::Bad, "No placement.".to_owned()),
    }
}

/// `8 ranks of 7 cores, each near its GPU (close).`, and of a rank alone first where it is.
fn planned(candidate: &Candidate) -> (Tone, String) {
    let places = &candidate.places;
    let most = places.iter().map(|place| place.cores).max().unwrap_or(0);
    let least = places.iter().map(|place| place.cores).min().unwrap_or(0);
    let cores = counted(most as usize, "core");
    let cores = if least < most { format!("{least}–{cores}") } else { cores };
    let ranks = format!("{} of {cores}", counted(places.len(), "rank"));
    let with_gpu = places.iter().filter(|place| place.gpu.is_some()).count();
    let count = |wanted: &[Locality]| {
        let is_wanted =
            |place: &&Place| place.gpu.is_some() && place.locality.is_some_and(|at| wanted.contains(&at));
        places.iter().filter(is_wanted).count()
    };
    let near = count(&[Locality::L3Local, Locality::NumaLocal]);
    let far = count(&[Locality::SamePackage, Locality::Remote]);
    let unknown = with_gpu - near - far;
    let name = &candidate.name;
    let one = with_gpu == 1;
    let parts = [
        (near, "near their GPU", "near its GPU"),
        (far, "far from their GPU", "far from its GPU"),
        (unknown, "with a GPU whose locality is not reported", "with a GPU whose locality is not reported"),
    ];
    let told: Vec<(usize, &str, &str)> = parts.into_iter().filter(|(count, ..)| *count > 0).collect();
    let counted = |(count, their, its): &(usize, &str, &str)| {
        format!("{count} {}", if *count == 1 { its } else { their })
    };
    let gpus = match told[..] {
        [] => "no GPU takes part".to_owned(),
        [(count, _, its)] if count == places.len() && one => its.to_owned(),
        [(count, _, its)] if count == places.len() => format!("each {its}"),
        _ => told.iter().map(counted).collect::<Vec<_>>().join(", "),
    };
    let tone = if far + unknown > 0 { Tone::Warning } else { Tone::Title };
    let whole = format!("{ranks}, {gpus} (placement {name}).");

    match &places[..] {
        [only] => (tone, format!("{}: {whole}", where_it_is(only))),
        _ => (tone, whole),
    }
}

/// `GPU 3: PUs 24-31, memory of node 1`.
fn where_it_is(place: &Place) -> String {
    let gpu = place.gpu.as_ref().map_or(String::new(), |gpu| format!("GPU {}: ", gpu.index));
    let memory = place.memory_node.map_or(String::new(), |node| format!(", memory of node {node}"));
    format!("{gpu}PUs {}{memory}", place.pus)
}

/// The finding of a measurement.
fn finding(document: &PlaceDocument, measured: &Measured) -> (Tone, String) {
    let Some(leader) = &measured.leader else { return (Tone::Bad, "Nothing was measured.".to_owned()) };
    let others: Vec<&Candidate> = document.candidates.iter().filter(|other| other.name != *leader).collect();
    let with = |wanted: &[TwoSampleVerdict]| {
        let names = others
            .iter()
            .filter(|other| other.against_leader.as_ref().is_some_and(|f| wanted.contains(&f.verdict)));
        names.map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ")
    };

    match measured.finding {
        MeasuredFinding::Best if others.is_empty() => {
            (Tone::Title, format!("All strategies begin on the same PUs ({leader}): nothing to compare."))
        }
        MeasuredFinding::Best => (Tone::Title, format!("The fastest placement here is {leader}.")),
        MeasuredFinding::NoMeasurableDifference => {
            let same = with(&[TwoSampleVerdict::NoMeasurableDifference, TwoSampleVerdict::Undecided]);
            let slower = with(&[TwoSampleVerdict::Lower]);
            let rest = if slower.is_empty() { String::new() } else { format!("; slower: {slower}") };
            (
                Tone::Title,
                format!("No measurable difference between the placements {leader} and {same}{rest}."),
            )
        }
        MeasuredFinding::Undecided => {
            let open = others.iter().filter(|other| {
                let verdict = other.against_leader.as_ref().map(|found| found.verdict);
                !matches!(verdict, Some(TwoSampleVerdict::Lower | TwoSampleVerdict::NoMeasurableDifference))
            });
            let open: Vec<&str> = open.map(|other| other.name.as_str()).collect();
            let text = format!(
                "Undecided: {leader} leads, but its lead over {} is not significant.",
                open.join(", ")
            );
            (Tone::Warning, text)
        }
        MeasuredFinding::Newer => (Tone::Warning, words::NEWER.to_owned()),
    }
}
