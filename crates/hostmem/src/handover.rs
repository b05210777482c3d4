//! One block of handovers between two cores: a flag in one cache line goes to and fro, each thread waiting
//! for the other's value and putting the next one in its place by compare-and-exchange, as the program
//! core-to-core-latency does it.
//!
//! The rank asks; a thread of its own on the other PU answers, which is bound as a rank is and says where it
//! was seen. It answers within a block only, and sleeps otherwise. The word counts: it must end at the number
//! of handovers, and the other thread must have answered half of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use engine::{Bound, Failure, ObservedPlacement, Stage, Timing, Trouble, Work};

use crate::chase::LINE_BYTES;
use crate::lines::Lines;

/// Round trips between two readings of the clock.
const TRIPS_A_CALL: u32 = 512;
/// A round trip is two of them.
pub(crate) const HANDOVERS_A_CALL: u32 = 2 * TRIPS_A_CALL;
/// What ends a block: no count gets there.
const STOP: u64 = u64::MAX;

/// What the other thread is asked.
enum Asked {
    Look,
    Answer(usize),
}

/// Replies of the other thread.
enum Said {
    Bound(Result<(), Failure>),
    Seen(Result<ObservedPlacement, Failure>),
    Answering,
    Answered(u64),
}

/// The thread on the other PU.
pub(crate) struct Answerer {
    /// `None` when it is told to end.
    asked: Option<Sender<Asked>>,
    said: Receiver<Said>,
    thread: Option<JoinHandle<()>>,
}

impl Answerer {
    /// Starts the thread, bound to `pu`.
    pub(crate) fn start(pu: u32, lines: Arc<Lines>) -> Result<Self, Failure> {
        let (asked, questions) = channel();
        let (says, said) = channel();
        let body = move || answer(pu, &lines, &questions, &says);
        let thread = std::thread::Builder::new().name(format!("answers on PU {pu}")).spawn(body);
        let thread =
            thread.map_err(|error| Failure::new(Stage::Bind, format!("no thread for PU {pu}: {error}")))?;
        let answerer = Self { asked: Some(asked), said, thread: Some(thread) };
        match answerer.hear()? {
            Said::Bound(bound) => bound.map(|()| answerer),
            _ => Err(gone()),
        }
    }

    /// Where the other thread is.
    pub(crate) fn look(&self) -> Result<ObservedPlacement, Failure> {
        self.ask(Asked::Look)?;
        match self.hear()? {
            Said::Seen(seen) => seen,
            _ => Err(gone()),
        }
    }

    fn ask(&self, what: Asked) -> Result<(), Failure> {
        self.asked.as_ref().and_then(|asked| asked.send(what).ok()).ok_or_else(gone)
    }

    fn hear(&self) -> Result<Said, Failure> {
        self.said.recv().map_err(|_| gone())
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.asked = None;
        // It has ended all the same if it panicked, and a block that it was missed in has said so.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn gone() -> Failure {
    Failure::new(Stage::Measure, "the thread on the other PU is gone")
}

fn answer(pu: u32, lines: &Lines, questions: &Receiver<Asked>, says: &Sender<Said>) {
    let bound = Bound::to(pu);
    let mut heard = says.send(Said::Bound(bound.as_ref().map(|_| ()).map_err(Clone::clone))).is_ok();
    while heard && let Ok(question) = questions.recv() {
        heard = match question {
            Asked::Look => says.send(Said::Seen(ObservedPlacement::thread())).is_ok(),
            Asked::Answer(line) => {
                let answering = says.send(Said::Answering).is_ok();
                answering && says.send(Said::Answered(answer_all(lines.word(line)))).is_ok()
            }
        };
    }
}

/// Answers until told to stop; how often.
fn answer_all(word: &AtomicU64) -> u64 {
    let mut next = 1;
    loop {
        match word.compare_exchange(next, next + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => next += 2,
            Err(STOP) => return next / 2,
            Err(_) => {}
        }
    }
}

/// The work of one block.
pub(crate) struct Handovers<'a> {
    word: &'a AtomicU64,
    other: &'a Answerer,
    /// What the word is when the last question is answered.
    at: u64,
    /// How often `round` was called.
    calls: u64,
    /// Whether the other thread answers.
    answering: bool,
    /// The most rounds of a block.
    most: Option<usize>,
}

impl<'a> Handovers<'a> {
    /// Over this line, with the other thread answering.
    pub(crate) fn new(lines: &'a Lines, line: usize, other: &'a Answerer) -> Result<Self, Failure> {
        let word = lines.word(line);
        word.store(0, Ordering::Relaxed);
        other.ask(Asked::Answer(line))?;
        match other.hear()? {
            Said::Answering => Ok(Self { word, other, at: 0, calls: 0, answering: true, most: None }),
            _ => Err(gone()),
        }
    }

    /// The same with so many rounds in a block at most.
    pub(crate) fn of_at_most(mut self, most: Option<usize>) -> Self {
        self.most = most;
        self
    }

    /// Ends it; how often the other thread has answered.
    fn stop(&mut self) -> Result<u64, Failure> {
        self.answering = false;
        while self.word.load(Ordering::Relaxed) != self.at {}
        self.word.store(STOP, Ordering::Relaxed);
        match self.other.hear()? {
            Said::Answered(times) => Ok(times),
            _ => Err(gone()),
        }
    }
}

impl Drop for Handovers<'_> {
    fn drop(&mut self) {
        if self.answering {
            // Whoever left without verifying has its own reason to tell.
            drop(self.stop());
        }
    }
}

impl Work for Handovers<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        LINE_BYTES as f64
    }

    fn rounds_a_call(&self) -> u32 {
        HANDOVERS_A_CALL
    }

    fn rounds_at_most(&self) -> Option<usize> {
        self.most
    }

    fn round(&mut self) -> Result<(), Failure> {
        let (word, mut at) = (self.word, self.at);
        for _ in 0..TRIPS_A_CALL {
            while word.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {}
            at += 2;
        }
        self.at = at;
        self.calls += 1;
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let (answered, asked) = (self.stop()?, self.calls * u64::from(TRIPS_A_CALL));
        if answered != asked || self.at != 2 * asked {
            let why = format!(
                "the other core answered {answered} of {asked} questions, and the flag was at {}",
                self.at
            );
            return Err(Trouble::Invalid(why));
        }
        Ok(asked * 2 * size_of::<u64>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use engine::{PlacedMemory, PlacingRules};

    use super::*;
    use crate::lines::RANGE_BYTES;

    /// Runs it on two PUs of this process's own, on a thread that is bound; says why where there is one only.
    #[allow(clippy::print_stderr, reason = "no test is skipped silently")]
    fn on_two_pus(test: impl FnOnce(&Lines, &Answerer, u32) + Send + 'static) -> Result<(), Failure> {
        let allowed = ObservedPlacement::thread()?.affinity;
        let [first, second] = allowed.iter().take(2).collect::<Vec<_>>()[..] else {
            eprintln!("SKIPPED handovers: this process may use one PU only");
            return Ok(());
        };
        let body = move || {
            let bound = Bound::to(first)?;
            let memory = PlacedMemory::new(
                &bound,
                RANGE_BYTES,
                0,
                &PlacingRules { one_node: true, ..PlacingRules::default() },
            )?;
            let lines = Arc::new(Lines::new(memory));
            let other = Answerer::start(second, Arc::clone(&lines))?;
            test(&lines, &other, second);
            Ok(())
        };

        std::thread::spawn(body)
            .join()
            .unwrap_or_else(|_| Err(Failure::new(Stage::Measure, "the test panicked")))
    }

    #[test]
    fn every_handover_is_counted_on_both_sides_and_the_next_block_has_another_line() -> Result<(), Failure> {
        on_two_pus(|lines, other, _| {
            for line in [0, 1, lines.count()] {
                let mut block = Handovers::new(lines, line, other).expect("a block");
                (0..3).for_each(|_| block.round().expect("a round"));
                assert_eq!(block.verify(), Ok(3 * u64::from(HANDOVERS_A_CALL) * 8));
            }
        })
    }

    #[test]
    fn a_round_that_was_not_done_is_found() -> Result<(), Failure> {
        on_two_pus(|lines, other, _| {
            let mut block = Handovers::new(lines, 0, other).expect("a block");
            block.round().expect("a round");
            block.calls += 1;
            assert!(matches!(block.verify(), Err(Trouble::Invalid(why)) if why.contains(" 512 \
                ") && why.contains(" 1024")));
        })
    }

    #[test]
    fn a_block_that_is_dropped_leaves_the_other_thread_ready_and_in_its_place() -> Result<(), Failure> {
        on_two_pus(|lines, other, pu| {
            drop(Handovers::new(lines, 0, other).expect("a block"));
            assert_eq!(other.look().expect("a look").mismatch(pu, 0, None), None);
            let mut block = Handovers::new(lines, 1, other).expect("another block");
            block.round().expect("a round");
            assert!(block.verify().is_ok());
        })
    }

    #[test]
    fn a_pu_that_is_not_there_is_a_failure() -> Result<(), Failure> {
        on_two_pus(|_, _, _| {
            let bound = Bound::to(ObservedPlacement::thread().expect("a look").pu).expect("bound");
            let memory = PlacedMemory::new(
                &bound,
                RANGE_BYTES,
                0,
                &PlacingRules { one_node: true, ..PlacingRules::default() },
            )
            .expect("memory");
            let missing = Answerer::start(8000, Arc::new(Lines::new(memory))).err();
            assert!(missing.is_some_and(|failure| failure.stage == Stage::Bind));
        })
    }
}
