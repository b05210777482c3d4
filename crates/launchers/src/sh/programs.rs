//! The programs that a script starts.

use super::run::Shell;
use crate::error::LineError;
use crate::grammar::is_among;
use crate::taskset;
use crate::unknown::OWN_PID;

impl Shell<'_> {
    /// A program in a process of its own, or in the shell's place.
    pub(super) fn program(&mut self, words: &[String], input: Option<&str>) -> Result<(), LineError> {
        self.status = None;
        let name = words[0].rsplit('/').next().unwrap_or_default();
        if name == "taskset" && words.iter().any(|word| word.starts_with(OWN_PID)) {
            return taskset::moved(&mut self.process, &words[1..]);
        }
        if is_neutral(name, words) {
            return Ok(());
        }
        let mut inner = self.process.clone().child();
        inner.has_input |= input.is_some();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();

        for process in (self.follow)(inner, &words)? {
            if !self.started.contains(&process) {
                self.started.push(process);
            }
        }
        Ok(())
    }
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
