//! What a line of `flux run` asks Flux for: tasks, and cores and GPUs on each node.
//!
//! flux-run(1), and flux-core's `src/bindings/python/flux/cli/base.py` (`init_jobspec`) and `job/Jobspec.py`
//! (`per_resource`, `from_command`), whose refusals are repeated in their own words.

use crate::count::{Count, Dealing};
use crate::error::LineError;
use crate::grammar::Given;
use crate::objects::{JobMachine, Part};
use crate::value::number;

/// The options that ask for tasks and resources.
#[derive(Debug, Default)]
pub(super) struct Request {
    nodes: Option<usize>,
    exclusive: bool,
    tasks: Option<usize>,
    cores_per_task: Option<usize>,
    gpus_per_task: Option<usize>,
    cores: Option<usize>,
    tasks_per_node: Option<usize>,
    tasks_per_core: Option<usize>,
    gpus_per_node: Option<usize>,
    taskmap: Dealing,
}

/// What the job asks for on its first node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Its tasks there.
    pub tasks: usize,
    /// How many of the node's cores.
    pub cores: usize,
    /// How many of the node's GPUs.
    pub gpus: usize,
    /// Whether it has the node to itself.
    pub is_whole: bool,
    /// Whether it has more tasks where it gets more cores.
    pub is_per_core: bool,
}

impl Request {
    /// Takes an option, if it is one of these.
    ///
    /// # Errors
    /// [`LineError`]: its value is none.
    pub fn option(&mut self, one: &Given<'_>) -> Result<(), LineError> {
        match one.name {
            "N" | "nodes" => self.nodes = Some(one.count()?),
            "x" | "exclusive" => self.exclusive = true,
            "n" | "ntasks" => self.tasks = Some(one.count()?),
            "c" | "cores-per-task" => self.cores_per_task = Some(one.count()?),
            "g" | "gpus-per-task" => self.gpus_per_task = Some(number(&one.spelled(), one.value())?),
            "cores" => self.cores = Some(one.count()?),
            "tasks-per-node" => self.tasks_per_node = Some(one.count()?),
            "tasks-per-core" => self.tasks_per_core = Some(one.count()?),
            "gpus-per-node" => self.gpus_per_node = Some(number(&one.spelled(), one.value())?),
            "taskmap" => self.taskmap = dealing(one.value()),
            _ => {}
        }
        Ok(())
    }

    /// The numbers of the launch, and what the job has of its first node.
    ///
    /// # Errors
    /// [`LineError`]: Flux refuses the request, or it is one for several nodes and does not say how many.
    pub fn share(&self, machine: &JobMachine<'_>) -> Result<(Count, Share), LineError> {
        self.agree()?;
        let (all, total) = (machine.parts(Part::Core).len(), machine.topology.gpus.len());
        let nodes = self.nodes.unwrap_or(1);
        let mut count = Count { nodes: self.nodes, dealing: self.taskmap.clone(), ..Count::default() };

        let (cores, gpus) = if self.is_by_resource() {
            let cores = self.cores.map_or(1, |cores| cores / nodes);
            let usable = if self.is_whole() { all } else { cores };
            let of_cores = self.tasks_per_core.map(|each| each.saturating_mul(usable));
            // One task a slot: a node is one, and without nodes each core is.
            let slots = if self.nodes.is_some() { 1 } else { cores };
            count.of_a_node = Some(self.tasks_per_node.or(of_cores).unwrap_or(slots));
            (cores, self.gpus_per_node.unwrap_or(0))
        } else {
            let tasks = self.tasks.or(self.nodes).unwrap_or(1);
            count.ranks = Some(tasks);
            let slots = tasks.div_ceil(nodes);
            let of_slots = |each: usize| slots.saturating_mul(each);
            (of_slots(self.cores_per_task.unwrap_or(1)), of_slots(self.gpus_per_task.unwrap_or(0)))
        };

        self.fit("cores", cores, all)?;
        if total > 0 {
            self.fit("GPUs", gpus, total)?;
        }

        let tasks = count.here(1)?;
        let is_whole = self.is_whole();
        let (cores, gpus) = if is_whole { (all, total) } else { (cores, gpus.min(total)) };
        Ok((count, Share { tasks, cores, gpus, is_whole, is_per_core: self.tasks_per_core.is_some() }))
    }

    /// Whether tasks follow from resources and not resources from tasks.
    fn is_by_resource(&self) -> bool {
        self.cores.or(self.tasks_per_node).or(self.tasks_per_core).or(self.gpus_per_node).is_some()
    }

    /// Whether the job has its nodes to itself: also where nothing else says how much of them it needs.
    fn is_whole(&self) -> bool {
        let says_how_much = if self.is_by_resource() { self.cores } else { self.tasks };
        self.exclusive || self.nodes.is_some() && says_how_much.is_none()
    }

    /// Whether the options go together.
    fn agree(&self) -> Result<(), LineError> {
        let is_by_task = self.tasks.is_some()
            || self.cores_per_task.is_some()
            || self.gpus_per_task.is_some_and(|gpus| gpus > 0);
        let (nodes, by_resource) = (self.nodes, self.is_by_resource());
        let cores_of_nodes = self.cores.zip(nodes);

        let why = match () {
            () if self.tasks_per_node.and(self.tasks_per_core).is_some() => {
                "do not specify both the number of tasks per node and per core"
            }
            () if self.gpus_per_node.is_some_and(|gpus| gpus > 0) && nodes.is_none() => {
                "--gpus-per-node requires --nodes"
            }
            () if by_resource && is_by_task => {
                "per-resource options (--cores, --tasks-per-node, --tasks-per-core, --gpus-per-node) can't \
                 be used with per-task options (-n, -c, -g)"
            }
            () if self.exclusive && nodes.is_none() => {
                "exclusive can only be set with a node count: write -N too"
            }
            () if by_resource && nodes.or(self.cores).is_none() => {
                "per-resource options need a number of nodes (-N) or of cores (--cores)"
            }
            () if cores_of_nodes.is_some_and(|(cores, nodes)| !cores.is_multiple_of(nodes)) => {
                "the number of cores must be evenly divisible by the node count"
            }
            () if self.tasks.zip(nodes).is_some_and(|(tasks, nodes)| nodes > tasks) => {
                "the node count must not be greater than the task count"
            }
            () => return Ok(()),
        };
        Err(LineError::Wrong(format!("flux run refuses it: {why}")))
    }

    /// Whether a node has what is wanted of it.
    fn fit(&self, what: &str, wanted: usize, there: usize) -> Result<(), LineError> {
        if wanted <= there {
            return Ok(());
        }
        Err(match self.nodes {
            Some(_) => LineError::Wrong(format!(
                "flux run refuses it: unsatisfiable, it asks for {wanted} {what} on a node, and this one has \
                 {there}"
            )),
            None => LineError::NotSaid(format!(
                "the job asks for {wanted} {what}, and a node like this one has {there}: say on how many \
                 nodes it runs (-N)"
            )),
        })
    }
}

/// `--taskmap` (flux-run(1)): which node gets which tasks.
fn dealing(taskmap: &str) -> Dealing {
    match taskmap.split_once(':').unwrap_or((taskmap, "1")) {
        ("block", _) => Dealing::Filled,
        ("cyclic", each) => each.parse().map_or(Dealing::Unknown, Dealing::Turns),
        _ => Dealing::Unknown,
    }
}
