//! The blocks of cases: verified, warmed up, and measured in an order drawn anew for each pass, until each
//! case has enough.
//!
//! A block lasts 2 ms, or 16 rounds within 20 ms where that is longer. Memory is made once in a run, so
//! intervals and the stop rule know one allocation: they say how well the figure of these buffers is known,
//! and not what other buffers would give.

use std::time::Instant;

use stats::block_interval::BlockValue;
use stats::stop::{self, StopReason};

use super::{BLOCK_NS, FEW_ROUNDS, LONG_BLOCK_NS, MOST_ROUNDS, Work};
use crate::background;
use crate::case::{MessageCase, MessagePath};
use crate::command::{MessageAnswer, MessageOrder};
use crate::fault::ExchangeFault;
use crate::results::{CaseFound, MessageStep};

/// What a block came to.
struct Took {
    ns: f64,
    /// Of the threads that copied beside it: bytes a second of one rank, the mean of the two.
    gpu_bytes_per_s: Option<f64>,
}

impl Work<'_, '_, '_> {
    /// Measures these cases of these pairs until each has enough.
    pub(super) fn measure(&mut self, pairs: &[usize], cases: &[MessageCase]) -> Result<(), ExchangeFault> {
        let mut all: Vec<[usize; 2]> = Vec::new();
        for (pair, case) in pairs.iter().flat_map(|pair| cases.iter().map(move |case| (*pair, *case))) {
            let mut found = CaseFound {
                case,
                block_ns: Vec::new(),
                gpu_bytes_per_s: Vec::new(),
                rounds: 1,
                verified_bytes: 0,
                stop: None,
                trouble: None,
            };
            if !self.ends() {
                self.prepare(self.found.pairs[pair].ranks, &mut found)?;
            }
            all.push([pair, self.found.pairs[pair].cases.len()]);
            self.found.pairs[pair].cases.push(found);
        }

        let began = Instant::now();

        loop {
            self.journal.found(&self.found);
            let mut left = all.clone();
            left.retain(|at| self.case(*at).stop.is_none() && self.case(*at).trouble.is_none());
            if left.is_empty() {
                return Ok(());
            }
            let ended = match self.ends() {
                true => Some(StopReason::Signal),
                false => (began.elapsed() > self.lead.max_time).then_some(StopReason::MaxTime),
            };
            if let Some(ended) = ended {
                left.into_iter().for_each(|at| self.case(at).stop = Some(ended));
                continue;
            }
            self.random.shuffle(&mut left);
            for at in left {
                if self.ends() {
                    break;
                }
                let (case, rounds) = (self.case(at).case, self.case(at).rounds);
                let took = self.block(self.found.pairs[at[0]].ranks, case, rounds)?;
                let rule = self.lead.rule;
                let found = self.case(at);
                match took {
                    Ok(took) => {
                        found.block_ns.push(took.ns / f64::from(rounds) / case.turns_a_round());
                        found.gpu_bytes_per_s.extend(took.gpu_bytes_per_s);
                        found.stop = stop::decide(&BlockValue::on_one_allocation(&found.block_ns), &rule);
                    }
                    Err(why) => found.trouble = Some(why),
                }
            }
        }
    }

    /// A case by its pair and its place there.
    fn case(&mut self, [pair, case]: [usize; 2]) -> &mut CaseFound {
        &mut self.found.pairs[pair].cases[case]
    }

    /// Verifies a case, warms it up, and finds how many rounds make a block.
    fn prepare(&mut self, ranks: [usize; 2], found: &mut CaseFound) -> Result<(), ExchangeFault> {
        let case = found.case;
        if case.path.is_message() {
            let key = self.next_key();
            let (path, bytes) = (case.path, case.bytes);
            for answer in self.both(ranks, |with| MessageOrder::Check { with, path, bytes, key })? {
                match answer {
                    MessageAnswer::Checked(compared, None) => found.verified_bytes += compared,
                    MessageAnswer::Checked(_, Some(wrong)) => {
                        found.trouble = Some(format!("corrupt: {}", wrong.description()))
                    }
                    MessageAnswer::Failed(why) => found.trouble = Some(why),
                    _ => {}
                }
            }
            if found.trouble.is_some() {
                return Ok(());
            }
        }

        let mut rounds = 1_u32;

        loop {
            let ns = match self.block(ranks, case, rounds)? {
                Ok(took) => took.ns,
                Err(why) => {
                    found.trouble = Some(why);
                    return Ok(());
                }
            };
            let wanted = rounds_of(ns.max(1.0) / f64::from(rounds));
            // The first rounds are slow ones: those that were timed long enough say how long one takes.
            if ns >= BLOCK_NS / 2.0 || f64::from(rounds) >= MOST_ROUNDS {
                found.rounds = wanted.ceil() as u32;
                return Ok(());
            }
            rounds = (wanted as u32).clamp(rounds + 1, rounds.saturating_mul(16));
        }
    }

    /// A block of a case, by the clock of the rank that began it.
    fn block(
        &mut self,
        ranks: [usize; 2],
        case: MessageCase,
        rounds: u32,
    ) -> Result<Result<Took, String>, ExchangeFault> {
        let MessagePath::Crowded(copies) = case.path else { return self.own_block(ranks, case, rounds) };
        let others = background::pairs(self.comm.place().size, self.here.rank, ranks);
        let began = background::start(self.comm, &others, case.bytes, copies)?;
        let took = match began {
            Ok(()) => self.own_block(ranks, case, rounds)?,
            Err(why) => return Ok(self.lost_beside(ranks, case, why)),
        };
        let went_on = match self.failed_beside.take() {
            Some(why) => Err(why),
            None => background::stop(self.comm, &others, case.bytes)?,
        };
        Ok(went_on.map_or_else(|why| self.lost_beside(ranks, case, why), |()| took))
    }

    /// What is left where one of those that send failed: the other may wait for ever, and they are no longer
    /// where the leader takes them to be.
    fn lost_beside(&mut self, ranks: [usize; 2], case: MessageCase, why: String) -> Result<Took, String> {
        self.break_off(&MessageStep::Case { ranks, case }, &why);
        Err(why)
    }

    /// The block without what goes on beside it.
    fn own_block(
        &mut self,
        ranks: [usize; 2],
        case: MessageCase,
        rounds: u32,
    ) -> Result<Result<Took, String>, ExchangeFault> {
        let order = |with| MessageOrder::Rounds { with, case, rounds };
        let answers = match case.path {
            MessagePath::Peer | MessagePath::ToHost => self.tell(&[(ranks[0], order(ranks[1]))])?,
            MessagePath::ToDevice => self.tell(&[(ranks[1], order(ranks[0]))])?,
            _ => self.both(ranks, order)?.to_vec(),
        };
        let failed = answers.iter().find_map(|answer| match answer {
            MessageAnswer::Failed(why) => Some(why.clone()),
            _ => None,
        });

        Ok(match (failed, answers.first()) {
            (Some(why), _) => Err(why),
            (None, Some(MessageAnswer::Took(ns))) => Ok(Took { ns: *ns as f64, gpu_bytes_per_s: None }),
            (None, Some(MessageAnswer::TookBeside(ns, _))) => {
                let rate = |answer: &MessageAnswer| match answer {
                    MessageAnswer::TookBeside(_, copied) => Some(copied.rate()),
                    _ => None,
                };
                let rates: Option<Vec<f64>> = answers.iter().map(rate).collect();
                let mean = rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64);
                Ok(Took { ns: *ns as f64, gpu_bytes_per_s: mean })
            }
            (None, _) => Err("the rank did not say how long it took".to_owned()),
        })
    }
}

/// How many rounds of so many nanoseconds a block has.
fn rounds_of(round_ns: f64) -> f64 {
    let few = FEW_ROUNDS.min(LONG_BLOCK_NS / round_ns);
    (BLOCK_NS / round_ns).max(few).clamp(1.0, MOST_ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_short_unless_it_would_have_few_rounds_and_never_long() {
        let rounds = [10.0, 1e3, 5e5, 4e6, 1e8].map(rounds_of);
        assert_eq!(rounds, [20_000.0, 2000.0, 16.0, 5.0, 1.0]);
    }
}
