//! gres.conf as its manual's examples have it, read, taken for one node and written again.

use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// gres.conf(5), EXAMPLES.
const MANUAL: &str = "
AutoDetect=nvml   # for all
NodeName=tux[0-2]  Name=gpu Type=gtx560 File=/dev/nvidia[0-1] COREs=0,1
NodeName=tux[0-2]  Name=gpu Type=tesla \\
    File=/dev/nvidia[2,4] Cores=2-3 Flags=nvidia_gpu_env
NodeName=tux[0-2]  Name=mps Count=100 File=/dev/nvidia0 COREs=0,1
NodeName=tux3 AutoDetect=off Name=gpu File=/dev/nvidia[00-02]
NodeName=tux[8-11] AutoDetect=rsmi
Name=bandwidth Type=lustre Count=4G Flags=CountOnly
";

#[test]
fn the_manuals_examples_are_read_for_each_node() -> Outcome {
    let conf: GresConf = MANUAL.parse()?;
    assert_eq!(conf.auto_detect, Some(AutoDetect::Nvml));
    let first = conf.of_node(Some("tux1.cluster"))?;
    assert_eq!(first.auto_detect, Some(AutoDetect::Nvml));
    let shown: Vec<String> = first
        .gpus()
        .iter()
        .map(|gpu| format!("{:?} {:?}", gpu.file, gpu.cores.as_ref().map(IdSet::to_string)))
        .collect();
    assert_eq!(
        shown,
        [
            "Some(\"/dev/nvidia0\") Some(\"0-1\")",
            "Some(\"/dev/nvidia1\") Some(\"0-1\")",
            "Some(\"/dev/nvidia2\") Some(\"2-3\")",
            "Some(\"/dev/nvidia4\") Some(\"2-3\")",
        ]
    );
    let third = conf.of_node(Some("tux3"))?;
    assert_eq!((third.auto_detect, third.gpus().len()), (Some(AutoDetect::Off), 3));
    assert_eq!(third.gpus()[2].file.as_deref(), Some("/dev/nvidia02"));
    assert_eq!(conf.of_node(Some("tux9"))?.auto_detect, Some(AutoDetect::Rsmi));
    let lustre = first.lines.iter().find(|line| line.name.as_deref() == Some("bandwidth"));
    assert_eq!(lustre.and_then(|line| line.count), Some(4 << 30));
    let unknown = conf.of_node(None).map_err(|error| error.to_string());
    assert_eq!(
        unknown,
        Err(
            "gres.conf has different GPU lines for different nodes (tux[0-2]; tux3; tux[8-11]) and none for \
             this node, whose name is not known: keep the lines of one node"
                .to_owned()
        )
    );
    Ok(())
}

#[test]
fn what_is_written_of_a_node_is_read_back_as_it_was() -> Outcome {
    let gpus = MANUAL.parse::<GresConf>()?.of_node(Some("tux1"))?;
    let written = gpus.to_string();
    assert_eq!(written.parse::<GresConf>()?.gpus(), gpus.gpus(), "{written}");
    assert!(written.contains("Name=gpu File=/dev/nvidia[2,4] Cores=2-3\n"), "{written}");
    Ok(())
}

#[test]
fn values_of_autodetect_are_found_as_slurm_finds_them() -> Outcome {
    for (value, is) in [
        ("NVML", AutoDetect::Nvml),
        ("nvidia", AutoDetect::Nvidia),
        ("full", AutoDetect::Full),
        ("gpu_rsmi", AutoDetect::Rsmi),
        ("Off", AutoDetect::Off),
    ] {
        let conf: GresConf = format!("AutoDetect={value}\n").parse()?;
        assert_eq!(conf.auto_detect, Some(is), "{value}");
    }
    Ok(())
}

#[test]
fn lines_that_say_the_same_of_all_nodes_need_no_node() -> Outcome {
    let conf: GresConf =
        "NodeName=a[1-2] Name=gpu File=/dev/nvidia0\nNodeName=b1 Name=gpu File=/dev/nvidia0\n".parse()?;
    assert_eq!(conf.of_node(None)?.gpus().len(), 1);
    Ok(())
}

#[test]
fn a_line_that_is_none_is_named_with_what_is_allowed() {
    for (text, says) in [
        (
            "\nName=gpu Fiel=/dev/nvidia0",
            "gres.conf line 2: Fiel is no parameter of gres.conf: Name, Type, File",
        ),
        (
            "Name=gpu File=/dev/nvidia[0-",
            "gres.conf line 1: File=: a bracket in \"/dev/nvidia[0-\" has no partner",
        ),
        ("Name=gpu File=/dev/nvidia[3-0]", "File=: \"3-0\" is no range of numbers: write [0-3] or [0,2-3]"),
        ("Name=gpu File=/dev/nvidia[0-99999999]", "names more than 65536"),
        ("Name=gpu Cores=x", "Cores=: \"x\" in the list"),
        ("Name=gpu Count=4Q", "Count=4Q is no number"),
        ("AutoDetect=yes", "AutoDetect=yes is not one of full, nvml, rsmi, oneapi, nrt, nvidia, off"),
        ("Include gpus.conf", "put the lines of gpus.conf in its place"),
        ("gpu", "\"gpu\" is not Key=Value"),
        ("File=/dev/nvidia0", "it has neither Name= nor AutoDetect="),
    ] {
        let said = text.parse::<GresConf>().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(says), "{text}: {said}");
    }
}

#[test]
fn slurms_numbers_of_cores_count_packages_one_after_another() {
    use crate::written_machine::{machine, set};
    let mut machine = machine();
    assert_eq!(core_numbers(&machine, &set("4-5,8")), set("0,4-5"));
    assert_eq!(pus_of_cores(&machine, &set("0,4-5")), Ok(set("0,4-5,8,12-13")));
    assert_eq!(pus_of_cores(&machine, &set("7-9")), Err(set("8-9")));
    // Even PUs on one package, odd ones on the other.
    for (package, pus) in [(0, "0,2,4,6,8,10,12,14"), (1, "1,3,5,7,9,11,13,15")] {
        machine.packages[package].pus = set(pus);
        machine.nodes[package].pus = set(pus);
        machine.l3s[package].pus = set(pus);
    }
    assert_eq!(core_numbers(&machine, &set("0,2,4,6")), set("0-3"));
    assert_eq!(core_numbers(&machine, &set("1,3,5,7")), set("4-7"));
    assert_eq!(pus_of_cores(&machine, &set("1,4")), Ok(set("1,2,9,10")));
}
