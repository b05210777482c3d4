//! Whether figures that another program printed are normal: held against reference figures of the GPU that
//! the output names. Pure.
//!
//! As with measurements (`reference_fits`) a figure decides nothing. The output names the GPU, and not its
//! link, so that of the figures of a GPU on several links each is taken for what it should reach; of a GPU
//! with near and far memory the near one. Where the output names no GPU or several models, or no figure is of
//! its GPU, way and size, it is said that none is known. The figures of `check --bandwidth` are held against
//! the same ones, by the link that it read too. A figure that counts both directions is held only against
//! figures that do; TransferBench's, of which the output names no GPU, against none. Some 560 lines because
//! the tests hold what is said of whole outputs against the figures beside it.

use std::collections::BTreeMap;

use report::ImportedDocument;
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};
use stats::interval::range;

use crate::gate::Checked;
use crate::held_figure::HeldFigure;
use crate::import::SIZE_NOT_READ;
use crate::model_answer::ModelAnswer;
use crate::reference::{Reference, plain_name};
use crate::reference_fits::MARGIN;

/// bandwidthTest's own size, in its later versions (32 MiB in earlier ones): the rate of pinned copies of
/// this size is within two per cent of the link's.
const LARGE: u64 = 32_000_000;

/// What a program copies where neither its output nor a command line above says the size; `None` where that
/// is not known.
///
/// - nvbandwidth: 64 MiB before version 0.7 and 512 MiB since (`defaultBufferSize` in its common.h).
/// - rocm_bandwidth_test: 64 MiB in its matrices (`BuildBufferList` in rocm_bandwidth_test_parse.cpp).
/// - p2pBandwidthLatencyTest: 40 or 160 MB by its age, or what `--numElems` says, and its output tells none
///   of it.
fn default_size(document: &ImportedDocument) -> Option<u64> {
    match &document.program[..] {
        "nvbandwidth" => {
            let version = document.program_version.as_deref()?.trim_start_matches('v');
            let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
            let version = (numbers.next()??, numbers.next()??);
            Some(if version < (0, 7) { 64 << 20 } else { 512 << 20 })
        }
        "rocm_bandwidth_test" => Some(64 << 20),
        _ => None,
    }
}

/// What a case measured, in the words of reference figures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    what: &'static str,
    by: &'static str,
    memory: &'static str,
}

/// Whether the figures are normal.
pub fn answer(document: &ImportedDocument, references: &[Reference]) -> ModelAnswer {
    if !document.cases.iter().any(|case| case.status == ImportedStatus::Measured) {
        return ModelAnswer::without_figures();
    }

    let models = models(document);
    let model = match &models[..] {
        [] if document.cases.iter().any(|case| case.id.starts_with("STREAM/")) => {
            return ModelAnswer::unknown(
                "STREAM's output names no CPU; `numabench reference` lists triads of some",
            );
        }
        [] => return ModelAnswer::unknown("the output names no GPU"),
        [model] => model,
        several => {
            let names = several.join(", ");
            return ModelAnswer::unknown(&format!("the output is of several models ({names})"));
        }
    };
    answer_of(&GpuModel { name: model, link: None }, by_way(document), references, &document.program)
}

/// The same of what `check --bandwidth` measured, a model of GPU after the other.
pub fn answer_of_checked(checked: &Checked, references: &[Reference]) -> Vec<ModelAnswer> {
    if checked.simulated.is_some() {
        return Vec::new();
    }
    let mut models: BTreeMap<(&str, Option<&str>), BTreeMap<Way, Figures<'_>>> = BTreeMap::new();
    for figure in &checked.figures {
        let class = &figure.class;
        let Some((way, bytes)) = checked_way(&figure.case) else { continue };
        let kept =
            Figure { gpu: &figure.device, value: figure.bytes_per_s, bytes: Some(bytes), is_time: false };
        let ways = models.entry((&class.gpu, class.best_link.as_deref())).or_default();
        ways.entry(way).or_default().push(kept);
    }
    let one = |((name, link), ways)| answer_of(&GpuModel { name, link }, ways, references, "numabench");
    models.into_iter().map(one).collect()
}

/// The way and size of a case of `check --bandwidth`: `alone/pinned/h2d/67108864`, with `within` or `one-way`
/// behind copies between GPUs.
fn checked_way(case: &str) -> Option<(Way, u64)> {
    let parts: Vec<&str> = case.split('/').collect();
    let ["alone", memory, direction, bytes, rest @ ..] = &parts[..] else { return None };
    let (what, memory) = match (*direction, rest) {
        ("h2d", []) => ("h2d", *memory),
        ("d2h", []) => ("d2h", *memory),
        ("d2d", ["within"]) => ("local", "device"),
        ("d2d", ["one-way"]) => ("peer", "device"),
        _ => return None,
    };

    let memory = match memory {
        "pinned" | "pinned-driver" => "pinned",
        "pageable" => "pageable",
        "device" => "device",
        _ => return None,
    };
    Some((Way { what, by: "ce", memory }, bytes.parse().ok()?))
}

/// A model of GPU; its link to the host where that is known.
struct GpuModel<'m> {
    name: &'m str,
    link: Option<&'m str>,
}

/// The answer for the GPUs of one model.
fn answer_of(
    model: &GpuModel<'_>,
    ways: BTreeMap<Way, Figures<'_>>,
    references: &[Reference],
    program: &str,
) -> ModelAnswer {
    let has_link = |one: &&Reference| {
        let is_to_host = !matches!(&one.what[..], "local" | "peer");
        model.link.is_none() || one.link.is_none() || !is_to_host || one.link.as_deref() == model.link
    };
    let own = references.iter().filter(|one| plain_name(&one.gpu) == plain_name(model.name));
    let own: Vec<&Reference> = own.filter(has_link).collect();
    let held = ways.into_iter().filter_map(|(way, figures)| held_figure(&own, &way, &figures, program));
    ModelAnswer::of_figures(model.name, &held.collect::<Vec<_>>())
}

/// The figures of one way, held against the reference figure that fits them best.
fn held_figure<'r>(
    own: &[&'r Reference],
    way: &Way,
    figures: &[Figure<'_>],
    program: &str,
) -> Option<HeldFigure<'r>> {
    let reference = best(own, way, figures, program)?;
    let measured = range(best_of_each_gpu(figures, reference.is_time))?;

    let (low, high) = reference.range;
    let shortfall = if reference.is_time { measured.1 / high - 1.0 } else { 1.0 - measured.0 / low };
    let what = format!("{} by {}", way.what_word(), way.by_word());
    Some(HeldFigure { what, measured, reference, shortfall: Some(shortfall).filter(|part| *part > MARGIN) })
}

impl Way {
    fn what_word(&self) -> &'static str {
        match self.what {
            "h2d" => "H2D",
            "d2h" => "D2H",
            "bidir" => "bidirectional copies",
            "local" => "copy within GPU memory",
            "peer" => "GPU to GPU",
            "load" => "load of host memory",
            other => other,
        }
    }

    fn by_word(&self) -> &'static str {
        if self.by == "sm" { "kernel" } else { "copy engine" }
    }
}

/// The GPU models that the output names, each once.
fn models(document: &ImportedDocument) -> Vec<String> {
    let facts = document.facts.iter().filter(|fact| ["gpu", "gpus", "GPU model"].contains(&&fact.name[..]));
    let mut models: Vec<String> = facts.flat_map(|fact| fact.value.split(", ").map(str::to_owned)).collect();
    // rocm_bandwidth_test numbers CPUs and GPUs as devices.
    let devices = document.facts.iter().filter(|fact| fact.name == "devices");
    let names =
        devices.flat_map(|fact| fact.value.split(", ")).filter_map(|one| Some(one.split_once(' ')?.1));
    models.extend(names.filter(|name| is_amd_gpu(name)).map(str::to_owned));
    models.sort();
    models.dedup();
    models
}

/// Whether a device of rocm_bandwidth_test is a GPU, by its name.
fn is_amd_gpu(name: &str) -> bool {
    ["Instinct", "Radeon", "Vega"].iter().any(|word| name.contains(word))
}

/// A figure that is held against reference figures.
struct Figure<'d> {
    /// The GPU that it is of, or what stands for it.
    gpu: &'d str,
    value: f64,
    bytes: Option<u64>,
    is_time: bool,
}

/// The figures of one way.
type Figures<'d> = Vec<Figure<'d>>;

/// The measured cases by what they measured.
fn by_way(document: &ImportedDocument) -> BTreeMap<Way, Figures<'_>> {
    let mut ways: BTreeMap<Way, Figures<'_>> = BTreeMap::new();
    let default = default_size(document);
    let is_size_unread = document.facts.iter().any(|fact| fact.name == SIZE_NOT_READ);
    for case in document.cases.iter().filter(|case| case.status == ImportedStatus::Measured) {
        let way = nvbandwidth(case)
            .or_else(|| bandwidth_test(case))
            .or_else(|| p2p_matrix(case))
            .or_else(|| rocm_bandwidth_test(case));
        let is_large = case.bytes.is_none_or(|bytes| bytes >= LARGE);
        let is_time = case.unit == ImportedUnit::Ns;
        let is_of_any_size = is_size_unread && case.bytes.is_none() && !is_time;
        if let (Some((way, gpu)), Some(value), true, false) = (way, case.value, is_large, is_of_any_size) {
            ways.entry(way).or_default().push(Figure { gpu, value, bytes: case.bytes.or(default), is_time });
        }
    }

    ways
}

/// A test of nvbandwidth, whose figures are a matrix; of bidirectional tests it prints one direction.
fn nvbandwidth(case: &ImportedCase) -> Option<(Way, &str)> {
    let test = case.id.strip_prefix("nvbandwidth/")?;
    let by = if test.ends_with("_sm") { "sm" } else { "ce" };
    let (what, memory) = match test {
        "host_to_device_memcpy_ce" | "host_to_device_memcpy_sm" => ("h2d", "pinned"),
        "device_to_host_memcpy_ce" | "device_to_host_memcpy_sm" => ("d2h", "pinned"),
        "device_local_copy" => ("local", "device"),
        "host_device_latency_sm" => ("load", "pinned"),
        "device_to_device_memcpy_read_ce"
        | "device_to_device_memcpy_write_ce"
        | "device_to_device_memcpy_read_sm"
        | "device_to_device_memcpy_write_sm" => ("peer", "device"),
        _ => return None,
    };
    let is_matrix = case.place.contains("GPU") || case.place.contains("CPU");
    is_matrix.then_some((Way { what, by, memory }, &case.place))
}

/// A table of bandwidthTest, of one device; its device-to-device copies count each byte twice and are held
/// against none.
fn bandwidth_test(case: &ImportedCase) -> Option<(Way, &str)> {
    let mut parts = case.id.strip_prefix("bandwidthTest/")?.split('/');
    let what = match parts.next()? {
        "host-to-device" => "h2d",
        "device-to-host" => "d2h",
        _ => return None,
    };
    let memory = match parts.next()? {
        "pinned" => "pinned",
        "pageable" => "pageable",
        _ => return None,
    };
    (case.place == "1 device").then_some((Way { what, by: "ce", memory }, "1 device"))
}

/// p2pBandwidthLatencyTest's matrix of one direction with peer access.
fn p2p_matrix(case: &ImportedCase) -> Option<(Way, &str)> {
    let kind = case.id.strip_prefix("p2pBandwidthLatencyTest/bandwidth/p2p/")?;
    let is_one_way = ["writes", "reads", "unknown direction"].contains(&kind);
    is_one_way.then_some((Way { what: "peer", by: "ce", memory: "device" }, &case.place))
}

/// A copy between a CPU and a GPU, or two GPUs. Of several CPUs the best counts for a GPU: which is near, the
/// output does not say.
fn rocm_bandwidth_test(case: &ImportedCase) -> Option<(Way, &str)> {
    let kind = case.id.strip_prefix("rocm_bandwidth_test/")?;
    let (from, to) = case.place.split_once(" -> ").or_else(|| case.place.split_once(" <-> "))?;
    let (what, memory, gpu) = match (kind, is_amd_gpu(from), is_amd_gpu(to)) {
        ("unidirectional", false, true) => ("h2d", "pinned", to),
        ("unidirectional", true, false) => ("d2h", "pinned", from),
        ("unidirectional", true, true) => ("peer", "device", &case.place[..]),
        ("bidirectional, both together", false, true) => ("bidir", "pinned", to),
        _ => return None,
    };
    Some((Way { what, by: "ce", memory }, gpu))
}

/// The figure that these cases are held against: of near memory before one that does not tell, then of the
/// same program, which copies alike, then of the narrowest sizes, then by whose it is.
fn best<'r>(
    own: &[&'r Reference],
    way: &Way,
    figures: &[Figure<'_>],
    program: &str,
) -> Option<&'r Reference> {
    let is_time = figures.iter().any(|figure| figure.is_time);
    let has_size = |one: &Reference| {
        let bytes = figures.iter().filter_map(|figure| figure.bytes).max();
        one.sizes.as_ref().is_none_or(|sizes| bytes.is_some_and(|bytes| sizes.contains(&bytes)))
    };
    let fits = own.iter().filter(|one| {
        (&one.what[..], &one.by[..], &one.memory[..]) == (way.what, way.by, way.memory)
            && one.is_time == is_time
            && one.place.as_deref() != Some("far")
            && one.link.as_deref() != Some("staged")
            && has_size(one)
    });
    fits.min_by_key(|one| (one.place.is_none(), !one.source.contains(program), one.span(), one.kind)).copied()
}

/// The best figure of each GPU.
fn best_of_each_gpu(figures: &[Figure<'_>], is_time: bool) -> Vec<f64> {
    let mut of_gpu: BTreeMap<&str, f64> = BTreeMap::new();
    for Figure { gpu, value, .. } in figures {
        let kept = of_gpu.entry(gpu).or_insert(*value);
        *kept = if is_time { kept.min(*value) } else { kept.max(*value) };
    }
    of_gpu.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{About, Program, ProgramOutput, import};
    use crate::model_answer::sentences;
    use crate::reference::{known_figures, parse};
    use report::document::Tool;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const FIGURES: &str = "H200 | PCIe 5 x16 | pinned | h2d | ce | 512MiB | - | 55.0-55.6 GB/s | 63.0 | \
        published | 3 | a | 2026 | b\n\
        P100-PCIE-16GB | PCIe 3 x16 | pinned | h2d | ce | - | near | 12.1-12.2 GB/s | 15.8 | report | - | a \
        | 2026 | b\n\
        P100-PCIE-16GB | PCIe 3 x16 | pinned | h2d | ce | - | far | 3.7-3.8 GB/s | 15.8 | report | - | a | \
        2026 | b\n\
        MI210 | PCIe 4 x16 | pinned | h2d | ce | - | - | 28-28 GB/s | 31.5 | report | - | a | 2026 | b\n";

    fn about() -> About {
        About {
            tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
            argv: Vec::new(),
            started_at: ("2026-11-22T14:01:28Z".to_owned(), "a test".to_owned()),
            host: None,
        }
    }

    fn answer_to(program: Program, text: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let output = ProgramOutput { name: "out.txt".to_owned(), bytes: text.as_bytes().to_vec() };
        let document =
            import(program, &[output], about()).map_err(|(name, error)| format!("{name}: {error}"))?;
        Ok(sentences(vec![answer(&document, &parse(FIGURES)?)]))
    }

    fn nvbandwidth(gpu: &str, rate: f64) -> String {
        format!(
            "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\n\
             Device 0: NVIDIA {gpu} (00000000:99:00)\n\nRunning host_to_device_memcpy_ce.\n\
             memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     {rate:.2}\n\n\
             SUM host_to_device_memcpy_ce {rate:.2}\n"
        )
    }

    #[test]
    fn a_rate_in_the_range_is_normal_and_one_below_it_is_low_with_its_causes() -> Outcome {
        let normal = answer_to(Program::Nvbandwidth, &nvbandwidth("H200", 55.3))?;
        assert_eq!(normal[0], "Normal for NVIDIA H200: 1 kind of figure held against figures of others.");
        assert!(normal[1].contains("known for H200 on PCIe 5 x16: 55.0"), "{normal:?}");
        let low = answer_to(Program::Nvbandwidth, &nvbandwidth("H200", 27.5))?;
        assert_eq!(low[0], "Low for NVIDIA H200: H2D by copy engine is 50 % below what others have.");
        assert!(low[1].contains("Usual causes: the link's width and generation"), "{low:?}");
        // Three per cent are what machines differ by.
        assert!(answer_to(Program::Nvbandwidth, &nvbandwidth("H200", 53.5))?[0].starts_with("Normal"));
        assert!(answer_to(Program::Nvbandwidth, &nvbandwidth("H200", 53.0))?[0].starts_with("Low"));
        Ok(())
    }

    #[test]
    fn an_output_without_any_figure_is_said_to_have_none() -> Outcome {
        let failed = nvbandwidth("H200", 55.3).replace("memcpy CE", "ERROR: out of memory\nmemcpy CE");
        let begin = failed.split("memcpy CE").next().unwrap_or_default();
        let said = answer_to(Program::Nvbandwidth, begin)?;
        assert_eq!(said, ["No figure: the output has none that was measured."]);
        Ok(())
    }

    #[test]
    fn another_gpu_has_no_figure_and_is_not_taken_for_one_with_a_longer_name() -> Outcome {
        let unknown = answer_to(Program::Nvbandwidth, &nvbandwidth("H20", 55.3))?;
        assert_eq!(unknown.len(), 1);
        assert!(unknown[0].starts_with("No figure known to hold these against: "), "{unknown:?}");
        let stream = "Function    Best Rate MB/s  Avg time     Min time     Max time\n\
            Copy:           100000.0     0.1     0.1     0.1\n\
            Scale:          100000.0     0.1     0.1     0.1\n\
            Add:            100000.0     0.1     0.1     0.1\n\
            Triad:          100000.0     0.1     0.1     0.1\n";
        let nameless = answer_to(Program::Stream, stream)?;
        let why = "STREAM's output names no CPU; `numabench reference` lists triads of some";
        assert_eq!(nameless, [format!("No figure known to hold these against: {why}.")]);
        Ok(())
    }

    #[test]
    fn no_known_figure_is_taken_for_one_of_a_gpu_whose_name_is_longer_or_shorter() -> Outcome {
        let about = |gpu: &str| {
            let figures = [Figure { gpu: "GPU 0", value: 55e9, bytes: Some(512 << 20), is_time: false }];
            let ways =
                [(Way { what: "h2d", by: "ce", memory: "pinned" }, figures.into())].into_iter().collect();
            answer_of(&GpuModel { name: gpu, link: None }, ways, &known_figures(), "nvbandwidth").text
        };
        for other in
            ["H20", "H20-3e", "H200 NVL", "GH200", "H100 PCIe", "H100 NVL", "A100-SXM4-80GB", "MI30", "A100"]
        {
            assert!(about(&format!("NVIDIA {other}")).starts_with("No figure known"), "{other}");
        }
        assert!(about("NVIDIA H200").starts_with("Normal for"));
        Ok(())
    }

    #[test]
    fn bandwidth_test_is_held_at_its_own_size_in_its_earlier_and_its_later_versions() -> Outcome {
        let text = |size: u32, unit: &str, rate: &str| {
            format!(
                "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: NVIDIA H200\n Quick Mode\n\
                 \n Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size \
                 (Bytes)\tBandwidth({unit})\n   {size}\t\t\t{rate}\n\nResult = PASS\n"
            )
        };
        let figures = FIGURES.replace("512MiB", "-");
        for text in [text(33_554_432, "MB/s", "52800.0"), text(32_000_000, "GB/s", "55.3")] {
            let output = ProgramOutput { name: "out.txt".to_owned(), bytes: text.as_bytes().to_vec() };
            let document = import(Program::BandwidthTest, &[output], about()).map_err(|(_, error)| error)?;
            let said = answer(&document, &parse(&figures)?);
            assert!(said.text.starts_with("Normal for NVIDIA H200"), "{}: {text}", said.text);
        }
        Ok(())
    }

    #[test]
    fn a_figure_of_another_size_is_not_taken_for_that_of_a_size_that_is_not_said() -> Outcome {
        let of = |size: &str, rate: &str| {
            format!(
                "A100-SXM4-40GB | PCIe 4 x16 | pinned | h2d | sm | {size} | - | {rate} GB/s | 31.5 | report \
                 | - | nvbandwidth | 2025 | b\n"
            )
        };
        let figures = parse(&(of("512MiB..1GiB", "25.1-25.2") + &of("20GiB", "16.5-16.5")))?;
        let said = |command: &str, rate: &str| -> Result<String, Box<dyn std::error::Error>> {
            let text = format!(
                "{command}\nnvbandwidth Version: v0.8\n\nDevice 0: NVIDIA A100-SXM4-40GB (00000000:99:00)\n\n\
                 Running host_to_device_memcpy_sm.\nmemcpy SM CPU(row) -> GPU(column) bandwidth \
                 (GB/s)\n           0\n 0     {rate}\n\nSUM host_to_device_memcpy_sm {rate}\n"
            );
            let output = ProgramOutput { name: "out.txt".to_owned(), bytes: text.into_bytes() };
            let document = import(Program::Nvbandwidth, &[output], about()).map_err(|(_, error)| error)?;
            Ok(answer(&document, &figures).text)
        };

        for (command, rate, begin) in [
            ("", "25.13", "Normal"),
            ("", "16.60", "Low"),
            ("$ ./nvbandwidth -t host_to_device_memcpy_sm -b 20480", "16.50", "Normal"),
            ("$ ./nvbandwidth -t 16 --bufferSize 4096", "18.05", "No figure known"),
            ("$ ./nvbandwidth -t 16 -b $SIZE", "25.13", "No figure known"),
        ] {
            let said = said(command, rate)?;
            assert!(said.starts_with(begin), "{command} {rate}: {said}");
        }
        Ok(())
    }

    #[test]
    fn each_program_has_its_own_default_size_and_one_that_is_not_known_fits_no_figure_of_a_size() -> Outcome {
        let nvbandwidth_of = |version: &str| {
            answer_to(Program::Nvbandwidth, &nvbandwidth("H200", 55.3).replace("v0.8", version))
        };
        assert!(nvbandwidth_of("v0.8")?[0].starts_with("Normal"));
        assert!(nvbandwidth_of("0.10")?[0].starts_with("Normal"), "0.10 is later than 0.7");
        assert!(nvbandwidth_of("v0.6")?[0].starts_with("No figure known"), "0.6 copies 64 MiB");

        let p2p = |size: &str| -> Result<String, Box<dyn std::error::Error>> {
            let text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n\
                Device: 0, NVIDIA H200, pciBusID: 3, pciDeviceID: 0, pciDomainID:0\n\
                Device: 1, NVIDIA H200, pciBusID: 4, pciDeviceID: 0, pciDomainID:0\n\
                Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n     \
                0 4000.00 395.00 \n     1 395.00 4000.00 \n";
            let figures = format!(
                "H200 | NVLink 18 | device | peer | ce | {size} | - | 393.7-396.5 GB/s | 450 | own | 2 | a | \
                 2026 | b\n"
            );
            let output = ProgramOutput { name: "out.txt".to_owned(), bytes: text.into() };
            let document = import(Program::P2pMatrix, &[output], about()).map_err(|(_, error)| error)?;
            Ok(answer(&document, &parse(&figures)?).text)
        };
        assert!(p2p("512MiB")?.starts_with("No figure known"), "{}", p2p("512MiB")?);
        assert!(p2p("-")?.starts_with("Normal"), "{}", p2p("-")?);
        Ok(())
    }

    #[test]
    fn near_memory_is_what_a_gpu_is_held_against_and_a_far_one_is_low() -> Outcome {
        let text = |rate: f64| {
            format!(
                "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\
                 \n Device 0: Tesla P100-PCIE-16GB\n Quick Mode\n\
                 \n Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size \
                 (Bytes)\tBandwidth(MB/s)\n   33554432\t\t\t{rate:.1}\n\nResult = PASS\n"
            )
        };

        assert!(
            answer_to(Program::BandwidthTest, &text(12150.7))?[0]
                .starts_with("Normal for Tesla P100-PCIE-16GB")
        );
        assert!(
            answer_to(Program::BandwidthTest, &text(3783.4))?[0]
                .starts_with("Low for Tesla P100-PCIE-16GB: H2D")
        );
        Ok(())
    }

    #[test]
    fn a_figure_of_the_same_program_counts_before_one_of_another() -> Outcome {
        let both = format!(
            "{FIGURES}H200 | PCIe 5 x16 | pinned | h2d | ce | - | - | 40-41 GB/s | 63.0 | report | - | \
             nvbandwidth 0.8 | 2026 | b\n"
        );
        let references = parse(&both)?;
        let own: Vec<&Reference> = references.iter().filter(|one| one.gpu == "H200").collect();
        let way = Way { what: "h2d", by: "ce", memory: "pinned" };
        let figures = [Figure { gpu: "GPU 0", value: 55e9, bytes: Some(512 << 20), is_time: false }];
        let of = |program: &str| best(&own, &way, &figures, program).map(|one| one.source.clone());
        assert_eq!(of("nvbandwidth").as_deref(), Some("nvbandwidth 0.8"));
        assert_eq!(of("another").as_deref(), Some("a"));
        Ok(())
    }

    #[test]
    fn a_case_of_the_check_is_held_by_its_way_and_its_link() -> Outcome {
        let h2d = || Way { what: "h2d", by: "ce", memory: "pinned" };
        assert_eq!(checked_way("alone/pinned/h2d/536870912"), Some((h2d(), 512 << 20)));
        assert_eq!(checked_way("alone/device/d2d/1048576/within").map(|(way, _)| way.what), Some("local"));
        assert_eq!(checked_way("at-once/pinned/h2d/1048576"), None);
        let references = parse(FIGURES)?;
        let answer = |link: &str, rate: f64| {
            let figure = Figure { gpu: "GPU 0", value: rate, bytes: Some(512 << 20), is_time: false };
            let model = GpuModel { name: "NVIDIA H200", link: Some(link) };
            answer_of(&model, [(h2d(), vec![figure])].into_iter().collect(), &references, "numabench").text
        };
        assert!(answer("PCIe 5 x16", 40e9).starts_with("Low for NVIDIA H200: H2D"));
        assert!(answer("PCIe 5 x16", 55e9).starts_with("Normal for NVIDIA H200"));
        assert!(
            answer("PCIe 4 x16", 25e9).starts_with("No figure known"),
            "a narrower slot is another machine"
        );

        Ok(())
    }

    #[test]
    fn of_several_cpus_the_best_counts_for_each_gpu() -> Outcome {
        let text = "          RocmBandwidthTest Version: 2.6.0\n          Device: 0,  AMD EPYC \
            9554\n          Device: 1,  AMD EPYC 9554\n          Device: 2,  AMD Instinct MI210,  GPU-0,  \
            05:0.0\n          Unidirectional copy peak bandwidth GB/s\n          D/D       0           \
            1           2\n          0         N/A         N/A         20.0\n          1         N/A         \
            N/A         28.1\n          2         28.0        28.0        500.0\n";
        let found = answer_to(Program::RocmBandwidthTest, text)?;
        assert_eq!(
            found[0],
            "Normal for AMD Instinct MI210: 1 kind of figure held against figures of others."
        );
        assert!(found[1].starts_with("H2D by copy engine 28.1 GB/s"), "{found:?}");
        Ok(())
    }
}
