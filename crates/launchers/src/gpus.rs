//! The GPUs of a rank: what the launcher gives it, and what variables of its program show it of that.
//!
//! By index in PCI order, which is what Slurm and the runtimes count on nodes whose GPUs are alike. ROCr hides first, and HIP counts what is left.

use std::collections::BTreeMap;

use topo::running::UsableGpus;
use topo::visibility::Visible;

use crate::process::{GPU_VARIABLES, Known, Process};

/// PCI vendor id (pci.ids).
const AMD: u16 = 0x1002;

/// The GPUs that the program of this process can use.
pub(crate) fn usable(process: &Process<'_>, given: Option<&Known<Vec<usize>>>) -> UsableGpus {
    let topology = process.topology;
    let all: Vec<usize> = (0..topology.gpus.len()).collect();
    let is_amd = !topology.gpus.is_empty() && topology.gpus.iter().all(|gpu| gpu.vendor_id == AMD);
    let shown = match shown(process, &all, is_amd) {
        Ok(shown) => shown,
        Err(why) => return unknown(why),
    };
    match (given, shown) {
        (Some(Err(why)), None) => unknown(why.clone()),
        (Some(Err(why)), Some(_)) => unknown(format!("{why}; what the program's variables name depends on it")),
        (Some(Ok(given)), None) => of(process, given, "the line gives it this GPU".to_owned()),
        (Some(Ok(given)), Some((shown, text))) if *given == all || *given == shown => {
            of(process, &shown, format!("it is shown {text}"))
        }
        (Some(Ok(_)), Some((_, text))) => unknown(format!(
            "the launcher gives it GPUs of its own and {text} chooses again: whether that counts from them depends on how the site confines GPUs"
        )),
        (None, Some((shown, text))) => of(process, &shown, format!("it is shown {text}")),
        (None, None) => of(process, &all, "nothing hides one".to_owned()),
    }
}

/// What its variables show, by index, and the variable with its value; `Ok(None)` where none is set.
fn shown(process: &Process<'_>, all: &[usize], is_amd: bool) -> Known<Option<(Vec<usize>, String)>> {
    let [cuda, rocr, hip] = GPU_VARIABLES;
    if !is_amd {
        return Ok(match process.exported(cuda)? {
            Some(value) => Some((indices(cuda, &value, all)?, format!("{cuda}={value}"))),
            None => None,
        });
    }
    let mut left = None;
    if let Some(value) = process.exported(rocr)? {
        left = Some((indices(rocr, &value, all)?, format!("{rocr}={value}")));
    }
    // HIP reads CUDA's name where its own is not set.
    let name = if process.exported(hip)?.is_some() { hip } else { cuda };
    if let Some(value) = process.exported(name)? {
        let among = left.as_ref().map_or(all.to_vec(), |(indices, _)| indices.clone());
        let chosen = indices(name, &value, &among)?;
        left = Some((chosen, format!("{name}={value}")));
    }
    Ok(left)
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
    UsableGpus {
        devices: None,
        reason,
        variables: BTreeMap::new(),
        open: None,
        refused: None,
        absent: None,
        closed: Vec::new(),
        in_use: None,
    }
}

/// The GPUs of these indices, and those of them that are not there.
fn of(process: &Process<'_>, asked: &[usize], reason: String) -> UsableGpus {
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
