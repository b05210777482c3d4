//! How processes leave a launch without MPI_Finalize.
//!
//! Over UCX, MPICH's MPI_Finalize closes its connections and then waits in the launcher's barrier, where it
//! moves no message along. A process that comes to the first step while another is in the second may need
//! that other one to close its connection, and both wait for ever (MPICH 4.0.2 over TCP, two cores that were
//! busy with other work: 14 launches of 75). So the processes tell each other by messages that all are done,
//! and tell the launcher that they leave ([`crate::pmi`]); MPI is not called again.

use std::thread;
use std::time::{Duration, Instant};

use crate::communicator::{Communicator, ExchangeError};
use crate::deadline::Deadline;

/// How long a process waits for the others to come.
const COME_WITHIN: Duration = Duration::from_secs(10);
/// How long rank 0 waits for the last messages, which nobody but it needs.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How long a process whose last message nobody answers moves it along.
const LINGERS: Duration = Duration::from_millis(50);

/// Waits until everybody is here, and until what tells them so has come. Collective: the last exchanges of
/// this communicator.
///
/// # Errors
/// [`ExchangeError`]: somebody does not come within seconds, or the transport fails.
pub fn bid(comm: &mut Communicator) -> Result<(), ExchangeError> {
    bid_within(comm, COME_WITHIN)
}

fn bid_within(comm: &mut Communicator, come_within: Duration) -> Result<(), ExchangeError> {
    let all = comm.gather(&[], Deadline::until(Instant::now() + come_within))?;
    if let Some(from) = all.and_then(|all| all.iter().position(Option::is_none)) {
        return Err(ExchangeError::Late { from });
    }
    comm.broadcast(&[], Deadline::until(Instant::now() + come_within))?;

    let place = comm.place();
    comm.gather(&[], Deadline::until(Instant::now() + ANSWER_WITHIN))?;
    if place.rank != 0 {
        let (naps, lingering) = (place.naps(), Deadline::until(Instant::now() + LINGERS));
        while !lingering.is_over() {
            comm.try_receive()?;
            thread::sleep(naps.next());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_world::LocalWorld;

    #[test]
    fn nobody_leaves_before_the_last_one_has_come() {
        let [first, second, last] = <[LocalWorld; 3]>::try_from(LocalWorld::launch(&[2, 1])).expect("three");
        let begun = Instant::now();
        let waits = Duration::from_millis(200);

        let left = thread::scope(|scope| {
            let leaves = |world: LocalWorld| move || (bid(&mut Communicator::new(&world)), begun.elapsed());
            let others = [first, second].map(|world| scope.spawn(leaves(world)));
            thread::sleep(waits);
            assert_eq!(leaves(last)().0, Ok(()));
            others.map(|other| other.join().expect("it ends"))
        });

        for (left, after) in left {
            assert_eq!(left, Ok(()));
            assert!(after >= waits, "{after:?}");
        }
    }

    #[test]
    fn one_that_does_not_come_is_named_and_who_is_alone_waits_for_nobody() {
        let soon = Duration::from_millis(20);
        let worlds = LocalWorld::launch(&[2]);
        for (world, missing) in worlds.iter().zip([1, 0]) {
            assert_eq!(
                bid_within(&mut Communicator::new(world), soon),
                Err(ExchangeError::Late { from: missing })
            );
        }
        assert_eq!(bid(&mut Communicator::new(&LocalWorld::launch(&[1])[0])), Ok(()));
    }
}
