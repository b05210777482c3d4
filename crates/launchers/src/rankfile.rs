//! Open MPI's rankfile: `rank N=HOST slot=LIST`.
//!
//! Slots count the machine's cores, or its hardware threads where those count as CPUs. With
//! `rmaps_rank_file_physical`, which version 4 alone has and `place` writes, they are OS ids of PUs, and a
//! rank is bound to the cores of those. `SOCKET:CORES` names cores of a socket.

use std::collections::BTreeMap;
use std::path::Path;

use stats::IdSet;

use crate::error::LineError;
use crate::objects::{JobMachine, Part};
use crate::process::Known;
use crate::value::{ids, number, wrong};

/// Of a rankfile that people write.
const MOST_BYTES: u64 = 1 << 20;

/// What the numbers of a file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Cores, in order.
    Cores,
    /// Hardware threads, in order.
    Threads,
    /// PUs by OS id: their cores.
    CoresOfPus,
    /// PUs by OS id.
    Pus,
}

/// The ranks of a file's first host.
#[derive(Debug)]
pub(crate) struct Rankfile {
    /// Each rank's PUs.
    pub pus: Vec<Known<IdSet>>,
    /// How many hosts it names.
    pub hosts: usize,
    /// How many ranks.
    pub ranks: usize,
}

/// Reads the file.
///
/// # Errors
/// [`LineError`]: it cannot be read, or is none.
pub(crate) fn read(path: &str, counting: Counting, machine: &JobMachine<'_>) -> Result<Rankfile, LineError> {
    let bytes = topo::read_input(Path::new(path), MOST_BYTES)
        .map_err(|error| LineError::NotSaid(format!("the rankfile {path} cannot be read: {error}")))?;
    parse(&String::from_utf8_lossy(&bytes), path, counting, machine)
}

/// The text of the file at `path`.
///
/// # Errors
/// [`LineError`]: it is none.
pub(crate) fn parse(
    text: &str,
    path: &str,
    counting: Counting,
    machine: &JobMachine<'_>,
) -> Result<Rankfile, LineError> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut ranks: BTreeMap<usize, (&str, &str)> = BTreeMap::new();
    for line in text.lines() {
        let entry = line.trim().strip_prefix("rank ").and_then(|rest| rest.split_once('='));
        let Some((rank, rest)) = entry else { continue };
        let (host, slots) = rest.split_once("slot").unwrap_or((rest, ""));
        let (host, slots) = (host.trim(), slots.trim_start_matches([' ', 's', '=']).trim());
        if !hosts.contains(&host) {
            hosts.push(host);
        }
        ranks.insert(number("rank", rank.trim())?, (host, slots));
    }

    // Those of the first host: a node is judged by itself.
    let (Some(first), all) = (ranks.values().next().map(|(host, _)| *host), ranks.len()) else {
        return Err(LineError::NotSaid(format!("the rankfile {path} has no line \"rank N=HOST slot=LIST\"")));
    };
    let own = ranks.into_values().filter(|(host, _)| *host == first);
    let pus = own.map(|(_, slots)| pus(slots, counting, machine)).collect::<Result<_, _>>()?;
    Ok(Rankfile { pus, hosts: hosts.len(), ranks: all })
}

/// `0,1`, `0-3`, `1:0-2`, `0:*`.
fn pus(slots: &str, counting: Counting, machine: &JobMachine<'_>) -> Result<Known<IdSet>, LineError> {
    const NAME: &str = "slot of the rankfile";
    if slots.contains(':') {
        return of_sockets(slots, counting, machine);
    }
    let numbers = ids(NAME, slots)?;
    let by_os = matches!(counting, Counting::Pus | Counting::CoresOfPus);

    if by_os && !numbers.is_subset(&machine.pus) {
        return Ok(Err(format!(
            "slot={slots} names PUs that this machine does not have, or not for this job"
        )));
    }

    Ok(match counting {
        Counting::Pus => Ok(numbers),
        Counting::CoresOfPus => Ok(machine.widened(Part::Core, &numbers)),
        Counting::Cores => among(&machine.parts(Part::Core), slots, slots).map_err(|error| error.to_string()),
        Counting::Threads => {
            among(&machine.parts(Part::Thread), slots, slots).map_err(|error| error.to_string())
        }
    })
}

/// The parts with these numbers.
fn among(parts: &[IdSet], list: &str, slots: &str) -> Result<IdSet, LineError> {
    const NAME: &str = "slot of the rankfile";
    let there_are = || wrong(NAME, slots, format!("there are {}", parts.len()));
    let one = |number: u32| parts.get(number as usize).ok_or_else(there_are);
    Ok(IdSet::of_all(ids(NAME, list)?.iter().map(one).collect::<Result<Vec<_>, _>>()?))
}

/// `1:0-2`, `0:*`.
fn of_sockets(slots: &str, counting: Counting, machine: &JobMachine<'_>) -> Result<Known<IdSet>, LineError> {
    const NAME: &str = "slot of the rankfile";
    let sockets = machine.parts(Part::Package);
    let cores_of: Vec<Vec<IdSet>> =
        sockets.iter().map(|socket| machine.parts_in(Part::Core, socket)).collect();

    // Open MPI 5 counts on from the first socket as if all were as large as the last one.
    let are_alike = cores_of.iter().all(|cores| cores.len() == cores_of[0].len());

    if !are_alike || matches!(counting, Counting::Threads | Counting::Pus) {
        return Ok(Err(format!(
            "slot={slots} on sockets of unlike sizes, or by hardware threads, is not followed"
        )));
    }

    let mut all = IdSet::default();

    for part in slots.split(';') {
        let (package, list) = part.split_once(':').unwrap_or((part, "*"));
        let at = number(NAME, package.trim_start_matches(['p', 'P']))?;
        let there_are = || wrong(NAME, slots, format!("this machine has {} sockets", sockets.len()));
        let socket = sockets.get(at).ok_or_else(there_are)?;
        all = all.or(&if list == "*" { socket.clone() } else { among(&cores_of[at], list, slots)? });
    }
    Ok(Ok(all))
}
