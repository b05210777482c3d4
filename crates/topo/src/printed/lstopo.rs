//! `lstopo`'s and `hwloc-ls`' console text, of hwloc 1 and 2, with `-p`, `-l` or `-v` and without.
//!
//! A line is an object, or several one in the other with ` + ` between. The tool prints sizes rounded to its
//! unit. Numbers after `P#` are the operating system's; a text that has only `L#` for its PUs (`lstopo -l`)
//! says no id that a launcher takes, and is refused.

use stats::{IdSet, PciAddress};

use super::tree::{Kind, Object, OsDevice, PciDevice, Tree};

/// The tree; `None` where no line is a machine.
///
/// # Errors
/// Why the text cannot be used.
pub(super) fn read(lines: &[&str]) -> Result<Option<Tree>, String> {
    let Some(start) = lines.iter().position(|line| is_machine(line)) else { return Ok(None) };
    let margin = indentation(lines[start]);
    let lines = with_whole_values(&lines[start..]);
    let mut tree = Tree::default();

    // The last object of each line that may still be a parent, with the line's indentation.
    let mut open: Vec<(usize, usize)> = Vec::new();

    for (at, line) in lines.iter().enumerate() {
        let indent = indentation(line);
        if at > 0 && (line.trim().is_empty() || indent <= margin) {
            break;
        }
        open.retain(|(above, _)| *above < indent);
        let mut parent = open.last().map(|(_, object)| *object);
        let found = objects(line.trim());
        if found.is_empty() {
            tree.unread += 1;
        }
        for mut object in found {
            object.parent = parent;
            // Devices in braces stand beside each other.
            let has_siblings = matches!(object.kind, Kind::Pci(_));
            tree.objects.push(object);
            if !has_siblings || !line.contains('{') {
                parent = Some(tree.objects.len() - 1);
            }
        }
        open.extend(parent.filter(|_| !tree.objects.is_empty()).map(|object| (indent, object)));
    }

    let pus = tree.objects.iter().filter(|object| object.kind == Kind::Pu);
    if pus.clone().next().is_none() {
        return Err("the text of lstopo has no PU: it is cut off, or filtered; give it whole".to_owned());
    }

    if pus.clone().any(|pu| pu.os_index.is_none()) {
        return Err("the text of lstopo numbers PUs by L# alone, which no other tool knows: print it again \
            without -l"
            .to_owned());
    }

    let mut seen = IdSet::default();

    for pu in pus.filter_map(|pu| pu.os_index) {
        if !seen.0.insert(pu) {
            return Err(format!("the text of lstopo has PU {pu} twice"));
        }
    }
    Ok(Some(tree.complete()))
}

fn is_machine(line: &str) -> bool {
    let rest = line.trim().strip_prefix("Machine");
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(" (") || rest.starts_with(" L#") || rest.starts_with(" P#")
    })
}

/// The lines, those of a quoted value that goes on over several (`lstopo -v`) as one.
fn with_whole_values(lines: &[&str]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for line in lines {
        match whole.last_mut() {
            Some(last) if last.matches('"').count() % 2 == 1 => *last = format!("{last} {line}"),
            _ => whole.push((*line).to_owned()),
        }
    }
    whole
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The objects of one line, each in the one before; none for a line of another kind.
fn objects(line: &str) -> Vec<Object> {
    if let Some((_, inside)) = line.split_once(" x { ") {
        return inside.strip_suffix(" }").map(devices).unwrap_or_default();
    }
    // A verbose line is one object, with values that may hold anything.
    let parts: Vec<&str> = if line.contains('=') { vec![line] } else { line.split(" + ").collect() };
    let found: Option<Vec<Object>> = parts.into_iter().map(object).collect();
    found.unwrap_or_default()
}

fn object(text: &str) -> Option<Object> {
    let end = text.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    // `NUMANode(HBM)`, right behind the word.
    let inside = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let subtype = inside.map(|(subtype, _)| subtype.to_owned());
    let rest = inside.map_or(rest, |(_, rest)| rest);
    let kind = match word {
        "Machine" => Kind::Machine,
        "Package" | "Socket" => Kind::Package,
        "NUMANode" => Kind::NumaNode,
        "L3" | "L3Cache" => Kind::L3,
        "Core" => Kind::Core,
        "PU" => Kind::Pu,
        "HostBridge" => Kind::HostBridge,
        "PCIBridge" | "Bridge" => Kind::PciBridge,
        "PCI" => Kind::Pci(pci(rest)?),
        "GPU" => Kind::OsDevice(OsDevice::Gpu),
        "CoProc" | "Co-Processor" => Kind::OsDevice(OsDevice::CoProcessor),
        "Net" | "Network" => Kind::OsDevice(OsDevice::Network),
        "OpenFabrics" => Kind::OsDevice(OsDevice::OpenFabrics),
        "Block" | "DMA" | "Misc" | "Memory" | "OSDev" => Kind::OsDevice(OsDevice::Other),
        "MemCache" | "MemSideCache" => Kind::Other("MemCache"),
        "Die" => Kind::Other("Die"),
        word if word.starts_with("Group") => Kind::Other("Group"),
        word if is_cache(word) => Kind::Other("Cache"),
        _ => return None,
    };

    let number = |sign: &str| {
        let digits = rest.split(sign).nth(1)?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u32>().ok()
    };
    let os_index = if kind.is_io() { None } else { number("P#") };

    Some(Object {
        kind,
        os_index,
        bytes: if kind.is_io() { None } else { size(rest) },
        subtype,
        name: rest
            .trim_end()
            .strip_suffix('"')
            .and_then(|rest| rest.rsplit('"').next())
            .filter(|_| matches!(kind, Kind::OsDevice(_)))
            .map(str::to_owned),
        parent: None,
        pus: os_index.filter(|_| kind == Kind::Pu).into_iter().collect(),
    })
}

/// Caches other than L3: `L2`, `L1d`, `L1iCache`.
fn is_cache(word: &str) -> bool {
    let word = word.strip_suffix("Cache").unwrap_or(word);
    let level = word.strip_prefix('L').map(|level| level.trim_end_matches(['d', 'i']));
    level.is_some_and(|level| !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first size of a text: `(P#0 31GB)`, `(size=19712KB …)`, `(P#0 local=402653184KB total=402653184KB)`.
fn size(text: &str) -> Option<u64> {
    let words = text.split([' ', '(', ')', '=']);
    words
        .filter_map(|word| {
            let digits = word.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0)?;
            let shift = match &word[digits..] {
                "KB" => 10,
                "MB" => 20,
                "GB" => 30,
                "TB" => 40,
                _ => return None,
            };
            word[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)
        })
        .next()
}

/// ` d1:00.0 (Display)`, ` 10de:1db6`, ` L#3 (busid=0000:3f:00.0 id=1002:66a1 class=0380(Display)
/// link=15.00GB/s)`.
fn pci(text: &str) -> Option<PciDevice> {
    if let Some((_, rest)) = text.split_once("busid=") {
        let (address, rest) = rest.split_once(' ')?;
        let id = rest.strip_prefix("id=").and_then(|rest| ids(rest.split(' ').next()?));
        let class = rest.split_once("class=").and_then(|(_, class)| class.split_once('(')?.1.split_once(')'));
        return Some(PciDevice {
            address: address.parse().ok(),
            ids: id,
            class: class.and_then(|(class, _)| class_name(class)),
        });
    }

    let mut words = text.split_whitespace();
    let first = words.next()?;
    let class = words.next().and_then(|word| class_name(word.strip_prefix('(')?.strip_suffix(')')?));

    match ids(first) {
        Some(ids) => Some(PciDevice { address: None, ids: Some(ids), class }),
        None => Some(PciDevice { address: Some(first.parse().ok()?), ids: None, class }),
    }
}

/// `10de:1db6`; an address has a point.
fn ids(word: &str) -> Option<(u16, u16)> {
    let (vendor, device) = word.split_once(':')?;
    let hex = |digits: &str| (digits.len() == 4).then(|| u16::from_str_radix(digits, 16).ok())?;
    Some((hex(vendor)?, hex(device)?))
}

/// hwloc's word for a PCI class (`hwloc_pci_class_string`); those that the model does not ask for are
/// `other`.
fn class_name(word: &str) -> Option<&'static str> {
    let known =
        ["VGA", "3D", "Display", "ProcessingAccelerator", "Ethernet", "InfiniBand", "Fabric", "Network"];
    Some(known.into_iter().find(|known| *known == word).unwrap_or("other"))
}

/// The devices of `PCI 0b:00.1-3 (Ethernet)`: from the first address to one that differs in its end.
fn devices(text: &str) -> Vec<Object> {
    let read = || {
        let mut words = text.split_whitespace();
        let (kind, range) = (words.next()?, words.next()?);
        let class = words.next().and_then(|word| class_name(word.strip_prefix('(')?.strip_suffix(')')?));
        let (first, last) = range.split_once('-').unwrap_or((range, ""));
        let first: PciAddress = first.parse().ok().filter(|_| kind.starts_with("PCI"))?;
        let numbers: Vec<PciAddress> = match last.split_once('.') {
            None => {
                let last = u8::from_str_radix(last, 16).ok()?;
                (first.function..=last).map(|function| PciAddress { function, ..first }).collect()
            }
            Some((device, _)) => {
                let last = u8::from_str_radix(device, 16).ok()?;
                (first.device..=last).map(|device| PciAddress { device, ..first }).collect()
            }
        };

        let device = |address| Object {
            kind: Kind::Pci(PciDevice { address: Some(address), ids: None, class }),
            os_index: None,
            bytes: None,
            subtype: None,
            name: None,
            parent: None,
            pus: IdSet::default(),
        };
        Some(numbers.into_iter().map(device).collect())
    };

    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Result<Tree, String> {
        read(&text.lines().collect::<Vec<_>>()).map(Option::unwrap_or_default)
    }

    #[test]
    fn numa_nodes_have_the_cpus_beside_them_or_below_them() -> Result<(), String> {
        let second = "Machine (62GB total) + Package L#0\n  NUMANode L#0 (P#1 31GB)\n  L3 L#0 (32MB)\n    \
            Core L#0\n      PU L#0 (P#4)\n      PU L#1 (P#6)\n";
        let first = "Machine (62GB)\n  NUMANode L#0 (P#1 31GB) + Socket L#0 + L3 L#0 (32MB)\n    Core \
            L#0\n      PU L#0 (P#4)\n      PU L#1 (P#6)\n";

        for text in [first, second] {
            let tree = tree(text)?;
            let node = &tree.nodes()[0];
            assert_eq!(
                (node.os_index, node.pus.to_string().as_str(), node.total_bytes),
                (1, "4,6", 31 << 30),
                "{text}"
            );
            assert_eq!(tree.cores().len(), 1);
            assert_eq!(tree.l3s()[0].size_bytes, Some(32 << 20));
        }
        Ok(())
    }

    #[test]
    fn a_device_hangs_from_what_its_bridges_are_in() -> Result<(), String> {
        let text = "Machine (62GB total)\n  Package P#0\n    NUMANode P#0 (31GB)\n    L3 P#0 (32MB)\n      \
            Core P#0 + PU P#0\n      HostBridge\n        PCIBridge\n          PCI d1:00.0 \
            (Display)\n            GPU(RSMI) \"rsmi4\"\n    L3 P#1 (32MB)\n      Core P#1 + PU P#1\n\
            prompt$ ls\n";
        let tree = tree(text)?;
        let gpu =
            tree.objects.iter().position(|object| matches!(object.kind, Kind::Pci(_))).ok_or("no device")?;
        let at = tree.attachment(gpu);
        assert_eq!(
            (at.object.as_str(), at.pus.to_string().as_str(), at.nodes.to_string().as_str()),
            ("L3Cache", "0", "0")
        );
        assert_eq!(
            tree.children(gpu).filter_map(|child| child.name.as_deref()).collect::<Vec<_>>(),
            ["rsmi4"]
        );
        assert_eq!(tree.pci_path(gpu).bridges.len(), 1);

        Ok(())
    }

    #[test]
    fn devices_of_each_form_are_read() {
        let address = |text: &str| text.parse().ok();
        let short = pci(" 0000:c1:00.0 (3D)");
        assert_eq!(short.and_then(|device| device.address), address("c1:00.0"));
        let old = pci(" 10de:1db6");
        assert_eq!(old.and_then(|device| device.ids), Some((0x10de, 0x1db6)));
        let long = pci(" L#3 (busid=0000:3f:00.0 id=1002:66a1 class=0380(Display) link=15.00GB/s)");
        assert_eq!(
            long.map(|device| (device.ids, device.class)),
            Some((Some((0x1002, 0x66a1)), Some("Display")))
        );
        assert_eq!(objects("3 x { PCI 0b:00.1-3 (Ethernet) }").len(), 3);
        assert_eq!(objects("8 x { PCI 00:06.0-0d.0 (3D) }").len(), 8);
    }

    #[test]
    fn a_text_without_usable_pus_is_refused() {
        assert!(tree("Machine\n  PU L#0\n").is_err_and(|why| why.contains("L# alone")));
        assert!(tree("Machine\n  Package P#0\n").is_err_and(|why| why.contains("no PU")));
        assert!(tree("Machine\n  PU P#0\n  PU P#0\n").is_err_and(|why| why.contains("PU 0 twice")));
    }
}
