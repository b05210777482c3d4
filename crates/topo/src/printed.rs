//! Reads a machine from texts that other tools printed: what people paste where an hwloc file is asked for.
//!
//! Each reader takes the lines of its tool out of the texts, wherever they stand: `lscpu`, `numactl -H`, `nvidia-smi` (`topo -m`, `-L`,
//! `-q`, and its table), `rocm-smi`, `lstopo`. So several files, and one file pasted whole with the prompts between, are read alike.
//! `machine` makes one model of what they say. A fact that no text says is unknown ([`crate::model::Unsaid`]) and never follows from what machines usually
//! are: `lscpu` counts the threads of a core and does not say which PUs these are. Texts that contradict each other are refused.

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
mod tree;

use std::path::{Path, PathBuf};

use stats::printable;

use crate::TopoError;
use crate::error::MAX_XML_BYTES;
use crate::input::{InputError, read_input};
use crate::model::TopologySource;
use crate::survey::Survey;
use crate::xml::survey_xml;
use cpus::Cpus;
use said::Printed;

/// The machine that these files describe: one hwloc XML file, or texts of other tools.
///
/// # Errors
/// [`TopoError`]: a file cannot be read or is of no known kind, or the texts contradict each other.
pub fn survey_files(paths: &[PathBuf]) -> Result<Survey, TopoError> {
    if let [path] = paths
        && path == Path::new("-")
    {
        return survey_xml(path);
    }
    let texts: Vec<String> = paths.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
    match (paths, &texts[..]) {
        ([path], [text]) if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => survey_xml(path),
        _ => survey_texts(paths, &texts),
    }
}

/// The machine that these texts describe, which stand in the files of these names.
fn survey_texts(paths: &[PathBuf], texts: &[String]) -> Result<Survey, TopoError> {
    let whole = texts.join("\n");
    let lines: Vec<&str> = whole.lines().collect();
    let printed = Printed {
        lscpu: lscpu::read(&lines),
        listed: lscpu::read_list(&lines),
        numactl: numactl::read(&lines),
        tree: lstopo::read(&lines).map_err(|what| TopoError::Contradiction { what })?,
        matrix: nvidia_matrix::read(&lines),
        nvidia: nvidia_smi::read(&lines),
        rocm: rocm_smi::read(&lines),
    };
    let names = || paths.iter().map(|path| path.display().to_string());
    if printed.tools().is_empty() {
        return Err(TopoError::UnknownText { paths: names().collect::<Vec<_>>().join(", ") });
    }
    let cpus = Cpus::of(&printed).map_err(|what| TopoError::Contradiction { what })?;
    let mut survey = machine::survey(&printed, &cpus);
    survey.topology.source = TopologySource::Texts {
        paths: names().collect(),
        tools: printed.tools().into_iter().map(str::to_owned).collect(),
        unsaid: open_facts::open_facts(&printed, &cpus, &survey),
    };
    survey.topology.check()?;
    Ok(survey)
}

/// The text of one file, without the colours of a terminal.
fn text(path: &Path) -> Result<String, TopoError> {
    let bytes = read_input(path, MAX_XML_BYTES).map_err(|source| match source {
        InputError::TooLong { .. } => TopoError::TooLarge { path: path.to_owned() },
        source => TopoError::Unreadable { path: path.to_owned(), source },
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| TopoError::NotXml { path: path.to_owned(), why: "it is not UTF-8 text".to_owned() })?;
    Ok(printable::lines(&without_escapes(&text)))
}

/// `text` without terminals' escape sequences (`ESC [ … letter`): nvidia-smi underlines the head of its matrix even in a file.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let tail = |part: &str| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        part[end..].to_owned()
    };
    parts.fold(first, |all, part| all + &tail(part))
}
