//! What must hold in every order of steps.

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use shuttle::{Config, MaxSteps, Runner, thread};
use std::time::Duration;

use crate::around::{DeviceId, Platform, ending};
use crate::case::GpuThreadAt;
use crate::fault::ExchangeFault;
use crate::gpu_thread::GpuThread;
use crate::round::{Round, Sleep};
use crate::sync::Futex;
use crate::threads::Threads;
use crate::tickets::Tickets;
use crate::watchdog::Watchdog;
use crate::{Aborted, Ranks, VALUES};

/// Tries a model in so many orders of steps, the same ones in every run.
fn tried(orders: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.silence_warnings = true;
    // Far more than a model takes to its end: what goes on is a wait for something that does not come.
    config.max_steps = MaxSteps::FailAfter(20_000);
    Runner::new(RandomScheduler::new_from_seed(1, orders), config).run(model);
}

const SIZE: usize = 3;
const ROUNDS: u64 = 3;

/// What a member brings to a round, less in each: what is left of an earlier one would be the largest. And
/// the largest that all bring.
fn values(rank: usize, round: u64) -> [u64; VALUES] {
    std::array::from_fn(|at| 1000 * (ROUNDS - round) + (7 * (rank + at) as u64 + round) % 11)
}

fn largest(round: u64) -> [u64; VALUES] {
    std::array::from_fn(|at| (0..SIZE).map(|rank| values(rank, round)[at]).max().unwrap_or(0))
}

/// The rounds of one member, which gives up before `gives_up`; how many it took part in.
fn rounds(
    rank: usize,
    gives_up: u64,
    max: impl Fn([u64; VALUES]) -> Result<[u64; VALUES], Aborted>,
    abort: impl Fn(),
) -> u64 {
    for round in 0..ROUNDS {
        if round == gives_up {
            abort();
            return round;
        }
        match max(values(rank, round)) {
            Ok(found) => assert_eq!(found, largest(round), "rank {rank}, round {round}"),
            Err(Aborted) => return round,
        }
    }
    ROUNDS
}

/// When one of them gives up: for half of the orders never.
fn when() -> u64 {
    thread_rng().gen_range(0..2 * ROUNDS)
}

/// Whether a round was completed has one answer for all.
fn agree(done: &[u64], gives_up: u64) {
    let expected = gives_up.min(ROUNDS);
    assert!(done.iter().all(|rounds| *rounds == expected), "{done:?} where one gave up before {gives_up}");
}

#[test]
fn threads_agree_on_each_round_and_on_where_one_gave_up() {
    tried(4000, || {
        let gives_up = when();
        let members = Threads::group(SIZE).into_iter().map(|member| {
            let last = if member.rank() == 0 { gives_up } else { u64::MAX };
            thread::spawn(move || {
                rounds(member.rank(), last, |values| member.max_of_each(values), || member.abort())
            })
        });
        let members: Vec<_> = members.collect();
        let done: Vec<u64> = members.into_iter().map(|member| member.join().expect("no panic")).collect();
        agree(&done, gives_up);
    });
}

/// The words of a page.
#[derive(Default)]
struct Page {
    state: AtomicU32,
    largest: [[AtomicU64; VALUES]; 2],
    futex: Futex,
}

impl Page {
    fn round(&self) -> Round<'_> {
        Round {
            state: &self.state,
            largest: self.largest.each_ref().map(|values| values.each_ref()),
            size: SIZE,
        }
    }
}

impl Sleep for Page {
    fn sleep_while(&self, state: u32) {
        self.futex.sleep_while(&self.state, state);
    }

    fn wake_all(&self) {
        self.futex.wake_all(&self.state);
    }
}

#[test]
fn processes_agree_on_each_round_and_on_where_one_gave_up() {
    tried(4000, || {
        let (page, gives_up) = (Arc::new(Page::default()), when());
        let members = (0..SIZE).map(|rank| {
            let (page, last) = (Arc::clone(&page), if rank == 0 { gives_up } else { u64::MAX });
            thread::spawn(move || {
                let words = page.round();
                rounds(rank, last, |values| words.max_of_each(values, &*page), || words.abort(&*page))
            })
        });
        let members: Vec<_> = members.collect();
        let done: Vec<u64> = members.into_iter().map(|member| member.join().expect("no panic")).collect();
        agree(&done, gives_up);
        assert_eq!(page.round().is_aborted(), gives_up < ROUNDS);
    });
}

#[test]
fn a_member_that_sees_all_arrived_sees_what_each_did_before() {
    tried(4000, || {
        let did: Arc<Vec<AtomicU64>> = Arc::new((0..SIZE).map(|_| AtomicU64::new(0)).collect());
        let members = Threads::group(SIZE).into_iter().map(|member| {
            let did = Arc::clone(&did);
            thread::spawn(move || {
                for phase in 1..=2 {
                    did[member.rank()].store(phase, Ordering::SeqCst);
                    member.arrive();
                    while !member.all_arrived() {
                        thread::yield_now();
                    }
                    assert!(did.iter().all(|did| did.load(Ordering::SeqCst) >= phase), "phase {phase}");
                }
            })
        });
        let members: Vec<_> = members.collect();
        members.into_iter().for_each(|member| member.join().expect("no panic"));
    });
}

#[test]
fn a_latch_holds_until_it_is_opened_lets_go_then_and_says_whether_it_gave_up() {
    tried(4000, || {
        let words: Arc<[AtomicU32; 2]> = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let opened = Arc::new(AtomicU32::new(0));
        let mut tickets = Tickets::default();
        for batch in 1..=3_u32 {
            let ticket = tickets.close();
            let (shared, seen) = (Arc::clone(&words), Arc::clone(&opened));
            // In half of the orders it never gives up.
            let looks = thread_rng().gen_range(1..24);
            let looks = if looks < 12 { looks } else { usize::MAX };
            // The device's wait: until the word has reached the ticket, or until it has looked often enough
            // (`kernels/`).
            let device = thread::spawn(move || {
                for _ in 0..looks {
                    let ahead = shared[0].load(Ordering::SeqCst).wrapping_sub(ticket).cast_signed();
                    if ahead >= 0 {
                        assert_eq!(seen.load(Ordering::SeqCst), batch, "it let go before it was opened");
                        return false;
                    }
                    thread::yield_now();
                }
                shared[1].store(ticket, Ordering::SeqCst);
                true
            });
            opened.store(batch, Ordering::SeqCst);
            tickets.open(&words[0]);
            let gave_up = device.join().expect("no panic");
            assert_eq!(tickets.gave_up(&words[1]), gave_up);
        }
    });
}

/// Devices by how many of their copies are good.
struct Gpus;

impl Platform for Gpus {
    fn open(&self, id: DeviceId) -> Result<Box<DeviceId>, ExchangeFault> {
        Ok(Box::new(id))
    }
}

#[test]
fn a_ranks_second_thread_copies_beside_every_piece_of_work_and_ends_with_its_rank() {
    tried(2000, || {
        thread::scope(|scope| {
            let device = DeviceId(u32::MAX);
            let second =
                GpuThread::start(scope, &Gpus, device, GpuThreadAt, [0, 0], true).expect("it starts");
            for work in 0..3 {
                let (done, copied) = second.beside(|| Ok(work)).expect("no fault");
                assert!(done == work && copied.bytes >= 2, "{copied:?}");
                assert_eq!(second.alone(2).expect("no fault").bytes, 4);
            }
        });
    });
}

#[test]
fn a_device_that_fails_beside_work_is_said_after_it_and_ends_nothing_else() {
    tried(2000, || {
        thread::scope(|scope| {
            let device = DeviceId(thread_rng().gen_range(0..4));
            let second =
                GpuThread::start(scope, &Gpus, device, GpuThreadAt, [0, 0], true).expect("it starts");
            let mut worked = 0;
            for _ in 0..6 {
                let beside = second.beside(|| {
                    worked += 1;
                    Ok(())
                });
                let failed = matches!(beside, Err(ExchangeFault::Device));
                assert!(beside.is_ok() || failed, "{:?}", beside.err());
            }
            assert_eq!(worked, 6);
        });
    });
}

#[test]
fn a_watchdog_that_was_let_go_in_time_never_ends_the_process_afterwards() {
    tried(4000, || {
        ending::ENDED.set(false);
        let watchdog = Watchdog::set(Duration::from_secs(1), None, |_| {}).expect("a thread");
        thread::yield_now();
        drop(watchdog);
        let ended_before = ending::ENDED.get();
        for _ in 0..4 {
            thread::yield_now();
        }
        assert!(ended_before || !ending::ENDED.get(), "it was let go, and the process ended all the same");
    });
}
