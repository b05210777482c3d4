//! What was pasted, as the shell that it is pasted into reads it: variables that lines before set, quotes, a
//! pipe behind; up to its one launcher.
//!
//! Documents set a binding in a variable (`CPU_BIND=…`) and give it to the launcher two lines on. A variable
//! that nothing here sets is not known, and where a launcher's option needs it the line is not judged, with
//! the name of what is missing.

use crate::error::LineError;
use crate::follow::follow;
use crate::grammar::is_among;
use crate::process::Process;
use crate::sh;
use crate::unknown::is_unknown;

/// Options whose values say nothing of places: an account or a file's name may be what it likes.
const ASIDE: &str = "A account D chdir J job-name M clusters e env error export genv jobid mail-type \
    mail-user mem o output p partition qos reservation t time w wdir x";

/// The programs and launchers that the text starts.
///
/// # Errors
/// [`LineError`]: it is no text for a shell, or a command of it is wrong in itself.
pub(crate) fn pasted<'t>(text: &str, mut outer: Process<'t>) -> Result<Vec<Process<'t>>, LineError> {
    if text.lines().any(|line| line.trim_start().starts_with("#SBATCH")) {
        let what = "#SBATCH lines are not read: write what they ask for as options of srun";
        return Err(LineError::NotSaid(what.to_owned()));
    }
    outer.launch = Some(Vec::new());

    if sh::reads(text) {
        let started = sh::started(text, "that was pasted", outer.clone(), follow)?;
        if !started.is_empty() {
            return Ok(started);
        }
    }

    let words = shell_words::split(text).map_err(|_| LineError::Quote(text.to_owned()))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();

    if outer.clone().assignments(&words).is_empty() {
        let what = "there is no command in the line: write it as it is run, e.g. 'srun -n8 \
            --cpu-bind=map_cpu:… ./app'";
        return Err(LineError::Wrong(what.to_owned()));
    }
    follow(outer, &words)
}

/// The one launcher of these, with its words; `None` where there is none.
///
/// # Errors
/// [`LineError`]: there are several.
pub(crate) fn launch_of<'p, 't>(
    started: &'p [Process<'t>],
) -> Result<Option<(&'p Process<'t>, &'p [String])>, LineError> {
    let launches = started.iter().filter_map(|process| Some((process, process.launch.as_deref()?)));
    let launches: Vec<_> = launches.filter(|(_, words)| !words.is_empty()).collect();
    match launches.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        _ => Err(LineError::NotSaid("several launches were pasted: write one of them".to_owned())),
    }
}

/// Whether the launcher's options, the words up to `end`, are known as far as they place ranks. An option
/// that could not be read is taken for one that does.
///
/// # Errors
/// [`LineError`]: they are not.
pub(crate) fn known(
    text: &str,
    outer: &Process<'_>,
    words: &[&str],
    end: usize,
    is_refused: bool,
) -> Result<(), LineError> {
    let name = |word: &str| word.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
    let is_aside = |at: usize| {
        let own = name(words[at]);
        let before = name(words[at - 1]);
        words[at].starts_with('-') && is_among(ASIDE, &own)
            || words[at - 1].starts_with('-') && is_among(ASIDE, &before)
    };

    // The program's name too: an unknown word there may be options.
    let open = (1..words.len().min(end + 1)).any(|at| {
        let is_path = at == end && !words[at].starts_with(crate::unknown::UNKNOWN);
        is_unknown(words[at]) && !is_path && !is_aside(at)
    });
    let is_set_open = is_refused && outer.variables.values().any(|variable| is_unknown(&variable.value));
    if !open && !is_set_open {
        return Ok(());
    }
    let missing: Vec<String> = expanded(text)
        .into_iter()
        .filter(|name| outer.variable(name).is_none_or(|value| is_unknown(&value)))
        .collect();

    Err(LineError::NotSaid(match missing.as_slice() {
        [] => "what $(…) gives is not known: write its value into the line".to_owned(),
        [one] => format!("the line does not say what {one} is: put {one}=VALUE on a line before it"),
        several => {
            format!(
                "the line does not say what {} are: put NAME=VALUE of each on a line before it",
                several.join(", ")
            )
        }
    }))
}

/// The names of variables that the shell of the text itself expands, in order: not those in single quotes.
fn expanded(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let (mut is_single, mut is_double) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !is_single => drop(letters.next()),
            '\'' if !is_double => is_single = !is_single,
            '"' if !is_single => is_double = !is_double,
            '$' if !is_single => {
                letters.next_if(|next| *next == '{');
                let mut name = String::new();
                while let Some(next) = letters.next_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
                    name.push(next);
                }
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
            }
            _ => {}
        }
    }

    names
}
