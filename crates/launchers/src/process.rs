//! One rank's process, followed through the words behind the launcher: variables, env, shells and their scripts, numactl, taskset.
//!
//! Each of these changes what the next one inherits, as the kernel has it: the last binding of PUs counts, and so does the last memory policy. What a
//! word does that is not known makes what it may have changed unknown, with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;

use crate::line::LineError;
use crate::sh::{self, UNKNOWN, is_unknown};
use crate::{numactl, prefix, taskset};

/// Something that the line says; or why that is not known.
pub type Known<T> = Result<T, String>;

/// A memory policy and its nodes.
pub type Policy = (PolicyMode, IdSet);

/// Of a script or rankfile that people write.
const MOST_BYTES: u64 = 1 << 20;

/// A variable of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its value; [`UNKNOWN`] stands for what is not known of it.
    pub value: String,
    /// Whether programs inherit it.
    pub exported: bool,
}

/// The process of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Process<'t> {
    /// The machine.
    pub topology: &'t Topology,
    /// The PUs that it may run on.
    pub pus: Known<IdSet>,
    /// Whether a launcher left it unbound, or nothing bound it yet.
    pub is_free: bool,
    /// Its memory policy.
    pub policy: Known<Policy>,
    /// Variables that are known to be set.
    pub variables: BTreeMap<String, Variable>,
    /// Variables that are known not to be set.
    pub absent: Vec<&'static str>,
    /// Why variables that are not known to be set may have been.
    pub doubt: Option<String>,
    /// Whether its program is started by `numabench exec`.
    pub through_exec: bool,
    /// The workers that its program starts: torchrun's.
    pub workers: Option<crate::torchrun::Workers>,
    /// What is to be known beside it.
    pub notes: Vec<String>,
}

impl PartialEq for Process<'_> {
    fn eq(&self, other: &Self) -> bool {
        let gpus = |process: &Self| crate::gpus::VARIABLES.map(|name| process.exported(name));
        self.pus == other.pus
            && self.policy == other.policy
            && self.through_exec == other.through_exec
            && self.workers == other.workers
            && self.doubt == other.doubt
            && gpus(self) == gpus(other)
    }
}

impl<'t> Process<'t> {
    /// A variable's value; `None` where it is not set.
    pub fn variable(&self, name: &str) -> Option<String> {
        match self.variables.get(name) {
            Some(variable) => Some(variable.value.clone()),
            None if self.absent.contains(&name) => None,
            None => Some(UNKNOWN.to_string()),
        }
    }

    pub fn set(&mut self, name: &str, value: String) {
        let exported = self.variables.get(name).is_some_and(|variable| variable.exported);
        self.variables.insert(name.to_owned(), Variable { value, exported });
    }

    pub fn export(&mut self, name: &str) {
        let value = self.variable(name).unwrap_or_default();
        self.variables.insert(name.to_owned(), Variable { value, exported: true });
    }

    /// A variable is taken away: an empty one counts for none where it matters.
    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
        if let Some(name) = crate::gpus::VARIABLES.into_iter().find(|known| *known == name)
            && !self.absent.contains(&name)
        {
            self.absent.push(name);
        }
    }

    /// What a program inherits of a variable that shows it GPUs: `Ok(None)` for nothing.
    pub fn exported(&self, name: &str) -> Known<Option<String>> {
        match self.variables.get(name) {
            Some(variable) if !variable.exported && !variable.value.is_empty() => {
                Err(format!("{name} is set and not exported, so whether the program sees it depends on the site"))
            }
            Some(variable) if is_unknown(&variable.value) => {
                Err(format!("the value of {name} does not follow from the line"))
            }
            Some(variable) => Ok(Some(variable.value.clone())),
            None => match (&self.doubt, self.absent.contains(&name)) {
                (Some(doubt), false) => Err(doubt.clone()),
                _ => Ok(None),
            },
        }
    }

    /// Nothing of it is known any more.
    pub fn lose(&mut self, why: &str) {
        (self.pus, self.policy) = (Err(why.to_owned()), Err(why.to_owned()));
        self.variables.clear();
        self.absent.clear();
        self.doubt = Some(why.to_owned());
    }

    /// Variables may have been set.
    pub fn distrust(&mut self, why: &str) {
        self.doubt = Some(why.to_owned());
        self.absent.clear();
    }

    /// As a program that a shell starts has it: exported variables alone.
    pub fn child(mut self) -> Self {
        // One that shows GPUs is kept, so that a forgotten `export` is seen.
        self.variables.retain(|name, variable| variable.exported || crate::gpus::VARIABLES.contains(&name.as_str()));
        self
    }

    /// This process or the other one: what they agree on is known.
    pub fn merge(&mut self, other: Self) {
        let why = "which way the script goes does not follow from the line".to_owned();
        if self.pus != other.pus {
            self.pus = Err(why.clone());
        }
        if self.policy != other.policy {
            self.policy = Err(why);
        }
        let names: Vec<String> = self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            if self.variables.get(&name) != other.variables.get(&name) {
                let exported = [self.variables.get(&name), other.variables.get(&name)];
                let exported = exported.into_iter().flatten().any(|variable| variable.exported);
                self.variables.insert(name, Variable { value: UNKNOWN.to_string(), exported });
            }
        }
        self.absent.retain(|name| other.absent.contains(name));
        self.doubt = self.doubt.take().or(other.doubt);
    }

    /// The PUs that a job may use here, whatever this process is bound to.
    pub fn cpuset(&self) -> IdSet {
        self.topology.allowed.pus.or(&self.topology.allowed.not_in_affinity_pus)
    }

    pub fn bind(&mut self, pus: IdSet) {
        (self.pus, self.is_free) = (Ok(pus), false);
    }

    /// Bound to these, or to what is not known.
    pub fn bind_known(&mut self, pus: Known<IdSet>) {
        (self.pus, self.is_free) = (pus, false);
    }

    /// `taskset -pc LIST $$`.
    pub fn moved_by_taskset(&mut self, words: &[String]) -> Result<(), LineError> {
        let as_list = words.iter().any(|word| word.starts_with('-') && word.contains('c'));
        let list = words.iter().find(|word| !word.starts_with('-') && !word.starts_with(sh::OWN_PID));
        match list {
            Some(list) if is_unknown(list) => {
                self.pus = Err("the PUs of taskset do not follow from the line".to_owned())
            }
            Some(list) => taskset::bind(self, list, as_list)?,
            None => {}
        }
        Ok(())
    }

    /// Follows these words; the programs that the process may become, most often one.
    ///
    /// # Errors
    /// [`LineError`]: a word of them is wrong in itself, or starts what cannot be followed.
    pub fn follow(mut self, words: &[&str]) -> Result<Vec<Self>, LineError> {
        let words = self.assignments(words);
        let Some((program, rest)) = words.split_first() else { return Ok(vec![self]) };
        let path = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
        let name = path.unwrap_or_default();
        match name.as_str() {
            "taskset" => taskset::follow(self, rest),
            "numactl" => numactl::follow(self, rest),
            "env" => prefix::env(self, rest),
            "sh" | "bash" | "dash" | "ksh" | "zsh" => prefix::shell(self, &name, rest),
            "numabench" if rest.first() == Some(&"exec") => {
                self.through_exec = true;
                Ok(vec![self])
            }
            "torchrun" => crate::torchrun::follow(self, rest),
            "python" | "python3" if crate::torchrun::is_module(rest) => crate::torchrun::follow(self, &rest[2..]),
            launcher if crate::line::launcher_of(launcher).is_some() => Err(LineError::NotSaid(format!(
                "{launcher} stands behind another launcher: write the line that starts the ranks of one node"
            ))),
            _ => match prefix::behind(&name, rest) {
                Some(program) => self.follow(program),
                None => self.file(program, &name, rest),
            },
        }
    }

    /// Variables at the beginning, and the words behind them.
    pub fn assignments<'l, 'w>(&mut self, words: &'l [&'w str]) -> &'l [&'w str] {
        let mut rest = words;
        while let Some(((name, value), after)) =
            rest.split_first().and_then(|(word, after)| Some((prefix::assignment(word)?, after)))
        {
            self.set(name, value.to_owned());
            self.export(name);
            rest = after;
        }
        rest
    }

    /// A script that can be read here; a program that cannot is no wrapper, unless it is called like one.
    fn file(mut self, path: &str, name: &str, arguments: &[&str]) -> Result<Vec<Self>, LineError> {
        let text = if is_unknown(path) { None } else { text_of(path) };
        match text {
            Some(text) if is_shell(&text) => {
                sh::run(&text, path, arguments.iter().map(|word| (*word).to_owned()).collect(), self)
            }
            Some(text) if text.starts_with("#!") => Ok(vec![self]),
            None if !is_readable(path) && (is_unknown(path) || prefix::is_called_like_a_wrapper(name, arguments)) => {
                let what = match is_unknown(path) {
                    true => "which program the script starts does not follow from the line".to_owned(),
                    false => format!(
                        "{path} may bind or choose GPUs and cannot be read here: run the check where the file is, or put numabench check into the launch"
                    ),
                };
                if !is_unknown(path) {
                    self.lose(&what);
                }
                Ok(vec![self])
            }
            _ => Ok(vec![self]),
        }
    }
}

/// Whether it is a file that can be opened, whatever is in it.
fn is_readable(path: &str) -> bool {
    Path::new(path).is_file()
}

fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!")
        && first.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "dash" | "ksh" | "zsh"))
}

/// A file's text; `None` where it cannot be read, or is none.
pub(crate) fn text_of(path: &str) -> Option<String> {
    let bytes = topo::read_input(Path::new(path), MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}
