//! `numabench place` from outside: a plan of a saved machine, a measurement of this one, and what was saved
//! read back.
//!
//! Which places are right is held in `placement`; here, that they reach the user and come back.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::driver;
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, numabench, run, with_driver};

/// A short measurement.
const SHORT: [&str; 6] = ["place", "--measure", "--size", "256KiB", "--max-time", "3s"];

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures").join(name).display().to_string()
}

fn document(ended: &Ended) -> Result<Value, Box<dyn Error>> {
    let document = ended.json()?;
    proof::follows(&document, "place-v1.json")?;
    Ok(document)
}

/// The PUs and GPU addresses of the recommended places.
fn places(document: &Value) -> Vec<(Value, Value, Value)> {
    let rows = document["candidates"][0]["places"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| (row["pus"].clone(), row["memory_node"].clone(), row["gpu"]["pci_address"].clone()))
        .collect()
}

#[test]
fn which_cores_belong_to_a_gpu_stands_in_the_first_line() {
    let said = run(&["place", "--input", &fixture("dgx-a100.xml"), "--gpus", "3"]).well().out;
    let first = said.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "GPU 3: PUs 24-31, memory of node 1: 1 rank of 8 cores, near its GPU (placement close)."
    );
}

#[test]
fn a_saved_machines_places_are_shown_with_their_lines_and_kept_as_a_document() -> Done {
    let input = fixture("two-packages-gpus.xml");
    let table = run(&["place", "--input", &input]).well().out;
    for part in
        ["0000:03:00.0", "0000:83:00.0", "numabench exec -- PROGRAM", "--emit X", "numactl", "taskset"]
    {
        assert!(table.contains(part), "{part} is missing in:\n{table}");
    }
    let first = "3 ranks of 1–4 cores, 2 near their GPU, 1 with a GPU whose locality is not reported \
        (placement close).";
    assert_eq!(table.lines().take(2).collect::<Vec<_>>().join(" "), first, "{table}");
    let document = document(&run(&["place", "--input", &input, "--json", "-"]).well())?;
    assert_eq!(places(&document).len(), 3, "a rank for each GPU");
    assert!(document["measured"].is_null());
    assert_eq!(text(&document, "/machine/file"), input);
    Ok(())
}

/// The first screen: notes, table and one line, for a table of eight ranks.
#[test]
fn eight_ranks_fit_a_screen_with_one_whole_line_to_paste() -> Done {
    for (machine, line) in [
        (
            "lumi-g-low-noise",
            "OMP_NUM_THREADS=7 srun -N1 -n8 --gpus-per-node=8 --gpu-bind=none --cpu-bind=mask_cpu:0xfe",
        ),
        ("dgx-a100", "OMP_NUM_THREADS=8 srun -N1 -n8 "),
    ] {
        let table = run(&["place", "--input", &fixture(&format!("{machine}.xml"))]).well().out;
        let lines = table.lines().count();
        assert!(lines <= 30, "{lines} lines:\n{table}");
        assert_eq!(table.lines().filter(|shown| shown.trim_start().starts_with(line)).count(), 1, "{table}");
        assert!(table.contains("\"$@\"' sh PROGRAM"), "{table}");
    }
    let idle = run(&["place", "--input", &fixture("dgx-a100.xml")]).well().out;
    let first = idle.lines().take(8).collect::<String>();
    assert!(first.contains("idle") && first.contains(" 128 "), "{idle}");
    for (launcher, line) in [
        ("mpirun", "  mpirun -np 8 --bind-to none numabench exec --cores-per-rank 16 -- PROGRAM"),
        (
            "torchrun",
            "  torchrun --nproc-per-node 8 --no-python numabench exec --cores-per-rank 16 -- PROGRAM",
        ),
        ("pals", "  mpiexec -n 8 --ppn 8 --cpu-bind none numabench exec --cores-per-rank 16 -- PROGRAM"),
    ] {
        let args = ["place", "--input", &fixture("dgx-a100.xml"), "--threads", "16", "--launcher", launcher];
        let table = run(&args).well().out;
        assert!(table.lines().any(|shown| shown == line), "{table}");
    }
    Ok(())
}

#[test]
fn the_line_is_of_the_launcher_of_this_process_or_job() {
    let flux = "flux run -N1 -n1 --exclusive -o mpibind=off -o cpu-affinity=";
    let pals = "mpiexec -n 1 --ppn 1 --cpu-bind none numabench exec";
    for (variables, line) in [
        (&["FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=1", "FLUX_TASK_LOCAL_ID=0"][..], flux),
        (&["FLUX_URI=local:///run/flux/local"], flux),
        (&["PALS_RANKID=0", "PALS_LOCAL_RANKID=0", "PALS_LOCAL_SIZE=1", "PMI_SIZE=1"], pals),
        (&["PBS_JOBID=7", "PATH=/nowhere"], "mpiexec -n 1 -bind-to none numabench exec"),
    ] {
        let mut command = numabench();
        command.envs(variables.iter().filter_map(|pair| pair.split_once('=')));
        let out = end(&mut command, ["place", "--ranks", "1"]).out;
        assert!(out.contains(line), "{variables:?}: {out}");
    }
}

#[test]
fn threads_are_cores_or_with_smt_hardware_threads() -> Done {
    let input = fixture("lumi-g-low-noise.xml");
    let table = run(&["place", "--input", &input, "--threads", "4"]).well().out;
    assert!(table.contains("OMP_NUM_THREADS=4 ") && table.contains(" 49-52 "), "{table}");
    let smt = run(&["place", "--input", &input, "--threads", "4", "--smt"]).well().out;
    assert!(smt.contains("OMP_NUM_THREADS=4 ") && smt.contains(" 49-50,113-114 "), "{smt}");
    run(&["place", "--input", &input, "--threads", "4", "--cores-per-rank", "4"])
        .refused(2, &["--cores-per-rank"]);
    run(&["place", "--input", &input, "--reserve", "0,200"]).refused(2, &["--reserve 200", "PUs 0-127"]);
    Ok(())
}

#[test]
fn one_dialect_is_printed_alone_to_be_pasted_and_what_it_says_is_the_plan() -> Done {
    let input = fixture("two-packages-gpus.xml");
    let ended = run(&["place", "--input", &input, "--emit", "taskset", "-q"]).well();
    let document = document(&run(&["place", "--input", &input, "--json", "-"]).well())?;
    for (pus, ..) in places(&document) {
        let ids: Vec<String> = pus.as_array().into_iter().flatten().map(ToString::to_string).collect();
        // No two of these are neighbours, so that none is written as a range.
        let pus = ids.join(",");
        assert!(ended.out.contains(&format!(" {pus} ")) && !pus.is_empty(), "{pus} is not in {}", ended.out);
    }
    run(&["place", "--input", &input, "--emit", "sbatch"]).refused(2, &["sbatch"]);
    Ok(())
}

#[test]
fn what_cannot_be_placed_is_refused_with_what_can() {
    let input = fixture("two-packages-gpus.xml");
    run(&["place", "--input", &input, "--gpus", "0,7"]).refused(77, &["no device 7", "0000:03:00.0"]);
    run(&["place", "--input", &input, "-n", "2", "--cores-per-rank", "64"]).refused(2, &["2 ranks", "64"]);
    run(&["place", "--input", &input, "--strategy", "near"]).refused(2, &["near", "close"]);
    run(&["place", "--input", "/nowhere.xml"]).refused(2, &["/nowhere.xml"]);
    run(&["place", "--size", "1MiB"]).refused(2, &["--measure"]);
}

#[test]
fn a_measurement_ends_with_a_verdict_and_every_candidates_turns() -> Done {
    let ended = run(&[&SHORT[..], &["--backend", "host", "--gpus", "0", "--json", "-"]].concat());
    assert!(matches!(ended.code, Some(0 | 6)), "{:?} {}", ended.code, ended.err);
    let document = document(&ended)?;
    assert_eq!(text(&document, "/measured/platform/kind"), "host");
    let finding = text(&document, "/measured/finding");
    assert_eq!(finding == "undecided", ended.code == Some(6), "{finding}");
    for candidate in list(&document, "/candidates") {
        let turns = list(candidate, "/turns");
        assert!(!turns.is_empty() && candidate["trouble"].is_null(), "{candidate:#}");
        for turn in turns {
            for way in ["h2d_bytes_per_s", "d2h_bytes_per_s"] {
                let rates: Vec<f64> =
                    turn[way].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
                assert!(rates.len() == 1 && rates.iter().all(|rate| *rate > 0.0), "{turn}");
            }
        }
    }
    Ok(())
}

#[test]
fn maps_of_the_users_own_are_measured_in_turn_with_the_strategies() -> Done {
    let two = ["--backend", "host", "--ranks", "2", "--gpus", "0,0"];
    let maps = ["--map", "swapped=1,0", "--map", "first=0,1", "--json", "-"];
    let ended = run(&[&SHORT[..], &two, &maps].concat());
    let document = document(&ended)?;
    let of = |name: &str| list(&document, "/candidates").iter().find(|way| text(way, "/name") == name);
    let swapped = of("swapped").ok_or("the map is no candidate")?;
    let pus: Vec<&Value> = list(swapped, "/places").iter().map(|place| &place["first_pu"]).collect();
    assert_eq!(pus, [1, 0]);
    assert!(!list(swapped, "/turns").is_empty(), "{swapped}");
    // The strategies have these places too.
    assert!(of("first").is_none(), "{}", document["candidates"]);
    assert!(
        list(&document, "/notes")
            .iter()
            .any(|note| note.as_str().is_some_and(|note| note.starts_with("first ")))
    );

    for (wrong, why) in [
        ("swapped=0", "names 1 PU for 2 ranks"),
        ("swapped=0,0", "PU 0 twice"),
        ("swapped=0,4095", "4095, which are not allowed"),
        ("close=0,1", "that of a strategy"),
        ("0,1", "is no map"),
        ("swapped=1,0 --map swapped=0,1", "two maps"),
    ] {
        let wrong: Vec<&str> = wrong.split(' ').collect();
        run(&[&SHORT[..], &two, &["--map"], &wrong].concat()).refused(2, &[why]);
    }
    run(&["place", "--map", "a=0,1"]).refused(2, &["--measure"]);
    Ok(())
}

#[test]
fn what_was_measured_and_saved_is_read_back_and_gives_the_same_places() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("best.json").display().to_string();
    let ended = run(&[&SHORT[..], &["--backend", "host", "--gpus", "0", "--json", &file]].concat());
    assert!(matches!(ended.code, Some(0 | 6)), "{:?} {}", ended.code, ended.err);
    assert!(ended.out.contains("GPU:") && !ended.out.contains("Verdict: "), "{}", ended.out);
    let saved: Value = serde_json::from_slice(&fs::read(&file)?)?;
    proof::follows(&saved, "place-v1.json")?;
    let again = document(&run(&["place", "--from", &file, "--json", "-"]).well())?;
    assert_eq!(places(&again), places(&saved));
    assert!(text(&again, "/candidates/0/what").contains("measured"), "{}", again["candidates"][0]["what"]);
    Ok(())
}

#[test]
fn places_of_another_machine_are_refused_and_so_is_what_is_no_placement() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("other.json").display().to_string();
    run(&["place", "--input", &fixture("two-packages-gpus.xml"), "--json", &file]).well();
    run(&["place", "--from", &file]).refused(2, &["rank 0", "not allowed here", "another machine"]);
    fs::write(&file, "{\"schema\": \"numabench.result\", \"schema_version\": \"1.1\"}")?;
    run(&["place", "--from", &file]).refused(2, &["no numabench.place document"]);
    fs::write(&file, "rank 0: PU 1")?;
    run(&["place", "--from", &file]).refused(2, &["not JSON", "numabench place"]);
    Ok(())
}

#[test]
fn on_simulated_gpus_the_figures_are_said_to_be_simulated() -> Done {
    let args = ["place", "--measure", "--gpus", "0", "--size", "1MiB", "--max-time", "2s", "--json", "-"];
    let ended = end(&mut with_driver(&driver::fake()?), args);
    assert!(matches!(ended.code, Some(0 | 6)), "{:?} {}", ended.code, ended.err);
    let document = document(&ended)?;
    assert!(text(&document, "/measured/platform/simulated").contains("fake"), "{}", document["measured"]);
    Ok(())
}

#[test]
fn a_way_that_fails_is_said_and_the_command_ends_as_partial_or_without_a_result() -> Done {
    let args = ["place", "--measure", "--size", "64KiB", "--max-time", "2s", "--json", "-"];
    // Registering is refused with "out of memory": pinned memory cannot be had by anybody.
    let ended = end(with_driver(&driver::fake()?).env("FAKE_FAULTS", "fail cuMemHostRegister * 2"), args);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let document = document(&ended)?;
    assert!(document["measured"]["leader"].is_null(), "{}", document["measured"]);
    for candidate in list(&document, "/candidates") {
        assert!(text(candidate, "/trouble").contains("rank 0"), "{candidate:#}");
    }
    Ok(())
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let args = [&SHORT[..], &["--json", "/nowhere/at/all.json"]].concat();
    end(&mut numabench(), args).refused(2, &["/nowhere/at"]);
}

#[test]
fn a_file_without_places_or_for_a_node_that_is_not_here_is_refused() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("place.json");
    let made = document(&run(&["place", "--json", "-"]).well())?;
    let mut without = made.clone();
    without["candidates"][0]["places"] = Value::Array(Vec::new());
    let mut elsewhere = made;
    elsewhere["candidates"][0]["places"][0]["gpu"] = Value::Null;
    elsewhere["candidates"][0]["places"][0]["target_node"] = 77.into();
    let mut said = String::new();
    for document in [without, elsewhere] {
        fs::write(&path, document.to_string())?;
        let path = path.display().to_string();
        said += &run(&["place", "--from", &path]).refused(2, &["--from"]).err.replace(&path, "FILE");
    }
    insta::assert_snapshot!(said, @"
    numabench: error: --from FILE: it holds no placement: make one with `numabench place --json FILE`
    numabench: error: --from FILE: rank 0's target node 77 is not here: it was made for another machine or another job; make one here
    ");
    Ok(())
}

#[test]
fn the_wrapper_tells_each_rank_of_the_adapter_near_its_gpu_where_that_is_asked_for_and_keeps_what_is_set()
-> Done {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/dgx-a100.xml");
    let emit = |more: &[&str]| {
        run(&[&["place", "-n", "2", "--input", file, "--emit", "wrapper", "-q"], more].concat())
    };
    let told = emit(&["--nic", "near"]).well().out;
    for near in ["mlx5_0", "mlx5_4"] {
        let ucx = format!("    export UCX_NET_DEVICES=\"${{UCX_NET_DEVICES-{near}:1}}\"\n");
        let nccl = format!("    export NCCL_IB_HCA=\"${{NCCL_IB_HCA-={near}}}\"\n");
        assert!(told.contains(&ucx) && told.contains(&nccl), "{near}: {told}");
    }
    assert!(!emit(&[]).well().out.contains("UCX_NET_DEVICES"));
    // As the shell has it: what is set stays.
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("place.sh");
    fs::write(&script, &told)?;
    let said = |set: &[(&str, &str)]| -> Result<String, Box<dyn Error>> {
        // Without numactl and taskset it binds nothing: the saved machine's PUs are not here.
        let mut command = Command::new("/bin/sh");
        command.arg(&script).args(["/bin/sh", "-c", "echo $UCX_NET_DEVICES"]);
        command.env_clear().env("SLURM_LOCALID", "1").env("PATH", folder.path());
        Ok(String::from_utf8(command.envs(set.iter().copied()).output()?.stdout)?)
    };
    assert_eq!(
        (said(&[])?.trim(), said(&[("UCX_NET_DEVICES", "mlx5_9:1")])?.trim()),
        ("mlx5_4:1", "mlx5_9:1")
    );
    let refused = run(&["place", "-n", "2", "--input", file, "--emit", "srun", "--nic", "near"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--emit") && refused.err.contains("wrapper"), "{}", refused.err);
    Ok(())
}
