//! What `numabench witness --matrix` predicts, held against what near memory really gains: a program's own
//! time with its memory on a far node less that with its memory on the GPU's, on a simulated GPU whose rates
//! and latencies are planted. All time is virtual, so that the emulator's does not matter.

use std::collections::BTreeMap;

use crate::c_program::{compiled, in_guest};
use crate::driver::Driver;
use crate::guest::{guest_with, take};
use crate::run::{Done, Ended};

/// A GPU with planted rates near and far, and the sizes that its matrices are measured with.
struct Machine {
    device: &'static str,
    sizes: &'static [&'static str],
}

/// Far copies of the first pass a slow link, in both directions together, and begin later. Those of the
/// second are a little slower, and pageable ones are staged at a third of the rate.
const MACHINES: [Machine; 2] = [
    Machine {
        device: "link far 4GB/s; device 0000:c9:00.0; host-node 1; h2d 10GB/s 1us 1300ns; \
            d2h 9GB/s 1us 1500ns; over far 1 remote; pageable 1.5; kernel numabench_clear 100us",
        sizes: &["1MiB"],
    },
    Machine {
        device: "link far 18GB/s; device 0000:c9:00.0; host-node 1; h2d 25GB/s 2us; d2h 22GB/s 2us 3us; \
            over far 1 remote; pageable 3; kernel numabench_clear 35us",
        sizes: &["4KiB", "1MiB"],
    },
];

/// What the program copies: kind of memory, bytes, copies, and how.
const COPIED: [&str; 9] = [
    "pinned:1048576:20:in",
    "pinned:300000:20:out",
    "pinned:4096:40:in",
    "pageable:1048576:10:in",
    "pageable:20000:20:out",
    "pinned:1048576:20:queued",
    "pinned:1048576:20:kernels=30",
    "pinned:300000:30:kernels=90",
    "pinned:1048576:20:both",
];

/// Copies that block beside a kernel of another stream, which hides part of them: here the lower end does not
/// hold, as the answer says.
const HIDDEN: &str = "pinned:1048576:20:beside=30";

fn works() -> impl Iterator<Item = &'static str> {
    COPIED.into_iter().chain([HIDDEN])
}

/// What two readings of the clock cost, nanoseconds.
const READING_NS: f64 = 100.0;

/// The time that the program says that each of its works took, nanoseconds, by what was copied.
fn times(ended: &Ended) -> BTreeMap<String, f64> {
    let time = |line: &str| {
        let (what, ns) = line.strip_suffix(" ns")?.split_once(" took ")?;
        let copied = what.splitn(3, ':').nth(2)?;
        Some((copied.to_owned(), ns.parse().ok()?))
    };
    ended.out.lines().filter_map(time).collect()
}

/// The script's lines for a machine: its matrices, the program near and far, and each of its works far and
/// witnessed.
fn script(number: usize, machine: &Machine) -> String {
    let mut lines = format!(
        "export FAKE_DEVICES='repeats skip; node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; {}'\n",
        machine.device
    );
    let mut files = Vec::new();
    for size in machine.sizes {
        let file = format!("/tmp/{number}.{size}.json");
        lines += &format!(
            "run matrix-{number}-{size} in_job env LD_PRELOAD=/opt/libcuda.so.1 numabench matrix --gpus 0 \
             --memory pinned,pageable --direction h2d,d2h --size {size} --reps 4 --no-verify --json {file}\n"
        );
        files.push(file);
    }
    // Both times are of runs without the library, which begins by the emulator's clock.
    for (name, place) in [("near", "1:2"), ("far", "0:0")] {
        let all: Vec<String> = works().map(|copied| format!("loss={place}:{copied}")).collect();
        lines +=
            &format!("run {name}-{number} env LD_PRELOAD=/opt/libcuda.so.1 copies dlsym {}\n", all.join(" "));
    }
    for (at, copied) in works().enumerate() {
        lines += &format!(
            "rm -f /tmp/w.json\n\
             run witness-{number}-{at} env LD_PRELOAD=/opt/libcuda.so.1 numabench witness --pages all \
             --time all --matrix {} --json /tmp/w.json -- copies dlsym loss=0:0:{copied}\n\
             report seen-{number}-{at} 0 /tmp/w.json\n",
            files.join(",")
        );
    }
    lines
}

#[test]
fn in_a_guest_the_predicted_gain_holds_what_near_memory_gains_for_planted_rates_and_latencies() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let programs = in_guest(Driver::Cuda, &program)?;
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let mut all_lines = "echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir $job\n\
         echo 0-3 >$job/cpuset.cpus; echo 0-1 >$job/cpuset.mems\n\
         export LD_LIBRARY_PATH=/opt FAKE_PUS=seen\n"
        .to_owned();
    MACHINES.iter().enumerate().for_each(|(number, machine)| all_lines += &script(number, machine));
    let Some(mut all) = guest_with("lumig", &programs, &all_lines)? else { return Ok(()) };

    for (number, machine) in MACHINES.iter().enumerate() {
        for size in machine.sizes {
            let matrix = take(&mut all, &format!("matrix-{number}-{size}"))?;
            assert_eq!(matrix.code, Some(0), "{}{}", matrix.out, matrix.err);
        }
        let near = times(&take(&mut all, &format!("near-{number}"))?);
        let far_times = times(&take(&mut all, &format!("far-{number}"))?);
        for (at, copied) in works().enumerate() {
            let far = take(&mut all, &format!("witness-{number}-{at}"))?;
            let seen = take(&mut all, &format!("seen-{number}-{at}"))?.json()?;
            let gained =
                gained_ns(&near, &far_times, copied).ok_or_else(|| format!("{}{}", far.out, far.err))?;
            let end = |name: &str| seen["gain"][name].as_f64().map(|seconds| seconds * 1e9);
            let ends = end("program_low_s").zip(end("program_high_s"));
            let (low, high) = ends.ok_or_else(|| format!("no prediction: {}", far.err))?;
            assert_eq!(seen["gain"]["without_rates_bytes"], 0, "{copied}: {}", far.err);

            let low = if copied == HIDDEN { 0.0 } else { low };
            let held = low - READING_NS..=high + READING_NS;
            let said = format!("{copied}: near memory gains {gained:.0} ns, not {low:.0} to {high:.0}");
            assert!(held.contains(&gained), "{}: {said}", machine.device);
            // Copies that nothing hides and of a size that was measured: the interval says how much it is.
            if copied == COPIED[0] {
                assert!(low > 0.99 * gained && high < 1.01 * gained, "{said}");
            }
            if copied == HIDDEN {
                assert!(far.err.contains("if nothing else runs beside them"), "{}", far.err);
            }
        }
    }
    Ok(())
}

/// What the program gained by near memory.
fn gained_ns(near: &BTreeMap<String, f64>, far: &BTreeMap<String, f64>, copied: &str) -> Option<f64> {
    Some(far.get(copied)? - near.get(copied)?)
}
