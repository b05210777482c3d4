//! mpirun's and mpiexec's options: how many ranks, and where. One table for Open MPI 4 and 5, Hydra (MPICH, Intel MPI) and PALS, whose
//! commands have the same names: what is an option of one of them is read as that one reads it.

use ranks::Launcher;
use topo::model::NodeKind;

use super::grammar::{Given, Grammar, Style};
use super::rank::Gpus;
use super::value::{count, ids, number, wrong};
use super::{LineError, Said};

const MPIRUN: Grammar = Grammar {
    tool: "mpirun",
    style: Style::Words,
    letters: "n:c:N:H:x:f:qvVhdsl",
    nothing: NOTHING,
    value: VALUE,
    maybe: &[],
    two: TWO,
    is_open: true,
};

/// PALS' `-d` is a depth.
const MPIEXEC: Grammar = Grammar { tool: "mpiexec", letters: "n:c:N:H:x:f:d:qvVhsl", ..MPIRUN };

const NOTHING: &[&str] = &[
    "allow-run-as-root",
    "bind-to-core",
    "bind-to-socket",
    "bycore",
    "bynode",
    "byslot",
    "continuous",
    "daemonize",
    "debug",
    "debug-daemons",
    "debug-daemons-file",
    "debug-devel",
    "disable-auto-cleanup",
    "disable-hostname-propagation",
    "disable-recovery",
    "disable-x",
    "display-allocation",
    "display-devel-allocation",
    "display-devel-map",
    "display-diffable-map",
    "display-map",
    "display-topo",
    "do-not-launch",
    "do-not-resolve",
    "dvm",
    "enable-instant-on-support",
    "enable-recovery",
    "enable-x",
    "envall",
    "envnone",
    "exclusive",
    "fwd-mpirun-port",
    "genvall",
    "genvnone",
    "get-stack-traces",
    "help",
    "hetero-nodes",
    "index-argv-by-rank",
    "info",
    "label",
    "leave-session-attached",
    "line-buffer",
    "merge-stderr-to-stdout",
    "no-abort-on-failure",
    "no-app-prefix",
    "no-transfer",
    "nolocal",
    "nooversubscribe",
    "noprefix",
    "novm",
    "output-proctable",
    "oversubscribe",
    "parsable",
    "parseable",
    "pernode",
    "pmi-port",
    "preload-binary",
    "prepend-rank",
    "print-all-exitcodes",
    "profile",
    "quiet",
    "report-bindings",
    "report-child-jobs-separately",
    "report-state-on-timeout",
    "rr",
    "set-cwd-to-session-dir",
    "show-progress",
    "skip-launch-node",
    "stop-in-init",
    "stop-on-exec",
    "tag-output",
    "terminate",
    "timestamp-output",
    "transfer",
    "tv",
    "use-hwthread-cpus",
    "use-regexp",
    "verbose",
    "version",
    "xml",
];

const VALUE: &[&str] = &[
    "add-host",
    "add-hostfile",
    "am",
    "app",
    "app-prefix",
    "bind-to",
    "bootstrap",
    "bootstrap-exec",
    "cartofile",
    "cf",
    "configfile",
    "cpu-bind",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "debugger",
    "default-hostfile",
    "demux",
    "depth",
    "display",
    "dvm-uri",
    "envlist",
    "errfile-pattern",
    "exec-agent",
    "file",
    "forward-signals",
    "genvlist",
    "gpu-bind",
    "gpus-per-proc",
    "grr",
    "hnp",
    "host",
    "hostfile",
    "hostlist",
    "hosts",
    "iface",
    "initial-errhandler",
    "keepalive",
    "launch-agent",
    "launcher",
    "launcher-exec",
    "localhost",
    "machine",
    "machinefile",
    "map-by",
    "max-restarts",
    "max-vm-size",
    "mem-bind",
    "membind",
    "nameserver",
    "np",
    "npernode",
    "npersocket",
    "num-connect-retries",
    "ompi-server",
    "order-nodes",
    "outfile-pattern",
    "output",
    "output-filename",
    "path",
    "perhost",
    "personality",
    "pmi",
    "pmix-prefix",
    "ppn",
    "ppr",
    "prefix",
    "preload-files",
    "prepend-pattern",
    "pset",
    "rank-by",
    "rankfile",
    "report-events",
    "report-pid",
    "report-uri",
    "rf",
    "rlimits",
    "rmk",
    "runtime-options",
    "server-wait-time",
    "soft",
    "spawn-timeout",
    "stdin",
    "stream-buffering",
    "timeout",
    "topolib",
    "tune",
    "umask",
    "usize",
    "wd",
    "wdir",
    "with-ft",
    "xml-file",
    "xterm",
];

const TWO: &[&str] = &["env", "genv", "gmca", "gomca", "gpmixmca", "gprtemca", "mca", "omca", "pmixmca", "prtemca"];

impl Said<'_> {
    /// The launcher's options, and what it starts.
    pub(super) fn mpirun<'l>(&mut self, launcher: Launcher, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
        let grammar = if launcher == Launcher::Mpirun { &MPIRUN } else { &MPIEXEC };
        let (given, program) = grammar.read(words)?;
        for one in &given {
            self.mpi_option(one)?;
        }
        Ok(program)
    }

    fn mpi_option(&mut self, one: &Given<'_>) -> Result<(), LineError> {
        let (option, value) = (one.spelled(), one.value());
        match one.name {
            "n" | "np" | "c" => self.count.ranks = Some(count(&option, value)?),
            "N" | "npernode" | "ppn" | "perhost" | "grr" => self.count.of_a_node = Some(count(&option, value)?),
            "pernode" | "rr" => self.count.of_a_node = Some(1),
            "npersocket" => self.per_object(&option, value, &format!("{value}:socket"))?,
            "ppr" => self.per_object(&option, value, value)?,
            "map-by" => match (value.strip_prefix("ppr:"), value.split_once("file=")) {
                (Some(pattern), _) => self.per_object(&option, value, pattern)?,
                (None, Some((kind, file))) if kind.starts_with("rankfile:") => self.rankfile(file)?,
                _ => {}
            },
            "H" | "host" | "hosts" | "hostlist" => self.count.slots = slots(&option, value)?,
            "bind-to" => match value.split_once(':') {
                Some(("user", list)) => {
                    let ranks = list.split(',').map(|rank| ids(&option, &rank.replace('+', ",")));
                    self.pus = Some(ranks.collect::<Result<_, _>>()?);
                }
                _ if value == "none" => self.unbound = true,
                // With a list or a rankfile these only say how.
                _ => self.other_binding = Some(format!("{option} {value}")),
            },
            "bind-to-core" | "bind-to-socket" => self.other_binding = Some(option),
            "cpu-list" | "cpu-set" => {
                let list = ids(&option, value)?;
                self.pus = Some(list.iter().map(|pu| [pu].into_iter().collect()).collect());
            }
            "rankfile" | "rf" => self.rankfile(value)?,
            "cpu-bind" => match value.split_once("list:") {
                Some((_, list)) => {
                    self.pus = Some(list.split(':').map(|rank| ids(&option, rank)).collect::<Result<_, _>>()?);
                }
                None if value == "none" => self.unbound = true,
                None => self.other_binding = Some(format!("{option} {value}")),
            },
            "gpu-bind" => {
                if let Some((_, list)) = value.split_once("list:") {
                    let gpus = |rank: &str| rank.split(',').map(|gpu| number(&option, gpu)).collect();
                    self.gpus = Some(Gpus::Lists(list.split(':').map(gpus).collect::<Result<_, _>>()?));
                }
            }
            "x" | "env" | "genv" => {
                if let Some((name, value)) = value.split_once('=').or(one.second.map(|second| (value, second))) {
                    self.variable(name, value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Open MPI's `8:node`, `4:socket`: so many for each of a node's objects.
    fn per_object(&mut self, option: &str, value: &str, pattern: &str) -> Result<(), LineError> {
        let mut parts = pattern.split(':');
        let each = count(option, parts.next().unwrap_or_default())?;
        let topology = self.topology;
        let nodes = topology.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly));
        let objects = match parts.next() {
            Some("node") => 1,
            Some("socket" | "package") => topology.packages.len(),
            Some("numa") => nodes.count(),
            Some("l3cache" | "L3cache") => topology.l3s.len(),
            Some("core") => topology.cores.len(),
            Some("hwthread") => topology.pus.len(),
            _ => return Err(wrong(option, value, "write ppr:N:node, or package, numa, l3cache, core")),
        };
        self.count.of_a_node = Some(each.saturating_mul(objects.max(1)));
        Ok(())
    }
}

/// The slots of each host of `a:8,b:8`: a host counts as often as it is named.
fn slots(option: &str, value: &str) -> Result<Vec<usize>, LineError> {
    let mut hosts: Vec<(&str, usize)> = Vec::new();
    for entry in value.split(',').filter(|entry| !entry.is_empty()) {
        let (host, slots) = match entry.rsplit_once(':') {
            // As many as it has cores: which of the hosts gets a rank is then not known.
            Some((_, "*")) => return Ok(Vec::new()),
            Some((host, slots)) => (host, count(option, slots)?),
            None => (entry, 1),
        };
        match hosts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, all)) => *all = all.saturating_add(slots),
            None => hosts.push((host, slots)),
        }
    }
    Ok(hosts.into_iter().map(|(_, slots)| slots).collect())
}
