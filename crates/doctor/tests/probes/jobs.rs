//! Slurm's configuration and steps, and Kubernetes pods.

use topo::step::{GpuShare, Step, StepShare};

use crate::node::{Node, process, set};
use crate::{Case, Is, Outcome, tried};

const GRES: &str = "/etc/slurm/gres.conf";

/// A step with this share of the cores, on a machine whose process may use these PUs.
fn step(node: &mut Node, count: u32, usable: &str) {
    node.survey.topology.allowed.pus = set(usable);
    node.survey.step = Some(Step {
        scheduler: "slurm".to_owned(),
        job: "7".to_owned(),
        step: "0".to_owned(),
        node: Some("n0".to_owned()),
        cpus: StepShare { count: Some(count), usable: set(usable), ..StepShare::default() },
        gpus: GpuShare {
            numbers: None,
            other_numbers: set(""),
            share: StepShare { usable: set("1"), ..StepShare::default() },
        },
    });
}

/// A pod whose cgroup has these PUs.
fn pod(node: &mut Node, pus: &str) -> std::io::Result<()> {
    node.survey.process = Some(process());
    node.survey.process.as_mut().expect("a process").cgroup.pus = Some(set(pus));
    node.survey.topology.allowed.pus = set(pus).and(&node.survey.topology.allowed.pus);
    node.file("/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope\n")
}

/// A job on a node that does not show Slurm's files.
fn hidden(node: &mut Node) -> std::io::Result<()> {
    node.variables.insert("SLURM_JOB_ID", "7".to_owned());
    node.gone("/etc/slurm")
}

/// What slurms files say of gpu cores.
pub const FILES: &[Case] = &[
    ("slurm.gres-cores", Is::Well, "2 GPUs", |_| Ok(())),
    ("slurm.gres-cores", Is::Costly, "GPU 0: Cores=8-15 are far from it; 0-7 are near", |node| {
        node.file(GRES, "Name=gpu File=/dev/nvidia0 Cores=8-15\nName=gpu File=/dev/nvidia1 Cores=0-7\n")
    }),
    ("slurm.gres-cores", Is::Costly, "GPU 1: Cores=0-15 has far ones too", |node| {
        node.file(GRES, "Name=gpu File=/dev/nvidia0 Cores=0-7\nName=gpu File=/dev/nvidia1 Cores=0-15\n")
    }),
    // PUs of the second threads, as `nvidia-smi topo -m` prints them.
    ("slurm.gres-cores", Is::Costly, "16-23 are no cores here", |node| {
        node.file(GRES, "Name=gpu File=/dev/nvidia0 Cores=0-7,16-23\nName=gpu File=/dev/nvidia1 Cores=8-15\n")
    }),
    ("slurm.gres-cores", Is::Costly, "no Cores=", |node| node.file(GRES, "Name=gpu File=/dev/nvidia[0-1]\n")),
    ("slurm.gres-cores", Is::Costly, "line 3: Fiel is no parameter", |node| {
        node.file("/etc/slurm/gpus.conf", "Name=gpu File=/dev/nvidia0\n# and\nName=gpu Fiel=/dev/nvidia1\n")?;
        node.file(GRES, "Include gpus.conf\n")
    }),
    ("slurm.gres-cores", Is::Costly, "counted with the lines of the files", |node| {
        node.file("/etc/slurm/gpus.conf", "Name=gpu Fiel=/dev/nvidia1\n")?;
        node.file(GRES, "Include gpus.conf\n")
    }),
    ("slurm.gres-cores", Is::Costly, "line 3", |node| {
        node.file(GRES, "# GPUs\n\nName=gpu Fiel=/dev/nvidia0\n")
    }),
    ("slurm.gres-cores", Is::Costly, "line 1", |node| node.file(GRES, "Name=gpu Fiel=/dev/nvidia0\n")),
    ("slurm.gres-cores", Is::Well, "AutoDetect=nvml", |node| node.file(GRES, "AutoDetect=nvml\n")),
    ("slurm.gres-cores", Is::Costly, "no gres.conf", |node| node.gone(GRES)),
    ("slurm.gres-cores", Is::Gone, "", |node| node.gone("/etc/slurm")),
    ("slurm.gres-cores", Is::Open, "not shown", |node| {
        node.variables.insert("SLURM_JOB_ID", "7".to_owned());
        node.gone("/etc/slurm")
    }),
    ("slurm.binding", Is::Open, "not shown", hidden),
    ("slurm.gres-cores", Is::Well, "AutoDetect=nvml", |node| {
        node.file(GRES, "AutoDetect=nvml\nName=gpu Type=a100 File=/dev/nvidia[0-1]\n")
    }),
    ("slurm.gres-cores", Is::Costly, "GPU 0: Cores=8-15 are far from it", |node| {
        node.file(
            GRES,
            "AutoDetect=nvml\nName=gpu File=/dev/nvidia0 Cores=8-15\nName=gpu File=/dev/nvidia1\n",
        )
    }),
    // Neurons' detection tells no cores.
    ("slurm.gres-cores", Is::Costly, "no Cores=", |node| {
        node.file(GRES, "AutoDetect=nrt\nName=gpu File=/dev/nvidia[0-1]\n")
    }),
    ("slurm.gres-cores", Is::Open, "not known of 2 of 2 GPUs", crate::system::nothing_local),
    ("slurm.gres-cores", Is::Costly, "GPU 1: Cores=0-7 are far from it", |node| {
        node.file("/etc/slurm/gpus.conf", "Name=gpu File=/dev/nvidia1 Cores=0-7\n")?;
        node.file(GRES, "Name=gpu File=/dev/nvidia0 Cores=0-7\ninclude gpus.conf\n")
    }),
    ("slurm.gres-cores", Is::Open, "/etc/slurm/gpus.conf cannot be read", |node| {
        node.file(GRES, "Name=gpu File=/dev/nvidia0 Cores=0-7\nInclude gpus.conf\n")
    }),
    // No text, as a file that is another's.
    ("slurm.gres-cores", Is::Open, "/etc/slurm/gres.conf cannot be read", |node| node.bytes(GRES, &[0xff])),
    ("slurm.gres-cores", Is::Open, "/etc/slurm/gres.conf cannot be read", |node| {
        node.file(GRES, "Include gres.conf\n")
    }),
    // What an included file sets counts, and is not known where it cannot be read.
    ("slurm.binding", Is::Open, "/etc/slurm/plugins.conf cannot be read", |node| {
        node.file("/etc/slurm/slurm.conf", "GresTypes=gpu\nInclude /etc/slurm/plugins.conf\n")
    }),
    ("slurm.binding", Is::Well, "task/affinity", |node| {
        node.file("/etc/slurm/plugins.conf", "TaskPlugin=\\\n  task/affinity\n")?;
        node.file("/etc/slurm/slurm.conf", "GresTypes=gpu\nInclude /etc/slurm/plugins.conf\n")
    }),
    ("slurm.binding", Is::Costly, "binds no task to its own", |node| {
        node.file("/etc/slurm/slurm.conf", "GresTypes=gpu\nTaskPlugin=task/cgroup\n")
    }),
    ("slurm.binding", Is::Well, "TaskAffinity", |node| {
        node.file("/etc/slurm/cgroup.conf", "ConstrainCores=yes\nTaskAffinity=yes\n")?;
        node.file("/etc/slurm/slurm.conf", "GresTypes=gpu\nTaskPlugin=task/cgroup\n")
    }),
    ("slurm.cgroup", Is::Unknown, "/etc/slurm/cgroup.conf cannot be read", |node| {
        node.bytes("/etc/slurm/cgroup.conf", &[0xff])
    }),
    ("slurm.cgroup", Is::Unknown, "not shown", hidden),
    ("slurm.sockets", Is::Unknown, "not shown", |node| {
        finer(node)?;
        hidden(node)
    }),
    ("slurm.binding", Is::Costly, "task/none", |node| {
        node.file("/etc/slurm/slurm.conf", "GresTypes=gpu\nTaskPlugin=task/none\n")
    }),
    ("slurm.cgroup", Is::Odd, "ConstrainDevices", |node| {
        node.file("/etc/slurm/cgroup.conf", "ConstrainCores=yes\n")
    }),
    ("slurm.sockets", Is::Gone, "", |_| Ok(())),
    // LUMI-G's boundary: a GPU belongs to an L3 of its package.
    ("slurm.sockets", Is::Odd, "parts of a package", finer),
    ("slurm.sockets", Is::Well, "l3cache_as_socket", |node| {
        finer(node)?;
        node.file("/etc/slurm/slurm.conf", "TaskPlugin=task/affinity\nSlurmdParameters=l3cache_as_socket\n")
    }),
];

#[test]
fn what_slurms_files_say_of_gpu_cores() -> Outcome {
    tried(FILES)
}

/// Each GPU near to an L3 of four cores.
fn finer(node: &mut Node) -> std::io::Result<()> {
    let topology = &mut node.survey.topology;
    for (at, pus) in [(0, "0-3"), (1, "8-11")] {
        topology.l3s[at].pus = set(pus);
        topology.gpus[at].locality.pus = set(pus);
    }
    Ok(())
}

/// What a step gives its task.
pub const STEPS: &[Case] = &[
    ("slurm.step-gpus", Is::Well, "its GPU", |node| {
        step(node, 8, "8-15");
        Ok(())
    }),
    ("slurm.step-gpus", Is::Costly, "GPU 1", |node| {
        step(node, 8, "0-7");
        Ok(())
    }),
    ("slurm.step-gpus", Is::Open, "not reported", |node| {
        step(node, 8, "8-15");
        crate::system::nothing_local(node)
    }),
    ("cpu.cpuset", Is::Open, "cannot be read", |node| {
        node.survey.process.as_mut().expect("a process").affinity = None;
        Ok(())
    }),
    ("cpu.cpuset", Is::Well, "PUs 8-15 of 16", |node| {
        step(node, 8, "8-15");
        Ok(())
    }),
    ("cpu.cpuset", Is::Costly, "gave the step 4", |node| {
        step(node, 4, "0-15");
        Ok(())
    }),
];

#[test]
fn what_a_step_gives_its_task() -> Outcome {
    tried(STEPS)
}

/// What a pod gives its process.
pub const PODS: &[Case] = &[
    ("kubernetes.cpuset", Is::Gone, "", |_| Ok(())),
    ("kubernetes.cpuset", Is::Well, "PUs 8-15", |node| pod(node, "8-15")),
    ("kubernetes.cpuset", Is::Costly, "shared pool", |node| pod(node, "0-15")),
    ("kubernetes.cpuset", Is::Open, "not shown", |node| {
        node.variables.insert("KUBERNETES_SERVICE_HOST", "10.0.0.1".to_owned());
        Ok(())
    }),
    ("kubernetes.near-gpus", Is::Well, "each of its GPUs", |node| pod(node, "0-15")),
    ("kubernetes.near-gpus", Is::Open, "not reported", |node| {
        crate::system::nothing_local(node)?;
        pod(node, "0-15")
    }),
    ("kubernetes.near-gpus", Is::Costly, "GPU 0", |node| {
        node.survey.topology.allowed.not_in_cgroup_pus = set("0-7");
        pod(node, "8-15")
    }),
];

#[test]
fn what_a_pod_gives_its_process() -> Outcome {
    tried(PODS)
}
