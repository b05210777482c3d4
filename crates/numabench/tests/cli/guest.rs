//! A Linux guest with several NUMA nodes (`tests/lab/numa-guest.sh`): binding, page placement, offline PUs
//! and cpusets are its kernel's own, so what a document proves here is real. Its timings are an emulator's
//! and mean nothing, except on simulated GPUs, whose time is their own.
//!
//! A boot takes seconds, so each test boots once and runs everything it needs. Where the emulator's own
//! copies are timed, ranks run one after the other: it runs one CPU at a time, so no two ranks ever overlap
//! enough to be a simultaneous result.
//!
//! Some 440 lines because each boot's script stands beside what is expected of it.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::{Value, json};

use crate::driver::{self, Driver};
use crate::lab;
use crate::proof::{self, list, number, placed, results, text};
use crate::run::{Done, Ended};

/// Shell functions of the guest's script. `run NAME COMMAND...` reports how a command ended. `disturbed NAME
/// FILE VALUE` starts a run on PU 4 and node 2 in the cgroup `job`, writes VALUE to that cgroup's FILE once
/// the first pass is over, and reports the run's document.
const FUNCTIONS: &str = r#"
report() { echo "@@@ run $1 $2"; cat "$3"; echo "@@@ err"; cat /tmp/err; }
run() { name=$1; shift; "$@" >/tmp/out 2>/tmp/err; report "$name" $? /tmp/out; }
job=/sys/fs/cgroup/job
in_job() { (echo 0 >$job/cgroup.procs; exec "$@"); }
disturbed() {
    rm -f /tmp/r.json
    in_job numabench pingpong --backend host --cpus 4 --gpus 2 --membind 2 --size 1MiB --direction h2d --reps 4000 \
        --json /tmp/r.json >/tmp/out 2>/tmp/err &
    until [ -s /tmp/r.json ] || ! kill -0 $!; do sleep 0.05; done
    echo "$3" >$job/$2
    wait $!
    report "$1" $? /tmp/r.json
}
"#;

/// Boots a guest of this shape and runs the script's lines in it; `None` where no guest can run, which is
/// said.
fn guest(shape: &str, script: &str) -> Result<Option<BTreeMap<String, Ended>>, Box<dyn Error>> {
    guest_with(shape, &[], script)
}

/// The same with these programs of this machine in it.
pub fn guest_with(
    shape: &str,
    programs: &[&str],
    script: &str,
) -> Result<Option<BTreeMap<String, Ended>>, Box<dyn Error>> {
    let Some(text) = lab::written(shape, programs, &format!("{FUNCTIONS}{script}"))? else { return Ok(None) };
    let ended = |part: &str| -> Option<(String, Ended)> {
        let (head, rest) = part.split_once('\n')?;
        let (name, code) = head.split_once(' ')?;
        let (out, err) = rest.split_once("@@@ err\n")?;
        Some((name.to_owned(), Ended::new(code.parse().ok(), out.to_owned(), err.to_owned())))
    };
    let all: BTreeMap<String, Ended> = text.split("@@@ run ").skip(1).filter_map(ended).collect();
    assert!(!all.is_empty(), "{text}");
    Ok(Some(all))
}

/// How a run of the script ended; it is taken out, since most checks consume it.
pub fn take(all: &mut BTreeMap<String, Ended>, name: &str) -> Result<Ended, Box<dyn Error>> {
    all.remove(name).ok_or_else(|| format!("the guest did not run {name}").into())
}

#[test]
fn in_a_guest_of_four_nodes_threads_and_pages_are_where_they_were_asked_to_be() -> Done {
    let both = "numabench pingpong --backend host --cpus 2,5 --gpus 1,2 --size 1MiB";
    let ping = format!("{both} --direction h2d");
    let script = format!(
        "run local {ping} --reps 6 --order alone --json -\n\
         run elsewhere {ping} --reps 6 --order alone --membind 3 --json -\n\
         run small-pages {ping} --reps 6 --order alone --membind 0 --huge-pages off --json -\n\
         run at-once {ping} --reps 6 --json -\n\
         run chosen numabench pingpong --backend host --size 64KiB --reps 6 --order alone --direction h2d \
         --json -\n\
         run table {both} --reps 6 --order alone --membind 3\n\
         run plan {both} --reps 10 --dry-run\n\
         run default-plan numabench pingpong --size 1MiB --dry-run\n\
         run topo numabench topo --json\n"
    );
    let Some(mut all) = guest("lumig", &script)? else { return Ok(()) };

    let local = proof::document(&take(&mut all, "local")?)?;
    placed(&local, &[(2, 1), (5, 2)])?;
    let elsewhere = proof::document(&take(&mut all, "elsewhere")?)?;
    placed(&elsewhere, &[(2, 3), (5, 3)])?;
    let small_pages = proof::document(&take(&mut all, "small-pages")?)?;
    placed(&small_pages, &[(2, 0), (5, 0)])?;
    // The same checker says no to every other place, so its yes means something.
    for wrong in [[(2, 0), (5, 2)], [(2, 1), (5, 1)], [(3, 1), (5, 2)], [(5, 2), (2, 1)], [(2, 3), (5, 3)]] {
        assert!(placed(&local, &wrong).is_err(), "{wrong:?}");
    }
    assert!(placed(&elsewhere, &[(2, 1), (5, 2)]).is_err(), "--membind 3 is not local");

    let at_once = proof::document(&take(&mut all, "at-once")?)?;
    for result in results(&at_once).filter(|result| !result["seen_before"].is_null()) {
        let expected = if result["rank"] == 0 { (2, 1) } else { (5, 2) };
        let seen = &result["seen_before"];
        assert_eq!((number(seen, "/pu/value"), number(seen, "/host_pages/value/0/node")), expected, "{seen}");
    }

    let chosen = proof::document(&take(&mut all, "chosen")?)?;
    placed(&chosen, &[(0, 0), (2, 1), (4, 2), (6, 3)])?;

    let table = take(&mut all, "table")?.well();
    // Rank, PU asked and seen, memory node asked and seen, the device.
    for words in ["0 2 2 3 3 node 1", "1 5 5 3 3 node 2"] {
        let rows = || table.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(rows().any(|row| row.starts_with(words)), "{words}: {}", table.out);
    }
    assert!(!table.out.contains("NOT "), "{}", table.out);
    insta::assert_snapshot!("guest_plan", take(&mut all, "plan")?.well().out);
    insta::assert_snapshot!("guest_default_plan", take(&mut all, "default-plan")?.well().out);

    let topo = take(&mut all, "topo")?.well().json()?;
    let gpus = list(&topo, "/gpus");
    let near: Vec<&Value> = gpus.iter().map(|gpu| &gpu["locality"]["nodes"]).collect();
    assert_eq!(json!(near), json!([[3], [3], [1], [1], [0], [0], [2], [2]]));
    assert_eq!(topo["distances"]["rows"][1], json!([12, 10, 12, 12]));
    Ok(())
}

/// A program that makes itself 8 MB of text and then shows where its own pages lie.
const OWN_PAGES: &str = r#"awk 'BEGIN { text = sprintf("%8000000s", "x")
    while ((getline line < "/proc/self/numa_maps") > 0) print line; print length(text) > "/dev/null" }'"#;

#[test]
fn in_a_guest_a_programs_memory_is_interleaved_over_the_nodes_that_were_named() -> Done {
    let exec = "numabench exec --gpus none --membind";
    let script = format!(
        "run some {exec} interleave:1,3 -- {OWN_PAGES}\n\
         run all {exec} interleave -- {OWN_PAGES}\n\
         run beyond {exec} interleave:1,9 -- true\n\
         run weighted {exec} weighted:0-1 -- {OWN_PAGES}\n\
         run printed {exec} interleave:1,3 --print\n"
    );
    let Some(mut all) = guest("lumig", &script)? else { return Ok(()) };

    // numa_maps(5): the policy of a mapping, and its pages by node.
    let pages = |ended: Ended, policy: &str| -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
        let mut of_node: BTreeMap<String, u64> = BTreeMap::new();
        let maps = ended.well().out;
        // A file's pages lie where it was read first.
        let own = maps.lines().filter(|line| line.contains(policy) && !line.contains("file="));
        for word in own.flat_map(str::split_whitespace) {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|word| word.split_once('=')) else {
                continue;
            };
            *of_node.entry(node.to_owned()).or_default() += pages.parse::<u64>()?;
        }
        Ok(of_node)
    };
    let some = pages(take(&mut all, "some")?, "interleave:1,3")?;
    assert_eq!(some.keys().collect::<Vec<_>>(), ["1", "3"], "{some:?}");
    assert!(
        some["1"].abs_diff(some["3"]) <= 600 && some["1"] > 500,
        "half each, but for large pages: {some:?}"
    );
    let over_all = pages(take(&mut all, "all")?, "interleave:0-3")?;
    assert_eq!(over_all.len(), 4, "{over_all:?}");

    let beyond = take(&mut all, "beyond")?;
    beyond.refused(2, &["9", "0-3"]);
    let weighted = take(&mut all, "weighted")?;
    if weighted.code == Some(0) {
        assert_eq!(pages(weighted, "weighted interleave:0-1")?.len(), 2);
    } else {
        assert!(weighted.err.contains("Linux 6.9"), "{}", weighted.err);
    }
    let printed = take(&mut all, "printed")?.well().out;
    assert!(printed.contains("numactl --interleave=1,3"), "{printed}");
    Ok(())
}

#[test]
fn in_a_guest_the_pages_of_a_measurement_are_spread_to_the_page_over_the_nodes_that_were_named() -> Done {
    let ping = "numabench pingpong --backend host --cpus 2 --gpus 1 --direction h2d --reps 6";
    let small = format!("{ping} --size 1MiB --huge-pages off");
    let place =
        "numabench place --measure --backend host --ranks 2 --memory pageable --size 8MiB --max-time 5s";
    let script = format!(
        "run some {small} --membind interleave:1,3 --json -\n\
         run all {small} --membind interleave --json -\n\
         run table {small} --membind interleave:1,3\n\
         run plan {small} --membind interleave:1,3 --dry-run\n\
         run huge {ping} --size 12MiB --membind interleave:0,2-3 --json -\n\
         run too-small {ping} --size 1MiB --membind interleave:0,2\n\
         run one-node {small} --membind interleave:2\n\
         run beyond {small} --membind interleave:1,9\n\
         run weighted {small} --membind weighted:0-1 --json -\n\
         run place {place} --membind interleave:0,1 --json -\n\
         run unmeasured numabench place --membind interleave:0,1\n"
    );
    let Some(mut all) = guest("lumig", &script)? else { return Ok(()) };

    let pages = |document: &Value| -> Vec<Value> {
        let results = results(document).flat_map(|result| [&result["seen_before"], &result["seen_after"]]);
        results.map(|seen| seen["host_pages"]["value"].clone()).collect()
    };
    let some = proof::document(&take(&mut all, "some")?)?;
    let halves = json!([{"node": 1, "pages": 128}, {"node": 3, "pages": 128}]);
    assert!(
        !pages(&some).is_empty() && pages(&some).iter().all(|seen| *seen == halves),
        "{:?}",
        pages(&some)
    );
    assert_eq!(some["settings"]["membind"], json!({"kind": "interleave", "nodes": [1, 3]}));
    let asked = &some["ranks"][0]["asked"];
    assert_eq!(asked["memory_node"], Value::Null);
    assert_eq!(asked["memory_spread"], json!([{"node": 1, "pages": 1}, {"node": 3, "pages": 1}]));

    let over_all = proof::document(&take(&mut all, "all")?)?;
    let quarters = json!([0, 1, 2, 3].map(|node| json!({"node": node, "pages": 64})));
    assert!(pages(&over_all).iter().all(|seen| *seen == quarters), "{:?}", pages(&over_all));

    // Six huge pages over three nodes, or base pages where the guest has no huge ones: the same share.
    let huge = proof::document(&take(&mut all, "huge")?)?;
    let thirds = json!([0, 2, 3].map(|node| json!({"node": node, "pages": 1024})));
    assert!(pages(&huge).iter().all(|seen| *seen == thirds), "{:?}", pages(&huge));

    let table = take(&mut all, "table")?.well().out;
    let seen = "asked PU 2, nodes 1,3; seen PU 2, pages on nodes 1,3 (128 and 128)";
    let one_line = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(seen), "{table}");
    assert!(table.contains("interleaved over nodes 1,3") && !table.contains("NOT "), "{table}");
    let plan = take(&mut all, "plan")?.well().out;
    assert!(plan.contains("memory on node 1,3 (interleaved)"), "{plan}");

    take(&mut all, "too-small")?.refused(2, &["1 MiB", "nodes 0,2", "4 MiB", "--huge-pages off"]);
    take(&mut all, "one-node")?.refused(2, &["node", "2", "several"]);
    take(&mut all, "beyond")?.refused(2, &["9", "0-3"]);
    let weighted = take(&mut all, "weighted")?;
    if weighted.code == Some(0) {
        // Never set, the kernel's weights are one page each.
        let halves = json!([{"node": 0, "pages": 128}, {"node": 1, "pages": 128}]);
        assert!(pages(&proof::document(&weighted)?).iter().all(|seen| *seen == halves));
    } else {
        weighted.refused(2, &["Linux 6.9"]);
    }

    let place = take(&mut all, "place")?;
    let place: Value = serde_json::from_str(&place.out)?;
    assert_eq!(place["measured"]["membind"], json!({"kind": "interleave", "nodes": [0, 1]}));
    let candidates = list(&place, "/candidates");
    // An emulator that runs one CPU at a time may have run one rank after the other; no turn saw its pages
    // elsewhere.
    let is_no_page = |trouble: &Value| {
        trouble.as_str().is_none_or(|trouble| trouble.contains("all ranks were at work in only"))
    };
    assert!(candidates.iter().all(|one| is_no_page(&one["trouble"])), "{place}");
    assert!(candidates.iter().any(|one| !list(one, "/turns").is_empty()), "{place}");
    let notes = format!("{}", place["notes"]);
    assert!(notes.contains("numabench exec --membind interleave:0-1"), "{notes}");
    take(&mut all, "unmeasured")?.refused(2, &["--membind", "--measure"]);
    Ok(())
}

#[test]
fn in_a_guest_offline_pus_and_cpusets_are_refused_and_a_change_under_way_is_found_out() -> Done {
    let ping = "numabench pingpong --backend host --size 1MiB --direction h2d --reps 6";
    let script = format!(
        "echo 0 >/sys/devices/system/cpu/cpu3/online\n\
         run offline {ping} --cpus 3\n\
         run beside-offline {ping} --cpus 2 --gpus 1 --json -\n\
         mkdir $job; echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control\n\
         echo 4-5 >$job/cpuset.cpus; echo 2 >$job/cpuset.mems\n\
         run pu-outside in_job {ping} --cpus 1\n\
         run node-outside in_job {ping} --membind 1\n\
         run device-outside in_job {ping} --gpus 0\n\
         run inside in_job {ping} --json -\n\
         run topo in_job numabench topo --json\n\
         disturbed pages-moved cpuset.mems 3\n\
         echo 2 >$job/cpuset.mems\n\
         disturbed thread-moved cpuset.cpus 6-7\n\
         echo 4-5 >$job/cpuset.cpus\n\
         disturbed undisturbed cpuset.cpus 4-5\n"
    );
    let Some(mut all) = guest("lumig", &script)? else { return Ok(()) };

    take(&mut all, "offline")?.refused(2, &["PU 3 is offline", "allowed here: 0-2,4-7"]);
    placed(&proof::document(&take(&mut all, "beside-offline")?)?, &[(2, 1)])?;
    take(&mut all, "pu-outside")?
        .refused(2, &["PU 1 is outside this process's cpuset", "allowed here: 4-5", "choose one of these"]);
    take(&mut all, "node-outside")?
        .refused(2, &["NUMA node 1 is outside this process's cpuset", "allowed are 2"]);
    take(&mut all, "device-outside")?.refused(77, &["no device 0", "node 2"]);
    placed(&proof::document(&take(&mut all, "inside")?)?, &[(4, 2)])?;
    let topo = take(&mut all, "topo")?.well().json()?;
    let allowed = &topo["allowed"];
    assert_eq!((&allowed["pus"], &allowed["nodes"]), (&json!([4, 5]), &json!([2])));
    assert_eq!(
        (&allowed["offline_pus"], &allowed["not_in_cgroup_pus"]),
        (&json!([3]), &json!([0, 1, 2, 6, 7]))
    );

    for (name, found) in [
        ("pages-moved", ["node 2, found", "on node 3"]),
        ("thread-moved", ["asked for PU 4, ran on PU", "affinity 6-7"]),
    ] {
        let ended = take(&mut all, name)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(5), "{name}: {}", document["status_reason"]);
        assert!(placed(&document, &[(4, 2)]).is_err(), "{name}");
        for result in results(&document) {
            assert_eq!(
                text(result, "/outcome/status"),
                "invalid",
                "{name}: no number survives a placement that was not kept"
            );
            for words in found {
                assert!(text(result, "/outcome/reason").contains(words), "{words}: {}", result["outcome"]);
            }
        }
    }
    let undisturbed = take(&mut all, "undisturbed")?;
    assert_eq!(undisturbed.code, Some(0), "the same run with nothing changed: {}", undisturbed.err);
    placed(&proof::document(&undisturbed)?, &[(4, 2)])?;
    Ok(())
}

#[test]
fn in_a_guest_a_node_without_memory_and_one_without_pus_are_named_as_what_they_are() -> Done {
    let ping = "numabench pingpong --backend host --size 1MiB --direction h2d --reps 6 --order alone";
    let script = format!(
        "run no-memory {ping} --membind 3\n\
         run no-node {ping} --membind 9\n\
         run no-device {ping} --gpus 3\n\
         run far {ping} --cpus 6 --gpus 4 --membind 4 --json -\n\
         run nearest {ping} --cpus 6 --gpus 4 --json -\n\
         run too-much numabench pingpong --backend host --gpus 4 --membind 4 --size 400MiB\n\
         run topo numabench topo --json\n"
    );
    let Some(mut all) = guest("odd", &script)? else { return Ok(()) };

    take(&mut all, "no-memory")?
        .refused(2, &["NUMA node 3 has no memory", "only CPUs", "nodes with memory are 0-2,4"]);
    take(&mut all, "no-node")?.refused(2, &["NUMA node 9 does not exist", "nodes with memory are 0-2,4"]);
    take(&mut all, "no-device")?.refused(77, &["no device 3", "node 4"]);
    placed(&proof::document(&take(&mut all, "far")?)?, &[(6, 4)])?;
    let nearest = proof::document(&take(&mut all, "nearest")?)?;
    placed(&nearest, &[(6, 0)])?;
    let told = list(&nearest, "/messages").iter().any(|message| text(message, "/text").starts_with("PU 6"));
    assert!(told, "{}", nearest["messages"]);
    take(&mut all, "too-much")?.refused(2, &["NUMA node 4 has", "smaller --size"]);
    let topo = take(&mut all, "topo")?.well().json()?;
    let kinds: Vec<&str> = list(&topo, "/nodes").iter().map(|node| text(node, "/kind")).collect();
    assert_eq!(kinds, ["normal", "normal", "normal", "cpu-only", "memory-only"]);
    Ok(())
}

/// Two GPUs at node 3 whose copies from that node share less than each gets from elsewhere: as on Leonardo,
/// where ranks spread over both nodes had 9.0 GB/s each and near ones 7.4.
const FASTER_FROM_AFAR: &str = "says a machine on which memory beside the GPUs is the slower one; repeats skip; \
    node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; link near 14.8GB/s; \
    device 0000:c1:00.0; host-node 3; h2d 9GB/s 1us; d2h 9GB/s 1us; over near 1 local; \
    device 0000:c2:00.0; host-node 3; h2d 9GB/s 1us; d2h 9GB/s 1us; over near 1 local";

#[test]
fn in_a_guest_where_the_far_placement_is_the_faster_one_it_is_found_and_recommended() -> Done {
    let library = format!(
        "{}:/opt/libamdhip64.so.7",
        driver::stand_in(Driver::Hip)?.join("libamdhip64.so.7").display()
    );
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_PUS=seen FAKE_DEVICES='{FASTER_FROM_AFAR}'\n\
         run place env LD_PRELOAD=/opt/libamdhip64.so.7 \
            numabench place --measure --backend hip --size 4MiB --max-time 250s --json -\n"
    );
    let Some(mut all) = guest_with("lumig", &[&library], &script)? else { return Ok(()) };
    let ended = take(&mut all, "place")?;
    let document = ended.json()?;
    proof::follows(&document, "place-v1.json")?;
    assert!(text(&document, "/measured/platform/simulated").contains("slower"), "{}", document["measured"]);
    // Both ways away from the GPUs' node are as fast as each other, so the topology's word decides between
    // them.
    assert_eq!(
        (ended.code, text(&document, "/measured/finding")),
        (Some(0), "no-measurable-difference"),
        "{document:#}"
    );
    let names: Vec<&str> = list(&document, "/candidates").iter().map(|way| text(way, "/name")).collect();
    assert_eq!(names[0], "spread", "{document:#}");
    // Time is the simulated machine's, so what the links allow is what each turn has, but for a copy's
    // latency.
    for (way, rate, verdict) in [
        ("close", 7.4, "lower"),
        ("compact", 9.0, "no-measurable-difference"),
        ("spread", 9.0, "no-measurable-difference"),
    ] {
        let way =
            list(&document, "/candidates").iter().find(|found| text(found, "/name") == way).ok_or(way)?;
        for turn in list(way, "/turns") {
            for rank in ["h2d", "d2h"].iter().flat_map(|way| list(turn, &format!("/{way}_bytes_per_s"))) {
                let found = rank.as_f64().ok_or("no rate")? / 1e9;
                assert!((found / rate - 1.0).abs() < 0.03, "{found} GB/s, not {rate}: {way:#}");
            }
        }
        // Which of the two leads is chance.
        if text(&document, "/measured/leader") != text(way, "/name") {
            assert_eq!(text(way, "/against_leader/verdict"), verdict, "{way:#}");
            let ratio = way["against_leader"]["ratio"].as_f64().ok_or("no ratio")?;
            assert!((ratio / (rate / 9.0) - 1.0).abs() < 0.01, "{ratio}: {way:#}");
        }
    }
    let close =
        list(&document, "/candidates").iter().find(|way| text(way, "/name") == "close").ok_or("no close")?;
    let pus: Vec<&Value> = list(close, "/places").iter().map(|place| &place["first_pu"]).collect();
    assert_eq!(json!(pus), json!([6, 7]), "near the GPUs, as the platform says");
    Ok(())
}

#[test]
fn in_a_guest_the_memory_of_a_gpu_is_found_on_the_node_where_the_driver_put_it() -> Done {
    let library =
        format!("{}:/opt/libcuda.so.1", driver::stand_in(Driver::Cuda)?.join("libcuda.so.1").display());
    // The stand-in's device memory is touched first by the rank that allocates it: it lies on that rank's
    // node.
    let run = |name: &str, pu: u32| {
        format!(
            "run {name} numabench pingpong --backend cuda --cpus {pu} --gpus 0 --size 4MiB --reps 6 \
             --direction h2d --json -\n"
        )
    };
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_DEVICES='device 0000:05:00.0; name NVIDIA GH200 120GB; memory-node \
         3'\n{}{}",
        run("own", 6),
        run("away", 0)
    );
    let Some(mut all) = guest_with("lumig", &[&library], &script)? else { return Ok(()) };
    for (name, node) in [("own", 3), ("away", 0)] {
        let document = proof::document(&take(&mut all, name)?)?;
        assert_eq!(document["devices"][0]["memory_node"]["value"], 3);
        for moment in ["seen_before", "seen_after"] {
            let pages = &document["cases"][0]["ranks"][0][moment]["device_pages"];
            let nodes: Vec<&Value> = list(pages, "/value").iter().map(|pages| &pages["node"]).collect();
            assert_eq!(json!(nodes), json!([node]), "{name}: {pages}");
        }
    }
    Ok(())
}
