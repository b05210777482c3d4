//! Ranks as they are seen, of processes that are really started.

use super::*;

#[test]
fn a_place_is_read_as_it_was_written() -> Result<(), Box<dyn std::error::Error>> {
    for asked in [
        AskedPlace::default(),
        AskedPlace { pus: Some("0-3,8".parse()?), memory_nodes: None },
        AskedPlace { pus: Some("5".parse()?), memory_nodes: Some("0-1".parse()?) },
    ] {
        assert_eq!(AskedPlace::parse(&asked.text()), asked);
    }
    assert_eq!(AskedPlace::parse("garbage;pus=x"), AskedPlace::default());
    Ok(())
}

/// Process 7, which was given PU 0 and is seen on these.
fn seen_on(pus: &str) -> Vec<SeenRank> {
    let pus: Option<IdSet> = pus.parse().ok();
    let asked_pus = "0".parse().ok();
    let rank = TrialRank { pus: pus.clone(), first_thread_pus: pus, asked_pus, ..TrialRank::of(7) };
    vec![SeenRank { rank, is_bound_as_its_parent: false }]
}

/// The PUs of the ranks that a look sees whose readings are these, until the run has ended.
fn seen_of(readings: &[Vec<SeenRank>]) -> Vec<String> {
    let mut left = readings.iter().cloned();
    let ranks = read_again(&mut || left.next().unwrap_or_default(), &|_| true, &|_| {});
    ranks.iter().flat_map(|seen| &seen.rank.pus).map(ToString::to_string).collect()
}

#[test]
fn a_rank_that_stays_elsewhere_until_its_run_ends_is_seen_there() {
    assert_eq!(seen_of(&[seen_on("1"), seen_on("1")]), ["1"]);
    assert_eq!(seen_of(&[Vec::new(), seen_on("1"), seen_on("1"), seen_on("1")]), ["1"]);
}

#[test]
fn a_rank_that_one_reading_saw_elsewhere_or_that_moves_from_pu_to_pu_proves_nothing() {
    assert_eq!(seen_of(&[seen_on("1")]), [""; 0]);
    assert_eq!(seen_of(&[seen_on("1"), seen_on("2"), seen_on("3")]), [""; 0]);
    assert_eq!(seen_of(&[seen_on("1"), seen_on("1"), seen_on("2")]), [""; 0]);
    assert_eq!(seen_of(&[seen_on("1"), seen_on("1"), seen_on("0")]), ["0"], "hwloc has finished");
    assert_eq!(seen_of(&[seen_on("0")]), ["0"], "one that ended in its place was there");
}

#[test]
fn a_rank_that_ended_elsewhere_is_kept_beside_those_that_still_run() {
    let other = |rank: &mut SeenRank| (rank.rank.rank, rank.rank.pid) = (Some(1), 8);
    let mut beside = seen_on("0");
    beside.iter_mut().for_each(other);
    let both = [seen_on("1"), beside.clone()].concat();
    assert_eq!(seen_of(&[both.clone(), both, beside.clone(), beside]), ["0", "1"]);
}

#[test]
fn a_program_that_has_just_begun_is_seen_with_its_own_variables() -> Result<(), Box<dyn std::error::Error>> {
    let mark = format!("became-{}", std::process::id());
    let becomes = format!("exec env {ASKED}=pus=0 sleep 0.02");
    let again = format!("for i in $(seq 100); do sh -c '{becomes}'; done");
    let mut child = std::process::Command::new("sh").args(["-c", &again]).env(MARK, &mark).spawn()?;

    let mut named_otherwise = 0;
    let mut seen = 0;
    while child.try_wait()?.is_none() {
        for (process, _) in programs(&mark).iter().filter(|(_, status)| status.program == "sleep") {
            seen += 1;
            named_otherwise += u32::from(!process.environment.contains_key(ASKED));
        }
    }

    assert_eq!(named_otherwise, 0, "of {seen}");
    Ok(())
}

#[test]
fn a_process_is_found_by_its_mark_and_by_no_other() -> Result<(), Box<dyn std::error::Error>> {
    let mark = format!("eyes-{}", std::process::id());
    let mut child = std::process::Command::new("sleep").arg("5").env(MARK, &mark).spawn()?;
    let found: Vec<u32> = (0..100)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(20));
            let found: Vec<u32> = marked(&mark).iter().map(|one| one.pid).collect();
            (!found.is_empty()).then_some(found)
        })
        .unwrap_or_default();
    let others = marked(&format!("{mark}0")).len();
    child.kill()?;
    child.wait()?;
    assert_eq!((found, others), (vec![child.id()], 0));
    Ok(())
}
