//! Pictures of many machines, judged as they are drawn: nothing overlaps, everything fits, and all that there
//! is can be read.

mod geometry;
mod machines;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use geometry::{faults, groups, tooltip};
use machines::{Devices, bare, near, nowhere};
use proptest::prelude::*;
use roxmltree::{Document, Node};
use stats::IdSet;

use super::links::GpuLink;
use super::{svg, with_links};
use crate::model::{NodeKind, PuStatus, Rung};
use crate::survey::Survey;

type Outcome = Result<(), Box<dyn Error>>;

/// The captures, which are not part of the repository (see tests/captures.rs).
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn captures(test: &str) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from).join("xml");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED {test}: no captures at {} (set NUMABENCH_TOPOLOGIES)", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    files
}

/// What is not as it should be in the picture of a machine.
fn wrong(survey: &Survey) -> Result<Vec<String>, Box<dyn Error>> {
    wrong_in(survey, &svg(survey))
}

/// The same of this picture of it.
fn wrong_in(survey: &Survey, picture: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut wrong = faults(picture)?;
    let document = Document::parse(picture)?;
    let words: Vec<&str> =
        document.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect();
    let topology = &survey.topology;
    let mut must = |what: String, there: bool| {
        if !there {
            wrong.push(format!("there is no {what}"));
        }
    };
    let drawn = drawn_pus(&document.root_element());
    for pu in &topology.pus {
        must(format!("PU {} (or it is there twice)", pu.os_index), drawn.get(&pu.os_index) == Some(&1));
    }
    for gpu in &topology.gpus {
        let card = card(&document, &format!("GPU {} at {}", gpu.index, gpu.pci));
        must(format!("card of GPU {}", gpu.index), card.is_some());
        must(format!("address {}", gpu.pci), words.contains(&gpu.pci.to_string().as_str()));
        let Some(place) = card.and_then(|card| card.parent()) else { continue };
        let local = gpu.locality.pus.or(&gpu.locality.outside_pus);
        let around: IdSet = drawn_pus(&place).into_keys().collect();
        if gpu.locality.rung == Rung::Unknown {
            must("place with PUs for a GPU whose place is unknown".to_owned(), around.is_empty());
            must("group of unknown localities".to_owned(), tooltip(&place) == "locality unknown");
        } else {
            must(
                format!("box around GPU {} with its PUs {local}: {around}", gpu.index),
                local.is_subset(&around),
            );
        }
    }
    for node in topology.nodes.iter().filter(|node| node.kind != NodeKind::Empty) {
        let words = format!("NUMA node {}", node.os_index);
        must(words.clone(), card(&document, &format!("{words}:")).is_some());
    }
    for nic in survey.nics.iter().filter(|nic| !nic.os_devices.is_empty()) {
        must(format!("NIC {}", nic.pci), words.contains(&nic.pci.to_string().as_str()));
    }
    Ok(wrong)
}

/// How often each PU is in a group or below it.
fn drawn_pus(group: &Node<'_, '_>) -> BTreeMap<u32, u32> {
    let mut pus = BTreeMap::new();
    for part in group.descendants().filter(|part| tooltip(part).starts_with("PU ")) {
        let id = part.descendants().find_map(|text| text.text().filter(|_| text.tag_name().name() == "text"));
        if let Some(id) = id.and_then(|id| id.parse().ok()) {
            *pus.entry(id).or_insert(0) += 1;
        }
    }
    pus
}

/// The group whose tooltip begins so.
fn card<'a, 'input>(document: &'a Document<'input>, begins: &str) -> Option<Node<'a, 'input>> {
    document.descendants().find(|node| node.is_element() && tooltip(node).starts_with(begins))
}

#[test]
fn nothing_overlaps_everything_fits_and_nothing_is_missing_in_made_up_machines() -> Outcome {
    for (name, survey) in machines::all()? {
        assert_eq!(wrong(&survey)?, [""; 0], "{name}");
    }
    Ok(())
}

#[test]
fn nothing_overlaps_everything_fits_and_nothing_is_missing_in_real_machines() -> Outcome {
    for path in captures("pictures of real machines") {
        let survey = crate::survey_xml(&path)?;
        assert_eq!(wrong(&survey)?, [""; 0], "{}", path.display());
    }
    Ok(())
}

#[test]
fn a_gpu_is_in_the_box_of_just_its_local_pus_and_its_card_says_the_cores() -> Outcome {
    let picture = svg(&machines::lumi_g()?);
    let document = Document::parse(&picture)?;
    for (gpu, pus, cores) in [(0, "96-111", "98-110:2"), (4, "0-15", "2-14:2"), (7, "80-95", "82-94:2")] {
        let card = card(&document, &format!("GPU {gpu} at ")).ok_or("no card")?;
        let place = card.parent().ok_or("in nothing")?;
        assert_eq!(tooltip(&place), format!("L3 16 MiB: PUs {pus}"));
        assert_eq!(drawn_pus(&place).into_keys().collect::<IdSet>().to_string(), pus);
        let says: Vec<&str> = card
            .children()
            .filter(|text| text.tag_name().name() == "text")
            .filter_map(|text| text.text())
            .collect();
        assert!(says.iter().any(|line| line.ends_with(&format!("cores {cores}"))), "{says:?}");
    }
    Ok(())
}

#[test]
fn what_may_not_be_used_looks_different_and_the_legend_says_how() -> Outcome {
    let mut survey = machines::lumi_g()?;
    for (pu, status) in [(20, PuStatus::NotInCgroup), (21, PuStatus::Offline), (22, PuStatus::NotInAffinity)]
    {
        survey.topology.pus[pu].status = status;
    }
    let picture = svg(&survey);
    let document = Document::parse(&picture)?;
    let drawn = |pu: u32| -> Result<String, Box<dyn Error>> {
        let cell = card(&document, &format!("PU {pu} of")).ok_or("no cell")?;
        let parts = cell.children().filter(|part| ["rect", "path"].contains(&part.tag_name().name()));
        Ok(parts
            .map(|part| format!("{:?}{:?}", part.attribute("fill"), part.attribute("stroke-dasharray")))
            .collect())
    };
    let looks: Vec<String> = [2, 0, 20, 21, 22].into_iter().map(drawn).collect::<Result<_, _>>()?;
    for (at, look) in looks.iter().enumerate() {
        assert!(!looks[at + 1..].contains(look), "{looks:?}");
    }
    for words in
        ["PU, allowed", "PU, reserved", "PU, outside the cpuset", "PU, offline", "PU, outside the affinity"]
    {
        assert!(picture.contains(words), "{words}");
    }
    assert!(!svg(&machines::eight_gpus()?).contains("reserved"), "only what is there is explained");
    Ok(())
}

#[test]
fn each_kind_of_node_is_drawn_as_what_it_is() -> Outcome {
    let mut survey = machines::superchips()?;
    survey.topology.nodes[2].total_bytes = 0;
    survey.topology.nodes[2].kind = NodeKind::CpuOnly;
    survey.topology.nodes[3].kind = NodeKind::MemoryOnly;
    (survey.topology.nodes[4].allowed, survey.topology.nodes[4].total_bytes) = (false, 64 << 30);
    let picture = svg(&survey);
    assert_eq!(wrong(&survey)?, [""; 0]);
    for words in ["of GPU 0, not for host buffers", ">no memory<", ">not allowed here<", ">NUMA nodes 8-35<"]
    {
        assert!(picture.contains(words), "{words}");
    }
    Ok(())
}

#[test]
fn links_between_gpus_are_lines_or_one_sentence_where_all_are_alike() -> Outcome {
    let survey = machines::eight_gpus()?;
    let link = |one: u32, other: u32, words: &str| GpuLink {
        gpus: (one, other),
        words: words.to_owned(),
        bytes_per_s: None,
    };
    let lines = |svg: &str| svg.matches("<path d=\"M").count();
    let without = lines(&svg(&survey));
    let mesh: Vec<GpuLink> =
        (0..8).flat_map(|one| (one + 1..8).map(move |other| link(one, other, "NV18"))).collect();
    let picture = with_links(&survey, &mesh);
    assert!(picture.contains("every two of GPUs 0-7: NV18") && lines(&picture) == without);
    let cube = [link(0, 1, "NV2"), link(0, 2, "NV1"), link(2, 3, "NV2"), link(4, 7, "NV1")];
    let picture = with_links(&survey, &cube);
    assert!(picture.contains("GPUs 0-1, 2-3") && picture.contains("GPUs 0-2, 4-7"));
    assert_eq!(lines(&picture), without + 4 + 2, "a line a link, and one a kind in the list");
    for number in 2..=16 {
        let ring: Vec<GpuLink> = (0..number).map(|gpu| link(gpu, (gpu + 1) % number, "NV1")).collect();
        assert_eq!(wrong_in(&survey, &with_links(&survey, &ring))?, [""; 0], "{number} GPUs");
    }
    Ok(())
}

#[test]
fn a_picture_is_a_document_without_script_and_the_same_each_time() -> Outcome {
    let survey = machines::long_words()?;
    let picture = svg(&survey);
    assert_eq!(picture, svg(&survey));
    assert!(picture.starts_with(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""
    ));
    for word in ["<script", "href", "<style", "@import"] {
        assert!(!picture.contains(word), "{word}");
    }
    let document = Document::parse(&picture)?;
    assert_eq!(groups(&document.root_element()).count(), 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_overlaps_in_machines_of_any_shape(
        (packages, nodes, l3s, cores, pus) in (1..5_u32, 1..4_u32, 1..5_u32, 1..20_u32, 1..9_u32),
        allowed in prop::collection::btree_set(0..400_u32, 1..200),
        devices in prop::collection::vec((0..4_u8, any::<prop::sample::Index>()), 0..20),
    ) {
        let made = || -> Result<Vec<String>, Box<dyn Error>> {
            let mut survey = bare(&format!("pack:{packages} group:{nodes} [numa] l3:{l3s} core:{cores} \
                pu:{pus}"))?;
            survey.topology = survey.topology.restricted_to(&IdSet(allowed.clone()));
            let maker = Devices::new()?;
            let places: Vec<IdSet> = survey.topology.packages.iter().map(|package| package.pus.clone())
                .chain(survey.topology.l3s.iter().map(|l3| l3.pus.clone())).collect();
            for (kind, place) in &devices {
                let locality = if kind % 2 == 0 { nowhere() } else { near(&survey, place.get(&places), Rung::PciLocalCpus) };
                if *kind < 2 { maker.gpu(&mut survey, locality) } else { maker.nic(&mut survey, locality) }
            }
            wrong(&survey)
        };
        let wrong = made().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(wrong.is_empty(), "{wrong:?}");
    }
}
