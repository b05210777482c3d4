//! Whether this node's GPUs copy as fast as those of their kind do, as a job's prologue asks: `numabench
//! check --bandwidth`.
//!
//! A pass is a short `numabench pingpong --order alone`, and a short `numabench peer` for what stays between
//! GPUs, each in a process of its own: a GPU that hangs its driver cannot hang the check beyond the pass' own
//! time limit, and what is measured is what everybody can measure. What the figures come to is
//! `analysis::gate`'s to say; a pass is repeated only for a suspect or a copy without a figure, or on each
//! node of a fleet, whose nodes are compared afterwards. Launcher variables are kept from it: it is one
//! process and not a rank.
//!
//! Copies within a GPU's memory are 512 MiB: with what they write four times the largest cache of today's
//! GPUs, each byte counted once. Copies between GPUs go from each GPU to the next one, so that every GPU
//! sends and receives once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use analysis::baseline::{Baseline, Value, lost_figures, values};
use analysis::gate::{CheckPass, Checked, Gate, PASSES, judge_passes};
use analysis::slower_memory::compared_memory;
use analysis::slower_twins::compared_twins;
use report::{Document, SavedDocument};

use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::scratch::Scratch;

/// What a pass measures of copies to the GPUs and back: 64 MiB is large enough for the link's rate, and eight
/// GPUs take two seconds.
const COPIES: [&str; 12] = [
    "pingpong",
    "--quiet",
    "--order",
    "alone",
    "--gpus",
    "all",
    "--size",
    "64MiB",
    "--memory",
    "pinned",
    "--max-time",
    "2s",
];
/// What it measures between GPUs and within each: of eight GPUs sixteen cases of ten blocks.
const PEERS: [&str; 6] = ["peer", "--quiet", "--gpus", "all", "--max-time", "1500ms"];

/// Variables by which a process knows that it was launched with others.
const LAUNCHERS: [&str; 7] = ["SLURM_", "OMPI_", "PMI_", "PMIX_", "PALS_", "MPI_LOCAL", "FLUX_"];

/// Which copies are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedCopies {
    /// Host to device.
    H2d,
    /// Device to host.
    D2h,
    /// Within each GPU's memory.
    Hbm,
    /// From each GPU to the next.
    Peer,
}

impl CheckedCopies {
    /// The word for them.
    pub const fn name(self) -> &'static str {
        match self {
            Self::H2d => "h2d",
            Self::D2h => "d2h",
            Self::Hbm => "hbm",
            Self::Peer => "peer",
        }
    }

    /// Whether a case is of them.
    fn are_of(self, case: &str) -> bool {
        let mut parts = case.split('/').skip(2);
        let direction = parts.next().unwrap_or_default();
        let group = parts.nth(1).unwrap_or_default();
        match self {
            Self::H2d => direction == "h2d",
            Self::D2h => direction == "d2h",
            Self::Hbm => direction == "d2d" && group == "within",
            Self::Peer => direction == "d2d" && group == "one-way",
        }
    }
}

impl From<Gate> for Exit {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Well => Self::Ok,
            Gate::Finding => Self::Finding,
            Gate::Undecided => Self::Undecided,
        }
    }
}

/// Reads what is normal, from the file that `numabench baseline` wrote.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read_baseline(path: &Path) -> Result<Baseline, Fault> {
    let read = Baseline::from_json(&documents::bytes(path)?);
    read.map_err(|error| Fault::usage(format!("{}: {error}", path.display())))
}

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct BandwidthCheck {
    /// Which copies.
    pub copies: Vec<CheckedCopies>,
    /// What is normal; where nothing is given, GPUs are compared with each other alone.
    pub baseline: Option<Baseline>,
    /// How long a pass may take.
    pub timeout: Duration,
    /// All passes, also where the first one is well.
    pub all_passes: bool,
    /// The `numabench` that measures a pass; this program itself where none is named.
    pub numabench: Option<PathBuf>,
}

impl BandwidthCheck {
    /// Checks this node.
    ///
    /// # Errors
    /// Nothing is to be measured, or a pass has no result.
    pub fn run(&self) -> Result<Checked, Fault> {
        let began = Instant::now();
        let mut passes: Vec<CheckPass> = Vec::new();

        loop {
            let documents = self.pass()?;
            let Some(document) = documents.first() else {
                return Err(Fault::usage("nothing is to be measured: --what takes h2d, d2h, hbm and peer"));
            };
            passes.push(self.check_pass(&documents));

            let verdict = judge_passes(self.baseline.as_ref(), &passes);
            let is_last = !self.all_passes || passes.len() >= PASSES;
            if let Some(gate) = verdict.gate.filter(|_| is_last) {
                let not_judged = passes.last().and_then(|pass| self.not_judged(pass));
                let elapsed_s = began.elapsed().as_secs_f64();
                let checked = Checked::new(document, gate, verdict, &passes, elapsed_s);
                return Ok(Checked { not_judged, ..checked });
            }
        }
    }

    /// What the documents of a pass say of the copies that are checked.
    fn check_pass(&self, documents: &[Document]) -> CheckPass {
        let is_asked = |value: &Value| self.copies.iter().any(|copies| copies.are_of(&value.case));
        let mut pass = CheckPass {
            values: documents.iter().flat_map(values).filter(is_asked).collect(),
            lost: documents.iter().flat_map(lost_figures).collect(),
            ..CheckPass::default()
        };
        let of_memory = documents.iter().filter(|_| self.has(CheckedCopies::Hbm)).map(compared_memory);
        for twins in documents.iter().map(compared_twins).chain(of_memory) {
            pass.twins.compared.extend(twins.compared);
            pass.twins.slower.extend(twins.slower);
        }
        pass
    }

    /// What of a pass has nothing to be compared with, in words: copies that were asked for and not made,
    /// and without a baseline GPUs without a twin. In a ring each of several GPUs copies to one other alone,
    /// and the ways between GPUs are not alike everywhere.
    fn not_judged(&self, pass: &CheckPass) -> Option<String> {
        let is_made = |copies: &&CheckedCopies| {
            let lost = pass.lost.iter().map(|lost| &lost.case);
            pass.values.iter().map(|value| &value.case).chain(lost).any(|case| copies.are_of(case))
        };
        let not_made = self.copies.iter().filter(|copies| !is_made(copies));
        let mut left_out: Vec<String> =
            not_made.map(|copies| format!("{}, of which there is no figure here", copies.name())).collect();

        let is_open = |value: &&Value| self.baseline.is_none() && !pass.has_compared(value);
        let (pairs, single): (Vec<&Value>, Vec<&Value>) =
            pass.values.iter().filter(is_open).partition(|value| CheckedCopies::Peer.are_of(&value.case));
        if !pairs.is_empty() {
            let text = "copies between GPUs, which nothing is known to be normal for without --against";
            left_out.push(text.to_owned());
        }
        let gpus: BTreeSet<&str> = single.iter().map(|value| &value.device[..]).collect();
        if !gpus.is_empty() {
            let gpus: Vec<&str> = gpus.into_iter().collect();
            let why = "which cannot be compared with a GPU like it here (--against takes a baseline)";
            left_out.push(format!("{}, {why}", gpus.join(" and ")));
        }
        (!left_out.is_empty()).then(|| left_out.join("; and "))
    }

    fn has(&self, copies: CheckedCopies) -> bool {
        self.copies.contains(&copies)
    }

    /// One pass: the documents of its short runs.
    fn pass(&self) -> Result<Vec<Document>, Fault> {
        let directions = [(CheckedCopies::H2d, "h2d"), (CheckedCopies::D2h, "d2h")];
        let directions: Vec<&str> =
            directions.into_iter().filter(|(copies, _)| self.has(*copies)).map(|(_, name)| name).collect();
        let mut documents = Vec::new();
        if !directions.is_empty() {
            documents.push(self.short_run(&[&COPIES[..], &["--direction", &directions.join(",")]].concat())?);
        }
        if self.has(CheckedCopies::Hbm) || self.has(CheckedCopies::Peer) {
            let pairs = if self.has(CheckedCopies::Peer) { "ring" } else { "none" };
            documents.push(self.short_run(&[&PEERS[..], &["--pairs", pairs]].concat())?);
        }
        Ok(documents)
    }

    /// The document of a short run.
    fn short_run(&self, arguments: &[&str]) -> Result<Document, Fault> {
        let failed = |what: &'static str| {
            move |error: io::Error| Fault::new(Exit::NoResult, format!("{what}: {error}"))
        };
        let folder = Scratch::new("numabench-check-")
            .map_err(failed("cannot make a folder for the pass' document"))?;
        let file = folder.path().join("pass.json");
        let program = self.numabench.clone().map_or_else(std::env::current_exe, Ok);
        let mut command = Command::new(program.map_err(failed("cannot find this program"))?);
        let limit = format!("{}s", self.timeout.as_secs().max(1));
        command.args(arguments).arg("--json").arg(&file).args(["--timeout", &limit]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let launched = std::env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| LAUNCHERS.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)));
        for name in launched {
            command.env_remove(name);
        }
        let status = command.status().map_err(failed("cannot start a pass"))?;
        let exit = Exit::from_code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));

        match exit {
            Exit::Ok | Exit::Partial | Exit::Finding => documents::read(&file),
            // One that began says in its document why it ended; one that did not has said so itself.
            other => Err(match documents::read(&file).map(|document| document.status_reason) {
                Ok(Some(why)) => {
                    Fault::new(other, format!("a pass (numabench {}) ended early: {why}", arguments[0]))
                }
                _ => Fault::silent(other),
            }),
        }
    }
}
