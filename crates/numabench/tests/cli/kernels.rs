//! `numabench kernels`: kernels that compute on the stand-in drivers and on this machine's cores, their
//! documents, and what is wrong with them.

use std::error::Error;
use std::path::Path;

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::kinds::{self, Kind};
use crate::proof::{self, case_ids, list, results, text};
use crate::run::{Done, Ended, end, run, skipped, with_driver};

/// Small problems of kernels that the stand-in computes quickly.
const QUICK: [&str; 4] = ["--class", "1", "--reps", "2"];

/// `numabench kernels` on the stand-in.
fn simulated(kind: &Kind, told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn Error>> {
    let mut command = with_driver(&kind.folder()?);
    command.args(["kernels", "--backend", kind.name, "--gpus", "0"]).args(QUICK).envs(told.iter().copied());
    Ok(end(&mut command, args))
}

fn kernel<'d>(document: &'d Value, name: &str) -> Result<&'d Value, String> {
    let found = list(document, "/kernels").iter().find(|kernel| kernel["name"] == name);
    found.ok_or_else(|| format!("no {name} in {}", document["kernels"]))
}

#[test]
fn kernels_compute_on_a_gpu_with_transfers_and_alone_and_every_result_is_checked() -> Done {
    for kind in kinds::tried() {
        // Half of them each: the stand-in computes them one number after the other.
        let cuda = kind.name == "cuda";
        let names =
            if cuda { ["triad", "sort", "fft", "md-dp"] } else { ["scan", "reduction", "stencil", "spmv"] };
        let ended = simulated(&kind, &[], &["--kernels", &names.join(","), "--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        assert_eq!(list(&document, "/kernels").len(), names.len());
        for name in names {
            let place = &kernel(&document, name)?["places"][0];
            let number = |field: &str| place[field].as_f64().unwrap_or(0.0);
            assert!(number("per_s") > 0.0 && number("resident_per_s") > 0.0, "{name}: {place}");
            // The host's clock counts the start and the wait too, beside the GPU's.
            assert!(number("host_ns") > 0.0 && number("host_resident_ns") > 0.0, "{name}: {place}");
            let ids = case_ids(&document);
            assert!(ids.iter().any(|id| id.ends_with(&format!("/{name}/resident"))), "{ids:?}");
        }
        for case in list(&document, "/cases").iter().filter(|case| case["direction"] == "kernel") {
            assert!(
                case["ranks"][0]["outcome"]["percent_of_bound"].is_null(),
                "a kernel works over no link: {case:#}"
            );
        }
        for result in results(&document) {
            let checked = &result["verification"];
            assert!(checked["checked"] == true && checked["bytes_checked"].as_u64() > Some(0), "{result:#}");
        }
    }
    Ok(())
}

#[test]
fn transfers_both_ways_and_launches_go_on_at_once_where_a_problem_has_parts() -> Done {
    for kind in kinds::tried() {
        // In virtual time: one after the other the three arrays of the triad would be moved at the rate of
        // either direction.
        let devices = "device 0000:05:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; kernel numabench_triad 10ns";
        let told = [("FAKE_DEVICES", devices), ("LD_PRELOAD", &kind.library()?[..])];
        for (iterations, rates) in [("1", 13.0..15.0), ("2", 18.0..30.0)] {
            let args = ["--kernels", "triad", "--iterations", iterations, "--json", "-"];
            let document = proof::document(&simulated(&kind, &told, &args)?)?;
            let place = &kernel(&document, "triad")?["places"][0];
            let rate = place["per_s"].as_f64().unwrap_or(0.0) / 1e9;
            assert!(rates.contains(&rate), "{}: {iterations} iterations: {place}", kind.name);
        }
    }
    Ok(())
}

/// Streams that overlap transfers were made behind the closed latch: from some tens of ranks of a GPU on
/// CUDA's driver waits there for its queues to be idle, and no rank had a figure (32 rows of an H200).
#[test]
fn a_driver_that_makes_streams_only_while_no_latch_holds_makes_all_of_them() -> Done {
    for kind in kinds::tried() {
        let devices = "device 0000:05:00.0; few-channels; h2d 10GB/s 1us; d2h 10GB/s 1us";
        let told = [("FAKE_DEVICES", devices), ("LD_PRELOAD", &kind.library()?[..])];
        let args = ["--kernels", "triad", "--timeout", "20s", "--json", "-"];
        let document = proof::document(&simulated(&kind, &told, &args)?)?;
        let place = &kernel(&document, "triad")?["places"][0];
        assert!(place["per_s"].as_f64() > Some(0.0), "{}: {place}", kind.name);
    }
    Ok(())
}

#[test]
fn a_run_takes_the_host_what_it_takes_the_gpu_and_the_table_has_both_side_by_side() -> Done {
    for kind in kinds::tried() {
        let devices = "device 0000:05:00.0; h2d 10GB/s 1us; d2h 10GB/s 1us; kernel numabench_triad 10us";
        let told = [("FAKE_DEVICES", devices), ("LD_PRELOAD", &kind.library()?[..])];
        let document = proof::document(&simulated(&kind, &told, &["--kernels", "triad", "--json", "-"])?)?;
        let place = &kernel(&document, "triad")?["places"][0];
        for [gpu, host] in [["median_ns", "host_ns"], ["resident_ns", "host_resident_ns"]] {
            let [gpu, host] = [gpu, host].map(|field| place[field].as_f64().unwrap_or(0.0));
            assert!((0.99..1.05).contains(&(host / gpu)), "{}: {gpu} {host}", kind.name);
        }
        let table = simulated(&kind, &told, &["--kernels", "triad"])?.well();
        assert!(table.out.contains("host's"), "{}", table.out);
    }
    Ok(())
}

#[test]
fn a_size_in_bytes_is_that_of_input_and_result_and_one_that_a_kernel_cannot_have_is_refused() -> Done {
    for kind in kinds::tried() {
        let mut command = with_driver(&kind.folder()?);
        command.args(["kernels", "--backend", kind.name, "--gpus", "0", "--reps", "2", "--size", "3MiB"]);
        let document = proof::document(&end(&mut command, ["--kernels", "triad,sgemm", "--json", "-"]))?;
        let data = |name: &str| -> Result<f64, Box<dyn Error>> {
            let kernel = kernel(&document, name)?;
            let bytes = |field: &str| kernel[field].as_f64().unwrap_or(0.0);
            Ok(bytes("input_bytes") + bytes("output_bytes"))
        };
        assert_eq!((data("triad")?, data("sgemm")?), (3_145_728.0, 3_145_728.0));
    }
    let refused =
        run(&["kernels", "--backend", "host", "--kernels", "triad,dgemm", "--size", "64KiB", "--dry-run"]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!("a_size_that_dgemm_cannot_have", refused.err);
    let both = run(&["kernels", "--size", "64MiB", "--class", "2"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
    Ok(())
}

#[test]
fn a_vendors_libraries_compute_where_they_lie_on_the_machine_and_are_named() -> Done {
    for kind in kinds::tried() {
        let vendor = |folder: &Path, told: &[(&str, &str)], args: &[&str]| {
            let mut command = with_driver(folder);
            command.args([
                "kernels",
                "--backend",
                kind.name,
                "--gpus",
                "0",
                "--vendor",
                "--size",
                "64KiB",
                "--reps",
                "2",
            ]);
            end(command.envs(told.iter().copied()), args)
        };
        let folder = kind.with_math()?;
        let all = ["--kernels", "sgemm,dgemm,fft,fft-dp,triad", "--json", "-"];
        // The stand-in computes a matrix one number after the other.
        let small = [&all[..2], &["--size", "512KiB"], &all[2..]].concat();
        let document = {
            let mut command = with_driver(&folder);
            command.args(["kernels", "--backend", kind.name, "--gpus", "0", "--vendor", "--reps", "2"]);
            proof::document(&end(&mut command, &small))?
        };
        assert_eq!(text(&document, "/status"), "complete", "{}", document["status_reason"]);
        let [blas, fft] = if kind.name == "cuda" {
            ["cuBLAS 12.3.4", "cuFFT 12.3.4"]
        } else {
            ["rocBLAS", "hipFFT 12.3.4"]
        };
        for (name, by) in [("sgemm", blas), ("dgemm", blas), ("fft", fft), ("fft-dp", fft)] {
            assert_eq!(kernel(&document, name)?["by"], by, "{name}");
        }
        assert!(kernel(&document, "triad")?["by"].is_null());
        let said = document["verdict"].to_string();
        assert!(
            said.contains(&format!(
                "Computed by the GPU vendor's libraries: sgemm by {blas}, dgemm by {blas}, fft by"
            )),
            "{said}"
        );
        let wrong = vendor(
            &folder,
            &[("FAKE_FAULTS", "kernels wrong numabench_fft")],
            &["--kernels", "fft", "--json", "-"],
        );
        assert_eq!(wrong.code, Some(4), "{}", wrong.err);
        let none = vendor(&folder, &[], &["--kernels", "triad"]);
        assert_eq!(none.code, Some(2), "{}", none.err);
        let says = "--vendor computes sgemm, dgemm, fft, fft-dp, and none of them is to be measured";
        assert!(none.err.contains(says), "{}", none.err);
        // Without the libraries.
        let linker = std::process::Command::new("/sbin/ldconfig").arg("-p").output();
        let known =
            linker.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        if ["libcufft.so", "libhipfft.so"].iter().any(|library| known.contains(library)) {
            skipped("a vendor's libraries that are missing: this machine has them");
            continue;
        }
        let missing = vendor(&kind.folder()?, &[], &["--kernels", "fft"]);
        assert_eq!(missing.code, Some(1), "{}", missing.err);
        let says = ["fft with --vendor: no ", "could be loaded: ", "LD_LIBRARY_PATH, or leave out --vendor"];
        assert!(says.iter().all(|part| missing.err.contains(part)), "{}", missing.err);
    }
    let refused = run(&["kernels", "--vendor", "--dry-run", "--backend", "host"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--vendor") && refused.err.contains("GPU"), "{}", refused.err);
    Ok(())
}

#[test]
fn a_wrong_result_ends_the_run_with_4_and_says_what_is_wrong() -> Done {
    for kind in kinds::tried() {
        for (name, function) in
            [("triad", "numabench_triad"), ("sort", "numabench_sort_pass"), ("fft", "numabench_fft")]
        {
            let told = [("FAKE_FAULTS", &format!("kernels wrong {function}")[..])];
            let ended = simulated(&kind, &told, &["--kernels", name, "--json", "-"])?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(4), "{name}: {}", document["status_reason"]);
            assert_eq!(text(&document, "/status"), "data-corrupt");
            assert!(text(&document, "/status_reason").contains("byte"), "{}", document["status_reason"]);
        }
    }
    Ok(())
}

#[test]
fn a_kernel_that_hangs_ends_with_the_timeout() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_FAULTS", "kernels hang numabench_stencil")];
        let ended = simulated(&kind, &told, &["--kernels", "stencil", "--timeout", "10s"])?;
        assert_eq!(ended.code, Some(124), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn where_no_kernel_can_be_compiled_the_reason_is_given() -> Done {
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let ended =
            simulated(kind, &[("FAKE_FAULTS", kinds::NO_COMPILER)], &["--kernels", "triad", "--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_ne!(ended.code, Some(0));
        assert!(
            text(&document, "/status_reason").contains(kinds::NO_KERNEL),
            "{}",
            document["status_reason"]
        );
    }
    Ok(())
}

#[test]
fn a_gpu_with_too_little_memory_is_named_with_what_to_do() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", "device 0000:c1:00.0; memory 32MiB")];
        let ended = simulated(&kind, &told, &["--kernels", "triad"])?;
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(["GPU 0", "smaller", "--class"].iter().all(|part| ended.err.contains(part)), "{}", ended.err);
    }
    Ok(())
}

#[test]
fn a_node_with_too_little_memory_is_named_with_what_to_do() -> Done {
    let told = |ended: &Ended| {
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let parts = ["NUMA", "TiB", "smaller", "--class", "--size"];
        assert!(parts.iter().all(|part| ended.err.contains(part)), "{}", ended.err);
    };
    told(&run(&["kernels", "--backend", "host", "--kernels", "triad", "--size", "1TiB"]));
    let Some(kind) = kinds::tried().into_iter().next() else { return Ok(()) };
    let mut command = with_driver(&kind.folder()?);
    command.args([
        "kernels",
        "--backend",
        kind.name,
        "--gpus",
        "0",
        "--kernels",
        "reduction",
        "--size",
        "1TiB",
    ]);
    told(&end(command.env("FAKE_DEVICES", "device 0000:c1:00.0; memory 4096GiB"), [] as [&str; 0]));
    Ok(())
}

#[test]
fn a_gpu_that_computes_little_in_double_precision_is_said_and_nothing_fails() -> Done {
    for kind in kinds::tried() {
        for (double, weak) in [("1920us", true), ("120us", false)] {
            let devices = format!(
                "device 0000:05:00.0; kernel numabench_sgemm 60us; kernel numabench_dgemm {double}; h2d \
                 10GB/s 1us; d2h 10GB/s 1us"
            );
            let told = [("FAKE_DEVICES", &devices[..]), ("LD_PRELOAD", &kind.library()?[..])];
            let mut command = with_driver(&kind.folder()?);
            command.args([
                "kernels",
                "--backend",
                kind.name,
                "--gpus",
                "0",
                "--kernels",
                "sgemm,dgemm",
                "--reps",
                "2",
            ]);
            // One tile of a matrix each: the edges are the same.
            let sizes = ["--size", "384KiB", "--json", "-"];
            let document = proof::document(&end(command.envs(told), sizes))?;
            assert_eq!(text(&document, "/status"), "complete", "{}", document["status_reason"]);
            let said = document["verdict"].to_string();
            let words = "GPU 0 computes little in double precision: dgemm at 1/32 of the rate of sgemm.";
            assert_eq!(said.contains(words), weak, "{said}");
        }
    }
    Ok(())
}

#[test]
fn in_a_guest_each_kernel_near_and_far_is_one_row_the_worst_first() -> Done {
    // What the kernels compute is verified in the tests above; here it would take the emulator half of the
    // time.
    let library = format!(
        "{}:/opt/libamdhip64.so.7",
        driver::stand_in(Driver::Hip)?.join("libamdhip64.so.7").display()
    );
    let devices = "repeats skip; node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; link far 4GB/s; \
        device 0000:c9:00.0; host-node 1; h2d 10GB/s 1us; d2h 10GB/s 1us; over far 1 remote; \
        kernel numabench_reduce 20us; kernel numabench_triad 10ns";
    let script = format!(
        "echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir $job\n\
         echo 0-3 >$job/cpuset.cpus; echo 0-1 >$job/cpuset.mems\n\
         export LD_LIBRARY_PATH=/opt FAKE_PUS=seen FAKE_DEVICES='{devices}'\n\
         run kernels in_job env LD_PRELOAD=/opt/libamdhip64.so.7 numabench kernels --backend hip \
         --size 96KiB --kernels reduction,triad --reps 6 --no-verify\n"
    );
    let Some(mut all) = guest_with("lumig", &[&library], &script)? else { return Ok(()) };
    let out = take(&mut all, "kernels")?.well().out;
    let table = out.split("\n\n").find(|part| part.contains("node 0 instead of node 1, the worst first"));
    insta::assert_snapshot!("kernels_near_and_far", table.ok_or_else(|| format!("no table: {out}"))?);
    Ok(())
}

#[test]
fn whatever_takes_result_documents_takes_this_one() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kernels.json");
    let file = file.to_str().ok_or("the folder's name is no text")?;
    let Some(kind) = kinds::tried().into_iter().next() else { return Ok(()) };
    let ended = simulated(&kind, &[], &["--kernels", "triad,fft", "--json", file])?;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    proof::is_taken_by_all(file, "triad", "triad")
}

#[test]
fn without_a_gpu_the_cores_compute_and_say_so() -> Done {
    let args = ["kernels", "--backend", "host", "--threads", "1", "--kernels", "triad,dgemm"];
    let document = proof::document(&run(&[&args[..], &QUICK, &["--json", "-"]].concat()))?;
    assert_eq!(text(&document, "/status"), "complete", "{}", document["status_reason"]);
    let place = &kernel(&document, "dgemm")?["places"][0];
    assert!(place["per_s"].as_f64() > Some(0.0) && place["resident_ns"].is_null(), "{place}");
    let table = run(&[&args[..], &QUICK].concat()).well();
    assert!(table.out.contains("GPU:") && table.out.contains("GFLOP/s"), "{}", table.out);
    assert!(!table.out.starts_with("No "), "{}", table.out);
    Ok(())
}

#[test]
fn a_plan_names_the_kernels_and_a_kernel_that_there_is_not_is_refused_with_those_that_there_are() {
    let plan = run(&["kernels", "--backend", "host", "--dry-run", "--kernels", "md,fft"]).well();
    let planned: Vec<&str> = plan.out.lines().filter(|line| line.contains("fft")).map(str::trim).collect();
    let refused = run(&["kernels", "--kernels", "lu"]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(
        "kernels_planned_and_refused",
        format!("{}\n{}", planned.join("\n"), refused.err)
    );
}
