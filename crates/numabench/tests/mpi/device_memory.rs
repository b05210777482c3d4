//! What is said of an MPI's way with device memory. The stand-in's is heap memory, which any MPI takes;
//! `tests/fake-mpi` lets it go wrong.

use std::error::Error;
use std::time::Duration;

use serde_json::Value;

use crate::driver;
use crate::launch::{Mpi, all, verdict};
use crate::run::Done;

const TWO: &str = "device 0000:05:00.0; device 0000:c1:00.0";

const COMMON: [&str; 6] = ["--size", "8B,64KiB", "--pattern", "ping-pong", "--max-time", "300ms"];

fn variables(told: &str) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let mut variables = vec![("FAKE_DEVICES", TWO.to_owned())];
    if !told.is_empty() {
        variables.push(("FAKE_MPI", told.to_owned()));
        variables.push(("LD_PRELOAD", driver::fake_mpi()?.display().to_string()));
    }
    Ok(variables)
}

fn with_gpus(mpi: &Mpi, told: &str, args: &[&str]) -> Result<Value, Box<dyn Error>> {
    Ok(mpi.document(&driver::fake()?, &variables(told)?, &[&COMMON, args].concat())?.1)
}

/// The outcome of each operation at each size, `works` left out.
fn wrong(document: &Value) -> Vec<(String, String)> {
    let operations = document["pairs"][0]["operations"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = operations.map(|operation| (text(&operation["operation"]), text(&operation["outcome"])));
    named.filter(|(_, outcome)| outcome != "works").collect()
}

/// Figures of a path that count.
fn figures(document: &Value, path: &str) -> usize {
    let cases = document["pairs"][0]["cases"].as_array().into_iter().flatten();
    cases
        .filter(|case| case["path"] == path && case["message_ns"].is_f64() && case["reason"].is_null())
        .count()
}

#[test]
fn an_mpi_that_takes_it_is_aware_and_every_path_has_figures() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "", &[])?;
        assert_eq!(document["status"], "complete", "{document:#}");
        assert_eq!(wrong(&document), [], "{}", mpi.name);
        let memory = &document["pairs"][0]["device_memory"];
        assert_eq!(memory["awareness"], "aware");
        assert_eq!(memory["transport"], "unknown", "nothing tells which way heap memory goes");
        for path in ["host", "staged", "pipelined", "gpu-aware", "d2h-copy", "h2d-copy", "peer-copy"] {
            assert_eq!(figures(&document, path), 2, "{path}");
        }
        assert!(document["simulated"].as_str().is_some_and(|says| says.contains("fake")));
        assert!(verdict(&document).contains(" 8 "), "all operations tried: {}", verdict(&document));
        let turn = document["verdict"][1].as_str().unwrap_or_default();
        // Which it is depends on how busy this machine is; that it is what was found does not.
        let found = |what: &str| !memory[what].is_null();
        let says = match (found("slower_than_staged_up_to_bytes"), found("faster_than_staged_from_bytes")) {
            (_, true) => "It is faster than staging by hand from ",
            (true, false) => "It is slower than staging by hand up to ",
            (false, false) => "At no size is it surely faster or slower than staging by hand.",
        };
        assert!(turn.starts_with(says), "{says}: {turn}");
    }
    Ok(())
}

#[test]
fn one_that_crashes_in_send_is_not_aware_and_what_was_measured_before_is_kept() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "crash send", &[])?;
        assert_eq!(
            (&document["status"], &document["exit_code"]),
            (&"complete".into(), &5.into()),
            "{document:#}"
        );
        assert_eq!(wrong(&document)[0], ("send".to_owned(), "crash".to_owned()));
        assert!(
            wrong(&document)[1..].iter().all(|(_, outcome)| outcome == "not-tried"),
            "{:?}",
            wrong(&document)
        );
        assert_eq!(document["pairs"][0]["device_memory"]["awareness"], "not-aware");
        for path in ["host", "staged", "pipelined", "peer-copy"] {
            assert_eq!(figures(&document, path), 2, "{path}");
        }
        assert_eq!(figures(&document, "gpu-aware"), 0);
        let said = verdict(&document);
        assert!(said.contains("MPI_Send") && said.contains("(crash:") && said.contains("kept"), "{said}");
    }
    Ok(())
}

#[test]
fn one_that_crashes_in_a_collective_is_half_aware() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "crash allreduce", &[])?;
        assert_eq!(wrong(&document), [("allreduce".to_owned(), "crash".to_owned())]);
        assert_eq!(document["pairs"][0]["device_memory"]["awareness"], "half-aware");
        assert_eq!(figures(&document, "gpu-aware"), 2, "they were measured before");
        assert_eq!(document["exit_code"], 5);
    }
    Ok(())
}

#[test]
fn one_that_hangs_is_ended_at_the_limit() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "hang alltoall", &["--operation-timeout", "8s"])?;
        let wrong = wrong(&document);
        assert_eq!(wrong[0], ("alltoall".to_owned(), "hang".to_owned()), "{document:#}");
        assert_eq!(wrong[1], ("allreduce".to_owned(), "not-tried".to_owned()));
        assert_eq!(document["exit_code"], 5);
        assert!(verdict(&document).contains("--operation-timeout"), "{}", verdict(&document));
    }
    Ok(())
}

#[test]
fn one_that_crashes_or_hangs_at_one_rank_alone_ends_with_the_code_of_the_document_too() -> Done {
    for mpi in all() {
        for told in ["crash@0 allreduce", "crash@1 allreduce", "hang@1 allreduce"] {
            let document = with_gpus(&mpi, told, &["--operation-timeout", "8s"])?;
            let (how, _) = told.split_once('@').ok_or(told)?;
            assert_eq!(wrong(&document), [("allreduce".to_owned(), how.to_owned())], "{told}: {document:#}");
            assert_eq!(document["exit_code"], 5, "{told}");
        }
    }
    Ok(())
}

#[test]
fn a_launcher_that_is_told_to_end_while_mpi_hangs_or_sends_leaves_what_was_measured() -> Done {
    // Without a fault long enough that it cannot be over by itself: what it says of itself comes without a
    // pause meanwhile.
    let sends = ["--size", "8B..1MiB:4", "--max-time", "60s"];
    let hangs = [&COMMON[..], &["--operation-timeout", "60s"]].concat();
    let (soon, later) = (Duration::from_millis(200), Duration::from_secs(5));
    for mpi in all() {
        for (told, args, after) in [("hang send", &hangs[..], later), ("", &sends, soon)] {
            let args = [args, &["--quiet"]].concat();
            let document = mpi.told_to_end(&driver::fake()?, &variables(told)?, &args, after)?;
            assert_eq!(document["status"], "interrupted", "{} {told}: {document:#}", mpi.name);
            assert_eq!(document["exit_code"], 143);
            assert!(figures(&document, "host") > 0, "{document:#}");
        }
    }
    Ok(())
}

#[test]
fn one_that_brings_zeros_is_found_out_by_the_bytes() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "zeros send", &[])?;
        assert_eq!(
            wrong(&document),
            [("send".to_owned(), "garbage".to_owned()), ("send".to_owned(), "garbage".to_owned())]
        );
        assert_eq!(document["pairs"][0]["device_memory"]["awareness"], "not-aware");
        assert!(verdict(&document).contains("(garbage:"), "{}", verdict(&document));
    }
    Ok(())
}

#[test]
fn an_error_of_mpi_is_shown_in_its_words_and_the_other_operations_are_tried() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "error isend", &["--operations", "isend,put"])?;
        let operations = document["pairs"][0]["operations"].as_array().ok_or("operations")?;
        let failed = operations.iter().find(|operation| operation["outcome"] == "error").ok_or("an error")?;
        assert!(failed["detail"].as_str().is_some_and(|detail| detail.starts_with("MPI_Isend")), "{failed}");
        assert!(
            wrong(&document).iter().all(|(operation, _)| operation == "isend"),
            "put works: {:?}",
            wrong(&document)
        );
        assert!(
            operations
                .iter()
                .any(|operation| operation["operation"] == "put" && operation["outcome"] == "works")
        );
        assert_eq!(document["exit_code"], 0);
    }
    Ok(())
}

#[test]
fn an_mpi_that_changes_the_threads_device_changes_nothing_of_what_is_found() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "steals send", &["--operations", "send,bcast"])?;
        assert_eq!(
            (document["status"].as_str(), wrong(&document)),
            (Some("complete"), vec![]),
            "{}",
            mpi.name
        );
    }
    Ok(())
}

#[test]
fn what_is_expected_decides_the_exit_code() -> Done {
    for mpi in all() {
        let aware = ["--operations", "send,bcast", "--expect", "aware"];
        assert_eq!(with_gpus(&mpi, "", &aware)?["exit_code"], 0);
        // Which way heap memory goes cannot be told.
        let direct = ["--operations", "send", "--expect", "direct"];
        assert_eq!(with_gpus(&mpi, "", &direct)?["exit_code"], 6);
        let none = with_gpus(&mpi, "", &["--operations", "none"])?;
        assert_eq!((figures(&none, "staged"), figures(&none, "gpu-aware")), (2, 0));
        assert!(verdict(&none).contains("staged"), "{}", verdict(&none));
    }
    Ok(())
}

#[test]
fn a_thread_that_copies_to_the_gpu_beside_messages_is_seen_in_its_place_and_both_are_measured() -> Done {
    if std::thread::available_parallelism()?.get() < 4 {
        crate::run::skipped("two ranks of two threads: four PUs, and this machine has fewer");
        return Ok(());
    }
    for mpi in all() {
        let args = ["--mpi-cpus", "0,1", "--gpu-cpus", "2,3", "--size", "8B", "--pattern", "ping-pong"];
        let args = [&args[..], &["--operations", "none", "--max-time", "1s"]].concat();
        let document = mpi.document(&driver::fake()?, &variables("")?, &args)?.1;
        let pair = &document["pairs"][0];
        let case = |path: &str| {
            pair["cases"].as_array().into_iter().flatten().find(|case| case["path"] == path).cloned()
        };
        let beside = case("host-gpu-thread-apart").ok_or("no figure beside copies")?;
        assert!(beside["gpu_bytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{beside:#}");
        assert!(
            case("gpu-thread-apart").is_some_and(|case| case["message_ns"].as_f64().is_some()),
            "{pair:#}"
        );
        for (rank, pu) in [(0, 2), (1, 3)] {
            for when in 0..2 {
                let threads =
                    pair["placed"][when][rank]["gpu_threads"].as_array().cloned().unwrap_or_default();
                let apart = threads.last().ok_or("the thread was not looked at")?;
                assert_eq!(
                    (&apart["pu"], &apart["affinity"]),
                    (&pu.into(), &serde_json::json!([pu])),
                    "{apart:#}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn operations_that_nobody_asked_for_are_not_said_to_be_left_out() -> Done {
    for mpi in all() {
        let (_, document) = mpi.document(
            &driver::fake()?,
            &variables("crash send")?,
            &[&COMMON[..], &["--operations", "send,put", "--operation-timeout", "5s"]].concat(),
        )?;
        let memory = &document["pairs"][0]["device_memory"];
        assert_eq!(memory["not_tried"], serde_json::json!(["put"]), "{}: {memory:#}", mpi.name);
    }
    Ok(())
}

#[test]
fn an_error_of_mpi_while_it_is_measured_leaves_the_run_partial_and_says_why() -> Done {
    for mpi in all() {
        let told = variables("wears@0 send")?;
        let (ended, document) = mpi.document(&driver::fake()?, &told, &COMMON)?;
        assert_eq!(document["status"], "partial", "{}: {document:#}", mpi.name);
        let why = document["status_reason"].as_str().unwrap_or_default();
        assert!(why.starts_with("gpu-aware ping-pong of ") && why.contains("MPI_Send"), "{why}");
        assert!(verdict(&document).contains(why), "{}", verdict(&document));
        assert!(ended.out.contains("not tried: isend"), "{}", ended.out);
    }
    Ok(())
}

#[test]
fn an_error_at_one_rank_alone_is_told_in_mpis_words() -> Done {
    for mpi in all() {
        let document = with_gpus(&mpi, "error@0 send", &["--operation-timeout", "8s"])?;
        let operations = document["pairs"][0]["operations"].as_array().ok_or("operations")?;
        let failed = operations.iter().find(|tried| tried["outcome"] == "error");
        let failed = failed.ok_or_else(|| format!("{}: {document:#}", mpi.name))?;
        assert!(failed["detail"].as_str().is_some_and(|detail| detail.starts_with("MPI_Send")), "{failed}");
        assert_eq!(document["status"], "partial", "{}", mpi.name);
        assert!(
            document["status_reason"].as_str().is_some_and(|why| why.contains("MPI_Send")),
            "{document:#}"
        );

        // The leader waits in MPI for what was not sent: the rank that could not send it says so.
        let args = [&COMMON[..], &["--operation-timeout", "8s"]].concat();
        let (ended, document) = mpi.document(&driver::fake()?, &variables("error@1 send")?, &args)?;
        assert_eq!(wrong(&document)[0], ("send".into(), "hang".into()), "{}", mpi.name);
        assert!(ended.err.contains("note: rank 1: MPI_Send"), "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}
