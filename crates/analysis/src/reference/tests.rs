//! Lines of reference figures, read, written and made of a site's own.

use report::document::Tool;

use super::*;
use crate::baseline::Class;

#[test]
fn every_committed_figure_has_a_source_and_lies_within_its_bound() -> Result<(), NoReference> {
    // `parse` refuses a line without a source, above its bound, or with a bound that its link cannot
    // carry.
    let all = committed()?;
    assert!(all.len() > 40, "{}", all.len());
    for one in &all {
        assert_eq!(parse(&one.line())?, std::slice::from_ref(one), "a line is read as it is written");
        // What the developers measured is in this repository, is theirs, and counts its machines.
        let is_own = one.found_at.starts_with("docs/");
        assert_eq!((one.kind == FigureOrigin::Own, one.machines.is_some()), (is_own, is_own), "{one:?}");
    }
    Ok(())
}

fn normal(case: &str, locality: &str, link: Option<&str>, rate: f64, between: f64) -> Normal {
    let class = Class {
        gpu: "NVIDIA GH200 480GB".to_owned(),
        best_link: link.map(str::to_owned),
        cpu: None,
        locality: locality.to_owned(),
    };
    Normal {
        class,
        case: case.to_owned(),
        nodes: 5,
        gpus: 10,
        values: 10,
        median_bytes_per_s: rate,
        between,
        within: None,
        limit_bytes_per_s: rate / 2.0,
    }
}

#[test]
fn a_line_of_a_baseline_is_read_back_whatever_its_rate_and_link() -> Result<(), NoReference> {
    let cases = [
        ("alone/pinned/h2d/1048576", "numalocal"),
        ("alone/pageable/bidir/1000003", "remote"),
        ("alone/pinned-driver/d2h/536870912/sm", "unknown"),
        ("alone/device/d2d/536870912/within", "own memory"),
        ("alone/device/d2d/536870912/one-way", "peer, staged, two NUMA nodes"),
    ];
    let links = [None, Some("PCIe 5 x16"), Some("PCIe 5 x1"), Some("NVLink-C2C"), Some("one memory")];
    let mut random = stats::random::SplitMix64::new(1);
    for (case, locality) in cases {
        for link in links {
            for _ in 0..200 {
                let rate = 10_f64.powf(6.0 + 7.0 * random.uniform());
                let normal = normal(case, locality, link, rate, 0.2 * random.uniform());
                let tool = Tool { name: "numabench".into(), version: "1".into(), git: None };
                let baseline = Baseline {
                    schema: String::new(),
                    schema_version: String::new(),
                    tool,
                    documents: 5,
                    normals: vec![normal],
                    too_few: Vec::new(),
                    left_out: Vec::new(),
                    built_unlike: Vec::new(),
                };
                let [written] = &of_baseline(&baseline, "2026-11-24")[..] else { panic!("{case}") };
                let [read] = &parse(&written.line())?[..] else { panic!("{}", written.line()) };
                let whole = Reference { range: read.range, bound: read.bound, ..written.clone() };
                assert_eq!(*read, whole, "{}", written.line());
                assert!((read.range.0 / written.range.0 - 1.0).abs() < 0.05, "{}", written.line());
            }
        }
    }
    Ok(())
}

#[test]
fn what_a_link_carries_is_no_bound_of_what_goes_over_another() {
    let of = |normal: &Normal| {
        let tool = Tool { name: "numabench".into(), version: "1".into(), git: None };
        let baseline = Baseline {
            schema: String::new(),
            schema_version: String::new(),
            tool,
            documents: 5,
            normals: vec![normal.clone()],
            too_few: Vec::new(),
            left_out: Vec::new(),
            built_unlike: Vec::new(),
        };
        of_baseline(&baseline, "2026").pop().map(|one| (one.link, one.bound))
    };
    let h2d = |link, rate| normal("alone/pinned/h2d/536870912", "numalocal", link, rate, 0.01);
    let carried = of(&h2d(Some("PCIe 5 x16"), 55e9)).and_then(|(_, bound)| bound);
    assert_eq!(carried.map(|bound| (bound / 1e9).round()), Some(63.0));
    assert_eq!(of(&h2d(Some("PCIe 5 x1"), 400e9)), Some((None, None)), "not over that link");
    let within = normal("alone/device/d2d/536870912/within", "own memory", None, 1490e9, 0.01);
    assert_eq!(of(&within), Some((None, None)), "the highest figure is no bound");
    let managed = normal("alone/managed/h2d/536870912", "numalocal", None, 55e9, 0.01);
    assert_eq!(of(&managed), None, "lines have no such memory");
}

#[test]
fn a_line_without_a_source_or_above_its_bound_is_refused_by_its_number() {
    let line = "H200 | PCIe 5 x16 | pinned | h2d | ce | 512MiB | - | 55.0-55.6 GB/s | 63.0 | published | \
        3 | x | 2026 | y";
    let refused = |from: &str, to: &str| {
        parse(&format!("# one\n{}", line.replace(from, to))).err().map(|error| error.to_string())
    };
    assert_eq!(refused("none", "none"), None);

    for (from, to, why) in [
        ("| x |", "| - |", "has no source"),
        ("| y", "|", "has no source"),
        ("55.6 GB/s", "63.6 GB/s", "above their bound"),
        ("| 63.0 |", "| 70.0 |", "above the 63.0 GB/s of PCIe 5 x16"),
        ("| 63.0 |", "| - |", "needs the bound"),
        ("55.0-55.6", "55.6-55.0", "above the high end"),
        ("h2d", "h2h", "its what is \"h2h\""),
        ("h2d", "triad", "triad and cpu go together"),
        ("pinned", "host", "triad and cpu go together"),
        ("| 3 |", "| 0 |", "a number above 0"),
        ("| ce | 512MiB ", "", "12 parts"),
    ] {
        let said = refused(from, to).unwrap_or_default();
        assert!(said.starts_with("line 2 is no") && said.contains(why), "{why}: {said}");
    }
}
