//! The same as the table, as JSON: what was seen of each rank as it was read, what was found, and the lines
//! that put it right.
//!
//! A form of its own and not the judge's types: names here stay as they are when those change.

use std::collections::BTreeMap;

use placement::nic::NearNic;
use report::place::PlacedNic;
use report::versioned::Version;
use schemars::JsonSchema;
use serde::Serialize;
use stats::IdSet;
use topo::running::{ProcessThreads, Running};

use crate::observed_rank::ObservedRank;
use crate::table::NodeTable;

/// `check --json`.
pub const CHECK: Version = Version { schema: "numabench.check", major: 1, minor: 1 };

/// One node.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Node")]
pub struct Document<'s> {
    host: &'s str,
    launch: &'s str,
    /// `well placed`, `unknown` or `misplaced`.
    placed: &'static str,
    /// The saved machine that it is judged by, or this one.
    judged_by: &'s topo::model::TopologySource,
    ranks: Vec<Rank<'s>>,
    missing: &'s IdSet,
    findings: Vec<Finding<'s>>,
    ipc: &'static str,
    notes: &'s [String],
    fix: &'s [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Rank")]
struct Rank<'s> {
    name: String,
    rank: Option<usize>,
    placed: &'static str,
    numa_nodes: &'s IdSet,
    closeness: Option<&'static str>,
    reason: &'s str,
    /// How much of its host memory is neither on its PUs' nodes nor on memory beside them, from 0 to 1.
    remote_share: Option<f64>,
    /// The adapter near its GPU.
    nic: Option<PlacedNic>,
    /// The variables that tell it of an adapter.
    nic_variables: &'s BTreeMap<String, String>,
    threads: &'s ProcessThreads,
    seen: &'s Running,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
struct Finding<'s> {
    kind: &'static str,
    /// `well placed` for a remark.
    weight: &'static str,
    ranks: Vec<String>,
    text: &'s str,
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

/// The document's bytes.
pub(crate) fn bytes(shown: &NodeTable<'_>) -> Result<Vec<u8>, report::json::JsonError> {
    let both = shown.seen.iter().zip(&shown.judgement.ranks).enumerate();
    let ranks = both.map(|(at, (seen, judged))| Rank {
        name: seen.name(),
        rank: seen.rank,
        placed: judged.placed.name(),
        numa_nodes: &judged.nodes,
        closeness: judged.closeness.map(|closeness| closeness.name()),
        reason: &judged.why,
        remote_share: shown.remote_share(at),
        nic: shown.nics.get(at).cloned().flatten().map(nic),
        nic_variables: &seen.nic_variables,
        threads: &seen.threads,
        seen: &seen.running,
    });

    let findings = shown.judgement.findings.iter().map(|finding| Finding {
        kind: finding.kind.name(),
        weight: finding.weight.name(),
        ranks: finding
            .ranks
            .iter()
            .filter_map(|rank| shown.seen.get(*rank))
            .map(ObservedRank::name)
            .collect(),
        text: &finding.text,
    });

    report::json::json_value(&CHECK.versioned(Document {
        host: shown.host,
        launch: shown.launch,
        placed: shown.placed.name(),
        judged_by: &shown.topology.source,
        ranks: ranks.collect(),
        missing: shown.missing,
        findings: findings.collect(),
        ipc: shown.judgement.ipc.name(),
        notes: shown.notes,
        fix: shown.fix,
    }))
}
