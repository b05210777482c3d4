//! Open MPI's rankfile: `rank N=HOST slot=LIST`.
//!
//! Slots are counted as the PUs of the machine with `rmaps_rank_file_physical`, which is what `place` writes, and logically without it: `SOCKET:CORES`
//! names cores of a socket. Open MPI 5 counts logically in any case.

use std::collections::BTreeMap;
use std::path::Path;

use stats::IdSet;

use crate::error::LineError;
use crate::objects::{JobMachine, Part};
use crate::process::Known;
use crate::value::{ids, number, wrong};

/// Of a rankfile that people write.
const MOST_BYTES: u64 = 1 << 20;

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
pub(crate) fn read(path: &str, physical: bool, machine: &JobMachine<'_>) -> Result<Rankfile, LineError> {
    let bytes = topo::read_input(Path::new(path), MOST_BYTES)
        .map_err(|error| LineError::NotSaid(format!("the rankfile {path} cannot be read: {error}")))?;
    parse(&String::from_utf8_lossy(&bytes), path, physical, machine)
}

/// The text of the file at `path`.
///
/// # Errors
/// [`LineError`]: it is none.
pub(crate) fn parse(text: &str, path: &str, physical: bool, machine: &JobMachine<'_>) -> Result<Rankfile, LineError> {
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
    let pus = own.map(|(_, slots)| pus(slots, physical, machine)).collect::<Result<_, _>>()?;
    Ok(Rankfile { pus, hosts: hosts.len(), ranks: all })
}

/// `0,1`, `0-3`, `1:0-2`, `0:*`.
fn pus(slots: &str, physical: bool, machine: &JobMachine<'_>) -> Result<Known<IdSet>, LineError> {
    const NAME: &str = "slot of the rankfile";
    let (sockets, cores) = (machine.parts(Part::Package), machine.parts(Part::Core));
    let socket = |text: &str| {
        let at = number(NAME, text)?;
        sockets.get(at).ok_or_else(|| wrong(NAME, slots, format!("this machine has {} sockets", sockets.len())))
    };
    let among = |cores: &[IdSet], list: &str| {
        let chosen = ids(NAME, list)?;
        let there_are = || wrong(NAME, slots, format!("there are {} cores", cores.len()));
        let one = |core: u32| cores.get(core as usize).ok_or_else(there_are);
        Ok::<IdSet, LineError>(IdSet::of_all(chosen.iter().map(one).collect::<Result<Vec<_>, _>>()?))
    };
    if physical && !slots.contains(':') {
        return Ok(Ok(ids(NAME, slots)?));
    }
    if !slots.contains(':') {
        let logical = among(&cores, slots);
        let by_os = ids(NAME, slots)?;
        // Where cores have one thread each and are numbered in order, both are the same.
        return Ok(match logical {
            Ok(logical) if by_os.is_subset(&logical) => Ok(logical),
            _ => Err(format!(
                "slot={slots} counts cores logically unless --mca rmaps_rank_file_physical 1 is given (Open MPI 4)"
            )),
        });
    }
    let mut all = IdSet::default();
    for part in slots.split(';') {
        let (package, list) = part.split_once(':').unwrap_or((part, "*"));
        let package = socket(package.trim_start_matches(['p', 'P']))?;
        let own: Vec<IdSet> = cores.iter().filter(|core| core.is_subset(package)).cloned().collect();
        all = all.or(&if list == "*" { package.clone() } else { among(&own, list)? });
    }
    Ok(Ok(all))
}
