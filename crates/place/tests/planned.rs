//! The crate from outside, as another program would use it: places on a saved machine, their document read
//! back, and what cannot be had.

use std::path::{Path, PathBuf};
use std::time::Duration;

use place::document::{Invocation, build};
use place::{Candidates, PlaceError, PlaceRequest, Saved, SavedError, planned, situation};
use placement::{Ask, GpuList, Selection, SelectionError};
use report::document::Tool;
use topo::Survey;

type Done = Result<(), Box<dyn std::error::Error>>;

fn machine(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml"))
}

/// A rank for each GPU of this machine.
fn a_rank_a_gpu(name: &str) -> PlaceRequest {
    PlaceRequest {
        ask: Ask::default(),
        gpus: GpuList::Some(Selection::All),
        threads: None,
        maps: Vec::new(),
        membind: placement::Membind::Local,
        input: vec![machine(name)],
    }
}

fn document(asked: &PlaceRequest, survey: &Survey, found: &Candidates) -> report::PlaceDocument {
    let tool = Tool { name: "test".to_owned(), version: "0".to_owned(), git: None };
    let started_at = "2026-01-01T00:00:00.000Z".to_owned();
    let elapsed = Duration::from_secs(1);
    let command =
        Invocation { tool, argv: Vec::new(), started_at, elapsed, from: None, json: None, launcher: None };
    build(asked, command, survey, found, &situation::situation(asked, survey))
}

#[test]
fn the_places_of_a_document_are_those_that_were_planned_when_it_is_read_back() -> Done {
    let (asked, survey) = (a_rank_a_gpu("lumi-g"), topo::survey_xml(&machine("lumi-g"))?);
    let way = planned(&asked, &survey)?;
    let document = document(&asked, &survey, &Candidates::only(way.clone()));
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), report::json::json_value(&document)?)?;
    let read = Saved::read(file.path())?.way(&survey.topology, &survey.topology.allowed.pus)?;
    let places = |way: &place::PlaceCandidate| -> Vec<_> {
        way.places.places.iter().map(|place| (place.rank, place.pus.clone(), place.target.clone())).collect()
    };
    assert_eq!(places(&way).len(), 8);
    assert_eq!(places(&read), places(&way));
    let other = topo::survey_xml(&machine("dgx-a100"))?.topology;
    let refused = Saved::read(file.path())?.way(&other, &other.allowed.pus).err();
    assert!(matches!(refused, Some(SavedError::Stranger { .. })), "places of another machine are believed");
    Ok(())
}

#[test]
fn gpus_and_pus_that_the_machine_does_not_have_are_refused_by_name() -> Done {
    let survey = topo::survey_xml(&machine("lumi-g"))?;
    let absent = PlaceRequest { gpus: "9".parse()?, ..a_rank_a_gpu("lumi-g") };
    let refused = planned(&absent, &survey).err();
    assert!(matches!(refused, Some(PlaceError::Gpus(SelectionError::Absent { .. }))), "{refused:?}");
    let ask = Ask { reserve: "4096".parse()?, ..Ask::default() };
    let reserve = PlaceRequest { ask, ..a_rank_a_gpu("lumi-g") };
    let words = planned(&reserve, &survey).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(words.starts_with("--reserve 4096: this machine has PUs 0-127"), "{words}");
    Ok(())
}
