//! Commands one after another, and the ways that a script may go.
//!
//! Where a condition is not known both ways are followed, and what they agree on is known afterwards. A way
//! that leaves a loop or a function waits at its end for the other one. A loop with an unknown number of
//! rounds is followed until one more round makes nothing new unknown.
//!
//! Some 620 lines because all of it is about one state, and what is merged of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Unread;
use super::parse::{Node, script};
use super::pattern::{Pattern, fits};
use super::word::Word;
use super::words::Words;
use crate::error::LineError;
use crate::process::{Process, Variable};
use crate::unknown::{UNKNOWN, is_unknown};

/// Commands that a wrapper runs for one rank: loops of people are short.
const MOST_STEPS: usize = 5_000;

/// Commands in one another: functions may call themselves.
const MOST_DEPTH: usize = 100;

/// Stars of a pattern: each more multiplies what is tried.
const MOST_STARS: usize = 4;

/// Rounds of a loop that are followed until nothing new becomes unknown.
const MOST_ROUNDS: usize = 20;

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
    if shell.started.is_empty() && shell.flow == Flow::Ended && shell.status.is_some_and(|code| code != 0) {
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
        frame: Frame { arguments: arguments.into(), ..Frame::default() },
        arrays: BTreeMap::new(),
        functions: BTreeMap::new(),
        read_only: Vec::new(),
        integers: Vec::new(),
        ends_on_failure: false,
        conditions: 0,
        ignores_case: false,
        status: Some(0),
        steps: 0,
        depth: 0,
        flow: Flow::Next,
        waiting: Vec::new(),
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
            shell.part(|shell| shell.node(&node), Flow::past_script)?;
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
pub(super) enum Flow {
    Next,
    /// Out of so many loops.
    Break(usize),
    /// To the next round of the loop that is so many loops out, from 1.
    Continue(usize),
    Return,
    /// The shell has ended, or has become a program.
    Ended,
}

impl Flow {
    /// Past the end of a loop's round.
    fn past_round(self) -> Self {
        if self == Self::Continue(1) { Self::Next } else { self }
    }

    /// Past the end of a loop.
    fn past_loop(self) -> Self {
        match self {
            Self::Break(1) => Self::Next,
            Self::Break(loops) => Self::Break(loops - 1),
            Self::Continue(loops) => Self::Continue(loops - 1),
            other => other,
        }
    }

    /// Past the end of a function or of a file that `source` reads.
    pub(super) fn past_function(self) -> Self {
        if self == Self::Return { Self::Next } else { self }
    }

    /// Past the end of a script.
    fn past_script(self) -> Self {
        if self == Self::Ended { self } else { Self::Next }
    }
}

/// A variable and an array of this name, as they were before a function made the name its own.
#[derive(Clone)]
pub(super) struct Hidden {
    pub name: String,
    pub variable: Option<Variable>,
    pub array: Option<Words>,
}

/// What belongs to one call of a function, or to the script itself.
#[derive(Clone, Default)]
pub(super) struct Frame {
    pub arguments: Words,
    /// How many loops stand around a command here.
    pub loops: usize,
    pub is_function: bool,
    /// What `local` hides until the function ends.
    pub hidden: Vec<Hidden>,
}

impl Frame {
    /// Keeps what both ways hide; of a name that one way hides it is not known what it is afterwards.
    fn agree_on_hidden(&mut self, others: Vec<Hidden>) {
        let is_in = |all: &[Hidden], one: &Hidden| all.iter().any(|known| known.name == one.name);
        let (both, mut alone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.hidden).into_iter().partition(|one| is_in(&others, one));
        alone.extend(others.into_iter().filter(|one| !is_in(&both, one)));

        for one in &mut alone {
            let exported = one.variable.as_ref().is_some_and(|variable| variable.exported);
            one.variable = Some(Variable { value: UNKNOWN.to_string(), exported });
            one.array = one.array.as_ref().map(|_| Words::unknown());
        }
        self.hidden = both;
        self.hidden.extend(alone);
    }
}

/// A shell with what it knows.
#[derive(Clone)]
pub(super) struct Shell<'t> {
    pub(super) name: String,
    pub(super) frame: Frame,
    pub(super) arrays: BTreeMap<String, Words>,
    /// `None` for a function whose commands depend on the way that the script went.
    pub(super) functions: BTreeMap<String, Option<Rc<Node>>>,
    /// Variables that cannot be assigned any more.
    pub(super) read_only: Vec<String>,
    /// Variables whose values are worked out (`declare -i`).
    pub(super) integers: Vec<String>,
    /// Whether a command that fails ends the shell (`set -e`).
    pub(super) ends_on_failure: bool,
    /// How many conditions a command stands in: there it may fail.
    conditions: usize,
    /// Whether patterns fit letters of either case (`shopt -s nocasematch`).
    pub(super) ignores_case: bool,
    /// The last command's exit code, 0 for success; `None` where it is not known.
    pub(super) status: Option<u8>,
    steps: usize,
    /// How deep functions, scripts and groups stand in each other.
    depth: usize,
    pub(super) flow: Flow,
    /// Ways that may have been taken and left this part of the script by `break`, `continue` or `return`:
    /// each goes on where the part ends. At most one of each kind.
    waiting: Vec<Self>,
    /// The programs that it started, each as a process of this rank.
    pub(super) started: Vec<Process<'t>>,
    pub(super) process: Process<'t>,
    pub(super) follow: Follow,
}

/// The exit code of a condition.
pub(super) fn code(holds: bool) -> u8 {
    u8::from(!holds)
}

impl<'t> Shell<'t> {
    pub(super) fn node(&mut self, node: &Node) -> Result<(), LineError> {
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

        let is_command =
            matches!(node, Node::Simple(_) | Node::Test(_) | Node::Arithmetic(_) | Node::Subshell(_));
        let has_failed = is_command && self.status.is_some_and(|code| code != 0);
        if has_failed && self.ends_on_failure && self.conditions == 0 && self.flow == Flow::Next {
            self.flow = Flow::Ended;
        }
        Ok(())
    }

    /// A command that may fail: others ask for its exit code.
    fn condition(&mut self, node: &Node) -> Result<(), LineError> {
        self.conditions += 1;
        self.node(node)?;
        self.conditions -= 1;
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
                self.condition(inner)?;
                self.status = self.status.map(|status| code(status != 0));
            }
            Node::If { branches, otherwise } => self.conditional(branches, otherwise.as_deref())?,
            Node::Case { subject, arms } => {
                let subject = self.text(subject)?;
                self.case(&subject, arms)?;
            }
            Node::For { name, words, body } => {
                let items = match words {
                    Some(words) => self.all_split(words)?,
                    None => self.frame.arguments.clone(),
                };
                self.repeat(|shell| shell.rounds_over(name, &items, body))?;
            }
            Node::ForArithmetic { parts, body } => {
                self.repeat(|shell| shell.counted_rounds(parts, body))?;
            }
            Node::While { until, condition, body } => {
                self.repeat(|shell| shell.rounds_while(!until, condition, body))?;
            }
            Node::Subshell(body) => self.subshell(body)?,
            Node::Background(body) => {
                self.subshell(body)?;
                self.status = Some(0);
            }
            Node::Function { name, body } => {
                self.functions.insert(name.clone(), Some(Rc::new((**body).clone())));
                self.status = Some(0);
            }
            Node::Arithmetic(text) => {
                self.status = self.arithmetic(text)?.parse::<i64>().ok().map(|value| code(value != 0));
            }
            Node::Test(words) => {
                let before = self.process.foreign.clone();
                let operands = words.iter().map(|word| self.operand(word)).collect::<Result<Vec<_>, _>>()?;
                self.process.foreign = before;
                self.status = self.holds(operands, true).map(code);
            }
        }
        Ok(())
    }

    fn subshell(&mut self, body: &Node) -> Result<(), LineError> {
        let mut inner = Self { waiting: Vec::new(), ..self.clone() };
        inner.part(|shell| shell.node(body), Flow::past_script)?;
        (self.started, self.steps, self.status) = (inner.started, inner.steps, inner.status);
        Ok(())
    }

    /// A part of the script, behind which ways go on that left it: `past` says where they are then.
    pub(super) fn part(
        &mut self,
        commands: impl FnOnce(&mut Self) -> Result<(), LineError>,
        past: fn(Flow) -> Flow,
    ) -> Result<(), LineError> {
        let further_out = std::mem::take(&mut self.waiting);
        let (depth, conditions, loops) = (self.depth, self.conditions, self.frame.loops);
        commands(self)?;

        self.flow = past(self.flow);
        for mut way in std::mem::take(&mut self.waiting) {
            way.flow = past(way.flow);
            self.merge(way);
        }
        // A way that left from deeper inside goes on here.
        (self.depth, self.conditions, self.frame.loops) = (depth, conditions, loops);
        further_out.into_iter().for_each(|way| self.let_wait(way));
        Ok(())
    }

    /// All rounds of a loop.
    fn repeat(&mut self, rounds: impl FnOnce(&mut Self) -> Result<(), LineError>) -> Result<(), LineError> {
        self.status = Some(0);
        self.frame.loops += 1;
        self.part(rounds, Flow::past_loop)?;
        self.frame.loops -= 1;
        Ok(())
    }

    /// One round of a loop.
    fn round(&mut self, body: &Node) -> Result<(), LineError> {
        self.part(|shell| shell.node(body), Flow::past_round)
    }

    /// Whether a loop may have another round.
    fn goes_on(&self) -> bool {
        self.flow == Flow::Next && self.steps < MOST_STEPS
    }

    fn rounds_over(&mut self, name: &str, items: &Words, body: &Node) -> Result<(), LineError> {
        for (at, item) in items.words.iter().enumerate() {
            if !self.goes_on() {
                return Ok(());
            }
            if items.is_open_at(at) {
                return self.any_rounds(&|shell| {
                    shell.process.set(name, UNKNOWN.to_string());
                    shell.round(body)
                });
            }
            self.process.set(name, item.clone());
            self.round(body)?;
        }
        Ok(())
    }

    fn counted_rounds(&mut self, parts: &[String; 3], body: &Node) -> Result<(), LineError> {
        let [first, condition, step] = parts;
        // None is one that always holds.
        let condition = if condition.is_empty() { "1" } else { condition };
        self.arithmetic(first)?;

        while self.goes_on() {
            match self.arithmetic(condition)?.parse::<i64>() {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(_) => {
                    return self.any_rounds(&|shell| {
                        shell.round(body)?;
                        shell.arithmetic(step)?;
                        shell.arithmetic(condition).map(drop)
                    });
                }
            }
            self.round(body)?;
            self.arithmetic(step)?;
        }
        Ok(())
    }

    fn rounds_while(&mut self, wanted: bool, condition: &Node, body: &Node) -> Result<(), LineError> {
        let mut status = Some(0);

        while self.goes_on() {
            self.condition(condition)?;
            match self.status {
                Some(code) if (code == 0) != wanted => break,
                Some(_) => {}
                None => {
                    return self.any_rounds(&|shell| {
                        shell.round(body)?;
                        shell.condition(condition)
                    });
                }
            }
            self.round(body)?;
            status = self.status;
        }

        // A loop's exit code is that of its last round, and not of the condition.
        if self.flow == Flow::Next {
            self.status = status;
        }
        Ok(())
    }

    /// Rounds of unknown number: what holds afterwards holds after none of them and after each.
    fn any_rounds(&mut self, round: &dyn Fn(&mut Self) -> Result<(), LineError>) -> Result<(), LineError> {
        for _ in 0..MOST_ROUNDS {
            let before = self.clone();
            self.either(|shell| round(shell), |_| Ok(()))?;
            self.status = None;
            if self.knows_as_much_as(&before) {
                return Ok(());
            }
        }
        self.lost("how often a loop runs is not known")
    }

    /// Whether this shell and an earlier state of it agree on all that matters to commands.
    fn knows_as_much_as(&self, before: &Self) -> bool {
        self.process == before.process
            && self.process.variables == before.process.variables
            && self.process.absent == before.process.absent
            && self.process.unset == before.process.unset
            && self.arrays == before.arrays
            && self.frame.arguments == before.frame.arguments
            && self.functions == before.functions
            && self.read_only == before.read_only
            && self.ignores_case == before.ignores_case
            && self.started == before.started
    }

    fn list(&mut self, list: &[(Option<bool>, Node)]) -> Result<(), LineError> {
        for (at, (joint, node)) in list.iter().enumerate() {
            let is_asked = list.get(at + 1).is_some_and(|(joint, _)| joint.is_some());
            let follow = |shell: &mut Self| if is_asked { shell.condition(node) } else { shell.node(node) };

            match (joint, self.status) {
                (Some(wanted), Some(status)) if *wanted != (status == 0) => {}
                (Some(_), None) if self.flow == Flow::Next => self.either(follow, |_| Ok(()))?,
                _ => follow(self)?,
            }
        }
        Ok(())
    }

    fn conditional(&mut self, branches: &[(Node, Node)], otherwise: Option<&Node>) -> Result<(), LineError> {
        let Some(((condition, then), rest)) = branches.split_first() else {
            self.status = Some(0);
            return otherwise.map_or(Ok(()), |node| self.node(node));
        };
        self.condition(condition)?;
        match self.status {
            Some(0) => self.node(then),
            Some(_) => self.conditional(rest, otherwise),
            None => self.either(|shell| shell.node(then), |other| other.conditional(rest, otherwise)),
        }
    }

    fn case(&mut self, subject: &str, arms: &[(Vec<Word>, Node)]) -> Result<(), LineError> {
        let subject = if self.ignores_case { &subject.to_ascii_lowercase() } else { subject };
        let letters: Vec<char> = subject.chars().collect();
        for (at, (patterns, body)) in arms.iter().enumerate() {
            let mut patterns: Vec<Pattern> =
                patterns.iter().map(|word| self.pattern(word)).collect::<Result<_, _>>()?;
            if self.ignores_case {
                patterns.iter_mut().flatten().for_each(|(c, _)| c.make_ascii_lowercase());
            }
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

        self.status = Some(0);
        Ok(())
    }

    /// Goes one of two ways, of which nobody knows which is the real one.
    fn either(
        &mut self,
        one: impl FnOnce(&mut Self) -> Result<(), LineError>,
        another: impl FnOnce(&mut Self) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        let further_out = std::mem::take(&mut self.waiting);
        let mut other = self.clone();
        another(&mut other)?;
        // Both count: what either takes is taken.
        self.steps = self.steps.max(other.steps);
        one(self)?;
        self.merge(other);
        further_out.into_iter().for_each(|way| self.let_wait(way));
        Ok(())
    }

    /// Both may be: what they agree on is known. One that left this part of the script waits at its end.
    fn merge(&mut self, mut other: Self) {
        self.steps = self.steps.max(other.steps);
        for process in std::mem::take(&mut other.started) {
            if !self.started.contains(&process) {
                self.started.push(process);
            }
        }
        let waiting = std::mem::take(&mut other.waiting);

        match (self.flow, other.flow) {
            (_, Flow::Ended) => {}
            (Flow::Ended, _) => self.become_other(other),
            (own, others) if own == others => self.agree(other),
            (_, Flow::Next) => {
                let left = Self { waiting: Vec::new(), started: Vec::new(), ..self.clone() };
                self.become_other(other);
                self.let_wait(left);
            }
            _ => self.let_wait(other),
        }
        waiting.into_iter().for_each(|way| self.let_wait(way));
    }

    /// Goes on as the other way, with the programs and the waiting ways of both.
    fn become_other(&mut self, other: Self) {
        let started = std::mem::take(&mut self.started);
        let waiting = std::mem::take(&mut self.waiting);
        *self = Self { started, waiting, steps: self.steps, ..other };
    }

    /// Keeps a way that left for the end of this part of the script.
    fn let_wait(&mut self, way: Self) {
        match self.waiting.iter_mut().find(|known| known.flow == way.flow) {
            Some(known) => known.agree(way),
            None => self.waiting.push(way),
        }
    }

    /// Keeps what both ways agree on.
    fn agree(&mut self, other: Self) {
        self.status = self.status.filter(|status| other.status == Some(*status));
        self.ignores_case |= other.ignores_case;
        self.ends_on_failure &= other.ends_on_failure;

        for (name, items) in &mut self.arrays {
            items.merge(other.arrays.get(name).unwrap_or(&Words::default()));
        }
        for name in other.arrays.into_keys() {
            self.arrays.entry(name).or_insert_with(Words::unknown);
        }
        for (name, body) in &mut self.functions {
            if other.functions.get(name) != Some(body) {
                *body = None;
            }
        }
        for name in other.functions.into_keys() {
            self.functions.entry(name).or_default();
        }
        self.read_only.extend(other.read_only);
        self.read_only.sort();
        self.read_only.dedup();

        self.frame.arguments.merge(&other.frame.arguments);
        self.frame.agree_on_hidden(other.frame.hidden);
        self.process.merge(other.process);
    }

    /// What the script does from here on is not known: nothing of what it sets is.
    pub(super) fn lost(&mut self, why: &str) -> Result<(), LineError> {
        let what = format!("the script {} is not followed to its end: {why}", self.name);
        self.process.lose(&what);
        self.arrays.clear();
        self.status = None;
        Ok(())
    }
}
