//! What `numabench topo` shows: the topology, and what a placement does not need but a user asks for.
//!
//! Apart from [`Topology`] so that a run which only places ranks neither reads nor carries it. In JSON the
//! two are one object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::huge_pages::HugePages;
use crate::identity::Identity;
use crate::interconnect::Interconnect;
use crate::model::Topology;
use crate::nics::Nic;
use crate::process::ProcessBinding;
use crate::settings::Setting;
use crate::step::Step;
use crate::visibility::Visibility;

/// A machine, or a saved description of one, with all that is shown of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// What belongs together.
    #[serde(flatten)]
    pub topology: Topology,
    /// What proves that it is a virtual machine; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.3"))]
    pub virtual_machine: Option<String>,
    /// Huge pages that each NUMA node keeps, by node and size; empty where nobody says.
    pub huge_pages: Vec<HugePages>,
    /// Network adapters, in PCI order.
    pub nics: Vec<Nic>,
    /// What the process that read this machine is bound to; null in a file that does not say.
    pub process: Option<ProcessBinding>,
    /// The job step that it ran in, and what of the machine is the step's; null outside one, and in a file,
    /// which is the machine's and not a job's.
    pub step: Option<Step>,
    /// How far GPUs and network adapters are from each other.
    pub interconnect: Interconnect,
    /// What each GPU is called by whom, in PCI order.
    pub identities: Vec<Identity>,
    /// Which GPUs a program would see that is started like the process that read this machine, a list for
    /// each runtime; empty in a file that does not say.
    pub visibility: Vec<Visibility>,
    /// What `doctor` said of the machine's settings when it was saved; absent on a machine, and in a file
    /// that does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.1"))]
    pub settings: Vec<Setting>,
}
