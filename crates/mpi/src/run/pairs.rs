//! Which pairs of ranks are measured: those asked for, all, or a sample that stands for all, by what lies
//! between two ranks. Pure.

use experiments::Fault;
use experiments::pair_sample::{SampleAsked, refuse_whole, sampled};
use report::pair_sample::PairSample;
use stats::pair_sample::MemberEnds;
use topo::interconnect::UNKNOWN_LINK;

use super::facts::RankFacts;
use super::options::PairsAsked;

/// Messages go between two ranks.
pub fn too_few() -> Fault {
    Fault::usage("messages go between two ranks: start it with `mpirun -n 2` or `srun -n 2`")
}

/// The pairs of these ranks that are measured, the lower rank first, and what a document says of a sample.
///
/// # Errors
/// There are too few ranks, a rank that was asked for is not there, or as many pairs were asked for as there
/// are.
pub fn pairs(
    asked: Option<&PairsAsked>,
    seed: u64,
    ranks: &[RankFacts],
) -> Result<(Vec<[usize; 2]>, Option<PairSample>), Fault> {
    let count = ranks.len();
    if count < 2 {
        return Err(too_few());
    }
    let all = || (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
    let array = |(one, other): (usize, usize)| [one, other];

    match asked {
        None => Ok((vec![[0, 1]], None)),
        Some(PairsAsked::All) => Ok((all().map(array).collect(), None)),
        Some(PairsAsked::Sample(asked)) => {
            let pairs: Vec<(usize, usize)> = all().collect();
            refuse_whole(*asked, 0, pairs.len())?;
            let link = |one: usize, other: usize| link(&ranks[one], &ranks[other]);
            let asked = SampleAsked { pairs: *asked, seed };
            let (chosen, sample) = sampled(&pairs, MemberEnds::Either, asked, link);
            Ok((chosen.into_iter().map(array).collect(), Some(sample)))
        }
        Some(PairsAsked::These(pairs)) => match pairs.iter().flatten().find(|rank| **rank >= count) {
            Some(rank) => {
                Err(Fault::usage(format!("--pairs names rank {rank}; this launch has 0 to {}", count - 1)))
            }
            None => Ok((pairs.clone(), None)),
        },
    }
}

/// What lies between two ranks: another node, else their GPUs' link, else whether they share a NUMA node.
fn link(one: &RankFacts, other: &RankFacts) -> String {
    if one.host() != other.host() {
        return "other node".to_owned();
    }
    let between = match (one.location.gpu, other.location.gpu) {
        (Some(own), Some(gpu)) if own == gpu => "one GPU",
        (Some(_), Some(gpu)) => {
            let told = one.gpu_links.iter().find(|(pci, _)| *pci == gpu);
            told.map_or(UNKNOWN_LINK, |(_, sign)| sign)
        }
        _ if one.location.memory_node == other.location.memory_node => "one NUMA node",
        _ => "other NUMA node",
    };
    format!("same node, {between}")
}

#[cfg(test)]
mod tests {
    use experiments::supervised::{RankLocation, RankProcess};
    use stats::PciAddress;

    use super::*;

    fn gpu(number: u8) -> Option<PciAddress> {
        format!("0000:{number:02x}:00.0").parse().ok()
    }

    /// Ranks by their host, memory node and GPU; GPUs of a host are linked by NVLink, but for the last one.
    fn ranks(places: &[(&str, u32, Option<PciAddress>)]) -> Vec<RankFacts> {
        let rank = |(rank, (host, node, gpu)): (usize, &(&str, u32, Option<PciAddress>))| RankFacts {
            location: RankLocation {
                session: RankProcess { rank, host: (*host).to_owned(), process: (1, 1, 1) },
                node: 0,
                pu: rank as u32,
                memory_node: *node,
                gpu: *gpu,
                why_host: None,
            },
            gpu_name: None,
            locality: None,
            simulated: None,
            gpu_threads: Vec::new(),
            place: None,
            nics: Vec::new(),
            adapters: Vec::new(),
            adapter_refresh: std::time::Duration::ZERO,
            gpu_links: [(1, "NV4"), (2, "SYS")]
                .into_iter()
                .filter_map(|(number, sign)| Some((self::gpu(number)?, sign.to_owned())))
                .collect(),
            missing_places: Vec::new(),
        };
        places.iter().enumerate().map(rank).collect()
    }

    #[test]
    fn a_rank_that_is_not_there_is_named() {
        let four = ranks(&[("a", 0, None); 4]);
        let these = PairsAsked::These(vec![[0, 1], [1, 7]]);
        let why = pairs(Some(&these), 1, &four).map_err(|fault| fault.to_string());
        assert!(why.is_err_and(|why| why.contains("rank 7; this launch has 0 to 3")));
        let all =
            pairs(Some(&PairsAsked::All), 1, &four[..3]).map(|(pairs, sample)| (pairs, sample.is_some()));
        assert_eq!(all.ok(), Some((vec![[0, 1], [0, 2], [1, 2]], false)));
        assert!(pairs(None, 1, &four[..1]).is_err());
    }

    #[test]
    fn a_sample_has_every_rank_and_every_kind_of_neighbour() {
        let places: Vec<(&str, u32, Option<PciAddress>)> =
            ["a", "b", "c", "d"].iter().flat_map(|host| (0..4).map(|rank| (*host, rank / 2, None))).collect();
        let ranks = ranks(&places);
        for seed in 0..20 {
            let (chosen, sample) = pairs(Some(&PairsAsked::Sample(10)), seed, &ranks).unwrap_or_default();
            let sample = sample.map(|sample| (sample.chosen, sample.of, sample.classes));
            let Some((10, 120, classes)) = sample else { panic!("{sample:?}") };
            let links: Vec<(&str, u32)> = classes.iter().map(|class| (&class.link[..], class.of)).collect();
            let expected =
                [("other node", 96), ("same node, one NUMA node", 8), ("same node, other NUMA node", 16)];
            assert_eq!(links, expected);
            assert!(classes.iter().all(|class| class.chosen >= 2), "{classes:?}");
            assert!((0..16).all(|rank| chosen.iter().flatten().any(|one| *one == rank)), "{chosen:?}");
        }
        let whole = pairs(Some(&PairsAsked::Sample(120)), 1, &ranks).map_err(|fault| fault.to_string());
        assert!(whole.is_err_and(|why| why.starts_with("--sample 120 has no effect")));
    }

    #[test]
    fn ranks_with_gpus_are_told_apart_by_their_gpus_link() {
        let all =
            ranks(&[("a", 0, gpu(0)), ("a", 0, gpu(1)), ("a", 1, gpu(2)), ("a", 1, gpu(0)), ("a", 1, None)]);
        let links: Vec<String> = (1..5).map(|other| link(&all[0], &all[other])).collect();
        let expected = ["NV4", "SYS", "one GPU", "other NUMA node"].map(|what| format!("same node, {what}"));
        assert_eq!(links, expected);
    }
}
