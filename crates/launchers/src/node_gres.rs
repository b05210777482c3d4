//! gres.conf as a node's topology would have it: each GPU's file and the cores near to it, and what Slurm
//! must be told to count as a socket.
//!
//! `Cores=` takes what is near to the GPU by the topology, cores outside of this process's cpuset too: the
//! file is the node's and not a job's. Where what is near to GPUs is a part of a package, Slurm's sockets are
//! larger than what belongs together, and slurm.conf can say that an L3 or a NUMA node counts as one
//! (slurm.conf(5), SlurmdParameters).

use stats::IdSet;
use topo::Survey;
use topo::gpu_class::{AMD, NVIDIA};
use topo::model::{Gpu, NodeKind, Topology};

use crate::gres_conf::{FIRST_RENDER_NODE, GresConf, GresLine, core_numbers, near_pus};

/// A node's lines, and what to know of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGres {
    /// The lines.
    pub conf: GresConf,
    /// What to know of them.
    pub remarks: Vec<String>,
}

/// What Slurm must count as a socket, so that its sockets are what belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socket {
    /// An L3 cache.
    L3,
    /// A NUMA node.
    NumaNode,
}

impl Socket {
    /// The word of SlurmdParameters.
    pub fn parameter(self) -> &'static str {
        match self {
            Self::L3 => "l3cache_as_socket",
            Self::NumaNode => "numa_node_as_socket",
        }
    }
}

/// What Slurm should count as a socket on this node; `None` where packages are what belongs together.
pub fn socket(topology: &Topology) -> Option<Socket> {
    let near: Vec<IdSet> = topology.gpus.iter().filter_map(near_pus).collect();
    let is_part = |pus: &IdSet| {
        topology.packages.iter().any(|package| pus.is_subset(&package.pus) && *pus != package.pus)
    };
    let is_l3 = |pus: &IdSet| topology.l3s.iter().any(|l3| l3.pus == *pus);
    let is_node =
        |pus: &IdSet| topology.nodes.iter().any(|node| node.kind == NodeKind::Normal && node.pus == *pus);
    match near.iter().any(is_part) {
        false => None,
        true if near.iter().all(is_node) => Some(Socket::NumaNode),
        true if near.iter().all(is_l3) => Some(Socket::L3),
        true => None,
    }
}

/// The lines for this machine.
pub fn node_gres(survey: &Survey) -> NodeGres {
    let topology = &survey.topology;
    let mut remarks = Vec::new();
    let mut guessed = false;
    let mut lines = Vec::new();
    let left_out = topology.left_out_pus();

    for gpu in &topology.gpus {
        let Some((file, is_known)) = device_file(survey, gpu) else {
            remarks.push(format!(
                "GPU {} ({}) is left out: its vendor's device files are not known",
                gpu.index, gpu.pci
            ));
            continue;
        };
        guessed |= !is_known;
        // Slurm counts the cores of the whole node.
        let near = near_pus(gpu).filter(|_| left_out.is_none());
        let cores = near.map(|pus| core_numbers(topology, &pus));
        if cores.is_none() && left_out.is_none() {
            remarks.push(format!(
                "GPU {}: nobody says which cores are near, so its line has no Cores=",
                gpu.index
            ));
        }
        lines.push(GresLine {
            name: Some("gpu".to_owned()),
            files: vec![file],
            cores,
            ..GresLine::default()
        });
    }

    if let Some(left_out) = left_out {
        remarks.push(format!(
            "no line has Cores=, which counts all cores of the node: the file does not show {left_out} \
             (offline, or left out in a job); run this on the node itself, or save it there outside of jobs"
        ));
    }

    if guessed {
        remarks.push(
            "the files are numbered in PCI order: the drivers' own numbers are not shown here".to_owned(),
        );
    }

    if let Some(socket) = socket(topology) {
        remarks.push(format!(
            "Slurm counts packages as sockets, and these GPUs belong to parts of them: SlurmdParameters={} \
             in slurm.conf, and run slurmd -C again",
            socket.parameter()
        ));
    }
    NodeGres { conf: GresConf { auto_detect: None, lines }, remarks }
}

/// The GPU's file, and whether its driver says so; where none does, the one that its place in PCI order would
/// have.
fn device_file(survey: &Survey, gpu: &Gpu) -> Option<(String, bool)> {
    let identity = survey.identities.iter().find(|identity| identity.index == gpu.index);
    // An NVIDIA GPU has a render node too, which CUDA does not open.
    let is_drivers = |path: &str| gpu.vendor_id != NVIDIA || path.starts_with("/dev/nvidia");
    let mut files = identity.into_iter().flat_map(|identity| &identity.device_files);
    if let Some(file) = files.find(|file| is_drivers(&file.path)) {
        return Some((file.path.clone(), true));
    }
    let of_vendor = survey.topology.gpus.iter().filter(|other| other.vendor_id == gpu.vendor_id);
    let number = u32::try_from(of_vendor.take_while(|other| other.index != gpu.index).count()).ok()?;
    match gpu.vendor_id {
        NVIDIA => Some((format!("/dev/nvidia{number}"), false)),
        AMD => Some((format!("/dev/dri/renderD{}", FIRST_RENDER_NODE + number), false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use topo::identity::DeviceFile;

    use super::*;

    #[test]
    fn an_nvidia_gpus_file_is_cudas_and_never_its_render_node() -> Result<(), topo::TopoError> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures");
        let mut survey = topo::survey_xml(&fixtures.join("hgx-h100.xml"))?;
        for (identity, minor) in survey.identities.iter_mut().zip([None, Some(5)]) {
            let render = (128 + identity.index, "/dev/dri/renderD".to_owned());
            let files = [Some(render), minor.map(|minor| (minor, "/dev/nvidia".to_owned()))];
            let file =
                |(number, name): (u32, String)| DeviceFile { path: format!("{name}{number}"), present: true };
            identity.device_files = files.into_iter().flatten().map(file).collect();
        }

        let gres = node_gres(&survey);
        let files: Vec<&str> =
            gres.conf.lines.iter().flat_map(|line| &line.files).map(String::as_str).collect();
        assert_eq!(files[..2], ["/dev/nvidia0", "/dev/nvidia5"]);
        assert!(
            gres.remarks.iter().any(|remark| remark.contains("numbered in PCI order")),
            "the first is guessed"
        );
        Ok(())
    }
}
