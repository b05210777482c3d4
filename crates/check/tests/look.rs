//! The crate from outside, as another program would use it: ranks that meet, and what cannot be looked at.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use check::machine::MachineError;
use check::{CheckError, CheckRequest, Looked, Whom, look};
use launchers::Launch;
use launchers::line::LineError;
use launchers::slurm_files::SlurmFiles;

type Done = Result<(), Box<dyn std::error::Error>>;

fn asked(whom: Whom) -> CheckRequest {
    CheckRequest { whom, input: Vec::new(), driver_gpus: None, wait: Duration::from_secs(20) }
}

/// Rank `rank` of two that nobody launched.
fn of_two(rank: usize) -> Result<CheckRequest, launchers::NoSuchRank> {
    Ok(asked(Whom::Launch(Launch::sensed(|_| None).with_numbers_of_user(Some(rank), Some(2))?)))
}

#[test]
fn the_first_rank_judges_both_and_the_other_ends_as_it_is_told() -> Done {
    let (first, second) = (of_two(0)?, of_two(1)?);
    thread::scope(|scope| {
        let other = scope.spawn(move || look(&second));
        let Looked::Judged(node) = look(&first)? else { return Err("the first rank was told a code".into()) };
        assert_eq!(node.seen().len(), 2);
        assert!(node.table(false, false).contains("judged: 2 ranks here"), "{}", node.table(false, false));
        node.answer(5);
        let other = other.join().map_err(|_| "the other rank panicked")??;
        assert!(matches!(other, Looked::Told(5)), "the other rank was not told the first one's code");
        Ok(())
    })
}

#[test]
fn what_cannot_be_looked_at_is_an_error_that_says_whose_fault_it_is() {
    let refused = |asked: &CheckRequest| look(asked).err();
    let saved = CheckRequest { input: vec![PathBuf::from("/nowhere.xml")], ..asked(Whom::GpuUsers) };
    assert!(matches!(refused(&saved), Some(CheckError::Machine(MachineError::Saved(_)))));
    assert!(matches!(refused(&asked(Whom::Processes(vec![u32::MAX]))), Some(CheckError::Process(_))));
    let line = |line: &str| refused(&asked(Whom::Line(line.to_owned(), SlurmFiles::default())));
    assert!(matches!(
        line("srun -n2 --cpu-bind=none numabench exec --print -- a.out"),
        Some(CheckError::Line(LineError::NotSaid(_)))
    ));
    assert!(matches!(line("srun -n two a.out"), Some(CheckError::Line(LineError::Value { .. }))));
}
