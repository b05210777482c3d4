//! A trial by whoever uses the library: from options to a document, without a command line.

use std::sync::Mutex;

use experiments::began::Began;
use experiments::document::Origin;
use experiments::signals::Signals;
use experiments::{Exit, Fault};
use report::document::{Status, Tool};
use report::trial::{TrialStop, TrialVerdict};
use trial::decide::Better;
use trial::options::{TrialOptions, Vary};
use trial::planned::PlannedTrial;
use trial::session::{TrialObserver, TrialSession};

type Done = Result<(), Fault>;

/// Keeps what it is told.
#[derive(Default)]
struct Told {
    lines: Vec<String>,
    ended: bool,
}

impl TrialObserver for Told {
    fn progress(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn ended(&mut self) {
        self.ended = true;
    }
}

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn say(text: &str) {
    SAID.lock().expect("nobody panics with it").push(text.to_owned());
}

fn options(script: &str) -> TrialOptions {
    TrialOptions {
        program: ["sh", "-c", script].map(Into::into).to_vec(),
        patterns: vec!["x=([0-9]+)".to_owned()],
        better: vec![Better::Higher],
        max_runs: 6,
        ..TrialOptions::default()
    }
}

fn origin() -> Origin {
    let tool = Tool { name: "a test".to_owned(), version: "1".to_owned(), git: None };
    Origin { tool, argv: vec!["a".to_owned(), "test".to_owned()], began: Began::now() }
}

#[test]
fn a_trial_goes_from_options_to_a_document_and_tells_its_observer_after_each_run() -> Done {
    let vary = vec![Vary { name: "X".to_owned(), values: vec!["9".to_owned()] }];
    let options = TrialOptions { vary, ..options("echo x=${X:-5}") };
    let trial = PlannedTrial::new(options, origin(), None)?;
    assert_eq!(
        trial.variants().iter().map(|variant| &variant.name[..]).collect::<Vec<_>>(),
        ["baseline", "X=9"]
    );
    assert!(trial.text().contains("Compared by x, more is better"), "{}", trial.text());
    let (signals, mut told) = (Signals::catch()?, Told::default());
    let warm = trial.warm_up(TrialSession { sink: None, signals: &signals, observer: &mut told, say })?;
    assert_eq!(warm.answer(), None, "of a program's own figure starting is no part");
    assert!(warm.estimate().contains("the first verdict can come after 6 blocks"), "{}", warm.estimate());
    let ended = warm.run()?;
    let (document, last) = (&ended.document, told.lines.last().map_or("", String::as_str));
    assert_eq!((told.lines.len(), told.ended), (12, true), "six blocks of two");
    assert!(last.starts_with("12 runs, X=9 at 1.800 of the baseline"), "{last}");
    assert_eq!(
        (ended.exit, document.status, document.stop),
        (Exit::Ok, Status::Complete, Some(TrialStop::Decided))
    );
    assert_eq!(
        (&document.tool.name[..], &document.argv[..]),
        ("a test", &["a".to_owned(), "test".to_owned()][..])
    );
    assert_eq!(document.comparisons[0].verdict, TrialVerdict::Better);
    assert_eq!(*SAID.lock().expect("nobody panics with it"), [""; 0]);
    Ok(())
}

#[test]
fn the_baseline_against_itself_claims_nothing_where_every_run_gives_the_same_figure() -> Done {
    let options = TrialOptions { against_itself: true, ..options("echo x=5") };
    let (trial, signals, mut told) =
        (PlannedTrial::new(options, origin(), None)?, Signals::catch()?, Told::default());
    let session = TrialSession { sink: None, signals: &signals, observer: &mut told, say };
    let found = trial.against_itself(2, session)?;
    assert_eq!((found.trials, found.wrong, found.same, found.exit), (2, 0, 2, Exit::Ok));
    assert!(found.to_string().starts_with("The baseline against itself: 0 of 2 trials claimed"), "{found}");
    Ok(())
}

#[test]
fn values_are_taken_apart_and_what_is_no_list_is_refused() {
    let values = |text: &str| text.parse::<Vary>().map(|vary| (vary.name, vary.values));
    assert_eq!(values("A=1,2"), Ok(("A".to_owned(), vec!["1".to_owned(), "2".to_owned()])));
    for wrong in ["A", "A=", "=1", "A=1,,2", "A B=1"] {
        assert!(values(wrong).is_err_and(|why| why.contains("NAME=V1,V2")), "{wrong}");
    }
}
