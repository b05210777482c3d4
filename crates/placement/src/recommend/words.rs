//! What is said of places: why each rank has its own, and what holds for the node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use stats::IdSet;
use topo::model::Rung;

use super::assign::Assignment;
use super::domain::Basis;
use super::pool::{Pool, PoolCore};
use super::{Ask, GpuChoice, Part, Place, Strategy, recommend};
use crate::{Closeness, Target, TargetId};
use stats::units::counted;

/// Why a rank has its place.
pub(super) struct Why<'w> {
    pub(super) assignment: &'w Assignment,
    pub(super) part: &'w Part,
    /// The PUs beyond its part that are on the NUMA nodes of its part.
    pub(super) on_own_nodes: IdSet,
    /// How close its PUs and its GPU are.
    pub(super) closeness: Option<Closeness>,
    /// Whether the memory of a NUMA node stands in for its GPU.
    pub(super) is_host_memory: bool,
}

impl Why<'_> {
    /// Where the PUs beyond its share are: `7 is NUMA-local too, 16-17 come from elsewhere`.
    fn extra(&self, extra: &IdSet) -> String {
        let (near, words) = match &self.part.basis {
            Basis::Local { local } => (self.on_own_nodes.or(local), "NUMA-local too"),
            _ => (self.on_own_nodes.clone(), "on the same NUMA node"),
        };
        let sets = [
            (extra.and(&near), format!("is {words}"), format!("are {words}")),
            (extra.minus(&near), "comes from elsewhere".to_owned(), "come from elsewhere".to_owned()),
        ];
        let said = sets.into_iter().filter(|(pus, ..)| !pus.is_empty());
        let said = said.map(|(pus, one, all)| format!("{pus} {}", if pus.len() == 1 { one } else { all }));
        said.collect::<Vec<_>>().join(", ")
    }

    /// `PUs 24-25 (REMOTE)`.
    fn placed(&self) -> String {
        let pus = &self.assignment.pus;
        let name = if pus.len() == 1 { "PU" } else { "PUs" };
        self.closeness.map_or_else(
            || format!("{name} {pus}"),
            |closeness| format!("{name} {pus} ({})", closeness.text()),
        )
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { assignment, part, .. } = self;
        let device = if self.is_host_memory { "memory" } else { "GPU" };
        let displaced = !assignment.pus.is_empty() && assignment.pus.is_subset(&assignment.elsewhere);
        match &part.basis {
            Basis::Local { local } if displaced && assignment.pus.is_subset(local) => {
                write!(f, "near its {device} ({local}), on a core of another rank's share")?;
            }
            Basis::Local { local } if displaced => {
                write!(f, "its {device}'s local cores ({local}) are taken: placed on {}", self.placed())?;
            }
            Basis::Local { local } => write!(f, "local to its {device} ({local})")?,
            Basis::Taken { local, node } => {
                write!(
                    f,
                    "this job has none of its {device}'s local PUs ({local}): the nearest, {}",
                    on(*node)
                )?;
            }
            Basis::NoLocal { node } => {
                write!(f, "no PU is local to its {device}: the nearest, {}", on(*node))?
            }
            Basis::Farthest { node } => write!(f, "the farthest from its {device}, {}", on(*node))?,
            Basis::Unknown => {
                write!(f, "its {device}'s locality is unknown: cores are shared evenly over the NUMA nodes")?
            }
            Basis::Even => f.write_str("evenly over the NUMA nodes")?,
            Basis::Next => f.write_str("the next cores in order")?,
        }

        let (share, ranks) = &part.share;
        if *ranks > 1 {
            write!(f, "; {ranks} ranks share this {device} and its {}", counted(share.len(), "core"))?;
        }

        let extra = assignment.elsewhere.and(&assignment.pus);
        if !extra.is_empty() && !displaced {
            write!(f, "; its share is {}: {}", counted(part.cores.len(), "core"), self.extra(&extra))?;
        }

        if displaced && !matches!(part.basis, Basis::Local { .. }) {
            f.write_str("; none of its share is left")?;
        }
        if assignment.thread_only {
            f.write_str("; a second hardware thread: no core is free there")?;
        }
        if assignment.shared {
            f.write_str("; shared with another rank: no PU is free")?;
        }
        Ok(())
    }
}

fn on(node: Option<u32>) -> String {
    node.map_or_else(|| "where there is no NUMA node".to_owned(), |node| format!("on NUMA node {node}"))
}

/// What holds for the node.
pub(super) fn notes(
    pool: &Pool<'_>,
    ask: &Ask,
    chosen: &[Target],
    places: &[Place],
    assignments: &[Assignment],
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(idle(pool, ask, places));
    let mut say = |condition: bool, note: &dyn Fn() -> String| {
        if condition {
            notes.push(note());
        }
    };
    // A list may name one GPU several times.
    let same = |one: &Target| (one.id, one.uuid.clone());
    let (count, gpus) = (places.len(), chosen.iter().map(same).collect::<BTreeSet<_>>().len());
    let is_far = places
        .iter()
        .filter_map(|place| place.verdict.as_ref())
        .any(|verdict| matches!(verdict.closeness, Closeness::SamePackage | Closeness::Remote));
    say(ask.strategy == Strategy::Worst && is_far, &|| {
        "strategy worst is for showing what a bad placement costs: use it for nothing else".to_owned()
    });
    say(ask.strategy == Strategy::Worst && !is_far, &|| {
        "strategy worst: no place here is far from a GPU for certain, so it shows nothing of what that costs"
            .to_owned()
    });
    say(!pool.kept_by_site.is_empty(), &|| {
        let kept = &pool.kept_by_site;
        format!(
            "the site reserves {} of each L3: PUs {kept}",
            counted(pool.topology.reserved_cores().len() / pool.topology.l3s.len().max(1), "core")
        )
    });

    say(!pool.kept_as_asked.is_empty(), &|| format!("PUs {} are reserved as asked", pool.kept_as_asked));

    if let Some(slow) = &pool.topology.slow {
        say(!pool.left_slow.is_empty(), &|| {
            format!(
                "PUs {} are slower cores ({}) and are left out: ask for more --cores-per-rank than the \
                 others give to use them",
                pool.left_slow, slow.reason
            )
        });
        let on_slow = |place: &&Place| place.pus.iter().any(|pu| pool.topology.is_slow(pu));
        let who = ranks(places.iter().filter(on_slow).map(|place| place.rank));
        let have = if places.iter().filter(on_slow).count() == 1 { "rank {} has" } else { "ranks {} have" };
        say(!who.is_empty(), &|| {
            format!(
                "{} slower cores, of PUs {} ({})",
                have.replace("{}", &who.to_string()),
                slow.pus,
                slow.reason
            )
        });
    }

    say(!pool.missing.is_empty(), &|| format!("PUs {} were asked for and are not online here", pool.missing));
    say(gpus > 0 && count > gpus, &|| {
        let mut in_turn: Vec<_> = places.iter().filter_map(|place| place.target.as_ref().map(same)).collect();
        in_turn.dedup();
        let are_neighbours =
            if in_turn.len() == gpus { ": neighbouring ranks have the same one" } else { "" };
        format!("{count} ranks share {}{are_neighbours}", counted(gpus, "GPU"))
    });
    say(gpus > count, &|| {
        let mut used: Vec<String> = Vec::new();
        for target in places.iter().filter_map(|place| place.target.as_ref()) {
            let index = target.index.to_string();
            if !used.contains(&index) {
                used.push(index);
            }
        }
        let ranks = if count == 1 { "1 rank uses".to_owned() } else { format!("{count} ranks use") };
        format!("{ranks} {} of {gpus} GPUs: {}", used.len(), used.join(","))
    });
    say(ask.smt && count > pool.cores.len(), &|| {
        format!(
            "{count} ranks and {}: each rank gets one hardware thread, not all of a core",
            counted(pool.cores.len(), "core")
        )
    });
    let threads = ranks_where(assignments, |assignment| assignment.thread_only);
    let by_gpu = matches!(ask.strategy, Strategy::Close | Strategy::Worst);
    say(!threads.is_empty(), &|| {
        let which = if by_gpu && gpus > 0 { "near their GPUs" } else { "there" };
        format!("ranks {threads} are on second hardware threads: each core {which} already has a rank")
    });
    let shared = ranks_where(assignments, |assignment| assignment.shared);
    say(!shared.is_empty(), &|| {
        let pus = pool.cores.iter().map(|core| core.pus.len()).sum::<usize>();
        let whose = if shared.len() == 1 { "the PU of rank" } else { "the PUs of ranks" };
        let are = if shared.len() == 1 { "is" } else { "are" };
        format!("{count} ranks and {}: {whose} {shared} {are} oversubscribed", counted(pus, "PU"))
    });
    let unknown = |place: &&Place| is_gpu(place) && matches!(place.rung, None | Some(Rung::Unknown));
    let lost = ranks(places.iter().filter(unknown).map(|place| place.rank));
    say(by_gpu && !lost.is_empty(), &|| {
        let alone = lost.iter().count() == 1;
        let (gpus, cores) =
            if alone { ("GPU of rank", "its cores") } else { ("GPUs of ranks", "their cores") };
        let nodes: BTreeSet<Option<u32>> = pool.cores.iter().map(|core| core.node).collect();
        let measured = if nodes.len() > 1 { "; place --measure compares the NUMA nodes" } else { "" };
        format!(
            "the locality of the {gpus} {lost} is not reported on this machine: {cores} are shared \
             evenly{measured}"
        )
    });

    let wide = ranks(places.iter().filter(|place| place.nodes.len() > 1).map(|place| place.rank));
    say(!wide.is_empty(), &|| {
        format!(
            "ranks {wide} have cores on several NUMA nodes, and their memory is on the node of their first \
             core"
        )
    });
    notes
}

/// That cores stay idle, and the option that uses more of them without taking any rank farther away; most of
/// them, as a rule.
fn idle(pool: &Pool<'_>, ask: &Ask, places: &[Place]) -> Option<String> {
    let is_used = |core: &&PoolCore| places.iter().any(|place| !place.pus.and(&core.pus).is_empty());
    let (all, used) = (pool.cores.len(), pool.cores.iter().filter(is_used).count());
    let most = all / places.len().max(1);
    if ask.cores_per_rank.is_some() || most * places.len() <= used {
        return None;
    }
    let stay = if all - used == 1 { "stays" } else { "stay" };
    let said = format!("{} of {all} cores {stay} idle", all - used);
    let wider =
        (1..=most).rev().take_while(|each| each * places.len() > used).filter(|each| is_whole(pool, *each));
    let wider: Vec<usize> = wider.collect();

    // Each is a plan of its own: the widest are tried, and the others halved.
    let fits = |each: &usize| keeps(pool, ask, places, *each);
    let (widest, others) = wider.split_at(wider.len().min(8));
    let of_others = || others.get(others.partition_point(|each| !fits(each)));
    let fitting = widest.iter().find(|each| fits(each)).or_else(of_others);

    Some(match fitting {
        Some(each) => format!("{said}: --cores-per-rank {each} uses {}", each * places.len()),
        None if others.is_empty() => {
            format!("{said}: with more cores each, ranks would reach into other L3s or NUMA nodes")
        }
        None => said,
    })
}

/// The cores of the smallest L3; `None` where the machine names none.
fn l3_size(pool: &Pool<'_>) -> Option<usize> {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    pool.cores.iter().filter_map(|core| core.l3).for_each(|l3| *sizes.entry(l3).or_default() += 1);
    sizes.into_values().min()
}

/// Whether so many cores are a part of an L3, or whole ones.
fn is_whole(pool: &Pool<'_>, each: usize) -> bool {
    l3_size(pool).is_none_or(|size| each <= size || each.is_multiple_of(size))
}

/// Whether with so many cores each rank stays on its nodes, near its GPU, and on no more L3s than it needs.
fn keeps(pool: &Pool<'_>, ask: &Ask, places: &[Place], each: usize) -> bool {
    let targets: Option<Vec<Target>> = places.iter().map(|place| place.target.clone()).collect();
    let gpus = targets.map_or(GpuChoice::None, GpuChoice::These);
    let ask = Ask { ranks: Some(places.len()), cores_per_rank: Some(each), gpus, ..ask.clone() };
    let Ok(wider) = recommend(pool.topology, &ask) else { return false };
    let l3s = |place: &Place| place.l3s.len().max(l3_size(pool).map_or(1, |size| each.div_ceil(size)));
    let closeness = |place: &Place| place.verdict.as_ref().map(|verdict| verdict.closeness);
    wider.places.iter().zip(places).all(|(wide, place)| {
        wide.nodes.len() <= place.nodes.len().max(1)
            && wide.l3s.len() <= l3s(place)
            && closeness(wide) <= closeness(place).max(closeness(wide).map(|_| Closeness::NumaLocal))
    })
}

fn is_gpu(place: &Place) -> bool {
    place.target.as_ref().is_some_and(|target| matches!(target.id, TargetId::Gpu(_)))
}

fn ranks_where(assignments: &[Assignment], which: impl Fn(&Assignment) -> bool) -> IdSet {
    ranks(assignments.iter().enumerate().filter(|(_, assignment)| which(assignment)).map(|(rank, _)| rank))
}

fn ranks(ranks: impl Iterator<Item = usize>) -> IdSet {
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}
