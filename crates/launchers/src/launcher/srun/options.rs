//! Slurm's srun: its options, and where they put ranks.
//!
//! The names are those of srun(1), Slurm 22.05 to 24.11; what a variable says is said by the option of its
//! name unless the line has that too. Slurm distributes CPUs itself (`distribution`), binds memory (`memory`)
//! and gives GPUs (`gpus`): where a site's configuration decides, there is a layout for each way that it may
//! be.
//!
//! Some 680 lines because an option of srun and what it does to a step are read together: most change what
//! another one means.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::Topology;

use super::nodes::{self, Nodes};
use super::{distribution, gpu_types, gpu_variables, gpus, memory};
use crate::assumption::Choice;
use crate::count::Count;
use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style};
use crate::layout::{LaunchLine, Layout, OWN_PART, Options};
use crate::objects::{JobMachine, Part};
use crate::slurm_node::{DefaultBinding, SlurmNodes, Units};
use crate::unknown::{UNKNOWN, is_unknown};
use crate::value::{repeated, wrong};
use crate::{parse_map_cpu, parse_mask, parse_mask_cpu};

/// Options of plug-ins (SPANK) are written by sites: they are passed over.
pub(super) const SRUN: Grammar = Grammar {
    tool: "srun",
    style: Style::Getopt,
    letters: "A:b:B:c:C:d:D:e:EF:G:hHi:I::J:k::K::lL:m:M:n:N:o:Op:P:q:Qr:sS:t:T:uvVw:W:x:XZ",
    names: "contiguous debugger-test disable-status exact external help hold interactive label multi-prog \
        no-allocate no-requeue overcommit overlap oversubscribe preserve-env pty quiet quit-on-interrupt \
        reboot requeue share spread-job stepmgr test-only unbuffered usage use-min-nodes verbose version \
        whole accel-bind: account: acctg-freq: bb: bbf: bcast-exclude: begin: chdir: cluster-constraint: \
        clusters: comment: constraint: container: container-id: core-spec: cores-per-socket: cpu-bind: \
        cpu_bind: cpu-freq: cpus-per-gpu: cpus-per-task: deadline: delay-boot: dependency: distribution: \
        epilog: error: exclude: export: extra: extra-node-info: gid: gpu-bind: gpu-freq: gpus: \
        gpus-per-node: gpus-per-socket: gpus-per-task: gres: gres-flags: het-group: hint: input: job-name: \
        jobid: licenses: mail-type: mail-user: max-exit-timeout: mcs-label: mem: mem-bind: mem_bind: \
        mem-per-cpu: mem-per-gpu: mincpus: mpi: msg-timeout: network: nodefile: nodelist: nodes: ntasks: \
        ntasks-per-core: ntasks-per-gpu: ntasks-per-node: ntasks-per-socket: ntasks-per-tres: oom-kill-step: \
        open-mode: output: pack-group: partition: power: prefer: priority: profile: prolog: qos: relative: \
        reservation: resv: segment: signal: slurmd-debug: sockets-per-node: switches: tasks-per-node: \
        task-epilog: task-prolog: thread-spec: threads: threads-per-core: time: time-min: tmp: tree-width: \
        treewidth: tres-bind: tres-per-task: uid: wait: wckey: bcast:: compress:: exclusive:: get-user-env:: \
        immediate:: kill-on-bad-exit:: nice:: no-kill:: propagate:: resv-ports:: send-libs:: x11::",
    is_open: true,
};

/// Variables that stand for options (srun(1), INPUT ENVIRONMENT VARIABLES, of 22.05 to 24.11), as far as they
/// place tasks or say which GPUs they have. Of two for one option the later one counts.
const VARIABLES: &[(&str, &str)] = &[
    ("SRUN_CPUS_PER_TASK", "cpus-per-task"),
    ("SLURM_CORE_SPEC", "core-spec"),
    ("SLURM_CPUS_PER_GPU", "cpus-per-gpu"),
    ("SLURM_CPU_BIND", "cpu-bind"),
    ("SLURM_DISTRIBUTION", "distribution"),
    ("SLURM_EXCLUSIVE", "exclusive"),
    ("SLURM_EXPORT_ENV", "export"),
    ("SRUN_EXPORT_ENV", "export"),
    ("SLURM_GPU_BIND", "gpu-bind"),
    ("SLURM_GPUS", "gpus"),
    ("SLURM_GPUS_PER_NODE", "gpus-per-node"),
    ("SLURM_GPUS_PER_SOCKET", "gpus-per-socket"),
    ("SLURM_GPUS_PER_TASK", "gpus-per-task"),
    ("SLURM_STEP_GRES", "gres"),
    ("SLURM_GRES", "gres"),
    ("SLURM_HINT", "hint"),
    ("SLURM_MEM_BIND", "mem-bind"),
    ("SLURM_NNODES", "nodes"),
    ("SLURM_JOB_NUM_NODES", "nodes"),
    ("SLURM_NPROCS", "ntasks"),
    ("SLURM_NTASKS", "ntasks"),
    ("SLURM_NTASKS_PER_CORE", "ntasks-per-core"),
    ("SLURM_NTASKS_PER_GPU", "ntasks-per-gpu"),
    ("SLURM_NTASKS_PER_NODE", "ntasks-per-node"),
    ("SLURM_NTASKS_PER_SOCKET", "ntasks-per-socket"),
    ("SLURM_TASK_PROLOG", "task-prolog"),
    ("SLURM_THREAD_SPEC", "thread-spec"),
    ("SLURM_THREADS_PER_CORE", "threads-per-core"),
    ("SLURM_TRES_BIND", "tres-bind"),
    ("SLURM_TRES_PER_TASK", "tres-per-task"),
];

/// Variables that stand for options without a value.
const FLAGS: &[(&str, &str)] = &[("SLURM_EXACT", "exact"), ("SLURM_OVERCOMMIT", "overcommit")];

/// Whether the value of such a variable switches the option on. Seen with 22.05, where `true`, `y` and `on`
/// do not.
fn is_on(value: &str) -> bool {
    matches!(value, "" | "yes") || value.parse::<i64>().is_ok_and(|number| number != 0)
}

/// What the options say.
#[derive(Debug, Default)]
struct Said<'l> {
    count: Count,
    nodes: Option<Nodes>,
    cpus_per_task: Option<usize>,
    cpus_per_gpu: Option<usize>,
    /// `--cpu-bind`, as it is written.
    cpu_bind: Option<&'l str>,
    distribution: Option<&'l str>,
    /// `--hint`.
    hint: Option<Hint>,
    /// What `--threads-per-core` says in the words of a hint.
    one_thread: Option<bool>,
    threads_per_core: Option<usize>,
    /// Whether CPUs may have several tasks: `--overcommit`.
    overcommits: bool,
    /// Whether the job has the cores that the site keeps from others: `--core-spec=0`.
    has_all_cores: bool,
    /// Whether the step gets no more than its tasks need: `-c`, `--exact`, `--exclusive`.
    is_exact: bool,
    tasks_per_core: Option<usize>,
    tasks_per_socket: Option<usize>,
    /// The last level that `-B SOCKETS:CORES:THREADS` counts.
    node_info: Option<Part>,
    /// `--export`.
    exported: Option<&'l str>,
    gpus: gpus::Said<'l>,
    mem_bind: Option<&'l str>,
}

/// Reads srun's options.
///
/// # Errors
/// [`LineError`]: srun would refuse them, or they are not known.
pub(super) fn read<'l>(line: &LaunchLine<'l>) -> Result<Options<'l>, LineError> {
    let LaunchLine { words, variables, machine, site, .. } = *line;
    let topology = machine.topology;
    let gres = site.gres.as_ref().map(|gres| gres.of_machine(topology)).transpose()?;
    let (given, program) = SRUN.read(words)?;
    let mut said = Said::default();

    for (variable, option) in VARIABLES {
        if let Some(value) = variables.get(*variable) {
            said.option(&Given { name: option, value: Some(value), second: None })?;
        }
    }

    for (variable, option) in FLAGS {
        if variables.get(*variable).is_some_and(|value| is_on(value)) {
            said.option(&Given { name: option, value: None, second: None })?;
        }
    }
    for one in &given {
        said.option(one)?;
    }
    said.gpus.count_sockets(topology.packages.len());

    if said.has_all_cores && !JobMachine::online(topology).pus.is_subset(&machine.pus) {
        return Err(LineError::NotSaid(
            "--core-spec=0 asks for cores that are kept from the job in which this machine was read, where \
             the site allows it: read the machine in such a job"
                .to_owned(),
        ));
    }

    if said.node_info == Some(Part::Thread) && said.count.ranks.is_none() && said.nodes.is_some() {
        return Err(LineError::NotSaid(
            "with -N and -B SOCKETS:CORES:THREADS and without -n srun starts a task for each thread: write -n"
            .to_owned(),
        ));
    }

    let of_nodes = site.nodes.as_ref();
    let units = of_nodes.map(|of_nodes| of_nodes.of_machine(machine)).transpose()?;
    let mut notes = SRUN.notes(&given);
    let binding = said.binding(machine)?;
    let of_gpus = said.gpus.listed()?;
    let listed = match &binding {
        Some(Binding::Lists(lists)) if lists.len() > 1 => lists.len(),
        _ => of_gpus,
    };
    nodes::deal(&mut said.count, said.nodes, said.distribution, listed, variables, &mut notes)?;
    let nodes = said.count.nodes.unwrap_or(1).max(1);
    let ranks =
        said.count.here(said.gpus.ranks(topology).unwrap_or(listed))?.max(said.gpus.least_ranks(nodes));
    said.gpus.agree(ranks, nodes, topology.gpus.len())?;
    let is_part = said.gpus.of_step(ranks, nodes).is_some_and(|own| own < topology.gpus.len());
    let names_cores = gres.as_ref().is_some_and(|gres| gres.near.is_some());

    if is_part && names_cores {
        return Err(LineError::NotSaid(
            "a step with a part of the node's GPUs gets cores near to those first, and Slurm chooses which: \
             ask for all of them"
                .to_owned(),
        ));
    }

    if !gpus::Said::cover(gres.as_ref(), &machine.pus) {
        return Err(LineError::NotSaid(
            "gres.conf names cores for its GPUs that are not all of the node's: Slurm gives a step those \
             first, and refuses a binding to others. Run numabench check inside of the launch"
                .to_owned(),
        ));
    }

    let site = Site {
        units,
        default_binding: of_nodes.and_then(SlurmNodes::default_binding),
        gives_whole_nodes: of_nodes.and_then(SlurmNodes::gives_whole_nodes),
        has_blocks: of_nodes.and_then(SlurmNodes::has_blocks),
    };
    let mut layouts = said.layouts(machine, site, binding.as_ref(), ranks)?;
    for layout in &mut layouts {
        memory::bind(said.mem_bind, machine, &mut layout.starts)?;
    }
    let release = of_nodes.and_then(|of_nodes| of_nodes.release(topology));
    let of_gpus = gpus::Site { gres: gres.as_ref(), release };
    let layouts =
        layouts.into_iter().map(|layout| said.gpus.give(topology, layout, nodes, of_gpus, &mut notes));
    let layouts = layouts.collect::<Result<Vec<_>, _>>()?.concat();

    if matches!(binding, Some(Binding::Distributed(_))) {
        notes.push(
            "the job is taken to have the whole node (sbatch --exclusive): CPUs are as Slurm distributes \
             them there"
                .to_owned(),
        );
    }

    let mut passed = passed_on(said.exported, variables);
    gpu_variables::withhold(said.gpus.has_own(), topology, &mut passed, &mut notes);
    notes.extend(gpu_types::other_models(topology, said.gpus.types()));
    notes.dedup();
    let is_withheld = |name: &&String| !name.starts_with("SLURM_") && !passed.contains_key(*name);
    let withheld = variables.keys().filter(is_withheld).cloned().collect();
    let mut environment = passed;
    environment.extend(said.environment(topology, ranks, nodes));
    Ok(Options { count: said.count, layouts, program, environment, withheld, notes })
}

/// What is known of the site's Slurm.
#[derive(Clone, Copy)]
struct Site {
    units: Option<Units>,
    default_binding: Option<DefaultBinding>,
    /// Whether each step gets its whole node: `SelectType=select/linear`.
    gives_whole_nodes: Option<bool>,
    /// Whether tasks are laid out by blocks where `--distribution` does not say it.
    has_blocks: Option<bool>,
}

/// A share of its node that a step may get.
struct Share {
    /// Whether it has the CPUs that its tasks need, and no more.
    is_own: bool,
    /// What that takes the site to do.
    assumed: Option<&'static str>,
}

/// `--cpu-bind`.
#[derive(Debug)]
enum Binding {
    /// Each rank's PUs.
    Lists(Vec<IdSet>),
    None,
    /// To the CPUs that Slurm distributes, or to the whole of these parts.
    Distributed(Part),
    /// A kind that is not read.
    Other(String),
}

impl<'l> Said<'l> {
    fn option(&mut self, one: &Given<'l>) -> Result<(), LineError> {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "n" | "ntasks" => self.count.ranks = Some(one.count()?),
            "N" | "nodes" => self.nodes = Some(Nodes::read(&option, value)?),
            "ntasks-per-node" | "tasks-per-node" => self.count.of_a_node = Some(one.count()?),
            "c" | "cpus-per-task" => {
                self.cpus_per_task = Some(one.count()?);
                self.is_exact = true;
            }
            "O" | "overcommit" => self.overcommits = true,
            // It does not keep `-c` from making the step smaller (seen with Slurm 22.05.8).
            "whole" => {}
            // `--exclusive=user` is of the job.
            "exact" | "exclusive" if value.is_empty() => self.is_exact = true,
            "multi-prog" => {
                return Err(LineError::NotSaid(
                    "with --multi-prog each task's program stands in a file that is not read: write the line \
                     of one of the programs"
                        .to_owned(),
                ));
            }
            "task-prolog" => {
                return Err(LineError::NotSaid(
                    "--task-prolog may set the tasks' variables, and is not read: leave it out for the check"
                        .to_owned(),
                ));
            }
            "export" => self.exported = Some(value),
            "het-group" | "pack-group" => {
                return Err(LineError::NotSaid(format!(
                    "{option} starts tasks in a part of a heterogeneous job, whose nodes the line does not \
                     say: write the line of one part without it"
                )));
            }
            "cpus-per-gpu" => self.cpus_per_gpu = Some(one.count()?),
            "cpu-bind" | "cpu_bind" => self.cpu_bind = Some(value),
            "mem-bind" | "mem_bind" => self.mem_bind = Some(value),
            "m" | "distribution" => self.distribution = Some(value),
            "hint" => self.hint = self.hint.or(hint(value)),
            "S" | "core-spec" | "thread-spec" if value != "0" => {
                return Err(LineError::NotSaid(format!(
                    "{option} {value} keeps cores from the job, and Slurm chooses which: run numabench check \
                     inside of the launch"
                )));
            }
            // All cores, also those that a site keeps from jobs otherwise.
            "S" | "core-spec" => self.has_all_cores = true,
            "B" | "extra-node-info" => {
                self.node_info = Some(match value.split(':').count() {
                    1 => Part::Package,
                    2 => Part::Core,
                    _ => Part::Thread,
                });
            }
            "ntasks-per-core" => self.tasks_per_core = Some(one.count()?),
            "ntasks-per-socket" => self.tasks_per_socket = Some(one.count()?),
            "threads-per-core" => {
                self.threads_per_core = Some(one.count()?);
                self.one_thread = Some(one.count()? == 1);
            }
            _ => self.gpus.option(one)?,
        }

        Ok(())
    }

    fn binding(&self, machine: &JobMachine<'_>) -> Result<Option<Binding>, LineError> {
        let Some(value) = self.cpu_bind else { return Ok(None) };
        let wrong_list = |error: crate::BindingError| LineError::Wrong(error.to_string());
        let behind = |kind: &str| value.split_once(kind).map(|(_, list)| list);
        if value.contains("map_cpu:") {
            return Ok(Some(Binding::Lists(parse_map_cpu(value).map_err(wrong_list)?)));
        }
        if value.contains("mask_cpu:") {
            return Ok(Some(Binding::Lists(parse_mask_cpu(value).map_err(wrong_list)?)));
        }
        let node = |node: u32| {
            machine.of_node(node).ok_or_else(|| {
                wrong("--cpu-bind", value, format!("NUMA node {node} of this machine has no PUs for the job"))
            })
        };
        if let Some(list) = behind("map_ldom:") {
            let one = |text: &str| node(memory::node("--cpu-bind", value, text)?);
            return Ok(Some(Binding::Lists(repeated("--cpu-bind", list, one)?)));
        }

        if let Some(list) = behind("mask_ldom:") {
            let one = |text: &str| {
                let nodes = parse_mask(text)
                    .ok_or_else(|| wrong("--cpu-bind", value, "write hexadecimal masks of NUMA nodes"))?;
                Ok(IdSet::of_all(nodes.iter().map(node).collect::<Result<Vec<_>, _>>()?))
            };
            return Ok(Some(Binding::Lists(repeated("--cpu-bind", list, one)?)));
        }

        let mut binding = None;

        for word in value.split(',') {
            binding = Some(match word.trim_start_matches('=') {
                "none" | "no" => Binding::None,
                "cores" | "core" => Binding::Distributed(Part::Core),
                "threads" | "thread" => Binding::Distributed(Part::Thread),
                "sockets" | "socket" => Binding::Distributed(Part::Package),
                "ldoms" | "ldom" => Binding::Distributed(Part::Numa),
                // task/affinity takes the task's number on its node for the CPU's, or for the NUMA node's.
                "rank" => Binding::Lists(
                    machine
                        .parts(Part::Thread)
                        .into_iter()
                        .collect::<std::collections::BTreeSet<_>>()
                        .into_iter()
                        .collect(),
                ),
                "rank_ldom" => Binding::Lists(machine.parts(Part::Numa)),
                "verbose" | "v" | "quiet" | "q" | "autobind" | "one_thread" | "help" | "" => continue,
                other => Binding::Other(format!("--cpu-bind={other}")),
            });
        }
        Ok(binding)
    }

    /// The tasks, in each way that the site may have it.
    ///
    /// # Errors
    /// [`LineError::Wrong`]: srun refuses the binding in every way.
    fn layouts(
        &self,
        machine: &JobMachine<'_>,
        site: Site,
        binding: Option<&Binding>,
        ranks: usize,
    ) -> Result<Vec<Layout>, LineError> {
        let cpus =
            self.cpus_per_task.or(self.cpus_per_gpu.map(|each| each * self.gpus.per_task().unwrap_or(1)));
        // srun(1), --hint: of these options the hint is the one that is passed over (seen with 22.05).
        let is_passed_over =
            self.cpu_bind.is_some() || self.tasks_per_core.is_some() || self.one_thread.is_some();
        let hint = self.hint.filter(|_| !is_passed_over);
        self.has_threads(machine, site)?;
        let step = distribution::Step {
            machine,
            ranks,
            cpus: cpus.unwrap_or(1),
            overcommits: self.overcommits,
            one_thread: self.one_thread.or(hint.and_then(|hint| hint.one_thread)),
            units: site.units,
            distribution: self.distribution,
            has_blocks: site.has_blocks,
            tasks_per_core: self.tasks_per_core,
            tasks_per_socket: self.tasks_per_socket,
        };

        self.fits(&step)?;
        let mut layouts = Vec::new();

        for Share { is_own, assumed } in self.shares(site) {
            let all = self.of_share(&step, site, binding, is_own)?;
            layouts.extend(all.into_iter().map(|layout| match assumed {
                Some(what) => layout.assuming(Choice::StepShare, what),
                None => layout,
            }));
        }
        Ok(layouts)
    }

    /// What a step with `-c`, `--exact` or `--exclusive` may get of its node.
    fn shares(&self, site: Site) -> Vec<Share> {
        let own = OWN_PART;
        let whole = "a step gets the whole node (SelectType=select/linear, or an older Slurm)";
        match (self.is_exact, site.gives_whole_nodes) {
            (false, _) | (true, Some(true)) => vec![Share { is_own: false, assumed: None }],
            (true, Some(false)) => vec![Share { is_own: true, assumed: None }],
            (true, None) => {
                vec![
                    Share { is_own: true, assumed: Some(own) },
                    Share { is_own: false, assumed: Some(whole) },
                ]
            }
        }
    }

    /// The tasks of a step that has its own CPUs of the node, or all.
    fn of_share(
        &self,
        step: &distribution::Step<'_>,
        site: Site,
        binding: Option<&Binding>,
        is_own: bool,
    ) -> Result<Vec<Layout>, LineError> {
        let ranks = step.ranks;

        Ok(match binding {
            Some(Binding::Lists(lists)) if is_own => self.listed(step, lists, site)?,
            Some(Binding::Lists(lists)) => vec![Layout::lists(lists, ranks)],
            Some(Binding::None) => self.unbound(step, is_own),
            Some(Binding::Distributed(part)) => step.layouts(Some(*part), is_own),
            Some(Binding::Other(what)) => vec![Layout::unknown(
                ranks,
                &format!(
                    "{what} is not a binding that numabench knows: srun(1) has none, cores, threads, \
                     sockets, ldoms, map_cpu, mask_cpu, map_ldom, mask_ldom"
                ),
            )],
            None if self.is_open(site) => {
                let why = "where these options put tasks without --cpu-bind is not known: write --cpu-bind";
                vec![Layout::unknown(ranks, why)]
            }
            None => match self.hint.and_then(|hint| hint.bound_to) {
                Some(part) => step.layouts(Some(part), is_own),
                None => self.by_default(step, site.default_binding, is_own),
            },
        })
    }

    /// Whether options say without `--cpu-bind` what tasks are bound to, in a way that is not read.
    fn is_open(&self, site: Site) -> bool {
        let of_cores = site.units.is_some_and(|units| units.cpu == Part::Core);
        let hint_is_open = self
            .hint
            .is_some_and(|hint| hint.bound_to.is_none() || hint.one_thread == Some(false) && of_cores);
        let is_passed_over = self.tasks_per_core.is_some() || self.one_thread.is_some();
        hint_is_open || self.hint.is_some() && is_passed_over || self.tasks_per_socket.is_some()
    }

    /// What options bind tasks to that say nothing else of binding (srun(1); seen with 22.05).
    fn bound_by_options(&self) -> Option<Part> {
        let of_cores = self.tasks_per_core.map(|_| Part::Core);
        let of_threads = self.one_thread.filter(|one| *one).map(|_| Part::Thread);
        self.node_info.or(of_cores).or(of_threads)
    }

    /// Tasks that nothing binds within their step.
    fn unbound(&self, step: &distribution::Step<'_>, is_own: bool) -> Vec<Layout> {
        if is_own { step.unbound() } else { vec![Layout::free(step.ranks)] }
    }

    /// Tasks of a line without `--cpu-bind` (srun(1), "auto binding").
    fn by_default(
        &self,
        step: &distribution::Step<'_>,
        default_binding: Option<DefaultBinding>,
        is_own: bool,
    ) -> Vec<Layout> {
        let own = || step.layouts(None, is_own);
        let bound_to = |part| step.layouts(Some(part), is_own);
        // Seen bound to threads of its own share, and to all of it.
        if default_binding.is_some() && self.one_thread == Some(false) {
            return vec![Layout::unknown(step.ranks, distribution::NOT_KNOWN)];
        }

        if let Some(part) = self.bound_by_options() {
            return bound_to(part);
        }

        match default_binding {
            Some(DefaultBinding::Always(Some(part))) => bound_to(part),
            Some(DefaultBinding::Always(None)) => self.unbound(step, is_own),
            Some(DefaultBinding::Otherwise(part)) => {
                let finds = step.ways().first().is_some_and(|way| step.automatic(*way).is_some());
                match part.filter(|_| !finds) {
                    Some(part) => bound_to(part),
                    None => own(),
                }
            }
            // Each default that a site may set: TaskPluginParam, CpuBind= of a node or a partition, or no
            // task/affinity.
            None => {
                let assuming = |what| move |layout: Layout| layout.assuming(Choice::DefaultBinding, what);
                let mut layouts: Vec<Layout> =
                    own().into_iter().map(assuming("the site leaves binding to Slurm")).collect();
                for (part, parts) in [
                    (Part::Core, "the site's default binds tasks to cores"),
                    (Part::Thread, "the site's default binds tasks to threads"),
                    (Part::Package, "the site's default binds tasks to sockets"),
                    (Part::Numa, "the site's default binds tasks to NUMA nodes"),
                ] {
                    layouts.extend(bound_to(part).into_iter().map(assuming(parts)));
                }
                layouts.push(assuming("the site's default leaves tasks unbound")(Layout::free(step.ranks)));
                layouts
            }
        }
    }

    /// Whether the node's cores have so many threads as `--threads-per-core` asks for.
    ///
    /// # Errors
    /// [`LineError::Wrong`].
    fn has_threads(&self, machine: &JobMachine<'_>, site: Site) -> Result<(), LineError> {
        let of_cores = machine.parts(Part::Core).iter().map(IdSet::len).max().unwrap_or(1);
        let most = if site.units.is_some_and(|units| units.cpu == Part::Core) { 1 } else { of_cores };
        match self.threads_per_core {
            Some(asked) if asked > most => Err(LineError::Wrong(format!(
                "srun refuses --threads-per-core={asked}: for Slurm a core of this node has {most}"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the node has so many CPUs.
    ///
    /// # Errors
    /// [`LineError::Wrong`]: in no way that the site may have it.
    fn fits(&self, step: &distribution::Step<'_>) -> Result<(), LineError> {
        let ways = step.ways();
        if self.overcommits || ways.iter().any(|way| step.has_cpus(way.cpu)) {
            return Ok(());
        }
        let most = ways.iter().map(|way| step.machine.parts(way.cpu).len()).max().unwrap_or(0);
        Err(LineError::Wrong(format!(
            "srun refuses {} of {} on a node with {most} for the job (\"More processors requested than \
             permitted\"): ask for fewer, or add --overcommit",
            stats::units::counted(step.ranks, "task"),
            stats::units::counted(step.cpus, "CPU")
        )))
    }

    /// Tasks bound to lists, in each way that the site may have it: srun refuses a list that is not within
    /// the cores of the step.
    ///
    /// # Errors
    /// [`LineError::Wrong`]: srun refuses it in every way.
    fn listed(
        &self,
        step: &distribution::Step<'_>,
        lists: &[IdSet],
        site: Site,
    ) -> Result<Vec<Layout>, LineError> {
        let all = IdSet::of_all(lists);
        let is_of_parts =
            self.cpu_bind.is_some_and(|value| !value.contains("map_cpu:") && !value.contains("mask_cpu:"));
        let needed = if is_of_parts { &step.machine.pus } else { &all };
        let refusal = format!(
            "srun refuses --cpu-bind={} here (\"CPU binding outside of job step allocation\"): -c, --exact \
             and --exclusive give the step the {} that its tasks need, and the binding names others. Leave \
             them out in a job that has the whole node (#SBATCH --exclusive)",
            self.cpu_bind.unwrap_or_default(),
            stats::units::counted(step.ranks * step.cpus, "CPU")
        );

        let (mut layouts, mut takes_any) = (Vec::new(), false);
        for way in step.ways() {
            let own = step.own_cores(way);
            let is_refused = own.as_ref().is_some_and(|own| !needed.is_subset(own));
            takes_any |= !is_refused;
            let layout = match own {
                // srun may refuse the list.
                None => Layout::unknown(step.ranks, distribution::NOT_KNOWN),
                Some(_) if is_refused => Layout::unknown(step.ranks, &refusal),
                Some(own) => Layout::lists(lists, step.ranks).within(&own),
            };
            way.assumed(layout).join(&mut layouts);
        }

        match takes_any || site.gives_whole_nodes.is_none() {
            true => Ok(layouts),
            false => Err(LineError::Wrong(refusal)),
        }
    }

    /// What srun tells its tasks of what was asked for.
    fn environment(&self, topology: &Topology, ranks: usize, nodes: usize) -> BTreeMap<String, String> {
        let gpus = self.gpus.of_step(ranks, nodes).unwrap_or(topology.gpus.len());
        let told = [
            ("SLURM_CPUS_PER_TASK", self.cpus_per_task),
            ("SLURM_NTASKS_PER_NODE", self.count.of_a_node),
            ("SLURM_GPUS_ON_NODE", Some(gpus).filter(|gpus| *gpus > 0)),
            ("SLURM_NNODES", Some(nodes)),
        ];
        told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_string()))).collect()
    }
}

/// What `--export` passes on of the variables of the line, and sets. Those of Slurm itself pass always.
fn passed_on(list: Option<&str>, variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let list = list.unwrap_or("ALL");
    if is_unknown(list) {
        return variables.keys().map(|name| (name.clone(), UNKNOWN.to_string())).collect();
    }

    let mut passed = BTreeMap::new();
    for entry in list.split(',') {
        match (entry.split_once('='), variables.get(entry)) {
            (Some((name, value)), _) => drop(passed.insert(name.to_owned(), value.to_owned())),
            // What stands behind it does not count either.
            (None, _) if passed.is_empty() && matches!(entry, "NONE" | "NIL") => return passed,
            (None, _) if entry == "ALL" => passed.extend(variables.clone()),
            (None, Some(value)) => drop(passed.insert(entry.to_owned(), value.clone())),
            (None, None) => {}
        }
    }
    passed
}

/// What `--hint` asks for.
#[derive(Clone, Copy, Debug)]
struct Hint {
    /// Whether a task gets one thread of a core.
    one_thread: Option<bool>,
    /// What tasks are bound to; `None` where it is not read.
    bound_to: Option<Part>,
}

/// srun(1), --hint; what each of them binds tasks to was seen with 22.05.
fn hint(value: &str) -> Option<Hint> {
    let (one_thread, bound_to) = match value {
        "nomultithread" => (Some(true), Some(Part::Thread)),
        "multithread" => (Some(false), Some(Part::Thread)),
        "compute_bound" => (None, Some(Part::Core)),
        "memory_bound" => (None, None),
        _ => return None,
    };
    Some(Hint { one_thread, bound_to })
}
