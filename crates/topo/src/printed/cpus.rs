//! The CPUs and NUMA nodes, from whichever text says most of them: lstopo's tree, else a list of `lscpu`,
//! else its summary and `numactl -H`.

use std::collections::BTreeMap;

use stats::IdSet;

use super::lscpu::{Lscpu, Row};
use super::said::Printed;
use crate::model::{Core, L3, Package};
use crate::nodes::RawNode;

/// The CPUs; a list that is `None` is not said.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpus {
    pub(super) online: IdSet,
    /// Offline, or left out of the text that says the others.
    pub(super) missing: IdSet,
    pub(super) packages: Option<Vec<Package>>,
    pub(super) cores: Option<Vec<Core>>,
    pub(super) l3s: Option<Vec<L3>>,
    pub(super) nodes: Vec<RawNode>,
}

impl Cpus {
    /// What the texts say together.
    ///
    /// # Errors
    /// Which of them contradict each other, in words.
    pub(super) fn of(printed: &Printed) -> Result<Self, String> {
        let mut cpus = match (&printed.tree, &printed.listed[..], &printed.lscpu) {
            (Some(tree), ..) => Self {
                online: tree.pus(),
                packages: Some(tree.packages(printed.cpu_model())),
                cores: Some(tree.cores()),
                l3s: Some(tree.l3s()),
                nodes: tree.nodes(),
                ..Self::default()
            },
            (None, [], Some(summary)) => of_summary(summary),
            (None, [], None) => Self::default(),
            (None, rows, _) => of_rows(rows, printed.cpu_model()),
        };

        cpus.add_summary(printed)?;
        cpus.add_numactl(printed)?;
        cpus.add_matrix(printed);

        if let Some(packages) = &mut cpus.packages {
            // One package is said to hold all PUs; its nodes may be said by another text.
            for package in packages.iter_mut().filter(|package| package.nodes.is_empty()) {
                let own = cpus.nodes.iter().filter(|node| !node.pus.and(&package.pus).is_empty());
                package.nodes = own.map(|node| node.os_index).collect();
            }
        }
        Ok(cpus)
    }

    /// PUs that lscpu knows besides, and its nodes.
    fn add_summary(&mut self, printed: &Printed) -> Result<(), String> {
        let Some(summary) = &printed.lscpu else { return Ok(()) };
        let all = summary.online.clone().unwrap_or_default().or(&summary.offline);
        self.missing = self.missing.or(&all).minus(&self.online);
        self.agree(&summary.nodes, "lscpu", printed)
    }

    /// Sizes of memory, and nodes without CPUs, which lscpu leaves empty.
    fn add_numactl(&mut self, printed: &Printed) -> Result<(), String> {
        let Some(numactl) = &printed.numactl else { return Ok(()) };
        let pus = numactl.nodes.iter().map(|(number, node)| (*number, node.pus.clone())).collect();
        self.agree(&pus, "numactl -H", printed)?;
        for (number, said) in &numactl.nodes {
            let has_tree = printed.tree.is_some();
            match self.nodes.iter_mut().find(|node| node.os_index == *number) {
                Some(node) => {
                    node.total_bytes = said.total_bytes.unwrap_or(node.total_bytes);
                    node.free_bytes = said.free_bytes;
                }
                // A tree leaves out nodes on purpose: those that a job has not got, and empty ones.
                None if has_tree => {}
                None => {
                    self.nodes.push(RawNode { free_bytes: said.free_bytes, ..node(*number, &said.pus) });
                    if let Some(added) = self.nodes.last_mut() {
                        added.total_bytes = said.total_bytes.unwrap_or(0);
                    }
                    self.online.extend(said.pus.iter());
                }
            }
        }

        Ok(())
    }

    /// The PUs and nodes that the rows of `nvidia-smi topo -m` name, where no other text says any.
    fn add_matrix(&mut self, printed: &Printed) {
        let Some(matrix) = printed.matrix.as_ref().filter(|_| self.online.is_empty()) else { return };
        for row in &matrix.rows {
            let Some(pus) = &row.pus else { continue };
            self.online.extend(pus.iter());
            let one = row.nodes.as_ref().filter(|nodes| nodes.len() == 1);
            let Some(number) = one.and_then(IdSet::first) else { continue };
            match self.nodes.iter_mut().find(|node| node.os_index == number) {
                Some(known) => *known = node(number, &known.pus.or(pus)),
                None => self.nodes.push(node(number, pus)),
            }
        }
    }

    /// Whether another text gives the nodes the same PUs; in a tree, which may leave some out, at least no
    /// others.
    fn agree(&self, others: &BTreeMap<u32, IdSet>, tool: &str, printed: &Printed) -> Result<(), String> {
        for node in self.nodes.iter().filter(|node| !node.pus.is_empty()) {
            let Some(other) = others.get(&node.os_index).filter(|other| !other.is_empty()) else { continue };
            let own = node.kernel_pus.as_ref().unwrap_or(&node.pus);
            let fits = if printed.tree.is_some() { own.is_subset(other) } else { own == other };
            if !fits {
                let number = node.os_index;
                return Err(format!(
                    "{tool} gives NUMA node {number} the PUs {other}, another of these texts the PUs {own}: \
                     they are of different machines, or of different days"
                ));
            }
        }
        Ok(())
    }
}

fn node(os_index: u32, pus: &IdSet) -> RawNode {
    RawNode {
        os_index,
        pus: pus.clone(),
        complete_pus: pus.clone(),
        kernel_pus: Some(pus.clone()),
        allowed: true,
        ..RawNode::default()
    }
}

fn of_summary(summary: &Lscpu) -> Cpus {
    let in_nodes = IdSet::of_all(summary.nodes.values());
    let online = summary.online.clone().unwrap_or(in_nodes);
    let alone = |pu: u32| -> IdSet { [pu].into_iter().collect() };
    let package = || Package {
        os_index: None,
        cpu_model: summary.model.clone(),
        pus: online.clone(),
        nodes: summary.nodes.keys().copied().collect(),
    };
    let one_l3 = |bytes| L3 { os_index: None, size_bytes: bytes, pus: online.clone() };

    Cpus {
        packages: (summary.sockets == Some(1)).then(|| vec![package()]),
        cores: (summary.threads_per_core == Some(1))
            .then(|| online.iter().map(|pu| Core { os_index: None, pus: alone(pu) }).collect()),
        l3s: match &summary.l3 {
            Some(l3) if l3.instances == Some(1) => Some(vec![one_l3(l3.bytes)]),
            Some(_) => None,
            None => summary.names_caches.then(Vec::new),
        },
        nodes: summary.nodes.iter().map(|(number, pus)| node(*number, pus)).collect(),
        missing: summary.offline.clone(),
        online,
    }
}

fn of_rows(rows: &[Row], cpu_model: Option<&str>) -> Cpus {
    let online: Vec<&Row> = rows.iter().filter(|row| row.is_online).collect();
    let has_nodes = |row: &&&Row| row.node.is_some();

    Cpus {
        online: online.iter().map(|row| row.cpu).collect(),
        missing: rows.iter().filter(|row| !row.is_online).map(|row| row.cpu).collect(),
        packages: groups(&online, |row| row.socket).map(|groups| {
            let package = |(number, pus): (u32, IdSet)| Package {
                os_index: Some(number),
                cpu_model: cpu_model.map(str::to_owned),
                nodes: online.iter().filter(|row| pus.contains(row.cpu)).filter_map(|row| row.node).collect(),
                pus,
            };
            groups.into_iter().map(package).collect()
        }),
        // lscpu numbers cores through all packages, which the kernel does not.
        cores: groups(&online, |row| row.core).map(|groups| {
            sorted(groups.into_values().map(|pus| Core { os_index: None, pus }), |core| core.pus.first())
        }),
        l3s: groups(&online, |row| row.l3).map(|groups| {
            let l3 = |pus| L3 { os_index: None, size_bytes: None, pus };
            sorted(groups.into_values().map(l3), |l3| l3.pus.first())
        }),
        nodes: if online.iter().all(|row| has_nodes(&row)) {
            let groups = groups(&online, |row| row.node).unwrap_or_default();
            groups.iter().map(|(number, pus)| node(*number, pus)).collect()
        } else {
            Vec::new()
        },
    }
}

/// The PUs by a column; `None` where a row does not have it.
fn groups(rows: &[&Row], column: impl Fn(&Row) -> Option<u32>) -> Option<BTreeMap<u32, IdSet>> {
    let mut groups: BTreeMap<u32, IdSet> = BTreeMap::new();
    for row in rows {
        groups.entry(column(row)?).or_default().0.insert(row.cpu);
    }
    Some(groups)
}

fn sorted<T, K: Ord>(all: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(key);
    all
}
