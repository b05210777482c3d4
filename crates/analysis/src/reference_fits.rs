//! Which reference figures fit what a document measured. Pure: a document and figures to fits.
//!
//! Where nothing fits nothing is said: a figure fits by the GPU's whole name, its link, kind of memory,
//! direction, engine, size and, where the source tells it, near or far memory. Compared is the best place of
//! each GPU, alone: a far node's row of a matrix is no shortfall. Nothing is compared for simulated devices.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::case::Order;
use report::device::{Device, DeviceKind, name_on_node};
use report::rank::Locality;
use report::row::{Row, RowStatus};
use report::rows::rows_of;
use report::settings::{CopyEngine, Direction, Membind, MemoryKind};
use stats::interval::range;
use stats::units::size;

use crate::baseline::is_staged;
use crate::headline;
use crate::held_figure::HeldFigure;
use crate::model_answer::ModelAnswer;
use crate::reference::{FigureOrigin, Reference, plain_name};
use report::other_end::other_ends;

/// A source that does not tell the size of its copies is compared with copies from this size on, whose rate
/// is the link's.
const LARGE: u64 = 64 << 20;

/// A figure is worse than a range if it lies beyond its near end by more than this part: a range is the span
/// of a few machines, and a healthy GPU of another one lies outside of it more often than not (66 % of those
/// of one kind lay below a range of three machines; none by 3 %).
pub(crate) const MARGIN: f64 = 0.03;

/// A figure that fits what a document measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The direction, or what else was measured, as sentences name it.
    pub what: &'static str,
    /// The size of a copy, bytes.
    pub bytes: u64,
    /// What was measured: the least and the most over the GPUs, each at its best place.
    pub measured: (f64, f64),
    /// The figure.
    pub reference: Reference,
    /// GPUs that are surely worse than the range by more than the margin, and by which part of its near end.
    pub worse: Vec<(u32, f64)>,
}

/// Whether it is of such a case on such a GPU.
fn is_of(
    reference: &Reference,
    row: &Row,
    device: &Device,
    engine: CopyEngine,
    what: &str,
    is_staged: bool,
) -> bool {
    let memory = match row.memory {
        MemoryKind::Pinned | MemoryKind::PinnedDriver => "pinned",
        MemoryKind::Pageable => "pageable",
        MemoryKind::Device => "device",
        MemoryKind::Managed | MemoryKind::System | MemoryKind::Newer => return false,
    };
    let by = match engine {
        _ if what == "load" => "sm",
        CopyEngine::Ce => "ce",
        CopyEngine::Sm => "sm",
        CopyEngine::Tma => "tma",
        CopyEngine::Newer => return false,
    };
    let place = match row.locality {
        Locality::Remote | Locality::SamePackage => "far",
        Locality::Unknown => "-",
        _ => "near",
    };
    let link = match (reference.link.as_deref(), what) {
        (None, _) => true,
        // A document does not tell the link between two GPUs, but whether the driver goes around it.
        (Some(link), "peer") => (link == "staged") == is_staged,
        // A site's own line is of the GPU, in whatever slot its nodes have it.
        (Some(link), _) if reference.kind == FigureOrigin::Site => {
            [device.best_link(), device.link_of_copies()].iter().flatten().any(|own| own == link)
        }
        (Some(link), _) => device.link_of_copies().is_some_and(|own| own == link),
    };
    let is_large = what == "load" || row.bytes >= LARGE;
    let size = reference.sizes.as_ref().map_or(is_large, |sizes| sizes.contains(&row.bytes));

    (&reference.memory[..], &reference.what[..], &reference.by[..]) == (memory, what, by)
        && link
        && size
        && reference.place.as_deref().is_none_or(|own| own == place)
        && plain_name(&reference.gpu) == plain_name(&device.name)
}

/// The figures that fit what a document measured, of each direction, size and kind of memory the one that
/// fits best: the narrowest sizes first, then the site's own, published, own and reported ones.
pub fn fits<B>(document: &Document<B>, references: &[Reference]) -> Vec<Fit> {
    fits_of_host(document, None, references)
}

/// Whether the figures of a node are normal, or those of all where no host is given: an answer for each model
/// of GPU, none for simulated devices.
pub fn answer<B>(document: &Document<B>, host: Option<&str>, references: &[Reference]) -> Vec<ModelAnswer> {
    if document.platform.simulated.is_some() {
        return Vec::new();
    }
    let gpus = document.devices.iter().filter(|device| device.kind == DeviceKind::Gpu);
    let models: BTreeSet<&str> = gpus.map(|device| &device.name[..]).collect();
    if models.is_empty() {
        return vec![ModelAnswer::unknown("the document is of no GPU")];
    }

    let fits = fits_of_host(document, host, references);
    let by = match document.settings.engine {
        CopyEngine::Sm => "kernel",
        CopyEngine::Tma => "TMA",
        CopyEngine::Ce | CopyEngine::Newer => "copy engine",
    };
    let of_model = |model: &str| {
        let own = fits.iter().filter(|fit| plain_name(&fit.reference.gpu) == plain_name(model));
        ModelAnswer::of_figures(model, &own.map(|fit| held_figure(fit, by)).collect::<Vec<_>>())
    };
    models.into_iter().map(of_model).collect()
}

/// A fit as it is said with others.
fn held_figure<'f>(fit: &'f Fit, by: &str) -> HeldFigure<'f> {
    let by = if fit.reference.what == "load" { "kernel" } else { by };
    let worst = fit.worse.iter().map(|(_, part)| *part).reduce(f64::max);
    HeldFigure {
        what: format!("{} of {} by {by}", fit.what, size(fit.bytes)),
        measured: fit.measured,
        reference: &fit.reference,
        shortfall: worst,
    }
}

fn fits_of_host<B>(document: &Document<B>, host: Option<&str>, references: &[Reference]) -> Vec<Fit> {
    // Small pieces are no copies of their size; near and far are said of PUs, so memory asked for elsewhere
    // has no figure.
    let is_by_pus = document.settings.membind == Membind::Local;
    let are_of_links = document.figures().are_of_links();
    if document.platform.simulated.is_some() || !are_of_links || !is_by_pus || references.is_empty() {
        return Vec::new();
    }
    let devices: BTreeMap<&str, &Device> =
        document.devices.iter().map(|device| (&device.id[..], device)).collect();
    let others = other_ends(document);

    // By what, size and GPU: its best place, and the figure that fits that.
    let mut best: BTreeMap<(usize, u64, Gpu), (usize, &Row)> = BTreeMap::new();
    let rows = rows_of(document);

    for row in rows.iter().filter(|row| host.is_none_or(|host| row.host == host)) {
        let Some(device) = devices.get(&row.device[..]).filter(|device| device.kind == DeviceKind::Gpu)
        else {
            continue;
        };
        let is_alone = row.order == Order::Alone || document.ranks.len() == 1;
        if row.status != RowStatus::Measured || !is_alone || is_too_noisy(row) {
            continue;
        }
        let other = others.get(&row.rank).map(String::as_str);
        let Some(what) = what_of(row, device, other) else { continue };
        let is_staged = is_staged(document, row.rank);
        let fit = references
            .iter()
            .enumerate()
            .filter(|(_, one)| is_of(one, row, device, document.settings.engine, WHAT[what].0, is_staged))
            .min_by_key(|(_, one)| (one.place.is_none(), one.span(), one.kind));
        let Some((at, reference)) = fit else { continue };

        // A far place has another figure than a near one: the near one is what a GPU is told by.
        let kept = best.entry((what, row.bytes, (device.node, device.index))).or_insert((at, row));
        let by_place = nearness(reference).cmp(&nearness(&references[kept.0]));
        if by_place.then_with(|| compare(kept.1, row, reference.is_time)).is_lt() {
            *kept = (at, row);
        }
    }

    let mut found: BTreeMap<FigureKey, Vec<(u32, &Row)>> = BTreeMap::new();
    for ((what, bytes, (_, gpu)), (at, row)) in best {
        found.entry((what, bytes, at)).or_default().push((gpu, row));
    }
    let fit = |((what, bytes, at), rows): (FigureKey, Vec<(u32, &Row)>)| {
        let reference = references[at].clone();
        let measured = range(rows.iter().filter_map(|(_, row)| value(row, reference.is_time)))?;
        let worse = rows.iter().filter_map(|(gpu, row)| Some((*gpu, shortfall(row, &reference)?))).collect();
        Some(Fit { what: WHAT[what].1, bytes, measured, reference, worse })
    };
    let all: Vec<Fit> = found.into_iter().filter_map(fit).collect();

    // Of sizes that one figure fits the largest says it, and each that is worse.
    let is_said_by_a_larger_one = |at: usize, fit: &Fit| {
        all[at + 1..].iter().any(|other| (other.what, &other.reference) == (fit.what, &fit.reference))
    };
    let said = all
        .iter()
        .enumerate()
        .filter(|(at, fit)| !fit.worse.is_empty() || !is_said_by_a_larger_one(*at, fit));
    said.map(|(_, fit)| fit.clone()).collect()
}

/// What was measured, the size, and the number of the figure that it is held against.
type FigureKey = (usize, u64, usize);

/// A GPU by its node and its index there.
type Gpu = (u32, u32);

/// Orders figures by the place that they are of: near, one that the source does not tell, far.
fn nearness(reference: &Reference) -> u8 {
    match reference.place.as_deref() {
        Some("far") => 2,
        None => 1,
        Some(_) => 0,
    }
}

/// What is compared: as figures name it, and as sentences do.
const WHAT: [(&str, &str); 7] = [
    ("h2d", "H2D"),
    ("d2h", "D2H"),
    ("roundtrip", "roundtrip"),
    ("bidir", "bidir"),
    ("load", "load of host memory"),
    ("local", "copy within GPU memory"),
    ("peer", "GPU to GPU"),
];

fn what_of(row: &Row, device: &Device, other: Option<&str>) -> Option<usize> {
    let what = match row.direction {
        Direction::H2d => "h2d",
        Direction::D2h => "d2h",
        Direction::RoundTrip => "roundtrip",
        Direction::Bidirectional => "bidir",
        Direction::Load if row.memory != MemoryKind::Device => "load",
        Direction::Peer if other == Some(name_on_node(&device.id)) => "local",
        Direction::Peer if other.is_some() => "peer",
        _ => return None,
    };
    WHAT.iter().position(|(known, _)| *known == what)
}

fn value(row: &Row, is_time: bool) -> Option<f64> {
    if is_time { row.median_ns } else { row.median_bytes_per_s }
}

/// Whether its interval is too wide for the figure to be an answer: it says neither that it is normal nor
/// that it is not.
fn is_too_noisy(row: &Row) -> bool {
    let ends = row.median_low_ns.zip(row.median_high_ns).zip(row.median_ns);
    ends.is_some_and(|((low, high), middle)| !headline::is_known((high - low) / 2.0 / middle))
}

/// Less where the first row has the worse figure.
fn compare(row: &Row, with: &Row, is_time: bool) -> Ordering {
    let (one, other) = (value(row, is_time), value(with, is_time));
    if is_time { other.partial_cmp(&one) } else { one.partial_cmp(&other) }.unwrap_or(Ordering::Equal)
}

/// By which part of the range's near end a figure is worse, where the whole of its interval is by more than
/// the margin.
fn shortfall(row: &Row, reference: &Reference) -> Option<f64> {
    let median = value(row, reference.is_time)?;
    let middle = row.median_ns?;
    if reference.is_time {
        let best = row.median_low_ns.unwrap_or(middle);
        return (best > reference.range.1 * (1.0 + MARGIN)).then(|| median / reference.range.1 - 1.0);
    }
    let best = median * middle / row.median_low_ns.unwrap_or(middle);
    (best < reference.range.0 * (1.0 - MARGIN)).then(|| 1.0 - median / reference.range.0)
}

#[cfg(test)]
mod tests {
    use report::read::SavedDocument;

    use super::*;
    use crate::reference::known_figures;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// The models whose figures a document's are held against, each with its link.
    fn held(document: &Document) -> BTreeSet<(String, Option<String>)> {
        let fits = fits(document, &known_figures());
        fits.into_iter().map(|fit| (fit.reference.gpu, fit.reference.link)).collect()
    }

    #[test]
    fn each_model_of_a_document_has_figures_of_its_own() -> Outcome {
        let file = include_bytes!("../../../docs/gallery/eight-gpus.json");
        let mut document = Document::from_json(file)?;
        assert!(held(&document).is_empty(), "its GPUs are simulated");
        let real = Document::from_json(include_bytes!("../../../docs/gallery/suite.json"))?;
        document.platform.simulated = None;
        document.devices.iter_mut().for_each(|device| device.link = real.devices[0].link.clone());
        document.devices[1].name = "NVIDIA H200".to_owned();

        let models: BTreeSet<String> = held(&document).into_iter().map(|(gpu, _)| plain_name(&gpu)).collect();
        assert_eq!(models, BTreeSet::from(["h100 80gb hbm3".to_owned(), "h200".to_owned()]));
        Ok(())
    }

    #[test]
    fn a_gpu_in_a_slot_of_pcie_4_is_not_held_against_figures_of_pcie_5() -> Outcome {
        let mut document = Document::from_json(include_bytes!("../../../docs/gallery/suite.json"))?;
        let has_pcie_5 = |document: &Document| {
            held(document).iter().any(|(_, link)| link.as_deref() == Some("PCIe 5 x16"))
        };
        assert!(has_pcie_5(&document));
        document.devices[0].link.value.as_mut().ok_or("no link")?.slot_generation = Some(4);
        assert!(!has_pcie_5(&document));

        // What a site learned of its GPUs is of that slot.
        let site = known_figures().into_iter().map(|one| Reference { kind: FigureOrigin::Site, ..one });
        let of_site = fits(&document, &site.collect::<Vec<_>>());
        assert!(of_site.iter().any(|fit| fit.reference.link.as_deref() == Some("PCIe 5 x16")));
        Ok(())
    }
}
