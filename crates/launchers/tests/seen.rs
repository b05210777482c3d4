//! Where real launchers put ranks on the project's saved machines, against what is read from their lines: Open MPI shows its map without a launch,
//! Hydra its masks, both told the machine by hwloc's `HWLOC_XMLFILE`.
//!
//! A launcher that is not here, or is another version's, is said to be missing on a line that begins with `SKIPPED`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use launchers::line::read;
use stats::IdSet;
use topo::Topology;

type Outcome = Result<(), Box<dyn Error>>;

const MACHINES: [&str; 5] = ["dgx-a100", "gh200-quad", "leonardo", "cpu-only", "mi300a"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml"))
}

#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn skipped(why: &str) {
    eprintln!("SKIPPED {why}");
}

/// What the command says, on both streams; `None` where it is not here.
fn says(machine: &str, program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("HWLOC_XMLFILE", fixture(machine)).env("HWLOC_THISSYSTEM", "1");
    command.env("HYDRA_TOPO_DEBUG", "1").env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// Each rank's PUs as the line is read: every reading.
fn from_line(line: &str, topology: &Topology) -> Result<Vec<Vec<IdSet>>, Box<dyn Error>> {
    let mut readings = Vec::new();
    for reading in read(line, topology)?.readings {
        readings.push(reading.ranks.into_iter().map(|rank| rank.pus).collect::<Result<Vec<IdSet>, String>>()?);
    }
    Ok(readings)
}

#[test]
fn hydra_binds_as_its_line_is_read() -> Outcome {
    if !says("cpu-only", "mpiexec.hydra", &["--version"]).is_some_and(|text| text.contains("HYDRA")) {
        skipped("Hydra's mpiexec is not here");
        return Ok(());
    }
    let options = [
        "core",
        "core:4",
        "core:2 -map-by socket",
        "core:2 -map-by numa",
        "core -map-by numa",
        "numa",
        "socket",
        "l3cache",
        "hwthread",
        "rr",
        "core:3 -map-by socket",
    ];
    for machine in MACHINES {
        let topology = topo::from_xml(&fixture(machine))?;
        for option in options {
            if option == "l3cache" && topology.l3s.is_empty() {
                continue;
            }
            let line = format!("-n 4 -bind-to {option}");
            let told = |program: &str| {
                says(machine, "mpiexec.hydra", &format!("{line} {program}").split(' ').collect::<Vec<_>>())
            };
            // On a busy machine Hydra drops now and then what a program's proxy has said that ends at once.
            let said = told("true").filter(|text| text.contains("binding:")).or_else(|| told("sleep 1"));
            let Some(text) = said else { continue };
            let mut seen: Vec<(usize, IdSet)> = Vec::new();
            for shown in text.lines().filter(|line| line.contains("binding:")) {
                let words: Vec<&str> = shown.split_whitespace().collect();
                let [_, rank, _, bits] = words.as_slice() else { return Err(shown.into()) };
                let pus = bits.char_indices().filter(|(_, bit)| *bit == '1').map(|(at, _)| at as u32).collect();
                seen.push((rank.parse()?, pus));
            }
            seen.sort();
            let seen: Vec<IdSet> = seen.into_iter().map(|(_, pus)| pus).collect();
            assert_eq!(
                from_line(&format!("mpiexec.hydra {line} true"), &topology)?,
                [seen],
                "{machine}: {option}: {text}"
            );
        }
    }
    Ok(())
}

#[test]
fn open_mpi_4_maps_as_its_line_is_read() -> Outcome {
    if !says("cpu-only", "mpirun", &["--version"]).is_some_and(|text| text.contains("(Open MPI) 4.")) {
        skipped("Open MPI 4's mpirun is not here");
        return Ok(());
    }
    let options = [
        "-np 4",
        "-np 2",
        "-np 4 --bind-to core",
        "-np 4 --map-by socket --bind-to core",
        "-np 4 --map-by core --bind-to numa",
        "-np 4 --map-by slot --bind-to numa",
        "-np 4 --map-by node --bind-to core",
        "-np 4 --bind-to socket",
        "-np 4 --map-by slot:PE=4",
        "-np 4 --map-by socket:PE=2",
        "-np 4 --map-by numa:PE=2",
        "-np 4 --map-by ppr:4:node:PE=4",
        "-np 4 --map-by core",
        "-np 4 --map-by numa",
        "-np 4 --map-by socket",
        "-np 4 --map-by socket --bind-to socket",
        "-np 4 --map-by numa --bind-to core",
    ];
    let mut compared = 0;
    for machine in MACHINES {
        let topology = topo::from_xml(&fixture(machine))?;
        let mut cores: Vec<&IdSet> = topology.cores.iter().map(|core| &core.pus).collect();
        cores.sort_by_key(|pus| pus.first());
        for option in options {
            let line = format!("-H localhost:512 {option} --do-not-launch --display-devel-map true");
            let Some(text) = says(machine, "mpirun", &line.split(' ').collect::<Vec<_>>()) else { continue };
            let mut rank = 0;
            let mut seen: Vec<(usize, IdSet)> = Vec::new();
            for shown in text.lines() {
                if let Some((_, after)) = shown.split_once("Local rank: ") {
                    rank = after.split_whitespace().next().unwrap_or_default().parse()?;
                }
                if let Some((_, brackets)) = shown.split_once("Binding: [") {
                    let cells = brackets.replace("][", "/");
                    let bound = cells.split('/').enumerate().filter(|(_, cell)| cell.contains('B'));
                    let pus = bound
                        .fold(IdSet::default(), |all, (at, _)| cores.get(at).map_or(all.clone(), |core| all.or(core)));
                    seen.push((rank, pus));
                }
            }
            // Where it refuses the line, nothing is mapped.
            if seen.is_empty() {
                continue;
            }
            seen.sort();
            let seen: Vec<IdSet> = seen.into_iter().map(|(_, pus)| pus).collect();
            let readings = from_line(&format!("mpirun {option} true"), &topology)?;
            // Of two versions, the first reading is 4's.
            assert_eq!(readings.first(), Some(&seen), "{machine}: {option}");
            compared += 1;
        }
    }
    assert!(compared >= 50, "{compared}");
    Ok(())
}
