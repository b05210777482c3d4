//! Host memory to host memory.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::driver;
use crate::launch::{Mpi, all, has_three_hosts, verdict};
use crate::run::{Done, Ended, no_driver, run};

#[test]
fn every_pattern_and_size_has_a_figure_that_was_verified_and_placed() -> Done {
    for mpi in all() {
        let args = ["--size", "8B,64KiB,1MiB", "--max-time", "2s"];
        let document = mpi.document(&no_driver(), &[], &args)?.1;
        assert_eq!(document["status"], "complete", "{}: {document:#}", mpi.name);
        let pair = &document["pairs"][0];
        let cases = pair["cases"].as_array().ok_or("cases")?;
        assert_eq!(cases.len(), 9, "three patterns of three sizes");
        for case in cases {
            assert_eq!(case["path"], "host");
            assert!(case["message_ns"].as_f64().is_some_and(|ns| ns > 50.0), "{case:#}");
            assert_eq!(
                case["verified_bytes"].as_u64(),
                case["bytes"].as_u64().map(|bytes| 2 * bytes),
                "{case:#}"
            );
        }
        for case in cases {
            let most = if case["pattern"] == "ping-pong" { 1 } else { 64 };
            assert_eq!(case["window"], most, "{case:#}");
        }
        for (rank, both) in [0, 1].into_iter().zip(document["ranks"].as_array().ok_or("ranks")?) {
            for when in 0..2 {
                let seen = &pair["placed"][when][rank];
                assert_eq!((&seen["pu"], &seen["mismatch"]), (&both["pu"], &Value::Null), "{seen:#}");
            }
        }
        assert!(verdict(&document).starts_with("Host"), "{}", verdict(&document));
        assert!(document["mpi"]["library"].as_str().is_some_and(|library| library.contains(mpi.name)));
        assert!(pair["device_memory"].is_null());
    }
    Ok(())
}

#[test]
fn a_message_of_many_at_once_takes_its_part_of_the_windows_time() -> Done {
    let quickest = |document: &Value, pattern: &str| {
        let cases = document["pairs"][0]["cases"].as_array();
        let case = cases.into_iter().flatten().find(|case| case["pattern"] == pattern);
        let blocks = case.and_then(|case| case["block_ns"].as_array()).into_iter().flatten();
        blocks.filter_map(Value::as_f64).fold(f64::INFINITY, f64::min)
    };
    for mpi in all() {
        // The best block of a few launches: a busy machine slows down all of a launch. A window that was not
        // divided by its messages would be dozens of times as long on every machine.
        let mut seen = Vec::new();
        while seen.len() < 4 && !seen.iter().any(|(many, one)| *many < 8.0 * one) {
            let args = ["--size", "8B", "--pattern", "ping-pong,one-way", "--max-time", "1s"];
            let document = mpi.document(&no_driver(), &[], &args)?.1;
            seen.push((quickest(&document, "one-way"), quickest(&document, "ping-pong")));
        }
        assert!(
            seen.iter().any(|(many, one)| *many < 8.0 * one),
            "{}: ns of one of many messages at once, and of one alone: {seen:?}",
            mpi.name
        );
    }
    Ok(())
}

#[test]
fn a_sample_of_all_pairs_has_every_rank_and_says_of_which_nodes_they_are() -> Done {
    if !has_three_hosts()? {
        return Ok(());
    }
    for mpi in all() {
        let folder = tempfile::tempdir()?;
        let json = folder.path().join("mpi.json");
        let mut launch = mpi.on_three_hosts();
        launch.args(["--sample", "5", "--size", "8B", "--pattern", "ping-pong"]);
        launch.args(["--max-time", "1s", "--json"]).arg(&json);
        let ended = Ended::of(&launch.output()?);
        let document: Value = serde_json::from_slice(&std::fs::read(&json).map_err(|_| ended.err.clone())?)?;

        assert_eq!(document["status"], "complete", "{}: {}{document:#}", mpi.name, ended.err);
        let pairs = document["pairs"].as_array().ok_or("pairs")?;
        let ranks: std::collections::BTreeSet<u64> = pairs
            .iter()
            .filter_map(|pair| pair["ranks"].as_array())
            .flatten()
            .filter_map(Value::as_u64)
            .collect();
        assert_eq!((pairs.len(), ranks.len()), (5, 6), "{pairs:#?}");
        let classes = document["pair_sample"]["classes"].as_array().ok_or("classes")?;
        let of: Vec<(&Value, &Value)> = classes.iter().map(|class| (&class["link"], &class["of"])).collect();
        assert_eq!(of, [(&"other node".into(), &12.into()), (&"same node, one NUMA node".into(), &3.into())]);
        let said = verdict(&document);
        assert!(said.starts_with("A sample: 5 of 15 pairs, each kind of link at least twice"), "{said}");
    }
    Ok(())
}

#[test]
fn too_few_ranks_to_send_beside_a_pair_are_refused() {
    for mpi in all() {
        let ended = mpi.host(2, &["--others-send", "--size", "8B"]);
        assert_eq!(ended.code, Some(2), "{}: {}", mpi.name, ended.err);
        assert!(ended.err.contains("--others-send: beside ranks 0 and 1 no two of 2 ranks"), "{}", ended.err);
    }
    run(&["mpi", "--others-send", "--matrix"]).refused(2, &["--others-send", "--matrix"]);
}

#[test]
fn an_mpi_that_closes_standard_input_and_never_starts_is_left_at_the_limit() -> Done {
    for mpi in all() {
        let told =
            [("FAKE_MPI", "deaf".to_owned()), ("LD_PRELOAD", driver::fake_mpi()?.display().to_string())];
        let began = Instant::now();
        let ended = mpi.run(&no_driver(), 2, &told, &["--size", "8B", "--timeout", "2s"]);
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{}: {:?}: {}",
            mpi.name,
            began.elapsed(),
            ended.err
        );
        assert!(ended.code.is_some_and(|code| code != 0), "{}: {}", mpi.name, ended.err);
        assert!(ended.err.contains("MPI") && ended.err.contains(" 2 "), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}

#[test]
fn the_pairs_that_were_asked_for_are_measured_and_no_other() -> Done {
    for mpi in all() {
        // On two PUs the third rank has no core of its own.
        if std::thread::available_parallelism()?.get() < 3 {
            crate::run::skipped("three ranks need three PUs");
            return Ok(());
        }
        let args = [
            "--size",
            "8B",
            "--pattern",
            "ping-pong",
            "--pairs",
            "0-2,1-2",
            "--max-time",
            "1s",
            "--json",
            "-",
        ];
        let ended = mpi.host(3, &args);
        let document = ended.json()?;
        let pairs: Vec<&Value> =
            document["pairs"].as_array().into_iter().flatten().map(|pair| &pair["ranks"]).collect();
        assert_eq!(pairs, [&serde_json::json!([0, 2]), &serde_json::json!([1, 2])]);
    }
    Ok(())
}

#[test]
fn a_terminal_gets_the_answer_first() -> Done {
    for mpi in all() {
        let ended = mpi.host(2, &["--size", "8B", "--pattern", "ping-pong", "--max-time", "1s"]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(
            !ended.out.contains('\x1b'),
            "this is no terminal, whatever mpirun makes of it: {:?}",
            ended.out
        );
        assert!(ended.out.starts_with("Host"), "{}", ended.out);
        let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("no GPU took part, host memory alone was sent"), "{}", ended.out);
        let quiet = mpi.host(
            2,
            &["--size", "8B", "--pattern", "ping-pong", "--max-time", "1s", "--quiet", "--color", "never"],
        );
        // On a busy machine the answer is longer: what to do about noise.
        assert!(!quiet.out.trim_end().contains("\n\n"), "the answer alone: {}", quiet.out);
        assert!(quiet.out.contains("too noisy") || quiet.out.lines().count() == 1, "{}", quiet.out);
    }
    Ok(())
}

#[test]
fn under_matrix_every_place_has_a_rank_of_its_own_and_figures_stand_by_place() -> Done {
    for mpi in all() {
        let cores = std::thread::available_parallelism()?.get();
        if cores != 2 {
            crate::run::skipped("a rank for each core: this machine has other than two");
            return Ok(());
        }
        let args = ["--matrix=core", "--size", "8B,64KiB", "--max-time", "1s"];
        let (ended, document) = mpi.document(&no_driver(), &[], &args)?;
        let matrix = &document["matrix"];
        assert_eq!(
            (&matrix["places"], &matrix["missing"]),
            (&"core".into(), &serde_json::json!([])),
            "{matrix:#}"
        );
        for side in ["rows", "columns"] {
            let names: Vec<&Value> =
                matrix[side].as_array().into_iter().flatten().map(|place| &place["name"]).collect();
            assert_eq!(names, ["core of PU 0", "core of PU 1"]);
        }
        assert_eq!(document["pairs"].as_array().map(Vec::len), Some(1), "each pair once");
        assert_eq!(document["pairs"][0]["cases"].as_array().map(Vec::len), Some(2), "one message at a time");
        for rank in 0..2 {
            assert_eq!(document["pairs"][0]["placed"][1][rank]["pu"], document["ranks"][rank]["pu"]);
        }
        assert!(verdict(&document).starts_with("One"), "{}", verdict(&document));
        assert!(
            ended.out.lines().any(|line| line.contains("memory,") && line.contains(" 64 ")),
            "{}",
            ended.out
        );
    }
    Ok(())
}

#[test]
fn where_every_message_fails_the_first_line_says_that_nothing_was_measured_and_why() -> Done {
    for mpi in all() {
        let ended = faulty(&mpi, "MPI_Recv@0 2")?;
        assert!(ended.code.is_some_and(|code| code != 0), "{}: {}", mpi.name, ended.out);
        let first = ended.out.lines().next().unwrap_or_default();
        assert!(first.starts_with("No ") && first.contains("MPI_Recv"), "{}: {}", mpi.name, ended.out);
    }
    Ok(())
}

#[test]
fn a_rank_that_cannot_leave_mpi_says_so_beside_a_whole_result() -> Done {
    for mpi in all().into_iter().filter(|mpi| mpi.name == "Open MPI") {
        let ended = faulty(&mpi, "MPI_Ibarrier@1 1")?;
        assert!(ended.out.starts_with("Host"), "{}: {}", mpi.name, ended.out);
        assert!(ended.err.contains("MPI_Ibarrier"), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}

/// Over UCX it may wait there for ever.
#[test]
fn under_hydra_mpich_over_ucx_is_left_without_mpi_finalize() -> Done {
    for mpi in all().into_iter().filter(|mpi| mpi.name == "MPICH") {
        let ended = faulty(&mpi, "MPI_Finalize 1")?;
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    }
    Ok(())
}

#[test]
fn an_mpi_that_does_not_start_is_told_by_its_code_and_asked_for_no_words() -> Done {
    for mpi in all() {
        let ended = faulty(&mpi, "MPI_Init_thread@0 1")?;
        assert!(
            ended.err.contains("MPI_Init_thread") && ended.err.contains("code"),
            "{}: {}",
            mpi.name,
            ended.err
        );
        assert!(!ended.err.contains("MPI_Error_string"), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}

#[test]
fn what_fails_at_the_start_of_one_rank_is_told_by_that_rank() -> Done {
    for mpi in all() {
        let ended = faulty(&mpi, "MPI_Comm_size@1 1")?;
        assert!(ended.code.is_some_and(|code| code != 0), "{}: {}", mpi.name, ended.out);
        assert!(ended.err.contains("MPI_Comm_size"), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}

#[test]
fn a_rank_that_fails_lets_the_first_one_say_why_before_it_ends() -> Done {
    for mpi in all() {
        let told = [
            ("FAKE_MPI_FAILS", "MPI_Imrecv@1 5".to_owned()),
            ("FAKE_MPI", "late".to_owned()),
            ("LD_PRELOAD", driver::fake_mpi()?.display().to_string()),
        ];
        let ended = mpi.pingpong(&told);
        assert!(ended.code.is_some_and(|code| code != 0), "{}: {}", mpi.name, ended.out);
        assert!(ended.err.contains("MPI_Imrecv"), "{}: {}{}", mpi.name, ended.out, ended.err);
    }
    Ok(())
}

/// Two ranks of which one call of MPI fails.
fn faulty(mpi: &Mpi, fault: &str) -> Result<Ended, Box<dyn std::error::Error>> {
    let told =
        [("FAKE_MPI_FAILS", fault.to_owned()), ("LD_PRELOAD", driver::fake_mpi()?.display().to_string())];
    Ok(mpi.run(
        &no_driver(),
        2,
        &told,
        &["--size", "8B", "--pattern", "ping-pong", "--max-time", "300ms", "--timeout", "12s"],
    ))
}

/// A message of which no call says that it is sent may still be read: its bytes stay where its MPI_Test
/// fails.
#[test]
fn bytes_of_a_message_whose_test_failed_stay_as_they_are() -> Done {
    for mpi in all() {
        let told =
            [("FAKE_MPI", "rereads".to_owned()), ("LD_PRELOAD", driver::fake_mpi()?.display().to_string())];
        let args = ["--size", "8B", "--pattern", "ping-pong", "--max-time", "300ms", "--timeout", "4s"];
        let ended = mpi.run_command("mpi", &no_driver(), 2, &told, &args);
        assert!(ended.err.contains("MPI_Test"), "{}: {}{}", mpi.name, ended.out, ended.err);
        assert!(!ended.err.contains("has changed"), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}
