//! What a line of Open MPI's mpirun says of mapping, binding and numbering, as one version reads it.
//!
//! `--map-by`, `--bind-to`, `--rank-by`, older words for them, and the parameters that set their defaults. A
//! word that this version does not know is kept, so that its model can say that it refuses the line.

use std::collections::BTreeMap;

use crate::count::Dealing;
use crate::error::LineError;
use crate::grammar::Given;
use crate::objects::Part;
use crate::value::{count, ids, wrong};

/// The versions whose options and rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Four,
    Five,
}

impl Version {
    /// As a condition names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Four => "Open MPI 4",
            Self::Five => "Open MPI 5",
        }
    }
}

/// What ranks are mapped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Slots and nodes: one object, the node.
    Node,
    Part(Part),
}

/// How ranks are numbered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The line does not say it.
    #[default]
    Default,
    /// `--rank-by slot` or `node`: in the order of mapping.
    Slot,
    /// One object after the other is filled.
    Fill,
    /// One rank an object, round and round.
    Span,
    /// Round the objects of a kind.
    Part(Part),
    /// A way that is not followed.
    Other(String),
}

/// The options, read.
#[derive(Debug)]
pub(crate) struct MappingOptions {
    pub version: Version,
    pub by: Option<By>,
    /// Ranks for each object.
    pub per_object: Option<usize>,
    /// CPUs a rank.
    pub cpus: Option<usize>,
    /// `--bind-to`: `Some(None)` is none.
    pub bind_to: Option<Option<Part>>,
    pub numbering: Numbering,
    /// Ranks go round the nodes of the launch.
    pub maps_by_node: bool,
    /// Whether `--rank-by` numbers them round the nodes; `None`: it does not say it.
    pub ranks_by_node: Option<bool>,
    /// `:span`: objects of all nodes count as those of one.
    pub spanning: bool,
    /// Hardware threads count as CPUs.
    pub by_threads: bool,
    /// More ranks may be started than there are slots.
    pub oversubscribe: bool,
    /// `PE=` stands behind no object.
    pub is_of_no_object: bool,
    /// A way that is not followed.
    pub other: Option<String>,
    pub rankfile: Option<String>,
    /// The rankfile counts as the operating system does.
    pub physical: bool,
    /// `--cpu-list`, `--cpu-set`: every rank's CPUs.
    pub cpu_list: Option<PeList>,
    /// `--map-by pe-list=`: every rank's CPUs, or each in turn.
    pub pe_list: Option<PeList>,
    /// A word that this version does not know.
    pub foreign: Option<String>,
}

/// CPUs that a line lists for its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeList {
    /// In the order of the line.
    pub cpus: Vec<u32>,
    /// Some are written as a range.
    pub has_ranges: bool,
    /// Each rank gets the next one.
    pub is_ordered: bool,
}

impl MappingOptions {
    /// Reads the options of a line and the variables before it, as this version does.
    ///
    /// # Errors
    /// [`LineError`]: no version takes a value.
    pub fn read(
        version: Version,
        given: &[Given<'_>],
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, LineError> {
        let mut options = Self::of(version);
        let prefixes: &[&str] = match version {
            Version::Four => &["OMPI_MCA_"],
            Version::Five => &["OMPI_MCA_", "PRTE_MCA_"],
        };

        for (name, value) in variables {
            if let Some(parameter) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
                options.parameter(parameter, value)?;
            }
        }

        for one in given {
            options.option(one)?;
        }
        Ok(options)
    }

    fn of(version: Version) -> Self {
        Self {
            version,
            by: None,
            per_object: None,
            cpus: None,
            bind_to: None,
            numbering: Numbering::Default,
            maps_by_node: false,
            ranks_by_node: None,
            spanning: false,
            by_threads: false,
            oversubscribe: false,
            is_of_no_object: false,
            other: None,
            rankfile: None,
            physical: false,
            cpu_list: None,
            pe_list: None,
            foreign: None,
        }
    }

    /// In which order the nodes of the launch get their ranks.
    pub fn dealing(&self) -> Dealing {
        let is_within = matches!(self.numbering, Numbering::Default | Numbering::Slot | Numbering::Fill);
        match self.maps_by_node {
            _ if !is_within || self.spanning || self.rankfile.is_some() => Dealing::Unknown,
            by_node if self.ranks_by_node.is_some_and(|ranks| ranks != by_node) => Dealing::Unknown,
            true => Dealing::Turns(1),
            false => Dealing::Filled,
        }
    }

    /// A word that only that version has.
    fn only_in(&mut self, version: Version, word: &str) {
        if self.version != version && self.foreign.is_none() {
            self.foreign = Some(word.to_owned());
        }
    }

    fn option(&mut self, one: &Given<'_>) -> Result<(), LineError> {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "mca" | "omca" | "prtemca" => self.parameter(value, one.second.unwrap_or_default())?,
            "map-by" => self.map_by(&option, value)?,
            "ppr" => self.map_by(&option, &format!("ppr:{value}"))?,
            "npersocket" => self.map_by(&option, &format!("ppr:{value}:socket"))?,
            "npernode" | "N" => self.map_by(&option, &format!("ppr:{value}:node"))?,
            "pernode" => self.map_by(&option, "ppr:1:node")?,
            "bycore" => self.by = Some(By::Part(Part::Core)),
            "byslot" | "bynode" => (self.by, self.maps_by_node) = (Some(By::Node), one.name == "bynode"),
            "cpus-per-proc" | "cpus-per-rank" => self.cpus = Some(one.count()?),
            "bind-to" => self.bind_to(&option, value)?,
            "bind-to-core" => self.bind_to = Some(Some(Part::Core)),
            "bind-to-socket" => {
                self.bind_to = Some(Some(Part::Package));
                self.only_in(Version::Four, &option);
            }
            "nolocal" | "tune" | "am" | "app" => self.other = Some(option.clone()),
            "rank-by" => self.rank_by(value),
            "use-hwthread-cpus" => self.by_threads = true,
            "oversubscribe" => self.oversubscribe = true,
            "cpu-list" | "cpu-set" => {
                let cpus = listed(&option, value)?;
                self.cpu_list = Some(PeList { cpus, has_ranges: value.contains('-'), is_ordered: false });
            }
            "rankfile" | "rf" => self.rankfile = Some(value.to_owned()),
            _ => {}
        }

        if matches!(one.name, "prtemca" | "display" | "runtime-options" | "pmixmca") {
            self.only_in(Version::Five, &option);
        }
        Ok(())
    }

    /// `--mca NAME VALUE`, `OMPI_MCA_NAME=VALUE`.
    fn parameter(&mut self, name: &str, value: &str) -> Result<(), LineError> {
        let [mapping, binding] = match self.version {
            Version::Four => ["rmaps_base_mapping_policy", "hwloc_base_binding_policy"],
            Version::Five => ["rmaps_default_mapping_policy", "hwloc_default_binding_policy"],
        };

        match name {
            // 5.0.8 refuses it, 5.0.11 takes it.
            _ if name == mapping
                && self.version == Version::Five
                && value.to_ascii_lowercase().contains("pe=") =>
            {
                self.other = Some(format!("{name}={value}"));
                Ok(())
            }
            _ if name == mapping => self.map_by(&format!("--mca {name}"), value),
            _ if name == binding => self.bind_to(&format!("--mca {name}"), value),
            "rmaps_rank_file_physical" => {
                self.physical = matches!(value, "1" | "true");
                Ok(())
            }
            "rmaps_base_cpus_per_proc" | "rmaps_base_cpus_per_rank" if self.version == Version::Four => {
                self.cpus = Some(count(&format!("--mca {name}"), value)?);
                Ok(())
            }
            _ if self.passes_over(name) => Ok(()),
            _ => {
                self.other = Some(format!("--mca {name}"));
                Ok(())
            }
        }
    }

    /// Whether a parameter changes nothing of where this version puts ranks: it is of another framework, only
    /// prints, or is the other version's.
    fn passes_over(&self, name: &str) -> bool {
        let of_placement = ["rmaps", "hwloc", "rtc", "ras_", "orte_rankfile", "orte_default_", "orte_soft_"];
        let prints = ["_verbose", "_display_", "_report_bindings"];
        let of_others = match self.version {
            Version::Four => ["rmaps_default_", "hwloc_default_"],
            Version::Five => ["rmaps_base_mapping_policy", "hwloc_base_binding_policy"],
        };
        !of_placement.iter().any(|prefix| name.starts_with(prefix))
            || prints.iter().any(|part| name.contains(part))
            || of_others.iter().any(|prefix| name.starts_with(prefix))
    }

    fn map_by(&mut self, option: &str, value: &str) -> Result<(), LineError> {
        let lower = value.to_ascii_lowercase();
        let mut parts = value.split(':').filter(|part| !part.is_empty());
        if lower.starts_with("rankfile") {
            parts.next();
            self.only_in(Version::Five, "--map-by rankfile");
        } else if let Some((_, list)) = lower.split_once("pe-list=") {
            let list = list.split(':').next().unwrap_or_default();
            self.pe_list = Some(PeList {
                cpus: listed(option, list)?,
                has_ranges: list.contains('-'),
                is_ordered: lower.ends_with(":ordered"),
            });
            self.only_in(Version::Five, "--map-by pe-list");
            return Ok(());
        } else if lower.starts_with("ppr:") {
            parts.next();
            self.per_object = Some(count(option, parts.next().unwrap_or_default())?);
            let name = parts.next().unwrap_or_default();
            let by = self.object(option, name);
            self.by =
                Some(by.ok_or_else(|| {
                    wrong(option, value, "write ppr:N:node, or package, numa, l3cache, core")
                })?);
        } else if value.starts_with(':') {
            self.is_of_no_object = true;
        } else {
            let name = parts.next().unwrap_or_default();
            self.maps_by_node = name.eq_ignore_ascii_case("node");
            match self.object(option, name) {
                Some(by) => (self.by, self.per_object) = (Some(by), None),
                None if matches!(
                    name.to_ascii_lowercase().as_str(),
                    "seq" | "dist" | "l1cache" | "l2cache" | "likwid" | "dist:span"
                ) =>
                {
                    self.other = Some(format!("--map-by {name}"));
                }
                None => {
                    let wanted = "write slot, node, package (socket), numa, l3cache, core, hwthread or \
                        ppr:N:OBJECT, with :PE=N behind";
                    return Err(wrong(option, value, wanted));
                }
            }
        }

        parts.flat_map(|part| part.split(',')).try_for_each(|modifier| self.modifier(option, modifier))
    }

    /// What stands behind the object: `PE=2`, `span`.
    fn modifier(&mut self, option: &str, modifier: &str) -> Result<(), LineError> {
        let lower = modifier.to_ascii_lowercase();
        match lower.split_once('=') {
            Some(("pe", cpus)) => self.cpus = Some(count(option, cpus)?),
            Some(("file", _)) => self.rankfile = modifier.split_once('=').map(|(_, file)| file.to_owned()),
            _ => match lower.as_str() {
                "hwtcpus" => {
                    self.by_threads = true;
                    self.only_in(Version::Five, "--map-by :hwtcpus");
                }
                "span" => self.spanning = true,
                "oversubscribe" => self.oversubscribe = true,
                _ => {}
            },
        }
        Ok(())
    }

    /// The object of this name.
    fn object(&mut self, option: &str, name: &str) -> Option<By> {
        match name.to_ascii_lowercase().as_str() {
            "slot" | "node" => Some(By::Node),
            "package" => {
                self.only_in(Version::Five, &format!("{option} package"));
                Some(By::Part(Part::Package))
            }
            _ => Part::named(name).map(By::Part),
        }
    }

    fn bind_to(&mut self, option: &str, value: &str) -> Result<(), LineError> {
        let name = value.split(':').next().unwrap_or_default();
        match (name, Part::named(name)) {
            ("none", _) => self.bind_to = Some(None),
            (_, Some(part)) => self.bind_to = Some(Some(part)),
            ("l1cache" | "l2cache" | "cpu-list", None) => self.other = Some(format!("{option} {name}")),
            _ => {
                return Err(wrong(
                    option,
                    value,
                    "write core, hwthread, l3cache, numa, package (socket) or none",
                ));
            }
        }

        if name == "package" {
            self.only_in(Version::Five, &format!("{option} package"));
        }
        Ok(())
    }

    fn rank_by(&mut self, value: &str) {
        let lower = value.to_ascii_lowercase();
        self.ranks_by_node = matches!(lower.as_str(), "slot" | "node").then(|| lower == "node");
        self.numbering = match (lower.as_str(), Part::named(&lower)) {
            ("slot" | "node", _) => Numbering::Slot,
            ("fill", _) => Numbering::Fill,
            ("span", _) => Numbering::Span,
            (_, Some(part)) => Numbering::Part(part),
            _ => Numbering::Other(format!("--rank-by {value}")),
        };
        let only_in = match self.numbering {
            Numbering::Fill | Numbering::Span => Version::Five,
            Numbering::Part(_) | Numbering::Other(_) => Version::Four,
            Numbering::Default | Numbering::Slot => return,
        };
        self.only_in(only_in, &format!("--rank-by {value}"));
    }
}

/// `0,2-3`, in the order of the line.
fn listed(option: &str, list: &str) -> Result<Vec<u32>, LineError> {
    let mut all = Vec::new();
    for entry in list.split(',') {
        all.extend(ids(option, entry)?.iter());
    }
    Ok(all)
}
