//! Slurm's lists of names: `tux[0-2,7]`, `/dev/nvidia[0-3],/dev/nvidia8`, `r[1-2]n[00-15]`, into names and
//! back.
//!
//! A range keeps the width that its first number is written with. Brackets may stand in several places of a
//! name, and each of them counts on its own.

/// More names than any machine has nodes: a list of a few characters could name millions.
const MOST: usize = 1 << 16;

/// The text is no list of names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostListError {
    /// A bracket that is not closed, or was not opened.
    #[error("a bracket in \"{0}\" has no partner")]
    Bracket(String),
    /// What stands in a bracket is no number or range.
    #[error("\"{0}\" is no range of numbers: write [0-3] or [0,2-3]")]
    Range(String),
    /// Too many names.
    #[error("\"{0}\" names more than {MOST}")]
    TooMany(String),
}

/// The hosts of a list, in order; none where it cannot be read, which serves where it only names what is
/// missing.
pub fn host_list(text: &str) -> Vec<String> {
    expand(text).unwrap_or_default()
}

/// The names, in order.
///
/// # Errors
/// [`HostListError`].
pub(crate) fn expand(text: &str) -> Result<Vec<String>, HostListError> {
    let mut all = Vec::new();
    for name in items(text)? {
        all.extend(expanded_names(name)?);
        if all.len() > MOST {
            return Err(HostListError::TooMany(text.to_owned()));
        }
    }
    Ok(all)
}

/// What stands between commas that are in no bracket.
fn items(text: &str) -> Result<Vec<&str>, HostListError> {
    let (mut all, mut from, mut is_inside) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, is_inside) {
            (b'[', false) => is_inside = true,
            (b']', true) => is_inside = false,
            (b'[' | b']', _) => return Err(HostListError::Bracket(text.to_owned())),
            (b',', false) => {
                all.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }

    if is_inside {
        return Err(HostListError::Bracket(text.to_owned()));
    }
    all.push(&text[from..]);
    Ok(all.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect())
}

/// One name with its brackets.
fn expanded_names(name: &str) -> Result<Vec<String>, HostListError> {
    let Some((before, rest)) = name.split_once('[') else { return Ok(vec![name.to_owned()]) };
    let (inside, behind) = rest.split_once(']').ok_or_else(|| HostListError::Bracket(name.to_owned()))?;
    let ends = expanded_names(behind)?;
    let mut all = Vec::new();

    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number =
            |text: &str| text.trim().parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let bounds = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        let (from, to) = bounds.ok_or_else(|| HostListError::Range(range.to_owned()))?;
        if (to - from) as usize >= MOST || all.len() + ends.len() * ((to - from) as usize + 1) > MOST {
            return Err(HostListError::TooMany(name.to_owned()));
        }
        let width = first.len();
        for number in from..=to {
            all.extend(ends.iter().map(|end| format!("{before}{number:0width$}{end}")));
        }
    }
    Ok(all)
}

/// Whether this host, or its name without a domain, is among the names.
pub(crate) fn names(names: &[String], host: Option<&str>) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    host.is_some_and(|host| names.iter().any(|name| short(name) == short(host)))
}

/// The names as one list: those that differ in a number at their end stand in one bracket.
pub(crate) fn fold(names: &[String]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let (stem, digits) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        match groups.last_mut() {
            Some((last, all))
                if *last == stem && !digits.is_empty() && !all.iter().any(|digits| digits.is_empty()) =>
            {
                all.push(digits);
            }
            _ => groups.push((stem, vec![digits])),
        }
    }

    let one = |(stem, numbers): &(&str, Vec<&str>)| match numbers.as_slice() {
        [only] => format!("{stem}{only}"),
        several => format!("{stem}[{}]", ranges(several)),
    };
    groups.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Numbers that follow one another in the same width, as ranges.
fn ranges(numbers: &[&str]) -> String {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for digits in numbers {
        let follows = |last: &str| {
            let next = last.parse::<u32>().ok().and_then(|last| last.checked_add(1));
            next.is_some_and(|next| format!("{next:0width$}", width = last.len()) == **digits)
        };
        match all.last_mut() {
            Some((_, last)) if follows(last) => *last = digits,
            _ => all.push((digits, digits)),
        }
    }
    let one = |(first, last): &(&str, &str)| {
        if first == last { (*first).to_owned() } else { format!("{first}-{last}") }
    };
    all.iter().map(one).collect::<Vec<_>>().join(",")
}
