//! The machine's cores to its GPUs: each one's share, whether or not a rank drives it.
//!
//! A domain is split among *all* GPUs that have it, not only those chosen, so that a process that sees one
//! GPU gets for it what a plan of the whole node gives it. Two kinds of GPU count only where a rank drives
//! them, because their cores are a way out and not their own: one whose local cores the pool has not got (the
//! job's neighbour may use it), and one of unknown place when there is nothing left that no GPU is near to.

use std::collections::BTreeSet;

use super::domain::{Basis, Domain};
use super::pool::Pool;
use super::split::split;
use super::spread::spread;
use crate::TargetId;

/// A target that may have a share.
pub(super) struct Claim {
    pub(super) target: TargetId,
    pub(super) domain: Domain,
    /// How many ranks drive it.
    pub(super) ranks: usize,
}

/// Cores, and whose they are together: places in the list of claims.
struct Cell {
    cores: Vec<usize>,
    owners: Vec<usize>,
}

/// The share of each claim. Shares are disjoint; one is empty where there are more claims than cores.
pub(super) fn shares(pool: &Pool<'_>, claims: &[Claim]) -> Vec<Vec<usize>> {
    let mut cells = own_cells(claims);
    lodge_the_driven_out(claims, &mut cells);
    let mut shares = vec![Vec::new(); claims.len()];
    lodge_the_unknown(pool, claims, &mut cells, &mut shares);

    for cell in &mut cells {
        cell.owners.sort_unstable();
        for (owner, share) in cell.owners.iter().zip(split(pool, &cell.cores, cell.owners.len())) {
            shares[*owner] = share;
        }
        even_out(pool, claims, &cell.owners, &mut shares);
    }

    // Where domains overlap crosswise, a cell reaches beyond the domain of one that was lodged in it.
    for (share, claim) in shares.iter_mut().zip(claims) {
        share.retain(|core| claim.domain.cores.is_empty() || claim.domain.cores.contains(core));
    }
    shares
}

/// What those of a cell that are driven have together goes by their ranks where one has more than another:
/// three ranks and two on eight cores each are five on sixteen.
fn even_out(pool: &Pool<'_>, claims: &[Claim], owners: &[usize], shares: &mut [Vec<usize>]) {
    let driven: Vec<usize> = owners.iter().copied().filter(|owner| claims[*owner].ranks > 0).collect();
    let ranks: Vec<usize> = driven.iter().map(|owner| claims[*owner].ranks).collect();
    if ranks.iter().all(|count| Some(count) == ranks.first()) {
        return;
    }
    let mut together: Vec<usize> = driven.iter().flat_map(|owner| shares[*owner].clone()).collect();
    together.sort_unstable();
    let mut parts = split(pool, &together, ranks.iter().sum()).into_iter();
    for (owner, ranks) in driven.into_iter().zip(ranks) {
        shares[owner] = parts.by_ref().take(ranks).flatten().collect();
    }
}

/// Domains that are the targets' own, the narrowest first: an L3 inside a node is its GPU's, and what is left
/// of the node the others'.
fn own_cells(claims: &[Claim]) -> Vec<Cell> {
    let own = |claim: &&Claim| matches!(claim.domain.basis, Basis::Local { .. } | Basis::Farthest { .. });
    let domains: BTreeSet<(usize, &[usize])> = claims
        .iter()
        .filter(own)
        .map(|claim| (claim.domain.cores.len(), claim.domain.cores.as_slice()))
        .collect();
    let mut cells: Vec<Cell> = Vec::new();

    for (_, domain) in domains {
        let owners = (0..claims.len()).filter(|at| own(&&claims[*at]) && claims[*at].domain.cores == domain);
        let left = unclaimed(domain, &cells);
        if left.is_empty() {
            owners.for_each(|owner| lodge(owner, domain, &mut cells));
        } else {
            cells.push(Cell { cores: left, owners: owners.collect() });
        }
    }
    cells
}

/// Targets whose own cores cannot be had, with those of the node nearest to them.
fn lodge_the_driven_out(claims: &[Claim], cells: &mut Vec<Cell>) {
    for (at, claim) in claims.iter().enumerate() {
        let counts = match claim.domain.basis {
            Basis::NoLocal { .. } => true,
            Basis::Taken { .. } => claim.ranks > 0,
            _ => false,
        };
        if counts {
            let left = unclaimed(&claim.domain.cores, cells);
            if !left.is_empty() {
                cells.push(Cell { cores: left, owners: Vec::new() });
            }
            lodge(at, &claim.domain.cores, cells);
        }
    }
}

/// Targets of unknown place: evenly over the cores that no other has a claim to, as far as there is one for
/// each.
fn lodge_the_unknown(pool: &Pool<'_>, claims: &[Claim], cells: &mut Vec<Cell>, shares: &mut [Vec<usize>]) {
    let unknown: Vec<usize> =
        (0..claims.len()).filter(|at| claims[*at].domain.basis == Basis::Unknown).collect();
    let every: Vec<usize> = (0..pool.cores.len()).collect();
    let left = unclaimed(&every, cells);
    if left.len() >= unknown.len() {
        for (at, cores) in unknown.iter().zip(spread(pool, &left, unknown.len())) {
            shares[*at] = cores;
        }
        return;
    }
    if !left.is_empty() {
        cells.push(Cell { cores: left, owners: Vec::new() });
    }
    unknown.into_iter().filter(|at| claims[*at].ranks > 0).for_each(|at| lodge(at, &every, cells));
}

/// Adds an owner to that cell of the domain which has the most cores for each.
fn lodge(owner: usize, domain: &[usize], cells: &mut [Cell]) {
    let within = |cell: &&mut Cell| cell.cores.iter().any(|core| domain.contains(core));
    let room = |cell: &Cell| (cell.cores.len() * 1024) / (cell.owners.len() + 1);
    // The first of equals, as `max_by_key` would not.
    if let Some(cell) = cells.iter_mut().filter(within).min_by_key(|cell| usize::MAX - room(cell)) {
        cell.owners.push(owner);
    }
}

fn unclaimed(domain: &[usize], cells: &[Cell]) -> Vec<usize> {
    domain.iter().copied().filter(|core| !cells.iter().any(|cell| cell.cores.contains(core))).collect()
}
