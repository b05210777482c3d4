//! One task a node under a real srun, without MPI: each node's document, the table of both, and what is
//! refused.

use std::fs;

use crate::kinds;
use crate::lab::Lab;
use crate::run::{BINARY, Done, Ended};

#[test]
fn two_nodes_of_one_launch_measure_themselves_and_the_first_task_shows_both() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let folder = lab.results().join("nodes");
    let path = format!("{}/", folder.display());
    let measure = [
        "numabench",
        "matrix",
        "--backend",
        "host",
        "--access",
        "read",
        "--threads",
        "1",
        "--max-time",
        "1s",
        "--range",
        "1MiB",
    ];
    let step = |tasks: &'static str| {
        [&["-N2", tasks, "--cpu-bind=none", "--mpi=none", BINARY], &measure[1..], &["--json", &path]].concat()
    };
    let ended = lab.srun(&step("--ntasks-per-node=1"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    for words in ["n0", "n1", "2 nodes, too few to tell which is unlike the others", "median"] {
        assert!(ended.out.contains(words), "{words}: {}{}", ended.out, ended.err);
    }
    assert_eq!(ended.out.matches("too few to tell").count(), 1, "one table: {}", ended.out);
    let mut files: Vec<String> = fs::read_dir(&folder)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["n0.json", "n1.json"]);

    // Settings, the whole suite, and GPUs against each other: each is a fleet, without MPI.
    let stand_in = kinds::tried().into_iter().find(|kind| kind.name == "cuda");
    let mut commands =
        vec![(vec!["doctor"], None), (vec!["suite", "--backend", "host", "--within", "20s"], None)];
    if let Some(kind) = &stand_in {
        commands
            .push((vec!["check", "--bandwidth", "--what", "hbm", "--timeout", "60s"], Some(kind.folder()?)));
    }
    for (at, (args, driver)) in commands.iter().enumerate() {
        let folder = lab.results().join(format!("fleet-{at}"));
        let path = format!("{}/", folder.display());
        let mut step = lab.command("srun");
        step.args([
            "--quiet",
            "--time=5",
            "-N2",
            "--ntasks-per-node=1",
            "--cpu-bind=none",
            "--mpi=none",
            BINARY,
        ]);
        step.args(args).args(["--json", &path]);
        if let Some(driver) = driver {
            let one = |address: &str| format!("device {address}; within 40GB/s 5us; memory 16MiB");
            step.env("FAKE_DEVICES", format!("{}; {}", one("0000:05:00.0"), one("0000:c1:00.0")));
            step.env("LD_LIBRARY_PATH", driver);
        }
        let ended = Ended::of(&step.output()?);
        assert!(matches!(ended.code, Some(0 | 5 | 6)), "{args:?}: {}{}", ended.out, ended.err);
        for node in ["n0", "n1"] {
            assert!(
                folder.join(format!("{node}.json")).exists(),
                "{args:?}: {node}: {}{}",
                ended.out,
                ended.err
            );
            assert!(ended.out.contains(node), "{args:?}: {node}: {}{}", ended.out, ended.err);
        }
        assert_eq!(fs::read_dir(&folder)?.count(), 2, "{args:?}: the records are gone");
    }

    let refused = lab.srun(&[&["--kill-on-bad-exit=0"], &step("--ntasks-per-node=2")[..]].concat());
    assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
    assert_eq!(refused.err.matches("several tasks on a node").count(), 1, "said once: {}", refused.err);
    Ok(())
}
