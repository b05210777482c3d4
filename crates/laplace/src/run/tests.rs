//! Two ranks as threads, whose devices are heap memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use kernels::jacobi::Precision;
use ranks::{LocalWorld, WorldError};
use stats::stop::Patience;

use engine::ObservedPlacement;

use super::*;
use crate::gpu_fields::stand_in::{Faults, fields};
use crate::grid::{LaplaceGrid, RowShare};
use crate::rows;

/// Messages under way, by sender and receiver.
#[derive(Default)]
struct Mail {
    messages: Mutex<HashMap<[usize; 2], VecDeque<Vec<u8>>>>,
    came: Condvar,
}

/// One rank's MPI.
struct ThreadExchange {
    rank: usize,
    mail: Arc<Mail>,
    receives: Mutex<Vec<(usize, usize, usize)>>,
}

impl Exchange for ThreadExchange {
    unsafe fn send(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
        unreachable!("halos are sent without waiting")
    }

    unsafe fn receive(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
        unreachable!("halos are received without waiting")
    }

    unsafe fn start_send(&self, to: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        // SAFETY: the caller's word.
        let row =
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(address), bytes) };
        let mut messages = self.mail.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.entry([self.rank, to]).or_default().push_back(row.to_vec());
        self.mail.came.notify_all();
        Ok(())
    }

    unsafe fn start_receive(&self, from: usize, address: usize, bytes: usize) -> Result<(), WorldError> {
        self.receives.lock().unwrap_or_else(PoisonError::into_inner).push((from, address, bytes));
        Ok(())
    }

    fn wait_all(&self) -> Result<(), WorldError> {
        for (from, address, bytes) in self.receives.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let messages = self.mail.messages.lock().unwrap_or_else(PoisonError::into_inner);
            let none = |messages: &mut HashMap<[usize; 2], VecDeque<Vec<u8>>>| {
                messages.get(&[from, self.rank]).is_none_or(VecDeque::is_empty)
            };
            let limit = Duration::from_secs(20);
            let waited = self.mail.came.wait_timeout_while(messages, limit, none);
            let (mut messages, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let row = messages.get_mut(&[from, self.rank]).and_then(VecDeque::pop_front);
            let row =
                row.ok_or_else(|| WorldError { call: "MPI_Waitall".into(), message: "nothing came".into() })?;
            assert_eq!(row.len(), bytes);
            // SAFETY: the room of `start_receive`, which its caller leaves alone until now.
            unsafe {
                std::ptr::with_exposed_provenance_mut::<u8>(address)
                    .copy_from_nonoverlapping(row.as_ptr(), bytes);
            };
        }
        Ok(())
    }

    unsafe fn operate(
        &self,
        _: ranks::PairOperation,
        _: usize,
        _: usize,
        _: usize,
        _: usize,
    ) -> Result<(), WorldError> {
        unreachable!("halos need no collective operation")
    }

    fn gpu_support(&self) -> Vec<String> {
        Vec::new()
    }
}

struct NoJournal;

impl SessionJournal<LaplaceStep, LaplaceResults> for NoJournal {
    fn doing(&mut self, _: &LaplaceStep) {}

    fn found(&mut self, _: &LaplaceResults) {}
}

/// Large enough that the wave, by which a wrong iteration is seen, is there after thousands.
const GRID: LaplaceGrid = LaplaceGrid { rows: 160, columns: 160 };
/// Small enough for thousands of iterations in a block.
const SMALL: LaplaceGrid = LaplaceGrid { rows: 12, columns: 24 };

fn run_of(variants: Vec<WayVariant>) -> LaplaceRun {
    let rule = StopRule { min_blocks: 2, max_blocks: 3, target_half_width: 1e-9, patience: Patience::Long };
    let options = LaplaceOptions { max_time: Duration::from_secs(60), ..LaplaceOptions::default() };
    LaplaceRun { options, variants, rule }
}

/// What rank 0 finds of a run by two ranks, each with its device's faults, and how many messages are left
/// that nobody received.
fn found_by_two(run: &LaplaceRun, faults: [Faults; 2]) -> (LaplaceResults, usize) {
    let planes = |rank, faults| vec![plane_of(RowShare::new(GRID, Precision::Double, rank, 2), faults)];
    found_of(run, faults, planes)
}

/// The same, where the ranks have these planes.
fn found_of(
    run: &LaplaceRun,
    faults: [Faults; 2],
    planes: impl Fn(usize, Faults) -> Vec<RankPlane> + Sync,
) -> (LaplaceResults, usize) {
    let planes = &planes;
    let mail = Arc::new(Mail::default());
    let rank = |(rank, world): (usize, LocalWorld)| {
        let (mail, faults) = (Arc::clone(&mail), faults[rank]);
        move || {
            let mut planes = planes(rank, faults);
            let mpi = ThreadExchange { rank, mail, receives: Mutex::default() };
            let mut here = LaplaceRank { planes: &mut planes, mpi: Some(&mpi) };
            run.run(&mut here, &mut Communicator::new(&world), &AtomicBool::new(false), &mut NoJournal)
        }
    };
    let mut worlds = LocalWorld::launch(&[2]).into_iter().enumerate();
    let found = std::thread::scope(|scope| {
        let [first, second] = [worlds.next(), worlds.next()].map(|world| scope.spawn(rank(world.unwrap())));
        let _ = second.join().unwrap();
        first.join().unwrap().unwrap()
    });
    let left = mail.messages.lock().unwrap().values().map(VecDeque::len).sum();
    (found, left)
}

/// Rows of the one plane that all ranks have.
fn plane_of(share: RowShare, faults: Faults) -> RankPlane {
    let memory = Some(LaplaceMemory::of_gpu(fields(share, faults)));
    RankPlane { ranks: None, grid: share.grid, memory }
}

fn staged() -> Vec<WayVariant> {
    [false, true].map(|overlap| WayVariant::by_all(HaloWay::Staged, overlap)).to_vec()
}

#[test]
fn one_rank_and_two_take_turns_and_the_second_lets_the_first_compute_alone() {
    let by = |way, ranks| WayVariant { ranks: Some(ranks), ..WayVariant::by_all(way, false) };
    let run = run_of(vec![by(HaloWay::Gpu, 1), by(HaloWay::Staged, 2)]);
    let planes = |rank: usize, faults| -> Vec<RankPlane> {
        let plane = |ranks: usize| {
            let share = || RowShare::new(GRID, Precision::Double, rank, ranks);
            let memory = (rank < ranks).then(|| LaplaceMemory::of_gpu(fields(share(), faults)));
            RankPlane { ranks: Some(ranks), grid: GRID, memory }
        };
        [1, 2].map(plane).into_iter().collect()
    };
    let (found, left) = found_of(&run, [Faults::default(); 2], planes);

    assert_eq!(left, 0);
    let [one, two] = &found.ways[..] else { panic!("{found:?}") };
    assert_eq!((&one.trouble, &two.trouble), (&None, &None));
    assert_eq!((one.blocks.len(), two.blocks.len()), (1, 2), "of the ranks that compute");
    assert!(one.blocks[0].len() >= 2 && two.blocks.iter().all(|blocks| blocks.len() >= 2));
    assert_eq!(
        one.proof.map(|proof| proof.residual),
        two.proof.map(|proof| proof.residual),
        "one plane, however many compute it"
    );
    let of_all = (GRID.rows * GRID.columns * 8) as u64;
    assert!(found.ranks[0].checked_bytes > found.ranks[1].checked_bytes, "{found:?}");
    assert!(found.ranks[0].checked_bytes >= 2 * of_all, "the whole plane alone, twice");
}

#[test]
fn a_launch_that_fails_on_a_rank_costs_its_way_and_the_other_way_is_right() {
    // In the proof, in the iterations that say how long a block is, and in blocks of either way.
    for launch in [1, 5, 16, 18, 40, 64, 90, 200] {
        for faulty in [0, 1] {
            let mut faults = [Faults::default(); 2];
            faults[faulty].launch = Some(launch);
            let (found, left) = found_by_two(&run_of(staged()), faults);
            let troubles: Vec<_> = found.ways.iter().filter_map(|way| way.trouble.as_ref()).collect();
            let [WayTrouble::Failed(why)] = troubles[..] else { panic!("launch {launch}: {troubles:?}") };
            assert!(why.contains(&format!("rank {faulty}: this launch")), "launch {launch}: {why}");
            let right = found.ways.iter().find(|way| way.trouble.is_none());
            assert!(
                right.is_some_and(|way| way.blocks.iter().all(|blocks| blocks.len() >= 2)),
                "launch {launch}"
            );
            assert_eq!(left, 0, "launch {launch}: messages of the failed way are left for the next one");
        }
    }
}

#[test]
fn the_time_of_a_staged_halo_holds_its_copies_back() {
    let copy = Duration::from_millis(2);
    let run = run_of(vec![WayVariant::by_all(HaloWay::Staged, false)]);
    let (found, _) = found_by_two(&run, [Faults { copy, ..Faults::default() }; 2]);
    for block in found.ways[0].blocks.iter().flatten() {
        let least = u64::from(block.iterations) * copy.as_nanos() as u64;
        assert!(block.halo_ns >= least, "{block:?}");
        assert!(block.halo_ns <= block.end_ns - block.start_ns, "{block:?}");
    }
}

#[test]
fn in_single_precision_the_field_is_checked_before_rounding_hides_a_wrong_row() {
    let share = RowShare::new(SMALL, Precision::Single, 0, 1);
    let mut planes = [plane_of(share, Faults::default())];
    let mut here = LaplaceRank { planes: &mut planes, mpi: None };
    let variants = vec![WayVariant::by_all(HaloWay::Gpu, false)];
    let options = LaplaceOptions { precision: Precision::Single, ..LaplaceOptions::default() };
    let run = LaplaceRun { options, ..run_of(variants) };
    let world = LocalWorld::launch(&[1]).remove(0);
    let mut comm = Communicator::new(&world);
    let found = run.run(&mut here, &mut comm, &AtomicBool::new(false), &mut NoJournal).unwrap();

    assert_eq!(found.ways[0].trouble, None);
    let iterations: u64 = found.ways[0].blocks[0].iter().map(|block| u64::from(block.iterations)).sum();
    let most = rows::most_iterations(Precision::Single);
    let checks = found.ranks[0].checked_bytes / (share.field.rows * share.field.row_bytes()) as u64;
    assert!(most < 3000 && checks > iterations / most, "{checks} checks of {iterations} iterations");
}

#[test]
fn a_rank_whose_placement_cannot_be_checked_leaves_no_way_with_a_figure() {
    let way = WayFound::begun(staged()[0], 2);
    let mut found =
        LaplaceResults { ways: vec![way], ranks: vec![RankFound::default(); 2], interrupted: false };
    let seen = LaplaceAnswer::Looked(ObservedPlacement::thread().unwrap(), None);
    keep_placement(&mut found, false, vec![seen, LaplaceAnswer::Failed("getcpu: EPERM".to_owned())]);
    let Some(WayTrouble::Failed(why)) = &found.ways[0].trouble else { panic!("{found:?}") };
    assert!(why.starts_with("rank 1: ") && why.ends_with("after the iterations: getcpu: EPERM"), "{why}");
}
