//! Links between GPUs that are not PCIe (NVLink, xGMI): the GPUs on a ring, a line a link, and beside it the
//! same in words.
//!
//! Lines across the whole picture would cross everything; on a ring each can be followed. Where every two
//! GPUs are linked alike, as through switches, a sentence says so, and no line is drawn. GPUs that reach each
//! other over others have no line either: the links on the way have theirs.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use stats::IdSet;
use stats::units::rate;

use super::block::{Block, Grid, Line, Panel, Size, Wire};
use super::look::Look;
use super::text_metrics::Font;
use crate::interconnect::Fabric;
use crate::model::Gpu;
use crate::survey::Survey;
use crate::text::layout::ids;

/// A link between two GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GpuLink {
    /// The GPUs, by index.
    pub(super) gpus: (u32, u32),
    /// What it is, as the field writes it: `NV4`, `XGMI`. Links with the same words are drawn alike.
    pub(super) words: String,
    /// What it carries in one direction, bytes/s, where somebody says it; the more, the thicker its line.
    pub(super) bytes_per_s: Option<u64>,
}

/// The links that the survey knows.
pub(super) fn known(survey: &Survey) -> Vec<GpuLink> {
    let interconnect = &survey.interconnect;
    let row = |gpu: &Gpu| interconnect.devices.iter().position(|device| device.pci == gpu.pci);
    let rows: Vec<(u32, usize)> =
        survey.topology.gpus.iter().filter_map(|gpu| Some((gpu.index, row(gpu)?))).collect();
    let mut links = Vec::new();

    for (at, (one, row)) in rows.iter().enumerate() {
        for (other, column) in &rows[at + 1..] {
            let fabric = interconnect.between(*row, *column).and_then(|pair| pair.fabric);
            let said = fabric.and_then(label_and_rate);
            links.extend(said.map(|(words, bytes_per_s)| GpuLink {
                gpus: (*one, *other),
                words,
                bytes_per_s,
            }));
        }
    }
    links
}

/// `None` for what is not one link.
fn label_and_rate(fabric: Fabric) -> Option<(String, Option<u64>)> {
    let with_rate = |name: &str, bytes_per_s: Option<u64>| match bytes_per_s {
        Some(bytes_per_s) => format!("{name}, {} in each direction", rate(bytes_per_s as f64)),
        None => name.to_owned(),
    };
    match fabric {
        Fabric::Nvlink { links: Some(links), bytes_per_s } => {
            Some((with_rate(&format!("NV{links}"), bytes_per_s), bytes_per_s.or(Some(links.into()))))
        }
        Fabric::Nvlink { links: None, bytes_per_s } => Some((with_rate("NVLink", bytes_per_s), bytes_per_s)),
        Fabric::Xgmi { hops: Some(2..), .. } => None,
        Fabric::Xgmi { most_bytes_per_s, .. } => {
            Some((with_rate("XGMI", most_bytes_per_s), most_bytes_per_s))
        }
    }
}

/// Why links that the GPUs may have are not drawn; nothing where they are, and for a single GPU.
pub(super) fn unknown(survey: &Survey) -> Vec<String> {
    let (gpus, interconnect) = (survey.topology.gpus.len(), &survey.interconnect);
    let told = [("NVLink", &interconnect.nvlink), ("XGMI", &interconnect.xgmi)];
    let reasons = told.into_iter().filter_map(|(name, told)| Some((name, told.as_ref()?.reason.as_ref()?)));
    reasons.filter(|_| gpus > 1).map(|(name, reason)| format!("{name} is not known: {reason}")).collect()
}

/// GPUs by index, two and two, the lower first.
type Pairs = Vec<(u32, u32)>;

/// A GPU on the ring, px.
const CHIP: Size = Size { width: 58, height: 22 };
/// The ring's half axes at least, and for each GPU, px: chips on it do not touch.
const LEAST: (f64, f64) = (110.0, 85.0);
const PER_GPU: (f64, f64) = (18.0, 12.0);
/// The sample of a line beside its words, px.
const SAMPLE: Size = Size { width: 40, height: 18 };
/// The room for a list of pairs, px.
const WORDS: i32 = 360;

/// A box with the links; `None` where there are none.
pub(super) fn block(links: &[GpuLink]) -> Option<Block> {
    let gpus: Vec<u32> =
        links.iter().flat_map(|link| [link.gpus.0, link.gpus.1]).collect::<IdSet>().iter().collect();
    let kinds = kinds(links);
    let heading = Line::new(Font::HEADING, "Links between GPUs");
    let block = Block::new(Look::Links, "links between GPUs", vec![heading]);
    match (&kinds[..], gpus.len()) {
        ([], _) => None,
        ([only], all) if all > 2 && only.1.len() == all * (all - 1) / 2 => {
            let which = ids(&gpus.into_iter().collect());
            let words = Line::new(Font::BODY, format!("every two of GPUs {which}: {}", only.0));
            let words = Block::new(Look::Unseen, "", vec![words]).spaced(0, 0);
            Some(block.with(Panel::new(Grid::Stacked, 0, vec![words])))
        }
        _ => Some(block.with(Panel::new(Grid::Fixed(2), 24, vec![ring(&gpus, &kinds), list(&kinds)]))),
    }
}

/// What links say, and the pairs that are linked so; the strongest first.
fn kinds(links: &[GpuLink]) -> Vec<(&str, Pairs)> {
    let mut kinds: BTreeMap<&str, (u64, Pairs)> = BTreeMap::new();
    for link in links {
        let (one, other) = link.gpus;
        let (strength, pairs) = kinds.entry(&link.words).or_default();
        *strength = (*strength).max(link.bytes_per_s.unwrap_or(0));
        pairs.push((one.min(other), one.max(other)));
    }

    let mut kinds: Vec<_> =
        kinds.into_iter().map(|(words, (strength, pairs))| (strength, words, pairs)).collect();
    kinds.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| other.1.cmp(one.1)));
    let pairs = |mut pairs: Pairs| {
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    };
    kinds.into_iter().map(|(_, words, all)| (words, pairs(all))).collect()
}

fn ring(gpus: &[u32], kinds: &[(&str, Pairs)]) -> Block {
    let number = gpus.len() as f64;
    let (across, down) = ((PER_GPU.0 * number).max(LEAST.0), (PER_GPU.1 * number).max(LEAST.1));
    let size = Size { width: 2 * across as i32 + CHIP.width, height: 2 * down as i32 + CHIP.height };
    let middle = |gpu: u32| {
        let place = gpus.iter().position(|other| *other == gpu).unwrap_or(0) as f64;
        let angle = TAU * (place / number - 0.25);
        let (x, y) = (across * angle.cos(), down * angle.sin());
        (size.width / 2 + x.round() as i32, size.height / 2 + y.round() as i32)
    };
    let line =
        |weight: usize| move |pair: &(u32, u32)| Wire { from: middle(pair.0), to: middle(pair.1), weight };
    let wires =
        kinds.iter().enumerate().flat_map(|(weight, (_, pairs))| pairs.iter().map(line(weight))).collect();
    let chip = |gpu: &u32| {
        let (x, y) = middle(*gpu);
        let chip = Block::cell(Look::Gpu, "", format!("GPU {gpu}"), CHIP);
        (x - CHIP.width / 2, y - CHIP.height / 2, chip)
    };

    Block::free(size, gpus.iter().map(chip).collect(), wires)
}

/// Each kind with its line and its pairs.
fn list(kinds: &[(&str, Pairs)]) -> Block {
    let rows = kinds.iter().enumerate().flat_map(|(weight, (words, pairs))| {
        let across = Wire { from: (0, SAMPLE.height / 2), to: (SAMPLE.width, SAMPLE.height / 2), weight };
        let pairs: Vec<String> = pairs.iter().map(|(one, other)| format!("{one}-{other}")).collect();
        let mut lines = vec![Line::new(Font::STRONG, *words)];
        let wrapped = Font::SMALL.wrapped(&format!("GPUs {}", pairs.join(", ")), WORDS);
        lines.extend(wrapped.into_iter().map(|words| Line::new(Font::SMALL, words)));
        [Block::free(SAMPLE, Vec::new(), vec![across]), Block::new(Look::Unseen, "", lines).spaced(0, 0)]
    });
    Block::new(Look::Unseen, "", Vec::new()).spaced(0, 0).with(Panel::new(Grid::Fixed(2), 10, rows.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(one: u32, other: u32, words: &str, bytes_per_s: u64) -> GpuLink {
        GpuLink { gpus: (one, other), words: words.to_owned(), bytes_per_s: Some(bytes_per_s) }
    }

    #[test]
    fn each_fabric_is_said_as_the_field_says_it_and_a_way_over_others_is_no_link() {
        let said = |fabric| label_and_rate(fabric).map(|(words, _)| words);
        let nvlink = |links, bytes_per_s| said(Fabric::Nvlink { links, bytes_per_s });
        let xgmi = |hops, most| said(Fabric::Xgmi { hops, least_bytes_per_s: None, most_bytes_per_s: most });
        assert_eq!(nvlink(Some(18), None).as_deref(), Some("NV18"));
        assert_eq!(
            nvlink(Some(2), Some(50_000_000_000)).as_deref(),
            Some("NV2, 50.000 GB/s in each direction")
        );
        assert_eq!(nvlink(None, None).as_deref(), Some("NVLink"));
        assert_eq!(
            xgmi(Some(1), Some(100_000_000_000)).as_deref(),
            Some("XGMI, 100.00 GB/s in each direction")
        );
        assert_eq!((xgmi(None, None).as_deref(), xgmi(Some(2), None)), (Some("XGMI"), None));
    }

    #[test]
    fn links_are_told_by_kind_the_strongest_first_and_each_pair_once() {
        let links =
            [link(0, 1, "NV1", 25), link(2, 1, "NV2", 50), link(1, 2, "NV2", 50), link(0, 3, "NV2", 50)];
        assert_eq!(kinds(&links), [("NV2", vec![(0, 3), (1, 2)]), ("NV1", vec![(0, 1)])]);
        assert!(block(&[]).is_none());
    }
}
