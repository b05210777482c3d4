//! Which platform drives the devices: the only place that names CUDA and host memory together.

use std::sync::Arc;

use device::{DeviceError, DeviceId, Platform};
use placement::{Target, TargetId};
use topo::Topology;

use crate::args::Backend;
use crate::exit::Exit;
use crate::fault::Fault;

/// PCI vendor id of NVIDIA.
const NVIDIA: u16 = 0x10de;

/// A platform that was found.
pub struct Found {
    /// The platform.
    pub platform: Arc<dyn Platform>,
    /// Why no GPU takes part, where none does.
    pub why_host: Option<String>,
}

/// Finds the platform asked for. `gpus_asked`: the user named devices, so host memory is no substitute.
///
/// # Errors
/// Exit 77 when what was asked for is not here.
pub fn find(asked: Backend, gpus_asked: bool, topology: &Topology) -> Result<Found, Fault> {
    if asked == Backend::Host {
        return Ok(host(topology, "it was asked for (--backend host)".to_owned()));
    }
    match backend_cuda::load() {
        Ok(platform) => Ok(Found { platform: Arc::new(platform), why_host: None }),
        Err(error) if asked == Backend::Cuda || gpus_asked => Err(absent(&error, topology)),
        Err(error) => Ok(host(topology, error.to_string())),
    }
}

fn absent(error: &DeviceError, topology: &Topology) -> Fault {
    let seen: Vec<String> = nvidia(topology).map(|gpu| gpu.pci.to_string()).collect();
    let seen = match seen.len() {
        0 => "the PCI bus shows no NVIDIA GPU either".to_owned(),
        _ => format!("the PCI bus shows NVIDIA GPUs at {}", seen.join(", ")),
    };
    let advice = "use --backend host to measure host memory instead";
    Fault::new(Exit::Absent, anyhow::anyhow!("a GPU was asked for, but {error}; {seen}; {advice}"))
}

fn nvidia(topology: &Topology) -> impl Iterator<Item = &topo::model::Gpu> {
    topology.gpus.iter().filter(|gpu| gpu.vendor_id == NVIDIA)
}

fn host(topology: &Topology, why: String) -> Found {
    let targets = Target::nodes_of(topology);
    let nodes: Vec<backend_host::NodeFacts> = topology
        .nodes
        .iter()
        .filter(|node| targets.iter().any(|target| target.index == node.os_index))
        .map(|node| backend_host::NodeFacts { node: node.os_index, total_bytes: node.total_bytes })
        .collect();
    Found { platform: Arc::new(backend_host::platform(&nodes)), why_host: Some(why) }
}

/// The platform's devices as a plan takes them: numbered along the list, nodes by their own number.
pub fn targets(platform: &dyn Platform) -> Vec<Target> {
    let numbered = (0..).zip(platform.devices());
    numbered
        .map(|(position, facts)| match facts.id {
            DeviceId::Pci(pci) => Target { index: position, id: TargetId::Gpu(pci), uuid: facts.uuid.clone() },
            DeviceId::Node(node) => Target { index: node, id: TargetId::Node(node), uuid: None },
        })
        .collect()
}

/// What a plan can be made for without touching a driver: the GPUs the PCI bus shows, or the nodes. The text says which, and
/// what a driver might say differently.
///
/// # Errors
/// Exit 77 when a GPU was asked for and the bus shows none.
pub fn targets_untouched(
    asked: Backend,
    gpus_asked: bool,
    topology: &Topology,
) -> Result<(Vec<Target>, String), Fault> {
    let gpus: Vec<Target> = (0..)
        .zip(nvidia(topology))
        .map(|(index, gpu)| Target { index, id: TargetId::Gpu(gpu.pci), uuid: gpu.uuid.clone() })
        .collect();
    if asked == Backend::Host || (asked == Backend::Auto && gpus.is_empty() && !gpus_asked) {
        return Ok((Target::nodes_of(topology), "host memory: no GPU takes part".to_owned()));
    }
    if gpus.is_empty() {
        let error = anyhow::anyhow!("a GPU was asked for, and the PCI bus shows no NVIDIA GPU; use --backend host");
        return Err(Fault::new(Exit::Absent, error));
    }
    let hidden = match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(value) => format!("; CUDA_VISIBLE_DEVICES={value} may hide some of them from the run and renumber the rest"),
        Err(_) => String::new(),
    };
    Ok((gpus, format!("CUDA, with the GPUs as the PCI bus shows them (no driver was asked{hidden})")))
}
