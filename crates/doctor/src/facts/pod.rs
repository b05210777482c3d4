//! Whether this process is in a Kubernetes pod, told from inside: no API is asked.

use topo::fs_root::FsRoot;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// How it is known.
    pub evidence: &'static str,
}

/// The pod that this process is in; `None` outside of any.
pub fn pod(root: &FsRoot, variable: &dyn Fn(&str) -> Option<String>) -> Option<Pod> {
    if root.text("/proc/self/cgroup").is_ok_and(|text| text.contains("kubepods")) {
        return Some(Pod { evidence: "its cgroup is kubelet's" });
    }
    variable("KUBERNETES_SERVICE_HOST").map(|_| Pod { evidence: "KUBERNETES_SERVICE_HOST is set" })
}
