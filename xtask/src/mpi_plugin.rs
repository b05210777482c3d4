//! `cargo xtask mpi-plugin`: the MPI plug-in, built with the site's MPI and put beside the binary: in
//! CARGO_TARGET_DIR where that is set.
//!
//! The MPI is that of `MPICC`, or the one rsmpi's own search finds (`MPI_PKG_CONFIG`, Cray's
//! `CRAY_MPICH_DIR`, `mpicc`). Each has a target folder of its own, because rsmpi's build does not notice
//! that MPICC has changed. What was built is opened afterwards: it says itself which MPI it got, and one that
//! cannot be opened is found here and not in a job.
//!
//! `--each` builds one for every MPI of this machine into target/mpi/NAME, where tests look for them. Nothing
//! but this file builds the plug-in, so that no other command needs an MPI.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use ranks::{Plugin, abi};

use crate::checkout;
use crate::need::{LIBCLANG, MPI, Need, Probe, missing, on_path, present};
use crate::{package_manager, step};

/// What decides, beside MPICC, which MPI rsmpi finds: before it, in this order.
const BEFORE_MPICC: [&str; 2] = ["MPI_PKG_CONFIG", "CRAY_MPICH_DIR"];

/// What a build of bindgen's says where something is missing, and what that is.
const HINTS: [(&str, &str); 3] = [
    (
        "Unable to find libclang",
        "bindgen needs clang's library: load a module of clang or LLVM, or let LIBCLANG_PATH name the folder \
         of libclang.so",
    ),
    // stddef.h and its like are no part of libc.
    ("fatal error: 'std", "clang's own headers are missing (Debian splits them off)"),
    ("'mpi.h' file not found", "this MPI has no headers: its development package is missing"),
];

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args {
        [] => build_plugin(root, &checkout::folder(root).join("release").join(abi::FILE_NAME)),
        [out, file] if out == "--out" => build_plugin(root, Path::new(file)),
        [each] if each == "--each" => self::each(root, &this_program()?),
        other => bail!("unknown arguments {:?}; allowed: --out FILE, or --each", other.join(" ")),
    }
}

/// The compilers of this machine's MPIs: Debian's two, which have names of their own, or the one on the PATH.
pub fn compilers() -> Vec<&'static str> {
    let both: Vec<_> = ["mpicc.openmpi", "mpicc.mpich"].into_iter().filter(|name| on_path(name)).collect();
    if both.is_empty() && on_path("mpicc") { vec!["mpicc"] } else { both }
}

/// Why no plug-in can be built here, if none can.
pub fn lacking() -> Option<String> {
    if compilers().is_empty() {
        return Some("no MPI compiler (mpicc) is on the PATH".into());
    }
    (!present(Probe::Libclang))
        .then(|| "bindgen's libclang is not found (libclang-dev, or LIBCLANG_PATH)".into())
}

/// Lints the plug-in against the first of this machine's MPIs, in the folder and with the profile it is built
/// with: what it depends on is there.
///
/// # Errors
/// Clippy has findings, or the plug-in does not compile.
pub fn lint(root: &Path) -> Result<()> {
    let mpicc = compilers().first().map(OsString::from);
    let mut clippy = cargo(root, "clippy", mpicc.as_deref())?;
    step::run(clippy.args(["--", "-D", "warnings"]))
}

/// This program's file; asked before it is compiled anew, because the kernel has no name for a file that was
/// replaced.
///
/// # Errors
/// The kernel does not say.
pub fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

/// One plug-in for each MPI of this machine, each in a process of its own of this program: two MPIs cannot be
/// opened in one.
///
/// # Errors
/// There is no MPI, or one cannot be built or opened.
pub fn each(root: &Path, xtask: &Path) -> Result<()> {
    if let Some(why) = lacking() {
        bail!("{why}. {}", package_manager::by_hand(&missing(MPI, present)));
    }
    let mut built: Option<PathBuf> = None;
    for mpicc in compilers() {
        let folder = target(root, Some(OsStr::new(mpicc)))?;
        if let Some(other) = built.replace(folder.clone()).filter(|_| !folder.exists()) {
            begin_with(root, &other, &folder)?;
        }
        let out = root.join("target/mpi").join(mpicc).join(abi::FILE_NAME);
        step::run(
            Command::new(xtask).args(["mpi-plugin", "--out"]).arg(out).env("MPICC", mpicc).current_dir(root),
        )?;
    }
    Ok(())
}

/// Makes a target folder out of another MPI's: all but the MPI's own layer, which does not notice that it is
/// another's, is the same.
fn begin_with(root: &Path, other: &Path, folder: &Path) -> Result<()> {
    step::run(Command::new("cp").arg("-a").arg(other).arg(folder))?;
    let clean = ["clean", "--release", "--package", "mpi-sys", "--target-dir"];
    step::run(Command::new("cargo").args(clean).arg(folder).current_dir(root))
}

fn build_plugin(root: &Path, out: &Path) -> Result<()> {
    let mpicc = std::env::var_os("MPICC");
    let elsewhere = BEFORE_MPICC.iter().any(|variable| std::env::var_os(variable).is_some());
    if mpicc.is_none() && !elsewhere && !on_path("mpicc") {
        bail!(
            "there is no `mpicc`: load the MPI module that your launcher starts programs of, or set MPICC to \
             its compiler. {}",
            by_hand()
        );
    }
    let mut build = cargo(root, "build", mpicc.as_deref())?;
    let built = target(root, mpicc.as_deref())?.join("release").join(abi::FILE_NAME);
    run_with_hints(&mut build)?;

    let plugin = Plugin::find(Some(built.as_os_str()), Path::new("")).map_err(|error| {
        anyhow::anyhow!("it was built, but cannot be opened here, and so would not be in a job: {error}")
    })?;
    put(&built, out)?;
    println!("{}: built against {}", out.display(), plugin.library());
    Ok(())
}

/// Copies beside the goal and renames: a program that has the old one open goes on with it.
fn put(built: &Path, out: &Path) -> Result<()> {
    let what = || format!("cannot put the plug-in at {}", out.display());
    std::fs::create_dir_all(out.parent().unwrap_or(Path::new("."))).with_context(what)?;
    let beside = out.with_extension("so.new");
    std::fs::copy(built, &beside).with_context(what)?;
    std::fs::rename(&beside, out).with_context(what)
}

/// A cargo command on the plug-in, in the target folder of this MPI.
fn cargo(root: &Path, verb: &str, mpicc: Option<&OsStr>) -> Result<Command> {
    let mut cargo = Command::new("cargo");
    cargo.args([verb, "--release", "--package", "numabench-mpi-plugin", "--target-dir"]);
    cargo.arg(target(root, mpicc)?).current_dir(root);
    if let Some(mpicc) = mpicc {
        // Who names a compiler means it; Cray's modules set theirs always.
        for variable in BEFORE_MPICC {
            cargo.env_remove(variable);
        }
        cargo.env("MPICC", mpicc);
    }
    Ok(cargo)
}

/// The target folder for this MPI: another compiler, another command line or another module is another one.
fn target(root: &Path, mpicc: Option<&OsStr>) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    let elsewhere = BEFORE_MPICC.map(|variable| std::env::var_os(variable).filter(|_| mpicc.is_none()));
    elsewhere.hash(&mut hasher);
    if elsewhere.iter().all(Option::is_none) {
        let mpicc = mpicc.unwrap_or(OsStr::new("mpicc"));
        let name = mpicc.to_string_lossy();
        let shown = Command::new(mpicc).arg("-show").output();
        let shown =
            shown.with_context(|| format!("cannot run `{name} -show`: is MPICC an MPI's compiler?"))?;
        if !shown.status.success() || shown.stdout.is_empty() {
            bail!(
                "`{name} -show` ended with {}: MPICC must name an MPI's compiler, as mpicc is",
                shown.status
            );
        }
        (mpicc, shown.stdout).hash(&mut hasher);
    }
    Ok(checkout::folder(root).join("mpi").join(format!("{:016x}", hasher.finish())))
}

/// Runs the build with its messages as they come, and says what bindgen's usual failures mean: it only
/// panics.
fn run_with_hints(build: &mut Command) -> Result<()> {
    let line = step::line(build);
    eprintln!("$ {line}");
    let mut child = build.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot run `{line}`"))?;
    let mut hint = None;
    for text in child.stderr.take().map(BufReader::new).into_iter().flat_map(|stderr| stderr.split(b'\n')) {
        let text = String::from_utf8_lossy(&text.context("cannot read what cargo says")?).into_owned();
        hint = hint.or_else(|| hint_for(&text));
        eprintln!("{text}");
    }
    let status = child.wait().with_context(|| format!("cannot wait for `{line}`"))?;
    if status.success() {
        return Ok(());
    }
    let hint = hint.map(|hint| format!("; {hint}. {}", by_hand())).unwrap_or_default();
    bail!("`{line}` ended with {status}{hint}")
}

fn hint_for(text: &str) -> Option<&'static str> {
    HINTS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, hint)| *hint)
}

fn by_hand() -> String {
    let openmpi: Vec<Need> =
        MPI.iter().copied().filter(|need| need.apt == "libopenmpi-dev").chain([LIBCLANG]).collect();
    package_manager::by_hand(&openmpi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindgens_failures_are_explained_and_other_lines_are_not() {
        let panicked =
            "thread 'main' panicked: Unable to find libclang: \"couldn't find any valid shared libraries\"";
        assert!(hint_for(panicked).is_some_and(|hint| hint.contains("LIBCLANG_PATH")));
        assert!(hint_for("/usr/include/x/mpi.h:90:10: fatal error: 'stddef.h' file not found").is_some());
        assert!(
            hint_for("src/rsmpi.h:3:10: fatal error: 'mpi.h' file not found")
                .is_some_and(|hint| hint.contains("MPI"))
        );
        assert_eq!(hint_for("   Compiling mpi-sys v0.2.4"), None);
    }

    #[test]
    fn an_mpicc_that_is_none_is_named() {
        for (no_mpicc, why) in
            [("no-such-mpicc", "cannot run `no-such-mpicc -show`"), ("false", "`false -show` ended")]
        {
            let error = target(Path::new("/nowhere"), Some(OsStr::new(no_mpicc)))
                .expect_err("no compiler")
                .to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_plug_in_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let (built, out) = (folder.path().join("built"), folder.path().join("new/lib.so"));
        for text in ["one", "two"] {
            std::fs::write(&built, text).expect("written");
            put(&built, &out).expect("put");
            assert_eq!(std::fs::read_to_string(&out).ok().as_deref(), Some(text));
        }
        assert_eq!(std::fs::read_dir(out.parent().expect("a folder")).expect("read").count(), 1);
    }
}
