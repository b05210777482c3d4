//! `numabench topo --measure`: groups of GPUs on stand-in drivers whose links are described, and what cannot
//! be grouped.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{BINARY, Done, Ended, end, run, variables, with_driver};

/// `numabench topo --measure=gpus` on the stand-in, with devices whose rates are described. So many rounds
/// that what one rank starts later than another on a busy machine is little of their time together.
fn measured(kind: &Kind, devices: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [("FAKE_DEVICES", devices.to_owned()), ("LD_PRELOAD", kind.library()?)];
    let base = ["topo", "--measure=gpus", "--backend", kind.name, "--size", "1MiB", "--reps", "120"];
    // Some of these take half a minute of both of a small machine's cores.
    Ok(end(with_driver(&kind.folder()?).timeout(Duration::from_secs(240)).args(base).envs(told), args))
}

/// Devices of 55 GB/s, each over the links that `over` names.
fn devices(count: usize, links: &str, over: impl Fn(usize) -> Vec<String>) -> String {
    let device = |at: usize| {
        let over: Vec<String> = over(at).iter().map(|link| format!("over {link}")).collect();
        format!("device 0000:{:02x}:00.0; h2d 55GB/s 0us; d2h 55GB/s 0us; {}", at + 1, over.join("; "))
    };
    let devices: Vec<String> = (0..count).map(device).collect();
    format!("repeats skip; {links}; {}", devices.join("; "))
}

/// The figures of eight H200s of one virtual machine: GPUs 0-3 get 18.5 GB/s each together and 37 in pairs,
/// 4-7 get 34.5 and 53; one of each half get 103 together (55 and 48 there; a link that is shared fairly
/// gives 51.5 to each); all at once get 182.
fn eight() -> String {
    let pairs = |wanted: fn(usize, usize) -> bool| -> Vec<(usize, usize)> {
        (0..8).flat_map(|j| (0..j).map(move |i| (i, j))).filter(|(i, j)| wanted(*i, *j)).collect()
    };
    let (near, across) = (pairs(|i, _| i >= 4), pairs(|i, j| i < 4 && j >= 4));
    let mut links =
        vec!["link far 74GB/s".to_owned(), "link near 138GB/s".to_owned(), "link all 182GB/s".to_owned()];
    links.extend(near.iter().map(|(i, j)| format!("link p{i}{j} 106GB/s")));
    links.extend(across.iter().map(|(i, j)| format!("link p{i}{j} 103GB/s")));
    devices(8, &links.join("; "), |at| {
        let mine = near.iter().chain(&across).filter(|(i, j)| *i == at || *j == at);
        let half = if at < 4 { "far" } else { "near" };
        mine.map(|(i, j)| format!("p{i}{j} 1")).chain([format!("{half} 1"), "all 1".to_owned()]).collect()
    })
}

fn findings(document: &Value) -> Vec<&str> {
    list(document, "/verdict").iter().filter_map(Value::as_str).collect()
}

/// The median rate of each place of a matrix, GB/s: (row, column, rate).
fn cells(document: &Value, compares: &str) -> Vec<(String, String, f64)> {
    let matrix = list(document, "/matrices").iter().find(|matrix| text(matrix, "/compares") == compares);
    let Some(matrix) = matrix else { return Vec::new() };
    let mut cells = Vec::new();
    for row in list(matrix, "/rows") {
        for column in list(matrix, "/columns") {
            let rank = list(row, "/ranks").iter().find(|rank| list(column, "/ranks").contains(rank));
            let found = list(document, "/rows").iter().find(|found| {
                Some(&found["rank"]) == rank
                    && (row["group"].is_null() || text(found, "/case").ends_with(text(row, "/group")))
            });
            if let Some(rate) = found.and_then(|found| found["median_bytes_per_s"].as_f64()) {
                cells.push((text(row, "/name").to_owned(), text(column, "/name").to_owned(), rate / 1e9));
            }
        }
    }
    cells
}

#[test]
fn the_reference_of_eight_gpus_is_grouped_as_it_is() -> Done {
    let kind = &kinds::tried()[0];
    let ended = measured(kind, &eight(), &["--json"])?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    let groups = list(&document, "/groups");
    let by: Vec<&str> = groups.iter().map(|found| text(found, "/by")).collect();
    assert_eq!(by, ["gpu-pairs", "gpus-but-one"]);
    assert_eq!((&groups[0]["groups"], &groups[0]["rest"]), (&json!([[0, 1, 2, 3]]), &json!([4, 5, 6, 7])));
    assert_eq!(
        (&groups[1]["groups"], &groups[1]["rest"]),
        (&json!([[0, 1, 2, 3], [4, 5, 6, 7]]), &json!([]))
    );
    for found in groups {
        assert_eq!(text(found, "/finding"), "groups", "{found}");
        assert!(found["p_value"].as_f64().is_some_and(|p| p < 0.01), "{found}");
        assert_eq!((found["false_alarm_rate"].as_f64(), &found["declared"]), (Some(0.05), &Value::Null));
    }
    let rate = |compares: &str, row: &str, column: &str| {
        let cells = cells(&document, compares);
        let found = cells.into_iter().find(|(r, c, _)| (r.as_str(), c.as_str()) == (row, column));
        found.map_or(0.0, |(_, _, rate)| rate)
    };
    for (compares, row, column, want) in [
        ("beside", "GPU 0", "GPU 0", 55.0),
        ("beside", "GPU 0", "GPU 1", 37.0),
        ("beside", "GPU 4", "GPU 5", 53.0),
        ("beside", "GPU 4", "GPU 0", 51.5),
        ("but-one", "GPU 0", "but 0", 18.5),
        ("but-one", "GPU 4", "but 4", 27.0),
        ("together", "GPUs 0-3", "GPU 2", 18.5),
        ("together", "GPUs 4-7", "GPU 7", 34.5),
    ] {
        let rate = rate(compares, row, column);
        assert!((rate / want - 1.0).abs() < 0.03, "{compares} {row} {column}: {rate}, not {want}");
    }
    let said = findings(&document);
    insta::assert_snapshot!("groups_of_eight_gpus", proof::without_figures(&said.join("\n")));
    nccl_gets_the_groups(&ended.out)
}

/// The groups as NCCL's topology file of a machine: its GPUs have other addresses than the stand-in's.
fn nccl_gets_the_groups(document: &str) -> Done {
    let folder = tempfile::tempdir()?;
    let machine = format!("{}/../topo/tests/fixtures/hgx-h100.xml", env!("CARGO_MANIFEST_DIR"));
    let emitted = |document: &str| -> Result<Ended, std::io::Error> {
        let path = folder.path().join("groups.json").display().to_string();
        std::fs::write(&path, document)?;
        Ok(run(&["topo", "--input", &machine, "--emit", "nccl-topo", "--with", &path]))
    };
    emitted(document)?.refused(2, &["of another machine"]);

    let buses = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"];
    let addressed = (1..).zip(buses).fold(document.to_owned(), |document, (at, bus)| {
        document.replace(&format!("0000:{at:02x}:00.0"), &format!("0000:{bus}:00.0"))
    });
    let joined = emitted(&addressed)?;
    assert_eq!(joined.code, Some(0), "{}", joined.err);
    assert!(
        joined.err.starts_with("numabench: note: GPU 0, GPU 1, GPU 2, GPU 3 were measured"),
        "{}",
        joined.err
    );
    assert!(joined.out.contains("GPU 0, GPU 1, GPU 2, GPU 3 were measured to share"), "{}", joined.out);
    assert_eq!(
        joined.out.matches("class=\"0x060400\"").count(),
        9,
        "one more than without groups: {}",
        joined.out
    );

    // The machine as a document beside it, which --with without --emit has no room for.
    let groups = folder.path().join("groups.json").display().to_string();
    let kept = folder.path().join("machine.json").display().to_string();
    let beside =
        run(&["topo", "--input", &machine, "--emit", "nccl-topo", "--with", &groups, "--json", &kept]);
    assert_eq!((beside.code, &beside.out), (Some(0), &joined.out), "{}", beside.err);
    assert!(std::fs::read_to_string(&kept)?.contains("\"interconnect\""), "{kept}");
    run(&["topo", "--svg", "-", "--with", &groups, "--json", &kept])
        .refused(2, &["the picture of a document"]);

    emitted(&addressed.replace("gpu-pairs", "gpus-but-one"))?
        .refused(2, &["no two GPUs were found to share"]);
    Ok(())
}

#[test]
fn a_device_has_one_address_in_the_guest() {
    let machine = format!("{}/../topo/tests/fixtures/hgx-h100.xml", env!("CARGO_MANIFEST_DIR"));
    let emitted = |guest: &str| run(&["topo", "--input", &machine, "--emit", "nccl-topo", "--guest", guest]);
    let refused = emitted("0000:1b:00.0=0000:05:00.0,0000:9d:00.0=0000:07:00.0,0000:1b:00.0=0000:06:00.0");
    refused.refused(2, &["--guest gives 0000:1b:00.0 two addresses", "0000:05:00.0 and 0000:06:00.0"]);
    assert_eq!(emitted("0000:1b:00.0=0000:05:00.0,0000:9d:00.0=0000:07:00.0").code, Some(0));
}

#[test]
fn the_table_begins_with_the_groups_and_says_that_devices_are_simulated() -> Done {
    for kind in kinds::tried() {
        let described = devices(4, "link left 60GB/s; link right 60GB/s", |at| {
            vec![if at < 2 { "left 1".to_owned() } else { "right 1".to_owned() }]
        });
        let table = measured(&kind, &described, &[])?;
        assert_eq!(table.code, Some(0), "{}{}", table.out, table.err);
        assert_eq!(table.out.split_whitespace().nth(1), Some("0-1"), "the group comes first: {}", table.out);
        assert!(table.out.contains("SIMULATED"), "{}", table.out);
        let plan = table.err.lines().next().unwrap_or_default();
        insta::assert_snapshot!("plan_of_groups", proof::without_figures(plan));
    }
    Ok(())
}

#[test]
fn gpus_without_a_shared_limit_and_gpus_that_share_one_alike_are_not_grouped() -> Done {
    for kind in kinds::tried() {
        let apart = devices(4, "link all 1000GB/s", |_| Vec::new());
        let alike = devices(4, "link all 60GB/s", |_| vec!["all 1".to_owned()]);
        for described in [apart, alike] {
            let ended = measured(&kind, &described, &["--json"])?;
            let document = proof::document(&ended)?;
            assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
            for found in list(&document, "/groups") {
                assert_eq!((text(found, "/finding"), &found["groups"]), ("alike", &json!([])), "{found}");
            }
            assert_eq!(list(&document, "/groups").len(), 2);
            assert_eq!(list(&document, "/matrices").len(), 2, "no group, so none is measured at once");
        }
    }
    Ok(())
}

#[test]
fn of_many_gpus_all_but_one_tells_groups_without_pairs() -> Done {
    let kind = &kinds::tried()[0];
    let described = devices(10, "link left 100GB/s; link right 100GB/s", |at| {
        vec![if at % 2 == 0 { "left 1".to_owned() } else { "right 1".to_owned() }]
    });
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("groups.json");
    let ended = measured(kind, &described, &["--json", &file.display().to_string()])?;
    assert_eq!(ended.code, Some(0), "no pair was asked for: {}{}", ended.out, ended.err);

    let document: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let groups = list(&document, "/groups");
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(groups[0]["groups"], json!([[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]));
    let first = findings(&document)[0];
    assert!(first.contains("0,2,4,6,8") && first.contains("1,3,5,7,9"), "{first}");
    let shown = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(first), "the file has what the screen has: {shown}");
    let kept = (document["exit_code"].as_u64(), list(&document, "/matrices").len());
    assert_eq!(kept, (Some(0), 3), "both runs: {}", document["matrices"]);
    Ok(())
}

#[test]
fn gpus_or_cores_that_cannot_be_grouped_are_not_passed_over_in_silence() -> Done {
    let kind = &kinds::tried()[0];
    let described = devices(2, "link all 60GB/s", |_| vec!["all 1".to_owned()]);
    let mut on_one_core = assert_cmd::Command::new("taskset");
    on_one_core.envs(variables(&kind.folder()?)).env("FAKE_DEVICES", described);
    on_one_core.args(["-c", "0", BINARY, "topo", "--measure=gpus,cores", "--backend", kind.name]);
    let ended = end(&mut on_one_core, ["--size", "1MiB", "--reps", "12"]);
    assert!(ended.out.contains("  Cores: not grouped: "), "{}{}", ended.out, ended.err);

    let args = ["topo", "--measure=gpus,cores", "--backend", "host", "--reps", "4"];
    let ended = run(&args);
    let said = "GPUs: not grouped: it takes two, and there is none.";
    assert!(ended.out.contains(said) || ended.code == Some(77), "{}{}", ended.out, ended.err);
    Ok(())
}

#[test]
fn two_gpus_make_no_groups_and_that_is_said() -> Done {
    let kind = &kinds::tried()[0];
    let described = devices(2, "link all 60GB/s", |_| vec!["all 1".to_owned()]);
    let document = proof::document(&measured(kind, &described, &["--json"])?)?;
    assert_eq!(list(&document, "/groups"), [Value::Null; 0]);
    insta::assert_snapshot!("two_gpus", proof::without_figures(&findings(&document).join("\n")));
    Ok(())
}

#[test]
fn a_corrupt_copy_ends_it_with_4_and_nothing_is_grouped() -> Done {
    let kind = &kinds::tried()[0];
    let described = devices(3, "link all 60GB/s", |_| vec!["all 1".to_owned()]);
    let mut command = with_driver(&kind.folder()?);
    command
        .env("FAKE_FAULTS", "corrupt * 70001")
        .env("FAKE_DEVICES", described)
        .env("LD_PRELOAD", kind.library()?);
    let ended = end(
        &mut command,
        ["topo", "--measure=gpus", "--backend", kind.name, "--size", "1MiB", "--reps", "12", "--json"],
    );
    let document = proof::document(&ended)?;
    assert_eq!((ended.code, list(&document, "/groups").len()), (Some(4), 0), "{}", document["status_reason"]);
    Ok(())
}

#[test]
fn the_plan_and_what_cannot_be_grouped_are_said_before_anything_is_measured() -> Done {
    let more = ["topo", "--measure", "--backend", "host"];
    if run(&["latency", "--between", "cores", "--dry-run"]).code == Some(0) {
        let plan = run(&[&more[..], &["--dry-run", "--within", "50s"]].concat()).well().out;
        assert!(plan.contains("core-to-core") && plan.contains(" 34 "), "{plan}");
    }
    run(&["topo", "--measure=gpus", "--backend", "host"]).refused(77, &["two", "--measure=cores"]);
    run(&["topo", "--measure=nodes"]).refused(2, &["gpus", "cores"]);
    run(&["topo", "--within", "10s"]).refused(2, &["--measure"]);
    run(&["topo", "--measure", "--matrix"]).refused(2, &["cannot be used with"]);
    let first = first_pu()?;
    let mut one = assert_cmd::Command::new("taskset");
    one.args(["-c", &first.to_string(), BINARY]);
    end(&mut one, more).refused(2, &["needs two cores", "there is one", "may use PUs"]);
    Ok(())
}

/// The first PU that this process may use.
fn first_pu() -> Result<u64, Box<dyn std::error::Error>> {
    let first = run(&["topo", "--json"]).json()?.pointer("/allowed/pus/0").and_then(Value::as_u64);
    first.ok_or_else(|| "no PU is allowed".into())
}
