//! What ranks tell each other before they iterate, and what that makes impossible.

use experiments::document::rank_part::RankPart;
use experiments::supervised::{RankLocation, RankProcess, apart};
use experiments::{Exit, Fault};
use report::document::Platform;
use report::environment::Environment;
use serde::{Deserialize, Serialize};
use stats::units::{counted, rounded_size};
use topo::model::MemoryLimit;

use crate::grid::{self, RowShare};
use crate::memory::bytes_needed;
use crate::options::LaplaceOptions;
use crate::way::{WayVariant, variants, variants_by_ranks};

/// What rank 0's supervisor needs for the document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaplaceRanks {
    /// The sessions, by rank.
    pub processes: Vec<RankProcess>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The MPI library, where there is one.
    pub library: Option<String>,
    /// What each rank's process knows; only at rank 0.
    pub parts: Vec<RankPart>,
    /// The platform.
    pub platform: Platform,
    /// The machine and its state.
    pub environment: Environment,
}

/// The ways of these ranks.
///
/// # Errors
/// None that was asked for is possible, the grid has too few rows, or two ranks have one PU.
pub fn ways(options: &LaplaceOptions, ranks: &[RankLocation]) -> Result<Vec<WayVariant>, Fault> {
    let count = ranks.len();
    are_possible(options, count)?;
    apart(&ranks.iter().collect::<Vec<_>>(), |one, other| one.node == other.node)?;
    let without = ranks.iter().find(|rank| rank.gpu.is_none());
    let asked_for_gpu = options.ways.iter().any(|way| way.has_gpu());

    if let Some(without) = without.filter(|_| asked_for_gpu) {
        let why = without.why_host.as_deref().unwrap_or("none was asked for");
        let text =
            format!("rank {} has no GPU, and every rank needs one for this way: {why}", without.session.rank);
        return Err(Fault::new(Exit::Absent, text));
    }

    let found = match &options.ranks[..] {
        [] => variants(count, without.is_none(), &options.ways, options.overlap),
        counts => variants_by_ranks(counts, without.is_none(), &options.ways, options.overlap),
    };

    all_are_had(options, count, &found)?;
    Ok(found)
}

/// Whether everything that was asked for is among the variants of a launch of `count`.
fn all_are_had(options: &LaplaceOptions, count: usize, found: &[WayVariant]) -> Result<(), Fault> {
    let one = [count];
    let counts = if options.ranks.is_empty() { &one } else { &options.ranks[..] };
    let is_alone = counts.iter().all(|count| *count == 1);
    let more = if count == 1 { "start several ranks with mpirun or srun" } else { "name more --ranks" };

    if let Some(left_out) = options.ways.iter().find(|way| !found.iter().any(|variant| variant.way == **way))
    {
        let text = match is_alone {
            true => format!(
                "--ways {}: it needs halos, and a rank alone has none: say cpu or gpu, or {more}",
                left_out.name()
            ),
            false => "--ways gpu is the way of a rank alone: say cpu, staged or gpu-aware".to_owned(),
        };
        return Err(Fault::usage(text));
    }

    let has = |count: &&usize| found.iter().any(|variant| variant.ranks.is_none_or(|ranks| ranks == **count));
    if let Some(without) = counts.iter().find(|count| !has(count)) {
        let text = format!(
            "--ways gpu with --ranks {without}: it is the way of a rank alone: say cpu, staged or gpu-aware \
             too"
        );
        return Err(Fault::usage(text));
    }

    if is_alone && options.overlap == Some(true) {
        let text = format!(
            "--overlap on: a rank alone has no halos that could overlap: {more}, or leave --overlap out"
        );
        return Err(Fault::usage(text));
    }
    Ok(())
}

/// Whether a launch of so many has the ranks and the rows that are asked for.
fn are_possible(options: &LaplaceOptions, count: usize) -> Result<(), Fault> {
    if let Some(ranks) = options.ranks.iter().find(|ranks| !(1..=count).contains(*ranks)) {
        let text = format!(
            "--ranks {ranks}: this launch has {}; start it with as many as the most that are named",
            counted(count, "rank")
        );
        return Err(Fault::usage(text));
    }

    let most = options.ranks.iter().copied().max().unwrap_or(count);
    let grid = options.grid_of(most);

    if grid.rows < most {
        let text =
            format!("--grid {}: each of the {} needs a row of its own", options.grid, counted(most, "rank"));
        return Err(Fault::usage(text));
    }

    if grid.rows > grid::MOST {
        let text = format!(
            "--grid {}: {} rows of {most} ranks together; {} at most",
            options.grid,
            grid.rows,
            grid::MOST
        );
        return Err(Fault::usage(text));
    }
    Ok(())
}

/// What a rank's memory may have.
pub struct MemoryRoom {
    /// All of its NUMA node, bytes.
    pub node: Option<u64>,
    /// The limit of which the least is left, of the process or of its group.
    pub limit: Option<MemoryLimit>,
    /// All of its device, and what is free there.
    pub device: Option<[u64; 2]>,
}

/// Whether the memory that this rank uses has room for all that use it.
///
/// # Errors
/// It has not: what there is, what is needed, the way out.
pub fn fits(
    options: &LaplaceOptions,
    ranks: &[RankLocation],
    own: usize,
    ways: &[WayVariant],
    room: &MemoryRoom,
) -> Result<(), Fault> {
    let bytes = |rank: usize, part: usize| -> u64 {
        let of_plane = |plane: Option<usize>| {
            let count = plane.unwrap_or(ranks.len());
            let ways: Vec<WayVariant> = ways.iter().filter(|way| way.ranks == plane).copied().collect();
            let share = || RowShare::new(options.grid_of(count), options.precision, rank, count);
            if rank < count { bytes_needed(&share(), &ways)[part] } else { 0 }
        };
        options.planes(ranks.len()).into_iter().map(of_plane).sum()
    };

    let here = &ranks[own];
    let sum = |part: usize, same: &dyn Fn(&RankLocation) -> bool| -> u64 {
        let theirs = ranks.iter().enumerate().filter(|(_, rank)| rank.node == here.node && same(rank));
        theirs.map(|(rank, _)| bytes(rank, part)).sum()
    };
    let refuse = |place: String, has: u64, needs: u64| {
        let text = format!(
            "{place} of {} has {}, and --grid {} needs {} there; ask for a smaller --grid, --precision \
             single, fewer --ways, or more nodes",
            here.session.host,
            rounded_size(has),
            options.grid,
            rounded_size(needs)
        );
        Err(Fault::usage(text))
    };

    let needs = sum(0, &|rank| rank.memory_node == here.memory_node);
    if let Some(has) = room.node.filter(|has| needs > *has) {
        return refuse(format!("NUMA node {}", here.memory_node), has, needs);
    }

    if let Some(limit) = &room.limit {
        let needs = if limit.is_of_each_process() { bytes(own, 0) } else { sum(0, &|_| true) };
        if needs > limit.left_bytes() {
            return refuse(limit.to_string(), limit.left_bytes(), needs);
        }
    }

    if let (Some([total, free]), Some(gpu)) = (room.device, here.gpu) {
        let needs = sum(1, &|rank| rank.gpu == here.gpu);
        let alone = bytes(own, 1);
        if needs > total {
            return refuse(format!("GPU {gpu}"), total, needs);
        }
        if alone > free {
            return refuse(format!("GPU {gpu}"), free, alone);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::LaplaceGrid;
    use crate::way::HaloWay;

    fn asked(ways: &[HaloWay]) -> LaplaceOptions {
        LaplaceOptions { ways: ways.to_vec(), ..LaplaceOptions::default() }
    }

    fn location(rank: usize, gpu: Option<&str>) -> RankLocation {
        RankLocation {
            session: RankProcess { rank, host: "here".to_owned(), process: (1, 2, 3) },
            node: 0,
            pu: rank as u32,
            memory_node: 0,
            gpu: gpu.and_then(|text| text.parse().ok()),
            why_host: gpu.is_none().then(|| "no driver".to_owned()),
        }
    }

    const GPU: Option<&str> = Some("0000:41:00.0");

    #[test]
    fn a_way_that_a_launch_cannot_have_is_refused_with_the_way_out() {
        let refused = |options: LaplaceOptions, ranks: &[RankLocation]| ways(&options, ranks).unwrap_err();
        let one = refused(asked(&[HaloWay::Staged]), &[location(0, GPU)]);
        assert!(one.exit == Exit::Usage && one.to_string().contains("mpirun or srun"), "{one}");
        let beside = refused(asked(&[HaloWay::Cpu, HaloWay::GpuAware]), &[location(0, GPU)]);
        assert!(
            beside.to_string().starts_with("--ways gpu-aware: "),
            "the way that is left out is named: {beside}"
        );
        let overlap = refused(LaplaceOptions { overlap: Some(true), ..asked(&[]) }, &[location(0, GPU)]);
        assert!(overlap.to_string().starts_with("--overlap on: "), "{overlap}");

        let two = [location(0, GPU), location(1, GPU)];
        let of_ranks = |ranks: &[usize], ways: &[HaloWay], overlap| {
            refused(LaplaceOptions { ranks: ranks.to_vec(), overlap, ..asked(ways) }, &two).to_string()
        };
        let both = of_ranks(&[1, 2], &[HaloWay::Gpu], None);
        assert!(both.starts_with("--ways gpu with --ranks 2: "), "{both}");
        let alone = of_ranks(&[1], &[HaloWay::Staged], None);
        assert!(alone.starts_with("--ways staged: ") && alone.contains("more --ranks"), "{alone}");
        let overlap = of_ranks(&[1], &[HaloWay::Cpu], Some(true));
        assert!(overlap.starts_with("--overlap on: "), "{overlap}");
        let several = refused(asked(&[HaloWay::Gpu]), &[location(0, GPU), location(1, GPU)]);
        assert!(several.to_string().contains("staged or gpu-aware"), "{several}");
        let absent = refused(asked(&[HaloWay::GpuAware]), &[location(0, GPU), location(1, None)]);
        assert!(absent.exit == Exit::Absent && absent.to_string().contains("no driver"), "{absent}");
        let row = LaplaceOptions { grid: LaplaceGrid { rows: 1, columns: 64 }, ..asked(&[]) };
        let rows = refused(row, &[location(0, GPU), location(1, GPU)]);
        assert!(rows.to_string().contains("2 ranks"), "{rows}");
        let both = refused(asked(&[]), &[location(0, None), RankLocation { pu: 0, ..location(1, None) }]);
        assert!(both.to_string().contains("--bind-to none"), "{both}");
    }

    fn bytes_needed_by_one(options: &LaplaceOptions, ranks: &[RankLocation], ways: &[WayVariant]) -> u64 {
        let share = RowShare::new(options.grid_of(ranks.len()), options.precision, 0, ranks.len());
        bytes_needed(&share, ways)[0]
    }

    #[test]
    fn memory_is_counted_over_all_ranks_that_share_it() -> Result<(), Fault> {
        let options = LaplaceOptions { grid: LaplaceGrid { rows: 1024, columns: 1024 }, ..asked(&[]) };
        let ranks = [location(0, GPU), location(1, GPU)];
        let found = ways(&options, &ranks)?;
        let room =
            |node, device| MemoryRoom { node: Some(node), limit: None, device: Some([device, device]) };
        assert!(
            fits(&options, &ranks, 0, &found, &room(1 << 40, 12 << 20)).is_err(),
            "two ranks' fields, of which one alone has room"
        );
        assert!(fits(&options, &ranks, 0, &found, &room(128 << 20, 128 << 20)).is_ok());
        let node = fits(&options, &ranks, 0, &found, &room(16 << 20, 1 << 40)).unwrap_err();
        assert!(
            node.exit == Exit::Usage && node.to_string().starts_with("NUMA node 0 of here has 16 MiB"),
            "{node}"
        );
        let gpu = fits(&options, &ranks, 0, &found, &room(1 << 40, 16 << 20)).unwrap_err();
        assert!(gpu.to_string().starts_with("GPU 0000:41:00.0 of here has 16 MiB"), "{gpu}");

        // A group's limit is for both, a process's own for each.
        let within = |source: &str, bytes| {
            let limit = MemoryLimit { bytes, used_bytes: Some(0), source: source.to_owned() };
            fits(&options, &ranks, 0, &found, &MemoryRoom { limit: Some(limit), ..room(1 << 40, 1 << 40) })
        };
        let needs = bytes_needed_by_one(&options, &ranks, &found);
        assert!(within("/sys/fs/cgroup/memory.max", 2 * needs).is_ok());
        assert!(within("ulimit -v", needs).is_ok());
        let group = within("/sys/fs/cgroup/memory.max", needs).unwrap_err().to_string();
        assert!(group.starts_with("the memory limit of this process ("), "{group}");
        assert!(within("ulimit -v", needs - 1).is_err());

        Ok(())
    }
}
