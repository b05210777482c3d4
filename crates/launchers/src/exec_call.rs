//! `numabench exec` in a line: its options, read as its own parser takes them. What they come to for a rank
//! is worked out where the plan of a node is known.

use stats::IdSet;

use crate::error::LineError;
use crate::grammar::{Grammar, Style};

const EXEC: Grammar = Grammar {
    tool: "numabench exec",
    style: Style::Getopt,
    letters: "hvVq",
    names: "smt keep-cpus report print help quiet verbose version \
        gpus: gpu: cores-per-rank: strategy: reserve: membind: nic: from: rank: ranks: color: workers::",
    is_open: false,
};

/// A rank's call of `numabench exec`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecCall {
    /// Its options with their values; nothing for one that takes none.
    pub options: Vec<(String, String)>,
    /// The PUs that the ranks of the node have together.
    pub pool: IdSet,
}

impl ExecCall {
    /// Reads the words behind `numabench exec`: the call, and the words of its program.
    ///
    /// # Errors
    /// [`LineError`]: exec would refuse its options, or starts no program.
    pub(crate) fn read<'l>(words: &'l [&'l str]) -> Result<(Self, &'l [&'l str]), LineError> {
        let (given, program) = EXEC.read(words)?;
        let options = given.iter().map(|one| (one.name.to_owned(), one.value().to_owned())).collect();
        let call = Self { options, pool: IdSet::default() };

        if call.value("workers").is_some() {
            return Err(LineError::NotSaid(
                "numabench exec --workers binds each worker by the GPU that it opens first: numabench check \
                 --all shows the workers once they run"
                    .to_owned(),
            ));
        }

        match (call.value("print"), call.value("from"), program) {
            (Some(_), ..) => Err(LineError::NotSaid("numabench exec --print starts no program".to_owned())),
            (_, Some(_), _) => Err(LineError::NotSaid(
                "numabench exec --from takes places that were found before: numabench check inside of the \
                 launch shows them"
                    .to_owned(),
            )),
            (.., []) => Err(LineError::Wrong(
                "numabench exec has no program: write numabench exec -- PROGRAM".to_owned(),
            )),
            _ => Ok((call, program)),
        }
    }

    /// The last value of an option; `None` where it is not given.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }
}
