//! Why a launch line cannot be judged.

/// The line cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not a line of a shell.
    #[error("--launch: a quote is not closed in: {0}")]
    Quote(String),
    /// Nothing in it says where ranks go.
    #[error("--launch: {0}")]
    NotSaid(String),
    /// Not a line that could be run, or not one that can be followed.
    #[error("--launch: {0}")]
    Wrong(String),
    /// An option's value that is not one.
    #[error("--launch: \"{value}\" is not a value of {option}: {wanted}")]
    Value {
        /// The option.
        option: String,
        /// As written.
        value: String,
        /// What it takes.
        wanted: String,
    },
}
