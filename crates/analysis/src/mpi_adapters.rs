//! Which network adapter carried a rank's messages between hosts, near or far, by what the adapters counted;
//! pure.
//!
//! An adapter carried some if the 95 % interval of what it counted for each byte of the messages lies above a
//! fiftieth; other traffic, of which the part at rest is taken off, makes that interval wide. Shares are said
//! only where those adapters account for the messages: nine tenths of the bytes at least, and of large
//! messages no more than a quarter too much (packets' heads are counted with them), and of several adapters
//! where their intervals are narrow.

use report::MpiDocument;
use report::message::{MessagePattern, MpiPath};
use report::mpi::{MpiAdapter, MpiCarried, MpiPerByte, MpiRank};
use stats::alike::distinct;
use stats::units::size;

/// A share below this is none.
const LEAST: f64 = 0.02;
/// What must be counted of the bytes, at least.
const ACCOUNTED: f64 = 0.9;
/// And at most, of messages of `LARGE` bytes and more.
const AT_MOST: f64 = 1.25;
/// From this size on the heads of packets weigh little.
pub(crate) const LARGE: u64 = 64 << 10;
/// The width of several adapters' intervals, against the bytes, that leaves a share within a few per cent.
const SHARP: f64 = 0.1;
/// More ranks than these are told in a line where they fare alike.
const EACH: usize = 8;

/// How one rank's messages of a size went to and from another rank.
#[derive(Clone, Debug)]
pub struct AdapterPath<'d> {
    /// The rank.
    pub rank: &'d MpiRank,
    /// Which memory they were of: host memory, or device memory that MPI took.
    pub path: MpiPath,
    /// Bytes of a message.
    pub bytes: u64,
    /// The adapters that carried them, each with its share, the largest first; or which part of the bytes
    /// those counted that counted any.
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

/// How each rank's messages went between hosts, size by size, the largest first: those that MPI took from
/// device memory where there are any, else from host memory.
pub fn ways(document: &MpiDocument) -> Vec<Vec<AdapterPath<'_>>> {
    let mut all: Vec<Vec<AdapterPath>> = Vec::new();
    let ends = document.pairs.iter().flat_map(|pair| pair.ranks.map(|number| (pair, number)));
    for (pair, number) in ends {
        let Some(rank) = document.ranks.iter().find(|rank| rank.rank == number) else { continue };
        let of_rank: Vec<&MpiCarried> =
            pair.carried.iter().filter(|carried| carried.rank == number).collect();
        let has_device_memory = of_rank.iter().any(|carried| carried.path == MpiPath::GpuAware);
        let path = if has_device_memory { MpiPath::GpuAware } else { MpiPath::Host };
        let mut sizes: Vec<u64> =
            of_rank.iter().filter(|carried| carried.path == path).map(|carried| carried.bytes).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        sizes.dedup();
        let of_size = |bytes: u64| way(rank, &of_rank, path, bytes);
        let ways: Vec<AdapterPath> = sizes.into_iter().map(of_size).collect();
        if !ways.is_empty() {
            all.push(ways);
        }
    }

    all
}

/// Of the patterns, and of what is sent and received, the first that tells; else the first that was counted,
/// if any was.
fn way<'d>(rank: &'d MpiRank, carried: &[&MpiCarried], path: MpiPath, bytes: u64) -> AdapterPath<'d> {
    let of = |pattern: MessagePattern, direction: fn(&MpiCarried) -> Option<&MpiPerByte>| {
        let is = |one: &&&MpiCarried| one.path == path && one.pattern == pattern && one.bytes == bytes;
        let adapter = |name: &str| rank.adapters.iter().find(|adapter| adapter.name == name);
        let counted: Vec<(&MpiAdapter, &MpiPerByte)> = carried
            .iter()
            .filter(is)
            .filter_map(|one| Some((adapter(&one.adapter)?, direction(one)?)))
            .collect();
        (!counted.is_empty()).then(|| judged(rank, (path, bytes), &counted))
    };

    let sent: fn(&MpiCarried) -> Option<&MpiPerByte> = |one| one.sent.as_ref();
    let received: fn(&MpiCarried) -> Option<&MpiPerByte> = |one| one.received.as_ref();
    let patterns = [MessagePattern::PingPong, MessagePattern::BothWays, MessagePattern::OneWay];
    let mut tries: Vec<AdapterPath> = patterns
        .into_iter()
        .flat_map(|pattern| [of(pattern, sent), of(pattern, received)])
        .flatten()
        .collect();
    let tells = tries.iter().position(|way| way.carriers.is_ok()).unwrap_or_default();
    if tries.is_empty() { judged(rank, (path, bytes), &[]) } else { tries.swap_remove(tells) }
}

fn judged<'d>(
    rank: &'d MpiRank,
    (path, bytes): (MpiPath, u64),
    counted: &[(&'d MpiAdapter, &MpiPerByte)],
) -> AdapterPath<'d> {
    let is_some = |(_, per_byte): &&(&MpiAdapter, &MpiPerByte)| per_byte.interval.low > LEAST;
    let some: Vec<&(&MpiAdapter, &MpiPerByte)> = counted.iter().filter(is_some).collect();
    let mut carriers: Vec<(&MpiAdapter, f64)> =
        some.iter().map(|(adapter, per_byte)| (*adapter, per_byte.median)).collect();
    carriers.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all = carriers.iter().fold(0.0, |all, (_, part)| all + part);
    let is_sharp = |(_, per_byte): &&(&MpiAdapter, &MpiPerByte)| {
        per_byte.interval.high - per_byte.interval.low <= SHARP * all
    };
    let is_told = some.len() == 1 || some.iter().all(is_sharp);
    let is_accounted = is_told && all >= ACCOUNTED && (bytes < LARGE || all <= AT_MOST);
    let is_still = |per_byte: &MpiPerByte| per_byte.interval.low > -LEAST && per_byte.interval.high < LEAST;

    AdapterPath {
        rank,
        path,
        bytes,
        idle: counted
            .iter()
            .filter(|(_, per_byte)| is_still(per_byte))
            .map(|(adapter, _)| *adapter)
            .collect(),
        carriers: match is_accounted {
            true => Ok(carriers.into_iter().map(|(adapter, part)| (adapter, part / all)).collect()),
            false => Err(all),
        },
    }
}

impl AdapterPath<'_> {
    /// Whether all of it went over near adapters.
    pub fn nearness(&self) -> Nearness {
        let Ok(carriers) = &self.carriers else { return Nearness::Unknown };
        let could_be_near = self.near_with_link().next().is_some();
        let some = |near: Option<bool>| {
            carriers.iter().any(|(adapter, share)| *share > LEAST && adapter.is_near == near)
        };
        match (some(Some(false)) && could_be_near, some(None)) {
            (true, _) => Nearness::Far,
            (false, true) => Nearness::Unknown,
            (false, false) => Nearness::Near,
        }
    }

    /// Adapters that could have carried them and are near.
    fn near_with_link(&self) -> impl Iterator<Item = &MpiAdapter> {
        self.could_carry().filter(|adapter| adapter.is_near == Some(true))
    }

    /// Adapters with a link that are like those that carried them: a management network's is no choice.
    pub(crate) fn could_carry(&self) -> impl Iterator<Item = &MpiAdapter> {
        let is_like =
            |adapter: &&MpiAdapter| self.carriers.iter().flatten().any(|(own, _)| are_alike(own, adapter));
        self.rank.adapters.iter().filter(|adapter| adapter.has_link == Some(true)).filter(is_like)
    }

    /// The adapters that carried some, the largest share first.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.carriers.iter().flatten().map(|(adapter, _)| adapter.name.as_str()).collect()
    }
}

/// Whether all ranks' messages between hosts went over near adapters.
pub fn nearness(document: &MpiDocument) -> Nearness {
    let ways = ways(document);
    let all: Vec<Nearness> = ways.iter().flatten().map(AdapterPath::nearness).collect();
    let largest = ways.iter().filter_map(|ways| ways.first()).map(AdapterPath::nearness);
    if all.contains(&Nearness::Far) {
        Nearness::Far
    } else if ways.is_empty() || largest.into_iter().any(|near| near == Nearness::Unknown) {
        Nearness::Unknown
    } else {
        Nearness::Near
    }
}

/// The sentences: a line a rank; of many ranks those alone that are not all near, and how many are. None
/// where no message went between hosts.
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
    let told =
        lines.into_iter().filter(|(near, _)| tells_each || *near != Nearness::Near).map(|(_, line)| line);
    let alike =
        format!("The bytes of {} went over network adapters near them.", stats::units::counted(near, "rank"));
    told.chain((!tells_each && near > 0).then_some(alike)).collect()
}

/// ` over r1`: the adapters that carried messages of this path and size of a pair at either end; nothing
/// where that is not told.
pub(crate) fn over(document: &MpiDocument, ranks: [u32; 2], (path, bytes): (MpiPath, u64)) -> String {
    let Some(pair) = document.pairs.iter().find(|pair| pair.ranks == ranks) else { return String::new() };
    let carriers = document.ranks.iter().filter(|rank| ranks.contains(&rank.rank)).flat_map(|rank| {
        let of_rank: Vec<&MpiCarried> =
            pair.carried.iter().filter(|carried| carried.rank == rank.rank).collect();
        way(rank, &of_rank, path, bytes).carriers.into_iter().flatten()
    });
    let names = distinct(carriers.map(|(adapter, _)| &adapter.name[..]));
    if names.is_empty() { String::new() } else { format!(" over {}", names.join(" and ")) }
}

/// Whether two adapters are of one kind: the kernel numbers them together (`mlx5_0` and `mlx5_2`), and their
/// links have one rate as far as it tells.
fn are_alike(one: &MpiAdapter, other: &MpiAdapter) -> bool {
    let family =
        |adapter: &MpiAdapter| adapter.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let rates = one.link_bytes_per_s.zip(other.link_bytes_per_s);
    family(one) == family(other) && rates.is_none_or(|(one, other)| one == other)
}

/// How a rank's messages went, its largest first.
fn sentence(ways: &[AdapterPath]) -> String {
    let (way, rank) = (&ways[0], ways[0].rank);
    let near_to = if rank.gpu.is_some() { "its GPU" } else { "it" };
    let who = format!("Rank {} ({}, NUMA node {}): ", rank.rank, rank.host, rank.memory_node);
    let unread = rank.adapters.iter().filter_map(|adapter| {
        Some(format!("{} cannot be counted: {}", adapter.name, adapter.not_counted.as_ref()?))
    });
    let carriers = match &way.carriers {
        Ok(carriers) => carriers,
        Err(counted) => {
            let counted = format!(
                "{who}which network adapter carried its bytes is unknown: those of {} counted {:.0} % of \
                 them",
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
    let mut said =
        format!("{who}{}", carriers.iter().enumerate().map(over).collect::<Vec<_>>().join(" and "));
    let others: Vec<&AdapterPath> =
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
    let unused =
        || way.near_with_link().filter(|near| !carriers.iter().any(|(used, _)| used.name == near.name));

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
pub(crate) mod tests;
