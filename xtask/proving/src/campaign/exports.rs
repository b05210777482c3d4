//! Exports of every kind of document, whole and damaged, each read by a parser of its form: a document is
//! refused, or what is made of it can be read.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::Field;
use super::inputs::damaged;
use super::readers::{FORMS, figures};
use super::tried::{Random, Tally, run};
use crate::listing::listed;

/// The kept documents of all kinds and versions.
const DOCUMENTS: &str = "crates/render/tests/results/documents";

/// Refused, no figure, half a run, wrong bytes: what export may end with, beside well.
const CODES: [i32; 5] = [0, 1, 2, 3, 4];

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let documents = listed(&field.root.join(DOCUMENTS))?;
    for document in &documents {
        for form in FORMS {
            tried(field, &fs::read(document)?, &document.display().to_string(), form, tally)?;
        }
    }
    for _ in 0..field.extent.inputs {
        let document = random.pick(&documents);
        let bytes = damaged(&fs::read(document)?, random);
        let form = random.pick(&FORMS);
        tried(field, &bytes, &format!("{}, damaged", document.display()), form, tally)?;
    }
    Ok(())
}

fn tried(field: &Field, document: &[u8], name: &str, form: &str, tally: &mut Tally) -> Result<()> {
    let path = field.folder.join("exported.json");
    fs::write(&path, document)?;
    let ended = run(Command::new(field.binary).args(["export", "--to", form]).arg(&path), &field.folder)?;
    let wrong = match ended.code {
        None => Some(format!("ended by signal {:?}", ended.signal)),
        Some(code) if !CODES.contains(&code) => Some(format!("code {code}: {}", ended.err)),
        _ if ended.err.contains("panicked") => Some(ended.err),
        Some(2) => None,
        // What was written is of its form, however much of the document it is.
        _ => figures(form, &ended.out).err(),
    };
    if wrong.is_some() {
        fs::rename(&path, field.folder.join(format!("wrong-{}-export.json", tally.wrong())))?;
    }
    tally.count(&format!("export --to {form} of {name}"), wrong);
    Ok(())
}
