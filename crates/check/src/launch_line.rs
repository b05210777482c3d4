//! A launch line as it was pasted, as the ranks it would start: what `check --launch` judges, without a launch.
//!
//! Read are srun's `map_cpu` and `mask_cpu`, `--gpu-bind`, `--gpus-per-task`; Hydra's `-bind-to user:`; Open MPI's rankfile and `--cpu-list`; taskset and
//! numactl; variables before and inside of the line; and a wrapper's script with a place for each rank. What a launcher decides by itself
//! (`--cpu-bind=cores`, a site's default) is not guessed: the line is then refused with what to write.

mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use placement::{parse_map_cpu, parse_mask_cpu};
use ranks::Launcher;
use stats::IdSet;
use topo::process::{MemoryPolicy, PolicyMode};
use topo::running::{Pages, Running, Threads, UsableGpus};
use topo::visibility::Visible;
use topo::{Cgroup, Topology};

use crate::seen::{LAUNCH_LINE, Seen};

/// The line cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not a line of a shell.
    #[error("--launch: a quote is not closed in: {0}")]
    Quote(String),
    /// Nothing in it says where ranks go.
    #[error("--launch: {0}")]
    NotSaid(String),
    /// An option's value that is not one.
    #[error("--launch: \"{value}\" is not a value of {option}: {wanted}")]
    Value {
        /// The option.
        option: String,
        /// As written.
        value: String,
        /// What it takes.
        wanted: &'static str,
    },
}

/// The ranks that a line would start.
#[derive(Debug)]
pub struct Launched {
    /// In order.
    pub ranks: Vec<Seen>,
    /// Whose line it is.
    pub launcher: Launcher,
}

/// What the line says, before it is known how many ranks there are.
#[derive(Default)]
struct Said {
    ranks: Option<usize>,
    /// Each rank's PUs; a list begins again where there are more ranks.
    pus: Option<Vec<IdSet>>,
    /// Nothing binds them.
    unbound: bool,
    /// What else was written of the binding.
    other_binding: Option<String>,
    gpus_per_task: Option<usize>,
    /// Each rank's GPUs, by index.
    gpus: Option<Vec<Vec<usize>>>,
    /// A variable for all ranks.
    visible: Option<String>,
    memory: Vec<Option<IdSet>>,
    through_exec: bool,
}

/// Reads the line; files that it names (a rankfile, a wrapper) are read too.
pub fn read(line: &str, topology: &Topology) -> Result<Launched, LineError> {
    let words = shell_words::split(line).map_err(|_| LineError::Quote(line.to_owned()))?;
    let mut said = Said::default();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
        words.next();
        said.variable(name, value);
    }
    let Some(program) = words.next() else {
        return Err(LineError::NotSaid("there is no command in the line".to_owned()));
    };
    let rest: Vec<&str> = words.collect();
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let launcher = match name.as_str() {
        "srun" => Launcher::Srun,
        "mpirun" | "orterun" | "prterun" => Launcher::Mpirun,
        "mpiexec" | "mpiexec.hydra" => Launcher::Hydra,
        _ => Launcher::Nobody,
    };
    match launcher {
        Launcher::Nobody => said.program(program, &rest)?,
        _ => said.options(launcher, &rest)?,
    }
    let ranks = said.seen(topology)?;
    Ok(Launched { ranks, launcher })
}

/// `NAME=VALUE`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits))
        .then_some((name, value))
}

fn number(option: &str, value: &str) -> Result<usize, LineError> {
    let wanted = "write a whole number";
    value.parse().map_err(|_| LineError::Value { option: option.to_owned(), value: value.to_owned(), wanted })
}

fn ids(option: &str, value: &str) -> Result<IdSet, LineError> {
    let wanted = "write OS ids as taskset does: 0-3,8";
    value.parse().map_err(|_| LineError::Value { option: option.to_owned(), value: value.to_owned(), wanted })
}

impl Said {
    fn variable(&mut self, name: &str, value: &str) {
        if matches!(name, "CUDA_VISIBLE_DEVICES" | "ROCR_VISIBLE_DEVICES" | "HIP_VISIBLE_DEVICES") {
            self.visible = Some(value.to_owned());
        }
    }

    /// A launcher's options up to its program, and what stands there.
    fn options(&mut self, launcher: Launcher, words: &[&str]) -> Result<(), LineError> {
        let mut at = 0;
        while let Some(word) = words.get(at).copied() {
            at += 1;
            if !word.starts_with('-') {
                return self.program(word, &words[at..]);
            }
            let (option, mut value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            // -n8 and -N1, as people write them for srun.
            let (option, glued) = match option.as_bytes() {
                [b'-', b'n' | b'N' | b'c' | b'G' | b'p' | b'A' | b't', b'0'..=b'9', ..] => {
                    (&option[..2], Some(&option[2..]))
                }
                _ => (option, None),
            };
            value = value.or(glued);
            if value.is_none() && takes_value(launcher, option) {
                value = words.get(at).copied();
                at += 1;
            }
            self.option(launcher, option, value.unwrap_or_default())?;
            // Open MPI's parameters have two words.
            at += usize::from(matches!(option, "--mca" | "-mca" | "--gmca" | "-genv"));
        }
        Ok(())
    }

    fn option(&mut self, launcher: Launcher, option: &str, value: &str) -> Result<(), LineError> {
        match option {
            "-n" | "--ntasks" | "-np" | "--np" | "--ntasks-per-node" | "-ppn" | "-N"
                if launcher != Launcher::Srun || option != "-N" =>
            {
                self.ranks = Some(number(option, value)?);
            }
            "--cpu-bind" => self.srun_binding(value)?,
            "--gpu-bind" => self.gpu_binding(value)?,
            "--gpus-per-task" => {
                let count = value.rsplit(':').next().unwrap_or(value);
                self.gpus_per_task = Some(number(option, count)?);
            }
            "-bind-to" | "--bind-to" => match value.split_once(':') {
                Some(("user", list)) => {
                    let ranks = list.split(',').map(|rank| ids(option, &rank.replace('+', ",")));
                    self.pus = Some(ranks.collect::<Result<_, _>>()?);
                }
                _ if value == "none" => self.unbound = true,
                // With a list or a rankfile these only say how.
                _ => self.other_binding = Some(format!("{option} {value}")),
            },
            "--cpu-list" | "--cpu-set" => {
                let list = ids(option, value)?;
                self.pus = Some(list.iter().map(|pu| [pu].into_iter().collect()).collect());
            }
            "--rankfile" | "-rf" => self.rankfile(value)?,
            _ => {}
        }
        Ok(())
    }

    fn srun_binding(&mut self, value: &str) -> Result<(), LineError> {
        let wrong = |error: placement::BindingError| LineError::NotSaid(error.to_string());
        if value.contains("map_cpu:") {
            self.pus = Some(parse_map_cpu(value).map_err(wrong)?);
        } else if value.contains("mask_cpu:") {
            self.pus = Some(parse_mask_cpu(value).map_err(wrong)?);
        } else if value.split(',').any(|word| word == "none" || word == "no") {
            self.unbound = true;
        } else {
            self.other_binding = Some(format!("--cpu-bind={value}"));
        }
        Ok(())
    }

    fn gpu_binding(&mut self, value: &str) -> Result<(), LineError> {
        let list = value.split_once("map_gpu:").or_else(|| value.split_once("map:")).map(|(_, list)| list);
        let Some(list) = list else { return Ok(()) };
        let one = |index: &str| number("--gpu-bind", index).map(|index| vec![index]);
        self.gpus = Some(list.split(',').map(one).collect::<Result<_, _>>()?);
        Ok(())
    }

    /// The program, or what stands before it: numactl, taskset, env, a shell, a wrapper.
    fn program<'l>(&mut self, program: &str, words: &[&'l str]) -> Result<(), LineError> {
        let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let after = |names: &[&str]| -> Option<&'l str> {
            let glued = |word: &&'l str| {
                let (name, value) = word.split_once('=')?;
                names.contains(&name).then_some(value)
            };
            let next = |at: usize| words.get(at + 1).copied();
            words.iter().find_map(glued).or_else(|| words.iter().position(|word| names.contains(word)).and_then(next))
        };
        match name.as_str() {
            "taskset" => {
                let list = after(&["-c", "--cpu-list", "-pc", "-cp"]).unwrap_or_default();
                self.pus = Some(vec![ids("taskset -c", list)?]);
            }
            "numactl" => {
                let list = after(&["--physcpubind", "-C"]).unwrap_or_default();
                self.pus = Some(vec![ids("numactl --physcpubind", list)?]);
                let nodes = after(&["--membind", "-m"]).map(|nodes| ids("--membind", nodes)).transpose()?;
                self.memory = vec![nodes];
            }
            "env" => {
                let mut rest = words.iter();
                while let Some(word) = rest.next().copied() {
                    match assignment(word) {
                        Some((name, value)) => self.variable(name, value),
                        None if word == "-u" => _ = rest.next(),
                        None if word.starts_with('-') => {}
                        None => return self.program(word, rest.as_slice()),
                    }
                }
            }
            "sh" | "bash" => match after(&["-c"]) {
                Some(script) => self.script(script)?,
                None => return words.first().map_or(Ok(()), |file| self.file(file)),
            },
            "numabench" if words.first() == Some(&"exec") => self.through_exec = true,
            _ => self.file(program)?,
        }
        Ok(())
    }

    /// The ranks, on this machine.
    fn seen(self, topology: &Topology) -> Result<Vec<Seen>, LineError> {
        if self.through_exec {
            let what = "numabench exec works out each rank's place itself: see numabench place for where that is";
            return Err(LineError::NotSaid(what.to_owned()));
        }
        let lists = self.pus.as_ref().map(Vec::len).or(self.gpus.as_ref().map(Vec::len).filter(|count| *count < MANY));
        let count = self.ranks.or(lists).unwrap_or(1);
        if self.pus.is_none() && !self.unbound {
            let default = self.other_binding.unwrap_or_else(|| "the launcher's default binding".to_owned());
            return Err(LineError::NotSaid(format!(
                "{default} depends on the site: write the cores of each rank (--cpu-bind=map_cpu:… or mask_cpu:…, -bind-to user:…, taskset, \
                 numactl), or run numabench check inside of the launch"
            )));
        }
        let all = topology.allowed.pus.clone();
        let pus_of =
            |rank: usize| self.pus.as_ref().map_or_else(|| all.clone(), |pus| pus[rank % pus.len().max(1)].clone());
        let seen = |rank: usize| {
            let gpus = self.gpus_of(rank, topology);
            let memory = self.memory.get(rank % self.memory.len().max(1)).cloned().flatten();
            Seen {
                rank: Some(rank),
                running: running(rank, pus_of(rank), gpus, memory),
                pool_pus: all.clone(),
                pool_gpus: all_gpus(topology),
                threads: Threads::default(),
                nic_variables: BTreeMap::new(),
                omp_threads: None,
            }
        };
        Ok((0..count).map(seen).collect())
    }

    /// The GPUs of a rank: by index in PCI order, which is what Slurm and the runtimes count.
    fn gpus_of(&self, rank: usize, topology: &Topology) -> UsableGpus {
        let all = || (0..topology.gpus.len()).collect::<Vec<usize>>();
        let (asked, reason) = match (&self.gpus, self.gpus_per_task, &self.visible) {
            (Some(gpus), ..) if !gpus.is_empty() => {
                (gpus[rank % gpus.len()].clone(), "the line gives it this GPU".to_owned())
            }
            (_, Some(each), _) => ((rank * each..(rank + 1) * each).collect(), format!("--gpus-per-task={each}")),
            (_, _, Some(value)) => {
                let listed = value.split(',').filter(|entry| !entry.is_empty()).map(|entry| entry.trim().parse());
                (listed.collect::<Result<_, _>>().unwrap_or_else(|_| all()), format!("it is shown {value}"))
            }
            _ => (all(), "nothing hides one".to_owned()),
        };
        let device = |index: &usize| Some(Visible { pci: Some(topology.gpus.get(*index)?.pci), part: None });
        let devices: Vec<Visible> = asked.iter().filter_map(device).collect();
        let missing: Vec<String> =
            asked.iter().filter(|index| device(index).is_none()).map(ToString::to_string).collect();
        let absent = (!missing.is_empty()).then(|| format!("GPU {} of {}", missing.join(","), topology.gpus.len()));
        UsableGpus {
            devices: Some(devices),
            reason,
            variables: BTreeMap::new(),
            open: None,
            refused: None,
            absent,
            closed: Vec::new(),
            in_use: None,
        }
    }
}

/// More ranks than a node has.
const MANY: usize = 4096;

fn takes_value(launcher: Launcher, option: &str) -> bool {
    let long = matches!(
        option,
        "--ntasks"
            | "--np"
            | "-np"
            | "--ntasks-per-node"
            | "-ppn"
            | "--cpu-bind"
            | "--gpu-bind"
            | "--gpus-per-task"
            | "-bind-to"
            | "--bind-to"
            | "--cpu-list"
            | "--cpu-set"
            | "--rankfile"
            | "-rf"
            | "--nodes"
            | "--cpus-per-task"
            | "--map-by"
            | "--rank-by"
            | "--host"
            | "--hostfile"
            | "--mca"
            | "-mca"
            | "-x"
            | "--gpus"
            | "--gpus-per-node"
            | "--gres"
            | "--mem"
            | "--mpi"
            | "--partition"
            | "--account"
            | "--time"
            | "-genv"
    );
    long || match launcher {
        Launcher::Srun => {
            matches!(option, "-n" | "-N" | "-c" | "-G" | "-p" | "-A" | "-t" | "-w" | "-J" | "-o" | "-e" | "-q")
        }
        _ => matches!(option, "-n" | "-c" | "-H" | "-f" | "-hosts"),
    }
}

fn all_gpus(topology: &Topology) -> Vec<stats::PciAddress> {
    topology.gpus.iter().map(|gpu| gpu.pci).collect()
}

/// A process that does not run, with what the line gives it.
fn running(rank: usize, pus: IdSet, gpus: UsableGpus, memory: Option<IdSet>) -> Running {
    let not_run = || Some("it is not running".to_owned());
    let policy = MemoryPolicy {
        mode: Some(memory.as_ref().map_or(PolicyMode::Default, |_| PolicyMode::Bind)),
        nodes: memory.unwrap_or_default(),
        flags: None,
        source: LAUNCH_LINE.to_owned(),
        reason: None,
    };
    Running {
        pid: u32::try_from(rank).unwrap_or_default(),
        program: None,
        first_thread_pus: Some(pus.clone()),
        pus: Some(pus),
        memory_nodes: None,
        policy,
        cgroup: Cgroup {
            pus: None,
            nodes: None,
            source: None,
            reason: not_run(),
            memory_bytes: None,
            memory_source: None,
        },
        pages: Pages { nodes: None, reason: not_run() },
        gpus,
    }
}
