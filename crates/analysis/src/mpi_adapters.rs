//! Which network adapter carried a rank's messages between hosts, near or far, by what the adapters counted; pure.
//!
//! An adapter carried some if the 95 % interval of what it counted for each byte of the messages lies above a fiftieth; other traffic, of which the part at rest is taken off, makes that
//! interval wide. Shares are said only where those adapters account for the messages: nine tenths of the bytes at least, and of large messages no more than a quarter too much (packets'
//! heads are counted with them), and of several adapters where their intervals are narrow.

use report::MpiDocument;
use report::mpi::{MpiAdapter, MpiCarried, MpiPerByte, MpiRank};
use stats::units::size;

/// A share below this is none.
const LEAST: f64 = 0.02;
/// What must be counted of the bytes, at least.
const ACCOUNTED: f64 = 0.9;
/// And at most, of messages of `LARGE` bytes and more.
const AT_MOST: f64 = 1.25;
/// From this size on the heads of packets weigh little.
const LARGE: u64 = 64 << 10;
/// The width of several adapters' intervals, against the bytes, that leaves a share within a few per cent.
const SHARP: f64 = 0.1;
/// More ranks than these are told in a line where they fare alike.
const EACH: usize = 8;

/// How one rank's messages of a size went to and from another rank.
#[derive(Clone, Debug)]
pub struct Way<'d> {
    /// The rank.
    pub rank: &'d MpiRank,
    /// Bytes of a message.
    pub bytes: u64,
    /// The adapters that carried them, each with its share, the largest first; or which part of the bytes those counted that counted any.
    pub carriers: Result<Vec<(&'d MpiAdapter, f64)>, f64>,
    /// Adapters that counted nothing meanwhile.
    idle: Vec<&'d MpiAdapter>,
}

/// Whether ranks' messages go over near adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// All of them.
    Near,
    /// Some over a far one while a near one has a link.
    Far,
    /// That cannot be told of some.
    Unknown,
}

/// How each rank's messages went between hosts, size by size, the largest first: those that MPI took from device memory where there are any, else from host memory.
pub fn ways(document: &MpiDocument) -> Vec<Vec<Way<'_>>> {
    let mut all: Vec<Vec<Way>> = Vec::new();
    let ends = document.pairs.iter().flat_map(|pair| pair.ranks.map(|number| (pair, number)));
    for (pair, number) in ends {
        let Some(rank) = document.ranks.iter().find(|rank| rank.rank == number) else { continue };
        let of_rank: Vec<&MpiCarried> = pair.carried.iter().filter(|carried| carried.rank == number).collect();
        let path = if of_rank.iter().any(|carried| carried.path == "gpu-aware") { "gpu-aware" } else { "host" };
        let mut sizes: Vec<u64> =
            of_rank.iter().filter(|carried| carried.path == path).map(|carried| carried.bytes).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        sizes.dedup();
        let of_size = |bytes: u64| way(rank, &of_rank, path, bytes);
        let ways: Vec<Way> = sizes.into_iter().map(of_size).collect();
        if !ways.is_empty() {
            all.push(ways);
        }
    }
    all
}

/// Of the patterns, and of what is sent and received, the first that tells; else the first that was counted, if any was.
fn way<'d>(rank: &'d MpiRank, carried: &[&MpiCarried], path: &str, bytes: u64) -> Way<'d> {
    let of = |pattern: &str, direction: fn(&MpiCarried) -> Option<&MpiPerByte>| {
        let is = |one: &&&MpiCarried| one.path == path && one.pattern == pattern && one.bytes == bytes;
        let adapter = |name: &str| rank.adapters.iter().find(|adapter| adapter.name == name);
        let counted: Vec<(&MpiAdapter, &MpiPerByte)> =
            carried.iter().filter(is).filter_map(|one| Some((adapter(&one.adapter)?, direction(one)?))).collect();
        (!counted.is_empty()).then(|| judged(rank, bytes, &counted))
    };
    let sent: fn(&MpiCarried) -> Option<&MpiPerByte> = |one| one.sent.as_ref();
    let received: fn(&MpiCarried) -> Option<&MpiPerByte> = |one| one.received.as_ref();
    let patterns = ["ping-pong", "both-ways", "one-way"];
    let mut tries: Vec<Way> =
        patterns.into_iter().flat_map(|pattern| [of(pattern, sent), of(pattern, received)]).flatten().collect();
    let tells = tries.iter().position(|way| way.carriers.is_ok()).unwrap_or_default();
    if tries.is_empty() { judged(rank, bytes, &[]) } else { tries.swap_remove(tells) }
}

fn judged<'d>(rank: &'d MpiRank, bytes: u64, counted: &[(&'d MpiAdapter, &MpiPerByte)]) -> Way<'d> {
    let is_some = |(_, per_byte): &&(&MpiAdapter, &MpiPerByte)| per_byte.interval.low > LEAST;
    let some: Vec<&(&MpiAdapter, &MpiPerByte)> = counted.iter().filter(is_some).collect();
    let mut carriers: Vec<(&MpiAdapter, f64)> =
        some.iter().map(|(adapter, per_byte)| (*adapter, per_byte.median)).collect();
    carriers.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all = carriers.iter().fold(0.0, |all, (_, part)| all + part);
    let is_sharp =
        |(_, per_byte): &&(&MpiAdapter, &MpiPerByte)| per_byte.interval.high - per_byte.interval.low <= SHARP * all;
    let is_told = some.len() == 1 || some.iter().all(is_sharp);
    let is_accounted = is_told && all >= ACCOUNTED && (bytes < LARGE || all <= AT_MOST);
    let is_still = |per_byte: &MpiPerByte| per_byte.interval.low > -LEAST && per_byte.interval.high < LEAST;
    Way {
        rank,
        bytes,
        idle: counted.iter().filter(|(_, per_byte)| is_still(per_byte)).map(|(adapter, _)| *adapter).collect(),
        carriers: match is_accounted {
            true => Ok(carriers.into_iter().map(|(adapter, part)| (adapter, part / all)).collect()),
            false => Err(all),
        },
    }
}

impl Way<'_> {
    /// Whether all of it went over near adapters.
    pub fn nearness(&self) -> Nearness {
        let Ok(carriers) = &self.carriers else { return Nearness::Unknown };
        let could_be_near = self.near_with_link().next().is_some();
        let some =
            |near: Option<bool>| carriers.iter().any(|(adapter, share)| *share > LEAST && adapter.is_near == near);
        match (some(Some(false)) && could_be_near, some(None)) {
            (true, _) => Nearness::Far,
            (false, true) => Nearness::Unknown,
            (false, false) => Nearness::Near,
        }
    }

    fn near_with_link(&self) -> impl Iterator<Item = &MpiAdapter> {
        let is = |adapter: &&MpiAdapter| adapter.is_near == Some(true) && adapter.has_link == Some(true);
        self.rank.adapters.iter().filter(is)
    }

    fn names(&self) -> Vec<&str> {
        self.carriers.iter().flatten().map(|(adapter, _)| adapter.name.as_str()).collect()
    }
}

/// Whether all ranks' messages between hosts went over near adapters.
pub fn nearness(document: &MpiDocument) -> Nearness {
    let ways = ways(document);
    let all: Vec<Nearness> = ways.iter().flatten().map(Way::nearness).collect();
    let largest = ways.iter().filter_map(|ways| ways.first()).map(Way::nearness);
    if all.contains(&Nearness::Far) {
        Nearness::Far
    } else if ways.is_empty() || largest.into_iter().any(|near| near == Nearness::Unknown) {
        Nearness::Unknown
    } else {
        Nearness::Near
    }
}

/// The sentences: a line a rank; of many ranks those alone that are not all near, and how many are. None where no message went between hosts.
pub fn verdict(document: &MpiDocument) -> Vec<String> {
    let mut lines: Vec<(Nearness, String)> = Vec::new();
    for ways in ways(document) {
        let line = sentence(&ways);
        if !lines.iter().any(|(_, known)| *known == line) {
            let is_far = ways.iter().any(|way| way.nearness() == Nearness::Far);
            lines.push((if is_far { Nearness::Far } else { ways[0].nearness() }, line));
        }
    }
    let near = lines.iter().filter(|(near, _)| *near == Nearness::Near).count();
    let tells_each = lines.len() <= EACH;
    let told = lines.into_iter().filter(|(near, _)| tells_each || *near != Nearness::Near).map(|(_, line)| line);
    let alike = format!("The bytes of {near} ranks went over network adapters near them.");
    told.chain((!tells_each && near > 0).then_some(alike)).collect()
}

/// How a rank's messages went, its largest first.
fn sentence(ways: &[Way]) -> String {
    let (way, rank) = (&ways[0], ways[0].rank);
    let near_to = if rank.gpu.is_some() { "its GPU" } else { "it" };
    let who = format!("Rank {} ({}, NUMA node {}): ", rank.rank, rank.host, rank.memory_node);
    let unread = rank
        .adapters
        .iter()
        .filter_map(|adapter| Some(format!("{} cannot be counted: {}", adapter.name, adapter.not_counted.as_ref()?)));
    let carriers = match &way.carriers {
        Ok(carriers) => carriers,
        Err(counted) => {
            let counted = format!(
                "{who}which network adapter carried its bytes is unknown: those of {} counted {:.0} % of them",
                rank.host,
                counted * 100.0
            );
            return format!("{}.", [counted].into_iter().chain(unread).collect::<Vec<_>>().join("; "));
        }
    };
    let over = |(at, (adapter, share)): (usize, &(&MpiAdapter, f64))| {
        let what = if at == 0 { "of its bytes went over" } else { "over" };
        format!("{:.0} % {what} {}", share * 100.0, with_place(adapter, near_to))
    };
    let mut said = format!("{who}{}", carriers.iter().enumerate().map(over).collect::<Vec<_>>().join(" and "));
    let others: Vec<&Way> =
        ways.iter().filter(|other| other.carriers.is_ok() && other.names() != way.names()).collect();
    if let (Some(most), Some(least)) = (others.first(), others.last()) {
        let sizes = if most.bytes == least.bytes {
            size(least.bytes)
        } else {
            format!("{} to {}", size(least.bytes), size(most.bytes))
        };
        said = format!("{said}; messages of {sizes} over {}", least.names().join(" and "));
    }
    said.push('.');
    let unused = || way.near_with_link().filter(|near| !carriers.iter().any(|(used, _)| used.name == near.name));
    for near in unused() {
        let how = if way.idle.iter().any(|idle| idle.name == near.name) { "idle" } else { "not used" };
        said = format!("{said} {} is near and was {how}", near.name);
        let has_far = carriers.iter().any(|(adapter, _)| adapter.is_near == Some(false));
        said = match has_far && !near.chosen_by.is_empty() {
            true => format!("{said}: set {}.", near.chosen_by.join(" or ")),
            false => format!("{said}."),
        };
    }
    said
}

/// `mlx5_0 (NUMA node 0, far from it)`.
fn with_place(adapter: &MpiAdapter, near_to: &str) -> String {
    let nodes = if adapter.nodes.is_empty() { "unknown".to_owned() } else { adapter.nodes.to_string() };
    let near = match adapter.is_near {
        Some(true) => format!(", near {near_to}"),
        Some(false) => format!(", FAR from {near_to}"),
        None => String::new(),
    };
    format!("{} (NUMA node {nodes}{near})", adapter.name)
}

#[cfg(test)]
mod tests {
    use stats::interval::Interval;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Rank 0 on node 0 of two hosts, with r0 near and r1 far: what each counted for each byte, with half the interval.
    fn document(large: [(f64, f64); 2], small: [(f64, f64); 2]) -> Result<MpiDocument, Box<dyn std::error::Error>> {
        let kept = include_bytes!("../../render/tests/results/documents/mpi-1.0-aware.json");
        let mut document = MpiDocument::from_json(kept)?;
        let adapter = |name: &str, near: bool| MpiAdapter {
            name: name.to_owned(),
            interfaces: vec![name.to_owned()],
            pci: None,
            nodes: [u32::from(!near)].into_iter().collect(),
            is_near: Some(near),
            has_link: Some(true),
            not_counted: None,
            chosen_by: vec![format!("UCX_NET_DEVICES={name}")],
        };
        let rank = &mut document.ranks[0];
        (rank.host, rank.gpu, rank.memory_node) = ("h0".to_owned(), None, 0);
        rank.adapters = vec![adapter("r0", true), adapter("r1", false)];
        let carried = |bytes: u64, name: &str, (median, half): (f64, f64)| MpiCarried {
            path: "host".to_owned(),
            pattern: "ping-pong".to_owned(),
            bytes,
            rank: 0,
            adapter: name.to_owned(),
            sent: Some(MpiPerByte {
                median,
                interval: Interval { low: median - half, high: median + half, confidence: 0.96 },
            }),
            received: None,
        };
        for (bytes, [near, far]) in [(8, small), (4 << 20, large)] {
            document.pairs[0].carried.extend([carried(bytes, "r0", near), carried(bytes, "r1", far)]);
        }
        Ok(document)
    }

    const NEAR: [(f64, f64); 2] = [(1.02, 0.01), (0.0, 0.001)];
    const FAR: [(f64, f64); 2] = [(0.0, 0.001), (1.02, 0.01)];

    fn only(document: &MpiDocument) -> String {
        verdict(document).join("\n")
    }

    #[test]
    fn a_far_adapter_is_named_with_the_near_one_that_was_idle_and_what_chooses_it() -> Outcome {
        let document = document(FAR, FAR)?;
        assert_eq!(
            only(&document),
            "Rank 0 (h0, NUMA node 0): 100 % of its bytes went over r1 (NUMA node 1, FAR from it). r0 is near and was idle: set UCX_NET_DEVICES=r0."
        );
        assert_eq!(nearness(&document), Nearness::Far);
        Ok(())
    }

    #[test]
    fn two_adapters_have_their_shares_and_the_far_one_counts() -> Outcome {
        let document = document([(0.62, 0.02), (0.41, 0.02)], NEAR)?;
        let said = only(&document);
        assert!(
            said.contains(
                "60 % of its bytes went over r0 (NUMA node 0, near it) and 40 % over r1 (NUMA node 1, FAR from it)"
            ),
            "{said}"
        );
        assert!(said.contains("; messages of 8 B over r0."), "{said}");
        assert_eq!(nearness(&document), Nearness::Far);
        Ok(())
    }

    #[test]
    fn other_traffic_on_the_far_adapter_is_not_blamed_on_the_rank() -> Outcome {
        for noise in [(0.3, 0.9), (-0.4, 0.2), (0.01, 0.5)] {
            let document = document([NEAR[0], noise], NEAR)?;
            assert_eq!(nearness(&document), Nearness::Near, "{noise:?}: {}", only(&document));
        }
        Ok(())
    }

    #[test]
    fn where_other_traffic_hides_what_was_sent_what_was_received_tells() -> Outcome {
        let mut document = document([(0.74, 0.5), (0.5, 0.01)], NEAR)?;
        assert!(only(&document).contains("is unknown: those of h0 counted 124 %"), "{}", only(&document));
        let parts = [(0.5, "r0"), (0.5, "r1")];
        for (median, name) in parts {
            let mut of = document.pairs[0].carried.iter_mut();
            let one = of.find(|one| one.adapter == name && one.bytes == 4 << 20).ok_or("it was counted")?;
            let interval = Interval { low: median - 0.01, high: median + 0.01, confidence: 0.96 };
            one.received = Some(MpiPerByte { median, interval });
        }
        assert!(only(&document).contains("50 % of its bytes went over r0"), "{}", only(&document));
        Ok(())
    }

    #[test]
    fn small_messages_over_a_far_adapter_are_far_too() -> Outcome {
        let document = document(NEAR, [(0.0, 0.001), (12.0, 0.5)])?;
        assert_eq!(nearness(&document), Nearness::Far, "{}", only(&document));
        Ok(())
    }

    #[test]
    fn bytes_that_nobody_counted_and_bytes_too_many_are_unknown() -> Outcome {
        for (large, part) in [([(0.1, 0.02), (0.0, 0.001)], "10 %"), ([(1.0, 0.02), (0.5, 0.1)], "150 %")] {
            let document = document(large, NEAR)?;
            assert_eq!(nearness(&document), Nearness::Unknown);
            assert!(
                only(&document).contains(&format!("is unknown: those of h0 counted {part}")),
                "{}",
                only(&document)
            );
        }
        Ok(())
    }

    #[test]
    fn a_far_adapter_is_no_finding_where_no_near_one_has_a_link_and_an_unknown_one_decides_nothing() -> Outcome {
        let mut document = document(FAR, FAR)?;
        document.ranks[0].adapters[0].has_link = Some(false);
        assert_eq!(nearness(&document), Nearness::Near);
        assert!(!only(&document).contains("set "), "{}", only(&document));
        document.ranks[0].adapters[1].is_near = None;
        assert_eq!(nearness(&document), Nearness::Unknown);
        Ok(())
    }

    #[test]
    fn counters_that_cannot_be_read_are_said() -> Outcome {
        let mut document = document(NEAR, NEAR)?;
        document.pairs[0].carried.iter_mut().for_each(|carried| carried.sent = None);
        document.ranks[0].adapters[0].not_counted = Some("no permission".to_owned());
        let said = only(&document);
        assert!(
            said.contains("is unknown: those of h0 counted 0 % of them; r0 cannot be counted: no permission."),
            "{said}"
        );
        assert_eq!(nearness(&document), Nearness::Unknown);
        Ok(())
    }

    #[test]
    fn messages_within_a_host_say_nothing() -> Outcome {
        let mut document = document(NEAR, NEAR)?;
        document.pairs[0].carried.clear();
        assert!(verdict(&document).is_empty());
        assert_eq!(nearness(&document), Nearness::Unknown);
        Ok(())
    }
}
