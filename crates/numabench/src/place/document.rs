//! From what was planned, read back or measured to the placement document: every field of it is filled here, and nowhere else.

use std::time::{Instant, SystemTime};

use placement::{Dialect, Situation, TargetId, say};
use report::PlaceDocument;
use report::document::Tool;
use report::place::{Candidate, Line, Machine, Place, PlacedGpu, SCHEMA, schema_version};
use topo::Topology;
use topo::model::Rung;

use super::candidates::{Found, Way};
use crate::args;
use crate::document::part::locality;

/// The document.
pub fn build(
    args: &args::place::Place,
    topology: &Topology,
    found: &Found,
    situation: &Situation,
    began: Instant,
) -> PlaceDocument {
    let elapsed = began.elapsed();
    let started = SystemTime::now().checked_sub(elapsed).unwrap_or(SystemTime::UNIX_EPOCH);
    let recommended = &found.recommended().places;
    let mut notes = recommended.notes.clone();
    notes.extend(found.notes.iter().cloned());
    PlaceDocument {
        schema: SCHEMA.to_owned(),
        schema_version: schema_version(),
        tool: Tool { name: "numabench".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), git: None },
        argv: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started_at: report::timestamp::rfc3339_utc(started),
        elapsed_s: elapsed.as_secs_f64(),
        machine: Machine {
            hostname: topology.hostname.clone(),
            file: args.input.as_ref().map(|path| path.display().to_string()),
            allowed_pus: topology.allowed.pus.clone(),
            reserved_pus: recommended.reserved.clone(),
            gpus: topology.gpus.iter().map(|gpu| gpu.pci).collect(),
        },
        candidates: found.ways().iter().map(|way| candidate(topology, way)).collect(),
        measured: found.measured.clone(),
        lines: Dialect::ALL.into_iter().map(|dialect| line(topology, found, dialect, situation)).collect(),
        notes,
    }
}

fn candidate(topology: &Topology, way: &Way) -> Candidate {
    Candidate {
        name: way.name.clone(),
        what: way.what.clone(),
        places: way.places.places.iter().map(|at| place(topology, at)).collect(),
        turns: way.turns.clone(),
        trouble: way.trouble.clone(),
        against_leader: way.against_leader.clone(),
    }
}

fn place(topology: &Topology, at: &placement::Place) -> Place {
    let target = at.target.as_ref();
    let cores = topology.cores.iter().filter(|core| !core.pus.and(&at.pus).is_empty()).count();
    Place {
        rank: at.rank as u32,
        pus: at.pus.clone(),
        first_pu: at.first_pu(),
        // A machine whose firmware names no cores still has PUs.
        cores: if cores == 0 { at.pus.len() } else { cores } as u32,
        nodes: at.nodes.clone(),
        l3_pus: at.l3s.clone(),
        memory_node: at.memory_node,
        gpu: target.and_then(|target| match target.id {
            TargetId::Gpu(pci_address) => {
                Some(PlacedGpu { index: target.index, pci_address, uuid: target.uuid.clone() })
            }
            TargetId::Node(_) => None,
        }),
        target_node: target.and_then(|target| match target.id {
            TargetId::Node(node) => Some(node),
            TargetId::Gpu(_) => None,
        }),
        locality: at.verdict.as_ref().map(|verdict| locality(verdict.closeness)),
        rung: at.rung.map(|rung| rung_name(rung).to_owned()),
        why: at.why.clone(),
    }
}

fn line(topology: &Topology, found: &Found, dialect: Dialect, situation: &Situation) -> Line {
    let saying = say(topology, &found.recommended().places, dialect, situation);
    Line { dialect: dialect.name().to_owned(), text: saying.text, cannot: saying.cannot, remarks: saying.remarks }
}

fn rung_name(rung: Rung) -> &'static str {
    match rung {
        Rung::L3 => "l3",
        Rung::PciLocalCpus => "pci-local-cpus",
        Rung::Driver => "driver",
        Rung::Unknown => "unknown",
    }
}
