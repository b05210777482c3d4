//! `check` of what `place` emits: no line is judged wrong, on any machine, for up to three ranks a PU.
//!
//! A plan near the GPUs and the judgement of its line must be of one mind, whatever the launcher: the words
//! are read as `check --launch` reads them and judged with the pool that it has. Left out: `--strategy
//! worst`, which is wrong on purpose, and GPUs that the user names while others are idle.
//!
//! `NUMABENCH_EVERY_COUNT=1` tries every number of ranks and every line, not some of them, on all the cores
//! that there are; `=7` every seventh number.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use launchers::line::LineError;
use launchers::slurm_files::SlurmFiles;
use launchers::{Dialect, Situation, Starter, command, say};
use placement::judge::PlacementVerdict;
use placement::{Ask, NodePlaces, Strategy, recommend};
use topo::Topology;

use crate::CheckError;
use crate::group::Group;
use crate::machine::Machine;
use crate::node::{Node, judged, settle, worst_node};

type Outcome = Result<(), Box<dyn Error>>;

/// More ranks than these take their time, and their lines are tried by the long form alone.
const MANY: usize = 64;

/// The machine's files: the project's, and the captures where they are.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn files() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = here.join("../../../shared/topologies");
    let captures = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from);
    let mut folders = vec![here.join("../topo/tests/fixtures")];

    match captures.join("xml").is_dir() {
        true => folders.extend([captures.join("xml"), captures.join("xml-more")]),
        false => eprintln!(
            "SKIPPED every capture's lines: no captures at {} (set NUMABENCH_TOPOLOGIES)",
            captures.join("xml").display()
        ),
    }

    let mut all = Vec::new();

    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(folder)? {
            all.push(entry?.path());
        }
    }

    all.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    all.sort();
    Ok(all)
}

/// The step from one number of ranks to the next in the long form.
fn every_count() -> Option<usize> {
    std::env::var("NUMABENCH_EVERY_COUNT").ok()?.parse().ok().filter(|step| *step > 0)
}

fn is_every_count() -> bool {
    every_count().is_some()
}

/// The numbers of ranks that are tried: a few, and those around where GPUs, cores and PUs run out.
fn numbers(machine: &Machine) -> Vec<usize> {
    let topology = machine.judged_by();
    let usable = topology.allowed.pus.minus(&topology.allowed.offline_pus);
    let cores = topology.cores.iter().filter(|core| !core.pus.and(&usable).is_empty()).count();
    let (pus, gpus) = (usable.len(), topology.gpus.len());
    if let Some(step) = every_count() {
        return (1..=3 * pus).step_by(step).collect();
    }
    let edges = [1, gpus, gpus + 1, cores + 1, pus + pus / 3, 3 * pus - 1];
    let some = edges.into_iter().filter(|ranks| (1..=3 * pus).contains(ranks) && *ranks <= MANY);
    some.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every line that `place` prints for these places, with files that they name written to `folder`.
fn lines(machine: &Machine, places: &NodePlaces, folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let (topology, situation, ranks) = (machine.judged_by(), Situation::default(), places.places.len());
    let mut all = Vec::new();
    // Exec makes the plan of the node anew for each rank.
    let of_starters = |starter: &Starter| ranks <= MANY / 4 || is_every_count() || *starter == Starter::Srun;
    for starter in Starter::ALL.into_iter().filter(of_starters) {
        all.push(command(topology, places, starter, &situation, "", None).text.replace("PROGRAM", "./app"));
    }

    for dialect in Dialect::ALL {
        let text = say(topology, places, dialect, &situation).text.replace("PROGRAM", "./app");
        match dialect {
            // Where a rank has no GPU it is empty, and says why.
            _ if text.is_empty() => {}
            Dialect::SrunMapCpu | Dialect::SrunMaskCpu => {
                all.push(format!("srun -N1 -n{ranks} --overcommit {text} ./app"))
            }
            Dialect::GpuBind => all.push(format!("srun -N1 -n{ranks} --overcommit {text} ./app")),
            Dialect::OpenMpi => {
                let file = folder.join("numabench.rankfile");
                let body =
                    text.lines().filter(|line| line.starts_with("rank ")).collect::<Vec<_>>().join("\n");
                std::fs::write(&file, body + "\n")?;
                let line = text.lines().find(|line| line.starts_with("mpirun")).unwrap_or_default();
                all.push(line.replace("numabench.rankfile", &file.display().to_string()));
            }
            Dialect::Mpich => all.push(text),
            // Each rank runs the script, which has a part for each.
            Dialect::Wrapper if ranks > MANY / 2 && !is_every_count() => {}
            // A worker of torchrun takes the GPU of its number where the script cannot show it another one.
            Dialect::Wrapper => {
                let wrapped = wrapped(&text, ranks, folder)?.into_iter();
                all.extend(wrapped.filter(|line| !line.starts_with("torchrun")));
            }
            // A line a rank, which are judged together; the places of OpenMP are each rank's own.
            Dialect::Numactl | Dialect::Taskset => all.push(text),
            Dialect::OmpPlaces => {
                all.extend(text.lines().take(if is_every_count() { ranks } else { 1 }).map(str::to_owned))
            }
        }
    }
    Ok(all)
}

/// The lines that start the script with the binding of their launcher switched off, one of each launcher.
fn wrapped(script: &str, ranks: usize, folder: &Path) -> Result<Vec<String>, std::io::Error> {
    let file = folder.join("place.sh");
    std::fs::write(&file, script)?;
    let program = format!("{} ./app", file.display());

    let launchers = [
        format!("srun -N1 -n{ranks} --overcommit --cpu-bind=none --gpu-bind=none"),
        format!("mpirun -np {ranks} --bind-to none"),
        format!("mpiexec -n {ranks} -bind-to none"),
        format!("mpiexec -n {ranks} --ppn {ranks} --cpu-bind none"),
        format!(
            "flux run -N1 --tasks-per-node={ranks} --exclusive -o mpibind=off -o cpu-affinity=off -o \
             gpu-affinity=off"
        ),
        format!("jsrun -n1 -a{ranks} -cALL_CPUS -gALL_GPUS --bind none"),
        format!("torchrun --nproc-per-node {ranks} --no-python"),
    ];

    Ok(launchers.map(|launcher| format!("{launcher} {program}")).to_vec())
}

/// What `check --launch` says of the line; `Err` where its code is another than 0, 5 or 6.
fn verdict(machine: &Machine, line: &str) -> Result<(PlacementVerdict, String), CheckError> {
    let mut group = match Group::of_line(line, &SlurmFiles::default(), machine) {
        Err(CheckError::Line(LineError::NotSaid(why))) => return Ok((PlacementVerdict::Unknown, why)),
        nodes => worst_node(machine, nodes?),
    };
    let is_open = settle(machine, &mut group).is_some();
    let (_, judgement) = judged(machine, &group.seen);
    let placed = if is_open { judgement.placed.min(PlacementVerdict::Unknown) } else { judgement.placed };
    Ok((placed, judgement.findings.first().map(|finding| finding.text.clone()).unwrap_or_default()))
}

/// Lines tried, those well placed, and what is wrong with any.
#[derive(Default)]
struct Tried {
    lines: usize,
    well: usize,
    failed: Vec<String>,
}

/// Every line for so many ranks of a machine.
fn tried(name: &str, machine: &Machine, ranks: usize, folder: &Path) -> Result<Tried, Box<dyn Error>> {
    let mut of = Tried::default();
    let Ok(places) = recommend(machine.judged_by(), &Ask { ranks: Some(ranks), ..Ask::default() }) else {
        return Ok(of);
    };

    for line in lines(machine, &places, folder)? {
        of.lines += 1;
        match verdict(machine, &line) {
            Ok((PlacementVerdict::Misplaced, why)) => {
                of.failed.push(format!("{name} -n {ranks}: {why}: {line:.160}"))
            }
            Ok((PlacementVerdict::Well, _)) => of.well += 1,
            Ok((PlacementVerdict::Unknown, _)) => {}
            Err(error) => of.failed.push(format!("{name} -n {ranks}: {error}: {line:.160}")),
        }
    }
    Ok(of)
}

#[test]
#[allow(clippy::print_stderr, reason = "the long form takes an hour of a core: it says how far it is")]
fn no_line_that_place_prints_is_judged_wrong_on_any_machine_for_up_to_three_ranks_a_pu() -> Outcome {
    // A file that no hwloc 2 reads has no places.
    let machines: Vec<(String, Machine)> = files()?
        .into_iter()
        .filter_map(|file| {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Some((name, Machine::of_line(std::slice::from_ref(&file)).ok()?))
        })
        .collect();

    let jobs: Vec<(&(String, Machine), usize)> =
        machines.iter().flat_map(|of| numbers(&of.1).into_iter().map(move |ranks| (of, ranks))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Tried, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut sum = Tried::default();
        while let Some(((name, machine), ranks)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let of = tried(name, machine, *ranks, folder.path())
                .map_err(|error| format!("{name} -n {ranks}: {error}"))?;
            of.failed.iter().for_each(|failure| eprintln!("{failure}"));
            sum.lines += of.lines;
            sum.well += of.well;
            sum.failed.extend(of.failed);
        }
        Ok(sum)
    };

    let threads = std::thread::available_parallelism()?.get();
    let ended: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().map(|thread| thread.join()).collect()
    });
    let mut sum = Tried::default();

    for of in ended {
        let of = of.map_err(|_| "a thread panicked")??;
        sum.lines += of.lines;
        sum.well += of.well;
        sum.failed.extend(of.failed);
    }

    let shown = sum.failed.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(sum.failed.is_empty(), "{} of {} lines\n{shown}", sum.failed.len(), sum.lines);

    // Most lines of the long form are places of OpenMP, a line a rank, which alone say nothing of the GPUs.
    let enough = if is_every_count() { 1000 } else { sum.lines / 10 };
    assert!(sum.lines > 1000 && sum.well > enough, "{} lines, {} of them well placed", sum.lines, sum.well);
    eprintln!(
        "{} lines of {} plans of {} machines, {} well placed",
        sum.lines,
        jobs.len(),
        machines.len(),
        sum.well
    );
    Ok(())
}

/// A script that check could not follow would be judged as nothing is known of it, and never as wrong.
#[test]
fn the_wrapper_is_judged_as_the_lines_of_numactl_are_under_each_launcher() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (mut well, mut failed) = (0, Vec::new());

    for file in files()? {
        let Ok(machine) = Machine::of_line(std::slice::from_ref(&file)) else { continue };
        let topology = machine.judged_by();
        for ranks in [1, topology.gpus.len()] {
            let ask = Ask { ranks: Some(ranks), ..Ask::default() };
            let Ok(places) = recommend(topology, &ask) else { continue };
            let text = |dialect| {
                let saying = say(topology, &places, dialect, &Situation::default());
                saying.cannot.is_none().then(|| saying.text.replace("PROGRAM", "./app"))
            };
            let both = text(Dialect::Numactl).zip(text(Dialect::Wrapper));
            let Some((numactl, script)) = both else { continue };
            let Ok((wanted, _)) = verdict(&machine, &numactl) else { continue };
            for line in wrapped(&script, ranks, folder.path())? {
                match verdict(&machine, &line) {
                    // torchrun's are known where another launcher's ranks choose among all GPUs.
                    Ok((placed, _)) if placed <= wanted => {
                        well += usize::from(placed == PlacementVerdict::Well)
                    }
                    said => failed.push(format!("{} {wanted:?}: {said:?}: {line}", file.display())),
                }
            }
        }
    }

    assert!(failed.is_empty(), "{} lines\n{}", failed.len(), failed.join("\n"));
    assert!(well >= 100, "{well} lines are well placed");
    Ok(())
}

/// The line with what the fix says in its place: srun's option for its own, else the whole line.
fn mended(line: &str, fix: &str) -> String {
    let Some(option) = fix.strip_prefix("srun --cpu-bind=") else {
        let order = if line.starts_with("CUDA_DEVICE_ORDER=PCI_BUS_ID ") {
            "CUDA_DEVICE_ORDER=PCI_BUS_ID "
        } else {
            ""
        };
        return order.to_owned() + &fix.replace("PROGRAM", "./app");
    };
    let words = line.split(' ').map(|word| match word.strip_prefix("--cpu-bind=") {
        Some(_) => format!("--cpu-bind={option}"),
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Lines that put each rank as far from its GPU as the machine allows.
fn worst_lines(topology: &Topology, places: &NodePlaces) -> Vec<String> {
    let ranks = places.places.len();
    let amd = topology.gpus.iter().all(|gpu| gpu.vendor_id == topo::gpu_class::AMD);
    let variable = if amd { "ROCR_VISIBLE_DEVICES" } else { "CUDA_VISIBLE_DEVICES" };
    let masks = say(topology, places, Dialect::SrunMaskCpu, &Situation::default()).text;
    let lists: Vec<String> = places.places.iter().map(|place| place.pus.to_string()).collect();

    vec![
        format!(
            "srun -N1 -n{ranks} --gpu-bind=none {masks} bash -c 'export CUDA_DEVICE_ORDER=PCI_BUS_ID; export \
             {variable}=$SLURM_LOCALID; exec ./app'"
        ),
        format!(
            "flux run -N2 -n{} --exclusive -g1 -o gpu-affinity=per-task -o cpu-affinity=\"map:{}\" ./app",
            2 * ranks,
            lists.join(";")
        ),
        format!(
            "CUDA_DEVICE_ORDER=PCI_BUS_ID mpiexec -n {} --ppn {ranks} --cpu-bind list:{} --gpu-bind list:{} \
             ./app",
            2 * ranks,
            lists.join(":"),
            (0..ranks).map(|gpu| gpu.to_string()).collect::<Vec<_>>().join(":")
        ),
    ]
}

#[test]
fn every_fix_that_is_printed_judged_again_is_well_placed() -> Outcome {
    let mut fixes = 0;
    for file in files()? {
        let Ok(machine) = Machine::of_line(std::slice::from_ref(&file)) else { continue };
        let topology = machine.judged_by();
        let gpus = topology.gpus.len();
        let ask = Ask { ranks: Some(gpus), strategy: Strategy::Worst, ..Ask::default() };
        let vendor = topology.gpus.first().map(|gpu| gpu.vendor_id);
        let are_alike = topology.gpus.iter().all(|gpu| Some(gpu.vendor_id) == vendor);
        let Some(places) = recommend(topology, &ask).ok().filter(|_| gpus > 0 && are_alike) else { continue };
        for line in worst_lines(topology, &places) {
            let group = || Group::of_line(&line, &SlurmFiles::default(), &machine);
            let Ok(nodes) = group() else { continue };
            let group = worst_node(&machine, nodes);
            let node =
                Node::judge(Machine::of_line(std::slice::from_ref(&file))?, group, None, Duration::ZERO);
            for fix in node.fix().iter().filter(|fix| !fix.contains('…')) {
                let of_two_nodes = !line.starts_with("srun");
                assert!(!of_two_nodes || fix.contains(&(2 * gpus).to_string()), "{line}\n{fix}");
                let after = mended(&line, fix);
                let (placed, why) = verdict(&machine, &after)?;
                assert_eq!(placed, PlacementVerdict::Well, "{}: {line}\n{after}: {why}", file.display());
                fixes += 1;
            }
        }
    }

    assert!(fixes >= 20, "{fixes} fixes were tried");
    Ok(())
}
