//! `numabench mpi` as tasks of a step: on one node, and on two, whose memory no process of the other sees.

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::{self, step};
use crate::proof;
use crate::run::{BINARY, Done, skipped};

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
