//! What messages and copies to the GPU cost each other, in sentences: with the copies' thread near the one
//! that calls MPI, and apart from it.

use report::message::{MessagePattern, MpiPath};
use report::mpi::{MpiCase, MpiPair};
use stats::block_interval::BlockValue;
use stats::interval::median;

use crate::family::{CaseFamily, CaseFinding, FamilyCase};
use crate::mpi_figure::{gbs, headline_figure};
use crate::passes::Moments;

/// Messages without copies, and with them near and apart.
pub const PATHS: [MpiPath; 3] = [MpiPath::Host, MpiPath::HostGpuThreadNear, MpiPath::HostGpuThreadApart];
/// The same while the launch's other ranks send in pairs.
pub const CROWDED: [MpiPath; 3] =
    [MpiPath::HostOthersSend, MpiPath::HostGpuThreadNearOthersSend, MpiPath::HostGpuThreadApartOthersSend];
/// The copies alone.
pub const COPIES: [MpiPath; 2] = [MpiPath::GpuThreadNear, MpiPath::GpuThreadApart];

/// The figure of a path, one message at a time, at this size.
pub fn ping_pong(pair: &MpiPair, path: MpiPath, bytes: u64) -> Option<&MpiCase> {
    let is = |case: &&MpiCase| {
        case.path == path && case.pattern == MessagePattern::PingPong && case.bytes == bytes
    };
    pair.cases.iter().find(is).filter(|case| case.counted_ns().is_some())
}

/// The copies of a thread while no message went.
pub fn copies(pair: &MpiPair, path: MpiPath) -> Option<&MpiCase> {
    let is = |case: &&MpiCase| case.path == path && case.is_known();
    pair.cases.iter().find(is).filter(|case| case.counted_ns().is_some())
}

/// Sizes of the messages beside copies, ascending.
pub fn sizes(pair: &MpiPair) -> Vec<u64> {
    let paths = [&PATHS[1..], &CROWDED].concat();
    let beside = pair.cases.iter().filter(|case| paths.contains(&case.path));
    let mut sizes: Vec<u64> = beside.map(|case| case.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sentences: of the smallest and of the largest messages; none where no thread copied. What they compare
/// is one family.
pub fn verdict(pair: &MpiPair) -> Vec<String> {
    let sizes = sizes(pair);
    let mut ends: Vec<u64> = [sizes.first(), sizes.last()].into_iter().flatten().copied().collect();
    ends.dedup();
    let mut compared = Compared::default();
    for &bytes in &ends {
        if let [Some(near), Some(apart)] = [PATHS[1], PATHS[2]].map(|path| ping_pong(pair, path, bytes)) {
            compared.add(true, &near.block_ns, &apart.block_ns);
            compared.add(false, &near.gpu_block_bytes_per_s, &apart.gpu_block_bytes_per_s);
        }
    }
    let mut judged = compared.judged().into_iter();
    let beside = ends.iter().filter_map(|bytes| sentence(pair, *bytes, &mut judged));
    beside.chain(crowded(pair, &ends)).collect()
}

/// The sentences of messages while the launch's other ranks send in pairs: against the same messages while
/// they rest, and the copies against those while no message goes. What they compare is one family.
fn crowded(pair: &MpiPair, sizes: &[u64]) -> Vec<String> {
    let mut compared = Compared::default();
    let mut lines: Vec<(String, &str)> = Vec::new();

    for &bytes in sizes {
        let size = stats::units::size(bytes);
        let figures = |path| Some([ping_pong(pair, PATHS[0], bytes)?, ping_pong(pair, path, bytes)?]);
        for (path, with) in
            CROWDED.into_iter().zip(["", " and the GPUs copy near", " and the GPUs copy apart"])
        {
            let Some([alone, crowd]) = figures(path) else { continue };
            compared.add(true, &alone.block_ns, &crowd.block_ns);
            let [alone, crowd] = [alone, crowd].map(headline_figure);
            let said = format!("{size} while the other ranks send too{with}: {crowd} instead of {alone}");
            lines.push((said, "as long"));
        }
        for (path, alone) in CROWDED.into_iter().skip(1).zip(COPIES) {
            let Some((crowd, alone)) = ping_pong(pair, path, bytes).zip(copies(pair, alone)) else {
                continue;
            };
            let Some((before, middle)) = alone.counted_bytes_per_s().zip(alone.counted_ns()) else {
                continue;
            };
            let Some(after) = crowd.gpu_bytes_per_s else { continue };
            let rates: Vec<f64> = alone.block_ns.iter().map(|ns| before * middle / ns).collect();
            compared.add(false, &rates, &crowd.gpu_block_bytes_per_s);
            let (after, before) = (with_unit(after), with_unit(before));
            lines.push((format!("The copies beside {size}: {after} instead of {before} alone"), "as fast"));
        }
    }
    let judged = compared.found();
    let words = |((said, how), (times, finding)): ((String, &str), (f64, CaseFinding))| match finding {
        CaseFinding::Same => format!("{said}: no measurable difference."),
        CaseFinding::Undecided => format!("{said} (undecided)."),
        CaseFinding::Better | CaseFinding::Worse => format!("{said}: {times:.2} times {how}."),
    };
    lines.into_iter().zip(judged).map(words).collect()
}

fn sentence(pair: &MpiPair, bytes: u64, judged: &mut impl Iterator<Item = String>) -> Option<String> {
    let [alone, near, apart] = PATHS.map(|path| ping_pong(pair, path, bytes));
    let apart = apart?;
    let rate = |case: &MpiCase| case.gpu_bytes_per_s.map_or_else(|| "-".to_owned(), with_unit);
    let (mut messages, mut copied) = (Vec::new(), Vec::new());
    if let Some(near) = near {
        messages.push(format!("{} with its thread near", headline_figure(near)));
        copied.push(format!("{} near", rate(near)));
    }
    messages.push(format!("{} with it apart", headline_figure(apart)));
    copied.push(format!("{} apart", rate(apart)));
    if near.is_some() {
        messages.extend(judged.next());
        copied.extend(judged.next());
    }
    messages.extend(alone.map(|alone| format!("{} without copies", headline_figure(alone))));
    let without =
        COPIES.into_iter().filter_map(|path| copies(pair, path)?.counted_bytes_per_s()).reduce(f64::max);
    copied.extend(without.map(|rate| format!("{} without messages", with_unit(rate))));

    Some(format!(
        "{} beside copies to the GPU: {}. The copies: {}.",
        stats::units::size(bytes),
        messages.join(", "),
        copied.join(", ")
    ))
}

/// Figures with the copies' thread near and apart, two after each other.
#[derive(Default)]
struct Compared(Vec<(bool, Vec<BlockValue>)>);

impl Compared {
    fn add(&mut self, is_time: bool, near: &[f64], apart: &[f64]) {
        // The memory of messages and copies is made once in a run.
        self.0.extend([near, apart].map(|values| (is_time, BlockValue::on_one_allocation(values))));
    }

    /// The second over the first of each two, and what that comes to.
    fn found(&self) -> Vec<(f64, CaseFinding)> {
        let all = self.0.iter().enumerate();
        let members: Vec<FamilyCase> =
            all.map(|(at, (is_time, blocks))| member(at / 2, *is_time, blocks)).collect();
        let middle = |at: usize| {
            let values: Vec<f64> = self.0[at].1.iter().map(|block| block.value).collect();
            median(&values).unwrap_or(f64::NAN)
        };
        let found = CaseFamily::of(members).in_twos();
        let ratio = |at: usize| middle(2 * at + 1) / middle(2 * at);

        found.into_iter().enumerate().map(|(at, found)| (ratio(at), found.finding)).collect()
    }

    /// The same in words.
    fn judged(&self) -> Vec<String> {
        let words = |(ratio, finding): (f64, CaseFinding)| {
            let times = ratio.max(1.0 / ratio);
            match finding {
                CaseFinding::Better => format!("apart {times:.2} times as fast"),
                CaseFinding::Worse => format!("near {times:.2} times as fast"),
                CaseFinding::Same => "no measurable difference".to_owned(),
                CaseFinding::Undecided => "undecided".to_owned(),
            }
        };
        self.found().into_iter().map(words).collect()
    }
}

/// A case whose blocks follow each other in passes.
fn member(kind: usize, is_time: bool, blocks: &[BlockValue]) -> FamilyCase<'_> {
    FamilyCase { kind, is_time, blocks, began: Moments::default() }
}

fn with_unit(rate: f64) -> String {
    format!("{} GB/s", gbs(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(path: MpiPath, bytes: u64, ns: f64, gbs: f64) -> MpiCase {
        let scatter =
            |value: f64| (0..12).map(|block| value * (1.0 + 0.001 * f64::from(block % 3))).collect();
        MpiCase {
            path,
            pattern: MessagePattern::PingPong,
            bytes,
            window: 1,
            rounds: 100,
            block_ns: scatter(ns),
            message_ns: Some(ns),
            message_interval_ns: None,
            bytes_per_s: Some(bytes as f64 / ns * 1e9),
            gpu_bytes_per_s: (gbs > 0.0).then_some(gbs * 1e9),
            gpu_block_bytes_per_s: if gbs > 0.0 { scatter(gbs * 1e9) } else { Vec::new() },
            verified_bytes: 0,
            stop: None,
            reason: None,
        }
    }

    fn pair(cases: Vec<MpiCase>) -> MpiPair {
        let placed = [[None, None], [None, None]];
        MpiPair {
            ranks: [0, 1],
            device_memory: None,
            operations: Vec::new(),
            cases,
            placed,
            carried: Vec::new(),
        }
    }

    #[test]
    fn messages_and_copies_are_each_compared_near_and_apart() {
        let cases = vec![
            case(MpiPath::Host, 8, 550.0, 0.0),
            case(MpiPath::HostGpuThreadNear, 8, 720.0, 24.0),
            case(MpiPath::HostGpuThreadApart, 8, 600.0, 26.4),
            case(MpiPath::GpuThreadNear, 4 << 20, 310_000.0, 0.0),
        ];
        assert_eq!(
            verdict(&pair(cases)),
            ["8 B beside copies to the GPU: 0.72 µs with its thread near, 0.60 µs with it apart, apart \
                 1.20 times as fast, 0.55 µs without copies. The copies: 24.00 GB/s near, 26.40 GB/s apart, \
                 apart 1.10 times as fast, 13.53 GB/s without messages."]
        );
    }

    #[test]
    fn a_thread_near_that_is_better_is_said_to_be_and_alike_is_no_difference() {
        let cases = vec![
            case(MpiPath::HostGpuThreadNear, 8, 600.0, 26.0),
            case(MpiPath::HostGpuThreadApart, 8, 720.0, 26.0),
        ];
        let said = verdict(&pair(cases)).join(" ");
        assert!(
            said.contains("near 1.20 times as fast") && said.contains("apart, no measurable difference"),
            "{said}"
        );
    }

    #[test]
    fn without_a_core_near_there_is_nothing_to_compare_with() {
        let said = verdict(&pair(vec![case(MpiPath::HostGpuThreadApart, 8, 720.0, 26.0)])).join(" ");
        assert_eq!(
            said,
            "8 B beside copies to the GPU: 0.72 µs with it apart. The copies: 26.00 GB/s apart."
        );
        assert!(verdict(&pair(vec![case(MpiPath::Host, 8, 550.0, 0.0)])).is_empty());
    }
}
