//! The environment that a rank's program gets: which GPUs it sees, and how many threads it starts where.
//!
//! A variable that already says what is wanted is left as it is. NVIDIA's GPUs are named by UUID, which no
//! order changes, else by the index that CUDA_DEVICE_ORDER=PCI_BUS_ID gives them. AMD's are named by ROCr's
//! index, since ROCR_VISIBLE_DEVICES counts along the driver's nodes; where HIP_VISIBLE_DEVICES or its alias
//! CUDA_VISIBLE_DEVICES is set too, it counts over what is left, and so is set to all of that (ROCm's
//! documentation, "GPU isolation techniques"). OpenMP's variables are set only where the user set none that
//! decides the same.

use std::collections::BTreeMap;
use std::ffi::OsString;

use placement::TargetId;
use stats::IdSet;
use topo::visibility::{Runtime, Visibility};
use topo::{Start, Topology};

use super::visible::{VisibleGpu, narrows};

const CUDA: &str = "CUDA_VISIBLE_DEVICES";
const ORDER: &str = "CUDA_DEVICE_ORDER";
const ROCR: &str = "ROCR_VISIBLE_DEVICES";
const HIP: &str = "HIP_VISIBLE_DEVICES";

/// A variable and its value.
pub type Variable = (&'static str, String);

/// The variables that are set for this process and are text: one whose bytes are none says nothing of GPUs
/// and ranks.
pub fn environment() -> BTreeMap<String, String> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).collect()
}

/// GPUs cannot be named by a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "ROCr's list has the address {pci} several times (parts of a GPU) or not at all, and {ROCR} or {HIP} is \
     set already: numabench cannot tell which of the list it is. Start without these variables, or leave \
     the choice to them with --gpus none"
)]
pub struct Nameless {
    pci: String,
}

/// The variables that show a program these GPUs and no others; none where it sees just these already.
pub fn gpus(start: &Start, drives: &[VisibleGpu]) -> Result<Vec<Variable>, Nameless> {
    let mut set = Vec::new();
    for visibility in &start.visibility {
        let own: Vec<&VisibleGpu> =
            drives.iter().filter(|seen| seen.runtime == Some(visibility.runtime)).collect();
        if own.is_empty() || says_so(visibility, &own) {
            continue;
        }
        match visibility.runtime {
            Runtime::Cuda => set.extend(nvidia(start, &own)),
            Runtime::Hip => set.extend(amd(start, visibility, &own)?),
        }
    }
    Ok(set)
}

/// Whether the runtime lists just these already; in this order, where a variable gave one.
fn says_so(visibility: &Visibility, own: &[&VisibleGpu]) -> bool {
    let mut own = own.to_vec();
    if !narrows(visibility) {
        own.sort_by_key(|seen| seen.at);
    }
    visibility.devices.as_ref().is_some_and(|devices| {
        let same = |(device, seen): (&topo::visibility::Visible, &&VisibleGpu)| {
            device.pci.map(TargetId::Gpu) == Some(seen.target.id) && device.part == seen.part
        };
        devices.len() == own.len() && devices.iter().zip(&own).all(same)
    })
}

fn nvidia(start: &Start, own: &[&VisibleGpu]) -> Vec<Variable> {
    let uuids: Option<Vec<&str>> =
        own.iter().map(|seen| seen.part.as_deref().or(seen.target.uuid.as_deref())).collect();
    if let Some(uuids) = uuids {
        return vec![(CUDA, uuids.join(","))];
    }
    // Those that CUDA counts, in PCI order, which is the topology's.
    let counted = start.topology.gpus.iter().filter(|gpu| {
        Runtime::of_vendor(gpu.vendor_id) == Some(Runtime::Cuda) && !start.hidden.contains(gpu.index)
    });
    let counted: Vec<TargetId> = counted.map(|gpu| TargetId::Gpu(gpu.pci)).collect();
    let index = |seen: &&VisibleGpu| counted.iter().position(|id| *id == seen.target.id);
    vec![(CUDA, list(own.iter().filter_map(index))), (ORDER, "PCI_BUS_ID".to_owned())]
}

fn amd(start: &Start, visibility: &Visibility, own: &[&VisibleGpu]) -> Result<Vec<Variable>, Nameless> {
    let is_set = |name: &str| visibility.variables.contains_key(name);
    let index = |seen: &&VisibleGpu| -> Result<usize, Nameless> {
        let is_it = |at: &usize| TargetId::Gpu(start.rocr[*at]) == seen.target.id;
        let mut places = (0..start.rocr.len()).filter(is_it);
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(at),
            // Its place in a list that nothing has shortened is ROCr's own index.
            _ if !is_set(ROCR) && !is_set(HIP) && !is_set(CUDA) => Ok(seen.at),
            _ => Err(Nameless { pci: seen.target.id.to_string() }),
        }
    };

    let indices: Result<Vec<usize>, Nameless> = own.iter().map(index).collect();
    let mut set = vec![(ROCR, list(indices?.into_iter()))];
    let rest = || list(0..own.len());
    let cudas = start.visibility.iter().any(|one| one.runtime == Runtime::Cuda);

    if is_set(HIP) || (is_set(CUDA) && cudas) {
        set.push((HIP, rest()));
    } else if is_set(CUDA) {
        set.push((CUDA, rest()));
    }
    Ok(set)
}

fn list(indices: impl Iterator<Item = usize>) -> String {
    indices.map(|index| index.to_string()).collect::<Vec<_>>().join(",")
}

/// OpenMP's variables for these PUs: a place for each core, or for each PU with `smt`, and a thread for each
/// place.
pub fn openmp(
    topology: &Topology,
    pus: &IdSet,
    smt: bool,
    environment: &BTreeMap<String, String>,
) -> Vec<Variable> {
    let mut places: Vec<IdSet> = Vec::new();
    for pu in pus.iter() {
        let core = topology.core_of(pu).map(|core| core.pus.and(pus)).filter(|_| !smt);
        let place = core.unwrap_or_else(|| [pu].into_iter().collect());
        if !places.contains(&place) {
            places.push(place);
        }
    }

    let is_set = |names: &[&str]| names.iter().any(|name| environment.contains_key(*name));
    let mut set = Vec::new();
    if !is_set(&["OMP_NUM_THREADS"]) {
        set.push(("OMP_NUM_THREADS", places.len().to_string()));
    }

    // GNU's and Intel's own variables say the same in other words.
    if !is_set(&["OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"]) {
        let each = |place: &IdSet| {
            format!("{{{}}}", place.iter().map(|pu| pu.to_string()).collect::<Vec<_>>().join(","))
        };
        set.push(("OMP_PLACES", places.iter().map(each).collect::<Vec<_>>().join(",")));
        // Places alone make runtimes bind (libgomp, "OMP_PROC_BIND"), the first thread when they are loaded:
        // a Python program that loads one is then on one core with all that it starts (seen with PyTorch). So
        // threads are bound only where the user asks for it.
        if !is_set(&["OMP_PROC_BIND"]) {
            set.push(("OMP_PROC_BIND", "false".to_owned()));
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{AMD, NVIDIA, machine, set, set_to, start};
    use crate::visible::VisibleGpus;

    /// The variables for a rank that drives these of the GPUs seen.
    fn for_gpus(start: &Start, indices: &[u32]) -> Result<Vec<Variable>, Nameless> {
        let visible = VisibleGpus::of(start);
        let of = |index: &u32| visible.gpus.iter().find(|seen| seen.target.index == *index).cloned();
        gpus(start, &indices.iter().filter_map(of).collect::<Vec<_>>())
    }

    fn pairs(set: &[(&'static str, &str)]) -> Vec<Variable> {
        set.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    #[test]
    fn nvidias_gpus_are_named_by_uuid_and_without_one_by_index_and_its_order() -> Result<(), Nameless> {
        let mut start = start(NVIDIA, &[0, 1, 2, 3], &[]);
        assert_eq!(for_gpus(&start, &[2])?, pairs(&[(CUDA, "GPU-2")]));
        assert_eq!(for_gpus(&start, &[3, 1])?, pairs(&[(CUDA, "GPU-3,GPU-1")]));
        start.topology.gpus[2].uuid = None;
        assert_eq!(for_gpus(&start, &[2, 3])?, pairs(&[(CUDA, "2,3"), (ORDER, "PCI_BUS_ID")]));
        // CUDA does not count what it may not open.
        start.hidden = set("0");
        assert_eq!(for_gpus(&start, &[2])?, pairs(&[(CUDA, "1"), (ORDER, "PCI_BUS_ID")]));
        Ok(())
    }

    #[test]
    fn a_variable_that_says_it_already_is_left_as_it_is() -> Result<(), Nameless> {
        let slurms = start(NVIDIA, &[2], &[(CUDA, "2")]);
        assert_eq!(for_gpus(&slurms, &[2])?, []);
        assert_eq!(for_gpus(&start(NVIDIA, &[0, 1], &[(CUDA, "0,1")]), &[1])?, pairs(&[(CUDA, "GPU-1")]));
        assert_eq!(
            for_gpus(&start(NVIDIA, &[1, 0], &[(CUDA, "1,0")]), &[0, 1])?,
            pairs(&[(CUDA, "GPU-0,GPU-1")])
        );
        assert_eq!(for_gpus(&start(AMD, &[3], &[(ROCR, "0")]), &[3])?, []);
        assert_eq!(for_gpus(&slurms, &[])?, [], "a rank without a GPU changes nothing");
        assert_eq!(
            for_gpus(&start(AMD, &[3, 2, 1, 0], &[]), &[0, 1, 2, 3])?,
            [],
            "all of them, in the runtime's order"
        );
        Ok(())
    }

    #[test]
    fn amds_gpus_are_named_by_rocrs_index_and_what_counts_over_it_is_made_to_fit() -> Result<(), Nameless> {
        // ROCr counts backwards here.
        let all = [3, 2, 1, 0];
        assert_eq!(for_gpus(&start(AMD, &all, &[]), &[0])?, pairs(&[(ROCR, "3")]));
        assert_eq!(for_gpus(&start(AMD, &all, &[]), &[1, 2])?, pairs(&[(ROCR, "2,1")]));
        let hip = start(AMD, &[1, 0], &[(HIP, "2,3")]);
        assert_eq!(for_gpus(&hip, &[0])?, pairs(&[(ROCR, "3"), (HIP, "0")]));
        let alias = start(AMD, &[1, 0], &[(CUDA, "2,3")]);
        assert_eq!(for_gpus(&alias, &[0, 1])?, pairs(&[(ROCR, "3,2"), (CUDA, "0,1")]));
        Ok(())
    }

    #[test]
    fn parts_with_one_address_are_named_by_their_place_or_not_at_all() -> Result<(), Nameless> {
        let mut start = start(AMD, &[0, 0, 1], &[]);
        start.rocr = [0, 0, 1].map(crate::machine::address).to_vec();
        let visible = VisibleGpus::of(&start);
        assert_eq!(gpus(&start, &visible.gpus[1..2])?, pairs(&[(ROCR, "1")]));
        assert_eq!(gpus(&start, &visible.gpus[2..])?, pairs(&[(ROCR, "2")]));
        start.visibility[0].variables = set_to(&[(ROCR, "0,1,2")]);
        let nameless = gpus(&start, &visible.gpus[1..2]).expect_err("which part is which is not known");
        assert_eq!(nameless.pci, "0000:01:00.0");
        assert!(nameless.to_string().contains("--gpus"), "{nameless}");
        Ok(())
    }

    #[test]
    fn openmp_gets_a_thread_for_each_core_and_the_core_as_its_place() {
        let none = BTreeMap::new();
        let of = |pus: &str, smt| openmp(&machine(), &set(pus), smt, &none);
        let told = |threads: &str, places: &str| {
            pairs(&[("OMP_NUM_THREADS", threads), ("OMP_PLACES", places), ("OMP_PROC_BIND", "false")])
        };
        assert_eq!(of("4-5", false), told("2", "{4},{5}"));
        assert_eq!(of("4-5,12-13", false), told("2", "{4,12},{5,13}"));
        assert_eq!(of("4,12", true), told("2", "{4},{12}"));
    }

    #[test]
    fn what_the_user_set_for_openmp_stays() {
        let with = |name: &str| -> Vec<&str> {
            openmp(&machine(), &set("4"), false, &set_to(&[(name, "x")]))
                .iter()
                .map(|(name, _)| *name)
                .collect()
        };
        assert_eq!(with("OMP_NUM_THREADS"), ["OMP_PLACES", "OMP_PROC_BIND"]);
        assert_eq!(
            with("OMP_PROC_BIND"),
            ["OMP_NUM_THREADS", "OMP_PLACES"],
            "who asks for binding gets places to bind to"
        );
        for decides in ["OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"] {
            assert_eq!(with(decides), ["OMP_NUM_THREADS"], "{decides}");
        }
    }
}
