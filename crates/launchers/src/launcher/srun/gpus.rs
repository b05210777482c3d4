//! Which GPUs Slurm gives each task: `--gpu-bind`, and what `--gpus-per-task` and `--ntasks-per-gpu` imply of
//! it.
//!
//! srun(1): `per_task:N`, which `--gpus-per-task=N` implies, gave GPUs in the order of their numbers up to
//! Slurm 22.05 and prefers those with affinity to the task's cores since; `single:N`, which
//! `--ntasks-per-gpu=N` implies, and `closest` go by the cores that `gres.conf` names for each GPU. Whether
//! it names any is the site's, so there is a layout for both where the line does not itself ask for the
//! closest; a gres.conf that is given decides.
//!
//! Some 420 lines because the options that count GPUs and those that bind them change what each other means.

use stats::IdSet;
use topo::Topology;

use super::gpu_types::{is_mig, types};
use crate::assumption::Choice;
use crate::error::LineError;
use crate::grammar::Given;
use crate::gres_conf::NodeGpus;
use crate::layout::{Layout, Start};
use crate::parse_mask;
use crate::slurm_node::SlurmRelease;
use crate::value::{count, decimal_or_hex, number, repeated, wrong};

/// What is known of the site.
#[derive(Clone, Copy)]
pub(super) struct Site<'s> {
    pub gres: Option<&'s NodeGpus>,
    pub release: Option<SlurmRelease>,
}

impl Site<'_> {
    /// Whether Slurm is newer than 22.05, where that is known.
    fn is_new(&self) -> Option<bool> {
        self.release.map(|release| release > SlurmRelease::V22_05)
    }
}

/// What is said of GPUs.
#[derive(Debug, Default)]
pub(super) struct Said<'l> {
    bind: Option<&'l str>,
    /// `-G`: of all nodes.
    of_job: Option<usize>,
    per_task: Option<usize>,
    per_node: Option<usize>,
    per_socket: Option<usize>,
    sockets_per_node: Option<usize>,
    tasks_per_gpu: Option<usize>,
    /// The types of GPUs that are asked for.
    types: Vec<&'l str>,
}

/// How Slurm binds them.
enum Kind {
    All,
    Lists(Vec<Vec<usize>>),
    Closest,
    PerTask(usize),
    Single(usize),
}

impl<'l> Said<'l> {
    pub fn option(&mut self, one: &Given<'l>) -> Result<(), LineError> {
        let (option, value) = (one.spelled(), one.value());
        self.types.extend(types(one.name, value));
        // `a100:4`, `h100:2,a100:6`: the number is the last of each type.
        let last = |gpus: &'l str| gpus.rsplit([':', '=']).next().unwrap_or(gpus);
        let several = || value.split(',').map(|gpus| number(&option, last(gpus))).sum::<Result<usize, _>>();
        match one.name {
            "gpu-bind" => self.bind = Some(value),
            "tres-bind" => self.bind = value.strip_prefix("gres/gpu:").or(self.bind),
            "gpus-per-task" => self.per_task = Some(several()?),
            "tres-per-task" => {
                let of_gpus = value.split(',').filter_map(|tres| tres.strip_prefix("gres/gpu"));
                let counts: Vec<usize> = of_gpus
                    .map(|gpus| if gpus.is_empty() { Ok(1) } else { count(&option, last(gpus)) })
                    .collect::<Result<_, _>>()?;
                self.per_task = (!counts.is_empty()).then(|| counts.iter().sum()).or(self.per_task);
            }
            "ntasks-per-gpu" => self.tasks_per_gpu = Some(count(&option, last(value))?),
            "sockets-per-node" => self.sockets_per_node = number(&option, value).ok(),
            "gpus-per-socket" => self.per_socket = several().ok(),
            "gpus-per-node" => self.per_node = several().ok(),
            "G" | "gpus" => self.of_job = several().ok(),
            "gres" if value.eq_ignore_ascii_case("none") => self.per_node = Some(0),
            "gres" => {
                let of_gpus = value.split(',').filter(|gres| gres.split(':').next() == Some("gpu"));
                let counts: Vec<usize> = of_gpus.map(|gres| last(gres).parse().unwrap_or(1)).collect();
                self.per_node = (!counts.is_empty()).then(|| counts.iter().sum()).or(self.per_node);
            }
            _ => {}
        }

        Ok(())
    }

    /// Counts `--gpus-per-socket` on a node of so many sockets: a job of srun's own has them, and a step of
    /// another job has those that the job has.
    pub fn count_sockets(&mut self, sockets: usize) {
        let sockets = self.sockets_per_node.unwrap_or(sockets);
        self.per_node = self.per_node.or(self.per_socket.map(|each| each.saturating_mul(sockets)));
    }

    pub fn per_task(&self) -> Option<usize> {
        self.per_task
    }

    /// Whether the step has GPUs of Slurm's for certain.
    pub fn has_own(&self) -> bool {
        let counts = [self.of_job, self.per_task, self.per_node, self.per_socket, self.tasks_per_gpu];
        counts.iter().any(Option::is_some)
    }

    /// The types of GPUs that the line asks for.
    pub fn types(&self) -> &[&'l str] {
        &self.types
    }

    /// The type of MIG instances that the line asks for.
    fn instances(&self) -> Option<&'l str> {
        self.types.iter().copied().find(|name| is_mig(name))
    }

    /// How many ranks `--ntasks-per-gpu` makes of the node's GPUs.
    pub fn ranks(&self, topology: &Topology) -> Option<usize> {
        let gpus = self.per_node.unwrap_or(topology.gpus.len());
        self.tasks_per_gpu.map(|each| each * gpus.max(1))
    }

    /// How many ranks the lists of `map:` and `mask:` are for: one without a list.
    pub fn listed(&self) -> Result<usize, LineError> {
        Ok(if let Some(Kind::Lists(lists)) = self.kind()? { lists.len() } else { 1 })
    }

    fn kind(&self) -> Result<Option<Kind>, LineError> {
        let (name, value) = ("--gpu-bind", self.bind.unwrap_or_default());
        let behind =
            |kinds: [&str; 2]| kinds.iter().find_map(|kind| value.split_once(kind)).map(|(_, list)| list);
        let index = |text: &str| {
            let read = decimal_or_hex(text).map(|index| vec![index]);
            read.ok_or_else(|| wrong(name, value, "write GPUs of the node: map:0,1*2"))
        };
        let mask = |text: &str| {
            let mask = parse_mask(text).map(|gpus| gpus.iter().map(|gpu| gpu as usize).collect());
            mask.ok_or_else(|| wrong(name, value, "write hexadecimal masks of GPUs: mask:0x1,0x2"))
        };
        if let Some(list) = behind(["map_gpu:", "map:"]) {
            return Ok(Some(Kind::Lists(repeated(name, list, index)?)));
        }
        if let Some(list) = behind(["mask_gpu:", "mask:"]) {
            return Ok(Some(Kind::Lists(repeated(name, list, mask)?)));
        }

        for word in value.split(',') {
            let (kind, number) = word.split_once(':').unwrap_or((word, ""));
            match kind {
                "none" => return Ok(Some(Kind::All)),
                "closest" => return Ok(Some(Kind::Closest)),
                "single" => return Ok(Some(Kind::Single(count(name, number)?))),
                "per_task" => return Ok(Some(Kind::PerTask(count(name, number)?))),
                "verbose" | "v" | "" => {}
                _ => {
                    return Err(wrong(
                        name,
                        value,
                        "write closest, single:N, per_task:N, map:LIST, mask:LIST or none",
                    ));
                }
            }
        }

        Ok(match (self.tasks_per_gpu, self.per_task) {
            (Some(tasks), _) => Some(Kind::Single(tasks)),
            (None, Some(gpus)) => Some(Kind::PerTask(gpus)),
            (None, None) => None,
        })
    }

    /// The ranks of a node where `--ntasks-per-gpu` stands beside a number of GPUs: at least so many each
    /// (seen with 22.05).
    pub fn least_ranks(&self, nodes: usize) -> usize {
        let of_node = self.per_node.or(self.of_job.map(|all| all / nodes));
        self.tasks_per_gpu.zip(of_node).map_or(0, |(tasks, gpus)| tasks.saturating_mul(gpus))
    }

    /// Whether numbers of GPUs contradict each other: srun refuses them, or changes the number of tasks.
    ///
    /// # Errors
    /// [`LineError::NotSaid`].
    pub fn agree(&self, ranks: usize, nodes: usize, total: usize) -> Result<(), LineError> {
        let wanted = self.per_task.map(|each| each.saturating_mul(ranks));
        let of_node = self.of_job.map(|all| all / nodes);
        // One GPU may have several instances.
        let total = if self.instances().is_some() { 0 } else { total };
        let differs = wanted.zip(of_node).is_some_and(|(wanted, all)| wanted != all)
            || wanted.zip(self.per_node).is_some_and(|(wanted, all)| wanted > all)
            || self.per_task.is_some() && self.tasks_per_gpu.is_some()
            || wanted.is_some_and(|wanted| total > 0 && self.bind.is_none() && wanted > total)
            // The job's own number of GPUs then counts too.
            || self.tasks_per_gpu.is_some_and(|tasks| total > 0 && ranks != tasks.saturating_mul(total));

        match differs {
            true => Err(LineError::NotSaid(
                "the numbers of GPUs and tasks do not agree: srun refuses them, or starts another number of \
                 tasks"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Whether the GPUs that the site says are near to cores leave none out: else Slurm gives a step cores
    /// near to GPUs first, and how many is its own.
    pub fn cover(site: Option<&NodeGpus>, pus: &IdSet) -> bool {
        site.and_then(|site| site.near.as_ref()).is_none_or(|near| pus.is_subset(&IdSet::of_all(near)))
    }

    /// How many GPUs the step has on the node; `None`: as many as the job.
    pub fn of_step(&self, ranks: usize, nodes: usize) -> Option<usize> {
        let of_job = self.of_job.filter(|all| all.is_multiple_of(nodes)).map(|all| all / nodes);
        let of_tasks = self.per_task.map(|each| each.saturating_mul(ranks));
        let of_gpus = self.tasks_per_gpu.map(|tasks| ranks.div_ceil(tasks));
        self.per_node.or(of_job).or(of_tasks).or(of_gpus)
    }

    /// The layout with the GPUs of each rank, in each way that Slurm may give them, on the first of so many
    /// nodes.
    ///
    /// # Errors
    /// [`LineError`]: the option's value is none.
    pub fn give(
        &self,
        topology: &Topology,
        layout: Layout,
        nodes: usize,
        site: Site<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Layout>, LineError> {
        let (total, ranks) = (topology.gpus.len(), layout.starts.len());
        if let Some(instances) = self.instances() {
            let why =
                format!("{instances} is a MIG instance, and Slurm chooses on which GPU each of them is");
            return Ok(vec![layout.with_gpus(std::iter::repeat(Err(why)))]);
        }
        let kind = self.kind()?.filter(|_| self.of_step(ranks, nodes) != Some(0));
        let Some(kind) = kind else { return Ok(vec![self.all(layout, total, nodes)]) };
        let is_of_newer =
            self.bind.is_some_and(|value| ["map:", "mask:"].iter().any(|new| value.contains(new)));
        let what = "Slurm 22.05 and before refuse --gpu-bind=map: and mask:, and know map_gpu: and mask_gpu:";
        match site.is_new().filter(|_| is_of_newer) {
            Some(false) => return Err(LineError::Wrong(what.to_owned())),
            None if is_of_newer => notes.push(what.to_owned()),
            Some(true) | None => {}
        }

        let mut bound = |site| self.bound(&kind, topology, layout.clone(), nodes, site, notes);
        if ranks > 1 || matches!(kind, Kind::All) || self.of_step(1, nodes) == Some(1) {
            return Ok(bound(site));
        }

        // Seen with 22.05: what binds tasks to GPUs is passed over where a node has one task.
        let all = || self.all(layout.clone(), total, nodes);
        Ok(match site.is_new() {
            Some(true) => bound(site),
            Some(false) => vec![all()],
            None => {
                let assuming = |layout: Layout, what| layout.assuming(Choice::SlurmVersion, what);
                let old = assuming(all(), "Slurm is 22.05, which binds no GPU where a node has one task");
                let release = Some(SlurmRelease::NEWER);
                let new = bound(Site { release, ..site }).into_iter().map(|layout| {
                    assuming(layout, "Slurm is newer than 22.05 and binds a single task to its GPU too")
                });
                std::iter::once(old).chain(new).collect()
            }
        })
    }

    /// All GPUs of the step for each rank.
    fn all(&self, layout: Layout, total: usize, nodes: usize) -> Layout {
        let ranks = layout.starts.len();
        match self.of_step(ranks, nodes).filter(|own| *own < total) {
            Some(0) => layout.with_gpus(std::iter::repeat(Ok(Vec::new()))),
            Some(own) => layout.with_gpus(std::iter::repeat(Err(chosen_by_slurm(own, total)))),
            None => layout,
        }
    }

    /// The layout with what each rank is bound to.
    fn bound(
        &self,
        kind: &Kind,
        topology: &Topology,
        layout: Layout,
        nodes: usize,
        site: Site<'_>,
        notes: &mut Vec<String>,
    ) -> Vec<Layout> {
        let Site { gres, .. } = site;
        let (total, ranks) = (topology.gpus.len(), layout.starts.len());
        let own = self.of_step(ranks, nodes).unwrap_or(total);
        // Which of the node's GPUs the step has decides all ways but one; a list whose GPUs are not among
        // them falls back to the first of those.
        let is_part = own < total && !matches!(kind, Kind::PerTask(_));
        if total == 0 || matches!(kind, Kind::All) {
            return vec![self.all(layout, total, nodes)];
        }
        if is_part {
            notes.push(
                "a task whose --gpu-bind names no GPU of the step is given the first of them, whatever that \
                 is near to"
                    .to_owned(),
            );
            return vec![layout.with_gpus(std::iter::repeat(Err(chosen_by_slurm(own, total))))];
        }

        let with = |gpus: Vec<Vec<usize>>| layout.clone().with_gpus(gpus.into_iter().map(Ok));
        let by_number =
            |all: Vec<Vec<usize>>| all.into_iter().map(|gpus| numbered(gres, gpus)).collect::<Vec<_>>();
        let near = near_sets(topology, gres).and_then(|sets| near(topology, &sets, &layout.starts));
        let by_nearness = |each, most| Some(by_nearness(topology, near.as_deref()?, each, most));
        let both = |in_order: Vec<Vec<usize>>, nearest: Option<Vec<Vec<usize>>>| match nearest {
            Some(nearest) if nearest != in_order => {
                let (choice, [old, new]) = match gres {
                    Some(_) => (
                        Choice::SlurmVersion,
                        [
                            "Slurm is 22.05 or before, and gives GPUs in the order of their numbers",
                            "Slurm is newer than 22.05",
                        ],
                    ),
                    None => (
                        Choice::GpuCores,
                        [
                            "Slurm gives GPUs in the order of their numbers (22.05 and before, or no Cores= \
                             in gres.conf: name that with --gres-conf)",
                            "Slurm gives each task GPUs near to its cores (Cores= or AutoDetect= in \
                             gres.conf: name that with --gres-conf)",
                        ],
                    ),
                };
                vec![with(in_order).assuming(choice, old), with(nearest).assuming(choice, new)]
            }
            _ => vec![with(in_order)],
        };
        // Seen with 22.05: "does not specify any devices within the allocation … Binding to the first
        // device".
        let there = |gpus: &Vec<usize>| {
            let there: Vec<usize> = gpus.iter().copied().filter(|gpu| *gpu < total).collect();
            if there.is_empty() { vec![0] } else { there }
        };
        match kind {
            Kind::All => vec![layout],
            Kind::Lists(lists) => {
                vec![with(by_number(lists.iter().map(there).cycle().take(ranks).collect()))]
            }
            Kind::Closest if gres.is_some_and(|gres| gres.near.is_none()) => {
                notes.push("gres.conf names no cores, so --gpu-bind=closest has nothing to go by".to_owned());
                vec![layout]
            }
            Kind::Closest => match near {
                Some(near) => {
                    if gres.is_none() {
                        notes.push(
                            "--gpu-bind=closest goes by the cores that the site's gres.conf names for each \
                             GPU (scontrol show node -d): it is taken to name them"
                                .to_owned(),
                        );
                    }
                    vec![with(near)]
                }
                None => vec![layout],
            },
            Kind::PerTask(each) => {
                let of = |rank: usize| {
                    let first = rank.saturating_mul(*each);
                    there(&(first..first.saturating_add(*each).min(total.max(first) + 1)).collect())
                };
                let in_order = by_number((0..ranks).map(of).collect());
                match (site.is_new(), by_nearness(*each, 1)) {
                    (Some(false), _) => vec![with(in_order)],
                    (Some(true), Some(nearest)) if gres.is_some() => vec![with(nearest)],
                    (_, nearest) => both(in_order, nearest),
                }
            }
            Kind::Single(tasks) => {
                let in_order = by_number((0..ranks).map(|rank| vec![rank / tasks % total]).collect());
                // Seen with 22.05: of the GPUs near to a task the one of its number, again from the first.
                let of = |(rank, near): (usize, &Vec<usize>)| {
                    near.get(rank / tasks % near.len().max(1)).map_or(vec![0], |gpu| vec![*gpu])
                };
                let nearest = near.as_ref().map(|near| near.iter().enumerate().map(of).collect());
                match (gres, nearest) {
                    (Some(_), nearest) => vec![with(nearest.unwrap_or(in_order))],
                    (None, nearest) => both(in_order, nearest),
                }
            }
        }
    }
}

/// Why it is not known which GPUs a step has.
fn chosen_by_slurm(own: usize, total: usize) -> String {
    format!("Slurm gives the job {own} of the node's {total} GPUs, and chooses which")
}

/// GPUs by Slurm's numbers as the topology's; numbers beyond stay, so that they are said to be absent.
fn numbered(site: Option<&NodeGpus>, gpus: Vec<usize>) -> Vec<usize> {
    let Some(site) = site else { return gpus };
    gpus.into_iter().map(|gpu| site.order.get(gpu).copied().unwrap_or(gpu)).collect()
}

/// The PUs near to each GPU: what gres.conf says where it is known, else the topology's; `None` where that is
/// not known for some GPU, or gres.conf names none.
fn near_sets(topology: &Topology, site: Option<&NodeGpus>) -> Option<Vec<IdSet>> {
    if let Some(site) = site {
        return site.near.clone();
    }
    let known =
        topology.gpus.iter().all(|gpu| !gpu.locality.pus.is_empty() || !gpu.locality.outside_pus.is_empty());
    known.then(|| topology.gpus.iter().map(|gpu| gpu.locality.pus.clone()).collect())
}

/// The GPUs near to each rank's PUs; `None` where some rank's are not known.
fn near(topology: &Topology, sets: &[IdSet], starts: &[Start]) -> Option<Vec<Vec<usize>>> {
    let of = |start: &Start| {
        let Some(Ok(pus)) = &start.pus else {
            return start.pus.is_none().then(|| (0..topology.gpus.len()).collect());
        };
        let near = sets.iter().enumerate().filter(|(_, near)| !near.and(pus).is_empty());
        let near: Vec<usize> = near.map(|(index, _)| index).collect();
        // None of the step's is near: "Binding to the first device in the allocation instead" (seen with
        // 22.05).
        Some(if near.is_empty() { vec![0] } else { near })
    };
    starts.iter().map(of).collect()
}

/// So many GPUs for each rank, of those near to it the first that so many ranks do not use yet; any others
/// where there are none.
fn by_nearness(topology: &Topology, near: &[Vec<usize>], each: usize, most_ranks: usize) -> Vec<Vec<usize>> {
    let mut users = vec![0; topology.gpus.len()];
    let mut all = Vec::with_capacity(near.len());
    for near in near {
        let mut own: Vec<usize> = Vec::new();
        for index in near.iter().copied().chain(0..topology.gpus.len()) {
            if own.len() < each && users[index] < most_ranks && !own.contains(&index) {
                users[index] += 1;
                own.push(index);
            }
        }
        if own.is_empty() && most_ranks > 1 {
            own.extend(near.first());
        }
        own.sort_unstable();
        all.push(own);
    }

    all
}
