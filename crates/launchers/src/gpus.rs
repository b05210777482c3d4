//! The GPUs of a rank: what the launcher gives it, and what variables of its program show it of that.
//!
//! By index in PCI order, which is what Slurm and the runtimes count on nodes whose GPUs are alike. ROCr hides first, and HIP counts what is left.

use topo::gpu_class::AMD;
use topo::running::UsableGpus;
use topo::visibility::Visible;

use crate::process::{GPU_VARIABLES, Known, Process};

/// The GPUs that the program of this process can use.
pub(crate) fn usable(process: &Process<'_>, given: Option<&Known<Vec<usize>>>) -> UsableGpus {
    let topology = process.topology;
    let all: Vec<usize> = (0..topology.gpus.len()).collect();
    let shown = match shown(process, &all) {
        Ok(shown) => shown,
        Err(why) => return unknown(why),
    };
    match (given, shown) {
        (Some(Err(why)), None) => unknown(why.clone()),
        (Some(Err(why)), Some(_)) => unknown(format!("{why}; what the program's variables name depends on it")),
        (Some(Ok(given)), None) => usable_at(process, given, "the line gives it this GPU".to_owned()),
        (Some(Ok(given)), Some((shown, text))) if *given == all || *given == shown => {
            usable_at(process, &shown, format!("it is shown {text}"))
        }
        (Some(Ok(_)), Some((_, text))) => unknown(format!(
            "the launcher gives it GPUs of its own and {text} chooses again: whether that counts from them depends on how the site confines GPUs"
        )),
        (None, Some((shown, text))) => usable_at(process, &shown, format!("it is shown {text}")),
        (None, None) => usable_at(process, &all, "nothing hides one".to_owned()),
    }
}

/// What its variables show, by index, and the variables with their values; `Ok(None)` where none is set. Each runtime counts its vendor's GPUs alone;
/// where variables of one runtime are set, the program is taken to be of that one.
fn shown(process: &Process<'_>, all: &[usize]) -> Known<Option<(Vec<usize>, String)>> {
    let [cuda, rocr, hip] = GPU_VARIABLES;
    let gpus = &process.topology.gpus;
    let (amd, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|index| gpus[**index].vendor_id == AMD);
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
    let of_others = match process.exported(cuda)? {
        Some(value) if !others.is_empty() || all.is_empty() => {
            Some((indices(cuda, &value, &others)?, format!("{cuda}={value}")))
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

/// The GPUs of a list, counted along those that are left; one beyond them stays as it is, so that it is said to be absent.
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
            None => missing.push(if *index > usize::MAX / 2 { usize::MAX - index } else { *index }.to_string()),
        }
    }
    let absent = (!missing.is_empty()).then(|| format!("GPU {} of {}", missing.join(","), topology.gpus.len()));
    UsableGpus { devices: Some(devices), absent, ..unknown(reason) }
}
