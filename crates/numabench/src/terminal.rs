//! Where text goes: results to standard output, everything else to standard error; how wide, and whether
//! coloured.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use render::terminal::SCREEN;
use report::sink::rescue_bytes;
use stats::printable;

use crate::args::ColorChoice;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::version;

/// Columns when nobody says how many there are.
const WIDTH: usize = 100;

/// What stands before the rest of a message that is longer than a line.
const CONTINUED: &str = "  ";
/// Words are not squeezed into less than this.
const NARROWEST: usize = 30;

/// The lines of the command itself and of the next prompt.
const PROMPT: usize = 2;
/// The least lines that an answer has room in.
const LEAST_SCREEN: usize = 22;

/// Writes to standard output. A reader that closed the pipe (`| head -1`) has what it wanted: that is no
/// error.
pub fn print(bytes: &[u8]) -> Result<(), Fault> {
    if sys::begun::output_was_closed() {
        let text = "cannot write to standard output: it is closed; name a file (>FILE, --json FILE)";
        return Err(Fault::new(Exit::NoResult, text));
    }
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Fault::new(Exit::NoResult, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a document; one that standard output does not take is kept in the temporary folder.
pub fn print_document(bytes: &[u8]) -> Result<(), Fault> {
    print(bytes).map_err(|fault| match (rescue_bytes(bytes), &fault.error) {
        (Some(path), Some(why)) => {
            Fault::new(fault.exit, format!("the document is in {}: {why}", path.display()))
        }
        _ => fault,
    })
}

/// Whether a line of progress stands on the terminal of standard error.
static LINE_IS_HELD: AtomicBool = AtomicBool::new(false);

/// A line of progress stands on the terminal of standard error from now on, or does no more.
pub fn hold_line(is_held: bool) {
    LINE_IS_HELD.store(is_held, Ordering::Relaxed);
}

/// Says something on standard error, as [`shown`]. There is nobody to tell when that fails.
pub fn say(text: &str) {
    let text = wrapped_for_errors(&format!("numabench: {}\n", shown(text)));
    // A line of progress is taken away before, and is drawn anew below when the run goes on.
    let text = if LINE_IS_HELD.load(Ordering::Relaxed) { format!("\r\x1b[K{text}") } else { text };
    // In one write: a launcher mixes what several processes say.
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// The text as wide as the terminal that standard error goes to; as it is where that is a file or a pipe.
pub fn wrapped_for_errors(text: &str) -> String {
    error_width().map_or_else(|| text.to_owned(), |width| wrapped(text, width))
}

/// The columns of the terminal that standard error goes to; `None` where it goes to a file or a pipe, whose
/// lines stay whole.
fn error_width() -> Option<usize> {
    let errors = io::stderr();
    let size = terminal_size::terminal_size_of(&errors).filter(|_| errors.is_terminal());
    size.map(|(width, _)| usize::from(width.0))
}

/// The text with its long lines broken between words. Indented lines are rows of a table or lines to paste,
/// and stay as they are.
pub fn wrapped(text: &str, width: usize) -> String {
    let room = width.saturating_sub(CONTINUED.len()).max(NARROWEST);
    let one = |line: &str| match line.starts_with(CONTINUED) || line.chars().count() <= width {
        true => line.to_owned(),
        false => printable::broken(line, room).join(&format!("\n{CONTINUED}")),
    };
    text.split('\n').map(one).collect::<Vec<_>>().join("\n")
}

/// A message as a terminal may have it: arguments, file names and documents are others' text, which may steer
/// a terminal, or be longer than any screen.
pub fn shown(text: &str) -> String {
    let shortened = |line| printable::shortened(line, printable::LINE_CHARACTERS);
    printable::lines(text).split('\n').map(shortened).collect::<Vec<_>>().join("\n")
}

/// Writes what is no message but a result to standard error, in one write.
pub fn say_bytes(bytes: &[u8]) {
    drop(io::stderr().lock().write_all(bytes));
}

/// Says why a command could not do its work.
pub fn complain(fault: &Fault) {
    if fault.error.is_some() {
        say(&format!("error: {fault}"));
    }
}

/// Shows what clap has to say: help goes to standard output, a fault to standard error.
pub fn usage(error: &clap::Error) -> Exit {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if error.kind() == clap::error::ErrorKind::DisplayVersion && version::is_verbose(&words) {
        return print(version::verbose().as_bytes()).map_or_else(|fault| fault.exit, |()| Exit::Ok);
    }

    if error.use_stderr() {
        // Without colours where something had to be taken out of it.
        let plain = error.to_string();
        match shown(&plain) {
            same if same == plain => drop(error.print()),
            shown => drop(io::stderr().lock().write_all(shown.as_bytes())),
        }
        return Exit::Usage;
    }

    if sys::begun::output_was_closed() {
        return Exit::NoResult;
    }

    match error.print().and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!("error: cannot write to standard output: {error}"));
            Exit::NoResult
        }
        _ => Exit::Ok,
    }
}

/// How many columns a table may use: the terminal's, or `COLUMNS`, within what a table can be read at.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.or(columns).unwrap_or(WIDTH).clamp(80, 120)
}

/// How many lines fit a screen of the terminal, less those of the prompt; as many as where there is none for
/// what goes to a file or a pipe.
pub fn screen() -> usize {
    let rows =
        terminal_size::terminal_size().filter(|_| is_terminal()).map(|(_, height)| usize::from(height.0));
    rows.map_or(SCREEN, |rows| rows.saturating_sub(PROMPT).clamp(LEAST_SCREEN, SCREEN))
}

/// Whether tables are coloured: as told, else on a terminal whose user has not set `NO_COLOR` (no-color.org).
pub fn color(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Whether the terminal has letters beyond ASCII, by its locale.
pub fn has_letters() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Whether a person reads standard output. mpirun of Open MPI gives its ranks a terminal of its own, also
/// where it writes to a file itself.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_broken_between_words_and_what_is_to_be_pasted_is_not() {
        let text =
            format!("numabench: error: {}\n  srun {}\n", "six of them ".repeat(8), "--option ".repeat(12));
        let wrapped = wrapped(&text, 60);
        let (message, pasted): (Vec<&str>, Vec<&str>) =
            wrapped.lines().partition(|line| !line.contains("srun"));
        assert!(message.len() == 2 && message.iter().all(|line| line.chars().count() <= 60), "{wrapped}");
        assert!(
            message[1].starts_with("  six")
                || message[1].starts_with("  of")
                || message[1].starts_with("  them")
        );
        assert_eq!(pasted[0].chars().count(), "  srun ".len() + "--option ".len() * 12, "{wrapped}");
    }

    #[test]
    fn a_message_steers_no_terminal_and_is_no_longer_than_a_screen() {
        assert_eq!(shown("a\u{1b}[31mb\u{202e}c\nd\te"), "a\u{fffd}[31mb\u{fffd}c\nd\te");
        let long = shown(&format!("invalid value '{}' for '--size'\nsecond", "a".repeat(20_000)));
        assert!(
            long.chars().count() < 1000
                && long.contains("characters …")
                && long.ends_with("for '--size'\nsecond"),
            "{long}"
        );
    }
}
