//! From what a run has to the document that is kept: every field of the schema is filled here, and nowhere else.
//!
//! * `settings` what was asked; `nodes` and `devices` what took part; `ranks` where; `cases` what it gave; `verdict` how it ended.

mod cases;
mod devices;
mod nodes;
mod penalties;
mod ranks;
mod settings;
pub mod verdict;

use std::time::{Instant, SystemTime};

use pingpong::{RunConfig, RunState};
use placement::Plan;
use report::document::{Document, Level, Message, Platform, PlatformKind, SCHEMA, Tool, schema_version};
use report::environment::{self, Environment, Timer};
use stats::flag::TimerFacts;
use topo::Topology;

use crate::args::Pingpong;
use crate::backends::Found;
use crate::exit::Exit;

/// What is known before the run.
pub struct Facts<'a> {
    /// The arguments as typed.
    pub args: &'a Pingpong,
    /// The run.
    pub config: &'a RunConfig,
    /// The placement of its ranks.
    pub plan: &'a Plan,
    /// The machine.
    pub topology: &'a Topology,
    /// The platform.
    pub found: &'a Found,
    /// When the command began.
    pub began: Instant,
    /// The node's clock.
    pub timer: TimerFacts,
}

/// The document for the state a run is in. `exit` is `None` while it goes on.
pub fn build(
    facts: &Facts,
    machine: &topo::environment::Environment,
    state: &RunState,
    exit: Option<Exit>,
) -> Document {
    let elapsed = facts.began.elapsed();
    let started = SystemTime::now().checked_sub(elapsed).unwrap_or(SystemTime::UNIX_EPOCH);
    let (status, status_reason) = verdict::status(state, exit);
    let devices = devices::devices(facts, state);
    let ranks = ranks::ranks(facts, state);
    let cases = cases::cases(facts, state, &ranks, &devices);
    let environment = environment(facts, machine);
    Document {
        schema: SCHEMA.to_owned(),
        schema_version: schema_version(),
        tool: Tool { name: "numabench".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), git: None },
        command: "pingpong".to_owned(),
        argv: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started_at: report::timestamp::rfc3339_utc(started),
        elapsed_s: elapsed.as_secs_f64(),
        status,
        status_reason,
        exit_code: exit.map(Exit::code),
        platform: platform(facts, machine),
        settings: settings::settings(facts),
        launch: None,
        nodes: nodes::nodes(facts, &environment),
        environment,
        ranks,
        missing: Vec::new(),
        penalties: penalties::penalties(facts, state, &cases),
        devices,
        cases,
        messages: messages(facts),
    }
}

fn platform(facts: &Facts, machine: &topo::environment::Environment) -> Platform {
    let known = facts.found.platform.facts();
    let kind = match known.kind {
        device::PlatformKind::Cuda => PlatformKind::Cuda,
        device::PlatformKind::Host => PlatformKind::Host,
    };
    let driver = machine.probes.iter().find(|probe| probe.name == "driver.nvidia");
    let driver = driver.filter(|_| kind == PlatformKind::Cuda).and_then(|probe| probe.value.as_ref());
    Platform {
        kind,
        reason: facts.found.why_host.clone(),
        api_version: known.api_version.clone(),
        driver_version: driver.map(probe_text),
        visible_devices: facts.found.platform.devices().len() as u32,
        simulated: known.simulated.clone(),
    }
}

fn probe_text(value: &topo::environment::ProbeValue) -> String {
    match value {
        topo::environment::ProbeValue::Text(text) => text.clone(),
        topo::environment::ProbeValue::Number(number) => number.to_string(),
    }
}

fn environment(facts: &Facts, machine: &topo::environment::Environment) -> Environment {
    let topology = facts.topology;
    let probe = |probe: &topo::environment::Probe| environment::Probe {
        name: probe.name.clone(),
        value: probe.value.as_ref().map(|value| match value {
            topo::environment::ProbeValue::Number(number) => (*number).into(),
            topo::environment::ProbeValue::Text(text) => text.clone().into(),
        }),
        source: probe.source.clone(),
        reason: probe.reason.clone(),
    };
    let package = |package: &topo::model::Package| environment::Package {
        os_index: package.os_index,
        cpu_model: package.cpu_model.clone(),
        pus: package.pus.clone(),
        nodes: package.nodes.clone(),
    };
    let node = |node: &topo::model::NumaNode| environment::NumaNode {
        os_index: node.os_index,
        kind: match node.kind {
            topo::model::NodeKind::Normal => environment::NodeKind::Normal,
            topo::model::NodeKind::MemoryOnly => environment::NodeKind::MemoryOnly,
            topo::model::NodeKind::CpuOnly => environment::NodeKind::CpuOnly,
            topo::model::NodeKind::GpuMemory => environment::NodeKind::GpuMemory,
            topo::model::NodeKind::Empty => environment::NodeKind::Empty,
        },
        total_bytes: node.total_bytes,
        pus: node.pus.clone(),
    };
    let distances = topology.distances.as_ref();
    Environment {
        hostname: hostname(topology),
        probes: machine.probes.iter().map(probe).collect(),
        variables: machine.variables.clone(),
        timer: Timer {
            clock: pingpong::clock::NAME.to_owned(),
            resolution_ns: facts.timer.resolution_ns,
            cost_ns: facts.timer.cost_ns,
        },
        topology: environment::Topology {
            packages: topology.packages.iter().map(package).collect(),
            nodes: topology.nodes.iter().map(node).collect(),
            distances: distances.map(|d| environment::Distances { nodes: d.nodes.clone(), rows: d.rows.clone() }),
            allowed_pus: topology.allowed.pus.clone(),
            allowed_nodes: topology.allowed.nodes.clone(),
        },
    }
}

fn hostname(topology: &Topology) -> String {
    topology.hostname.clone().unwrap_or_else(|| "a host without a name".to_owned())
}

/// What the user should know beside the numbers.
fn messages(facts: &Facts) -> Vec<Message> {
    let mut messages: Vec<Message> =
        facts.plan.notes.iter().map(|note| Message { level: Level::Warning, text: note.clone() }).collect();
    if facts.args.cpus.is_none() {
        let text = "PUs were chosen automatically, each the first free allowed core of its device's locality domain where \
                    that is known; give --cpus to choose them";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    if facts.plan.ranks.len() == 1 && facts.args.order == crate::args::Order::Both {
        let text = "there is one rank only: alone and at once are the same, and there is no contention penalty";
        messages.push(Message { level: Level::Info, text: text.to_owned() });
    }
    messages
}
