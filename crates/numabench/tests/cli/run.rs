//! Starting the binary and holding how it ended: the same environment for every test, and the rules that
//! every ending keeps.
//!
//! No GPU driver of this machine is used: the loader meets a file that is no library first, unless a test
//! puts a stand-in there.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
use std::{env, fs};

use assert_cmd::Command;
use serde_json::Value;

/// How a test ends.
pub type Done = Result<(), Box<dyn Error>>;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_numabench");

/// Longer than any run here takes, also on a busy machine: a hang fails here and not in the test runner.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether each test is to try all that it can (`NUMABENCH_TEST_WHOLE`): every kind of driver, every state of
/// a guest. Otherwise some share them out.
pub fn is_whole() -> bool {
    env::var_os("NUMABENCH_TEST_WHOLE").is_some()
}

/// Variables that change what the binary does or prints.
const UNSET: [&str; 9] = [
    "NO_COLOR",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HWLOC_XMLFILE",
    "HWLOC_SYNTHETIC",
    "HWLOC_FSROOT",
];

/// How a run ended.
pub struct Ended {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// Takes over what a process left, and checks what holds for each of them: it did not panic.
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self::new(output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// The same, of a process elsewhere. What it says of an MPI that starts slowly is how busy this machine
    /// is, and left out.
    pub fn new(code: Option<i32>, out: String, err: String) -> Self {
        for text in [&out, &err] {
            assert!(!text.contains("panicked"), "a panic:\n{text}");
            assert!(!text.contains("RUST_BACKTRACE"), "a panic:\n{text}");
        }
        let err =
            err.split_inclusive('\n').filter(|line| !line.contains(": still in MPI_Init of ")).collect();
        Self { code, out, err }
    }

    /// It did what was asked and had nothing to say on standard error.
    #[track_caller]
    pub fn well(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self
    }

    /// It refused before it began: this code, nothing on standard output, and one message with all these
    /// words.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        assert_eq!(self.out, "", "nothing was done, so there is nothing to print");
        let first = self.err.lines().next().unwrap_or_default();
        assert!(first.starts_with("error: ") || first.starts_with("numabench: error: "), "{}", self.err);
        assert_eq!(self.err.matches("error: ").count(), 1, "one message: {}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing in: {}", self.err);
        }
        self
    }

    /// Standard output, which must be one JSON value and nothing else.
    pub fn json(&self) -> Result<Value, Box<dyn Error>> {
        serde_json::from_str(&self.out).map_err(|error| format!("{error} in {}{}", self.out, self.err).into())
    }
}

/// The variables that every process under test gets, with the libcuda of `driver` before all others.
pub fn variables(driver: &Path) -> Vec<(&'static str, String)> {
    let mut libraries = driver.display().to_string();
    if let Ok(others) = env::var("LD_LIBRARY_PATH") {
        libraries = format!("{libraries}:{others}");
    }
    vec![("LD_LIBRARY_PATH", libraries), ("COLUMNS", "100".to_owned())]
}

/// The binary, with no driver to be found.
pub fn numabench() -> Command {
    with_driver(&no_driver())
}

/// The binary, with the libcuda in this folder.
pub fn with_driver(folder: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.timeout(LIMIT).envs(variables(folder));
    for name in UNSET {
        command.env_remove(name);
    }
    command
}

/// The same for a test that must talk to the running process.
pub fn spawnable(driver: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(BINARY);
    command.envs(variables(driver)).stdin(std::process::Stdio::null());
    for name in UNSET {
        command.env_remove(name);
    }
    command
}

/// Runs it to its end.
#[track_caller]
pub fn end(command: &mut Command, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
    match command.args(args).output() {
        Ok(output) => Ended::of(&output),
        Err(error) => panic!("the binary does not start: {error}"),
    }
}

/// `numabench` with these arguments and without a driver.
#[track_caller]
pub fn run(args: &[&str]) -> Ended {
    end(&mut numabench(), args)
}

/// `numabench pingpong --backend host` with these arguments.
#[track_caller]
pub fn host(args: &[&str]) -> Ended {
    end(numabench().args(["pingpong", "--backend", "host"]), args)
}

/// A folder in which the names of the driver's libraries are files that no loader loads.
pub fn no_driver() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-driver");
    drop(fs::create_dir_all(&folder));
    let hip = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
    for name in ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"].into_iter().chain(hip) {
        let file = folder.join(name);
        if !file.exists() {
            drop(fs::write(file, "not a library"));
        }
    }
    folder
}

/// Says that a test, or a part of one, was not done, and why.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
pub fn skipped(why: &str) {
    eprintln!("SKIPPED {why}");
}
