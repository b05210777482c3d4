//! `numabench doctor` in a guest whose GPUs' memory is NUMA nodes: file cache and memory of processes that
//! are planted there are found, with their node, amount and owner; whatever lies elsewhere, is next to
//! nothing or is gone again is not.

use std::error::Error;
use std::process::Command;

use serde_json::Value;

use crate::lab;
use crate::run::{Done, is_whole, skipped};

/// `cache|shared|process NODE MIB` puts so much of that kind on a node; `gone` takes all away again; `look
/// NAME` writes what doctor says of GPU memory and how long it took. The driver's files, which make nodes 2
/// and 3 the memory of GPUs, lie over the guest's own.
const FUNCTIONS: &str = r#"
mount -t tmpfs driver /proc/driver
node=2
for device in /sys/bus/pci/devices/*; do
    case $(cat $device/class) in 0x03*) ;; *) continue ;; esac
    mkdir -p /proc/driver/nvidia/gpus/${device##*/}
    echo "Node: $node" >/proc/driver/nvidia/gpus/${device##*/}/numa_status
    node=$((node + 1))
done
mkfifo /tmp/full; exec 9<>/tmp/full
mkdir /tmp/files; mount -t ramfs files /tmp/files
write() { numactl -m $1 dd if=/dev/zero of=$2 bs=1M count=$3 2>/dev/null; }
cache() { write $1 /tmp/files/$1-$2 $2; }
shared() { write $1 /dev/shm/$1-$2 $2; }
process() {
    numactl -m $1 dd if=/dev/zero bs=${2}M count=1 >&9 2>/dev/null &
    until [ "$(awk '/^VmRSS/ { print $2 }' /proc/$!/status)" -gt $(($2 * 1024)) ]; do sleep 0.05; done
}
gone() { rm -f /tmp/files/* /dev/shm/*; killall -9 dd 2>/dev/null; wait; }
look() {
    numabench doctor --json - >/tmp/doctor.json
    echo "@@@ $1"
    tr -d '\n' </tmp/doctor.json | grep -o '{[^{}]*"memory.gpu-node-use"[^{}]*}'
    echo "time: $(grep -o '"elapsed_s"[^,]*' /tmp/doctor.json)"
}
"#;

/// What is planted: the kind, the node, MiB.
const PLANTED: [(&str, u32, u32); 20] = [
    ("cache", 2, 8),
    ("cache", 2, 16),
    ("cache", 2, 32),
    ("cache", 2, 64),
    ("cache", 2, 128),
    ("cache", 2, 200),
    ("cache", 2, 300),
    ("cache", 3, 12),
    ("cache", 3, 100),
    ("cache", 3, 250),
    ("shared", 2, 10),
    ("shared", 2, 50),
    ("shared", 2, 150),
    ("shared", 3, 20),
    ("shared", 3, 80),
    ("process", 2, 10),
    ("process", 2, 64),
    ("process", 2, 200),
    ("process", 3, 32),
    ("process", 3, 128),
];

/// Clean states: memory on nodes with CPUs, next to nothing on a GPU's, and what was there and is gone.
const CLEAN: [&str; 20] = [
    "true",
    "cache 0 64",
    "cache 0 200",
    "cache 1 100",
    "shared 0 50",
    "shared 1 100",
    "process 0 64",
    "process 0 128",
    "process 1 64",
    "cache 0 40; process 1 40",
    "cache 2 1",
    "cache 2 2",
    "cache 3 3",
    "shared 2 1",
    "shared 3 2",
    "process 2 1",
    "process 3 2",
    "cache 2 200; gone",
    "shared 3 100; gone",
    "process 2 100; gone",
];

#[test]
#[allow(clippy::print_stdout, reason = "how long a look takes is a figure of this test")]
fn in_a_guest_what_the_host_keeps_in_gpu_memory_is_found_and_nothing_else_is() -> Done {
    let numactl = Command::new("sh").args(["-c", "command -v numactl"]).output()?;
    if !numactl.status.success() {
        skipped("a guest's programs under numactl: it is not installed");
        return Ok(());
    }
    // A look takes seconds in an emulated machine: a fifth of them, or all where they are asked for.
    let every = if is_whole() { 1 } else { 5 };
    let planted: Vec<_> = PLANTED.iter().step_by(every).collect();
    let clean: Vec<_> = CLEAN.iter().enumerate().step_by(every).collect();
    let plant = planted
        .iter()
        .map(|(kind, node, mib)| format!("{kind} {node} {mib}; look {kind}-{node}-{mib}; gone\n"));
    let leave = clean.iter().map(|(at, state)| format!("{state}; look clean-{at}; gone\n"));
    let script = format!("{FUNCTIONS}{}", plant.chain(leave).collect::<String>());
    let path = String::from_utf8(numactl.stdout)?;
    let Some(text) = lab::written("gh200", &[path.trim()], &script)? else { return Ok(()) };
    let said = lab::parts(&text);
    let mut wrong = Vec::new();

    for (kind, node, mib) in &planted {
        let name = format!("{kind}-{node}-{mib}");
        let check = check(said.get(&name).ok_or(format!("{name} is missing: {text}"))?)?;
        let seen = check["seen"].as_str().unwrap_or_default();
        let words = match *kind {
            "cache" => "of file cache".to_owned(),
            "shared" => "of files in memory".to_owned(),
            // An emulated machine is too slow to find whose it is in time, now and then; it says so.
            _ if seen.contains("(whose was not found in time") => "of processes ".to_owned(),
            _ => "of processes (dd ".to_owned(),
        };
        // A node has hundreds of KiB of the kernel's own reading besides.
        let is_found = check["costs"] == true
            && seen.contains(&format!("NUMA node {node} (memory of GPU {})", node - 2))
            && seen.contains(&words)
            && amount(seen)
                .is_some_and(|found| (found - f64::from(*mib)).abs() < 0.1 * f64::from(*mib) + 1.0);
        if !is_found {
            wrong.push(format!("{name}: {check}"));
        }
    }
    for (at, state) in &clean {
        let name = format!("clean-{at}");
        let check = check(said.get(&name).ok_or(format!("{name} is missing: {text}"))?)?;
        if check["state"] != "ok" {
            wrong.push(format!("{state}: {check}"));
        }
    }

    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let seconds: Vec<f64> =
        said.values().filter_map(|part| part.rsplit(':').next()?.trim().parse().ok()).collect();
    let most = seconds.iter().copied().fold(0.0, f64::max);
    println!("{} looks, all right; the longest took {most:.2} s of the emulated machine", seconds.len());
    Ok(())
}

/// The check of a part.
fn check(part: &str) -> Result<Value, Box<dyn Error>> {
    let line = part.lines().next().ok_or("nothing was written")?;
    Ok(serde_json::from_str(line).map_err(|error| format!("{error}: {part}"))?)
}

/// The first amount after `holds`, MiB.
fn amount(seen: &str) -> Option<f64> {
    let mut words = seen.split_once(" holds ")?.1.split(' ');
    let (number, unit) = (words.next()?.parse::<f64>().ok()?, words.next()?);
    (unit == "MiB").then_some(number)
}
