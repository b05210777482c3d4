//! `numabench mpi` as tasks of a step: on one node, and on two, whose memory no process of the other sees.

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::{self, step};
use crate::run::{BINARY, Done, skipped};
use crate::{driver, proof};

#[test]
fn two_tasks_of_one_node_or_of_two_send_each_other_messages_under_both_mpis() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        for nodes in ["-N1", "-N2"] {
            let common = [nodes, "-n2", "-c1", mpi.option, BINARY, "mpi", "--backend", "host", "--size", "8B,4KiB"];
            let more = ["--pattern", "ping-pong", "--max-time", "2s", "--operation-timeout", "60s", "--json", "-"];
            let ended = step(&lab, Some(&mpi.plugin), &[&common[..], &more[..]].concat());
            assert_eq!(ended.code, Some(0), "{} {nodes}: {}{}", mpi.name, ended.out, ended.err);
            let document: Value = ended.json()?;
            proof::follows(&document, "mpi-v1.json")?;
            assert_eq!(document["status"], "complete", "{document:#}");
            let cases = document["pairs"][0]["cases"].as_array().ok_or("cases")?;
            for case in cases {
                assert!(case["message_ns"].as_f64().is_some_and(|ns| ns > 0.0) && case["reason"].is_null(), "{case:#}");
            }
            assert_eq!(cases.len(), 2);
            assert!(document["mpi"]["launcher"].as_str().is_some_and(|launcher| launcher.contains("srun")));
        }
    }
    Ok(())
}

#[test]
fn an_mpi_that_crashes_in_one_task_or_in_both_costs_nothing_that_was_measured() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let folder = driver::fake()?.display().to_string();
    let preload = format!("LD_PRELOAD={}", driver::fake_mpi()?.display());
    let libraries = format!("LD_LIBRARY_PATH={folder}");
    for mpi in mpi::all() {
        for (nodes, told) in [("-N1", "crash@1 allreduce"), ("-N2", "crash@1 allreduce"), ("-N2", "crash@0 allreduce")]
        {
            let fault = format!("FAKE_MPI={told}");
            let set = ["env", "FAKE_DEVICES=device 0000:05:00.0; device 0000:c1:00.0", &libraries, &fault, &preload];
            let common = ["--size", "8B,4KiB", "--pattern", "ping-pong", "--max-time", "1s", "--json", "-"];
            let limit = ["--operation-timeout", "5s"];
            let args = [&[nodes, "-n2", "-c1", mpi.option][..], &set, &[BINARY, "mpi"], &common[..], &limit].concat();
            let ended = step(&lab, Some(&mpi.plugin), &args);
            let document: Value = ended.json()?;
            assert_eq!(ended.code, Some(5), "{} {nodes} {told}: {}", mpi.name, ended.err);
            assert_eq!((&document["status"], &document["exit_code"]), (&"complete".into(), &5.into()), "{document:#}");
            assert_eq!(document["pairs"][0]["device_memory"]["awareness"], "half-aware", "{document:#}");
        }
    }
    Ok(())
}
