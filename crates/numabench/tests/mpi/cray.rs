//! Cray MPICH ends every process whose job asks for GPU support and that lacks its library for it. The
//! stand-in does the same.

use crate::driver;
use crate::launch::all;
use crate::run::{Done, no_driver};

const ASKS: (&str, &str) = ("MPICH_GPU_SUPPORT_ENABLED", "1");

#[test]
fn without_the_library_the_variable_is_set_off_and_with_it_mpi_has_it() -> Done {
    for mpi in all() {
        let folder = driver::fake_gtl()?;
        let preload = driver::fake_mpi()?.display().to_string();
        let told = |more: Option<(&'static str, String)>| {
            let fixed = [
                ("FAKE_MPI", "cray".to_owned()),
                ("LD_PRELOAD", preload.clone()),
                (ASKS.0, ASKS.1.to_owned()),
            ];
            fixed.into_iter().chain(more).collect::<Vec<_>>()
        };
        let args = ["--size", "8B", "--pattern", "ping-pong", "--max-time", "300ms"];
        let (without, document) = mpi.document(&no_driver(), &told(None), &args)?;
        assert_eq!(document["status"], "complete");
        assert_eq!(without.err.matches("NUMABENCH_GTL").count(), 1, "said once: {}", without.err);

        let modules = ("PE_MPICH_GTL_DIR_nvidia90", format!("-L{}", folder.display()));
        let (with, found) = mpi.document(&no_driver(), &told(Some(modules)), &args)?;
        assert_eq!(found["mpi"]["variables"][ASKS.0], "1");
        assert!(!with.err.contains("NUMABENCH_GTL"), "{}", with.err);
    }
    Ok(())
}

#[test]
fn the_stand_in_ends_a_process_that_does_not_have_it() -> Done {
    for mpi in all() {
        // A library that is none of Cray's is opened in its place.
        let other = driver::fake_mpi()?.display().to_string();
        let told = [
            ("FAKE_MPI", "cray".to_owned()),
            ("LD_PRELOAD", other.clone()),
            (ASKS.0, ASKS.1.to_owned()),
            ("NUMABENCH_GTL", other),
        ];
        let ended = mpi.run(&no_driver(), 2, &told, &["--size", "8B"]);
        assert!(ended.err.contains("GTL") && ended.err.contains("linked"), "{}", ended.err);
        assert!(ended.err.contains("SIGABRT") && ended.err.contains("MPI_Init"), "{}", ended.err);
        assert_ne!(ended.code, Some(0));
    }
    Ok(())
}

#[test]
fn an_mpi_that_ends_pingpong_while_it_starts_is_named_once_with_what_to_try() -> Done {
    for mpi in all() {
        let other = driver::fake_mpi()?.display().to_string();
        let told = [
            ("FAKE_MPI", "cray".to_owned()),
            ("LD_PRELOAD", other.clone()),
            (ASKS.0, ASKS.1.to_owned()),
            ("NUMABENCH_GTL", other),
        ];
        let died = mpi.pingpong(&told);
        // Hydra now and then stops passing on what is said before the shell has spoken.
        let said = died.err.matches("inside of MPI_Init of ").count();
        assert!(said == 1 || said == 0 && mpi.name == "MPICH", "{}, {said} times: {}", mpi.name, died.err);
        assert_eq!(
            died.err.matches("the mpirun or mpiexec that belongs to this MPI").count(),
            said,
            "{}",
            died.err
        );
        assert_ne!(died.code, Some(0));
        let lived = mpi.pingpong(&[]);
        // On a busy machine a second is too short for some cases (3); that it measured is what counts here.
        let measured = matches!(lived.code, Some(0 | 3));
        assert!(measured && !lived.err.contains("MPI_Init"), "{:?} {}", lived.code, lived.err);
    }
    Ok(())
}
