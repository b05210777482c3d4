//! `numabench witness` of a planted program by HIP: reached in each way, by kinds of copies and of memory,
//! as ROCm 5 and 6 have them; what the program finds is as without the library. In a guest of four NUMA
//! nodes near and far are exact.

use std::error::Error;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::c_program::{compiled_for, in_guest};
use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::proof;
use crate::run::{Done, Ended, with_driver};
use crate::witness::{buffers, expected, witnessed_by};

const NAME: &str = "hip_copies";

fn with_hip() -> Result<Command, Box<dyn Error>> {
    Ok(with_driver(&driver::stand_in(Driver::Hip)?))
}

fn witnessed(program: &Path, options: &[&str], words: &[&str]) -> Result<(Ended, Value), Box<dyn Error>> {
    witnessed_by(&mut with_hip()?, program, options, words)
}

const PINNED: &[(u64, u64, &str)] = &[(10, 655_360, "h2d pinned"), (3, 24_576, "d2h pinned")];
const PAGEABLE: &[(u64, u64, &str)] = &[(5, 5 << 20, "h2d pageable"), (1, 4097, "d2h pageable")];
const MANAGED: &[(u64, u64, &str)] = &[(2, 10_000, "h2d managed"), (1, 700, "d2h managed")];

#[test]
fn however_hip_is_reached_each_copy_is_counted_and_the_programs_output_and_code_are_its_own() -> Done {
    let folder = tempfile::tempdir()?;
    for (way, linked) in [("linked", true), ("dlsym", false), ("asked", false), ("own", false)] {
        let compiled = compiled_for(Driver::Hip, NAME, folder.path(), linked)?;
        let Some(program) = compiled else { return Ok(()) };
        let (ended, document) = witnessed(&program, &[], &[way, "pinned", "pageable", "managed"])?;
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(42), "the program's own words\n"),
            "{way}: {}",
            ended.err
        );
        assert!(ended.err.starts_with("and its own errors\n"), "{}", ended.err);
        let all = [PINNED, PAGEABLE, MANAGED].concat();
        assert_eq!(buffers(&document), expected(&all), "{way}: {document:#}");
        let of_hip = |buffer: &Value| buffer["platform"] == "hip" && buffer["gpu"] == "0000:c1:00.0";
        assert!(document["buffers"].as_array().is_some_and(|all| all.iter().all(of_hip)), "{document:#}");
        let total = &document["total"];
        assert_eq!(total["looked_at_bytes"], total["bytes"], "{document:#}");
        assert!(document["waited_s"].is_number(), "these copies block: {document:#}");
    }
    Ok(())
}

#[test]
fn as_rocm_5_answers_kinds_of_memory_are_the_same_and_no_error_is_left_behind() -> Done {
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };
    // The program ends with 8 where a copy that succeeded leaves a last error.
    let words = ["dlsym", "pageable", "pinned", "managed", "default", "refused"];
    let mut command = with_hip()?;
    let (ended, document) = witnessed_by(command.env("FAKE_ROCM", "5"), &program, &[], &words)?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    let by_addresses: &[_] = &[(1, 50_000, "h2d pageable"), (1, 30_000, "d2h pageable")];
    let all = [PINNED, PAGEABLE, MANAGED, by_addresses].concat();
    assert_eq!(buffers(&document), expected(&all), "{document:#}");
    let of = &document["processes"][0];
    let counts = ["device_copies", "device_bytes", "host_copies", "host_bytes", "refused"];
    assert_eq!(counts.map(|count| of[count].as_u64()), [1, 20_000, 1, 4000, 1].map(Some), "{document:#}");
    Ok(())
}

#[test]
fn an_error_that_the_program_has_not_asked_for_is_still_there_after_its_copies() -> Done {
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };
    let (ended, document) = witnessed(&program, &[], &["dlsym", "pending"])?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    assert_eq!(buffers(&document), expected(&[(1, 1 << 16, "h2d pageable")]), "{document:#}");
    Ok(())
}

#[test]
fn rows_boxes_symbols_and_streams_of_either_device_are_counted_and_queued_copies_are_timed_by_events() -> Done
{
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };

    let (_, boxes) = witnessed(&program, &[], &["dlsym", "boxes"])?;
    let rows = [(2, 1000, "h2d pinned"), (1, 240, "d2h pinned")];
    assert_eq!(buffers(&boxes), expected(&rows), "{boxes:#}");
    assert_eq!(boxes["total"]["looked_at_bytes"], 1240);
    let extents = boxes["buffers"].as_array().into_iter().flatten().map(|buffer| &buffer["extent_bytes"]);
    // To the last of five rows from row 2, byte 8 on; of two slices, eight rows of 64 bytes apart.
    let ends = [json!(6 * 256 + 108), json!(8 * 64 + 2 * 64 + 40)];
    assert!(extents.clone().all(|extent| ends.contains(extent)), "{boxes:#}");

    let (_, symbol) = witnessed(&program, &[], &["dlsym", "symbol"])?;
    assert_eq!(buffers(&symbol), expected(&[(1, 64, "h2d pinned")]), "{symbol:#}");

    let (ended, streams) = witnessed(&program, &["--time", "all"], &["dlsym", "streams"])?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    let both = [(20, 20 << 20, "h2d pinned"), (3, 3 << 19, "d2h pinned")];
    assert_eq!(buffers(&streams), expected(&both), "{streams:#}");
    for buffer in streams["buffers"].as_array().into_iter().flatten() {
        let waits = buffer["direction"] == "d2h";
        assert_eq!(buffer["timed"], buffer["copies"], "{streams:#}");
        assert_eq!(buffer["blocking_bytes"], if waits { 3 << 19 } else { 0 }, "{streams:#}");
    }

    let (_, second) = witnessed(&program, &["--time", "all"], &["dlsym", "device=1"])?;
    let gpus = second["buffers"].as_array().into_iter().flatten().map(|buffer| &buffer["gpu"]);
    assert!(gpus.clone().eq(["0000:05:00.0"]), "{second:#}");
    assert_eq!(buffers(&second), expected(&[(2, 7096, "h2d pinned")]), "{second:#}");
    Ok(())
}

#[test]
fn a_crash_keeps_what_was_counted_and_launches_of_captured_copies_are_said_to_be_missing() -> Done {
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };

    let (ended, crash) = witnessed(&program, &[], &["dlsym", "pinned", "crash"])?;
    assert_eq!((ended.code, &crash["signal"]), (Some(128 + 11), &json!(11)));
    assert_eq!(crash["total"]["copies"], 14, "{crash:#}");

    // The copies before the capture are timed: their events are not queried while their stream is captured,
    // which would end the capture, but afterwards.
    let (ended, graph) = witnessed(&program, &["--time", "all"], &["dlsym", "graph"])?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    assert_eq!(buffers(&graph), expected(&[(20, 20 << 20, "h2d pinned")]), "{graph:#}");
    assert_eq!(graph["buffers"][0]["timed"], 20, "{graph:#}");
    let of = &graph["processes"][0];
    assert_eq!((&of["graphs"], &of["graphs_not_seen"]), (&json!(1), &json!(2)), "one has no copy: {graph:#}");
    let said = "Not counted: launches of graphs whose copies are not known (2)";
    assert!(ended.err.contains(said), "{}", ended.err);
    Ok(())
}

#[test]
fn copies_by_hip_on_top_of_cudas_driver_are_counted_once_as_hips() -> Done {
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };
    let (hip, cuda) = (driver::hip_over_cuda()?, driver::fake()?);
    let mut command = with_driver(&hip);
    command.env("LD_LIBRARY_PATH", format!("{}:{}", hip.display(), cuda.display()));
    let (ended, document) = witnessed_by(&mut command, &program, &[], &["dlsym", "driver"])?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    let total = &document["total"];
    assert_eq!((&total["copies"], &total["bytes"]), (&json!(6), &json!(4 * 9000 + 500 + 60_000)));
    let all = document["buffers"].as_array().ok_or("buffers")?;
    assert!(all.iter().all(|buffer| buffer["platform"] == "hip"), "{document:#}");
    Ok(())
}

#[test]
fn in_a_guest_memory_bound_to_another_node_is_far_from_an_amd_gpu_to_the_byte() -> Done {
    let folder = tempfile::tempdir()?;
    let compiled = compiled_for(Driver::Hip, NAME, folder.path(), false)?;
    let Some(program) = compiled else { return Ok(()) };
    let programs = in_guest(Driver::Hip, &program)?;
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_DEVICES='device 0000:c1:00.0; name AMD Instinct MI250X'\n\
        numabench witness --pages all --json /tmp/w.json -- {NAME} dlsym far=2 far=3 far=2 \
            >/tmp/out 2>/tmp/err\n\
        report far $? /tmp/w.json\n"
    );
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let Some(mut all) = guest_with("lumig", &programs, &script)? else { return Ok(()) };
    let ended = take(&mut all, "far")?;
    let document = ended.json()?;
    proof::follows(&document, "witness-v1.json")?;
    assert_eq!(ended.code, Some(42), "{}", ended.err);
    let total = &document["total"];
    let each = 7 * 300_000 + 100_000;
    assert_eq!(total["bytes"], 3 * each, "{document:#}");
    assert_eq!((&total["far_bytes"], &total["near_bytes"]), (&json!(2 * each), &json!(each)), "{document:#}");
    assert_eq!((&total["looked_at_bytes"], &total["pinned_bytes"]), (&total["bytes"], &total["bytes"]));
    for buffer in document["buffers"].as_array().into_iter().flatten() {
        let node = buffer["nodes"][0]["node"].as_u64();
        let distance = if node == Some(2) { "far" } else { "near" };
        assert!(node == Some(2) || node == Some(3), "{document:#}");
        assert_eq!(
            (&buffer["distance"], &buffer["platform"]),
            (&json!(distance), &json!("hip")),
            "{document:#}"
        );
    }
    assert_eq!(
        document["remedy"],
        format!("numabench exec --gpus 0 -- {NAME} dlsym 'far=2' 'far=3' 'far=2'")
    );
    Ok(())
}
