//! Runs that did not end well, where their figures go on to: what a killed or interrupted run measured is
//! green nowhere.

use analysis::import::Program;
use render::export::{Form, imported, mpi, result, trial};
use report::document::Status;
use report::settings::Direction;
use report::{ImportedDocument, MpiDocument, SavedDocument, TrialDocument};

use crate::made::{Done, document};

/// All that is not complete.
const OTHERS: [Status; 6] = [
    Status::Running,
    Status::Interrupted,
    Status::TimedOut,
    Status::Partial,
    Status::Failed,
    Status::DataCorrupt,
];

/// How many tests a JUnit file says it has, and how many errors, once for each element that says it.
fn attribute_counts(xml: &str, what: &str) -> Vec<usize> {
    let quoted = |rest: &str| rest.split('"').next()?.parse().ok();
    xml.split(&format!(" {what}=\"")).skip(1).filter_map(quoted).collect()
}

/// The file counts what it holds: so many errors, each in a test.
#[track_caller]
fn holds(xml: &str, errors: usize) {
    let tests = xml.matches("<testcase ").count();
    assert_eq!(
        (attribute_counts(xml, "tests")[0], attribute_counts(xml, "errors")[0]),
        (tests, errors),
        "{xml}"
    );
    assert_eq!(xml.matches("<error ").count(), errors, "{xml}");
    let suites = &attribute_counts(xml, "tests")[1..];
    assert!(suites.is_empty() || suites.iter().sum::<usize>() == tests, "{xml}");
    assert_eq!(xml.contains("name=\"run\""), errors > 0, "{xml}");
}

#[test]
fn a_run_that_is_not_complete_is_an_error_of_its_own_for_a_ci_server() -> Done {
    let mut document = document(&[24.3e9, 12.3e9], &[Direction::H2d, Direction::D2h], 1)?;
    let junit = |document: &report::Document| -> Result<String, Box<dyn std::error::Error>> {
        Ok(String::from_utf8(result(document).export(Form::Junit)?)?)
    };
    holds(&junit(&document)?, 0);
    for status in OTHERS {
        document.status = status;
        holds(&junit(&document)?, 1);
    }
    (document.status, document.status_reason) = (Status::Interrupted, Some("signal 15 <&>".to_owned()));
    let xml = junit(&document)?;
    let error =
        |xml: &str| xml.lines().filter(|line| line.contains("<error")).map(str::trim).collect::<String>();
    assert!(xml.contains("type=\"interrupted\""), "{xml}");
    // A rank that is gone has no row that could fail.
    document.missing = vec![report::launch::MissingRank { rank: 2, host: None, why: "gone".to_owned() }];
    insta::assert_snapshot!("errors_of_runs", format!("{}\n{}", error(&xml), error(&junit(&document)?)));
    Ok(())
}

#[test]
fn so_it_is_for_trials_messages_and_imported_figures() -> Done {
    let mut tried = TrialDocument::from_json(include_bytes!("documents/trial-1.0.json"))?;
    let mut messages = MpiDocument::from_json(include_bytes!("documents/mpi-1.0-aware.json"))?;
    let mut foreign = crate::imports::imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    (tried.status, messages.status, foreign.status) = (Status::Complete, Status::Complete, Status::Complete);
    let all = |tried: &TrialDocument, messages: &MpiDocument, foreign: &ImportedDocument| {
        let bytes = [
            trial(tried).export(Form::Junit),
            mpi(messages).export(Form::Junit),
            imported(foreign).export(Form::Junit),
        ];
        bytes.into_iter().map(|bytes| Ok(String::from_utf8(bytes?)?)).collect()
    };
    let well: Result<Vec<String>, Box<dyn std::error::Error>> = all(&tried, &messages, &foreign);
    well?.iter().for_each(|xml| holds(xml, 0));
    for status in OTHERS {
        (tried.status, messages.status, foreign.status) = (status, status, status);
        let ill: Result<Vec<String>, Box<dyn std::error::Error>> = all(&tried, &messages, &foreign);
        ill?.iter().for_each(|xml| holds(xml, 1));
    }
    Ok(())
}

#[test]
fn a_run_that_is_killed_has_left_what_sharing_costs_and_says_it_as_a_finished_one_does() -> Done {
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/fixtures/v1.0-two-ranks.json"))?;
    let mut killed = report::Document::from_json(&bytes)?;
    (killed.status, killed.exit_code) = (Status::Running, None);
    killed.penalties.clear();
    analysis::conclusion::so_far(&mut killed);
    let directions: Vec<Direction> = killed.penalties.iter().map(|penalty| penalty.direction).collect();
    assert_eq!(directions, [Direction::H2d; 2], "of D2H at once a rank has no figure: the other was alone");
    assert!(killed.verdict.is_empty(), "a run that goes on has no sentences of its own");

    let said = analysis::conclusion::said(&killed);
    analysis::conclusion::conclude(&mut killed, |_| None);
    assert_eq!(said, killed.verdict);
    assert!(said.iter().any(|sentence| sentence.contains("2 of 2 comparisons")), "{said:?}");
    Ok(())
}
