//! `--matrix`: which place of its host each rank has, and which ranks then stand in rows and columns. Pure.
//!
//! A rank stays in its place from before MPI_Init on, and so does what MPI allocates there: a rank that was
//! moved would leave that behind, and the figures would be those of no program. So it takes a rank for each
//! place.

use experiments::Fault;
use placement::{RowPlace, RowsBy, rows};
use report::message::MpiPlaceKind;
use report::mpi::{MpiMatrix, MpiMissingPlace, MpiPlace};
use stats::units::counted;
use topo::Nic;
use topo::model::Topology;

use super::facts::RankFacts;

/// A place of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// What it is called.
    pub name: String,
    /// The PU of the rank.
    pub pu: u32,
    /// The node of its host memory.
    pub node: u32,
    /// Adapters near it.
    pub nics: Vec<String>,
}

/// The places that this host's ranks have, by local rank, and those that none can have, with the reason.
pub type Spots = (Vec<Spot>, Vec<(String, String)>);

/// The places of `size` ranks of this host: each once, or each as often.
///
/// # Errors
/// There is no place, or the number of ranks is none of theirs.
pub fn spots(topology: &Topology, nics: &[Nic], by: RowsBy, size: usize) -> Result<Spots, Fault> {
    let (mut places, mut missing) = (Vec::new(), Vec::new());
    for row in rows(topology, by) {
        match row.place {
            Ok(place) => places.push((row.name, place)),
            Err(why) => missing.push((row.name, why)),
        }
    }

    let each = size / places.len().max(1);
    let enough = |(_, place): &(String, RowPlace)| place.pus.len() >= each;
    if places.is_empty() || !size.is_multiple_of(places.len()) || !places.iter().all(enough) {
        return Err(Fault::usage(misfit(&places, size)));
    }
    let spot = |rank: usize| {
        let (name, place) = &places[rank % places.len()];
        let pu = place.pus[rank / places.len()];
        let near = |nic: &&Nic| nic.locality.nodes.contains(place.node) || nic.locality.pus.contains(pu);
        let nics = nics.iter().filter(near).flat_map(|nic| nic.os_devices.last().cloned()).collect();
        Spot { name: name.clone(), pu, node: place.node, nics }
    };
    Ok(((0..size).map(spot).collect(), missing))
}

/// Why so many ranks do not fit, and how many would.
fn misfit(places: &[(String, RowPlace)], size: usize) -> String {
    let names: Vec<&str> = places.iter().map(|(name, _)| name.as_str()).collect();
    let (count, names) = (places.len(), names.join(", "));
    let twice = match !places.is_empty() && places.iter().all(|(_, place)| place.pus.len() >= 2) {
        true => format!(", or {} on one host alone to have messages within a place too", 2 * count),
        false => String::new(),
    };
    format!(
        "--matrix takes a rank for each place: this process may use {count} here ({names}), and its host has \
         {}. Start one rank on each host for each place{twice}, and start them unbound, so that each may go \
         to its place: srun --cpu-bind=none, mpirun --bind-to none",
        counted(size, "rank")
    )
}

/// The ranks of rows and of columns: the first host's against those of the others, or of one host all against
/// all, or one of each place against the other.
fn sides(ranks: &[RankFacts]) -> [Vec<usize>; 2] {
    let Some(first) = ranks.first() else { return [Vec::new(), Vec::new()] };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let (mut once, mut again) = (Vec::new(), Vec::new());
    for rank in ranks {
        let place = (rank.host(), rank.place.as_deref().unwrap_or_default());
        if seen.contains(&place) {
            again.push(rank.rank());
        } else {
            seen.push(place);
            once.push(rank.rank());
        }
    }

    let (here, there): (Vec<usize>, Vec<usize>) =
        once.iter().partition(|rank| ranks[**rank].host() == first.host());

    match (there.is_empty(), again.is_empty()) {
        (false, _) => [here, there],
        (true, false) => [here, again],
        (true, true) => [here.clone(), here],
    }
}

/// The pairs that are measured.
pub fn pairs(ranks: &[RankFacts]) -> Vec<[usize; 2]> {
    let [rows, columns] = sides(ranks);
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for (row, column) in rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column))) {
        let pair = [row.min(column), row.max(column)];
        if row != column && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// How their figures stand.
pub fn matrix(by: RowsBy, ranks: &[RankFacts]) -> MpiMatrix {
    let one_host = ranks.iter().all(|rank| rank.host() == ranks[0].host());
    let place = |rank: usize| {
        let facts = &ranks[rank];
        let name = facts.place.clone().unwrap_or_default();
        let name = if one_host { name } else { format!("{} {name}", facts.host()) };
        MpiPlace { rank: rank as u32, name, nics: facts.nics.clone() }
    };
    let [rows, columns] = sides(ranks).map(|side| side.into_iter().map(place).collect());
    let of = |rank: &RankFacts| {
        let missing = |(name, reason): &(String, String)| MpiMissingPlace {
            host: rank.host().to_owned(),
            name: name.clone(),
            reason: reason.clone(),
        };
        rank.missing_places.iter().map(missing).collect::<Vec<_>>()
    };

    let mut missing: Vec<MpiMissingPlace> = ranks.iter().flat_map(of).collect();
    missing.dedup();
    let places = match by {
        RowsBy::Node => MpiPlaceKind::Node,
        RowsBy::L3 => MpiPlaceKind::L3,
        RowsBy::Core => MpiPlaceKind::Core,
    };
    MpiMatrix { places, rows, columns, missing }
}

#[cfg(test)]
mod tests {
    use experiments::supervised::{RankLocation, RankProcess};

    use super::*;

    fn ranks(places: &[(&str, &str)]) -> Vec<RankFacts> {
        let rank = |(rank, (host, place)): (usize, &(&str, &str))| RankFacts {
            location: RankLocation {
                session: RankProcess { rank, host: (*host).to_owned(), process: (1, 1, 1) },
                node: 0,
                pu: rank as u32,
                memory_node: 0,
                gpu: None,
                why_host: None,
            },
            gpu_name: None,
            locality: None,
            simulated: None,
            gpu_threads: Vec::new(),
            place: Some((*place).to_owned()),
            nics: Vec::new(),
            adapters: Vec::new(),
            adapter_refresh: std::time::Duration::ZERO,
            gpu_links: Vec::new(),
            missing_places: vec![("node 9".to_owned(), "it has no CPUs".to_owned())],
        };
        places.iter().enumerate().map(rank).collect()
    }

    #[test]
    fn places_of_two_hosts_send_to_the_other_host_alone() {
        let all = ranks(&[("n0", "node 0"), ("n0", "node 1"), ("n1", "node 0"), ("n1", "node 1")]);
        assert_eq!(pairs(&all), [[0, 2], [0, 3], [1, 2], [1, 3]]);
        let matrix = matrix(RowsBy::Node, &all);
        let names = |places: &[MpiPlace]| places.iter().map(|place| place.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&matrix.rows), ["n0 node 0", "n0 node 1"]);
        assert_eq!(names(&matrix.columns), ["n1 node 0", "n1 node 1"]);
        assert_eq!(matrix.missing.len(), 2, "once a host: {:?}", matrix.missing);
    }

    #[test]
    fn places_of_one_host_send_to_each_other_once() {
        let all = ranks(&[("n0", "node 0"), ("n0", "node 1"), ("n0", "node 2")]);
        assert_eq!(pairs(&all), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(matrix(RowsBy::Node, &all).columns.len(), 3);
    }

    #[test]
    fn twice_as_many_ranks_as_places_send_within_a_place_too() {
        let all = ranks(&[("n0", "node 0"), ("n0", "node 1"), ("n0", "node 0"), ("n0", "node 1")]);
        assert_eq!(pairs(&all), [[0, 2], [0, 3], [1, 2], [1, 3]]);
    }
}
