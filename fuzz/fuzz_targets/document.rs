//! Any bytes as a document with figures (a result, an MPI run, a trial, an imported one): read, and whatever
//! is read taken through everything that reads documents.
//!
//! A finding is a panic, an export that is not what its format is, or a document that does not read back as
//! it was written. Left out: baselines from several documents, whose values are made up better than fuzzed
//! (`results`' own tests).

#![no_main]

use analysis::baseline::values;
use analysis::compare::{Thresholds, compare};
use analysis::any_document::AnyDocument;
use analysis::run::Run;
use libfuzzer_sys::fuzz_target;
use render::export::{Form, any, result};
use render::html::page;
use report::{Document, SavedDocument};
use report::block::BlockTime;
use report::document::Tool;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(kept) = AnyDocument::<BlockTime>::from_json(bytes) {
        for (form, ..) in Form::ALL {
            drop(any(&kept).export(form));
        }
        if let Ok(run) = kept.run("fuzzed") {
            let side = std::slice::from_ref(&run);
            let tool = Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None };
            drop(compare(tool, side, side, Thresholds::default(), true));
        }
        if let AnyDocument::Mpi(document) = kept {
            assert!(page(&[("fuzzed".to_owned(), *document)]).ends_with("</html>\n"));
        }
    }
    let Ok(document) = Document::from_json(bytes) else { return };
    for (form, ..) in Form::ALL {
        drop(result(&document).export(form));
    }
    drop(values(&document));
    drop(analysis::slower_twins::slower_twins(&document));
    let style = render::terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    drop(render::terminal::table(&document, &style));
    let page = page(&[("fuzzed".to_owned(), document.clone())]);
    assert!(page.ends_with("</html>\n") && !page.contains("<script"));
    if let Ok(run) = Run::of("fuzzed", &document) {
        let side = std::slice::from_ref(&run);
        if let Ok(found) = compare(document.tool.clone(), side, side, Thresholds::default(), false) {
            assert_eq!(found.counts.regressed + found.counts.improved, 0, "a run differs from itself");
            drop(render::compared::table(&found, 100, false, false));
            drop(render::compared::markdown(&found));
        }
    }
});
