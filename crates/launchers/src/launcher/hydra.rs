//! Hydra, the mpiexec of MPICH and of Intel MPI: `-bind-to`, `-map-by`, and Intel MPI's `I_MPI_PIN_*`.
//!
//! `mpiexec -bind-to -help` and Hydra's `topo_hwloc.c` (MPICH 4.0 to 4.2); what 4.0.2 does was seen (`HYDRA_TOPO_DEBUG=1` on saved machines): `core:4` is four cores a
//! rank, ranks go round the objects of `-map-by`, which are those of `-bind-to` where it is not given. Intel MPI Library Developer Reference, "Process
//! Pinning". Intel MPI pins by itself where nothing is said; MPICH does not.

use ranks::Flavour;
use stats::IdSet;
use topo::Topology;

use crate::dialect::{Dialect, Starter, say};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Reads, Sensed, SharedPus, UsualMpi, Written};
use crate::interface::Interface;
use crate::layout::{LaunchLine, Layout, Options, Start, Tells};
use crate::mpi_options::Common;
use crate::objects::Part;
use crate::parse_mask;
use crate::value::{count, ids, wrong};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "Hydra's mpiexec",
    // It tells MPI_LOCALNRANKS, which a plain PMI does not; scripts on PALS systems set it by hand, though.
    sensed: |variables| {
        variables.number("MPI_LOCALNRANKS")?;
        let is_hydras = variables.is_set("SLURM_STEP_ID") || !variables.is_set("PALS_RANKID");
        let size = variables.number("PMI_SIZE").filter(|_| is_hydras)?;
        Some(Sensed::one_of(size, "PMI_RANK"))
    },
    local_rank: &["MPI_LOCALRANKID"],
    local_size: |variables| variables.number("MPI_LOCALNRANKS"),
    // It has PMI-1 only; a PMIX_NAMESPACE is that of a step around it.
    interface: |_| Interface::Pmi1,
    tells: &[
        ("MPI_LOCALRANKID", Tells::LocalRank),
        ("MPI_LOCALNRANKS", Tells::LocalSize),
        ("PMI_RANK", Tells::Rank),
        ("PMI_SIZE", Tells::Size),
    ],
    starters: &["hydra_pmi_proxy", "pmi_proxy"],
    shared_pus: SharedPus::OfDaemons(&["hydra_pmi_proxy", "mpiexec", "mpirun"]),
    frees_from_affinity: "start it with mpiexec -bind-to none (Intel MPI: I_MPI_PIN=off)",
    usual_mpi: Some(UsualMpi { flavour: Flavour::Mpich, is_only: true }),
    reads: Reads::Mpirun(&["mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"]),
    writes: Some(|topology, places, situation| {
        say(topology, places, Dialect::Mpich, situation).usable().map(Written::line)
    }),
    through_exec: "mpiexec -bind-to none … numabench exec -- PROGRAM",
    starter: Some(Starter::Mpiexec),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "genv genvlist genvall perhost bootstrap rmk launcher topolib iface grr \
    print-all-exitcodes";

/// Reads Hydra's options.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse them.
pub(crate) fn read<'l>(
    common: Common<'_>,
    program: &'l [&'l str],
    line: &LaunchLine<'_>,
) -> Result<Options<'l>, LineError> {
    let LaunchLine { variables, topology, .. } = *line;
    let pool = topology.allowed.pus.or(&topology.allowed.not_in_affinity_pus);
    let variable = |name: &str| common.environment.get(name).or_else(|| variables.get(name)).map(String::as_str);
    let bind_to = common.last(&["bind-to"]).map(|one| one.value().to_owned());
    let map_by = common.last(&["map-by"]).map(|one| one.value().to_owned());
    let ranks = |lists: usize| common.count.here(lists);
    let layouts = if let Some(list) = bind_to.as_deref().and_then(|value| value.strip_prefix("user:")) {
        let lists: Vec<IdSet> =
            list.split(',').map(|rank| ids("--bind-to", &rank.replace('+', ","))).collect::<Result<_, _>>()?;
        vec![Layout::lists(&lists, ranks(lists.len())?)]
    } else if let Some(value) = bind_to.as_deref().filter(|value| *value != "none") {
        let ranks = ranks(1)?;
        match bound(value, map_by.as_deref(), topology, &pool, ranks)? {
            Ok(lists) => vec![Layout::lists(&lists, ranks)],
            Err(why) => vec![Layout::unknown(ranks, &why)],
        }
    } else if bind_to.is_some() || matches!(variable("I_MPI_PIN"), Some("0" | "off" | "no" | "disable")) {
        vec![Layout::free(ranks(1)?)]
    } else if let Some(list) = variable("I_MPI_PIN_PROCESSOR_LIST") {
        processors(list, topology, &pool, &ranks)?
    } else if let Some(domain) = variable("I_MPI_PIN_DOMAIN") {
        domains(domain, variable("OMP_NUM_THREADS"), topology, &pool, &ranks)?
    } else {
        // By default Intel MPI divides the CPUs among the ranks (I_MPI_PIN_DOMAIN=auto); MPICH leaves them unbound.
        let ranks = ranks(1)?;
        let is_intels = variables.keys().chain(common.environment.keys()).any(|name| name.starts_with("I_MPI_"));
        let mut layouts = Vec::new();
        if !is_intels {
            layouts.push(Layout::free(ranks).assuming("the mpiexec is MPICH's, which binds no rank by itself"));
        }
        match even(topology, &pool, ranks) {
            Some(lists) => layouts.push(
                Layout::lists(&lists, ranks)
                    .assuming("the mpiexec is Intel MPI's, which pins each rank to its share of the cores"),
            ),
            None => layouts.push(Layout::unknown(
                ranks,
                "where Intel MPI pins these ranks by default does not follow from the line: I_MPI_DEBUG=4 shows it",
            )),
        }
        layouts
    };
    let (count, environment) = (common.count, common.environment);
    Ok(Options { count, layouts, program, environment, notes: Vec::new() })
}

/// `core:4`, `numa`, with the objects of `-map-by`.
fn bound(
    value: &str,
    map_by: Option<&str>,
    topology: &Topology,
    pool: &IdSet,
    ranks: usize,
) -> Result<Result<Vec<IdSet>, String>, LineError> {
    let parse = |option: &str, value: &str| {
        let (name, width) = value.split_once(':').unwrap_or((value, "1"));
        let part = if name == "rr" { Some(Part::Thread) } else { Part::named(name) };
        Ok::<_, LineError>((part, count(option, width)?))
    };
    let (part, width) = parse("--bind-to", value)?;
    let Some(part) = part else {
        return match value.split(':').next() {
            Some("l1cache" | "l2cache" | "l1dcache" | "l1icache" | "hca" | "ib") => {
                Ok(Err(format!("-bind-to {value} of mpiexec is not followed: HYDRA_TOPO_DEBUG=1 shows where ranks go")))
            }
            _ => Err(wrong(
                "--bind-to",
                value,
                "write core, hwthread, l3cache, numa, socket, user:LIST or none, with :N for N of them",
            )),
        };
    };
    let map = match map_by {
        Some(map_by) => parse("--map-by", map_by)?,
        None => (Some(part), width),
    };
    let (Some(around), every) = map else {
        return Ok(Err(format!(
            "-map-by {} of mpiexec is not followed: HYDRA_TOPO_DEBUG=1 shows where ranks go",
            map_by.unwrap_or_default()
        )));
    };
    // `rr` goes by the numbers of the PUs.
    if value.split(':').next() == Some("rr") && map_by.is_none() {
        let all: Vec<IdSet> = pool.iter().map(|pu| [pu].into_iter().collect()).collect();
        return Ok(Ok((0..ranks).map(|rank| all[rank % all.len()].clone()).collect()));
    }
    let objects: Vec<IdSet> = around.all(topology, pool).chunks(every).map(IdSet::of_all).collect();
    let inside: Vec<Vec<IdSet>> =
        objects.iter().map(|object| part.all(topology, object).chunks(width).map(IdSet::of_all).collect()).collect();
    if inside.is_empty() || inside.iter().any(Vec::is_empty) {
        return Ok(Err("this machine has no such objects for mpiexec to bind to".to_owned()));
    }
    let of = |rank: usize| {
        let own = &inside[rank % inside.len()];
        own[rank / inside.len() % own.len()].clone()
    };
    // Binding to what is wider than the objects of the map: all of it.
    let widen = |pus: IdSet| if width == 1 { crate::objects::widened(part, topology, pool, &pus) } else { pus };
    Ok(Ok((0..ranks).map(|rank| widen(of(rank))).collect()))
}

/// The cores divided evenly and in order, where they can be.
fn even(topology: &Topology, pool: &IdSet, ranks: usize) -> Option<Vec<IdSet>> {
    let cores = Part::Core.all(topology, pool);
    let each = cores.len() / ranks;
    (each > 0 && cores.len().is_multiple_of(ranks)).then(|| cores.chunks(each).map(IdSet::of_all).collect())
}

/// `I_MPI_PIN_PROCESSOR_LIST`: a list of CPUs, one a rank.
fn processors(
    list: &str,
    topology: &Topology,
    pool: &IdSet,
    ranks: &dyn Fn(usize) -> Result<usize, LineError>,
) -> Result<Vec<Layout>, LineError> {
    const NAME: &str = "I_MPI_PIN_PROCESSOR_LIST";
    let list = list.trim_matches(['[', ']']);
    if list.starts_with(|c: char| c.is_ascii_digit()) && !list.contains(':') {
        let mut lists: Vec<IdSet> = Vec::new();
        for item in list.split(',') {
            lists.extend(ids(NAME, item)?.iter().map(|pu| [pu].into_iter().collect::<IdSet>()));
        }
        return Ok(vec![Layout::lists(&lists, ranks(lists.len())?)]);
    }
    let ranks = ranks(1)?;
    let lists = match list {
        "allcores" => Part::Core.all(topology, pool),
        "all" => Part::Thread.all(topology, pool),
        _ => {
            return Ok(vec![Layout::unknown(
                ranks,
                &format!("{NAME}={list} is not followed: I_MPI_DEBUG=4 shows where ranks go"),
            )]);
        }
    };
    Ok(vec![Layout::lists(&lists, ranks)])
}

/// `I_MPI_PIN_DOMAIN`: masks, parts of the machine, or a number of CPUs.
fn domains(
    domain: &str,
    threads: Option<&str>,
    topology: &Topology,
    pool: &IdSet,
    ranks: &dyn Fn(usize) -> Result<usize, LineError>,
) -> Result<Vec<Layout>, LineError> {
    const NAME: &str = "I_MPI_PIN_DOMAIN";
    if let Some(masks) = domain.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let mask = |text: &str| {
            parse_mask(text.trim()).ok_or_else(|| wrong(NAME, domain, "write hexadecimal masks: [0x3,0xc]"))
        };
        let lists: Vec<IdSet> = masks.split(',').map(mask).collect::<Result<_, _>>()?;
        return Ok(vec![Layout::lists(&lists, ranks(lists.len())?)]);
    }
    let ranks = ranks(1)?;
    let unknown = || {
        vec![Layout::unknown(ranks, &format!("{NAME}={domain} is not followed: I_MPI_DEBUG=4 shows where ranks go"))]
    };
    let (size, layout) = domain.split_once(':').unwrap_or((domain, "compact"));
    let lists = match (size, size.parse::<usize>(), layout) {
        ("auto", ..) => even(topology, pool, ranks),
        ("sock" | "socket" | "numa" | "core" | "node", ..) => {
            let part = if size == "sock" { Part::Package } else { Part::named(size).unwrap_or(Part::Machine) };
            Some(part.all(topology, pool)).filter(|parts| !parts.is_empty())
        }
        ("cache3" | "cache", ..) => Some(Part::L3.all(topology, pool)).filter(|parts| !parts.is_empty()),
        ("omp", _, "compact") => match threads.and_then(|threads| threads.parse::<usize>().ok()) {
            Some(threads) => chunks(topology, pool, threads, ranks),
            None => even(topology, pool, ranks),
        },
        (_, Ok(cpus), "compact") if cpus > 0 => chunks(topology, pool, cpus, ranks),
        _ => None,
    };
    Ok(lists.map_or_else(unknown, |lists| {
        vec![Layout::certain(lists.iter().cycle().take(ranks).cloned().map(Start::on).collect())]
    }))
}

/// So many logical CPUs each, in order: those of a core belong together.
fn chunks(topology: &Topology, pool: &IdSet, cpus: usize, ranks: usize) -> Option<Vec<IdSet>> {
    let threads = Part::Thread.all(topology, pool);
    (cpus > 0 && cpus * ranks <= threads.len()).then(|| threads.chunks(cpus).map(IdSet::of_all).collect())
}
