//! GPUs and drivers that are not there: asked for by name, exit code 77 with what there is; not asked for,
//! host memory with the reason.

use std::error::Error;
use std::path::Path;

use crate::driver;
use crate::proof::{self, list, text};
use crate::run::{Done, Ended, end, no_driver, run, with_driver};

/// `numabench pingpong` on the stand-in driver, told these variables.
fn fake(told: &[(&str, &str)], args: &[&str]) -> Result<Ended, Box<dyn Error>> {
    Ok(end(with_driver(&driver::fake()?).arg("pingpong").envs(told.iter().copied()), args))
}

#[test]
fn a_gpu_that_does_not_exist_is_answered_with_those_that_do() -> Done {
    for asked in ["2", "0,2", "0000:07:00.0", "07:00.0", "GPU-12345678", "MIG-00000000"] {
        let named = asked.trim_start_matches("0,").trim_start_matches("0000:");
        let ended = fake(&[], &["--gpus", asked])?.refused(77, &["no device", named]);
        for present in ["0 = 0000:05:00.0 = MIG-b1b1b1b1-", "1 = 0000:c1:00.0 = GPU-a0a0a0a0-"] {
            assert!(ended.err.contains(present), "{present}: {}", ended.err);
        }
    }
    Ok(())
}

#[test]
fn a_gpu_asked_for_without_a_driver_is_absent_hardware_with_the_way_out() {
    for args in
        [["pingpong", "--gpus", "0"], ["pingpong", "--gpus", "all"], ["pingpong", "--backend", "cuda"]]
    {
        let ended = run(&args).refused(77, &["libcuda.so.1", "NVIDIA driver", "--backend host"]);
        insta::allow_duplicates! { insta::assert_snapshot!(ended.err.split(", but ").next().unwrap_or_default(), @"numabench: error: a GPU was asked for") }
    }
}

/// Without being asked for a GPU the run takes host memory, and both outputs say why; asked for, it ends with
/// 77 and the same.
#[track_caller]
fn falls_back(folder: &Path, told: &[(&str, &str)], why: &[&str]) -> Done {
    let quick = ["--size", "64KiB", "--reps", "6", "--gpus", "0", "--direction", "h2d"];
    let start = || {
        let mut command = with_driver(folder);
        command.arg("pingpong").envs(told.iter().copied());
        command
    };
    let without_gpus = ["--size", "64KiB", "--reps", "6", "--direction", "h2d", "--order", "alone"];
    let document = proof::document(&end(start().args(["--json", "-"]), without_gpus))?;
    assert_eq!((text(&document, "/status"), text(&document, "/platform/kind")), ("complete", "host"));
    let table = end(&mut start(), without_gpus).well();
    assert!(table.out.contains("GPU:"), "{}", table.out);
    let told_in_table = table.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in why {
        assert!(text(&document, "/platform/reason").contains(word), "{word}: {}", document["platform"]);
        assert!(told_in_table.contains(word), "{word}: {}", table.out);
    }
    end(start().args(["--backend", "cuda"]), quick).refused(77, why);
    end(&mut start(), quick).refused(77, why);
    Ok(())
}

#[test]
fn without_a_driver_host_memory_is_measured_and_the_reason_is_said() -> Done {
    falls_back(
        &no_driver(),
        &[],
        &["no libcuda.so.1 could be loaded", "file too short", "install the driver"],
    )
}

#[test]
fn a_driver_stub_is_called_a_stub() -> Done {
    falls_back(
        &driver::fake()?,
        &[("FAKE_FAULTS", "fail cuInit * 34")],
        &["toolkit stub, not a driver", "LD_LIBRARY_PATH"],
    )
}

#[test]
fn a_driver_without_devices_says_what_may_hide_them() -> Done {
    falls_back(
        &driver::fake()?,
        &[("FAKE_FAULTS", "fail cuInit * 100")],
        &["shows no device", "job was given a GPU"],
    )?;
    let hidden = [("CUDA_VISIBLE_DEVICES", "7")];
    falls_back(&driver::fake()?, &hidden, &["shows no device", "CUDA_VISIBLE_DEVICES=\"7\"", "unset it"])
}

#[test]
fn a_code_newer_than_this_program_is_a_reason_like_any_other() -> Done {
    for code in ["917", "98765", "-1"] {
        falls_back(
            &driver::fake()?,
            &[("FAKE_FAULTS", &format!("fail cuInit * {code}"))],
            &["cuInit failed with code", code],
        )?;
    }
    Ok(())
}

#[test]
fn gpus_are_numbered_in_pci_order_and_found_by_address_and_uuid() -> Done {
    // The driver counts them the other way round.
    for (asked, id) in [
        ("0", "0000:05:00.0"),
        ("1", "0000:c1:00.0"),
        ("0000:C1:00.0", "0000:c1:00.0"),
        ("05:00.0", "0000:05:00.0"),
        ("GPU-a0a0", "0000:c1:00.0"),
        ("MIG-b1b1b1b1-b1b1-b1b1-b1b1-b1b1b1b1b1b1", "0000:05:00.0"),
    ] {
        let quick = ["--size", "64KiB", "--reps", "6", "--direction", "h2d", "--json", "-", "--gpus", asked];
        let document = proof::document(&fake(&[], &quick)?)?;
        assert_eq!(text(&document, "/ranks/0/asked/device"), id, "{asked}");
        assert_eq!((text(&document, "/devices/0/id"), list(&document, "/devices").len()), (id, 1));
    }
    Ok(())
}
