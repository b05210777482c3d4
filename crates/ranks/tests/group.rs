//! What every [`Ranks`] promises, held against each of them: alone, threads, and processes over shared
//! memory.
//!
//! The processes here are threads that each map the page for themselves, so that all can be seen; `dying.rs`
//! has real ones.

#[path = "suite/punctual.rs"]
mod punctual;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punctual::Witness;
use ranks::{Aborted, Processes, Ranks, Solo, Threads};

type Member = Box<dyn Ranks + Send>;

/// A group of every kind that can have this size, with its name.
fn groups(size: usize) -> Vec<(&'static str, Vec<Member>)> {
    let (path, first) = Processes::create(size).expect("a page");
    let others = (1..size).map(|member| Processes::join(&path, member).expect("joined"));
    let processes: Vec<_> = std::iter::once(first).chain(others).collect();
    assert!(processes.iter().all(Processes::all_joined));
    // A test that is killed leaves nothing behind either.
    processes[0].remove_name();
    let mut groups = vec![("threads", boxed(Threads::group(size))), ("processes", boxed(processes))];
    if size == 1 {
        groups.push(("solo", boxed(vec![Solo])));
    }
    groups
}

fn boxed<R: Ranks + Send + 'static>(group: Vec<R>) -> Vec<Member> {
    group.into_iter().map(|member| -> Member { Box::new(member) }).collect()
}

/// Runs each member in a thread of its own, and gives what they return, by rank.
fn each<T: Send>(group: Vec<Member>, act: impl Fn(Member) -> T + Sync) -> Vec<T> {
    let act = &act;
    thread::scope(|scope| {
        let threads: Vec<_> = group.into_iter().map(|member| scope.spawn(move || act(member))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn members_know_their_number_and_the_size() {
    for size in [1, 2, 5] {
        for (name, group) in groups(size) {
            let known: Vec<_> = group.iter().map(|member| (member.rank(), member.size())).collect();
            assert_eq!(known, (0..size).map(|rank| (rank, size)).collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn every_member_gets_the_largest_value_round_after_round() {
    for size in [1, 2, 4] {
        for (name, group) in groups(size) {
            // The largest comes from another member each round, and falls over the rounds: what is left of an
            // earlier one would be seen.
            let value = |round: u64, rank: usize| (1000 - round) * 10 + (rank as u64 + round) % size as u64;
            let answers = each(group, |member| {
                (0..500).map(|round| member.max(value(round, member.rank()))).collect::<Result<Vec<_>, _>>()
            });
            let largest: Vec<_> = (0..500).map(|round| (1000 - round) * 10 + size as u64 - 1).collect();
            assert_eq!(answers, vec![Ok(largest); size], "{name} of {size}");
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_one_comes() {
    for (name, group) in groups(3) {
        let times = each(group, |member| {
            thread::sleep(Duration::from_millis(20 * member.rank() as u64));
            let came = Instant::now();
            member.barrier().expect("nobody gave up");
            (came, Instant::now())
        });
        let last = times.iter().map(|(came, _)| came).max().expect("three");
        assert!(times.iter().all(|(_, left)| left >= last), "{name}");
    }
}

#[test]
fn nobody_has_all_arrived_until_the_last_one_does() {
    for size in [1, 2, 3] {
        for (name, group) in groups(size) {
            for phase in 0..3 {
                let (last, others) = group.split_last().expect("somebody");
                others.iter().for_each(|member| member.arrive());
                let early = others.iter().filter(|member| member.all_arrived()).count();
                assert_eq!(early, 0, "{name} of {size}, phase {phase}");
                last.arrive();
                assert!(group.iter().all(|member| member.all_arrived()), "{name} of {size}, phase {phase}");
            }
        }
    }
}

#[test]
fn barriers_between_phases_and_phases_between_barriers_do_not_disturb_each_other() {
    for (name, group) in groups(3) {
        let arrived = AtomicUsize::new(0);
        each(group, |member| {
            for phase in 1..=50 {
                arrived.fetch_add(1, Ordering::SeqCst);
                member.arrive();
                while !member.all_arrived() {
                    thread::sleep(Duration::from_micros(50));
                }
                assert!(arrived.load(Ordering::SeqCst) >= 3 * phase, "{name}, phase {phase}");
                member.barrier().expect("nobody gave up");
            }
        });
    }
}

#[test]
fn a_member_that_gives_up_frees_those_who_wait_for_it() {
    for (name, group) in groups(3) {
        let ended = each(group, |member| {
            if member.rank() == 2 {
                thread::sleep(Duration::from_millis(20));
                member.abort();
            }
            // Who waits already and who comes later end alike, now and ever after.
            [member.max(1), member.max(1)]
        });
        assert_eq!(ended, [[Err(Aborted); 2]; 3], "{name}");
    }
}

#[test]
fn who_gives_up_wakes_the_others_at_once() {
    let (mut slowest, witness) = ([("", Duration::ZERO); 2], Witness::start());
    for _ in 0..8 {
        for (total, (name, group)) in slowest.iter_mut().zip(groups(2)) {
            let times = each(group, |member| {
                if member.rank() == 1 {
                    thread::sleep(Duration::from_millis(10));
                    member.abort();
                }
                (member.barrier(), Instant::now())
            });
            *total = (name, total.1 + times[0].1.saturating_duration_since(times[1].1));
        }
    }
    // Processes also wake by themselves four times a second, which would be two seconds in eight turns.
    if witness.saw_at_most(Duration::from_millis(100), "how soon somebody who gives up wakes the others") {
        assert!(slowest.iter().all(|(_, total)| *total < Duration::from_secs(1)), "{slowest:?}");
    }
}

#[test]
fn a_round_that_was_completed_before_an_abort_still_counts() {
    // Whoever sees round 30 complete may give up at once, while others still sleep in it: all must get its
    // value, and none the next.
    for _ in 0..30 {
        for (name, group) in groups(3) {
            let ended = each(group, |member| {
                let rounds: Vec<_> = (0..30).map(|round| member.max(round)).collect();
                member.abort();
                (rounds, member.max(1))
            });
            let rounds: Vec<_> = (0..30).map(Ok).collect();
            assert_eq!(ended, vec![(rounds, Err(Aborted)); 3], "{name}");
        }
    }
}
