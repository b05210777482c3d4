//! The network adapters of a rank's host: what each is to the rank, and their counters.
//!
//! An adapter is near where one of its NUMA nodes is one of the rank's GPU, or of its PU where the rank has
//! no GPU or nobody tells where that is. The adapter's nodes are the topology's where it knows the PCI
//! function, else the kernel's number.

use std::time::Duration;

use placement::{RankPlan, TargetId, nic};
use report::mpi::MpiAdapter;
use stats::IdSet;
use topo::fs_root::FsRoot;
use topo::model::Rung;
use topo::nic_counters::{NicCounters, nic_counters};
use topo::{Nic, Topology};

/// Counters that may be older than this are not read: windows of messages would have to last for seconds.
const MOST_REFRESH: Duration = Duration::from_millis(100);

/// The adapters of this host, in one order.
pub(crate) struct HostAdapters {
    root: FsRoot,
    nics: Vec<NicCounters>,
    /// What each is to this rank.
    pub of_rank: Vec<MpiAdapter>,
}

impl HostAdapters {
    /// Finds them; none where sysfs shows none.
    pub fn find(root: FsRoot, topology: &Topology, known: &[Nic], plan: &RankPlan) -> Self {
        let nics = nic_counters(&root);
        let own = own_nodes(topology, plan.target.id, plan.pu);
        let of_rank = nics.iter().map(|nic| of_rank(nic, known, &own, &root)).collect();
        Self { root, nics, of_rank }
    }

    /// Bytes that each has sent and received since some time in the past; `None` where they cannot be read.
    pub(crate) fn read(&self) -> Vec<Option<[u64; 2]>> {
        self.nics.iter().map(|nic| counted(nic, &self.root).ok()).collect()
    }

    /// How old what their counters say may be, of those that are counted.
    pub(crate) fn refresh(&self) -> Duration {
        self.nics
            .iter()
            .filter(|nic| counted(nic, &self.root).is_ok())
            .map(NicCounters::refresh)
            .max()
            .unwrap_or_default()
    }
}

/// What an adapter has counted.
///
/// # Errors
/// Its counters cannot be read, or are refreshed too seldom for a window of messages.
fn counted(nic: &NicCounters, root: &FsRoot) -> Result<[u64; 2], String> {
    let refresh = nic.refresh();
    if refresh > MOST_REFRESH {
        return Err(format!(
            "its counters are refreshed every {} ms, too seldom for a window of messages (every {} ms at \
             least is needed)",
            refresh.as_millis(),
            MOST_REFRESH.as_millis()
        ));
    }
    nic.read(root)
}

/// The nodes that adapters are near to of a rank: its GPU's, also outside of its cpuset, else its PU's.
fn own_nodes(topology: &Topology, target: TargetId, pu: u32) -> IdSet {
    let gpu = topology.gpus.iter().find(|gpu| target == TargetId::Gpu(gpu.pci));
    let of_gpu = gpu.map(|gpu| gpu.locality.all_nodes()).filter(|nodes| !nodes.is_empty());
    let of_pu =
        || topology.nodes.iter().filter(|node| node.pus.contains(pu)).map(|node| node.os_index).collect();
    of_gpu.unwrap_or_else(of_pu)
}

fn of_rank(nic: &NicCounters, known: &[Nic], own: &IdSet, root: &FsRoot) -> MpiAdapter {
    let known = known.iter().find(|known| Some(known.pci) == nic.pci && known.locality.rung != Rung::Unknown);
    let nodes = known.map_or_else(|| nic.node.into_iter().collect(), |known| known.locality.all_nodes());
    let is_told = !nodes.is_empty() && !own.is_empty();
    MpiAdapter {
        name: nic.name.clone(),
        interfaces: nic.interfaces.clone(),
        pci: nic.pci,
        is_near: is_told.then(|| !nodes.and(own).is_empty()),
        nodes,
        has_link: nic.is_up,
        link_bytes_per_s: nic.bytes_per_s,
        chosen_by: nic::choosing(&nic.name, &nic.interfaces),
        not_counted: counted(nic, root).err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type AttemptOutcome = Result<(), Box<dyn std::error::Error>>;
    /// Each adapter, and whether it is near.
    type Near = Vec<(String, Option<bool>)>;

    /// The LUMI-G node of the fixtures: a Slingshot adapter on each node, as cxi devices of a sysfs of the
    /// test's own, and interfaces that the topology does not know.
    #[test]
    fn an_adapter_is_near_by_the_topology_where_that_knows_it_and_else_by_the_kernels_number()
    -> AttemptOutcome {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g.xml");
        let survey = topo::survey_xml(std::path::Path::new(file))?;
        let folder = tempfile::tempdir()?;
        let is_fast = |nic: &&Nic| nic.os_devices.iter().any(|name| name.starts_with("hsn"));
        let fast: Vec<&Nic> = survey.nics.iter().filter(is_fast).collect();

        for (at, nic) in fast.iter().enumerate() {
            let function = folder.path().join(format!("sys/devices/pci0000:00/{}", nic.pci));
            std::fs::create_dir_all(&function)?;
            std::fs::write(function.join("numa_node"), "-1\n")?;
            let device = folder.path().join(format!("sys/class/cxi/cxi{at}"));
            std::fs::create_dir_all(&device)?;
            std::os::unix::fs::symlink(&function, device.join("device"))?;
        }

        for (name, node) in [("r0", "0"), ("r1", "1"), ("r2", "-1")] {
            let device = folder.path().join(format!("sys/class/net/{name}/device"));
            std::fs::create_dir_all(&device)?;
            std::fs::write(device.join("numa_node"), node)?;
        }

        let near = |own: &str| -> Result<Near, Box<dyn std::error::Error>> {
            let (root, own) = (FsRoot::at(folder.path()), own.parse()?);
            let one = |nic: &NicCounters| of_rank(nic, &survey.nics, &own, &root);
            let found: Vec<MpiAdapter> = nic_counters(&root).iter().map(one).collect();
            assert!(
                found.iter().all(|adapter| adapter.not_counted.is_some()),
                "this sysfs counts nothing: {found:?}"
            );
            Ok(found.into_iter().map(|adapter| (adapter.name, adapter.is_near)).collect())
        };

        let is_near = |found: &[(String, Option<bool>)], wanted: &str| {
            found.iter().find(|(name, _)| name == wanted).and_then(|(_, near)| *near)
        };

        for own in ["0", "1", "2", "3"] {
            let found = near(own)?;
            let cxi =
                found.iter().filter(|(name, near)| name.starts_with("cxi") && *near == Some(true)).count();
            assert_eq!(cxi, 1, "each node has one: {found:?}");
            let there =
                fast.iter().position(|nic| nic.locality.nodes.to_string() == own).ok_or("a node has none")?;
            assert_eq!(is_near(&found, &format!("cxi{there}")), Some(true), "node {own}: {found:?}");
            assert_eq!(is_near(&found, "r0"), Some(own == "0"), "{found:?}");
            assert_eq!(is_near(&found, "r2"), None, "the kernel does not tell: {found:?}");
        }
        Ok(())
    }

    #[test]
    fn a_ranks_nodes_are_its_gpus_also_where_it_may_not_use_their_memory() -> AttemptOutcome {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g.xml");
        let mut topology = topo::survey_xml(std::path::Path::new(file))?.topology;
        let gpu = &mut topology.gpus[0];
        let nodes = std::mem::take(&mut gpu.locality.nodes);
        gpu.locality.outside_nodes = nodes.clone();
        let target = TargetId::Gpu(gpu.pci);

        let pu = topology
            .nodes
            .iter()
            .find(|node| !nodes.contains(node.os_index))
            .and_then(|node| node.pus.iter().next());
        let pu = pu.ok_or("no PU on another node")?;
        assert_eq!(own_nodes(&topology, target, pu), nodes);
        assert_ne!(own_nodes(&topology, TargetId::Node(0), pu), nodes, "without a GPU it is the PU's");
        Ok(())
    }
}
