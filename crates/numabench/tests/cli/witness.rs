//! `numabench witness`: a planted program that copies known bytes through a stand-in driver, reached in each
//! way; the counts are exact, and the program's output and exit are its own. In a guest of four NUMA nodes
//! memory on another node is far, to the byte. The documents are read again by the commands that read others.
//!
//! Some 410 lines because each way to a copy is a program of its own.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::c_program::{compiled, in_guest};
use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::proof;
use crate::run::{Done, Ended, end, no_driver, run, with_driver};

/// Runs the program with the hook, and its document.
fn witnessed(program: &Path, options: &[&str], words: &[&str]) -> Result<(Ended, Value), Box<dyn Error>> {
    witnessed_by(&mut with_driver(&driver::fake()?), program, options, words)
}

/// The same by the binary in this environment.
pub fn witnessed_by(
    command: &mut Command,
    program: &Path,
    options: &[&str],
    words: &[&str],
) -> Result<(Ended, Value), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("w.json");
    command.env("NUMABENCH_WITNESS_HOOK", driver::witness_hook()?);
    command.args(["witness", "--pages", "all", "--json"]).arg(&file).args(options).arg("--").arg(program);
    let ended = end(command, words);
    let document = serde_json::from_slice(&fs::read(&file).map_err(|_| ended.err.clone())?)?;
    proof::follows(&document, "witness-v1.json")?;
    Ok((ended, document))
}

/// Copies, bytes, direction and kind of memory of each buffer, in the order of these words.
pub fn buffers(document: &Value) -> Vec<(u64, u64, String)> {
    let of = |buffer: &Value| {
        let text = |name: &str| buffer[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| buffer[name].as_u64().unwrap_or(0);
        (number("copies"), number("bytes"), format!("{} {}", text("direction"), text("memory")))
    };
    let mut all: Vec<_> = document["buffers"].as_array().into_iter().flatten().map(of).collect();
    all.sort();
    all
}

/// What is expected of them.
pub fn expected(all: &[(u64, u64, &str)]) -> Vec<(u64, u64, String)> {
    let mut all: Vec<_> =
        all.iter().map(|(copies, bytes, what)| (*copies, *bytes, (*what).to_owned())).collect();
    all.sort();
    all
}

const PINNED: &[(u64, u64, &str)] = &[(10, 655_360, "h2d pinned"), (3, 24_576, "d2h pinned")];
const PAGEABLE: &[(u64, u64, &str)] = &[(5, 5 << 20, "h2d pageable"), (1, 4097, "d2h pageable")];

#[test]
fn however_the_driver_is_reached_each_copy_is_counted_and_the_programs_output_and_code_are_its_own() -> Done {
    let folder = tempfile::tempdir()?;
    for (way, linked) in [("linked", true), ("dlsym", false), ("asked", false)] {
        let Some(program) = compiled("copies", folder.path(), linked)? else { return Ok(()) };
        let (ended, document) = witnessed(&program, &[], &[way, "pinned", "pageable"])?;
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(42), "the program's own words\n"),
            "{}",
            ended.err
        );
        assert!(ended.err.starts_with("and its own errors\n"), "{}", ended.err);
        assert_eq!(buffers(&document), expected(&[PINNED, PAGEABLE].concat()), "{way}: {document:#}");
        assert_eq!(document["exit_code"], 42);
        assert_eq!(document["simulated"], true);
        assert!(ended.err.contains("SIMULATED"), "{}", ended.err);
        let total = &document["total"];
        assert_eq!(total["looked_at_bytes"], total["bytes"], "{document:#}");
        assert_eq!(total["pageable_bytes"], (5 << 20) + 4097);
    }
    Ok(())
}

#[test]
fn copies_of_threads_of_a_forks_child_of_planes_and_between_unified_addresses_are_counted() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };

    let (_, threads) = witnessed(&program, &[], &["dlsym", "threads"])?;
    let sums = |document: &Value| (document["total"]["copies"].clone(), document["total"]["bytes"].clone());
    assert_eq!(sums(&threads), (json!(400), json!(400 * 4096)));

    let (_, fork) = witnessed(&program, &[], &["dlsym", "fork"])?;
    assert_eq!(buffers(&fork), expected(&[(1, 1000, "h2d pinned"), (7, 7 * 4096, "h2d pinned")]));
    assert_eq!(fork["processes"].as_array().map(Vec::len), Some(2), "{fork:#}");

    let (_, plane) = witnessed(&program, &[], &["dlsym", "plane"])?;
    assert_eq!(buffers(&plane), expected(&[(1, 500, "h2d pinned")]));
    assert_eq!(plane["total"]["looked_at_bytes"], 500);
    assert_eq!(
        plane["buffers"][0]["extent_bytes"],
        4 * 256 + 100,
        "from the first row to the last one's end"
    );

    let (_, unified) = witnessed(&program, &[], &["dlsym", "unified"])?;
    assert_eq!(buffers(&unified), expected(&[(1, 50_000, "h2d pageable"), (1, 30_000, "d2h pageable")]));
    assert_eq!(unified["processes"][0]["device_bytes"], 20_000);
    Ok(())
}

#[test]
fn copies_of_a_graph_are_counted_at_each_launch_and_launches_of_a_changed_one_are_said_to_be_missing() -> Done
{
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let (ended, graph) = witnessed(&program, &[], &["dlsym", "graph"])?;
    assert_eq!(buffers(&graph), expected(&[(3, 3000, "h2d pinned"), (3, 1500, "d2h pinned")]), "{graph:#}");
    let of = &graph["processes"][0];
    assert_eq!((&of["graphs"], &of["graphs_not_seen"]), (&json!(3), &json!(1)));
    assert!(
        ended.err.contains("Not counted: launches of graphs whose copies are not known (1)"),
        "{}",
        ended.err
    );
    Ok(())
}

#[test]
fn a_rank_of_a_launch_writes_its_own_document_and_only_the_first_one_speaks() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    for rank in ["0", "3"] {
        let mut command = with_driver(&driver::fake()?);
        command.env("NUMABENCH_WITNESS_HOOK", driver::witness_hook()?);
        for (name, value) in [("RANK", rank), ("SIZE", "4"), ("LOCAL_RANK", rank), ("LOCAL_SIZE", "4")] {
            command.env(format!("OMPI_COMM_WORLD_{name}"), value);
        }
        command.args(["witness", "--json"]).arg(folder.path().join("w.json")).arg("--").arg(&program);
        let ended = end(&mut command, ["dlsym", "pinned"]);
        assert_eq!(ended.code, Some(42), "{}", ended.err);
        let document: Value =
            serde_json::from_slice(&fs::read(folder.path().join(format!("w.rank{rank}.json")))?)?;
        assert_eq!(document["rank"], rank.parse::<u32>()?);
        assert_eq!(document["total"]["bytes"], 679_936);
        assert_eq!(ended.err.contains("SIMULATED"), rank == "0", "{}", ended.err);
    }
    Ok(())
}

#[test]
fn a_refused_copy_is_no_copy_a_crash_keeps_what_was_counted_and_queued_copies_are_timed_by_events() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };

    let (ended, refused) = witnessed(&program, &[], &["dlsym", "refused"])?;
    assert_eq!((ended.code, &refused["processes"][0]["refused"]), (Some(42), &json!(1)), "{refused:#}");
    assert_eq!(refused["total"]["copies"], 0);

    let (ended, crash) = witnessed(&program, &[], &["dlsym", "pinned", "crash"])?;
    assert_eq!((ended.code, &crash["signal"]), (Some(128 + 11), &json!(11)));
    assert_eq!((&crash["total"]["copies"], &crash["processes"][0]["ended"]), (&json!(14), &json!(false)));
    assert!(ended.err.contains("without running exit handlers"), "{}", ended.err);

    let (ended, queued) = witnessed(&program, &["--time", "all"], &["dlsym", "queued"])?;
    assert_eq!((ended.code, &queued["total"]["bytes"]), (Some(42), &json!(20 << 20)));
    assert_eq!(queued["buffers"][0]["timed"], 20, "{queued:#}");
    assert_eq!(queued["rates"][0]["timed_bytes"], 20 << 20);
    assert!(queued["rates"][0]["bytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0));
    Ok(())
}

#[test]
fn without_a_copy_the_code_is_still_the_programs_and_a_program_that_is_not_there_is_127() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let (ended, none) = witnessed(&program, &[], &["dlsym", "none"])?;
    assert_eq!(ended.code, Some(42));
    let said = none["verdict"][0].as_str().unwrap_or_default();
    assert!(said.starts_with("No copy between host memory and a GPU was seen, in 1 process;"), "{said}");
    assert_eq!(none["loaded"], 1);

    let hooked = |words: &[&str]| {
        let mut command = with_driver(&no_driver());
        command.env("NUMABENCH_WITNESS_HOOK", driver::witness_hook()?).arg("witness");
        Ok::<_, Box<dyn Error>>(end(&mut command, words))
    };
    assert_eq!(hooked(&["--", "true"])?.code, Some(0));
    hooked(&["--", "no-such-program"])?.refused(127, &["cannot start no-such-program"]);
    hooked(&["--", "/"])?.refused(126, &["cannot start /"]);
    hooked(&["--json", "-", "--", "true"])?.refused(2, &["standard output is the program's"]);
    hooked(&["--matrix", "nowhere.json", "--", "true"])?.refused(2, &["nowhere.json"]);
    run(&["witness"]).refused(2, &["<PROGRAM>"]);
    let mut missing = with_driver(&no_driver());
    missing.env("NUMABENCH_WITNESS_HOOK", "/nowhere.so");
    end(&mut missing, ["witness", "true"]).refused(2, &["/nowhere.so", "NUMABENCH_WITNESS_HOOK"]);
    Ok(())
}

/// A script that starts the program with this work in the background and ends when the program is at `meet`, and
/// what witness makes of it; then the program goes on, and what it said on standard error.
fn outlived(program: &Path, work: &str) -> Result<(Value, String), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (met, err) = (at("met"), at("err"));
    let work = work.replace("meet", &format!("meet={met}"));
    let script = format!(
        "'{}' dlsym {work} >/dev/null 2>'{err}' & until test -e '{met}'; do sleep 0.01; done",
        program.display()
    );
    let (ended, document) = witnessed(Path::new("sh"), &[], &["-c", &script])?;
    assert_eq!(ended.code, Some(0), "{}", ended.err);

    fs::write(at("met.go"), "")?;
    let has_ended = |said: &String| said.ends_with("and its own errors\n");
    let said = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        fs::read_to_string(&err).ok().filter(has_ended)
    });
    Ok((document, said.ok_or("the program does not end")?))
}

#[test]
fn a_process_that_outlives_the_program_makes_the_count_a_partial_one_and_is_not_said_to_have_ended() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let partial = "PARTIAL: 1 process still ran when the program had ended";

    let (before, _) = outlived(&program, "pinned meet pageable")?;
    assert_eq!(buffers(&before), expected(PINNED), "{before:#}");
    assert!(before["verdict"][0].as_str().is_some_and(|said| said.starts_with(partial)), "{before:#}");
    assert_eq!(before["still_running"], json!([before["processes"][0]["pid"]]));
    assert!(!before["not_seen"].to_string().contains("exit handlers"), "{before:#}");

    let (later, said) = outlived(&program, "meet pinned")?;
    assert_eq!(later["total"]["copies"], 0);
    assert!(later["verdict"][0].as_str().is_some_and(|said| said.starts_with(partial)), "{later:#}");
    assert_eq!(
        said,
        "numabench: no copies are counted: the program that witness ran has ended\nand its own errors\n"
    );
    Ok(())
}

#[test]
fn a_record_that_cannot_be_written_leaves_the_program_alone_and_is_said() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let mut command = with_driver(&driver::fake()?);
    command.env("NUMABENCH_WITNESS_HOOK", driver::witness_hook()?).arg("witness");
    // The program may write no file of the size of a record, as where a disk has no room for one.
    let script = format!("ulimit -f 100; exec '{}' dlsym pinned", program.display());
    let ended = end(&mut command, ["--", "sh", "-c", &script]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(42), "the program's own words\n"), "{}", ended.err);
    for words in ["nothing was counted", "its record could not be written (File too large"] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    Ok(())
}

/// The same GPU with rates: copies of memory on other nodes than its own pass a link of half its rate.
const SLOW_FROM_AFAR: &str = "node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; link slow 10GB/s; \
    device 0000:c1:00.0; host-node 3; h2d 20GB/s 1us; d2h 20GB/s 1us; over slow 1 remote";

#[test]
fn in_a_guest_memory_bound_to_another_node_is_far_to_the_byte_and_memory_on_the_gpus_node_is_near() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let programs = in_guest(Driver::Cuda, &program)?;
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_DEVICES='device 0000:c1:00.0; name NVIDIA H200'\n\
        witness='numabench witness --pages all'\n\
        $witness --json /tmp/w.json -- copies dlsym far=2 far=3 far=2 >/tmp/out 2>/tmp/err\n\
        report far $? /tmp/w.json\n\
        $witness --json /tmp/near.json -- copies dlsym far=3 far=3 far=3 >/tmp/out 2>/tmp/err\n\
        run worse numabench compare /tmp/near.json /tmp/w.json\n\
        run answer $witness -- copies dlsym far=2 far=3\n\
        FAKE_PUS=seen FAKE_DEVICES='{SLOW_FROM_AFAR}' LD_PRELOAD=/opt/libcuda.so.1 \
            numabench matrix --direction h2d --size 300000 --json /tmp/m.json >/tmp/out 2>/tmp/err\n\
        report matrix $? /tmp/out\n\
        $witness --matrix /tmp/m.json --json /tmp/g.json -- copies dlsym far=2 far=3 \
            >/tmp/out 2>/tmp/err\n\
        report gain $? /tmp/g.json\n"
    );
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let Some(mut all) = guest_with("lumig", &programs, &script)? else { return Ok(()) };
    let worse = take(&mut all, "worse")?;
    assert_eq!(worse.code, Some(5), "{}{}", worse.out, worse.err);
    assert!(worse.out.starts_with("REGRESSED: 2 of "), "{}", worse.out);
    assert!(worse.out.contains("bytes from far memory: 0 in the base, 4200000 in the new"), "{}", worse.out);
    let ended = take(&mut all, "far")?;
    let document = ended.json()?;
    proof::follows(&document, "witness-v1.json")?;
    let total = &document["total"];
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    assert_eq!(total["bytes"], 3 * 7 * 300_000, "{document:#}");
    assert_eq!(total["far_bytes"], 2 * 7 * 300_000, "{document:#}");
    assert_eq!(total["near_bytes"], 7 * 300_000, "{document:#}");
    assert_eq!(total["looked_at_bytes"], total["bytes"]);
    assert_eq!(document["buffers"][0]["nodes"][0]["node"], 2);
    assert_eq!(document["remedy"], "numabench exec --gpus 0 -- copies dlsym 'far=2' 'far=3' 'far=2'");
    // 2.1 MB at 10 GB/s where 20 are to be had: 105 us, all of it waited for.
    let matrix = take(&mut all, "matrix")?;
    assert_eq!(matrix.code, Some(0), "{}{}", matrix.out, matrix.err);
    let gain = take(&mut all, "gain")?;
    let document = gain.json()?;
    let ends = ["copies_low_s", "copies_high_s", "program_low_s", "program_high_s"]
        .map(|end| document["gain"][end].as_f64().unwrap_or(0.0) * 1e6);
    assert!(ends.iter().all(|us| (100.0..110.0).contains(us)), "{ends:?} {}", document["gain"]);
    assert!(gain.err.contains("the program gains at least 1"), "{}", gain.err);
    let answer = take(&mut all, "answer")?;
    assert!(answer.err.contains("50.0 % of the 4.2 MB copied"), "{}", answer.err);
    assert!(answer.err.contains("measure them with `numabench matrix"), "{}", answer.err);
    Ok(())
}

/// What a run of the program left: its words on standard error without the program's own, and the document.
fn kept(program: &Path, file: &Path, words: &[&str], rank: Option<u32>) -> Result<String, Box<dyn Error>> {
    let mut command = with_driver(&driver::fake()?);
    command.env("NUMABENCH_WITNESS_HOOK", driver::witness_hook()?);
    let rank = rank.map(|rank| rank.to_string());
    for (name, value) in [("RANK", &rank), ("LOCAL_RANK", &rank), ("SIZE", &rank), ("LOCAL_SIZE", &rank)] {
        let Some(value) = value else { continue };
        let value = if name.ends_with("SIZE") { "2" } else { value };
        command.env(format!("OMPI_COMM_WORLD_{name}"), value);
    }
    command.args(["witness", "--pages", "all", "--full", "--json"]).arg(file).arg("--").arg(program);
    let ended = end(&mut command, words);
    let said = ended.err.strip_prefix("and its own errors\n").ok_or_else(|| ended.err.clone())?;
    Ok(said.split("\ndocument: ").next().unwrap_or_default().to_owned())
}

#[test]
fn a_document_is_shown_again_as_witness_said_it_and_compared_by_its_bytes() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (one, other, pageable) = (at("one.json"), at("other.json"), at("pageable.json"));
    let said = kept(&program, Path::new(&one), &["dlsym", "pinned"], None)?;
    kept(&program, Path::new(&other), &["dlsym", "pinned"], None)?;
    kept(&program, Path::new(&pageable), &["dlsym", "pageable"], None)?;

    let shown = run(&["report", &one]).well();
    assert_eq!(shown.out, said);
    let page = folder.path().join("page.html");
    run(&["report", &one, &pageable, "-o", &page.display().to_string()]).well();
    assert!(fs::read_to_string(&page)?.contains("Bytes between each NUMA node and GPU"));

    // Equal bytes; the times of one run against one decide nothing.
    let same = run(&["compare", &one, &other]);
    assert_eq!(same.code, Some(6), "{}{}", same.out, same.err);
    assert!(!same.out.contains("REGRESSED") && !same.out.contains("differs   bytes"), "{}", same.out);
    assert!(run(&["compare", &one, &one]).well().out.starts_with("SAME: "));
    let worse = run(&["compare", &one, &pageable]);
    assert_eq!(worse.code, Some(5), "{}{}", worse.out, worse.err);
    let words = "bytes of pageable memory: 0 in the base, 5246977 in the new";
    assert!(worse.out.contains(words) && worse.out.contains("+100.0 points"), "{}", worse.out);
    assert!(run(&["history", &one, &other]).well().out.starts_with("Nothing was searched in 2 runs"));
    Ok(())
}

#[test]
fn the_documents_of_a_launchs_ranks_are_one_run_and_documents_of_other_kinds_are_refused_beside_them() -> Done
{
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("copies", folder.path(), false)? else { return Ok(()) };
    for rank in [0, 1] {
        let said = kept(&program, &folder.path().join("w.json"), &["dlsym", "pinned"], Some(rank));
        if rank == 0 {
            let said = said?;
            assert!(said.starts_with("Rank 0 of 2 processes alone (`numabench report "), "{said}");
        }
    }
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (first, second) = (at("w.rank0.json"), at("w.rank1.json"));
    let both = run(&["report", &second, &first]).well();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> =
        both.out.lines().map(words).filter(|row| row.contains(&"1.360".to_owned())).collect();
    assert_eq!((rows.len(), &rows[0][0][..]), (1, "all"), "{}", both.out);
    assert_eq!(both.out.matches("0.680").count(), 2, "{}", both.out);

    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery/pingpong.json");
    let other = other.display().to_string();
    run(&["compare", &first, &other]).refused(2, &["of kinds result and witness"]);
    for args in [["history", &first, &other], ["report", &first, &other]] {
        run(&args).refused(2, &["says what a program copied, and", "give documents of one kind"]);
    }

    // In a folder a document of another kind is none that was asked for.
    let both_kinds = tempfile::tempdir()?;
    let within = |name: &str| both_kinds.path().join(name);
    fs::copy(&first, within("copies.json"))?;
    fs::copy(&other, within("pingpong.json"))?;
    for command in ["history", "report"] {
        let shown = run(&[command, &both_kinds.path().display().to_string()]);
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        assert!(shown.err.contains("copies.json is left out: it has no figure in common"), "{}", shown.err);
    }
    run(&["report", &first, "--json"]).refused(2, &["--json is of nodes side by side"]);
    run(&["baseline", &first, "-o", &at("baseline.json")]).refused(2, &["document of kind witness"]);
    run(&["compare", &first, &first, "--by", "gpu"]).refused(2, &["leave --by gpu out"]);
    Ok(())
}
