//! A launch line with a place for the program (`{app}`) and for the launcher's binding options (`{bind}`).
//!
//! The line is taken apart as a shell does it and started without one: no variables, pipes or patterns, so
//! that a program's arguments pass as they are. Words like `NAME=VALUE` before the launcher go to its
//! environment.

use std::ffi::OsString;

use launchers::assignment;

/// A launch line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    environment: Vec<(String, String)>,
    words: Vec<String>,
}

/// A launch line that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Quotes without an end.
    #[error("the launch line \"{0}\" has a quote without its end")]
    Quotes(String),
    /// No place for the program, or several.
    #[error(
        "the launch line \"{0}\" must have {{app}} once, as a word of its own: it stands for the program and \
         its arguments"
    )]
    App(String),
    /// The binding's place is within a word, or there are several.
    #[error(
        "the launch line \"{0}\" has {{bind}} within another word or more than once: write it as a word of \
         its own among the launcher's options"
    )]
    Bind(String),
    /// Nothing before the program.
    #[error("the launch line \"{0}\" names no launcher: for the program on its own leave --launch out")]
    NoLauncher(String),
}

impl Template {
    /// Takes a line apart.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut words = shell_words::split(text).map_err(|_| TemplateError::Quotes(text.to_owned()))?;
        let with = |name: &str| words.iter().filter(|word| word.contains(name)).count();
        let own = |name: &str| words.iter().filter(|word| *word == name).count();
        if (with("{app}"), own("{app}")) != (1, 1) {
            return Err(TemplateError::App(text.to_owned()));
        }
        if with("{bind}") != own("{bind}") || own("{bind}") > 1 {
            return Err(TemplateError::Bind(text.to_owned()));
        }

        let leading = words.iter().take_while(|word| assignment(word).is_some()).count();
        let environment = words
            .drain(..leading)
            .filter_map(|word| assignment(&word).map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        if matches!(words.first().map(String::as_str), None | Some("{app}" | "{bind}")) {
            return Err(TemplateError::NoLauncher(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), environment, words })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The launcher: the first word.
    pub fn launcher(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    /// The launcher as it was written.
    pub fn launcher_path(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Whether it has a place for the binding.
    pub fn has_bind(&self) -> bool {
        self.words.iter().any(|word| word == "{bind}")
    }

    /// The variables that it sets for the launcher.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// The command, with these words in the two places.
    pub fn command(&self, bind: &[String], app: &[OsString]) -> Vec<OsString> {
        let mut command: Vec<OsString> = Vec::new();
        for word in &self.words {
            match word.as_str() {
                "{app}" => command.extend(app.iter().cloned()),
                "{bind}" => command.extend(bind.iter().map(OsString::from)),
                other => command.push(other.into()),
            }
        }
        command
    }
}

/// A command as a shell takes it.
pub fn shell_line(environment: &[(String, String)], command: &[OsString]) -> String {
    let set = environment.iter().map(|(name, value)| format!("{name}={}", shell_words::quote(value)));
    // `NAME=VALUE` is an assignment only before the command: behind it no shell needs quotes for it.
    let is_plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c))
    };
    let words = command.iter().map(|word| {
        let word = word.to_string_lossy();
        if is_plain(&word) { word.into_owned() } else { shell_words::quote(&word).into_owned() }
    });
    set.chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_the_binding_come_in_their_places_word_by_word() -> Result<(), TemplateError> {
        let template = Template::parse("OMP_NUM_THREADS=7 srun -n8 --comment='two words' {bind} {app}")?;
        let app = ["./app".into(), "an argument".into()];
        let command = template.command(&["--cpu-bind=none".to_owned()], &app);
        assert_eq!(
            command,
            ["srun", "-n8", "--comment=two words", "--cpu-bind=none", "./app", "an argument"]
        );
        assert_eq!(template.command(&[], &app).len(), 5);
        assert_eq!(template.environment(), [("OMP_NUM_THREADS".to_owned(), "7".to_owned())]);
        assert_eq!((template.launcher(), template.has_bind()), ("srun", true));
        assert_eq!(Template::parse("/usr/bin/mpirun {app}")?.launcher(), "mpirun");
        let line = shell_line(template.environment(), &command);
        assert_eq!(
            line,
            "OMP_NUM_THREADS=7 srun -n8 '--comment=two words' --cpu-bind=none ./app 'an argument'"
        );

        Ok(())
    }

    #[test]
    fn lines_that_cannot_be_followed_are_refused_with_the_way_out() {
        let lines = [
            "srun -n8 ./app",
            "srun {app} {app}",
            "srun sh -c 'x {app}'",
            "srun --opt={bind} {app}",
            "srun 'half {app}",
            "{app}",
            "A=1 {bind} {app}",
        ];

        let refused = lines
            .map(|line| Template::parse(line).err().map_or("taken".to_owned(), |error| error.to_string()));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        the launch line "srun -n8 ./app" must have {app} once, as a word of its own: it stands for the program and its arguments
        the launch line "srun {app} {app}" must have {app} once, as a word of its own: it stands for the program and its arguments
        the launch line "srun sh -c 'x {app}'" must have {app} once, as a word of its own: it stands for the program and its arguments
        the launch line "srun --opt={bind} {app}" has {bind} within another word or more than once: write it as a word of its own among the launcher's options
        the launch line "srun 'half {app}" has a quote without its end
        the launch line "{app}" names no launcher: for the program on its own leave --launch out
        the launch line "A=1 {bind} {app}" names no launcher: for the program on its own leave --launch out
        "#);
    }
}
