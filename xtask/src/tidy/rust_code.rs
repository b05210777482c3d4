//! Rust source reduced to its code: comments and literals blanked out, every line where it was.
//!
//! Enough of Rust's lexical grammar to look for a word without finding it in a comment or a string; no
//! parser, because the checks need words only (Rust Reference, "Tokens" and "Comments").

use std::path::Path;

/// Whether a file is built for tests only.
pub fn is_of_tests(file: &Path) -> bool {
    let mut names = file.iter().filter_map(|name| name.to_str()).skip(1);
    names.any(|name| matches!(name, "tests" | "benches" | "tests.rs")) || file.starts_with("tests")
}

/// `text` with every comment, string and character literal replaced by spaces; lines stay lines.
pub fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skip(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(chars[at..end].iter().map(|char| if *char == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

/// A string literal.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    /// What it says: a line that goes on in the next is one, and an escaped quote is a quote.
    pub text: String,
    /// `@"…"`: what a test's output is to be.
    pub is_snapshot: bool,
}

/// The string literals of `text`, those in comments left out.
pub fn literals(text: &str) -> Vec<Literal> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let end = skip(&chars, at);
        if end > at && matches!(chars[at], '"' | 'r') {
            let is_snapshot = at > 0 && chars[at - 1] == '@';
            found.push(Literal { text: unescaped(&chars[at..end]), is_snapshot });
        }
        at = end.max(at + 1);
    }
    found
}

/// What a literal says, for whoever looks for words in it.
fn unescaped(literal: &[char]) -> String {
    let text: String = literal.iter().collect();
    let text = text.strip_prefix('r').unwrap_or(&text).trim_matches('#');
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let whole = lines.fold(first, |whole, line| whole + line.trim_start());
    whole.replace("\\n", "\n").replace("\\\"", "\"")
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none starts there.
fn skip(chars: &[char], at: usize) -> usize {
    let next = |offset: usize| chars.get(at + offset).copied();
    let after_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next(1) == Some('/') => find(chars, at, |char| char == '\n'),
        '/' if next(1) == Some('*') => block_comment(chars, at),
        '"' => quoted(chars, at, '"'),
        // `b"…"`, `c"…"` need no care: the quote that follows is met next. A raw string does, for its
        // backslashes.
        'r' if !after_word || matches!(chars[at - 1], 'b' | 'c') => raw_string(chars, at),
        '\'' => character(chars, at),
        _ => at,
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|at| is_end(chars[*at])).unwrap_or(chars.len())
}

fn block_comment(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// `r"…"`, `r#"…"#`; a raw identifier (`r#type`) or a plain `r` is no literal.
fn raw_string(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|char| **char == '#').count();
    if chars.get(start + 1 + hashes) != Some(&'"') {
        return start;
    }
    let ends = |at: usize| {
        chars[at] == '"' && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    (start + 2 + hashes..chars.len()).find(|at| ends(*at)).map_or(chars.len(), |at| at + 1 + hashes)
}

/// `'x'`, `'\n'`, `'\u{1F}'`; a lifetime (`'a`) is no literal.
fn character(chars: &[char], start: usize) -> usize {
    match (chars.get(start + 1), chars.get(start + 2)) {
        (Some('\\'), _) => quoted(chars, start, '\''),
        (Some(_), Some('\'')) => start + 3,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_words(text: &str) -> Vec<String> {
        code_only(text).split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn comments_are_blanked_also_nested_ones() {
        assert_eq!(code_words("a // b\nc /* d /* e */ f */ g //! h"), ["a", "c", "g"]);
    }

    #[test]
    fn strings_are_blanked_with_their_escapes_and_hashes() {
        assert_eq!(code_words(r#"a "b \" c" d"#), ["a", "d"]);
        assert_eq!(code_words(r##"a r#"b " \ c"# d"##), ["a", "d"]);
        assert_eq!(code_words(r#"a br"\" d"#), ["a", "b", "d"]);
    }

    #[test]
    fn literals_say_what_they_say_and_those_in_comments_are_none() {
        let text = r##"// "a"
            b("c \
                d \"e\"", @r#"f"#, 'g')"##;
        let literal = |text: &str, is_snapshot| Literal { text: text.to_owned(), is_snapshot };
        assert_eq!(literals(text), [literal("c d \"e\"", false), literal("f", true)]);
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_stay() {
        assert_eq!(code_words(r#"a '"' b '\'' c 'x' d "#), ["a", "b", "c", "d"]);
        assert_eq!(code_words("&'a str r#type"), ["&'a", "str", "r#type"]);
    }

    #[test]
    fn lines_stay_where_they_were() {
        assert_eq!(code_only("\"a\nb\"\n/*\n*/c").lines().count(), 4);
        assert_eq!(code_only("\"a\nb\"\n/*\n*/c").lines().last(), Some("  c"));
    }

    #[test]
    fn what_never_ends_ends_with_the_file() {
        for open in ["\"a", "/* a", "r#\"a\"", "'\\", "\"a\\"] {
            assert_eq!(code_words(open), [""; 0], "{open}");
        }
    }
}
