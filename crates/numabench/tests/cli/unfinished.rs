//! Documents of runs that go on, were killed or were interrupted, and files that are no document at all: what
//! commands make of them by themselves, and in a folder beside others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::proof;
use crate::run::{Done, end, host, numabench, run};

/// A document of a run on host memory, and one that says it stands like this.
fn measured(folder: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = folder.join("measured.json");
    let file = path.display().to_string();
    host(&["--size", "1MiB", "--reps", "6", "--direction", "h2d", "--gpus", "0", "--quiet", "--json", &file])
        .well();
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
    let mut said = BTreeSet::new();
    for form in FORMS {
        let all = run(&["export", &measured.display().to_string(), "--to", form]).well();
        for document in [&interrupted, &running] {
            let ended = run(&["export", document, "--to", form]);
            assert_eq!(ended.code, Some(3), "{form} of {document}: {}{}", ended.out, ended.err);
            let note = ended
                .err
                .strip_prefix(&format!("numabench: warning: {document}: "))
                .ok_or(ended.err.clone())?;
            said.insert(note.to_owned());
            assert_eq!(form == "junit", ended.out.contains(note.trim_end()), "{}", ended.out);
            assert!(
                ended.out.lines().count() >= all.out.lines().count(),
                "{form}: what was measured is exported"
            );
        }
    }
    insta::assert_snapshot!(said.into_iter().collect::<String>(), @"
    the run was interrupted: signal 15; its only result has a figure
    the run was still under way, or was killed; its only result has a figure
    ");
    let junit = run(&["export", &running, "--to", "junit"]).out;
    assert!(
        junit.contains("tests=\"2\" failures=\"0\" errors=\"1\"") && junit.contains("name=\"run\""),
        "{junit}"
    );
    Ok(())
}

#[test]
fn an_export_ends_with_what_the_run_came_to() -> Done {
    let folder = tempfile::tempdir()?;
    let measured = measured(folder.path())?;
    let corrupt =
        standing(&measured, &folder.path().join("c.json"), "data-corrupt", json!("rank 0"), json!(4))?;
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

/// Without where half a document ends, which depends on how much there is to say of this machine.
fn without_end(text: &str) -> String {
    let Some((said, rest)) = text.split_once(" (EOF ") else { return text.to_owned() };
    rest.split_once(')').map_or_else(String::new, |(_, rest)| format!("{said}{rest}"))
}

const LEFT_OUT: [&str; 5] = ["b-running", "c-damaged", "d-newer", "e-foreign", "f-gone"];

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
        // Both sides of a comparison are read, and say so.
        let mut notes: Vec<&str> =
            ended.err.lines().filter(|line| line.starts_with("numabench: note: ")).collect();
        let reads = if args[0] == "compare" { 2 } else { 1 };
        assert_eq!(notes.len(), reads * LEFT_OUT.len(), "{}", ended.err);
        notes.sort_unstable();
        notes.dedup();
        insta::allow_duplicates! { insta::assert_snapshot!(without_end(&notes.join("\n\
            ")).replace(&runs, "RUNS"), @"
        numabench: note: RUNS/b-running.json is left out: the run was still under way, or was killed: give the document of a run that has ended
        numabench: note: RUNS/c-damaged.json is left out: this is not JSON: give a file that `numabench pingpong --json FILE` wrote
        numabench: note: RUNS/d-newer.json is left out: the document follows schema 2.0; this numabench reads 1.x: read it with the numabench that wrote it, or a newer one
        numabench: note: RUNS/e-foreign.json is left out: it is not a result document
        numabench: note: RUNS/f-gone.json is left out: No such file or directory (os error 2)
        ") }
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
    let notes: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("numabench: note: ")).collect();
    assert_eq!(notes.len(), LEFT_OUT.len(), "{}", ended.err);
    for name in LEFT_OUT {
        assert_eq!(
            notes.iter().filter(|note| note.contains(&format!("/{name}.json "))).count(),
            1,
            "{notes:?}"
        );
    }
    Ok(())
}

#[test]
fn a_file_that_was_named_must_be_a_document_that_can_be_used() -> Done {
    let folder = tempfile::tempdir()?;
    let runs = mixed(folder.path())?;
    let running = runs.join("b-running.json").display().to_string();
    let damaged = runs.join("c-damaged.json").display().to_string();
    let baseline = folder.path().join("baseline.json").display().to_string();
    let mut said = BTreeSet::new();
    for file in [&running, &damaged] {
        for args in [&["history", file][..], &["compare", file, file], &["baseline", file, "-o", &baseline]] {
            let ended = run(args).refused(2, &[file]);
            said.insert(without_end(&ended.err).replace(&folder.path().display().to_string(), "FOLDER"));
        }
    }
    insta::assert_snapshot!(said.into_iter().collect::<String>(), @"
    numabench: error: FOLDER/runs/b-running.json: the run was still under way, or was killed: give the document of a run that has ended
    numabench: error: FOLDER/runs/c-damaged.json: this is not JSON: give a file that `numabench pingpong --json FILE` wrote
    ");
    // A report is for people, and says first how the run stands.
    let page = folder.path().join("report.html").display().to_string();
    run(&["report", &running, "-o", &page]).well();
    assert!(fs::read_to_string(page)?.contains("Still"));
    Ok(())
}

#[test]
fn the_first_line_of_a_run_names_the_rank_whose_trouble_it_was() -> Done {
    for kind in crate::kinds::tried() {
        // Whichever rank has the fifth timing, the other one is only left without it.
        let args =
            ["--gpus", "0,1", "--size", "1MiB", "--direction", "h2d", "--max-time", "1s", "--json", "-"];
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
