//! Where a program is put before it begins: its PUs, which are looked at afterwards, and its memory.

use std::io;

use stats::IdSet;
use sys::policy::NodeUse;

/// Binds the calling thread to these PUs, and sees that it is: the kernel leaves out, without a word, what
/// the cpuset has not got.
pub fn bind_cpus(pus: &IdSet) -> io::Result<()> {
    sys::affinity::set(pus)?;
    let bound = sys::affinity::get()?;
    if bound == *pus {
        Ok(())
    } else {
        Err(io::Error::other(format!("the kernel bound it to {bound} instead")))
    }
}

/// Takes what the calling thread allocates from now on from these nodes, and sees that the kernel means to:
/// it leaves out, without a word, nodes that the cpuset has not got. execve keeps it (set_mempolicy(2)).
pub fn bind_memory(nodes: &IdSet, memory_use: NodeUse) -> io::Result<()> {
    sys::policy::set(nodes, memory_use)?;
    let seen = sys::policy::get()?.nodes();
    if seen == *nodes {
        Ok(())
    } else {
        Err(io::Error::other(format!("the kernel takes it from {seen} instead")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_that_the_kernel_cannot_keep_is_an_error() {
        assert!(bind_cpus(&IdSet::default()).is_err(), "no PU at all");
        assert!(bind_cpus(&[8191].into_iter().collect()).is_err(), "a PU that is not there");
        assert!(bind_cpus(&[9000].into_iter().collect()).is_err(), "a PU that no kernel has");
        assert!(
            bind_memory(&[1023].into_iter().collect(), NodeUse::Bind).is_err(),
            "a node that is not there"
        );
    }
}
