//! Tells the binary what it is built from: the commit and its day, and what kind of build it is.
//!
//! The commit is what `NUMABENCH_COMMIT` says (a packager's word, for sources without a history), else the
//! checkout's own, with a `+` where the sources differ from it, else what cargo wrote into a published
//! package. Where none of them says it, the binary says none. Nothing fails here.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

fn main() {
    println!("cargo::rerun-if-env-changed=NUMABENCH_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let told = std::env::var("NUMABENCH_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = told.or_else(of_checkout).or_else(of_package).unwrap_or_default();
    println!("cargo::rustc-env=NUMABENCH_COMMIT={commit}");
    let [version, profile, target] =
        ["CARGO_PKG_VERSION", "PROFILE", "TARGET"].map(|name| std::env::var(name).unwrap_or_default());
    let from = if commit.is_empty() { String::new() } else { format!("commit {commit}, ") };
    println!("cargo::rustc-env=NUMABENCH_VERSION={version} ({from}{profile} build for {target})");
    println!("cargo::rustc-env=NUMABENCH_DATE={}", date().unwrap_or_default());
    if tests_start_it(&profile) {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// Whether this is the unoptimised binary that tests start some thousand times, which then gets a fixed
/// address: moved to any other, it would have 170,000 pointers to put right at each start, which is half of
/// what a start takes, and two thirds of it in an emulated guest. What users get has no fixed address, and
/// who gives flags of his own (a sanitizer's) is not given this one.
fn tests_start_it(profile: &str) -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    profile == "debug"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("CARGO_ENCODED_RUSTFLAGS").is_empty()
}

/// The day of the commit; without one that of `SOURCE_DATE_EPOCH`, or today.
fn date() -> Option<String> {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let told = std::env::var("SOURCE_DATE_EPOCH").ok().map(|seconds| format!("-d@{seconds}"));
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some() && told.is_none();
    let commits = ours.then(|| git(&["log", "-1", "--format=%cs"])).flatten();
    commits.or_else(|| answer(Command::new("date").args(["-u", "+%Y-%m-%d"]).args(told)))
}

/// The commit that is checked out, and `+` where a source differs from it.
fn of_checkout() -> Option<String> {
    // In a folder below somebody else's repository (a home under git) this file is not one of the
    // repository's.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;

    // What the binary is made of, whose change makes cargo ask again, as a new commit does.
    let sources = sources().ok()?;
    for path in &sources {
        println!("cargo::rerun-if-changed={path}");
    }

    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }

    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let paths: Vec<&str> = sources.iter().map(String::as_str).collect();
    let differs = git(&[&["status", "--porcelain", "--"][..], &paths].concat())?;
    Some(if differs.is_empty() { commit } else { format!("{commit}+") })
}

/// The workspace's files and each crate's, its tests and examples left out. No crate's folder by itself: what
/// a test writes there for a moment would be a change.
fn sources() -> io::Result<Vec<String>> {
    let mut sources = ["../../Cargo.toml", "../../Cargo.lock"].map(str::to_owned).to_vec();
    for folder in fs::read_dir("../../crates")? {
        for entry in fs::read_dir(folder?.path())? {
            let path = entry?.path();
            if !["tests", "examples", "benches"].iter().any(|name| path.ends_with(name)) {
                sources.push(path.display().to_string());
            }
        }
    }
    sources.sort();
    Ok(sources)
}

fn git(words: &[&str]) -> Option<String> {
    answer(Command::new("git").args(words))
}

fn answer(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What `cargo package` noted: `{"git": {"sha1": "…", "dirty": true}, …}`.
fn of_package() -> Option<String> {
    let file = ".cargo_vcs_info.json";
    let text = fs::read_to_string(file).ok()?;
    println!("cargo::rerun-if-changed={file}");
    let (_, after) = text.split_once("\"sha1\": \"")?;
    let commit: String = after.chars().take_while(char::is_ascii_hexdigit).take(12).collect();
    let differs = if text.contains("\"dirty\": true") { "+" } else { "" };
    (!commit.is_empty()).then(|| format!("{commit}{differs}"))
}
