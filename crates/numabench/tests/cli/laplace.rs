//! `numabench laplace` by a rank alone: on the stand-in drivers and on this machine's core, its document and
//! who takes it, and what is wrong.

use std::error::Error;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// A small plane, with columns that fill no vector.
const QUICK: [&str; 4] = ["--grid", "70x131", "--max-time", "1s"];

/// `numabench laplace` on the stand-in.
fn simulated(kind: &Kind, told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn Error>> {
    let mut command = with_driver(&kind.folder()?);
    command.args(["laplace", "--backend", kind.name, "--gpus", "0"]).args(QUICK).envs(told.iter().copied());
    Ok(end(&mut command, args))
}

fn way<'d>(document: &'d Value, name: &str) -> Result<&'d Value, String> {
    let found = list(document, "/laplace/ways").iter().find(|way| way["name"] == name);
    found.ok_or_else(|| format!("no {name} in {}", document["laplace"]))
}

#[test]
fn core_and_gpu_give_the_same_residual_to_the_last_bit_and_every_cell_is_checked() -> Done {
    for kind in kinds::tried() {
        for precision in ["single", "double"] {
            let ended = simulated(&kind, &[], &["--precision", precision, "--json", "-"])?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
            let [cpu, gpu] = [way(&document, "cpu")?, way(&document, "gpu")?];
            assert!(cpu["residual"].as_f64() > Some(0.0) && cpu["residual"] == gpu["residual"], "{cpu}{gpu}");
            for way in [cpu, gpu] {
                assert!(
                    way["iteration_ns"].as_f64() > Some(0.0) && way["cells_per_s"].as_f64() > Some(0.0),
                    "{way}"
                );
                assert!(way["halo_share"].is_null(), "a rank alone has no halos: {way}");
            }
            assert_eq!(gpu["speed_ups"][0]["over"], "cpu");
            for case in list(&document, "/cases") {
                let checked = &case["ranks"][0]["verification"];
                assert!(checked["bytes_checked"].as_u64() >= Some(70 * 131 * 4), "{checked}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_wrong_cell_ends_the_run_with_4_and_says_which() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_FAULTS", "kernels wrong numabench_jacobi_double")];
        let ended = simulated(&kind, &told, &["--json", "-"])?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(4), "{}", document["status_reason"]);
        let why = text(&document, "/status_reason");
        assert!(why.contains(" 16 ") && why.contains("row"), "{why}");
        assert!(way(&document, "gpu")?["iteration_ns"].is_null());
        assert!(way(&document, "cpu")?["iteration_ns"].is_f64(), "what is right stays");
    }
    Ok(())
}

#[test]
fn a_kernel_that_hangs_ends_with_the_timeout_and_the_document_says_in_what() -> Done {
    let kind = kinds::tried().remove(0);
    let told = [("FAKE_FAULTS", "kernels hang numabench_jacobi_double")];
    let ended = simulated(&kind, &told, &["--timeout", "3s", "--json", "-"])?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(124), "{}", ended.err);
    let why = text(&document, "/status_reason");
    assert!(why.contains(" gpu ") && why.contains("--timeout"), "{why}");
    assert!(way(&document, "cpu")?["residual"].is_f64(), "what was known is kept");
    Ok(())
}

#[test]
fn memory_that_is_too_small_is_named_before_anything_is_allocated() -> Done {
    for kind in kinds::tried() {
        let told = [("FAKE_DEVICES", "device 0000:c1:00.0; memory 32MiB")];
        let mut command = with_driver(&kind.folder()?);
        command.args(["laplace", "--backend", kind.name, "--gpus", "0"]).envs(told);
        let ended = end(&mut command, ["--ways", "gpu", "--grid", "4096x4096"]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let parts = ["0000:c1:00.0", "smaller", "--grid"];
        assert!(parts.iter().all(|part| ended.err.contains(part)), "{}", ended.err);
    }
    let ended = run(&["laplace", "--backend", "host", "--grid", "1000000x1000000"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("NUMA") && ended.err.contains(" 14.5"), "{}", ended.err);
    Ok(())
}

#[test]
fn without_a_gpu_the_core_computes_alone_and_says_so() -> Done {
    let args = ["laplace", "--backend", "host"];
    let table = run(&[&args[..], &QUICK].concat()).well();
    assert!(table.out.starts_with("Fastest:"), "{}", table.out);
    assert!(table.out.contains("GPU:") && table.out.contains("\ncpu: "), "a line a figure: {}", table.out);
    let asked = run(&[&args[..], &QUICK, &["--ways", "gpu"]].concat());
    assert_eq!(asked.code, Some(77), "{}", asked.err);
    let halos = run(&[&args[..], &QUICK, &["--ways", "staged"]].concat());
    assert_eq!(halos.code, Some(77), "{}", halos.err);
    let grid = run(&["laplace", "--grid", "12"]);
    assert!(grid.code == Some(2) && grid.err.contains("8192x8192"), "{}", grid.err);
    Ok(())
}

#[test]
fn whatever_takes_result_documents_takes_this_one() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("laplace.json");
    let file = file.to_str().ok_or("the folder's name is no text")?;
    run(&[&["laplace", "--backend", "host", "--json", file][..], &QUICK].concat()).well();
    proof::is_taken_by_all(file, "cpu", "Fastest: cpu")
}
