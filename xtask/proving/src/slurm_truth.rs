//! `cargo xtask slurm-truth`: what a real Slurm does with thousands of srun lines, as the table that tests of
//! `launchers` hold predictions against.
//!
//! Each saved machine is a node of a lab (`tests/lab/slurm.sh`, MACHINE): Slurm lays out, refuses and numbers
//! as on that machine, and its masks are written down instead of made. What Slurm asks of libnuma is this
//! machine's, so lines that bind to NUMA nodes (`ldoms` and its kin) are left out. Lines are drawn from
//! srun's options and their pairs by a fixed seed, so that a second run draws the same ones. A row is
//! machine, site, options and result, with a tab between: each task's CPUs and GPUs (`0-6/0 7-13/1*2`: the
//! second twice), or `refused` and srun's own words. A new version of Slurm gets rows of its own: the first
//! line of the file names the version.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use stats::IdSet;

use crate::step;

/// A saved machine, by its file's name, with what lines are drawn by.
struct Machine {
    name: &'static str,
    cores: usize,
    threads: usize,
    nodes: usize,
    gpus: usize,
}

const MACHINES: [Machine; 7] = [
    Machine { name: "lumi-g", cores: 64, threads: 2, nodes: 4, gpus: 8 },
    Machine { name: "dgx-a100", cores: 128, threads: 2, nodes: 8, gpus: 8 },
    Machine { name: "gh200-quad", cores: 288, threads: 1, nodes: 4, gpus: 4 },
    Machine { name: "hgx-h100", cores: 96, threads: 1, nodes: 2, gpus: 8 },
    Machine { name: "leonardo", cores: 32, threads: 1, nodes: 2, gpus: 4 },
    Machine { name: "pascal", cores: 36, threads: 2, nodes: 2, gpus: 2 },
    Machine { name: "interleaved", cores: 12, threads: 2, nodes: 2, gpus: 0 },
];

/// A way to configure Slurm: its name in the table, lines at the end of slurm.conf, and whether a CPU is a
/// core.
struct Site {
    name: &'static str,
    conf: &'static str,
    cpus_are_cores: bool,
}

const SITES: [Site; 3] = [
    Site { name: "plain", conf: "", cpus_are_cores: false },
    Site { name: "cores", conf: "", cpus_are_cores: true },
    Site { name: "autobind", conf: "TaskPluginParam=autobind=threads", cpus_are_cores: false },
];

/// Lines of one machine and site.
const DRAWN: usize = 150;

/// Lines with more tasks than this are left out of the table.
const MOST_TASKS: usize = 64;

/// What each task says: its number on its node, its GPUs, and the mask that Slurm would bind it to.
const TASK: &str = r#"read -r mask 2>/dev/null <"$BOUND/$$" || mask=all; echo "= $SLURM_LOCALID ${CUDA_VISIBLE_DEVICES-unset} $mask""#;

/// Runs the command.
///
/// # Errors
/// A lab does not start, or a line says what is not understood.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let only = args.first().map(String::as_str);
    // srun says its version only where it finds a configuration. Debian has slurmd in sbin.
    let version = step::told(Command::new("sh").args(["-c", "PATH=$PATH:/usr/sbin:/sbin slurmd -V"]))?;
    if version.is_empty() {
        bail!("slurmd -V does not say its version: install Slurm (packages: slurm-wlm munge)");
    }
    let mut table = format!(
        "# What {version} did with these srun lines (cargo xtask slurm-truth): machine, site, options, each \
         task's CPUs and GPUs.\n\
         # Each ran in an allocation of the whole node with all of its GPUs. No GPU is `-`.\n"
    );
    for machine in MACHINES.iter().filter(|machine| only.is_none_or(|only| only == machine.name)) {
        for site in SITES.iter().filter(|site| !site.cpus_are_cores || machine.threads > 1) {
            let lines = lines(machine, site);
            eprintln!("{} {}: {} lines", machine.name, site.name, lines.len());
            let results = started(root, machine, site, &lines)?;
            for (line, result) in lines
                .iter()
                .zip(results)
                .filter_map(|(line, result)| Some((line, result?)))
                .filter(|(line, _)| !line.contains("ldom"))
            {
                writeln!(table, "{}\t{}\t{line}\t{result}", machine.name, site.name)?;
            }
        }
    }
    let path = root.join("crates/launchers/tests/truth/slurm.tsv");
    std::fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))
}

/// Numbers that look random and are the same in every run (Knuth's MMIX constants).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn one<'w>(&mut self, of: &[&'w str]) -> &'w str {
        of[self.below(of.len())]
    }

    /// An option most lines leave out.
    fn rarely<'w>(&mut self, of: &[&'w str]) -> &'w str {
        if self.below(4) == 0 { self.one(of) } else { "" }
    }
}

/// The options of the lines, without one that stands there twice.
fn lines(machine: &Machine, site: &Site) -> Vec<String> {
    let mut draw = Draw(
        machine
            .name
            .bytes()
            .chain(site.name.bytes())
            .fold(64_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte))),
    );
    let mut all = BTreeSet::new();
    while all.len() < DRAWN {
        let words = [
            tasks(machine, &mut draw),
            cpu_bind(machine, &mut draw),
            draw.rarely(&[
                "-m block:block",
                "-m block:cyclic",
                "-m cyclic:fcyclic",
                "-m *:block",
                "-m *:fcyclic",
            ])
            .to_owned(),
            draw.rarely(&[
                "--hint=nomultithread",
                "--hint=multithread",
                "--hint=compute_bound",
                "--hint=memory_bound",
            ])
            .to_owned(),
            draw.rarely(&["--threads-per-core=1", "--threads-per-core=2", "--ntasks-per-core=1"]).to_owned(),
            draw.rarely(&["--exact", "--exclusive", "--overlap", "--whole", "--ntasks-per-socket=2"])
                .to_owned(),
            gpus(machine, &mut draw),
        ];
        all.insert(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    }
    all.into_iter().collect()
}

/// `-n` and `-c`.
fn tasks(machine: &Machine, draw: &mut Draw) -> String {
    let tasks = [1, 2, 3, 4, machine.gpus.max(2), machine.nodes, machine.cores / 4, machine.cores];
    let tasks = tasks[draw.below(tasks.len())];
    let even = machine.cores * machine.threads / tasks;
    let cpus = [0, 0, 1, 2, 3, 5, machine.cores / tasks, even];
    match cpus[draw.below(cpus.len())] {
        0 => format!("-n{tasks}"),
        cpus => format!("-n{tasks} -c{cpus}"),
    }
}

/// `--cpu-bind`.
fn cpu_bind(machine: &Machine, draw: &mut Draw) -> String {
    let mut pick = |end: usize| draw.below(end);
    let three =
        |mut number: Box<dyn FnMut() -> String + '_>| (0..3).map(|_| number()).collect::<Vec<_>>().join(",");
    let value = match pick(14) {
        0 | 1 => return String::new(),
        2 | 3 => "cores".to_owned(),
        4 | 5 => "threads".to_owned(),
        6 => "sockets".to_owned(),
        7 => "ldoms".to_owned(),
        8 => "none".to_owned(),
        9 => "rank".to_owned(),
        10 => "rank_ldom".to_owned(),
        11 => format!("map_cpu:{}", three(Box::new(|| pick(machine.cores * machine.threads).to_string()))),
        12 => {
            format!("mask_cpu:{}", three(Box::new(|| format!("{:#x}", 3_u64 << pick(machine.cores.min(60))))))
        }
        _ => format!("map_ldom:{}", three(Box::new(|| pick(machine.nodes).to_string()))),
    };
    format!("--cpu-bind={value}")
}

/// What asks for GPUs and binds them.
fn gpus(machine: &Machine, draw: &mut Draw) -> String {
    if machine.gpus == 0 || draw.below(2) == 0 {
        return String::new();
    }
    let all = format!("--gpus-per-node={}", machine.gpus);
    let count =
        draw.one(&["", "-G1", "-G2", "--gpus-per-node=1", "--gpus-per-node=2", &all, &all]).to_owned();
    let bind = draw.one(&[
        "",
        "--gpu-bind=closest",
        "--gpu-bind=single:1",
        "--gpu-bind=single:2",
        "--gpu-bind=per_task:1",
        "--gpu-bind=map_gpu:1,0",
        "--gpu-bind=mask_gpu:0x2,0x1",
        "--gpu-bind=none",
        "--gpu-bind=map:1,0",
        "--gpus-per-task=1",
        "--gpus-per-task=2",
        "--ntasks-per-gpu=1",
        "--ntasks-per-gpu=2",
    ]);
    [count, bind.to_owned()].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What Slurm did with each line; `None` for one that is left out.
fn started(root: &Path, machine: &Machine, site: &Site, lines: &[String]) -> Result<Vec<Option<String>>> {
    let folder = std::env::temp_dir().join(format!("slurm-truth-{}", std::process::id()));
    let lab = |verb: &str| -> Command {
        let mut lab = Command::new("bash");
        lab.arg(root.join("tests/lab/slurm.sh")).arg(verb).arg(&folder);
        lab
    };
    let mut up = lab("up");
    up.env("MACHINE", root.join(format!("crates/topo/tests/fixtures/{}.xml", machine.name)));
    up.env("NODES", "1").env("GPUS", machine.gpus.to_string()).env("CONF", site.conf);
    if machine.gpus > 0 {
        up.env("GRES", root.join(format!("crates/launchers/tests/truth/{}.gres.conf", machine.name)));
    }
    if site.cpus_are_cores {
        up.env("CPUS_ARE_CORES", "1");
    }
    step::run(&mut up)?;
    let script: String = lines
        .iter()
        .map(|line| format!("echo '@'; timeout 20 srun -N1 {line} sh -c \"$TASK\" 2>&1\n"))
        .collect();
    std::fs::write(folder.join("lines.sh"), script)?;
    let gpus =
        if machine.gpus > 0 { format!("--gpus-per-node={}", machine.gpus) } else { "--gpus=0".to_owned() };
    let start =
        format!(". {0}/env.sh; exec salloc -Q -N1 --exclusive {gpus} bash {0}/lines.sh", folder.display());
    let output = Command::new("bash")
        .args(["-f", "-c", &start])
        .env("TASK", TASK)
        .env("BOUND", folder.join("bound"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    step::run(&mut lab("down"))?;
    std::fs::remove_dir_all(&folder)?;
    let text = String::from_utf8(output.stdout)?;
    let results: Vec<Option<String>> = text.split("@\n").skip(1).map(result).collect::<Result<_>>()?;
    if results.len() != lines.len() {
        bail!("{} results of {} lines", results.len(), lines.len());
    }
    Ok(results)
}

/// A line's tasks in order, or why it was refused; `None` where the step before had not ended, and for more
/// tasks than say anything new.
fn result(text: &str) -> Result<Option<String>> {
    let mut tasks: Vec<(usize, String)> = Vec::new();
    for task in text.lines().filter_map(|line| line.strip_prefix("= ")) {
        let [rank, gpus, mask] = task.split(' ').collect::<Vec<_>>()[..] else { bail!("not a task: {task}") };
        let gpus = if gpus.is_empty() { "-" } else { gpus };
        tasks.push((rank.parse()?, format!("{}/{gpus}", cpus(mask)?)));
    }
    tasks.sort();
    if tasks.is_empty() {
        let why = text
            .lines()
            .find_map(|line| line.split_once("error: "))
            .map_or("it started nothing", |(_, why)| why);
        let why = why.split(", allocated CPUs").next().unwrap_or(why);
        return Ok((!why.contains("already completing")).then(|| format!("refused: {why}")));
    }
    let mut folded: Vec<(String, usize)> = Vec::new();
    for (_, task) in tasks {
        match folded.last_mut().filter(|(last, _)| *last == task) {
            Some((_, times)) => *times += 1,
            None => folded.push((task, 1)),
        }
    }
    let count: usize = folded.iter().map(|(_, times)| times).sum();
    let written = |(task, times): (String, usize)| if times == 1 { task } else { format!("{task}*{times}") };
    Ok((count <= MOST_TASKS).then(|| folded.into_iter().map(written).collect::<Vec<_>>().join(" ")))
}

/// The CPUs of a hexadecimal mask.
fn cpus(mask: &str) -> Result<String> {
    if mask == "all" {
        return Ok(mask.to_owned());
    }
    let mut set = IdSet::default();
    for (at, digit) in (0_u32..).zip(mask.chars().rev()) {
        let digit = digit.to_digit(16).with_context(|| format!("not a mask: {mask}"))?;
        set.0.extend((0..4).filter(|bit| digit >> bit & 1 == 1).map(|bit| at * 4 + bit));
    }
    Ok(set.to_string())
}
