//! The file's text, in the form that NCCL's own reader takes (`src/graph/xml.cc`): one element a line, single
//! spaces, no declaration before it.
//!
//! That reader is small: it takes a comment only where a blank follows `<!--`, and an attribute only after
//! one blank. A switch of the file has a bus id that no device has, as in the cloud providers' files, because
//! NCCL would take the class of a device that is there from the machine.

use std::collections::BTreeSet;
use std::fmt::Write;

use stats::PciAddress;

use super::NcclError;
use super::links::attributes;
use super::tree::{Branch, NcclTree, Switch};
use crate::model::TopologySource;
use crate::survey::Survey;

/// The file; `taken` are addresses that are devices'.
///
/// # Errors
/// [`NcclError::NoFreeAddress`]: there are more switches than addresses that no device has.
pub(super) fn xml(
    survey: &Survey,
    tree: &NcclTree,
    taken: &BTreeSet<PciAddress>,
    remarks: &[String],
) -> Result<String, NcclError> {
    let mut file = File { text: comment(survey, tree, remarks), free: free_addresses(taken) };
    file.line(0, "<system version=\"1\">");
    for (node, branches) in &tree.cpus {
        file.line(1, &format!("<cpu numaid=\"{node}\">"));
        branches.iter().try_for_each(|branch| file.branch(2, branch))?;
        file.line(1, "</cpu>");
    }
    file.line(0, "</system>");
    Ok(file.text)
}

/// A file that is being written.
struct File<F> {
    text: String,
    /// Addresses that no device has.
    free: F,
}

impl<F: Iterator<Item = PciAddress>> File<F> {
    fn line(&mut self, depth: usize, words: &str) {
        let _ = writeln!(self.text, "{:1$}{words}", "", depth * 2);
    }

    fn branch(&mut self, depth: usize, branch: &Branch) -> Result<(), NcclError> {
        match branch {
            Branch::Device(device) => {
                let (pci, class, link) = (device.written, device.class, attributes(device.link.as_ref()));
                self.line(depth, &format!("<pci busid=\"{pci}\" class=\"0x{class:06x}\"{link}/>"));
            }
            Branch::Switch(Switch { link, branches, .. }) => {
                let pci = self.free.next().ok_or(NcclError::NoFreeAddress)?;
                let link = attributes(link.as_ref());
                self.line(depth, &format!("<pci busid=\"{pci}\" class=\"0x060400\"{link}>"));
                branches.iter().try_for_each(|branch| self.branch(depth + 1, branch))?;
                self.line(depth, "</pci>");
            }
        }
        Ok(())
    }
}

/// Addresses for switches: those at the end of the last bus, as the cloud providers' files have them.
fn free_addresses(taken: &BTreeSet<PciAddress>) -> impl Iterator<Item = PciAddress> {
    let at =
        |number: u8| PciAddress { domain: 0xffff, bus: 0xff, device: number % 32, function: number / 32 };
    (1..=u8::MAX).map(at).filter(|pci| !taken.contains(pci))
}

/// The comment at the head of the file.
fn comment(survey: &Survey, tree: &NcclTree, remarks: &[String]) -> String {
    let machine = survey.topology.hostname.as_deref().unwrap_or("a machine");
    let source = match &survey.topology.source {
        TopologySource::ThisSystem => String::new(),
        source => source.files().map(|files| format!(", read from {files}")).unwrap_or_default(),
    };
    let mut lines = vec![
        format!("Topology of {machine}{source}, by numabench, for NCCL: NCCL_TOPO_FILE=THIS_FILE"),
        "NCCL takes from this file which devices share a PCIe switch and a NUMA node, by the addresses here, \
         and the links given here; all else it reads where it runs.".to_owned(),
    ];
    if tree.has_switch() {
        lines.push("Switches (class 0x060400) have bus ids that no device has.".to_owned());
    }
    lines.extend(remarks.iter().map(|remark| sentence(remark)));
    let lines: String = lines.iter().map(|line| format!("  {}\n", within_comment(line))).collect();

    format!("<!-- numabench\n{lines}-->\n")
}

/// A remark as a sentence of its own.
fn sentence(remark: &str) -> String {
    let mut letters = remark.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Text that ends no comment early.
fn within_comment(text: &str) -> String {
    let mut text = text.to_owned();
    while text.contains("--") {
        text = text.replace("--", "- -");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{NcclRequest, devices, tree};
    use super::*;

    #[test]
    fn a_switch_without_a_free_address_is_an_error_and_no_device_goes_with_it() -> Result<(), crate::TopoError>
    {
        let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hgx-h100.xml");
        let survey = crate::survey_xml(&host)?;
        let devices = devices(&survey, &NcclRequest::default(), &mut Vec::new());
        let tree = tree::tree(&survey, devices, &[], &mut Vec::new());

        // The host has eight switches.
        let all: Vec<PciAddress> = free_addresses(&BTreeSet::new()).collect();
        let (last_eight, others) =
            all.split_last_chunk::<8>().map_or((&[][..], &all[..]), |(others, last)| (&last[..], others));
        let file = xml(&survey, &tree, &others.iter().copied().collect(), &[]);
        assert!(file.is_ok_and(|file| last_eight.iter().all(|pci| file.contains(&pci.to_string()))));
        let but_seven = others.iter().copied().chain([last_eight[0]]).collect();
        assert_eq!(xml(&survey, &tree, &but_seven, &[]), Err(NcclError::NoFreeAddress));
        Ok(())
    }
}
