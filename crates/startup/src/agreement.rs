//! Steps that all processes of a launch take together or not at all: each says how it fared, rank 0 decides,
//! and all hear the same.
//!
//! A trouble is told once, by rank 0, with who has it; every process ends with the same exit code. A process
//! that does not answer in time is itself a trouble.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ranks::{Communicator, Deadline, WorldPlace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stats::IdSet;

/// Messages of different ranks that are shown; more help nobody.
const MESSAGES: usize = 4;

/// Why a process cannot go on, as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessRefusal {
    exit: u8,
    message: String,
    host: String,
}

impl ProcessRefusal {
    /// This process cannot go on: the exit code, and why.
    pub fn new(exit: u8, message: String) -> Self {
        Self { exit, message, host: host() }
    }
}

/// Nobody goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message.as_deref().unwrap_or_default())]
pub struct Stopped {
    /// The exit code of all processes.
    pub exit: u8,
    /// Why; `None`: rank 0 says it.
    pub message: Option<String>,
    /// Whether every process hears of it, and so is there to leave together with the others.
    pub heard_by_all: bool,
}

/// The exit codes of troubles that the agreement itself has.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// The processes cannot reach each other.
    pub no_result: u8,
    /// Some did not answer in time.
    pub timed_out: u8,
}

/// What rank 0 answers.
#[derive(Debug, Serialize, Deserialize)]
enum Verdict<T> {
    Go(T),
    Stop { exit: u8, heard_by_all: bool },
}

/// The processes of a launch before they are a run.
pub struct Agreement<'m, 'w> {
    comm: &'m mut Communicator<'w>,
    limit: Duration,
    codes: Codes,
}

impl<'m, 'w> Agreement<'m, 'w> {
    /// The agreement of this communicator's processes; nobody waits longer than `limit` in one step.
    pub fn new(comm: &'m mut Communicator<'w>, limit: Duration, codes: Codes) -> Self {
        Self { comm, limit, codes }
    }

    /// Where this process stands.
    pub fn place(&self) -> WorldPlace {
        self.comm.place()
    }

    /// The messages, for what is not a step.
    pub fn comm(&mut self) -> &mut Communicator<'w> {
        self.comm
    }

    /// How long to wait for others from now on.
    pub fn deadline(&self) -> Deadline<'static> {
        Deadline::until(Instant::now() + self.limit)
    }

    /// One step: brings `mine` to rank 0, where `decide` makes of all of them what each is answered. If one
    /// is refused, or `decide` finds a fault, nobody goes on.
    ///
    /// # Errors
    /// [`Stopped`]: in words at rank 0, silent elsewhere.
    pub fn agree<U, D, E>(
        &mut self,
        mine: Result<U, ProcessRefusal>,
        decide: impl FnOnce(Vec<U>) -> Result<Vec<D>, E>,
    ) -> Result<D, Stopped>
    where
        U: Serialize + DeserializeOwned,
        D: Serialize + DeserializeOwned,
        E: Into<Stopped>,
    {
        let codes = self.codes;
        let broken = |error: &dyn std::fmt::Display| {
            let message = format!("the processes of this launch cannot reach each other: {error}");
            Stopped { exit: codes.no_result, message: Some(message), heard_by_all: false }
        };

        // Who must still tell others how it ended waits a shorter time than they do.
        let deadline = self.deadline();
        let all =
            self.comm.gather(&ranks::wire::to_bytes(&mine), deadline.most_of_it()).map_err(|e| broken(&e))?;
        let decide = |all| decide(all).map_err(|error| Stopped { heard_by_all: true, ..error.into() });
        let decided = all.map(|all| heard(&all, codes).and_then(decide));
        let answer = self.comm.scatter(
            |rank| {
                let unheard = Verdict::Stop { exit: codes.no_result, heard_by_all: false };
                let verdict = match &decided {
                    Some(Ok(answers)) => answers.get(rank).map_or(unheard, Verdict::Go),
                    Some(Err(Stopped { exit, heard_by_all, .. })) => {
                        Verdict::Stop { exit: *exit, heard_by_all: *heard_by_all }
                    }
                    None => unheard,
                };
                ranks::wire::to_bytes(&verdict)
            },
            deadline,
        );

        if let Some(Err(stopped)) = decided {
            return Err(Stopped { heard_by_all: stopped.heard_by_all && answer.is_ok(), ..stopped });
        }
        let answer = answer.map_err(|e| broken(&e))?;

        match ranks::wire::from_bytes(&answer).map_err(|e| broken(&e))? {
            Verdict::Go(answer) => Ok(answer),
            Verdict::Stop { exit, heard_by_all } => Err(Stopped { exit, message: None, heard_by_all }),
        }
    }
}

/// What everybody said, or why nobody goes on.
fn heard<U: DeserializeOwned>(all: &[Option<Vec<u8>>], codes: Codes) -> Result<Vec<U>, Stopped> {
    let (mut well, mut refused, mut silent) = (Vec::new(), Vec::new(), IdSet::default());
    for (rank, said) in (0..).zip(all) {
        match said.as_ref().map(|bytes| ranks::wire::from_bytes::<Result<U, ProcessRefusal>>(bytes)) {
            Some(Ok(Ok(said))) => well.push(said),
            Some(Ok(Err(trouble))) => refused.push((rank, trouble)),
            Some(Err(why)) => {
                let message =
                    format!("its message cannot be read ({why}): run the same numabench on all ranks");
                refused.push((
                    rank,
                    ProcessRefusal { exit: codes.no_result, message, host: "a host unknown".to_owned() },
                ));
            }
            None => {
                silent.0.insert(rank);
            }
        }
    }

    if !silent.is_empty() {
        let message =
            format!("ranks {silent} of {} did not answer in time: they hang, or never started", all.len());
        return Err(Stopped { exit: codes.timed_out, message: Some(message), heard_by_all: false });
    }

    match refused.first() {
        None => Ok(well),
        Some((_, first)) => {
            let message = Some(refusal_sentence(&refused, all.len()));
            Err(Stopped { exit: first.exit, message, heard_by_all: true })
        }
    }
}

/// The troubles, each once with who has it.
fn refusal_sentence(refused: &[(u32, ProcessRefusal)], size: usize) -> String {
    let mut by_message: BTreeMap<&str, Vec<(u32, &str)>> = BTreeMap::new();
    for (rank, trouble) in refused {
        by_message.entry(&trouble.message).or_default().push((*rank, &trouble.host));
    }
    let mut messages: Vec<(&str, Vec<(u32, &str)>)> = by_message.into_iter().collect();
    messages.sort_by_key(|(_, ranks)| ranks.first().map(|(rank, _)| *rank));
    let line = |(message, ranks): &(&str, Vec<(u32, &str)>)| match ranks.as_slice() {
        all if all.len() == size => (*message).to_owned(),
        [(rank, host)] => format!("rank {rank} on {host}: {message}"),
        some => {
            let numbers: IdSet = some.iter().map(|(rank, _)| *rank).collect();
            format!("ranks {numbers}: {message}")
        }
    };

    let mut lines: Vec<String> = messages.iter().take(MESSAGES).map(line).collect();
    if messages.len() > MESSAGES {
        lines.push(format!("and {} more messages like these", messages.len() - MESSAGES));
    }
    lines.join("\n  ")
}

/// This host's name.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a host without a name".to_owned() } else { name.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use ranks::{LocalWorld, World};

    use super::*;

    fn agreement(
        say: impl Fn(usize) -> Result<usize, ProcessRefusal> + Sync,
        limit: Duration,
    ) -> Vec<Result<usize, (u8, String, bool)>> {
        thread::scope(|scope| {
            let say = &say;
            let members: Vec<_> = LocalWorld::launch(&[2, 1])
                .into_iter()
                .map(|world| {
                    scope.spawn(move || {
                        let rank = world.place().rank;
                        let mut comm = Communicator::new(&world);
                        let codes = Codes { no_result: 1, timed_out: 124 };
                        let mut agreement = Agreement::new(&mut comm, limit, codes);
                        let doubled = |said: Vec<usize>| {
                            Ok::<_, Stopped>(said.into_iter().map(|value| value * 2).collect())
                        };
                        agreement
                            .agree(say(rank), doubled)
                            .map_err(|stopped| (stopped.exit, stopped.to_string(), stopped.heard_by_all))
                    })
                })
                .collect();
            members
                .into_iter()
                .map(|member| member.join().unwrap_or_else(|_| panic!("a member panicked")))
                .collect()
        })
    }

    fn refused(message: &str, exit: u8) -> ProcessRefusal {
        ProcessRefusal { exit, message: message.to_owned(), host: "nid1".to_owned() }
    }

    #[test]
    fn each_hears_what_rank_0_made_of_what_it_said() {
        let answers = agreement(|rank| Ok(rank + 1), Duration::from_secs(10));
        assert_eq!(answers, [Ok(2), Ok(4), Ok(6)]);
    }

    #[test]
    fn one_that_is_ill_ends_it_for_all_with_one_code_and_rank_0_says_why() {
        let answers = agreement(
            |rank| if rank == 2 { Err(refused("no such PU", 2)) } else { Ok(0) },
            Duration::from_secs(10),
        );
        assert_eq!(answers[0], Err((2, "rank 2 on nid1: no such PU".to_owned(), true)));
        assert!(answers[1..].iter().all(|answer| *answer == Err((2, String::new(), true))), "{answers:?}");
        let all = agreement(|_| Err(refused("no GPU", 77)), Duration::from_secs(10));
        assert_eq!(all[0], Err((77, "no GPU".to_owned(), true)));
        let two = agreement(
            |rank| if rank > 0 { Err(refused("no GPU", 77)) } else { Ok(0) },
            Duration::from_secs(10),
        );
        assert_eq!(two[0], Err((77, "ranks 1-2: no GPU".to_owned(), true)));
    }

    #[test]
    fn one_that_does_not_answer_is_not_there_to_hear_of_it_and_the_others_know() {
        let late = |rank| {
            if rank == 2 {
                thread::sleep(Duration::from_secs(4));
            }
            Ok(0)
        };
        let answers = agreement(late, Duration::from_secs(2));
        assert!(answers[..2].iter().all(|answer| matches!(answer, Err((124, _, false)))), "{answers:?}");
    }
}
