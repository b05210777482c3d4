//! A script's text as commands: simple ones, lists, pipelines, `if`, `case`, loops, groups, functions.
//!
//! Some 850 lines because a grammar is read in one place. The text of here-documents is passed over, and what
//! reads it reads something unknown. What a shell knows beyond the grammar here (`select`, coprocesses,
//! process substitution) is an error that names the line.

use super::Unread;
use super::word::{Assignment, AssignmentValue, Parameter, Piece, Word, is_name};
use crate::unknown::UNKNOWN;

/// A command of one program, or of the shell itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// What stands before it.
    pub assignments: Vec<Assignment>,
    /// The command and its words.
    pub words: Vec<Word>,
    /// Arrays that a declaration has among its words (`declare -a list=(0 1)`): their names stand in `words`.
    pub arrays: Vec<Assignment>,
    /// What it reads: the word behind `<<<`; something unknown from a file, a here-document or a pipe.
    pub input: Option<Word>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Simple(Simple),
    /// Each with what stands before it: `&&` (true), `||` (false), or nothing.
    List(Vec<(Option<bool>, Node)>),
    Pipe(Vec<Node>),
    Not(Box<Node>),
    If {
        branches: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Node)>,
    },
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Box<Node>,
    },
    ForArithmetic {
        parts: [String; 3],
        body: Box<Node>,
    },
    While {
        until: bool,
        condition: Box<Node>,
        body: Box<Node>,
    },
    Subshell(Box<Node>),
    /// With `&` behind it.
    Background(Box<Node>),
    Function {
        name: String,
        body: Box<Node>,
    },
    /// `((…))`.
    Arithmetic(String),
    /// `[[ … ]]`.
    Test(Vec<Word>),
}

/// Branches of an `if`.
const MOST_BRANCHES: usize = 1000;

/// Arms of a `case`: one for each rank of a node, as programs write them.
const MOST_ARMS: usize = 10_000;

/// Brackets in one another that a text may have: more would exhaust the stack, and nobody writes them.
const MOST_BRACKETS: usize = 50;

/// How deep brackets stand in each other at most, whatever they mean.
fn brackets(text: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Reads a script.
pub(super) fn script(text: &str) -> Result<Node, Unread> {
    if brackets(text) > MOST_BRACKETS {
        return Err(Unread::new("brackets are nested too deep"));
    }
    let mut reader = Reader::new(text);
    let node = reader.list(&[])?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.unread("a word that nothing begins")),
    }
}

/// Words that begin or end a compound command where a command may begin.
const RESERVED: [&str; 15] = [
    "if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "{", "}", "[[",
];

/// Commands whose words may be assignments.
pub(super) const DECLARATIONS: [&str; 5] = ["export", "readonly", "declare", "typeset", "local"];

/// How deep commands may be nested: what people write is not.
const MOST_DEPTH: usize = 60;

/// A here-document whose text is still to come.
struct HereDocument {
    /// The line that ends it.
    end: String,
    /// Whether tabs before its lines do not count (`<<-`).
    is_indented: bool,
}

pub(super) struct Reader {
    text: Vec<char>,
    at: usize,
    /// Here-documents whose text begins at the next line.
    pending: Vec<HereDocument>,
    /// What the last redirection of an input gives, until its command takes it.
    input: Option<Word>,
    depth: usize,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.chars().collect(), at: 0, pending: Vec::new(), input: None, depth: 0 }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn looking_at(&self, what: &str) -> bool {
        what.chars().enumerate().all(|(ahead, c)| self.text.get(self.at + ahead) == Some(&c))
    }

    fn take(&mut self, what: &str) -> bool {
        let is = self.looking_at(what);
        self.at += if is { what.chars().count() } else { 0 };
        is
    }

    fn unread(&self, what: &str) -> Unread {
        let line = 1 + self.text[..self.at.min(self.text.len())].iter().filter(|c| **c == '\n').count();
        Unread::new(format!("line {line}: {what}"))
    }

    /// Blanks, continued lines and comments.
    fn blanks(&mut self) {
        loop {
            if self.take("\\\n") || self.take("\\\r\n") {
                continue;
            }
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn newline(&mut self) {
        self.at += 1;

        for document in std::mem::take(&mut self.pending) {
            loop {
                let rest = self.text.get(self.at..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.text.len());
                let line = line.trim_end_matches('\r');
                let line = if document.is_indented { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break;
                }
            }
        }
    }

    /// Blanks, comments, newlines and stray `;`.
    fn gaps(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.newline(),
                Some(';') if !self.looking_at(";;") => self.at += 1,
                _ => return,
            }
        }
    }

    /// The reserved word at this place.
    fn reserved(&self) -> Option<&'static str> {
        RESERVED.into_iter().filter(|word| self.looking_at(word)).find(|word| {
            let behind = self.text.get(self.at + word.chars().count());
            behind.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '(' | ')' | '&' | '|'))
        })
    }

    fn expect(&mut self, word: &str) -> Result<(), Unread> {
        self.gaps();
        match self.reserved() == Some(word) && self.take(word) {
            true => Ok(()),
            false => Err(self.unread(&format!("\"{word}\" is missing"))),
        }
    }

    /// Commands up to one of these words, `)` or `;;`.
    fn list(&mut self, ends: &[&str]) -> Result<Node, Unread> {
        self.nested(|reader| reader.commands(ends))
    }

    /// A part of a command inside of another one.
    fn nested(&mut self, part: impl FnOnce(&mut Self) -> Result<Node, Unread>) -> Result<Node, Unread> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.unread("commands are nested too deep"));
        }
        let node = part(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn commands(&mut self, ends: &[&str]) -> Result<Node, Unread> {
        let mut all = Vec::new();
        let mut joint = None;
        loop {
            self.gaps();
            let is_end = self.peek().is_none_or(|c| c == ')')
                || self.looking_at(";;")
                || self.reserved().is_some_and(|word| ends.contains(&word));
            if is_end {
                break;
            }
            let node = self.pipeline()?;
            all.push((joint.take(), node));
            self.blanks();
            if self.take("&&") {
                joint = Some(true);
            } else if self.take("||") {
                joint = Some(false);
            } else if self.peek() == Some('&') {
                // In the background, in a shell of its own: `wait` waits for it.
                self.at += 1;
                if let Some((_, node)) = all.last_mut() {
                    *node = Node::Background(Box::new(std::mem::replace(node, Node::List(Vec::new()))));
                }
            }
        }

        Ok(Node::List(all))
    }

    fn pipeline(&mut self) -> Result<Node, Unread> {
        self.gaps();
        let mut is_negated = false;
        while self.take("! ") {
            is_negated = !is_negated;
            self.gaps();
        }

        let mut all = vec![self.nested(Self::compound)?];

        loop {
            self.blanks();
            if self.peek() != Some('|') || self.looking_at("||") {
                break;
            }
            self.at += 1;
            self.take("&");
            self.gaps();
            let mut part = self.nested(Self::compound)?;
            if let Node::Simple(simple) = &mut part {
                simple.input.get_or_insert_with(unknown);
            }
            all.push(part);
        }

        let node = match all.len() {
            1 => all.remove(0),
            _ => Node::Pipe(all),
        };
        Ok(if is_negated { Node::Not(Box::new(node)) } else { node })
    }

    fn compound(&mut self) -> Result<Node, Unread> {
        self.blanks();
        let node = match self.reserved() {
            Some("if") => self.conditional()?,
            Some("case") => self.case()?,
            Some("for") => self.repetition()?,
            Some(word @ ("while" | "until")) => {
                self.take(word);
                let condition = Box::new(self.list(&["do"])?);
                Node::While { until: word == "until", condition, body: Box::new(self.body()?) }
            }
            Some("{") => {
                self.take("{");
                let body = self.list(&["}"])?;
                self.expect("}")?;
                body
            }
            Some("[[") => self.test()?,
            Some(word) => return Err(self.unread(&format!("\"{word}\" is out of place"))),
            None if self.looking_at("((") => Node::Arithmetic(self.arithmetic()?),
            None if self.take("(") => {
                let body = self.list(&[])?;
                self.gaps();
                match self.take(")") {
                    true => Node::Subshell(Box::new(body)),
                    false => return Err(self.unread("\")\" is missing")),
                }
            }
            None => return self.simple(),
        };
        while self.redirection()? {}

        Ok(node)
    }

    fn conditional(&mut self) -> Result<Node, Unread> {
        let mut branches = Vec::new();
        let mut word = "if";

        loop {
            self.expect(word)?;
            let condition = self.list(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.list(&["elif", "else", "fi"])?));
            if branches.len() > MOST_BRANCHES {
                return Err(self.unread("too many branches"));
            }
            let otherwise = match self.reserved() {
                Some("elif") => {
                    word = "elif";
                    continue;
                }
                Some("else") => {
                    self.take("else");
                    Some(Box::new(self.list(&["fi"])?))
                }
                _ => None,
            };
            self.expect("fi")?;
            return Ok(Node::If { branches, otherwise });
        }
    }

    fn case(&mut self) -> Result<Node, Unread> {
        self.take("case");
        self.blanks();
        let subject = self.word()?.ok_or_else(|| self.unread("case without a word"))?;
        self.gaps();
        if !self.take("in") {
            return Err(self.unread("\"in\" is missing"));
        }
        let mut arms = Vec::new();

        loop {
            self.gaps();
            if self.reserved() == Some("esac") {
                self.take("esac");
                return Ok(Node::Case { subject, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.unread("a case without a pattern"))?);
                self.blanks();
                if self.take(")") {
                    break;
                }
                if !self.take("|") {
                    return Err(self.unread("\")\" is missing behind a pattern"));
                }
            }
            arms.push((patterns, self.list(&["esac"])?));
            if arms.len() > MOST_ARMS {
                return Err(self.unread("too many cases"));
            }
            self.gaps();
            if self.looking_at(";;&") || self.looking_at(";&") {
                return Err(self.unread("a case that falls through"));
            }
            self.take(";;");
        }
    }

    fn repetition(&mut self) -> Result<Node, Unread> {
        self.take("for");
        self.blanks();
        if self.looking_at("((") {
            let text = self.arithmetic()?;
            let parts: Vec<String> = text.split(';').map(|part| part.trim().to_owned()).collect();
            let parts =
                <[String; 3]>::try_from(parts).map_err(|_| self.unread("for ((…)) without three parts"))?;
            return Ok(Node::ForArithmetic { parts, body: Box::new(self.body()?) });
        }

        let name = self.bare();
        if !is_name(&name) {
            return Err(self.unread("for without a name"));
        }
        self.gaps();
        let mut words = None;

        if self.looking_at("in") && self.reserved().is_none() {
            self.take("in");
            let mut all = Vec::new();
            self.blanks();
            while let Some(word) = self.word()? {
                all.push(word);
                self.blanks();
            }
            words = Some(all);
        }
        Ok(Node::For { name, words, body: Box::new(self.body()?) })
    }

    /// `do … done`.
    fn body(&mut self) -> Result<Node, Unread> {
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn test(&mut self) -> Result<Node, Unread> {
        self.take("[[");
        let mut words = Vec::new();

        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            }
            let operator =
                ["&&", "||", "(", ")", "<", ">"].into_iter().find(|operator| self.looking_at(operator));
            if let Some(operator) = operator {
                self.take(operator);
                words.push(vec![Piece::Text { text: operator.to_owned(), quoted: false }]);
                continue;
            }
            match self.word()? {
                Some(word) if word == [Piece::Text { text: "]]".to_owned(), quoted: false }] => {
                    return Ok(Node::Test(words));
                }
                Some(word) => words.push(word),
                None => return Err(self.unread("\"]]\" is missing")),
            }
        }
    }

    /// What stands in `((…))`.
    fn arithmetic(&mut self) -> Result<String, Unread> {
        self.at += 2;
        let start = self.at;
        let mut depth = 0;
        while let Some(c) = self.peek() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 && self.looking_at("))") => {
                    let text = self.text[start..self.at].iter().collect();
                    self.at += 2;
                    return Ok(text);
                }
                ')' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }

        Err(self.unread("\"))\" is missing"))
    }

    fn simple(&mut self) -> Result<Node, Unread> {
        let mut simple = Simple::default();
        self.input = None;
        loop {
            self.blanks();
            if self.redirection()? {
                simple.input = self.input.take().or(simple.input);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            if let Some(array) = self.declared_array(&simple.words)? {
                simple.words.push(vec![Piece::Text { text: array.name.clone(), quoted: false }]);
                simple.arrays.push(array);
                continue;
            }
            let words = &mut simple.words;
            let Some(word) = self.word()? else { break };
            words.push(word);
            // `name() { …; }`, and bash's `function name { …; }`.
            let [name, more @ ..] = words.as_slice() else { break };
            let is_function =
                more.len() == 1 && *name == [Piece::Text { text: "function".to_owned(), quoted: false }];
            let name = more.first().filter(|_| is_function).unwrap_or(name);
            self.blanks();
            if let ([Piece::Text { text, quoted: false }], true) =
                (name.as_slice(), self.take("()") || is_function)
            {
                let name = text.clone();
                self.gaps();
                let body = Box::new(self.nested(Self::compound)?);
                if matches!(*body, Node::Simple(_)) {
                    return Err(self.unread("a function without brackets"));
                }
                return Ok(Node::Function { name, body });
            }
        }

        match simple.assignments.is_empty() && simple.words.is_empty() {
            true => Err(self.unread(&self.peek().map_or_else(
                || "the end where a command should be".to_owned(),
                |c| format!("\"{c}\" where a command should be"),
            ))),
            false => Ok(Node::Simple(simple)),
        }
    }

    /// `NAME=(…)` behind a command that declares; nothing is taken where another word stands.
    fn declared_array(&mut self, words: &[Word]) -> Result<Option<Assignment>, Unread> {
        let is_declaration = matches!(words.first().map(Vec::as_slice),
            Some([Piece::Text { text, quoted: false }]) if DECLARATIONS.contains(&text.as_str()));
        if !is_declaration {
            return Ok(None);
        }
        let start = self.at;
        let assignment = self.assignment()?;
        let array = assignment.filter(|one| matches!(one.value, AssignmentValue::Array(_)));
        if array.is_none() {
            self.at = start;
        }
        Ok(array)
    }

    /// `NAME=…`, which is one only before the command.
    fn assignment(&mut self) -> Result<Option<Assignment>, Unread> {
        let start = self.at;
        let name = self.bare();
        let mut index = None;
        if is_name(&name) && self.peek() == Some('[') {
            let rest = self.text.get(self.at + 1..).unwrap_or_default();
            if let Some(length) = rest.iter().position(|c| *c == ']') {
                index = Some(rest[..length].iter().collect());
                self.at += length + 2;
            }
        }

        let append = self.take("+=");
        if !is_name(&name) || !(append || self.take("=")) {
            self.at = start;
            return Ok(None);
        }
        if !self.take("(") {
            let value = AssignmentValue::Word(self.word()?.unwrap_or_default());
            return Ok(Some(Assignment { name, index, append, value }));
        }
        let mut items = Vec::new();

        loop {
            self.gaps();
            if self.take(")") {
                return Ok(Some(Assignment { name, index, append, value: AssignmentValue::Array(items) }));
            }
            if self.peek() == Some('[') {
                return Err(self.unread("an array with indices"));
            }
            items.push(self.word()?.ok_or_else(|| self.unread("an array that is not closed"))?);
        }
    }

    /// Passes a redirection over: where output goes places nothing.
    fn redirection(&mut self) -> Result<bool, Unread> {
        self.blanks();
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let is_input = matches!(self.text[start..self.at], [] | ['0']);
        let operators = ["&>>", "&>", "<<<", "<<-", "<<", ">>", "<&", ">&", ">|", "<>", "<", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.looking_at(operator)) else {
            self.at = start;
            return Ok(false);
        };
        self.take(operator);
        if self.peek() == Some('(') {
            return Err(self.unread("process substitution"));
        }
        self.blanks();
        let word = self.word()?.ok_or_else(|| self.unread("a redirection without a file"))?;
        if is_input && operator.starts_with('<') {
            self.input = Some(if operator == "<<<" { word.clone() } else { unknown() });
        }

        if matches!(operator, "<<" | "<<-") {
            let text = word.iter().map(|piece| match piece {
                Piece::Text { text, .. } => text.as_str(),
                _ => "",
            });
            self.pending.push(HereDocument { end: text.collect(), is_indented: operator == "<<-" });
        }
        Ok(true)
    }

    /// Letters, digits and underscores.
    fn bare(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    /// All that is left as one word: the value of an assignment, what stands behind an operator in `${…}`.
    pub(super) fn word_to_end(&mut self) -> Result<Word, Unread> {
        self.pieces(|_| false)
    }

    /// The word at this place; `None` where something else stands.
    fn word(&mut self) -> Result<Option<Word>, Unread> {
        let start = self.at;
        let word =
            self.pieces(|c| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>'))?;
        Ok((self.at > start).then_some(word))
    }

    fn pieces(&mut self, is_end: impl Fn(char) -> bool) -> Result<Word, Unread> {
        let mut word = Word::new();
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    let next = self.text.get(self.at + 1).copied();
                    self.at = (self.at + 2).min(self.text.len());
                    push(&mut word, next.filter(|c| *c != '\n'), true);
                }
                '\'' => {
                    self.at += 1;
                    let quoted = self.up_to('\'', "a quote is not closed")?;
                    push(&mut word, None, true);
                    quoted.chars().for_each(|c| push(&mut word, Some(c), true));
                }
                '"' => {
                    self.at += 1;
                    push(&mut word, None, true);
                    self.double_quoted(&mut word)?;
                }
                '$' | '`' => self.dollar(&mut word, false)?,
                c if is_end(c) => break,
                c => {
                    push(&mut word, Some(c), false);
                    self.at += 1;
                }
            }
        }

        Ok(word)
    }

    /// Up to the quote that closes it, which is taken.
    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unread> {
        loop {
            match self.peek() {
                None => return Err(self.unread("a quote is not closed")),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\')
                    if self
                        .text
                        .get(self.at + 1)
                        .is_some_and(|c| matches!(c, '$' | '`' | '"' | '\\' | '\n')) =>
                {
                    push(word, self.text.get(self.at + 1).copied().filter(|c| *c != '\n'), true);
                    self.at += 2;
                }
                Some('$' | '`') => self.dollar(word, true)?,
                Some(c) => {
                    push(word, Some(c), true);
                    self.at += 1;
                }
            }
        }
    }

    /// What begins with `$` or a backquote.
    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        if !quoted && self.take("$'") {
            let text = self.escaped()?;
            push(word, None, true);
            text.chars().for_each(|c| push(word, Some(c), true));
        } else if self.take("`") {
            word.push(Piece::Output { script: self.up_to('`', "a backquote is not closed")?, quoted });
        } else if self.looking_at("$((") {
            self.at += 1;
            word.push(Piece::Arithmetic(self.arithmetic()?));
        } else if self.take("$[") {
            // The old way to write `$((…))`.
            word.push(Piece::Arithmetic(self.inside('[', ']')?));
        } else if self.take("$(") {
            word.push(Piece::Output { script: self.inside('(', ')')?, quoted });
        } else if self.take("${") {
            let text = self.inside('{', '}')?;
            word.push(Piece::Parameter { parameter: parameter(&text)?, quoted });
        } else {
            self.at += 1;
            let name = match self.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                    self.at += 1;
                    c.to_string()
                }
                _ => self.bare(),
            };
            match name.is_empty() {
                true => push(word, Some('$'), quoted),
                false => {
                    let parameter = Parameter { name, ..Parameter::default() };
                    word.push(Piece::Parameter { parameter, quoted });
                }
            }
        }
        Ok(())
    }

    /// The text of `$'…'`, up to the quote that closes it, which is taken.
    fn escaped(&mut self) -> Result<String, Unread> {
        let mut text = String::new();

        loop {
            let c = self.peek().ok_or_else(|| self.unread("a quote is not closed"))?;
            self.at += 1;
            match c {
                '\'' => return Ok(text),
                '\\' => {
                    let c = match self.peek() {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some(c @ ('\\' | '\'' | '"')) => c,
                        Some(_) => UNKNOWN,
                        None => return Err(self.unread("a quote is not closed")),
                    };
                    self.at += 1;
                    text.push(c);
                }
                c => text.push(c),
            }
        }
    }

    /// Up to this character, which is taken.
    fn up_to(&mut self, end: char, missing: &str) -> Result<String, Unread> {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|c| *c == end).ok_or_else(|| self.unread(missing))?;
        let text = rest[..length].iter().collect();
        self.at += length + 1;
        Ok(text)
    }

    /// Up to the bracket that closes this one, which is taken; quotes hide brackets.
    fn inside(&mut self, open: char, close: char) -> Result<String, Unread> {
        let (start, mut depth, mut quote) = (self.at, 1, None);
        while let Some(c) = self.peek() {
            self.at += 1;
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (_, '\\') => self.at += 1,
                (None, c) if c == open => depth += 1,
                (None, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.text[start..self.at - 1].iter().collect());
                    }
                }
                _ => {}
            }
        }

        Err(self.unread(&format!("\"{close}\" is missing")))
    }
}

/// A word of unknown text.
fn unknown() -> Word {
    vec![Piece::Text { text: UNKNOWN.to_string(), quoted: true }]
}

/// Adds to the text at the end of a word; `None` makes an empty text, which a quote is too.
fn push(word: &mut Word, c: Option<char>, is_quoted: bool) {
    match word.last_mut() {
        Some(Piece::Text { text, quoted }) if *quoted == is_quoted => text.extend(c),
        _ => word.push(Piece::Text { text: c.into_iter().collect(), quoted: is_quoted }),
    }
}

/// Operators behind a name, the longer ones first.
const OPERATORS: [&str; 20] = [
    ":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%", "/", ":",
    "@",
];

/// What stands between `${` and `}`.
fn parameter(text: &str) -> Result<Parameter, Unread> {
    let unread = || Unread::new(format!("${{{text}}}"));
    let (length, text_of) = match text.strip_prefix('#') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, text),
    };
    let special = text_of.starts_with(['@', '*', '#', '?', '$', '!']);
    let end = if special {
        1
    } else {
        text_of.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text_of.len())
    };
    let (name, mut rest) = text_of.split_at(end);
    let is_known = special || is_name(name) || name.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() || !is_known {
        return Err(unread());
    }
    let mut index = None;
    if let Some(behind) = rest.strip_prefix('[') {
        let (inside, after) = behind.split_once(']').ok_or_else(unread)?;
        (index, rest) = (Some(inside.to_owned()), after);
    }
    let operator = match rest.is_empty() {
        true => "",
        false => OPERATORS.into_iter().find(|operator| rest.starts_with(operator)).ok_or_else(unread)?,
    };
    let word = Reader::new(&rest[operator.len()..]).word_to_end()?;

    Ok(Parameter { name: name.to_owned(), index, length, operator: operator.to_owned(), word })
}
