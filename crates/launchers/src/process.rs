//! One rank's process: what it inherits and may run on, as far as the line says it. `follow` takes it to its
//! program.
//!
//! Each of these changes what the next one inherits, as the kernel has it: the last binding of PUs counts,
//! and so does the last memory policy. What a word does that is not known makes what it may have changed
//! unknown, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;

use crate::exec_call::ExecCall;
use crate::unknown::{UNKNOWN, is_unknown};

/// Something that the line says; or why that is not known.
pub type Known<T> = Result<T, String>;

/// A memory policy and its nodes.
pub type Policy = (PolicyMode, IdSet);

/// Of a script or rankfile that people write.
const MOST_BYTES: u64 = 1 << 20;

/// Variables that show a runtime some GPUs.
pub(crate) const GPU_VARIABLES: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"];

/// The workers of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workers {
    pub count: usize,
    pub nodes: Option<usize>,
    pub binding: Option<String>,
    pub program: Vec<String>,
}

/// A variable of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its value; [`UNKNOWN`] stands for what is not known of it.
    pub value: String,
    /// Whether programs inherit it.
    pub exported: bool,
}

/// A call of `numabench exec`, with the PUs and the memory policy that its process had there.
pub(crate) type ExecFound = (ExecCall, Known<IdSet>, Known<Policy>);

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
    /// Those that a script takes away.
    pub unset: BTreeSet<String>,
    /// Whether `numabench exec` shares out the PUs that it finds itself on: its launcher binds nobody.
    pub shares_own_pus: bool,
    /// Variables of other launchers that a script expands: its own launcher does not set them, so they are
    /// empty.
    pub foreign: Vec<String>,
    /// Why variables that are not known to be set may have been.
    pub doubt: Option<String>,
    /// The call of `numabench exec` that starts its program, with the PUs and the policy that it had there.
    pub exec: Option<Box<ExecFound>>,
    /// The workers that its program starts: torchrun's.
    pub workers: Option<Workers>,
    /// In what was pasted, a launcher's own words; empty where none was met. `None` behind a launcher, where
    /// no other may stand.
    pub launch: Option<Vec<String>>,
    /// Whether something is written to its input: a shell without a script reads its commands there.
    pub has_input: bool,
    /// How many programs stand in each other.
    pub depth: usize,
    /// What is to be known beside it.
    pub notes: Vec<String>,
}

impl PartialEq for Process<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.pus == other.pus
            && self.policy == other.policy
            && self.exec == other.exec
            && self.workers == other.workers
            && self.launch == other.launch
            && self.doubt == other.doubt
            && self.shown_gpus() == other.shown_gpus()
    }
}

impl<'t> Process<'t> {
    /// A variable's value; `None` where it is not set.
    pub fn variable(&self, name: &str) -> Option<String> {
        match self.variables.get(name) {
            Some(variable) => Some(variable.value.clone()),
            None if self.absent.contains(&name) || self.unset.contains(name) => None,
            None => Some(UNKNOWN.to_string()),
        }
    }

    /// The values of all variables that are known to be set.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.variables.iter().map(|(name, variable)| (name.clone(), variable.value.clone())).collect()
    }

    /// Notes that a script expands a variable, in case only another launcher sets it.
    pub fn reads_variable(&mut self, name: &str) {
        let is_foreign = self.absent.contains(&name) && !GPU_VARIABLES.contains(&name);
        if is_foreign && !self.variables.contains_key(name) && !self.foreign.iter().any(|known| known == name)
        {
            self.foreign.push(name.to_owned());
        }
    }

    /// The first variable that shows GPUs and is empty.
    pub fn empty_gpu_variable(&self) -> Option<&'static str> {
        let is_empty =
            |name: &&str| self.exported(name).is_ok_and(|value| value.is_some_and(|value| value.is_empty()));
        GPU_VARIABLES.into_iter().find(is_empty)
    }

    pub fn set(&mut self, name: &str, value: String) {
        let exported = self.variables.get(name).is_some_and(|variable| variable.exported);
        self.restore(name, Some(Variable { value, exported }));
    }

    pub fn export(&mut self, name: &str) {
        self.give(name, self.variable(name).unwrap_or_default());
    }

    /// A variable that programs inherit.
    pub fn give(&mut self, name: &str, value: String) {
        self.restore(name, Some(Variable { value, exported: true }));
    }

    /// Puts a variable back as it was.
    pub fn restore(&mut self, name: &str, variable: Option<Variable>) {
        self.unset.remove(name);
        match variable {
            Some(variable) => drop(self.variables.insert(name.to_owned(), variable)),
            None => drop(self.variables.remove(name)),
        }
    }

    /// A variable is taken away: an empty one counts for none where it matters.
    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
        self.unset.insert(name.to_owned());
        if let Some(name) = GPU_VARIABLES.into_iter().find(|known| *known == name)
            && !self.absent.contains(&name)
        {
            self.absent.push(name);
        }
    }

    /// What a program inherits of a variable that shows it GPUs: `Ok(None)` for nothing.
    pub fn exported(&self, name: &str) -> Known<Option<String>> {
        match self.variables.get(name) {
            Some(variable) if !variable.exported && !variable.value.is_empty() => Err(format!(
                "{name} is set and not exported, so whether the program sees it depends on the site"
            )),
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

    /// What it shows its program of GPUs.
    pub fn shown_gpus(&self) -> [Known<Option<String>>; 4] {
        GPU_VARIABLES.map(|name| self.exported(name))
    }

    /// A variable may have been set.
    pub fn doubt_variable(&mut self, name: &str, why: &str) {
        self.doubt = Some(why.to_owned());
        self.variables.remove(name);
        self.absent.retain(|absent| *absent != name);
    }

    /// Nothing of it is known any more.
    pub fn lose(&mut self, why: &str) {
        (self.pus, self.policy) = (Err(why.to_owned()), Err(why.to_owned()));
        self.variables.clear();
        self.absent.clear();
        self.unset.clear();
        self.doubt = Some(why.to_owned());
    }

    /// Variables may have been set.
    pub fn distrust(&mut self, why: &str) {
        self.doubt = Some(why.to_owned());
        self.absent.clear();
        self.unset.clear();
    }

    /// As a program that a shell starts has it: exported variables alone.
    pub fn child(mut self) -> Self {
        // One that shows GPUs is kept, so that a forgotten `export` is seen.
        self.variables.retain(|name, variable| variable.exported || GPU_VARIABLES.contains(&name.as_str()));
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
        self.unset.retain(|name| other.unset.contains(name));
        self.doubt = self.doubt.take().or(other.doubt);
        self.foreign.extend(other.foreign);
        self.foreign.sort();
        self.foreign.dedup();
    }

    /// Bound to these, or to what is not known.
    pub fn bind(&mut self, pus: Known<IdSet>) {
        (self.pus, self.is_free) = (pus, false);
    }

    /// Variables at the beginning, and the words behind them.
    pub fn assignments<'l, 'w>(&mut self, words: &'l [&'w str]) -> &'l [&'w str] {
        let mut rest = words;
        while let Some(((name, value), after)) =
            rest.split_first().and_then(|(word, after)| Some((assignment(word)?, after)))
        {
            self.give(name, value.to_owned());
            rest = after;
        }
        rest
    }
}

/// A file's text; `None` where it cannot be read, or is none.
pub(crate) fn text_of(path: &str) -> Option<String> {
    let bytes = topo::read_input(Path::new(path), MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// `NAME=VALUE`, as a shell takes it.
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits))
        .then_some((name, value))
}
