//! `numabench laplace` as several ranks: halos by each way, ranks that share a GPU, and an MPI that dies,
//! hangs or brings zeros when it is given device memory.

use std::error::Error;
use std::fs;

use serde_json::Value;

use crate::driver;
use crate::launch::{Mpi, all, verdict};
use crate::proof::valid;
use crate::run::{Done, no_driver};

const QUICK: [&str; 4] = ["--grid", "61x67", "--max-time", "300ms"];
const DEVICES: &str = "device 0000:05:00.0; device 0000:c1:00.0";

/// The document of two ranks with stand-in GPUs and an MPI that was told this.
fn with_gpus(mpi: &Mpi, told: &str, args: &[&str]) -> Result<Value, Box<dyn Error>> {
    let mut variables = vec![("FAKE_DEVICES", DEVICES.to_owned())];
    if !told.is_empty() {
        variables.push(("FAKE_MPI", told.to_owned()));
        variables.push(("LD_PRELOAD", driver::fake_mpi()?.display().to_string()));
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("laplace.json");
    let json = file.display().to_string();
    let args = [&QUICK[..], args, &["--json", &json]].concat();
    let ended = mpi.run_command("laplace", &driver::fake()?, 2, &variables, &args);
    let bytes = fs::read(&file).map_err(|error| format!("{error}: {}", ended.err))?;
    let document: Value = serde_json::from_slice(&bytes)?;
    valid(&document)?;
    assert_eq!(document["exit_code"].as_i64(), ended.code.map(i64::from), "{}", ended.err);
    Ok(document)
}

/// The names of the ways with a figure.
fn measured(document: &Value) -> Vec<String> {
    let ways = document["laplace"]["ways"].as_array().into_iter().flatten();
    let figure = |way: &&Value| way["iteration_ns"].is_f64();
    ways.filter(figure).filter_map(|way| Some(way["name"].as_str()?.to_owned())).collect()
}

const SAFE: [&str; 4] = ["cpu", "cpu, overlapped", "staged", "staged, overlapped"];

#[test]
fn every_way_has_a_figure_and_one_residual_also_where_two_ranks_share_a_gpu() -> Done {
    for mpi in all() {
        for gpus in ["all", "1"] {
            let document = with_gpus(&mpi, "", &["--gpus", gpus])?;
            assert_eq!(document["status"], "complete", "{document:#}");
            assert_eq!(measured(&document).len(), 6, "{}", document["laplace"]);
            let ways = document["laplace"]["ways"].as_array().into_iter().flatten();
            let residuals: Vec<&Value> = ways.map(|way| &way["residual"]).collect();
            assert!(
                residuals.iter().all(|residual| *residual == residuals[0] && residual.is_f64()),
                "{residuals:?}"
            );
            assert!(verdict(&document).contains("residual") && verdict(&document).contains(" 16 "));
            let share = &document["laplace"]["ways"][2]["halo_share"];
            assert!(share.as_f64().is_some_and(|share| share > 0.0 && share < 1.0), "{share}");
            let shares_it = document["ranks"][0]["notes"].to_string().contains("2 ranks share this device");
            assert_eq!(shares_it, gpus == "1");
        }
    }
    Ok(())
}

#[test]
fn one_rank_and_two_are_compared_in_one_run_with_speed_up_and_efficiency() -> Done {
    for mpi in all() {
        for (asked, rows) in
            [(&["--ranks", "2,1"][..], [61.0, 61.0]), (&["--ranks", "1,2", "--weak"], [61.0, 122.0])]
        {
            let document = with_gpus(&mpi, "", asked)?;
            assert_eq!(document["status"], "complete", "{document:#}");
            let names = measured(&document);
            assert_eq!(names[..2], ["cpu, 1 rank", "gpu, 1 rank"]);
            assert_eq!(names.len(), 8, "both, and six ways by two: {names:?}");

            let ways = || document["laplace"]["ways"].as_array().into_iter().flatten();
            for way in ways() {
                let ranks = way["ranks"].as_u64().ok_or("no ranks")? as usize;
                let cells = way["cells_per_s"].as_f64().zip(way["iteration_ns"].as_f64());
                let cells = cells.map(|(a_second, ns)| a_second * ns / 1e9).ok_or("no figure")?;
                assert!((cells / (67.0 * rows[ranks - 1]) - 1.0).abs() < 1e-9, "the plane of {ranks}: {way}");
                let is_of_one = ranks == 1;
                assert_eq!(way["scaling"].is_null(), is_of_one, "{way}");
                if is_of_one {
                    continue;
                }
                let scaling = &way["scaling"];
                let one = if way["way"] == "cpu" { "cpu, 1 rank" } else { "gpu, 1 rank" };
                assert_eq!((&scaling["over"], &scaling["ranks"]), (&one.into(), &1.into()));
                let of = |name: &str| scaling[name].as_f64().ok_or("no figure");
                assert!((of("efficiency")? - of("speed_up")? / 2.0).abs() < 1e-9, "{scaling}");
            }
            let of_one = document["cases"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|case| case["group"].as_str().is_some_and(|group| group.ends_with("1 rank")));
            assert!(
                of_one.into_iter().all(|case| case["ranks"].as_array().is_some_and(|ranks| ranks.len() == 1))
            );
        }
    }
    Ok(())
}

#[test]
fn an_mpi_that_dies_or_hangs_with_device_memory_leaves_the_other_ways_and_says_so() -> Done {
    for mpi in all() {
        // Ranks that poll take turns on a busy machine, and the other ways' iterations must come back there.
        for (told, why, limit) in [
            ("crash isend", "SIGSEGV in iterations of gpu-aware", "60s"),
            ("hang isend", "did not come back within --timeout", "20s"),
        ] {
            let document = with_gpus(&mpi, told, &["--timeout", limit])?;
            assert_eq!(
                (&document["status"], &document["exit_code"]),
                (&"partial".into(), &3.into()),
                "{document:#}"
            );
            assert_eq!(measured(&document), SAFE, "{told}");
            let said = verdict(&document);
            assert!(said.contains("gpu-aware:") && said.contains(why), "{said}");
        }
    }
    Ok(())
}

#[test]
fn an_mpi_that_changes_the_threads_device_changes_nothing_of_what_is_found() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "steals isend", &["--ways", "gpu-aware"])?;
        let measured = measured(&document).contains(&"gpu-aware".to_owned());
        assert_eq!((document["status"].as_str(), measured), (Some("complete"), true), "{document:#}");
    }
    Ok(())
}

#[test]
fn zeros_in_place_of_a_neighbours_row_are_a_wrong_result() -> Done {
    for mpi in all().iter().take(1) {
        let document = with_gpus(mpi, "zeros isend", &["--ways", "gpu-aware"])?;
        assert_eq!(
            (&document["status"], &document["exit_code"]),
            (&"data-corrupt".into(), &4.into()),
            "{document:#}"
        );
        let why = document["status_reason"].to_string();
        assert!(why.contains("wrong") && why.contains(" 16 "), "{document:#}");
    }
    Ok(())
}

#[test]
fn the_memory_of_halos_stays_until_mpi_is_left() -> Done {
    let preload = driver::fake_mpi()?.display().to_string();
    for mpi in all() {
        // Rows of 8 KiB, on the host and staged from the device.
        let told = [
            ("FAKE_MPI", "watches".to_owned()),
            ("LD_PRELOAD", preload.clone()),
            ("FAKE_DEVICES", DEVICES.to_owned()),
        ];
        let args = ["--grid", "24x1024", "--max-time", "1s", "--ways", "cpu,staged", "--quiet"];
        let ended = mpi.run_command("laplace", &driver::fake()?, 2, &told, &args);
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        let said: Vec<&str> = ended
            .err
            .lines()
            .filter_map(|line| line.split_once("fake MPI: "))
            .map(|(_, said)| said)
            .collect();
        assert_eq!(said.len(), 2, "each rank says it: {}", ended.err);
        assert!(
            said.iter().all(|said| said.ends_with(" ranges were given to it, of 0 the pages are gone")),
            "{said:?}"
        );
    }
    Ok(())
}

#[test]
fn a_rank_that_cannot_leave_mpi_lets_the_first_one_keep_the_result() -> Done {
    let preload = driver::fake_mpi()?.display().to_string();
    for mpi in all().into_iter().filter(|mpi| mpi.name == "Open MPI") {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("laplace.json");
        let told = [
            ("FAKE_MPI_FAILS", "MPI_Finalize@1 1".to_owned()),
            ("LD_PRELOAD", preload.clone()),
            ("FAKE_DEVICES", DEVICES.to_owned()),
        ];
        let json = file.display().to_string();
        let args = [&QUICK[..], &["--json", &json]].concat();
        let ended = mpi.run_command("laplace", &driver::fake()?, 2, &told, &args);
        let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        assert_eq!(document["status"], "complete", "{}: {}{}", mpi.name, ended.out, ended.err);
        assert!(ended.out.starts_with("Fastest: "), "{}: {}", mpi.name, ended.out);
        assert!(ended.err.contains("MPI could not be left in order: "), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}

#[test]
fn ranks_without_a_gpu_compute_with_their_cores() {
    for mpi in all() {
        let ended = mpi.run_command("laplace", &no_driver(), 2, &[], &[&QUICK[..], &["--quiet"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.out.contains("cpu, overlapped: ") && ended.out.contains("2 ranks"), "{}", ended.out);
        let rows = mpi.run_command("laplace", &no_driver(), 2, &[], &["--grid", "1x64"]);
        assert_eq!(rows.code, Some(2), "{}", rows.err);
        assert_eq!(rows.err.matches("each of the 2 ranks needs a row").count(), 1, "{}", rows.err);
    }
}
