//! Where Intel MPI's mpiexec pins ranks: "Process Pinning" of its Developer Reference, as 2021.18 and 2021.19
//! do it (`tests/truth/intel-mpi.txt`).
//!
//! Without a word each rank gets its share of the cores. A domain (`I_MPI_PIN_DOMAIN`) is the first one in
//! that share: a core, a NUMA node, so many CPUs. Modelled are ranks that divide evenly among packages, NUMA
//! nodes, L3 caches and cores; how others are shared out is said to be unknown. Releases before 2021.16 ask
//! each CPU what it is and cannot be shown a saved machine: they were not tried.

use stats::IdSet;

use crate::assumption::Choice;
use crate::error::LineError;
use crate::layout::{LaunchLine, Layout};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part, divided, singles};
use crate::parse_mask;
use crate::value::{ids, wrong};

/// The condition of every layout here.
const INTEL_MPI: &str = "the mpiexec is Intel MPI's (2021.18 or later), which pins each rank";
/// The condition of what only releases before take.
const OLDER: &str = "the mpiexec is Intel MPI's of 2021.13 or before, which takes such masks";

/// The variables, whoever gives them.
struct Variables<'l>(&'l Common<'l>, &'l LaunchLine<'l>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.environment.get(name).or_else(|| self.1.variables.get(name)).map(String::as_str)
    }
}

/// The ranks of a line.
///
/// # Errors
/// [`LineError`]: Intel MPI would refuse a value.
pub(super) fn layouts(common: &Common<'_>, line: &LaunchLine<'_>) -> Result<Vec<Layout>, LineError> {
    let (variables, machine) = (Variables(common, line), line.machine);
    let list = variables.get("I_MPI_PIN_PROCESSOR_LIST");
    let ranks = common.count.here(list.map_or(1, |list| numbers(list).map_or(1, |numbers| numbers.len())))?;
    if matches!(variables.get("I_MPI_PIN"), Some("0" | "off" | "no" | "disable")) {
        return Ok(vec![Layout::free(ranks).assuming(Choice::MpiVersion, INTEL_MPI)]);
    }
    let open = ["I_MPI_PIN_ORDER", "I_MPI_PIN_CELL", "I_MPI_PIN_PROCESSOR_EXCLUDE_LIST"];

    // Seen in each pair of lines with one of these orders and without: bunch, the default, and range leave
    // ranks where they are.
    let is_default =
        |name: &str, value: &str| name == "I_MPI_PIN_ORDER" && matches!(value, "bunch" | "range");
    let is_open = |name: &&str| variables.get(name).is_some_and(|value| !is_default(name, value));
    let layout = if let Some(name) = open.into_iter().find(is_open) {
        not_followed(name, variables.get(name).unwrap_or_default(), ranks)
    } else if let Some(list) = list {
        processors(list, machine, ranks)
    } else {
        let domain = variables.get("I_MPI_PIN_DOMAIN").unwrap_or("auto");
        match masks_of(domain) {
            Some(masks) => return of_masks(masks, domain, machine, ranks),
            None => domains(domain, variables.get("OMP_NUM_THREADS"), machine, ranks),
        }
    };
    Ok(vec![layout.assuming(Choice::MpiVersion, INTEL_MPI)])
}

/// A variable whose value says what is not read here.
fn not_followed(variable: &str, value: &str, ranks: usize) -> Layout {
    Layout::unknown(ranks, &format!("{variable}={value} is not followed: I_MPI_DEBUG=4 shows where ranks go"))
}

/// The CPUs of `0,2-3`, in order.
fn numbers(list: &str) -> Option<Vec<IdSet>> {
    let items = list.split(',').map(|item| ids("", item).ok()).collect::<Option<Vec<IdSet>>>()?;
    Some(items.iter().flat_map(singles).collect())
}

/// `I_MPI_PIN_PROCESSOR_LIST`: a list of CPUs, one a rank.
fn processors(list: &str, machine: &JobMachine<'_>, ranks: usize) -> Layout {
    const NAME: &str = "I_MPI_PIN_PROCESSOR_LIST";
    let lists = numbers(list).filter(|lists| lists.iter().all(|pus| pus.is_subset(&machine.pus)));
    let Some(lists) = lists else {
        return not_followed(NAME, list, ranks);
    };
    let is_ascending = lists.windows(2).all(|pair| pair[0].first() <= pair[1].first());
    // More CPUs than ranks are divided among them; fewer are sorted and begin again.
    let begins_again = lists.len() < ranks && is_ascending && !machine.has_nodes_without_cpus();
    let is_clear = lists.len() == ranks || begins_again;
    if is_clear { Layout::lists(&lists, ranks) } else { not_followed(NAME, list, ranks) }
}

/// `I_MPI_PIN_DOMAIN`: parts of the machine, or a number of CPUs.
fn domains(domain: &str, threads: Option<&str>, machine: &JobMachine<'_>, ranks: usize) -> Layout {
    const NAME: &str = "I_MPI_PIN_DOMAIN";
    let named = |part: Part| of_parts(&machine.parts(part), machine, ranks);
    let wide = |cpus: &str| cpus.parse().ok().and_then(|cpus| of_size(cpus, machine, ranks));
    let lists = match domain {
        "auto" => shares(machine, ranks),
        "sock" | "socket" => named(Part::Package),
        "cache3" => named(Part::L3),
        "numa" if machine.has_nodes_without_cpus() => None,
        "numa" => named(Part::Numa),
        "core" => named(Part::Core),
        "node" => return Layout::free(ranks),
        "omp" => match threads {
            Some(threads) => wide(threads),
            None => None,
        },
        cpus => wide(cpus),
    };

    lists.map_or_else(|| not_followed(NAME, domain, ranks), |lists| Layout::lists(&lists, ranks))
}

/// The masks of `[0x3,0xc]`.
fn masks_of(domain: &str) -> Option<&str> {
    domain.strip_prefix('[')?.strip_suffix(']')
}

/// `[0x3,0xc]`: a mask for each rank. Releases from 2021.18 on refuse masks without 0x, or another number of
/// them, and pin as without the option; 2021.9 and 2021.13 take what there is, again from the first one.
fn of_masks(
    masks: &str,
    domain: &str,
    machine: &JobMachine<'_>,
    ranks: usize,
) -> Result<Vec<Layout>, LineError> {
    const NAME: &str = "I_MPI_PIN_DOMAIN";
    let mask = |text: &str| {
        parse_mask(text.trim()).ok_or_else(|| wrong(NAME, domain, "write hexadecimal masks: [0x3,0xc]"))
    };
    let lists = masks.split(',').map(mask).collect::<Result<Vec<IdSet>, LineError>>()?;
    if lists.iter().any(|pus| !pus.is_subset(&machine.pus)) {
        let why = format!("{NAME}={domain} names PUs that this machine does not have, or not for this job");
        return Ok(vec![Layout::unknown(ranks, &why).assuming(Choice::MpiVersion, INTEL_MPI)]);
    }

    let remedy = match () {
        () if lists.len() != ranks => "write one mask for each rank",
        () if masks.split(',').any(|text| !text.trim().starts_with("0x")) => "write masks with 0x: [0x3,0xc]",
        () => return Ok(vec![Layout::lists(&lists, ranks).assuming(Choice::MpiVersion, INTEL_MPI)]),
    };
    let by_default = shares(machine, ranks)
        .map_or_else(|| not_followed(NAME, domain, ranks), |lists| Layout::lists(&lists, ranks))
        .assuming(Choice::MpiVersion, format!("{INTEL_MPI} but refuses {NAME}={domain} ({remedy})"));
    Ok(vec![by_default, Layout::lists(&lists, ranks).assuming(Choice::MpiVersion, OLDER)])
}

/// Each rank's share of the cores; `None` where they do not divide evenly among the machine's parts.
fn shares(machine: &JobMachine<'_>, ranks: usize) -> Option<Vec<IdSet>> {
    let divides = |part: Part| {
        let count = machine.parts(part).len();
        count == 0 || ranks.is_multiple_of(count) || count.is_multiple_of(ranks)
    };
    let parts = [Part::Package, Part::Numa, Part::L3];
    (!machine.has_nodes_without_cpus() && parts.into_iter().all(divides) && are_alike(machine))
        .then(|| divided(&machine.parts(Part::Core), ranks))?
}

/// Whether the machine's packages, NUMA nodes and cores have as many PUs as their like.
fn are_alike(machine: &JobMachine<'_>) -> bool {
    [Part::Package, Part::Numa, Part::L3, Part::Core].into_iter().all(|part| {
        let parts = machine.parts(part);
        parts.iter().all(|one| one.len() == parts[0].len())
    })
}

/// The first of these parts in each rank's share that no rank before has; all in turn where ranks are as many
/// or more.
fn of_parts(parts: &[IdSet], machine: &JobMachine<'_>, ranks: usize) -> Option<Vec<IdSet>> {
    if !parts.is_empty() && parts.len() <= ranks {
        return Some(parts.iter().cycle().take(ranks).cloned().collect());
    }
    starts_in_nodes(machine, ranks)?
        .into_iter()
        .map(|(node, turn)| parts.iter().filter(|part| part.is_subset(&node)).nth(turn).cloned())
        .collect()
}

/// So many CPUs for each rank, those of a core together.
fn of_size(cpus: usize, machine: &JobMachine<'_>, ranks: usize) -> Option<Vec<IdSet>> {
    let threads = machine.parts(Part::Core).first()?.len();
    if cpus == 0 || !cpus.is_multiple_of(threads) {
        return None;
    }
    starts_in_nodes(machine, ranks)?
        .into_iter()
        .map(|(node, turn)| {
            let cores = machine.parts_in(Part::Core, &node);
            let own = cores.chunks_exact(cpus / threads).nth(turn)?;
            Some(IdSet::of_all(own))
        })
        .collect()
}

/// The NUMA node of each rank and its turn there: ranks are divided among the nodes and stand close together
/// in each.
fn starts_in_nodes(machine: &JobMachine<'_>, ranks: usize) -> Option<Vec<(IdSet, usize)>> {
    shares(machine, ranks)?;
    let nodes = machine.parts(Part::Numa);
    let each = ranks.div_ceil(nodes.len().max(1));
    if each > 1 && machine.parts(Part::L3).len() > nodes.len() {
        return None;
    }
    let stride = if ranks < nodes.len() { nodes.len() / ranks } else { 1 };
    Some((0..ranks).map(|rank| (nodes[rank / each * stride].clone(), rank % each)).collect())
}
