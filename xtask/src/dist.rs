//! `cargo xtask dist`: one archive to unpack on a cluster: the binary, its licences, the README and the job scripts.
//!
//! The binary is linked with glibc at run time, never statically: a static program cannot open a GPU driver. So it runs
//! where glibc is no older than here and hwloc's library is found; what it needs is printed. No musl, no bundling.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step;

const BESIDE: [&str; 5] = ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "METHOD.md", "jobs"];

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("takes no arguments, but was given {:?}", args.join(" "));
    }
    step::run(Command::new("cargo").args(["build", "--release", "--locked"]).current_dir(root))?;

    let name = format!("numabench-{}-{}-linux-gnu", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let dist = root.join("target/dist");
    std::fs::create_dir_all(&dist).with_context(|| format!("cannot make {}", dist.display()))?;
    // tar renames on the way in, so nothing needs to be copied together first.
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(format!("target/dist/{name}.tar.gz"));
    tar.args(["--owner=0", "--group=0", &format!("--transform=s,^target/release/,,;s,^,{name}/,")]);
    tar.arg("target/release/numabench").args(BESIDE).current_dir(root);
    step::run(&mut tar)?;

    println!(
        "\ntarget/dist/{name}.tar.gz\nIt needs these libraries where it runs (hwloc and glibc, as here or newer):"
    );
    step::run(Command::new("ldd").arg("target/release/numabench").current_dir(root))
}
