//! Whether NVIDIA's multi-process service (MPS) runs where this process's clients would look for it.
//!
//! The daemon's files outlive a daemon that was killed, so a file alone proves nothing. Two facts prove a
//! daemon: the process that its pid file names has the daemon's name, or the kernel lists a socket at the
//! path (proc_pid_net(5), `unix`). A process table that shows kernel threads is the whole machine's: there a
//! daemon that is in neither has ended. Source: NVIDIA, Multi-Process Service, CUDA_MPS_PIPE_DIRECTORY.

use topo::fs_root::FsRoot;

/// The multi-process service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mps {
    /// No pipe is in the folder.
    Absent,
    /// Its daemon runs.
    Runs,
    /// Files of a daemon that has ended, in this folder.
    LeftOver(String),
    /// Files in this folder, and nothing that says whether the daemon runs.
    Unknown(String),
}

/// The daemon's name, as far as the kernel keeps it (15 letters).
const DAEMON: &str = "nvidia-cuda-mps";

/// Looks for the daemon.
pub fn mps(root: &FsRoot, variable: &dyn Fn(&str) -> Option<String>) -> Mps {
    let folder = variable("CUDA_MPS_PIPE_DIRECTORY").unwrap_or_else(|| "/tmp/nvidia-mps".to_owned());
    let control = format!("{folder}/control");
    if !root.exists(&control) {
        return Mps::Absent;
    }

    let pid =
        root.text(&format!("{folder}/{DAEMON}-control.pid")).ok().and_then(|text| text.parse::<u32>().ok());
    let name = |pid: u32| root.text(&format!("/proc/{pid}/comm")).ok();
    let has_process = pid.and_then(name).is_some_and(|name| name.starts_with(DAEMON));
    let has_socket = root
        .lines_holding("/proc/net/unix", &control)
        .is_ok_and(|lines| lines.lines().any(|line| line.split_whitespace().last() == Some(&*control)));
    if has_process || has_socket {
        return Mps::Runs;
    }

    let sees_all_processes = name(2).as_deref() == Some("kthreadd");
    if pid.is_some() && sees_all_processes { Mps::LeftOver(folder) } else { Mps::Unknown(folder) }
}
