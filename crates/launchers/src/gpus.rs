//! The GPUs of a rank: what the launcher gives it, and what variables of its program show it of that.
//!
//! By index in PCI order, which is what Slurm and the runtimes count on nodes whose GPUs are alike. CUDA
//! counts unlike ones from the fastest, unless `CUDA_DEVICE_ORDER` says otherwise (CUDA C++ Programming
//! Guide, "Environment variables"): there an index is not known. ROCr hides first, and HIP counts what is
//! left. Level Zero counts GPUs or their tiles, as `ZE_FLAT_DEVICE_HIERARCHY` says (oneAPI Level Zero
//! specification, "Affinity Mask").

use topo::gpu_class::{AMD, INTEL, NVIDIA};
use topo::running::UsableGpus;
use topo::visibility::Visible;

use crate::process::{GPU_VARIABLES, Known, Process};

/// The GPUs that the program of this process can use.
pub(crate) fn usable(process: &Process<'_>, given: Option<&Known<Vec<usize>>>) -> UsableGpus {
    let topology = process.topology;
    let all: Vec<usize> = (0..topology.gpus.len()).collect();
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
        (Some(Ok(given)), Some((shown, text))) if is_as_confined(process, given, &shown) => {
            usable_at(process, &shown, format!("it is shown {text}"))
        }
        (Some(Ok(_)), Some((_, text))) => unknown(format!(
            "the launcher gives it GPUs of its own and {text} chooses again: whether that counts from them \
             depends on how the site confines GPUs"
        )),
        (None, Some((shown, text))) => usable_at(process, &shown, format!("it is shown {text}")),
        (None, None) => usable_at(process, &all, "nothing hides one".to_owned()),
    }
}

/// Whether variables show the same GPUs where a site confines the process to those that its launcher gives
/// it, so that they count from these.
fn is_as_confined(process: &Process<'_>, given: &[usize], by_variables: &[usize]) -> bool {
    matches!(shown(process, given), Ok(Some((confined, _))) if confined == by_variables)
}

/// Whether a launcher says these GPUs by `CUDA_VISIBLE_DEVICES`.
fn is_by_cuda(process: &Process<'_>, given: &[usize]) -> bool {
    given.iter().any(|index| process.topology.gpus.get(*index).is_some_and(|gpu| gpu.vendor_id == NVIDIA))
}

/// What its variables show, by index, and the variables with their values; `Ok(None)` where none is set. Each
/// runtime counts its vendor's GPUs alone; where variables of one runtime are set, the program is taken to be
/// of that one.
fn shown(process: &Process<'_>, all: &[usize]) -> Known<Option<(Vec<usize>, String)>> {
    let [cuda, rocr, hip, ze] = GPU_VARIABLES;
    let gpus = &process.topology.gpus;
    let (amd, others): (Vec<usize>, Vec<usize>) =
        all.iter().partition(|index| gpus[**index].vendor_id == AMD);
    let mut of_amd = None;

    if !amd.is_empty() {
        if let Some(value) = process.exported(rocr)? {
            of_amd = Some((indices(rocr, &value, &amd)?, format!("{rocr}={value}")));
        }
        // HIP reads CUDA's name where its own is not set; beside GPUs of NVIDIA that name is theirs.
        let name = if process.exported(hip)?.is_some() || !others.is_empty() { hip } else { cuda };
        if let Some(value) = process.exported(name)? {
            let among = of_amd.as_ref().map_or(amd, |(indices, _)| indices.clone());
            of_amd = Some((indices(name, &value, &among)?, format!("{name}={value}")));
        }
    }

    let (intel, others): (Vec<usize>, Vec<usize>) =
        others.iter().partition(|index| gpus[**index].vendor_id == INTEL);
    if let (Some(value), false) = (process.exported(ze)?, intel.is_empty()) {
        return Ok(Some((of_level_zero(process, &value, &intel)?, format!("{ze}={value}"))));
    }
    let of_others = match process.exported(cuda)? {
        Some(value) if !others.is_empty() || all.is_empty() => {
            let shown = indices(cuda, &value, &others)?;
            if shown.len() < others.len() {
                in_pci_order(process, &others)?;
            }
            Some((shown, format!("{cuda}={value}")))
        }
        _ => None,
    };

    Ok(match (of_amd, of_others) {
        (Some((amd, first)), Some((others, second))) => {
            let mut both = [amd, others].concat();
            both.sort_unstable();
            Some((both, format!("{first} {second}")))
        }
        (one, other) => one.or(other),
    })
}

/// Whether an index of CUDA is a place in PCI order.
///
/// # Errors
/// Why not.
fn in_pci_order(process: &Process<'_>, indices: &[usize]) -> Known<()> {
    let gpus = || indices.iter().filter_map(|index| process.topology.gpus.get(*index));
    let are_alike = gpus().all(|gpu| gpus().next().is_some_and(|first| first.device_id == gpu.device_id));
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
fn of_level_zero(process: &Process<'_>, value: &str, intel: &[usize]) -> Known<Vec<usize>> {
    let hierarchy = process.exported("ZE_FLAT_DEVICE_HIERARCHY").ok().flatten();
    let has_tiles = value.split(',').all(|entry| entry.contains('.'));
    if !has_tiles && hierarchy.as_deref() != Some("COMPOSITE") {
        return Err(format!(
            "ZE_AFFINITY_MASK={value} counts GPUs or their tiles: set ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE, or \
             write GPU.TILE"
        ));
    }
    let gpu_of = |entry: &str| entry.split('.').next().unwrap_or_default().to_owned();
    let mut gpus =
        indices("ZE_AFFINITY_MASK", &value.split(',').map(gpu_of).collect::<Vec<_>>().join(","), intel)?;
    gpus.dedup();
    Ok(gpus)
}

/// The GPUs of a list, counted along those that are left; one beyond them stays as it is, so that it is said
/// to be absent.
fn indices(name: &str, value: &str, among: &[usize]) -> Known<Vec<usize>> {
    let mut all = Vec::new();
    for entry in value.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        match entry.parse::<i64>() {
            Ok(index) => match usize::try_from(index) {
                Ok(index) => all.push(among.get(index).copied().unwrap_or(usize::MAX - index)),
                // The list ends at what is none.
                Err(_) => break,
            },
            Err(_) => return Err(format!("{name}={value} does not name GPUs by number")),
        }
    }
    Ok(all)
}

fn unknown(reason: String) -> UsableGpus {
    UsableGpus { reason, ..UsableGpus::default() }
}

/// The GPUs of these indices, and those of them that are not there.
fn usable_at(process: &Process<'_>, asked: &[usize], reason: String) -> UsableGpus {
    let topology = process.topology;
    let (mut devices, mut missing) = (Vec::new(), Vec::new());
    for index in asked {
        match topology.gpus.get(*index) {
            Some(gpu) => devices.push(Visible { pci: Some(gpu.pci), part: None }),
            // Beyond what a variable counts along.
            None => {
                missing.push(if *index > usize::MAX / 2 { usize::MAX - index } else { *index }.to_string())
            }
        }
    }
    let absent =
        (!missing.is_empty()).then(|| format!("GPU {} of {}", missing.join(","), topology.gpus.len()));
    UsableGpus { devices: Some(devices), absent, ..unknown(reason) }
}
