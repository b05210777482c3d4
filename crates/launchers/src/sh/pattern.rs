//! Patterns of `case`, `[[ == ]]` and `${NAME%PATTERN}`: `*`, `?`, `[…]`.

/// A pattern: a character with whether it is quoted, which makes it stand for itself.
pub(super) type Pattern = Vec<(char, bool)>;

/// Whether all of the text is what the pattern describes.
pub(super) fn fits(pattern: &[(char, bool)], text: &[char]) -> bool {
    let Some(((first, quoted), rest)) = pattern.split_first() else { return text.is_empty() };
    match (first, quoted) {
        ('*', false) => (0..=text.len()).any(|taken| fits(rest, &text[taken..])),
        ('?', false) => !text.is_empty() && fits(rest, &text[1..]),
        ('[', false) => match class(rest) {
            Some((members, negated, rest)) => {
                let Some((c, text)) = text.split_first() else { return false };
                (members.iter().any(|(low, high)| (low..=high).contains(&c)) != negated) && fits(rest, text)
            }
            None => text.first() == Some(&'[') && fits(rest, &text[1..]),
        },
        (c, _) => text.first() == Some(c) && fits(rest, &text[1..]),
    }
}

/// Ranges of a class, whether they are what is not meant, and the pattern behind it.
type Class<'p> = (Vec<(char, char)>, bool, &'p [(char, bool)]);

/// What stands behind `[`.
fn class(pattern: &[(char, bool)]) -> Option<Class<'_>> {
    let negated = matches!(pattern.first(), Some(('!' | '^', false)));
    let inside = &pattern[usize::from(negated)..];
    let letters: Vec<char> = inside.iter().map(|(c, _)| *c).collect();
    let mut members = Vec::new();
    let mut at = 0;

    // A `]` that stands first is a member.
    while at == 0 || *letters.get(at)? != ']' {
        let low = *letters.get(at)?;
        if let Some((ranges, length)) = named_class(&letters[at..]) {
            members.extend(ranges);
            at += length;
            continue;
        }
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                members.push((low, *high));
                at += 3;
            }
            _ => {
                members.push((low, low));
                at += 1;
            }
        }
    }
    Some((members, negated, &inside[at + 1..]))
}

/// `[:digit:]`: the ranges of a named class that stands here, and how long its name is.
fn named_class(letters: &[char]) -> Option<(&'static [(char, char)], usize)> {
    let text: String = letters.iter().collect();
    let (name, _) = text.strip_prefix("[:")?.split_once(":]")?;
    let ranges: &[(char, char)] = match name {
        "digit" => &[('0', '9')],
        "lower" => &[('a', 'z')],
        "upper" => &[('A', 'Z')],
        "alpha" => &[('a', 'z'), ('A', 'Z')],
        "alnum" => &[('0', '9'), ('a', 'z'), ('A', 'Z')],
        "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        _ => return None,
    };

    Some((ranges, name.chars().count() + 4))
}

/// The value without the shortest (`#`, `%`) or longest part at its beginning or end that fits.
pub(super) fn without(value: &str, operator: &str, pattern: &[(char, bool)]) -> String {
    let letters: Vec<char> = value.chars().collect();
    let count = letters.len();
    let fitting = |taken: &usize| match operator.starts_with('#') {
        true => fits(pattern, &letters[..*taken]),
        false => fits(pattern, &letters[count - taken..]),
    };
    let taken = match operator.len() {
        1 => (0..=count).find(fitting),
        _ => (0..=count).rev().find(fitting),
    };

    let taken = taken.unwrap_or(0);
    match operator.starts_with('#') {
        true => letters[taken..].iter().collect(),
        false => letters[..count - taken].iter().collect(),
    }
}
