//! What is not known, inside of a text: a value is often known in part, and stays one word.

/// Stands in a value for what is not known: a character of Unicode's private use, which no script has.
pub(crate) const UNKNOWN: char = '\u{f8ff}';

/// A value of which only that is known: it is not empty.
pub(crate) const SOME: &str = "_\u{f8ff}";

/// Stands for the shell's own process number.
pub(crate) const OWN_PID: char = '\u{f8fe}';

/// Whether some of it is not known.
pub(crate) fn is_unknown(text: &str) -> bool {
    text.contains(UNKNOWN)
}

/// Whether the text is not empty, whatever stands for what is not known in it.
pub(crate) fn is_never_empty(text: &str) -> bool {
    text.contains(|letter| letter != UNKNOWN)
}

/// A text as a sentence has it.
pub(crate) fn shown(text: &str) -> String {
    text.replace(UNKNOWN, "…")
}
