//! What ends it before anything is measured.

use std::time::{Duration, Instant};

use crate::driver;
use crate::launch::all;
use crate::run::{BINARY, Done, Ended, no_driver, run, variables};

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
        assert!(ended.err.contains(" 3 ") && ended.err.contains("--bind-to"), "{}", ended.err);
    }
    Ok(())
}

/// As MPICH is from 4.1 on, which tells its launcher that a rank leaves in an exit handler: a session that
/// refuses runs none. Rank 0's process is there for a moment longer, so that it is killed if Hydra takes the
/// other one for dead.
#[test]
fn a_refusal_keeps_its_code_where_mpi_does_not_tell_hydra_that_a_rank_leaves() -> Done {
    for mpi in all().into_iter().filter(|mpi| mpi.name == "MPICH") {
        for command in ["mpi", "laplace"] {
            let rank = format!(
                "LD_PRELOAD={} {BINARY} {command} --cpus 0,0; code=$?; [ \"$PMI_RANK\" = 1 ] || sleep 0.5; \
                 exit $code",
                driver::fake_mpi()?.display()
            );
            let mut launch = mpi.launch(2);
            launch.envs(variables(&no_driver())).env("FAKE_MPI_FAILS", "MPI_Finalize 1");
            let ended = Ended::of(&launch.args(["sh", "-c", &rank]).output()?);
            assert_eq!(ended.code, Some(2), "{command}: {}{}", ended.out, ended.err);
            assert!(ended.err.contains("PU 0"), "{command}: {}", ended.err);
        }
    }
    Ok(())
}

/// How soon a launch ends whose ranks cannot all begin: far less than the two minutes that a rank in MPI_Init
/// waits for another one.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_document_that_the_first_rank_cannot_write_ends_all_ranks_at_once() {
    for mpi in all() {
        for command in ["mpi", "laplace"] {
            let began = Instant::now();
            let ended = mpi.run_command(command, &no_driver(), 2, &[], &["--json", "/nonexistent/x"]);
            assert_eq!(ended.code, Some(2), "{} {command}: {}{}", mpi.name, ended.out, ended.err);
            assert!(ended.err.contains("/nonexistent/x"), "{} {command}: {}", mpi.name, ended.err);
            assert!(began.elapsed() < SOON, "{} {command} took {:?}", mpi.name, began.elapsed());
        }
    }
}

#[test]
fn a_rank_that_alone_has_no_driver_ends_all_ranks_at_once() -> Done {
    for mpi in all() {
        for command in ["mpi", "laplace"] {
            let rank = format!(
                "[ \"${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}\" = 0 ] || export LD_LIBRARY_PATH={}; exec \
                 {BINARY} {command} --backend cuda",
                no_driver().display()
            );
            let mut launch = mpi.launch(2);
            launch.envs(variables(&driver::fake()?)).args(["sh", "-c", &rank]);
            let began = Instant::now();
            let ended = Ended::of(&launch.output()?);
            assert_eq!(ended.code, Some(77), "{} {command}: {}{}", mpi.name, ended.out, ended.err);
            assert_eq!(ended.err.matches("rank 1 on ").count(), 1, "{} {command}: {}", mpi.name, ended.err);
            assert!(ended.err.contains("libcuda"), "{} {command}: {}", mpi.name, ended.err);
            assert!(began.elapsed() < SOON, "{} {command} took {:?}", mpi.name, began.elapsed());
        }
    }
    Ok(())
}

#[test]
fn a_document_that_cannot_be_written_is_said_once_also_where_there_is_no_plug_in() -> Done {
    for mpi in all() {
        let mut launch = mpi.launch(2);
        launch.envs(variables(&no_driver())).env("NUMABENCH_MPI", "/nonexistent/libnumabench_mpi.so");
        let ended = Ended::of(&launch.args([BINARY, "mpi", "--json", "/nonexistent/x"]).output()?);
        assert_eq!(ended.code, Some(2), "{}: {}{}", mpi.name, ended.out, ended.err);
        assert_eq!(ended.err.matches("/nonexistent/x").count(), 1, "{}: {}", mpi.name, ended.err);
    }
    Ok(())
}
