//! `numabench peer --sample` on sixteen and eight stand-in GPUs: which pairs stand for all, and that the
//! others have no figure.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, run, with_driver};

/// So many GPUs, of which those of each group reach each other.
fn grouped(gpus: usize, group: usize) -> String {
    let peers = |gpu: usize| {
        let first = gpu / group * group;
        let others = (first..first + group).filter(|other| *other != gpu);
        others.map(|other| other.to_string()).collect::<Vec<_>>().join(" ")
    };
    let device = |gpu: usize| {
        format!(
            "device 0000:{:02x}:00.0; memory 1GiB; peers {}; peer 200GB/s 1us; peer-loads 700ns; d2h 20GB/s 6us",
            gpu + 1,
            peers(gpu)
        )
    };
    (0..gpus).map(device).collect::<Vec<_>>().join("; ")
}

fn peer(kind: &Kind, devices: String, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    peer_of("64KiB", kind, devices, args)
}

fn peer_of(
    size: &str,
    kind: &Kind,
    devices: String,
    args: &[&str],
) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [("FAKE_DEVICES", devices), ("LD_PRELOAD", kind.library()?)];
    let common = ["peer", "--backend", kind.name, "--size", size, "--reps", "4"];
    Ok(end(with_driver(&kind.folder()?).args(common).envs(told), args))
}

/// The pairs that have a figure in the cases of this group, by their places: a place is a pair, all of one GPU
/// before those of the next, and then each GPU with itself.
fn measured(document: &Value, gpus: u64, group: &str) -> BTreeSet<(u64, u64)> {
    let pair = |place: u64| {
        let (from, to) = (place / (gpus - 1), place % (gpus - 1));
        (place < gpus * (gpus - 1)).then_some((from, if to < from { to } else { to + 1 }))
    };
    let cases = list(document, "/cases").iter().filter(|case| text(case, "/group") == group);
    let ranks = cases.flat_map(|case| list(case, "/ranks"));
    ranks.filter_map(|rank| pair(rank["rank"].as_u64()?)).collect()
}

#[test]
fn sixteen_of_240_pairs_have_every_gpu_each_way_and_every_kind_of_link() -> Done {
    for kind in kinds::tried() {
        let run = |seed: &str| -> Result<Value, Box<dyn std::error::Error>> {
            let args = ["--sample", "16", "--seed", seed, "--json", "-"];
            proof::document(&peer(&kind, grouped(16, 8), &args)?)
        };
        let document = run("7")?;
        assert_eq!(document["status"], "complete", "a sample that was asked for is whole: {document:#}");
        let sample = &document["pair_sample"];
        assert_eq!([&sample["asked"], &sample["chosen"], &sample["of"]], [16, 16, 240]);
        let classes: Vec<(&str, u64)> = list(sample, "/classes")
            .iter()
            .map(|class| (text(class, "/link"), class["of"].as_u64().unwrap_or(0)))
            .collect();
        assert_eq!(classes, [("?", 112), ("?, staged", 128)]);
        let said = text(&document, "/verdict/0");
        assert!(said.starts_with("A sample: 16 of 240 pairs, each kind of link at least "), "{said}");
        assert!(text(&document, "/verdict/1").contains(" 16 measured pairs"), "{}", document["verdict"]);

        let pairs = measured(&document, 16, "one-way");
        let of_class =
            |staged: bool| pairs.iter().filter(|(from, to)| (from / 8 == to / 8) != staged).count() as u64;
        for (class, staged) in list(sample, "/classes").iter().zip([false, true]) {
            assert_eq!(class["chosen"], of_class(staged));
            assert!(of_class(staged) >= 2, "{pairs:?}");
        }
        let [sends, receives] = [|pair: &(u64, u64)| pair.0, |pair: &(u64, u64)| pair.1]
            .map(|end| pairs.iter().map(end).collect::<BTreeSet<_>>().len());
        assert_eq!((pairs.len(), sends, receives), (16, 16, 16), "{pairs:?}");
        let both = measured(&document, 16, "both-ways");
        assert!(
            both.iter()
                .all(|(one, other)| pairs.contains(&(*one, *other)) || pairs.contains(&(*other, *one)))
        );

        assert_eq!(measured(&run("7")?, 16, "one-way"), pairs, "the same seed chooses the same pairs");
        assert_ne!(measured(&run("8")?, 16, "one-way"), pairs);
        proof::follows(&document, "result-v1.json")?;
    }
    Ok(())
}

#[test]
fn a_pair_outside_the_sample_has_no_figure_and_no_zero_in_the_table() -> Done {
    for kind in kinds::tried() {
        let ended = peer(&kind, grouped(8, 8), &["--sample", "8", "--seed", "3", "--full"])?;
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let part = |start: &str| ended.out.split("\n\n").find(|part| part.starts_with(start));
        let parts = [part("A sample"), part("GPU to GPU, one way")].map(Option::unwrap_or_default);
        insta::assert_snapshot!("a_sample_of_eight_pairs", proof::without_figures(&parts.join("\n\n")));
    }
    Ok(())
}

#[test]
fn loads_are_of_the_pairs_of_the_sample() -> Done {
    for kind in kinds::tried() {
        let args = ["--sample", "8", "--latency", "--json", "-"];
        let document = proof::document(&peer(&kind, grouped(8, 8), &args)?)?;
        assert_eq!(document["status"], "complete", "{}", document["status_reason"]);
        let pairs = measured(&document, 8, "one-way");
        assert_eq!((pairs.len(), measured(&document, 8, "loads")), (8, pairs));
    }
    Ok(())
}

#[test]
fn a_sample_that_is_no_sample_is_refused() -> Done {
    for kind in kinds::tried() {
        let whole = peer(&kind, grouped(8, 8), &["--sample", "56"])?;
        assert_eq!(whole.code, Some(2), "{}", whole.out);
        let why = "--sample 56 has no effect: there are 56 pairs; ask for fewer, or leave it out";
        assert!(whole.err.contains(why), "{}", whole.err);

        for (others, why) in [
            (["--pairs", "ring"], "--sample cannot be used with --pairs ring"),
            (["--pairs", "none"], "--sample cannot be used with --pairs none"),
            (["--all", "--latency"], "--sample cannot be used with --all"),
        ] {
            let ended = peer(&kind, grouped(8, 8), &[&["--sample", "8"][..], &others].concat())?;
            assert_eq!(ended.code, Some(2), "{}", ended.out);
            assert!(ended.err.contains(why), "{}", ended.err);
        }
    }
    Ok(())
}

/// Eight GPUs of which the last one reaches no other.
fn one_apart() -> String {
    let mut devices: Vec<String> = grouped(7, 7).split("; device").map(str::to_owned).collect();
    devices.push(" 0000:20:00.0; memory 1GiB; d2h 20GB/s 6us".to_owned());
    devices.join("; device")
}

#[test]
fn a_gpu_whose_only_partner_in_a_sample_is_slow_is_no_slower_twin_and_compare_misses_no_pair() -> Done {
    let kind = kinds::tried().into_iter().next().ok_or("no kind of driver")?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (name, args) in
        [("all", &[][..]), ("1", &["--sample", "8", "--seed", "1"]), ("2", &["--sample", "8", "--seed", "2"])]
    {
        let path = file(name);
        let args = [args, &["--json", &path]].concat();
        let ended = peer_of("4MiB", &kind, one_apart(), &args)?;
        let document: Value = serde_json::from_slice(&std::fs::read(&path).map_err(|_| ended.err.clone())?)?;
        let is_called_slow = !list(&document, "/slower_twins").is_empty();
        assert_eq!(is_called_slow, name == "all", "{name}: {:#}", document["verdict"]);
    }

    for (base, new) in [("all", "1"), ("1", "2")] {
        let found = run(&["compare", &file(base), &file(new), "--json", "-"]).json()?;
        assert_eq!(found["counts"]["missing"], 0, "{base}, {new}: {:#}", found["missing"]);
        let differing = list(&found, "/differing").iter().any(|one| one["fact"] == "pairs of GPUs");
        assert_eq!(differing, base == "all", "{found:#}");
    }
    Ok(())
}
