//! Which CPUs of a node Slurm gives each task: `--distribution`'s second word, with what a site takes for a CPU and for a socket.
//!
//! srun(1), `--distribution`: cyclic (the default) takes each task's CPUs from one socket, and the next task's from the next socket; block takes
//! them one after another; fcyclic takes single CPUs from socket after socket. A CPU is a core, or a hardware thread, as `slurm.conf` has it and
//! `--hint` says; a socket is a package, or a NUMA node or an L3 where the site says so (`numa_node_as_socket`, `l3cache_as_socket`). The
//! step is taken to have the whole node.

use stats::IdSet;
use topo::Topology;

use super::starts;
use crate::layout::Layout;
use crate::objects::{Part, has_threads, widened};

/// The tasks of a step on one node.
pub(super) struct Step<'s> {
    pub topology: &'s Topology,
    pub pool: &'s IdSet,
    pub ranks: usize,
    pub cpus: usize,
    /// Whether a task gets one thread of a core; `None`: the site decides.
    pub one_thread: Option<bool>,
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
        let has_threads = has_threads(self.topology, self.pool);
        let units = match (has_threads, self.one_thread) {
            (false, _) => vec![(Part::Core, None)],
            (true, Some(one)) => vec![(if one { Part::Core } else { Part::Thread }, None)],
            (true, None) => vec![
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
        for (unit, of_unit) in &units {
            for (socket, of_socket) in sockets {
                let Some(tasks) = self.tasks(*unit, socket, order) else { continue };
                let part = if bound_to == Part::Package { socket } else { bound_to };
                let wide = |pus: &IdSet| match part {
                    Part::Thread => pus.clone(),
                    part => widened(part, self.topology, self.pool, pus),
                };
                let starts = starts(tasks.iter().map(wide).collect());
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
    fn tasks(&self, unit: Part, socket: Part, order: Order) -> Option<Vec<IdSet>> {
        let cores = Part::Core.all(self.topology, self.pool);
        let of_core = |core: &IdSet| -> Vec<u32> {
            match unit {
                Part::Thread => core.iter().collect(),
                _ => core.first().into_iter().collect(),
            }
        };
        // The next CPU of a socket is its last.
        let mut sockets: Vec<Vec<u32>> = socket
            .all(self.topology, self.pool)
            .iter()
            .map(|socket| cores.iter().filter(|core| core.is_subset(socket)).flat_map(of_core).rev().collect())
            .collect();
        if sockets.iter().map(Vec::len).sum::<usize>() < self.ranks.checked_mul(self.cpus)? {
            return None;
        }
        let mut next = 0;
        let mut tasks = Vec::with_capacity(self.ranks);
        for _ in 0..self.ranks {
            let mut task = Vec::with_capacity(self.cpus);
            match order {
                Order::Block => {
                    while task.len() < self.cpus {
                        let socket = sockets.iter_mut().find(|socket| !socket.is_empty())?;
                        task.extend(socket.pop());
                    }
                }
                Order::Cyclic => {
                    let count = sockets.len();
                    let fits = |at: &usize| sockets[at % count].len() >= self.cpus;
                    match (next..next + count).find(fits) {
                        Some(at) => {
                            let socket = &mut sockets[at % count];
                            task = socket.split_off(socket.len() - self.cpus);
                            next = at + 1;
                        }
                        // No socket has enough: the task spans some.
                        None => {
                            while task.len() < self.cpus {
                                let at = (next..next + count).find(|at| !sockets[at % count].is_empty())?;
                                let socket = &mut sockets[at % count];
                                let taken = usize::min(self.cpus - task.len(), socket.len());
                                task.extend(socket.split_off(socket.len() - taken));
                                next = at + 1;
                            }
                        }
                    }
                }
                Order::Fcyclic => {
                    let count = sockets.len();
                    while task.len() < self.cpus {
                        let at = (next..next + count).find(|at| !sockets[at % count].is_empty())?;
                        task.extend(sockets[at % count].pop());
                        next = at + 1;
                    }
                }
            }
            tasks.push(task.into_iter().collect());
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
