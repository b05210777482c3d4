//! From what was planned, read back or measured to the placement document: every field of it is filled here,
//! and nowhere else.

use std::path::PathBuf;
use std::time::Duration;

use launchers::{Dialect, Situation, Starter, say};
use placement::nic::{self, NearNic};
use placement::{Ask, Closeness, GpuList, Selection, Strategy, TargetId};
use report::document::Tool;
use report::place::{Candidate, Line, Machine, Place, PlacedGpu, PlacedNic};
use report::rank::Locality;
use report::{PlaceDocument, SavedDocument};
use topo::model::{Rung, Unsaid};
use topo::{Survey, Topology};

use crate::candidate::PlaceCandidate;
use crate::candidates::{self, Candidates};
use crate::request::PlaceRequest;
use crate::situation;

/// The command that the document is of.
pub struct Invocation {
    /// The program that writes it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it has taken.
    pub elapsed: Duration,
    /// The file that the places were read from.
    pub from: Option<PathBuf>,
    /// The file that the document goes to.
    pub json: Option<PathBuf>,
    /// The launcher of the line to paste; `None`: the one that this process or job is under.
    pub launcher: Option<Starter>,
}

/// The document.
pub fn build(
    asked: &PlaceRequest,
    command: Invocation,
    survey: &Survey,
    found: &Candidates,
    situation: &Situation,
) -> PlaceDocument {
    let topology = &survey.topology;
    let line_to_paste = whole_line(asked, &command, topology, found, situation);
    let recommended = &found.recommended().places;
    let unsaid = topology.source.unsaid_words().map(|words| format!("the texts do not say: {words}"));
    let mut notes: Vec<String> = unsaid.into_iter().chain(recommended.notes.iter().cloned()).collect();
    notes.extend(found.notes.iter().cloned());

    PlaceDocument {
        schema: PlaceDocument::SCHEMA.to_owned(),
        schema_version: PlaceDocument::VERSION.number(),
        tool: command.tool,
        argv: command.argv,
        started_at: command.started_at,
        elapsed_s: command.elapsed.as_secs_f64(),
        machine: Machine {
            hostname: topology.hostname.clone(),
            file: (!asked.input.is_empty()).then(|| {
                let files = asked.input.iter().map(|path| path.display().to_string());
                files.collect::<Vec<_>>().join(", ")
            }),
            allowed_pus: topology.allowed.pus.clone(),
            allowed_not_said: topology.source.unsaid().contains(&Unsaid::Allowed),
            reserved_pus: recommended.reserved.clone(),
            gpus: topology.gpus.iter().map(|gpu| gpu.pci).collect(),
        },
        candidates: found.ways().iter().map(|way| candidate(survey, way)).collect(),
        measured: found.measured.clone(),
        command: Some(line_to_paste),
        lines: Dialect::ALL.into_iter().map(|dialect| line(topology, found, dialect, situation)).collect(),
        notes,
    }
}

fn candidate(survey: &Survey, way: &PlaceCandidate) -> Candidate {
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
        first_pu: at.first,
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
    PlacedNic {
        name: near.name,
        pci_address: near.pci,
        level,
        source: near.source,
        variables: near.variables,
    }
}

fn line(topology: &Topology, found: &Candidates, dialect: Dialect, situation: &Situation) -> Line {
    let saying = say(topology, &found.recommended().places, dialect, situation);
    Line {
        dialect: dialect.name().to_owned(),
        text: saying.text,
        cannot: saying.cannot,
        remarks: saying.remarks,
    }
}

/// The whole line: of the launcher asked for, else of the one that this process or its job is under.
fn whole_line(
    asked: &PlaceRequest,
    command: &Invocation,
    topology: &Topology,
    found: &Candidates,
    situation: &Situation,
) -> Line {
    let starter = command.launcher.unwrap_or_else(|| situation::starter(!asked.input.is_empty()));
    let exec = exec_options(asked, command, topology, found);
    let said =
        launchers::command(topology, &found.recommended().places, starter, situation, &exec, asked.threads);
    Line { dialect: said.starter.name().to_owned(), text: said.text, cannot: None, remarks: said.remarks }
}

/// The options by which `numabench exec` comes to the same places.
fn exec_options(
    asked: &PlaceRequest,
    command: &Invocation,
    topology: &Topology,
    found: &Candidates,
) -> String {
    let saved = command.json.as_ref().filter(|_| found.measured.is_some()).or(command.from.as_ref());
    if found.measured.is_some() || command.from.is_some() {
        // What was measured cannot be worked out again.
        return format!(
            " --from {}",
            saved.map_or_else(|| "FILE".to_owned(), |path| path.display().to_string())
        );
    }

    let cores = candidates::cores_per_rank(asked, topology).map(|each| format!(" --cores-per-rank {each}"));
    let Ask { smt, strategy, reserve, .. } = &asked.ask;
    let smt = smt.then(|| " --smt".to_owned());
    let strategy = (*strategy != Strategy::Close).then(|| format!(" --strategy {strategy}"));
    let reserve = (!reserve.is_empty()).then(|| format!(" --reserve {reserve}"));
    let gpus = match &asked.gpus {
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

/// A closeness as documents name it.
pub fn locality(closeness: Closeness) -> Locality {
    match closeness {
        Closeness::L3Local => Locality::L3Local,
        Closeness::NumaLocal => Locality::NumaLocal,
        Closeness::SamePackage => Locality::SamePackage,
        Closeness::Remote => Locality::Remote,
        Closeness::Unknown => Locality::Unknown,
    }
}
