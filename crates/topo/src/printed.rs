//! Reads a machine from texts that other tools printed: what people paste where an hwloc file is asked for.
//!
//! Each reader takes the lines of its tool out of the texts, wherever they stand: `lscpu`, `numactl -H`,
//! `nvidia-smi` (`topo -m`, `-L`, `-q`, and its table), `rocm-smi`, `lstopo`. So several files, and one file
//! pasted whole with the prompts between, are read alike. `machine` makes one model of what they say. A fact
//! that no text says is unknown ([`crate::model::Unsaid`]) and never follows from what machines usually are:
//! `lscpu` counts the threads of a core and does not say which PUs these are. Texts that contradict each
//! other are refused.

mod cpus;
mod gpus;
mod links;
mod lscpu;
mod lstopo;
mod machine;
mod numactl;
mod nvidia_matrix;
mod nvidia_smi;
mod open_facts;
mod rocm_smi;
mod said;
pub(crate) mod tool;
mod tree;

use std::path::PathBuf;

use stats::printable;

use crate::TopoError;
use crate::model::TopologySource;
use crate::survey::Survey;
use crate::xml::{read_text, survey_of};
use cpus::Cpus;
use said::Printed;

/// The machine that these files describe (`-` is standard input): one hwloc XML file, or texts of other
/// tools.
///
/// # Errors
/// [`TopoError`]: a file cannot be read or is of no known kind, or the texts contradict each other.
pub fn survey_files(paths: &[PathBuf]) -> Result<Survey, TopoError> {
    let texts: Vec<String> = paths.iter().map(|path| read_text(path)).collect::<Result<_, _>>()?;
    match (paths, &texts[..]) {
        ([path], [text]) if is_xml(text) => survey_of(path, text.clone()),
        _ => survey_texts(paths, &texts),
    }
}

/// Whether a text begins as XML does.
fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// The machine that these texts describe, which stand in the files of these names.
fn survey_texts(paths: &[PathBuf], texts: &[String]) -> Result<Survey, TopoError> {
    let shown: Vec<String> = texts.iter().map(|text| printable::lines(&without_escapes(text))).collect();
    let whole = shown.join("\n");
    let lines: Vec<&str> = whole.lines().collect();
    let contradiction = |what| TopoError::Contradiction { what };
    let printed = Printed {
        lscpu: lscpu::read(&lines).map_err(contradiction)?,
        listed: lscpu::read_list(&lines),
        numactl: numactl::read(&lines),
        tree: lstopo::read(&lines).map_err(contradiction)?,
        matrix: nvidia_matrix::read(&lines),
        nvidia: nvidia_smi::read(&lines).map_err(contradiction)?,
        rocm: rocm_smi::read(&lines),
    };

    let names = || paths.iter().map(|path| path.display().to_string());
    if printed.tools().is_empty() {
        return Err(TopoError::UnknownText { paths: names().collect::<Vec<_>>().join(", ") });
    }
    let cpus = Cpus::of(&printed).map_err(contradiction)?;
    let mut survey = machine::survey(&printed, &cpus).map_err(contradiction)?;
    survey.topology.source = TopologySource::Texts {
        paths: names().collect(),
        tools: printed.tools().into_iter().map(str::to_owned).collect(),
        unsaid: open_facts::open_facts(&printed, &cpus, &survey),
    };
    survey.topology.check()?;
    Ok(survey)
}

/// `text` without terminals' escape sequences (`ESC [ … letter`): nvidia-smi underlines the head of its
/// matrix even in a file.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let tail = |part: &str| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        part[end..].to_owned()
    };
    parts.fold(first, |all, part| all + &tail(part))
}
