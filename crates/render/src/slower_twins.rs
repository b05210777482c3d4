//! What a person reads of GPUs that are slower than those like them. `analysis::slower_twins` finds them.

use report::Document;
use report::device::name_on_node;
use report::slower_twin::SlowerTwin;
use stats::units::counted;

use crate::names;

/// Each in a sentence.
pub(crate) fn sentences(document: &Document) -> Vec<String> {
    document.slower_twins.iter().map(|slower| sentence(document, slower)).collect()
}

fn sentence(document: &Document, slower: &SlowerTwin) -> String {
    let less = (1.0 - slower.bytes_per_s / slower.twins_bytes_per_s) * 100.0;
    let twins = if slower.twins == 1 { "its twin".to_owned() } else { format!("its {} twins", slower.twins) };
    // The ranks of a matrix are its cells.
    let rank =
        if document.figures().are_of_places() { String::new() } else { format!(", rank {},", slower.rank) };
    let case = document.cases.iter().find(|case| case.id == slower.case);

    format!(
        "{}{rank} is {less:.0} % slower than {twins}: {:.1} against {:.1} GB/s ({}), and so in {} of {}; {}.",
        gpu(document, slower),
        slower.bytes_per_s / 1e9,
        slower.twins_bytes_per_s / 1e9,
        case.map_or_else(|| slower.case.clone(), |case| names::case(document, case)),
        slower.slower_cases,
        counted(slower.judged_cases as usize, "case"),
        slower.cause
    )
}

/// Its GPU; with its host where there are several.
fn gpu(document: &Document, slower: &SlowerTwin) -> String {
    let host =
        document.ranks.iter().find(|rank| rank.rank == slower.rank).filter(|_| document.nodes.len() > 1);
    let host = host.map_or(String::new(), |rank| format!("{} ", rank.host));
    let device = document.devices.iter().find(|device| device.id == slower.device);
    format!(
        "{host}{} ({})",
        device.map_or_else(|| "a GPU".to_owned(), names::device),
        name_on_node(&slower.device)
    )
}
