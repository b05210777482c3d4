//! The picture: every place, PU, GPU and adapter has one box, in the box that it belongs to, with its words
//! and its tooltip. That nothing overlaps and nothing leaves its box is tested where the picture is laid out.
//! Some 410 lines because each part of the picture has its property.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use roxmltree::{Document, Node};
use stats::IdSet;
use stats::units::rounded_size;
use topo::Survey;
use topo::model::{Locality, NodeKind, NumaNode, PuStatus, Rung, Topology};

use crate::file::{Outcome, each};
use crate::page::{WIDE, listed, section};
use crate::words::{gpu_name, known_from, link_words, near_nodes, nic_name, other_link};

/// A box of the picture.
struct Drawn {
    tooltip: String,
    texts: Vec<String>,
    /// The PUs drawn in it.
    pus: IdSet,
    /// The box around it.
    around: Option<usize>,
}

fn drawn(picture: &str) -> Result<Vec<Drawn>, Box<dyn Error>> {
    let document = Document::parse(picture)?;
    let is_box = |node: &Node<'_, '_>| node.tag_name().name() == "g";
    let groups: Vec<Node<'_, '_>> = document.descendants().filter(is_box).collect();
    let parts = |group: &Node<'_, '_>, name: &'static str| -> Vec<String> {
        let parts = group.children().filter(|part| part.tag_name().name() == name);
        parts.filter_map(|part| part.text()).map(str::to_owned).collect()
    };
    let pu = |group: &Node<'_, '_>| {
        let tooltip = parts(group, "title").concat();
        tooltip.strip_prefix("PU ")?.split([' ', ':']).next()?.parse::<u32>().ok()
    };
    let of = |group: &Node<'_, '_>| Drawn {
        tooltip: parts(group, "title").concat(),
        texts: parts(group, "text"),
        pus: group.descendants().filter(is_box).filter_map(|part| pu(&part)).collect(),
        around: group.parent().and_then(|parent| groups.iter().position(|other| *other == parent)),
    };
    Ok(groups.iter().map(of).collect())
}

/// The one box with this tooltip.
fn only_box<'d>(boxes: &'d [Drawn], tooltip: &str) -> Result<&'d Drawn, Box<dyn Error>> {
    let found: Vec<&Drawn> = boxes.iter().filter(|one| one.tooltip == tooltip).collect();
    if let [only] = found[..] { Ok(only) } else { Err(format!("{} boxes \"{tooltip}\"", found.len()).into()) }
}

/// That a box says these words, where the room is short the first of each.
fn says(found: &Drawn, words: &[String]) -> Outcome {
    let fits = |(shown, whole): (&String, &String)| {
        shown == whole || shown.strip_suffix('…').is_some_and(|begin| whole.starts_with(begin))
    };
    let same = found.texts.len() == words.len() && found.texts.iter().zip(words).all(fits);
    if same { Ok(()) } else { Err(format!("{}: {:?}, not {words:?}", found.tooltip, found.texts).into()) }
}

fn pus(ids: &IdSet) -> String {
    format!("PU{} {}", if ids.len() == 1 { "" } else { "s" }, listed(ids))
}

#[test]
fn each_place_has_one_box_with_its_own_pus_in_it() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let boxes = drawn(&topo::svg::svg(machine.survey))?;
        let holds = |tooltip: String, pus: &IdSet| -> Outcome {
            let found = only_box(&boxes, &tooltip)?;
            assert_eq!(found.pus, *pus, "{}: {tooltip}", machine.name);
            Ok(())
        };
        for package in &topology.packages {
            let id = package.os_index.map_or("?".to_owned(), |id| id.to_string());
            let model = package.cpu_model.as_deref().unwrap_or("CPU model not known");
            let tooltip = format!("package {id}: {model}\n{}", pus(&package.pus));
            holds(tooltip.clone(), &package.pus)?;
            let mut words = vec![format!("Package {id}")];
            words.extend(common_cpu(topology).is_none().then(|| model.to_owned()));
            says(only_box(&boxes, &tooltip)?, &words)?;
        }
        for l3 in &topology.l3s {
            let size = l3.size_bytes.map_or(String::new(), |bytes| format!(" {}", rounded_size(bytes)));
            let tooltip = format!("L3{size}: {}", pus(&l3.pus));
            holds(tooltip.clone(), &l3.pus)?;
            says(only_box(&boxes, &tooltip)?, &[format!("L3{size}"), pus(&l3.pus)])?;
        }
        for node in topology.nodes.iter().filter(|node| node.kind != NodeKind::Empty) {
            let inside = if is_place(node) { node.pus.clone() } else { IdSet::default() };
            let list = if is_place(node) { pus(&inside) } else { "no CPUs".to_owned() };
            let tooltip = format!("NUMA node {}: {list}", node.os_index);
            holds(tooltip.clone(), &inside)?;
            let found = only_box(&boxes, &tooltip)?;
            says(found, &[format!("NUMA node {}", node.os_index), list])?;
            if !is_place(node) {
                let around = &boxes[found.around.ok_or("in nothing")?];
                assert_eq!(
                    around.tooltip,
                    around_memory(&boxes, topology, node),
                    "{}: {tooltip}",
                    machine.name
                );
            }
            says(
                only_box(&boxes, &format!("memory of NUMA node {}", node.os_index))?,
                &memory(machine.survey, node),
            )?;
        }
        let spare = topology.nodes.iter().filter(|node| node.kind == NodeKind::Empty);
        let spare: IdSet = spare.map(|node| node.os_index).collect();
        if !spare.is_empty() {
            let words = format!("NUMA nodes {}", listed(&spare));
            says(only_box(&boxes, &words)?, &[words.clone(), "neither memory nor CPUs".to_owned()])?;
        }
        let offline = &topology.allowed.offline_pus;
        if !offline.is_empty() {
            holds(format!("Offline, or left out of the file: {}", pus(offline)), offline)?;
        }
        Ok(())
    })
}

/// The model of the CPU, where all packages have the same or none has one.
fn common_cpu(topology: &Topology) -> Option<Option<&str>> {
    let models: BTreeSet<Option<&str>> =
        topology.packages.iter().map(|package| package.cpu_model.as_deref()).collect();
    models.first().copied().filter(|_| models.len() == 1)
}

/// Without spaces: where lines are broken depends on the room.
fn letters(words: &str) -> String {
    words.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn the_picture_begins_with_the_host_what_it_has_and_its_cpu() -> Outcome {
    each(|machine| {
        let boxes = drawn(&topo::svg::svg(machine.survey))?;
        let view = topo::text::render(machine.survey, WIDE);
        let mut first = view.lines();
        let (title, read_from) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let title = title.strip_prefix("(host name not known): ").unwrap_or(title);
        let cpu =
            common_cpu(&machine.survey.topology).flatten().map_or(String::new(), |cpu| format!("{cpu}; "));
        let (shown, whole) =
            (letters(&boxes[0].texts.concat()), letters(&format!("{title}{cpu}{read_from}")));
        // A word that is wider than the picture is cut.
        assert!(
            shown == whole || shown.contains('…') && machine.name == "hostile-names",
            "{}: {shown}",
            machine.name
        );
        let devices = machine.survey.topology.gpus.iter().map(|gpu| &gpu.locality);
        let devices = devices.chain(machine.survey.nics.iter().map(|nic| &nic.locality));
        let unknown =
            devices.filter(|locality| locality.rung == Rung::Unknown).map(|locality| &*locality.reason);
        let mut words: Vec<&str> = unknown.collect::<BTreeSet<&str>>().into_iter().collect();
        words.splice(0..0, (!words.is_empty()).then_some("Locality unknown"));
        let apart = boxes.iter().filter(|one| one.tooltip == "locality unknown").flat_map(|one| &one.texts);
        assert_eq!(
            letters(&apart.cloned().collect::<String>()),
            letters(&words.concat()),
            "{}",
            machine.name
        );
        Ok(())
    })
}

fn is_place(node: &NumaNode) -> bool {
    matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly)
}

/// The tooltip of the box that memory without CPUs is in: its package, or what in that has just the PUs
/// around it; the machine (none) where no package or several have the node.
fn around_memory<'d>(boxes: &'d [Drawn], topology: &Topology, node: &NumaNode) -> &'d str {
    let packages: Vec<_> =
        topology.packages.iter().filter(|package| package.nodes.contains(node.os_index)).collect();
    let [package] = packages[..] else { return "" };
    let tighter = !node.pus.is_empty() && node.pus != package.pus;
    let id = package.os_index.map_or("?".to_owned(), |id| id.to_string());
    let places = boxes.iter().filter(|one| match tighter {
        true => one.pus == node.pus && !one.tooltip.is_empty(),
        false => one.tooltip.starts_with(&format!("package {id}:")),
    });
    places.map(|one| &*one.tooltip).next().unwrap_or("nowhere")
}

fn memory(survey: &Survey, node: &NumaNode) -> Vec<String> {
    let size = match (node.total_bytes, node.free_bytes) {
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", rounded_size(total), rounded_size(free)),
        (total, None) => rounded_size(total),
    };
    let is_gpus = node.kind == NodeKind::GpuMemory;
    let subtype =
        node.subtype.as_ref().filter(|_| !is_gpus).map_or(String::new(), |subtype| format!(" ({subtype})"));
    let mut lines = vec![format!("{size}{subtype}")];
    if is_gpus {
        let near = survey.topology.gpus.iter().filter(|gpu| gpu.locality.nodes.contains(node.os_index));
        let owners: Vec<u32> = near.map(|gpu| gpu.index).collect();
        let owner = if let [only] = owners[..] { format!("GPU {only}") } else { "a GPU".to_owned() };
        lines.push(format!("the memory of {owner}, not for host buffers"));
    }
    lines.extend((!node.allowed && node.total_bytes > 0).then(|| "not allowed here".to_owned()));
    for pages in survey.huge_pages.iter().filter(|pages| pages.node == node.os_index && pages.total > 0) {
        let free = pages.free.map_or(String::new(), |free| format!(" ({free} free)"));
        lines.push(format!("huge pages: {} of {}{free}", pages.total, rounded_size(pages.page_bytes)));
    }
    lines
}

#[test]
fn each_pu_has_one_box_that_says_its_core_and_whether_it_may_be_used() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let boxes = drawn(&topo::svg::svg(machine.survey))?;
        let of_pus = boxes.iter().filter(|one| one.tooltip.starts_with("PU "));
        let mut shown: Vec<(&str, &[String])> = of_pus.map(|one| (&*one.tooltip, &one.texts[..])).collect();
        shown.sort_unstable();
        let reserved = machine.name == "lumi-g-low-noise";
        let cells = topology.pus.iter().map(|pu| {
            let core = topology.cores.iter().find(|core| core.pus.contains(pu.os_index));
            let core =
                core.and_then(|core| core.os_index).map_or(String::new(), |core| format!(" of core {core}"));
            let state = match pu.status {
                PuStatus::Allowed => "allowed",
                PuStatus::NotInCgroup if reserved => "reserved (as many cores in every L3)",
                PuStatus::NotInCgroup => "outside the cpuset",
                PuStatus::NotInAffinity => "outside the affinity",
                PuStatus::Offline => "offline, or left out of the file",
            };
            (format!("PU {}{core}: {state}", pu.os_index), vec![pu.os_index.to_string()])
        });
        let mut expected: Vec<(String, Vec<String>)> = cells.collect();
        expected.sort_unstable();
        let expected: Vec<(&str, &[String])> =
            expected.iter().map(|(tip, texts)| (&**tip, &texts[..])).collect();
        assert_eq!(shown, expected, "{}", machine.name);
        for core in &topology.cores {
            let id = core.os_index.map_or(String::new(), |id| format!(" {id}"));
            let with_words =
                boxes.iter().filter(|one| one.tooltip == format!("core{id}: {}", pus(&core.pus)));
            assert_eq!(
                with_words.map(|one| &one.pus).collect::<Vec<_>>(),
                [&core.pus],
                "{}: core{id}",
                machine.name
            );
        }
        Ok(())
    })
}

/// That a device is in the box of just its near PUs where there is one, else in the smallest around them, or
/// with those of unknown places.
fn is_near(boxes: &[Drawn], found: &Drawn, locality: &Locality, topology: &Topology) -> Outcome {
    let around = &boxes[found.around.ok_or("in nothing")?];
    if locality.rung == Rung::Unknown {
        assert_eq!(around.tooltip, "locality unknown", "{}", found.tooltip);
        return Ok(());
    }
    let near = locality.pus.or(&locality.outside_pus);
    let places = ["package ", "NUMA node ", "L3"];
    let places = boxes.iter().filter(|one| places.iter().any(|place| one.tooltip.starts_with(place)));
    let least =
        places.filter(|one| near.is_subset(&one.pus)).map(|one| one.pus.len()).min().ok_or("no place")?;
    assert!(
        near.is_subset(&around.pus) && around.pus.len() == least,
        "{} in {}",
        found.tooltip,
        around.tooltip
    );
    // The largest of several boxes with the same PUs: no box around it but the machine has just these.
    let outer = around.around.map(|outer| &boxes[outer]).filter(|outer| !outer.tooltip.is_empty());
    let alike = outer.is_some_and(|outer| outer.pus == around.pus && topology.packages.len() > 1);
    assert!(!alike || around.pus != near, "{} in {}", found.tooltip, around.tooltip);
    Ok(())
}

fn how_known(locality: &Locality) -> String {
    format!("locality from {}: {}", known_from(locality.rung), locality.reason)
}

#[test]
fn each_gpu_has_one_card_in_the_place_that_it_is_near() -> Outcome {
    each(|machine| {
        let topology = &machine.survey.topology;
        let boxes = drawn(&topo::svg::svg(machine.survey))?;
        for gpu in &topology.gpus {
            let usable = gpu.locality.pus.and(&topology.allowed.pus);
            let firsts =
                topology.cores.iter().filter_map(|core| core.pus.iter().find(|pu| usable.contains(*pu)));
            let (firsts, nodes) = (firsts.collect::<IdSet>(), near_nodes(topology, &gpu.locality));
            let noun = if nodes.contains(['-', ',']) { "nodes" } else { "node" };
            let place = if nodes == "-" { String::new() } else { format!("{noun} {nodes}, ") };
            let near = match firsts.len() {
                _ if gpu.locality.rung == Rung::Unknown => "local cores unknown".to_owned(),
                0 => format!("{place}no local core allowed"),
                1 => format!("{place}core {}", listed(&firsts)),
                _ => format!("{place}cores {}", listed(&firsts)),
            };
            let uuid = gpu.uuid.as_ref().map_or(String::new(), |uuid| format!("\nUUID {uuid}"));
            let (name, known) = (gpu_name(gpu), how_known(&gpu.locality));
            let card = only_box(
                &boxes,
                &format!("GPU {} at {}: {name}{uuid}\n{near}\n{known}", gpu.index, gpu.pci),
            )?;
            is_near(&boxes, card, &gpu.locality, topology)?;
            let link = gpu.link.as_ref().map(|link| format!("PCIe {}", link_words(link)));
            let mut ways: Vec<String> =
                other_link(machine.name).map(str::to_owned).or(link).into_iter().collect();
            ways.extend((!gpu.os_devices.is_empty()).then(|| gpu.os_devices.join(", ")));
            let mut words = vec![format!("GPU {}", gpu.index), gpu.pci.to_string(), name, near];
            words.extend((!ways.is_empty()).then(|| ways.join(" · ")));
            says(card, &words)?;
        }
        let cards = boxes.iter().filter(|one| one.tooltip.starts_with("GPU ")).count();
        assert_eq!(cards, topology.gpus.len(), "{}", machine.name);
        Ok(())
    })
}

#[test]
fn each_network_adapter_has_one_card_in_the_place_that_it_is_near() -> Outcome {
    each(|machine| {
        let boxes = drawn(&topo::svg::svg(machine.survey))?;
        for nic in &machine.survey.nics {
            let names = nic.os_devices.join(", ");
            let (heading, name) = (format!("NIC {names}").trim_end().to_owned(), nic_name(nic));
            let card =
                only_box(&boxes, &format!("{heading} at {}: {name}\n{}", nic.pci, how_known(&nic.locality)))?;
            is_near(&boxes, card, &nic.locality, &machine.survey.topology)?;
            let mut words = vec![heading, nic.pci.to_string(), name];
            words.extend(nic.link.as_ref().map(|link| format!("PCIe {}", link_words(link))));
            says(card, &words)?;
        }
        let cards = boxes.iter().filter(|one| one.tooltip.starts_with("NIC")).count();
        assert_eq!(cards, machine.survey.nics.len(), "{}", machine.name);
        Ok(())
    })
}

#[test]
fn the_legend_explains_what_is_drawn_and_the_notes_say_what_is_not_known() -> Outcome {
    each(|machine| {
        let (survey, topology, name) = (machine.survey, &machine.survey.topology, machine.name);
        let boxes = drawn(&topo::svg::svg(survey))?;
        let count = |words: &str| boxes.iter().filter(|one| one.texts == [words]).count();
        let some = |status: PuStatus| topology.pus.iter().any(|pu| pu.status == status);
        let (reserved, siblings) =
            (name == "lumi-g-low-noise", topology.cores.iter().any(|core| core.pus.len() > 1));
        let forbidden =
            |node: &NumaNode| !node.allowed && node.total_bytes > 0 && node.kind != NodeKind::GpuMemory;
        let entries = BTreeMap::from([
            ("PU, allowed", some(PuStatus::Allowed)),
            ("PU, reserved (as many cores in every L3)", reserved),
            ("PU, outside the cpuset", some(PuStatus::NotInCgroup) && !reserved),
            ("PU, outside the affinity", some(PuStatus::NotInAffinity)),
            ("PU, offline, or left out of the file", some(PuStatus::Offline)),
            ("core, its PUs side by side", siblings),
            ("core", !siblings),
            ("L3 cache and its cores", !topology.l3s.is_empty()),
            ("NUMA node", true),
            ("memory", topology.nodes.iter().any(|node| node.allowed && node.total_bytes > 0)),
            ("memory, not allowed here", topology.nodes.iter().any(forbidden)),
            ("memory of a GPU", topology.nodes.iter().any(|node| node.kind == NodeKind::GpuMemory)),
            ("package", !topology.packages.is_empty()),
            ("GPU, in what is local to it", !topology.gpus.is_empty()),
            ("NIC, in what is local to it", !survey.nics.is_empty()),
        ]);
        for (words, wanted) in entries {
            assert_eq!(count(words), usize::from(wanted), "{name}: {words}");
        }
        let notes = |heading: &str| {
            let found = boxes.iter().find(|one| one.texts.first().is_some_and(|first| first == heading));
            found.map_or(String::new(), |one| one.texts[1..].join(" "))
        };
        let view = topo::text::render(survey, WIDE);
        let missing = section(&view, "not usable from here");
        let missing: Vec<&str> = missing.iter().skip(1).map(|line| line.trim()).collect();
        assert_eq!(notes("Not usable from here"), missing.join(" "), "{name}");
        let why = notes("Which cores for which GPU").replace("attaches each to", "attaches it to");
        for gpu in topology.gpus.iter().filter(|gpu| gpu.locality.rung != Rung::Unknown) {
            assert!(why.contains(&gpu.locality.reason), "{name}: {} in {why}", gpu.locality.reason);
        }
        let told = [("NVLink", &survey.interconnect.nvlink), ("XGMI", &survey.interconnect.xgmi)];
        let told = told.into_iter().filter_map(|(what, told)| {
            Some(format!("{what} is not known: {}", told.as_ref()?.reason.as_ref()?))
        });
        let told: Vec<String> = told.filter(|_| topology.gpus.len() > 1).collect();
        let with_links = survey.interconnect.pairs.iter().any(|pair| pair.fabric.is_some());
        assert!(with_links || notes("Links between GPUs") == told.join(" "), "{name}: {told:?}");
        let every_two = "every two of GPUs 0-2: NV12, 300.00 GB/s in each direction";
        assert_eq!(count(every_two), usize::from(name == "nvlink-matrix"), "{name}");
        Ok(())
    })
}
