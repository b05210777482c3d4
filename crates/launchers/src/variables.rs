//! The environment of a process, as far as launchers are told from it.

/// The variables by which a launcher is known.
pub(crate) struct LauncherVariables<'v> {
    value_of: &'v dyn Fn(&str) -> Option<String>,
}

impl<'v> LauncherVariables<'v> {
    /// The variables with these values. An empty value counts as none.
    pub fn new(value_of: &'v dyn Fn(&str) -> Option<String>) -> Self {
        Self { value_of }
    }

    /// A variable's value.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.value_of)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// Whether a variable has a value.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A variable's value as a number of processes. MPI counts its processes in an `int`: what is more is no
    /// number of them.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok().filter(|number| *number <= i32::MAX as usize)
    }

    /// The first of these variables that is a number.
    pub fn first(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.number(name))
    }
}
