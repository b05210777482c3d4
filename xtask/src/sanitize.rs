//! `cargo xtask sanitize [--only miri|address|thread] [--target-dir FOLDER]`: the tests of what holds memory and threads, under Miri and under the compiler's sanitizers.
//!
//! * `miri`    pure parts (`stats`), interpreted: needs a nightly toolchain with Miri;
//! * `address` the engine, the exchange, the ranks, the documents' sink and the backends over the stand-in driver. The standard library is taken as it is, so any toolchain does:
//!   `RUSTC_BOOTSTRAP=1` lets a stable one take the flag. Leaks are none of its findings, because what a driver may still use is leaked on purpose;
//! * `thread`  the same crates, with a standard library that is built with the sanitizer too, or each of its locks would be a finding: needs the component rust-src.
//!
//! What cannot run on this machine says so in a line that begins with SKIPPED. Builds go to a target folder of their own, because flags differ.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{self, succeeds};

/// Crates whose tests run under the sanitizers.
const CRATES: [&str; 6] = [
    "numabench-engine",
    "numabench-exchange",
    "numabench-ranks",
    "numabench-report",
    "numabench-backend-gpu",
    "numabench-backend-cuda",
];
/// Crates that Miri can interpret: they call nothing outside of Rust.
const PURE: [&str; 1] = ["numabench-stats"];

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Miri,
    Address,
    Thread,
}

/// Runs the command.
///
/// # Errors
/// A finding, or a program that cannot be started.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut parts, mut target) = (vec![Part::Miri, Part::Address, Part::Thread], root.join("target/sanitize"));
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} takes a value"));
        match word.as_str() {
            "--only" => parts = vec![part(value()?)?],
            "--target-dir" => target = PathBuf::from(value()?),
            other => bail!("takes --only miri|address|thread and --target-dir FOLDER, but was given {other:?}"),
        }
    }
    let mut done = Vec::new();
    for part in parts {
        match command(part, root, &target)? {
            Ok(mut command) => {
                step::run(&mut command)?;
                done.push(format!("{part:?}: no finding"));
            }
            Err(why) => done.push(format!("SKIPPED {part:?}: {why}")),
        }
    }
    done.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn part(name: &str) -> Result<Part> {
    Ok(match name {
        "miri" => Part::Miri,
        "address" => Part::Address,
        "thread" => Part::Thread,
        other => bail!("--only takes miri, address or thread, but was given {other:?}"),
    })
}

/// What runs a part; or why it cannot run here.
fn command(part: Part, root: &Path, target: &Path) -> Result<Result<Command, String>> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).env("CARGO_TARGET_DIR", target);
    if part == Part::Miri {
        if !succeeds(Command::new("cargo").args(["+nightly", "miri", "--version"])) {
            return Ok(Err("no nightly toolchain has it (rustup +nightly component add miri)".to_owned()));
        }
        cargo.args(["+nightly", "miri", "test", "--lib"]);
        cargo.args(PURE.iter().flat_map(|name| ["--package", name]));
        return Ok(Ok(cargo));
    }
    let (host, sysroot) = (told(&["-vV"])?, told(&["--print", "sysroot"])?);
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not name its host")?;
    let name = if part == Part::Thread { "thread" } else { "address" };
    cargo.args(["test", "--lib", "--target", host]);
    cargo.args(CRATES.iter().flat_map(|name| ["--package", name]));
    if part == Part::Thread {
        if !Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.toml").exists() {
            return Ok(Err("the standard library's source is not here (rustup component add rust-src)".to_owned()));
        }
        cargo.arg("-Zbuild-std");
    }
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", format!("-Zsanitizer={name}"));
    // Those of the host's own configuration would come before RUSTFLAGS.
    cargo.env_remove(format!("CARGO_TARGET_{}_RUSTFLAGS", host.to_uppercase().replace('-', "_")));
    cargo.env("ASAN_OPTIONS", "detect_leaks=0").env("TSAN_OPTIONS", "halt_on_error=1");
    Ok(Ok(cargo))
}

/// What rustc says.
fn told(args: &[&str]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(args).output().context("rustc cannot be started")?;
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_none_is_named() {
        assert_eq!(part("address").ok(), Some(Part::Address));
        assert!(part("memory").is_err_and(|error| error.to_string().contains("\"memory\"")));
    }

    #[test]
    fn the_address_sanitizer_needs_no_other_toolchain() -> Result<()> {
        let command =
            command(Part::Address, Path::new("."), Path::new("target/sanitize"))?.map_err(anyhow::Error::msg)?;
        let line = step::line(&command);
        assert!(
            line.contains("--target ") && line.contains("--package numabench-engine") && !line.contains("build-std"),
            "{line}"
        );
        Ok(())
    }
}
