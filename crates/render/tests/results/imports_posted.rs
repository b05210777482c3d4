//! Outputs that people post: each program in two of its forms, with the quantity, the unit and what a figure
//! counts; a stray line between costs no figure.

use analysis::import::{Program, ProgramOutput, import};
use report::ImportedDocument;
use report::document::Status;
use report::imported::{ImportedStatus, ImportedUnit};

use crate::imports::{about, figures, imported, output, refused};
use crate::made::Done;

/// Every sample with its program.
const SAMPLES: [(Program, &str); 17] = [
    (Program::NcclTests, "nccl-tests.txt"),
    (Program::NcclTests, "nccl-tests-2021.txt"),
    (Program::BandwidthTest, "bandwidthtest.txt"),
    (Program::BandwidthTest, "bandwidthtest-mb.txt"),
    (Program::BandwidthTest, "bandwidthtest.csv"),
    (Program::P2pMatrix, "p2p-matrix.txt"),
    (Program::P2pMatrix, "p2p-matrix-2017.txt"),
    (Program::RocmBandwidthTest, "rocm_bandwidth_test.txt"),
    (Program::RocmBandwidthTest, "rocm_bandwidth_test-2.0.txt"),
    (Program::Stream, "stream.txt"),
    (Program::Stream, "stream-fortran.txt"),
    (Program::Perftest, "perftest.txt"),
    (Program::Perftest, "perftest-gbits.txt"),
    (Program::Mlc, "mlc.txt"),
    (Program::Mlc, "mlc-latency_matrix.txt"),
    (Program::Nvloom, "nvloom.txt"),
    (Program::Nvloom, "nvloom-1.0.txt"),
];

/// The figure of this case and place; figures are rounded to a thousandth.
fn figure(document: &ImportedDocument, name: &str) -> Result<f64, String> {
    let all = figures(document);
    let found = all.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| *value).ok_or_else(|| format!("no {name:?} in {all:#?}"))
}

#[test]
fn nccl_tests_are_times_and_bus_bandwidths_of_both_ways() -> Done {
    let document = imported(Program::NcclTests, &["nccl-tests.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("2.17.6"));
    assert_eq!(document.host.as_deref(), Some("node1"));
    assert_eq!(
        document.facts.iter().find(|fact| fact.name == "gpu").map(|fact| &*fact.value),
        Some("NVIDIA H100 80GB HBM3")
    );
    let all = "all_reduce_perf/float/sum";
    let place = "4 ranks of 1 host";
    assert_eq!(figure(&document, &format!("{all}/out-of-place/busbw/1073741824 {place}"))?, 358.39e9);
    assert_eq!(figure(&document, &format!("{all}/in-place/busbw/1073741824 {place}"))?, 359.47e9);
    assert_eq!(figure(&document, &format!("{all}/in-place/time/65536 {place}"))?, 13_710.0);
    // Of 8 bytes busbw rounds to 0.00: the time is its figure, and no failure.
    assert_eq!(figure(&document, &format!("{all}/out-of-place/time/8 {place}"))?, 11_420.0);
    assert_eq!((document.cases.len(), document.status), (10, Status::Complete));
    assert!(
        document.notes.iter().any(|note| note.starts_with("line 15 is no line of nccl-tests")),
        "{:?}",
        document.notes
    );

    let old = imported(Program::NcclTests, &["nccl-tests-2021.txt"])?;
    let name = "broadcast_perf/float/root 0/out-of-place/busbw/16777216 2 ranks of 1 host";
    assert_eq!((figure(&old, name)?, old.program_version), (41.88e9, None));
    Ok(())
}

#[test]
fn wrong_values_and_a_failed_validation_of_nccl_tests_are_failures() -> Done {
    let text = String::from_utf8(output("nccl-tests.txt")?.bytes)?;
    let text =
        text.replace("359.47       0", "359.47      12").replace("values : 0 OK", "values : 12 FAILED");
    let output = ProgramOutput { name: "wrong".to_owned(), bytes: text.into_bytes() };
    let document = import(Program::NcclTests, &[output], about()).map_err(|(_, fault)| fault)?;
    assert_eq!((document.status, document.count(ImportedStatus::Failed)), (Status::Partial, 3));
    let reasons: Vec<&str> = document.cases.iter().filter_map(|case| case.reason.as_deref()).collect();
    assert_eq!(reasons, ["12 wrong values", "12 wrong values", "Out of bounds values : 12 FAILED"]);
    Ok(())
}

#[test]
fn sizes_of_nccl_tests_too_small_to_share_are_named_and_cost_no_figure() -> Done {
    let text = String::from_utf8(output("nccl-tests-2021.txt")?.bytes)?;
    let is_row = |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
    let row = text.lines().find(is_row).ok_or("a row")?;
    let cells: Vec<&str> = row.split_whitespace().collect();
    let empty = format!("0 0 {}", cells[2..].join(" "));
    let more = text.replacen(row, &format!("{empty}\n{empty}\n{row}"), 1);
    let document = |text: &str| {
        let output = ProgramOutput { name: "posted".to_owned(), bytes: text.as_bytes().to_vec() };
        import(Program::NcclTests, &[output], about()).map_err(|(_, fault)| fault)
    };
    let (all, without) = (document(&more)?, document(&text)?);
    assert_eq!(all.cases.len(), without.cases.len());
    assert!(all.notes.iter().any(|note| note.contains("2 rows of 0 bytes moved nothing")), "{:?}", all.notes);
    Ok(())
}

#[test]
fn an_operation_that_the_output_does_not_name_is_unknown() -> Done {
    let text = String::from_utf8(output("nccl-tests-2021.txt")?.bytes)?;
    let (_, text) = text.split_once('\n').ok_or("a prompt")?;
    let output = ProgramOutput { name: "cut".to_owned(), bytes: text.as_bytes().to_vec() };
    let document = import(Program::NcclTests, &[output], about()).map_err(|(_, fault)| fault)?;
    assert!(
        document.cases.iter().all(|case| case.id.starts_with("unknown operation/")),
        "{:?}",
        document.cases
    );
    assert!(document.notes.iter().any(|note| note.contains("which operation was measured is unknown")));
    Ok(())
}

#[test]
fn the_bandwidth_test_says_in_what_unit_and_what_it_counts_twice() -> Done {
    let document = imported(Program::BandwidthTest, &["bandwidthtest.txt"])?;
    assert_eq!(figure(&document, "bandwidthTest/host-to-device/pinned/32000000 1 device")?, 24.9e9);
    assert_eq!(figure(&document, "bandwidthTest/device-to-host/pinned/32000000 1 device")?, 26.1e9);
    let inside = "bandwidthTest/device-to-device/read and write counted/32000000 1 device";
    assert_eq!(figure(&document, inside)?, 1156.3e9);
    assert!(document.notes.is_empty(), "{:?}", document.notes);

    // MB of older samples are 2^20 bytes.
    let old = imported(Program::BandwidthTest, &["bandwidthtest-mb.txt"])?;
    let mib = f64::from(1 << 20);
    assert_eq!(
        figure(&old, "bandwidthTest/host-to-device/pageable/33554432 1 device")?.round(),
        (6093.7 * mib).round()
    );

    let two = imported(Program::BandwidthTest, &["bandwidthtest.csv"])?;
    assert_eq!(figure(&two, "bandwidthTest/host-to-device/pinned/32000000 2 devices, added up")?, 48.8e9);
    let combined = "bandwidthTest/device-to-host/pinned, write-combined/32000000 2 devices, added up";
    assert_eq!(figure(&two, combined)?, 50.1e9);
    Ok(())
}

#[test]
fn matrices_of_gpus_say_which_way_and_what_is_added_up() -> Done {
    let document = imported(Program::P2pMatrix, &["p2p-matrix.txt"])?;
    let of = |name: &str| figure(&document, &format!("p2pBandwidthLatencyTest/{name}"));
    assert_eq!(of("bandwidth/no p2p/writes GPU 0 -> GPU 1")?, 37.19e9);
    assert_eq!(of("bandwidth/p2p/writes GPU 1 -> GPU 0")?, 370.81e9);
    assert_eq!(of("bandwidth/p2p/reads GPU 0 <- GPU 1")?, 369.44e9);
    assert_eq!(of("bandwidth/p2p/both directions added up GPU 0 <-> GPU 1")?, 730.12e9);
    assert_eq!(of("bandwidth/p2p/writes/inside, read and write counted GPU 0")?, 2494.76e9);
    assert_eq!(of("latency/p2p/writes GPU 0 -> GPU 1")?, 2310.0);
    assert_eq!(of("latency/p2p/writes/CPU time GPU 0 -> GPU 1")?, 1910.0);
    assert_eq!((document.cases.len(), document.notes.len()), (5 * 4 + 4 * 4, 0));

    let old = imported(Program::P2pMatrix, &["p2p-matrix-2017.txt"])?;
    let way = "p2pBandwidthLatencyTest/bandwidth/p2p/unknown direction GPU 0 and GPU 1";
    assert_eq!((figure(&old, way)?, old.cases.len()), (18.31e9, 12));
    Ok(())
}

#[test]
fn rocm_bandwidth_test_names_the_devices_and_leaves_out_what_it_left_out() -> Done {
    let document = imported(Program::RocmBandwidthTest, &["rocm_bandwidth_test.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("2.6.0"));
    let (cpu, gpu) = ("device 0 (AMD EPYC 9554 64-Core Processor)", "device 1 (AMD Instinct MI210)");
    assert_eq!(figure(&document, &format!("rocm_bandwidth_test/unidirectional {cpu} -> {gpu}"))?, 28.252e9);
    assert_eq!(figure(&document, &format!("rocm_bandwidth_test/unidirectional {gpu}"))?, 1084.23e9);
    let both = format!("rocm_bandwidth_test/bidirectional, both together {cpu} <-> {gpu}");
    assert_eq!(figure(&document, &both)?, 43.612e9);
    assert_eq!((document.count(ImportedStatus::Waived), document.status), (4, Status::Complete));

    let old = imported(Program::RocmBandwidthTest, &["rocm_bandwidth_test-2.0.txt"])?;
    assert_eq!((old.cases.len(), old.count(ImportedStatus::Waived)), (8, 3));
    Ok(())
}

#[test]
fn stream_in_c_and_in_fortran_is_four_rates_over_arrays() -> Done {
    for (name, version, bytes) in
        [("stream.txt", "5.10", 16_000_000), ("stream-fortran.txt", "5.6", 160_000_000)]
    {
        let document = imported(Program::Stream, &[name])?;
        assert_eq!(document.program_version.as_deref(), Some(version));
        let loops: Vec<&str> = document.cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(loops, ["STREAM/Copy", "STREAM/Scale", "STREAM/Add", "STREAM/Triad"]);
        assert!(document.cases.iter().all(|case| case.bytes == Some(bytes)), "{:?}", document.cases);
        assert!(
            document.cases.iter().all(|case| case.value.is_some_and(|rate| rate > 1e9)),
            "{:?}",
            document.cases
        );
        assert!(document.notes.is_empty(), "{:?}", document.notes);
    }
    let text = String::from_utf8(output("stream.txt")?.bytes)?;
    let wrong = text
        .replace("Solution Validates: avg error less than", "Failed Validation on array a[], AvgRelAbsErr >");
    let output = ProgramOutput { name: "wrong".to_owned(), bytes: wrong.into_bytes() };
    let document = import(Program::Stream, &[output], about()).map_err(|(_, fault)| fault)?;
    assert_eq!((document.status, document.count(ImportedStatus::Failed)), (Status::Failed, 4));
    let (cut, _) = text.split_once("Triad:").ok_or("a loop")?;
    assert!(refused(Program::Stream, cut).contains("1 of its 4 loops"), "{}", refused(Program::Stream, cut));
    Ok(())
}

#[test]
fn perftest_is_averages_in_its_own_units() -> Done {
    let document = imported(Program::Perftest, &["perftest.txt"])?;
    let mib = f64::from(1 << 20);
    let average = "RDMA_Write/one direction/unknown memory/average/65536 client -> server";
    assert_eq!(figure(&document, average)?.round(), (23_518.42 * mib).round());
    assert_eq!((document.cases.len(), document.notes.len()), (2, 0));
    let device = document.facts.iter().find(|fact| fact.name == "Device").map(|fact| fact.value.as_str());
    assert_eq!(device, Some("mlx5_0"));

    let both = imported(Program::Perftest, &["perftest-gbits.txt"])?;
    let average = "RDMA_Write/both directions added up/unknown memory/average/65536 client <-> server";
    assert_eq!(figure(&both, average)?.round(), (387.62e9 / 8.0_f64).round());
    // The peak was not measured.
    assert_eq!(both.cases.len(), 2);
    Ok(())
}

#[test]
fn the_memory_latency_checker_is_matrices_of_nodes_and_tables() -> Done {
    let document = imported(Program::Mlc, &["mlc.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("3.9"));
    let of = |name: &str| figure(&document, &format!("mlc/{name}"));
    assert_eq!(of("idle latency cores of node 0, memory of node 1")?, 139.6);
    assert_eq!(of("bandwidth between nodes cores of node 1, memory of node 0")?, 51_250.9e6);
    assert_eq!(of("peak/3:1 Reads-Writes all cores and their own memory")?, 207_894.6e6);
    assert_eq!(of("loaded/latency/delay 100 all cores and their own memory")?, 132.4);
    assert_eq!(of("caches/Local Socket L2->L2 HITM two cores")?, 48.9);
    let homed = "caches/Remote Socket L2->L2 HITM latency (data address homed in reader socket)";
    assert_eq!(of(&format!("{homed} writer on node 0, reader on node 1"))?, 171.2);
    assert_eq!((document.cases.len(), document.notes.len()), (4 + 5 + 4 + 6 + 2 + 4, 0));

    // A node without CPUs has a column and no row, as an output that was cut off may have.
    let part = imported(Program::Mlc, &["mlc-latency_matrix.txt"])?;
    assert_eq!((part.cases.len(), part.notes.len()), (6, 1));
    assert!(part.notes[0].contains("2 rows and 3 columns: nodes without cores, or"), "{:?}", part.notes);
    Ok(())
}

#[test]
fn a_stray_line_between_costs_no_figure_and_is_named_with_its_number() -> Done {
    const STRAY: &str = "[node1:1234] UCX  WARN  no usable transports";
    for (program, name) in SAMPLES {
        let whole = imported(program, &[name])?;
        let text = String::from_utf8(output(name)?.bytes)?;
        // Before the line of the last figure, which is within a table.
        let last = whole.cases.iter().filter_map(|case| case.line).max().ok_or("a line")?;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(last as usize - 1, STRAY);
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let document = import(program, &[ProgramOutput { name: name.to_owned(), bytes }], about());
        let document = document.map_err(|(_, fault)| format!("{name}: {fault}"))?;
        assert_eq!(figures(&document), figures(&whole), "{name}");
        let named = format!("line {last} is no line of {}", program.name());
        assert!(document.notes.iter().any(|note| note.starts_with(&named)), "{name}: {:?}", document.notes);
    }
    Ok(())
}

#[test]
fn what_was_copied_from_a_terminal_has_spaces_for_tabs_and_the_same_figures() -> Done {
    for (program, name) in SAMPLES {
        let bytes = String::from_utf8(output(name)?.bytes)?.replace('\t', "        ").into_bytes();
        let document = import(program, &[ProgramOutput { name: name.to_owned(), bytes }], about());
        let document = document.map_err(|(_, fault)| format!("{name}: {fault}"))?;
        assert_eq!(figures(&document), figures(&imported(program, &[name])?), "{name}");
    }
    Ok(())
}

#[test]
fn a_figure_that_cannot_be_read_and_another_programs_output_are_refused() -> Done {
    for (program, name) in SAMPLES {
        let text = String::from_utf8(output(name)?.bytes)?;
        let whole = imported(program, &[name])?;
        let case = whole.cases.iter().rev().find(|case| case.value.is_some()).ok_or("a figure")?;
        let line = case.line.ok_or("a line")? as usize;
        let damaged: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(at, words)| if at + 1 == line { words.replace('.', ",") } else { words.to_owned() })
            .collect();
        let said = refused(program, &damaged.join("\n"));
        assert!(said.starts_with(&format!("line {line}: ")), "{name}: {said}");

        let (_, other) = SAMPLES.iter().find(|(known, _)| *known != program).ok_or("another program")?;
        let other = String::from_utf8(output(other)?.bytes)?;
        assert!(
            refused(program, &other).starts_with("this is not the output of "),
            "{name}: {}",
            refused(program, &other)
        );
        assert!(whole.cases.iter().all(|case| case.unit != ImportedUnit::Newer));
    }
    Ok(())
}

#[test]
fn nvloom_is_a_figure_a_cell_with_both_directions_summed_and_its_waived_tests_named() -> Done {
    let document = imported(Program::Nvloom, &["nvloom.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("1.3.0"));
    assert!(document.facts.iter().any(|fact| fact.name == "gpu" && fact.value == "NVIDIA GB200"));
    assert_eq!(figure(&document, "nvloom/bisect_device_to_device_write_sm process 3->1")?, 612.44e9);
    let both = "nvloom/gpu_to_rack_device_to_device_bidir_write_ce process 1 <-> rack 8a1f-1, processes 1-0";
    assert_eq!(figure(&document, both)?, 1410.70e9);
    assert_eq!(figure(&document, "nvloom/latency_device process 3, memory of process 2")?, 811.4);
    assert_eq!((document.cases.len(), document.count(ImportedStatus::Waived)), (4 + 1 + 8 + 12, 1));
    assert!(document.cases.iter().all(|case| case.bytes.is_none_or(|bytes| bytes == 512 << 20)));
    assert!(
        document.notes.iter().any(|note| note.contains("a line of the launcher")),
        "{:?}",
        document.notes
    );

    // Version 1.0 prints no version, no size and no unit; a column is the source.
    let old = imported(Program::Nvloom, &["nvloom-1.0.txt"])?;
    assert_eq!((old.program_version.as_deref(), old.host.as_deref()), (None, Some("node1")));
    assert_eq!(figure(&old, "nvloom/device_to_device_unidir_read_ce process 0 -> process 1")?, 702.4e9);
    assert_eq!(figure(&old, "nvloom/device_to_device_bidir_write_ce process 1 <-> process 0")?, 1403.3e9);
    assert!(old.cases.iter().all(|case| case.bytes.is_none() && case.unit == ImportedUnit::BytesPerS));
    Ok(())
}

#[test]
fn osu_mbw_mr_is_the_sum_over_its_pairs_and_a_stray_line_costs_no_figure() -> Done {
    let document = imported(Program::Osu, &["osu_mbw_mr.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("7.4"));
    assert_eq!(figure(&document, "osu_mbw_mr/host/4194304 4 pairs")?, 96_240.31e6);
    assert_eq!((document.cases.len(), document.status), (3, Status::Complete));
    assert!(document.facts.iter().any(|fact| fact.name == "window size" && fact.value == "64"));
    assert!(document.notes.iter().any(|note| note.starts_with("line 7 is no line")), "{:?}", document.notes);

    let old = imported(Program::Osu, &["osu_mbw_mr-5.txt"])?;
    assert_eq!(figure(&old, "osu_mbw_mr/D-D/1048576 1 pair")?, 22_010.25e6);
    let varied =
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n# [ pairs: 2 ] [ window size: varied ]\n";
    assert!(
        refused(Program::Osu, varied)
            .starts_with("line 2: osu_mbw_mr of several window sizes is not read here")
    );
    Ok(())
}

#[test]
fn transferbenchs_all_to_all_is_each_pair_while_all_copy_and_the_sums_of_all() -> Done {
    let document = imported(Program::TransferBench, &["transferbench-a2a.txt"])?;
    assert_eq!(document.program_version.as_deref(), Some("1.50"));
    assert_eq!(figure(&document, "transferbench/a2a/67108864 GPU 1 -> GPU 2")?, 44.871e9);
    assert_eq!(figure(&document, "transferbench/a2a/sum timed by GPU/67108864 all pairs")?, 275.12e9);
    assert_eq!(document.cases.len(), 6 + 2);

    // A later version prints its transfers first, and the ring over network adapters as a column.
    let csv = imported(Program::TransferBench, &["transferbench-a2a.csv"])?;
    assert_eq!(figure(&csv, "transferbench/a2a/67108864 GPU 0 -> nearest NIC")?, 23.9e9);
    assert_eq!(figure(&csv, "transferbench/test 1/transfer 1/67108864 F1 -> G1:8 -> F0")?, 46.3e9);
    assert_eq!(csv.cases.len(), 5 + 4 + 2);
    assert!(csv.notes.is_empty(), "{:?}", csv.notes);
    Ok(())
}

#[test]
fn transferbenchs_scaling_is_a_rate_for_each_device_and_count_of_compute_units() -> Done {
    for name in ["transferbench-scaling.txt", "transferbench-scaling.csv"] {
        let document = imported(Program::TransferBench, &[name])?;
        assert_eq!(
            figure(&document, "transferbench/scaling/2 CUs/67108864 GPU 0 -> GPU 1")?,
            33.4e9,
            "{name}"
        );
        assert_eq!(
            figure(&document, "transferbench/scaling/1 CUs/67108864 GPU 0 -> CPU 0")?,
            14.1e9,
            "{name}"
        );
        assert_eq!(document.cases.len(), 9, "{name}");
    }
    Ok(())
}

#[test]
fn tables_of_transferbenchs_presets_that_end_early_or_are_damaged_are_refused_with_their_lines() -> Done {
    let all_to_all = String::from_utf8(output("transferbench-a2a.txt")?.bytes)?;
    let scaling = String::from_utf8(output("transferbench-scaling.txt")?.bytes)?;
    let before = |text: &str, end: &str| text.split(end).next().unwrap_or_default().to_owned();
    for (text, want) in [
        (
            before(&all_to_all, "GPU 02   45.996"),
            "line 8: the output ends in the middle: its table has 2 of 3 rows",
        ),
        (before(&all_to_all, "Summary"), "line 8: the output ends in the middle: its table has 0 of 0 rows"),
        (before(&scaling, "   1  "), "line 10: the output ends in the middle: its table has 0 of 1 rows"),
        (all_to_all.replace("44.871", "44,871"), "line 14: the row has 6 columns and its header 5"),
        (scaling.replace("  33.40", "    nan"), "line 15: \"nan\" stands where a rate in GB/s is to be"),
    ] {
        let said = refused(Program::TransferBench, &text);
        assert!(said.starts_with(want), "{said}\n  is not  {want}");
    }
    Ok(())
}
