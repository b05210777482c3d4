//! `numabench doctor` as users meet it: the answer, the document and its schema, the exit code; without
//! rights, without a change, and in saved files.

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver;
use crate::run::{BINARY, Done, Ended, end, no_driver, skipped, variables, with_driver};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/hgx-h100.xml");

fn numabench(args: &[&str]) -> Result<Ended, Box<dyn Error>> {
    Ok(end(&mut with_driver(&no_driver()), args))
}

fn document(ended: &Ended) -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_str(&ended.out)?)
}

#[test]
fn the_answer_the_document_and_the_exit_code_say_the_same() -> Done {
    let began = Instant::now();
    let text = numabench(&["doctor"])?;
    // Far below a second alone; a loaded machine takes its time.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let ended = numabench(&["doctor", "--json", "-"])?;
    let document = document(&ended)?;
    let first =
        text.out.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.starts_with(document["verdict"][0].as_str().ok_or("no verdict")?), "{first}");
    assert_eq!((text.code, ended.code), (ended.code, document["exit_code"].as_i64().map(|code| code as i32)));
    assert_eq!((text.err.as_str(), ended.err.as_str()), ("", ""));
    let checks = document["checks"].as_array().ok_or("no checks")?;
    let has =
        |state: &str| checks.iter().any(|check| check["state"] == state && check["costs"] == json!(true));
    let wanted = if has("look") {
        5
    } else if has("unknown") {
        6
    } else {
        0
    };
    assert_eq!(document["exit_code"], json!(wanted), "{document:#}");
    for name in ["container.affinity", "cpu.cpuset", "memory.swap"] {
        assert!(checks.iter().any(|check| check["name"] == name), "{name} is missing: {document:#}");
        assert!(text.out.contains(name), "{}", text.out);
    }
    Ok(())
}

#[test]
fn settings_judged_by_a_saved_machine_stay_this_machines() -> Done {
    let here = document(&numabench(&["doctor", "--json", "-"])?)?;
    let saved = document(&numabench(&["doctor", "--json", "-", "--input", MACHINE])?)?;
    assert_eq!(saved["host"], here["host"]);
    assert_eq!(saved["judged_by"], json!({ "hostname": "hgx-h100", "file": MACHINE }));
    assert_eq!(here.get("judged_by"), None);

    let text = numabench(&["doctor", "--input", MACHINE])?.out;
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("judged by the saved machine"));
    Ok(())
}

#[test]
fn the_document_follows_its_schema_on_a_machine_with_gpus_too() -> Done {
    let schema: Value = serde_json::from_str(&numabench(&["schema", "doctor"])?.well().out)?;
    let schema = jsonschema::validator_for(&schema)?;
    for args in [&["doctor", "--json", "-"][..], &["doctor", "--json", "-", "--input", MACHINE]] {
        let document = document(&numabench(args)?)?;
        let errors: Vec<String> = schema.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    Ok(())
}

#[test]
fn no_gpu_driver_is_opened_and_a_missing_management_library_is_one_thing_to_see_to() -> Done {
    let folder = tempfile::tempdir()?;
    let tripped = folder.path().join("tripped");
    let ended =
        end(with_driver(&driver::tripwire()?).env("TRIPWIRE", &tripped), ["doctor", "--input", MACHINE]);
    assert!(!tripped.exists(), "the CUDA driver was opened");
    assert!(ended.code == Some(5) || ended.code == Some(6), "{}", ended.out);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("libnvidia-ml.so.1 cannot be loaded").count(), 1, "{text}");
    Ok(())
}

#[test]
fn a_user_without_rights_gets_an_answer_on_a_machine_that_nothing_can_be_written_to() -> Done {
    // In a user namespace: root's name without root's rights, and file systems that this process cannot write
    // to.
    let script = format!(
        "for at in / /proc /sys /tmp /dev/shm; do mount -o remount,bind,ro $at 2>/dev/null; done; \
         if touch /tmp/written 2>/dev/null; then exit 99; fi; exec '{BINARY}' doctor --json -"
    );
    let run =
        Command::new("unshare").args(["-rm", "sh", "-c", &script]).envs(variables(&no_driver())).output();
    let ended = match run {
        Ok(output) => Ended::of(&output),
        Err(error) => {
            skipped(&format!("doctor without rights: unshare does not start ({error})"));
            return Ok(());
        }
    };
    if ended.code == Some(99) || ended.err.contains("unshare") {
        skipped("doctor without rights: no user namespace with mounts of its own here");
        return Ok(());
    }
    let document = document(&ended)?;
    assert_eq!(ended.code, document["exit_code"].as_i64().map(|code| code as i32), "{document:#}");
    assert!(document["checks"].as_array().is_some_and(|checks| checks.len() > 10), "{document:#}");
    Ok(())
}

#[test]
fn a_saved_machine_carries_its_settings_and_a_changed_one_is_a_difference() -> Done {
    let folder = tempfile::tempdir()?;
    let (before, after) = (folder.path().join("before.xml"), folder.path().join("after.xml"));
    let path = |path: &std::path::Path| path.display().to_string();
    let (old, new) = (path(&before), path(&after));
    numabench(&["topo", "--save", &old])?.well();
    let text = fs::read_to_string(&before)?;
    let changed = text.replacen("memory.swap&#9;", "memory.swap&#9;not ", 1);
    assert_ne!(text, changed, "the saved file has no setting of memory.swap");
    fs::write(&after, changed)?;
    assert_eq!(numabench(&["topo", "diff", &old, &old])?.code, Some(0));
    let ended = numabench(&["topo", "diff", &old, &new, "--json"])?;
    assert_eq!(ended.code, Some(5), "{}", ended.out);
    let differences: Value = serde_json::from_str(&ended.out)?;
    assert_eq!(differences["differences"][0]["what"], json!("setting"), "{differences:#}");
    let shown = numabench(&["topo", "--input", &old, "--json"])?.well();
    let settings: Value = serde_json::from_str(&shown.out)?;
    assert!(settings["settings"].as_array().is_some_and(|all| !all.is_empty()), "the saved file shows none");
    Ok(())
}

#[test]
fn gres_conf_has_a_line_for_each_gpu_in_slurms_numbers_of_cores() -> Done {
    let machine = |name: &str| format!("{}/../topo/tests/fixtures/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    let emitted = |name: &str| numabench(&["place", "-q", "--emit", "gres-conf", "--input", &machine(name)]);
    assert_eq!(
        emitted("interleaved")?.well().out,
        "Name=gpu File=/dev/nvidia0 Cores=0-5\nName=gpu File=/dev/nvidia1 Cores=6-11\n"
    );
    let lumi = emitted("lumi-g")?.well().out;
    assert_eq!(lumi.lines().next(), Some("Name=gpu File=/dev/dri/renderD128 Cores=48-55"));
    let noted = numabench(&["place", "--emit", "gres-conf", "--input", &machine("lumi-g")])?;
    assert!(noted.err.contains("l3cache_as_socket"), "{}", noted.err);
    let noted = numabench(&["place", "--emit", "gres-conf", "--input", &machine("leonardo")])?;
    assert!(noted.err.contains("numa_node_as_socket"), "{}", noted.err);
    assert_eq!(emitted("cpu-only")?.code, Some(77));

    // A file of a job: Slurm's numbers are those of all cores, which it does not show.
    let part = numabench(&["place", "--emit", "gres-conf", "--input", &machine("job-left-out")])?;
    assert!(!part.out.contains("Cores=") && part.out.contains("/dev/nvidia1"), "{}", part.out);
    assert!(part.err.contains("no line has Cores=") && part.err.contains("outside of jobs"), "{}", part.err);
    Ok(())
}
