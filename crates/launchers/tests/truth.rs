//! Every prediction held against what real launchers did: the tables of `truth/`, made by `cargo xtask
//! launch-truth`.
//!
//! A line is read as `check --launch` reads it. For each version of the table the readings that its version
//! may mean count: where such a reading says where ranks are, that is where the launcher put them. A rank
//! whose PUs are unknown, and a line that is refused or cannot be judged, is not wrong; how many of the lines
//! that a version starts are judged is counted, and may not fall. A line that the launcher refused is not to
//! be judged at all.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use launchers::Assumption;
use launchers::line::{LineRank, Reading, read};
use stats::IdSet;
use topo::Topology;

type Outcome = Result<(), Box<dyn Error>>;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth")
}

/// What a version did with a line.
struct Truth {
    /// The launcher refused the line, or an option of it.
    is_refused: bool,
    /// The ranks by their number in the launch; `None`: nothing bound it.
    pus: Vec<Option<IdSet>>,
    /// Their numbers on the node.
    on_node: Vec<usize>,
}

impl Truth {
    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let (is_refused, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (places, numbers) = text.split_once('@').unwrap_or((text, ""));
        let mut pus = Vec::new();
        for place in places.split(';').filter(|place| !place.is_empty()) {
            let (list, times) = place.split_once('*').unwrap_or((place, "1"));
            let own = if list == "-" { None } else { Some(list.parse::<IdSet>()?) };
            pus.extend(std::iter::repeat_n(own, times.parse()?));
        }
        let on_node = match numbers {
            "" => (0..pus.len()).collect(),
            list => list.split(',').map(str::parse).collect::<Result<_, _>>()?,
        };
        Ok(Self { is_refused, pus, on_node })
    }
}

/// A line of a table, and what each version did with it.
struct Row {
    machine: String,
    line: String,
    truths: Vec<(String, Truth)>,
}

fn rows(family: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = std::fs::read_to_string(here().join(format!("{family}.txt")))?;
    let versions = text.lines().find_map(|line| line.strip_prefix("# versions: ")).ok_or("no versions")?;
    let versions: Vec<&str> = versions.split(' ').collect();
    let (mut rows, mut machine, mut groups) = (Vec::new(), "", "");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            machine = name;
        } else if let Some(outcomes) = line.strip_prefix("= ") {
            groups = outcomes;
        } else {
            let mut truths = Vec::new();
            for group in groups.split(" | ") {
                let (label, outcome) = group.split_once(' ').ok_or("no outcome")?;
                let is_meant = |version: &str| {
                    label.split(',').any(|part| {
                        part == "*" || part == version || version.starts_with(&format!("{part}."))
                    })
                };
                for version in versions.iter().filter(|version| is_meant(version)) {
                    truths.push(((*version).to_owned(), Truth::parse(outcome)?));
                }
            }
            rows.push(Row { machine: machine.to_owned(), line: line.to_owned(), truths });
        }
    }
    Ok(rows)
}

/// Whether a version of a family may be what a reading assumes.
fn applies(reading: &Reading, family: &str, version: &str) -> bool {
    let is_so = |assumed: &Assumption| match &*assumed.what {
        "Open MPI 4" => version.starts_with("4."),
        "Open MPI 5" => version.starts_with("5."),
        "MPICH 4 or later" => family == "mpich" && !version.starts_with("3."),
        "MPICH 3" => family == "mpich" && version.starts_with("3."),
        assumed if assumed.contains("MPICH") => family == "mpich",
        assumed if assumed.contains("2021.13 or before") => {
            version.starts_with("2021.9.") || version.starts_with("2021.13.")
        }
        assumed if assumed.contains("Intel MPI") => family == "intel-mpi",
        assumed => panic!("nothing says which version {assumed:?} means"),
    };
    reading.ways.iter().any(|way| way.iter().all(is_so))
}

/// What is wrong with a rank's prediction; `None` where it is right or unknown.
fn fault(rank: &LineRank, truth: &Truth, all: &IdSet) -> Option<String> {
    let Ok(pus) = &rank.pus else { return None };
    let Some(world) = truth.on_node.iter().position(|on_node| *on_node == rank.rank) else {
        return Some(format!("there is no rank {} on the node", rank.rank));
    };
    let seen = truth.pus[world].as_ref().unwrap_or(all);
    if pus != seen {
        return Some(format!("rank {world} is predicted on {pus} and was on {seen}"));
    }
    (rank.world != world).then(|| format!("rank {world} is predicted to be rank {}", rank.world))
}

/// The predictions of a family.
#[derive(Default)]
struct Held {
    /// By version: how many lines are judged, of how many that it starts.
    counts: BTreeMap<String, [usize; 2]>,
    /// What is wrong.
    wrong: Vec<String>,
}

fn held(family: &str) -> Result<Held, Box<dyn Error>> {
    let mut topologies: BTreeMap<String, Topology> = BTreeMap::new();
    let Held { mut counts, mut wrong } = Held::default();
    let folder = here().display().to_string();
    for row in rows(family)? {
        if !topologies.contains_key(&row.machine) {
            let path = here().join(format!("../../../topo/tests/fixtures/{}.xml", row.machine));
            topologies.insert(row.machine.clone(), topo::from_xml(&path)?);
        }
        let topology = &topologies[&row.machine];
        let all = topology.allowed.cpuset();
        let line = ["two.rankfile", "sockets.rankfile"]
            .into_iter()
            .fold(row.line.clone(), |line, file| line.replace(file, &format!("{folder}/{file}")));
        let predicted = read(&format!("{line} ./app"), topology);
        for (version, truth) in &row.truths {
            let count = counts.entry(version.clone()).or_default();
            count[1] += usize::from(!truth.is_refused);
            // Of a line for several nodes the first one's ranks are read, and the launcher had one node.
            let Some(launched) = predicted.as_ref().ok().filter(|launched| launched.of.is_none()) else {
                continue;
            };
            let meant = launched.readings.iter().filter(|reading| applies(reading, family, version));
            let mut is_judged = false;
            for reading in meant {
                let known = reading.ranks.iter().filter(|rank| rank.pus.is_ok()).count();
                is_judged |= known > 0;
                let fault = match known {
                    0 => None,
                    _ if truth.is_refused && truth.pus.is_empty() => Some("was refused".to_owned()),
                    _ if reading.ranks.len() != truth.pus.len() => Some(format!(
                        "{} ranks are predicted and {} were started",
                        reading.ranks.len(),
                        truth.pus.len()
                    )),
                    _ => reading.ranks.iter().find_map(|rank| fault(rank, truth, &all)),
                };
                if let Some(fault) = fault {
                    wrong.push(format!("{family} {version} on {}: {}: {fault}", row.machine, row.line));
                }
            }
            count[0] += usize::from(is_judged);
        }
    }
    Ok(Held { counts, wrong })
}

/// Holds a family's predictions; at least so many of a hundred that its versions take are to be judged.
#[allow(clippy::print_stderr, reason = "the shares are what the test is for")]
fn hold(family: &str, least: usize) -> Outcome {
    let Held { counts, wrong } = held(family)?;
    for (version, [judged, of]) in &counts {
        eprintln!(
            "{family} {version}: {judged} of {of} lines that it starts are judged ({} %)",
            judged * 100 / of
        );
    }
    if let Ok(path) = std::env::var("NUMABENCH_TRUTH_FAULTS") {
        std::fs::write(format!("{path}/{family}.txt"), wrong.join("\n"))?;
    }
    let first: Vec<&String> = wrong.iter().take(25).collect();
    assert!(wrong.is_empty(), "{} predictions are wrong, the first:\n{first:#?}", wrong.len());
    for (version, [judged, of]) in counts {
        assert!(judged * 100 >= of * least, "{family} {version}: {judged} of {of} lines are judged");
    }
    Ok(())
}

#[test]
fn no_prediction_for_open_mpi_is_another_than_what_it_did() -> Outcome {
    hold("open-mpi", 90)
}

#[test]
fn no_prediction_for_mpich_is_another_than_what_it_did() -> Outcome {
    hold("mpich", 55)
}

#[test]
fn no_prediction_for_intel_mpi_is_another_than_what_it_did() -> Outcome {
    hold("intel-mpi", 30)
}
