//! A problem with what is made for it once in a run: its input, for all ranks and passes, and what stands for
//! a result that was found to be right.
//!
//! Making an input takes ten times as long as copying it, and every pass needs that of every kernel anew,
//! because host memory goes from kernel to kernel.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Bound, Failure, Helpers, PlacedMemory, PlacingRules, TimeSpent, clock};

use crate::problem::{Problem, WrongNumber};
use crate::proven::Proven;

/// Inputs are kept where all of a run's are at most so much; larger ones are made anew whenever they are
/// needed.
const MOST_KEPT_BYTES: usize = 4 << 30;

/// How many bytes of these problems' inputs are kept: all of them or none.
pub(crate) fn kept_bytes<'a>(problems: impl Iterator<Item = &'a Arc<dyn Problem>>) -> usize {
    let all = problems.map(|problem| problem.layout().input).sum();
    if all <= MOST_KEPT_BYTES { all } else { 0 }
}

/// A problem and what is made for it once.
pub(crate) struct Made {
    pub problem: Arc<dyn Problem>,
    input: Mutex<Option<PlacedMemory>>,
    proven: Proven,
}

impl Made {
    pub(crate) fn new(problem: Arc<dyn Problem>) -> Self {
        Self { problem, input: Mutex::default(), proven: Proven::default() }
    }

    /// Writes the input into host memory; `shelf`: the NUMA node where it is kept, if it is.
    ///
    /// # Errors
    /// The memory that keeps it could not be had.
    pub(crate) fn lay_out(
        &self,
        bound: &Bound,
        into: &mut [u8],
        shelf: Option<u32>,
        rules: &PlacingRules,
        spent: &mut TimeSpent,
    ) -> Result<(), Failure> {
        let (helpers, grain) = (&rules.helpers, self.problem.fill_grain());
        let make = |into: &mut [u8]| helpers.share(into, grain, |at, part| self.problem.fill(at, part));
        let Some(node) = shelf else {
            clock::timed(&mut spent.lay_out_ns, || make(into));
            return Ok(());
        };
        let mut kept = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let input = match &mut *kept {
            Some(input) => input,
            none => {
                let place = || PlacedMemory::new(bound, into.len(), node, rules);
                let mut input = clock::timed(&mut spent.allocate_ns, place)?;
                clock::timed(&mut spent.lay_out_ns, || make(input.bytes_mut()));
                none.insert(input)
            }
        };

        let input = input.bytes();
        let copy = |at: usize, part: &mut [u8]| part.copy_from_slice(&input[at..at + part.len()]);
        clock::timed(&mut spent.lay_out_ns, || helpers.share(into, 1 << 20, copy));
        Ok(())
    }

    /// Whether the result is the input's.
    ///
    /// # Errors
    /// The first number that is wrong.
    pub(crate) fn check(
        &self,
        input: &[u8],
        output: &mut [u8],
        helpers: &Helpers,
    ) -> Result<(), WrongNumber> {
        self.proven.check(&*self.problem, input, output, helpers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{By, Kernel};
    use crate::size::ProblemSize;

    #[test]
    fn an_input_that_is_kept_is_the_one_that_is_made_anew() -> Result<(), Failure> {
        let pu = sys::affinity::current_pu()
            .map_err(|e| Failure::system(engine::Stage::Bind, "getcpu", &e, ""))?;
        let bind = move || {
            let rules = PlacingRules { one_node: true, ..PlacingRules::default() };
            let (bound, mut spent) = (Bound::to(pu)?, TimeSpent::default());
            let made = Made::new(Kernel::Spmv.problem(By::Thread, ProblemSize::Class(1)));
            let mut inputs = [0_u64, 1, 2].map(|byte| vec![byte; made.problem.layout().input.div_ceil(8)]);
            for (input, shelf) in inputs.iter_mut().zip([None, Some(0), Some(0)]) {
                let input = &mut bytemuck::cast_slice_mut(input)[..made.problem.layout().input];
                made.lay_out(&bound, input, shelf, &rules, &mut spent)?;
            }
            let [anew, kept, again] = inputs
                .map(|input| bytemuck::cast_slice::<u64, u8>(&input)[..made.problem.layout().input].to_vec());
            assert!(anew == kept && kept == again);
            Ok(())
        };

        std::thread::spawn(bind)
            .join()
            .unwrap_or_else(|_| Err(Failure::new(engine::Stage::Allocate, "the thread panicked")))
    }

    #[test]
    fn inputs_are_kept_up_to_what_a_node_spares() {
        let class =
            |class: u8| Kernel::ALL.map(|kernel| kernel.problem(By::Gpu, ProblemSize::Class(class))).to_vec();
        assert_eq!(
            kept_bytes(class(4).iter()),
            class(4).iter().map(|problem| problem.layout().input).sum::<usize>()
        );
        let large = vec![Kernel::Triad.problem(By::Gpu, ProblemSize::default()); 40];
        assert_eq!(kept_bytes(large.iter()), 0);
    }
}
