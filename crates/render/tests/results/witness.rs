//! Documents of `numabench witness` are shown, compared, put in a series and exported: of a planted program
//! on a simulated GPU in a guest of four NUMA nodes, with far and with near memory, and of two ranks of a
//! launch.

use std::error::Error;

use analysis::compare::{Thresholds, compare};
use analysis::comparison::{Comparison, Counts};
use analysis::history::history;
use analysis::judge::ChangeVerdict;
use analysis::read_document::ReadDocument;
use analysis::run::{NoRun, Run};
use analysis::witness::run;
use analysis::witness_launch::{self, WitnessLaunch, WitnessLink, launches};
use render::export;
use render::export::Form;
use render::terminal::{Style, witness};
use report::witness::Distance;
use report::{SavedDocument, WitnessDocument};

use crate::made::Done;

fn document(path: &str) -> Result<WitnessDocument, Box<dyn Error>> {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    Ok(WitnessDocument::from_json(&std::fs::read(path)?)?)
}

/// 24 MB pinned and 3 MB pageable of 29.8 MB are far.
fn far() -> Result<WitnessDocument, Box<dyn Error>> {
    document("../../docs/gallery/witness-far.json")
}

/// The same program with near memory.
fn near() -> Result<WitnessDocument, Box<dyn Error>> {
    document("../../docs/gallery/witness-near.json")
}

/// Two ranks of a launch, of which the first has far memory.
fn ranks() -> Result<Vec<(String, WitnessDocument)>, Box<dyn Error>> {
    let rank = |rank: u32| {
        let name = format!("witness-1.1.rank{rank}.json");
        Ok((name.clone(), document(&format!("tests/results/documents/{name}"))?))
    };
    [1, 0].into_iter().map(rank).collect()
}

fn run_of(document: &WitnessDocument) -> Result<Run, NoRun> {
    run(&WitnessLaunch::of_one("copies.json", document.clone()))
}

fn compared(base: &[WitnessDocument], new: &[WitnessDocument]) -> Result<Comparison, Box<dyn Error>> {
    let side = |documents: &[WitnessDocument]| documents.iter().map(run_of).collect::<Result<Vec<_>, _>>();
    let tool = base[0].tool.clone();
    Ok(compare(tool, &side(base)?, &side(new)?, Thresholds::default(), false)?)
}

/// Base and new figure of a case, with its verdict.
fn case(found: &Comparison, place: &str, name: &str) -> Option<(f64, f64, ChangeVerdict)> {
    let case = found.cases.iter().find(|case| case.key.place() == place && case.key.case == name)?;
    Some((case.base, case.new, case.verdict))
}

const FAR: &str = "bytes from far memory";

#[test]
fn far_bytes_that_became_near_are_found_from_one_run_a_side_and_the_other_way_round_too() -> Done {
    let (far, near) = ([far()?], [near()?]);
    let better = compared(&far, &near)?;
    let shares = Some((27e6 / 29.8e6, 0.0, ChangeVerdict::Improved));
    assert_eq!(case(&better, "all copies", FAR), shares, "{}", better.summary);
    assert_eq!(case(&better, "H2D pinned", FAR), Some((1.0, 0.0, ChangeVerdict::Improved)));
    let pageable = Some((3e6 / 29.8e6, 3e6 / 29.8e6, ChangeVerdict::Same));
    assert_eq!(case(&better, "all copies", "bytes of pageable memory"), pageable);

    // The bytes are said as what the runs were under; far copies that nobody makes any more are not missing.
    let bytes = better.differing.iter().find(|differs| differs.fact == FAR).ok_or("far bytes")?;
    assert_eq!(bytes.sides(), ("27000000".to_owned(), "0".to_owned()));
    assert_eq!((better.counts.missing, better.counts.added), (0, 0));
    let told = |found: &Comparison, words: &str| found.notes.iter().any(|note| note.contains(words));
    assert!(told(&better, "Only the base made such copies: rate, far memory, H2D pinned (9.93"));

    // A time of one run against one decides nothing.
    let times = case(&better, "the program", "run time").map(|(.., verdict)| verdict);
    assert_eq!(times, Some(ChangeVerdict::Inconclusive));
    let worse = compared(&near, &far)?;
    assert_eq!(worse.counts.regressed, 3, "{}", worse.summary);
    assert!(worse.summary.starts_with("REGRESSED: 3 of 7 cases; the worst by 100.0 points more: bytes from"));
    Ok(())
}

#[test]
fn a_document_against_itself_is_the_same_and_another_run_of_equal_bytes_has_equal_shares() -> Done {
    let far = far()?;
    let same = compared(std::slice::from_ref(&far), std::slice::from_ref(&far))?;
    assert_eq!(same.counts, Counts { same: 8, ..Counts::default() }, "{}", same.summary);
    assert!(same.notes[0].contains("very same measurement"), "{:?}", same.notes);

    let mut again = far.clone();
    again.elapsed_s *= 1.2;
    let other = compared(&[far], &[again])?;
    assert_eq!((other.counts.same, other.counts.inconclusive), (5, 3), "{}", other.summary);
    Ok(())
}

#[test]
fn a_share_of_which_some_pages_were_looked_at_is_suspected_until_three_runs_a_side() -> Done {
    let sampled = |mut document: WitnessDocument| {
        document.total.looked_at_bytes /= 2;
        document.buffers.iter_mut().for_each(|buffer| buffer.looked_at_bytes /= 2);
        document
    };
    let (near, far) = (sampled(near()?), sampled(far()?));
    let of_all = |found: &Comparison| case(found, "all copies", FAR).map(|(.., verdict)| verdict);
    let [one, two, three] =
        [1, 2, 3].map(|count| compared(&vec![near.clone(); count], &vec![far.clone(); count]));
    let one = one?;
    assert_eq!([of_all(&one), of_all(&two?)], [Some(ChangeVerdict::Suspect); 2]);
    assert_eq!(of_all(&three?), Some(ChangeVerdict::Regressed));
    assert!(
        one.notes.iter().any(|note| note.contains("estimated: not all pages were looked at (`witness --pages all` does)")),
        "{:?}",
        one.notes
    );

    // One side's estimate makes the difference one.
    let mixed = compared(&[self::near()?], &[far])?;
    assert_eq!(of_all(&mixed), Some(ChangeVerdict::Suspect));
    Ok(())
}

#[test]
fn where_no_distance_is_known_there_is_no_far_share_and_one_that_was_known_is_missing() -> Done {
    let unknown = |mut document: WitnessDocument| {
        let total = &mut document.total;
        total.unknown_bytes += std::mem::take(&mut total.far_bytes) + std::mem::take(&mut total.near_bytes);
        for buffer in &mut document.buffers {
            (buffer.distance, buffer.far_bytes) = (Distance::Unknown, 0);
        }
        document.distance_unknown = Some("a virtual machine with one NUMA node".to_owned());
        document
    };
    let (far, hidden) = (far()?, unknown(near()?));
    let both = compared(&[unknown(far.clone())], std::slice::from_ref(&hidden))?;
    assert_eq!(both.cases.iter().find(|case| case.key.case == FAR), None, "{}", both.summary);

    let lost = compared(std::slice::from_ref(&far), &[hidden])?;
    let reasons: Vec<_> = lost.missing.iter().filter_map(|case| case.reason.as_deref()).collect();
    assert_eq!(reasons, ["a virtual machine with one NUMA node"], "{}", lost.summary);

    // The share is of what is known, and then no count.
    let mut part = near()?;
    part.total.unknown_bytes = part.total.near_bytes / 2;
    part.total.near_bytes -= part.total.unknown_bytes;
    let found = compared(&[far], &[part])?;
    assert_eq!(
        case(&found, "all copies", FAR).map(|case| (case.1, case.2)),
        Some((0.0, ChangeVerdict::Suspect))
    );
    Ok(())
}

#[test]
fn shares_that_differ_from_run_to_run_of_one_side_decide_nothing() -> Done {
    let (near, far) = (near()?, far()?);
    let found = compared(&[near.clone(), far.clone(), far.clone()], &[far, near.clone(), near])?;
    let of_all = case(&found, "all copies", FAR).map(|(.., verdict)| verdict);
    assert_eq!(of_all, Some(ChangeVerdict::Inconclusive), "{}", found.summary);
    Ok(())
}

#[test]
fn other_programs_and_other_numbers_of_ranks_are_refused() -> Done {
    let mut other = far()?;
    other.processes[0].name = "another".to_owned();
    let refused = compared(&[far()?], &[other]).err().map(|error| error.to_string()).unwrap_or_default();
    let words = "processes that copied is copies in the base and another in the new";
    assert!(refused.contains(words), "{refused}");

    let launch = launches(ranks()?);
    let tool = far()?.tool;
    let sides = ([run(&launch[0])?], [run_of(&far()?)?]);
    let refused = compare(tool, &sides.0, &sides.1, Thresholds::default(), false);
    assert!(
        refused.is_err_and(|error| error.to_string().contains("ranks is 2 in the base and 1 in the new"))
    );
    Ok(())
}

#[test]
fn a_run_without_a_copy_is_no_run_to_compare() -> Done {
    let mut none = far()?;
    none.total = Default::default();
    assert_eq!(run_of(&none).err(), Some(NoRun::NoCopies));
    Ok(())
}

#[test]
fn the_ranks_of_a_launch_are_one_run_whose_sums_are_exact_and_stand_first() -> Done {
    let found = launches(ranks()?);
    let [launch] = &found[..] else { return Err("one launch".into()) };
    assert_eq!(launch.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [Some(0), Some(1)]);
    let total = &launch.sum.total;
    assert_eq!((total.bytes, total.far_bytes, total.near_bytes), (54_000_000, 24_000_000, 30_000_000));
    assert_eq!((total.copies, launch.sum.buffers.len(), launch.sum.rates.len()), (52, 4, 2));
    let waits: f64 = launch.ranks.iter().filter_map(|rank| rank.waited_s).sum();
    assert_eq!(launch.sum.waited_s, Some(waits));

    let style = Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    insta::assert_snapshot!("witness_ranks", witness(launch, &style));
    Ok(())
}

#[test]
fn two_launches_are_two_runs_whatever_order_their_documents_come_in() -> Done {
    let first = ranks()?;
    let mut second = first.clone();
    for (name, document) in &mut second {
        *name = format!("second/{name}");
        document.started_at = document.started_at.replacen("2026-11-29", "2026-11-30", 1);
    }
    let all: Vec<_> = first.into_iter().zip(second).flat_map(|(one, other)| [other, one]).collect();
    let found = launches(all);
    let names: Vec<(&str, usize)> =
        found.iter().map(|launch| (&launch.name[..], launch.ranks.len())).collect();
    assert_eq!(names, [("second/witness-1.1.rank0.json", 2), ("witness-1.1.rank0.json", 2)]);

    // Without a rank each document is a run of its own, also of one program at one time.
    let alone = launches(vec![("a".to_owned(), far()?), ("b".to_owned(), far()?)]);
    assert_eq!(alone.len(), 2);
    Ok(())
}

#[test]
fn the_answer_of_a_single_document_is_the_one_that_witness_said() -> Done {
    let launch = WitnessLaunch::of_one("copies.json", far()?);
    let style = Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let text = witness(&launch, &style);
    assert!(text.starts_with("SIMULATED"), "{text}");
    assert!(
        text.contains("\n90.6 % of the 29.8 MB copied between host memory and GPUs are far from"),
        "{text}"
    );
    assert_eq!(analysis::witness_answer::verdict(&launch.sum, &[launch.sum.elapsed_s]), launch.sum.verdict);
    Ok(())
}

#[test]
fn a_page_of_a_launch_has_its_ranks_and_one_of_two_runs_what_changed() -> Done {
    let read = |name: &str, document: &WitnessDocument| -> Result<_, Box<dyn Error>> {
        let bytes = report::json::json_value(document)?;
        Ok((name.to_owned(), ReadDocument::from_json(&bytes, &[])?))
    };
    let tool = far()?.tool;
    let of_ranks: Result<Vec<_>, _> = ranks()?.iter().map(|(name, rank)| read(name, rank)).collect();
    let page = render::html::report(of_ranks?, tool.clone())?;
    assert!(page.contains("44.4 % of the 54.0 MB"), "{page}");
    assert!(page.contains("<caption>Ranks, all of them together first</caption>"), "{page}");
    assert_eq!(page.matches("<th scope=\"row\">all</th>").count(), 1);

    let two = vec![read("far.json", &far()?)?, read("near.json", &near()?)?];
    let page = render::html::report(two, tool)?;
    assert!(page.contains("near.json against far.json: IMPROVED: 3 of 7 cases."), "{page}");
    assert!(
        page.contains("−90.6 points IMPROVED") && !page.contains("NaN") && !page.contains("inf"),
        "{page}"
    );
    Ok(())
}

/// Twelve runs a day apart, of which those from the seventh on are near.
fn days() -> Result<Vec<Run>, Box<dyn Error>> {
    let day = |day: u64| {
        let mut document = if day < 6 { far()? } else { near()? };
        document.started_at = format!("2026-02-{:02}T03:00:00.000Z", day + 1);
        Ok(run_of(&document)?)
    };
    (0..12).map(day).collect()
}

#[test]
fn a_history_names_the_day_on_which_far_bytes_went_also_where_none_are_left() -> Done {
    let found = history(far()?.tool, days()?, Thresholds::default());
    let of_all = found.steps.iter().find(|step| step.key.place.as_deref() == Some("all copies"));
    let step = of_all.ok_or("no step of all copies")?;
    assert_eq!((&step.key.case[..], &step.first_after[..10]), (FAR, "2026-02-07"));
    assert!((step.before - 27e6 / 29.8e6).abs() < 1e-12 && step.after == 0.0, "{step:?}");
    let bytes = step.differing.iter().map(|differs| differs.then());
    assert!(bytes.into_iter().any(|said| said == "bytes from far memory: 27000000, then 0"), "{step:?}");

    let text = render::compared::history(&found, 100, false);
    assert!(text.contains("90.6 points less: bytes from far memory, guest all copies"), "{text}");
    Ok(())
}

#[test]
fn a_point_is_a_node_and_gpu_by_way_and_memory_and_every_byte_is_in_one() -> Done {
    let mut far = far()?;
    let points = export::witness(&far);
    let bytes: u64 = points
        .points
        .iter()
        .filter_map(|point| match point.number("copied_bytes") {
            Some(export::points::Number::Count(bytes)) => Some(bytes),
            _ => None,
        })
        .sum();
    assert_eq!((bytes, points.points.len()), (far.total.bytes, 3));
    let names: Vec<&str> = points.points.iter().map(|point| &point.name[..]).collect();
    assert_eq!(names[0], "pinned/h2d/0000:c1:00.0/mem2", "most far bytes first");
    let csv = String::from_utf8(points.export(Form::Csv)?)?;
    assert!(csv.contains(",h2d,pinned,2,0000:c1:00.0,0,far,24000000,0.805"), "{csv}");

    // A document of 1.0 says of a whole buffer how far it is; bytes without a node have a point of their own.
    far.buffers[0].nodes[0].distance = None;
    far.buffers[1].nodes[0].bytes -= 1000;
    let points = export::witness(&far);
    let distances: Vec<&str> = points.points.iter().map(|point| point.word("distance")).collect();
    assert_eq!(distances, ["far", "far", "near", "unknown"]);
    far.buffers[0].distance = Distance::Mixed;
    assert_eq!(export::witness(&far).points[1].word("distance"), "unknown");
    Ok(())
}

#[test]
fn bytes_of_two_hosts_are_no_one_link_though_their_nodes_and_gpus_have_the_same_names() -> Done {
    let links = |hosts: [&str; 2]| -> Result<Vec<WitnessLink>, Box<dyn Error>> {
        let (mut one, mut other) = (far()?, far()?);
        (one.host, other.host) = (Some(hosts[0].to_owned()), Some(hosts[1].to_owned()));
        Ok(witness_launch::links(&[one, other]))
    };
    let (together, apart) = (links(["nid1", "nid1"])?, links(["nid1", "nid2"])?);
    assert_eq!(apart.len(), 2 * together.len());
    assert_eq!(together[0].bytes, apart[0].bytes + apart[1].bytes);
    assert!(together.iter().all(|link| link.host.is_none()));
    assert!(apart.iter().all(|link| link.host.as_deref().is_some_and(|host| host.starts_with("nid"))));
    Ok(())
}
