//! `$((…))` and `((…))`: integers, variables, and C's operators as bash has them.

/// What an expression asks of the shell.
pub(super) trait Variables {
    /// A variable's number; 0 where it is not set, `None` where it is not known.
    fn number(&self, name: &str, index: Option<i64>) -> Option<i64>;
    /// Gives it one.
    fn assign(&mut self, name: &str, value: Option<i64>);
}

/// The value; `None` where it is not known, or the text is no expression.
pub(super) fn value(text: &str, variables: &mut dyn Variables) -> Option<i64> {
    let mut reader = Reader { text: text.trim().as_bytes(), at: 0, depth: 0, variables };
    let value = reader.ternary()?;
    reader.blanks();
    (reader.at == reader.text.len()).then_some(value)
}

struct Reader<'r> {
    text: &'r [u8],
    at: usize,
    depth: usize,
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

impl Reader<'_> {
    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, what: &str) -> bool {
        self.blanks();
        let is = self.text[self.at..].starts_with(what.as_bytes());
        self.at += if is { what.len() } else { 0 };
        is
    }

    /// A part of an expression inside of another one.
    fn inner(&mut self, part: impl FnOnce(&mut Self) -> Option<i64>) -> Option<i64> {
        self.depth += 1;
        let value = if self.depth > MOST_DEPTH { None } else { part(self) };
        self.depth -= 1;
        value
    }

    fn ternary(&mut self) -> Option<i64> {
        self.inner(|reader| {
            let condition = reader.level(0)?;
            if !reader.take("?") {
                return Some(condition);
            }
            let first = reader.ternary()?;
            reader.take(":").then_some(())?;
            let second = reader.ternary()?;
            Some(if condition != 0 { first } else { second })
        })
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.blanks();
        let rest = &self.text[self.at..];
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

    fn level(&mut self, level: usize) -> Option<i64> {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(level) {
            left = applied(operator, left, self.level(level + 1)?)?;
        }
        Some(left)
    }

    fn power(&mut self) -> Option<i64> {
        self.inner(|reader| {
            let base = reader.unary()?;
            match reader.take("**") {
                true => base.checked_pow(u32::try_from(reader.power()?).ok()?),
                false => Some(base),
            }
        })
    }

    fn unary(&mut self) -> Option<i64> {
        self.inner(|reader| match () {
            () if reader.text[reader.at..].starts_with(b"!=") => None,
            () if reader.take("!") => Some(i64::from(reader.unary()? == 0)),
            () if reader.take("++") => reader.step(1),
            () if reader.take("--") => reader.step(-1),
            () if reader.take("-") => reader.unary()?.checked_neg(),
            () if reader.take("+") => reader.unary(),
            () if reader.take("~") => Some(!reader.unary()?),
            () => reader.primary(),
        })
    }

    /// `++name`.
    fn step(&mut self, by: i64) -> Option<i64> {
        let name = self.name()?;
        let value = self.variables.number(&name, None)?.checked_add(by);
        self.variables.assign(&name, value);
        value
    }

    fn name(&mut self) -> Option<String> {
        self.blanks();
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let name = std::str::from_utf8(&rest[..length]).ok()?;
        (length > 0 && !rest[0].is_ascii_digit()).then(|| {
            self.at += length;
            name.to_owned()
        })
    }

    fn primary(&mut self) -> Option<i64> {
        if self.take("(") {
            let value = self.ternary()?;
            return self.take(")").then_some(value);
        }
        if let Some(name) = self.name() {
            return self.variable(&name);
        }
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let digits = std::str::from_utf8(&rest[..length]).ok()?;
        let value = integer(digits)?;
        self.at += length;
        Some(value)
    }

    fn variable(&mut self, name: &str) -> Option<i64> {
        let index = match self.text.get(self.at) {
            Some(b'[') => {
                self.at += 1;
                let index = self.ternary()?;
                self.take("]").then_some(())?;
                Some(index)
            }
            _ => None,
        };

        let value = self.variables.number(name, index);

        for (operator, by) in [("++", 1), ("--", -1)] {
            if self.take(operator) {
                let stepped = value.and_then(|value| value.checked_add(by));
                self.variables.assign(name, stepped);
                return value;
            }
        }

        for operator in ["+", "-", "*", "/", "%"] {
            if self.take(&format!("{operator}=")) {
                let value = applied(operator, value?, self.ternary()?);
                self.variables.assign(name, value);
                return value;
            }
        }

        self.blanks();

        if self.text[self.at..].starts_with(b"=") && !self.text[self.at..].starts_with(b"==") {
            self.at += 1;
            let value = self.ternary();
            self.variables.assign(name, value);
            return value;
        }
        value
    }
}

/// The value of a binary operator; `None` where there is none.
fn applied(operator: &str, left: i64, right: i64) -> Option<i64> {
    match operator {
        "||" => Some(i64::from(left != 0 || right != 0)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

/// C's constants: `0x1f`, `017`, `12`.
pub(super) fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        Some(digits) => i64::from_str_radix(digits, 8).ok(),
        None => text.parse().ok(),
    }
}
