//! What a terminal shows of a placement, a trial, messages and a node's settings: on the two screens that
//! most terminals have, looked at by a person (snapshots).

use std::error::Error;
use std::path::Path;

use render::terminal::{Style, doctor, mpi, place, trial};
use report::doctor::{Check, Part, State};
use report::document::Tool;
use report::place::PlaceDocument;
use report::{DoctorDocument, MpiDocument, SavedDocument, TrialDocument};

/// Columns and lines, less those of the prompt.
const SCREENS: [(&str, usize, usize); 2] = [("80x24", 80, 22), ("120x40", 120, 38)];

fn bytes(path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))?)
}

/// A node with settings of each state, more than a screen holds.
fn node() -> DoctorDocument {
    let check = |name: &str, state: State, costs: bool, seen: &str, change: Option<&str>| Check {
        name: name.to_owned(),
        part: Part::Memory,
        state,
        costs,
        seen: seen.to_owned(),
        why: "pages move between nodes while a rank computes, and each move stops it".to_owned(),
        source: "Documentation/admin-guide/sysctl/kernel.rst".to_owned(),
        change: change.map(str::to_owned),
        who: (state == State::Unknown).then(|| "root".to_owned()),
    };
    let mut checks = vec![
        check(
            "memory.numa-balancing",
            State::Look,
            true,
            "on",
            Some("echo 0 > /proc/sys/kernel/numa_balancing"),
        ),
        check(
            "cpu.governor",
            State::Look,
            true,
            "powersave on 64 of 64 CPUs",
            Some("cpupower frequency-set -g performance"),
        ),
        check("memory.huge-pages", State::Look, false, "never", None),
        check("pcie.acs", State::Unknown, true, "the configuration space is readable by root only", None),
        check(
            "pcie.relaxed-ordering",
            State::Unknown,
            true,
            "the configuration space is readable by root only",
            None,
        ),
    ];
    checks.extend(
        (0..24).map(|at| check(&format!("node.setting-{at}"), State::Ok, true, "as it should be", None)),
    );
    DoctorDocument {
        schema: DoctorDocument::SCHEMA.to_owned(),
        schema_version: DoctorDocument::VERSION.number(),
        tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
        argv: Vec::new(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        elapsed_s: 0.1,
        host: None,
        judged_by: None,
        exit_code: 5,
        verdict: vec![
            "2 settings cost placement or bandwidth: memory.numa-balancing, cpu.governor; 2 cannot be known."
                .to_owned(),
        ],
        checks,
    }
}

#[test]
fn a_document_of_any_kind_is_a_screen_at_most_and_begins_with_its_answer() -> Result<(), Box<dyn Error>> {
    let placed = PlaceDocument::from_json(&bytes("../../docs/gallery/place.json")?)?;
    let tried = TrialDocument::from_json(&bytes("../../docs/gallery/trial.json")?)?;
    let sent = MpiDocument::from_json(&bytes("../../docs/gallery/mpi.json")?)?;
    for (name, width, screen) in SCREENS {
        let saved_to = Some("run.json".to_owned());
        let style = Style { width, color: false, quiet: false, saved_to, screen: Some(screen) };
        let all = [
            ("place --measure", place(&placed, &style)),
            ("trial", trial(&tried, &style)),
            ("mpi", mpi(&sent, &style)),
            ("doctor", doctor(&node(), &style)),
        ];
        for (command, text) in &all {
            assert!(text.lines().count() <= screen, "{command}: {} lines\n{text}", text.lines().count());
            // The line to paste is whole.
            let pasted = text.lines().skip_while(|line| *line != "Start it with").nth(1);
            let wide = text.lines().filter(|line| line.chars().count() > width && Some(*line) != pasted);
            let wide: Vec<&str> = wide.collect();
            assert_eq!(wide, [""; 0], "{command}");
        }
        let all: Vec<String> = all.iter().map(|(command, text)| format!("── {command}\n{text}")).collect();
        insta::assert_snapshot!(format!("screens_{name}"), all.join("\n"));
    }
    Ok(())
}

#[test]
fn what_is_wrong_stays_on_a_screen_and_the_answer_is_said_again_below_it() {
    let mut document = node();
    let costly = document.checks[0].clone();
    document.checks.extend((0..30).map(|at| Check { name: format!("memory.bad-{at}"), ..costly.clone() }));
    let style = Style { width: 80, color: false, quiet: false, saved_to: None, screen: Some(22) };
    let text = doctor(&document, &style);
    assert!((0..30).all(|at| text.contains(&format!("memory.bad-{at} "))), "{text}");
    let last = text.lines().next_back().unwrap_or_default();
    assert!(last.starts_with("Answer: 2 settings cost") && last.chars().count() <= 80, "{text}");
    let whole = doctor(&document, &Style { screen: None, ..style });
    assert!(whole.contains("node.setting-23") && !whole.contains("Answer: "), "{whole}");
}
