//! One step of a command: a program that is shown before it runs, and must succeed.
//!
//! Steps are printed as a user would type them, so that a log can be followed by hand. What leaves no trace
//! (asking a program for its version) is asked silently.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// For a command that takes no arguments.
///
/// # Errors
/// It was given some.
pub fn no_arguments(args: &[String]) -> Result<()> {
    if args.is_empty() { Ok(()) } else { bail!("takes no arguments, but was given {:?}", args.join(" ")) }
}

/// Prints `command` on standard error, runs it, and waits.
///
/// # Errors
/// The program cannot be started, or ends with anything but success: the error names the command and its
/// status.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// What `command` says on standard output, without white space around it.
///
/// # Errors
/// The program cannot be started.
pub fn told(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run `{}`", line(command)))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether `command` can be started and succeeds. Its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as one would type it. Words with spaces are quoted; nothing here has other shell characters.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        if word.is_empty() || word.contains(char::is_whitespace) {
            format!("'{word}'")
        } else {
            word.into_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_named_with_its_status() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("exit 3 is no success");
        assert_eq!(error.to_string(), "`sh -c 'exit 3'` ended with exit status: 3");
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_succeed_and_is_named() {
        let missing = "/nonexistent/program";
        assert!(!succeeds(&mut Command::new(missing)));
        let error = run(&mut Command::new(missing)).expect_err("nothing to run");
        assert!(error.to_string().contains(missing), "{error}");
    }
}
