//! HIP's library, found, missing, broken, lacking functions, or a stand-in: each in a process of its own, as the loader reads
//! `LD_LIBRARY_PATH` when a process starts.
//!
//! What runs are the crate's examples: `hip_probe` lists devices, `hip_conformance` runs the device contract's checks. The stand-ins are built
//! here with rustc: one that has every function and no device, whose functions are then taken out one by one, and the one of
//! `tests/fake-driver`, which has devices. Debian's and ROCm's own library is used where this machine has one.

#![allow(clippy::print_stderr, reason = "a test that skips something says so")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use tempfile::TempDir;

const NAME: &str = "libamdhip64.so.6";
const NAMES: [&str; 4] = ["libamdhip64.so.7", NAME, "libamdhip64.so.5", "libamdhip64.so"];

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target folder")
}

/// A folder with HIP's library built from the source at this path.
fn built(source: &Path) -> TempDir {
    let folder = folder();
    let built = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "hip", "-C", "opt-level=1"])
        .args(["-C", "strip=symbols", "-o"])
        .arg(folder.path().join(NAME))
        .arg(source)
        .output()
        .expect("rustc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder
}

/// The functions that the backend cannot do without, from its own table.
fn required() -> Vec<&'static str> {
    let table = include_str!("../src/api.rs").lines().filter(|line| line.contains(", since \"ROCm"));
    let named = table.filter_map(|line| line.split_once(" = hip")?.1.split(',').next());
    let mut names: Vec<&str> = named.collect();
    assert!(names.len() > 25, "the table is not read: {names:?}");
    names.push("Init");
    names
}

/// A HIP with every function that is required. hipInit answers what `FAKE_HIPINIT` says; there is no device.
fn bare() -> TempDir {
    let mut source = "//! A HIP of nothing.\n".to_owned();
    for name in required() {
        let body = match name {
            "Init" => "std::env::var(\"FAKE_HIPINIT\").ok().and_then(|code| code.parse().ok()).unwrap_or(0)",
            _ => "0",
        };
        let _ = writeln!(source, "#[unsafe(no_mangle)]\nextern \"C\" fn hip{name}() -> i32 {{ {body} }}");
    }
    let names = "c\"hipErrorUnknown\".as_ptr()";
    for name in ["GetErrorName", "GetErrorString"] {
        let head = format!("#[unsafe(no_mangle)]\nextern \"C\" fn hip{name}(_: i32) -> *const std::ffi::c_char");
        let _ = writeln!(source, "{head} {{ {names} }}");
    }
    let at = folder();
    let file = at.path().join("hip.rs");
    fs::write(&file, source).expect("a file in it");
    built(&file)
}

/// The same library without this function: under another name in the symbols, where a loader that looks for it by its hash
/// cannot take it for the one that is meant.
fn without(folder: &TempDir, function: &str) -> TempDir {
    let library = fs::read(folder.path().join(NAME)).expect("the library that was built");
    let (there, gone) = (format!("\0{function}\0"), format!("\0{}_\0", &function[..function.len() - 1]));
    let mut bytes = library.clone();
    let len = there.len();
    for at in 0..bytes.len().saturating_sub(len) {
        if &bytes[at..at + len] == there.as_bytes() {
            bytes[at..at + len].copy_from_slice(gone.as_bytes());
        }
    }
    assert!(bytes != library, "{function} is not in the library");
    let other = self::folder();
    fs::write(other.path().join(NAME), bytes).expect("a file in it");
    other
}

/// An example of this crate, which cargo builds beside its tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    let built = test.parent().and_then(Path::parent).map(|target| target.join("examples").join(name));
    let built = built.expect("tests lie in target/PROFILE/deps");
    assert!(built.exists(), "{} is not there: cargo build -p numabench-backend-hip --examples", built.display());
    built
}

/// Runs an example; without a folder of libraries it finds the machine's own.
fn run(name: &str, args: &[&str], libraries: Option<&Path>, told: &[(&str, &str)]) -> Output {
    let mut command = Command::new(example(name));
    for variable in ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"] {
        command.env_remove(variable);
    }
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(args).envs(told.iter().copied()).output().expect("the example runs")
}

/// What `hip_probe` prints; it must end by itself with exit code 1 (a signal has none) and without a word on stderr.
fn refused(libraries: &Path, told: &[(&str, &str)]) -> String {
    let output = run("hip_probe", &[], Some(libraries), told);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{text}{errors}");
    assert!(errors.is_empty(), "{errors}");
    text.into_owned()
}

#[test]
fn each_function_that_is_missing_is_named_and_nothing_crashes() {
    let whole = bare();
    for name in required() {
        let text = refused(without(&whole, &format!("hip{name}")).path(), &[]);
        assert!(text.contains(&format!("the driver library has no hip{name}: it is older than")), "{name}: {text}");
    }
}

#[test]
fn several_functions_that_are_missing_are_the_first_of_them() {
    let library = without(&without(&bare(), "hipFree"), "hipHostMalloc");
    let text = refused(without(&library, "hipMalloc").path(), &[]);
    assert!(text.contains("the driver library has no hipMalloc:"), "{text}");
}

#[test]
fn every_answer_of_hipinit_is_a_clean_error() {
    let whole = bare();
    for (code, expected) in [
        ("100", "NoDevice"),
        ("100", "hipInit says so (code 100)"),
        ("101", "hipInit says so (code 101)"),
        ("999", "hipInit failed with code 999 (hipErrorUnknown): hipErrorUnknown"),
        ("917", "hipInit failed with code 917 (unknown to this driver): this driver does not describe it"),
        ("98765", "hipInit failed with code 98765 (unknown to this driver)"),
        ("-1", "hipInit failed with code -1 (unknown to this driver)"),
    ] {
        let text = refused(whole.path(), &[("FAKE_HIPINIT", code)]);
        assert!(text.contains(expected), "{code}: {text}");
    }
    let mute = without(&without(&whole, "hipGetErrorName"), "hipGetErrorString");
    let text = refused(mute.path(), &[("FAKE_HIPINIT", "999")]);
    assert!(text.contains("code 999 (unknown to this driver): this driver does not describe it"), "{text}");
}

#[test]
fn a_hip_without_devices_says_what_hides_them() {
    let whole = bare();
    let text = refused(whole.path(), &[]);
    assert!(text.contains("the HIP driver shows no device: it counts 0"), "{text}");
    let text = refused(whole.path(), &[("ROCR_VISIBLE_DEVICES", "7"), ("HIP_VISIBLE_DEVICES", "0")]);
    assert!(text.contains("it counts 0 with ROCR_VISIBLE_DEVICES=\"7\", HIP_VISIBLE_DEVICES=\"0\": "), "{text}");
}

#[test]
fn a_library_that_does_not_load_is_no_driver_in_the_loaders_own_words() {
    let folder = folder();
    for name in NAMES {
        fs::write(folder.path().join(name), "not a library").expect("a file in it");
    }
    let text = refused(folder.path(), &[]);
    assert!(text.contains("NoDriver") && text.contains("libamdhip64.so.7: file too short"), "{text}");
    assert!(text.contains("load the site's rocm module"), "{text}");
}

#[test]
fn a_newer_library_that_does_not_load_gives_way_to_an_older_one() {
    let whole = bare();
    fs::write(whole.path().join("libamdhip64.so.7"), "not a library").expect("a file in it");
    let text = refused(whole.path(), &[("FAKE_HIPINIT", "917")]);
    assert!(text.contains("hipInit failed with code 917"), "{text}");
}

#[test]
fn rocms_own_library_without_a_gpu_shows_no_device_and_ends_with_77() {
    let output = run("hip_conformance", &["auto"], None, &[]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if text.contains("could be loaded") {
        eprintln!("SKIPPED ROCm's own library: this machine has none (Debian: libamdhip64-5)");
        return;
    }
    if text.contains("== latch") {
        eprintln!("SKIPPED ROCm's own library without a GPU: this machine has one");
        return;
    }
    assert_eq!(output.status.code(), Some(77), "{text}{errors}");
    assert!(text.contains("the HIP driver shows no device: hip") && text.contains(" says so (code 10"), "{text}");
    assert!(errors.is_empty(), "{errors}");
}

/// The stand-in with devices, where this repository has it; says so otherwise.
fn fake() -> Option<TempDir> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fake-driver/src/lib.rs");
    if !source.exists() {
        eprintln!("SKIPPED on devices: there is no {}", source.display());
        return None;
    }
    Some(built(&source))
}

/// What `hip_conformance` prints when nothing failed and the driver got everything back.
fn conforms(latch: &str, library: &Path) -> String {
    let output = run("hip_conformance", &[latch], Some(library), &[("FAKE_LEFTOVERS", "say")]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "{text}{errors}");
    text.into_owned()
}

#[test]
fn the_contract_is_kept_with_the_stream_memory_wait() {
    let Some(fake) = fake() else { return };
    let text = conforms("stream-wait", fake.path());
    assert!(text.contains("kind: Hip") && text.contains("simulated: Some("), "{text}");
    assert!(text.contains("latch: StreamWait"), "{text}");
    let skipped: Vec<&str> = text.lines().filter(|line| line.starts_with("skipped")).collect();
    assert!(skipped.iter().all(|line| line.contains("there is a latch")) && skipped.len() == 2, "{skipped:#?}");
}

#[test]
fn the_contract_is_kept_without_a_latch() {
    let Some(fake) = fake() else { return };
    assert!(conforms("none", fake.path()).contains("it was asked for that none be used"));
}

#[test]
fn without_what_a_latch_needs_there_is_none_and_the_reason_names_it() {
    let Some(fake) = fake() else { return };
    for missing in ["hipStreamWaitValue32", "hipExtMallocWithFlags"] {
        let text = conforms("auto", without(&fake, missing).path());
        let reason = format!("the stream-memory wait: the driver library has no {missing}");
        assert!(text.contains(&reason) && text.contains("none for HIP"), "{missing}: {text}");
    }
}

#[test]
fn devices_without_a_uuid_are_known_by_their_address() {
    let Some(fake) = fake() else { return };
    let library = without(&fake, "hipDeviceGetUuid");
    let output = run("hip_probe", &[], Some(library.path()), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("uuid: None") && !text.contains("uuid: Some"), "{text}");
}
