//! The examples under `contrib/`, run as far as this machine allows: the shell scripts as they are with a
//! stand-in driver, ReFrame's check under ReFrame where it is installed (`pip install reframe-hpc`; another
//! folder by `NUMABENCH_TEST_REFRAME`, the program's path).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver;
use crate::run::{BINARY, Done, skipped, variables};

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file)
}

/// A folder in which `numabench` is the binary under test and `scontrol` writes down what it was told.
fn programs() -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::os::unix::fs::symlink(BINARY, folder.path().join("numabench"))?;
    let scontrol = folder.path().join("scontrol");
    fs::write(&scontrol, format!("#!/bin/sh\necho \"$@\" >> {}/drained\n", folder.path().display()))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(scontrol, mode)?;
    Ok(folder)
}

/// A program with the stand-in driver's devices and that folder first in its path.
fn command(program: &Path, programs: &Path, devices: &str) -> Result<Command, Box<dyn std::error::Error>> {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    let folder = driver::fake()?;
    command.envs(variables(&folder)).env("PATH", path).env("FAKE_DEVICES", devices);
    command.env("LD_PRELOAD", folder.join(driver::Driver::Cuda.library()));
    Ok(command)
}

fn devices(second: &str) -> String {
    format!(
        "device 0000:05:00.0; h2d 400MB/s 10us; d2h 400MB/s 10us; device 0000:c1:00.0; h2d {second} 10us; \
         d2h {second} 10us"
    )
}

#[test]
fn the_exporters_script_leaves_metrics_of_every_gpu() -> Done {
    let programs = programs()?;
    let script = contrib("node_exporter/numabench-metrics.sh");
    let mut command = command(&script, programs.path(), &devices("400MB/s"))?;
    let output = command
        .arg(programs.path())
        .args(["--order", "alone", "--size", "1MiB", "--direction", "h2d,d2h", "--max-time", "2s"])
        .output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics = fs::read_to_string(programs.path().join("numabench.prom"))?;
    let rates = metrics.lines().filter(|line| line.starts_with("numabench_copy_rate_bytes_per_second{"));
    assert_eq!(rates.count(), 4, "{metrics}");
    Ok(())
}

#[test]
fn the_prologue_lets_a_well_node_pass_and_drains_nobody_for_what_is_undecided() -> Done {
    let programs = programs()?;
    let script = contrib("slurm/prolog.sh");
    // No baseline is there: that is the administrator's fault and not the node's.
    let absent = programs.path().join("absent.json");
    let output = command(&script, programs.path(), &devices("400MB/s"))?.env("BASELINE", absent).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("ended with 2") && said.contains("absent.json"), "{said}");
    assert!(!programs.path().join("drained").exists());
    Ok(())
}

#[test]
fn reframe_runs_its_check_and_reads_the_rates() -> Done {
    let reframe = std::env::var("NUMABENCH_TEST_REFRAME").unwrap_or_else(|_| "reframe".to_owned());
    if !Command::new(&reframe).arg("--version").output().is_ok_and(|output| output.status.success()) {
        skipped(
            "ReFrame's check: there is no reframe (pip install reframe-hpc); NUMABENCH_TEST_REFRAME names \
             another",
        );
        return Ok(());
    }
    let programs = programs()?;
    let mut command = command(Path::new(&reframe), programs.path(), &devices("400MB/s"))?;
    command.args([
        "-c",
        &contrib("reframe/numabench_check.py").display().to_string(),
        "-r",
        "--performance-report",
    ]);
    command
        .env("NUMABENCH_OPTIONS", "--order alone --size 1MiB --direction h2d,d2h --gpus 0,1 --max-time 2s")
        .current_dir(programs.path());
    let output = command.output()?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("PASSED"), "{said}");
    assert!(
        ["h2d_0000_05_00_0", "d2h_0000_c1_00_0", "GB/s"].iter().all(|part| said.contains(part)),
        "{said}"
    );
    Ok(())
}
