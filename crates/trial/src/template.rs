//! A launch line with a place for the program (`{app}`) and for the launcher's binding options (`{bind}`).
//!
//! The line is taken apart as a shell does it and started without one: no variables, pipes or patterns, so
//! that a program's arguments pass as they are. Words like `NAME=VALUE` before the launcher go to its
//! environment.
//!
//! A launcher's environment is that of its ranks, but for Open MPI's: its `mpirun` passes variables on to
//! other hosts by `-x` alone (mpirun(1); srun, Hydra and torchrun pass all on). Since `mpirun` and `mpiexec`
//! are names of several launchers, the program itself is asked whose it is.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use launchers::assignment;

/// The commands that may be Open MPI's launcher.
const OPEN_MPIS: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"];

/// How Open MPI's launcher and those made of it call themselves, in the first line of `--version`.
const OPEN_MPIS_OWN: [&str; 4] = ["Open MPI", "OpenRTE", "PRRTE", "Spectrum MPI"];

/// How variables begin that Open MPI's launcher reads itself, and passes on without an option.
const LAUNCHERS_OWN: [&str; 3] = ["OMPI_", "PMIX_", "PRTE_"];

/// A launch line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    environment: Vec<(String, String)>,
    words: Vec<String>,
    /// The word that is Open MPI's launcher; `None`: none is, or it was not asked.
    open_mpi: Option<usize>,
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
    /// It sets a variable that is varied.
    #[error(
        "the launch line \"{line}\" sets {name} itself, which --vary is to set: leave it out of the line, \
         and give --vary its value too"
    )]
    Set {
        /// The line.
        line: String,
        /// The variable.
        name: String,
    },
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
        Ok(Self { text: text.to_owned(), environment, words, open_mpi: None })
    }

    /// Makes sure that a variable which is varied reaches the ranks with the value that is tried.
    ///
    /// # Errors
    /// [`TemplateError::Set`].
    pub fn vary(&mut self, names: &[&str]) -> Result<(), TemplateError> {
        let sets = |name: &&&str| {
            let in_words = self.words.iter().any(|word| assignment(word).is_some_and(|(of, _)| of == **name));
            in_words || self.environment.iter().any(|(of, _)| of == **name)
        };
        if let Some(name) = names.iter().find(sets) {
            return Err(TemplateError::Set { line: self.text.clone(), name: (*name).to_owned() });
        }

        let is_candidate = |word: &String| OPEN_MPIS.contains(&base(word));
        let before = self.words.iter().take_while(|word| *word != "{app}");
        self.open_mpi = before.clone().position(is_candidate).filter(|at| is_open_mpis(&self.words[*at]));
        Ok(())
    }

    /// The line by which all ranks get these variables, and those of them that go to its environment.
    pub fn with_variables(&self, variables: &[(String, String)]) -> (Self, Vec<(String, String)>) {
        let Some(at) = self.open_mpi else { return (self.clone(), variables.to_vec()) };
        let is_launchers_own =
            |(name, _): &(String, String)| LAUNCHERS_OWN.iter().any(|begin| name.starts_with(begin));
        let (environment, ranks): (Vec<_>, Vec<_>) = variables.iter().cloned().partition(is_launchers_own);
        let options = ranks.iter().flat_map(|(name, value)| ["-x".to_owned(), format!("{name}={value}")]);

        let mut line = self.clone();
        line.words.splice(at + 1..=at, options);
        (line, environment)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The launcher: the first word.
    pub fn launcher(&self) -> &str {
        self.words.first().map_or("", |word| base(word))
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

/// The name of a program without its folders.
fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether this `mpirun` says that it is Open MPI's.
fn is_open_mpis(launcher: &str) -> bool {
    let asked = Command::new(launcher).arg("--version").stdin(Stdio::null()).output();
    let answer = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
    let first = answer.lines().next().unwrap_or_default();
    OPEN_MPIS_OWN.iter().any(|name| first.contains(name))
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
    fn open_mpis_launcher_gives_variables_to_ranks_of_all_hosts_by_its_option() -> Result<(), TemplateError> {
        let set = |name: &str| (name.to_owned(), "1 2".to_owned());
        let both = [set("A"), set("OMPI_MCA_btl")];
        let others = Template::parse("nice mpirun -n 2 {app}")?;
        assert_eq!(others.with_variables(&both), (others.clone(), both.to_vec()));

        let (line, environment) = Template { open_mpi: Some(1), ..others }.with_variables(&both);
        assert_eq!(line.command(&[], &[])[..], ["nice", "mpirun", "-x", "A=1 2", "-n", "2"]);
        assert_eq!(environment, [set("OMPI_MCA_btl")], "mpirun reads it, and passes it on");
        Ok(())
    }

    #[test]
    fn a_line_that_sets_a_varied_variable_is_refused() -> Result<(), TemplateError> {
        for (line, is_taken) in [
            ("A=1 srun {app}", false),
            ("mpiexec -x A=1 {app}", false),
            ("srun env A=1 {app}", false),
            ("srun --x=A=1 -J B=1 AA=1 {app}", true),
        ] {
            assert_eq!(Template::parse(line)?.vary(&["C", "A"]).is_ok(), is_taken, "{line}");
        }
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
