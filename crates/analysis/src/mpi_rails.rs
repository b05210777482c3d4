//! The adapters of a host together: which of its ranks share one while another carries none, and what part of
//! a link's rate messages reach.

use std::collections::{BTreeMap, BTreeSet};

use report::MpiDocument;
use report::mpi::{MpiAdapter, MpiCase};
use stats::alike::distinct;

use crate::mpi_adapters::{AdapterPath, LARGE, ways};
use crate::mpi_figure::{gbs, is_one_way};

/// Two sentences a host at most.
pub fn verdict(document: &MpiDocument) -> Vec<String> {
    let of = |host: &str| [rails(document, host), against_links(document, host)];
    hosts(document).into_iter().flat_map(of).flatten().collect()
}

/// The hosts of ranks that have adapters, each once.
fn hosts(document: &MpiDocument) -> Vec<&str> {
    distinct(document.ranks.iter().filter(|rank| !rank.adapters.is_empty()).map(|rank| &rank.host[..]))
}

/// How each rank of a host had its largest messages carried, where that is told.
fn largest<'d>(document: &'d MpiDocument, host: &str) -> Vec<AdapterPath<'d>> {
    let mut all: Vec<AdapterPath> = Vec::new();
    for way in ways(document).into_iter().filter_map(|ways| ways.into_iter().next()) {
        let is_new = way.rank.host == host && !all.iter().any(|known| known.rank.rank == way.rank.rank);
        if is_new && way.carriers.is_ok() {
            all.push(way);
        }
    }
    all
}

/// How many ranks of a host had messages to another host measured.
fn measured(document: &MpiDocument, host: &str) -> usize {
    let hosts: BTreeMap<u32, &str> = document.ranks.iter().map(|rank| (rank.rank, &rank.host[..])).collect();
    let host_of = |rank: u32| hosts.get(&rank).copied();
    let between_hosts = document.pairs.iter().filter(|pair| host_of(pair.ranks[0]) != host_of(pair.ranks[1]));
    let here = between_hosts.flat_map(|pair| pair.ranks).filter(|rank| host_of(*rank) == Some(host));
    here.collect::<BTreeSet<u32>>().len()
}

/// Which ranks of a host share an adapter and which adapter with a link carries none: where there are several
/// of both.
fn rails(document: &MpiDocument, host: &str) -> Option<String> {
    let ways = largest(document, host);
    let mut linked: Vec<&MpiAdapter> = ways.iter().flat_map(AdapterPath::could_carry).collect();
    linked.sort_by(|one, other| one.name.cmp(&other.name));
    linked.dedup_by(|one, other| one.name == other.name);
    if ways.len() < 2 || linked.len() < 2 {
        return None;
    }
    let carries = |adapter: &&MpiAdapter| -> Vec<u32> {
        ways.iter()
            .filter(|way| way.names().contains(&adapter.name.as_str()))
            .map(|way| way.rank.rank)
            .collect()
    };
    let each: Vec<(&MpiAdapter, Vec<u32>)> =
        linked.iter().map(|adapter| (*adapter, carries(adapter))).collect();
    let (most, least) =
        (each.iter().map(|(_, ranks)| ranks.len()).max()?, each.iter().map(|(_, ranks)| ranks.len()).min()?);
    let of = |(adapter, ranks): &(&MpiAdapter, Vec<u32>)| {
        let whom = match &ranks[..] {
            [] => "no rank".to_owned(),
            [one] => format!("rank {one}"),
            several => format!("ranks {}", several.iter().copied().collect::<stats::IdSet>()),
        };
        format!("{} carries {whom}", adapter.name)
    };

    let measured = measured(document, host);
    if ways.len() < measured {
        let carriers = each.iter().filter(|(_, ranks)| !ranks.is_empty());
        let listed = carriers.map(of).collect::<Vec<_>>().join(", ");
        let (told, untold) = (ways.len(), measured - ways.len());
        return Some(format!(
            "On {host}, of {told} of {measured} ranks: {listed}; what carries the other {untold} is not \
             known."
        ));
    }
    let listed = each.iter().map(of).collect::<Vec<_>>().join(", ");

    Some(match most - least {
        0 | 1 => format!("On {host} the adapters are used evenly: {listed}."),
        _ => format!(
            "On {host} the adapters are used UNEVENLY: {listed}; ranks that share one share its link when \
             they send at once."
        ),
    })
}

/// What the fastest messages of a host's ranks reach of the links that carried them.
fn against_links(document: &MpiDocument, host: &str) -> Option<String> {
    let reached = |way: &AdapterPath| {
        let of_rank = document
            .pairs
            .iter()
            .filter(|pair| pair.ranks.contains(&way.rank.rank) && !pair.carried.is_empty());
        // Messages of another memory may take another way, and of both ways at once the rate is that of both
        // links' directions.
        let is_carried = |case: &&MpiCase| case.path == way.path && is_one_way(case) && case.bytes >= LARGE;
        let cases = of_rank.flat_map(|pair| &pair.cases).filter(is_carried);
        let rate = cases.filter_map(MpiCase::counted_bytes_per_s).max_by(f64::total_cmp)?;
        let link = way
            .carriers
            .iter()
            .flatten()
            .map(|(adapter, _)| adapter.link_bytes_per_s)
            .sum::<Option<u64>>()?;
        (link > 0).then(|| (rate, link as f64, way.names().join(" and "), way.rank.rank))
    };

    let (rate, link, names, rank) = largest(document, host)
        .iter()
        .filter_map(reached)
        .max_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))?;
    let [rate_said, link_said] = [rate, link].map(gbs);
    let which = match measured(document, host) {
        1 => "messages one way".to_owned(),
        _ => format!("the fastest messages one way (rank {rank})"),
    };

    Some(format!(
        "On {host} {which} reach {rate_said} GB/s, {:.0} % of the {link_said} GB/s that the link of \
         {names} carries.",
        rate / link * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use report::message::MpiPath;

    use super::*;
    use crate::mpi_adapters::tests::{FAR, NEAR, document};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn only(document: &MpiDocument) -> String {
        verdict(document).join("\n")
    }

    /// A second rank on the first one's host, whose messages to a third went as these say.
    fn with_neighbour(
        mut document: MpiDocument,
        large: [(f64, f64); 2],
    ) -> Result<MpiDocument, Box<dyn std::error::Error>> {
        let other = crate::mpi_adapters::tests::document(large, large)?;
        let mut pair = other.pairs.first().ok_or("a pair")?.clone();
        (pair.ranks[0], pair.ranks[1]) = (7, document.pairs[0].ranks[1]);
        pair.carried.iter_mut().for_each(|carried| carried.rank = 7);
        document.pairs.push(pair);
        let mut rank = other.ranks.into_iter().next().ok_or("a rank")?;
        rank.rank = 7;
        document.ranks.push(rank);
        Ok(document)
    }

    #[test]
    fn ranks_that_share_an_adapter_while_another_one_with_a_link_is_idle_are_told() -> Outcome {
        let shared = only(&with_neighbour(document(NEAR, NEAR)?, NEAR)?);
        assert!(
            shared
                .contains("On h0 the adapters are used UNEVENLY: r0 carries ranks 0,7, r1 carries no rank;"),
            "{shared}"
        );
        let even = only(&with_neighbour(document(NEAR, NEAR)?, FAR)?);
        assert!(
            even.contains("On h0 the adapters are used evenly: r0 carries rank 0, r1 carries rank 7."),
            "{even}"
        );
        assert!(!only(&document(NEAR, NEAR)?).contains("the adapters are used"), "one rank shares nothing");

        // A third rank, of which the counters did not tell.
        let mut untold = with_neighbour(document(NEAR, NEAR)?, NEAR)?;
        let mut pair = untold.pairs[0].clone();
        (pair.ranks[0], pair.carried) = (8, Vec::new());
        let mut rank = untold.ranks[0].clone();
        rank.rank = 8;
        untold.pairs.push(pair);
        untold.ranks.push(rank);
        let said = only(&untold);
        assert!(
            said.contains("On h0, of 2 of 3 ranks: r0 carries ranks 0,7; what carries the other 1"),
            "{said}"
        );
        assert!(!said.contains("no rank") && !said.contains("UNEVENLY"), "{said}");

        let mut one_kind = with_neighbour(document(NEAR, NEAR)?, NEAR)?;
        one_kind
            .ranks
            .iter_mut()
            .filter_map(|rank| rank.adapters.get_mut(1))
            .for_each(|far| far.name = "eno1".to_owned());
        assert!(
            !only(&one_kind).contains("the adapters are used"),
            "a management network's is no rail: {}",
            only(&one_kind)
        );

        Ok(())
    }

    #[test]
    fn the_rate_of_large_messages_is_held_against_the_links_that_carried_them() -> Outcome {
        let mut document = document(NEAR, NEAR)?;
        document.ranks[0].adapters[0].link_bytes_per_s = Some(1_250_000_000);
        for case in &mut document.pairs[0].cases {
            (case.bytes_per_s, case.reason) = (Some(1e9), None);
        }
        let has_large = |case: &MpiCase| is_one_way(case) && case.bytes >= LARGE;
        assert!(document.pairs[0].cases.iter().any(has_large));
        let said = only(&document);
        let expected =
            "On h0 messages one way reach 1.00 GB/s, 80 % of the 1.25 GB/s that the link of r0 carries.";
        assert!(said.contains(expected), "{said}");

        // Device memory that MPI takes may go another way, and faster.
        for case in document.pairs[0].cases.iter_mut().filter(|case| case.path != MpiPath::Host) {
            case.bytes_per_s = Some(9e9);
        }

        assert!(only(&document).contains(expected), "{}", only(&document));
        document.ranks[0].adapters[0].link_bytes_per_s = None;
        assert!(!only(&document).contains("that the link of"), "{}", only(&document));
        Ok(())
    }
}
