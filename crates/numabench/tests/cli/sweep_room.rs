//! `numabench sweep` to sizes for which there is no memory: the curve up to what fits, and the rest as rows
//! with the reason.

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::proof::{self, list, number, text};
use crate::run::{Done, Ended, end, run, with_driver};

fn swept(device: &str, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let folder = driver::stand_in(Driver::Cuda)?;
    let told = [
        (
            "FAKE_DEVICES",
            format!("repeats skip; device 0000:05:00.0; {device}; h2d 10GB/s 1us; d2h 8GB/s 1us"),
        ),
        ("LD_PRELOAD", folder.join(Driver::Cuda.library()).display().to_string()),
    ];
    let sweep = ["sweep", "--backend", "cuda", "--size", "1MiB..256MiB", "--reps", "6"];
    Ok(end(with_driver(&folder).args(sweep).envs(told), args))
}

/// The sizes that were measured, and those left out with the reason.
fn sizes(document: &Value) -> (Vec<u64>, Vec<(u64, &str)>) {
    let rows = || list(document, "/rows").iter().filter(|row| text(row, "/direction") == "h2d");
    let size = |row: &Value| number(row, "/bytes") >> 20;
    let measured = rows().filter(|row| text(row, "/status") == "measured").map(size).collect();
    let left_out = rows().filter(|row| text(row, "/status") == "skipped");
    (measured, left_out.map(|row| (size(row), text(row, "/reason"))).collect())
}

#[test]
fn sizes_that_do_not_fit_the_gpu_are_rows_with_the_reason_and_the_others_a_curve() -> Done {
    // What the driver keeps for itself is asked of it: the copy that has all of the GPU does not fit.
    let ended = swept("memory 64MiB taken 1MiB", &["--json", "-"])?;
    let document = proof::document(&ended)?;
    assert_eq!((ended.code, text(&document, "/status")), (Some(3), "partial"), "{}", ended.err);
    let why = "does not fit: 63 MiB free on the GPU";
    assert_eq!(sizes(&document), (vec![1, 2, 4, 8, 16, 32], vec![(64, why), (128, why), (256, why)]));
    assert_eq!(list(&document, "/fits").len(), 2, "{}", document["fits"]);

    let table = swept("memory 64MiB taken 1MiB", &[])?;
    let first: Vec<&str> = table.out.split_whitespace().take(24).collect();
    let said = "PARTIAL: 64 MiB and larger do not fit (63 MiB free on the GPU): 3 of 9 sizes";
    assert!(first.join(" ").starts_with(said), "{}", table.out);
    assert!(table.out.contains("256 MiB  skipped: does not fit"), "{}", table.out);
    Ok(())
}

#[test]
fn what_other_programs_hold_of_the_gpu_is_no_room_for_copies() -> Done {
    let ended = swept("memory 64MiB taken 44MiB", &["--json", "-"])?;
    let document = proof::document(&ended)?;
    let why = "does not fit: 20 MiB free on the GPU";
    let left_out = [32, 64, 128, 256].map(|size| (size, why)).to_vec();
    assert_eq!((ended.code, sizes(&document)), (Some(3), (vec![1, 2, 4, 8, 16], left_out)), "{}", ended.err);
    Ok(())
}

#[test]
fn what_a_context_takes_is_no_room_for_copies_either() -> Done {
    let ended = swept("memory 64MiB", &["--json", "-"])?;
    let document = proof::document(&ended)?;
    let why = "does not fit: less than 64 MiB free on the GPU";
    let left_out = [64, 128, 256].map(|size| (size, why)).to_vec();
    assert_eq!(
        (ended.code, sizes(&document)),
        (Some(3), (vec![1, 2, 4, 8, 16, 32], left_out)),
        "{}",
        ended.err
    );
    Ok(())
}

#[test]
fn an_allocation_that_the_driver_refuses_is_left_out_and_the_next_smaller_one_measured() -> Done {
    let ended = swept("memory 256MiB taken 100MiB; block 20MiB", &["--json", "-"])?;
    let document = proof::document(&ended)?;
    let (measured, left_out) = sizes(&document);
    assert_eq!((ended.code, measured), (Some(3), vec![1, 2, 4, 8, 16]), "{}", ended.err);
    assert_eq!(left_out.iter().map(|(size, _)| *size).collect::<Vec<_>>(), [32, 64, 128, 256]);
    let why = "does not fit: the GPU's driver has no 32 MiB at once";
    assert!(left_out.iter().all(|(_, reason)| *reason == why), "{left_out:?}");
    Ok(())
}

#[test]
fn where_no_size_fits_the_command_is_refused() -> Done {
    swept("memory 1MiB", &["--direction", "bidir"])?.refused(2, &["has 1 MiB", "smaller --size"]);
    run(&["sweep", "--backend", "host", "--size", "100TiB,120TiB"]).refused(2, &["smaller --size"]);
    Ok(())
}

#[test]
fn the_peak_of_copies_both_ways_at_once_is_the_rate_of_the_table_which_counts_both() -> Done {
    let asked = ["--direction", "bidir", "--memory", "pinned", "--json", "-"];
    let document = swept("host-node 0", &asked)?.json()?;
    let peak = document["fits"][0]["bytes_per_s"].as_f64().unwrap_or_default();
    let largest = |row: &Value| row["median_bytes_per_s"].as_f64().unwrap_or_default();
    let table = document["rows"].as_array().into_iter().flatten().map(largest).fold(0.0, f64::max);
    assert!((peak / table - 1.0).abs() < 0.05, "{peak} {table}");
    let said = document["verdict"].to_string();
    assert!(said.contains(&format!("peak {:.1} GB/s", peak / 1e9)), "{said}");
    Ok(())
}
