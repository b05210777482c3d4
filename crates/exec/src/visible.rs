//! The GPUs that a program started here would see, as something to choose from: never more than the
//! launcher's variables leave.
//!
//! Taken from the prediction of `topo`; no runtime is asked. Where a prediction fails (CUDA's own order of
//! GPUs that differ, a MIG instance that names no GPU) and a variable lists devices, the variable is obeyed
//! by leaving it alone, and the rank is placed as one without a GPU; where none does, all GPUs are listed, in
//! PCI order.

use placement::Target;
use topo::Start;
use topo::model::Gpu;
use topo::visibility::{Runtime, Visibility};

/// A GPU, or a part of one, that a program would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleGpu {
    /// The GPU.
    pub target: Target,
    /// The part of it, as the variable names it.
    pub part: Option<String>,
    /// Whose variable it is chosen by; `None` where no variable is known to choose it.
    pub runtime: Option<Runtime>,
    /// Its position in the runtime's list; in PCI order where that list is not known.
    pub at: usize,
}

/// What a program would see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleGpus {
    /// In the order in which a variable names them; in PCI order where none does, as the plan of a node has
    /// them.
    pub gpus: Vec<VisibleGpu>,
    /// Warnings about the variables.
    pub notes: Vec<String>,
}

impl VisibleGpus {
    /// What a program that starts so would see.
    pub fn of(start: &Start) -> Self {
        let mut visible = Self::default();
        for visibility in &start.visibility {
            visible.add(start, visibility);
        }
        let is_known = |gpu: &Gpu| Runtime::of_vendor(gpu.vendor_id).is_some();
        if visible.gpus.is_empty() && !start.topology.gpus.iter().any(is_known) {
            // GPUs that no variable of ours chooses among can still be placed near to.
            let others = start.topology.gpus.iter().filter(|gpu| !start.hidden.contains(gpu.index));
            visible.gpus.extend(others.enumerate().map(|(at, gpu)| whole(gpu, None, at)));
        }
        visible
    }

    fn add(&mut self, start: &Start, visibility: &Visibility) {
        let runtime = visibility.runtime;
        let name = runtime.word();
        let Some(devices) = &visibility.devices else {
            let why = visibility.reason.as_deref().unwrap_or("no reason is given");
            if narrows(visibility) {
                self.notes.push(format!(
                    "the effect of {name}'s variables is not known ({why}): they are left as they are"
                ));
                return;
            }
            // None is hidden; only the runtime's order is not known.
            let all =
                start.topology.gpus.iter().filter(|gpu| Runtime::of_vendor(gpu.vendor_id) == Some(runtime));
            let all = all.filter(|gpu| !start.hidden.contains(gpu.index));
            let can_be_named = runtime == Runtime::Cuda || !start.rocr.is_empty();
            self.gpus
                .extend(all.enumerate().map(|(at, gpu)| whole(gpu, can_be_named.then_some(runtime), at)));
            if !can_be_named {
                self.notes.push(format!("no variable is set for {name}: {why}"));
            }
            return;
        };

        let gpus: Option<Vec<(&Gpu, &Option<String>)>> =
            devices.iter().map(|device| Some((start.topology.gpu_at(device.pci?)?, &device.part))).collect();
        let begin = self.gpus.len();

        match gpus {
            None => {
                let missing = devices.iter().find_map(|device| match device.pci {
                    None => Some("a part of a GPU that no file places (MIG)".to_owned()),
                    Some(pci) if start.topology.gpu_at(pci).is_none() => {
                        Some(format!("GPU {pci}, which the topology does not show"))
                    }
                    Some(_) => None,
                });
                let missing = missing.unwrap_or_default();
                self.notes.push(format!("{name} would see {missing}: its variables are left as they are"));
            }
            Some(gpus) => self.gpus.extend(gpus.into_iter().enumerate().map(|(at, (gpu, part))| {
                let seen = whole(gpu, Some(runtime), at);
                let uuid = part.clone().or(seen.target.uuid);
                VisibleGpu { target: Target { uuid, ..seen.target }, part: part.clone(), ..seen }
            })),
        }

        if !narrows(visibility) {
            self.gpus[begin..].sort_by_key(|seen| seen.target.index);
        }
    }

    /// The targets, in order.
    pub fn targets(&self) -> Vec<Target> {
        self.gpus.iter().map(|seen| seen.target.clone()).collect()
    }

    /// What this target is seen as.
    pub fn find(&self, target: &Target) -> Option<&VisibleGpu> {
        self.gpus.iter().find(|seen| seen.target == *target)
    }
}

fn whole(gpu: &Gpu, runtime: Option<Runtime>, at: usize) -> VisibleGpu {
    VisibleGpu { target: Target::of_gpu(gpu), part: None, runtime, at }
}

/// Whether a variable is set that lists devices; one that only says how they are ordered does not.
pub fn narrows(visibility: &Visibility) -> bool {
    visibility.variables.keys().any(|name| name.ends_with("VISIBLE_DEVICES"))
}

/// Whether a variable leaves a program one GPU of the machine's several.
pub fn is_one_of_several(start: &Start) -> bool {
    let chosen = start.visibility.iter().any(narrows);
    chosen && start.topology.gpus.len() > 1 && VisibleGpus::of(start).gpus.len() == 1
}

#[cfg(test)]
mod tests {
    use topo::visibility::Visible;

    use super::*;
    use crate::machine::{AMD, NVIDIA, address, start};

    fn indices(visible: &VisibleGpus) -> Vec<u32> {
        visible.gpus.iter().map(|seen| seen.target.index).collect()
    }

    #[test]
    fn what_a_variable_leaves_is_seen_in_its_order() {
        assert_eq!(
            indices(&VisibleGpus::of(&start(NVIDIA, &[3, 1], &[("CUDA_VISIBLE_DEVICES", "3,1")]))),
            [3, 1]
        );
        assert_eq!(
            indices(&VisibleGpus::of(&start(NVIDIA, &[], &[("CUDA_VISIBLE_DEVICES", "")]))),
            [0_u32; 0]
        );
    }

    #[test]
    fn without_a_variable_the_order_is_that_of_pci_whatever_the_runtime_counts() {
        let visible = VisibleGpus::of(&start(AMD, &[3, 2, 1, 0], &[]));
        assert_eq!(indices(&visible), [0, 1, 2, 3]);
        assert_eq!(visible.gpus.iter().map(|seen| seen.at).collect::<Vec<_>>(), [3, 2, 1, 0]);
    }

    #[test]
    fn an_order_that_only_cuda_knows_hides_nothing_unless_an_index_is_set() {
        let mut start = start(NVIDIA, &[], &[]);
        start.visibility[0].devices = None;
        start.visibility[0].reason = Some("FASTEST_FIRST".to_owned());
        assert_eq!(indices(&VisibleGpus::of(&start)), [0, 1, 2, 3]);
        start.visibility[0].variables.insert("CUDA_VISIBLE_DEVICES".to_owned(), "1".to_owned());
        let visible = VisibleGpus::of(&start);
        assert_eq!(indices(&visible), [0_u32; 0]);
        assert!(visible.notes[0].contains("FASTEST_FIRST") && visible.notes[0].contains("left"));
    }

    #[test]
    fn amd_gpus_without_their_driver_are_near_something_and_have_no_variable() {
        let mut start = start(AMD, &[], &[]);
        (start.visibility[0].devices, start.rocr) = (None, Vec::new());
        let visible = VisibleGpus::of(&start);
        assert_eq!(indices(&visible), [0, 1, 2, 3]);
        assert!(visible.gpus.iter().all(|seen| seen.runtime.is_none()));
        assert!(visible.notes[0].contains("HIP"), "{:?}", visible.notes);
    }

    #[test]
    fn a_mig_instance_is_its_gpus_place_and_keeps_its_own_name() {
        let mut start = start(NVIDIA, &[], &[]);
        let part = Some("MIG-GPU-1/1/0".to_owned());
        start.visibility[0].devices = Some(vec![Visible { pci: Some(address(1)), part: part.clone() }]);
        let visible = VisibleGpus::of(&start);
        assert_eq!((indices(&visible), &visible.gpus[0].part), (vec![1], &part));
        start.visibility[0].devices = Some(vec![Visible { pci: None, part }]);
        let unplaced = VisibleGpus::of(&start);
        assert!(unplaced.gpus.is_empty() && unplaced.notes[0].contains("MIG"), "{unplaced:?}");
    }

    #[test]
    fn gpus_of_a_vendor_without_a_variable_count_only_where_there_are_no_others() {
        let mut start = start(NVIDIA, &[0], &[]);
        start.topology.gpus[3].vendor_id = 0x8086;
        assert_eq!(indices(&VisibleGpus::of(&start)), [0]);
        start.topology.gpus.drain(..3);
        start.visibility.clear();
        let visible = VisibleGpus::of(&start);
        assert_eq!((indices(&visible), visible.gpus[0].runtime), (vec![3], None));
    }
}
