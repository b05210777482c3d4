//! Becoming another program: execvpe(3).
//!
//! Not [`std::os::unix::process::CommandExt::exec`], which empties the signal mask: a program started through
//! numabench is to find its signals as its launcher left them.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::ptr;

use rustix::process::Signal;

use crate::{begun, signals};

/// Becomes the program, with this environment; looked for in PATH as a shell does. Comes back only with the
/// error.
pub fn become_program(program: &[OsString], environment: BTreeMap<OsString, OsString>) -> io::Error {
    let text = |text: OsString| CString::new(text.into_vec());
    let variable = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        text(name)
    };
    let arguments: Result<Vec<CString>, _> = program.iter().cloned().map(text).collect();
    let environment: Result<Vec<CString>, _> = environment.into_iter().map(variable).collect();
    let (Ok(arguments), Ok(environment)) = (arguments, environment) else {
        return io::Error::from_raw_os_error(libc::EINVAL); // a NUL, which neither can hold
    };
    let Some(file) = arguments.first() else { return io::Error::from_raw_os_error(libc::ENOENT) };
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    let pipe = if begun::sigpipe_was_ignored() { signals::ignore } else { signals::default };
    pipe(&[Signal::PIPE]);

    // SAFETY: both lists end with a null pointer, and they and the texts that they point to are live until
    // the call is over.
    unsafe { libc::execvpe(file.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_comes_back_with_the_reason() {
        let error = become_program(&["/nowhere/at/all".into()], BTreeMap::new());
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let directory = become_program(&["/".into()], BTreeMap::new());
        assert_eq!(directory.raw_os_error(), Some(libc::EACCES));
    }
}
