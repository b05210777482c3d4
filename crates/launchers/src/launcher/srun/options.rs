//! Slurm's srun: its options, and where they put ranks.
//!
//! The names are those of srun(1), Slurm 22.05 to 24.11; what a variable says is said by the option of its name unless the line has that too. Slurm
//! distributes CPUs itself (`distribution`), binds memory (`memory`) and gives GPUs (`gpus`): where a site's configuration decides,
//! there is a layout for each way that it may be.

use std::collections::BTreeMap;

use stats::IdSet;

use super::{distribution, gpus, memory};
use crate::count::Count;
use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style};
use crate::layout::{LaunchLine, Layout, Options};
use crate::objects::{JobMachine, Part};
use crate::slurm_node::Units;
use crate::value::{count, repeated, wrong};
use crate::{parse_map_cpu, parse_mask, parse_mask_cpu};

/// Options of plug-ins (SPANK) are written by sites: they are passed over.
const SRUN: Grammar = Grammar {
    tool: "srun",
    style: Style::Getopt,
    letters: "A:b:B:c:C:d:D:e:EF:G:hHi:I::J:k::K::lL:m:M:n:N:o:Op:P:q:Qr:sS:t:T:uvVw:W:x:XZ",
    names: "contiguous debugger-test disable-status exact external help hold interactive label multi-prog no-allocate \
        no-requeue overcommit overlap oversubscribe preserve-env pty quiet quit-on-interrupt reboot requeue share \
        spread-job stepmgr test-only unbuffered usage use-min-nodes verbose version whole \
        accel-bind: account: acctg-freq: bb: bbf: bcast-exclude: begin: chdir: cluster-constraint: clusters: comment: \
        constraint: container: container-id: core-spec: cores-per-socket: cpu-bind: cpu_bind: cpu-freq: cpus-per-gpu: \
        cpus-per-task: deadline: delay-boot: dependency: distribution: epilog: error: exclude: export: extra: \
        extra-node-info: gid: gpu-bind: gpu-freq: gpus: gpus-per-node: gpus-per-socket: gpus-per-task: gres: \
        gres-flags: het-group: hint: input: job-name: jobid: licenses: mail-type: mail-user: max-exit-timeout: \
        mcs-label: mem: mem-bind: mem_bind: mem-per-cpu: mem-per-gpu: mincpus: mpi: msg-timeout: network: nodefile: \
        nodelist: nodes: ntasks: ntasks-per-core: ntasks-per-gpu: ntasks-per-node: ntasks-per-socket: \
        ntasks-per-tres: oom-kill-step: open-mode: output: pack-group: partition: power: prefer: priority: profile: \
        prolog: qos: relative: reservation: resv: segment: signal: slurmd-debug: sockets-per-node: switches: \
        tasks-per-node: task-epilog: task-prolog: thread-spec: threads: threads-per-core: time: time-min: tmp: \
        tree-width: treewidth: tres-bind: tres-per-task: uid: wait: wckey: \
        bcast:: compress:: exclusive:: get-user-env:: immediate:: kill-on-bad-exit:: nice:: no-kill:: propagate:: \
        resv-ports:: send-libs:: x11::",
    is_open: true,
};

/// Variables that stand for options (srun(1), INPUT ENVIRONMENT VARIABLES).
const VARIABLES: &[(&str, &str)] = &[
    ("SLURM_CPUS_PER_TASK", "cpus-per-task"),
    ("SRUN_CPUS_PER_TASK", "cpus-per-task"),
    ("SLURM_CPU_BIND", "cpu-bind"),
    ("SLURM_DISTRIBUTION", "distribution"),
    ("SLURM_GPU_BIND", "gpu-bind"),
    ("SLURM_GPUS", "gpus"),
    ("SLURM_GPUS_PER_NODE", "gpus-per-node"),
    ("SLURM_GPUS_PER_TASK", "gpus-per-task"),
    ("SLURM_HINT", "hint"),
    ("SLURM_MEM_BIND", "mem-bind"),
    ("SLURM_NNODES", "nodes"),
    ("SLURM_NTASKS", "ntasks"),
    ("SLURM_NTASKS_PER_GPU", "ntasks-per-gpu"),
    ("SLURM_NTASKS_PER_NODE", "ntasks-per-node"),
    ("SLURM_THREADS_PER_CORE", "threads-per-core"),
];

/// What the options say.
#[derive(Debug, Default)]
struct Said<'l> {
    count: Count,
    cpus_per_task: Option<usize>,
    cpus_per_gpu: Option<usize>,
    /// `--cpu-bind`, as it is written.
    cpu_bind: Option<&'l str>,
    distribution: Option<&'l str>,
    /// `--hint`, or what `--threads-per-core` says in its words.
    one_thread: Option<bool>,
    tasks_per_core: Option<usize>,
    tasks_per_socket: Option<usize>,
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
    for one in &given {
        said.option(one)?;
    }
    let units = site.nodes.as_ref().map(|nodes| nodes.of_machine(machine)).transpose()?;
    let mut notes = Vec::new();
    let binding = said.binding(machine)?;
    let of_gpus = said.gpus.listed()?;
    let listed = match &binding {
        Some(Binding::Lists(lists)) if lists.len() > 1 => lists.len(),
        _ => of_gpus,
    };
    let ranks = said.count.here(said.gpus.ranks(topology).unwrap_or(listed))?;
    let mut layouts = said.layouts(machine, units, binding.as_ref(), ranks);
    for layout in &mut layouts {
        memory::bind(said.mem_bind, machine, &mut layout.starts)?;
    }
    let layouts = layouts.into_iter().map(|layout| said.gpus.give(topology, layout, gres.as_ref(), &mut notes));
    let layouts = layouts.collect::<Result<Vec<_>, _>>()?.concat();
    if matches!(binding, Some(Binding::Distributed(_))) {
        notes.push(
            "the step is taken to have the whole node (--exclusive): CPUs are as Slurm distributes them there"
                .to_owned(),
        );
        if units.is_none() && layouts.iter().any(|layout| !layout.assumes.is_empty()) {
            notes.push("what a socket and a CPU of Slurm are here, --slurm-conf FILE says: slurm.conf, or what `scontrol show node` prints".to_owned());
        }
    }
    notes.dedup();
    Ok(Options { count: said.count, layouts, program, environment: BTreeMap::new(), notes })
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
            "N" | "nodes" => self.count.nodes = Some(nodes(&option, value)?),
            "ntasks-per-node" | "tasks-per-node" => self.count.of_a_node = Some(one.count()?),
            "c" | "cpus-per-task" => self.cpus_per_task = Some(one.count()?),
            "cpus-per-gpu" => self.cpus_per_gpu = Some(one.count()?),
            "cpu-bind" | "cpu_bind" => self.cpu_bind = Some(value),
            "mem-bind" | "mem_bind" => self.mem_bind = Some(value),
            "m" | "distribution" => self.distribution = Some(value),
            "hint" => self.one_thread = self.one_thread.or(hint(value)),
            "ntasks-per-core" => self.tasks_per_core = Some(one.count()?),
            "ntasks-per-socket" => self.tasks_per_socket = Some(one.count()?),
            "threads-per-core" => self.one_thread = Some(one.count()? == 1),
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

    fn layouts(
        &self,
        machine: &JobMachine<'_>,
        units: Option<Units>,
        binding: Option<&Binding>,
        ranks: usize,
    ) -> Vec<Layout> {
        let cpus = self.cpus_per_task.or(self.cpus_per_gpu.map(|each| each * self.gpus.per_task().unwrap_or(1)));
        let distributed = |part| {
            let step = distribution::Step {
                machine,
                ranks,
                cpus: cpus.unwrap_or(1),
                one_thread: self.one_thread,
                units,
                tasks_per_core: self.tasks_per_core,
                tasks_per_socket: self.tasks_per_socket,
            };
            step.layouts(self.distribution, part)
        };
        match binding {
            Some(Binding::Lists(lists)) => vec![Layout::lists(lists, ranks)],
            Some(Binding::None) => vec![Layout::free(ranks)],
            Some(Binding::Distributed(part)) => match distributed(*part) {
                layouts if layouts.is_empty() => vec![Layout::unknown(
                    ranks,
                    &format!(
                        "{ranks} tasks of {} CPUs each are more than this machine has for the job: srun refuses them, or shares CPUs",
                        cpus.unwrap_or(1)
                    ),
                )],
                layouts => layouts,
            },
            Some(Binding::Other(what)) => vec![Layout::unknown(
                ranks,
                &format!(
                    "{what} is not a binding that numabench knows: srun(1) has none, cores, threads, sockets, ldoms, map_cpu, mask_cpu, map_ldom, mask_ldom"
                ),
            )],
            // TaskPluginParam and the step's size decide (srun(1), --cpu-bind, "auto binding").
            None => {
                let mut layouts: Vec<Layout> = distributed(Part::Core)
                    .into_iter()
                    .map(|layout| layout.assuming("the site's default binds tasks to cores"))
                    .collect();
                layouts.push(Layout::free(ranks).assuming("the site's default leaves tasks unbound"));
                // Which cores a job gets beside its GPUs is the site's too: where that matters, none of these is certain.
                if machine.parts(Part::Numa).len() > 1 {
                    let why = "srun's default binding depends on the site: write --cpu-bind";
                    layouts.push(Layout::unknown(ranks, why).assuming("the site's default is another one"));
                }
                layouts
            }
        }
    }
}

/// Whether a task gets one thread of a core: `nomultithread`.
fn hint(value: &str) -> Option<bool> {
    match value {
        "nomultithread" | "compute_bound" => Some(true),
        "multithread" => Some(false),
        _ => None,
    }
}

/// `2`, `2-4`, `2,4,8`: the first.
fn nodes(option: &str, value: &str) -> Result<usize, LineError> {
    let end = value.find(['-', ',', ':']).unwrap_or(value.len());
    count(option, &value[..end])
        .map_err(|_| wrong(option, value, "write a number of nodes (2), or the least and the most (2-4)"))
}
