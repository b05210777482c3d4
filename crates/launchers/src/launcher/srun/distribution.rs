//! Which CPUs of a node Slurm gives each task: `--distribution`'s second word, with what a site takes for a
//! CPU and for a socket.
//!
//! srun(1), `--distribution`: cyclic (the default) takes each task's CPUs from one socket, and the next
//! task's from the next socket; block takes them one after another; fcyclic takes single CPUs from socket
//! after socket. A CPU is a core, or a hardware thread, as `slurm.conf` has it and `--hint` says; a socket is
//! a package, or a NUMA node or an L3 where the site says so (`numa_node_as_socket`, `l3cache_as_socket`).
//! Without a second word the site may have blocks (`SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK`), and
//! `plane=N` has them always.
//! The step is taken to have the whole node, or with `-c`, `--exact` or `--exclusive` the cores that its
//! tasks need ([`Step::own_cores`]). The order within is that of `_task_layout_lllp_block` and `_cyclic` in
//! Slurm's src/plugins/task/affinity/dist_tasks.c: tasks that are bound to cores skip what is left of their
//! last core, and begin again where CPUs are used up.

use std::collections::BTreeMap;

use stats::IdSet;

use crate::assumption::Choice;
use crate::layout::{Layout, Start};
use crate::objects::{JobMachine, Part};
use crate::slurm_node::Units;

/// The tasks of a step on one node.
#[derive(Clone, Copy)]
pub(super) struct Step<'s> {
    pub machine: &'s JobMachine<'s>,
    pub ranks: usize,
    pub cpus: usize,
    /// Whether CPUs may have several tasks: `--overcommit`.
    pub overcommits: bool,
    /// Whether a task gets one thread of a core; `None`: the site decides.
    pub one_thread: Option<bool>,
    /// What the site takes for a socket and a CPU; `None`: not known.
    pub units: Option<Units>,
    /// `--distribution`.
    pub distribution: Option<&'s str>,
    /// Whether tasks are laid out by blocks where `--distribution` does not say it; `None`: not known.
    pub has_blocks: Option<bool>,
    /// `--ntasks-per-core`.
    pub tasks_per_core: Option<usize>,
    /// `--ntasks-per-socket`, which counts where tasks are laid out by blocks.
    pub tasks_per_socket: Option<usize>,
}

/// Why the cores of a small step are not known.
pub(super) const NOT_KNOWN: &str = "which cores Slurm gives a step that asks for less than a core a task, or \
    for more than there are, is not known, and it refuses a binding to others";

const CYCLIC: &str = "Slurm gives tasks cores of one socket after another, as it does by default";
const BLOCK: &str =
    "this site's Slurm gives tasks cores in blocks (SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK)";

/// A CPU of Slurm: its PU, and the numbers of its core and socket.
#[derive(Clone, Copy)]
struct Cpu {
    pu: u32,
    core: usize,
    socket: usize,
}

/// How CPUs are taken from sockets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Block,
    Cyclic,
    Fcyclic,
}

/// What a site may have for a CPU and a socket, with what that assumes.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub cpu: Part,
    of_cpu: Option<&'static str>,
    pub socket: Part,
    of_socket: Option<&'static str>,
    order: Order,
    of_order: Option<&'static str>,
}

impl Way {
    /// The layout with what it assumes.
    pub fn assumed(self, layout: Layout) -> Layout {
        let all = [
            (Choice::SlurmSocket, self.of_socket),
            (Choice::SlurmCpu, self.of_cpu),
            (Choice::CoreOrder, self.of_order),
        ];
        let open = all.into_iter().filter_map(|(choice, what)| Some((choice, what?)));
        open.fold(layout, |layout, (choice, what)| layout.assuming(choice, what))
    }
}

impl Step<'_> {
    /// The ways that are open: none that has too few CPUs where another one has enough, since who asks for as
    /// many as there are hardware threads knows what a CPU is there.
    pub fn ways(&self) -> Vec<Way> {
        let mut cpus = match (self.machine.has_threads(), self.one_thread, self.units) {
            (false, ..) => vec![(Part::Core, None)],
            (true, Some(one), _) => vec![(if one { Part::Core } else { Part::Thread }, None)],
            (true, None, Some(units)) => vec![(units.cpu, None)],
            (true, None, None) => vec![
                (Part::Core, Some("a CPU of Slurm is a core here")),
                (Part::Thread, Some("a CPU of Slurm is a hardware thread here")),
            ],
        };

        let has_enough = |(cpu, _): &(Part, _)| self.overcommits || self.has_cpus(*cpu);
        if cpus.iter().any(has_enough) {
            cpus.retain(has_enough);
        }

        let sockets = match self.units {
            Some(units) => vec![(units.socket, None)],
            None => vec![
                (Part::Package, Some("a socket of Slurm is a package here")),
                (Part::Numa, Some("a socket of Slurm is a NUMA node here")),
                (Part::L3, Some("a socket of Slurm is an L3 here")),
            ],
        };
        let orders = match (order(self.distribution), self.has_blocks) {
            (Some(order), _) => vec![(order, None)],
            (None, Some(true)) => vec![(Order::Block, None)],
            (None, Some(false)) => vec![(Order::Cyclic, None)],
            (None, None) => vec![(Order::Cyclic, Some(CYCLIC)), (Order::Block, Some(BLOCK))],
        };

        let mut ways = Vec::new();
        for (order, of_order) in orders {
            for (cpu, of_cpu) in &cpus {
                let way = |(socket, of_socket): &(Part, Option<&'static str>)| Way {
                    cpu: *cpu,
                    of_cpu: *of_cpu,
                    socket: *socket,
                    of_socket: *of_socket,
                    order,
                    of_order,
                };
                ways.extend(sockets.iter().map(way));
            }
        }
        ways
    }

    /// Whether the job has so many of these on the node as the tasks need.
    pub fn has_cpus(&self, cpu: Part) -> bool {
        self.ranks.saturating_mul(self.cpus) <= self.machine.parts(cpu).len()
    }

    /// The PUs of the cores that a step gets which asks for no more than its tasks need; `None` where they do
    /// not suffice, or are not known.
    ///
    /// Seen with Slurm 22.05: tasks take their cores from socket after socket, or from the first core on
    /// where the distribution is by blocks. A site's default has no part in it, nor has `plane`
    /// (`_pick_step_cores` in Slurm's stepmgr.c).
    pub fn own_cores(&self, way: Way) -> Option<IdSet> {
        let cores = self.machine.parts(Part::Core);
        let threads = if way.cpu == Part::Thread { cores.iter().map(IdSet::len).max()? } else { 1 };
        if self.ranks.checked_mul(self.cpus)? == cores.len() * threads {
            return Some(self.machine.pus.clone());
        }
        let needed = self.ranks.checked_mul(self.cpus.div_ceil(threads))?;
        // Tasks of less than a core share cores in a way that is not read.
        if needed > cores.len() || self.cpus < threads {
            return None;
        }
        let within = second_word(self.distribution);
        if within == Some(Order::Block) {
            return Some(IdSet::of_all(&cores[..needed]));
        }

        let each = if within == Some(Order::Fcyclic) { 1 } else { self.cpus.div_ceil(threads) };
        let mut sockets: Vec<Vec<&IdSet>> = Vec::new();
        for socket in &self.machine.parts(way.socket) {
            sockets.push(cores.iter().filter(|core| core.is_subset(socket)).rev().collect());
        }
        let mut taken: Vec<&IdSet> = Vec::with_capacity(needed);
        while taken.len() < needed {
            let before = taken.len();
            for socket in &mut sockets {
                let free = socket.len().min(each).min(needed - taken.len());
                taken.extend(socket.split_off(socket.len() - free).into_iter().rev());
            }
            if taken.len() == before {
                return None;
            }
        }
        Some(IdSet::of_all(taken))
    }

    /// What Slurm binds tasks to by itself: the parts of the step of which there are as many as CPUs asked
    /// for; `None`: it leaves them to all of the step's CPUs.
    pub fn automatic(&self, way: Way) -> Option<Part> {
        let wanted = self.ranks * self.cpus;
        let whole = JobMachine { pus: self.machine.topology.allowed.cpuset(), ..self.machine.clone() };
        let own = |part| self.machine.parts(part);
        let sockets =
            whole.parts(way.socket).iter().filter(|socket| socket.is_subset(&self.machine.pus)).count();
        match () {
            () if wanted == sockets => Some(Part::Package),
            () if wanted == own(Part::Core).len() => {
                Some(if self.one_thread == Some(true) { Part::Thread } else { Part::Core })
            }
            () if wanted == own(Part::Thread).len() => Some(Part::Thread),
            () => None,
        }
    }

    /// Tasks bound to these parts, in each way that the site may have it. `None` for Slurm's own choice.
    pub fn layouts(&self, bound_to: Option<Part>, is_exact: bool) -> Vec<Layout> {
        self.in_each_way(|way| {
            let own = match is_exact {
                true => self.own_cores(way)?,
                false => self.machine.pus.clone(),
            };
            let machine = JobMachine { pus: own, ..self.machine.clone() };
            let step = Step { machine: &machine, ..*self };
            let layout = Layout::certain(step.starts(bound_to, way)?);
            Some(if is_exact { layout.within(&machine.pus) } else { layout })
        })
    }

    /// Tasks that nothing binds, in a step that has no more than they need.
    pub fn unbound(&self) -> Vec<Layout> {
        self.in_each_way(|way| {
            let own = self.own_cores(way)?;
            Some(Layout::certain(vec![Start::on(own.clone()); self.ranks]).within(&own))
        })
    }

    /// A layout for each way, `None` where the CPUs do not suffice, or are not known.
    fn in_each_way(&self, of: impl Fn(Way) -> Option<Layout>) -> Vec<Layout> {
        let mut layouts = Vec::new();
        for way in self.ways() {
            let layout = of(way).unwrap_or_else(|| Layout::unknown(self.ranks, NOT_KNOWN));
            way.assumed(layout).join(&mut layouts);
        }
        layouts
    }

    /// The tasks in one way; `None` where the CPUs do not suffice.
    fn starts(&self, bound_to: Option<Part>, way: Way) -> Option<Vec<Start>> {
        let Some(bound_to) = bound_to.or_else(|| self.automatic(way)) else {
            return Some(vec![Start::on(self.machine.pus.clone()); self.ranks]);
        };
        let tasks = self.tasks(way, bound_to == Part::Core)?;
        let part = if bound_to == Part::Package { way.socket } else { bound_to };
        let parts = self.machine.parts(part);
        let wide = |pus: &IdSet| match part {
            Part::Thread => pus.clone(),
            _ => IdSet::of_all(parts.iter().filter(|part| !part.and(pus).is_empty())),
        };
        Some(tasks.iter().map(wide).map(Start::on).collect())
    }

    /// The CPUs of each task; `None` where they do not suffice.
    fn tasks(&self, way: Way, is_of_cores: bool) -> Option<Vec<IdSet>> {
        let cores = self.machine.parts(Part::Core);
        let mut cpus: Vec<Vec<Cpu>> = Vec::new();
        for (socket, part) in self.machine.parts(way.socket).iter().enumerate() {
            let inside = cores.iter().enumerate().filter(|(_, core)| core.is_subset(part));
            let each = inside.flat_map(|(core, pus)| {
                let taken = if way.cpu == Part::Thread { pus.len() } else { 1 };
                pus.iter().take(taken).map(move |pu| Cpu { pu, core, socket })
            });
            cpus.push(each.collect());
        }

        if cpus.iter().map(Vec::len).sum::<usize>() < self.ranks.checked_mul(self.cpus)? {
            return None;
        }
        let threads = if way.cpu == Part::Thread { cores.iter().map(IdSet::len).max()? } else { 1 };
        let skipped = match is_of_cores || self.tasks_per_core == Some(1) {
            true if self.cpus < threads => threads - self.cpus,
            true => self.cpus % threads,
            false => 0,
        };

        match way.order {
            Order::Block => self.by_blocks(&cpus.concat(), skipped),
            Order::Cyclic | Order::Fcyclic => self.in_turn(&cpus, skipped, way.order == Order::Fcyclic),
        }
    }

    fn by_blocks(&self, cpus: &[Cpu], skipped: usize) -> Option<Vec<IdSet>> {
        let (mut tasks, mut task) = (Vec::with_capacity(self.ranks), IdSet::default());
        while tasks.len() < self.ranks {
            let (mut of_core, mut of_socket) = (BTreeMap::new(), BTreeMap::new());
            let before = tasks.len();
            let mut at = 0;
            while tasks.len() < self.ranks && at < cpus.len() {
                let cpu = cpus[at];
                at += 1;
                let (core, socket) =
                    (of_core.entry(cpu.core).or_insert(0), of_socket.entry(cpu.socket).or_insert(0));
                if self.tasks_per_core.is_some_and(|most| *core >= most)
                    || self.tasks_per_socket.is_some_and(|most| *socket >= most)
                {
                    continue;
                }
                task.0.insert(cpu.pu);
                if task.len() < self.cpus {
                    continue;
                }
                (*core, *socket) = (*core + 1, *socket + 1);
                at += skipped;
                tasks.push(std::mem::take(&mut task));
            }
            if tasks.len() == before {
                return None;
            }
        }

        Some(tasks)
    }

    fn in_turn(&self, sockets: &[Vec<Cpu>], skipped: usize, each_cpu: bool) -> Option<Vec<IdSet>> {
        let next = |socket: usize| (socket + 1) % sockets.len();
        let (mut tasks, mut task) = (Vec::with_capacity(self.ranks), IdSet::default());
        let (mut of_core, mut taken) = (BTreeMap::new(), vec![0; sockets.len()]);
        let mut socket = 0;

        // Each begin from new gives a CPU at least, or none ever will.
        let mut idle = 0;

        while tasks.len() < self.ranks {
            let first = socket;
            while taken[socket] >= sockets[socket].len() {
                socket = next(socket);
                if socket == first {
                    idle += 1;
                    if idle > 1 {
                        return None;
                    }
                    of_core.clear();
                    taken.fill(0);
                }
            }
            let cpu = sockets[socket][taken[socket]];
            taken[socket] += 1;
            let core = of_core.entry(cpu.core).or_insert(0);
            if self.tasks_per_core.is_some_and(|most| *core >= most) {
                continue;
            }
            idle = 0;
            task.0.insert(cpu.pu);
            if each_cpu {
                socket = next(socket);
            }
            if task.len() < self.cpus {
                continue;
            }
            *core += 1;
            taken[socket] += skipped;
            if !each_cpu {
                socket = next(socket);
            }
            tasks.push(std::mem::take(&mut task));
        }
        Some(tasks)
    }
}

/// How tasks are laid out on a node; `None`: as the site has it.
fn order(distribution: Option<&str>) -> Option<Order> {
    let is_plane = distribution.is_some_and(|text| text.to_ascii_lowercase().starts_with("plane"));
    if is_plane { Some(Order::Block) } else { second_word(distribution) }
}

/// The second word of `block:cyclic`.
fn second_word(distribution: Option<&str>) -> Option<Order> {
    match distribution?.to_ascii_lowercase().split(',').next()?.split(':').nth(1)? {
        "block" => Some(Order::Block),
        "fcyclic" => Some(Order::Fcyclic),
        _ => Some(Order::Cyclic),
    }
}
