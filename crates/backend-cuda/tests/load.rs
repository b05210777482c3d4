//! The driver library, found, missing, broken, or a fake: each in a process of its own, as the loader reads
//! `LD_LIBRARY_PATH` when a process starts.
//!
//! The fakes are the workspace's `tests/fake-driver`, whole or without some of its functions. What runs are
//! the crate's examples: `probe` lists devices, `conformance` runs the device contract's checks. Hardware is
//! not needed, and where a GPU is, it is not used.

#![allow(clippy::print_stdout, reason = "a test that skips something says so")]

#[path = "../../../tests/fake-driver/stand_in.rs"]
#[allow(dead_code, reason = "shared with the tests of other crates, which use all of it")]
mod stand_in;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use device::conformance::names;
use stand_in::Driver;

/// The folder of the stand-in driver.
fn fake() -> PathBuf {
    stand_in::stand_in(Driver::Cuda).expect("the stand-in driver")
}

/// The same without these functions.
fn lacking(functions: &[&str]) -> PathBuf {
    stand_in::lacking(Driver::Cuda, functions).expect("the stand-in driver")
}

/// For tests that no second device would make stricter.
const ONE_DEVICE: (&str, &str) = ("FAKE_DEVICES", "device 0000:05:00.0");

/// The answer of cuInit, as a fault.
fn cuinit(code: &str) -> String {
    format!("fail cuInit * {code}")
}

/// An example of this crate, which cargo builds beside its tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    let built = test.parent().and_then(Path::parent).map(|target| target.join("examples").join(name));
    let built = built.expect("tests lie in target/PROFILE/deps");
    assert!(
        built.exists(),
        "{} is not there: cargo build -p numabench-backend-cuda --examples",
        built.display()
    );
    built
}

fn run(name: &str, args: &[&str], libraries: &Path, told: &[(&str, &str)]) -> Output {
    let mut command = Command::new(example(name));
    command.args(args).env("LD_LIBRARY_PATH", libraries).env_remove("CUDA_VISIBLE_DEVICES");
    command.envs(told.iter().copied()).output().expect("the example runs")
}

/// What `probe` prints; it must end by itself with exit code 1 (a signal has none).
fn refused(libraries: &Path, told: &[(&str, &str)]) -> String {
    let output = run("probe", &[], libraries, told);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn every_answer_of_cuinit_is_a_clean_error() {
    // The error's variant and its fields, then its sentence.
    let codes = ["34", "100", "2", "917", "98765", "-1"];
    insta::assert_snapshot!(codes.map(|code| refused(&fake(), &[("FAKE_FAULTS", &cuinit(code))])).concat(), @r#"
    StubDriver { library: "libcuda.so.1" }
    the libcuda.so.1 that was loaded is a toolkit stub, not a driver: take the toolkit's stubs folder out of LD_LIBRARY_PATH
    NoDevice { driver: "CUDA", reason: "cuInit says so (code 100): see whether nvidia-smi lists any, and whether this job was given a GPU" }
    the CUDA driver shows no device: cuInit says so (code 100): see whether nvidia-smi lists any, and whether this job was given a GPU
    Call(CallError { call: "cuInit", code: 2, name: "CUDA_ERROR_OUT_OF_MEMORY", text: "CUDA_ERROR_OUT_OF_MEMORY" })
    cuInit failed with code 2 (CUDA_ERROR_OUT_OF_MEMORY): CUDA_ERROR_OUT_OF_MEMORY
    Call(CallError { call: "cuInit", code: 917, name: "unknown to this driver", text: "this driver does not describe it" })
    cuInit failed with code 917 (unknown to this driver): this driver does not describe it
    Call(CallError { call: "cuInit", code: 98765, name: "unknown to this driver", text: "this driver does not describe it" })
    cuInit failed with code 98765 (unknown to this driver): this driver does not describe it
    Call(CallError { call: "cuInit", code: -1, name: "unknown to this driver", text: "this driver does not describe it" })
    cuInit failed with code -1 (unknown to this driver): this driver does not describe it
    "#);
}

#[test]
fn a_driver_without_devices_says_what_hides_them() {
    let counted = refused(&fake(), &[("CUDA_VISIBLE_DEVICES", "7")]);
    let told = refused(&fake(), &[("FAKE_FAULTS", &cuinit("100")), ("CUDA_VISIBLE_DEVICES", "")]);
    assert!(counted.contains("NoDevice") && told.contains("NoDevice"), "{counted}{told}");
    insta::assert_snapshot!("without_devices", format!("{counted}{told}"));
}

#[test]
fn a_missing_symbol_is_named_and_a_driver_that_cannot_explain_a_code_still_gives_it() {
    let lacks = refused(&lacking(&["cuDriverGetVersion"]), &[]);
    let mute = refused(&lacking(&["cuGetErrorName", "cuGetErrorString"]), &[("FAKE_FAULTS", &cuinit("999"))]);
    insta::assert_snapshot!("missing_symbols", format!("{lacks}{mute}"));
}

#[test]
fn a_library_that_does_not_load_is_no_driver_in_the_loaders_own_words() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target folder");
    for name in ["libcuda.so.1", "libcuda.so"] {
        fs::write(folder.path().join(name), "not a library").expect("the file");
    }
    let text = refused(folder.path(), &[]);
    assert!(text.contains("NoDriver"), "{text}");
    insta::assert_snapshot!("no_library", text.replace(&folder.path().display().to_string(), "FOLDER"));
}

#[test]
fn a_stub_without_a_soname_link_is_recognised() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target folder");
    fs::copy(fake().join("libcuda.so.1"), folder.path().join("libcuda.so")).expect("copying");
    if Path::new("/proc/driver/nvidia").exists() {
        println!("skipped: the loader would find this machine's own libcuda.so.1 first");
        return;
    }
    assert!(refused(folder.path(), &[("FAKE_FAULTS", &cuinit("34"))]).contains("StubDriver"));
}

#[test]
fn devices_are_listed_in_pci_order_by_what_the_driver_says_of_them() {
    let output = run("probe", &[], &fake(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    insta::assert_snapshot!("devices", text);
}

/// What `conformance` prints of what the first device can do.
fn capabilities(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("Capabilities")).unwrap_or_default()
}

/// What `conformance` prints when nothing failed and the driver got everything back.
fn conforms(latch: &str, told: &[(&str, &str)]) -> String {
    conforms_in(&[latch], told)
}

fn conforms_in(asked: &[&str], told: &[(&str, &str)]) -> String {
    let output = run("conformance", asked, &fake(), told);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{text}{errors}");
    text
}

#[test]
fn the_contract_is_kept_with_the_stream_memory_wait() {
    let text = conforms("stream-wait", &[]);
    assert!(capabilities(&text).contains("StreamWait"), "{text}");
    let skipped: Vec<&str> = text.lines().filter(|line| line.starts_with("skipped")).collect();
    // These two devices do not reach each other.
    insta::assert_snapshot!(skipped.join("\n"), @"
    skipped 0000:05:00.0  a device that has no patterns refuses them: there are patterns
    skipped 0000:05:00.0  without a latch nothing is queued: there is a latch
    skipped 0000:05:00.0  a chain of loads between devices is followed to where it leads, and held until the release: the device that loads cannot reach the other one's memory
    skipped 0000:c1:00.0  a device that has no patterns refuses them: there are patterns
    skipped 0000:c1:00.0  without a latch nothing is queued: there is a latch
    skipped 0000:c1:00.0  a chain of loads between devices is followed to where it leads, and held until the release: the device that loads cannot reach the other one's memory
    ");
    assert!(text.contains("patterns: Ok(())"), "{text}");
}

#[test]
fn the_contract_is_kept_with_the_spin_kernel() {
    assert!(capabilities(&conforms("spin-kernel", &[])).contains("SpinKernel"));
}

#[test]
fn the_contract_is_kept_without_a_latch() {
    // The program itself fails where the latch in use is another one than the one asked for.
    conforms("none", &[]);
}

#[test]
fn a_stream_wait_that_is_refused_or_does_not_hold_gives_way_to_the_spin_kernel() {
    for told in ["fail cuStreamWaitValue32 * 801", "wait holds-nothing"] {
        // With the spin kernel the rest of the contract is kept, as the test before has seen.
        let text = conforms_in(&["auto", "check=held", "check=latch"], &[("FAKE_FAULTS", told)]);
        assert!(capabilities(&text).contains("SpinKernel"), "{told}: {text}");
    }
}

#[test]
fn without_a_latch_that_works_the_reason_names_both() {
    let text =
        conforms("auto", &[("FAKE_FAULTS", "fail cuStreamWaitValue32 * 801; fail cuModuleLoadData * 222")]);
    let asked = conforms_in(&["none", "check=latch"], &[]);
    insta::assert_snapshot!("without_a_latch", format!("{}\n{}", capabilities(&text), capabilities(&asked)));
}

#[test]
fn kernels_that_do_not_load_or_do_not_work_are_not_used_and_everything_else_is_as_before() {
    for (told, reason) in [
        ("fail cuModuleLoadData * 222", "cuModuleLoadData failed with code 222"),
        ("fail cuModuleGetFunction * 500", "cuModuleGetFunction failed with code 500"),
        ("fail cuLaunchKernel * 98", "cuLaunchKernel failed with code 98"),
        ("patterns fill-wrong", "the device fills other bytes than the host, first at offset 0"),
        ("patterns compare-blind", "the device's comparison found no difference, expected one at word 512"),
    ] {
        let text = conforms("none", &[("FAKE_FAULTS", told), ONE_DEVICE]);
        assert!(text.contains(&format!("patterns: Err(\"{reason}")), "{told}: {text}");
        let refused = format!("passed  0000:05:00.0  {}\n", names::NO_PATTERNS);
        let skipped = format!("skipped 0000:05:00.0  {}: no patterns", names::FILLS);
        assert!(text.contains(&refused) && text.contains(&skipped), "{told}: {text}");
    }
}

#[test]
fn devices_that_reach_each_other_copy_directly_and_others_through_the_host() {
    let devices = |peers: &str| format!("device 0000:05:00.0; {peers}; device 0000:06:00.0; {peers}");
    for (peers, enabled) in [("peers 0 1", true), ("host-node 0", false)] {
        // What never enables access cannot fail at it.
        let told = [("FAKE_DEVICES", &*devices(peers)), ("FAKE_FAULTS", "fail cuCtxEnablePeerAccess * 999")];
        let asked = ["stream-wait", "check=between devices"];
        let text = conforms_in(&asked, &told[..1]);
        let passed = |check: &str| text.contains(&format!("passed  0000:05:00.0  {check}\n"));
        assert!(passed(names::BETWEEN), "{text}");
        assert_eq!(passed(names::CHAIN_BETWEEN), enabled, "{text}");
        let output = run("conformance", &asked, &fake(), &told);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.contains("cuCtxEnablePeerAccess failed with code 999"), enabled, "{text}");
    }
}

#[test]
fn a_device_older_than_the_tensor_memory_accelerator_copies_without_it_and_says_why() {
    let older = "device 0000:05:00.0; capability 8.9";
    let text = conforms("stream-wait", &[("FAKE_DEVICES", older)]);
    let skipped = text.lines().find(|line| line.contains(names::TMA_COPIES)).unwrap_or_default();
    insta::assert_snapshot!(skipped, @"skipped 0000:05:00.0  TMA copies the bytes that were asked for, and no other: its compute capability is 8.9, and the kernels of TMA copies are for 9.0 and above; copy with --engine sm or ce");
    assert!(text.contains(&format!("passed  0000:05:00.0  {}\n", names::KERNEL_COPIES)), "{text}");
}

#[test]
fn what_a_kernel_or_a_copy_between_devices_does_wrong_is_found() {
    let devices = "device 0000:05:00.0; peers 1; device 0000:06:00.0; peers 0";
    for (fault, checks) in [
        (
            "kernels copy-short",
            &[names::KERNEL_COPIES, names::TMA_COPIES, names::BETWEEN, names::HELD_BETWEEN, names::WITHIN][..],
        ),
        (
            "kernels chase-stops",
            &[names::CHAIN, names::CHAIN_HANDED_ON, names::HELD_LOADS, names::CHAIN_BETWEEN],
        ),
        ("kernels answers-stop", &[names::ANSWERS]),
        ("corrupt 20+ 0", &[names::BETWEEN, names::HELD_BETWEEN, names::WITHIN]),
    ] {
        let told = [("FAKE_DEVICES", devices), ("FAKE_FAULTS", fault)];
        let output = run("conformance", &["stream-wait"], &fake(), &told);
        let text = String::from_utf8_lossy(&output.stdout);
        let failed: Vec<&str> = failures(&text).iter().map(|(check, _)| *check).collect();
        assert!(checks.iter().all(|check| failed.contains(check)), "{fault}: {text}");
        assert!(fault.starts_with("corrupt") || failed.len() == checks.len(), "{fault}: {text}");
    }
}

/// The checks that failed, of one device, and why each did.
fn failures(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("FAILED  0000:05:00.0  "));
    lines.filter_map(|line| line.split_once(": ")).collect()
}

#[test]
fn what_never_queues_needs_no_stream_and_no_event() {
    // Without a latch to try no stream is made at all, but for both directions at once, for ranks that take
    // turns and for what is made to queue.
    let told = "fail cuStreamCreate * 917; fail cuEventCreate * 917; fail cuMemcpyHtoDAsync * 917; fail \
        cuMemcpyDtoHAsync * 917";
    let output = run("conformance", &["none"], &fake(), &[("FAKE_FAULTS", told), ONE_DEVICE]);
    let text = String::from_utf8_lossy(&output.stdout);
    let failures = failures(&text);
    let failed: Vec<&str> = failures.iter().map(|(check, _)| *check).collect();
    let by_kernels = [
        names::KERNEL_COPIES,
        names::TMA_COPIES,
        names::CHAIN,
        names::CHAIN_HANDED_ON,
        names::ANSWERS,
        names::WITHIN,
    ];
    let buffers = [names::BUFFER_RANGES, names::BUFFER_ORDER, names::BUFFER_REFUSED];
    // A name with a colon of its own is parted there.
    let (both, _) = names::BIDIRECTIONAL.split_once(": ").expect("a colon");
    let expected = [&[both, names::SHARED_DEVICE], &by_kernels[..], &buffers[..]].concat();
    assert_eq!(failed, expected, "{text}");
    assert!(
        failures.iter().all(|(_, why)| why.contains("cuStreamCreate ") && why.contains(" 917 ")),
        "{text}"
    );
}

#[test]
fn what_a_driver_may_still_write_is_neither_freed_nor_lent_when_waiting_fails() {
    // Always, and once: after that the copier is waited for and freed as ever.
    for (when, leaks) in [("*", true), ("1", false)] {
        let told = format!("fail cuStreamSynchronize {when} 999");
        let output = run("conformance", &["stream-wait"], &fake(), &[("FAKE_FAULTS", &told), ONE_DEVICE]);
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{text}{errors}");
        let failures = failures(&text);
        assert_eq!(failures.len() > 1, leaks, "{text}");
        assert!(text.contains(&format!("passed  0000:05:00.0  {}\n", names::EXACT_BYTES)), "{text}");
        assert!(
            failures.iter().any(|(_, why)| why.contains("cuStreamSynchronize ") && why.contains(" 999 ")),
            "{text}"
        );
        assert!(errors.is_empty(), "{errors}");
    }
}

#[test]
fn kernels_that_may_still_run_are_not_unloaded_and_the_failure_says_so() {
    let mut reasons = Vec::new();
    for (faults, keeps) in [("", false), ("fail cuStreamSynchronize * 999", true)] {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target folder");
        let calls = folder.path().join("calls");
        let told =
            [("FAKE_CALLS", calls.to_str().expect("a name of letters")), ("FAKE_FAULTS", faults), ONE_DEVICE];
        let asked = ["stream-wait", "check=a kernel copies", "check=a chain of loads"];
        let output = run("conformance", &asked, &fake(), &told);
        let text = String::from_utf8_lossy(&output.stdout);
        let counted = fs::read_to_string(calls).expect("what was called");
        let count = |call: &str| {
            let number = counted.lines().find_map(|line| line.strip_prefix(call)?.trim().parse::<u32>().ok());
            number.unwrap_or(0)
        };
        let (loaded, unloaded) = (count("cuModuleLoadData "), count("cuModuleUnload "));
        assert!(loaded > 0 && (unloaded < loaded) == keeps, "{unloaded} of {loaded}: {text}");
        assert_eq!(failures(&text).is_empty(), !keeps, "{text}");
        reasons.extend(failures(&text).into_iter().map(|(_, why)| why.to_owned()));
    }
    reasons.dedup();
    insta::assert_snapshot!(reasons.join("\n"), @"cuStreamSynchronize failed with code 999 (unknown to this \
        driver): this driver does not describe it; what was queued may still run, so its memory and kernels \
        are kept until this process ends");
}

#[test]
fn a_stream_wait_that_never_lets_go_is_found_out() {
    let output =
        run("conformance", &["stream-wait", "check=latch"], &fake(), &[("FAKE_FAULTS", "wait never-ends")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().any(|line| line.starts_with("FAILED")), "{text}");
    insta::assert_snapshot!("a_latch_that_never_lets_go", capabilities(&text));
}

#[test]
fn a_word_that_no_check_has_in_its_name_is_no_success() {
    let word = "of this kind";
    let output = run("conformance", &["none", &format!("check={word}")], &fake(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.lines().any(|line| line.starts_with("FAILED") && line.ends_with(word)), "{text}");
}

#[test]
fn memory_that_cannot_be_pinned_is_a_finding_that_names_the_limit() {
    let output = run("conformance", &["none"], &fake(), &[("FAKE_FAULTS", "fail cuMemHostRegister * 2")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let failures = failures(&text);
    let (_, why) =
        failures.iter().find(|(_, why)| why.contains("1048576")).expect("a failure that names the bytes");
    // What this process may lock is this machine's.
    let limit = why.split(' ').skip_while(|word| *word != "lock").nth(1).expect("a limit");
    insta::assert_snapshot!("memory_that_cannot_be_pinned", why.replace(limit, "LIMIT"));
}
