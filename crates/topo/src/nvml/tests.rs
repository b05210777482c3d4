//! The library asked for real, as far as a stand-in goes: `tests/fake/nvml.rs`, built here with rustc.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::*;
use crate::convert::{self, NvmlUse};
use crate::gpu_health::{FabricState, OneGpu};
use crate::load;
use crate::model::TopologySource;

type Outcome = Result<(), Box<dyn Error>>;

/// A libnvidia-ml.so.1 of the stand-in.
fn fake(folder: &Path) -> Result<std::path::PathBuf, Box<dyn Error>> {
    let library = folder.join(LIBRARY);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/nvml.rs");
    let made = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "nvml", "-o"])
        .arg(&library)
        .arg(source)
        .output()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Ok(library)
}

#[test]
fn every_answer_is_taken_and_is_what_the_fixture_of_that_machine_keeps() -> Outcome {
    let folder = tempfile::tempdir()?;
    let facts = asked_of(fake(folder.path())?.as_os_str())?;
    assert_eq!((facts.driver.as_str(), facts.gpus.len(), facts.paths.len()), ("simulated", 8, 28));
    let third = &facts.gpus[2];
    assert_eq!((third.pci.to_string().as_str(), third.smi_index, third.minor), ("0000:19:00.0", 2, Some(2)));
    assert_eq!(third.pus.as_ref().map(ToString::to_string).as_deref(), Some("0-3"));
    assert_eq!((third.memory_node, third.link_mbytes_per_s, third.links.len()), (None, Some(26_562), 18));
    assert!(
        third.links.iter().all(|link| link.remote == Remote::Switch && link.version == Some(6)),
        "{third:?}"
    );

    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/eight-gpus-nvswitch.xml");
    let kept = fs::read_to_string(fixture)?;
    let text = facts.to_string().replace('\n', "&#10;");
    assert!(kept.contains(&format!("<info name=\"numabench:nvml\" value=\"{text}\"/>")), "{text}");
    Ok(())
}

#[test]
fn the_processes_on_each_gpu_are_told_with_their_memory() -> Outcome {
    let folder = tempfile::tempdir()?;
    let uses = users::uses_from(fake(folder.path())?.as_os_str())?;
    let shown: Vec<_> = uses.iter().map(|one| (one.pid, one.pci.to_string(), one.bytes)).collect();
    assert_eq!(
        shown,
        [(4711, "0000:19:00.0".to_owned(), Some(1 << 30)), (4711, "0000:82:00.0".to_owned(), None)]
    );
    let missing = users::uses_from("/nonexistent/libnvidia-ml.so.1".as_ref());
    assert!(missing.is_err_and(|why| why.contains("libnvidia-ml.so.1")));
    Ok(())
}

#[test]
fn settings_and_errors_of_each_gpu_are_told_and_what_the_library_lacks_is_unknown() -> Outcome {
    let folder = tempfile::tempdir()?;
    let health = health::health_from(fake(folder.path())?.as_os_str())?;
    assert_eq!((health.gpus.len(), health.peers.len(), health.confidential), (8, 28, Some(true)));
    let with = |holds: fn(&OneGpu) -> bool| -> Vec<usize> {
        (0..).zip(&health.gpus).filter(|(_, gpu)| holds(gpu)).map(|(at, _)| at).collect()
    };
    assert_eq!(with(|gpu| gpu.persistent == Some(false)), [2]);
    assert_eq!(with(|gpu| gpu.repair_pending == Some(true)), [4]);
    assert_eq!(with(|gpu| gpu.fabric == Some(FabricState::NotJoined)), [7]);
    assert_eq!(with(|gpu| gpu.fabric == Some(FabricState::Ended(0))).len(), 7);
    assert_eq!(with(|gpu| gpu.power_mw == Some((500_000, 700_000))).len(), 8);
    assert_eq!(with(|gpu| gpu.processes.as_deref() == Some(&[4711])), [2, 5]);
    let refused: Vec<_> = health.peers.iter().filter(|pair| pair.refused.is_some()).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].one, refused[0].other), (health.gpus[0].pci, health.gpus[1].pci));
    let unknown = with(|gpu| {
        gpu.mig.is_none() && gpu.ecc.is_none() && gpu.compute_mode.is_none() && gpu.memory_bytes.is_none()
    });
    assert_eq!(unknown.len(), 8, "the stand-in has no such functions");
    Ok(())
}

#[test]
fn what_is_kept_is_read_back_and_what_nobody_knows_stays_unknown() -> Outcome {
    let unknown = NvGpu {
        pci: "00000000:05:00.0".parse()?,
        smi_index: 1,
        minor: None,
        uuid: None,
        pus: None,
        nodes: None,
        memory_node: None,
        mig: Vec::new(),
        link_mbytes_per_s: None,
        links: Vec::new(),
    };
    let at = |bus: &str| format!("00000000:{bus}:00.0").parse::<PciAddress>();
    let link = |number, version, remote| NvLink { number, version, remote };
    let known = NvGpu {
        pci: at("04")?,
        smi_index: 0,
        minor: Some(3),
        uuid: Some("GPU-1".to_owned()),
        pus: Some("0-3,8".parse()?),
        nodes: Some("0".parse()?),
        memory_node: Some(4),
        mig: vec!["MIG-a".to_owned(), "MIG-b".to_owned()],
        link_mbytes_per_s: Some(25_000),
        links: vec![
            link(0, Some(4), Remote::Pci(at("05")?)),
            link(1, None, Remote::Cpu),
            link(5, None, Remote::Unknown),
        ],
    };
    let paths = vec![(at("04")?, at("05")?, PciLevel::Pxb)];
    let facts = Facts { driver: "580.65 beta".to_owned(), gpus: vec![known, unknown], paths };
    assert_eq!(facts.to_string().parse(), Ok(facts.clone()));
    assert_eq!(read(&facts.to_string()), Nvml::Said(facts));
    let odd = ["gpu nowhere 0 - - - - - - -", "link 0000:09:00.0 0 - switch", "path 0 1", "nonsense"];
    let whys = odd.map(|odd| match read(odd) {
        Nvml::Absent(why) => why,
        other => panic!("{odd}: {other:?}"),
    });
    insta::assert_snapshot!(whys.join("\n"), @r#"
    what the file keeps of NVML cannot be read: "gpu nowhere 0 - - - - - - -"
    what the file keeps of NVML cannot be read: "link 0000:09:00.0 0 - switch"
    what the file keeps of NVML cannot be read: "path 0 1"
    what the file keeps of NVML cannot be read: "nonsense"
    "#);
    Ok(())
}

#[test]
fn a_library_that_is_missing_or_none_is_a_reason_and_is_kept_as_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    let missing = asked_of(folder.path().join("libnvidia-ml.so.1").as_os_str());
    assert!(missing.as_ref().is_err_and(|why| why.contains("libnvidia-ml.so.1")), "{missing:?}");
    fs::write(folder.path().join("not-a-library"), "text")?;
    assert!(asked_of(folder.path().join("not-a-library").as_os_str()).is_err());
    let why = missing.err().unwrap_or_default();
    assert_eq!(read(&absent(why.clone())), Nvml::Absent(why));
    Ok(())
}

#[test]
fn a_saved_file_that_keeps_nothing_of_it_was_written_without_asking() {
    let saved = FsRoot::saved([("/proc/version".to_owned(), String::new())].into_iter().collect());
    assert_eq!((asked(&saved), kept(&saved)), (Nvml::NotAsked, Nvml::NotAsked));
}

/// Whether a survey of the machine in this file, read as if it were this machine, asked the library.
fn asks(fixture: &str, drivers: NvmlUse) -> Result<bool, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    let alone = load::alone();
    let hwloc = load::xml(&alone, &fs::read_to_string(path)?)?.ok_or("hwloc refuses it")?;
    let root = FsRoot::at(tempfile::tempdir()?.path());
    convert::survey(&hwloc, TopologySource::ThisSystem, Some(&root), drivers)?;
    Ok(root.seen().contains_key(KEPT))
}

#[test]
fn the_library_is_opened_only_when_a_view_asks_and_there_is_a_gpu_of_its_vendor() -> Outcome {
    assert!(asks("nvlink-matrix.xml", NvmlUse::Asked)?);
    assert!(
        !asks("nvlink-matrix.xml", NvmlUse::Untouched)?,
        "NVIDIA GPUs, and a view that needs nothing of it"
    );
    assert!(!asks("four-gcds-xgmi.xml", NvmlUse::Asked)?, "AMD GPUs");
    Ok(())
}
