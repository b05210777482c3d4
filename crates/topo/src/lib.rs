//! Reads a machine through hwloc and the kernel's files, and never changes it: no binding, no GPU runtime, no
//! memory.
//!
//! * [`read()`] this machine, [`from_xml()`] a saved hwloc XML file; both give a [`model::Topology`];
//!   [`survey_files()`] a saved file or texts that other tools printed;
//! * [`survey()`] and [`survey_xml()`] the same with what only `numabench topo` shows, a [`Survey`];
//!   [`survey_with_nvml()`] with what NVIDIA's management library knows besides; [`survey_and_xml()`] to save
//!   it;
//! * [`model`] what a machine is, in the ids users write; its queries are in `query`;
//! * [`link`] a GPU's PCIe link, to be read again under load; [`gpu_condition`] what a GPU is under while it
//!   is measured, [`gpu_health`] what its driver says of its settings and its memory;
//! * [`nic_counters`] what each network adapter has sent and received;
//! * [`environment`] what else of the machine a measurement depends on;
//! * [`process`] what this process is bound to, and the [`Cgroup`] it is in; [`running`] what is seen of it
//!   or of another one;
//! * [`interconnect`] how far devices are from each other, [`identity`] what they are called, [`visibility`]
//!   which a program sees;
//! * [`step`] what of the machine is this process's job step's; [`ancestor`] what a launcher above this
//!   process may use;
//! * [`start()`] what a program that is started here has, a [`Start`];
//! * [`settings`] what `doctor` says of a machine, as a saved file carries it; [`difference`] what changed
//!   between two;
//! * [`nccl`] a machine's devices as a topology file of NCCL;
//! * [`text`] the plain-text views of `numabench topo`, [`mod@svg`] its picture.
//!
//! Inside, one file per step: `load` (hwloc's settings), `convert` (hwloc's objects to the model), `nodes`
//! (what a NUMA node is made of), `devices` and `gpu_class` (which PCI devices are GPUs), `nics`,
//! `huge_pages`, `locality` (what is local to them, and how that is known), `nvml_locality` (that by NVIDIA's
//! driver), `driver_files`, `kernel_nodes` and `wide_domain` (what hwloc leaves out), `pci_path`, `nvml` and
//! `kfd` (what is between devices), `counted` and `gpu_metrics` (what drivers count of a GPU at work), `xml`
//! and `child` (files, which may be damaged), `printed` (texts of other tools), `save`, `nest` (what is in
//! what, for the views that draw it).
//!
//! Why not hwloc's own GPU components: they start CUDA, ROCm or OpenCL, which takes seconds, fails without
//! permissions, and may start threads before anything is bound. PCI and the drivers' files in `/proc` and
//! `/sys` say what is needed.

#![forbid(unsafe_code)]

pub mod ancestor;
pub mod coherence;
pub mod difference;
pub mod environment;
pub mod error;
mod found;
pub mod fs_root;
pub mod gpu_class;
pub mod gpu_condition;
pub mod gpu_health;
pub mod gpu_users;
pub mod host_link;
mod hwloc_object;
pub mod identity;
pub mod interconnect;
pub mod link;
pub mod model;
pub mod nccl;
pub mod nic_counters;
mod partitions;
pub mod pci_path;
pub mod proc_file;
pub mod process;
pub mod running;
pub mod settings;
pub mod step;
pub mod svg;
pub mod text;
pub mod visibility;

mod bitmap;
mod cgroup;
mod check;
mod child;
mod convert;
mod counted;
mod devices;
mod driver_files;
mod gpu_metrics;
mod gpu_use;
mod huge_pages;
mod input;
mod job_variables;
mod kernel_nodes;
mod kfd;
mod load;
mod locality;
mod memory_limits;
mod nest;
mod nics;
mod nodes;
mod nvml;
mod nvml_locality;
mod partition;
mod printed;
mod query;
mod read;
mod save;
mod slow_cores;
mod start;
mod survey;
mod unsaid;
mod wide_domain;
mod xml;

pub use cgroup::Cgroup;
pub use convert::this_hostname;
pub use error::TopoError;
pub use huge_pages::HugePages;
pub use input::{InputError, read_input};
pub use model::Topology;
pub use nics::{Nic, NicKind};
pub use nvml::{GpuLinkTraffic, LinkCounters, health as nvidia_health};
pub use printed::survey_files;
pub use read::{read, survey, survey_and_xml, survey_with_nvml};
pub use start::{Start, start};
pub use survey::Survey;
pub use xml::{from_xml, survey_xml};
