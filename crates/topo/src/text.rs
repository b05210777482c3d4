//! The plain-text views of `numabench topo`: what belongs together, readable in ten seconds at 80 to 120
//! columns.
//!
//! Pure functions of the model, so that a saved file shows what the machine showed. Plain ASCII, no colour:
//! it is pasted into tickets and mails. Ids are in taskset's syntax, so that they can be pasted too. No
//! drawings here.

mod changes;
pub(crate) mod cores;
pub(crate) mod gpus;
mod identity;
pub(crate) mod layout;
mod matrix;
mod missing;
pub(crate) mod nics;
mod numa;
pub(crate) mod places;
mod step;
mod tree;
mod visibility;

use crate::difference::Difference;
use crate::model::{Rung, Topology, TopologySource, Unsaid};
use crate::survey::Survey;
use layout::{count, cut, wrapped};

/// The default view, at most `width` columns wide where the words allow (60 at least), with a newline at the
/// end.
pub fn render(survey: &Survey, width: usize) -> String {
    let (topology, width) = (&survey.topology, width.max(60));
    joined([
        headline(topology, width),
        step::lines(survey, width),
        places::lines(survey, width),
        places::distances(topology, width),
        gpus::lines(topology, width),
        cores::lines(topology, width),
        visibility::lines(survey, width),
        nics::lines(topology, &survey.nics, width),
        missing::lines(survey, width),
    ])
}

/// The NUMA view: what `numactl -H` and `numactl -s` say.
pub fn numa(survey: &Survey, width: usize) -> String {
    let (topology, width) = (&survey.topology, width.max(60));
    joined([
        headline(topology, width),
        step::lines(survey, width),
        numa::nodes(topology, width),
        places::all_distances(topology, width),
        numa::process(survey, width),
        missing::lines(survey, width),
    ])
}

/// The machine as a tree, as lstopo prints it.
pub fn tree(survey: &Survey, width: usize) -> String {
    let width = width.max(60);
    joined([unsaid(&survey.topology, width), tree::lines(survey, width), missing::lines(survey, width)])
}

/// The matrix: what `nvidia-smi topo -m` says. As wide as its table is.
pub fn matrix(survey: &Survey, width: usize) -> String {
    let (interconnect, width) = (&survey.interconnect, width.max(60));
    joined([
        unsaid(&survey.topology, width),
        matrix::table(interconnect),
        matrix::legend(interconnect),
        matrix::adapters(interconnect),
        matrix::links(survey, width),
        matrix::notes(survey, width),
    ])
}

/// What each GPU is called by whom.
pub fn identity(survey: &Survey, width: usize) -> String {
    let width = width.max(60);
    joined([unsaid(&survey.topology, width), identity::lines(survey), identity::notes(survey, width)])
}

/// What is different, a line each, under the names of what is compared.
pub fn changes(old: &Survey, new: &Survey, differences: &[Difference], width: usize) -> String {
    joined([changes::lines(old, new, differences, width.max(60))])
}

/// The sections that have lines, with an empty line between.
fn joined(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let filled = sections.into_iter().filter(|lines| !lines.is_empty());
    filled.map(|lines| lines.join("\n")).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn source(source: &TopologySource) -> String {
    source.files().unwrap_or_else(|| "this machine".to_owned())
}

fn headline(topology: &Topology, width: usize) -> Vec<String> {
    let host = cut(topology.hostname.as_deref().unwrap_or("(host name not known)"), width / 2);
    let mut lines = wrapped(&format!("{host}: "), &counts(topology), width);
    lines.push(read_from(topology));
    lines.extend(unsaid(topology, width));
    lines
}

/// What the texts that a machine was read from leave open; nothing for another source.
fn unsaid(topology: &Topology, width: usize) -> Vec<String> {
    let words = topology.source.unsaid_words();
    words.map_or_else(Vec::new, |words| wrapped("not said there: ", &words, width))
}

/// What the machine has, in numbers.
pub(crate) fn counts(topology: &Topology) -> String {
    let pus = topology.pus.len() - topology.allowed.offline_pus.len();
    let parts = [
        (Unsaid::Packages, topology.packages.len(), "package"),
        (Unsaid::Nodes, topology.nodes.len(), "NUMA node"),
        (Unsaid::Cores, topology.cores.len(), "core"),
        (Unsaid::Cpus, pus, "PU"),
        (Unsaid::Gpus, topology.gpus.len(), "GPU"),
    ];
    let unsaid = topology.source.unsaid();
    let part = |(part, number, noun): (Unsaid, usize, &str)| {
        let is_open =
            unsaid.contains(&part) || (number == 0 && noun != "GPU" && unsaid.contains(&Unsaid::Cpus));
        if is_open { format!("? {noun}s") } else { count(number, noun) }
    };
    parts.map(part).join(", ")
}

/// Where this was read from, and with what.
pub(crate) fn read_from(topology: &Topology) -> String {
    let name = source(&topology.source);
    match &topology.source {
        TopologySource::ThisSystem | TopologySource::XmlFile { .. } => {
            format!("read from {name} with hwloc {}", topology.hwloc_version)
        }
        TopologySource::Texts { tools, .. } => {
            format!("read from what {} printed, in {name}", tools.join(", "))
        }
    }
}

/// How the locality of each GPU is known whose locality is, and what may not be used from here: entries of
/// any length.
pub(crate) fn notes(survey: &Survey) -> (Vec<String>, Vec<String>) {
    let topology = &survey.topology;
    let known = topology.gpus.iter().filter(|gpu| gpu.locality.rung != Rung::Unknown);
    let trimmed = |lines: Vec<String>| lines.iter().map(|line| line.trim().to_owned()).collect();
    // Without the heading.
    let missing = missing::lines(survey, usize::MAX).into_iter().skip(1).collect();
    (trimmed(gpus::notes(known, usize::MAX)), trimmed(missing))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn fixture(name: &str) -> Result<Survey, crate::TopoError> {
        crate::survey_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
    }

    #[test]
    fn the_view_says_what_belongs_together_and_what_is_not_known() -> Result<(), Box<dyn std::error::Error>> {
        let text = render(&fixture("two-packages-gpus.xml")?, 100);
        for line in [
            "fixture01: 2 packages, 2 NUMA nodes, 8 cores, 16 PUs, 3 GPUs",
            "  node 0    8 GiB   PUs 0-7, 4 cores x 2 PUs; allowed 2-7",
            "    L3 32 MiB: 0-3 | 4-7",
            "  0  0000:03:00.0  NVIDIA H100 80GB HBM3",
            "outside the cpuset: PUs 0-1",
            "offline, or left out when the file was written: PUs 16-17",
            "  2  0000:c3:00.0  PCI 10de:2330          ?     unknown",
            "and this machine has 2 NUMA nodes",
        ] {
            assert!(text.contains(line), "no \"{line}\" in\n{text}");
        }
        Ok(())
    }

    #[test]
    fn a_node_whose_cpus_a_file_of_a_job_leaves_out_is_not_said_to_have_none() -> Result<(), crate::TopoError>
    {
        let mut survey = fixture("knl.xml")?;
        assert!(render(&survey, 100).contains("memory without CPUs; "));
        survey.topology.cores.remove(0);
        let text = render(&survey, 100);
        assert!(text.contains("the file shows no CPUs of it; ") && !text.contains("without CPUs"), "{text}");
        Ok(())
    }

    #[test]
    fn a_file_of_a_job_that_had_the_lowest_pus_is_not_said_to_show_all() -> Result<(), crate::TopoError> {
        let mut survey = fixture("knl.xml")?;
        assert_eq!(survey.topology.left_out_pus(), None);
        for node in survey.topology.nodes.iter_mut().filter(|node| node.os_index > 3) {
            (node.pus, node.cpus_not_shown) = (stats::IdSet::default(), true);
        }
        let last = survey.topology.online_pus().iter().max().unwrap_or_default();
        assert_eq!(survey.topology.left_out_pus(), Some(format!("PUs above {last}")));
        let text = render(&survey, 100);
        assert!(
            text.contains("the file shows no CPUs of it")
                && !text.contains("in particular")
                && !text.contains("without CPUs"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn no_line_is_wider_than_asked_for() -> Result<(), Box<dyn std::error::Error>> {
        for name in ["two-packages-gpus.xml", "superchips.xml"] {
            let survey = fixture(name)?;
            for width in [80, 100, 120] {
                let text = render(&survey, width);
                // The path of the file is printed whole, whatever its length.
                for line in text.lines().filter(|line| !line.starts_with("read")) {
                    assert!(line.len() <= width, "{} columns at {width}: {line}", line.len());
                }
            }
        }
        Ok(())
    }
}
