//! Texts of other tools beside a file of hwloc's, and beside each other.

use super::*;

/// The machine of these texts.
fn texts(texts: &[&str]) -> Result<Survey, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut paths = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        paths.push(folder.path().join(format!("{at}.txt")));
        std::fs::write(&paths[at], text)?;
    }
    Ok(crate::survey_files(&paths)?)
}

const NUMACTL: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3 4 5 6 7\nnode 0 size: 8192 MB\n\
    node 1 cpus: 8 9 10 11 12 13 14 15\nnode 1 size: 8192 MB\nnode distances:\nnode   0   1\n\
      0:  10  32\n  1:  32  10\n";
const LSCPU: &str = "On-line CPU(s) list: 0-15\nThread(s) per core: 2\nSocket(s): 2\nL2: 8 MiB (8 \
    instances)\nL3: 128 MiB (4 instances)\nNUMA node0 CPU(s): 0-7\nNUMA node1 CPU(s): 8-15\n";
const ROCM: &str = "GPU[0]\t: (Topology) Numa Affinity: 0\nGPU[1]\t: (Topology) Numa Affinity: 1\n";

#[test]
fn what_one_of_two_texts_does_not_say_is_no_change_and_is_named() -> Outcome {
    let file = machine()?;
    for (name, text) in [("numactl", NUMACTL), ("lscpu", LSCPU), ("rocm-smi", ROCM)] {
        let text = texts(&[text])?;
        assert_eq!(words(&file, &text), [""; 0], "{name} after the file");
        assert_eq!(words(&text, &file), [""; 0], "{name} before the file");
        let page = crate::text::changes(&file, &text, &[], 1000);
        assert!(page.contains("\n  not compared: ") && page.contains(" does not say: "), "{page}");
    }
    let (numactl, lscpu) = (texts(&[NUMACTL])?, texts(&[LSCPU])?);
    assert_eq!(words(&numactl, &lscpu), [""; 0]);
    let open = not_compared(&numactl, &lscpu).join("\n");
    assert!(open.contains("memory sizes, node distances (numactl -H)"), "{open}");
    assert_eq!(not_compared(&file, &file), [""; 0]);
    Ok(())
}

#[test]
fn a_node_that_is_gone_has_no_size_where_the_texts_have_none() -> Outcome {
    let one = texts(&[&LSCPU
        .replace("NUMA node1 CPU(s): 8-15\n", "")
        .replace("node0 CPU(s): 0-7", "node0 CPU(s): 0-15")])?;
    let gone: Vec<String> =
        words(&texts(&[LSCPU])?, &one).into_iter().filter(|words| words.contains("gone")).collect();
    assert_eq!(gone, ["NUMA node 1 gone (CPUs and memory)"]);
    let lost = crate::text::render(
        &texts(&["NUMA node0 CPU(s): 0-3\nOn-line CPU(s) list: 0-3\nNUMA node1 CPU(s):\n"])?,
        100,
    );
    assert!(lost.contains("memory not known") && !lost.contains("no memory"), "{lost}");
    Ok(())
}

#[test]
fn a_gpu_less_is_said_of_texts_that_name_gpus_in_two_ways() -> Outcome {
    let numbers = texts(&[LSCPU, "GPU 0: NVIDIA H100 (UUID: GPU-0a)\nGPU 1: NVIDIA H100 (UUID: GPU-0b)\n"])?;
    let addresses =
        texts(&[LSCPU, "|   0  NVIDIA H100          On   | 00000000:1B:00.0 Off |          0 |\n"])?;
    assert_eq!(words(&numbers, &addresses), ["1 GPU, were 2"]);
    Ok(())
}

#[test]
fn what_texts_do_say_is_compared() -> Outcome {
    let file = machine()?;
    let smaller = texts(&[&NUMACTL.replace("node 1 size: 8192", "node 1 size: 4096")])?;
    assert_eq!(words(&file, &smaller), ["NUMA node 1: 4 GiB of memory, was 8 GiB (4 GiB less)"]);
    let fewer = texts(&[&LSCPU.replace("0-15", "0-13").replace("8-15", "8-13")])?;
    assert_eq!(words(&file, &fewer), ["PUs 14-15 gone or offline, 1 whole core(s) of them"]);

    let log = "Attached GPUs : 1\nGPU 00000000:03:00.0\n    Minor Number : 0\n";
    let found = words(&file, &texts(&[log])?);
    assert_eq!(found, ["GPU 0000:c3:00.0 (PCI 10de:2330) gone"], "AMD's is not for nvidia-smi to list");
    Ok(())
}
