//! What the tests of several binaries share: a script run in a Linux guest with several NUMA nodes
//! (`tests/lab/numa-guest.sh`).

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// What a script wrote in a guest of this shape, which has the binary and `programs` of this machine (`FILE`
/// or `FILE:PLACE`); `None` where no guest can run, which is said.
///
/// # Errors
/// The guest could not be started, or it or the script ended badly, with all that was written.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
pub fn written(shape: &str, programs: &[&str], script: &str) -> Result<Option<String>, Box<dyn Error>> {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/numa-guest.sh");
    let check = Command::new(&lab).arg("--check").output()?;
    if !check.status.success() {
        eprintln!("SKIPPED a guest of shape {shape}: {}", String::from_utf8_lossy(&check.stderr).trim());
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    // Without names and lines, which are most of it and have to be unpacked by an emulator; whole where there
    // is no strip(1).
    let (binary, small) = (Path::new(env!("CARGO_BIN_EXE_numabench")), folder.path().join("numabench"));
    let stripped = Command::new("strip").arg("-s").arg("-o").arg(&small).arg(binary).status();
    let source = if stripped.is_ok_and(|status| status.success()) { &small } else { binary };
    let mut boot = Command::new(&lab);
    boot.args(["-s", shape, "-f", &format!("{}:/bin/numabench", source.display())]);
    for program in programs {
        boot.args(["-f", program]);
    }
    let output = boot.args(["sh", "-c", script]).output()?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("the guest ended with {}: {text}{errors}", output.status).into());
    }
    Ok(Some(text.into_owned()))
}

/// The parts of what was written, each after a line `@@@ NAME`, by name.
pub fn parts(text: &str) -> std::collections::BTreeMap<String, String> {
    let part =
        |part: &str| part.split_once('\n').map(|(name, text)| (name.trim().to_owned(), text.to_owned()));
    text.split("@@@ ").filter_map(part).collect()
}
