//! The lines that `place` prints and those of the pages, each started by the launcher that it is for.
//!
//! Where this machine has the CPUs, tasks say what they are bound to: what `place` prints for this machine
//! itself. A line for another machine is started by a real Slurm on a forged node of that machine (`lab.sh`,
//! MACHINE), where Slurm lays out, accepts and refuses as it would there and writes its masks down instead of
//! making them. Each test says at its end which lines were which. `jobs` runs the scripts of `jobs/`, on this
//! machine's own CPUs.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Lab;
use crate::run::{BINARY, Done, skipped};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn saved(machine: &str) -> String {
    root().join(format!("crates/topo/tests/fixtures/{machine}.xml")).display().to_string()
}

/// The masks of a line's tasks in order of their numbers; or what its launcher says against it.
type Bound = Result<Vec<String>, String>;

/// A lab of one node, and the program of its lines: it says the task's number on its node and what it is
/// bound to.
struct Node {
    lab: Lab,
    gpus: usize,
    task: PathBuf,
}

impl Node {
    /// A forged node of a saved machine; `None` where there is no Slurm here, which has been said.
    fn forged(machine: &str, gpus: usize) -> Result<Option<Self>, Box<dyn Error>> {
        let settings = [("NODES", "1"), ("MACHINE", &saved(machine)), ("GPUS", &gpus.to_string())];
        let Some(lab) = Lab::with(&settings)? else { return Ok(None) };
        let bound = lab.folder().join("bound").display().to_string();
        Self::of(lab, gpus, &format!("mask=none; read -r mask <{bound}/$$; echo \"= $SLURM_LOCALID $mask\""))
    }

    /// This machine.
    fn real() -> Result<Option<Self>, Box<dyn Error>> {
        let Some(lab) = Lab::with(&[("NODES", "1"), ("GPUS", "0")])? else { return Ok(None) };
        let rank = "${OMPI_COMM_WORLD_LOCAL_RANK-${MPI_LOCALRANKID-$SLURM_LOCALID}}";
        Self::of(lab, 0, &format!("echo \"= {rank} $(taskset -p $$ | sed 's/.*: //')\""))
    }

    fn of(lab: Lab, gpus: usize, says: &str) -> Result<Option<Self>, Box<dyn Error>> {
        let task = lab.results().join("task.sh");
        fs::write(&task, format!("{says}\n"))?;
        Ok(Some(Self { lab, gpus, task }))
    }

    /// What the tasks of each line are bound to, in order of their numbers, in one job that has the whole
    /// node; or what its launcher says against it. `PROGRAM` in a line stands for the task.
    fn started(&self, lines: &[String]) -> Result<Vec<Bound>, Box<dyn Error>> {
        let task = format!("sh {}", self.task.display());
        let script: String = lines
            .iter()
            .map(|line| format!("echo '@'; ( {} ) 2>&1 || echo \"! $?\"\n", line.replace("PROGRAM", &task)))
            .collect();
        let path = self.lab.results().join("lines.sh");
        fs::write(&path, script)?;

        let mut job = self.lab.command("salloc");
        job.args(["--quiet", "-N1", "--exclusive", "--time=5"]);
        if self.gpus > 0 {
            job.arg(format!("--gpus-per-node={}", self.gpus));
        }
        let own = Path::new(BINARY).parent().ok_or("no folder")?.display().to_string();
        let path_with_own = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
        let ended = job.arg("bash").arg(&path).env("PATH", path_with_own).output()?;
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        let all: Vec<Bound> = text.split("@\n").skip(1).map(tasks).collect();
        match all.len() == lines.len() {
            true => Ok(all),
            false => Err(format!(
                "{} of {} lines\n{text}\n{}",
                all.len(),
                lines.len(),
                String::from_utf8_lossy(&ended.stderr)
            )
            .into()),
        }
    }
}

/// The masks of a line's tasks; its whole output where it failed or started none.
fn tasks(text: &str) -> Bound {
    let task = |line: &str| {
        let (rank, mask) = line.strip_prefix("= ")?.split_once(' ')?;
        Some((rank.parse::<usize>().ok()?, mask.trim_start_matches('0').to_owned()))
    };
    let mut tasks: Vec<(usize, String)> = text.lines().filter_map(task).collect();
    tasks.sort();
    match tasks.is_empty() || text.lines().any(|line| line.starts_with("! ")) {
        true => Err(text.to_owned()),
        false => Ok(tasks.into_iter().map(|(_, mask)| mask).collect()),
    }
}

/// What `place` prints.
fn placed(options: &[&str]) -> Result<String, Box<dyn Error>> {
    let ended = Command::new(BINARY).arg("place").args(options).output()?;
    match ended.status.success() {
        true => Ok(String::from_utf8(ended.stdout)?.trim().to_owned()),
        false => Err(format!("place {options:?}: {}", String::from_utf8_lossy(&ended.stderr)).into()),
    }
}

/// The line that starts ranks by a launcher.
fn line_of(launcher: &str, options: &[&str]) -> Result<String, Box<dyn Error>> {
    let text = placed(&[options, &["--launcher", launcher]].concat())?;
    let is_line = |line: &&str| line.contains("PROGRAM") && !line.starts_with('#');
    Ok(text.lines().map(str::trim).find(is_line).ok_or_else(|| format!("no line: {text}"))?.to_owned())
}

/// The masks that a line of srun names, in hexadecimal without 0x.
fn named(line: &str) -> Vec<String> {
    let list = |kind: &str| {
        line.split_once(kind).map(|(_, list)| list.split([' ', '\n']).next().unwrap_or_default())
    };
    let mask = |pu: &str| pu.parse().map_or_else(|_| pu.to_owned(), |pu: u32| format!("{:x}", 1_u128 << pu));
    match (list("mask_cpu:"), list("map_cpu:")) {
        (Some(masks), _) => masks.split(',').map(|mask| mask.trim_start_matches("0x").to_owned()).collect(),
        (None, Some(pus)) => pus.split(',').map(mask).collect(),
        (None, None) => Vec::new(),
    }
}

#[allow(
    clippy::print_stderr,
    reason = "a forged node binds nothing: which lines were started on one is to be known"
)]
fn report(how: &str, lines: &[String]) {
    eprintln!("{} lines {how}:", lines.len());
    lines.iter().for_each(|line| eprintln!("  {line:.200}"));
}

#[test]
fn every_srun_line_that_place_prints_is_accepted_and_binds_each_task_as_it_says_on_a_forged_node() -> Done {
    for (machine, gpus) in [("lumi-g-low-noise", 8), ("lumi-g", 8), ("leonardo", 4)] {
        let Some(forged) = Node::forged(machine, gpus)? else { return Ok(()) };
        let input = saved(machine);
        let mut lines = Vec::new();
        for ranks in [1, gpus, 2 * gpus] {
            let count = ranks.to_string();
            let options = ["--input", input.as_str(), "-n", &count];
            lines.push(line_of("srun", &options)?);
            for dialect in ["srun", "srun-map", "gpu-bind"] {
                let words = placed(&[&options[..], &["--quiet", "--emit", dialect]].concat())?;
                // Its remark: Slurm 22.05 knows only map_gpu.
                lines.push(format!(
                    "srun -N1 -n{ranks} {} PROGRAM",
                    words.replace("--gpu-bind=map:", "--gpu-bind=map_gpu:")
                ));
            }
        }
        for (line, bound) in lines.iter().zip(forged.started(&lines)?) {
            assert_eq!(bound, Ok(named(line)), "{machine}: {line}");
        }
        report(&format!("accepted by a forged {machine}, which binds nothing"), &lines);
    }
    Ok(())
}

#[test]
fn every_line_that_place_prints_for_this_machine_binds_its_ranks_as_it_says() -> Done {
    let Some(node) = Node::real()? else { return Ok(()) };
    let (mut lines, mut wanted) = (Vec::new(), Vec::new());
    for ranks in ["1", "2"] {
        let options = ["--gpus", "none", "-n", ranks];
        let of_srun = line_of("srun", &options)?;
        // srun takes a map of one PU a rank as a mask too; the places are those of the plan for every
        // launcher.
        let places = named(&of_srun);
        if places.len().to_string() != ranks {
            skipped(&format!("{ranks} ranks: place has no masks for them here: {of_srun}"));
            continue;
        }
        for (launcher, program) in
            [("srun", "srun"), ("mpirun", "mpirun.openmpi"), ("mpiexec", "mpiexec.hydra")]
        {
            if Command::new(program).arg("--version").output().is_err() {
                skipped(&format!("place's line for {launcher}: {program} is not installed"));
                continue;
            }
            lines.push(line_of(launcher, &options)?.replacen(launcher, program, 1));
            wanted.push(places.clone());
        }
    }
    for ((line, wanted), bound) in lines.iter().zip(wanted).zip(node.started(&lines)?) {
        assert_eq!(bound, Ok(wanted), "{line}");
    }
    report("seen to bind on this machine", &lines);
    Ok(())
}

/// The pages that have lines of launchers.
fn pages() -> Result<Vec<String>, Box<dyn Error>> {
    let mut pages = vec![root().join("README.md")];
    for entry in fs::read_dir(root().join("docs"))? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    Ok(pages.iter().map(fs::read_to_string).collect::<Result<_, _>>()?)
}

/// The lines of a page's code blocks that begin with the launcher and leave nothing out.
fn lines_of(launcher: &str, page: &str) -> Vec<String> {
    let mut is_inside = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = !is_inside;
            continue;
        }
        let line = line.trim_start_matches("$ ").split("  #").next().unwrap_or_default();
        let line = line.split(" # ").next().unwrap_or_default().trim();
        let has_gap = line.contains(['…', '{', '$', '[']) || line.contains("...");
        if is_inside && !has_gap && line.split(' ').next() == Some(launcher) {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The line with the task in its program's place, on the one node that there is and without an MPI.
fn for_one_node(line: &str) -> Option<String> {
    let (options, _) = line.split_once(" numabench ").or_else(|| line.split_once(" ./app"))?;
    let words = options.split(' ').filter(|word| !word.starts_with("--mpi=")).collect::<Vec<_>>();
    let is_of_hosts = |at: usize| words[at] == "--host" || at > 0 && words[at - 1] == "--host";
    let kept = (0..words.len()).filter(|at| !is_of_hosts(*at)).map(|at| words[at]);
    let kept: Vec<&str> = kept.map(|word| if word.starts_with("-N") { "-N1" } else { word }).collect();
    Some(format!("{} PROGRAM", kept.join(" ")))
}

/// The lines of all pages for a launcher, each once.
fn lines_of_pages(launcher: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let all = pages()?.iter().flat_map(|page| lines_of(launcher, page)).collect::<BTreeSet<String>>();
    Ok(all.iter().filter_map(|line| for_one_node(line)).collect::<BTreeSet<String>>().into_iter().collect())
}

#[test]
fn every_srun_line_of_the_readme_and_the_pages_is_accepted_by_a_forged_node() -> Done {
    let Some(forged) = Node::forged("lumi-g", 8)? else { return Ok(()) };
    let lines = lines_of_pages("srun")?;
    assert!(lines.len() >= 7, "{lines:?}");
    for (line, bound) in lines.iter().zip(forged.started(&lines)?) {
        assert!(bound.is_ok(), "{line}: {bound:?}");
    }
    report("of the pages accepted by a forged lumi-g, which binds nothing", &lines);
    Ok(())
}

#[test]
fn every_mpirun_line_of_the_readme_and_the_pages_is_started_by_open_mpi_on_a_forged_node() -> Done {
    if Command::new("mpirun.openmpi").arg("--version").output().is_err() {
        skipped("the pages' lines of mpirun: mpirun.openmpi is not installed");
        return Ok(());
    }
    // What a lab preloads its daemons with writes down what any launcher binds.
    let Some(forged) = Node::forged("lumi-g", 8)? else { return Ok(()) };
    let lines = lines_of_pages("mpirun")?;
    assert!(lines.len() >= 4, "{lines:?}");
    let task = format!("sh {}", forged.task.display());
    for line in &lines {
        let mut start = forged.lab.command("sh");
        start.arg("-c").arg(line.replacen("mpirun", "mpirun.openmpi", 1).replace("PROGRAM", &task));
        start.env("HWLOC_XMLFILE", saved("lumi-g")).env("HWLOC_THISSYSTEM", "1").env("FORGED_CPUS", "128");
        start.env("LD_PRELOAD", forged.lab.folder().join("forged_affinity.so"));
        let ended = start.env("FORGED_AFFINITY", forged.lab.folder().join("bound")).output()?;
        let told =
            String::from_utf8_lossy(&ended.stdout).lines().filter(|line| line.starts_with("= ")).count();
        let wanted =
            line.split_once("-n ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
        assert_eq!(Some(told), wanted, "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    report("of the pages started by Open MPI on a forged lumi-g, which binds nothing", &lines);
    Ok(())
}
