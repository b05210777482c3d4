//! Documents of runs that go on, were killed or were interrupted, and files that are no document at all: what commands make of them by
//! themselves, and in a folder beside others.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::proof;
use crate::run::{Done, end, host, numabench, run};

/// A document of a run on host memory, and one that says it stands like this.
fn measured(folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = folder.join("measured.json");
    let file = path.display().to_string();
    host(&["--size", "1MiB", "--reps", "6", "--direction", "h2d", "--gpus", "0", "--quiet", "--json", &file]).well();
    Ok(path)
}

fn standing(
    from: &Path,
    to: &Path,
    status: &str,
    reason: Value,
    code: Value,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut document: Value = serde_json::from_slice(&fs::read(from)?)?;
    (document["status"], document["status_reason"], document["exit_code"]) = (json!(status), reason, code);
    fs::write(to, serde_json::to_vec(&document)?)?;
    Ok(to.display().to_string())
}

const FORMS: [&str; 7] = ["csv", "bmf", "gha", "gha-smaller", "openmetrics", "junit", "influx"];

#[test]
fn an_export_of_half_a_run_is_written_said_and_ends_with_3() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let interrupted = folder.path().join("interrupted.json");
    let running = folder.path().join("running.json");
    let interrupted = standing(&measured, &interrupted, "interrupted", json!("signal 15"), json!(143))?;
    let running = standing(&measured, &running, "running", Value::Null, Value::Null)?;
    for form in FORMS {
        let all = run(&["export", &measured.display().to_string(), "--to", form]).well();
        for (document, why) in [(&interrupted, "interrupted: signal 15"), (&running, "still under way, or was killed")]
        {
            let ended = run(&["export", document, "--to", form]);
            assert_eq!(ended.code, Some(3), "{form} of {document}: {}{}", ended.out, ended.err);
            let said = format!("the run was {why}; its only result has a figure");
            assert_eq!(ended.err, format!("numabench: warning: {document}: {said}\n"), "{form}");
            assert_eq!(form == "junit", ended.out.contains(&said), "{}", ended.out);
            assert!(ended.out.lines().count() >= all.out.lines().count(), "{form}: what was measured is exported");
        }
    }
    let junit = run(&["export", &running, "--to", "junit"]).out;
    assert!(junit.contains("tests=\"2\" failures=\"0\" errors=\"1\"") && junit.contains("name=\"run\""), "{junit}");
    Ok(())
}

#[test]
fn an_export_ends_with_what_the_run_came_to() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let corrupt = standing(&measured, &folder.path().join("c.json"), "data-corrupt", json!("rank 0"), json!(4))?;
    assert_eq!(run(&["export", &corrupt, "--to", "csv"]).code, Some(4));
    let mut document: Value = serde_json::from_slice(&fs::read(&measured)?)?;
    document["status"] = json!("timed-out");
    document["rows"][0]["status"] = json!("skipped");
    let nothing = folder.path().join("nothing.json");
    fs::write(&nothing, serde_json::to_vec(&document)?)?;
    let ended = run(&["export", &nothing.display().to_string(), "--to", "junit"]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("timed") && ended.err.contains("figure"), "{}", ended.err);
    Ok(())
}

/// A folder with a document, one of a run that goes on, a damaged one, a newer one, and what nobody can open.
fn mixed(folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let measured = measured(folder)?;
    let runs = folder.join("runs");
    fs::create_dir(&runs)?;
    fs::copy(&measured, runs.join("a-good.json"))?;
    standing(&measured, &runs.join("b-running.json"), "running", Value::Null, Value::Null)?;
    let half = fs::read(&measured)?;
    fs::write(runs.join("c-damaged.json"), &half[..half.len() / 2])?;
    fs::write(runs.join("d-newer.json"), r#"{"schema": "numabench.result", "schema_version": "2.0"}"#)?;
    fs::write(runs.join("e-foreign.json"), "{}")?;
    std::os::unix::fs::symlink("nowhere", runs.join("f-gone.json"))?;
    Ok(runs)
}

const LEFT_OUT: [(&str, &str); 5] = [
    ("b-running", "the run was still under way, or was killed"),
    ("c-damaged", "this is not JSON"),
    ("d-newer", "follows schema 2.0"),
    ("e-foreign", "it is not a result document"),
    ("f-gone", "No such file"),
];

#[test]
fn a_folder_is_read_past_what_cannot_be_used_and_each_is_named_with_its_reason() -> Done {
    let folder = tempfile::tempdir()?;
    let runs = mixed(folder.path())?.display().to_string();
    let baseline = folder.path().join("baseline.json").display().to_string();
    for (args, codes) in [
        (&["history", &runs][..], &[0][..]),
        // The measured run decides whether its own blocks are quiet enough for "unchanged" (0) or not (6).
        (&["compare", &runs, &runs], &[0, 6]),
        // One GPU of one node, and that is none: too few to learn from.
        (&["baseline", &runs, "-o", &baseline], &[1]),
    ] {
        let ended = run(args);
        assert!(codes.iter().any(|code| ended.code == Some(*code)), "{args:?}: {}{}", ended.out, ended.err);
        for (name, why) in LEFT_OUT {
            let note = format!("numabench: note: {runs}/{name}.json is left out: ");
            let line =
                ended.err.lines().find(|line| line.starts_with(&note)).ok_or(format!("{note}: {}", ended.err))?;
            assert!(line.contains(why) && line.matches(name).count() == 1, "{line}");
        }
        assert!(!ended.err.contains("a-good.json"), "{}", ended.err);
    }
    let found = run(&["history", &runs]);
    insta::assert_snapshot!("history_of_one_run", found.out);
    Ok(())
}

#[test]
fn a_folder_of_nothing_that_can_be_used_is_an_error() -> Done {
    let folder = tempfile::tempdir()?;
    let runs = mixed(folder.path())?;
    fs::remove_file(runs.join("a-good.json"))?;
    let ended = end(&mut numabench(), [Path::new("history"), &runs]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
    assert!(ended.err.lines().any(|line| line.contains("error:") && line.contains("runs")), "{}", ended.err);
    assert_eq!(ended.err.matches("is left out").count(), LEFT_OUT.len(), "{}", ended.err);
    Ok(())
}

#[test]
fn a_file_that_was_named_must_be_a_document_that_can_be_used() -> Done {
    let folder = tempfile::tempdir()?;
    let runs = mixed(folder.path())?;
    let running = runs.join("b-running.json").display().to_string();
    let damaged = runs.join("c-damaged.json").display().to_string();
    let baseline = folder.path().join("baseline.json").display().to_string();
    for (file, why) in [(&running, "give the document of a run that has ended"), (&damaged, "this is not JSON")] {
        for args in [&["history", file][..], &["compare", file, file], &["baseline", file, "-o", &baseline]] {
            let ended = run(args).refused(2, &[file, why]);
            assert!(!ended.err.contains("compare it") && !ended.err.contains("left out"), "{}", ended.err);
        }
    }
    // A report is for people, and says first how the run stands.
    let page = folder.path().join("report.html").display().to_string();
    run(&["report", &running, "-o", &page]).well();
    assert!(fs::read_to_string(page)?.contains("Still"));
    Ok(())
}

#[test]
fn the_first_line_of_a_run_names_the_rank_whose_trouble_it_was() -> Done {
    for kind in crate::kinds::all() {
        // Whichever rank has the fifth timing, the other one is only left without it.
        let args = ["--gpus", "0,1", "--size", "1MiB", "--direction", "h2d", "--max-time", "1s", "--json", "-"];
        let document = proof::document(&kind.faulty("times 5 nan", &args)?)?;
        let outcomes: Vec<&str> =
            proof::results(&document).map(|result| proof::text(result, "/outcome/reason")).collect();
        let mine = outcomes.iter().position(|reason| reason.contains("times"));
        let mine = mine.ok_or(format!("no rank has the fault: {outcomes:?}"))?;
        let said = proof::text(&document, "/status_reason");
        assert!(said.starts_with(&format!("rank {mine}: the clock")), "{said}: {outcomes:?}");
    }
    Ok(())
}
