//! What a launcher's options say of each rank of one node, before anything behind the launcher is looked at.
//!
//! Where an option leaves something to the site (what Slurm takes for a socket, whether it gives GPUs by
//! number or by nearness), there is one layout for each way that a site may have it. A verdict that all of
//! them share needs no guess.

use std::borrow::Cow;
use std::collections::BTreeMap;

use stats::IdSet;
use topo::process::PolicyMode;

use crate::assumption::{Assumption, Choice, Ways};
use crate::count::Count;
use crate::objects::JobMachine;
use crate::process::{Known, Policy};
use crate::slurm_files::SlurmFiles;

/// What is assumed where a step of Slurm may have no more of its node than it asks for.
pub(crate) const OWN_PART: &str =
    "a step gets the CPUs that it asks for (SelectType=select/cons_tres, Slurm 22.05 and later)";

/// How a launcher starts one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Its PUs; `None`: nothing binds it.
    pub pus: Option<Known<IdSet>>,
    /// Its GPUs by index; `None`: the launcher hides none.
    pub gpus: Option<Known<Vec<usize>>>,
    /// The variables by which the launcher shows it GPUs, where it confines it to none; or why the value of
    /// one is not known.
    pub variables: Vec<(&'static str, Known<String>)>,
    /// Its memory policy.
    pub policy: Policy,
    /// The PUs that it has together with the other ranks; `None`: all of the job's.
    pub pool: Option<IdSet>,
    /// The GPUs that the line asks for, all ranks' together, by index; `None`: all of the node.
    pub asked_gpus: Option<Vec<usize>>,
    /// Its number in the launch, where the launcher gives it another one on the node.
    pub world: Option<usize>,
}

impl Start {
    /// Not bound, all GPUs, memory where it falls.
    pub const FREE: Self = Self {
        pus: None,
        gpus: None,
        variables: Vec::new(),
        policy: (PolicyMode::Default, IdSet(std::collections::BTreeSet::new())),
        pool: None,
        asked_gpus: None,
        world: None,
    };

    /// Bound to these.
    pub fn on(pus: IdSet) -> Self {
        Self { pus: Some(Ok(pus)), ..Self::FREE }
    }
}

/// The ranks of a node in some of the ways that the line may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Those ways: one that assumes nothing where the line leaves nothing open.
    pub ways: Ways,
    /// In order.
    pub starts: Vec<Start>,
}

impl Layout {
    /// A layout that assumes nothing.
    pub fn certain(starts: Vec<Start>) -> Self {
        Self { ways: vec![Vec::new()], starts }
    }

    /// These sets of PUs for so many ranks; the list begins again where there are more ranks.
    pub fn lists(lists: &[IdSet], ranks: usize) -> Self {
        Self::certain(lists.iter().cycle().take(ranks).cloned().map(Start::on).collect())
    }

    /// Ranks that nothing binds.
    pub fn free(ranks: usize) -> Self {
        Self::certain(vec![Start::FREE; ranks])
    }

    /// Ranks of which nobody knows where they are bound.
    pub fn unknown(ranks: usize, why: &str) -> Self {
        Self::certain(vec![Start { pus: Some(Err(why.to_owned())), ..Start::FREE }; ranks])
    }

    /// The ranks have these PUs together.
    pub fn within(mut self, pool: &IdSet) -> Self {
        self.starts.iter_mut().for_each(|start| start.pool = Some(pool.clone()));
        self
    }

    /// With these GPUs for each rank.
    pub fn with_gpus(mut self, gpus: impl IntoIterator<Item = Known<Vec<usize>>>) -> Self {
        self.starts.iter_mut().zip(gpus).for_each(|(start, gpus)| start.gpus = Some(gpus));
        self
    }

    /// In each of its ways this is so too.
    pub fn assuming(mut self, choice: Choice, what: impl Into<Cow<'static, str>>) -> Self {
        let assumption = Assumption { choice, what: what.into() };
        self.ways.iter_mut().for_each(|way| way.push(assumption.clone()));
        self
    }

    /// Adds a layout to others; to the ways of one that starts the ranks alike.
    pub fn join(self, all: &mut Vec<Self>) {
        match all.iter_mut().find(|known| known.starts == self.starts) {
            Some(known) => known.ways.extend(self.ways),
            None => all.push(self),
        }
    }
}

/// A launcher's line, as its command is given it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchLine<'l> {
    /// The command, without its folders.
    pub command: &'l str,
    /// What stands behind it.
    pub words: &'l [&'l str],
    /// The variables that the command is started with.
    pub variables: &'l BTreeMap<String, String>,
    /// The machine, with the PUs that a job may use.
    pub machine: &'l JobMachine<'l>,
    /// What is known of the site.
    pub site: &'l SlurmFiles,
}

/// A launcher's options, read.
#[derive(Debug)]
pub(crate) struct Options<'l> {
    /// How many ranks.
    pub count: Count,
    /// The ways that the ranks of one node may be laid out: at least one.
    pub layouts: Vec<Layout>,
    /// What it starts.
    pub program: &'l [&'l str],
    /// Variables that it gives its ranks.
    pub environment: BTreeMap<String, String>,
    /// Variables of the line that it does not pass on to its ranks.
    pub withheld: Vec<String>,
    /// What is to be known beside.
    pub notes: Vec<String>,
}

/// What a variable of a launcher tells a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Its number on its node.
    LocalRank,
    /// Its number.
    Rank,
    /// How many there are on its node.
    LocalSize,
    /// How many there are.
    Size,
    /// The number of its node.
    Node,
    /// Which launch it is: a text that is not known.
    Launch,
}
