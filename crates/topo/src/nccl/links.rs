//! Links as NCCL writes them: a transfer rate and lanes.

use crate::model::Link;

/// Lanes x generations that a link of one rate can have, the widest first.
const WIDTHS: [u8; 5] = [16, 8, 4, 2, 1];
/// What a lane of each generation carries, MB/s, as hwloc computes it: the transfer rate less the line
/// coding.
const LANE_MBYTES_PER_S: [f64; 6] = [250.0, 500.0, 984.615, 1969.231, 3938.462, 7876.923];
/// How NCCL writes each generation's transfer rate (`kvDictPciGen` in its `src/graph/topo.cc`).
const SPEEDS: [&str; 6] =
    ["2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"];

/// What is said of a link; nothing where it is not known, so that NCCL asks on its machine.
pub(super) fn attributes(link: Option<&Link>) -> String {
    let known = link.and_then(lanes);
    known.map_or_else(String::new, |(generation, width)| {
        format!(" link_speed=\"{}\" link_width=\"{width}\"", SPEEDS[usize::from(generation) - 1])
    })
}

/// Generation and lanes of a link; of a rate alone, those that carry it.
fn lanes(link: &Link) -> Option<(u8, u8)> {
    if let (Some(generation), Some(width)) = (link.generation, link.width) {
        return (1..=SPEEDS.len()).contains(&usize::from(generation)).then_some((generation, width));
    }
    let mbytes = link.bytes_per_s? as f64 / 1e6;
    let carries = |(generation, width): &(u8, u8)| {
        let rate = LANE_MBYTES_PER_S[usize::from(*generation) - 1] * f64::from(*width);
        (rate / mbytes - 1.0).abs() < 0.01
    };
    let all = WIDTHS.into_iter().flat_map(|width| (1..=6).map(move |generation| (generation, width)));
    all.into_iter().find(carries)
}

/// What a link carries, to compare links by, MB/s.
pub(super) fn rate(link: &Link) -> u64 {
    lanes(link).map_or(0, |(generation, width)| {
        (LANE_MBYTES_PER_S[usize::from(generation) - 1] * f64::from(width)) as u64
    })
}
