//! The project's own machines: made here from descriptions, written to `fixtures/` for every test that needs
//! one.
//!
//! None is a capture. Each has the shape of a kind of machine, with the mapping of its devices where one is
//! published, so that what is shown of it can be held against what it is. `FIXTURES=write cargo nextest run
//! -p numabench-topo --test machines` writes the files; otherwise a file that is not as described is a
//! failure. What is shown of eight of them, word for word, is `views`'s, and what holds of each
//! `every_machine`'s.

mod gpu_nodes;
mod object;
mod odd_nodes;
mod parts;
mod saved_nodes;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Machine;
use stats::IdSet;
use topo::difference::differences;
use topo::model::{NodeKind, Rung, Topology};

type Outcome = Result<(), Box<dyn Error>>;

fn all() -> Vec<Machine> {
    vec![
        gpu_nodes::lumi_g("lumi-g", false),
        gpu_nodes::lumi_g("lumi-g-low-noise", true),
        saved_nodes::gh200_quad(),
        saved_nodes::hgx_h100(),
        gpu_nodes::dgx_a100(),
        gpu_nodes::leonardo(),
        gpu_nodes::pascal(),
        gpu_nodes::power9(),
        gpu_nodes::mi300a("mi300a", 1),
        gpu_nodes::mi300a("mi300a-cpx", 6),
        odd_nodes::knl(),
        odd_nodes::cpu_only(),
        odd_nodes::vm_one_node(),
        odd_nodes::vm_two_nodes(),
        odd_nodes::offline(),
        odd_nodes::job_share(),
        odd_nodes::job_left_out(),
        odd_nodes::smt_off(),
        odd_nodes::hybrid(),
        odd_nodes::ring_of_24(),
        odd_nodes::interleaved(),
        odd_nodes::memory_apart(),
        odd_nodes::hostile_names(),
    ]
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.xml"))
}

#[test]
fn each_file_is_as_described() -> Outcome {
    for machine in all() {
        let (path, xml) = (path(machine.name), machine.xml());
        if std::env::var_os("FIXTURES").is_some_and(|value| value == "write") {
            std::fs::write(&path, &xml)?;
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == xml, "{} is not as described: write it with FIXTURES=write", path.display());
    }
    Ok(())
}

fn load(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&path(name))
}

/// The published mappings: of each GPU in PCI order its node and the first of its cores that may be used.
#[test]
fn each_gpu_is_near_the_node_and_the_cores_that_are_published() -> Outcome {
    let wanted: [(&str, &[(&str, u32)]); 10] = [
        ("lumi-g", &[("3", 48), ("3", 56), ("1", 16), ("1", 24), ("0", 0), ("0", 8), ("2", 32), ("2", 40)]),
        (
            "lumi-g-low-noise",
            &[("3", 49), ("3", 57), ("1", 17), ("1", 25), ("0", 1), ("0", 9), ("2", 33), ("2", 41)],
        ),
        // Its own memory is a node of each GPU's too.
        ("gh200-quad", &[("0,4", 0), ("1,12", 72), ("2,20", 144), ("3,28", 216)]),
        (
            "dgx-a100",
            &[("3", 48), ("3", 48), ("1", 16), ("1", 16), ("7", 112), ("7", 112), ("5", 80), ("5", 80)],
        ),
        ("leonardo", &[("0", 0), ("0", 0), ("0", 0), ("0", 0)]),
        ("pascal", &[("0", 0), ("0", 0)]),
        ("power9", &[("0,254-255", 4), ("0,254-255", 4), ("8,252-253", 20), ("8,252-253", 20)]),
        ("mi300a", &[("0", 0), ("1", 24), ("2", 48), ("3", 72)]),
        ("interleaved", &[("0", 0), ("1", 1)]),
        ("ring-of-24", &[("18", 10), ("6", 34)]),
    ];
    for (name, wanted) in wanted {
        let topology = load(name)?;
        let found: Vec<(String, Option<u32>)> = topology
            .gpus
            .iter()
            .map(|gpu| (gpu.locality.nodes.to_string(), topology.first_local_pu(gpu)))
            .collect();
        let wanted: Vec<_> =
            wanted.iter().map(|(nodes, first)| ((*nodes).to_owned(), Some(*first))).collect();
        assert_eq!(found, wanted, "{name}");
    }
    Ok(())
}

#[test]
fn each_partition_of_a_divided_gpu_is_a_device_near_its_gpus_cores() -> Outcome {
    let topology = load("mi300a-cpx")?;
    let addresses: Vec<String> = topology.gpus.iter().map(|gpu| gpu.pci.to_string()).collect();
    assert_eq!((addresses.len(), &*addresses[5], &*addresses[6]), (24, "0000:01:00.5", "0001:01:00.0"));
    let names: Vec<&[String]> = topology.gpus.iter().map(|gpu| gpu.os_devices.as_slice()).collect();
    assert_eq!(
        (names[2], names[23]),
        (&["rsmi2".to_owned()][..], &["rsmi23".to_owned()][..]),
        "numbers, not words"
    );
    for gpu in &topology.gpus {
        assert_eq!(gpu.locality.nodes.to_string(), (gpu.index / 6).to_string(), "GPU {}", gpu.index);
    }
    let identities = topo::survey_xml(&path("mi300a-cpx"))?.identities;
    assert!(identities.iter().all(|identity| identity.smi_index == Some(identity.index)), "{identities:?}");
    Ok(())
}

#[test]
fn a_gpu_that_is_divided_otherwise_is_a_difference() -> Outcome {
    let (whole, divided) = (topo::survey_xml(&path("mi300a"))?, topo::survey_xml(&path("mi300a-cpx"))?);
    let changes: Vec<String> = differences(&whole, &divided).into_iter().map(|change| change.words).collect();
    assert!(
        changes.iter().any(|change| change.contains("GPU 0000:01:00.0: 6 partitions, was 1")),
        "{changes:?}"
    );
    assert_eq!(changes.iter().filter(|change| change.ends_with(" new")).count(), 20, "{changes:?}");
    Ok(())
}

#[test]
fn on_lumi_g_each_gpu_has_an_l3_and_the_low_noise_cores_are_reserved() -> Outcome {
    let topology = load("lumi-g-low-noise")?;
    let l3s: Vec<String> =
        topology.gpus.iter().filter_map(|gpu| Some(gpu.locality.l3_pus.as_ref()?.to_string())).collect();
    let first_halves = ["48-55", "56-63", "16-23", "24-31", "0-7", "8-15", "32-39", "40-47"];
    assert_eq!(l3s.len(), 8);
    assert!(l3s.iter().zip(first_halves).all(|(l3, cores)| l3.starts_with(cores)), "{l3s:?}");
    assert!(topology.gpus.iter().all(|gpu| gpu.locality.rung == Rung::L3));
    let reserved: Vec<Option<u32>> = topology.reserved_cores().iter().map(|core| core.pus.first()).collect();
    assert_eq!(reserved, [0, 8, 16, 24, 32, 40, 48, 56].map(Some));
    assert!(load("lumi-g")?.reserved_cores().is_empty());
    Ok(())
}

#[test]
fn of_a_superchips_36_nodes_four_are_for_host_buffers() -> Outcome {
    let topology = load("gh200-quad")?;
    let of = |kind: NodeKind| -> String {
        let nodes = topology.nodes.iter().filter(|node| node.kind == kind);
        nodes.map(|node| node.os_index).collect::<IdSet>().to_string()
    };
    assert_eq!((of(NodeKind::Normal).as_str(), of(NodeKind::GpuMemory).as_str()), ("0-3", "4,12,20,28"));
    assert_eq!(of(NodeKind::Empty), "5-11,13-19,21-27,29-35");
    let host: Vec<String> = topology.gpus.iter().map(|gpu| topology.host_nodes(gpu).to_string()).collect();
    assert_eq!(host, ["0", "1", "2", "3"]);
    let owners: Vec<Option<u32>> =
        [4, 12, 20, 28, 5].iter().map(|node| topology.gpu_of_memory(*node).map(|gpu| gpu.index)).collect();
    assert_eq!(owners, [Some(0), Some(1), Some(2), Some(3), None]);
    assert_eq!(load("power9")?.gpu_of_memory(254), None, "two GPUs are as near");
    Ok(())
}

#[test]
fn a_gpu_that_shares_memory_with_its_cpu_says_in_which_mode() -> Outcome {
    let modes = |name: &str| -> Result<Vec<Option<String>>, topo::TopoError> {
        let topology = load(name)?;
        Ok(topology.gpus.iter().map(|gpu| topology.memory_mode(gpu)).collect())
    };
    let lines = |modes: Vec<Option<String>>| {
        modes.into_iter().collect::<Option<Vec<_>>>().map(|modes| modes.join("\n"))
    };
    insta::assert_snapshot!(lines(modes("gh200-quad")?).ok_or("a GPU without a mode")?, @"
    its memory is NUMA node 4 (NUMA mode)
    its memory is NUMA node 12 (NUMA mode)
    its memory is NUMA node 20 (NUMA mode)
    its memory is NUMA node 28 (NUMA mode)
    ");
    insta::assert_snapshot!(lines(modes("mi300a")?).ok_or("a GPU without a mode")?, @"
    CPU and GPU share the HBM of the package (APU): H2D and D2H copy from HBM to HBM
    CPU and GPU share the HBM of the package (APU): H2D and D2H copy from HBM to HBM
    CPU and GPU share the HBM of the package (APU): H2D and D2H copy from HBM to HBM
    CPU and GPU share the HBM of the package (APU): H2D and D2H copy from HBM to HBM
    ");
    assert!(modes("hgx-h100")?.iter().all(Option::is_none) && modes("power9")?.iter().all(Option::is_none));
    let memory = |name: &str| -> Result<Vec<Option<u32>>, topo::TopoError> {
        let topology = load(name)?;
        Ok(topology.gpus.iter().map(|gpu| topology.memory_node(gpu)).collect())
    };
    assert_eq!(memory("gh200-quad")?, [4, 12, 20, 28].map(Some));
    assert_eq!(memory("mi300a")?, [0, 1, 2, 3].map(Some), "an APU's memory is that of its package");
    assert_eq!(memory("hgx-h100")?, vec![None; 8]);
    // The same machine in CDMM mode: the GPUs' nodes are not there.
    let mut cdmm = load("gh200-quad")?;
    cdmm.nodes.retain(|node| node.kind != NodeKind::GpuMemory);
    cdmm.source = topo::model::TopologySource::ThisSystem;
    let mode = cdmm.memory_mode(&cdmm.gpus[0]).ok_or("no mode")?;
    assert!(mode.contains("(CDMM mode)"), "{mode}");
    assert_eq!(
        (cdmm.host_nodes(&cdmm.gpus[0]).to_string().as_str(), cdmm.memory_node(&cdmm.gpus[0])),
        ("0", None)
    );
    Ok(())
}

#[test]
fn what_nobody_tells_is_unknown_and_what_is_taken_away_is_named() -> Outcome {
    for name in ["vm-one-node", "vm-two-nodes"] {
        let topology = load(name)?;
        assert!(!topology.gpus.is_empty(), "{name}");
        for gpu in &topology.gpus {
            assert_eq!((gpu.locality.rung, topology.first_local_pu(gpu)), (Rung::Unknown, None), "{name}");
        }
    }
    let sets = |topology: &Topology| {
        let allowed = &topology.allowed;
        [&allowed.pus, &allowed.not_in_cgroup_pus, &allowed.offline_pus, &allowed.missing_nodes]
            .map(ToString::to_string)
    };
    assert_eq!(sets(&load("offline")?), ["0-2,4-5,8-13,15", "none", "3,6-7,14,16-23", "2"]);
    assert_eq!(sets(&load("job-share")?), ["8-11", "0-7,12-15", "none", "0"]);
    assert_eq!(sets(&load("job-left-out")?), ["8-11", "none", "0-7,12-15", "0"]);
    assert_eq!(sets(&load("smt-off")?), ["0-11", "none", "12-23", "none"]);
    let share = load("job-left-out")?;
    let rungs: Vec<Rung> = share.gpus.iter().map(|gpu| gpu.locality.rung).collect();
    assert_eq!(rungs, [Rung::Unknown, Rung::PciLocalCpus]);
    Ok(())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips something says so")]
fn lstopo_reads_each_file_and_counts_the_same_places() -> Outcome {
    for machine in all() {
        let path = path(machine.name);
        let count = |kind: &str| -> std::io::Result<usize> {
            let mut lstopo = Command::new("lstopo-no-graphics");
            let output = lstopo.args(["--disallowed", "--only", kind, "--input"]).arg(&path).output()?;
            // Of what a machine has none of, newer releases (2.12) say so and end with 1.
            if output.stderr.ends_with(b"passed to --only is unavailable.\n") {
                return Ok(0);
            }
            assert!(output.status.success() && output.stderr.is_empty(), "{}: {output:?}", machine.name);
            Ok(String::from_utf8_lossy(&output.stdout).lines().count())
        };
        let pus = match count("PU") {
            Err(error) => {
                eprintln!("SKIPPED lstopo on the project's own machines: lstopo-no-graphics: {error}");
                return Ok(());
            }
            Ok(pus) => pus,
        };
        let topology = load(machine.name)?;
        let online = topology.pus.len() - topology.allowed.offline_pus.len();
        let on_bus =
            topology.gpus.iter().filter(|gpu| gpu.partition.is_none_or(|part| part.number == 0)).count();
        let devices = on_bus + topo::survey_xml(&path)?.nics.len();
        assert_eq!(
            (pus, count("Core")?, count("L3Cache")?),
            (online, topology.cores.len(), topology.l3s.len()),
            "{}",
            machine.name
        );
        assert_eq!(count("PCIDev")?, devices, "{}", machine.name);
        assert_eq!(count("Package")?, topology.packages.len(), "{}", machine.name);
    }
    Ok(())
}
