//! Commands that start ranks, or submit a job that does, and whose lines are not read; and names that are
//! nearly those of commands that are.
//!
//! Any other word is a program of the user's, which is one process. One of these would pass for it.

use crate::grammar::is_among;
use crate::launcher::Launcher;

/// What submits a script, or the words behind it, as a job.
const SUBMITTING: &str = "sbatch qsub bsub msub oarsub condor_submit";

/// What starts several processes itself.
const STARTING: &str = "aprun ccc_mprun ibrun lrun mpiexec_mpt mpirun_rsh mpprun poe prun runjob yhrun \
    parallel";

/// Commands beside launchers whose words are read.
const READ: [&str; 5] = ["torchrun", "salloc", "numactl", "taskset", "hwloc-bind"];

/// Whether a command of this name starts ranks, or a job that does.
pub(crate) fn is_unread(name: &str) -> bool {
    is_among(SUBMITTING, name) || is_among(STARTING, name)
}

/// Why a line that begins with this command is not judged; `None` for a program of the user's.
pub(crate) fn why_unread(command: &str, arguments: &[&str]) -> Option<String> {
    // A file that is named by its folder here is the user's own.
    if command.contains('/') && !command.starts_with('/') {
        return None;
    }
    let name = command.rsplit('/').next().unwrap_or(command);
    if is_among(SUBMITTING, name) {
        return Some(format!(
            "{name} submits a job, in which another line starts the ranks: write that line, e.g. 'srun -n8 … \
             ./app'"
        ));
    }
    if is_among(STARTING, name) {
        return Some(format!(
            "{name} starts several processes, and its lines are not read: put numabench check into the \
             launch ({name} … numabench check)"
        ));
    }

    let has_options = arguments.first().is_some_and(|word| word.starts_with('-'));
    let meant = nearly(name).filter(|_| has_options)?;
    Some(format!("did you mean {meant}? {name} is not known here; a program of that name is ./{name}"))
}

/// The command that differs from this name by one slip of the hand.
fn nearly(name: &str) -> Option<&'static str> {
    let launchers = Launcher::ALL.iter().flat_map(|launcher| launcher.commands());
    let mut all = launchers.copied().chain(READ);
    all.find(|command| is_one_slip(command, name))
}

/// Whether a letter is left out, added, another one, or changes places with the next one.
fn is_one_slip(meant: &str, written: &str) -> bool {
    let [meant, written] = [meant, written].map(|word| word.chars().collect::<Vec<char>>());
    let same = meant.iter().zip(&written).take_while(|(one, other)| one == other).count();
    let (meant, written) = (&meant[same..], &written[same..]);

    match (meant, written) {
        ([], []) => false,
        ([one, next, rest @ ..], [first, second, behind @ ..])
            if (one, next) == (second, first) && rest == behind =>
        {
            true
        }
        _ => {
            let [without_meant, without_written] = [meant, written].map(|word| word.get(1..));
            without_meant == Some(written)
                || without_written == Some(meant)
                || without_meant.is_some() && without_meant == without_written
        }
    }
}

#[cfg(test)]
mod tests {
    use super::why_unread;

    #[test]
    fn a_slip_is_asked_about_and_a_program_of_any_name_is_left_alone() {
        let meant = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            let why = why_unread(words[0], &words[1..])?;
            Some(why.strip_prefix("did you mean ")?.split('?').next().unwrap_or_default().to_owned())
        };
        for (line, command) in [
            ("srnu -n2 ./app", "srun"),
            ("sru -n2 ./app", "srun"),
            ("srunn -n2 ./app", "srun"),
            ("mpirum -np 2 ./app", "mpirun"),
            ("mpiexce -n 2 ./app", "mpiexec"),
            ("/usr/bin/flxu -N1 ./app", "flux"),
            ("numatcl -N 0 ./app", "numactl"),
            ("torchrn --nproc-per-node 2 train.py", "torchrun"),
        ] {
            assert_eq!(meant(line).as_deref(), Some(command), "{line}");
        }
        for own in [
            "./srnu -n2",
            "srnu input.dat",
            "app -n2",
            "gmx_mpi -v",
            "lmp -in x",
            "bin/parallel -j2",
            "vasp_std",
        ] {
            let words: Vec<&str> = own.split(' ').collect();
            assert_eq!(why_unread(words[0], &words[1..]), None, "{own}");
        }
    }
}
