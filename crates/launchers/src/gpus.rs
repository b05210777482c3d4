//! The GPUs of a rank: what the launcher gives it, and what variables of its program show it of that.
//!
//! By index in PCI order, which is what Slurm and the runtimes count on nodes whose GPUs are alike. CUDA
//! counts unlike ones from the fastest, unless `CUDA_DEVICE_ORDER` says otherwise (CUDA C++ Programming
//! Guide, "Environment variables"): there an index is not known. ROCr hides first, and HIP counts what is
//! left. Level Zero counts GPUs or their tiles, as `ZE_FLAT_DEVICE_HIERARCHY` says (oneAPI Level Zero
//! specification, "Affinity Mask").

use std::collections::BTreeMap;

use topo::gpu_class::{AMD, INTEL, NVIDIA};
use topo::model::Gpu;
use topo::running::{UsableGpus, absent_of};
use topo::visibility::{Visibility, Visible, of_cuda, of_hip};

use crate::process::{GPU_VARIABLES, Known, Process};

/// The GPUs that the program of this process can use.
pub(crate) fn usable(process: &Process<'_>, given: Option<&Known<Vec<usize>>>) -> UsableGpus {
    let topology = process.topology;
    let all: Vec<&Gpu> = topology.gpus.iter().collect();
    let by_variables = match shown(process, &all) {
        Ok(shown) => shown,
        Err(why) => return unknown(why),
    };

    match (given, by_variables) {
        (Some(Err(why)), None) => unknown(why.clone()),
        (Some(Err(why)), Some(_)) => {
            unknown(format!("{why}; what the program's variables name depends on it"))
        }
        (Some(Ok(given)), None) if given.is_empty() => {
            usable_at(process, given, "the line gives it no GPU".to_owned())
        }
        (Some(Ok(given)), None) if given.len() < all.len() && is_by_cuda(process, given) => {
            match in_pci_order(process, &all) {
                Ok(()) => usable_at(process, given, "the line gives it this GPU".to_owned()),
                Err(why) => unknown(why),
            }
        }
        (Some(Ok(given)), None) => usable_at(process, given, "the line gives it this GPU".to_owned()),
        (Some(Ok(given)), Some(shown)) if is_as_confined(process, given, &shown) => shown.usable(),
        (Some(Ok(_)), Some(Shown { by, .. })) => unknown(format!(
            "the launcher gives it GPUs of its own and {by} chooses again: whether that counts from them \
             depends on how the site confines GPUs"
        )),
        (None, Some(shown)) => shown.usable(),
        (None, None) => {
            let all: Vec<usize> = (0..all.len()).collect();
            usable_at(process, &all, "nothing hides one".to_owned())
        }
    }
}

/// What variables show of GPUs.
struct Shown {
    devices: Vec<Visible>,
    /// What they name and is not there, in words.
    absent: Option<String>,
    /// The variables with their values.
    by: String,
}

impl Shown {
    fn usable(self) -> UsableGpus {
        let reason = format!("it is shown {}", self.by);
        UsableGpus { devices: Some(self.devices), absent: self.absent, ..unknown(reason) }
    }
}

/// Whether variables show the same GPUs where a site confines the process to those that its launcher gives
/// it, so that they count from these.
fn is_as_confined(process: &Process<'_>, given: &[usize], by_variables: &Shown) -> bool {
    let given: Vec<&Gpu> = given.iter().filter_map(|index| process.topology.gpus.get(*index)).collect();
    matches!(shown(process, &given), Ok(Some(confined)) if confined.devices == by_variables.devices)
}

/// Whether a launcher says these GPUs by `CUDA_VISIBLE_DEVICES`.
fn is_by_cuda(process: &Process<'_>, given: &[usize]) -> bool {
    given.iter().any(|index| process.topology.gpus.get(*index).is_some_and(|gpu| gpu.vendor_id == NVIDIA))
}

/// What its variables show of these GPUs; `Ok(None)` where none is set. Each runtime counts its vendor's GPUs
/// alone; where variables of one runtime are set, the program is taken to be of that one.
fn shown(process: &Process<'_>, gpus: &[&Gpu]) -> Known<Option<Shown>> {
    let [cuda, rocr, hip, ze] = GPU_VARIABLES;
    let (amd, others): (Vec<&Gpu>, Vec<&Gpu>) = gpus.iter().partition(|gpu| gpu.vendor_id == AMD);
    let (intel, others): (Vec<&Gpu>, Vec<&Gpu>) = others.iter().partition(|gpu| gpu.vendor_id == INTEL);

    // HIP reads CUDA's name where its own is not set; beside GPUs of NVIDIA that name is theirs.
    let of_amd = if amd.is_empty() {
        None
    } else {
        let names = if others.is_empty() { &[rocr, hip, cuda][..] } else { &[rocr, hip] };
        let set = exported(process, names)?;
        if set.is_empty() { None } else { Some(listed(of_hip(&amd, &set), set, gpus)?) }
    };
    if let (Some(value), false) = (process.exported(ze)?, intel.is_empty()) {
        return of_level_zero(process, &value, &intel).map(Some);
    }
    let set = exported(process, &[cuda])?;
    let of_others = match !set.is_empty() && (!others.is_empty() || gpus.is_empty()) {
        true => Some(by_cuda(process, &others, set, gpus)?),
        false => None,
    };

    Ok(match (of_amd, of_others) {
        (Some(amd), Some(others)) => {
            let mut devices = [amd.devices, others.devices].concat();
            devices.sort_by_key(|device| device.pci);
            let (absent, by) = (amd.absent.or(others.absent), format!("{} {}", amd.by, others.by));
            Some(Shown { devices, absent, by })
        }
        (one, other) => one.or(other),
    })
}

/// Those of the variables that the program inherits, with their values.
fn exported(process: &Process<'_>, names: &[&str]) -> Known<BTreeMap<String, String>> {
    let value =
        |name: &&str| Some(process.exported(name).transpose()?.map(|value| ((*name).to_owned(), value)));
    names.iter().filter_map(value).collect()
}

/// What CUDA shows by its list. Which GPU an index names need not be known where it shows all.
fn by_cuda(
    process: &Process<'_>,
    own: &[&Gpu],
    mut set: BTreeMap<String, String>,
    gpus: &[&Gpu],
) -> Known<Shown> {
    const ORDER: &str = "CUDA_DEVICE_ORDER";
    let order = process.exported(ORDER).ok().flatten().map(|order| (ORDER.to_owned(), order));
    let list = set.clone();
    set.extend(order);

    let mut seen = of_cuda(own, &set);
    if seen.devices.is_none() {
        set.insert(ORDER.to_owned(), "PCI_BUS_ID".to_owned());
        seen = of_cuda(own, &set);
        if seen.devices.as_ref().is_some_and(|devices| devices.len() < own.len()) {
            in_pci_order(process, own)?;
        }
    }
    listed(seen, list, gpus)
}

/// What a runtime lists by these variables.
fn listed(seen: Visibility, set: BTreeMap<String, String>, gpus: &[&Gpu]) -> Known<Shown> {
    let by: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let by = by.join(" ");
    let devices = seen.devices.ok_or_else(|| seen.reason.unwrap_or_default())?;
    if devices.iter().any(|device| device.pci.is_none()) {
        return Err(format!("{by} names a MIG instance, and the topology does not say of which GPU it is"));
    }
    Ok(Shown { absent: absent_of(&set, &devices, gpus), devices, by })
}

/// Whether an index of CUDA is a place in PCI order.
///
/// # Errors
/// Why not.
fn in_pci_order(process: &Process<'_>, gpus: &[&Gpu]) -> Known<()> {
    let are_alike = gpus.iter().all(|gpu| gpu.device_id == gpus[0].device_id);
    let order = process.exported("CUDA_DEVICE_ORDER").ok().flatten();
    match are_alike || order.as_deref() == Some("PCI_BUS_ID") {
        true => Ok(()),
        false => Err(
            "the GPUs of this machine are unlike, and CUDA numbers the fastest first: which one an index \
             names is not known. Set CUDA_DEVICE_ORDER=PCI_BUS_ID beside CUDA_VISIBLE_DEVICES"
                .to_owned(),
        ),
    }
}

/// The GPUs of `ZE_AFFINITY_MASK`: `0,1` or `0.0,0.1` with the tile behind the point.
fn of_level_zero(process: &Process<'_>, value: &str, intel: &[&Gpu]) -> Known<Shown> {
    let hierarchy = process.exported("ZE_FLAT_DEVICE_HIERARCHY").ok().flatten();
    let has_tiles = value.split(',').all(|entry| entry.contains('.'));
    if !has_tiles && hierarchy.as_deref() != Some("COMPOSITE") {
        return Err(format!(
            "ZE_AFFINITY_MASK={value} counts GPUs or their tiles: set ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE, or \
             write GPU.TILE"
        ));
    }

    let by = format!("ZE_AFFINITY_MASK={value}");
    let (mut devices, mut missing) = (Vec::new(), Vec::new());
    for entry in value.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let number = entry.split('.').next().unwrap_or_default();
        let index: usize = number.parse().map_err(|_| format!("{by} does not name GPUs by number"))?;
        match intel.get(index) {
            Some(gpu) => devices.push(Visible { pci: Some(gpu.pci), part: None }),
            None => missing.push(index),
        }
    }
    devices.dedup();
    Ok(Shown { devices, absent: absent_at(&missing, intel.len()), by })
}

fn unknown(reason: String) -> UsableGpus {
    UsableGpus { reason, ..UsableGpus::default() }
}

/// The GPUs of these indices, and those of them that are not there.
fn usable_at(process: &Process<'_>, asked: &[usize], reason: String) -> UsableGpus {
    let gpus = &process.topology.gpus;
    let whole = |gpu: &Gpu| Visible { pci: Some(gpu.pci), part: None };
    let devices = asked.iter().filter_map(|index| gpus.get(*index)).map(whole).collect();
    let missing: Vec<usize> = asked.iter().copied().filter(|index| *index >= gpus.len()).collect();
    UsableGpus { devices: Some(devices), absent: absent_at(&missing, gpus.len()), ..unknown(reason) }
}

/// What indices ask for and is not there.
fn absent_at(missing: &[usize], there: usize) -> Option<String> {
    let missing: Vec<String> = missing.iter().map(usize::to_string).collect();
    (!missing.is_empty()).then(|| format!("GPU {} of {there}", missing.join(",")))
}
