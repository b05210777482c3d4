//! Which settings of this node cost placement or bandwidth: the library behind `numabench doctor`.
//!
//! ```text
//! files under a root, NVML, answers of calls ─► SystemFacts ─► checks ─► Diagnosis: verdict, exit code
//! facts/                                        plain          judge/    diagnosis
//! ```
//!
//! Facts are read and not judged, judging reads nothing: so each check is tried on trees of files of machines
//! that are right and that are wrong. Nothing is measured, no GPU is worked on, nothing is changed. Drawing
//! is `render`'s, the document's form `report`'s.

mod diagnosis;
pub mod facts;
mod judge;

use std::time::Duration;

use engine::placing_calls;
use report::doctor::{Check, State};
use topo::Survey;
use topo::fs_root::FsRoot;
use topo::gpu_class::NVIDIA;
use topo::settings::Setting;

pub use diagnosis::{Diagnosis, answer};
pub use facts::{FactSources, SystemFacts};
pub use judge::checks;

/// Longest search for whose memory lies in a GPU's: a look at a node takes a few hundredths of a second.
const PATIENCE: Duration = Duration::from_millis(30);

/// Looks at this machine, with `survey` as what belongs together: this machine's, or that of a saved file.
pub fn look(survey: &Survey) -> Vec<Check> {
    let root = FsRoot::default();
    let variable = |name: &str| std::env::var(name).ok();
    let has_nvidia = survey.topology.gpus.iter().any(|gpu| gpu.vendor_id == NVIDIA);
    let nvidia = has_nvidia.then(topo::nvidia_health);
    let calls = placing_calls();
    checks(&SystemFacts::read(FactSources {
        survey,
        root: &root,
        variable: &variable,
        nvidia,
        calls,
        patience: PATIENCE,
    }))
}

/// What the machine as it is saved says by itself.
const SAVED_ANYWAY: [&str; 2] = ["cpu.cpuset", "cpu.memory-nodes"];

/// The checks as a saved machine keeps them.
pub fn settings(checks: &[Check]) -> Vec<Setting> {
    let word = |state| match state {
        State::Ok => "ok",
        State::Look => "look",
        State::Unknown | State::Newer => "unknown",
    };
    let setting = |check: &Check| Setting {
        name: check.name.clone(),
        state: word(check.state).to_owned(),
        seen: check.seen.clone(),
    };
    checks.iter().filter(|check| !SAVED_ANYWAY.contains(&check.name.as_str())).map(setting).collect()
}
