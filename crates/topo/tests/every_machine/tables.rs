//! The tables of devices: the matrix, cell by cell what lies between two, and the names of each GPU.

use std::collections::BTreeSet;

use stats::IdSet;
use stats::units::rate;
use topo::interconnect::{Fabric, Interconnect, Pair};
use topo::text;
use topo::visibility::Runtime;

use crate::file::{Outcome, each};
use crate::page::{WIDE, section, table};
use crate::words::{link_words, other_link};

fn cell(pair: &Pair) -> String {
    match (pair.fabric, pair.pci) {
        (Some(Fabric::Nvlink { links: Some(links), .. }), _) => format!("NV{links}"),
        (Some(Fabric::Nvlink { .. }), _) => "NV?".to_owned(),
        (Some(Fabric::Xgmi { .. }), _) => "XGMI".to_owned(),
        (None, Some(level)) => format!("{level:?}").to_uppercase(),
        (None, None) => "?".to_owned(),
    }
}

/// What lies between the devices of two rows, looked for by their labels.
fn between<'i>(interconnect: &'i Interconnect, one: &str, other: &str) -> Option<&'i Pair> {
    let of =
        |pair: &&Pair| [&*pair.from, &*pair.to] == [one, other] || [&*pair.to, &*pair.from] == [one, other];
    interconnect.pairs.iter().find(of)
}

#[test]
fn the_matrix_says_of_every_two_devices_what_is_between_them_and_of_each_gpu_what_is_near() -> Outcome {
    each(|machine| {
        let (interconnect, name) = (&machine.survey.interconnect, machine.name);
        let view = text::matrix(machine.survey, WIDE);
        if interconnect.devices.is_empty() {
            assert_eq!(view, "no GPU and no adapter of a fast network among the PCI devices\n", "{name}");
            return Ok(());
        }
        let labels = interconnect.devices.iter().map(|device| &*device.label);
        let titles: Vec<&str> = labels.chain(["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]).collect();
        let lines: Vec<&str> = view.lines().take_while(|line| !line.is_empty()).collect();
        let rows = table(&lines, &titles).ok_or("no matrix")?;
        assert_eq!(rows.len(), interconnect.devices.len(), "{name}");
        for ((row, line), device) in rows.iter().zip(&lines[1..]).zip(&interconnect.devices) {
            assert_eq!(line.split_whitespace().next(), Some(&*device.label), "{name}");
            let set = |set: &Option<IdSet>| match set {
                Some(ids) if ids.is_empty() => "N/A".to_owned(),
                Some(ids) => ids.to_string(),
                None => "?".to_owned(),
            };
            let mut expected = Vec::new();
            for other in &interconnect.devices {
                let found = between(interconnect, &device.label, &other.label);
                expected.push(found.map_or("X".to_owned(), cell));
            }
            expected.extend(match &device.affinity {
                Some(near) => {
                    let memory = near.memory_node.map_or("N/A".to_owned(), |node| node.to_string());
                    [set(&near.pus), set(&near.nodes), memory]
                }
                None => [const { String::new() }; 3],
            });
            assert_eq!(*row, expected, "{} of {name}", device.label);
        }
        Ok(())
    })
}

#[test]
fn below_the_matrix_are_its_signs_its_adapters_and_its_links() -> Outcome {
    each(|machine| {
        let (interconnect, gpus, name) =
            (&machine.survey.interconnect, &machine.survey.topology.gpus, machine.name);
        let view = text::matrix(machine.survey, WIDE);
        let signs: Vec<&str> = section(&view, "legend")
            .iter()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let mut expected = vec!["X", "SYS", "NODE", "PHB", "PXB", "PIX"];
        expected.extend(interconnect.nvlink.is_some().then_some("NV#"));
        expected.extend(interconnect.xgmi.is_some().then_some("XGMI"));
        let near = interconnect.devices.iter().filter_map(|device| device.affinity.as_ref());
        let unknown = interconnect.pairs.iter().any(|pair| cell(pair).contains('?'))
            || near.clone().any(|near| near.pus.is_none() || near.nodes.is_none());
        expected.extend(unknown.then_some("?"));
        assert_eq!(signs, if interconnect.devices.is_empty() { Vec::new() } else { expected }, "{name}");

        let adapters = interconnect.devices.iter().filter_map(|device| Some((device, device.name.as_ref()?)));
        let adapters: Vec<[String; 3]> = adapters
            .map(|(device, name)| [format!("{}:", device.label), name.clone(), device.pci.to_string()])
            .collect();
        let listed = section(&view, "NICs");
        let words = |line: &&str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(listed.iter().skip(1).map(words).collect::<Vec<_>>(), adapters, "{name}");

        let without: BTreeSet<String> = interconnect
            .pairs
            .iter()
            .filter(|pair| pair.pci.is_none() && pair.fabric.is_none())
            .map(|pair| format!("{}-{}", pair.from, pair.to))
            .collect();
        let notes = section(&view, "notes");
        let named = notes.iter().filter_map(|line| line.strip_prefix("  ?, because ")?.rsplit_once(": "));
        let named: BTreeSet<String> =
            named.flat_map(|(_, pairs)| pairs.split(", ")).map(str::to_owned).collect();
        assert_eq!(named, without, "{name}");

        // The link of each GPU, once a link.
        let pcie = view.lines().skip_while(|line| !line.starts_with("PCIe "));
        let pcie: Vec<&str> = pcie.take_while(|line| !line.is_empty()).collect();
        let with_link = gpus.iter().filter_map(|gpu| Some((gpu.index, link_words(gpu.link.as_ref()?))));
        let mut said = Vec::new();
        for line in pcie.iter().skip(1) {
            let (gpus, link) = line.trim().split_once(": ").ok_or("no link")?;
            let gpus: IdSet = gpus.trim_start_matches("GPU").trim_start_matches('s').trim().parse()?;
            said.extend(gpus.iter().map(|gpu| (gpu, link.to_owned())));
        }
        said.sort_unstable();
        assert_eq!(said, with_link.collect::<Vec<_>>(), "{name}");
        let no_copy = "PCIe when the file was written (idle links train down): no copy between host memory \
            and these GPUs goes over it";
        let heading =
            no_copy.split_inclusive(')').next().filter(|_| other_link(name).is_none()).unwrap_or(no_copy);
        assert!(pcie.first().is_none_or(|line| *line == heading), "{name}: {pcie:?}");
        Ok(())
    })
}

#[test]
fn who_knows_of_links_is_said_and_what_they_carry() -> Outcome {
    each(|machine| {
        let interconnect = &machine.survey.interconnect;
        let view = text::matrix(machine.survey, WIDE);
        for (what, told) in [("NVLink", &interconnect.nvlink), ("xGMI", &interconnect.xgmi)] {
            let line = told.as_ref().map(|told| match (&told.source, &told.reason) {
                (Some(source), _) => format!("{what}, by {source}"),
                (None, Some(why)) => format!("{what} is not known here: {why}; the cells show PCIe"),
                _ => "nobody and no reason".to_owned(),
            });
            let lines: Vec<&str> = view.lines().filter(|line| line.starts_with(what)).collect();
            assert_eq!(lines, line.iter().collect::<Vec<_>>(), "{}", machine.name);
        }
        if machine.name == "nvlink-matrix" {
            let all = format!("  {} in each direction: every two of GPUs 0-2", rate(300e9));
            assert_eq!(view.lines().filter(|line| line.contains("direction:")).collect::<Vec<_>>(), [all]);
        }
        Ok(())
    })
}

#[test]
fn each_gpu_has_a_row_with_all_that_it_is_called() -> Outcome {
    each(|machine| {
        let (survey, name) = (machine.survey, machine.name);
        let view = text::identity(survey, WIDE);
        if survey.identities.is_empty() {
            assert_eq!(view, "no GPU among the PCI devices\n", "{name}");
            return Ok(());
        }
        let lines = section(&view, "what each GPU is called");
        let titles = ["#", "PCI address", "UUID", "runtime (predicted)", "SMI", "device files", "OS devices"];
        let list = |names: Vec<String>| if names.is_empty() { "-".to_owned() } else { names.join(",") };
        let mut expected = Vec::new();
        for identity in &survey.identities {
            let word = match identity.runtime {
                Some(Runtime::Cuda) => "CUDA",
                Some(Runtime::Hip) => "HIP",
                None => "-",
            };
            let indices = identity.runtime_indices.as_ref().map(|indices| match &indices[..] {
                [] => "hidden".to_owned(),
                some => some.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
            });
            let indices = identity.runtime.map(|_| format!(" {}", indices.unwrap_or("?".to_owned())));
            expected.push(vec![
                identity.index.to_string(),
                identity.pci.to_string(),
                identity.uuid.clone().unwrap_or("?".to_owned()),
                format!("{word}{}", indices.unwrap_or_default()),
                identity.smi_index.map_or("?".to_owned(), |index| index.to_string()),
                list(identity.device_files.iter().map(|file| file.path.clone()).collect()),
                list(identity.os_devices.clone()),
            ]);
        }
        assert_eq!(table(&lines, &titles), Some(expected), "{name}");
        let no_index: BTreeSet<&str> = survey
            .identities
            .iter()
            .filter(|identity| identity.smi_index.is_none())
            .map(|identity| &*identity.smi_source)
            .collect();
        let said = view
            .lines()
            .filter_map(|line| line.strip_prefix("SMI index not known: "))
            .collect::<BTreeSet<_>>();
        assert_eq!(said, no_index, "{name}");
        let unsaid =
            "runtime index not known: the file does not say which variables were set where it was written";
        assert_eq!(view.lines().any(|line| line == unsaid), survey.visibility.is_empty(), "{name}");
        if name == "gh200-quad" {
            let visible = "visible where the file was written: GPU 0-3 as CUDA 0-3 (no variable is set)";
            assert_eq!(view.lines().filter(|line| *line == visible).count(), 1);
        }
        Ok(())
    })
}
