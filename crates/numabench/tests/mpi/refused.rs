//! What ends it before anything is measured.

use crate::launch::all;
use crate::run::{Done, run};

#[test]
fn a_process_on_its_own_is_told_how_to_start_two() {
    run(&["mpi"]).refused(2, &["mpirun -n 2 numabench mpi"]);
}

#[test]
fn arguments_that_no_launch_can_have_name_what_is_wrong() {
    run(&["mpi", "--pairs", "1-1"]).refused(2, &["1-1", "0-1,0-8"]);
    run(&["mpi", "--matrix=socket"]).refused(2, &["socket", "node, l3 or core"]);
    run(&["mpi", "--matrix", "--cpus", "0,1"]).refused(2, &["--matrix", "--cpus"]);
    run(&["mpi", "--gpu-cpus", "2,3"]).refused(2, &["--cpus"]);
    run(&["mpi", "--operations", "scatter"]).refused(2, &["scatter", "allreduce"]);
}

#[test]
fn ranks_and_sizes_that_cannot_be_are_said_once_and_by_name() -> Done {
    for mpi in all() {
        let refused = |args: &[&str], word: &str| {
            let ended = mpi.host(2, args);
            assert_eq!(ended.code, Some(2), "{}{}", ended.out, ended.err);
            assert_eq!(ended.err.matches(word).count(), 1, "{word}: {}", ended.err);
        };
        refused(&["--pairs", "0-7"], "rank 7; this launch has 0 to 1");
        refused(&["--cpus", "0,0"], "PU 0");
        let ended = mpi.host(2, &["--mpi-cpus", "0,1", "--gpu-cpus", "2,3"]);
        assert_eq!(ended.code, Some(77), "{}", ended.err);
        assert!(ended.err.contains("no GPU that a thread could copy to"), "{}", ended.err);
        // Each on its own core and none for the second round.
        let ended = mpi.host(3, &["--matrix=core"]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("its host has 3 ranks") && ended.err.contains("--bind-to none"), "{}", ended.err);
    }
    Ok(())
}
