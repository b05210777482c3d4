//! Texts of other tools against the hwloc files of the same machines: every answer is the same, or it is
//! unknown.
//!
//! The machines are the project's own files and, where they are, the captures of `captures.rs`. lstopo itself
//! prints the texts; the tests say what they leave out where it is not installed. Some 420 lines because the
//! texts of each tool are held against both.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use stats::{IdSet, PciAddress};
use topo::model::{Gpu, Rung, Topology, Unsaid};
use topo::{Survey, survey_files, survey_xml};

type Outcome = Result<(), Box<dyn Error>>;

/// How often a text gave the answer of the file, and how often none; what was different, in words.
#[derive(Default)]
struct Comparison {
    same: usize,
    unknown: usize,
    different: Vec<String>,
}

impl Comparison {
    /// Compares one fact; `None` is unknown.
    fn fact<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, text: Option<T>, file: &T) {
        match text {
            None => self.unknown += 1,
            Some(text) if text == *file => self.same += 1,
            Some(text) => self.different.push(format!("{what}: the text says {text:?}, the file {file:?}")),
        }
    }

    fn machines(&mut self, name: &str, text: &Survey, file: &Survey) {
        let unsaid = text.topology.source.unsaid();
        let (one, other) = (&text.topology, &file.topology);
        // A text shows what the process may use that printed it.
        let shown = other.allowed.cpuset();
        let said = |part: Unsaid, sets: Vec<IdSet>| (!unsaid.contains(&part)).then_some(sets);
        self.fact(&format!("{name}: PUs"), Some(online(one)), &online(other).and(&shown));
        self.fact(&format!("{name}: cores"), said(Unsaid::Cores, cores(one)), &within(cores(other), &shown));
        self.fact(&format!("{name}: L3s"), said(Unsaid::L3s, l3s(one)), &within(l3s(other), &shown));
        let of_packages = within(packages(other), &shown);
        self.fact(&format!("{name}: packages"), said(Unsaid::Packages, packages(one)), &of_packages);
        for node in &other.nodes {
            let text = one.node(node.os_index).map(|node| node.pus.clone());
            self.fact(&format!("{name}: PUs of node {}", node.os_index), text, &node.pus.and(&shown));
        }
        for gpu in &other.gpus {
            let text = one.gpus.iter().find(|other| other.pci == gpu.pci);
            self.gpu(&format!("{name}: GPU {}", gpu.pci), text, gpu);
        }
        for gpu in one.gpus.iter().filter(|gpu| !other.gpus.iter().any(|known| known.pci == gpu.pci)) {
            self.different.push(format!("{name}: the file has no GPU {}", gpu.pci));
        }
        let ways = |survey: &Survey| -> BTreeMap<(PciAddress, PciAddress), _> {
            let pci = |label: &str| {
                survey.interconnect.devices.iter().find(|one| one.label == label).map(|one| one.pci)
            };
            let pairs = survey.interconnect.pairs.iter();
            pairs.filter_map(|pair| Some(((pci(&pair.from)?, pci(&pair.to)?), pair.pci))).collect()
        };
        let (text, file) = (ways(text), ways(file));
        for ((from, to), level) in &file {
            let text = text.get(&(*from, *to)).or_else(|| text.get(&(*to, *from))).copied().flatten();
            match (text, level) {
                (None, _) => self.unknown += 1,
                (text, level) => self.fact(&format!("{name}: from {from} to {to}"), Some(text), level),
            }
        }
    }

    /// A text may know that a GPU is near to a node and not to which L3 of it, and is then less exact and not
    /// different.
    fn gpu(&mut self, what: &str, text: Option<&Gpu>, file: &Gpu) {
        let known = text.filter(|gpu| gpu.locality.rung != Rung::Unknown);
        let Some(known) = known else { return self.unknown += 1 };
        let own = |gpu: &Gpu| (gpu.locality.rung, gpu.locality.pus.clone());
        let is_coarser =
            known.locality.rung == Rung::Driver && file.locality.pus.is_subset(&known.locality.pus);
        if is_coarser && !file.locality.pus.is_empty() {
            self.same += 1;
        } else {
            self.fact(what, Some(own(known)), &own(file));
        }
    }

    #[allow(clippy::print_stderr)]
    fn end(&self, what: &str) {
        let all = self.same + self.unknown + self.different.len();
        eprintln!("{what}: {} of {all} answers the same, {} unknown", self.same, self.unknown);
        assert!(self.different.is_empty(), "{}", self.different.join("\n"));
        assert!(self.same > 0, "{what}: nothing was compared");
    }
}

fn online(topology: &Topology) -> IdSet {
    let all: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    all.minus(&topology.allowed.offline_pus)
}

fn cores(topology: &Topology) -> Vec<IdSet> {
    topology.cores.iter().map(|core| core.pus.clone()).collect()
}

fn l3s(topology: &Topology) -> Vec<IdSet> {
    topology.l3s.iter().map(|l3| l3.pus.clone()).collect()
}

/// The parts of these sets that a text shows, by their first PU.
fn within(sets: Vec<IdSet>, shown: &IdSet) -> Vec<IdSet> {
    let parts = sets.iter().map(|set| set.and(shown));
    let mut parts: Vec<IdSet> = parts.filter(|part| !part.is_empty()).collect();
    parts.sort_by_key(IdSet::first);
    parts
}

fn packages(topology: &Topology) -> Vec<IdSet> {
    let packages = topology.packages.iter().filter(|package| !package.pus.is_empty());
    let mut all: Vec<IdSet> = packages.map(|package| package.pus.clone()).collect();
    all.sort_by_key(IdSet::first);
    all
}

/// The project's own files, and the captures where they are.
fn machines() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let captures = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    let mut files = Vec::new();
    for folder in [own, captures.join("xml"), captures.join("xml-more")] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    Ok(files)
}

fn written(folder: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}

/// What lstopo prints of a file; `None` where it is not installed.
fn lstopo(file: &Path, options: &[&str]) -> Option<String> {
    let mut lstopo = Command::new("lstopo-no-graphics");
    lstopo.args(options).arg("-i").arg(file).args(["--of", "console"]);
    let output = lstopo.output().ok()?;
    String::from_utf8(output.stdout).ok()
}

#[test]
#[allow(clippy::print_stderr)]
fn the_text_of_lstopo_says_what_its_file_says_or_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    if Command::new("lstopo-no-graphics").arg("--version").output().is_err() {
        eprintln!("SKIPPED the_text_of_lstopo_says_what_its_file_says_or_nothing: no lstopo");
        return Ok(());
    }
    for options in [&[][..], &["-p"], &["-v"]] {
        let mut comparison = Comparison::default();
        for path in machines()? {
            let Ok(file) = survey_xml(&path) else { continue };
            let Some(text) = lstopo(&path, options).filter(|text| text.contains("PU ")) else { continue };
            // Values of several lines that numabench itself saved have no quotes there.
            if text.contains("numabench:") {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = survey_files(&[written(folder.path(), "lstopo.txt", &text)?])?;
            comparison.machines(&name, &text, &file);
        }
        comparison.end(&format!("lstopo {options:?}"));
    }
    Ok(())
}

/// A machine with the facts of `nvidia-smi topo -m` in the form of that tool, from our own matrix of it;
/// `None` where it has cells that the tool has not.
fn nvidia_matrix(file: &Survey) -> Option<String> {
    let text = topo::text::matrix(file, 200);
    let table: String =
        text.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    let is_nvidias =
        file.topology.gpus.iter().all(|gpu| gpu.vendor_id == 0x10de) && !file.topology.gpus.is_empty();
    (is_nvidias && !table.contains('?'))
        .then(|| format!("{table}{}", text.split("NICs\n").nth(1).unwrap_or_default()))
}

#[test]
fn a_matrix_of_nvidia_smi_gives_back_its_cells_and_affinities() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (mut cells, mut gpus) = (0, 0);
    for path in machines()? {
        let Ok(file) = survey_xml(&path) else { continue };
        let Some(text) = nvidia_matrix(&file) else { continue };
        let read = survey_files(&[written(folder.path(), "matrix.txt", &text)?])?;
        let name = path.display();
        let both = file.interconnect.pairs.iter().zip(&read.interconnect.pairs);
        for (known, read) in both {
            let links = |pair: &topo::interconnect::Pair| match pair.fabric {
                Some(topo::interconnect::Fabric::Nvlink { links, .. }) => links,
                _ => None,
            };
            assert_eq!((links(known), &known.from, &known.to), (links(read), &read.from, &read.to), "{name}");
            let level = if links(known).is_some() { None } else { known.pci };
            assert_eq!(level, read.pci, "{name}: {} to {}", known.from, known.to);
            cells += 1;
        }
        assert_eq!(file.topology.gpus.len(), read.topology.gpus.len(), "{name}");
        for (known, read) in file.topology.gpus.iter().zip(&read.topology.gpus) {
            assert!(!read.pci.is_known(), "{name}: an address that no row says");
            if read.locality.rung != Rung::Unknown {
                assert_eq!(known.locality.pus, read.locality.pus, "{name}: GPU {}", known.pci);
                gpus += 1;
            }
        }
    }
    assert!(cells > 50 && gpus > 20, "{cells} cells and {gpus} GPUs were compared");
    Ok(())
}

/// The text published of a machine that is also among the captures.
fn published(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let captures = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    Some(captures.join("text").join(name)).filter(|path| path.is_file())
}

#[test]
#[allow(clippy::print_stderr)]
fn published_texts_say_what_the_captures_of_their_machines_say() -> Outcome {
    let (Some(lumi), Some(quad), Some(tree)) = (
        published("lumi-g-rocm-smi-showtoponuma.txt"),
        published("gh200-quad-nvidia-smi-topo-m.txt"),
        published("lumi-g-lstopo-p-numa0.txt"),
    ) else {
        eprintln!("SKIPPED published_texts_say_what_the_captures_of_their_machines_say: no captures");
        return Ok(());
    };
    let capture = |name: &str| survey_xml(&quad.with_file_name("../xml").join(name));
    let (tioga, gh200) = (capture("mi250x-tioga.xml")?, capture("gh200-quad-synthetic-gpunuma-kept.xml")?);

    // rocm-smi names nodes; the capture of the same kind of node says them for the same GPUs.
    let text = survey_files(&[lumi])?;
    let nodes = |survey: &Survey| -> Vec<IdSet> {
        survey.topology.gpus.iter().map(|gpu| gpu.locality.nodes.clone()).collect()
    };
    assert_eq!(nodes(&text), nodes(&tioga));

    let text = survey_files(std::slice::from_ref(&quad))?;
    for (text, file) in text.topology.gpus.iter().zip(&gh200.topology.gpus) {
        assert_eq!(text.locality.pus, file.locality.pus, "GPU {}", file.pci);
    }

    // A job without the first core of each L3 sees the two GPUs of node 0.
    let text = survey_files(&[tree])?;
    assert_eq!(text.topology.gpus.len(), 2);
    for gpu in &text.topology.gpus {
        let file = tioga.topology.gpu_at(gpu.pci).ok_or("no such GPU")?;
        assert!(gpu.locality.pus.is_subset(&file.locality.pus), "GPU {}", gpu.pci);
        assert_eq!(gpu.locality.pus.len() + 2, file.locality.pus.len(), "GPU {}", gpu.pci);
    }
    Ok(())
}

#[test]
#[allow(clippy::print_stderr)]
fn this_machines_lscpu_and_numactl_say_what_is_read_of_it() -> Outcome {
    let printed = |program: &str, options: &[&str]| {
        let output = Command::new(program).args(options).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(format!("host$ {program} {}\n{text}", options.join(" "))).filter(|_| output.status.success())
    };
    let (summary, list, nodes) =
        (printed("lscpu", &[]), printed("lscpu", &["-e"]), printed("numactl", &["-H"]));
    let (Some(summary), Some(list)) = (summary, list) else {
        eprintln!("SKIPPED this_machines_lscpu_and_numactl_say_what_is_read_of_it: no lscpu");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let (here, whole) =
        (topo::survey()?, [summary.as_str(), &list, nodes.as_deref().unwrap_or_default()].concat());
    for text in [whole.as_str(), &summary, &list] {
        let text = survey_files(&[written(folder.path(), "paste.txt", text)?])?;
        let mut comparison = Comparison::default();
        comparison.machines("this machine", &without_devices(text), &without_devices(here.clone()));
        comparison.end("lscpu and numactl of this machine");
    }
    Ok(())
}

/// lscpu and numactl name no device.
fn without_devices(mut survey: Survey) -> Survey {
    survey.topology.gpus.clear();
    survey.interconnect.devices.clear();
    survey.interconnect.pairs.clear();
    survey
}

/// Outputs of all tools in one text, each short.
const ALL: &str = "On-line CPU(s) list: 0-3\nSocket(s): 1\nL3: 32 MiB (2 instances)\nNUMA node0 CPU(s): 0-1\n\
    NUMA node1 CPU(s): 2-3\n\
    CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n0 0 0 0 0:0:0:0 yes\n1 0 0 1 1:1:1:0 yes\n\
    2 1 0 2 2:2:2:1 yes\n3 1 0 3 3:3:3:1 yes\n\n\
    available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 64 MB\nnode 1 cpus: 2 3\nnode 1 size: 64 MB\n\
    node distances:\nnode   0   1\n  0:  10  20\n  1:  20  10\n\
    Machine (128MB total) + Package L#0\n  Group0\n    NUMANode P#0 (64MB)\n    Core P#0 + PU P#0\n    Core \
    P#1 + PU P#1\n    HostBridge\n      PCIBridge\n        PCI c1:00.0 (3D)\n          GPU(NVML) \
    \"nvml0\"\n      2 x { PCI c2:00.0-1 (Ethernet) }\n      PCIBridge\n        PCI c3:00.0 \
    (Display)\n          GPU(RSMI) \"rsmi0\"\n  Group0\n    NUMANode P#1 (64MB)\n    Core P#2 + PU \
    P#2\n    Core P#3 + PU P#3\n\
    \tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPXB\t0-1\t0\t\tN/A\n\
    NIC0\tPXB\t X \t\t\t\t\n\nNIC0: mlx5_0\n\
    GPU 0: NVIDIA H100 (UUID: GPU-1)\n|   0  NVIDIA H100  On  | 00000000:C1:00.0 Off |  0 |\n\
    GPU 00000000:C1:00.0\n    Minor Number : 0\n\
    === Link Type between two GPUs ===\n       GPU0\nGPU0   0\nGPU[0] : (Topology) Numa Affinity: 0\n\
    GPU[0] : PCI Bus: 0000:C3:00.0\n";

#[test]
fn a_text_that_ends_anywhere_is_read_as_far_as_it_goes_or_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let whole = survey_files(&[written(folder.path(), "all.txt", ALL)?])?;
    assert_eq!(whole.topology.gpus.len(), 2);
    assert_eq!(whole.topology.gpus[0].name.value.as_deref(), Some("NVIDIA H100"));
    let mut read = 0;
    for end in (0..ALL.len()).filter(|end| ALL.is_char_boundary(*end)) {
        // Neither a panic nor a GPU that the whole has not got.
        if let Ok(part) = survey_files(&[written(folder.path(), "part.txt", &ALL[..end])?]) {
            assert!(part.topology.gpus.len() <= 2, "{end}");
            read += 1;
        }
    }
    assert!(read > ALL.len() / 2, "{read} of {}", ALL.len());
    Ok(())
}

#[test]
fn texts_of_two_machines_are_refused_and_so_is_a_text_of_no_tool() -> Outcome {
    let folder = tempfile::tempdir()?;
    let one = written(folder.path(), "one.txt", "On-line CPU(s) list: 0-7\nNUMA node0 CPU(s): 0-7\n")?;
    let other = written(
        folder.path(),
        "other.txt",
        "available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 9 MB\n",
    )?;
    let none = written(folder.path(), "none.txt", "Hello\n")?;
    let refused =
        |paths: &[PathBuf]| survey_files(paths).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused(&[one, other]).contains("numactl -H gives NUMA node 0 the PUs 0-3"));
    assert!(refused(&[none]).contains("neither hwloc XML nor the output of a tool that is read"));
    Ok(())
}

#[test]
fn lists_of_all_cpus_do_not_say_which_of_them_a_job_may_use() -> Outcome {
    let folder = tempfile::tempdir()?;
    let list = written(folder.path(), "list.txt", "CPU NODE SOCKET CORE\n0 0 0 0\n1 0 0 1\n")?;
    let tree = written(folder.path(), "tree.txt", TREE)?;
    let said = |file: &Path| -> Result<(bool, String), Box<dyn Error>> {
        let survey = survey_files(&[file.to_owned()])?;
        let is_open = survey.topology.source.unsaid().contains(&Unsaid::Allowed);
        Ok((is_open, topo::text::render(&survey, 1000)))
    };

    let (is_open, view) = said(&list)?;
    assert!(is_open, "{view}");
    assert_eq!(view.matches("a job may use").count(), 1, "{view}");
    let (is_open, view) = said(&tree)?;
    assert!(!is_open && !view.contains("a job may use"), "lstopo shows its own part: {view}");
    Ok(())
}

const TREE: &str = "Machine (125GB total)\n  Package P#0\n    NUMANode P#0 (62GB)\n    Core P#0\n      \
    PU P#0\n    HostBridge\n      PCIBridge\n        PCI 81:00.0 (3D)\n          GPU(NVML) \"nvml0\"\n";

#[test]
fn gpus_of_two_machines_are_refused_and_do_not_add_up() -> Outcome {
    let folder = tempfile::tempdir()?;
    let tree = written(folder.path(), "lstopo.txt", TREE)?;
    let log = |bus: &str| {
        format!(
            "Attached GPUs : 1\nGPU 00000000:{bus}:00.0\n    GPU UUID : GPU-{bus}\n    Minor Number : 0\n"
        )
    };
    let (same, other) =
        (written(folder.path(), "same.txt", &log("81"))?, written(folder.path(), "other.txt", &log("07"))?);
    let rocm = "GPU[0]\t\t: PCI Bus: 0000:C1:00.0\nGPU[0]\t\t: (Topology) Numa Affinity: 0\n";
    let rocm = written(folder.path(), "rocm.txt", rocm)?;

    let survey = survey_files(&[tree.clone(), same])?;
    assert_eq!(survey.topology.gpus.len(), 1);
    assert_eq!(survey.topology.gpus[0].uuid.as_deref(), Some("GPU-81"));
    for (file, words) in [(other, "nvidia-smi names a GPU at 0000:07:00.0"), (rocm, "rocm-smi names")] {
        let refused = survey_files(&[tree.clone(), file]).err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|why| why.contains(words)), "{refused:?}");
    }
    Ok(())
}

#[test]
fn a_text_that_speaks_of_no_gpus_does_not_say_that_there_are_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let masks = "On-line CPU(s) mask: 0x\nSocket(s): 1\nNUMA node0 CPU(s):\n";
    let file = written(folder.path(), "lscpu.txt", masks)?;
    let survey = survey_files(&[file])?;
    assert_eq!(survey.topology.source.unsaid(), [Unsaid::Cpus, Unsaid::Gpus]);
    assert!(!topo::text::render(&survey, 100).contains("among the PCI devices"));
    Ok(())
}
