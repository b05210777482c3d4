//! `salloc OPTIONS COMMAND`: a job around a launch. What its options say of tasks, it tells them by variables
//! (`env_array_for_job` in Slurm's src/common/env.c), which srun takes for its own options.

use super::options::SRUN;
use crate::error::LineError;
use crate::grammar::{Grammar, is_among};
use crate::process::Process;

const SALLOC: Grammar = Grammar { tool: "salloc", ..SRUN };

/// Options that say nothing of where tasks go.
const ASIDE: &str = "A account b begin C constraint comment D chdir deadline dependency d I immediate J \
    job-name L licenses mail-type mail-user mem mem-per-cpu M clusters p partition q qos Q quiet reservation \
    t time time-min v verbose w nodelist W wait x exclude";

/// Gives the process the variables of the job; the words behind the options.
///
/// # Errors
/// [`LineError`]: salloc would refuse its options, starts no command, or does something else to the launch.
pub(crate) fn apply<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let (given, command) = SALLOC.read(words)?;
    for one in &given {
        let variables: &[&str] = match one.name {
            "n" | "ntasks" => &["SLURM_NTASKS", "SLURM_NPROCS"],
            "N" | "nodes" => &["SLURM_JOB_NUM_NODES", "SLURM_NNODES"],
            "ntasks-per-node" => &["SLURM_NTASKS_PER_NODE"],
            "exclusive" if one.value.is_none() => &[],
            aside if is_among(ASIDE, aside) => &[],
            _ => {
                return Err(LineError::NotSaid(format!(
                    "what {} of salloc does to the launch behind it is not read: write the line without \
                     salloc",
                    one.spelled()
                )));
            }
        };
        variables.iter().for_each(|name| process.give(name, one.value().to_owned()));
    }

    match command {
        [] => Err(LineError::NotSaid(
            "salloc starts a shell, in which another line starts the ranks: write that line, e.g. 'srun \
             -n8 … ./app'"
                .to_owned(),
        )),
        command => Ok(command),
    }
}
