//! What every `World` promises: shared by the tests here and by `examples/launched.rs`, which runs it over
//! MPI.

use std::thread;
use std::time::{Duration, Instant};

use ranks::{World, WorldPlace};

/// Lengths that MPIs send in different ways: at once, by copies in shared memory, or after asking the
/// receiver.
const LENGTHS: [usize; 6] = [2, 4_000, 70_000, 2, 3_000_000, 500];

/// Every rank sends to every rank, itself included, messages of many lengths; the last also gets an empty one
/// from each. Panics if one is lost, doubled, out of order or changed.
pub fn every_message_comes_once_and_in_its_senders_order(world: &dyn World) {
    let WorldPlace { rank, size, .. } = world.place();
    let message = |number: usize, from: usize| {
        let mut bytes = vec![(number + from) as u8; LENGTHS[number % LENGTHS.len()]];
        (bytes[0], bytes[1]) = (number as u8, from as u8);
        bytes
    };
    const MESSAGES: usize = 2 * LENGTHS.len();
    for number in 0..MESSAGES {
        for to in 0..size {
            world.post(to, &message(number, rank)).expect("posted");
        }
    }
    world.post(size - 1, &[]).expect("posted");
    let mut next = vec![0; size];
    let mut empty = 0;
    let until = Instant::now() + Duration::from_secs(20);
    while next != vec![MESSAGES; size] || (rank == size - 1 && empty < size) {
        assert!(Instant::now() < until, "rank {rank} has {next:?} and {empty} empty ones");
        match world.collect().expect("collected") {
            Some(came) if came.bytes.is_empty() => empty += 1,
            Some(came) => {
                assert!(
                    came.bytes == message(next[came.from], came.from),
                    "message {} of {}",
                    next[came.from],
                    came.from
                );
                next[came.from] += 1;
            }
            None => thread::sleep(Duration::from_micros(200)),
        }
    }
    assert_eq!(world.collect(), Ok(None));
    let error = world.post(size, b"to nobody").expect_err("there is no such rank").to_string();
    assert!(error.contains(&format!("no rank {size} of {size}")), "{error}");
}
