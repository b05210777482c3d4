//! Simple commands: the shell's own ones, functions, and programs.

use super::condition::{Operand, holds};
use super::fields::{Fields, first_field};
use super::parse::{DECLARATIONS, Node, Simple, script};
use super::run::{Flow, Frame, Hidden, Shell, code};
use super::word::{Assignment, Piece, Word};
use super::words::Words;
use crate::error::LineError;
use crate::process::text_of;
use crate::unknown::{UNKNOWN, is_unknown, shown};

impl Shell<'_> {
    pub(super) fn simple(&mut self, simple: &Simple) -> Result<(), LineError> {
        let Simple { assignments, words, arrays, input } = simple;
        let before = self.process.foreign.clone();
        let all = self.command_words(words)?;
        let name = all.words.first().cloned();
        // Whether a launcher set a variable is what a condition may ask.
        if name.as_deref().is_some_and(|name| matches!(name, "[" | "test")) {
            self.process.foreign = before;
        }
        let Some(name) = name else {
            assignments.iter().try_for_each(|one| self.assign(one))?;
            if !assignments.iter().any(Assignment::has_output) {
                self.status = Some(0);
            }
            return Ok(());
        };

        let input = input.as_ref().map(|word| self.text(word)).transpose()?;

        if self.is_local(&name, &all.words) {
            all.words.iter().skip(1).for_each(|word| self.hide(word));
        }
        arrays.iter().try_for_each(|one| self.assign(one))?;

        // They are the command's alone.
        let own: Vec<&Assignment> =
            assignments.iter().filter(|one| !self.read_only.contains(&one.name)).collect();
        let before = own.iter().map(|one| (&one.name, self.process.variables.get(&one.name).cloned()));
        let before: Vec<_> = before.collect();
        for assignment in own {
            self.assign(assignment)?;
            self.process.export(&assignment.name);
        }

        self.command(&all, input.as_deref())?;

        let is_declaration = DECLARATIONS.contains(&name.as_str());
        for (name, variable) in before {
            let is_kept = is_declaration && all.words.iter().any(|word| declared_name(word) == name);
            if !is_kept {
                self.process.restore(name, variable);
            }
        }
        Ok(())
    }

    /// The words of a command. What a declaration assigns is not split.
    fn command_words(&mut self, words: &[Word]) -> Result<Words, LineError> {
        let is_declaration = matches!(words.first().map(Vec::as_slice),
            Some([Piece::Text { text, quoted: false }]) if DECLARATIONS.contains(&text.as_str()));
        let mut all = Words::default();

        for word in words {
            match word.first() {
                Some(Piece::Text { text, quoted: false }) if is_declaration && text.contains('=') => {
                    all.append(vec![self.text(word)?].into());
                }
                _ => all.append(self.split_words(word)?),
            }
        }
        Ok(all)
    }

    /// Whether a condition holds, in `[[ ]]` with patterns.
    pub(super) fn holds(&self, mut operands: Vec<Operand>, with_patterns: bool) -> Option<bool> {
        if with_patterns && self.ignores_case {
            for operand in &mut operands {
                operand.text = operand.text.to_ascii_lowercase();
                operand.pattern.iter_mut().for_each(|(c, _)| c.make_ascii_lowercase());
            }
        }
        holds(&operands, with_patterns)
    }

    /// A command of the shell, a function, or a program.
    fn command(&mut self, all: &Words, input: Option<&str>) -> Result<(), LineError> {
        let Some((name, rest)) = all.words.split_first() else { return Ok(()) };
        let last_status = self.status.replace(0);
        let arguments = all.part(1, usize::MAX);

        match name.as_str() {
            ":" | "true" | "echo" | "cd" | "pushd" | "popd" | "trap" | "umask" | "ulimit" | "wait"
            | "alias" | "hash" | "module" | "ml" | "sleep" | "mkdir" | "type" => {}
            "printf" => {
                let name = rest.get(1).filter(|_| rest[0] == "-v");
                name.into_iter().for_each(|name| self.process.set(name, UNKNOWN.to_string()));
            }
            "set" => self.set_arguments(&arguments),
            "shopt" => {
                if rest.iter().any(|word| word == "nocasematch") {
                    self.ignores_case = rest.iter().any(|word| word == "-s");
                }
            }
            "false" => self.status = Some(1),
            name if DECLARATIONS.contains(&name) => self.declare(name, rest),
            "unset" => self.unset(rest),
            "shift" => self.shift(rest.first()),
            "let" => {
                for text in rest {
                    self.status = self.arithmetic(text)?.parse::<i64>().ok().map(|value| code(value != 0));
                }
            }
            "[" | "test" => {
                let inside = rest.strip_suffix(&["]".to_owned()]).unwrap_or(rest);
                self.status =
                    self.holds(inside.iter().map(|word| Operand::of_text(word)).collect(), false).map(code);
            }
            // A tool that the script asks for is taken to be there.
            "command" | "which"
                if rest.first().is_none_or(|word| name == "which" || word == "-v" || word == "-V") =>
            {
                let tools = ["numactl", "taskset"];
                self.status = rest.last().filter(|tool| tools.contains(&tool.as_str())).map(|_| 0);
            }
            "command" | "builtin" => return self.command(&arguments, input),
            "eval" => {
                self.status = last_status;
                let text = rest.join(" ");
                return match script(&text) {
                    Ok(node) if !is_unknown(&text) => self.node(&node),
                    _ => self.lost("what eval gets is not known"),
                };
            }
            "source" | "." => {
                self.status = last_status;
                self.source(&arguments)?;
            }
            "read" => {
                let separators = self.separators();
                self.read_words(rest, input, &separators);
            }
            "mapfile" | "readarray" => {
                let name = rest.last().filter(|word| !word.starts_with('-'));
                let name = name.map_or("MAPFILE", String::as_str);
                self.arrays.insert(name.to_owned(), Words::unknown());
            }
            "break" | "continue" => self.leave_loops(name, rest.first()),
            "return" => {
                self.status = exit_code(rest.first(), last_status);
                self.flow = Flow::Return;
            }
            "exit" => {
                self.status = exit_code(rest.first(), last_status);
                self.flow = Flow::Ended;
            }
            "exec" if rest.is_empty() => {}
            "exec" => {
                self.program(rest, input)?;
                self.flow = Flow::Ended;
            }
            name => match self.functions.get(name).cloned() {
                Some(Some(body)) => {
                    self.status = last_status;
                    self.call(&body, arguments)?;
                }
                Some(None) => return self.lost(&format!("what the function {name} does is not known")),
                None => self.program(&all.words, input)?,
            },
        }
        Ok(())
    }

    /// `read -r -a LIST <<< "TEXT"`: of input that is known the words, else nothing.
    fn read_words(&mut self, words: &[String], input: Option<&str>, separators: &str) {
        let (options, names): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| word.starts_with('-'));
        let is_array = options.iter().any(|option| option.ends_with('a'));

        // A delimiter, a number of letters: what they take stands among the names.
        let is_plain = options.iter().all(|option| option.chars().all(|c| matches!(c, '-' | 'r' | 'a')));
        let line =
            input.filter(|input| is_plain && !is_unknown(input)).and_then(|input| input.lines().next());
        self.status = line.map(|_| 0);
        let is_blank = |c: char| separators.contains(c) && c.is_ascii_whitespace();
        let mut rest = line;

        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            self.arrays.remove(*name);
            match rest {
                None if is_array => drop(self.arrays.insert((*name).clone(), Words::unknown())),
                None => self.process.set(name, UNKNOWN.to_string()),
                Some(text) if is_array => {
                    let mut items = Fields::default();
                    items.add_split(text, separators);
                    self.arrays.insert((*name).clone(), items.finish().into());
                }
                Some(text) if is_last => self.process.set(name, text.trim_matches(is_blank).to_owned()),
                Some(text) => {
                    let (first, behind) = first_field(text, separators);
                    self.process.set(name, first.to_owned());
                    rest = Some(behind);
                }
            }
        }
    }

    /// `set -e -o pipefail -- a b`.
    fn set_arguments(&mut self, words: &Words) {
        let mut at = 0;

        while let Some(word) = words.words.get(at).filter(|word| word.starts_with(['-', '+'])) {
            let is_named = word.ends_with('o') && words.get(at + 1).is_some_and(|name| name == "errexit");
            if is_named || word.contains('e') && !word.starts_with("--") {
                self.ends_on_failure = word.starts_with('-');
            }
            at += if word.ends_with('o') { 2 } else { 1 };
            if word == "--" || word == "-" {
                self.frame.arguments = words.part(at, usize::MAX);
                return;
            }
        }
        if at < words.words.len() {
            self.frame.arguments = words.part(at, usize::MAX);
        }
    }

    fn shift(&mut self, count: Option<&String>) {
        let arguments = &self.frame.arguments;
        match count.map_or(Some(1), |count| count.parse::<usize>().ok()) {
            None => self.frame.arguments = Words::unknown(),
            // There are too few.
            Some(count) if arguments.count().is_some_and(|all| count > all) => self.status = Some(1),
            Some(count) => self.frame.arguments = arguments.part(count, usize::MAX),
        }
    }

    /// `break 2`, `continue`.
    fn leave_loops(&mut self, command: &str, count: Option<&String>) {
        let count = count.and_then(|count| count.parse().ok()).unwrap_or(1);
        self.flow = match (self.frame.loops.min(count), command) {
            (0, _) => Flow::Next,
            (count, "break") => Flow::Break(count),
            (count, _) => Flow::Continue(count),
        };
    }

    /// Whether these words declare names that end with the function.
    fn is_local(&self, command: &str, words: &[String]) -> bool {
        let is_global = || words.iter().any(|word| word.starts_with('-') && word.contains('g'));
        self.frame.is_function
            && (command == "local" || matches!(command, "declare" | "typeset") && !is_global())
    }

    /// Makes the name that a word declares the function's own until it ends.
    fn hide(&mut self, word: &str) {
        let name = declared_name(word);
        if !super::word::is_name(name) || self.frame.hidden.iter().any(|known| known.name == name) {
            return;
        }
        let variable = self.process.variables.get(name).cloned();
        self.frame.hidden.push(Hidden { name: name.to_owned(), variable, array: self.arrays.remove(name) });
        if name == word {
            self.process.unset(name);
        }
    }

    /// `export NAME=VALUE`.
    fn declare(&mut self, command: &str, words: &[String]) {
        let has = |letter: char| words.iter().any(|word| word.starts_with('-') && word.contains(letter));
        let is_exported = (command == "export" && !has('n') && !has('f')) || has('x');
        let is_taken_back = command == "export" && has('n') || words.iter().any(|word| word == "+x");

        for word in words.iter().filter(|word| !word.starts_with(['-', '+'])) {
            let name = declared_name(word);
            if is_unknown(name) {
                self.process.distrust("which variables the script declares does not follow from the line");
                continue;
            }
            if command != "export" && has('i') {
                self.integers.push(name.to_owned());
            }
            if let Some((before, value)) = word.split_once('=') {
                // With these the value is written in another way, or names another variable.
                let is_plain = command == "export" || !['l', 'n', 'u'].into_iter().any(has);
                let value = if is_plain { value.to_owned() } else { UNKNOWN.to_string() };
                self.set_variable(name, value, before.ends_with('+'));
            }
            if command == "readonly" || command != "export" && has('r') {
                self.read_only.push(name.to_owned());
            }
            // A program inherits no array.
            if is_exported && !self.arrays.contains_key(name) {
                self.process.export(name);
            }
            if is_taken_back && let Some(variable) = self.process.variables.get_mut(name) {
                variable.exported = false;
            }
        }
    }

    fn unset(&mut self, words: &[String]) {
        let is_function = words.iter().any(|word| word == "-f");
        for name in words.iter().filter(|word| !word.starts_with('-')) {
            if is_function {
                self.functions.remove(name);
            } else if let Some((array, _)) = name.split_once('[') {
                self.arrays.insert(array.to_owned(), Words::unknown());
            } else {
                self.process.unset(name);
                self.arrays.remove(name);
            }
        }
    }

    /// Another file's commands in this shell.
    fn source(&mut self, words: &Words) -> Result<(), LineError> {
        let Some(path) = words.words.first() else { return Ok(()) };
        let text = if is_unknown(path) { None } else { text_of(path) };
        let Some(node) = text.and_then(|text| script(&text).ok()) else {
            self.status = None;
            self.process
                .distrust(&format!("the file {} that the script reads cannot be read here", shown(path)));
            return Ok(());
        };

        let own = words.part(1, usize::MAX);
        let has_own = own.count() != Some(0);
        let before = if has_own { Some(std::mem::replace(&mut self.frame.arguments, own)) } else { None };
        self.part(|shell| shell.node(&node), Flow::past_function)?;
        if let Some(before) = before {
            self.frame.arguments = before;
        }
        Ok(())
    }

    /// Calls a function.
    fn call(&mut self, body: &Node, arguments: Words) -> Result<(), LineError> {
        let outer = self.frame.clone();
        self.frame = Frame { arguments, is_function: true, ..Frame::default() };
        self.part(|shell| shell.node(body), Flow::past_function)?;

        let inner = std::mem::replace(&mut self.frame, outer);
        for Hidden { name, variable, array } in inner.hidden {
            self.process.restore(&name, variable);
            self.arrays.remove(&name);
            self.arrays.extend(array.map(|array| (name, array)));
        }
        Ok(())
    }
}

/// The name in a word of a declaration: `NAME`, `NAME=VALUE`, `NAME+=VALUE`.
fn declared_name(word: &str) -> &str {
    let name = word.split('=').next().unwrap_or_default();
    name.strip_suffix('+').unwrap_or(name)
}

/// The exit code that `return` or `exit` gives; of the last command where they have no number.
fn exit_code(number: Option<&String>, last: Option<u8>) -> Option<u8> {
    match number {
        // The lowest eight bits count.
        Some(number) => number.parse::<i64>().ok().map(|number| number.rem_euclid(256) as u8),
        None => last,
    }
}
