//! Which GPUs a process can use: what its variables leave of what its driver and its job let it open.
//!
//! No runtime is started: `visibility` predicts what the variables mean. Of this process it is asked which
//! device files it may open, since the device cgroup of a job takes GPUs away before a runtime counts them;
//! of another process, where that cannot be asked, it is seen which files it has open. CUDA opens the files
//! of all GPUs that it lists, ROCm those of all that the kernel shows, so the open ones are an upper bound
//! and the two together are what is known, unless a driver's list of processes was asked (`by_use`). Left
//! out: MIG, which only NVML knows.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use super::Who;
use super::closed::{self, ClosedGpu};
use super::off_bus;
use crate::fs_root::FsRoot;
use crate::gpu_class::{AMD, NVIDIA};
use crate::gpu_users::{GpuUse, GpuUsers};
use crate::kfd;
use crate::model::{Gpu, Topology, TopologySource};
use crate::nvml::Nvml;
use crate::step::{self, Access};
use crate::visibility::{self, Visible};

/// The GPUs that a process can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsableGpus {
    /// In its runtime's order; null where that is not known.
    pub devices: Option<Vec<Visible>>,
    /// How this is known, or why it is not.
    pub reason: String,
    /// The visible-devices variables that it was started with.
    pub variables: BTreeMap<String, String>,
    /// GPUs whose device files it has open, in PCI order; null where that cannot be seen (this process: it
    /// opens none).
    pub open: Option<Vec<PciAddress>>,
    /// GPUs that the device cgroup refuses it; null where that cannot be asked.
    pub refused: Option<Vec<PciAddress>>,
    /// What its variables ask for and is not there, in words; null where all is there.
    pub absent: Option<String>,
    /// GPUs of this machine whose device files the user of this process may not open.
    #[serde(default)]
    pub closed: Vec<ClosedGpu>,
    /// GPUs that it uses now, as their drivers' process lists say; null where no list was asked or the lists
    /// are of other processes.
    #[serde(default)]
    pub in_use: Option<Vec<GpuUse>>,
}

impl UsableGpus {
    /// The same where a driver was asked, and has GPUs that nothing else shows: `what` it has, in words.
    #[must_use]
    pub fn or_of_driver(mut self, what: Option<&str>) -> Self {
        if let (Some([]), Some(what)) = (self.devices.as_deref(), what) {
            self.devices = None;
            self.reason = what.to_owned();
        }
        self
    }

    /// The same for the process `pid`, by what the drivers' lists say: what it uses is certain, and goes
    /// before what it could use.
    #[must_use]
    pub fn by_use(mut self, pid: u32, users: &GpuUsers) -> Self {
        self.in_use = users.uses_of(pid, |pid| Path::new(&format!("/proc/{pid}")).exists());
        let used = self.in_use.iter().flatten();
        let devices: Vec<Visible> =
            used.clone().map(|one| Visible { pci: Some(one.pci), part: None }).collect();
        if let Some(source) = used.map(|one| one.source.clone()).next() {
            self.devices = Some(devices);
            self.reason = format!("{source} lists the process on it");
        }
        self
    }
}

/// The processes here, but this one, that have a GPU's device file open, as far as that may be seen.
pub fn having_open(topology: &Topology) -> Vec<u32> {
    let root = FsRoot::default();
    let pids = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let has = |pid: &u32| open(&root, topology, &format!("/proc/{pid}")).is_some_and(|open| !open.is_empty());
    pids.filter(|pid| *pid != std::process::id()).filter(has).collect()
}

/// The GPUs of `topology` that the process can use which was started with these variables.
pub(super) fn usable(
    root: &FsRoot,
    topology: &Topology,
    who: Who,
    folder: &str,
    variables: Result<BTreeMap<String, String>, String>,
) -> UsableGpus {
    let is_here = topology.source == TopologySource::ThisSystem;
    let closed = if is_here { closed::closed(root, topology, folder) } else { Vec::new() };
    let (open, refused, kept) = match who {
        Who::This if is_here => {
            let access = |pci| step::device_access(root, pci);
            let with = |wanted: Access| -> Vec<PciAddress> {
                topology.gpus.iter().map(|gpu| gpu.pci).filter(|pci| access(*pci) == wanted).collect()
            };
            let (refused, missing) = (with(Access::Refused), with(Access::Missing));
            (None, Some(refused.clone()), [refused, missing].concat())
        }
        Who::Pid(_) if is_here => (open(root, topology, folder), None, Vec::new()),
        _ => (None, None, Vec::new()),
    };

    let kept: Vec<PciAddress> = kept.into_iter().chain(closed.iter().map(|gpu| gpu.pci)).collect();
    let mut reachable = topology.clone();
    reachable.gpus.retain(|gpu| !kept.contains(&gpu.pci) && (!is_here || is_driven(root, gpu.vendor_id)));
    let set: Result<BTreeMap<String, String>, String> =
        variables.map(|all| all.into_iter().filter(|(name, _)| visibility::is_read(name)).collect());
    let unseen = if is_here && topology.gpus.is_empty() { off_bus::gpus(root) } else { None };
    let (devices, reason) = match (&set, unseen) {
        (_, Some(unseen)) => (None, unseen),
        _ if reachable.gpus.is_empty() => (Some(Vec::new()), nothing(topology, &kept)),
        (Ok(set), _) => predicted(root, &reachable, is_here.then_some(&kept), set),
        (Err(reason), _) => (None, reason.clone()),
    };
    let absent = set.as_ref().ok().filter(|_| !reachable.gpus.is_empty());
    let absent = absent
        .and_then(|set| absent_of(set, devices.as_deref()?, &reachable.gpus.iter().collect::<Vec<_>>()));
    let (devices, reason) = match &open {
        Some(open) if !open.is_empty() => with_open(devices, open, reason),
        _ => (devices, reason),
    };
    let variables = set.unwrap_or_default();
    UsableGpus { devices, reason, variables, open, refused, absent, closed, in_use: None }
}

/// Whether the driver is there without which no program can use a vendor's GPUs.
fn is_driven(root: &FsRoot, vendor: u16) -> bool {
    let any = |paths: [&str; 2]| paths.iter().any(|path| root.exists(path));
    match vendor {
        NVIDIA => any(["/proc/driver/nvidia", "/dev/nvidiactl"]),
        AMD => any(["/sys/class/kfd", "/dev/kfd"]),
        _ => false,
    }
}

fn nothing(topology: &Topology, kept: &[PciAddress]) -> String {
    match (topology.gpus.len(), kept.len()) {
        (0, _) => "there is no GPU among the PCI devices".to_owned(),
        (_, 0) => "no driver of a GPU is loaded".to_owned(),
        _ => "the device files of all GPUs are refused, or are not here".to_owned(),
    }
}

/// What the variables leave of these GPUs; `kept`: those of this machine that a process is kept from, which
/// ROCr does not count.
fn predicted(
    root: &FsRoot,
    reachable: &Topology,
    kept: Option<&Vec<PciAddress>>,
    set: &BTreeMap<String, String>,
) -> (Option<Vec<Visible>>, String) {
    let mut kfd = if kept.is_some() { kfd::gpus(root) } else { Vec::new() };
    kfd.retain(|agent| kept.is_none_or(|kept| !kept.contains(&agent.pci)));
    let mut devices = Vec::new();
    for runtime in visibility::visibility(reachable, &Nvml::NotAsked, &kfd, set) {
        match (runtime.devices, runtime.reason) {
            (Some(seen), _) => devices.extend(seen),
            (None, reason) => return (None, reason.unwrap_or_default()),
        }
    }
    let by: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let by = if by.is_empty() { "no variable hides one".to_owned() } else { by.join(" ") };
    (Some(devices), by)
}

/// What a variable lists beyond the devices that its runtime then has: a list with an entry of no device ends
/// there. Variables that no runtime of these GPUs reads are passed over, and ROCm's list is the one that
/// HIP's chooses from.
pub fn absent_of(set: &BTreeMap<String, String>, devices: &[Visible], reachable: &[&Gpu]) -> Option<String> {
    let there = reachable.len();
    let has = |vendor: u16| reachable.iter().any(|gpu| gpu.vendor_id == vendor);
    let is_read = |name: &str| match name.split_once('_').map(|(runtime, _)| runtime) {
        Some("ROCR" | "HIP") => has(AMD),
        Some("CUDA") => has(NVIDIA) || has(AMD),
        Some("NVIDIA") => has(NVIDIA),
        _ => true,
    };
    let is_chosen_from = |name: &str| name.starts_with("ROCR") && set.keys().any(|over| is_over_rocr(over));

    let hides_all = |entry: &&str| !entry.is_empty() && entry.parse::<i64>().is_ok_and(|index| index < 0);
    let words = ["none", "void", "nodevfiles", "all"];
    let lists = set.iter().filter(|(name, _)| name.ends_with("VISIBLE_DEVICES") && is_read(name));
    lists.into_iter().find_map(|(name, value)| {
        let left = if is_chosen_from(name) { there } else { devices.len() };
        let entries: Vec<&str> = value.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        let is_meant =
            entries.iter().any(hides_all) || words.contains(&value.trim().to_ascii_lowercase().as_str());
        let wanted = entries.len();
        (!is_meant && wanted > left).then(|| {
            let gpus = if there == 1 { "GPU" } else { "GPUs" };
            format!("{name}={value} names {wanted}, of which {left} can be used; there are {there} {gpus}")
        })
    })
}

/// Whether a variable chooses from what ROCm's own leaves.
fn is_over_rocr(name: &str) -> bool {
    ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"].contains(&name)
}

/// What is predicted and open; what is open, where nothing was predicted or both have nothing in common.
fn with_open(
    devices: Option<Vec<Visible>>,
    open: &[PciAddress],
    reason: String,
) -> (Option<Vec<Visible>>, String) {
    let is_open = |device: &Visible| device.pci.is_none_or(|pci| open.contains(&pci));
    // With none by the variables, files that are open are a monitor's: it asks the driver and computes
    // nothing.
    let is_none_meant = devices.as_ref().is_some_and(Vec::is_empty);
    let both: Vec<Visible> = devices.into_iter().flatten().filter(is_open).collect();
    if is_none_meant {
        return (None, format!("{reason}, and yet it has device files open"));
    }
    if both.is_empty() {
        let open = open.iter().map(|pci| Visible { pci: Some(*pci), part: None }).collect();
        return (Some(open), format!("the device files that it has open ({reason})"));
    }
    (Some(both), format!("{reason}, and the device files that it has open"))
}

/// The GPUs whose device files the process has open; `None` where its list of files cannot be read.
fn open(root: &FsRoot, topology: &Topology, folder: &str) -> Option<Vec<PciAddress>> {
    let descriptors = std::fs::read_dir(root.disk(&format!("{folder}/fd")).ok()?).ok()?;
    let files: Vec<_> =
        descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    let is_open = |pci: &PciAddress| {
        step::device_file(root, *pci)
            .is_some_and(|device| files.iter().any(|file| file.as_os_str() == device.as_str()))
    };
    Some(topology.gpus.iter().map(|gpu| gpu.pci).filter(is_open).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Two NVIDIA GPUs, at 0000:06:00.0 and 0000:14:00.0.
    fn machine() -> Result<Topology, crate::TopoError> {
        crate::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/interleaved.xml"))
    }

    /// The machine as one that is here, with NVIDIA's driver; process 7 has the second GPU's file open.
    fn here() -> Result<(tempfile::TempDir, Topology), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let at = |path: &str| folder.path().join(path);
        for (address, minor) in [("0000:06:00.0", 1), ("0000:14:00.0", 0)] {
            std::fs::create_dir_all(at(&format!("proc/driver/nvidia/gpus/{address}")))?;
            let text = format!("Model: \t A\nDevice Minor: \t {minor}\n");
            std::fs::write(at(&format!("proc/driver/nvidia/gpus/{address}/information")), text)?;
        }
        std::fs::create_dir_all(at("proc/7/fd"))?;
        std::os::unix::fs::symlink("/dev/nvidiactl", at("proc/7/fd/3"))?;
        std::os::unix::fs::symlink("/dev/nvidia0", at("proc/7/fd/4"))?;
        Ok((folder, Topology { source: TopologySource::ThisSystem, ..machine()? }))
    }

    fn set(variables: &[(&str, &str)]) -> Result<BTreeMap<String, String>, String> {
        Ok(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn buses(gpus: &UsableGpus) -> Option<Vec<u8>> {
        Some(gpus.devices.as_ref()?.iter().filter_map(|device| device.pci).map(|pci| pci.bus).collect())
    }

    #[test]
    fn of_a_saved_machine_the_variables_say_which() -> Outcome {
        let root = FsRoot::default();
        let of = |variables: &[(&str, &str)]| -> Result<UsableGpus, crate::TopoError> {
            Ok(usable(&root, &machine()?, Who::This, "/proc/self", set(variables)))
        };
        let one = of(&[("CUDA_VISIBLE_DEVICES", "1"), ("HOME", "/secret")])?;
        assert_eq!((buses(&one), one.reason.as_str()), (Some(vec![0x14]), "CUDA_VISIBLE_DEVICES=1"));
        assert_eq!(one.variables.len(), 1, "nothing else is kept");
        assert_eq!(buses(&of(&[])?), Some(vec![6, 0x14]));
        assert_eq!(buses(&of(&[("CUDA_VISIBLE_DEVICES", "")])?), Some(vec![]));

        for (asked, absent) in
            [("99", true), ("0,99", true), ("0,1", false), ("-1", false), ("", false), ("1", false)]
        {
            let gpus = of(&[("CUDA_VISIBLE_DEVICES", asked)])?;
            assert_eq!(gpus.absent.is_some(), absent, "{asked}: {gpus:?}");
        }

        let both = of(&[("ROCR_VISIBLE_DEVICES", "0,1,2,3"), ("CUDA_VISIBLE_DEVICES", "0")])?;
        assert_eq!((buses(&both), both.absent), (Some(vec![6]), None), "no runtime here reads ROCm's");

        let unread = usable(&root, &machine()?, Who::Pid(7), "/proc/7", Err("permission denied".to_owned()));
        assert_eq!((unread.devices, unread.reason.as_str()), (None, "permission denied"));
        Ok(())
    }

    #[test]
    fn hips_list_chooses_from_rocms_and_takes_nothing_away_from_it() -> Outcome {
        let mut amd = machine()?;
        amd.gpus.iter_mut().for_each(|gpu| gpu.vendor_id = AMD);
        let one = [Visible { pci: amd.gpus.first().map(|gpu| gpu.pci), part: None }];
        for (rocr, hip, absent) in [("0,1", "1", false), ("0,1,2", "1", true), ("0", "0,1", true)] {
            let variables = set(&[("ROCR_VISIBLE_DEVICES", rocr), ("HIP_VISIBLE_DEVICES", hip)])?;
            assert_eq!(
                absent_of(&variables, &one, &amd.gpus.iter().collect::<Vec<_>>()).is_some(),
                absent,
                "{rocr} {hip}"
            );
        }
        Ok(())
    }

    #[test]
    fn of_a_process_with_files_open_and_no_gpu_by_its_variables_it_is_not_known_which_it_has() -> Outcome {
        let (folder, topology) = here()?;
        let nothing = set(&[("CUDA_VISIBLE_DEVICES", "")]);
        let seven = usable(&FsRoot::at(folder.path()), &topology, Who::Pid(7), "/proc/7", nothing);
        assert_eq!(seven.devices, None, "{}", seven.reason);
        assert!(seven.reason.contains("and yet it has device files open"), "{}", seven.reason);
        Ok(())
    }

    #[test]
    fn the_files_that_another_process_has_open_narrow_what_its_variables_say() -> Outcome {
        let (folder, topology) = here()?;
        let root = FsRoot::at(folder.path());
        let seven = |variables| usable(&root, &topology, Who::Pid(7), "/proc/7", variables);
        let narrowed = seven(set(&[]));
        assert_eq!(buses(&narrowed), Some(vec![0x14]));
        assert_eq!(narrowed.open.map(|open| open.len()), Some(1));
        let why = "permission denied";
        let unread = seven(Err(why.to_owned()));
        assert_eq!(buses(&unread), Some(vec![0x14]));
        assert!(unread.reason.contains(why) && narrowed.reason != unread.reason, "{}", unread.reason);
        let other = usable(&root, &topology, Who::Pid(8), "/proc/8", set(&[("CUDA_VISIBLE_DEVICES", "0")]));
        assert_eq!((buses(&other), other.open), (Some(vec![6]), None), "no list of files");
        Ok(())
    }

    #[test]
    fn what_a_driver_lists_goes_before_what_variables_and_open_files_leave() -> Outcome {
        let (folder, topology) = here()?;
        let seven = usable(&FsRoot::at(folder.path()), &topology, Who::Pid(7), "/proc/7", set(&[]));
        let first = topology.gpus.first().ok_or("no GPU")?.pci;
        let own = std::process::id();
        let listed = GpuUse { pid: own, pci: first, bytes: Some(1 << 30), source: "NVML".to_owned() };
        let users = GpuUsers { uses: vec![listed], asked: vec!["NVML"], ..GpuUsers::default() };
        let used = seven.clone().by_use(own, &users);
        assert_eq!((buses(&used), used.reason.as_str()), (Some(vec![6]), "NVML lists the process on it"));
        let none = seven.clone().by_use(4_194_305, &users);
        assert_eq!(
            (buses(&none), none.in_use),
            (Some(vec![0x14]), Some(Vec::new())),
            "it has no context yet"
        );
        assert_eq!(seven.by_use(own, &GpuUsers::default()).in_use, None, "nobody was asked");

        Ok(())
    }

    #[test]
    fn what_has_no_device_file_here_is_not_counted_and_without_a_driver_there_is_nothing() -> Outcome {
        let (folder, topology) = here()?;
        let root = FsRoot::at(folder.path());
        // /dev/nvidia0 and 1 are this machine's, which has none where the tests run without a GPU.
        if !Path::new("/dev/nvidia0").exists() && !Path::new("/dev/nvidia1").exists() {
            let own = usable(&root, &topology, Who::This, "/proc/self", set(&[]));
            assert_eq!((buses(&own), own.refused), (Some(vec![]), Some(vec![])));
            insta::assert_snapshot!(own.reason, @"the device files of all GPUs are refused, or are not here");
        }
        let bare = tempfile::tempdir()?;
        let none = usable(&FsRoot::at(bare.path()), &topology, Who::Pid(7), "/proc/7", set(&[]));
        assert_eq!(buses(&none), Some(vec![]));
        insta::assert_snapshot!(none.reason, @"no driver of a GPU is loaded");
        Ok(())
    }
}
