//! How hwloc is asked: which components may run, what is kept.
//!
//! * Disallowed objects are included: what a job may not use is to be named, and hwloc would drop a NUMA node
//!   whose CPUs it does not show.
//! * No component that starts a GPU runtime, for a machine and for a file alike.
//! * Not `x86`: it re-binds the calling thread to every PU in turn, which is a change, costs tens of
//!   milliseconds on a large node, and adds nothing where Linux describes cores. Where Linux does not (some
//!   containers), it is the only source, and [`this_machine`] takes it.
//! * I/O: PCI devices that hwloc calls important, and their OS devices. Instruction caches are left out, as
//!   is the default.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hwlocality::Topology as Hwloc;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder, TypeFilter};

use crate::TopoError;
use crate::hwloc_object::info;

/// hwloc components that load a GPU runtime or talk to an X server.
const GPU_COMPONENTS: [&str; 6] = ["opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"];

/// Environment variables by which a user makes hwloc read something else than the machine.
const REDIRECTIONS: [&str; 4] = ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH"];

/// That no other thread of this process is in hwloc through this crate. Who reads a machine or a file holds
/// it until the hwloc topology is dropped, because a file is read in a forked process (`child`), and a lock
/// of hwloc's, of its XML library's or of this module's that another thread holds at that moment would stay
/// locked there for ever.
pub(crate) struct Alone(#[expect(dead_code, reason = "held, not looked at")] MutexGuard<'static, ()>);

/// Waits until no other thread of this process is in hwloc.
pub(crate) fn alone() -> Alone {
    static HWLOC: Mutex<()> = Mutex::new(());
    Alone(HWLOC.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Loads this machine.
pub(crate) fn this_machine(_: &Alone) -> Result<Hwloc, TopoError> {
    let mut machine = without(settings()?, &["x86"])?.build().map_err(|error| failed("discovery", error))?;
    if machine.objects_with_type(ObjectType::Core).len() == 0 {
        machine = settings()?.build().map_err(|error| failed("discovery with x86", error))?;
    }
    if machine.is_this_system() { Ok(machine) } else { Err(redirected()) }
}

/// Loads the text of an XML file; `None` where hwloc refuses it.
pub(crate) fn xml(_: &Alone, text: &str) -> Result<Option<Hwloc>, TopoError> {
    let Ok(builder) = settings()?.from_xml(text) else { return Ok(None) };
    Ok(builder.build().ok())
}

/// Loads a synthetic description, for tests of other modules.
#[cfg(test)]
pub(crate) fn synthetic(description: &str) -> Result<Synthetic, Box<dyn std::error::Error>> {
    let alone = alone();
    Ok(Synthetic { hwloc: settings()?.from_synthetic(description)?.build()?, alone })
}

/// A topology that nobody has, and the right to hold it: dropped in this order.
#[cfg(test)]
pub(crate) struct Synthetic {
    hwloc: Hwloc,
    pub(crate) alone: Alone,
}

#[cfg(test)]
impl std::ops::Deref for Synthetic {
    type Target = Hwloc;
    fn deref(&self) -> &Hwloc {
        &self.hwloc
    }
}

/// The version of the hwloc library in use. The interface's number lags behind (2.9 says 2.8), so a topology
/// of one PU is asked.
pub(crate) fn hwloc_version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    let of_one_pu = || {
        let one_pu = TopologyBuilder::new().from_synthetic("pu:1").ok()?.build().ok()?;
        info(one_pu.root_object(), "hwlocVersion")
    };
    let interface = || {
        let packed = hwlocality::hwloc_api_version();
        format!("interface {}.{}", packed >> 16, (packed >> 8) & 0xff)
    };
    VERSION.get_or_init(|| of_one_pu().unwrap_or_else(interface)).clone()
}

fn settings() -> Result<TopologyBuilder, TopoError> {
    let builder = TopologyBuilder::new()
        .with_flags(BuildFlags::INCLUDE_DISALLOWED)
        .map_err(|error| failed("including disallowed objects", error))?
        .with_io_type_filter(TypeFilter::KeepImportant)
        .map_err(|error| failed("keeping I/O devices", error))?;
    without(builder, &GPU_COMPONENTS)
}

/// Drops those of the components that this hwloc has: it refuses a name that it does not know, and a refusal
/// consumes the builder, so each name is tried on another one first. (`builder` keeps the components loaded
/// meanwhile.)
fn without(mut builder: TopologyBuilder, components: &[&str]) -> Result<TopologyBuilder, TopoError> {
    for component in components {
        if TopologyBuilder::new().without_component(component).is_ok() {
            builder = builder
                .without_component(component)
                .map_err(|error| failed("dropping a component", error))?;
        }
    }
    Ok(builder)
}

fn failed(step: &'static str, error: impl Display) -> TopoError {
    TopoError::Hwloc { hwloc: hwloc_version(), step, reason: in_words(&error) }
}

/// The error of hwloc's interface without the names of its types: `hwloc_topology_load failed (Invalid
/// argument)`.
fn in_words(error: &impl Display) -> String {
    let text = error.to_string();
    let Some((call, rest)) = text.split_once(" with errno ").or_else(|| text.split_once(" with result "))
    else {
        return text;
    };
    let described = rest.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map(|(words, _)| words);
    described.map_or_else(|| call.to_owned(), |words| format!("{call} ({words})"))
}

fn redirected() -> TopoError {
    let set: Vec<&str> = REDIRECTIONS.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    let variables = match set[..] {
        [] => "HWLOC_THISSYSTEM or a discovery component is".to_owned(),
        [one] => format!("{one} is"),
        _ => format!("{} are", set.join(" and ")),
    };
    TopoError::NotThisSystem { variables }
}
