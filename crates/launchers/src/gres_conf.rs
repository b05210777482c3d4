//! Slurm's gres.conf: which cores the site says each GPU is near to, read, and written for one node.
//!
//! gres.conf(5): a line is a record of `Key=Value` words, keys in any case; `#` begins a comment; `File=` and
//! `NodeName=` take Slurm's host lists (`/dev/nvidia[0-3]`, `tux[0-2,7]`); `AutoDetect=` alone counts for all
//! nodes, beside `NodeName=` for those. `Cores=` counts cores as Slurm does: cores and not hardware threads,
//! packages one after another ("Core L#" of lstopo), which is no OS id: [`core_numbers`] and [`pus_of_cores`]
//! change one into the other. slurm.conf is not read: what a line leaves out is `None`.

use std::fmt;
use std::str::FromStr;

use stats::{IdSet, printable};
use topo::Topology;
use topo::model::{Gpu, Rung};

use crate::conf_lines::{conf_lines, included};
use crate::error::LineError;
use crate::host_list;
use crate::objects::{JobMachine, Part};

/// A whole file, or the part of it for one node ([`GresConf::of_node`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GresConf {
    /// `AutoDetect=` for all lines that do not say otherwise.
    pub auto_detect: Option<AutoDetect>,
    /// The records, in order.
    pub lines: Vec<GresLine>,
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GresLine {
    /// The nodes it counts for; `None`: all.
    pub node_names: Option<Vec<String>>,
    /// `AutoDetect=` for these nodes.
    pub auto_detect: Option<AutoDetect>,
    /// What it is a record of (`gpu`, `mps`, …); `None` on a line that only says AutoDetect.
    pub name: Option<String>,
    /// `File=` (or `MultipleFiles=`), one path an entry.
    pub files: Vec<String>,
    /// Whether these files are one device (`MultipleFiles=`, as MIG instances have them).
    pub is_one_device: bool,
    /// `Cores=`, in Slurm's numbers; `None`: any core.
    pub cores: Option<IdSet>,
    /// `Count=`, with its suffix worked out.
    pub count: Option<u64>,
}

/// What finds GPUs by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoDetect {
    /// NVIDIA's management library.
    Nvml,
    /// NVIDIA GPUs without that library (Slurm 24.11).
    Nvidia,
    /// AMD's management library.
    Rsmi,
    /// Intel's oneAPI.
    Oneapi,
    /// AWS Neuron.
    Nrt,
    /// Whatever of these finds a GPU first.
    Full,
    /// Nothing does.
    Off,
}

impl AutoDetect {
    /// Whether slurmd learns from it which cores are near to a GPU: cores that a line names beside it are
    /// only held against that (gres.conf(5), AutoDetect).
    pub fn finds_cores(self) -> bool {
        !matches!(self, Self::Nrt | Self::Off)
    }
}

/// A GPU as Slurm counts them on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresGpu {
    /// Its device file (the first of several), where the line names one.
    pub file: Option<String>,
    /// `Cores=`, in Slurm's numbers; `None`: any core.
    pub cores: Option<IdSet>,
}

/// The text is no gres.conf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GresConfError {
    /// A line that is none.
    #[error("gres.conf line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// Lines differ between nodes and nothing says which of them this is.
    #[error(
        "gres.conf has different GPU lines for different nodes ({nodes}) and none for {host}: keep the lines \
         of one node"
    )]
    Node {
        /// The node.
        host: String,
        /// Whose lines there are.
        nodes: String,
    },
}

/// In the order in which Slurm looks for them in the value.
const WORDS: [(AutoDetect, &str); 7] = [
    (AutoDetect::Full, "full"),
    (AutoDetect::Nvml, "nvml"),
    (AutoDetect::Rsmi, "rsmi"),
    (AutoDetect::Oneapi, "oneapi"),
    (AutoDetect::Nrt, "nrt"),
    (AutoDetect::Nvidia, "nvidia"),
    (AutoDetect::Off, "off"),
];

impl FromStr for GresConf {
    type Err = GresConfError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = printable::lines(text);
        let mut conf = Self::default();
        for (number, words) in conf_lines(&text) {
            let record = record(&words).map_err(|what| GresConfError::Line { line: number, what })?;
            match (&record.name, &record.node_names) {
                (None, None) => conf.auto_detect = record.auto_detect,
                _ => conf.lines.push(record),
            }
        }
        Ok(conf)
    }
}

/// One line's words.
fn record(text: &str) -> Result<GresLine, String> {
    if let Some(file) = included(text) {
        return Err(format!("files that are included are not read: put the lines of {file} in its place"));
    }
    let mut line = GresLine::default();

    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            format!("\"{}\" is not Key=Value: write e.g. Name=gpu File=/dev/nvidia0 Cores=0-15", word)
        })?;
        let value = value.trim_matches('"');
        let names = || host_list::expand(value).map_err(|error| format!("{key}=: {error}"));
        match key.to_ascii_lowercase().as_str() {
            "name" => line.name = Some(value.to_owned()),
            "nodename" => line.node_names = Some(names()?),
            "file" | "files" => line.files = names()?,
            "multiplefiles" => {
                line.files = names()?;
                line.is_one_device = true;
            }
            // Every core is as good as any.
            "cores" | "cpus" if value.eq_ignore_ascii_case("all") => line.cores = None,
            "cores" | "cpus" => {
                let cores: IdSet = value.parse().map_err(|error| format!("{key}=: {error}"))?;
                line.cores = Some(cores).filter(|cores| !cores.is_empty());
            }
            "count" => {
                line.count = Some(amount(value).ok_or_else(|| format!("{key}={} is no number", value))?)
            }
            "autodetect" => {
                let value = value.to_ascii_lowercase();
                let known = WORDS.iter().find(|(one, word)| match one {
                    AutoDetect::Off => value == *word,
                    _ => value.contains(word),
                });
                let words = WORDS.map(|(_, word)| word).join(", ");
                line.auto_detect =
                    Some(known.ok_or_else(|| format!("AutoDetect={} is not one of {words}", value))?.0);
            }
            "type" | "flags" | "link" | "links" => {}
            _ => {
                return Err(format!(
                    "{} is no parameter of gres.conf: Name, Type, File, MultipleFiles, Cores, Count, Flags, \
                     Links, NodeName and AutoDetect are",
                    key
                ));
            }
        }
    }

    match (&line.name, line.auto_detect) {
        (None, None) => Err("it has neither Name= nor AutoDetect=".to_owned()),
        _ => Ok(line),
    }
}

/// `4`, `10G`: powers of 1024.
fn amount(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => 0,
        suffix => 1 + "KMGTP".find(suffix.to_ascii_uppercase().as_str()).filter(|_| suffix.len() == 1)?,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << (10 * power))
}

impl GresLine {
    fn is_gpu(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("gpu"))
    }
}

impl GresConf {
    /// What counts for one node: the lines that name it and those for all. Where none names it (or its name
    /// is not known) and the lines of all nodes say the same, those.
    ///
    /// # Errors
    /// [`GresConfError::Node`]: nodes differ, and none is this one.
    pub fn of_node(&self, host: Option<&str>) -> Result<Self, GresConfError> {
        let is_here = |names: &[String]| host_list::names(names, host);
        let named = |line: &GresLine| line.node_names.as_deref().is_some_and(is_here);
        let all = || self.lines.iter().filter(|line| line.node_names.is_none());
        if self.lines.iter().any(named) || self.lines.iter().all(|line| line.node_names.is_none()) {
            return Ok(self.with(self.lines.iter().filter(|line| line.node_names.is_none() || named(line))));
        }
        let mut groups: Vec<(&[String], Vec<&GresLine>)> = Vec::new();

        for line in &self.lines {
            let Some(names) = line.node_names.as_deref() else { continue };
            match groups.iter_mut().find(|(others, _)| *others == names) {
                Some((_, lines)) => lines.push(line),
                None => groups.push((names, vec![line])),
            }
        }

        let mut parts = groups.iter().map(|(_, lines)| self.with(all().chain(lines.iter().copied())));
        let first = parts.next().unwrap_or_default();
        if parts.all(|other| other == first) {
            return Ok(first);
        }
        let nodes: Vec<String> = groups.iter().map(|(names, _)| host_list::fold(names)).collect();
        let host = host.map_or_else(|| "this node, whose name is not known".to_owned(), printable::name);
        Err(GresConfError::Node { host, nodes: nodes.join("; ") })
    }

    /// A file of one node with these lines.
    fn with<'l>(&self, lines: impl Iterator<Item = &'l GresLine>) -> Self {
        let mut auto_detect = self.auto_detect;
        let mut kept = Vec::new();
        for line in lines {
            auto_detect = line.auto_detect.or(auto_detect);
            if line.name.is_some() {
                kept.push(GresLine { node_names: None, auto_detect: None, ..line.clone() });
            }
        }
        Self { auto_detect, lines: kept }
    }

    /// The GPUs, in the order in which Slurm numbers them where nothing is detected: that of the lines and of
    /// their files.
    pub fn gpus(&self) -> Vec<GresGpu> {
        let mut all = Vec::new();
        for line in self.lines.iter().filter(|line| line.is_gpu()) {
            let one = |file: Option<&String>| GresGpu { file: file.cloned(), cores: line.cores.clone() };
            match line.files.as_slice() {
                [] => {
                    let count = usize::try_from(line.count.unwrap_or(1)).unwrap_or(MOST_GPUS).min(MOST_GPUS);
                    all.extend(std::iter::repeat_with(|| one(None)).take(count));
                }
                [first, ..] if line.is_one_device => all.push(one(Some(first))),
                files => all.extend(files.iter().map(|file| one(Some(file)))),
            }
        }

        all
    }
}

/// The number of the first render node that Linux gives out.
pub(crate) const FIRST_RENDER_NODE: u32 = 128;
/// Slurm's own limit on devices of a node (gres.conf(5), File).
const MOST_GPUS: usize = 1024;

impl fmt::Display for AutoDetect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(one, _)| one == self).map_or("off", |(_, word)| word);
        f.write_str(word)
    }
}

/// The lines of a node's GPUs: their files and cores.
impl fmt::Display for GresConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.iter().filter(|line| line.is_gpu()) {
            let cores = line.cores.as_ref().map_or(String::new(), |cores| format!(" Cores={cores}"));
            writeln!(f, "Name=gpu File={}{cores}", host_list::fold(&line.files))?;
        }
        Ok(())
    }
}

/// The PUs near to a GPU, whoever may use them; `None` where nobody says.
pub fn near_pus(gpu: &Gpu) -> Option<IdSet> {
    let pus = gpu.locality.all_pus();
    (gpu.locality.rung != Rung::Unknown && !pus.is_empty()).then_some(pus)
}

/// The cores of these PUs in Slurm's numbers, for `Cores=`: a core counts where one of its PUs does.
pub fn core_numbers(topology: &Topology, pus: &IdSet) -> IdSet {
    let cores = JobMachine::online(topology).parts(Part::Core);
    (0..).zip(&cores).filter(|(_, core)| !core.and(pus).is_empty()).map(|(number, _)| number).collect()
}

/// The PUs of cores in Slurm's numbers; numbers that this machine does not have are `Err`.
///
/// # Errors
/// The numbers beyond the last core.
pub fn pus_of_cores(topology: &Topology, numbers: &IdSet) -> Result<IdSet, IdSet> {
    pus_among(&JobMachine::online(topology).parts(Part::Core), numbers)
}

/// The PUs of the cores of these numbers.
fn pus_among(cores: &[IdSet], numbers: &IdSet) -> Result<IdSet, IdSet> {
    let core = |number: u32| cores.get(number as usize);
    let beyond: IdSet = numbers.iter().filter(|number| core(*number).is_none()).collect();
    if !beyond.is_empty() {
        return Err(beyond);
    }
    Ok(IdSet::of_all(numbers.iter().filter_map(core)))
}

/// The GPUs of a node as its gres.conf has them, for what srun makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeGpus {
    /// The topology's indices in the order of Slurm's numbers.
    pub order: Vec<usize>,
    /// The PUs near to each GPU, by the topology's indices; `None` where no line names cores.
    pub near: Option<Vec<IdSet>>,
}

impl GresConf {
    /// What this file says of the GPUs of a machine. A device file's number is taken for the GPU's place in
    /// PCI order.
    ///
    /// # Errors
    /// [`LineError::Wrong`]: it has other GPUs, or cores that the machine does not have.
    pub(crate) fn of_machine(&self, topology: &Topology) -> Result<NodeGpus, LineError> {
        let own = self
            .of_node(topology.hostname.as_deref())
            .map_err(|error| LineError::Wrong(error.to_string()))?;
        let (gpus, count) = (own.gpus(), topology.gpus.len());
        let detects = own.auto_detect.is_some_and(AutoDetect::finds_cores);
        let every = JobMachine::online(topology).pus;
        // What is not known to be near is near to all, for Slurm.
        let detected = |gpu: &Gpu| near_pus(gpu).unwrap_or_else(|| every.clone());
        let mut near: Vec<IdSet> =
            topology.gpus.iter().map(|gpu| if detects { detected(gpu) } else { every.clone() }).collect();

        if gpus.is_empty() {
            return Ok(NodeGpus { order: (0..count).collect(), near: detects.then_some(near) });
        }

        if gpus.len() != count {
            let what = format!(
                "gres.conf has {} GPUs for this node, and the machine that is judged by has {count}",
                gpus.len()
            );
            return Err(LineError::Wrong(what));
        }

        let numbers: Option<Vec<usize>> = gpus.iter().map(|gpu| file_number(gpu.file.as_deref()?)).collect();
        let in_order = |order: &Vec<usize>| {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            sorted.iter().copied().eq(0..count)
        };
        let order = numbers.filter(in_order).unwrap_or_else(|| (0..count).collect());
        let of_machine = JobMachine::online(topology).parts(Part::Core);

        for (gpu, index) in gpus.iter().zip(&order) {
            let Some(cores) = &gpu.cores else { continue };
            near[*index] = pus_among(&of_machine, cores).map_err(|beyond| {
                let cores = topology.cores.len();
                LineError::Wrong(format!(
                    "gres.conf names Cores={beyond}, and the machine that is judged by has {cores} cores"
                ))
            })?;
        }

        let is_near = detects || gpus.iter().any(|gpu| gpu.cores.is_some());
        Ok(NodeGpus { order, near: is_near.then_some(near) })
    }
}

/// `/dev/nvidia3` is 3, and `/dev/dri/renderD131` too.
pub fn file_number(path: &str) -> Option<usize> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let number: usize = name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    if name.starts_with("renderD") { number.checked_sub(FIRST_RENDER_NODE as usize) } else { Some(number) }
}

#[cfg(test)]
mod tests;
