//! Predictions of srun lines, held against what a real Slurm did with them (`truth/slurm.tsv`, made by `cargo
//! xtask slurm-truth`).
//!
//! A prediction is right where one of its readings has every task's CPUs and GPUs as Slurm gave them, or
//! where a line that Slurm refused is refused. One that says *unknown* is never wrong; it is counted. What is
//! not foreseen is a list of refusals by their own words ([`UNFORESEEN`]): they say that a request cannot be
//! met, and nothing of places.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use launchers::line::{LineError, LineRank, Reading, read_at};
use launchers::slurm_files::SlurmFiles;
use stats::IdSet;
use topo::Topology;

/// Of the lines of the table at least so many of a hundred are to be judged.
const JUDGED: usize = 35;

/// Refusals of requests, which no prediction of places foresees.
const UNFORESEEN: [&str; 0] = [];

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth")
}

/// What Slurm did with a line.
enum Truth<'t> {
    Refused(&'t str),
    /// Each task's CPUs (`None`: not bound) and GPUs (`None`: none is hidden).
    Started(Vec<(Option<IdSet>, Option<Vec<usize>>)>),
}

fn truth(text: &str) -> Result<Truth<'_>, Box<dyn Error>> {
    if let Some(why) = text.strip_prefix("refused: ") {
        return Ok(Truth::Refused(why));
    }
    let task = |task: &str| -> Result<Vec<_>, Box<dyn Error>> {
        let (task, times) = task.split_once('*').unwrap_or((task, "1"));
        let (cpus, gpus) = task.split_once('/').ok_or("no GPUs")?;
        let cpus = if cpus == "all" { None } else { Some(cpus.parse::<IdSet>()?) };
        let gpus = match gpus {
            "unset" => None,
            "-" => Some(Vec::new()),
            list => Some(list.split(',').map(str::parse).collect::<Result<_, _>>()?),
        };
        Ok(vec![(cpus, gpus); times.parse()?])
    };
    Ok(Truth::Started(text.split(' ').map(task).collect::<Result<Vec<_>, _>>()?.concat()))
}

/// The site's files as the lab had them.
fn site(machine: &str, site: &str, topology: &Topology) -> Result<SlurmFiles, Box<dyn Error>> {
    let (sockets, cores) = (topology.packages.len(), topology.cores.len());
    let threads = topology.cores.iter().map(|core| core.pus.len()).max().unwrap_or(1);
    let cpus = if site == "cores" { cores } else { cores * threads };
    let parameter = if site == "autobind" { "TaskPluginParam=autobind=threads\n" } else { "" };
    let conf = format!(
        "TaskPlugin=task/affinity\nSelectType=select/cons_tres\n\
         {parameter}NodeName=n CPUs={cpus} Sockets={sockets} CoresPerSocket={} ThreadsPerCore={threads}\n",
        cores / sockets
    );
    let gres = std::fs::read_to_string(here().join(format!("{machine}.gres.conf"))).ok();
    Ok(SlurmFiles { gres: gres.map(|text| text.parse()).transpose()?, nodes: Some(conf.parse()?) })
}

/// Whether a reading is what Slurm did; `None` where it says of some task that it does not know.
fn is_right(
    reading: &Reading,
    tasks: &[(Option<IdSet>, Option<Vec<usize>>)],
    topology: &Topology,
) -> Option<bool> {
    let index = |rank: &LineRank| -> Option<Vec<usize>> {
        let devices = rank.gpus.devices.as_ref()?;
        devices.iter().map(|device| topology.gpu_at(device.pci?).map(|gpu| gpu.index as usize)).collect()
    };
    if reading.ranks.len() != tasks.len() {
        return Some(false);
    }
    let mut is_right = true;
    for (rank, (cpus, gpus)) in reading.ranks.iter().zip(tasks) {
        let predicted = rank.pus.as_ref().ok()?;
        is_right &= match cpus {
            Some(cpus) => predicted == cpus,
            None => *predicted == topology.allowed.pus || *predicted == topology.allowed.cpuset(),
        };
        if !topology.gpus.is_empty() {
            let all: Vec<usize> = (0..topology.gpus.len()).collect();
            is_right &= &index(rank)? == gpus.as_ref().unwrap_or(&all);
        }
    }
    Some(is_right)
}

#[test]
#[allow(clippy::print_stderr, reason = "the share of judged lines is a figure of the table")]
fn no_prediction_of_an_srun_line_is_other_than_what_slurm_did() -> Result<(), Box<dyn Error>> {
    let table = std::fs::read_to_string(here().join("slurm.tsv"))?;
    let version =
        table.lines().find_map(|line| Some(line.strip_prefix("# What ")?.split_once(" did with")?.0));
    let version = version.ok_or("no version")?;
    let mut machines: BTreeMap<&str, Topology> = BTreeMap::new();
    let (mut certain, mut conditional, mut unknown, mut wrong) = (0, 0, 0, Vec::new());
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let [machine, site_name, options, result] = row.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("not four columns: {row}").into());
        };
        if !machines.contains_key(machine) {
            let file = here().join(format!("../../../topo/tests/fixtures/{machine}.xml"));
            machines.insert(machine, topo::from_xml(&file)?);
        }
        let topology = &machines[machine];
        let site = site(machine, site_name, topology)?;
        let predicted = read_at(&format!("srun -N1 {options} ./app"), topology, &site);
        let told = |what: &str| format!("{what}: {machine} {site_name}: {options}: {version}: {result:.200}");
        match (truth(result)?, predicted) {
            (_, Err(LineError::NotSaid(_))) => unknown += 1,
            (Truth::Refused(_), Err(_)) => certain += 1,
            (Truth::Started(_), Err(why)) => wrong.push(told(&format!("refused ({why})"))),
            (Truth::Refused(why), Ok(launched)) => {
                let is_open = |rank: &LineRank| rank.pus.as_ref().is_err_and(|why| why.contains("refuse"));
                let is_foreseen = launched.notes.iter().any(|note| note.contains("refuse"))
                    || launched.readings.iter().any(|reading| reading.ranks.iter().all(is_open));
                match is_foreseen || UNFORESEEN.iter().any(|known| why.contains(known)) {
                    true => unknown += 1,
                    false => wrong.push(told("started")),
                }
            }
            (Truth::Started(tasks), Ok(launched)) => {
                let right: Vec<Option<bool>> =
                    launched.readings.iter().map(|reading| is_right(reading, &tasks, topology)).collect();
                match right.as_slice() {
                    [Some(true)] => certain += 1,
                    all if all.contains(&Some(true)) => conditional += 1,
                    all if all.contains(&None) => unknown += 1,
                    _ => {
                        let first = launched.readings.first();
                        let ranks = first.map(|reading| {
                            let one = |rank: &LineRank| {
                                format!(
                                    "{:?}/{:?}",
                                    rank.pus.as_ref().map(ToString::to_string),
                                    rank.gpus.devices.as_ref().map(Vec::len)
                                )
                            };
                            reading.ranks.iter().take(3).map(one).collect::<Vec<_>>().join(" ")
                        });
                        wrong.push(told(&format!("{} readings, {}", right.len(), ranks.unwrap_or_default())));
                    }
                }
            }
        }
    }
    let all = certain + conditional + unknown + wrong.len();
    eprintln!(
        "{all} lines: {certain} right, {conditional} right under a condition, {unknown} unknown, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} of {all} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        (certain + conditional) * 100 >= all * JUDGED,
        "{certain} and {conditional} of {all} lines are judged"
    );
    Ok(())
}
