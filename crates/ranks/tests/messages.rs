//! What every [`World`] promises, and what processes do with messages, over a process alone and launches of
//! threads.
//!
//! `mpi.rs` runs the suite over real MPI (`examples/launched.rs`).

#[path = "suite/world.rs"]
mod suite;

use std::cell::Cell;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ranks::{
    Communicator, Deadline, ExchangeError, LocalWorld, Message, Processes, Ranks, RendezvousError, Single,
    World, WorldError, WorldPlace,
};
use suite::every_message_comes_once_and_in_its_senders_order;

fn soon() -> Deadline<'static> {
    Deadline::until(Instant::now() + Duration::from_secs(20))
}

fn shortly() -> Deadline<'static> {
    Deadline::until(Instant::now() + Duration::from_millis(60))
}

/// Runs each rank of a launch of threads in its own, and gives what they return, by rank.
fn launched<T: Send>(node_of: &[usize], act: impl Fn(LocalWorld) -> T + Sync) -> Vec<T> {
    let act = &act;
    thread::scope(|scope| {
        let worlds = LocalWorld::launch_on(node_of).into_iter();
        let threads: Vec<_> = worlds.map(|world| scope.spawn(move || act(world))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn every_message_comes_once_and_in_its_senders_order_in_every_world() {
    every_message_comes_once_and_in_its_senders_order(&Single::default());
    launched(&[0, 0, 1], |world| every_message_comes_once_and_in_its_senders_order(&world));
}

#[test]
fn gather_brings_everybodys_bytes_to_rank_0_and_broadcast_brings_its_to_all() {
    for size in [1, 2, 7] {
        let answers = launched(&vec![0; size], |world| {
            let mut comm = Communicator::new(&world);
            let mine = vec![world.place().rank as u8; world.place().rank];
            let gathered = comm.gather(&mine, soon()).expect("gathered");
            let heard = comm.broadcast(&[42, world.place().rank as u8], soon()).expect("heard");
            let own = comm.scatter(|rank| vec![rank as u8 + 1], soon()).expect("scattered");
            (gathered, heard, own)
        });
        let all: Vec<_> = (0..size).map(|rank| Some(vec![rank as u8; rank])).collect();
        for (rank, (gathered, heard, own)) in answers.into_iter().enumerate() {
            assert_eq!(gathered, (rank == 0).then(|| all.clone()));
            assert_eq!((heard, own), (vec![42, 0], vec![rank as u8 + 1]));
        }
    }
}

#[test]
fn a_message_that_comes_before_its_turn_waits_for_it() {
    // Rank 1 sends its three at once, long before rank 2 sends its first.
    let answers = launched(&[0, 0, 0], |world| {
        let mut comm = Communicator::new(&world);
        let rank = world.place().rank as u8;
        if rank == 2 {
            thread::sleep(Duration::from_millis(50));
        }
        (0..3).map(|turn| comm.gather(&[rank, turn], soon()).expect("gathered")).collect::<Vec<_>>()
    });
    let expected = |turn| Some((0..3).map(|rank| Some(vec![rank, turn])).collect::<Vec<_>>());
    assert_eq!(answers[0], [expected(0), expected(1), expected(2)]);
}

#[test]
fn what_did_not_come_in_time_is_none_and_is_not_taken_for_the_next_answer() {
    let first_is_over = Barrier::new(2);
    let answers = launched(&[0, 0, 0], |world| {
        let mut comm = Communicator::new(&world);
        let rank = world.place().rank as u8;
        if rank == 2 {
            first_is_over.wait();
        }
        let first = comm.gather(&[rank, 1], shortly()).expect("gathered");
        if rank == 0 {
            first_is_over.wait();
        }
        (first, comm.gather(&[rank, 2], soon()).expect("gathered"))
    });
    let (first, second) = &answers[0];
    assert_eq!(first.as_deref(), Some(&[Some(vec![0, 1]), Some(vec![1, 1]), None][..]));
    assert_eq!(second.as_deref(), Some(&[Some(vec![0, 2]), Some(vec![1, 2]), Some(vec![2, 2])][..]));
}

#[test]
fn nobody_waits_for_a_dead_rank_longer_than_it_wants_to() {
    let mut worlds = LocalWorld::launch(&[2]);
    drop(worlds.pop());
    let mut comm = Communicator::new(&worlds[0]);
    let start = Instant::now();
    let asked = Cell::new(0);
    let gives_up = || {
        asked.set(asked.get() + 1);
        start.elapsed() > Duration::from_millis(30)
    };
    let gathered = comm.gather(b"mine", soon().unless(&gives_up)).expect("gathered");
    assert_eq!(gathered, Some(vec![Some(b"mine".to_vec()), None]));
    // It naps: a poll each millisecond would be 30, a busy loop many thousands.
    assert!(asked.get() < 200, "{} polls", asked.get());
    assert!(start.elapsed() < Duration::from_secs(5));

    // Written off, it is not waited for at all, and others are told all the same.
    comm.write_off(1);
    let before = Instant::now();
    assert_eq!(comm.gather(b"mine", soon()).expect("gathered").map(|all| all[1].clone()), Some(None));
    assert_eq!(comm.broadcast(b"to all", soon()), Ok(b"to all".to_vec()));
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[test]
fn waiting_for_a_dead_rank_0_ends_with_its_name() {
    let mut worlds = LocalWorld::launch(&[2]);
    let second = worlds.pop().expect("two");
    drop(worlds);
    let mut comm = Communicator::new(&second);
    assert_eq!(comm.gather(b"mine", shortly()), Ok(None));
    assert_eq!(comm.broadcast(b"", shortly()), Err(ExchangeError::Late { from: 0 }));
    assert_eq!(
        Processes::rendezvous(&mut comm, shortly()).err(),
        Some(RendezvousError::NoAnswer { from: 0 })
    );
}

#[test]
fn notes_are_kept_in_order_beside_the_exchanges() {
    let answers = launched(&[0, 0], |world| {
        let mut comm = Communicator::new(&world);
        if world.place().rank == 1 {
            comm.send(0, b"one").expect("told");
            comm.gather(b"gathered", soon()).expect("gathered");
            comm.send(0, b"two").expect("told");
        } else {
            let all = comm.gather(b"", soon()).expect("gathered");
            assert_eq!(all.map(|all| all[1].clone()), Some(Some(b"gathered".to_vec())));
        }
        let mut notes = Vec::new();
        while world.place().rank == 0 && notes.len() < 2 {
            notes.extend(comm.try_receive().expect("asked").map(|message| (message.from, message.bytes)));
        }
        comm.broadcast(b"", soon()).expect("both wait for the end");
        notes
    });
    assert_eq!(answers[0], [(1, b"one".to_vec()), (1, b"two".to_vec())]);
}

#[test]
fn a_message_without_a_header_is_an_error_that_names_its_sender() {
    let worlds = LocalWorld::launch(&[2]);
    worlds[1].post(0, b"abc").expect("posted");
    let error = Communicator::new(&worlds[0]).try_receive().expect_err("no header");
    assert_eq!(error.to_string(), "collect failed: rank 1 sent 3 bytes without a header");
}

#[test]
fn a_launch_that_is_aborted_ends_every_wait() {
    let answers = launched(&[0, 0], |world| {
        if world.place().rank == 1 {
            world.abort(9);
            return Ok(None);
        }
        Communicator::new(&world).gather(b"", soon())
    });
    assert!(
        matches!(&answers[0], Err(WorldError { message, .. }) if message.ends_with("with code 9")),
        "{answers:?}"
    );
}

#[test]
fn the_processes_of_each_node_meet_and_leave_no_file_behind() {
    // Ranks distributed over nodes in turn, as `srun -m cyclic` does, and one node with a single rank.
    let node_of = [0, 1, 0, 1, 2, 1];
    let groups = launched(&node_of, |world| {
        let group = Processes::rendezvous(&mut Communicator::new(&world), soon()).expect("met");
        let largest = group.max(100 + world.place().rank as u64).expect("nobody gave up");
        (group, largest)
    });
    // All still have their page; a mapping whose file has no name any more is marked so.
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a /proc");
    let named: Vec<_> =
        maps.lines().filter(|map| map.contains("/numabench-") && !map.ends_with(" (deleted)")).collect();
    assert_eq!(named, [""; 0]);
    assert!(groups.iter().all(|(group, _)| group.unwatched().is_empty()));
    let answers: Vec<_> =
        groups.iter().map(|(group, largest)| (group.rank(), group.size(), *largest)).collect();
    assert_eq!(answers, [(0, 2, 102), (0, 3, 105), (1, 2, 102), (1, 3, 105), (0, 1, 104), (2, 3, 105)]);
}

#[test]
fn a_meeting_that_somebody_misses_fails_for_all_with_the_ranks_that_did_not_come() {
    let deadline = Instant::now() + Duration::from_secs(2);
    let answers = launched(&[0, 0, 1, 1], |world| match world.place().rank {
        2 => None,
        _ => Processes::rendezvous(&mut Communicator::new(&world), Deadline::until(deadline)).err(),
    });
    let missed = RendezvousError::Refused("rank 2 did not answer in time when the ranks met".into());
    assert_eq!(answers, [Some(missed.clone()), Some(missed.clone()), None, Some(missed)]);
}

#[test]
fn after_a_meeting_that_failed_the_exchanges_go_on() {
    let answers = launched(&[0, 0], |world| {
        let mut comm = Communicator::new(&world);
        let late = world.place().rank == 1;
        if late {
            thread::sleep(Duration::from_millis(200));
        }
        let met =
            Processes::rendezvous(&mut comm, Deadline::until(Instant::now() + Duration::from_millis(100)));
        (met.is_err(), comm.broadcast(b"go on", soon()))
    });
    assert_eq!(answers, [(true, Ok(b"go on".to_vec())), (true, Ok(b"go on".to_vec()))]);
}

/// A place where nothing ever comes, that counts how often it is looked there.
struct Silence {
    place: WorldPlace,
    looks: Cell<usize>,
}

impl World for Silence {
    fn place(&self) -> WorldPlace {
        self.place
    }

    fn post(&self, _: usize, _: &[u8]) -> Result<(), WorldError> {
        Ok(())
    }

    fn collect(&self) -> Result<Option<Message>, WorldError> {
        self.looks.set(self.looks.get() + 1);
        Ok(None)
    }

    fn abort(&self, _: u8) {}

    fn leave(&self) -> Result<(), WorldError> {
        Ok(())
    }
}

#[test]
fn of_many_ranks_of_a_node_each_looks_seldom_for_messages_while_it_waits() {
    let place = WorldPlace { rank: 1, size: 256, node_rank: 1, node_size: 256, ..WorldPlace::SINGLE };
    let silence = Silence { place, looks: Cell::new(0) };
    let ended =
        Communicator::new(&silence).broadcast(b"", Deadline::until(Instant::now() + Duration::from_secs(1)));
    assert!(ended.is_err());
    // Once a millisecond, 256 of them took the time of several PUs.
    let looks = silence.looks.get();
    assert!((5..100).contains(&looks), "{looks} looks in a second");
}
