//! A launch line as `check --launch --input` judges it.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use check::{CheckError, CheckRequest, Looked, Whom, look};
use launchers::line::LineError;
use launchers::slurm_files::SlurmFiles;
use placement::judge::PlacementVerdict;

/// What the check says of a line on the machine of this file, at a site with these files: the verdict in a
/// word, what stands with it, and the fixes.
///
/// # Errors
/// The machine cannot be read.
pub fn judged(
    line: &str,
    machine: &Path,
    site: SlurmFiles,
) -> Result<(&'static str, String, Vec<String>), Box<dyn Error>> {
    judged_of(Whom::Line(line.to_owned(), site), machine)
}

/// The same of others that are judged without being run.
///
/// # Errors
/// The machine cannot be read.
pub fn judged_of(whom: Whom, machine: &Path) -> Result<(&'static str, String, Vec<String>), Box<dyn Error>> {
    let asked = CheckRequest {
        whom,
        input: vec![machine.to_owned()],
        wait: Duration::from_secs(1),
        driver_gpus: None,
    };
    Ok(match look(&asked) {
        Ok(Looked::Judged(node)) => {
            let verdict = match node.placed() {
                PlacementVerdict::Well => "well",
                PlacementVerdict::Misplaced => "wrong",
                PlacementVerdict::Unknown => "unknown",
            };
            (verdict, node.table(false, false), node.fix().to_vec())
        }
        Ok(Looked::Told(_)) => return Err("a line is judged where it is read".into()),
        Err(CheckError::Line(LineError::NotSaid(why))) => ("unknown", why, Vec::new()),
        Err(CheckError::Line(error)) => ("refused", error.to_string(), Vec::new()),
        Err(error) => return Err(error.into()),
    })
}
