//! Commands one after another: what they set, and what they would start.
//!
//! Some 650 lines because a shell's commands change one state, and each is short.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Unread;
use super::condition::holds;
use super::parse::{Node, Simple, script};
use super::pattern::{Pattern, fits};
use super::word::{Assignment, AssignmentValue, Word};
use crate::error::LineError;
use crate::grammar::is_among;
use crate::process::{Process, text_of};
use crate::taskset;
use crate::unknown::{OWN_PID, UNKNOWN, is_unknown};

/// Commands that a wrapper runs for one rank: loops of people are short.
const MOST_STEPS: usize = 5_000;

/// Commands in one another: functions may call themselves.
const MOST_DEPTH: usize = 100;

/// Stars of a pattern: each more multiplies what is tried.
const MOST_STARS: usize = 4;

/// What follows a program that the script starts.
pub(crate) type Follow = for<'t> fn(Process<'t>, &[&str]) -> Result<Vec<Process<'t>>, LineError>;

/// Follows a script, `name` by its file's or `sh`, for this process; the programs that the process may
/// become: the shell itself where it starts none.
///
/// # Errors
/// [`LineError`]: a command of it that is wrong in itself, or it gives up.
pub(crate) fn run<'t>(
    text: &str,
    name: &str,
    arguments: Vec<String>,
    process: Process<'t>,
    follow: Follow,
) -> Result<Vec<Process<'t>>, LineError> {
    let shell = followed(text, name, arguments, process, follow)?;
    if shell.started.is_empty() && shell.flow == Flow::Ended && shell.status == Some(false) {
        return Err(LineError::NotSaid(format!(
            "the script {name} ends before it starts a program for some rank"
        )));
    }
    Ok(if shell.started.is_empty() { vec![shell.process] } else { shell.started })
}

/// The programs that these commands start.
///
/// # Errors
/// [`LineError`]: a command that is wrong in itself.
pub(crate) fn started<'t>(
    text: &str,
    name: &str,
    process: Process<'t>,
    follow: Follow,
) -> Result<Vec<Process<'t>>, LineError> {
    Ok(followed(text, name, Vec::new(), process, follow)?.started)
}

thread_local! {
    /// The script that was read last: every rank of a launch runs the same one, and with hundreds of ranks it
    /// has hundreds of lines.
    static LAST: RefCell<Option<(String, Rc<Node>)>> = const { RefCell::new(None) };
}

/// The script's commands.
fn read(text: &str) -> Result<Rc<Node>, Unread> {
    let last =
        LAST.with_borrow(|last| last.as_ref().filter(|last| last.0 == text).map(|last| Rc::clone(&last.1)));
    if let Some(node) = last {
        return Ok(node);
    }
    let node = Rc::new(script(text)?);
    LAST.set(Some((text.to_owned(), Rc::clone(&node))));
    Ok(node)
}

/// The shell at the end of the script.
fn followed<'t>(
    text: &str,
    name: &str,
    arguments: Vec<String>,
    process: Process<'t>,
    follow: Follow,
) -> Result<Shell<'t>, LineError> {
    let mut shell = Shell {
        name: name.to_owned(),
        arguments,
        arrays: BTreeMap::new(),
        functions: BTreeMap::new(),
        status: Some(true),
        steps: 0,
        depth: 0,
        flow: Flow::Next,
        started: Vec::new(),
        process,
        follow,
    };

    let unread = |shell: &mut Shell<'t>, what: &str| {
        shell.process.lose(&format!("the script {name} is not read to its end: {what}"));
        shell.started = vec![shell.process.clone()];
    };

    match read(text) {
        Ok(node) => {
            shell.node(&node)?;
            if shell.steps >= MOST_STEPS {
                unread(&mut shell, "it takes too many steps");
            }
        }
        Err(error) => unread(&mut shell, &error.what),
    }
    Ok(shell)
}

/// Where a command leaves the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return,
    /// The shell has ended, or has become a program.
    Ended,
}

/// A shell with what it knows.
#[derive(Clone)]
pub(super) struct Shell<'t> {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) arrays: BTreeMap<String, Vec<String>>,
    functions: BTreeMap<String, Rc<Node>>,
    /// Whether the last command was well; `None` where that is not known.
    pub(super) status: Option<bool>,
    steps: usize,
    /// How deep functions, scripts and groups stand in each other.
    depth: usize,
    flow: Flow,
    /// The programs that it started, each as a process of this rank.
    started: Vec<Process<'t>>,
    pub(super) process: Process<'t>,
    follow: Follow,
}

impl<'t> Shell<'t> {
    fn node(&mut self, node: &Node) -> Result<(), LineError> {
        if self.steps >= MOST_STEPS || self.flow != Flow::Next {
            return Ok(());
        }
        self.steps += 1;
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            self.steps = MOST_STEPS;
            return Ok(());
        }
        self.step(node)?;
        self.depth -= 1;
        Ok(())
    }

    fn step(&mut self, node: &Node) -> Result<(), LineError> {
        match node {
            Node::Simple(simple) => self.simple(simple)?,
            Node::List(list) => self.list(list)?,
            Node::Pipe(parts) => {
                for part in parts {
                    let mut inner = self.clone();
                    inner.node(part)?;
                    (self.started, self.steps) = (inner.started, inner.steps);
                }
                self.status = None;
            }
            Node::Not(inner) => {
                self.node(inner)?;
                self.status = self.status.map(|status| !status);
            }
            Node::If { branches, otherwise } => self.conditional(branches, otherwise.as_deref())?,
            Node::Case { subject, arms } => {
                let subject = self.text(subject)?;
                self.case(&subject, arms)?;
            }
            Node::For { name, words, body } => {
                let items = match words {
                    Some(words) => self.all_split(words)?,
                    None => self.arguments.clone(),
                };
                for item in items {
                    self.process.set(name, item);
                    if self.round(body)? {
                        break;
                    }
                }
            }
            Node::ForArithmetic { parts: [first, condition, step], body } => {
                self.arithmetic(first)?;
                while self.steps < MOST_STEPS {
                    match self.arithmetic(condition)?.parse::<i64>() {
                        Ok(0) => break,
                        Ok(_) => {}
                        Err(_) => return self.lost("how often a loop runs is not known"),
                    }
                    if self.round(body)? {
                        break;
                    }
                    self.arithmetic(step)?;
                }
            }
            Node::While { until, condition, body } => {
                while self.steps < MOST_STEPS {
                    self.node(condition)?;
                    match self.status {
                        Some(status) if status == *until => break,
                        Some(_) => {}
                        None => return self.lost("how often a loop runs is not known"),
                    }
                    if self.round(body)? {
                        break;
                    }
                }
            }
            Node::Subshell(body) => {
                let mut inner = self.clone();
                inner.node(body)?;
                (self.started, self.steps, self.status) = (inner.started, inner.steps, inner.status);
            }
            Node::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::new((**body).clone()));
            }
            Node::Arithmetic(text) => {
                self.status = self.arithmetic(text)?.parse::<i64>().ok().map(|value| value != 0);
            }
            Node::Test(words) => {
                let before = self.process.foreign.clone();
                let operands = words.iter().map(|word| self.operand(word)).collect::<Result<Vec<_>, _>>()?;
                self.process.foreign = before;
                self.status = holds(&operands, true);
            }
        }
        Ok(())
    }

    /// One round of a loop; true where the loop ends.
    fn round(&mut self, body: &Node) -> Result<bool, LineError> {
        self.node(body)?;
        Ok(match self.flow {
            Flow::Break => {
                self.flow = Flow::Next;
                true
            }
            Flow::Continue => {
                self.flow = Flow::Next;
                false
            }
            Flow::Next => self.steps >= MOST_STEPS,
            Flow::Return | Flow::Ended => true,
        })
    }

    fn list(&mut self, list: &[(Option<bool>, Node)]) -> Result<(), LineError> {
        for (joint, node) in list {
            match (joint, self.status) {
                (Some(wanted), Some(status)) if *wanted != status => {}
                (Some(_), None) if self.flow == Flow::Next => {
                    self.either(|shell| shell.node(node), |_| Ok(()))?
                }
                _ => self.node(node)?,
            }
        }
        Ok(())
    }

    fn conditional(&mut self, branches: &[(Node, Node)], otherwise: Option<&Node>) -> Result<(), LineError> {
        let Some(((condition, then), rest)) = branches.split_first() else {
            self.status = Some(true);
            return otherwise.map_or(Ok(()), |node| self.node(node));
        };
        self.node(condition)?;
        match self.status {
            Some(true) => self.node(then),
            Some(false) => self.conditional(rest, otherwise),
            None => self.either(|shell| shell.node(then), |other| other.conditional(rest, otherwise)),
        }
    }

    fn case(&mut self, subject: &str, arms: &[(Vec<Word>, Node)]) -> Result<(), LineError> {
        let letters: Vec<char> = subject.chars().collect();
        for (at, (patterns, body)) in arms.iter().enumerate() {
            let patterns: Vec<Pattern> =
                patterns.iter().map(|word| self.pattern(word)).collect::<Result<_, _>>()?;
            let is_any = patterns.iter().any(|pattern| pattern.as_slice() == [('*', false)]);
            let doubtful = patterns.iter().any(|pattern| {
                pattern.iter().any(|(c, _)| *c == UNKNOWN)
                    || pattern.iter().filter(|(c, _)| *c == '*').count() > MOST_STARS
            });
            if !is_any && (is_unknown(subject) || doubtful) {
                if arms.len() > MOST_DEPTH {
                    return self.lost("which of many cases applies is not known");
                }
                return self.either(|shell| shell.node(body), |other| other.case(subject, &arms[at + 1..]));
            }
            if is_any || patterns.iter().any(|pattern| fits(pattern, &letters)) {
                return self.node(body);
            }
        }

        self.status = Some(true);
        Ok(())
    }

    /// Goes one of two ways, of which nobody knows which is the real one.
    fn either(
        &mut self,
        one: impl FnOnce(&mut Self) -> Result<(), LineError>,
        another: impl FnOnce(&mut Self) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        let mut other = self.clone();
        another(&mut other)?;
        one(self)?;
        self.merge(other);
        Ok(())
    }

    /// Both may be: what they agree on is known.
    fn merge(&mut self, other: Self) {
        self.steps = self.steps.max(other.steps);
        for process in other.started {
            if !self.started.contains(&process) {
                self.started.push(process);
            }
        }

        match (self.flow == Flow::Ended, other.flow == Flow::Ended) {
            (_, true) => {}
            (true, false) => {
                (self.flow, self.status, self.arguments) = (other.flow, other.status, other.arguments);
                (self.arrays, self.functions, self.process) = (other.arrays, other.functions, other.process);
            }
            (false, false) => {
                self.status = self.status.filter(|status| other.status == Some(*status));
                for (name, items) in &mut self.arrays {
                    if other.arrays.get(name) != Some(items) {
                        *items = vec![UNKNOWN.to_string()];
                    }
                }
                if self.arguments != other.arguments {
                    self.arguments = vec![UNKNOWN.to_string()];
                }
                self.process.merge(other.process);
            }
        }
    }

    fn lost(&mut self, why: &str) -> Result<(), LineError> {
        let what = format!("the script {} is not followed to its end: {why}", self.name);
        self.process.lose(&what);
        Ok(())
    }

    fn simple(&mut self, simple: &Simple) -> Result<(), LineError> {
        let Simple { assignments, words, arrays, input } = simple;
        let before = self.process.foreign.clone();
        let all = self.all_split(words)?;
        // Whether a launcher set a variable is what a condition may ask.
        if all.first().is_some_and(|name| matches!(name.as_str(), "[" | "test")) {
            self.process.foreign = before;
        }
        if all.is_empty() {
            self.status = Some(true);
            return assignments.iter().try_for_each(|one| self.assign(one, false));
        }
        arrays.iter().try_for_each(|one| self.assign(one, false))?;
        let input = input.as_ref().map(|word| self.text(word)).transpose()?;
        if assignments.is_empty() {
            return self.command(&all, input.as_deref());
        }

        // They are the command's alone.
        let before = self.process.variables.clone();
        assignments.iter().try_for_each(|one| self.assign(one, true))?;
        if all[0] == "read" {
            // What it reads is the shell's own.
            let separators = self.separators();
            self.process.variables = before;
            self.read_words(&all[1..], input.as_deref(), &separators);
            return Ok(());
        }
        self.command(&all, input.as_deref())?;
        self.process.variables = before;
        Ok(())
    }

    fn assign(&mut self, assignment: &Assignment, exported: bool) -> Result<(), LineError> {
        let name = &assignment.name;
        match (&assignment.value, &assignment.index) {
            (AssignmentValue::Array(words), _) => {
                let added = self.all_split(words)?;
                let items = self.arrays.entry(name.clone()).or_default();
                if !assignment.append {
                    items.clear();
                }
                items.extend(added);
            }
            (AssignmentValue::Word(word), Some(index)) => {
                let value = self.text(word)?;
                let at = self.arithmetic(index)?.parse::<usize>().ok();
                self.set_item(name, at, value);
            }
            (AssignmentValue::Word(word), None) => {
                let value = self.text(word)?;
                let before = if assignment.append {
                    self.process.variable(name).unwrap_or_default()
                } else {
                    String::new()
                };
                self.process.set(name, before + &value);
            }
        }

        if exported {
            self.process.export(name);
        }
        Ok(())
    }

    /// Gives an array's item a value; where it is not known which item, the array is not known.
    pub(super) fn set_item(&mut self, name: &str, at: Option<usize>, value: String) {
        let items = self.arrays.entry(name.to_owned()).or_default();
        match at.filter(|at| *at < 10_000) {
            Some(at) => {
                items.resize(items.len().max(at + 1), String::new());
                items[at] = value;
            }
            None => *items = vec![UNKNOWN.to_string()],
        }
    }

    /// A command of the shell, a function, or a program.
    fn command(&mut self, words: &[String], input: Option<&str>) -> Result<(), LineError> {
        let Some((name, rest)) = words.split_first() else { return Ok(()) };
        self.status = Some(true);
        let operand = |text: &String| super::condition::Operand {
            text: text.clone(),
            pattern: text.chars().map(|c| (c, true)).collect(),
        };

        match name.as_str() {
            ":" | "true" | "echo" | "printf" | "cd" | "pushd" | "popd" | "set" | "shopt" | "trap"
            | "umask" | "ulimit" | "wait" | "alias" | "hash" | "module" | "ml" | "sleep" | "mkdir"
            | "type" => {
                self.set_arguments(name, rest);
            }
            "false" => self.status = Some(false),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(name, rest),
            "unset" => {
                for name in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.process.unset(name);
                    self.arrays.remove(name);
                }
            }
            "shift" => {
                let count = rest.first().map_or(Some(1), |count| count.parse().ok()).unwrap_or(0);
                self.arguments.drain(..usize::min(count, self.arguments.len()));
            }
            "let" => {
                for text in rest {
                    self.status = self.arithmetic(text)?.parse::<i64>().ok().map(|value| value != 0);
                }
            }
            "[" | "test" => {
                let inside = rest.strip_suffix(&["]".to_owned()]).unwrap_or(rest);
                self.status = holds(&inside.iter().map(operand).collect::<Vec<_>>(), false);
            }
            // A tool that the script asks for is taken to be there.
            "command" | "which"
                if rest.first().is_none_or(|word| name == "which" || word == "-v" || word == "-V") =>
            {
                let tools = ["numactl", "taskset"];
                self.status = rest.last().filter(|tool| tools.contains(&tool.as_str())).map(|_| true);
            }
            "command" | "builtin" => return self.command(rest, input),
            "eval" => {
                let text = rest.join(" ");
                return match script(&text) {
                    Ok(node) if !is_unknown(&text) => self.node(&node),
                    _ => self.lost("what eval gets is not known"),
                };
            }
            "source" | "." => self.source(rest)?,
            "read" => {
                let separators = self.separators();
                self.read_words(rest, input, &separators);
            }
            "mapfile" | "readarray" => self.read_words(rest, None, ""),
            "break" => self.flow = Flow::Break,
            "continue" => self.flow = Flow::Continue,
            "return" => self.flow = Flow::Return,
            "exit" => {
                self.status = rest.first().map_or(self.status, |code| Some(code == "0"));
                self.flow = Flow::Ended;
            }
            "exec" if rest.is_empty() => {}
            "exec" => {
                self.program(rest)?;
                self.flow = Flow::Ended;
            }
            name => match self.functions.get(name).map(Rc::clone) {
                Some(body) => self.called(&body, rest.to_vec())?,
                None => self.program(words)?,
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
        self.status = line.map(|_| true);
        let is_separator = |c: char| separators.contains(c);
        let mut rest = line;

        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            self.arrays.remove(*name);
            match rest {
                None => self.process.set(name, UNKNOWN.to_string()),
                Some(text) if is_array => {
                    let items = text.split(is_separator).filter(|item| !item.is_empty()).map(str::to_owned);
                    self.arrays.insert((*name).clone(), items.collect());
                }
                Some(text) if is_last => self.process.set(name, text.trim_matches(is_separator).to_owned()),
                Some(text) => {
                    let text = text.trim_start_matches(is_separator);
                    let (first, behind) = text.split_once(is_separator).unwrap_or((text, ""));
                    self.process.set(name, first.to_owned());
                    rest = Some(behind);
                }
            }
        }
    }

    /// `set -- a b`.
    fn set_arguments(&mut self, name: &str, words: &[String]) {
        if let ("set", Some(at)) = (name, words.iter().position(|word| word == "--")) {
            self.arguments = words[at + 1..].to_vec();
        }
    }

    /// `export NAME=VALUE`.
    fn declare(&mut self, command: &str, words: &[String]) {
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if let Some(value) = value {
                self.process.set(name, value.to_owned());
            }
            // A program inherits no array.
            let is_exported = command == "export" || words.iter().any(|word| word == "-x");
            if is_exported && !self.arrays.contains_key(name) {
                self.process.export(name);
            }
        }
    }

    /// Another file's commands in this shell.
    fn source(&mut self, words: &[String]) -> Result<(), LineError> {
        let Some((path, rest)) = words.split_first() else { return Ok(()) };
        let text = if is_unknown(path) { None } else { text_of(path) };

        match text.and_then(|text| script(&text).ok()) {
            Some(node) if rest.is_empty() => {
                self.node(&node)?;
                self.returned();
                Ok(())
            }
            Some(node) => self.called(&node, rest.to_vec()),
            None => {
                self.status = None;
                self.process
                    .distrust(&format!("the file {} that the script reads cannot be read here", shown(path)));
                Ok(())
            }
        }
    }

    /// Commands with arguments of their own.
    fn called(&mut self, body: &Node, arguments: Vec<String>) -> Result<(), LineError> {
        let before = std::mem::replace(&mut self.arguments, arguments);
        self.node(body)?;
        self.arguments = before;
        self.returned();
        Ok(())
    }

    /// Where `return` ends: the function or the file.
    fn returned(&mut self) {
        if self.flow == Flow::Return {
            self.flow = Flow::Next;
        }
    }

    /// A program in a process of its own, or in the shell's place.
    fn program(&mut self, words: &[String]) -> Result<(), LineError> {
        self.status = None;
        let name = words[0].rsplit('/').next().unwrap_or_default();
        if name == "taskset" && words.iter().any(|word| word.starts_with(OWN_PID)) {
            return taskset::moved(&mut self.process, &words[1..]);
        }
        if is_neutral(name, words) {
            return Ok(());
        }
        let inner = self.process.clone().child();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();

        for process in (self.follow)(inner, &words)? {
            if !self.started.contains(&process) {
                self.started.push(process);
            }
        }
        Ok(())
    }
}

/// A path as a sentence has it.
fn shown(path: &str) -> String {
    path.replace(UNKNOWN, "…")
}

/// Programs that look and tell, and place nothing.
const NEUTRAL: &str = "tee grep sed awk cat head tail sort cut tr wc date hostname uname ls pwd rm cp mv ln \
    touch chmod id whoami env printenv nproc lscpu lstopo lstopo-no-graphics hwloc-ls nvidia-smi rocm-smi \
    amd-smi xpu-smi rocminfo nvidia-cuda-mps-control scontrol sinfo conda mamba free df find basename \
    dirname sync expr seq stat readlink realpath";

/// Programs that look and tell: they are not what the rank is for.
pub(crate) fn is_neutral(name: &str, words: &[String]) -> bool {
    let is = |option: &str| words.iter().any(|word| word == option);
    match name {
        "numactl" => ["-s", "--show", "-H", "--hardware", "-v", "--version"].iter().any(|option| is(option)),
        // -p or --pid, alone or among other letters: not the p of --cpu-list.
        "taskset" => words
            .iter()
            .skip(1)
            .take_while(|word| word.starts_with('-'))
            .any(|word| word.starts_with("--pid") || (!word.starts_with("--") && word.contains('p'))),
        _ => is_among(NEUTRAL, name) && (name != "env" || words.len() == 1),
    }
}
