//! Messages of a pair while the launch's other ranks send, too.

use serde_json::Value;

use crate::driver;
use crate::launch::{all, has_three_hosts, verdict};
use crate::run::{Done, Ended};

/// Six ranks on two PUs take turns, so that only what is measured, and not its figures, mean something here.
#[test]
fn messages_are_measured_while_all_other_ranks_send_too() -> Done {
    if !has_three_hosts()? {
        return Ok(());
    }
    for mpi in all() {
        let folder = tempfile::tempdir()?;
        let json = folder.path().join("mpi.json");
        let mut launch = mpi.on_three_hosts();
        launch.args(["--others-send", "--size", "0B,8B,64KiB", "--pattern", "ping-pong"]);
        launch.args(["--max-time", "1s", "--json"]).arg(&json);
        let ended = Ended::of(&launch.output()?);
        let document: Value = serde_json::from_slice(&std::fs::read(&json).map_err(|_| ended.err.clone())?)?;

        assert_eq!(document["status"], "complete", "{}: {}{document:#}", mpi.name, ended.err);
        assert_eq!(document["settings"]["others_send"], true);
        let cases = document["pairs"][0]["cases"].as_array().ok_or("cases")?;
        let of = |path: &str| -> Vec<u64> {
            let figure = |case: &&Value| case["path"] == path && case["message_ns"].as_f64().is_some();
            cases.iter().filter(figure).filter_map(|case| case["bytes"].as_u64()).collect()
        };
        assert_eq!(of("host"), [0, 8, 65_536], "{cases:#?}");
        assert_eq!(of("host-others-send"), [0, 8, 65_536], "{cases:#?}");
        assert_eq!(document["pairs"].as_array().map(Vec::len), Some(1), "those beside are not measured");
        let said = verdict(&document);
        assert!(said.contains("while the other ranks send too"), "{said}");
        assert!(ended.out.is_empty() || !ended.out.contains("its GB/s"), "no thread copies: {}", ended.out);
    }
    Ok(())
}

/// One of two pairs that send beside fails, of which the other rank then waits in MPI: all others come to leave.
#[test]
fn where_one_of_those_that_send_fails_the_others_still_come_to_leave() -> Done {
    if !has_three_hosts()? {
        return Ok(());
    }
    let Some(mpi) = all().into_iter().next() else { return Ok(()) };
    let mut launch = mpi.on_three_hosts();
    launch.env("FAKE_MPI_FAILS", "MPI_Recv@3 300").env("LD_PRELOAD", driver::fake_mpi()?);
    // Where others work on the machine 300 messages take more than a second.
    launch.args(["--others-send", "--size", "8B", "--pattern", "ping-pong", "--max-time", "5s"]);
    let ended = Ended::of(&launch.output()?);
    assert!(ended.out.contains("rank 3, which sends beside: MPI_Recv failed"), "{}", ended.out);
    assert_eq!(ended.err.matches("not everybody had come to leave").count(), 5, "{}", ended.err);
    Ok(())
}
