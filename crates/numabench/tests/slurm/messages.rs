//! `numabench mpi` as tasks of a step: on one node, and on two, whose memory no process of the other sees.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::{self, Mpi, step};
use crate::run::{BINARY, Done, Ended, skipped};
use crate::{driver, proof};

/// A lab whose nodes are told apart: ranks of two nodes that call themselves the same would be on the same
/// PU.
pub fn two_hosts() -> Result<Option<Lab>, Box<dyn Error>> {
    let Some(lab) = Lab::start()? else { return Ok(None) };
    if !lab.has_host_names()? {
        skipped(
            "messages between two nodes: those of this lab have no host names of their own (unshare --uts \
             --mount is refused)",
        );
        return Ok(None);
    }
    Ok(Some(lab))
}

#[test]
fn two_tasks_of_one_node_or_of_two_send_each_other_messages_under_both_mpis() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let Some(lab) = two_hosts()? else { return Ok(()) };
    for mpi in mpi::all() {
        for nodes in ["-N1", "-N2"] {
            let common =
                [nodes, "-n2", "-c1", mpi.option, BINARY, "mpi", "--backend", "host", "--size", "8B,4KiB"];
            let more =
                ["--pattern", "ping-pong", "--max-time", "2s", "--operation-timeout", "60s", "--json", "-"];
            let ended = step(&lab, Some(&mpi.plugin), &[&common[..], &more[..]].concat());
            assert_eq!(ended.code, Some(0), "{} {nodes}: {}{}", mpi.name, ended.out, ended.err);
            let document: Value = ended.json()?;
            proof::follows(&document, "mpi-v1.json")?;
            assert_eq!(document["status"], "complete", "{document:#}");
            let cases = document["pairs"][0]["cases"].as_array().ok_or("cases")?;
            for case in cases {
                assert!(
                    case["message_ns"].as_f64().is_some_and(|ns| ns > 0.0) && case["reason"].is_null(),
                    "{case:#}"
                );
            }
            assert_eq!(cases.len(), 2);
            assert!(document["mpi"]["launcher"].as_str().is_some_and(|launcher| launcher.contains("srun")));
        }
    }
    Ok(())
}

/// A step whose MPI does something wrong.
struct FaultyStep {
    ended: Ended,
    document: Value,
    /// From srun's start to its end, without what a test needs first: stand-ins are compiled by the first
    /// test that asks for them, which takes long beside others.
    took: Duration,
}

/// `numabench mpi` with stand-in GPUs, as tasks of a step whose MPI does this wrong.
fn faulty(
    lab: &Lab,
    mpi: &Mpi,
    told: &str,
    srun: &[&str],
    more: &[&str],
) -> Result<FaultyStep, Box<dyn Error>> {
    let preload = format!("LD_PRELOAD={}", driver::fake_mpi()?.display());
    let libraries = format!("LD_LIBRARY_PATH={}", driver::fake()?.display());
    let fault = format!("FAKE_MPI={told}");
    let set = ["env", "FAKE_DEVICES=device 0000:05:00.0; device 0000:c1:00.0", &libraries, &fault, &preload];
    let common = ["--size", "8B,4KiB", "--pattern", "ping-pong", "--max-time", "1s", "--json", "-"];
    // Ranks that poll on fewer CPUs than they are take their turns: seconds may be few for what does not
    // hang.
    let limit = ["--operation-timeout", "10s"];
    let args = [srun, &["-c1", mpi.option], &set, &[BINARY, "mpi"], &common, &limit, more].concat();
    let began = Instant::now();
    let ended = step(lab, Some(&mpi.plugin), &args);
    let took = began.elapsed();
    let document = ended.json()?;
    Ok(FaultyStep { ended, document, took })
}

#[test]
fn an_mpi_that_crashes_in_one_task_or_in_both_costs_nothing_that_was_measured() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let Some(lab) = two_hosts()? else { return Ok(()) };
    for mpi in mpi::all() {
        for (nodes, told) in
            [("-N1", "crash@1 allreduce"), ("-N2", "crash@1 allreduce"), ("-N2", "crash@0 allreduce")]
        {
            let FaultyStep { ended, document, .. } = faulty(&lab, &mpi, told, &[nodes, "-n2"], &[])?;
            assert_eq!(ended.code, Some(5), "{} {nodes} {told}: {}", mpi.name, ended.err);
            assert_eq!(
                (&document["status"], &document["exit_code"]),
                (&"complete".into(), &5.into()),
                "{document:#}"
            );
            assert_eq!(document["pairs"][0]["device_memory"]["awareness"], "half-aware", "{document:#}");
        }
    }
    Ok(())
}

#[test]
fn a_task_that_has_nothing_to_do_leaves_when_the_first_ones_mpi_has_died() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let (Some(lab), Some(mpi)) = (two_hosts()?, mpi::mpich()) else { return Ok(()) };
    // Ranks 0 and 1 are on one node: it sees that the other is gone. Rank 2 is on another: it hears nothing
    // any more.
    for (idle, pairs, limit) in [(1, "0-2", Duration::from_secs(20)), (2, "0-1", Duration::from_secs(50))] {
        let FaultyStep { ended, document, took } = faulty(
            &lab,
            &mpi,
            "crash allreduce",
            &["-N2", "-n3", "--distribution=block"],
            &["--pairs", pairs],
        )?;
        assert_eq!((ended.code, &document["exit_code"]), (Some(5), &5.into()), "{}{document:#}", ended.err);
        assert_ne!(document["ranks"][0]["host"], document["ranks"][2]["host"]);
        assert!(took < limit, "rank {idle} stayed {took:?}");
    }
    Ok(())
}

#[test]
fn under_matrix_the_places_of_one_node_are_held_against_those_of_the_other() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let (Some(lab), Some(mpi)) = (two_hosts()?, mpi::mpich()) else { return Ok(()) };
    let task = ["-N2", "-n2", "-c1", mpi.option, BINARY, "mpi", "--backend", "host"];
    let args = [&task[..], &["--matrix", "--size", "8B", "--max-time", "1s", "--json", "-"]].concat();
    let document = step(&lab, Some(&mpi.plugin), &args).json()?;
    assert_eq!(document["exit_code"], 0, "{document:#}");
    let name = |side: &str| document["matrix"][side][0]["name"].as_str().unwrap_or_default().to_owned();
    assert_eq!([name("rows"), name("columns")], ["n0 node 0", "n1 node 0"]);
    Ok(())
}
