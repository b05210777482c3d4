//! A machine's file as XML: its objects, their sets and infos, and the text of the kernel's and drivers'
//! files that `topo --save` puts beside them.

use std::error::Error;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};
use stats::{IdSet, PciAddress};
use topo::{Survey, survey_xml};

pub type Outcome = Result<(), Box<dyn Error>>;
pub type Object<'x> = Node<'x, 'x>;

/// A machine twice: as its file says, and as `topo` read it.
pub struct MachineAndFile<'x> {
    pub name: &'x str,
    /// The `Machine` object.
    pub root: Object<'x>,
    pub survey: &'x Survey,
}

/// Checks each machine of `fixtures`.
pub fn each(check: impl Fn(&MachineAndFile<'_>) -> Outcome) -> Outcome {
    let mut seen = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)?;
        let document =
            Document::parse_with_options(&text, ParsingOptions { allow_dtd: true, ..Default::default() })?;
        let root = document
            .descendants()
            .find(|node| node.attribute("type") == Some("Machine"))
            .ok_or("no machine")?;
        let survey = survey_xml(&path)?;
        check(&MachineAndFile { name: &name, root, survey: &survey })
            .map_err(|error| format!("{name}: {error}"))?;
        seen += 1;
    }
    assert!(seen >= 28, "{seen} machines");
    Ok(())
}

impl<'x> MachineAndFile<'x> {
    /// Every object of a type, in the order of the file.
    pub fn objects(&self, kind: &'static str) -> impl Iterator<Item = Object<'x>> + use<'x> {
        self.root
            .descendants()
            .filter(move |node| node.has_tag_name("object") && node.attribute("type") == Some(kind))
    }

    /// What the file keeps of a file of the kernel's or a driver's.
    pub fn kept(&self, path: &str) -> Option<&'x str> {
        info(self.root, &format!("numabench:{path}"))
    }

    /// The paths of the files that it keeps.
    pub fn kept_paths(&self) -> impl Iterator<Item = &'x str> + use<'x> {
        let infos = self.root.children().filter(|node| node.has_tag_name("info"));
        infos.filter_map(|info| info.attribute("name")?.strip_prefix("numabench:"))
    }

    /// Whether `topo --save` wrote it, and not lstopo.
    pub fn is_saved(&self) -> bool {
        self.kept_paths().next().is_some()
    }

    /// A list of ids in a kept file: behind `key`, or all of it where there is none.
    pub fn kept_ids(&self, path: &str, key: Option<&str>) -> Option<IdSet> {
        let text = self.kept(path)?;
        key.map_or(Some(text), |key| field(text, key))?.trim().parse().ok()
    }
}

/// The value of an info of the object; none where it is empty.
pub fn info<'x>(object: Object<'x>, name: &str) -> Option<&'x str> {
    let infos = object.children().filter(|node| node.has_tag_name("info"));
    infos
        .filter(|info| info.attribute("name") == Some(name))
        .find_map(|info| info.attribute("value"))
        .filter(|v| !v.is_empty())
}

/// The rest of the line that begins with `key` and a colon.
pub fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
}

/// A set as hwloc writes it: words of 32 bits, the highest first, empty ones zero.
pub fn set(object: Object<'_>, name: &str) -> IdSet {
    let words = object.attribute(name).unwrap_or("").rsplit(',').zip(0_u32..);
    let bits = |(word, at): (&str, u32)| {
        let word = u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit).collect::<Vec<u32>>()
    };
    words.flat_map(bits).collect()
}

/// A number among the object's attributes.
pub fn number<N: std::str::FromStr>(object: Object<'_>, name: &str) -> Option<N> {
    object.attribute(name)?.parse().ok()
}

/// The first object around a device that is no bridge and no device.
pub fn place(device: Object<'_>) -> Option<Object<'_>> {
    device
        .ancestors()
        .skip(1)
        .find(|above| !matches!(above.attribute("type"), Some("Bridge" | "PCIDev" | "OSDev")))
}

/// Where a PCI device is.
pub fn address(device: Object<'_>) -> Result<PciAddress, Box<dyn Error>> {
    Ok(device.attribute("pci_busid").ok_or("no address")?.parse()?)
}

/// Class, vendor and device id of a PCI device or bridge: `0302 [10de:2330] …`.
pub fn pci_ids(device: Object<'_>) -> Option<(u16, u16, u16)> {
    let (class, rest) = device.attribute("pci_type")?.split_once(" [")?;
    let (vendor, rest) = rest.split_once(':')?;
    let hex = |text: &str| u16::from_str_radix(text, 16).ok();
    Some((hex(class)?, hex(vendor)?, hex(rest.split(']').next()?)?))
}

/// The OS devices of a PCI device.
pub fn os_devices<'x>(device: Object<'x>) -> impl Iterator<Item = Object<'x>> {
    device.children().filter(|child| child.attribute("type") == Some("OSDev"))
}

/// A name's letters and the number at its end, which sort as people count.
pub fn counted(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters.to_owned(), name[letters.len()..].parse().unwrap_or(0))
}
