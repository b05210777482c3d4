//! `numabench report`: read documents, write one HTML file (of several nodes a row each), or show nodes side by side.

use std::collections::BTreeSet;

use analysis::kept::{Kept, Kind};
use analysis::node_run::of_document;
use analysis::nodes::nodes;
use analysis::read_document::ReadDocument;
use anyhow::anyhow;
use experiments::documents::Documents;
use render::html;

use crate::args::report::Report;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{JsonOutput, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Report) -> Result<Exit, Fault> {
    let Some(output) = &args.output else { return side_by_side(args) };
    let sink = output_file::open(output)?;
    let (mut results, mut trials, mut mpi, mut imported) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut of_nodes, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (name, shown) in documents_of(args).each_shown()? {
        kinds.push(match shown {
            ReadDocument::Place(document) => {
                places.push((name, *document));
                None
            }
            ReadDocument::Kept(kept) => {
                let kind = Some(kept.kind());
                match kept {
                    Kept::Result(document) => {
                        of_nodes.extend(of_document(&document));
                        results.push((name, *document));
                    }
                    Kept::Trial(trial) => trials.push((name, *trial)),
                    Kept::Mpi(document) => mpi.push((name, *document)),
                    Kept::Imported(document) => imported.push((name, *document)),
                }
                kind
            }
            checked => {
                of_nodes.extend(checked.node_runs());
                Some(Kind::Result)
            }
        });
    }
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() > 1 {
        let names: Vec<&str> = kinds.into_iter().map(|kind| kind.map_or("placement", Kind::name)).collect();
        return Err(Fault::usage(anyhow!(
            "a report is of documents of one kind, and these are of {}: give each kind to a report of its own",
            names.join(", ")
        )));
    }
    let html = match (trials.is_empty(), mpi.is_empty(), imported.is_empty()) {
        (false, ..) => html::trials(&trials),
        (_, false, _) => html::mpi(&mpi),
        (.., false) => html::imported(&imported),
        _ if !places.is_empty() => html::places(&places),
        _ => {
            let hosts: BTreeSet<&str> = of_nodes.iter().map(|run| &run.host[..]).collect();
            match hosts.len() > 1 || results.is_empty() {
                true => html::nodes(&nodes(crate::version::tool(), of_nodes, Vec::new()), &results),
                false => html::html(&results),
            }
        }
    };
    write(&sink, html.as_bytes()).map(|()| Exit::Ok)
}

fn documents_of(args: &Report) -> Documents<'_> {
    Documents { paths: &args.results, say: terminal::say }
}

/// The nodes of these documents in a table, or as data.
fn side_by_side(args: &Report) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let found = nodes(crate::version::tool(), documents_of(args).node_runs()?, Vec::new());
    let table = |found: &_| render::compared::nodes(found, terminal::width(), terminal::color(args.color));
    output.show(&found, table).map(|()| Exit::Ok)
}
