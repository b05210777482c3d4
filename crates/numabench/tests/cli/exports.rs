//! Every export of every kind of document, read by a parser of its form that is not ours (`readers`, the
//! campaign's). No figure may get lost on the way.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::kinds;
use crate::proof::{list, text};
use crate::run::{Done, end, host, numabench, run, with_driver};

#[path = "../../../../xtask/proving/src/campaign/readers.rs"]
mod readers;

/// Three GPUs that reach each other: each has two others, so a GPU alone does not name a copy.
const DEVICES: &str = "device 0000:05:00.0; h2d 20GB/s 1us; d2h 20GB/s 1us; peers 1 2; peer 200GB/s 1us; \
    within 400GB/s 10ns; device 0000:46:00.0; h2d 20GB/s 1us; d2h 20GB/s 1us; peers 0 2; peer 200GB/s 1us; \
    within 400GB/s 10ns; device 0000:c1:00.0; h2d 20GB/s 1us; d2h 20GB/s 1us; peers 0 1; peer 100GB/s 1us; \
    within 300GB/s 10ns";

/// Commands on described devices.
const DESCRIBED: [(&str, &[&str]); 5] = [
    ("pingpong", &["--size", "4KiB,1MiB", "--reps", "6"]),
    ("matrix", &["--size", "1MiB", "--reps", "20"]),
    ("sweep", &["--size", "4KiB..64KiB", "--reps", "20"]),
    ("contend", &["--size", "4MiB", "--direction", "h2d", "--reps", "20"]),
    ("peer", &["--size", "4MiB", "--reps", "6"]),
];

/// Commands on devices as they are where nobody describes them.
const PLAIN: [(&str, &[&str]); 2] =
    [("suite", &["--within", "6s", "--gpus", "0,1"]), ("latency", &["--gpus", "0,1", "--max-time", "2s"])];

/// Commands on this machine's cores and memory.
const ON_CORES: [&[&str]; 2] = [
    &["kernels", "--backend", "host", "--kernels", "triad", "--class", "1", "--threads", "1", "--reps", "6"],
    &["laplace", "--backend", "host", "--grid", "64x64", "--max-time", "1s"],
];

/// The documents of all kinds, each under the name of what wrote it.
fn documents(folder: &Path) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let mut all = Vec::new();
    let kind = kinds::tried().into_iter().next().ok_or("no kind of driver")?;
    let described = [("FAKE_DEVICES", DEVICES.to_owned()), ("LD_PRELOAD", kind.library()?)];
    let plain = PLAIN.into_iter().map(|of| (of, &described[..0]));
    for ((command, args), told) in DESCRIBED.into_iter().map(|of| (of, &described[..])).chain(plain) {
        let file = folder.join(format!("{command}.json"));
        let mut measuring = with_driver(&kind.folder()?);
        measuring
            .args([command, "--backend", kind.name, "--json"])
            .arg(&file)
            .args(args)
            .envs(told.iter().cloned());
        let ended = end(&mut measuring, [""; 0]);
        assert!(file.exists(), "{command}, code {:?}: {}{}", ended.code, ended.out, ended.err);
        all.push((command.to_owned(), file));
    }
    for args in ON_CORES {
        let file = folder.join(format!("{}.json", args[0]));
        run(&[args, &["--quiet", "--json", &file.display().to_string()]].concat()).well();
        all.push((args[0].to_owned(), file));
    }
    let on_host = folder.join("host.json");
    host(&["--size", "1MiB", "--reps", "6", "--quiet", "--json", &on_host.display().to_string()]).well();
    all.push(("pingpong on host memory".to_owned(), on_host));
    let trial = folder.join("trial.json");
    let options =
        ["trial", "--vary", "X=100,130 ", "--metric", "x=([0-9]+)", "--better", "lower", "--max-runs", "7"];
    let program = ["--", "sh", "-c", "echo x=1$(printf %s \"$X\" | wc -c)"];
    end(numabench().args(options).arg("--json").arg(&trial).current_dir(folder), program);
    all.push(("trial".to_owned(), trial));
    let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("../render/tests/results");
    for mpi in ["mpi-1.0-aware", "mpi-1.0-not-aware"] {
        all.push((mpi.to_owned(), given.join(format!("documents/{mpi}.json"))));
    }
    for copies in ["witness-far", "witness-near"] {
        all.push((copies.to_owned(), given.join(format!("../../../../docs/gallery/{copies}.json"))));
    }
    let outputs = [
        ("nvbandwidth", "nvbandwidth-two-gpus.txt"),
        ("transferbench", "transferbench-p2p.txt"),
        ("osu", "osu_bw.txt"),
    ];
    for (program, output) in outputs {
        let file = folder.join(format!("{output}.json"));
        let (from, to) =
            (given.join("outputs").join(output).display().to_string(), file.display().to_string());
        let ended = run(&["import", program, &from, "-o", &to]);
        assert!(file.exists(), "{output} was not imported: {}", ended.err);
        all.push((output.to_owned(), file));
    }
    Ok(all)
}

/// How many figures a document has; of a trial those of the metric that decides.
fn figures(document: &Value) -> usize {
    match text(document, "/schema") {
        "numabench.result" => {
            list(document, "/rows").iter().filter(|row| row["median_ns"].is_number()).count()
        }
        "numabench.trial" => list(document, "/rows").iter().filter(|row| row["median"].is_number()).count(),
        "numabench.mpi" => {
            let cases = list(document, "/pairs").iter().flat_map(|pair| list(pair, "/cases"));
            cases.filter(|case| !list(case, "/block_ns").is_empty() && case["reason"].is_null()).count()
        }
        "numabench.witness" => {
            let places = list(document, "/buffers").iter().flat_map(|buffer| {
                let way = format!("{} {} {}", buffer["direction"], buffer["memory"], buffer["gpu"]);
                list(buffer, "/nodes").iter().map(move |of| format!("{way} {}", of["node"]))
            });
            places.collect::<BTreeSet<String>>().len()
        }
        _ => list(document, "/cases").iter().filter(|case| case["status"] == "measured").count(),
    }
}

#[test]
fn every_export_of_every_kind_of_document_is_read_by_a_parser_of_its_form_and_has_every_figure() -> Done {
    let folder = tempfile::tempdir()?;
    let mut wrong = Vec::new();
    for (name, file) in documents(folder.path())? {
        let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let wanted = figures(&document);
        assert!(wanted > 0, "{name}: no figures");
        let is_trial = text(&document, "/schema") == "numabench.trial";
        let mut rates_and_times = 0;
        for form in readers::FORMS {
            let ended = run(&["export", &file.display().to_string(), "--to", form]);
            match readers::figures(form, &ended.out) {
                Err(why) => wrong.push(format!("{name} as {form}: {why}")),
                Ok(found) if form.starts_with("gha") => rates_and_times += found,
                // A trial has a test a variant, which has the wall time beside its metric.
                Ok(found) if form == "junit" && is_trial && 2 * found == wanted => {}
                Ok(found) if found != wanted => {
                    wrong.push(format!("{name} as {form}: {found} of {wanted} figures"))
                }
                Ok(_) => {}
            }
        }
        if rates_and_times < wanted {
            wrong.push(format!("{name} as gha and gha-smaller: {rates_and_times} of {wanted} figures"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
