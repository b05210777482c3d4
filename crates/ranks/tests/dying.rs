//! Processes that are killed while others wait for them. The other member is `examples/barrier.rs`.

#[path = "suite/built.rs"]
mod built;
#[path = "suite/punctual.rs"]
mod punctual;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use built::example;
use punctual::Witness;
use ranks::{Aborted, Liveness, Processes, Ranks};

/// A second process in the group of this page, which meets so many barriers and then idles.
fn partner(page: &Path, rounds: usize) -> Child {
    let mut command = Command::new(example("barrier"));
    command.arg(page).arg(rounds.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("the example runs")
}

fn joined(group: &Processes) {
    let until = Instant::now() + Duration::from_secs(20);
    while !group.all_joined() {
        assert!(Instant::now() < until, "the partner has not joined");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_process_that_is_killed_frees_those_who_wait_for_it_within_a_second_and_is_named() {
    let (page, group) = Processes::create(2).expect("a page");
    let mut partner = partner(&page, 10);
    for _ in 0..10 {
        assert_eq!(group.barrier(), Ok(()));
    }
    assert_eq!((group.liveness(1), group.lost(), group.is_aborted()), (Some(Liveness::Alive), vec![], false));

    group.remove_name();
    let waiter = group.clone();
    let waiter = thread::spawn(move || (waiter.barrier(), Instant::now()));
    thread::sleep(Duration::from_millis(50));
    let (killed, witness) = (Instant::now(), Witness::start());
    partner.kill().expect("killed");
    let (ended, at) = waiter.join().expect("no panic");
    // A zombie as yet: nobody has waited for it.
    assert_eq!((ended, group.lost(), group.is_aborted()), (Err(Aborted), vec![1], true));
    // A waiter looks four times a second.
    if witness
        .saw_at_most(Duration::from_millis(200), "how soon those who wait for a killed process are free")
    {
        assert!(at - killed < Duration::from_secs(1), "{:?}", at - killed);
    }
    partner.wait().expect("reaped");
    assert_eq!(group.lost(), [1]);
    assert_eq!(group.barrier(), Err(Aborted));
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_nothing_that_others_hang_on() {
    for turn in 0..20 {
        let (page, group) = Processes::create(2).expect("a page");
        let mut partner = partner(&page, usize::MAX);
        joined(&group);
        group.remove_name();
        assert_eq!(group.liveness(1), Some(Liveness::Alive));
        let waiter = group.clone();
        let waiter = thread::spawn(move || {
            let mut round = 0;
            while waiter.max(round) == Ok(round) {
                round += 1;
            }
            (round, waiter.max(round))
        });
        thread::sleep(Duration::from_micros(500 + 437 * turn));
        partner.kill().expect("killed");
        let until = Instant::now() + Duration::from_secs(5);
        while !waiter.is_finished() {
            assert!(Instant::now() < until, "turn {turn} hangs");
            thread::sleep(Duration::from_millis(5));
        }
        let (_, ended) = waiter.join().expect("no panic");
        assert_eq!(ended, Err(Aborted), "turn {turn}");
        partner.wait().expect("reaped");
    }
}
