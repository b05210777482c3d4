//! `check --bandwidth` beyond twins: how long eight GPUs are kept busy, and a GPU's memory that is slow by a
//! baseline.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::run::{Done, Ended, end, with_driver};

/// So many GPUs in virtual time, each with a copy that takes as long as the check's does on an H100: 4 MiB
/// where it copies 64 (at 55 GB/s) and 512 (within, at 1,490 GB/s, and to the next at 390).
fn h100s(count: usize, within: &str) -> String {
    let one = |at: usize| {
        let peers: Vec<String> =
            (0..count).filter(|other| *other != at).map(|other| other.to_string()).collect();
        format!(
            "device 0000:{:02x}:00.0; memory 32MiB; h2d 3.4375GB/s 5us; d2h 3.4375GB/s 5us; peer 3.05GB/s \
             3us; within {within} 3us; peers {}",
            0x18 + 0x10 * at,
            peers.join(" ")
        )
    };
    let all: Vec<String> = (0..count).map(one).collect();
    format!("repeats skip; {}", all.join("; "))
}

const WITHIN: &str = "11.64GB/s";

fn ended(devices: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    ended_with("", devices, args)
}

/// The same with calls of the driver that fail.
fn ended_with(faults: &str, devices: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let fake = driver::fake()?;
    let mut command = with_driver(&fake);
    command.env("FAKE_FAULTS", faults);
    command.env("FAKE_DEVICES", devices).env("LD_PRELOAD", fake.join(Driver::Cuda.library()));
    Ok(end(&mut command, args))
}

#[test]
fn the_whole_check_of_eight_gpus_keeps_them_for_less_than_five_seconds() -> Done {
    let folder = tempfile::tempdir()?;
    let mut all_ns = 0;
    // The check's own two runs. Their limits are real time, which a busy machine has little of: the documents
    // count the GPUs' own.
    for args in [
        &["pingpong", "--order", "alone", "--size", "4MiB", "--memory", "pinned", "--direction", "h2d,d2h"][..],
        &["peer", "--pairs", "ring"],
    ] {
        let file = folder.path().join("run.json").display().to_string();
        let more = ["--quiet", "--gpus", "all", "--max-time", "40s", "--json", &file];
        ended(&h100s(8, WITHIN), &[args, &more].concat())?.well();
        let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let ranks = document["ranks"].as_array().ok_or("no ranks")?;
        let results =
            document["cases"].as_array().into_iter().flatten().flat_map(|case| case["ranks"].as_array());
        for result in results.flatten().filter(|result| result["outcome"]["status"] == "measured") {
            let blocks = result["outcome"]["summary"]["blocks"].as_u64();
            assert!(blocks.is_some_and(|blocks| blocks >= 10), "{args:?}: {}", result["outcome"]);
        }
        // One rank after the other: what each waits for adds up.
        let parts = [
            "init_ns",
            "allocate_ns",
            "pin_ns",
            "prove_ns",
            "warm_up_ns",
            "lay_out_ns",
            "measure_ns",
            "verify_ns",
        ];
        let spent =
            ranks.iter().flat_map(|rank| parts.map(|part| rank["time"][part].as_u64().unwrap_or_default()));
        all_ns += spent.sum::<u64>();
    }
    assert!((500_000_000..5_000_000_000).contains(&all_ns), "{:.2} s", all_ns as f64 / 1e9);
    Ok(())
}

/// The document under another host's name.
fn of_host(document: &str, host: &str, file: &Path) -> Done {
    let parsed: Value = serde_json::from_str(document)?;
    let own = parsed["environment"]["hostname"].as_str().ok_or("no host name")?;
    Ok(fs::write(file, document.replace(&format!("\"{own}\""), &format!("\"{host}\"")))?)
}

#[test]
fn memory_that_is_as_slow_in_all_gpus_is_found_against_a_baseline_of_healthy_nodes() -> Done {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (run, baseline, lines, nodes) =
        (path("run.json"), path("baseline.json"), path("lines.txt"), path("nodes"));
    fs::create_dir(&nodes)?;
    // Rates of real boards differ by some 0.3 %: a document each with a little of its own.
    for (at, within) in ["11.60GB/s", "11.64GB/s", "11.68GB/s"].iter().enumerate() {
        let measure =
            ["peer", "--pairs", "none", "--quiet", "--gpus", "all", "--max-time", "20s", "--json", &run];
        ended(&h100s(3, within), &measure)?.well();
        of_host(
            &fs::read_to_string(&run)?,
            &format!("n{at}"),
            &folder.path().join(format!("nodes/{at}.json")),
        )?;
    }
    let learned = ended("", &["baseline", &nodes, "-o", &baseline, "--lines", &lines])?;
    assert_eq!(learned.code, Some(0), "{}{}", learned.out, learned.err);

    let check = |within: &str| {
        ended(&h100s(3, within), &["check", "--bandwidth", "--what", "hbm", "--against", &baseline])
    };
    let well = check(WITHIN)?;
    assert_eq!(well.code, Some(0), "{}{}", well.out, well.err);
    let slow = check("8GB/s")?;
    assert_eq!(slow.code, Some(5), "{}{}", slow.out, slow.err);
    let (folder_of_all, devices) = (path("all/"), h100s(3, "8GB/s"));
    let args = ["check", "--bandwidth", "--what", "hbm", "--against", &baseline, "--json", &folder_of_all];
    let quiet = ended(&devices, &[&args[..], &["--quiet"]].concat())?;
    assert_eq!((quiet.code, quiet.out.lines().count()), (Some(5), 1), "{}{}", quiet.out, quiet.err);
    for words in ["FINDING; 3 GPUs, 3 passes", "/within: 7.9", "3 of 3 passes"] {
        assert!(slow.out.contains(words), "{words}: {}", slow.out);
    }

    // What it learned can be handed in: lines that this program reads, and that fit what they were learned
    // from.
    let text = fs::read_to_string(&lines)?;
    assert!(text.starts_with('#') && text.contains("`numabench baseline`"), "{text}");
    let gpu = "Fake GPU";
    let listed = ended("", &["reference", "--reference", &lines, "--gpu", gpu])?.well();
    assert!(
        listed.out.contains(gpu) && listed.out.contains(" 9 ") && listed.out.contains(" 3 "),
        "{}",
        listed.out
    );
    // A reference decides nothing, however far the figure is below it.
    let measure = ["peer", "--pairs", "none", "--gpus", "all", "--max-time", "20s", "--reference", &lines];
    assert_eq!(ended(&h100s(3, "8GB/s"), &measure)?.code, Some(0));
    Ok(())
}

#[test]
fn without_a_baseline_copies_between_several_gpus_are_said_not_to_be_judged_and_those_of_two_are() -> Done {
    // Room for the copies of host memory too; the last GPU's copies to others are slow, and its link is not.
    let slow_last = |gpus: usize| {
        let healthy = h100s(gpus, WITHIN).replace("memory 32MiB", "memory 128MiB");
        let last = healthy.rfind("peer 3.05GB/s").unwrap_or_default();
        format!("{}{}", &healthy[..last], healthy[last..].replacen("peer 3.05GB/s", "peer 2GB/s", 1))
    };
    let args = ["check", "--bandwidth", "--what", "h2d,peer", "--quiet", "--timeout", "1min"];

    // In a ring the way to its one partner may be long.
    let of_four = ended(&slow_last(4), &args)?.well().out;
    let left_out = "copies between GPUs, which nothing is known to be normal for without --against";
    assert_eq!(of_four, format!("SIMULATED: well, but for {left_out}\n"));
    let file = tempfile::NamedTempFile::new()?;
    let json = file.path().display().to_string();
    ended(&slow_last(4), &["check", "--bandwidth", "--what", "h2d,peer", "--json", &json])?.well();
    let document: Value = serde_json::from_slice(&fs::read(&json)?)?;
    assert_eq!(document["not_judged"], left_out);

    let of_two = ended(&slow_last(2), &args)?;
    assert_eq!(of_two.code, Some(5), "{}{}", of_two.out, of_two.err);
    assert!(of_two.out.contains("0000:28:00.0"), "{}", of_two.out);
    Ok(())
}

#[test]
fn a_gpu_whose_copies_fail_in_every_pass_is_a_finding() -> Done {
    let devices = h100s(2, WITHIN).replace("memory 32MiB", "memory 128MiB");
    let file = tempfile::NamedTempFile::new()?;
    let json = file.path().display().to_string();
    let args = ["check", "--bandwidth", "--quiet", "--timeout", "1min", "--json", &json];
    let failing = ended_with("fail cuMemcpyHtoDAsync 1+ 719", &devices, &args)?;
    assert_eq!(failing.code, Some(5), "{}{}", failing.out, failing.err);
    for words in ["SIMULATED: failed: 0000:18:00.0, ", "no figure in 3 of 3 passes (failed: ", " 719 "] {
        assert!(failing.out.contains(words) && failing.out.lines().count() == 1, "{words}: {}", failing.out);
    }

    let document: Value = serde_json::from_slice(&fs::read(&json)?)?;
    assert_eq!((&document["gate"], &document["schema_version"]), (&"finding".into(), &"1.3".into()));
    let lost = document["lost"].as_array().ok_or("lost figures")?;
    assert!(
        lost.len() == 2 && lost.iter().all(|lost| lost["case"] == "alone/pinned/h2d/67108864"),
        "{lost:?}"
    );
    Ok(())
}

#[test]
fn a_node_of_which_nothing_is_compared_is_undecided_and_says_why() -> Done {
    let one = h100s(1, WITHIN).replace("memory 32MiB", "memory 128MiB");
    let unlike =
        h100s(2, WITHIN).replace("memory 32MiB", "memory 128MiB").replacen("128MiB", "128MiB; name A", 1);
    for (devices, what, words) in [
        (&one, "h2d", "0000:18:00.0, which cannot be compared with a GPU like it here"),
        (&one, "peer", "peer, of which there is no figure here"),
        (&unlike, "h2d", "0000:18:00.0 and 0000:28:00.0, which cannot be compared"),
    ] {
        let args = ["check", "--bandwidth", "--what", what, "--quiet", "--timeout", "1min"];
        let found = ended(devices, &args)?;
        assert_eq!(found.code, Some(6), "{}{}", found.out, found.err);
        let line = format!("SIMULATED: undecided: not judged: {words}");
        assert!(found.out.starts_with(&line), "{}", found.out);
    }
    Ok(())
}
