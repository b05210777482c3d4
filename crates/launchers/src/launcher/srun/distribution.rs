//! Which CPUs of a node Slurm gives each task: `--distribution`'s second word, with what a site takes for a CPU and for a socket.
//!
//! srun(1), `--distribution`: cyclic (the default) takes each task's CPUs from one socket, and the next task's from the next socket; block takes
//! them one after another; fcyclic takes single CPUs from socket after socket. A CPU is a core, or a hardware thread, as `slurm.conf` has it and
//! `--hint` says; a socket is a package, or a NUMA node or an L3 where the site says so (`numa_node_as_socket`, `l3cache_as_socket`). The
//! step is taken to have the whole node. The order within is that of `_task_layout_lllp_block` and `_cyclic` in Slurm's
//! src/plugins/task/affinity/dist_tasks.c: tasks that are bound to cores skip what is left of their last core, and begin again where CPUs are used up.

use std::collections::BTreeMap;

use stats::IdSet;

use crate::layout::{Layout, Start};
use crate::objects::{JobMachine, Part};
use crate::slurm_node::Units;

/// The tasks of a step on one node.
pub(super) struct Step<'s> {
    pub machine: &'s JobMachine<'s>,
    pub ranks: usize,
    pub cpus: usize,
    /// Whether a task gets one thread of a core; `None`: the site decides.
    pub one_thread: Option<bool>,
    /// What the site takes for a socket and a CPU; `None`: not known.
    pub units: Option<Units>,
    /// `--ntasks-per-core`.
    pub tasks_per_core: Option<usize>,
    /// `--ntasks-per-socket`, which counts where tasks are laid out by blocks.
    pub tasks_per_socket: Option<usize>,
}

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

impl Step<'_> {
    /// Tasks bound to these parts, in each way that the site may have it; none where the CPUs do not suffice.
    pub fn layouts(&self, distribution: Option<&str>, bound_to: Part) -> Vec<Layout> {
        let order = order(distribution);
        let has_threads = self.machine.has_threads();
        let units = match (has_threads, self.one_thread, self.units) {
            (false, ..) => vec![(Part::Core, None)],
            (true, Some(one), _) => vec![(if one { Part::Core } else { Part::Thread }, None)],
            (true, None, Some(units)) => vec![(units.cpu, None)],
            (true, None, None) => vec![
                (Part::Core, Some("a CPU of Slurm is a core here")),
                (Part::Thread, Some("a CPU of Slurm is a hardware thread here")),
            ],
        };
        let sockets = [
            (Part::Package, "a socket of Slurm is a package here"),
            (Part::Numa, "a socket of Slurm is a NUMA node here"),
            (Part::L3, "a socket of Slurm is an L3 here"),
        ];
        let mut layouts: Vec<Layout> = Vec::new();
        let is_open = |socket: &Part| self.units.is_none_or(|units| units.socket == *socket);
        for (unit, of_unit) in &units {
            for (socket, of_socket) in sockets.into_iter().filter(|(socket, _)| is_open(socket)) {
                let Some(tasks) = self.tasks(*unit, socket, order, bound_to == Part::Core) else { continue };
                let part = if bound_to == Part::Package { socket } else { bound_to };
                let wide = |pus: &IdSet| match part {
                    Part::Thread => pus.clone(),
                    part => self.machine.widened(part, pus),
                };
                let starts: Vec<Start> = tasks.iter().map(wide).map(Start::on).collect();
                if layouts.iter().any(|layout| layout.starts == starts) {
                    continue;
                }
                let layout = Layout::certain(starts).assuming(of_socket);
                layouts.push(of_unit.iter().fold(layout, |layout, what| layout.assuming(*what)));
            }
        }
        if let [only] = layouts.as_mut_slice() {
            only.assumes.clear();
        }
        layouts
    }

    /// The CPUs of each task; `None` where they do not suffice.
    fn tasks(&self, unit: Part, socket: Part, order: Order, is_of_cores: bool) -> Option<Vec<IdSet>> {
        let cores = self.machine.parts(Part::Core);
        let mut cpus: Vec<Vec<Cpu>> = Vec::new();
        for (socket, part) in self.machine.parts(socket).iter().enumerate() {
            let inside = cores.iter().enumerate().filter(|(_, core)| core.is_subset(part));
            let each = inside.flat_map(|(core, pus)| {
                let taken = if unit == Part::Thread { pus.len() } else { 1 };
                pus.iter().take(taken).map(move |pu| Cpu { pu, core, socket })
            });
            cpus.push(each.collect());
        }
        if cpus.iter().map(Vec::len).sum::<usize>() < self.ranks.checked_mul(self.cpus)? {
            return None;
        }
        let threads = if unit == Part::Thread { cores.iter().map(IdSet::len).max()? } else { 1 };
        let skipped = match is_of_cores || self.tasks_per_core == Some(1) {
            true if self.cpus < threads => threads - self.cpus,
            true => self.cpus % threads,
            false => 0,
        };
        match order {
            Order::Block => self.by_blocks(&cpus.concat(), skipped),
            Order::Cyclic | Order::Fcyclic => self.in_turn(&cpus, skipped, order == Order::Fcyclic),
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
                let (core, socket) = (of_core.entry(cpu.core).or_insert(0), of_socket.entry(cpu.socket).or_insert(0));
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

/// The second word of `block:cyclic`; cyclic is the default.
fn order(distribution: Option<&str>) -> Order {
    let within = distribution.and_then(|text| text.split(',').next()).and_then(|text| text.split(':').nth(1));
    match within {
        Some("block") => Order::Block,
        Some("fcyclic") => Order::Fcyclic,
        _ => Order::Cyclic,
    }
}
