//! A gres.conf that gives both GPUs the cores of one package: `doctor` finds it, `check --launch --gres-conf`
//! goes by it, `place --emit gres-conf` mends it, and Slurm itself agrees.
//!
//! slurmd is told that it has the sockets of a saved machine whose PUs are numbered in turns over two
//! packages, so that a line in PUs instead of cores is wrong too. A changed gres.conf counts from slurmd's
//! next start, so each file has a lab of its own.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::lab::Lab;
use crate::run::{BINARY, Done};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/interleaved.xml");

/// A lab of one node with that machine's sockets and this gres.conf.
fn lab(gres: &Path) -> Result<Option<Lab>, Box<dyn Error>> {
    let gres = gres.display().to_string();
    Lab::with(&[("NODES", "1"), ("SHAPE", "2:6:2"), ("TASK", "task/none"), ("GRES", gres.as_str())])
}

/// Which sockets Slurm says that the node's GPUs belong to, as in `gpu:2(S:0-1)`.
fn sockets(lab: &Lab) -> Result<String, Box<dyn Error>> {
    let shown = lab.command("scontrol").args(["show", "node", "n0"]).output()?;
    let shown = String::from_utf8(shown.stdout)?;
    let gres = shown.split_whitespace().find_map(|word| word.strip_prefix("Gres="));
    Ok(gres.ok_or("no Gres")?.to_owned())
}

/// The state and the words of the check on gres.conf.
fn check(lab: &Lab) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
    let ended = lab.command(BINARY).args(["doctor", "--input", MACHINE, "--json", "-"]).output()?;
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    let checks = document["checks"].as_array().ok_or("no checks")?;
    let check =
        checks.iter().find(|check| check["name"] == "slurm.gres-cores").ok_or("no check of gres.conf")?;
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    Ok((ended.status.code(), text("state"), text("seen")))
}

/// What `check` says of a line that has Slurm give each rank the GPU nearest to it, by this gres.conf.
fn line(lab: &Lab, gres: &Path) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let launch = "srun -N1 -n2 --cpu-bind=map_cpu:0,1 --gpu-bind=closest ./app";
    let mut check = lab.command(BINARY);
    check.args(["check", "--input", MACHINE, "--launch", launch, "--gres-conf"]).arg(gres);
    let ended = check.output()?;
    Ok((ended.status.code(), String::from_utf8(ended.stdout)?))
}

#[test]
fn a_wrong_gres_conf_is_found_and_mended_by_the_emitted_lines_and_slurm_agrees() -> Done {
    let folder = tempfile::tempdir()?;
    let gres = folder.path().join("gres.conf");
    fs::write(&gres, "Name=gpu File=/dev/nvidia0 Cores=0-5\nName=gpu File=/dev/nvidia1 Cores=0-5\n")?;
    let Some(wrong) = lab(&gres)? else { return Ok(()) };
    assert_eq!(sockets(&wrong)?, "gpu:2(S:0)");
    let (code, state, seen) = check(&wrong)?;
    assert_eq!((code, state.as_str()), (Some(5), "look"), "{seen}");
    assert!(seen.starts_with("GPU 1: Cores=0-5") && seen.contains("6-11"), "{seen}");
    let (code, said) = line(&wrong, &gres)?;
    assert_eq!(code, Some(6), "by this file Slurm keeps steps to the first socket as long as it can: {said}");

    let emitted =
        wrong.command(BINARY).args(["place", "--input", MACHINE, "--emit", "gres-conf"]).output()?;
    assert_eq!(emitted.status.code(), Some(0));
    fs::write(&gres, &emitted.stdout)?;
    drop(wrong);
    let Some(right) = lab(&gres)? else { return Ok(()) };
    assert_eq!(sockets(&right)?, "gpu:2(S:0-1)");
    let (_, state, seen) = check(&right)?;
    assert_eq!(state, "ok", "{seen}");
    let (code, said) = line(&right, &gres)?;
    assert_eq!(code, Some(0), "{said}");
    Ok(())
}
