//! A report of documents as they were read, whichever kind they are: of one kind only, of several nodes a row
//! each, and of unlike systems a column each.

use std::collections::BTreeSet;

use analysis::any_document::{AnyDocument, DocumentKind};
use analysis::node_run::of_document;
use analysis::nodes::nodes as side_by_side;
use analysis::read_document::ReadDocument;
use analysis::systems::systems as unlike_systems;
use analysis::witness_launch::{WitnessLaunch, launches};
use report::WitnessDocument;
use report::document::Tool;

use super::systems::systems;
use super::{nodes, page};

/// The page of these documents, with their files' names; `tool` makes the table of nodes.
///
/// # Errors
/// They are of several kinds, in words.
pub fn report(documents: Vec<(String, ReadDocument)>, tool: Tool) -> Result<String, String> {
    let (mut results, mut of_trials, mut of_mpi, mut of_others) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut of_copies = Vec::new();
    let (mut kinds, mut of_nodes, mut of_places) = (Vec::new(), Vec::new(), Vec::new());
    for (name, shown) in documents {
        kinds.push(match shown {
            ReadDocument::Place(document) => {
                of_places.push((name, *document));
                None
            }
            ReadDocument::WithFigures(document) => {
                let kind = Some(document.kind());
                match document {
                    AnyDocument::Result(document) => {
                        of_nodes.extend(of_document(&document));
                        results.push((name, *document));
                    }
                    AnyDocument::Trial(trial) => of_trials.push((name, *trial)),
                    AnyDocument::Mpi(document) => of_mpi.push((name, *document)),
                    AnyDocument::Imported(document) => of_others.push((name, *document)),
                    AnyDocument::Witness(document) => of_copies.push((name, *document)),
                }
                kind
            }
            checked => {
                of_nodes.extend(checked.node_runs());
                Some(DocumentKind::Result)
            }
        });
    }

    kinds.sort_unstable();
    kinds.dedup();

    if kinds.len() > 1 {
        let names: Vec<&str> =
            kinds.into_iter().map(|kind| kind.map_or("placement", DocumentKind::name)).collect();
        return Err(format!(
            "a report is of documents of one kind, and these are of {}: give each kind to a report of its \
             own",
            names.join(", ")
        ));
    }

    Ok(match (of_trials.is_empty(), of_mpi.is_empty(), of_others.is_empty()) {
        (false, ..) => page(&of_trials),
        (_, false, _) => page(&of_mpi),
        (.., false) => page(&of_others),
        _ if !of_places.is_empty() => page(&of_places),
        _ if !of_copies.is_empty() => page(&of_launches(of_copies)),
        _ => {
            if let Some(unlike) = unlike_systems(&of_nodes) {
                return Ok(systems(&unlike));
            }
            let hosts: BTreeSet<&str> = of_nodes.iter().map(|run| &run.host[..]).collect();
            match hosts.len() > 1 || results.is_empty() {
                true => nodes(&side_by_side(tool, of_nodes, Vec::new()), &results),
                false => page(&results),
            }
        }
    })
}

/// The runs that these documents are of, each with the name of its first rank's file.
fn of_launches(documents: Vec<(String, WitnessDocument)>) -> Vec<(String, WitnessLaunch)> {
    launches(documents).into_iter().map(|launch| (launch.name.clone(), launch)).collect()
}
