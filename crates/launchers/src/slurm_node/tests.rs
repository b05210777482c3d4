//! What Slurm's texts say of a node, held against machines.

use super::{SlurmNodes, SlurmRelease, Units};
use crate::objects::{JobMachine, Part};
use crate::written_machine::machine;

fn units(text: &str) -> Result<Units, String> {
    let nodes: SlurmNodes = text.parse().map_err(|error: super::SlurmNodesError| error.to_string())?;
    nodes.of_machine(&JobMachine::of(&machine())).map_err(|error| error.to_string())
}

#[test]
fn a_socket_and_a_cpu_of_slurm_are_told_by_their_numbers_in_either_form() {
    let threads = Ok(Units { socket: Part::Package, cpu: Part::Thread });
    assert_eq!(units("NodeName=n[1-4] CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"), threads);
    let boards =
        "ClusterName=x\nNodeName=n1 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 # a";
    assert_eq!(units(boards), threads);
    let printed = "NodeName=n1 Arch=x86_64 CoresPerSocket=4 \n   CPUAlloc=0 CPUEfctv=8 CPUTot=8 \
        CPULoad=0.08\n   RealMemory=500000 AllocMem=0 FreeMem=49 Sockets=2 Boards=1\n   ThreadsPerCore=1 \
        TmpDisk=0\n";
    assert_eq!(units(printed), Ok(Units { socket: Part::Package, cpu: Part::Core }));
}

#[test]
fn the_release_is_that_of_the_machines_own_node_as_scontrol_prints_it() {
    let release = |versions: [&str; 2]| {
        let node = |(name, version): (&str, &str)| {
            format!("NodeName={name} CoresPerSocket=4\n Version={version}\n Sockets=2 ThreadsPerCore=2\n")
        };
        let text: String = ["n1", "n2"].into_iter().zip(versions).map(node).collect();
        let nodes: Option<SlurmNodes> = text.parse().ok();
        nodes.and_then(|nodes| nodes.release(&machine()))
    };
    assert_eq!(release(["24.05.8", "24.05.8"]), Some(SlurmRelease(24, 5)));
    assert_eq!(release(["22.05.11", "22.05.2"]), Some(SlurmRelease::V22_05));
    assert_eq!(release(["25.11.0-0rc1", "(null)"]), Some(SlurmRelease(25, 11)));
    assert_eq!(release(["24.05.8", "22.05.2"]), None, "the machine may be either");
    assert!(SlurmRelease(23, 2) > SlurmRelease::V22_05);
}

#[test]
fn what_a_file_leaves_out_is_not_known_where_it_includes_others() {
    let read = |text: &str| text.parse::<SlurmNodes>().ok();
    let own = "NodeName=n1 Sockets=2 CoresPerSocket=4\nSelectType=select/cons_tres\n\
        TaskPlugin=task/cgroup,\\\n task/affinity\n";
    let alone = read(own).map(|nodes| (nodes.has_blocks, nodes.default_binding.is_some()));
    assert_eq!(alone, Some((Some(false), true)), "a line that goes on is one line");

    let more = format!("{own}Include partitions.conf\n");
    let nodes = read(&more).map(|nodes| (nodes.has_blocks, nodes.default_binding.is_some()));
    assert_eq!(nodes, Some((None, false)));
    let said = read(&format!("{more}SelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n"));
    assert_eq!(said.and_then(|nodes| nodes.has_blocks), Some(true));
}

#[test]
fn what_a_line_leaves_out_is_that_of_the_default_before_it_and_a_node_of_this_name_comes_first() {
    let cores = Ok(Units { socket: Part::Package, cpu: Part::Core });
    let threads = Ok(Units { socket: Part::Package, cpu: Part::Thread });
    let default = "NodeName=DEFAULT Sockets=2 CoresPerSocket=4 \\\n ThreadsPerCore=2\n";
    assert_eq!(units(&format!("{default}NodeName=n[1-9] CPUs=8\n")), cores);
    assert_eq!(units(&format!("{default}NodeName=DEFAULT CPUs=8\nNodeName=n1\nNodeName=n2 CPUs=8\n")), cores);

    assert!(units(default).is_err(), "a default is no node");
    let two = format!("{default}NodeName=big[1-4] CPUs=8\nNodeName=small[1-4]\n");
    let of = |host: &str| {
        let nodes: SlurmNodes = two.parse().map_err(|error: super::SlurmNodesError| error.to_string())?;
        let machine = topo::Topology { hostname: Some(host.to_owned()), ..machine() };
        nodes.of_machine(&JobMachine::of(&machine)).map_err(|error| error.to_string())
    };
    assert_eq!((of("big3"), of("small3.site.org")), (cores, threads));
    assert!(of("other").is_err_and(|error| error.contains("keep the line of one")));
}

#[test]
fn a_file_of_other_machines_is_refused_with_what_differs() {
    for (text, said) in [
        ("ClusterName=x\n", "no NodeName= with Sockets="),
        ("NodeName=n Sockets=x CoresPerSocket=4", "sockets=x is not a number"),
        ("NodeName=n Sockets=2 CoresPerSocket=64", "no node of 8 cores"),
        ("NodeName=n Sockets=8 CoresPerSocket=1", "8 sockets, and the machine that is judged by 2 packages"),
        (
            "NodeName=a Sockets=2 CoresPerSocket=4\n\
             NodeName=b Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
            "keep the line of one",
        ),
        ("NodeName=n Sockets=2 CoresPerSocket=4 CoreSpecCount=1", "keeps 1 core of"),
        ("NodeName=n Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CpuSpecList=0,8-10", "keeps 2 cores of"),
    ] {
        let error = units(text).err().unwrap_or_default();
        assert!(error.contains(said), "{text}: {error}");
    }
}
