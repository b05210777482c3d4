//! Which published figures fit a document: by the whole name of the GPU, its link, direction, engine, size
//! and kind of memory, and of several the best.

use analysis::baseline::{Baseline, has_near_memory, learn, values};
use analysis::reference::{FigureOrigin, Reference, of_baseline, parse};
use analysis::reference_answer::ReferenceAnswer;
use analysis::reference_fits::{answer, fits};
use report::Document;
use report::device::Coherence;
use report::document::Tool;
use report::rank::Locality;
use report::settings::{CopyEngine, Direction, Membind};

use crate::made::{Done, document};

const LINE: &str = "H200 | PCIe 5 x16 | pinned | h2d | ce | 128MiB | - | 54.0-55.6 GB/s | 63.0 | published | \
    - | x | 2026 | y";

fn references(lines: &[&str]) -> Result<Vec<Reference>, Box<dyn std::error::Error>> {
    Ok(parse(&lines.join("\n"))?)
}

/// Two H200s at 55 and 48 GB/s to the device.
fn measured() -> Result<Document, Box<dyn std::error::Error>> {
    let mut document = document(&[55e9, 48e9], &[Direction::H2d], 1)?;
    for row in &mut document.rows {
        row.order = report::case::Order::Alone;
    }
    Ok(document)
}

#[test]
fn a_figure_fits_by_all_its_parts_and_the_gpu_below_it_is_named_with_its_part() -> Done {
    let document = measured()?;
    let found = fits(&document, &references(&[LINE])?);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].what, found[0].bytes), ("H2D", 128 << 20));
    assert!(
        (found[0].measured.0 / 48e9 - 1.0).abs() < 0.01 && (found[0].measured.1 / 55e9 - 1.0).abs() < 0.01
    );
    let [(gpu, by)] = found[0].worse[..] else { return Err(format!("{:?}", found[0].worse).into()) };
    assert_eq!(gpu, document.devices[1].index);
    assert!((by - (1.0 - 48.0 / 54.0)).abs() < 0.01, "{by}");

    for (from, to) in [
        ("H200", "GH200"),
        ("H200", "H200 NVL"),
        ("PCIe 5 x16", "PCIe 4 x16"),
        ("pinned", "pageable"),
        ("h2d", "d2h"),
        ("| ce |", "| sm |"),
        ("128MiB", "512MiB"),
    ] {
        let other = LINE.replace(from, to).replace("54.0-55.6 GB/s | 63.0", "20.0-25.6 GB/s | 31.0");
        assert_eq!(fits(&document, &references(&[&other])?), [], "{from} as {to}");
    }
    // A range is the span of a few machines: another healthy one lies a little below it.
    let met_by = |low: &str| {
        Ok::<_, Box<dyn std::error::Error>>(
            fits(&document, &references(&[&LINE.replace("54.0", low)])?)[0].worse.len(),
        )
    };
    assert_eq!((met_by("49.0")?, met_by("50.0")?), (0, 1), "48 GB/s is 2 % below 49 and 4 % below 50");
    // A source that does not tell the size is compared with large copies.
    let any_size = LINE.replace("128MiB", "-");
    assert_eq!(fits(&document, &references(&[&any_size])?).len(), 1);
    // Of several sizes that it fits the largest says it, unless another one is worse.
    let mut sizes = document.clone();
    let larger = |row: &report::row::Row| report::row::Row { bytes: 4 * row.bytes, ..row.clone() };
    sizes.rows.extend(document.rows.iter().map(larger));
    let largest =
        |found: &[analysis::reference_fits::Fit]| found.iter().map(|fit| fit.bytes).collect::<Vec<_>>();
    assert_eq!(largest(&fits(&sizes, &references(&[&any_size])?)), [128 << 20, 512 << 20]);
    let met = any_size.replace("54.0-55.6", "40.0-55.6");
    assert_eq!(largest(&fits(&sizes, &references(&[&met])?)), [512 << 20]);
    let mut small = document.clone();
    small.rows.iter_mut().for_each(|row| row.bytes = 1 << 20);
    assert_eq!(fits(&small, &references(&[&any_size])?), []);
    Ok(())
}

#[test]
fn of_several_figures_the_narrowest_sizes_fit_then_the_sites_own_then_published_ones_then_reports() -> Done {
    let document = measured()?;
    let line = |size: &str, kind: &str| LINE.replace("128MiB", size).replace("published", kind);
    let kinds = ["report", "own", "published", "site"];
    let all: Vec<String> = kinds.iter().map(|kind| line("64MiB..256MiB", kind)).collect();
    let best = |lines: &[&str]| -> Result<(FigureOrigin, bool), Box<dyn std::error::Error>> {
        let found = fits(&document, &references(lines)?);
        let [one] = &found[..] else { return Err(format!("{found:?}").into()) };
        let only = one.reference.sizes.as_ref().is_some_and(|sizes| sizes.start() == sizes.end());
        Ok((one.reference.kind, only))
    };
    let lines: Vec<&str> = all.iter().map(String::as_str).collect();
    for (at, kind) in [FigureOrigin::Report, FigureOrigin::Own, FigureOrigin::Published, FigureOrigin::Site]
        .into_iter()
        .enumerate()
    {
        assert_eq!(best(&lines[..=at])?, (kind, false), "{:?}", &kinds[..=at]);
    }
    let narrow = line("128MiB", "report");
    assert_eq!(best(&[lines[3], &narrow])?, (FigureOrigin::Report, true));
    Ok(())
}

#[test]
fn nothing_is_compared_of_simulated_devices_ranks_at_once_or_another_engine() -> Done {
    let references = references(&[LINE])?;
    let mut simulated = measured()?;
    simulated.platform.simulated = Some("a stand-in".to_owned());
    assert_eq!(fits(&simulated, &references), []);
    let mut together = measured()?;
    together.rows.iter_mut().for_each(|row| row.order = report::case::Order::Simultaneous);
    assert_eq!(fits(&together, &references), []);
    let mut by_kernel = measured()?;
    by_kernel.settings.engine = CopyEngine::Sm;
    assert_eq!(fits(&by_kernel, &references), []);
    Ok(())
}

#[test]
fn each_model_of_gpu_and_each_gpu_of_another_place_is_held_against_its_own_figure() -> Done {
    let mut document = measured()?;
    let h100 = LINE.replace("H200", "H100 80GB HBM3").replace("54.0-55.6", "52.0-53.6");
    let with = references(&[LINE, &h100])?;
    document.devices[1].name = "NVIDIA H100 80GB HBM3".to_owned();
    let held = |document: &Document, with: &[Reference]| {
        let worse = |fit: &analysis::reference_fits::Fit| (fit.reference.gpu.clone(), fit.worse.len());
        fits(document, with).iter().map(worse).collect::<Vec<_>>()
    };
    assert_eq!(held(&document, &with), [("H200".to_owned(), 0), ("H100 80GB HBM3".to_owned(), 1)]);

    // One GPU is measured from near memory, the other one from far alone.
    let mut document = measured()?;
    let (near, far) = (LINE.replace("| - | 54", "| near | 54"), LINE.replace("| - | 54.0", "| far | 49.0"));
    let with = references(&[&near, &far])?;
    let other = document.devices[1].id.clone();
    for row in &mut document.rows {
        row.locality = if row.device == other { Locality::Remote } else { Locality::NumaLocal };
    }
    let places: Vec<Option<String>> =
        fits(&document, &with).into_iter().map(|fit| fit.reference.place).collect();
    assert_eq!(places, [Some("near".to_owned()), Some("far".to_owned())]);
    Ok(())
}

#[test]
fn a_baseline_tells_engines_links_and_memory_apart() -> Done {
    let document = measured()?;
    let cases =
        |document: &Document| values(document).into_iter().map(|value| value.case).collect::<Vec<_>>();
    let mut by_kernel = document.clone();
    by_kernel.settings.engine = CopyEngine::Sm;
    for (own, kernels) in cases(&document).iter().zip(cases(&by_kernel)) {
        assert_eq!(kernels, format!("{own}/sm"));
    }

    let mut coherent = document.clone();
    coherent.devices.iter_mut().for_each(|device| device.coherence = Some(Coherence::NvlinkC2c));
    let links: Vec<Option<String>> =
        values(&coherent).into_iter().map(|value| value.class.best_link).collect();
    assert_eq!(links, vec![Some("NVLink-C2C".to_owned()); 2], "its copies do not go over PCIe");

    let mut far = document.clone();
    far.settings.membind = Membind::Node { node: 1 };
    assert!(has_near_memory(&document).is_ok() && has_near_memory(&far).is_err());
    Ok(())
}

#[test]
fn what_a_baseline_learned_is_handed_in_as_lines_that_are_read_and_fit_what_they_are_of() -> Done {
    let tool = || Tool { name: "numabench".into(), version: "1.2.3".into(), git: None };
    let mut learned_from = Vec::new();
    for host in 0..4 {
        for rate in [54.8e9, 55.0e9] {
            let mut run = document(&[rate, rate * 1.002], &[Direction::H2d, Direction::D2h], host)?;
            run.cases.iter_mut().for_each(|case| case.order = report::case::Order::Alone);
            for case in &mut run.cases {
                case.id = report::case::Case::id_for(case.order, case.memory, case.direction, case.bytes);
            }
            let mut of_run = values(&run);
            of_run.iter_mut().for_each(|value| value.host = format!("n{host}"));
            learned_from.extend(of_run);
        }
    }
    let baseline: Baseline = learn(tool(), 8, &learned_from)?;
    let lines: Vec<String> = of_baseline(&baseline, "2026-11-25").iter().map(Reference::line).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let read = parse(&lines.join("\n"))?;
    for reference in &read {
        assert_eq!(
            (reference.kind, &reference.gpu[..], &reference.date[..]),
            (FigureOrigin::Site, "H200", "2026-11-25")
        );
        insta::assert_snapshot!("source_of_a_learned_figure", reference.source);
        let (low, high) = reference.range;
        assert!(low < 55e9 && high > 55e9 && high <= reference.bound.unwrap_or_default(), "{reference:?}");
    }
    let fitting = fits(&measured()?, &read);
    assert_eq!(fitting.len(), 1, "{fitting:?}");
    assert_eq!(fitting[0].worse.len(), 1, "48 of 55 GB/s");
    Ok(())
}

/// The answers to the two H200s, held against these figures.
fn answers(document: &Document, lines: &[&str]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    Ok(answer(document, None, &references(lines)?).into_iter().map(|answer| answer.text).collect())
}

#[test]
fn a_document_is_normal_or_low_or_has_no_figure_known_in_the_words_of_an_import() -> Done {
    let mut document = measured()?;
    assert_eq!(
        answers(&document, &[LINE])?,
        ["Low for NVIDIA H200: H2D of 128 MiB by copy engine is 11 % below what others have."]
    );
    assert_eq!(
        answers(&document, &[&LINE.replace("54.0", "47.0")])?,
        ["Normal for NVIDIA H200: 1 kind of figure held against figures of others."]
    );
    let unknown =
        ["No figure known to hold these against: `numabench reference` has none of NVIDIA H200 for them."];
    // H20 is another GPU, and so is GH200.
    for other in ["H20", "GH200", "H200 NVL"] {
        assert_eq!(answers(&document, &[&LINE.replace("H200", other)])?, unknown, "{other}");
    }

    // Of a node that has no figure none is known; of simulated devices nothing is said.
    assert_eq!(answer(&document, Some("another"), &references(&[LINE])?)[0].text, unknown[0]);
    document.platform.simulated = Some("a test".into());
    assert_eq!(answers(&document, &[LINE])?, [""; 0]);
    Ok(())
}

#[test]
fn reports_and_tables_of_nodes_hold_figures_against_the_known_ones() -> Done {
    const LOW: &str = "Low for NVIDIA H200: H2D of 128 MiB by copy engine is 12 % below what others have.";
    let document = measured()?;
    let page = render::html::page(&[("one.json".to_owned(), document.clone())]);
    assert!(page.contains(LOW) && page.contains("Usual causes: the link"), "{page}");

    let tool = Tool { name: "numabench".into(), version: "0.0.0".into(), git: None };
    let runs = analysis::node_run::of_document(&document);
    let host = runs[0].host.clone();
    let nodes = analysis::nodes::nodes(tool, [runs.clone(), runs].concat(), Vec::new());
    assert_eq!(nodes.reference, [ReferenceAnswer { of: vec![host.clone()], text: LOW.to_owned() }]);
    assert!(render::compared::nodes(&nodes, 200, false).contains(&format!("{host}: {LOW}")));
    assert!(render::html::nodes(&nodes, &[]).contains(LOW));
    Ok(())
}

#[test]
fn a_figure_too_noisy_to_be_one_is_neither_normal_nor_low() -> Done {
    let mut noisy = measured()?;
    for row in &mut noisy.rows {
        let middle = row.median_ns.ok_or("a time")?;
        (row.median_low_ns, row.median_high_ns) = (Some(middle / 2.0), Some(middle * 3.0));
    }
    assert_eq!(fits(&noisy, &references(&[LINE])?), []);
    Ok(())
}

#[test]
fn gpus_of_one_index_on_two_nodes_are_two() -> Done {
    let mut two = measured()?;
    two.devices[1].index = two.devices[0].index;
    two.devices[1].node = 1;
    assert_eq!(
        fits(&two, &references(&[LINE])?)[0].worse.len(),
        1,
        "the slower one is not hidden by the other"
    );
    Ok(())
}
