//! HIP's library, found, missing, broken, lacking functions, or a stand-in: each in a process of its own, as
//! the loader reads `LD_LIBRARY_PATH` when a process starts.
//!
//! The stand-ins are the workspace's `tests/fake-driver`, whole or without some of its functions. What runs
//! are the crate's examples: `hip_probe` lists devices, `hip_conformance` runs the device contract's checks,
//! `hip_kernels` compiles the kernels. ROCm's own library is used where this machine has one.

#![allow(clippy::print_stderr, reason = "a test that skips something says so")]

#[path = "../../../tests/fake-driver/stand_in.rs"]
#[allow(dead_code, reason = "shared with the tests of other crates, which use all of it")]
mod stand_in;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use device::conformance::names;
use stand_in::Driver;

const NAMES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// The folder of the stand-in.
fn fake() -> PathBuf {
    stand_in::stand_in(Driver::Hip).expect("the stand-in driver")
}

/// The same without these functions.
fn lacking(functions: &[&str]) -> PathBuf {
    stand_in::lacking(Driver::Hip, functions).expect("the stand-in driver")
}

/// A folder for the libraries of one test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target folder")
}

/// The functions that the backend cannot do without, from its own table.
fn required() -> Vec<String> {
    let table = include_str!("../src/api.rs").lines().filter(|line| line.contains(", since \"ROCm"));
    let named = table.filter_map(|line| line.split_once(" = hip")?.1.split(',').next());
    let mut names: Vec<String> = named.map(|name| format!("hip{name}")).collect();
    assert!(names.len() > 25, "the table is not read: {names:?}");
    names.push("hipInit".to_owned());
    names
}

/// An example of this crate, which cargo builds beside its tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    let built = test.parent().and_then(Path::parent).map(|target| target.join("examples").join(name));
    let built = built.expect("tests lie in target/PROFILE/deps");
    assert!(
        built.exists(),
        "{} is not there: cargo build -p numabench-backend-hip --examples",
        built.display()
    );
    built
}

/// Runs an example; without a folder of libraries it finds the machine's own.
fn run(name: &str, args: &[&str], libraries: Option<&Path>, told: &[(&str, &str)]) -> Output {
    let mut command = Command::new(example(name));
    for variable in
        ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"]
    {
        command.env_remove(variable);
    }
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(args).envs(told.iter().copied()).output().expect("the example runs")
}

/// What `hip_probe` prints; it must end by itself with exit code 1 (a signal has none) and without a word on
/// stderr.
fn refused(libraries: &Path, told: &[(&str, &str)]) -> String {
    let output = run("hip_probe", &[], Some(libraries), told);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{text}{errors}");
    assert!(errors.is_empty(), "{errors}");
    text.into_owned()
}

#[test]
fn each_function_that_is_missing_is_named_and_nothing_crashes() {
    for name in required() {
        let text = refused(&lacking(&[&name]), &[]);
        let [error, sentence] = &text.lines().collect::<Vec<_>>()[..] else { panic!("{name}: {text}") };
        assert!(error.starts_with(&format!("MissingSymbol {{ symbol: \"{name}\", needs: ")), "{text}");
        assert!(sentence.contains(&format!(" {name}: ")), "{text}");
    }
}

#[test]
fn several_functions_that_are_missing_are_the_first_of_them() {
    let text = refused(&lacking(&["hipFree", "hipHostMalloc", "hipMalloc", "hipStreamWaitValue32"]), &[]);
    insta::assert_snapshot!(text, @r#"
    MissingSymbol { symbol: "hipMalloc", needs: "ROCm 4.2" }
    the driver library has no hipMalloc: it is older than numabench needs (ROCm 4.2)
    "#);
}

#[test]
fn every_answer_of_hipinit_is_a_clean_error() {
    for (code, expected) in [
        ("100", "NoDevice"),
        ("100", "hipInit says so (code 100)"),
        ("101", "hipInit says so (code 101)"),
        ("999", "hipInit failed with code 999 (hipErrorUnknown)"),
        ("917", "hipInit failed with code 917 (unknown to this driver): this driver does not describe it"),
        ("98765", "hipInit failed with code 98765 (unknown to this driver)"),
        ("-1", "hipInit failed with code -1 (unknown to this driver)"),
    ] {
        let text = refused(&fake(), &[("FAKE_FAULTS", &format!("fail hipInit * {code}"))]);
        assert!(text.contains(expected), "{code}: {text}");
    }
    let mute = lacking(&["hipGetErrorName", "hipGetErrorString"]);
    insta::assert_snapshot!("a_code_without_a_name", refused(&mute, &[("FAKE_FAULTS", "fail hipInit * 2")]));
}

#[test]
fn a_hip_without_devices_says_what_hides_them() {
    let none = refused(&fake(), &[("FAKE_DEVICES", "says nothing is here")]);
    let hidden = refused(&fake(), &[("ROCR_VISIBLE_DEVICES", "0"), ("HIP_VISIBLE_DEVICES", "7")]);
    assert!(none.contains("NoDevice") && hidden.contains("NoDevice"), "{none}{hidden}");
    // What to look at depends on whether this machine's kernel has AMD's driver.
    let cause = |text: &str| {
        text.lines().last().and_then(|line| line.rsplit_once(": ")).map(|(cause, _)| cause.to_owned())
    };
    insta::assert_snapshot!(
        "without_devices",
        [none, hidden].map(|text| cause(&text).unwrap_or_default()).join("\n")
    );
}

#[test]
fn a_library_that_does_not_load_is_no_driver_in_the_loaders_own_words() {
    let folder = folder();
    for name in NAMES {
        fs::write(folder.path().join(name), "not a library").expect("the file");
    }
    let text = refused(folder.path(), &[]);
    assert!(text.contains("NoDriver"), "{text}");
    insta::assert_snapshot!("no_library", text.replace(&folder.path().display().to_string(), "FOLDER"));
}

#[test]
fn a_newer_library_that_does_not_load_gives_way_to_an_older_one() {
    let [newest, older, ..] = NAMES;
    let folder = folder();
    fs::write(folder.path().join(newest), "not a library").expect("the file");
    fs::copy(fake().join(Driver::Hip.library()), folder.path().join(older)).expect("a copy in it");
    let text = refused(folder.path(), &[("FAKE_FAULTS", "fail hipInit * 917")]);
    assert!(text.contains("hipInit") && text.contains("917"), "{text}");
}

#[test]
fn rocms_own_library_without_a_gpu_shows_no_device_and_ends_with_77() {
    if run("hip_probe", &[], None, &[]).stdout.starts_with(b"NoDriver") {
        eprintln!("SKIPPED ROCm's own library: this machine has none (Debian: libamdhip64-5)");
        return;
    }
    let output = run("hip_conformance", &["auto"], None, &[]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if text.contains("== latch") {
        eprintln!("SKIPPED ROCm's own library without a GPU: this machine has one");
        return;
    }
    assert_eq!(output.status.code(), Some(77), "{text}{errors}");
    assert!(
        text.contains("the HIP driver shows no device: hip") && text.contains(" says so (code 10"),
        "{text}"
    );
    assert!(errors.is_empty(), "{errors}");
}

/// How long the code is that `hip_kernels` got for an architecture.
fn code_bytes(text: &str, architecture: &str) -> Option<usize> {
    let rest = text.lines().find_map(|line| line.strip_prefix(architecture)?.strip_prefix(": "))?;
    rest.split_once(" bytes ")?.0.parse().ok()
}

#[test]
fn rocms_own_compiler_takes_the_kernels_for_each_architecture_that_it_knows() {
    let output = run("hip_kernels", &["gfx906", "gfx908", "gfx90a"], None, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(77) {
        eprintln!("SKIPPED ROCm's own library: this machine has none (Debian: libamdhip64-5)");
        return;
    }
    assert!(output.status.success(), "{text}");
    for architecture in ["gfx906", "gfx908", "gfx90a"] {
        assert!(code_bytes(&text, architecture) > Some(0), "{architecture}: {text}");
    }
}

#[test]
fn a_compiler_that_refuses_the_source_is_quoted_and_one_that_is_missing_too() {
    let told = |library: &Path, faults: &str| {
        let output = run("hip_kernels", &["gfx90a"], Some(library), &[("FAKE_FAULTS", faults)]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = told(&fake(), "");
    assert!(code == Some(0) && code_bytes(&text, "gfx90a") > Some(0), "{text}");
    let (code, text) = told(&fake(), "fail hiprtcCompileProgram * 6");
    assert_eq!(
        (code, &*text),
        (Some(1), "gfx90a: hiprtcCompileProgram failed with code 6 (HIPRTC_ERROR_COMPILATION)\n")
    );
    let (code, text) = told(&lacking(&["hiprtcGetCode"]), "");
    assert!(code == Some(77) && text.starts_with("no libhiprtc.so could be loaded: "), "{text}");
}

/// What `hip_conformance` prints when nothing failed and the driver got everything back.
fn conforms(latch: &str, library: &Path, told: &[(&str, &str)]) -> String {
    conforms_in(&[latch], library, told)
}

fn conforms_in(asked: &[&str], library: &Path, told: &[(&str, &str)]) -> String {
    let told = [told, &[("FAKE_LEFTOVERS", "say")]].concat();
    let output = run("hip_conformance", asked, Some(library), &told);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "{text}{errors}");
    text.into_owned()
}

#[test]
fn the_kernels_are_compiled_once_for_all_devices_of_a_name_even_in_vain() {
    for faults in ["", "fail hiprtcCompileProgram * 11"] {
        let folder = folder();
        let calls = folder.path().join("calls");
        let told = [("FAKE_CALLS", calls.to_str().expect("a name of letters")), ("FAKE_FAULTS", faults)];
        conforms_in(&["none", "check=opened"], &fake(), &told);
        let counted = fs::read_to_string(calls).expect("what was called");
        let count =
            |call: &str| counted.lines().find_map(|line| line.strip_prefix(call)?.trim().parse::<u32>().ok());
        assert!(count("hipGetDevice ").is_some_and(|opened| opened > 2), "{counted}");
        assert_eq!(count("hiprtcCompileProgram "), Some(1), "{counted}");
    }
}

/// Two devices that reach each other's memory.
const REACH: &str = "device 0000:05:00.0; peers 1; device 0000:c1:00.0; peers 0";

#[test]
fn the_contract_is_kept_with_the_stream_memory_wait() {
    let text = conforms("stream-wait", &fake(), &[("FAKE_DEVICES", REACH)]);
    assert!(text.contains("kind: Hip") && text.contains("simulated: Some("), "{text}");
    assert!(capabilities(&text).contains("StreamWait"), "{text}");
    let skipped: Vec<&str> = text.lines().filter(|line| line.starts_with("skipped")).collect();
    insta::assert_snapshot!(skipped.join("\n"), @"
    skipped 0000:05:00.0  a device that has no patterns refuses them: there are patterns
    skipped 0000:05:00.0  without a latch nothing is queued: there is a latch
    skipped 0000:05:00.0  TMA copies the bytes that were asked for, and no other: NVIDIA's GPUs alone have a tensor memory accelerator; copy with --engine sm or ce
    skipped 0000:c1:00.0  a device that has no patterns refuses them: there are patterns
    skipped 0000:c1:00.0  without a latch nothing is queued: there is a latch
    skipped 0000:c1:00.0  TMA copies the bytes that were asked for, and no other: NVIDIA's GPUs alone have a tensor memory accelerator; copy with --engine sm or ce
    ");
    assert!(text.contains("patterns: Ok(())") && text.contains("loads: Ok(())"), "{text}");
}

#[test]
fn without_kernels_the_contract_is_kept_by_the_cpu_and_the_reason_is_the_compilers() {
    let lost = "fail hiprtcCompileProgram * 11";
    let missing = lacking(&["hiprtcCreateProgram"]);
    let cases = [
        (fake(), lost, "hiprtcCompileProgram failed with code 11 (Invalid HIPRTC error code)"),
        (fake(), "fail hiprtcGetCode * 4", "hiprtcGetCode failed with code 4 (HIPRTC_ERROR_INVALID_PROGRAM)"),
        (fake(), "fail hipModuleLoadData * 209", "hipModuleLoadData failed with code 209"),
        (fake(), "fail hipModuleGetFunction * 500", "hipModuleGetFunction failed with code 500"),
        (missing, "", "no libhiprtc.so could be loaded: libhiprtc.so.7: cannot open shared object file"),
        (fake(), "patterns fill-wrong", "the device fills other bytes than the host, first at offset 0"),
    ];
    for (library, faults, why) in cases {
        let text = conforms("stream-wait", &library, &[("FAKE_FAULTS", faults)]);
        assert!(text.contains(&format!("patterns: Err(\"{why}")), "{why}: {text}");
        let skipped = text.lines().filter(|line| line.starts_with("skipped") && line.contains(why)).count();
        assert_eq!(skipped, 2 * 12, "{why}: {text}");
    }
}

#[test]
fn the_contract_is_kept_without_a_latch() {
    // The program itself fails where the latch in use is another one than the one asked for.
    conforms("none", &fake(), &[]);
}

#[test]
fn without_what_a_latch_needs_there_is_none_and_the_reason_names_it() {
    let said = ["hipStreamWaitValue32", "hipExtMallocWithFlags"].map(|missing| {
        let text = conforms("auto", &lacking(&[missing]), &[]);
        capabilities(&text).to_owned()
    });
    let asked = conforms_in(&["none", "check=latch"], &fake(), &[]);
    insta::assert_snapshot!("without_a_latch", format!("{}\n{}", said.join("\n"), capabilities(&asked)));
}

/// What `hip_conformance` prints of what the first device can do.
fn capabilities(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("Capabilities")).unwrap_or_default()
}

#[test]
fn devices_without_a_uuid_are_known_by_their_address() {
    let output = run("hip_probe", &[], Some(&lacking(&["hipDeviceGetUuid"])), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("uuid: None") && !text.contains("uuid: Some"), "{text}");
}

#[test]
fn a_version_that_does_not_know_whether_streams_can_wait_is_tried() {
    let told = [("FAKE_FAULTS", "fail hipDeviceGetAttribute * 1")];
    let text = conforms_in(&["auto", "check=held", "check=latch"], &fake(), &told);
    assert!(capabilities(&text).contains("StreamWait"), "{text}");
}

#[test]
fn partitions_of_one_address_open_each_for_itself() {
    let partitions = "device 0000:01:00.0; device 0000:02:00.0; device 0000:01:00.0";
    let text = conforms("none", &fake(), &[("FAKE_DEVICES", partitions)]);
    for address in ["0000:01:00.0", "0000:01:00.1", "0000:02:00.0"] {
        assert!(text.contains(&format!("passed  {address}  {}\n", names::EXACT_BYTES)), "{address}: {text}");
    }
}

#[test]
fn a_call_that_fails_with_a_code_nobody_knows_is_a_finding_and_the_other_checks_go_on() {
    let mut errors = Vec::new();
    for (call, code) in [("hipMalloc", "917"), ("hipEventQuery", "98765"), ("hipSetDevice", "917")] {
        let faults = format!("fail {call} * {code}");
        let output = run("hip_conformance", &["auto"], Some(&fake()), &[("FAKE_FAULTS", &faults)]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(&format!("passed  platform  {}\n", names::HAS_DEVICE)), "{text}");
        let mut failed = text.lines().filter(|line| line.starts_with("FAILED"));
        let error = failed.find_map(|line| Some(&line[line.find(&format!("{call} "))?..]));
        errors.push(error.unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    hipMalloc failed with code 917 (unknown to this driver): this driver does not describe it
    hipEventQuery failed with code 98765 (unknown to this driver): this driver does not describe it
    hipSetDevice failed with code 917 (unknown to this driver): this driver does not describe it
    ");
}
