//! From what was planned, read back or measured to the placement document: every field of it is filled here, and nowhere else.

use placement::nic::{self, NearNic};
use placement::{Dialect, Selection, Situation, Strategy, TargetId, say};
use report::PlaceDocument;
use report::place::{Candidate, Line, Machine, Place, PlacedGpu, PlacedNic, SCHEMA, schema_version};
use topo::model::Rung;
use topo::{Survey, Topology};

use super::candidates::{self, Found, Way};
use super::situation;
use crate::args;
use crate::began::Began;
use crate::document::collect::locality;
use placement::GpuList;

/// The document.
pub fn build(
    args: &args::place::Place,
    survey: &Survey,
    found: &Found,
    situation: &Situation,
    began: Began,
) -> PlaceDocument {
    let topology = &survey.topology;
    let elapsed = began.elapsed();
    let recommended = &found.recommended().places;
    let mut notes = recommended.notes.clone();
    notes.extend(found.notes.iter().cloned());
    PlaceDocument {
        schema: SCHEMA.to_owned(),
        schema_version: schema_version(),
        tool: crate::version::tool(),
        argv: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started_at: began.started_at(),
        elapsed_s: elapsed.as_secs_f64(),
        machine: Machine {
            hostname: topology.hostname.clone(),
            file: args.input.as_ref().map(|path| path.display().to_string()),
            allowed_pus: topology.allowed.pus.clone(),
            reserved_pus: recommended.reserved.clone(),
            gpus: topology.gpus.iter().map(|gpu| gpu.pci).collect(),
        },
        candidates: found.ways().iter().map(|way| candidate(survey, way)).collect(),
        measured: found.measured.clone(),
        command: Some(command(args, topology, found, situation)),
        lines: Dialect::ALL.into_iter().map(|dialect| line(topology, found, dialect, situation)).collect(),
        notes,
    }
}

fn candidate(survey: &Survey, way: &Way) -> Candidate {
    Candidate {
        name: way.name.clone(),
        what: way.what.clone(),
        places: way.places.places.iter().map(|at| place(survey, at)).collect(),
        turns: way.turns.clone(),
        trouble: way.trouble.clone(),
        against_leader: way.against_leader.clone(),
    }
}

fn place(survey: &Survey, at: &placement::Place) -> Place {
    let topology = &survey.topology;
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
        nic: target.and_then(|target| match target.id {
            TargetId::Gpu(pci) => nic::near(&survey.interconnect, pci).map(nic),
            TargetId::Node(_) => None,
        }),
        locality: at.verdict.as_ref().map(|verdict| locality(verdict.closeness)),
        rung: at.rung.map(|rung| rung_name(rung).to_owned()),
        why: at.why.clone(),
    }
}

fn nic(near: NearNic) -> PlacedNic {
    let level = near.level.word().to_owned();
    PlacedNic { name: near.name, pci_address: near.pci, level, source: near.source, variables: near.variables }
}

fn line(topology: &Topology, found: &Found, dialect: Dialect, situation: &Situation) -> Line {
    let saying = say(topology, &found.recommended().places, dialect, situation);
    Line { dialect: dialect.name().to_owned(), text: saying.text, cannot: saying.cannot, remarks: saying.remarks }
}

/// The whole line: of the launcher asked for, else of the one that this process or its job is under.
fn command(args: &args::place::Place, topology: &Topology, found: &Found, situation: &Situation) -> Line {
    let starter = args.launcher.unwrap_or_else(|| situation::starter(args.input.is_some()));
    let (exec, threads) =
        (exec_options(args, topology, found), args.threads.and_then(|threads| usize::try_from(threads).ok()));
    let said = placement::command(topology, &found.recommended().places, starter, situation, &exec, threads);
    Line { dialect: said.starter.name().to_owned(), text: said.text, cannot: None, remarks: said.remarks }
}

/// The options by which `numabench exec` comes to the same places.
fn exec_options(args: &args::place::Place, topology: &Topology, found: &Found) -> String {
    let saved = args.json.as_ref().filter(|_| found.measured.is_some()).or(args.from.as_ref());
    if found.measured.is_some() || args.from.is_some() {
        // What was measured cannot be worked out again.
        return format!(" --from {}", saved.map_or_else(|| "FILE".to_owned(), |path| path.display().to_string()));
    }
    let cores = candidates::cores_per_rank(args, topology).map(|each| format!(" --cores-per-rank {each}"));
    let smt = args.smt.then(|| " --smt".to_owned());
    let strategy = (args.strategy != Strategy::Close).then(|| format!(" --strategy {}", args.strategy));
    let reserve = args.reserve.as_ref().map(|reserve| format!(" --reserve {reserve}"));
    let gpus = match &args.gpus {
        GpuList::None => Some(" --gpus none".to_owned()),
        GpuList::Some(selection) if *selection != Selection::All => Some(format!(" --gpus {selection}")),
        GpuList::Some(_) => None,
    };
    [gpus, cores, smt, strategy, reserve].into_iter().flatten().collect()
}

fn rung_name(rung: Rung) -> &'static str {
    match rung {
        Rung::L3 => "l3",
        Rung::PciLocalCpus => "pci-local-cpus",
        Rung::Driver => "driver",
        Rung::Unknown => "unknown",
    }
}
