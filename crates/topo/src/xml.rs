//! Reads a saved hwloc XML file.
//!
//! hwloc says only "no" to a file it does not like, and crashes on some damaged ones. So the file's text is
//! read here, the usual mistakes get their own message, and what is left is given to hwloc in a process of
//! its own (`child`), whose answer is taken. Neither this process's affinity nor its cgroup matters: what is
//! allowed is what the file says. A file of `--save` also holds what the kernel said (`save`), and gives what
//! the machine itself gave.

use std::mem::ManuallyDrop;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::TopoError;
use crate::child::{self, Ending};
use crate::convert::{self, NvmlUse};
use crate::error::MAX_XML_BYTES;
use crate::gpu_class::is_gpu;
use crate::input::{InputError, read_input};
use crate::load::{self, Alone};
use crate::model::{Topology, TopologySource};
use crate::save;
use crate::survey::Survey;
use stats::id_list::MAX_ID;
use stats::printable;

/// The machine that an hwloc XML file (`lstopo FILE.xml`, formats 1 and 2) describes.
///
/// # Errors
/// One variant of [`TopoError`] per kind of unusable file; a damaged file never takes this process down.
pub fn from_xml(path: &Path) -> Result<Topology, TopoError> {
    survey_xml(path).map(|survey| survey.topology)
}

/// The same with all that is shown of it.
///
/// # Errors
/// As [`from_xml()`].
pub fn survey_xml(path: &Path) -> Result<Survey, TopoError> {
    survey_of(path, read_text(path)?)
}

/// As [`survey_xml`], of this text, which was read from `path`.
pub(crate) fn survey_of(path: &Path, text: String) -> Result<Survey, TopoError> {
    let text = checked(path, text)?;
    let source = TopologySource::XmlFile { path: path.display().to_string() };
    let alone = load::alone();
    let crashed = |how| TopoError::Crashed { path: path.to_owned(), hwloc: load::hwloc_version(), how };
    match child::run(&alone, || read(&alone, &text, source)) {
        Ok(Ending::Returned(read)) => read.map_err(|reason| match reason {
            NotRead::Refused => TopoError::Refused { path: path.to_owned(), hwloc: load::hwloc_version() },
            NotRead::Inconsistent(what) => TopoError::Inconsistent { what },
            NotRead::Other(how) => crashed(how),
        }),
        Ok(Ending::Crashed(how)) => Err(crashed(how)),
        Err(source) => Err(TopoError::NoChild { path: path.to_owned(), source }),
    }
}

/// Why hwloc's process has no machine to tell of.
#[derive(Debug, Serialize, Deserialize)]
enum NotRead {
    /// hwloc refuses the text; perhaps for want of memory, because the process may only have so much.
    Refused,
    /// The parts contradict each other, in words.
    Inconsistent(String),
    /// Anything else, in words.
    Other(String),
}

/// What the text describes; run in a process of its own.
fn read(alone: &Alone, text: &str, source: TopologySource) -> Result<Survey, NotRead> {
    let loaded = load::xml(alone, text).map_err(|error| NotRead::Other(error.to_string()))?;
    // Never freed: the process ends next, and a damaged file's topology is taken apart no better than it is
    // put together.
    let hwloc = ManuallyDrop::new(loaded.ok_or(NotRead::Refused)?);
    convert::survey(&hwloc, source, save::files_in(&hwloc).as_ref(), NvmlUse::Untouched).map_err(|error| {
        match error {
            TopoError::Inconsistent { what } => NotRead::Inconsistent(what),
            error => NotRead::Other(error.to_string()),
        }
    })
}

/// The text of a file, or of standard input (`-`).
///
/// # Errors
/// It cannot be read, is empty or no text.
pub(crate) fn read_text(path: &Path) -> Result<String, TopoError> {
    let bytes = read_input(path, MAX_XML_BYTES).map_err(|source| match source {
        InputError::TooLong { .. } => TopoError::TooLarge { path: path.to_owned() },
        source => TopoError::Unreadable { path: path.to_owned(), source },
    })?;
    let not_xml = |why: &str| TopoError::NotXml { path: path.to_owned(), why: why.to_owned() };
    if bytes.is_empty() {
        return Err(not_xml("it is empty"));
    }
    String::from_utf8(bytes).map_err(|_| not_xml("it is not UTF-8 text"))
}

/// The text, once it looks like hwloc's XML of a format that can be read.
fn checked(path: &Path, text: String) -> Result<String, TopoError> {
    let not_xml = |why: &str| TopoError::NotXml { path: path.to_owned(), why: why.to_owned() };
    if text.contains('\0') {
        return Err(not_xml("it holds NUL bytes"));
    }
    let root = root_element(&text).ok_or_else(|| not_xml("it does not start with an XML element"))?;
    if root.name != "topology" {
        return Err(TopoError::NotHwloc { path: path.to_owned(), root: printable::name(root.name) });
    }
    if let Some(version) = attribute(root.tag, "version").filter(|version| is_newer(version)) {
        let version = printable::name(version);
        return Err(TopoError::NewerFormat { path: path.to_owned(), version });
    }
    if !text.trim_end().ends_with("</topology>") {
        return Err(TopoError::CutOff { path: path.to_owned() });
    }
    if let Some(index) = wide_index(&text) {
        return Err(TopoError::WideIndex { path: path.to_owned(), index });
    }

    match wide_domain_gpu(&text) {
        Some(address) => Err(TopoError::WideDomain { path: path.to_owned(), address }),
        None => Ok(text),
    }
}

struct Root<'t> {
    name: &'t str,
    /// What is between `<` and `>`.
    tag: &'t str,
}

/// The first element, after the XML declaration, the document type and comments.
fn root_element(text: &str) -> Option<Root<'_>> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let inside = rest.strip_prefix('<')?;
        let end = if inside.starts_with("!--") { "-->" } else { ">" };
        let (tag, after) = inside.split_once(end)?;
        if tag.starts_with(['?', '!']) {
            rest = after.trim_start();
            continue;
        }
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next()?;
        let starts_a_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        return starts_a_name.then_some(Root { name, tag });
    }
}

/// The value of an attribute in a tag as hwloc and libxml write it.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = tag.split_once(&format!(" {name}=\""))?;
    after.split_once('"').map(|(value, _)| value)
}

fn is_newer(version: &str) -> bool {
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major > 2)
}

/// The number of a PU or NUMA node above any machine's: hwloc would keep a bit for each number below it.
fn wide_index(text: &str) -> Option<u32> {
    let objects = text
        .split("<object ")
        .filter(|object| object.starts_with("type=\"PU\"") || object.starts_with("type=\"NUMANode\""));
    let tags = objects.filter_map(|object| object.split_once('>').map(|(tag, _)| tag));
    // Signed and too long numbers are hwloc's to refuse or to cut.
    let index = |tag| attribute(tag, "os_index")?.parse::<u64>().ok();
    let wide = tags.filter_map(index).find(|index| *index > u64::from(MAX_ID));
    wide.map(|index| u32::try_from(index).unwrap_or(u32::MAX))
}

/// The address of a GPU in a PCI domain above 0xffff, which hwloc would drop silently.
fn wide_domain_gpu(text: &str) -> Option<String> {
    let devices = text.split("<object ").filter(|object| object.starts_with("type=\"PCIDev\""));
    let tags = devices.filter_map(|object| object.split_once('>').map(|(tag, _)| tag));
    tags.filter_map(|tag| {
        let address: PciAddress = attribute(tag, "pci_busid")?.parse().ok()?;
        let (class, ids) = attribute(tag, "pci_type")?.split_once(" [")?;
        let (vendor, device) = ids.split_once(']')?.0.split_once(':')?;
        let hex = |digits| u16::from_str_radix(digits, 16).ok();
        let gpu = is_gpu(hex(class)?, hex(vendor)?, hex(device)?);
        (gpu && address.domain > 0xffff).then(|| address.to_string())
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_element_is_found_behind_what_may_stand_before_it() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!-- a > b --><!DOCTYPE topology SYSTEM \
            \"hwloc2.dtd\">\n<topology version=\"2.0\"><x/>";
        assert_eq!(root_element(text).map(|root| root.name), Some("topology"));
        assert_eq!(root_element("<html><body>").map(|root| root.name), Some("html"));
        for text in ["", "hello", "<", "< topology>", "<?xml", "<!-- <topology>", "{\"a\": 1}"] {
            assert!(root_element(text).is_none(), "{text}");
        }
    }

    #[test]
    fn only_formats_after_2_are_newer() {
        assert!(is_newer("3.0") && is_newer("10.1"));
        assert!(!is_newer("2.0") && !is_newer("1.0") && !is_newer(""));
    }

    #[test]
    fn a_number_above_any_machines_is_noticed_before_hwloc_keeps_bits_for_it() {
        let object = |kind: &str, index: &str| {
            format!("<object type=\"{kind}\" os_index=\"{index}\" gp_index=\"1\"/>")
        };
        assert_eq!(wide_index(&object("PU", "4294967295")), Some(u32::MAX));
        assert_eq!(wide_index(&object("NUMANode", "65537")), Some(65_537));
        assert_eq!(wide_index(&(object("PU", "65536") + &object("Package", "4294967295"))), None);
    }

    #[test]
    fn a_gpu_in_a_32_bit_domain_is_noticed_and_a_disk_is_not() {
        let device = |domain: &str, class: &str| {
            format!(
                "<object type=\"PCIDev\" gp_index=\"9\" pci_busid=\"{domain}:01:00.0\" pci_type=\"{class} \
                 [10de:2335] [0000:0000] a1\"/>"
            )
        };
        assert_eq!(wide_domain_gpu(&device("10000", "0302")).as_deref(), Some("10000:01:00.0"));
        assert_eq!(wide_domain_gpu(&device("10000", "0108")), None);
        assert_eq!(wide_domain_gpu(&device("ffff", "0302")), None);
    }
}
