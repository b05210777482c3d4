//! What a GPU was under while it was measured, by a stand-in of NVIDIA's management library: throttled,
//! shared with others, or neither.

use serde_json::Value;

use crate::driver;
use crate::run::{Done, Ended, end, with_driver};

/// A short run on one GPU that is described so.
fn run(device: &str, more: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let mut command = with_driver(&driver::stand_in_with_nvml()?);
    command.env("FAKE_DEVICES", format!("device 0000:05:00.0; {device}"));
    let args =
        ["pingpong", "--gpus", "0", "--size", "4MiB", "--reps", "6", "--warmup", "1", "--direction", "h2d"];
    Ok(end(&mut command, [&args[..], more].concat()))
}

fn flags(document: &Value) -> Vec<&str> {
    let flags = document["cases"][0]["ranks"][0]["outcome"]["flags"].as_array();
    flags.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn a_gpu_whose_clocks_are_held_down_is_named_with_the_cause_and_its_results_are_flagged() -> Done {
    let document = run("throttled thermal 20; throttled power 3", &["--json", "-"])?.well().json()?;
    assert!(flags(&document).contains(&"throttled"), "{:?}", flags(&document));
    let conditions = &document["devices"][0]["conditions"]["value"];
    let held = |at: usize| conditions["held_back"][at]["ns"].as_f64().unwrap_or(0.0);
    let share = |at: usize| held(at) / conditions["elapsed_ns"].as_f64().unwrap_or(1.0);
    assert!((0.15..0.4).contains(&share(1)) && share(0) < 0.1 && share(0) > 0.0, "{conditions}");
    assert_eq!(conditions["sm_clock_mhz"], serde_json::json!({"low": 1980, "high": 1980}));

    let said = run("throttled thermal 20", &[])?.well().out.replace("\n  ", " ");
    let first: Vec<&str> = said.lines().take(4).collect();
    assert!(first.iter().any(|line| line.contains("throttled") && line.contains("temperature")), "{said}");
    Ok(())
}

#[test]
fn another_process_on_the_gpu_is_said_and_this_one_is_not() -> Done {
    let said = run("others 1", &[])?.well().out.replace("\n  ", " ");
    let said: Vec<&str> = said.split(". ").filter(|sentence| sentence.starts_with("Another")).collect();
    insta::assert_snapshot!("another_process", said.join("\n"));
    let document = run("others 3", &["--json", "-"])?.well().json()?;
    assert_eq!(document["devices"][0]["conditions"]["value"]["other_processes"], 3);
    assert!(flags(&document).contains(&"shared-gpu"), "{:?}", flags(&document));
    Ok(())
}

#[test]
fn a_gpu_that_nothing_holds_back_is_as_it_was_and_what_is_not_known_says_why() -> Done {
    let document = run("throttled power 0", &["--json", "-"])?.well().json()?;
    assert!(
        flags(&document).iter().all(|flag| !["throttled", "shared-gpu"].contains(flag)),
        "{:?}",
        flags(&document)
    );
    let said = run("", &[])?.well().out;
    assert!(!said.contains("throttled") && !said.contains("computed"), "{said}");

    let mut without = with_driver(&driver::fake()?);
    without.env("FAKE_DEVICES", "device fffe:05:00.0");
    let args =
        ["pingpong", "--gpus", "0", "--size", "4MiB", "--reps", "6", "--direction", "h2d", "--json", "-"];
    let document = end(&mut without, args).well().json()?;
    let conditions = &document["devices"][0]["conditions"];
    assert!(
        conditions["value"].is_null()
            && conditions["reason"].as_str().is_some_and(|why| why.contains("libnvidia-ml.so.1")),
        "{conditions}"
    );
    Ok(())
}

#[test]
fn other_commands_say_it_too_and_a_comparison_names_what_differs() -> Done {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let matrix = |device: &str, name: &str| -> Result<Ended, Box<dyn std::error::Error>> {
        let mut command = with_driver(&driver::stand_in_with_nvml()?);
        command.env("FAKE_DEVICES", format!("device 0000:05:00.0; {device}"));
        let args = ["matrix", "--gpus", "0", "--size", "4MiB", "--direction", "h2d", "--json", &file(name)];
        Ok(end(&mut command, args).well())
    };
    let said = matrix("throttled power 50", "throttled.json")?.out.replace("\n  ", " ");
    assert!(said.contains("throttled") && said.contains("power"), "{said}");
    matrix("throttled power 0", "free.json")?;
    let compared = crate::run::run(&["compare", &file("free.json"), &file("throttled.json")]);
    let text = compared.out.replace("\n  ", " ");
    let differs: Vec<&str> =
        text.lines().filter(|line| line.contains("differs") && line.contains("power")).collect();
    assert!(matches!(differs[..], [one] if one.contains("0000:05:00.0")), "{text}{}", compared.err);
    Ok(())
}
