//! Outputs of other programs become documents that say what they are, and what is damaged is refused with its
//! line.

use analysis::any_document::AnyDocument;
use analysis::compare::{NotCompared, Thresholds, compare};
use analysis::import::{About, ImportError, ImportErrorKind, Program, ProgramOutput, import, take};
use analysis::judge::ChangeVerdict;
use render::export::Form;
use report::document::{Status, Tool};
use report::imported::{ImportedStatus, ImportedUnit, NOT_VERIFIED};
use report::{ImportedDocument, SavedDocument, json};

use crate::made::Done;

pub fn output(name: &str) -> Result<ProgramOutput, std::io::Error> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/results/outputs/").to_owned() + name;
    Ok(ProgramOutput { name: name.to_owned(), bytes: std::fs::read(path)? })
}

pub fn about() -> About {
    About {
        tool: Tool { name: "numabench".to_owned(), version: "0.0.0".to_owned(), git: None },
        argv: vec!["numabench".to_owned()],
        started_at: ("2026-11-22T14:01:28Z".to_owned(), "--started-at".to_owned()),
        host: None,
    }
}

/// What these outputs come to.
pub fn imported(program: Program, names: &[&str]) -> Result<ImportedDocument, Box<dyn std::error::Error>> {
    let outputs = names.iter().map(|name| output(name)).collect::<Result<Vec<_>, _>>()?;
    import(program, &outputs, about()).map_err(|(name, fault)| format!("{name}: {fault}").into())
}

/// The figures, by case and place.
pub fn figures(document: &ImportedDocument) -> Vec<(String, f64)> {
    // To a thousandth of a unit: what was printed with two digits is not that to the last bit in other units.
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let figure = |case: &report::imported::ImportedCase| {
        Some((format!("{} {}", case.id, case.place), rounded(case.value?)))
    };
    document.cases.iter().filter_map(figure).collect()
}

/// What is said of a text of a program that is refused.
pub fn refused(program: Program, text: &str) -> String {
    take(program, text.as_bytes()).map_or_else(|fault| fault.to_string(), |_| "taken".to_owned())
}

#[test]
fn the_osu_tests_are_figures_by_size_in_the_units_of_documents() -> Done {
    let document = imported(Program::Osu, &["osu_latency.txt", "osu_bw.txt", "osu_bibw.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("7.4"));
    let of = figures(&document);
    let figure = |name: &str| of.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    // The files' own lines: 8 bytes took 0.37 us, 8 bytes both ways went at 23.35 MB/s.
    assert_eq!(figure("osu_latency/host/8 rank 0 <-> rank 1").map(f64::round), Some(370.0));
    assert!(figure("osu_bw/host/4194304 rank 0 -> rank 1").is_some_and(|rate| rate > 1e9), "{of:?}");
    assert!(figure("osu_bibw/host/8 rank 0 <-> rank 1").is_some(), "{of:?}");
    assert_eq!(document.facts[0].value, "MPI_CHAR");
    assert_eq!(imported(Program::Osu, &["osu_latency-tails.txt"])?.cases.len(), 7);
    let validated = output("osu_bw-validated.txt")?;
    let text = String::from_utf8(validated.bytes)?.replacen("Pass", "Fail", 1);
    let document = import(
        Program::Osu,
        &[ProgramOutput { name: "failed".to_owned(), bytes: text.into_bytes() }],
        about(),
    )
    .map_err(|(_, fault)| fault)?;
    assert_eq!((document.status, document.count(ImportedStatus::Failed)), (Status::Partial, 1));
    assert_eq!(document.cases[0].reason.as_deref(), Some("validation: Fail"));
    Ok(())
}

#[test]
fn osu_on_device_memory_is_another_case_than_on_the_hosts() {
    let text = "# OSU MPI-CUDA Latency Test v7.4\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST \
        (H)\n# Size       Avg Latency(us)\n8  1.50\n";
    let taken = import(Program::Osu, &[ProgramOutput { name: "d".to_owned(), bytes: text.into() }], about());
    assert!(taken.is_ok_and(|document| document.cases[0].id == "osu_latency/D-H/8"));
}

#[test]
fn damaged_output_of_osu_is_refused_with_its_line() -> Done {
    let text = String::from_utf8(output("osu_bw.txt")?.bytes)?;
    let first = text.lines().position(|line| line.starts_with("1 ")).ok_or("a row")?;
    let row = text.lines().nth(first).ok_or("a row")?.to_owned();
    let at = first + 1;
    let cases = [
        (text.replace(&row, "1     2,93"), format!("line {at}: \"2,93\" has a comma")),
        (text.replace(&row, "1     nan"), format!("line {at}: \"nan\" stands where a figure is to be")),
        (text.replace(&row, "1"), format!("line {at}: the row has 1 columns and its header 2")),
        (text.trim_end().to_owned(), "the output ends in the middle: its last line has no end".to_owned()),
        (
            text[..text.find(&row).ok_or("a row")?].to_owned(),
            "line 6: the output ends in the middle: osu_bw has no figures".to_owned(),
        ),
        (
            text.replace("Bandwidth Test", "Broadcast Latency Test"),
            "is not read here: osu_latency, osu_bw, osu_bibw and osu_mbw_mr".to_owned(),
        ),
        ("1  2.93\n".to_owned(), "it has no heading".to_owned()),
    ];
    for (text, want) in cases {
        let said = refused(Program::Osu, &text);
        assert!(said.contains(&want), "{said}\n  is not  {want}");
    }
    let other = take(Program::Osu, &output("nvbandwidth.txt")?.bytes);
    assert!(
        matches!(&other, Err(ImportError { refused: ImportErrorKind::NotThis { program, .. }, .. }) if program.starts_with("OSU"))
    );
    Ok(())
}

#[test]
fn transferbenchs_tables_say_the_same_with_borders_and_as_csv() -> Done {
    let document = imported(Program::TransferBench, &["transferbench-config.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("1.62.00"));
    let of = figures(&document);
    assert_eq!(of.len(), 11);
    assert_eq!(of[0], ("transferbench/test 1/executor/268435456 GPU 0".to_owned(), 56.299e9));
    assert_eq!(of[1], ("transferbench/test 1/transfer 0/268435456 G0 -> G0:4 -> G1".to_owned(), 56.309e9));
    assert_eq!(of[2], ("transferbench/test 1/aggregate/268435456 all transfers".to_owned(), 55.015e9));
    let csv = imported(Program::TransferBench, &["transferbench.csv"])?;
    assert_eq!(figures(&csv)[..3], of[..3]);
    assert_eq!(csv.cases.len(), 6);
    let borders = imported(Program::TransferBench, &["transferbench-borders.txt"])?;
    assert_eq!((borders.cases.len(), borders.program_version.as_deref()), (7, Some("1.67.00")));
    Ok(())
}

#[test]
fn transferbenchs_peers_are_a_case_with_a_place_for_each_pair_and_way() -> Done {
    let document = imported(Program::TransferBench, &["transferbench-p2p.txt"])?;
    let of = figures(&document);
    // 9 one way, and both ways 3 figures for each of 6 pairs.
    assert_eq!(of.len(), 9 + 18);
    assert!(
        of.contains(&("transferbench/p2p-unidirectional/4194304 CPU 0 -> GPU 1".to_owned(), 16.97e9)),
        "{of:?}"
    );
    assert!(
        of.contains(&("transferbench/p2p-bidirectional/4194304 GPU 1 <-> GPU 0".to_owned(), 127.01e9)),
        "{of:?}"
    );
    Ok(())
}

#[test]
fn damaged_output_of_transferbench_is_refused_with_its_line() -> Done {
    let text = String::from_utf8(output("transferbench-config.txt")?.bytes)?;
    let peers = String::from_utf8(output("transferbench-p2p.txt")?.bytes)?;
    let cases = [
        (text.replacen("56.299", "56,299", 1), "line 8: \"56,299\" has a comma"),
        (text.replacen("56.299 GB/s", "56.299", 1), "line 8:"),
        (
            text[..text.find(" Aggregate").ok_or("a row")?].to_owned(),
            "line 7: the output ends in the middle: test 1 has no row",
        ),
        (peers.replacen("17.32", "", 1), "line 9: the row has 2 columns and its header 3"),
        (peers.replacen("17.32", "17,32", 1), "line 9: \"17,32\" has a comma"),
        (peers[..peers.rfind("    GPU").ok_or("a row")?].to_owned(), "has not all rows of GPU 1"),
        (
            "TransferBench v1.62.00\n[ERROR] HIP Error: invalid resource handle\n".to_owned(),
            "it says: [ERROR] HIP Error",
        ),
        ("nothing of the kind\n".to_owned(), "not the output of TransferBench"),
    ];
    for (text, want) in cases {
        let said = refused(Program::TransferBench, &text);
        assert!(said.contains(want), "{said}\n  is not  {want}");
    }
    let headless =
        take(Program::TransferBench, &text.as_bytes()[text.find("     Transfer").ok_or("a row")?..]);
    let Err(ImportError { line: Some(1), refused: ImportErrorKind::Line { text: row, .. } }) = &headless
    else {
        return Err(format!("{headless:?}").into());
    };
    assert!(row.starts_with("Transfer"), "{row}");
    let died = text.replacen(" Aggregate (CPU)", "[ERROR] HIP Error: gone\nnothing", 1);
    let taken = import(
        Program::TransferBench,
        &[ProgramOutput { name: "died".to_owned(), bytes: died.into_bytes() }],
        about(),
    );
    let document = taken.map_err(|(_, fault)| fault)?;
    assert_eq!((document.status, document.count(ImportedStatus::Failed)), (Status::Partial, 1));
    Ok(())
}

#[test]
fn files_of_two_runs_are_no_document() -> Done {
    let of = |program, names: [&str; 2]| -> Result<(String, Box<ImportError>), Box<dyn std::error::Error>> {
        let outputs = [output(names[0])?, output(names[1])?];
        Ok(import(program, &outputs, about()).err().ok_or("nothing refused it")?)
    };
    let (_, twice) = of(Program::Osu, ["osu_bw.txt", "osu_bw.txt"])?;
    assert!(
        matches!(&twice.refused, ImportErrorKind::InTwoFiles { first, .. } if first == "osu_bw.txt"),
        "{twice}"
    );
    let (_, two) = of(Program::Nvbandwidth, ["nvbandwidth-two-gpus.txt", "nvbandwidth.txt"])?;
    let ImportErrorKind::OtherRun { here, there, first, .. } = &two.refused else { return Err(two.into()) };
    assert_eq!((&here[..], &there[..], &first[..]), ("vm", "node01", "nvbandwidth-two-gpus.txt"));
    insta::assert_snapshot!("files_of_two_runs", format!("{twice}\n{two}"));
    let bytes = take(Program::Osu, b"# OSU MPI\n\xff");
    assert!(
        matches!(bytes, Err(ImportError { line: Some(2), refused: ImportErrorKind::NotText })),
        "{bytes:?}"
    );
    Ok(())
}

#[test]
fn an_imported_document_follows_its_schema_and_reads_back_as_it_was_written() -> Done {
    let document = imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    let bytes = json::json_value(&document)?;
    assert_eq!(ImportedDocument::from_json(&bytes)?, document);
    let kept: AnyDocument = AnyDocument::from_json(&bytes)?;
    assert_eq!(kept.kind().name(), "imported");
    Ok(())
}

#[test]
fn two_imported_runs_are_too_little_to_judge_and_several_are_not() -> Done {
    let mut slower = imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    let base = slower.clone();
    for case in &mut slower.cases {
        case.value = case.value.map(|value| value * if case.unit == ImportedUnit::Ns { 1.25 } else { 0.8 });
    }
    let run = |document: &ImportedDocument, name: &str| {
        AnyDocument::<report::result::BlockSample>::Imported(Box::new(document.clone())).run(name)
    };
    let tool = || base.tool.clone();
    let found = compare(tool(), &[run(&base, "a")?], &[run(&slower, "b")?], Thresholds::default(), false)?;
    assert_eq!((found.counts.inconclusive, found.counts.regressed), (6, 0));
    insta::assert_snapshot!("notes_of_single_figures", found.notes.join("\n"));
    let scattered = |document: &ImportedDocument, by: f64| {
        let mut document = document.clone();
        document.cases.iter_mut().for_each(|case| case.value = case.value.map(|value| value * by));
        document
    };
    let side = |document: &ImportedDocument| -> Result<Vec<_>, analysis::run::NoRun> {
        [0.999, 1.0, 1.001, 1.0005, 0.9995, 1.0002]
            .iter()
            .map(|by| run(&scattered(document, *by), "run"))
            .collect()
    };
    let found = compare(tool(), &side(&base)?, &side(&slower)?, Thresholds::default(), false)?;
    assert_eq!(
        found.counts.regressed,
        6,
        "{:?}",
        found.cases.iter().map(|case| case.verdict).collect::<Vec<ChangeVerdict>>()
    );
    assert_eq!(found.cases[0].key.place.as_deref(), Some(&found.cases[0].key.device[..]));
    Ok(())
}

#[test]
fn another_programs_figures_are_not_compared() -> Done {
    let ours = crate::made::document(&[24e9, 24e9], &[report::settings::Direction::H2d], 1)?;
    let theirs = imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    let (ours, theirs) =
        (analysis::run::Run::of("ours", &ours)?, analysis::imported::run("theirs", &theirs)?);
    let tool = Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None };
    let refused = compare(tool, &[ours], &[theirs], Thresholds::default(), false);
    assert!(refused.is_err(), "an imported figure is not one of ours");
    let osu = analysis::imported::run("osu", &imported(Program::Osu, &["osu_bw.txt"])?)?;
    let nv = analysis::imported::run("nv", &imported(Program::Nvbandwidth, &["nvbandwidth.json"])?)?;
    let tool = Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None };
    let refused =
        compare(tool, &[osu], &[nv], Thresholds::default(), false).err().ok_or("nothing refused it")?;
    let NotCompared::Essential { differs } = &refused else { return Err(refused.into()) };
    assert!(differs.contains("OSU") && differs.contains("nvbandwidth"), "{differs}");
    Ok(())
}

#[test]
fn every_form_has_the_imported_figures_under_a_name_that_says_so() -> Done {
    let document = imported(Program::Nvbandwidth, &["nvbandwidth.json"])?;
    let points = render::export::imported(&document);
    let text = |form: Form| -> Result<String, Box<dyn std::error::Error>> {
        Ok(String::from_utf8(points.export(form)?)?)
    };
    let csv = text(Form::Csv)?;
    assert_eq!(csv.lines().count(), 8, "{csv}");
    assert!(
        csv.contains(
            ",imported,nvbandwidth v0.8,vm,nvbandwidth/host_device_latency_sm,CPU 0 <-> GPU \
             0,,measured,,1237.8,"
        ),
        "{csv}"
    );
    assert_eq!(csv.matches(",skipped,").count(), 1, "{csv}");
    let metrics = text(Form::OpenMetrics)?;
    assert!(
        metrics.contains(
            "numabench_imported_rate_bytes_per_second{case=\"nvbandwidth/device_local_copy\",place=\"GPU 0\""
        ),
        "{metrics}"
    );
    assert!(text(Form::Bmf)?.contains("nvbandwidth/host_to_device_memcpy_ce/CPU 0 -> GPU 0"));
    assert!(
        text(Form::GhaSmaller)?.contains("host_device_latency_sm")
            && !text(Form::GhaBigger)?.contains("latency")
    );
    assert!(
        text(Form::Junit)?.contains("skipped=\"1\"")
            && text(Form::Influx)?.starts_with("numabench_imported,host=vm,program=nvbandwidth\\ v0.8,")
    );
    let html =
        render::html::page(&[("a.json".to_owned(), document.clone()), ("b.json".to_owned(), document)]);
    assert!(html.contains(NOT_VERIFIED) && html.ends_with("</html>\n") && !html.contains("<script"));
    Ok(())
}

#[test]
fn a_second_output_with_the_same_unread_sizes_is_of_the_same_run_and_one_with_another_is_not() -> Done {
    let text = String::from_utf8(output("nvbandwidth.txt")?.bytes)?;
    let with = |name: &str, test: &str, sizes: &[&str]| ProgramOutput {
        name: name.to_owned(),
        bytes: (sizes.iter().map(|size| format!("$ ./nvbandwidth -b {size}\n")).collect::<String>()
            + &text.replace("host_to_device", test))
            .into_bytes(),
    };
    let both = ["one", "two"];
    let all = |second: &[&str]| {
        let outputs = [with("a", "host_to_device", &both), with("b", "of_b_to_device", second)];
        import(Program::Nvbandwidth, &outputs, about()).map_err(|(file, error)| format!("{file}: {error}"))
    };
    let refused = all(&["three"]).err().unwrap_or_default();
    assert!(refused.contains("size not read is -b three"), "{refused}");
    let same = all(&both).err().unwrap_or_default();
    assert!(!same.contains("size not read"), "{same}");
    Ok(())
}
