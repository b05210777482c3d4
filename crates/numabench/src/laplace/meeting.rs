//! What ranks tell each other before they iterate, what that makes impossible, and what a session tells its supervisor.

use ::laplace::{Doing, Found, Share, Variant, Way, bytes_needed, variants};
use anyhow::anyhow;
use experiments::document::part::Part;
use ranks::Identity;
use report::document::Platform;
use report::environment::Environment;
use serde::{Deserialize, Serialize};
use stats::PciAddress;
use stats::units::{counted, rounded_size};

use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::watched::Process;

/// Where a rank is, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its session.
    pub process: Process,
    /// Its node's number.
    pub node: usize,
    /// Its PU.
    pub pu: u32,
    /// The NUMA node of its host memory.
    pub memory_node: u32,
    /// Its GPU.
    pub gpu: Option<PciAddress>,
    /// Why it has none.
    pub why_host: Option<String>,
}

impl Standing {
    /// This process's own identity.
    pub fn process(rank: usize, host: String) -> Process {
        let own = Identity::own();
        Process { rank, host, process: (own.pid, own.start, own.namespace) }
    }
}

/// What rank 0's supervisor needs for the document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Met {
    /// The sessions, by rank.
    pub processes: Vec<Process>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The MPI library, where there is one.
    pub library: Option<String>,
    /// What each rank's process knows; only at rank 0.
    pub parts: Vec<Part>,
    /// The platform.
    pub platform: Platform,
    /// The machine and its state.
    pub environment: Environment,
}

/// What is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    /// MPI is started now.
    Starting(String),
    /// It cannot go on and leaves with this code; why was said, here or by rank 0.
    Refused(u8),
    /// All ranks have met.
    Met(Box<Met>),
    /// This is done next.
    Doing(Doing),
    /// This is known.
    Found(Found),
    /// All was done; it leaves now.
    Over,
}

/// The ways of these ranks.
///
/// # Errors
/// None that was asked for is possible, the grid has too few rows, or two ranks have one PU.
pub fn ways(args: &Laplace, ranks: &[Standing]) -> Result<Vec<Variant>, Fault> {
    let count = ranks.len();
    if args.grid.rows < count {
        let text = format!("--grid {}: each of the {} needs a row of its own", args.grid, counted(count, "rank"));
        return Err(Fault::usage(anyhow!(text)));
    }
    for (at, one) in ranks.iter().enumerate() {
        let same = |other: &&Standing| (other.node, other.pu) == (one.node, one.pu);
        if let Some(other) = ranks[at + 1..].iter().find(same) {
            let text = format!(
                "ranks {} and {} would both run on PU {} of {}: give them cores of their own (mpirun --bind-to none, srun -c 1), or name PUs: --cpus LIST",
                one.process.rank, other.process.rank, one.pu, one.process.host
            );
            return Err(Fault::usage(anyhow!(text)));
        }
    }
    let without = ranks.iter().find(|rank| rank.gpu.is_none());
    let asked_for_gpu = args.ways.iter().any(|way| way.has_gpu());
    if let Some(without) = without.filter(|_| asked_for_gpu) {
        let why = without.why_host.as_deref().unwrap_or("none was asked for");
        let text = format!("rank {} has no GPU, and every rank needs one for this way: {why}", without.process.rank);
        return Err(Fault::new(Exit::Absent, anyhow!(text)));
    }
    let found = variants(count, without.is_none(), &args.ways, args.overlap());
    if found.is_empty() {
        let text = match count {
            1 => {
                "--ways: staged and gpu-aware need halos, and a rank alone has none: say cpu or gpu, or start several ranks with mpirun or srun"
            }
            _ => "--ways: gpu is the way of a rank alone: say cpu, staged or gpu-aware",
        };
        return Err(Fault::usage(anyhow!(text)));
    }
    Ok(found)
}

/// What a rank's memory may have.
pub struct Room {
    /// All of its NUMA node, bytes.
    pub node: Option<u64>,
    /// All of its device, and what is free there.
    pub device: Option<[u64; 2]>,
}

/// Whether the memory that this rank uses has room for all that use it.
///
/// # Errors
/// It has not: what there is, what is needed, the way out.
pub fn fits(args: &Laplace, ranks: &[Standing], own: usize, ways: &[Variant], room: &Room) -> Result<(), Fault> {
    let share = |rank: usize| Share::new(args.grid, args.precision(), rank, ranks.len());
    let here = &ranks[own];
    let sum = |part: usize, same: &dyn Fn(&Standing) -> bool| -> u64 {
        let theirs = ranks.iter().enumerate().filter(|(_, rank)| rank.node == here.node && same(rank));
        theirs.map(|(rank, _)| bytes_needed(&share(rank), ways)[part]).sum()
    };
    let refuse = |place: String, has: u64, needs: u64| {
        let text = format!(
            "{place} of {} has {}, and --grid {} needs {} there; ask for a smaller --grid, --precision single, fewer --ways, or more nodes",
            here.process.host,
            rounded_size(has),
            args.grid,
            rounded_size(needs)
        );
        Err(Fault::usage(anyhow!(text)))
    };
    let needs = sum(0, &|rank| rank.memory_node == here.memory_node);
    if let Some(has) = room.node.filter(|has| needs > *has) {
        return refuse(format!("NUMA node {}", here.memory_node), has, needs);
    }
    if let (Some([total, free]), Some(gpu)) = (room.device, here.gpu) {
        let needs = sum(1, &|rank| rank.gpu == here.gpu);
        let alone = bytes_needed(&share(own), ways)[1];
        if needs > total {
            return refuse(format!("GPU {gpu}"), total, needs);
        }
        if alone > free {
            return refuse(format!("GPU {gpu}"), free, alone);
        }
    }
    Ok(())
}

/// Whether MPI may not survive what is done.
pub fn is_risky(doing: Doing) -> bool {
    matches!(doing, Doing::Iterations(variant) if variant.way == Way::GpuAware)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn asked(words: &[&str]) -> Box<Laplace> {
        let words = ["numabench", "laplace"].iter().chain(words);
        let Command::Laplace(args) = Args::parse_from(words).command else { panic!("it is `laplace`") };
        args
    }

    fn standing(rank: usize, gpu: Option<&str>) -> Standing {
        Standing {
            process: Process { rank, host: "here".to_owned(), process: (1, 2, 3) },
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
        let refused = |words: &[&str], ranks: &[Standing]| ways(&asked(words), ranks).unwrap_err();
        let one = refused(&["--ways", "staged"], &[standing(0, GPU)]);
        assert!(one.exit == Exit::Usage && one.to_string().contains("mpirun or srun"), "{one}");
        let several = refused(&["--ways", "gpu"], &[standing(0, GPU), standing(1, GPU)]);
        assert!(several.to_string().contains("staged or gpu-aware"), "{several}");
        let absent = refused(&["--ways", "gpu-aware"], &[standing(0, GPU), standing(1, None)]);
        assert!(absent.exit == Exit::Absent && absent.to_string().contains("no driver"), "{absent}");
        let rows = refused(&["--grid", "1x64"], &[standing(0, GPU), standing(1, GPU)]);
        assert!(rows.to_string().contains("2 ranks"), "{rows}");
        let both = refused(&[], &[standing(0, None), Standing { pu: 0, ..standing(1, None) }]);
        assert!(both.to_string().contains("--bind-to none"), "{both}");
    }

    #[test]
    fn memory_is_counted_over_all_ranks_that_share_it() -> Result<(), Fault> {
        let args = asked(&["--grid", "1024x1024"]);
        let ranks = [standing(0, GPU), standing(1, GPU)];
        let found = ways(&args, &ranks)?;
        let room = |node, device| Room { node: Some(node), device: Some([device, device]) };
        assert!(
            fits(&args, &ranks, 0, &found, &room(1 << 40, 12 << 20)).is_err(),
            "two ranks' fields, of which one alone has room"
        );
        assert!(fits(&args, &ranks, 0, &found, &room(128 << 20, 128 << 20)).is_ok());
        let node = fits(&args, &ranks, 0, &found, &room(16 << 20, 1 << 40)).unwrap_err();
        assert!(node.exit == Exit::Usage && node.to_string().starts_with("NUMA node 0 of here has 16 MiB"), "{node}");
        let gpu = fits(&args, &ranks, 0, &found, &room(1 << 40, 16 << 20)).unwrap_err();
        assert!(gpu.to_string().starts_with("GPU 0000:41:00.0 of here has 16 MiB"), "{gpu}");
        Ok(())
    }
}
