//! What moves the bytes: copy engines, a kernel, TMA, and all in one run, on the stand-in driver.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::proof::{self, case_ids, list, results, text};
use crate::run::{Done, Ended, end, with_driver};

/// A GPU whose copies take virtual time.
const GPU: &str = "device 0000:05:00.0; h2d 20GB/s 6us; d2h 20GB/s 6us";

/// `numabench matrix` on devices that are described, with these faults.
fn matrix(
    kind: &Kind,
    devices: &str,
    faults: &str,
    args: &[&str],
) -> Result<Ended, Box<dyn std::error::Error>> {
    let told = [
        ("FAKE_DEVICES", devices.to_owned()),
        ("FAKE_FAULTS", faults.to_owned()),
        ("LD_PRELOAD", kind.library()?),
    ];
    Ok(end(with_driver(&kind.folder()?).args(["matrix", "--backend", kind.name]).envs(told), args))
}

#[test]
fn copies_by_a_kernel_are_measured_and_said_or_skipped_where_there_is_none() -> Done {
    let args = ["--gpus", "0", "--size", "4B,4MiB", "--engine", "sm", "--reps", "6", "--json", "-"];
    for kind in kinds::tried() {
        let document = proof::document(&kind.pingpong(&[], &args)?)?;
        assert_eq!(text(&document, "/settings/engine"), "sm");
        for result in results(&document) {
            assert_eq!(text(result, "/outcome/status"), "measured", "{result:#}");
        }
        assert!(text(&document, "/verdict/0").contains("kernel"), "{}", document["verdict"]);
    }
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        for result in results(&proof::document(&kind.faulty(kinds::NO_COMPILER, &args)?)?) {
            assert_eq!(text(result, "/outcome/status"), "skipped", "{result:#}");
            assert!(text(result, "/outcome/reason").contains(kinds::NO_KERNEL), "{result:#}");
        }
    }
    Ok(())
}

#[test]
fn tma_copies_where_the_gpu_has_it_and_elsewhere_the_reason_is_said() -> Done {
    let args = [
        "--gpus",
        "0",
        "--size",
        "4B,4MiB",
        "--engine",
        "tma",
        "--direction",
        "h2d,d2h,bidir",
        "--reps",
        "6",
        "--json",
        "-",
    ];
    for kind in kinds::tried() {
        let document = proof::document(&kind.described(&format!("{GPU}; capability 9.0"), &args)?)?;
        assert_eq!(text(&document, "/settings/engine"), "tma");
        proof::follows(&document, "result-v1.json")?;
        for result in results(&document) {
            if kind.name == "cuda" {
                assert_eq!(text(result, "/outcome/status"), "measured", "{result:#}");
                assert_eq!(result["verification"]["checked"], true, "{result:#}");
            } else {
                let reason = "NVIDIA's GPUs alone have a tensor memory accelerator; copy with --engine sm";
                assert!(text(result, "/outcome/reason").contains(reason), "{result:#}");
            }
        }
    }

    for kind in kinds::tried().iter().filter(|kind| kind.name == "cuda") {
        let older = kind.described(&format!("{GPU}; capability 8.9"), &args)?;
        for result in results(&proof::document(&older)?) {
            insta::allow_duplicates! { insta::assert_snapshot!(text(result, "/outcome/reason"), @"copying by TMA is not possible on this device: its compute capability is 8.9, and the kernels of TMA copies are for 9.0 and above; copy with --engine sm or ce") }
        }
        let short = kind.faulty("kernels copy-short", &args)?;
        let document: Value = serde_json::from_str(&short.out)?;
        assert_eq!(text(&document, "/status"), "data-corrupt", "what TMA leaves out is found: {}", short.err);
    }
    Ok(())
}

#[test]
fn tma_stands_beside_the_other_engines_of_one_matrix() -> Done {
    let args =
        ["--size", "4MiB", "--direction", "h2d", "--engine", "tma,ce,sm", "--reps", "6", "--json", "-"];
    for kind in kinds::tried().iter().filter(|kind| kind.name == "cuda") {
        let ended = matrix(kind, "device 0000:05:00.0", "", &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        assert_eq!(
            case_ids(&document),
            ["", "/sm", "/tma"].map(|end| format!("alone/pinned/h2d/4194304{end}"))
        );
        let titles: Vec<&str> =
            list(&document, "/matrices").iter().map(|matrix| text(matrix, "/title")).collect();
        insta::assert_snapshot!(titles.join("\n"), @"
        host memory and GPUs
        host memory and GPUs, by a kernel
        host memory and GPUs, by TMA
        ");
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        let of = |start: &str| said.iter().filter(|said| said.starts_with(start)).count();
        assert_eq!([of("Copies by a kernel: "), of("Copies by TMA: ")], [1, 1], "{said:?}");
    }
    Ok(())
}

#[test]
fn copy_engines_and_a_kernel_are_measured_in_one_run_and_told_apart() -> Done {
    let args = [
        "--size",
        "4MiB",
        "--direction",
        "h2d,d2h",
        "--engine",
        "sm,ce",
        "--latency",
        "--reps",
        "12",
        "--json",
        "-",
    ];
    for kind in kinds::tried() {
        let ended = matrix(&kind, "device 0000:05:00.0; device 0000:c1:00.0", "", &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
        let want = [
            "pinned/h2d/4194304",
            "pinned/d2h/4194304",
            "pinned/h2d/4194304/sm",
            "pinned/d2h/4194304/sm",
            "pinned/load/128",
        ];
        assert_eq!(case_ids(&document), want.map(|id| format!("alone/{id}")));
        let titles: Vec<&str> =
            list(&document, "/matrices").iter().map(|matrix| text(matrix, "/title")).collect();
        insta::allow_duplicates! { insta::assert_snapshot!(titles.join("\n"), @"
        host memory and GPUs
        host memory and GPUs, by a kernel
        ") }
        let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
        assert_eq!(said.iter().filter(|said| said.starts_with("Copies")).count(), 1, "{said:?}");
        assert!(!said[0].contains("kernel"), "{said:?}");
        // A rank for each GPU and engine; the thread's time stands with its first place.
        assert_eq!(list(&document, "/ranks").len(), 4);
        let times: Vec<bool> =
            list(&document, "/ranks").iter().map(|rank| rank["time"].is_object()).collect();
        assert_eq!(times, [true, false, false, false]);

        let table = matrix(&kind, "device 0000:05:00.0", "", &args[..args.len() - 2])?;
        let captions = |what: &str| table.out.lines().filter(|line| line.contains(what)).count();
        assert_eq!(captions("4 MiB, pinned memory, by a kernel, GB/s"), 2, "{}", table.out);
        assert_eq!(captions("4 MiB, pinned memory, GB/s"), 2, "{}", table.out);
    }
    // Where there is no kernel, the copy engines' figures are there all the same.
    for kind in kinds::tried().iter().filter(|kind| kind.name == "hip") {
        let args =
            ["--size", "4MiB", "--direction", "h2d", "--engine", "ce,sm", "--reps", "6", "--json", "-"];
        let ended = matrix(kind, "device 0000:05:00.0", kinds::NO_COMPILER, &args)?;
        let document = proof::document(&ended)?;
        assert_eq!(ended.code, Some(3), "{}", document["status_reason"]);
        let statuses: Vec<&str> = results(&document).map(|result| text(result, "/outcome/status")).collect();
        assert_eq!(statuses, ["measured", "skipped"]);
    }
    Ok(())
}
