//! What a trial says of programs that differ by a known amount, and of programs that do not.

use crate::run::{Done, run};
use crate::{PRINTED, PROGRAM, json, runs};

#[test]
fn a_known_difference_is_said_in_the_first_lines_with_the_line_to_use() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("trial.json");
    let file = file.to_str().ok_or("a path that is no text")?;
    let options = ["trial", "--vary", "X=100,80,130", "--json", file];
    let ended = run(&[&options[..], &PRINTED, &PROGRAM].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines[0], "A difference that matters: X=80 is best.");
    assert_eq!(lines[1], "By how much: X=80 gives 20.0 % less (20.0 %) against the baseline.");
    assert!(lines[2].contains(" 0.0"), "{}", lines[2]);
    assert_eq!(lines[3], "Use: X=80 sh -c 'echo x=${X:-100}'");
    for words in ["no difference", "worse", "better"] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }

    let document = json(file.as_ref())?;
    assert_eq!(
        (document["schema"].as_str(), document["status"].as_str()),
        (Some("numabench.trial"), Some("complete"))
    );
    // Three comparisons: the first look is after eight blocks of four runs.
    assert_eq!(runs(&document).len(), 32);
    for block in runs(&document).chunks(4) {
        assert!(block.iter().all(|run| run["block"] == block[0]["block"]), "blocks are complete");
    }
    let schema: serde_json::Value = serde_json::from_str(&run(&["schema", "trial"]).well().out)?;
    let validator = jsonschema::validator_for(&schema)?;
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    Ok(())
}

#[test]
fn a_document_is_compared_exported_and_reported() -> Done {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let trial = |file: &str, better: &'static str, script: &'static str| {
        let program = ["--", "sh", "-c", script];
        let file = path(file);
        let options = ["trial", "--vary", "X=100,130", "--quiet", "--json", &file];
        run(&[&options[..], &PRINTED[..3], &[better], &program].concat()).well();
    };
    trial("before.json", "lower", "echo x=${X:-100}");
    trial("after.json", "lower", "echo x=${X:-100}");
    let same = run(&["compare", &path("before.json"), &path("after.json")]);
    assert!(same.out.contains("X=130") && same.out.contains("x"), "{}{}", same.out, same.err);
    let csv = run(&["export", &path("before.json"), "--to", "csv"]).well().out;
    assert!(
        csv.lines().nth(1).is_some_and(|row| row.contains(",baseline,x,"))
            && csv.contains(",1.3,1.3,1.3,worse"),
        "{csv}"
    );
    for (form, words) in [
        ("bmf", "\"X=130\""),
        ("openmetrics", "numabench_trial{variant=\"X=130\",metric=\"x\"} 130"),
        ("influx", "variant=X\\=130,metric=x median=130"),
        ("junit", "<testcase classname=\"x\" name=\"X=130\""),
        ("gha-smaller", "X=130 x"),
    ] {
        let text = run(&["export", &path("before.json"), "--to", form]).well().out;
        assert!(text.contains(words), "{form}: {text}");
    }
    run(&["report", &path("before.json"), "-o", &path("report.html")]).well();
    let html = std::fs::read_to_string(path("report.html"))?;
    let document = json(path("before.json").as_ref())?;
    let answer = document["verdict"][0].as_str().ok_or("no verdict")?;
    assert!(answer.contains("X=130"), "{answer}");
    let answer = html.find(answer).ok_or("no answer")?;
    assert!(answer < html.find("<table>").ok_or("no table")? && !html.contains("<script"), "{html}");
    Ok(())
}

#[test]
fn the_order_within_blocks_is_the_seeds() -> Done {
    let order = |seed: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let options = ["trial", "--vary", "X=100", "--json", "-", "--quiet", "--seed", seed];
        let document = run(&[&options[..], &PRINTED, &PROGRAM].concat()).json()?;
        Ok(runs(&document).iter().map(|run| run["variant"].to_string()).collect())
    };
    assert_eq!(order("5")?, order("5")?);
    assert_ne!(order("5")?, order("6")?);
    Ok(())
}

#[test]
fn a_trial_that_ends_before_its_first_verdict_says_what_it_saw_and_is_undecided() -> Done {
    // Some runs of each within the time, not the six blocks of a verdict: then none of them is a warm-up.
    let slow = ["--", "sh", "-c", "sleep 0.5; echo x=${X:-100}"];
    let options = ["trial", "--vary", "X=130", "--max-time", "4s", "--json", "-"];
    let ended = run(&[&options[..], &PRINTED, &slow].concat());
    let document = ended.json().map_err(|error| format!("{error}: {}", ended.err))?;
    assert_eq!((ended.code, &document["status"]), (Some(6), &"complete".into()), "{}", ended.err);
    let how_much = document["verdict"][1].as_str().unwrap_or_default();
    assert!(how_much.contains("X=130") && how_much.contains(" 30.0 "), "{how_much}");
    assert!(document["comparisons"][0]["ratio_interval"].is_null());
    let all = document["runs"].as_array().map_or(0, Vec::len);
    assert_eq!(runs(&document).len(), all, "no finished run is lost");
    assert!(ended.err.contains("has no time for it") && ended.err.contains("A run takes "), "{}", ended.err);
    Ok(())
}

#[test]
fn runs_longer_than_the_time_are_reported_though_nothing_can_be_compared() -> Done {
    let slow = ["--", "sh", "-c", "sleep 0.8; echo x=${X:-100}"];
    let options = ["trial", "--vary", "X=130,140,150", "--max-time", "1s", "--json", "-"];
    let ended = run(&[&options[..], &PRINTED, &slow].concat());
    let document = ended.json().map_err(|error| format!("{error}: {}", ended.err))?;
    assert_eq!((ended.code, &document["status"]), (Some(6), &"complete".into()), "{}", ended.err);
    let rows = document["rows"].as_array().into_iter().flatten().filter(|row| row["metric"] == "wall");
    let counted: u64 = rows.filter_map(|row| row["counted"].as_u64()).sum();
    let all = runs(&document).len() as u64;
    assert_eq!(counted, all, "no finished run is lost: {}", document["rows"]);
    // The second one begins in time, but for a busy machine.
    assert!((1..=2).contains(&all), "{all} runs");
    Ok(())
}

#[test]
fn where_nothing_differs_the_baseline_is_what_to_use() {
    let ended = run(&[&["trial", "--vary", "X=100,101", "--quiet"][..], &PRINTED, &PROGRAM].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(
        (lines.len(), lines[0]),
        (4, "No difference that matters: no variant is better or worse than the baseline.")
    );
    assert!(lines[1].contains("X=101") && lines[1].contains(" 1.0 "), "{}", ended.out);
    assert_eq!(lines[3], "Use: sh -c 'echo x=${X:-100}'");
}

#[test]
fn of_a_name_longer_than_a_screen_the_begin_and_the_end_are_shown() {
    for vary in [format!("X{}=1", "a".repeat(20_000)), format!("Y={}", "b".repeat(20_000))] {
        let ended = run(&[&["trial", "--vary", &vary][..], &PRINTED, &PROGRAM].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let told = format!("{}{}", ended.out, ended.err);
        assert!(told.contains("…]"), "{told}");
        let longest = told.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(1600) && told.len() < 10_000, "{longest:?} of {}: {told}", told.len());
    }
}

#[test]
fn what_is_expected_decides_the_exit_code() {
    let of = |better: &str, expected: &str| {
        let options = ["trial", "--vary", "X=100,130", "--quiet", "--expect", expected];
        run(&[&options[..], &PRINTED[..3], &[better], &PROGRAM].concat()).code
    };
    assert_eq!(
        (of("higher", "X=130"), of("lower", "X=130"), of("lower", "baseline")),
        (Some(0), Some(5), Some(0))
    );
}

#[test]
fn figures_that_decide_nothing_end_with_their_own_code() -> Done {
    let folder = tempfile::tempdir()?;
    // The figures of one variant jump up and down by half, whatever the block.
    let script =
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n; echo x=$((100 + (n * 7919 % 13) * 8))";
    let mut command = crate::run::numabench();
    command.current_dir(folder.path()).args(["trial", "--vary", "X=1", "--max-runs", "13"]).args(PRINTED);
    let ended = crate::run::end(&mut command, ["--", "sh", "-c", script]);
    assert_eq!(ended.code, Some(6), "{}{}", ended.out, ended.err);
    assert!(ended.out.lines().next().is_some_and(|line| line.contains("X=1")), "{}", ended.out);
    assert!(ended.out.contains("runs a variant would"), "{}", ended.out);
    Ok(())
}

#[test]
fn a_plan_has_the_lines_and_the_time_and_runs_nothing_that_counts() -> Done {
    let folder = tempfile::tempdir()?;
    let mut command = crate::run::numabench();
    command.current_dir(folder.path()).args(["trial", "--dry-run", "--vary", "X=1,2"]);
    let ended = crate::run::end(&mut command, ["--", "sh", "-c", "echo run >>ran; sleep 0.05"]).well();
    for words in [
        "3 variants",
        "X=2: as this shell starts it",
        "X=1 sh -c ",
        "a block of 3 variants ",
        "the first verdict can come after 7 blocks",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("ran"))?.lines().count(), 3, "the warm-up");
    Ok(())
}

#[test]
fn the_baseline_against_itself_is_counted_in_trials() {
    let ended = run(&[&["trial", "--aa", "3"][..], &PRINTED, &PROGRAM].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    insta::assert_snapshot!("baseline_against_itself", ended.out);
}

#[test]
fn trials_that_were_cut_off_are_not_counted_as_without_a_claim() -> Done {
    let slow = run(&["trial", "--aa=5", "--max-time", "2s", "--", "sleep", "0.1"]);
    assert!(matches!(slow.code, Some(1 | 3)), "{}{}", slow.out, slow.err);
    assert!(slow.out.starts_with("PARTIAL: ") && slow.out.contains("--max-time was reached"), "{}", slow.out);
    assert!(!slow.out.contains("of 5 trials claimed"), "{}", slow.out);

    // It fails from its third run on.
    let folder = tempfile::tempdir()?;
    let mut command = crate::run::numabench();
    command.current_dir(folder.path()).args(["trial", "--aa=5", "--"]);
    let fails =
        crate::run::end(&mut command, ["sh", "-c", "echo >>ran; sleep 0.05; test $(wc -l <ran) -lt 3"]);
    assert_eq!(fails.code, Some(1), "{}{}", fails.out, fails.err);
    let expected = "PARTIAL: 0 of 5 trials came to an answer: too many runs gave no figure.\n";
    assert_eq!(fails.out, expected);
    Ok(())
}

#[test]
fn a_launch_line_has_the_program_in_its_place_and_its_variables() -> Done {
    let options =
        ["trial", "--launch", "A=1 env B=2 {app}", "--launch", "env B=3 {app}", "--json", "-", "--quiet"];
    let program = ["--", "sh", "-c", "echo x=$((100 + ${B:-0} * 10))"];
    let document = run(&[&options[..], &PRINTED, &program].concat()).json()?;
    let line = |at: usize| document["variants"][at]["line"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (line(0).as_str(), &line(1)[..7]),
        ("A=1 env B=2 sh -c 'echo x=$((100 + ${B:-0} * 10))'", "env B=3")
    );
    assert_eq!(document["comparisons"][0]["variant"], "launch-2");
    assert_eq!(document["comparisons"][0]["verdict"], "worse");
    Ok(())
}

#[test]
fn lines_of_more_ranks_have_what_each_rank_does_beside_one_of_the_first_line() -> Done {
    // Four ranks do 3.2 times the work of one: 80 % each.
    let line = |ranks: u32| format!("env OMPI_COMM_WORLD_SIZE={ranks} OMPI_COMM_WORLD_RANK=0 {{app}}");
    let (one, four) = (line(1), line(4));
    let options = ["trial", "--launch", &one, "--launch", &four, "--max-runs", "6"];
    let program = ["--", "sh", "-c", "sleep 0.4; echo x=$((OMPI_COMM_WORLD_SIZE > 1 ? 320 : 100))"];
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("trial.json");
    let file = file.to_str().ok_or("a path that is no text")?;
    let metric = ["--metric", "x=([0-9.]+)", "--better", "higher", "--json", file];
    let ended = run(&[&options[..], &metric, &program].concat());
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let row = |at: usize| &document["rows"][2 * at];
    assert_eq!(
        (&row(0)["ranks"], &row(0)["efficiency"]),
        (&1.into(), &serde_json::Value::Null),
        "{document}"
    );
    let efficiency = row(1)["efficiency"].as_f64().ok_or("no efficiency")?;
    assert!(row(1)["ranks"] == 4 && (efficiency - 0.8).abs() < 1e-9, "{}", row(1));
    assert!(ended.out.contains("efficiency") && ended.out.contains("80.0 %"), "{}", ended.out);
    Ok(())
}
