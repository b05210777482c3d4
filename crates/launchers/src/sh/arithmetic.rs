//! `$((…))` and `((…))`: integers, variables, and C's operators as bash has them.
//!
//! A value that is not known makes what follows from it unknown. Parts that bash does not evaluate (the other
//! branch of `?:`, the right side of `&&` and `||`) are read and change nothing; where it is not known
//! whether bash evaluates one, the variables that it assigns are unknown afterwards. Of a text that cannot be
//! read, so are all variables that it names.
//!
//! Some 450 lines because it is one grammar, from the comma down to numbers.

/// What an expression asks of the shell.
pub(super) trait Variables {
    /// A variable's number; 0 where it is not set, `None` where it is not known.
    fn number(&self, target: &Target) -> Option<i64>;
    /// Gives it one.
    fn assign(&mut self, target: &Target, value: Option<i64>);
    /// All of it is not known any more.
    fn lose(&mut self, name: &str);
}

/// What an expression reads or assigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub name: String,
    /// The index behind the name, where there is one; `Some(None)`: one that is not known.
    pub index: Option<Option<i64>>,
}

/// The value; `None` where it is not known, or the text is no expression.
pub(super) fn value(text: &str, variables: &mut dyn Variables) -> Option<i64> {
    let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0, runs: Runs::Yes, variables };
    match reader.whole() {
        Ok(value) => value,
        Err(Unread) => {
            names(text).for_each(|name| variables.lose(name));
            None
        }
    }
}

/// All names of a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_of_name(c))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// The text is no expression, or one that bash refuses.
struct Unread;

/// A number; `None` where it is not known.
type Read = Result<Option<i64>, Unread>;

/// Whether bash evaluates a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Yes,
    No,
    Maybe,
}

impl Runs {
    /// Of a part inside of this one that counts where the condition holds.
    fn inside(self, condition: Option<bool>) -> Self {
        match (self, condition) {
            (Self::No, _) | (_, Some(false)) => Self::No,
            (_, None) => Self::Maybe,
            (outer, Some(true)) => outer,
        }
    }
}

struct Reader<'r> {
    text: &'r [u8],
    at: usize,
    depth: usize,
    runs: Runs,
    variables: &'r mut dyn Variables,
}

/// How deep parts of an expression stand in each other at most.
const MOST_DEPTH: usize = 50;

/// Binary operators from the loosest to the tightest (bash(1), ARITHMETIC EVALUATION).
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Operators that assign.
const ASSIGNS: [&str; 11] = ["=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="];

impl Reader<'_> {
    fn whole(&mut self) -> Read {
        let value = self.comma()?;
        self.blanks();
        if self.at == self.text.len() { Ok(value) } else { Err(Unread) }
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, what: &str) -> bool {
        self.blanks();
        let is = self.rest().starts_with(what.as_bytes());
        self.at += if is { what.len() } else { 0 };
        is
    }

    fn expect(&mut self, what: &str) -> Result<(), Unread> {
        if self.take(what) { Ok(()) } else { Err(Unread) }
    }

    /// A part of an expression inside of another one.
    fn inner(&mut self, part: impl FnOnce(&mut Self) -> Read) -> Read {
        self.depth += 1;
        let value = if self.depth > MOST_DEPTH { Err(Unread) } else { part(self) };
        self.depth -= 1;
        value
    }

    /// A part that bash evaluates as this says.
    fn running(&mut self, runs: Runs, part: impl FnOnce(&mut Self) -> Read) -> Read {
        let outer = std::mem::replace(&mut self.runs, runs);
        let value = part(self);
        self.runs = outer;
        value
    }

    fn assign(&mut self, target: &Target, value: Option<i64>) {
        match self.runs {
            Runs::Yes => self.variables.assign(target, value),
            Runs::Maybe => self.variables.assign(target, None),
            Runs::No => {}
        }
    }

    /// `a, b`: the last one.
    fn comma(&mut self) -> Read {
        let mut value = self.assignment()?;
        while self.take(",") {
            value = self.assignment()?;
        }
        Ok(value)
    }

    fn assignment(&mut self) -> Read {
        self.inner(|reader| {
            let Some(operator) = reader.coming_assignment() else { return reader.ternary() };
            let target = reader.target()?;
            reader.expect(operator)?;
            let right = reader.assignment()?;

            let value = match operator.strip_suffix('=').filter(|operator| !operator.is_empty()) {
                Some(operator) => reader.applied(operator, reader.variables.number(&target), right)?,
                None => right,
            };
            reader.assign(&target, value);
            Ok(value)
        })
    }

    /// The operator that assigns to the variable that comes next, if one does.
    fn coming_assignment(&mut self) -> Option<&'static str> {
        let from = self.at;
        let found = self.name().and_then(|_| {
            self.skip_index()?;
            self.blanks();
            let rest = self.rest();
            let is_next = |operator: &&&str| rest.starts_with(operator.as_bytes());
            ASSIGNS.iter().find(is_next).filter(|_| !rest.starts_with(b"==")).copied()
        });
        self.at = from;
        found
    }

    /// Goes past `[…]`, if that comes; `None` where it does not end.
    fn skip_index(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        for (length, byte) in self.rest().iter().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' if depth > 0 => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at += if length == 0 { 0 } else { length + 1 };
                return Some(());
            }
        }
        (depth == 0).then_some(())
    }

    fn ternary(&mut self) -> Read {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }

        let holds = condition.map(|condition| condition != 0);
        let first = self.running(self.runs.inside(holds), Self::comma)?;
        self.expect(":")?;
        let not = holds.map(|holds| !holds);
        let second = self.running(self.runs.inside(not), |reader| reader.inner(Self::ternary))?;

        Ok(match holds {
            Some(true) => first,
            Some(false) => second,
            None => first.filter(|_| first == second),
        })
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.blanks();
        let rest = self.rest();
        let found = LEVELS[level].iter().find(|operator| rest.starts_with(operator.as_bytes()))?;
        let behind = rest.get(found.len()).copied();
        // `a || b` begins with `|`, `a << b` with `<`, and `a += b` assigns.
        let is_longer = matches!(
            (*found, behind),
            ("|", Some(b'|')) | ("&", Some(b'&')) | ("<", Some(b'<')) | (">", Some(b'>')) | ("*", Some(b'*'))
        ) || (behind == Some(b'=')
            && matches!(*found, "+" | "-" | "*" | "/" | "%" | "|" | "^" | "&" | "<<" | ">>"));
        if is_longer {
            return None;
        }
        self.at += found.len();
        Some(found)
    }

    fn level(&mut self, level: usize) -> Read {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(level) {
            left = match operator {
                "&&" | "||" => self.logical(operator, left, level)?,
                _ => {
                    let right = self.level(level + 1)?;
                    self.applied(operator, left, right)?
                }
            };
        }
        Ok(left)
    }

    /// `a && b`, `a || b`: the right side counts where the left one leaves it open.
    fn logical(&mut self, operator: &str, left: Option<i64>, level: usize) -> Read {
        let decides = operator == "||";
        let is_open = left.map(|left| (left != 0) != decides);
        let right = self.running(self.runs.inside(is_open), |reader| reader.level(level + 1))?;
        let right = right.map(|right| right != 0);

        let value = match is_open {
            Some(false) => Some(decides),
            Some(true) => right,
            None => right.filter(|right| *right == decides),
        };
        Ok(value.map(i64::from))
    }

    fn power(&mut self) -> Read {
        self.inner(|reader| {
            let base = reader.unary()?;
            if !reader.take("**") {
                return Ok(base);
            }
            let exponent = reader.power()?;
            reader.applied("**", base, exponent)
        })
    }

    fn unary(&mut self) -> Read {
        self.inner(|reader| {
            for (sign, by) in [("++", 1), ("--", -1)] {
                let from = reader.at;
                if reader.take(sign) && reader.is_at_name() {
                    return reader.step(by);
                }
                // `++5` is two signs.
                reader.at = from;
            }

            reader.blanks();
            if reader.rest().starts_with(b"!=") {
                return Err(Unread);
            }
            Ok(match () {
                () if reader.take("!") => reader.unary()?.map(|value| i64::from(value == 0)),
                () if reader.take("-") => reader.unary()?.map(i64::wrapping_neg),
                () if reader.take("+") => reader.unary()?,
                () if reader.take("~") => reader.unary()?.map(|value| !value),
                () => reader.primary()?,
            })
        })
    }

    /// `++name`.
    fn step(&mut self, by: i64) -> Read {
        let target = self.target()?;
        let value = self.variables.number(&target).map(|value| value.wrapping_add(by));
        self.assign(&target, value);
        Ok(value)
    }

    fn is_at_name(&mut self) -> bool {
        self.blanks();
        self.rest().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    }

    fn name(&mut self) -> Option<String> {
        if !self.is_at_name() {
            return None;
        }
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let name = std::str::from_utf8(&rest[..length]).ok()?.to_owned();
        self.at += length;
        Some(name)
    }

    /// `name`, `name[index]`.
    fn target(&mut self) -> Result<Target, Unread> {
        let name = self.name().ok_or(Unread)?;
        if self.text.get(self.at) != Some(&b'[') {
            return Ok(Target { name, index: None });
        }
        self.at += 1;
        let index = self.comma()?;
        self.expect("]")?;
        Ok(Target { name, index: Some(index) })
    }

    fn primary(&mut self) -> Read {
        if self.take("(") {
            let value = self.comma()?;
            self.expect(")")?;
            return Ok(value);
        }
        if self.is_at_name() {
            return self.variable();
        }

        let is_of_number = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'@' | b'_');
        let length = self.rest().iter().take_while(is_of_number).count();
        let value = std::str::from_utf8(&self.rest()[..length]).ok().and_then(integer).ok_or(Unread)?;
        self.at += length;
        Ok(Some(value))
    }

    /// `name`, `name++`.
    fn variable(&mut self) -> Read {
        let target = self.target()?;
        let value = self.variables.number(&target);

        for (operator, by) in [("++", 1), ("--", -1)] {
            if self.take(operator) {
                self.assign(&target, value.map(|value| value.wrapping_add(by)));
                break;
            }
        }
        Ok(value)
    }

    /// The value of a binary operator. What bash refuses to work out ends the expression, unless it does not
    /// evaluate this part.
    fn applied(&self, operator: &str, left: Option<i64>, right: Option<i64>) -> Read {
        let refused = match operator {
            "/" | "%" => right == Some(0),
            "**" => right.is_some_and(|right| right < 0),
            _ => false,
        };
        if refused && self.runs == Runs::Yes {
            return Err(Unread);
        }
        let known = left.zip(right).filter(|_| !refused);
        Ok(known.map(|(left, right)| applied(operator, left, right)))
    }
}

/// The value of a binary operator, in 64 bits as bash has it.
fn applied(operator: &str, left: i64, right: i64) -> i64 {
    // A shift by more than the width counts by its lowest bits.
    let bits = (right & 63) as u32;
    match operator {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<<" => left.wrapping_shl(bits),
        ">>" => left.wrapping_shr(bits),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.wrapping_div(right),
        "%" => left.wrapping_rem(right),
        _ => power(left, right),
    }
}

/// `base ** exponent`.
fn power(mut base: i64, mut exponent: i64) -> i64 {
    let mut value: i64 = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            value = value.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    value
}

/// C's constants, `0x1f`, `017`, `12`, and bash's with a base up to 36: `2#101`.
pub(super) fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    if let Some((base, digits)) = text.split_once('#') {
        let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
        return i64::from_str_radix(digits, base).ok();
    }
    match text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        Some(digits) => i64::from_str_radix(digits, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
