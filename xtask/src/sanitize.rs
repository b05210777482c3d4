//! `cargo xtask sanitize [--only miri|address|thread] [--target-dir FOLDER]`: the tests of what holds memory
//! and threads, under Miri and under the compiler's sanitizers.
//!
//! * `miri`    parts that call nothing outside of Rust, interpreted: needs a nightly toolchain with Miri;
//! * `address` the engine, `mpi`, the ranks, the documents' sink and the backends over the stand-in driver.
//!   The standard library is taken as it is, so any toolchain does: `RUSTC_BOOTSTRAP=1` lets a stable one
//!   take the flag. Leaks are none of its findings, because what a driver may still use is leaked on purpose;
//! * `thread` the same crates, with a standard library that is built with the sanitizer too, or each of its
//!   locks would be a finding: needs the component rust-src.
//!
//! What cannot run on this machine says so in a line that begins with SKIPPED. Builds go to a target folder
//! of their own, because flags differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{self, succeeds};

/// Crates whose tests run under the sanitizers; those of the backends run over the stand-in driver.
const CRATES: [&str; 8] = [
    "numabench-sys",
    "numabench-engine",
    "numabench-mpi",
    "numabench-ranks",
    "numabench-report",
    "numabench-backend-gpu",
    "numabench-backend-cuda",
    "numabench-backend-hip",
];
/// Tests beside those within the crates: files of `tests/`.
const BESIDE: [&str; 2] = ["load", "second_work"];
/// What Miri can interpret: a crate, and words of its tests' names, those that are run (`true`) or left out.
/// Left out are simulations: thousands of runs on drawn figures, some of which take half a minute at the
/// processor's own speed; and lists and sets of tens of thousands.
const PURE: [(&str, bool, &[&str]); 7] = [
    ("numabench-backend-gpu", true, &["in_flight"]),
    ("numabench-device", true, &["pattern::"]),
    ("numabench-sys", true, &["host_memory"]),
    ("numabench-launchers", true, &["launch::", "launcher::"]),
    ("numabench-plugin", true, &["naps::"]),
    ("numabench-ranks", true, &["threads::", "local_world::", "library::", "round::"]),
    ("numabench-stats", false, &SIMULATED),
];
const SIMULATED: [&str; 21] = [
    "best::",
    "bimodal::",
    "block_interval::",
    "bootstrap::",
    "change_point::",
    "compare::",
    "family::",
    "flag::",
    "grouping::",
    "interval::",
    "line_fit::",
    "malformed_lists",
    "outlier::",
    "random::",
    "signed_rank::",
    "stop::",
    "spread_prior::",
    "tolerance::",
    "trend::",
    "very_large",
    "proptest",
];

/// Reports of the thread sanitizer that are none. The stand-in driver's standard library is not built with
/// the sanitizer, which sees neither its locks nor its threads' waits, but what it allocates and copies:
/// memory that its caller's thread makes and its stream's thread frees looks like a race, at each call that
/// is queued.
const UNSEEN: &str = "race:libcuda.so\nrace:libamdhip64.so\n";

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
    let (mut parts, mut target) =
        (vec![Part::Miri, Part::Address, Part::Thread], root.join("target/sanitize"));
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} takes a value"));
        match word.as_str() {
            "--only" => parts = vec![part(value()?)?],
            "--target-dir" => target = PathBuf::from(value()?),
            other => {
                bail!("takes --only miri|address|thread and --target-dir FOLDER, but was given {other:?}")
            }
        }
    }
    let mut done = Vec::new();
    for part in parts {
        match commands(part, root, &target)? {
            Ok(mut commands) => {
                commands.iter_mut().try_for_each(step::run)?;
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
fn commands(part: Part, root: &Path, target: &Path) -> Result<Result<Vec<Command>, String>> {
    let cargo = || {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).env("CARGO_TARGET_DIR", target);
        cargo
    };
    if part == Part::Miri {
        if !succeeds(Command::new("cargo").args(["+nightly", "miri", "--version"])) {
            return Ok(Err("no nightly toolchain has it (rustup +nightly component add miri)".to_owned()));
        }
        let interpreted = |(name, only, words): &(&str, bool, &[&str])| {
            let mut cargo = cargo();
            cargo.args(["+nightly", "miri", "test", "--lib", "--package", name, "--"]);
            for word in *words {
                cargo.args((!only).then_some("--skip")).arg(word);
            }
            // They read the clock; and of properties a few cases take an interpreter as long as it is worth.
            cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
            cargo
        };
        return Ok(Ok(PURE.iter().map(interpreted).collect()));
    }
    let toolchain = match part {
        Part::Thread => with_source()?,
        _ => Some(None),
    };
    let Some(toolchain) = toolchain else {
        return Ok(Err(
            "no toolchain has the standard library's source (rustup component add rust-src)".to_owned()
        ));
    };
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let host = step::told(Command::new(rustc).arg("-vV"))?;
    let host =
        host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not name its host")?;
    let name = if part == Part::Thread { "thread" } else { "address" };
    let unseen = std::path::absolute(target)?.join("unseen.txt");
    if part == Part::Thread {
        fs::create_dir_all(target)?;
        fs::write(&unseen, UNSEEN)?;
    }
    let sanitized = |what: &[&str]| {
        let mut cargo = cargo();
        cargo.args(toolchain).args(what).args(["--target", host]);
        cargo.args(CRATES.iter().flat_map(|name| ["--package", name]));
        if part == Part::Thread {
            cargo.arg("-Zbuild-std");
        } else {
            // Not for threads: the driver's library is built without a standard library of its own.
            // Sanitized, it refers to its own functions by name, of which tests take some away: the linker
            // binds them at once.
            cargo.env("STAND_IN_FLAGS", "-Zsanitizer=address -Clink-arg=-Wl,-Bsymbolic");
        }
        // The stand-in's library finds the sanitizer's functions in the program that opens it.
        cargo
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", format!("-Zsanitizer={name} -Clink-arg=-rdynamic"));
        // Those of the host's own configuration would come before RUSTFLAGS.
        cargo.env_remove(format!("CARGO_TARGET_{}_RUSTFLAGS", host.to_uppercase().replace('-', "_")));
        cargo
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("TSAN_OPTIONS", format!("halt_on_error=1 suppressions={}", unseen.display()));
        cargo
    };
    // The backends' tests run their crates' examples.
    let mut tests = vec!["test", "--no-fail-fast", "--lib"];
    tests.extend(BESIDE.iter().flat_map(|name| ["--test", *name]));
    Ok(Ok(vec![sanitized(&["build", "--examples"]), sanitized(&tests)]))
}

/// How cargo is told of a toolchain with the standard library's source: the one in use, or a nightly one.
fn with_source() -> Result<Option<Option<&'static str>>> {
    for toolchain in [None, Some("+nightly")] {
        let mut rustc = Command::new("rustc");
        let output =
            rustc.args(toolchain).args(["--print", "sysroot"]).output().context("rustc cannot be started")?;
        let sysroot = String::from_utf8(output.stdout)?;
        if output.status.success()
            && Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.toml").exists()
        {
            return Ok(Some(toolchain));
        }
    }
    Ok(None)
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
        let commands = commands(Part::Address, Path::new("."), Path::new("target/sanitize"))?
            .map_err(anyhow::Error::msg)?;
        let line: String = commands.iter().map(step::line).collect();
        assert!(
            line.contains("--target ")
                && line.contains("--package numabench-engine")
                && !line.contains("build-std"),
            "{line}"
        );
        Ok(())
    }
}
