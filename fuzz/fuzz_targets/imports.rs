//! Any bytes as the output of another program: taken or refused, and what is taken is a document that goes
//! through everything that reads documents.
//!
//! A finding is a panic, a figure that is none, two cases of one name, or a document that does not read back
//! as it was written. The first byte chooses the program.

#![no_main]

use analysis::compare::{Thresholds, compare};
use analysis::import::{About, ProgramOutput, Program, import};
use analysis::imported::run;
use libfuzzer_sys::fuzz_target;
use render::export::{Form, imported};
use report::{ImportedDocument, SavedDocument};
use report::document::Tool;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else { return };
    let program = match first % 11 {
        0 => Program::Nvbandwidth,
        1 => Program::TransferBench,
        2 => Program::Osu,
        3 => Program::NcclTests,
        4 => Program::BandwidthTest,
        5 => Program::P2pMatrix,
        6 => Program::RocmBandwidthTest,
        7 => Program::Stream,
        8 => Program::Perftest,
        9 => Program::Mlc,
        _ => Program::Nvloom,
    };
    let tool = Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None };
    let started_at = ("2026-11-22T00:00:00Z".to_owned(), "nobody".to_owned());
    let about = About { tool: tool.clone(), argv: Vec::new(), started_at, host: None };
    let Ok(document) = import(program, &[ProgramOutput { name: "fuzzed".to_owned(), bytes: text.to_vec() }], about) else {
        return;
    };
    let names: std::collections::BTreeSet<_> = document.cases.iter().map(|case| (&case.id, &case.place)).collect();
    assert_eq!(names.len(), document.cases.len(), "a case is there twice");
    assert!(document.cases.iter().all(|case| case.value.is_none_or(|value| value.is_finite() && value > 0.0)));
    let json = report::json::json_value(&document).expect("every figure is a number");
    assert_eq!(ImportedDocument::from_json(&json).expect("it reads back"), document);
    for (form, ..) in Form::ALL {
        drop(imported(&document).export(form));
    }
    let page = render::html::page(&[("fuzzed".to_owned(), document.clone())]);
    assert!(page.ends_with("</html>\n") && !page.contains("<script"));
    if let Ok(run) = run("fuzzed", &document) {
        let side = std::slice::from_ref(&run);
        if let Ok(found) = compare(tool, side, side, Thresholds::default(), false) {
            assert_eq!(found.counts.regressed + found.counts.improved, 0, "a run differs from itself");
        }
    }
});
