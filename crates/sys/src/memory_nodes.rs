//! The kernel's words for how memory is taken from several nodes, and its weights of them.

use std::fs;
use std::io;

use stats::memory_nodes::{MemoryNodes, NodeUse};

/// linux/mempolicy.h.
const MPOL_BIND: libc::c_long = 2;
const MPOL_INTERLEAVE: libc::c_long = 3;
const MPOL_WEIGHTED_INTERLEAVE: libc::c_long = 6;

/// Where the kernel has the weight of each node (Linux 6.9 and later).
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

pub(crate) fn mode(node_use: NodeUse) -> libc::c_long {
    match node_use {
        NodeUse::Bind => MPOL_BIND,
        NodeUse::Interleave => MPOL_INTERLEAVE,
        NodeUse::WeightedInterleave => MPOL_WEIGHTED_INTERLEAVE,
    }
}

/// These nodes with the kernel's weights of them, where they are to be taken by weight.
///
/// # Errors
/// The kernel has no weights: it is older than Linux 6.9.
pub fn with_weights(mut nodes: MemoryNodes) -> io::Result<MemoryNodes> {
    if nodes.node_use == NodeUse::WeightedInterleave {
        for (node, pages) in &mut nodes.in_turn {
            *pages = weight(WEIGHTS, *node)?;
        }
    }
    Ok(nodes)
}

/// The kernel's weight of a node.
fn weight(folder: &str, node: u32) -> io::Result<u32> {
    let text = fs::read_to_string(format!("{folder}/node{node}"))?;
    // Where it was never set, the kernel takes one page.
    text.trim().parse().map(|weight: u32| weight.max(1)).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels_and_a_kernel_without_has_none() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_str().unwrap_or_default();
        fs::write(folder.path().join("node0"), "5\n")?;
        fs::write(folder.path().join("node1"), "0\n")?;
        assert_eq!((weight(path, 0)?, weight(path, 1)?), (5, 1));
        assert_eq!(weight(path, 2).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        Ok(())
    }

    #[test]
    fn without_weights_each_node_gives_a_page_and_no_file_is_read() -> io::Result<()> {
        let nodes = MemoryNodes::even(&[1023].into_iter().collect(), NodeUse::Interleave);
        assert_eq!(with_weights(nodes.clone())?, nodes);
        Ok(())
    }
}
