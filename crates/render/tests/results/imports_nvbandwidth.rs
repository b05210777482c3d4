//! nvbandwidth's text and JSON of every version become documents; damaged output is refused with its line.

use analysis::import::{ImportErrorKind, Program, ProgramOutput, import, take};
use report::ImportedDocument;
use report::document::Status;
use report::imported::{ImportedStatus, ImportedUnit, NOT_VERIFIED};

use crate::imports::{about, figures, imported, output, refused};
use crate::made::Done;

#[test]
fn nvbandwidths_text_and_json_of_one_machine_have_the_same_cases() -> Done {
    let text = imported(Program::Nvbandwidth, &["nvbandwidth.txt"])?;
    let json = imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    for document in [&text, &json] {
        assert_eq!(document.program_version.as_deref(), Some("v0.8"));
        assert_eq!((document.status, document.host.as_deref()), (Status::Complete, Some("vm")));
        assert_eq!(document.verdict[1], NOT_VERIFIED);
        let fact = |name: &str| {
            document.facts.iter().find(|fact| fact.name == name).map(|fact| (&fact.value[..], fact.essential))
        };
        assert_eq!(fact("GPU 0"), Some(("NVIDIA H200 (00000000:00:06)", false)));
        assert_eq!(fact("GPU model"), Some(("NVIDIA H200", true)));
        assert_eq!(fact("driver version"), Some(("580.159.04", false)));
    }
    let names =
        |document: &ImportedDocument| figures(document).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&text), names(&json));
    let of = figures(&text);
    assert_eq!(of.len(), 6);
    assert_eq!(of[0], ("nvbandwidth/host_to_device_memcpy_ce CPU 0 -> GPU 0".to_owned(), 55.33e9));
    assert_eq!(of[5].0, "nvbandwidth/device_local_copy GPU 0");
    let latency =
        text.cases.iter().find(|case| case.id == "nvbandwidth/host_device_latency_sm").ok_or("latency")?;
    assert_eq!((latency.unit, latency.value, latency.line), (ImportedUnit::Ns, Some(1217.05), Some(44)));
    // The text does not name what was waived, the JSON does.
    assert_eq!((text.count(ImportedStatus::Waived), json.count(ImportedStatus::Waived)), (0, 1));
    insta::assert_snapshot!("notes_of_a_waived_test", text.notes.join("\n"));
    Ok(())
}

#[test]
fn samples_are_passed_over_and_pairs_that_are_not_there_are_no_cases() -> Done {
    let verbose = imported(Program::Nvbandwidth, &["nvbandwidth-verbose.txt"])?;
    assert_eq!(
        figures(&verbose),
        [("nvbandwidth/host_to_device_memcpy_ce CPU 0 -> GPU 0".to_owned(), 55.15e9)]
    );
    let two = imported(Program::Nvbandwidth, &["nvbandwidth-two-gpus.txt"])?;
    let names: Vec<String> = figures(&two).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "nvbandwidth/host_to_device_memcpy_ce CPU 0 -> GPU 0",
            "nvbandwidth/host_to_device_memcpy_ce CPU 0 -> GPU 1",
            "nvbandwidth/device_to_device_memcpy_read_ce GPU 0 -> GPU 1",
            "nvbandwidth/device_to_device_memcpy_read_ce GPU 1 -> GPU 0",
        ]
    );
    Ok(())
}

#[test]
fn of_copies_both_ways_each_matrix_is_a_case_in_text_and_json_also_of_versions_that_say_how_much_cells_differ()
-> Done {
    let text = imported(Program::Nvbandwidth, &["nvbandwidth-0.10.txt"])?;
    let json = imported(Program::Nvbandwidth, &["nvbandwidth-0.10.json"])?;
    assert_eq!(figures(&text), figures(&json));
    for document in [&text, &json] {
        assert_eq!(
            (document.program_version.as_deref(), document.status),
            (Some("v0.10.0"), Status::Complete)
        );
        let runtime =
            document.facts.iter().find(|fact| fact.name == "CUDA runtime").ok_or("no CUDA runtime")?;
        assert_eq!(runtime.value, "13000");
    }
    let of = figures(&text);
    assert_eq!(of.len(), 16);
    let total = "nvbandwidth/device_to_device_bidirectional_memcpy_read_ce_total GPU 0 <-> GPU 1";
    assert_eq!(of[8], (total.to_owned(), 769.91e9));
    assert_eq!(of[12].0, "nvbandwidth/device_to_device_bidirectional_memcpy_write_ce_write2 GPU 0 <-> GPU 1");
    Ok(())
}

#[test]
fn copies_both_ways_that_end_before_their_total_are_refused_as_cut_off() -> Done {
    let text = String::from_utf8(output("nvbandwidth-0.10.txt")?.bytes)?;
    let (before, _) = text.split_once("memcpy CE GPU(row) <-> GPU(column) Total").ok_or("no total")?;
    let fault = take(Program::Nvbandwidth, before.as_bytes()).err().ok_or("nothing refused it")?;
    assert!(matches!(fault.refused, ImportErrorKind::Truncated { .. }), "{fault}");
    insta::assert_snapshot!("cut_off_before_the_total", fault);
    Ok(())
}

#[test]
fn what_nvbandwidth_says_went_wrong_is_a_case_without_a_figure_or_an_error() -> Done {
    for name in [
        "nvbandwidth-not-found.txt",
        "nvbandwidth-not-found.json",
        "nvbandwidth-out-of-memory.txt",
        "nvbandwidth-out-of-memory.json",
    ] {
        let document = imported(Program::Nvbandwidth, &[name])?;
        assert_eq!((document.status, document.count(ImportedStatus::Failed)), (Status::Failed, 1), "{name}");
        let reason = document.cases[0].reason.clone().unwrap_or_default();
        assert!(
            reason.ends_with("found!") || reason.contains("CUDA_ERROR_OUT_OF_MEMORY") || reason == "ERROR",
            "{name}: {reason}"
        );
        assert!(document.verdict[0].contains("FAILED"), "{name}: {:?}", document.verdict);
    }
    for name in ["nvbandwidth-no-device.txt", "nvbandwidth-no-device.json"] {
        let (_, fault) =
            import(Program::Nvbandwidth, &[output(name)?], about()).err().ok_or("nothing refused it")?;
        let ImportErrorKind::NoFigures { said } = &fault.refused else { return Err(fault.into()) };
        assert!(said.starts_with("[CUDA_ERROR_NO_DEVICE]"), "{name}: {said}");
    }
    Ok(())
}

#[test]
fn a_test_after_one_that_failed_is_read_all_the_same() -> Done {
    let text = String::from_utf8(output("nvbandwidth.txt")?.bytes)?;
    let text = text.replacen(
        "Running host_to_device_memcpy_ce.",
        "ERROR: Testcase x not found!\nRunning host_to_device_memcpy_ce.",
        1,
    );
    let outputs = [ProgramOutput { name: "after".to_owned(), bytes: text.into_bytes() }];
    let document = import(Program::Nvbandwidth, &outputs, about()).map_err(|(_, fault)| fault)?;
    assert_eq!((document.count(ImportedStatus::Failed), document.count(ImportedStatus::Measured)), (1, 6));
    Ok(())
}

#[test]
fn damaged_output_of_nvbandwidth_is_refused_with_its_line() -> Done {
    let text = String::from_utf8(output("nvbandwidth.txt")?.bytes)?;
    let cases = [
        (text.replace(" 0     55.33\n", " 0     55,33\n"), "line 15: \"55,33\" has a comma"),
        (text.replace(" 0     55.33\n", " 0     65.33\n"), "line 17: the sum 55.33 is not that"),
        (
            text.replace(" 0     55.33\n", " 0     55.33 1.00\n"),
            "line 15: the row has 2 columns and its header 1",
        ),
        (
            text.replace(" 0     55.33\n", " 0     <ERROR>\n"),
            "line 15: \"<ERROR>\" stands where a figure is to be",
        ),
        (text.replace("           0\n", "nonsense\n"), "line 14: \"nonsense\" is no line of a matrix"),
        (
            text[..text.find("SUM device_to_host").ok_or("a sum")?].to_owned(),
            "line 19: the output ends in the middle: the matrix of device_to_host",
        ),
        ("Running on...\n\n Device 0: NVIDIA H200\n".to_owned(), "this is not the output of nvbandwidth"),
        (format!("{text}{text}"), "is there twice (first in line 15)"),
        (String::new(), "there is nothing in it"),
    ];
    for (text, want) in cases {
        let said = refused(Program::Nvbandwidth, &text);
        assert!(said.contains(want), "{said}\n  is not  {want}");
    }
    let json = String::from_utf8(output("nvbandwidth.json")?.bytes)?;
    let cases = [
        (json[..json.len() / 2].to_owned(), "this is not the JSON of nvbandwidth (EOF"),
        (json.replace("55.191\"", "55,191\""), "device_to_host_memcpy_ce: \"55,191\" has a comma"),
        (json.replace("\"sum\" : 55.19", "\"sum\" : 56.19"), "the sum 56.19"),
        (json.replace("\"nvbandwidth\" :", "\"other\" :"), "its JSON has no object"),
    ];
    for (text, want) in cases {
        let said = refused(Program::Nvbandwidth, &text);
        assert!(said.contains(want), "{said}\n  is not  {want}");
    }
    Ok(())
}
