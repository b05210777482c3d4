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
    let end = inside.iter().skip(1).position(|(c, _)| *c == ']')? + 1;
    let letters: Vec<char> = inside[..end].iter().map(|(c, _)| *c).collect();
    let mut members = Vec::new();
    let mut at = 0;

    while let Some(low) = letters.get(at) {
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(high)) => {
                members.push((*low, *high));
                at += 3;
            }
            _ => {
                members.push((*low, *low));
                at += 1;
            }
        }
    }
    Some((members, negated, &inside[end + 1..]))
}
