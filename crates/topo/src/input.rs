//! Reads a file that the user named, whole, and never more or longer than can be meant.
//!
//! A pipe that nobody writes to, a terminal or `/dev/zero` named by mistake would be read for ever, so a path
//! must name a regular file; `-` is standard input, for what another program writes (`zcat node.xml.gz | …
//! -`). Opening does not wait either: that of a pipe would.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// A file cannot be read, or is not what can be meant.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system refuses.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Something that has no end of its own.
    #[error(
        "it is {what}, not a regular file; to read what another program writes, give - and pipe it to \
         standard input"
    )]
    NoFile {
        /// What it is.
        what: &'static str,
    },
    /// It is longer than any such file.
    #[error("it has more than {} MiB, more than any such file", most >> 20)]
    TooLong {
        /// The limit, bytes.
        most: u64,
    },
}

/// The bytes of the regular file at `path`, or of standard input for `-`; `most` bytes at most.
///
/// # Errors
/// [`InputError`].
pub fn read_input(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    if path == Path::new("-") {
        return bounded(io::stdin().lock(), most);
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        let what = match kind {
            _ if kind.is_fifo() => "a pipe",
            _ if kind.is_socket() => "a socket",
            _ => "a device",
        };
        return Err(InputError::NoFile { what });
    }
    bounded(file, most)
}

fn bounded(from: impl Read, most: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(InputError::TooLong { most }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn refused(path: &Path) -> Option<InputError> {
        read_input(path, 9).err()
    }

    #[test]
    fn a_refusal_says_what_is_there_and_what_to_give() {
        let said = [InputError::NoFile { what: "a pipe" }, InputError::TooLong { most: 64 << 20 }];
        insta::assert_snapshot!("refused_inputs", said.map(|error| error.to_string()).join("\n"));
    }

    #[test]
    fn a_regular_file_is_read_up_to_the_limit() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        std::fs::write(&path, "123456789")?;
        assert_eq!(read_input(&path, 9)?, b"123456789");
        std::fs::write(&path, "1234567890")?;
        assert!(matches!(refused(&path), Some(InputError::TooLong { most: 9 })), "{:?}", refused(&path));
        Ok(())
    }

    #[test]
    fn what_has_no_end_is_refused_at_once() -> Done {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        for (path, wanted) in [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device")] {
            let error = refused(path);
            assert!(matches!(&error, Some(InputError::NoFile { what }) if *what == wanted), "{error:?}");
        }
        for (path, wanted) in [
            (folder.path().to_owned(), ErrorKind::IsADirectory),
            (folder.path().join("none"), ErrorKind::NotFound),
        ] {
            let error = refused(&path);
            assert!(matches!(&error, Some(InputError::System(error)) if error.kind() == wanted), "{error:?}");
        }
        Ok(())
    }
}
