//! GPU drivers that fail, on eight stand-in devices: every single fault of every call that a command makes,
//! and pairs of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use report::document::Status;
use report::{Document, SavedDocument};

use super::Field;
use super::libraries::devices;
use super::tried::{Random, Tally, run};

/// What is run on eight devices, and the calls of the driver that are failed under it.
type Faced = (&'static [&'static str], &'static [&'static str]);

const COMMANDS: &[Faced] = &[
    (&["pingpong", "--size", "64KiB"], CALLS),
    (&["pingpong", "--size", "64KiB", "--memory", "pinned-driver"], &["cuMemHostAlloc", "cuMemFreeHost"]),
    (
        &["pingpong", "--size", "64KiB", "--engine", "sm"],
        &[
            "cuMemHostGetDevicePointer",
            "cuModuleLoadData",
            "cuModuleGetFunction",
            "cuLaunchKernel",
            "cuModuleUnload",
        ],
    ),
    (&["peer", "--size", "64KiB"], &["cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuMemcpyPeerAsync"]),
];
const CALLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceGetPCIBusId",
    "cuDeviceTotalMem",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease",
    "cuCtxSetCurrent",
    "cuMemGetInfo",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemcpyHtoD",
    "cuMemcpyDtoH",
    "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync",
    "cuStreamCreate",
    "cuStreamDestroy",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuStreamWaitValue32",
    "cuEventCreate",
    "cuEventDestroy",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventElapsedTime",
];
const WHEN: &[&str] = &["1", "2", "9", "40+", "*"];
const CODES: &[&str] = &["1", "2", "999", "98765"];
const OTHERS: &[&str] = &[
    "corrupt 7 100",
    "corrupt * 0",
    "hang 1",
    "hang 30",
    "lose 25 719",
    "lose 1 999",
    "times 3 nan",
    "times * negative",
    "times 1 huge",
    "times 2 zero",
    "times * infinite",
    "wait holds-nothing",
    "wait never-ends",
];

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let libraries = field.libraries.driver()?;
    let failing = |call: &str| {
        let codes = WHEN.iter().flat_map(|when| CODES.iter().map(move |code| (when, code)));
        codes.map(|(when, code)| format!("fail {call} {when} {code}")).collect::<Vec<_>>()
    };
    let mut all: Vec<(&[&str], String)> = Vec::new();
    for (command, calls) in COMMANDS {
        all.extend(calls.iter().flat_map(|call| failing(call)).map(|fault| (*command, fault)));
        // What copies do: in copies of every kind.
        all.extend(OTHERS.iter().map(|fault| (*command, (*fault).to_owned())));
    }
    for (command, fault) in random.sample(&all, field.extent.single) {
        try_faults(field, &libraries, command, fault, tally)?;
    }
    for _ in 0..field.extent.pairs {
        let ((command, first), (_, second)) = (random.pick(&all).clone(), random.pick(&all).clone());
        try_faults(field, &libraries, command, &format!("{first};{second}"), tally)?;
    }
    Ok(())
}

fn try_faults(field: &Field, libraries: &Path, what: &[&str], faults: &str, tally: &mut Tally) -> Result<()> {
    let path = field.folder.join("faulty.json");
    drop(fs::remove_file(&path));
    let mut command = Command::new(field.binary);
    command.args(what).args(["--backend", "cuda", "--gpus", "all", "--reps", "4", "--quiet"]);
    if what[0] == "pingpong" {
        // Ranks of eight devices share the processors there are.
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpus: Vec<String> = (0..8).map(|rank| (rank % processors).to_string()).collect();
        command.args(["--cpus", &cpus.join(",")]);
    }
    command.args(["--timeout", "15s", "--json"]).arg(&path);
    command.env("LD_LIBRARY_PATH", libraries).env("FAKE_DEVICES", devices(8)).env("FAKE_FAULTS", faults);
    let ended = run(&mut command, &field.folder)?;
    let document = fs::read(&path).ok().map(|bytes| Document::from_json(&bytes));
    let said = ended.err.contains("error: ");
    let wrong = match (ended.code, document) {
        (None, _) => Some(format!(
            "ended by signal {:?} after {:.1} s: {}",
            ended.signal,
            ended.took.as_secs_f64(),
            ended.err
        )),
        _ if ended.err.contains("panicked") => Some(ended.err),
        (Some(_), Some(Err(error))) => Some(format!("the document cannot be read: {error}")),
        (Some(code), Some(Ok(document))) => {
            let agrees =
                document.exit_code.map(i32::from) == Some(code) && document.status != Status::Running;
            (!agrees).then(|| {
                format!("code {code}, and the document says {:?}, {:?}", document.status, document.exit_code)
            })
        }
        // Before the run there is nothing to write, and a message.
        (Some(1 | 2 | 77), None) if said => None,
        (Some(code), None) => Some(format!("code {code} and no document: {}", ended.err)),
    };
    tally.count(&format!("{}: {faults}", what.join(" ")), wrong);
    Ok(())
}
