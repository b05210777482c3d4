//! Hydra, the mpiexec of MPICH and of Intel MPI: `-bind-to`, `-map-by`, and Intel MPI's `I_MPI_PIN_*`.
//!
//! `mpiexec -bind-to -help` and Hydra's `topo_hwloc.c` (MPICH 4.0 to 4.2); what 4.0.2 does was seen (`HYDRA_TOPO_DEBUG=1` on saved machines): `core:4` is four cores a
//! rank, ranks go round the objects of `-map-by`, which are those of `-bind-to` where it is not given. Intel MPI Library Developer Reference, "Process
//! Pinning". Intel MPI pins by itself where nothing is said; MPICH does not.

use ranks::Flavour;
use stats::IdSet;

use crate::count::Count;
use crate::dialect::{Dialect, Starter, say};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Reads, Sensed, SharedPus, UsualMpi, Written};
use crate::grammar::Given;
use crate::interface::Interface;
use crate::layout::{LaunchLine, Layout, Start, Tells};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part, divided, grouped, singles};
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

/// Where Hydra's options put ranks.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse them.
pub(crate) fn layouts(common: &Common<'_>, line: &LaunchLine<'_>) -> Result<Vec<Layout>, LineError> {
    let (machine, variables, count) = (line.machine, line.variables, &common.count);
    let variable = |name: &str| common.environment.get(name).or_else(|| variables.get(name)).map(String::as_str);
    let [bind_to, map_by] = ["bind-to", "map-by"].map(|name| common.last(&[name]).map(Given::value));
    let layout = if let Some(list) = bind_to.and_then(|value| value.strip_prefix("user:")) {
        let pus = |rank: &str| ids("--bind-to", &rank.replace('+', ","));
        let lists = list.split(',').map(pus).collect::<Result<Vec<_>, _>>()?;
        Layout::lists(&lists, count.here(lists.len())?)
    } else if let Some(value) = bind_to.filter(|value| *value != "none") {
        bound(value, map_by, machine, count.here(1)?)?
    } else if bind_to.is_some() || matches!(variable("I_MPI_PIN"), Some("0" | "off" | "no" | "disable")) {
        Layout::free(count.here(1)?)
    } else if let Some(list) = variable("I_MPI_PIN_PROCESSOR_LIST") {
        processors(list, machine, count)?
    } else if let Some(domain) = variable("I_MPI_PIN_DOMAIN") {
        domains(domain, variable("OMP_NUM_THREADS"), machine, count)?
    } else {
        // By default Intel MPI divides the CPUs among the ranks (I_MPI_PIN_DOMAIN=auto); MPICH leaves them unbound.
        let ranks = count.here(1)?;
        let is_intels = variables.keys().chain(common.environment.keys()).any(|name| name.starts_with("I_MPI_"));
        let free = || Layout::free(ranks).assuming("the mpiexec is MPICH's, which binds no rank by itself");
        let pinned = match divided(&machine.parts(Part::Core), ranks) {
            Some(lists) => Layout::lists(&lists, ranks)
                .assuming("the mpiexec is Intel MPI's, which pins each rank to its share of the cores"),
            None => Layout::unknown(
                ranks,
                "where Intel MPI pins these ranks by default does not follow from the line: I_MPI_DEBUG=4 shows it",
            ),
        };
        return Ok((!is_intels).then(free).into_iter().chain([pinned]).collect());
    };
    Ok(vec![layout])
}

/// `core:4`, `numa`, with the objects of `-map-by`.
fn bound(value: &str, map_by: Option<&str>, machine: &JobMachine<'_>, ranks: usize) -> Result<Layout, LineError> {
    let parse = |option: &str, value: &str| {
        let (name, width) = value.split_once(':').unwrap_or((value, "1"));
        let part = if name == "rr" { Some(Part::Thread) } else { Part::named(name) };
        Ok::<_, LineError>((part, count(option, width)?))
    };
    let not_followed = |option: &str| {
        let why = format!("{option} of mpiexec is not followed: HYDRA_TOPO_DEBUG=1 shows where ranks go");
        Ok(Layout::unknown(ranks, &why))
    };
    let (part, width) = parse("--bind-to", value)?;
    let name = value.split(':').next();
    let Some(part) = part else {
        return match name {
            Some("l1cache" | "l2cache" | "l1dcache" | "l1icache" | "hca" | "ib") => {
                not_followed(&format!("-bind-to {value}"))
            }
            _ => Err(wrong(
                "--bind-to",
                value,
                "write core, hwthread, l3cache, numa, socket, user:LIST or none, with :N for N of them",
            )),
        };
    };
    let (around, every) = match map_by {
        Some(map_by) => match parse("--map-by", map_by)? {
            (Some(around), every) => (around, every),
            (None, _) => return not_followed(&format!("-map-by {map_by}")),
        },
        // `rr` goes by the numbers of the PUs.
        None if name == Some("rr") => return Ok(Layout::lists(&singles(&machine.pus), ranks)),
        None => (part, width),
    };
    let objects = grouped(&machine.parts(around), every);
    let inside: Vec<Vec<IdSet>> =
        objects.iter().map(|object| grouped(&machine.parts_in(part, object), width)).collect();
    if inside.is_empty() || inside.iter().any(Vec::is_empty) {
        return Ok(Layout::unknown(ranks, "this machine has no such objects for mpiexec to bind to"));
    }
    let of = |rank: usize| {
        let own = &inside[rank % inside.len()];
        let pus = &own[rank / inside.len() % own.len()];
        // Binding to what is wider than the objects of the map: all of it.
        Start::on(if width == 1 { machine.widened(part, pus) } else { pus.clone() })
    };
    Ok(Layout::certain((0..ranks).map(of).collect()))
}

/// A variable whose value says what is not read here.
fn not_followed(variable: &str, value: &str, ranks: usize) -> Layout {
    Layout::unknown(ranks, &format!("{variable}={value} is not followed: I_MPI_DEBUG=4 shows where ranks go"))
}

/// `I_MPI_PIN_PROCESSOR_LIST`: a list of CPUs, one a rank.
fn processors(list: &str, machine: &JobMachine<'_>, count: &Count) -> Result<Layout, LineError> {
    const NAME: &str = "I_MPI_PIN_PROCESSOR_LIST";
    let list = list.trim_matches(['[', ']']);
    if list.starts_with(|c: char| c.is_ascii_digit()) && !list.contains(':') {
        let items = list.split(',').map(|item| ids(NAME, item)).collect::<Result<Vec<_>, _>>()?;
        let lists: Vec<IdSet> = items.iter().flat_map(singles).collect();
        return Ok(Layout::lists(&lists, count.here(lists.len())?));
    }
    let ranks = count.here(1)?;
    Ok(match list {
        "allcores" => Layout::lists(&machine.parts(Part::Core), ranks),
        "all" => Layout::lists(&machine.parts(Part::Thread), ranks),
        _ => not_followed(NAME, list, ranks),
    })
}

/// `I_MPI_PIN_DOMAIN`: masks, parts of the machine, or a number of CPUs.
fn domains(domain: &str, threads: Option<&str>, machine: &JobMachine<'_>, count: &Count) -> Result<Layout, LineError> {
    const NAME: &str = "I_MPI_PIN_DOMAIN";
    if let Some(masks) = domain.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let mask = |text: &str| {
            parse_mask(text.trim()).ok_or_else(|| wrong(NAME, domain, "write hexadecimal masks: [0x3,0xc]"))
        };
        let lists = masks.split(',').map(mask).collect::<Result<Vec<_>, _>>()?;
        return Ok(Layout::lists(&lists, count.here(lists.len())?));
    }
    let ranks = count.here(1)?;
    let parts = |part: Part| Some(machine.parts(part)).filter(|parts| !parts.is_empty());
    let even = || divided(&machine.parts(Part::Core), ranks);
    // So many logical CPUs each, in order: those of a core belong together.
    let wide = |cpus: usize| {
        let threads = machine.parts(Part::Thread);
        (cpus > 0 && cpus * ranks <= threads.len()).then(|| grouped(&threads, cpus))
    };
    let (size, layout) = domain.split_once(':').unwrap_or((domain, "compact"));
    let lists = match (size, size.parse::<usize>(), layout) {
        ("auto", ..) => even(),
        ("sock", ..) => parts(Part::Package),
        ("cache", ..) => parts(Part::L3),
        ("socket" | "numa" | "core" | "node" | "cache3", ..) => Part::named(size).and_then(parts),
        ("omp", _, "compact") => threads.and_then(|threads| threads.parse().ok()).map_or_else(even, wide),
        (_, Ok(cpus), "compact") => wide(cpus),
        _ => None,
    };
    Ok(lists.map_or_else(|| not_followed(NAME, domain, ranks), |lists| Layout::lists(&lists, ranks)))
}
