//! Values that a script gives to variables and arrays.

use super::run::Shell;
use super::word::{Assignment, AssignmentValue};
use super::words::Words;
use crate::error::LineError;
use crate::unknown::UNKNOWN;

impl Shell<'_> {
    /// `NAME=VALUE`, `NAME+=VALUE`, `NAME[INDEX]=VALUE`, `NAME=(VALUE…)`.
    pub(super) fn assign(&mut self, assignment: &Assignment) -> Result<(), LineError> {
        let name = &assignment.name;
        if self.read_only.contains(name) {
            return self.lost(&format!("it assigns {name}, which is read-only"));
        }

        match (&assignment.value, &assignment.index) {
            (AssignmentValue::Array(words), _) => {
                let added = self.all_split(words)?;
                let items = self.array(name);
                if !assignment.append {
                    *items = Words::default();
                }
                items.append(added);
            }
            (AssignmentValue::Word(word), Some(index)) => {
                let value = self.text(word)?;
                let at = self.arithmetic(index)?.parse::<usize>().ok();
                self.set_item(name, at, value, assignment.append);
            }
            (AssignmentValue::Word(word), None) => {
                let value = self.text(word)?;
                self.set_variable(name, value, assignment.append);
            }
        }
        Ok(())
    }

    /// Gives a variable a value; an array's name alone stands for its first item.
    pub(super) fn set_variable(&mut self, name: &str, value: String, append: bool) {
        if self.arrays.contains_key(name) {
            return self.set_item(name, Some(0), value, append);
        }
        let before = self.process.variable(name).filter(|_| append).unwrap_or_default();
        let value = match self.integers.iter().any(|known| known == name) {
            true if append => self.arithmetic(&format!("({before})+({value})")),
            true => self.arithmetic(&value),
            false => Ok(before + &value),
        };
        self.process.set(name, value.unwrap_or_else(|_| UNKNOWN.to_string()));
    }

    /// The array of this name; a variable becomes its first item.
    fn array(&mut self, name: &str) -> &mut Words {
        let first = self.process.variables.get(name).map(|variable| variable.value.clone());
        self.arrays.entry(name.to_owned()).or_insert_with(|| first.into_iter().collect::<Vec<_>>().into())
    }

    /// Gives an array's item a value; where it is not known which item, the array is not known.
    pub(super) fn set_item(&mut self, name: &str, at: Option<usize>, value: String, append: bool) {
        let items = self.array(name);
        let before = at.and_then(|at| items.get(at)).filter(|_| append).unwrap_or_default();
        items.set(at, before + &value);
    }
}
