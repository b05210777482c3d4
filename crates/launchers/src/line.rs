//! A launch line as it was pasted, as the ranks it would start: what `check --launch` judges, without a launch.
//!
//! * `grammar` options as each command's own parser takes them, `value` what they are given;
//! * `srun` `map_cpu` and `mask_cpu`, `--gpu-bind`, `--gpus-per-task`; `mpirun` Hydra's `-bind-to user:`, Open MPI's rankfile and `--cpu-list`;
//! * `taskset`, `numactl`, and `shell`: variables, env and a shell before the program;
//! * `script` a wrapper's script or a rankfile with a place for each rank;
//! * `count` how many ranks one node gets, `rank` what each of them has.
//!
//! What a launcher decides by itself (`--cpu-bind=cores`, a site's default) is not guessed: the line is then refused with what to write. What it
//! would refuse itself is refused as a line that is wrong.

mod count;
mod grammar;
mod mpirun;
mod numactl;
mod rank;
mod script;
mod shell;
mod srun;
mod taskset;
#[cfg(test)]
mod tests;
mod value;

use std::path::Path;

use ranks::Launcher;
use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;

use count::Count;
use rank::Gpus;
pub use rank::LineRank;

/// The line cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not a line of a shell.
    #[error("--launch: a quote is not closed in: {0}")]
    Quote(String),
    /// Nothing in it says where ranks go.
    #[error("--launch: {0}")]
    NotSaid(String),
    /// Not a line that could be run, or not one that can be followed.
    #[error("--launch: {0}")]
    Wrong(String),
    /// An option's value that is not one.
    #[error("--launch: \"{value}\" is not a value of {option}: {wanted}")]
    Value {
        /// The option.
        option: String,
        /// As written.
        value: String,
        /// What it takes.
        wanted: String,
    },
}

/// The ranks that a line would start on one node.
#[derive(Debug)]
pub struct Launched {
    /// In order.
    pub ranks: Vec<LineRank>,
    /// Whose line it is.
    pub launcher: Launcher,
    /// Of how many ranks and nodes they are those of one node, in words; `None` where they are all.
    pub of: Option<String>,
    /// What is to be known beside what is judged.
    pub notes: Vec<String>,
}

/// A memory policy and its nodes.
type Policy = (PolicyMode, IdSet);

/// What the line says, before it is known how many ranks there are.
#[derive(Debug)]
struct Said<'t> {
    topology: &'t Topology,
    launcher: Launcher,
    count: Count,
    /// Each rank's PUs; a list begins again where there are more ranks.
    pus: Option<Vec<IdSet>>,
    /// Nothing binds them.
    unbound: bool,
    /// What else was written of the binding.
    other_binding: Option<String>,
    gpus_per_task: Option<usize>,
    gpus: Option<Gpus>,
    /// A variable for all ranks.
    visible: Option<String>,
    memory: Vec<Option<Policy>>,
    through_exec: bool,
    notes: Vec<String>,
}

/// Reads the line; files that it names (a rankfile, a wrapper) are read too.
pub fn read(line: &str, topology: &Topology) -> Result<Launched, LineError> {
    let words = shell_words::split(line).map_err(|_| LineError::Quote(line.to_owned()))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut said = Said {
        topology,
        launcher: Launcher::Nobody,
        count: Count::default(),
        pus: None,
        unbound: false,
        other_binding: None,
        gpus_per_task: None,
        gpus: None,
        visible: None,
        memory: Vec::new(),
        through_exec: false,
        notes: Vec::new(),
    };
    let command = said.variables(&words);
    if command.is_empty() {
        let what = "there is no command in the line: write it as it is run, e.g. 'srun -n8 --cpu-bind=map_cpu:… ./app'";
        return Err(LineError::Wrong(what.to_owned()));
    }
    said.program(command)?;
    said.launched()
}

impl Said<'_> {
    /// A launcher, what may stand before a program, or the program itself.
    fn program(&mut self, words: &[&str]) -> Result<(), LineError> {
        let Some((program, rest)) = words.split_first() else { return Ok(()) };
        let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match name.as_str() {
            "srun" => self.launch(Launcher::Srun, rest),
            "mpirun" | "orterun" | "prterun" | "mpirun.openmpi" | "mpiexec.openmpi" => {
                self.launch(Launcher::Mpirun, rest)
            }
            "mpiexec" | "mpiexec.hydra" | "mpirun.mpich" | "mpiexec.mpich" => self.launch(Launcher::Hydra, rest),
            "taskset" => self.taskset(rest),
            "numactl" => self.numactl(rest),
            "env" => self.env(rest),
            "sh" | "bash" | "dash" => self.shell(rest),
            "numabench" if rest.first() == Some(&"exec") => {
                self.through_exec = true;
                Ok(())
            }
            _ => self.file(program),
        }
    }

    /// A launcher's options up to its program, and what stands there.
    fn launch(&mut self, launcher: Launcher, words: &[&str]) -> Result<(), LineError> {
        let name = launcher.name();
        if self.launcher != Launcher::Nobody || self.pus.is_some() || self.unbound || !self.memory.is_empty() {
            let what =
                format!("what stands before {name} binds it and not its ranks alone: begin the line with {name}");
            return Err(LineError::NotSaid(what));
        }
        self.launcher = launcher;
        let program = match launcher {
            Launcher::Srun => self.srun(words)?,
            _ => self.mpirun(launcher, words)?,
        };
        if program.contains(&":") {
            let what = "the line starts several programs (\":\"): write the line of one of them";
            return Err(LineError::NotSaid(what.to_owned()));
        }
        self.program(program)
    }
}
