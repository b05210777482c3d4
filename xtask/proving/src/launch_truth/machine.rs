//! The saved machines that lines are tried on, as far as drawing lines needs them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use roxmltree::{Document, Node, ParsingOptions};

/// Machines of `crates/topo/tests/fixtures`: each has what makes a rule of launchers visible. None has a node
/// of GPU memory: on a real machine hwloc leaves those out, in a saved file it keeps them.
const NAMES: [&str; 12] = [
    "vm-two-nodes",
    "interleaved",
    "leonardo",
    "cpu-only",
    "two-packages-gpus",
    "smt-off",
    "offline",
    "vm-one-node",
    "knl",
    "memory-apart",
    "hybrid",
    "lumi-g-low-noise",
];

/// A saved machine.
#[derive(Debug)]
pub struct Machine {
    pub name: String,
    pub path: PathBuf,
    /// Its PUs that may be used.
    pub pus: BTreeSet<u32>,
    pub cores: usize,
    pub packages: usize,
    pub numa_nodes: usize,
}

/// All of them; the files that launchers are shown go to `folder`.
///
/// # Errors
/// A file is missing or no saved machine.
pub fn saved(root: &Path, folder: &Path) -> Result<Vec<Machine>> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    NAMES.iter().map(|name| read(name, &root.join("crates/topo/tests/fixtures"), folder)).collect()
}

fn read(name: &str, fixtures: &Path, folder: &Path) -> Result<Machine> {
    let file = format!("{name}.xml");
    let path = fixtures.join(&file);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    // The parser of an hwloc without libxml2, as wheels have it, takes no comment.
    let plain: String =
        text.lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect();
    let shown = folder.join(&file);
    std::fs::write(&shown, &plain).with_context(|| format!("cannot write {}", shown.display()))?;

    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(&plain, options).with_context(|| path.display().to_string())?;
    let of_type = |name: &'static str| {
        document.descendants().filter(move |node: &Node<'_, '_>| node.attribute("type") == Some(name))
    };
    let machine = of_type("Machine").next().with_context(|| format!("{} has no Machine", path.display()))?;
    let allowed = bits(machine.attribute("allowed_cpuset").unwrap_or_default());
    let usable =
        |node: &Node<'_, '_>| !bits(node.attribute("cpuset").unwrap_or_default()).is_disjoint(&allowed);
    let pus = of_type("PU").filter_map(|pu| pu.attribute("os_index")?.parse().ok());

    Ok(Machine {
        name: name.to_owned(),
        path: shown,
        pus: pus.filter(|pu| allowed.contains(pu)).collect(),
        cores: of_type("Core").filter(usable).count(),
        packages: of_type("Package").filter(usable).count(),
        numa_nodes: of_type("NUMANode").filter(usable).count(),
    })
}

/// The bits of hwloc's `0x00000001,0x00ff00ff`: words of 32 bits, the highest first.
fn bits(text: &str) -> BTreeSet<u32> {
    let words =
        text.split(',').rev().map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0));
    words
        .zip(0u32..)
        .flat_map(|(word, at)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit))
        .collect()
}
