//! Which tests failed and passed when they were tried again (`retries` in `.config/nextest.toml`): named at the
//! end of `cargo xtask test`, which fails where there are more than a busy machine explains.

use std::path::Path;

use anyhow::{Result, bail};

use crate::junit;

/// So many tests of one run may pass on their second try only.
const MOST: usize = 5;

/// Names them.
///
/// # Errors
/// The runner left no file, or there are too many.
pub fn name(target: &Path) -> Result<()> {
    let text = junit::read(target)?;
    let found = found(&text);
    if !found.is_empty() {
        eprintln!("test: failed first and passed then, look at them: {}", found.join(", "));
    }
    if found.len() > MOST {
        bail!("{} tests passed on their second try only: a busy machine explains {MOST}", found.len());
    }
    Ok(())
}

/// The tests, as the runner's file tells them.
fn found(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> =
        junit::lines(text).filter(|(_, line)| line.contains("<flakyFailure")).map(|(test, _)| test).collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_a_run(second_tries: usize) -> String {
        let first = "<testcase name=\"well\" time=\"1\">\n</testcase>\n".to_owned();
        let again = |at| format!("<testcase name=\"t{at}\" time=\"1\">\n<flakyFailure time=\"1\">\n");
        first + &(0..second_tries).map(again).collect::<String>()
    }

    #[test]
    fn a_few_tests_that_pass_on_their_second_try_are_named_and_many_are_an_error() -> Result<()> {
        assert_eq!(found(&of_a_run(2)), ["t0", "t1"]);
        let target = tempfile::tempdir()?;
        let file = junit::file(target.path());
        assert!(name(target.path()).is_err(), "without the runner's file nothing is known");
        std::fs::create_dir_all(file.parent().unwrap_or(target.path()))?;
        for (count, is_well) in [(0, true), (MOST, true), (MOST + 1, false)] {
            std::fs::write(&file, of_a_run(count))?;
            assert_eq!(name(target.path()).is_ok(), is_well, "{count}");
        }
        Ok(())
    }
}
