//! `numabench trial` in an allocation: it starts the steps itself, and sees their tasks, which are no
//! children of its own.

use serde_json::Value;

use crate::lab::Lab;
use crate::run::{BINARY, Done, Ended, skipped};

/// `salloc` with two tasks on so many nodes, and in it a trial with these arguments, whose document is
/// printed.
fn in_allocation(lab: &Lab, nodes: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let mut command = lab.command("salloc");
    command.args(["--quiet", nodes, "-n2", BINARY, "trial"]).args(args);
    Ok(Ended::of(&command.output()?))
}

#[test]
fn in_an_allocation_a_trial_starts_steps_and_looks_at_their_tasks() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("tasks with a CPU each: this machine has one CPU");
        return Ok(());
    }
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let options = [
        "--launch",
        "srun --quiet -n2 {bind} {app}",
        "--placements",
        "compact",
        "--max-runs",
        "6",
        "--json",
        "-",
    ];
    let program = ["--metric", "x=([0-9]+)", "--better", "lower", "--", "sh", "-c", "sleep 1; echo x=100"];
    let ended = in_allocation(&lab, "-N1", &[&options[..], &program].concat())?;
    let document: Value =
        serde_json::from_str(&ended.out).map_err(|error| format!("{error}: {}{}", ended.out, ended.err))?;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let line = document["variants"][1]["line"].as_str().unwrap_or_default();
    assert!(
        line.starts_with("srun --quiet -n2 --cpu-bind=none numabench exec --strategy compact -- sh -c "),
        "{line}"
    );
    let runs = document["runs"].as_array().ok_or("no runs")?;
    let of = |rank: u64| {
        let compact = runs.iter().filter(|run| run["variant"] == "compact" && run["block"] != 0);
        let looks = compact.flat_map(|run| run["looks"].as_array().into_iter().flatten());
        let ranks = looks.flat_map(|look| look["ranks"].as_array().into_iter().flatten());
        ranks
            .filter(move |seen| seen["rank"] == rank)
            .map(|seen| seen["asked_pus"].to_string())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert!(!of(0).is_empty() && !of(1).is_empty(), "both tasks were seen: {document}");
    assert!(of(0).is_disjoint(&of(1)), "each in its own place: {:?} {:?}", of(0), of(1));
    assert!(runs.iter().all(|run| run["outcome"] == "counted"), "{document}");
    Ok(())
}

#[test]
fn a_step_that_the_allocation_is_too_small_for_is_an_error_before_the_first_counted_run() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let ended = in_allocation(
        &lab,
        "-N1",
        &["--launch", "srun -n64 {bind} {app}", "--placements", "compact", "--", "true"],
    )?;
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
    for words in ["the warm-up run of baseline does not count", "srun -n64", "srun: error"] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    Ok(())
}

#[test]
fn on_two_nodes_every_run_has_a_task_on_each_and_is_told_from_the_others() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let ran = folder.path().join("ran");
    let options = [
        "--launch",
        "srun --quiet -N2 -n2 {bind} {app}",
        "--placements",
        "compact",
        "--max-runs",
        "6",
        "--json",
        "-",
    ];
    // The bound one takes longer: the step's cores say which it is, whoever asks.
    let script = format!(
        "echo $SLURMD_NODENAME >> {}; [ -n \"$OMP_PLACES\" ] && echo x=120 || echo x=100",
        ran.display()
    );
    let program = ["--metric", "x=([0-9]+)", "--better", "lower", "--", "sh", "-c", &script];
    let ended = in_allocation(&lab, "-N2", &[&options[..], &program].concat())?;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.out)?;
    let runs = document["runs"].as_array().ok_or("no runs")?;
    assert!(runs.iter().all(|run| run["outcome"] == "counted"), "{document}");
    let ran = std::fs::read_to_string(&ran)?;
    let on = |node: &str| ran.lines().filter(|line| *line == node).count();
    assert_eq!((on("n0"), on("n1")), (runs.len(), runs.len()), "a task of every run on each node");
    assert_eq!(document["comparisons"][0]["verdict"], "worse", "{document}");
    Ok(())
}
