//! Which platform drives the devices: the only place that names CUDA, HIP and host memory together.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use device::{DeviceError, DeviceId, Platform, PlatformKind};
use placement::{Target, TargetId};
use stats::units::counted;
use topo::Topology;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::options::Backend;

/// A family of GPUs.
struct Family {
    backend: Backend,
    kind: PlatformKind,
    /// What users call it.
    name: &'static str,
    /// Who makes the GPUs, and their PCI vendor id.
    vendor: (&'static str, u16),
    load: fn() -> Result<Arc<dyn Platform>, DeviceError>,
    /// The variables that hide devices from its driver.
    hides: &'static [&'static str],
}

/// The families, in the order in which they are tried.
const FAMILIES: [Family; 2] = [
    Family {
        backend: Backend::Cuda,
        kind: PlatformKind::Cuda,
        name: "CUDA",
        vendor: ("NVIDIA", 0x10de),
        load: || Ok(Arc::new(backend_cuda::load()?)),
        hides: &["CUDA_VISIBLE_DEVICES"],
    },
    Family {
        backend: Backend::Hip,
        kind: PlatformKind::Hip,
        name: "HIP",
        vendor: ("AMD", 0x1002),
        load: || Ok(Arc::new(backend_hip::load()?)),
        hides: &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"],
    },
];

impl Family {
    /// Those that `asked` allows.
    fn asked(asked: Backend) -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().filter(move |family| asked == Backend::Auto || asked == family.backend)
    }

    /// The GPUs of this family that the PCI bus shows.
    fn on_bus<'a>(&self, topology: &'a Topology) -> impl Iterator<Item = &'a topo::model::Gpu> + use<'a> {
        let id = self.vendor.1;
        topology.gpus.iter().filter(move |gpu| gpu.vendor_id == id)
    }
}

/// A platform that was found.
pub struct FoundPlatform {
    /// The platform.
    pub platform: Arc<dyn Platform>,
    /// Why no GPU takes part, where none does.
    pub why_host: Option<String>,
}

/// Finds the platform asked for. `gpus_asked`: the user named devices, so host memory is no substitute.
///
/// # Errors
/// Exit 77 when what was asked for is not here.
pub fn find(asked: Backend, gpus_asked: bool, topology: &Topology) -> Result<FoundPlatform, Fault> {
    find_and_tell(asked, gpus_asked, topology, &|_| {})
}

/// The same; `begins` is told which driver is asked.
///
/// # Errors
/// As [`find`].
pub fn find_and_tell(
    asked: Backend,
    gpus_asked: bool,
    topology: &Topology,
    begins: &dyn Fn(String),
) -> Result<FoundPlatform, Fault> {
    if asked == Backend::Host {
        return Ok(host(topology, "--backend host".to_owned()));
    }
    let mut why = Vec::new();

    for family in Family::asked(asked) {
        begins(format!("asking the {} driver for its GPUs", family.name));
        match (family.load)() {
            Ok(platform) => return Ok(FoundPlatform { platform, why_host: None }),
            Err(error) => why.push(error.to_string()),
        }
    }

    let why = why.join("; ");

    if asked == Backend::Auto && !gpus_asked {
        Ok(host(topology, why))
    } else {
        Err(absent(&why, asked, topology))
    }
}

/// The family that will be found, as far as that is known without a driver.
pub fn likely(asked: Backend, topology: &Topology) -> PlatformKind {
    if asked == Backend::Host {
        return PlatformKind::Host;
    }
    let mut families = Family::asked(asked);
    let first = families.next().map_or(PlatformKind::Cuda, |family| family.kind);
    Family::asked(asked)
        .find(|family| family.on_bus(topology).next().is_some())
        .map_or(first, |family| family.kind)
}

fn absent(why: &str, asked: Backend, topology: &Topology) -> Fault {
    let seen = Family::asked(asked).filter_map(|family| {
        let gpus: Vec<String> = family.on_bus(topology).map(|gpu| gpu.pci.to_string()).collect();
        (!gpus.is_empty())
            .then(|| format!("the PCI bus shows {} GPUs at {}", family.vendor.0, gpus.join(", ")))
    });
    let mut seen: Vec<String> = seen.collect();
    if seen.is_empty() {
        seen.push(format!("the PCI bus shows no {} GPU either", vendors(asked)));
    }
    let advice = "use --backend host to measure host memory instead";
    Fault::new(Exit::Absent, format!("a GPU was asked for, but {why}; {}; {advice}", seen.join("; ")))
}

/// The vendors of what was asked for, in words.
fn vendors(asked: Backend) -> String {
    Family::asked(asked).map(|family| family.vendor.0).collect::<Vec<_>>().join(" or ")
}

fn host(topology: &Topology, why: String) -> FoundPlatform {
    let targets = Target::nodes_of(topology);
    let nodes: Vec<backend_host::NodeFacts> = topology
        .nodes
        .iter()
        .filter(|node| targets.iter().any(|target| target.index == node.os_index))
        .map(|node| backend_host::NodeFacts { node: node.os_index, total_bytes: node.total_bytes })
        .collect();
    FoundPlatform { platform: Arc::new(backend_host::platform(&nodes)), why_host: Some(why) }
}

/// The platform's devices as a plan takes them: numbered along the list, nodes by their own number.
pub fn targets(platform: &dyn Platform) -> Vec<Target> {
    let numbered = (0..).zip(platform.devices());
    numbered
        .map(|(position, facts)| match facts.id {
            DeviceId::Pci(pci) => {
                Target { index: position, id: TargetId::Gpu(pci), uuid: facts.uuid.clone() }
            }
            DeviceId::Node(node) => Target { index: node, id: TargetId::Node(node), uuid: None },
        })
        .collect()
}

/// How long a driver may take to say which GPUs it has, where the PCI bus shows none.
const ANSWER: Duration = Duration::from_secs(5);

/// What the drivers have of GPUs that the PCI bus does not show, in words; `None` where the bus shows a GPU,
/// where no driver has one, and where no answer comes in time.
pub fn off_bus_in_time() -> Option<String> {
    let (tell, told) = mpsc::channel();
    let ask = move || {
        // A receiver that is gone waits no longer.
        let _ = tell.send(topo::read().ok().and_then(|topology| off_bus(&topology)));
    };
    thread::Builder::new().name("drivers".to_owned()).spawn(ask).ok()?;
    told.recv_timeout(ANSWER).unwrap_or_else(|_| {
        engine::abandon();
        None
    })
}

/// The same, however long a driver takes.
fn off_bus(topology: &Topology) -> Option<String> {
    if !topology.gpus.is_empty() {
        return None;
    }
    let of_family = |family: &Family| {
        let platform = (family.load)().ok()?;
        let gpus = counted(platform.devices().len(), "GPU");
        Some(format!(
            "{}'s driver has {gpus}, but the PCI bus that this process sees shows none",
            family.name
        ))
    };
    FAMILIES.iter().find_map(of_family)
}

/// What a plan can be made for without touching a driver.
pub struct Untouched {
    /// The family of the devices.
    pub kind: PlatformKind,
    /// The GPUs the PCI bus shows, or the nodes.
    pub targets: Vec<Target>,
    /// Which, and what a driver might say differently.
    pub source: String,
}

/// What a plan can be made for without touching a driver: the GPUs of the first family the bus shows, or the
/// nodes.
///
/// # Errors
/// Exit 77 when a GPU was asked for and the bus shows none.
pub fn untouched(asked: Backend, gpus_asked: bool, topology: &Topology) -> Result<Untouched, Fault> {
    let family = Family::asked(asked).find(|family| family.on_bus(topology).next().is_some());
    let Some(family) = family else {
        if asked == Backend::Host || (asked == Backend::Auto && !gpus_asked) {
            let source = "host memory: no GPU takes part".to_owned();
            return Ok(Untouched { kind: PlatformKind::Host, targets: Target::nodes_of(topology), source });
        }
        let vendors = vendors(asked);
        let error =
            format!("a GPU was asked for, and the PCI bus shows no {vendors} GPU; use --backend host");
        return Err(Fault::new(Exit::Absent, error));
    };

    let numbered = (0..).zip(family.on_bus(topology));
    let targets = numbered
        .map(|(index, gpu)| Target { index, id: TargetId::Gpu(gpu.pci), uuid: gpu.uuid.clone() })
        .collect();
    let set = family.hides.iter().filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
    let hidden = match set.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        set => format!("; {set} may hide some of them from the run and renumber the rest"),
    };
    let source =
        format!("{}, with the GPUs as the PCI bus shows them (no driver was asked{hidden})", family.name);
    Ok(Untouched { kind: family.kind, targets, source })
}
