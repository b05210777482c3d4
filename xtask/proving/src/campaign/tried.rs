//! One try and what came of it; how many there were and how many were right; and the random numbers they are
//! drawn by.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stats::random::SplitMix64;

/// What a process left.
pub struct Ended {
    /// Its exit code, if no signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it took.
    pub took: Duration,
}

/// Longer than anything here may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Runs it to its end, or kills it at [`LIMIT`]; its output goes through files of this folder, so that no
/// full pipe holds it.
pub fn run(command: &mut Command, folder: &Path) -> Result<Ended> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if began.elapsed() > LIMIT => {
                child.kill()?;
                break child.wait()?;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = |path| Ok::<String, std::io::Error>(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    Ok(Ended {
        code: status.code(),
        signal: status.signal(),
        out: text(&out)?,
        err: text(&err)?,
        took: began.elapsed(),
    })
}

/// Makes the folder, with nothing in it.
pub fn emptied(folder: &Path) -> Result<()> {
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Leaves of what lies in the folder only the files of these names.
pub fn leave_only(names: &[&str], folder: &Path) -> Result<()> {
    for entry in
        fs::read_dir(folder)?.flatten().filter(|entry| !names.iter().any(|name| entry.file_name() == *name))
    {
        if entry.path().is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

/// What was tried of one kind.
pub struct Tally {
    name: &'static str,
    tried: usize,
    right: usize,
    notes: Vec<String>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(name: &'static str) -> Self {
        Self { name, tried: 0, right: 0, notes: Vec::new() }
    }

    /// One more; `wrong`: what was not as promised, told at once.
    pub fn count(&mut self, what: &str, wrong: Option<String>) {
        self.tried += 1;
        match wrong {
            None => self.right += 1,
            Some(why) => eprintln!("campaign: {}: {what}: {why}", self.name),
        }
    }

    /// Something to be known beside the numbers.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// One of the same kind, for what is tried beside it.
    pub fn another(&self) -> Self {
        Self::new(self.name)
    }

    /// Counts what was tried beside it as its own.
    pub fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.right += other.right;
        self.notes.extend(other.notes);
    }

    /// How many were not right.
    pub fn wrong(&self) -> usize {
        self.tried - self.right
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:<16}{:>7}{:>7}", self.name, self.tried, self.right)?;
        self.notes.iter().try_for_each(|note| write!(to, "\n    {note}"))
    }
}

/// The numbers that cases are drawn by.
pub struct Random(SplitMix64);

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Other numbers, drawn from these.
    pub fn another(&mut self) -> Self {
        Self(SplitMix64::new(self.0.next_u64()))
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// One in so many of these, from a drawn one on.
    pub fn sample<'t, T>(&mut self, all: &'t [T], one_in: usize) -> impl Iterator<Item = &'t T> + use<'t, T> {
        let one_in = one_in.clamp(1, all.len().max(1));
        all.iter().skip(self.below(one_in)).step_by(one_in)
    }

    /// One of these, of which there is one at least.
    pub fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}
