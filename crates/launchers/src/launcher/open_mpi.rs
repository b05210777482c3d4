//! Open MPI's mpirun: `--map-by`, `--bind-to` and what stands for them, and where they put ranks.
//!
//! mpirun(1) of 4.1 and of 5.0 ("The help option --map-by", "--bind-to"). What 4.1.4 does was seen (`mpirun --do-not-launch --display-devel-map` on saved
//! machines): ranks go round the objects of `--map-by` one after another, `ppr:N:OBJECT` fills an object first, `PE=N` gives each rank the next N
//! cores of its object, and a rank without it is bound to the object of `--bind-to` around its own, or to the next one inside; without `--bind-to`, to the object that it
//! went round to, or under `ppr` and by slot to its NUMA node. Without options ranks go by core where they are two, else by NUMA node. What 5.0 does differently has a layout of its own.

use placement::NodePlaces;
use ranks::Flavour;
use stats::IdSet;
use topo::Topology;

use crate::dialect::{Dialect, Situation, Starter, say};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Proof, Reads, Sensed, UsualMpi, Written};
use crate::layout::{LaunchLine, Layout, Start, Tells};
use crate::mpi_options::Common;
use crate::objects::{JobMachine, Part, singles};
use crate::rankfile;
use crate::value::{count, ids, wrong};

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "Open MPI's mpirun",
    // docs.open-mpi.org, "Environment variables set for MPI applications".
    sensed: |variables| Some(Sensed::one_of(variables.number("OMPI_COMM_WORLD_SIZE")?, "OMPI_COMM_WORLD_RANK")),
    local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
    local_size: |variables| variables.number("OMPI_COMM_WORLD_LOCAL_SIZE"),
    tells: &[
        ("OMPI_COMM_WORLD_LOCAL_RANK", Tells::LocalRank),
        ("OMPI_COMM_WORLD_NODE_RANK", Tells::LocalRank),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", Tells::LocalSize),
        ("OMPI_COMM_WORLD_RANK", Tells::Rank),
        ("OMPI_COMM_WORLD_SIZE", Tells::Size),
    ],
    starters: &["orted", "prted", "prte", "prterun", "mpirun", "mpiexec", "orterun"],
    frees_from_affinity: "start it with mpirun --bind-to none",
    usual_mpi: Some(UsualMpi { flavour: Flavour::OpenMpi, is_only: true }),
    reads: Reads::Mpirun(&["mpirun", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"]),
    writes: Some(written),
    through_exec: "mpirun --bind-to none … numabench exec -- PROGRAM",
    starter: Some(Starter::Mpirun),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "mca gmca omca prtemca pmixmca x rankfile rf report-bindings npernode npersocket \
    pernode display display-map use-hwthread-cpus oversubscribe cpu-set cpu-list bind-to-core bind-to-socket bynode \
    byslot bycore cpus-per-proc rank-by allow-run-as-root hostfile tag-output";

/// What the options say of mapping.
#[derive(Debug, Default)]
struct Mapping {
    by: Option<By>,
    /// Ranks for each object.
    per_object: Option<usize>,
    /// Cores a rank.
    cores: Option<usize>,
    /// `--bind-to`: `Some(None)` is none.
    bind_to: Option<Option<Part>>,
    /// `--rank-by span`, which 5.0 has: one rank an object, round and round.
    spanning: bool,
    /// `--rank-by` anything else that may reorder ranks.
    reordered: Option<String>,
    /// Hardware threads count as CPUs.
    by_threads: bool,
    /// A way that is not read.
    other: Option<String>,
    rankfile: Option<String>,
    physical: bool,
    cpu_list: Option<IdSet>,
}

/// What ranks are mapped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Slots and nodes: one object, the node.
    Slot,
    Part(Part),
}

/// Where Open MPI's options put ranks.
///
/// # Errors
/// [`LineError`]: mpirun would refuse them.
pub(crate) fn layouts(common: &mut Common<'_>, line: &LaunchLine<'_>) -> Result<Vec<Layout>, LineError> {
    let LaunchLine { variables, machine, .. } = *line;
    let mut mapping = Mapping::default();
    for (name, value) in variables {
        if let Some(parameter) = name.strip_prefix("OMPI_MCA_") {
            mapping.parameter(parameter, value)?;
        }
    }
    for one in &common.given {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "mca" | "omca" | "prtemca" => mapping.parameter(value, one.second.unwrap_or_default())?,
            "map-by" => mapping.map_by(&option, value)?,
            "ppr" => mapping.map_by(&option, &format!("ppr:{value}"))?,
            "npersocket" => mapping.map_by(&option, &format!("ppr:{value}:socket"))?,
            "npernode" | "N" => mapping.map_by(&option, &format!("ppr:{value}:node"))?,
            "bycore" => mapping.by = Some(By::Part(Part::Core)),
            "byslot" | "bynode" | "pernode" => mapping.by = Some(By::Slot),
            "cpus-per-proc" | "cpus-per-rank" => mapping.cores = Some(one.count()?),
            "bind-to" => mapping.bind_to(&option, value)?,
            "bind-to-core" => mapping.bind_to = Some(Some(Part::Core)),
            "bind-to-socket" => mapping.bind_to = Some(Some(Part::Package)),
            "rank-by" if value.eq_ignore_ascii_case("span") => mapping.spanning = true,
            "rank-by" if value != "slot" => mapping.reordered = Some(format!("--rank-by {value}")),
            "use-hwthread-cpus" => mapping.by_threads = true,
            "cpu-list" | "cpu-set" => mapping.cpu_list = Some(ids(&option, value)?),
            "rankfile" | "rf" => mapping.rankfile = Some(value.to_owned()),
            _ => {}
        }
    }
    if let (Some(each), Some(by)) = (mapping.per_object, mapping.by) {
        common.count.of_a_node = Some(each.saturating_mul(objects(machine, by).len().max(1)));
    }
    Ok(if let Some(path) = &mapping.rankfile {
        let file = rankfile::read(path, mapping.physical, machine)?;
        if file.hosts > 1 {
            common.count.nodes = Some(file.hosts);
            common.count.ranks = common.count.ranks.or(Some(file.ranks));
            common.count.of_a_node = Some(file.pus.len());
        }
        let ranks = common.count.here(file.pus.len())?;
        let starts = file.pus.into_iter().cycle().take(ranks).map(|pus| Start { pus: Some(pus), ..Start::FREE });
        vec![Layout::certain(starts.collect())]
    } else if let Some(list) = &mapping.cpu_list {
        let lists = singles(list);
        vec![Layout::lists(&lists, common.count.here(lists.len())?)]
    } else {
        mapping.layouts(machine, common.count.here(1)?)
    })
}

/// The rankfile that puts each rank in its place.
fn written(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Result<Written, String> {
    let text = say(topology, places, Dialect::OpenMpi, situation).usable()?;
    let machine = JobMachine { topology, pus: topology.allowed.pus.clone() };
    let file = rankfile::parse(&text, "the rankfile", true, &machine);
    Ok(Written { proof: Proof::Pus(file.map(|file| file.pus).unwrap_or_default()), text })
}

impl Mapping {
    /// `--mca NAME VALUE`, `OMPI_MCA_NAME=VALUE`.
    fn parameter(&mut self, name: &str, value: &str) -> Result<(), LineError> {
        match name {
            "rmaps_base_mapping_policy" => self.map_by("--mca rmaps_base_mapping_policy", value),
            "hwloc_base_binding_policy" => self.bind_to("--mca hwloc_base_binding_policy", value),
            "rmaps_rank_file_physical" => {
                self.physical = matches!(value, "1" | "true");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn map_by(&mut self, option: &str, value: &str) -> Result<(), LineError> {
        let wanted =
            "write slot, node, package (socket), numa, l3cache, core, hwthread or ppr:N:OBJECT, with :PE=N behind";
        let mut parts = value.split([':', ',']).filter(|part| !part.is_empty());
        let lower = value.to_ascii_lowercase();
        if let Some((_, file)) = value.split_once("file=").filter(|_| lower.starts_with("rankfile")) {
            self.rankfile = Some(file.split(':').next().unwrap_or(file).to_owned());
            return Ok(());
        }
        let object = |name: &str| match name.to_ascii_lowercase().as_str() {
            "slot" | "node" => Some(By::Slot),
            _ => Part::named(name).map(By::Part),
        };
        if lower.starts_with("ppr:") {
            parts.next();
            self.per_object = Some(count(option, parts.next().unwrap_or_default())?);
            let named = parts.next().and_then(object);
            self.by =
                Some(named.ok_or_else(|| wrong(option, value, "write ppr:N:node, or package, numa, l3cache, core"))?);
        } else if !value.starts_with(':') {
            let name = parts.next().unwrap_or_default();
            match object(name) {
                Some(by) => self.by = Some(by),
                None if matches!(
                    name.to_ascii_lowercase().as_str(),
                    "seq" | "dist" | "pe-list" | "l1cache" | "l2cache" | "likwid"
                ) =>
                {
                    self.other = Some(format!("--map-by {name}"));
                }
                None => return Err(wrong(option, value, wanted)),
            }
        }
        for modifier in parts {
            let lower = modifier.to_ascii_lowercase();
            match lower.split_once('=') {
                Some(("pe", cores)) => self.cores = Some(count(option, cores)?),
                _ if lower == "hwtcpus" => self.by_threads = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn bind_to(&mut self, option: &str, value: &str) -> Result<(), LineError> {
        let name = value.split(':').next().unwrap_or_default();
        match (name, Part::named(name)) {
            ("none", _) => self.bind_to = Some(None),
            (_, Some(part)) => self.bind_to = Some(Some(part)),
            ("l1cache" | "l2cache" | "cpu-list", None) => self.other = Some(format!("{option} {name}")),
            _ => return Err(wrong(option, value, "write core, hwthread, l3cache, numa, package (socket) or none")),
        }
        Ok(())
    }

    fn layouts(&self, machine: &JobMachine<'_>, ranks: usize) -> Vec<Layout> {
        if self.bind_to == Some(None) {
            return vec![Layout::free(ranks)];
        }
        if let Some(other) = &self.other {
            return vec![Layout::unknown(
                ranks,
                &format!("{other} of mpirun is not followed: mpirun --report-bindings shows where ranks go"),
            )];
        }
        let cpu = if self.by_threads { Part::Thread } else { Part::Core };
        let (layouts, refused) = match self.cores {
            Some(cores) => {
                // 4.1 refuses another binding beside PE=N; 5.0 binds to the cores all the same.
                if let Some(Some(part)) = self.bind_to
                    && !matches!(part, Part::Core | Part::Thread)
                {
                    let why = format!(
                        "--bind-to {part:?} beside PE={cores} is refused by Open MPI 4 (\"the correct binding policy\": bind-to core)"
                    );
                    return vec![Layout::unknown(ranks, &why.to_lowercase())];
                }
                let refused =
                    "an object of this machine has fewer cores than its ranks are to have: mpirun refuses the line";
                (one_layout(self.wide(machine, ranks, cpu, cores)), refused)
            }
            None => (
                self.by_objects(machine, ranks, cpu),
                "this machine has no such object for mpirun to map by or to bind to",
            ),
        };
        match layouts.is_empty() {
            true => vec![Layout::unknown(ranks, refused)],
            false => self.reorder(ranks, layouts),
        }
    }

    /// Each rank bound to a part of the object that it is mapped to.
    fn by_objects(&self, machine: &JobMachine<'_>, ranks: usize, cpu: Part) -> Vec<Layout> {
        // 5.0 maps more than two ranks by package, and has `--rank-by span` alone.
        let many = if self.spanning { Part::Package } else { Part::Numa };
        let default_by = if ranks <= 2 { By::Part(Part::Core) } else { By::Part(many) };
        let by = self.by.unwrap_or(default_by);
        let bound = |by: By, to: Part| bound(machine, by, self.per_object, to, ranks);
        match (self.by, self.bind_to) {
            // 5.0 maps by package where nothing is said.
            (None, Some(Some(part))) if ranks > 2 && !self.spanning => {
                two_layouts(bound(by, part), bound(By::Part(Part::Package), part))
            }
            (_, Some(Some(part))) => one_layout(bound(by, part)),
            // Where ranks go round the objects, they are bound to those.
            (Some(By::Part(part)), _) if self.per_object.is_none() => one_layout(bound(by, part)),
            (said, _) => {
                let four = bound(by, if ranks <= 2 { cpu } else { Part::Numa });
                let five = match said {
                    Some(By::Part(part)) => bound(by, part),
                    _ => bound(by, if ranks <= 2 { cpu } else { Part::Package }),
                };
                two_layouts(four, five)
            }
        }
    }

    /// Each rank the next CPUs of its object.
    fn wide(&self, machine: &JobMachine<'_>, ranks: usize, cpu: Part, cores: usize) -> Option<Vec<IdSet>> {
        let objects = objects(machine, self.by.unwrap_or(By::Part(Part::Numa)));
        let mut left: Vec<Vec<IdSet>> = objects.iter().map(|object| machine.parts_in(cpu, object)).collect();
        let order = order(objects.len(), self.per_object, ranks)?;
        let take = |at: usize| {
            let own = left.get_mut(at)?;
            (own.len() >= cores).then(|| IdSet::of_all(own.drain(..cores)))
        };
        order.into_iter().map(take).collect()
    }

    fn reorder(&self, ranks: usize, layouts: Vec<Layout>) -> Vec<Layout> {
        match &self.reordered {
            // Which rank is where is another matter where all are alike.
            Some(how) if layouts.iter().any(|layout| layout.starts.windows(2).any(|pair| pair[0] != pair[1])) => {
                let why = format!("{how} numbers the ranks in another order: mpirun --report-bindings shows it");
                vec![Layout::unknown(ranks, &why)]
            }
            _ => layouts,
        }
    }
}

fn one_layout(lists: Option<Vec<IdSet>>) -> Vec<Layout> {
    lists.into_iter().map(|lists| Layout::certain(lists.into_iter().map(Start::on).collect())).collect()
}

fn two_layouts(four: Option<Vec<IdSet>>, five: Option<Vec<IdSet>>) -> Vec<Layout> {
    if four == five {
        return one_layout(four);
    }
    let four = one_layout(four).into_iter().map(|layout| layout.assuming("Open MPI 4"));
    four.chain(one_layout(five).into_iter().map(|layout| layout.assuming("Open MPI 5"))).collect()
}

fn objects(machine: &JobMachine<'_>, by: By) -> Vec<IdSet> {
    match by {
        By::Slot => vec![machine.pus.clone()],
        By::Part(part) => machine.parts(part),
    }
}

/// The object of each rank: round and round, or one object filled before the next.
fn order(objects: usize, per_object: Option<usize>, ranks: usize) -> Option<Vec<usize>> {
    if objects == 0 {
        return None;
    }
    Some((0..ranks).map(|rank| per_object.map_or(rank % objects, |each| rank / each.max(1) % objects)).collect())
}

/// Ranks bound to these parts: the one around their object, or the next of those in it.
fn bound(machine: &JobMachine<'_>, by: By, per_object: Option<usize>, to: Part, ranks: usize) -> Option<Vec<IdSet>> {
    let objects = objects(machine, by);
    let inside: Vec<Vec<IdSet>> = objects.iter().map(|object| machine.parts_in(to, object)).collect();
    let mut used = vec![0; objects.len()];
    let one = |at: usize| {
        let parts = &inside[at];
        match parts.len() {
            0 => None,
            // Its part may be larger than the object.
            1 => Some(machine.widened(to, &parts[0])),
            count => {
                used[at] += 1;
                Some(parts[(used[at] - 1) % count].clone())
            }
        }
    };
    order(objects.len(), per_object, ranks)?.into_iter().map(one).collect()
}
