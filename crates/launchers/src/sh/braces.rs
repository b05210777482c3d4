//! `{a,b}` and `{0..3}` in a word: each stands for several words.

use super::word::{Piece, Word};

/// Words that braces of one word may stand for.
const MOST_WORDS: usize = 10_000;

/// The words that a word with braces stands for, itself where it has none; `None` where that is not known.
pub(super) fn expanded(word: &Word) -> Option<Vec<Word>> {
    let has_brace =
        |piece: &Piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains('{'));
    if !word.iter().any(has_brace) {
        return Some(vec![word.clone()]);
    }
    let words = alternatives(&word.iter().flat_map(letters).collect::<Vec<_>>())?;
    Some(words.into_iter().map(joined).collect())
}

/// A piece as pieces of one letter, where it is unquoted text.
fn letters(piece: &Piece) -> Vec<Piece> {
    match piece {
        Piece::Text { text, quoted: false } => text.chars().map(letter).collect(),
        other => vec![other.clone()],
    }
}

fn letter(c: char) -> Piece {
    Piece::Text { text: c.to_string(), quoted: false }
}

/// Letters behind one another as one piece.
fn joined(letters: Word) -> Word {
    let mut word = Word::new();
    for piece in letters {
        match (word.last_mut(), &piece) {
            (Some(Piece::Text { text, quoted: false }), Piece::Text { text: more, quoted: false }) => {
                text.push_str(more);
            }
            _ => word.push(piece),
        }
    }
    word
}

/// The words that these pieces stand for.
fn alternatives(pieces: &[Piece]) -> Option<Vec<Word>> {
    let opening = (0..pieces.len()).find_map(|at| Some((at, inside(&pieces[at..])?)));
    let Some((at, inside)) = opening else { return Some(vec![pieces.to_vec()]) };
    let behind = &pieces[at + inside.len() + 2..];

    let parts = split_at_commas(inside);
    let middle = match parts.len() {
        1 => sequence(&parts[0])?,
        _ => parts.iter().map(|part| alternatives(part)).collect::<Option<Vec<_>>>()?.concat(),
    };
    let ends = alternatives(behind)?;
    if middle.len().checked_mul(ends.len())? > MOST_WORDS {
        return None;
    }

    let start = &pieces[..at];
    let with_ends = |middle: &Word| ends.iter().map(|end| [start, middle, end].concat()).collect::<Vec<_>>();
    Some(middle.iter().flat_map(with_ends).collect())
}

/// What is between the brace that the pieces begin with and the one that closes it, if they mean anything.
fn inside(pieces: &[Piece]) -> Option<&[Piece]> {
    if pieces.first() != Some(&letter('{')) {
        return None;
    }
    let mut depth = 0_usize;
    let end = pieces.iter().position(|piece| {
        depth += usize::from(*piece == letter('{'));
        depth -= usize::from(*piece == letter('}'));
        depth == 0
    })?;
    let inside = &pieces[1..end];
    let text = plain(inside).unwrap_or_default();
    let is_end = |end: &str| end.parse::<i64>().is_ok() || (end.len() == 1 && end != ".");
    let ends = text.split_once("..").filter(|(first, last)| is_end(first) && last.split("..").all(is_end));
    (ends.is_some() || split_at_commas(inside).len() > 1).then_some(inside)
}

/// Unquoted text; `None` where something else is among it.
fn plain(pieces: &[Piece]) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Text { text, quoted: false } => Some(text.clone()),
        _ => None,
    };
    pieces.iter().map(text).collect()
}

/// The parts between commas that stand in no further braces.
fn split_at_commas(pieces: &[Piece]) -> Vec<Word> {
    let mut parts = vec![Word::new()];
    let mut depth = 0_usize;

    for piece in pieces {
        depth += usize::from(*piece == letter('{'));
        depth = depth.saturating_sub(usize::from(*piece == letter('}')));
        match parts.last_mut() {
            Some(part) if depth > 0 || *piece != letter(',') => part.push(piece.clone()),
            _ => parts.push(Word::new()),
        }
    }
    parts
}

/// `0..3`, `3..0`; `None` for letters, steps and numbers with leading zeros.
fn sequence(pieces: &[Piece]) -> Option<Vec<Word>> {
    let text = plain(pieces)?;
    let (first, last) = text.split_once("..")?;
    let number = |text: &str| text.parse::<i32>().ok().filter(|number| number.to_string() == text);
    let (first, last) = (number(first)?, number(last)?);
    if first.abs_diff(last) as usize >= MOST_WORDS {
        return None;
    }

    let count = first.min(last)..=first.max(last);
    let numbers: Vec<i32> = if first <= last { count.collect() } else { count.rev().collect() };
    Some(numbers.into_iter().map(|number| number.to_string().chars().map(letter).collect()).collect())
}
