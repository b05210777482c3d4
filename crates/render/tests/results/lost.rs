//! What is lost is said wherever figures are: a GPU that failed in every case, bytes that were wrong, runs and
//! nodes without a figure. A figure that is missing is not one that is well.
//!
//! Some 450 lines because each way to lose a figure has its documents and what is said of them side by side.

use analysis::by_gpu::by_gpu;
use analysis::compare::{Thresholds, compare};
use analysis::comparison_finding::ComparisonFinding;
use analysis::history::{History, history};
use analysis::node_changes::node_changes;
use analysis::node_run::{NodeRun, of_document};
use analysis::nodes::{Mark, nodes};
use analysis::run::Run;
use analysis::unfinished::with_ending;
use report::Document;
use report::document::{Status, Tool};
use report::node::{Node, NodeFacts};
use report::result::Outcome;
use report::rows::rows;
use report::settings::{CopyEngine, Direction};
use stats::change_point::LEAST_VALUES;

use crate::made::{Done, between_gpus, document};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];

fn tool() -> Tool {
    Tool { name: "numabench".into(), version: "0.0.0".into(), git: None }
}

/// The results of these ranks become this.
fn lose(document: &mut Document, ranks: &[u32], outcome: &Outcome) {
    for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks) {
        if ranks.contains(&result.rank) {
            result.outcome = outcome.clone();
        }
    }
    document.rows = rows(document);
}

fn failed() -> Outcome {
    Outcome::Failed {
        stage: stats::stage::Stage::Measure,
        call: None,
        code: Some(700),
        message: "error 700".into(),
    }
}

fn corrupt() -> Outcome {
    Outcome::Corrupt { reason: "byte 0 should be 0xe2 and is 0xe3".into() }
}

#[test]
fn a_gpu_without_any_figure_is_named_first_in_a_run_of_rows_and_columns() -> Done {
    let mut peers = between_gpus(3, 1.0)?;
    let first = peers.devices[0].clone();
    peers.devices = (0..3)
        .map(|gpu| report::device::Device { id: format!("0000:{gpu:02x}:00.0"), index: gpu, ..first.clone() })
        .collect();
    // Every copy that GPU 0 drives, and every one to it.
    lose(&mut peers, &[0, 1, 2, 3, 6], &failed());
    (peers.status, peers.status_reason) = (Status::Partial, Some("rank 0: error 700".into()));
    let said = with_ending(&peers, vec!["The others.".into()]);
    assert_eq!(said[0], "PARTIAL: no figure of GPU 0: rank 0: error 700. The other figures are unaffected.");
    let of_pairs = analysis::matrix_analysis::verdict(&peers).concat();
    assert!(of_pairs.contains("the 2 of 6 measured pairs alike"), "{of_pairs}");
    assert!(of_pairs.contains("the 2 of 3 measured GPUs alike"), "{of_pairs}");
    Ok(())
}

#[test]
fn bytes_that_were_wrong_stand_before_any_figure() -> Done {
    let mut peers = between_gpus(2, 1.0)?;
    lose(&mut peers, &[1], &corrupt());
    (peers.status, peers.status_reason) = (Status::DataCorrupt, Some("rank 1: byte 0".into()));
    let said = with_ending(&peers, vec!["The figures.".into()]);
    assert_eq!(said, ["DATA CORRUPT: rank 1: byte 0.", "The figures."]);
    Ok(())
}

#[test]
fn a_case_that_one_rank_lacks_lacks_figures_and_is_told_from_the_same_case_alone() -> Done {
    let mut lost = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    lost.cases[1].ranks[1].outcome = failed();
    lost.rows = rows(&lost);
    lost.status = Status::Partial;
    let said = analysis::unfinished::partial(&lost).ok_or("it is partial")?;
    assert!(said.starts_with("PARTIAL: 1 of 2 cases lacks figures (D2H 128 MiB)"), "{said}");
    let mut alone = lost.cases[1].clone();
    (alone.order, alone.id) = (report::case::Order::Simultaneous, "at once".into());
    lost.cases.push(alone);
    lost.rows = rows(&lost);
    let said = analysis::unfinished::partial(&lost).ok_or("it is partial")?;
    assert!(said.contains("2 of 3 cases lack figures (D2H 128 MiB, alone; D2H 128 MiB, at once)"), "{said}");
    Ok(())
}

#[test]
fn figures_of_a_rank_that_was_lost_later_are_nobodys() -> Done {
    let mut lost = document(&[12.3e9, 24.3e9], &BOTH, 1)?;
    lost.missing = vec![report::launch::MissingRank { rank: 0, host: None, why: "it died".into() }];
    let said = analysis::answer::answer(&lost).concat();
    assert!(said.contains("GPU 1: H2D 24.3 GB/s") && !said.contains("12.3"), "{said}");
    Ok(())
}

fn three(rates: [f64; 2], seed: u64) -> Result<Vec<Document>, Box<dyn std::error::Error>> {
    (seed..seed + 3).map(|seed| document(&rates, &BOTH, seed)).collect()
}

fn runs(documents: &[Document]) -> Result<Vec<Run>, Box<dyn std::error::Error>> {
    let run = |(at, document): (usize, &Document)| {
        let mut run = Run::of(&format!("{at}.json"), document)?;
        run.started_at = format!("2026-11-{:02}T00:00:00Z", at + 1);
        Ok(run)
    };
    documents.iter().enumerate().map(run).collect()
}

#[test]
fn a_case_that_some_of_the_new_runs_lack_is_missing_and_never_the_same() -> Done {
    let (base, mut new) = (three([24.3e9, 24.3e9], 1)?, three([24.3e9, 24.3e9], 4)?);
    for document in &mut new[1..] {
        lose(document, &[1], &corrupt());
        document.status = Status::DataCorrupt;
    }
    let got = compare(tool(), &runs(&base)?, &runs(&new)?, Thresholds::default(), false)?;
    assert_eq!((got.counts.missing, got.counts.added), (2, 0));
    assert!(
        got.summary.starts_with("MISSING: 2 of the base's cases have none in some of the new runs"),
        "{}",
        got.summary
    );
    let reason = got.missing[0].reason.clone().ok_or("a reason")?;
    assert!(reason.starts_with("in 2 of 3 runs, the last one: corrupt: byte 0"), "{reason}");
    let back = compare(tool(), &runs(&new)?, &runs(&base)?, Thresholds::default(), false)?;
    assert_eq!((back.counts.missing, back.counts.added), (0, 0), "what the base lacked is not missing");
    Ok(())
}

#[test]
fn a_gpu_that_some_of_the_new_runs_do_not_have_is_missing() -> Done {
    let (base, mut new) = (three([24.3e9, 24.3e9], 1)?, three([24.3e9, 24.3e9], 4)?);
    for case in new[1..].iter_mut().flat_map(|document| &mut document.cases) {
        case.ranks.truncate(1);
    }
    let got = compare(tool(), &runs(&base)?, &runs(&new)?, Thresholds::default(), false)?;
    assert_eq!((got.counts.missing, got.counts.added), (2, 0), "{}", got.summary);
    assert!(got.missing.iter().all(|lacking| lacking.reason.as_deref() == Some("in 2 of 3 runs")));

    // A run of another case says nothing of this one.
    let mut parts = three([24.3e9, 24.3e9], 4)?;
    parts[1].cases.truncate(1);
    parts[2].cases.remove(0);
    let got = compare(tool(), &runs(&base)?, &runs(&parts)?, Thresholds::default(), false)?;
    assert_eq!(got.counts.missing, 0, "{}", got.summary);
    Ok(())
}

#[test]
fn a_node_that_got_worse_lacks_figures_or_is_gone_is_found_where_all_cases_are_the_same() -> Done {
    let three_of = |change: &dyn Fn(usize, &mut Document)| -> Result<_, Box<dyn std::error::Error>> {
        let fleet = fleet(change)?;
        Ok([fleet.clone(), fleet.clone(), fleet].concat())
    };
    let one = three([24.3e9, 24.3e9], 1)?;
    let base = three_of(&|_, _| {})?;
    let against = |new: &[NodeRun]| -> Result<_, Box<dyn std::error::Error>> {
        let same = compare(tool(), &runs(&one)?, &runs(&one)?, Thresholds::default(), false)?;
        let found = same.with_nodes(node_changes(tool(), &base, new));
        let has = [ComparisonFinding::Regressed, ComparisonFinding::Suspect, ComparisonFinding::Missing]
            .map(|finding| found.has(finding));
        Ok((has, found.is_undecided(), found.summary))
    };
    let slow = |at: usize, document: &mut Document| {
        for result in document.cases.iter_mut().filter(|_| at == 4).map(|case| &mut case.ranks[1]) {
            if let Outcome::Measured { summary, .. } = &mut result.outcome {
                summary.median_bytes_per_s *= 0.75;
            }
        }
    };

    let worse = "1 of 12 nodes got worse by itself";
    let same = "SAME: 4 of 4 cases";
    let found = against(&three_of(&slow)?)?;
    assert_eq!(found, ([true, false, false], false, format!("REGRESSED: {worse}. {same}")));
    let found = against(&fleet(slow)?)?;
    assert_eq!(found, ([false, true, false], true, format!("SUSPECT: {worse}. {same}")));

    let lacks = |at: usize, document: &mut Document| {
        document.cases.iter_mut().filter(|_| at == 7).for_each(|case| case.ranks.truncate(1));
    };
    let found = against(&three_of(&lacks)?)?;
    let lacking = format!("MISSING: 1 of 12 nodes lacks figures. {same}");
    assert_eq!(found, ([false, false, true], false, lacking));
    let mut without = three_of(&|_, _| {})?;
    without.retain(|run| run.host != "n05");
    let gone = format!("MISSING: 1 of the base's 12 nodes is gone. {same}");
    assert_eq!(against(&without)?, ([false, false, true], false, gone));
    Ok(())
}

#[test]
fn two_ranks_in_one_place_are_two_figures() -> Done {
    let shared = |rates: [f64; 2], seed| -> Result<Document, Box<dyn std::error::Error>> {
        let mut document = document(&rates, &BOTH, seed)?;
        document.ranks[1].asked = document.ranks[0].asked.clone();
        Ok(document)
    };
    let mut new = shared([24.3e9, 24.3e9], 2)?;
    lose(&mut new, &[0], &failed());
    let got = compare(
        tool(),
        &runs(&[shared([24.3e9, 24.3e9], 1)?])?,
        &runs(&[new])?,
        Thresholds::default(),
        false,
    )?;
    assert_eq!((got.counts.missing, got.cases.len()), (2, 2), "{}", got.summary);
    Ok(())
}

fn searched(documents: &[Document]) -> Result<(History, String), Box<dyn std::error::Error>> {
    let found = history(tool(), runs(documents)?, Thresholds::default());
    let first = render::compared::history(&found, 200, false).lines().next().unwrap_or("").to_owned();
    Ok((found, first))
}

#[test]
fn a_series_that_ends_in_runs_without_a_figure_is_named_and_too_few_runs_were_not_searched() -> Done {
    let mut all: Vec<Document> =
        (1..21).map(|seed| document(&[24.3e9, 24.3e9], &BOTH, seed)).collect::<Result<_, _>>()?;
    all[14..].iter_mut().for_each(|document| lose(document, &[1], &failed()));
    let (found, first) = searched(&all)?;
    assert_eq!(found.ended.len(), 2);
    assert_eq!((found.ended[0].runs_without, &found.ended[0].reason[..]), (6, "failed: error 700"));
    assert_eq!(found.ended[0].first_without, "2026-11-15T00:00:00Z");
    assert!(
        first.starts_with("2 series end in runs without a figure (below). No step change in 20"),
        "{first}"
    );
    let (few, first) = searched(&all[..LEAST_VALUES - 1])?;
    assert_eq!(few.series, 0);
    assert_eq!(first, "Nothing was searched in 9 runs: a series needs 10");
    Ok(())
}

#[test]
fn a_host_without_later_runs_is_named_first_and_a_drift_is_no_good_news() -> Done {
    let mut all = Vec::new();
    for day in 0..14_usize {
        for host in ["n01", "n02"].into_iter().filter(|host| *host == "n01" || day < 10) {
            let falling = if host == "n01" { 0.98_f64.powi(day as i32) } else { 1.0 };
            let mut document = document(&[24.3e9, 24.3e9 * falling], &BOTH, day as u64 + 1)?;
            document.environment.hostname = host.to_owned();
            all.push(document);
        }
    }
    let (found, first) = searched(&all)?;
    assert_eq!(found.absent_hosts.len(), 1);
    assert!(first.starts_with("1 host has no run any more (below). No step change, but 2"), "{first}");
    let text = render::compared::history(&found, 200, false);
    assert!(text.contains("2026-11-20T00:00:00Z  the last run of n02, before 4 runs of other hosts"));
    assert!(found.has_changes());
    Ok(())
}

#[test]
fn runs_whose_places_change_are_said_to_need_series_by_gpu() -> Done {
    let of = |seed: u64| -> Result<Document, Box<dyn std::error::Error>> {
        let mut document = document(&[24.3e9, 24.3e9], &BOTH, seed)?;
        document.ranks.iter_mut().for_each(|rank| rank.asked.pu = rank.rank + 2 * seed as u32);
        Ok(document)
    };
    let all: Vec<Document> = (1..15).map(of).collect::<Result<_, _>>()?;
    let found = history(tool(), runs(&all)?, Thresholds::default());
    assert_eq!(found.series, 0);
    assert!(render::compared::history(&found, 200, false).contains("--by gpu makes a series of each GPU"));

    let of_gpus: Vec<Run> = runs(&all)?.into_iter().map(by_gpu).collect::<Result<_, _>>()?;
    let found = history(tool(), of_gpus, Thresholds::default());
    assert_eq!((found.series, found.has_changes()), (4, false));
    Ok(())
}

#[test]
fn of_runs_on_several_nodes_the_one_that_lost_its_figures_is_named() -> Done {
    let of = |seed: u64| -> Result<Document, Box<dyn std::error::Error>> {
        let mut document = document(&[24.3e9, 24.3e9], &BOTH, seed)?;
        let timer = document.environment.timer.clone();
        let facts = NodeFacts {
            probes: Vec::new(),
            api_version: None,
            timer,
            cpu_models: Vec::new(),
            numa_nodes: 1,
            memory_bytes: 0,
            gpus: Vec::new(),
            topology_digest: report::Known::value(String::new(), "hwloc"),
        };
        let node = |(index, host): (u32, &str)| Node {
            index,
            host: host.into(),
            ranks: [index].into_iter().collect(),
            facts: facts.clone(),
            differs: Vec::new(),
        };
        document.nodes = [(0, "n1"), (1, "n2")].map(node).into();
        document.ranks[1].host = "n2".into();
        Ok(document)
    };
    let mut all: Vec<Document> = (1..21).map(of).collect::<Result<_, _>>()?;
    all[14..].iter_mut().for_each(|document| lose(document, &[1], &failed()));
    let hosts: Vec<Option<String>> =
        searched(&all)?.0.ended.into_iter().map(|ended| ended.key.host).collect();
    assert_eq!(hosts, [Some("n2".into()), Some("n2".into())]);
    Ok(())
}

#[test]
fn runs_by_a_kernel_and_by_the_copy_engines_are_two_series() -> Done {
    let of = |seed: u64| -> Result<Document, Box<dyn std::error::Error>> {
        let by_kernel = seed.is_multiple_of(2);
        let rate = if by_kernel { 17e9 } else { 24.3e9 };
        let mut document = document(&[rate, rate], &BOTH, seed)?;
        document.settings.engine = if by_kernel { CopyEngine::Sm } else { CopyEngine::Ce };
        Ok(document)
    };
    let all: Vec<Document> = (1..25).map(of).collect::<Result<_, _>>()?;
    let (found, first) = searched(&all)?;
    assert_eq!((found.series, found.steps.len(), found.moving.len()), (8, 0, 0), "{first}");
    Ok(())
}

/// Twelve nodes of two GPUs, as `change` makes them, each of so many documents.
fn fleet(change: impl Fn(usize, &mut Document)) -> Result<Vec<NodeRun>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for at in 0..12 {
        let mut document = document(&[24.3e9, 24.3e9], &BOTH, at as u64 + 1)?;
        let host = format!("n{at:02}");
        document.environment.hostname = host.clone();
        document.nodes.iter_mut().for_each(|node| node.host = host.clone());
        document.ranks.iter_mut().for_each(|rank| rank.host = host.clone());
        change(at, &mut document);
        document.rows = rows(&document);
        all.extend(of_document(&document));
    }
    Ok(all)
}

fn first_line(found: &analysis::nodes::Nodes) -> String {
    render::compared::nodes(found, 200, false).lines().next().unwrap_or("").to_owned()
}

#[test]
fn a_node_without_a_figure_or_with_fewer_is_not_alike() -> Done {
    let failing = fleet(|at, document| {
        if at == 5 {
            lose(document, &[0, 1], &failed());
            document.status = Status::Failed;
        }
        if at == 7 {
            document.cases.iter_mut().for_each(|case| case.ranks.truncate(1));
        }
    })?;
    let found = nodes(tool(), failing, Vec::new());
    assert_eq!(
        first_line(&found),
        "2 in trouble: n05, n07; 10 nodes alike (none more than 10 % worse than normal)."
    );
    let n07 = found.rows.iter().find(|row| row.host == "n07").ok_or("n07")?;
    assert_eq!(n07.trouble, ["it has 2 figures where most nodes have 4"]);
    Ok(())
}

#[test]
fn a_kind_on_too_few_nodes_is_not_judged_and_not_alike() -> Done {
    let other = fleet(|at, document| {
        if at == 11 {
            document.devices.iter_mut().for_each(|device| device.name = "NVIDIA A100".into());
        }
    })?;
    let mut many = other.clone();
    for copy in 0..3 {
        many.extend(
            other[..11].iter().map(|run| NodeRun { host: format!("{}-{copy}", run.host), ..run.clone() }),
        );
    }
    let folded = render::compared::nodes(&nodes(tool(), many, Vec::new()), 200, false);
    assert!(
        folded.contains("44 alike") && folded.lines().any(|line| line.trim().starts_with("n11 ")),
        "{folded}"
    );

    let found = nodes(tool(), other, Vec::new());
    assert_eq!(
        first_line(&found),
        "11 nodes alike (none more than 10 % worse than normal); 1 not judged, of a kind on too few nodes: n11."
    );
    Ok(())
}

#[test]
fn ranks_that_share_a_place_are_one_run_and_suspect_their_node_at_most() -> Done {
    let shared = fleet(|at, document| {
        let asked = document.ranks[0].asked.clone();
        document.ranks[1].asked = asked;
        let mut third = document.ranks[1].clone();
        third.rank = 2;
        document.ranks.push(third);
        for case in &mut document.cases {
            let mut result = case.ranks[1].clone();
            result.rank = 2;
            case.ranks.push(result);
            if at != 5 {
                continue;
            }
            for result in &mut case.ranks {
                if let Outcome::Measured { summary, .. } = &mut result.outcome {
                    summary.median_bytes_per_s /= 2.0;
                }
            }
        }
    })?;
    let found = nodes(tool(), shared, Vec::new());
    let n05 = found.rows.iter().find(|row| row.host == "n05").ok_or("n05")?;
    assert_eq!((n05.mark, n05.below[0].runs), (Mark::Suspect, 1), "{}", first_line(&found));
    Ok(())
}

#[test]
fn a_way_of_sending_pieces_is_no_plain_copy_beside_other_documents() -> Done {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gallery/pieces.json");
    let pieces = <Document as report::SavedDocument>::from_json(&std::fs::read(file)?)?;
    let of = of_document(&pieces);
    let plain = of[0].points.iter().filter(|point| !point.column.contains(", "));
    assert_eq!(plain.map(|point| point.column.as_str()).collect::<Vec<_>>(), [""; 0]);
    Ok(())
}

#[test]
fn a_gpu_without_any_figure_is_named_first_in_a_sweep_too_and_a_ping_pong_says_it_of_its_ranks() -> Done {
    let mut lost = document(&[24.3e9, 24.3e9], &BOTH, 1)?;
    lose(&mut lost, &[1], &failed());
    (lost.status, lost.status_reason) = (Status::Partial, Some("rank 1: error 700".into()));
    assert_eq!(analysis::unfinished::partial(&lost), None);
    assert!(analysis::answer::answer(&lost)[0].starts_with("PARTIAL: rank 1: error 700."));
    lost.command = "sweep".into();
    let said = with_ending(&lost, vec!["The others.".into()]);
    assert_eq!(said[0], "PARTIAL: no figure of GPU 1: rank 1: error 700. The other figures are unaffected.");
    Ok(())
}
