//! What is said of places: why each rank has its own, and what holds for the node.

use std::fmt;

use stats::IdSet;
use topo::model::Rung;

use super::domain::Basis;
use super::pool::Pool;
use super::{Ask, Hand, Part, Place, Strategy};
use crate::node_plan::counted;
use crate::{Target, TargetId};

/// Why a rank has its place.
pub(super) struct Why<'w> {
    pub(super) pool: &'w Pool<'w>,
    pub(super) hand: &'w Hand,
    pub(super) part: &'w Part,
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, hand, part } = self;
        match &part.basis {
            Basis::Local { local } => write!(f, "local to its GPU ({local})")?,
            Basis::Taken { local, node } => {
                write!(f, "none of the GPU's local PUs ({local}) can be had: the nearest, {}", on(*node))?;
            }
            Basis::NoLocal { node } => write!(f, "no PU is local to its GPU: the nearest, {}", on(*node))?,
            Basis::Farthest { node } => write!(f, "the farthest from its GPU, {}", on(*node))?,
            Basis::Unknown => f.write_str("nobody knows where its GPU is: evenly over the NUMA nodes")?,
            Basis::Even => f.write_str("evenly over the NUMA nodes")?,
            Basis::Next => f.write_str("the next cores in order")?,
        }
        let (share, ranks) = &part.share;
        if *ranks > 1 {
            write!(f, "; {ranks} ranks share that GPU and its {}", counted(share.len(), "core"))?;
        }
        if !hand.elsewhere.is_empty() {
            let own = share.iter().fold(IdSet::default(), |all, core| all.or(&pool.seats[*core].pus));
            write!(f, "; its own part ({own}) is too small: {} from elsewhere", hand.elsewhere.and(&hand.pus))?;
        }
        if hand.thread_only {
            f.write_str("; a hardware thread of a core that another rank is on: no core is free there")?;
        }
        if hand.shared {
            f.write_str("; shared with another rank: no PU is free")?;
        }
        Ok(())
    }
}

fn on(node: Option<u32>) -> String {
    node.map_or_else(|| "where there is no NUMA node".to_owned(), |node| format!("on NUMA node {node}"))
}

/// What holds for the node.
pub(super) fn notes(pool: &Pool<'_>, ask: &Ask, chosen: &[Target], places: &[Place], hands: &[Hand]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut say = |condition: bool, note: &dyn Fn() -> String| {
        if condition {
            notes.push(note());
        }
    };
    let (count, gpus) = (places.len(), chosen.len());
    say(ask.strategy == Strategy::Worst, &|| {
        "strategy worst is for showing what a bad placement costs: use it for nothing else".to_owned()
    });
    say(!pool.kept_by_site.is_empty(), &|| {
        let kept = &pool.kept_by_site;
        format!(
            "{kept} are reserved: as many cores of every L3 are missing from what is allowed, so the site keeps them"
        )
    });
    say(!pool.kept_as_asked.is_empty(), &|| format!("{} are reserved as asked", pool.kept_as_asked));
    say(!pool.missing.is_empty(), &|| format!("{} were asked for and are not online here", pool.missing));
    say(gpus > 0 && count > gpus, &|| {
        format!("{count} ranks share {}, neighbours in rank the same one", counted(gpus, "GPU"))
    });
    say(gpus > count, &|| {
        let used: Vec<String> =
            places.iter().filter_map(|place| Some(place.target.as_ref()?.index.to_string())).collect();
        format!("{count} ranks use {count} of {gpus} GPUs: {}", used.join(","))
    });
    say(ask.smt && count > pool.seats.len(), &|| {
        format!(
            "{count} ranks and {}: each rank gets one hardware thread, not all of a core",
            counted(pool.seats.len(), "core")
        )
    });
    let threads = of(hands, |hand| hand.thread_only);
    say(!threads.is_empty(), &|| {
        format!("there are too few cores: ranks {threads} are on second hardware threads of others' cores")
    });
    let shared = of(hands, |hand| hand.shared);
    say(!shared.is_empty(), &|| {
        let pus = pool.seats.iter().map(|seat| seat.pus.len()).sum::<usize>();
        format!("{count} ranks and {pus} PUs: ranks {shared} share a PU with another and take turns on it")
    });
    let unknown = |place: &&Place| is_gpu(place) && matches!(place.rung, None | Some(Rung::Unknown));
    let lost = ranks(places.iter().filter(unknown).map(|place| place.rank));
    let by_gpu = matches!(ask.strategy, Strategy::Close | Strategy::Worst);
    say(by_gpu && !lost.is_empty(), &|| {
        format!(
            "nobody tells where these ranks' GPUs are: {lost}; their places are even, neither near nor far; a measurement can tell"
        )
    });
    notes
}

fn is_gpu(place: &Place) -> bool {
    place.target.as_ref().is_some_and(|target| matches!(target.id, TargetId::Gpu(_)))
}

fn of(hands: &[Hand], which: impl Fn(&Hand) -> bool) -> IdSet {
    ranks(hands.iter().enumerate().filter(|(_, hand)| which(hand)).map(|(rank, _)| rank))
}

fn ranks(ranks: impl Iterator<Item = usize>) -> IdSet {
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}
