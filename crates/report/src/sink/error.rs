//! Why a document is not in its file: what, why, and what to do.

use std::io;

use crate::json::JsonError;

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The path names a folder.
    #[error(
        "{path} is a folder: name a file in it, e.g. {}/result.json",
        path.trim_end_matches("/.").trim_end_matches('/')
    )]
    IsAFolder {
        /// The path.
        path: String,
    },
    /// The path names a device, a pipe or a socket.
    #[error(
        "{path} is not a regular file, and a document is replaced as a whole: name a file, or `-` for \
         standard output"
    )]
    NotAFile {
        /// The path.
        path: String,
    },
    /// The path is a link that another user put into a folder where all may write.
    #[error(
        "{path} is a link of another user in a folder that everybody may write to, and so may lead to a file \
         of yours: name the file itself, or one in a folder of your own"
    )]
    ForeignLink {
        /// The link.
        path: String,
    },
    /// The folder does not exist.
    #[error(
        "{path} cannot be written, because there is no folder {folder}: make it (mkdir -p {folder}) or name \
         another file"
    )]
    NoFolder {
        /// The path.
        path: String,
        /// Its folder.
        folder: String,
    },
    /// The file exists and is write-protected.
    #[error("{path} exists and is write-protected: name another file, or allow it with chmod u+w {path}")]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// The disk is full, or a quota or a limit of the file's size is reached.
    #[error(
        "{path} cannot be written: there is no room for {bytes} bytes in {folder} ({error}); make room (df, \
         quota, ulimit -f) or name a file elsewhere"
    )]
    NoRoom {
        /// The path.
        path: String,
        /// Its folder.
        folder: String,
        /// How many were asked for.
        bytes: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The operating system refused.
    #[error(
        "{path} cannot be written: {step} failed ({error}); name a file in a folder that is yours and has \
         room"
    )]
    Io {
        /// The path.
        path: String,
        /// What was tried.
        step: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

/// The document could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It cannot be written as JSON.
    #[error(transparent)]
    Json(JsonError),
    /// The file cannot be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let path = || "a/b".to_owned();
        for (error, said) in [
            (
                SinkError::IsAFolder { path: path() },
                "a/b is a folder: name a file in it, e.g. a/b/result.json",
            ),
            (
                SinkError::NotAFile { path: path() },
                "a/b is not a regular file, and a document is replaced as a whole: name a file, or `-` for \
                 standard output",
            ),
            (
                SinkError::NoFolder { path: path(), folder: "a".to_owned() },
                "a/b cannot be written, because there is no folder a: make it (mkdir -p a) or name another \
                 file",
            ),
            (
                SinkError::ReadOnly { path: path() },
                "a/b exists and is write-protected: name another file, or allow it with chmod u+w a/b",
            ),
            (
                SinkError::Io { path: path(), step: "writing", error: io::ErrorKind::StorageFull.into() },
                "a/b cannot be written: writing failed (no storage space); name a file in a folder that is \
                 yours and has room",
            ),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
