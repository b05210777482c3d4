//! Calls of MPI that fail, under each MPI that is here: each call that each command makes, at one rank of
//! two. The launch ends within its limit, with a result or a message.
//!
//! `tests/fake-mpi` counts the calls of a launch without a fault, and answers an error in place of one of
//! them. What a launcher itself says of a rank that ends is its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use anyhow::Result;
use report::{Document, SavedDocument};
use serde_json::Value;

use super::Field;
use super::libraries::devices;
use super::tried::{Ended, Random, Tally, emptied, run};
use crate::need::on_path;

/// Launchers with the folder of the plug-in that fits them, and their options.
pub const MPIS: &[(&str, &str, &[&str])] = &[
    (
        "mpirun.openmpi",
        "mpicc.openmpi",
        &["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"],
    ),
    ("mpiexec.hydra", "mpicc.mpich", &["-n", "2"]),
];

/// What is launched, over a stand-in driver of two devices.
const COMMANDS: &[&str] = &[
    "mpi --size 8B,64KiB --pattern ping-pong,both-ways --max-time 300ms --timeout 12s --operation-timeout 6s",
    "laplace --grid 64x64 --max-time 300ms --timeout 12s",
    "pingpong --backend host --gpus 0,0 --size 64KiB --reps 4 --timeout 12s --quiet",
];

/// Which calls of a name fail, where so many are made.
const WHICH: &[usize] = &[1, 2, 5, 20, 100];

/// The limit of the start, that of a step, two seconds, and what a loaded machine takes to start two ranks
/// and to end them.
const LATEST: Duration = Duration::from_secs(45);

/// Open MPI's words for a rank that ended without MPI_Finalize.
const NOT_FINALIZED: &str = "exited without calling \"finalize\"";

/// A rank's own.
const NOT_LEFT: &str = "MPI could not be left in order: ";

/// Tries them, under all MPIs at once: launches wait most of their time.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let (libraries, fake) = (field.libraries.driver()?, field.libraries.mpi()?);
    let mut launches = Vec::new();
    for (launcher, plugin, options) in MPIS {
        let Some(plugin) = plugin_of(field, launcher, plugin) else {
            tally.note(format!("no {launcher}, or no plug-in for it: none of its calls were failed"));
            continue;
        };
        let folder = field.folder.join(launcher);
        fs::create_dir_all(&folder)?;
        launches.push(Launch {
            field,
            launcher,
            options,
            plugin,
            libraries: &libraries,
            fake: &fake,
            folder,
        });
    }

    let tallies = thread::scope(|scope| {
        let begun = launches.iter().map(|launch| (launch, random.another(), tally.another()));
        let begun = begun.map(|(launch, random, tally)| scope.spawn(|| launch.tries(random, tally)));
        let all: Vec<_> = begun.collect();
        let ended = all.into_iter().map(ScopedJoinHandle::join);
        ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect::<Vec<_>>()
    });
    tallies.into_iter().try_for_each(|other| {
        tally.add(other?);
        Ok(())
    })
}

/// The plug-in in the folder of this name, where it and its launcher are here.
pub fn plugin_of(field: &Field, launcher: &str, folder: &str) -> Option<PathBuf> {
    let plugin = field.root.join("target/mpi").join(folder).join("libnumabench_mpi.so");
    (plugin.exists() && on_path(launcher)).then_some(plugin)
}

struct Launch<'l> {
    field: &'l Field<'l>,
    launcher: &'l str,
    options: &'l [&'l str],
    plugin: PathBuf,
    libraries: &'l Path,
    fake: &'l Path,
    /// Its own.
    folder: PathBuf,
}

impl Launch<'_> {
    /// Fails some of the calls of each command that is drawn.
    fn tries(&self, mut random: Random, mut tally: Tally) -> Result<Tally> {
        let mut all = Vec::new();
        for command in random.sample(COMMANDS, self.field.extent.single_command) {
            for (call, count) in self.calls_of(command, &mut tally)? {
                let which = WHICH.iter().filter(|which| **which <= count);
                all.extend(
                    which.flat_map(|which| [0, 1].map(|rank| (*command, format!("{call}@{rank} {which}")))),
                );
            }
        }

        for (command, fault) in random.sample(&all, self.field.extent.single_message) {
            let what = format!("{}: {fault}: {command}", self.launcher);
            tally.count(&what, self.tried(command, fault)?);
        }
        Ok(tally)
    }

    fn run(&self, command: &str, told: (&str, &str)) -> Result<Ended> {
        drop(fs::remove_file(self.document()));
        let mut launcher = Command::new(self.launcher);
        launcher.args(self.options).env("NUMABENCH_MPI", &self.plugin).env("LD_LIBRARY_PATH", self.libraries);
        launcher.env("FAKE_DEVICES", devices(2));
        launcher.env(told.0, told.1);
        // The preloaded library is the ranks' alone.
        launcher.arg("env").arg(format!("LD_PRELOAD={}", self.fake.display())).arg(self.field.binary);
        launcher.args(command.split(' ')).arg("--json").arg(self.document());
        run(&mut launcher, &self.folder)
    }

    fn document(&self) -> PathBuf {
        self.folder.join("document.json")
    }

    /// The calls of a command, and the most that one of its processes makes.
    fn calls_of(&self, command: &str, tally: &mut Tally) -> Result<BTreeMap<String, usize>> {
        let counts = self.folder.join("counts");
        emptied(&counts)?;
        let ended = self.run(command, ("FAKE_MPI_CALLS", &format!("{}/", counts.display())))?;
        let mut all = BTreeMap::new();
        for file in fs::read_dir(&counts)?.flatten() {
            for line in fs::read_to_string(file.path())?.lines() {
                let Some((call, count)) = line.split_once(' ') else { continue };
                let most = all.entry(call.to_owned()).or_insert(0);
                *most = count.parse::<usize>()?.max(*most);
            }
        }
        if all.is_empty() {
            tally
                .note(format!("{} {command}: no calls, code {:?}: {}", self.launcher, ended.code, ended.err));
        }
        Ok(all)
    }

    fn tried(&self, command: &str, fault: &str) -> Result<Option<String>> {
        let ended = self.run(command, ("FAKE_MPI_FAILS", fault))?;
        let said = format!("{}{}", ended.out, ended.err);
        let document = fs::read(self.document()).ok();
        Ok(match ended.code {
            _ if ended.took > LATEST => Some(format!("it took {:.0} s: {said}", ended.took.as_secs_f64())),
            _ if said.contains("panicked") => Some(said),
            None => Some(format!("ended by signal {:?}: {said}", ended.signal)),
            // Of a rank that could not finalize Open MPI's launcher says so and makes the code, after the
            // rank has ended with its own and has said what failed. All that was measured before the call
            // that leaves is whole.
            Some(_) if fault.starts_with("MPI_Finalize") && said.contains(NOT_FINALIZED) => match document {
                Some(bytes) if said.contains(NOT_LEFT) => is_wrong(&bytes, command, 0),
                Some(_) => Some(format!("it does not say that MPI was not left: {said}")),
                None => Some(format!("no document: {said}")),
            },
            Some(code)
                if code != 0
                    && ![
                        "error: ",
                        "Status: ",
                        "The run ended early: ",
                        "No figure was measured: ",
                        NOT_LEFT,
                    ]
                    .iter()
                    .any(|word| said.contains(word)) =>
            {
                Some(format!("code {code} without a message: {said}"))
            }
            Some(code) => document.and_then(|bytes| is_wrong(&bytes, command, code)),
        })
    }
}

/// What is wrong with the document of a launch that ended so.
fn is_wrong(bytes: &[u8], command: &str, code: i32) -> Option<String> {
    let said = match serde_json::from_slice::<Value>(bytes) {
        Ok(document) => document,
        Err(error) => return Some(format!("the document cannot be read: {error}")),
    };
    if command.starts_with("pingpong")
        && let Err(error) = Document::from_json(bytes)
    {
        return Some(format!("the document cannot be read: {error}"));
    }
    (code == 0 && said["status"] != "complete")
        .then(|| format!("code 0, and the document says {}", said["status"]))
}
