//! One task a node into one folder: each node's document, the table of all, what is said of nodes that did
//! not answer, and what is refused. The launch is played by processes with a launcher's variables; `slurm`
//! has a real one.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::driver;
use crate::run::{Done, Ended, end, run, skipped, spawnable, with_driver};

/// Two GPUs in virtual time, of which one copies so fast within its memory.
fn devices(within: &str) -> String {
    let one = |address: &str, within: &str| {
        format!(
            "device {address}; h2d 10GB/s 5us; d2h 10GB/s 5us; peer 20GB/s 5us; within {within} 5us; peers 0 \
             1"
        )
    };
    format!("repeats skip; {}; {}", one("0000:05:00.0", "40GB/s"), one("0000:c1:00.0", within))
}

/// Task `rank` of a step of so many nodes.
fn task(rank: usize, nodes: usize, folder: &str, args: &[&str]) -> Result<Child, Box<dyn std::error::Error>> {
    Ok(launched(rank, nodes, folder, args)?.spawn()?)
}

/// The same, not yet begun.
fn launched(
    rank: usize,
    nodes: usize,
    folder: &str,
    args: &[&str],
) -> Result<Command, Box<dyn std::error::Error>> {
    let fake = driver::fake()?;
    let mut command = spawnable(&fake);
    let number = rank.to_string();
    command.args(args).args(["--json", folder]).env("FAKE_DEVICES", devices("40GB/s"));
    command.env("LD_PRELOAD", fake.join(driver::Driver::Cuda.library()));
    for (name, value) in [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NUM_TASKS", &nodes.to_string()),
        ("SLURM_STEP_NUM_NODES", &nodes.to_string()),
        ("SLURM_STEP_TASKS_PER_NODE", &format!("1(x{nodes})")),
        ("SLURM_STEP_NODELIST", &format!("nid[0-{}]", nodes - 1)),
        ("SLURM_PROCID", &number),
        ("SLURM_LOCALID", "0"),
        ("SLURM_NODEID", &number),
        ("SLURMD_NODENAME", &format!("nid{rank}")),
    ] {
        command.env(name, value);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Gives a node's document its own host name: these tasks ran on one machine.
fn by_its_name(folder: &Path, rank: usize) -> Done {
    let file = folder.join(format!("nid{rank}.json"));
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
    document["host"] = format!("nid{rank}").into();
    Ok(fs::write(file, document.to_string())?)
}

const CHECK: [&str; 4] = ["check", "--bandwidth", "--what", "h2d,hbm"];

#[test]
fn each_node_writes_its_document_and_the_first_task_shows_all_in_one_table() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/runs/", folder.path().display());
    let second = task(1, 2, &path, &CHECK)?;
    let first = task(0, 2, &path, &CHECK)?;
    let (second, first) = (Ended::of(&second.wait_with_output()?), Ended::of(&first.wait_with_output()?));
    assert_eq!((second.code, second.out.as_str()), (Some(0), ""), "{}", second.err);
    assert_eq!(first.code, Some(0), "{}{}", first.out, first.err);
    for words in ["SIMULATED", "nid0", "nid1", "H2D 64 MiB", "within GPU memory", "median"] {
        assert!(first.out.contains(words), "{words}: {}", first.out);
    }
    let mut files: Vec<String> = fs::read_dir(&path)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, std::io::Error>>()?;
    files.sort();
    assert_eq!(files, ["nid0.json", "nid1.json"], "the records are gone");

    // The same table from the files, and as data.
    let again = end(&mut with_driver(&driver::fake()?), ["report", &path]).well();
    let columns = |text: &str| text.lines().find(|line| line.contains("H2D")).map(str::to_owned);
    assert!(columns(&again.out).is_some() && columns(&again.out) == columns(&first.out), "{}", again.out);
    let data = end(&mut with_driver(&driver::fake()?), ["report", &path, "--json", "-"]).well().json()?;
    assert_eq!(data["schema"], "numabench.nodes");
    assert_eq!(data["columns"][0]["name"], "H2D 64 MiB");

    // Two sides of such folders.
    (0..2).try_for_each(|rank| by_its_name(Path::new(&path), rank))?;
    let both = end(&mut with_driver(&driver::fake()?), ["compare", &path, &path]);
    assert!(both.code == Some(0) || both.code == Some(6), "{}{}", both.out, both.err);
    let by_node: Vec<&str> = both.out.lines().filter(|line| line.starts_with("Node")).collect();
    insta::assert_snapshot!("two_nodes_are_too_few", by_node.join("\n"));
    Ok(())
}

#[test]
fn latency_and_matrix_of_one_task_a_node_are_a_fleet_too() -> Done {
    for args in [
        &["latency", "--backend", "host", "--max-time", "1s", "--quiet"][..],
        &[
            "matrix",
            "--backend",
            "host",
            "--access",
            "read",
            "--threads",
            "1",
            "--range",
            "1MiB",
            "--max-time",
            "1s",
        ],
    ] {
        let folder = tempfile::tempdir()?;
        let path = format!("{}/", folder.path().display());
        // Host memory takes real time: the stand-in's clock stands still while nobody waits for it.
        let start = |rank: usize| -> Result<Child, Box<dyn std::error::Error>> {
            Ok(launched(rank, 2, &path, args)?.env_remove("LD_PRELOAD").spawn()?)
        };
        let second = start(1)?;
        let first = Ended::of(&start(0)?.wait_with_output()?);
        let second = Ended::of(&second.wait_with_output()?);
        assert_eq!((second.code, second.out.as_str()), (Some(0), ""), "{args:?}: {}", second.err);
        assert_eq!(first.code, Some(0), "{args:?}: {}{}", first.out, first.err);
        for words in ["2 nodes, too few to tell", "nid0", "nid1", "median"] {
            assert!(first.out.contains(words), "{args:?}: {words}: {}", first.out);
        }
    }
    Ok(())
}

#[test]
fn doctor_of_one_task_a_node_names_the_node_that_is_set_up_unlike_most() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    let start = |rank: usize, name: &str| -> Result<Child, Box<dyn std::error::Error>> {
        let mut command = launched(rank, 3, &path, &["doctor"])?;
        Ok(command.env(name, "10.0.0.1").spawn()?)
    };
    // Two nodes are alike; the third one's task is in a pod.
    let others = [start(1, "NOTHING")?, start(2, "KUBERNETES_SERVICE_HOST")?];
    let first = Ended::of(&start(0, "NOTHING")?.wait_with_output()?);
    for other in others {
        let other = Ended::of(&other.wait_with_output()?);
        assert_eq!((other.code, other.out.as_str()), (Some(0), ""), "{}", other.err);
    }
    // The worst of the nodes' own codes.
    let own = |node: &str| -> Result<i64, Box<dyn std::error::Error>> {
        let document: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join(node))?)?;
        Ok(document["exit_code"].as_i64().ok_or("no exit code")?)
    };
    let codes = [own("nid0.json")?, own("nid1.json")?, own("nid2.json")?];
    let worst = [5, 6, 0].into_iter().find(|code| codes.contains(code));
    assert_eq!(first.code.map(i64::from), worst, "{codes:?}: {}{}", first.out, first.err);
    let text = first.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["1 node set up unlike most: nid2", "kubernetes.cpuset: ", "no such thing on 2 nodes", "settings of"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }

    (0..3).try_for_each(|rank| by_its_name(folder.path(), rank))?;
    let again = end(&mut with_driver(&driver::fake()?), ["report", &path]).well();
    assert_eq!(again.out, first.out);
    let data = end(&mut with_driver(&driver::fake()?), ["report", &path, "--json", "-"]).well().json()?;
    assert_eq!(data["rows"][0]["host"], "nid2");
    assert_eq!(data["rows"][0]["settings"]["unlike_most"][0], "kubernetes.cpuset");
    Ok(())
}

#[test]
fn a_node_that_never_began_is_named_by_the_launchers_list_and_one_that_failed_with_its_reason() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    // Node 1 asks for a baseline that it does not have; node 2 never comes, and a signal ends the first one's
    // waiting.
    let failing = task(1, 3, &path, &["check", "--bandwidth", "--against", "/nonexistent/baseline.json"])?;
    let failing = Ended::of(&failing.wait_with_output()?);
    assert_eq!(failing.code, Some(0), "the first task's code speaks for all: {}", failing.err);
    let first = task(0, 3, &path, &["latency", "--max-time", "60s", "--gpus", "0"])?;
    let (began, pid) = (Instant::now(), first.id().to_string());
    thread::sleep(Duration::from_secs(2));
    Command::new("kill").args(["-TERM", &pid]).status()?;
    let first = Ended::of(&first.wait_with_output()?);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    for words in [
        "did not answer: nid0, nid1, nid2",
        "no answer: nid1: it ended with code 2",
        "baseline.json",
        "no answer: nid2: its task never began",
    ] {
        assert!(first.out.contains(words), "{words}: {}{}", first.out, first.err);
    }
    Ok(())
}

#[test]
fn a_document_of_an_earlier_launch_is_not_shown_where_a_node_fails_before_it_writes_its_own() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    let launch = |second: &mut Command| -> Result<Ended, Box<dyn std::error::Error>> {
        let second = second.spawn()?;
        let first = Ended::of(&task(0, 2, &path, &CHECK)?.wait_with_output()?);
        Ended::of(&second.wait_with_output()?);
        Ok(first)
    };
    let yesterday = launch(&mut launched(1, 2, &path, &CHECK)?)?;
    assert!(yesterday.code == Some(0) && !yesterday.out.contains("no answer"), "{}", yesterday.out);

    // Today the second node has no driver.
    let mut without = launched(1, 2, &path, &CHECK)?;
    let today = launch(without.env_remove("LD_PRELOAD").env("LD_LIBRARY_PATH", "/nowhere"))?;
    for words in ["1 node", "no answer: nid1: it ended with code 77: "] {
        assert!(today.out.contains(words), "{words}: {}{}", today.out, today.err);
    }
    let again = end(&mut with_driver(&driver::fake()?), ["report", &path]);
    assert!(!again.out.contains("nid1"), "{}", again.out);
    assert!(folder.path().join("nid1.json.earlier").exists(), "what was measured yesterday is kept");
    Ok(())
}

#[test]
fn a_node_measured_again_into_its_folder_says_first_that_the_earlier_document_will_be_replaced() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    let measure = ["matrix", "--backend", "host", "--max-time", "1s", "--quiet", "--json"];
    let again = || run(&[&measure[..], &[&path]].concat());
    let words = "is of an earlier run and will be replaced: to keep it, give another folder to --json";

    let first = again();
    assert!(!first.err.contains(words), "{}", first.err);
    let second = again();
    assert!(second.err.contains(words), "{}", second.err);
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

#[test]
fn two_nodes_of_one_host_name_do_not_share_a_file() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    let start = |rank: usize| -> Result<Child, Box<dyn std::error::Error>> {
        Ok(launched(rank, 2, &path, &CHECK)?.env("SLURMD_NODENAME", "localhost").spawn()?)
    };
    let second = start(1)?;
    let first = Ended::of(&start(0)?.wait_with_output()?);
    Ended::of(&second.wait_with_output()?);
    assert_eq!(first.code, Some(3), "{}{}", first.out, first.err);
    // Which task it is that has the name may not be known yet, and lines are broken accordingly.
    let said = first.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["no answer: localhost: it ended with code 2: ", "the host name localhost too"] {
        assert!(said.contains(words), "{words}: {}{}", first.out, first.err);
    }
    Ok(())
}

#[test]
fn threads_that_read_together_are_one_figure_with_their_sum() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("node.json").display().to_string();
    let read = ["--access", "read", "--threads", "2", "--range", "8MiB", "--max-time", "1s", "--quiet"];
    run(&[&["matrix", "--backend", "host", "--json", &file][..], &read].concat()).well();
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
    let rows = document["rows"].as_array().ok_or("no rows")?;
    let of_case = rows.iter().filter(|row| row["case"] == rows[0]["case"]);
    let rates: Vec<f64> = of_case.filter_map(|row| row["median_bytes_per_s"].as_f64()).collect();
    if rates.len() < 2 {
        skipped("one thread on this machine: no sum");
        return Ok(());
    }
    let nodes = run(&["report", &folder.path().display().to_string(), "--json", "-"]).well().json()?;
    let shown = nodes["rows"][0]["cells"][0]["value"].as_f64().ok_or("no figure")?;
    assert!((shown / rates.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shown} for {rates:?}");
    Ok(())
}

#[test]
fn several_tasks_on_a_node_are_refused_with_the_way_out_and_one_alone_writes_under_its_name() -> Done {
    let folder = tempfile::tempdir()?;
    let path = format!("{}/", folder.path().display());
    let fake = driver::fake()?;
    let mut command = with_driver(&fake);
    for (name, value) in
        [("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_STEP_TASKS_PER_NODE", "2"), ("SLURM_STEP_ID", "0")]
    {
        command.env(name, value);
    }
    command
        .env("SLURM_PROCID", "0")
        .env("SLURM_LOCALID", "0")
        .env("SLURM_NODEID", "0")
        .env("SLURM_JOB_ID", "7");
    let refused = end(&mut command, ["matrix", "--json", &path]);
    assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("tasks") && refused.err.contains("--ntasks-per-node=1"), "{}", refused.err);
    assert_eq!(fs::read_dir(&path)?.count(), 0);

    let alone = end(
        with_driver(&fake)
            .env("FAKE_DEVICES", devices("40GB/s"))
            .env("LD_PRELOAD", fake.join(driver::Driver::Cuda.library())),
        [&CHECK[..], &["--json", &path]].concat(),
    );
    assert_eq!(alone.code, Some(0), "{}{}", alone.out, alone.err);
    assert!(alone.out.contains("well;"), "{}", alone.out);
    assert_eq!(fs::read_dir(&path)?.count(), 1);
    Ok(())
}

#[test]
fn a_slow_memory_is_found_among_twins_and_each_kind_of_copy_is_a_case_of_its_own() -> Done {
    let check = |within: &str, what: &str, more: &[&str]| -> Result<Ended, Box<dyn std::error::Error>> {
        let fake = driver::fake()?;
        let mut command = with_driver(&fake);
        command
            .env("FAKE_DEVICES", devices(within))
            .env("LD_PRELOAD", fake.join(driver::Driver::Cuda.library()));
        Ok(end(&mut command, [&["check", "--bandwidth", "--what", what], more].concat()))
    };
    let well = check("40GB/s", "h2d,d2h,hbm,peer", &["--json"])?.well().json()?;
    let cases: std::collections::BTreeSet<String> =
        well["figures"].as_array().into_iter().flatten().map(|figure| figure["case"].to_string()).collect();
    assert_eq!(cases.len(), 4, "{cases:?}");
    let slow = check("20GB/s", "hbm", &[])?;
    assert_eq!(slow.code, Some(5), "{}{}", slow.out, slow.err);
    for words in [
        "FINDING; 2 GPUs, 3 passes",
        "0000:c1:00.0, alone/device/d2d/33554432/within: 19.9",
        "cause: 0000:c1:00.0: its own memory or clocks",
    ] {
        assert!(slow.out.contains(words), "{words}: {}", slow.out);
    }
    let line = check("20GB/s", "hbm", &["--quiet"])?;
    assert!(
        ["SIMULATED:", "slow:", "0000:c1:00.0,", "alone/device/d2d/"]
            .iter()
            .all(|word| line.out.contains(word))
            && line.out.lines().count() == 1,
        "{}",
        line.out
    );
    Ok(())
}
