//! srun's options: how many ranks, `--cpu-bind`, `--gpu-bind`, `--gpus-per-task`. The names are those of srun(1), Slurm 22.05 to 24.11.

use crate::{parse_map_cpu, parse_mask, parse_mask_cpu};

use super::grammar::{Given, Grammar, Style};
use super::rank::Gpus;
use super::value::{count, repeated, wrong};
use super::{LineError, Said};

/// Options of plug-ins (SPANK) are written by sites: they are passed over.
const SRUN: Grammar = Grammar {
    tool: "srun",
    style: Style::Getopt,
    letters: "A:b:B:c:C:d:D:e:EF:G:hHi:I::J:k::K::lL:m:M:n:N:o:Op:P:q:Qr:sS:t:T:uvVw:W:x:XZ",
    nothing: &[
        "contiguous",
        "debugger-test",
        "disable-status",
        "exact",
        "external",
        "help",
        "hold",
        "interactive",
        "label",
        "multi-prog",
        "no-allocate",
        "no-requeue",
        "overcommit",
        "overlap",
        "oversubscribe",
        "preserve-env",
        "pty",
        "quiet",
        "quit-on-interrupt",
        "reboot",
        "requeue",
        "share",
        "spread-job",
        "stepmgr",
        "test-only",
        "unbuffered",
        "usage",
        "use-min-nodes",
        "verbose",
        "version",
        "whole",
    ],
    value: &[
        "accel-bind",
        "account",
        "acctg-freq",
        "bb",
        "bbf",
        "bcast-exclude",
        "begin",
        "chdir",
        "cluster-constraint",
        "clusters",
        "comment",
        "constraint",
        "container",
        "container-id",
        "core-spec",
        "cores-per-socket",
        "cpu-bind",
        "cpu_bind",
        "cpu-freq",
        "cpus-per-gpu",
        "cpus-per-task",
        "deadline",
        "delay-boot",
        "dependency",
        "distribution",
        "epilog",
        "error",
        "exclude",
        "export",
        "extra",
        "extra-node-info",
        "gid",
        "gpu-bind",
        "gpu-freq",
        "gpus",
        "gpus-per-node",
        "gpus-per-socket",
        "gpus-per-task",
        "gres",
        "gres-flags",
        "het-group",
        "hint",
        "input",
        "job-name",
        "jobid",
        "licenses",
        "mail-type",
        "mail-user",
        "max-exit-timeout",
        "mcs-label",
        "mem",
        "mem-bind",
        "mem_bind",
        "mem-per-cpu",
        "mem-per-gpu",
        "mincpus",
        "mpi",
        "msg-timeout",
        "network",
        "nodefile",
        "nodelist",
        "nodes",
        "ntasks",
        "ntasks-per-core",
        "ntasks-per-gpu",
        "ntasks-per-node",
        "ntasks-per-socket",
        "ntasks-per-tres",
        "oom-kill-step",
        "open-mode",
        "output",
        "pack-group",
        "partition",
        "power",
        "prefer",
        "priority",
        "profile",
        "prolog",
        "qos",
        "relative",
        "reservation",
        "resv",
        "segment",
        "signal",
        "slurmd-debug",
        "sockets-per-node",
        "switches",
        "task-epilog",
        "task-prolog",
        "thread-spec",
        "threads",
        "threads-per-core",
        "time",
        "time-min",
        "tmp",
        "tree-width",
        "treewidth",
        "tres-bind",
        "tres-per-task",
        "uid",
        "wait",
        "wckey",
    ],
    maybe: &[
        "bcast",
        "compress",
        "exclusive",
        "get-user-env",
        "immediate",
        "kill-on-bad-exit",
        "nice",
        "no-kill",
        "propagate",
        "resv-ports",
        "send-libs",
        "x11",
    ],
    two: &[],
    is_open: true,
};

impl Said<'_> {
    /// srun's options, and what it starts.
    pub(super) fn srun<'l>(&mut self, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
        let (given, program) = SRUN.read(words)?;
        for one in &given {
            let (option, value) = (one.spelled(), one.value());
            match one.name {
                "n" | "ntasks" => self.count.ranks = Some(count(&option, value)?),
                "N" | "nodes" => self.count.nodes = Some(nodes(&option, value)?),
                "ntasks-per-node" => self.count.of_a_node = Some(count(&option, value)?),
                "cpu-bind" | "cpu_bind" => self.srun_binding(one)?,
                "gpu-bind" => self.gpu_binding(one)?,
                "gpus-per-task" => {
                    let gpus = value.rsplit(':').next().unwrap_or(value);
                    self.gpus_per_task = Some(count(&option, gpus)?);
                }
                _ => {}
            }
        }
        Ok(program)
    }

    fn srun_binding(&mut self, option: &Given<'_>) -> Result<(), LineError> {
        let value = option.value();
        let wrong = |error: crate::BindingError| LineError::Wrong(error.to_string());
        if value.contains("map_cpu:") {
            self.pus = Some(parse_map_cpu(value).map_err(wrong)?);
        } else if value.contains("mask_cpu:") {
            self.pus = Some(parse_mask_cpu(value).map_err(wrong)?);
        } else if value.split(',').any(|word| word == "none" || word == "no") {
            self.unbound = true;
        } else {
            self.other_binding = Some(format!("{}={value}", option.spelled()));
        }
        Ok(())
    }

    /// `map:` and `map_gpu:`, `mask:` and `mask_gpu:`; what Slurm chooses by itself says nothing here.
    fn gpu_binding(&mut self, option: &Given<'_>) -> Result<(), LineError> {
        let (name, value) = (option.spelled(), option.value());
        let behind = |kinds: [&str; 2]| kinds.iter().find_map(|kind| value.split_once(kind)).map(|(_, list)| list);
        let index = |text: &str| {
            let read = match text.strip_prefix("0x") {
                Some(digits) => usize::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            read.map(|index| vec![index]).ok_or_else(|| wrong(&name, value, "write GPUs of the node: map:0,1*2"))
        };
        let mask = |text: &str| {
            let mask = parse_mask(text).map(|gpus| gpus.iter().map(|gpu| gpu as usize).collect());
            mask.ok_or_else(|| wrong(&name, value, "write hexadecimal masks of GPUs: mask:0x1,0x2"))
        };
        if let Some(list) = behind(["map_gpu:", "map:"]) {
            self.gpus = Some(Gpus::Lists(repeated(&name, list, index)?));
        } else if let Some(list) = behind(["mask_gpu:", "mask:"]) {
            self.gpus = Some(Gpus::Lists(repeated(&name, list, mask)?));
        }
        Ok(())
    }
}

/// `2`, `2-4`, `2,4,8`: the first.
fn nodes(option: &str, value: &str) -> Result<usize, LineError> {
    let end = value.find(['-', ',', ':']).unwrap_or(value.len());
    count(option, &value[..end])
        .map_err(|_| wrong(option, value, "write a number of nodes (2), or the least and the most (2-4)"))
}
