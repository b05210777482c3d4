//! Lines as people paste them, on the small machine of `exec`'s tests. Some 1,000 lines because each line is
//! a case.

use stats::IdSet;
use topo::model::NodeKind;

use crate::gres_conf::GresConfError;
use crate::line::{Launched, LineError, LineRank, read, read_at};
use crate::slurm_files::SlurmFiles;
use crate::written_machine::{address, machine};

type Placed = Vec<(String, Vec<u8>)>;

fn pus(rank: &LineRank) -> String {
    rank.pus.as_ref().map_or_else(|why| format!("not known: {why}"), IdSet::to_string)
}

fn launched(line: &str) -> Result<Placed, String> {
    let read = read(line, &machine()).map_err(|error| error.to_string())?;
    let buses =
        |rank: &LineRank| rank.gpus.devices.iter().flatten().filter_map(|one| Some(one.pci?.bus)).collect();
    Ok(read.readings[0].ranks.iter().map(|rank| (pus(rank), buses(rank))).collect())
}

fn placed(places: &[(&str, &[u8])]) -> Result<Placed, String> {
    let bus = |gpu: &u8| address(*gpu).bus;
    Ok(places.iter().map(|(pus, gpus)| ((*pus).to_owned(), gpus.iter().map(bus).collect())).collect())
}

#[test]
fn sruns_lists_give_each_rank_its_pus_and_gpus() {
    let two = placed(&[("4", &[0]), ("0", &[1])]);
    for line in [
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out --flag",
        "OMP_NUM_THREADS=1 srun -N 1 -n 2 --cpu-bind=verbose,mask_cpu:0x10,0x1 --gpus-per-task 1 ./a.out",
        "srun --ntasks=2 --cpu-bind map_cpu:4,0 --gpu-bind=map_gpu:0,1 a.out",
        "srun -n2 --gpus-per-node=4 --gpu-bind=none --cpu-bind=map_cpu:4,0 sh -c 'export \
         CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; exec \"$@\"' sh a.out",
        "srun -n2 --cpu-bind=map_cpu:4,0 sh -c 'n=0; for g in 0 1; do [ $n = $SLURM_LOCALID ] && export \
         CUDA_VISIBLE_DEVICES=$g; n=$((n+1)); done; exec a' sh a",
    ] {
        assert_eq!(launched(line), two, "{line}");
    }
    let again = placed(&[("4", &[0]), ("0", &[0]), ("4", &[1]), ("0", &[1])]);
    assert_eq!(
        launched("srun -n4 --cpu-bind=map_cpu:4,0 sh -c 'CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID/2)) exec a'"),
        again
    );
}

#[test]
fn the_mark_of_a_launch_is_set_under_its_own_launcher_and_not_under_another_one() {
    let line = |launcher: &str, mark: &str, rank: &str| {
        launched(&format!(
            "{launcher} sh -c 'export CUDA_VISIBLE_DEVICES=${{{mark}:+${rank}}}; exec taskset -c 4 a'"
        ))
    };
    let two = placed(&[("4", &[0]), ("4", &[1])]);
    assert_eq!(line("srun -n2 --cpu-bind=none", "SLURM_STEP_ID", "SLURM_LOCALID"), two);
    assert_eq!(line("torchrun --nproc-per-node 2 --no-python", "TORCHELASTIC_RUN_ID", "LOCAL_RANK"), two);
    // An empty variable shows no GPU.
    let none = line("srun -n2 --cpu-bind=none", "TORCHELASTIC_RUN_ID", "SLURM_LOCALID");
    assert_eq!(none, placed(&[("4", &[]), ("4", &[])]));
}

#[test]
fn other_launchers_and_tools_are_read_by_their_own_words() {
    let both = placed(&[("4-5", &[0, 1, 2, 3]), ("0-1", &[0, 1, 2, 3])]);
    assert_eq!(launched("mpiexec -n 2 -bind-to user:4+5,0+1 ./a.out -n 7"), both);
    assert_eq!(launched("CUDA_VISIBLE_DEVICES=2 taskset -c 4-5 ./a.out"), placed(&[("4-5", &[2])]));
    let numactl =
        "env -u HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES=1 numactl --physcpubind=0-1 --membind=1 -- ./a.out";
    assert_eq!(launched(numactl), placed(&[("0-1", &[1])]));
    assert_eq!(
        launched("srun -n2 --cpu-bind=none taskset --cpu-list 4-5 ./a.out"),
        placed(&[("4-5", &[0, 1, 2, 3]), ("4-5", &[0, 1, 2, 3])])
    );
    let script =
        "srun -n1 --cpu-bind=none bash -c 'CUDA_VISIBLE_DEVICES=2 exec taskset --cpu-list 4-5 ./a.out'";
    assert_eq!(launched(script), placed(&[("4-5", &[2])]));
    let unbound = launched("mpirun -np 1 --bind-to none --mca btl self ./a.out");
    assert_eq!(unbound, placed(&[("0-15", &[0, 1, 2, 3])]));
}

#[test]
fn a_wrapper_and_a_rankfile_are_read() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("place.sh");
    let text = "#!/bin/sh\ncase $SLURM_LOCALID in\n0)\n    pus=4\n    memory=1\n    export \
        CUDA_VISIBLE_DEVICES=1\n    ;;\n1)\n    pus=0\n    memory=0\n    export CUDA_VISIBLE_DEVICES=2\n    \
        ;;\nesac\nexec taskset -c $pus \"$@\"\n";
    std::fs::write(&script, text)?;
    let line = format!("srun -n2 --cpu-bind=none {} ./a.out", script.display());
    assert_eq!(launched(&line), placed(&[("4", &[1]), ("0", &[2])]));
    let file = folder.path().join("ranks");
    std::fs::write(&file, "rank 0=n7 slot=4\nrank 1=n7 slot=0,1\n")?;
    let line = format!("mpirun -np 2 --mca rmaps_rank_file_physical 1 --rankfile {} ./a.out", file.display());
    // Open MPI 4 binds to the cores of these PUs, and to the PUs alone where they count as CPUs.
    assert_eq!(launched(&line), placed(&[("4,12", &[0, 1, 2, 3]), ("0-1,8-9", &[0, 1, 2, 3])]));
    let line = line.replace("--rankfile", "--use-hwthread-cpus --rankfile");
    assert_eq!(launched(&line), placed(&[("4", &[0, 1, 2, 3]), ("0-1", &[0, 1, 2, 3])]));
    Ok(())
}

#[test]
fn what_is_the_launchers_own_choice_is_not_guessed() {
    for (line, words) in [
        ("srun -n2 --cpu-bind=none numabench exec --print -- a.out", "starts no program"),
        ("srun -n2 --cpu-bind=none numabench exec -- numactl -N 0 a.out", "places itself again"),
        ("numactl --membind=netdev:eth0 ./a.out", "write the number of the NUMA node"),
        (
            "numactl --interleave=all mpirun -np 8 --bind-to none ./a.out",
            "begin the line with Open MPI's mpirun",
        ),
        ("mpirun -np 1 --bind-to none ./a : -np 1 ./b", "several programs"),
        ("env -S 'A=1 ./a.out'", "write its words apart"),
    ] {
        let refused = read(line, &machine()).err();
        assert!(
            matches!(&refused, Some(LineError::NotSaid(said)) if said.contains(words)),
            "{line}: {refused:?}"
        );
    }
}

#[test]
fn a_line_that_cannot_be_followed_is_wrong_and_the_message_names_what_is() {
    for (line, words) in [
        ("", "there is no command in the line"),
        ("A=1", "there is no command in the line"),
        ("srun 'a", "quote"),
        ("srun -n two --cpu-bind=none ./a.out", "\"two\" is not a value of -n: write a whole number"),
        ("srun -n 0 --cpu-bind=none ./a.out", "write 1 or more"),
        ("srun -n 8193 --cpu-bind=none ./a.out", "a node has 8192 at most"),
        ("srun -n 99999999999 --cpu-bind=none ./a.out", "\"99999999999\""),
        ("srun -N x -n 8 --cpu-bind=none ./a.out", "\"x\" is not a value of -N"),
        ("srun -n2 --cpu-bind=map_cpu:x ./a.out", "\"x\" in \"map_cpu:x\" is not the number of a PU"),
        ("srun -n2 --cpu-bind=mask_cpu:zz ./a.out", "is not a hexadecimal mask"),
        ("srun -n2 --cpu-bind=mask_cpu:0x0 ./a.out", "is not a hexadecimal mask of PUs"),
        ("srun -n2 --cpu-bind=map_cpu:0*8192,1 ./a.out", "8192 ranks at most"),
        ("srun -n2 --gpu-bind=map:x --cpu-bind=none ./a.out", "\"map:x\" is not a value of --gpu-bind"),
        ("srun -n2 --gpu-bind=map:0*9000 --cpu-bind=none ./a.out", "8192 ranks at most"),
        ("srun -n", "-n of srun needs a value"),
        (
            "srun -n2 --site-flag --cpu-bind=none ./a.out",
            "--site-flag is no option of srun that numabench knows: if it takes a value, write \
             --site-flag=VALUE",
        ),
        ("srun -n2 --gpu=1 --cpu-bind=none ./a.out", "--gpus-per-node"),
        ("srun -n2 -y --cpu-bind=none ./a.out", "-y is no option of srun"),
        ("srun -n2 --exact=1 --cpu-bind=none ./a.out", "--exact of srun takes no value"),
        ("mpirun -np 2 --bind-to none --strange 3 ./a.out", "--strange is no option of mpirun"),
        ("mpirun -np 2 --bind-to none --map-by ppr:2:moon ./a.out", "write ppr:N:node"),
        ("mpiexec -n 2 -bind-to user:0,, ./a.out", "\"\" is not a value of --bind-to"),
        ("mpirun -np 2 --cpu-list '' ./a.out", "\"\" is not a value of --cpu-list"),
        ("taskset -p 3 17", "numabench check --pid"),
        ("taskset zz ./a.out", "write a hexadecimal mask"),
        ("taskset 0 ./a.out", "write a hexadecimal mask"),
        ("taskset -c '' ./a.out", "write OS ids"),
        ("taskset -c", "no mask"),
        ("taskset --cpu-list=3 ./a.out", "--cpu-list of taskset takes no value"),
        ("numactl -N 2 ./a.out", "the NUMA nodes of this machine are 0-1"),
        ("numactl --membind=7 ./a.out", "the NUMA nodes of this machine are 0-1"),
        ("numactl -C +16 ./a.out", "write places from +0 to +15"),
        ("numactl -C '!all' ./a.out", "this leaves none"),
        ("numactl -N same ./a.out", "no option before it names nodes"),
        ("numactl --physcpubind ./a.out", "is not a value of numactl --physcpubind"),
        ("numactl --no-such ./a.out", "--no-such is no option of numactl"),
        ("numactl --hardware", "starts no program"),
    ] {
        let refused = read(line, &machine()).err();
        let is_usage = !matches!(refused, None | Some(LineError::NotSaid(_)));
        let refused = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(is_usage && refused.contains(words), "{line}: {refused}");
    }
}

/// The PUs and the memory of the one rank.
fn alone(line: &str) -> Result<(String, String), String> {
    let read = read(line, &machine()).map_err(|error| error.to_string())?;
    let [rank] = &read.readings[0].ranks[..] else { return Err("several ranks".to_owned()) };
    let (mode, nodes) = rank.policy.clone()?;
    let mode = mode.word();
    Ok((pus(rank), if nodes.is_empty() { mode.to_owned() } else { format!("{mode} {nodes}") }))
}

#[test]
fn numactl_binds_to_the_pus_of_nodes_and_without_an_option_for_pus_to_none() {
    for (options, pus, memory) in [
        ("--cpunodebind=0 --membind=0", "0-3,8-11", "bind 0"),
        ("-N 0 -m 0", "0-3,8-11", "bind 0"),
        ("-N0 -m0", "0-3,8-11", "bind 0"),
        ("--cpunode=1 --mem 1", "4-7,12-15", "bind 1"),
        ("-N all -m same", "0-15", "bind 0-1"),
        ("-N '!0'", "4-7,12-15", "default"),
        ("-N +1", "4-7,12-15", "default"),
        ("--cpubind 1", "4-7,12-15", "default"),
        ("--interleave=all", "0-15", "interleave 0-1"),
        ("-i 0,1", "0-15", "interleave 0-1"),
        ("-w all", "0-15", "weighted-interleave 0-1"),
        ("-l", "0-15", "local"),
        ("--localalloc", "0-15", "local"),
        ("-p 1", "0-15", "preferred 1"),
        ("--preferred=1", "0-15", "preferred 1"),
        ("-b --preferred-many=0-1", "0-15", "preferred-many 0-1"),
        ("-C0-3", "0-3", "default"),
        ("-aC 0-3", "0-3", "default"),
        ("-C all", "0-15", "default"),
        ("-C +4", "4", "default"),
        ("-lC 4 --", "4", "local"),
    ] {
        let (pus, memory) = (pus.to_owned(), memory.to_owned());
        assert_eq!(
            alone(&format!("numactl {options} ./a.out -m model.bin -C 9")),
            Ok((pus, memory)),
            "{options}"
        );
    }
    let inside = alone("numactl -m 1 taskset -c 5 ./a.out");
    assert_eq!(inside, Ok(("5".to_owned(), "bind 1".to_owned())));
    // Alone, exec shares out the PUs that it finds itself on.
    let inside = alone("numactl -N 1 numabench exec -- a.out");
    assert_eq!(inside, Ok(("4-7,12-15".to_owned(), "default".to_owned())));
}

#[test]
fn numactl_leaves_nodes_without_memory_out_of_all_and_of_ranges_and_refuses_them_by_their_numbers() {
    // Four nodes, of which 1 has no memory, as libnuma.c reads them.
    let mut machine = machine();
    let node = |at: u32, kind| topo::model::NumaNode {
        os_index: at,
        kind,
        pus: [at].into_iter().collect(),
        ..machine.nodes[0].clone()
    };
    machine.nodes = [NodeKind::Normal, NodeKind::CpuOnly, NodeKind::Normal, NodeKind::Normal]
        .into_iter()
        .zip(0..)
        .map(|(kind, at)| node(at, kind))
        .collect();
    machine.allowed.nodes = (0..4).collect();
    let with = |options: &str| -> Result<String, String> {
        let line = format!("numactl {options} ./a.out");
        let read = read(&line, &machine).map_err(|error| error.to_string())?;
        let rank = &read.readings[0].ranks[0];
        Ok(format!("{} on {}", rank.policy.clone()?.1, pus(rank)))
    };
    for (options, wanted) in [
        ("--interleave=all", "0,2-3 on 0-15"),
        ("--interleave=0-2", "0,2 on 0-15"),
        ("-m +0-1", "0,2 on 0-15"),
        ("-m '!0'", "2 on 0-15"),
        ("-m '!3'", "0,2-3 on 0-15"),
        ("-N '!0'", "none on 1-2"),
        ("-N all -m same", "0,2-3 on 0,2-3"),
    ] {
        assert_eq!(with(options).as_deref(), Ok(wanted), "{options}");
    }
    for options in ["-m 1", "-i 1-3", "-i 0-1", "-N 1", "-m 0,1"] {
        assert!(with(options).is_err_and(|why| why.contains("refuses NUMA node 1")), "{options}");
    }
    assert!(with("-m +3").is_err_and(|why| why.contains("3 are allowed")));
}

#[test]
fn torchruns_workers_share_a_node_by_the_gpus_that_are_shown_and_as_torch_divides_it() {
    let of = |line: &str| -> Vec<String> {
        launched(line)
            .map_or_else(|error| vec![error], |placed| placed.into_iter().map(|(pus, _)| pus).collect())
    };
    // torch/numa/binding.py: `gpu_indices` are those of the process, and the first have one core more.
    let two = "torchrun --nproc-per-node 2 --numa-binding=exclusive train.py";
    assert_eq!(of(&format!("CUDA_VISIBLE_DEVICES=2,3 {two}")), ["0-1,8-9", "2-3,10-11"]);
    assert_eq!(of(&format!("CUDA_VISIBLE_DEVICES=1,2 {two}")), ["4-7,12-15", "0-3,8-11"]);
    assert_eq!(of(&format!("CUDA_VISIBLE_DEVICES=2,3 taskset -c 0-2,8-10 {two}")), ["0-1,8-9", "2,10"]);
    let few = of(&format!("CUDA_VISIBLE_DEVICES=2,3 taskset -c 0 {two}"));
    assert!(few.iter().all(|pus| pus.contains("leaves the worker")), "{few:?}");
    let mut apart = machine();
    for gpu in &mut apart.gpus {
        gpu.locality.outside_pus = std::mem::take(&mut gpu.locality.pus);
    }
    let outside = read(&format!("CUDA_VISIBLE_DEVICES=2,3 {two}"), &apart);
    let outside = outside.map(|launched| launched.readings[0].ranks.iter().map(pus).collect::<Vec<_>>());
    assert_eq!(outside.ok(), Some(vec!["0-1,8-9".to_owned(), "2-3,10-11".to_owned()]), "cut to a cpuset");
    let node = two.replace("exclusive", "node");
    assert_eq!(of(&format!("CUDA_VISIBLE_DEVICES=2,3 taskset -c 0-2 {node}")), ["0-2", "0-2"]);
}

#[test]
fn torchrun_groups_gpus_by_their_numa_node_and_not_by_the_cache_that_they_hang_from()
-> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g.xml");
    let lumi = topo::survey_xml(std::path::Path::new(file))?.topology;
    let of = |binding: &str| -> Result<Vec<String>, LineError> {
        let line = format!("torchrun --nproc-per-node 8 --numa-binding={binding} train.py");
        Ok(read(&line, &lumi)?.readings[0].ranks.iter().map(pus).collect())
    };
    let halves = [
        "48-55,112-119",
        "56-63,120-127",
        "16-23,80-87",
        "24-31,88-95",
        "0-7,64-71",
        "8-15,72-79",
        "32-39,96-103",
        "40-47,104-111",
    ];
    for binding in ["exclusive", "core-complex"] {
        let own = of(binding)?;
        assert_eq!(own, halves, "{binding}");
    }
    Ok(())
}

#[test]
fn torchrun_starts_a_worker_for_each_gpu_that_it_sees_and_where_none_is_known_the_number_is_not() {
    let count = |line: &str| launched(line).map(|ranks| ranks.len());
    assert_eq!(count("CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc-per-node=gpu train.py"), Ok(2));
    assert_eq!(count("torchrun --nproc-per-node=cpu train.py"), Ok(16));
    assert_eq!(count("CUDA_VISIBLE_DEVICES= torchrun --nproc-per-node=auto train.py"), Ok(16));
    for (line, said) in [
        ("CUDA_VISIBLE_DEVICES= torchrun --nproc-per-node=gpu train.py", "torchrun sees no GPU"),
        ("CUDA_VISIBLE_DEVICES=MIG-7 torchrun --nproc-per-node=auto train.py", "does not follow from"),
    ] {
        assert!(count(line).is_err_and(|error| error.contains(said)), "{line}");
    }
}

#[test]
fn taskset_takes_a_mask_or_a_list_and_the_words_of_the_program_are_its_own() {
    for (words, pus) in [
        ("3 ./a.out", "0-1"),
        ("0x2 ./a.out", "1"),
        ("f000 ./a.out", "12-15"),
        ("ff,f0 ./a.out", "4-15"),
        ("-c 0-6:2 ./a.out", "0,2,4,6"),
        ("-ac 0-3 ./a.out", "0-3"),
        ("--all-tasks --cpu-list 0-3 ./a.out", "0-3"),
        ("-c 0-3 ./a.out --cpu-list=9 -c 8", "0-3"),
        ("0x2 ./a.out -c 8", "1"),
    ] {
        assert_eq!(alone(&format!("taskset {words}")).map(|(pus, _)| pus).as_deref(), Ok(pus), "{words}");
    }
    let mut topology = machine();
    topology.allowed.pus = [1].into_iter().collect();
    let read = read("taskset 3 ./a.out", &topology).map_err(|error| error.to_string());
    let notes = read.map(|read| (pus(&read.readings[0].ranks[0]), read.notes.join("")));
    let kernel = "of taskset's PUs the kernel leaves out 0: this job may not use them".to_owned();
    assert_eq!(notes, Ok(("1".to_owned(), kernel)));
}

#[test]
fn options_with_a_word_of_their_own_end_no_launchers_options() {
    let two = placed(&[("4", &[0]), ("0", &[1])]);
    for line in [
        "srun -n2 --hint nomultithread --mem-bind local --distribution block:cyclic --cpu-bind map_cpu:4,0 \
         --gpus-per-task 1 ./a.out -n 7",
        "srun -lun2 -C gpu --constraint gpu -x n1 -W0 -K1 -I --environment=pytorch --cpu-bind=map_cpu:0x4,0 \
         --gpus-per-task=a100:1 ./a.out",
        "srun --ntasks=2 --cpu-b=map_cpu:4,0x0 --gpus-per-t=1 -- ./a.out",
        "env A=1 srun -n2 --cpu_bind=map_cpu:4,0 --gpus-per-task=1 ./a.out -c 'CUDA_VISIBLE_DEVICES=3 x'",
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpu-bind=mask:0x1,0x2 ./a.out",
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpu-bind=map:0*1,0x1*7 ./a.out",
    ] {
        assert_eq!(launched(line), two, "{line}");
    }
    let same = placed(&[("4", &[1]), ("0", &[1])]);
    assert_eq!(launched("srun -n2 --cpu-bind=map_cpu:4,0 --gpu-bind=map:1*8 ./a.out"), same);
    for line in [
        "mpiexec -n 2 -genv A 1 -genv B=1 -env CUDA_VISIBLE_DEVICES 1 -iface eth0 -bind-to user:0,4 ./a.out",
        "mpiexec --np 2 --depth 1 --env CUDA_VISIBLE_DEVICES=1 --cpu-bind list:0:4 ./a.out",
        "mpiexec -n2 -d 8 --cpu-bind=verbose,list:0:4 --gpu-bind list:1:1 ./a.out",
    ] {
        assert_eq!(launched(line), placed(&[("0", &[1]), ("4", &[1])]), "{line}");
    }
    let listed = "mpirun -np 2 --output-filename out -x OMP_NUM_THREADS --mca pml ucx -x \
        CUDA_VISIBLE_DEVICES=1 --map-by pe-list=4,0:ordered ./a";
    assert_eq!(launched(listed), placed(&[("4,12", &[1]), ("0,8", &[1])]));
}

#[test]
fn of_several_nodes_the_ranks_of_one_are_judged_in_whatever_order_the_line_says_it() {
    for (line, ranks, of) in [
        ("srun -N2 -n8 --cpu-bind=map_cpu:0,1 ./a", 4, Some("of 8 ranks on 2 nodes")),
        ("srun -n 8 --nodes 2-2 --cpu-bind=map_cpu:0,1 ./a", 4, Some("of 8 ranks on 2 nodes")),
        ("srun --nodes 2-4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 ./a", 2, Some("of 2 nodes")),
        ("srun -N1 -n4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 ./a", 4, None),
        ("srun -N2 -n6 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 ./a", 3, Some("of 6 ranks on 2 nodes")),
        ("srun -N2 -n6 -m plane=4 --cpu-bind=map_cpu:0,1 ./a", 4, Some("of 6 ranks on 2 nodes")),
        ("srun -N2 -n5 --cpu-bind=map_cpu:0,1 ./a", 3, Some("of 5 ranks on 2 nodes")),
        ("srun --ntasks-per-node=2 -n 8 --cpu-bind=map_cpu:0,1 ./a", 2, Some("of 8 ranks")),
        ("srun -n 8 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 ./a", 2, Some("of 8 ranks")),
        ("srun -N4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 ./a", 2, Some("of 4 nodes")),
        ("srun -N1 -n2 --cpu-bind=map_cpu:0,1 ./a", 2, None),
        ("mpiexec -ppn 2 -n 8 -bind-to user:0,1 ./a", 2, Some("of 8 ranks")),
        ("mpiexec -bind-to user:0,1 ./a", 1, None),
        ("mpiexec -n 8 -hosts a,b -bind-to user:0,1 ./a", 4, Some("of 8 ranks on 2 nodes")),
        ("mpirun -np 8 -npernode 2 ./a", 2, Some("of 8 ranks")),
        ("mpirun -N 2 -np 8 ./a", 2, Some("of 8 ranks")),
        ("mpirun -np 8 --map-by ppr:2:node:pe=1 ./a", 2, Some("of 8 ranks")),
        ("mpirun -np 8 --map-by ppr:1:package ./a", 2, Some("of 8 ranks")),
        ("mpirun -np 8 --npersocket 1 ./a", 2, Some("of 8 ranks")),
        ("mpirun -np 4 -H a:2,b:2 --cpu-list 0,1 ./a", 2, Some("of 4 ranks on 2 nodes")),
    ] {
        let read = read(line, &machine()).map_err(|error| error.to_string());
        let read = read.map(|read| (read.readings[0].ranks.len(), read.of));
        assert_eq!(read, Ok((ranks, of.map(str::to_owned))), "{line}");
    }
}

#[test]
fn a_number_of_ranks_that_the_job_or_a_file_decides_is_not_known() {
    for options in [
        "-N2-4 -n8 --cpu-bind=map_cpu:0,1",
        "-N2,4 -n8 --cpu-bind=map_cpu:0,1",
        "-N2 -n8 --cpu-bind=map_cpu:0,1 -m arbitrary",
        "-m arbitrary --cpu-bind=cores",
        "-N2 -m arbitrary",
        "-N2 -n8 --cpu-bind=map_cpu:0,1 -m block,Pack",
    ] {
        let line = format!("srun {options} ./a");
        let refused = read(&line, &machine());
        assert!(matches!(refused, Err(LineError::NotSaid(_))), "{line}: {refused:?}");
    }
}

/// Which GPUs the ranks of each node get by a variable of the launch, or `-` where it is not known.
#[test]
fn each_nodes_ranks_read_their_own_numbers_in_the_launch() -> Result<(), Box<dyn std::error::Error>> {
    let shown = |line: &str, variable: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let line = format!("{line} sh -c 'CUDA_VISIBLE_DEVICES=${variable} exec ./a'");
        let nodes = crate::line::read_nodes(&line, &machine(), &Default::default())?;
        let of_node = |node: &Launched| {
            let of_rank = |rank: &LineRank| match (&rank.gpus.devices, &rank.gpus.absent) {
                (None, _) => "-".to_owned(),
                (_, Some(absent)) => absent.rsplit('=').next().unwrap_or_default().to_owned(),
                (Some(_), None) => rank.gpus.reason.rsplit('=').next().unwrap_or_default().to_owned(),
            };
            node.readings[0].ranks.iter().map(of_rank).collect::<Vec<_>>().join(" ")
        };
        Ok(nodes.iter().map(of_node).collect())
    };
    let filled = ["0 1", "2 3"];
    let turns = ["0 2", "1 3"];
    let open = ["- -"];

    for (line, variable, gpus) in [
        ("srun -N2 -n4 --cpu-bind=map_cpu:0,4", "SLURM_PROCID", &filled[..]),
        ("srun -N2 -n4 -m cyclic --cpu-bind=map_cpu:0,4", "SLURM_PROCID", &turns),
        ("SLURM_DISTRIBUTION=cyclic:block srun -N2 -n4 --cpu-bind=map_cpu:0,4", "SLURM_PROCID", &turns),
        ("srun -N2 -n4 --cpu-bind=map_cpu:0,4", "SLURM_NODEID", &["0 0", "1 1"]),
        ("srun -N2 -n4 --cpu-bind=map_cpu:0,4", "SLURM_LOCALID", &["0 1"]),
        ("mpirun -np 4 -N 2", "OMPI_COMM_WORLD_RANK", &filled),
        ("mpirun -np 4 --host a:2,b:2", "OMPI_COMM_WORLD_RANK", &filled),
        ("mpirun -np 4 --host a:2,b:2 --map-by node", "OMPI_COMM_WORLD_RANK", &turns),
        ("mpirun -np 4 --host a:2,b:2 --map-by node --rank-by slot", "OMPI_COMM_WORLD_RANK", &open),
        ("mpiexec -n 4 -ppn 2 -bind-to user:0,4", "PMI_RANK", &filled),
        ("mpiexec -n 4 --ppn 2 --cpu-bind list:0:4", "PALS_RANKID", &filled),
        ("flux run -N2 -n4 -x", "FLUX_TASK_RANK", &filled),
        ("flux run -N2 -n4 -x --taskmap=cyclic", "FLUX_TASK_RANK", &turns),
        ("flux run -N2 -n4 -x --taskmap=manual:x", "FLUX_TASK_RANK", &open),
        (
            "srun -N2 -n10 --cpu-bind=map_cpu:0,4",
            "SLURM_PROCID",
            &["0 1 2 3 4 names 1, of which 0 can be used; there are 4 GPUs"],
        ),
    ] {
        let shown = shown(line, variable).map_err(|error| format!("{line}: {error}"))?;
        assert_eq!(shown.iter().map(String::as_str).collect::<Vec<_>>()[..gpus.len()], *gpus, "{line}");
    }
    Ok(())
}

#[test]
fn of_a_rankfile_for_several_hosts_the_ranks_of_the_first_are_judged()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ranks");
    std::fs::write(&file, "rank 0=n7 slot=4\nrank 1=n7 slot=0\nrank 2=n8 slot=4\nrank 3=n8 slot=0\n")?;
    let all = &[0, 1, 2, 3][..];
    for option in ["--rankfile ", "--map-by rankfile:file="] {
        let line = format!("mpirun -np 4 {option}{} ./a.out", file.display());
        assert_eq!(launched(&line), placed(&[("4,12", all), ("0,8", all)]), "{line}");
        assert_eq!(read(&line, &machine())?.of.as_deref(), Some("of 4 ranks on 2 nodes"));
    }
    std::fs::write(&file, "# nothing\n")?;
    let none =
        launched(&format!("mpirun -np 2 --rankfile {} ./a.out", file.display())).err().unwrap_or_default();
    assert!(none.contains("has no line \"rank N=HOST slot=LIST\""), "{none}");
    Ok(())
}

#[test]
fn words_of_task_plugin_param_bind_as_cpu_bind_does_and_autobind_only_where_slurm_finds_nothing()
-> Result<(), Box<dyn std::error::Error>> {
    let topology = machine();
    let pus = |parameter: &str, options: &str| -> Result<Vec<_>, Box<dyn std::error::Error>> {
        let conf = format!(
            "TaskPlugin=task/affinity\n{parameter}SelectType=select/cons_tres\n\
             NodeName=n CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n"
        );
        let site = SlurmFiles { gres: None, nodes: Some(conf.parse()?) };
        let read = read_at(&format!("srun -n2 {options} ./app"), &topology, &site)?;
        Ok(read.readings.into_iter().flat_map(|reading| reading.ranks).map(|rank| rank.pus).collect())
    };

    for (word, option) in
        [("None", "none"), ("Cores", "cores"), ("Verbose,Sockets", "sockets"), ("threads", "threads")]
    {
        let parameter = format!("TaskPluginParam={word}\n");
        for options in ["-c2", "-c4", "-c6"] {
            let said = pus("", &format!("{options} --cpu-bind={option}"))?;
            assert_eq!(pus(&parameter, options)?, said, "{word}, {options}");
        }
        // The line's own options come first.
        for options in ["-c2 --cpu-bind=cores", "-c2 --threads-per-core=1", "-c2 --hint=nomultithread"] {
            assert_eq!(pus(&parameter, options)?, pus("", options)?, "{word}, {options}");
        }
    }
    assert_eq!(pus("TaskPluginParam=None,autobind=threads\n", "-c4")?, pus("", "-c4 --cpu-bind=none")?);
    assert_ne!(pus("TaskPluginParam=None\n", "-c4")?, pus("TaskPluginParam=autobind=none\n", "-c4")?);
    Ok(())
}

#[test]
fn a_rank_of_srun_has_the_variables_of_the_line_that_export_passes_on() -> Result<(), LineError> {
    // GPU `$A$B` of each rank, as Slurm 22.05 passes these on; `None` where the program's GPUs are not known.
    for (export, gpu) in [
        ("", Some("1")),
        ("--export=ALL", Some("1")),
        ("--export=ALL,A=2", Some("2")),
        ("--export=A=2,ALL", Some("1")),
        ("--export=A,B", Some("1")),
        ("--export=A=2,B", Some("2")),
        ("--export=NONE", None),
        ("--export=NIL", None),
        ("--export=NONE,A=2,B", None),
        ("--export=A", None),
        ("--export=$LIST", None),
    ] {
        let line = format!(
            "export A=1 B=; srun -n1 --cpu-bind=map_cpu:0 {export} sh -c 'CUDA_VISIBLE_DEVICES=$A$B ./app'"
        );
        let rank = &read(&line, &machine())?.readings[0].ranks[0];
        let devices =
            rank.gpus.devices.as_ref().map(|devices| devices.iter().filter_map(|one| one.pci).collect());
        let wanted = gpu.map(|gpu| vec![address(gpu.parse().unwrap_or_default())]);
        assert_eq!(devices, wanted, "{export}");
    }
    let shown = "CUDA_VISIBLE_DEVICES=1 srun -n1 --cpu-bind=map_cpu:0 --export=NONE ./app";
    assert_eq!(launched(shown), launched("srun -n1 --cpu-bind=map_cpu:0 ./app"));
    Ok(())
}

#[test]
fn gpus_beyond_the_machines_are_absent_however_many_are_asked_for() -> Result<(), LineError> {
    let line = "flux run -N1 -n 8 --exclusive -o mpibind=off -o gpu-affinity=map:99 ./a.out";
    let read = read(line, &machine())?;
    let absent = |rank: usize| read.readings[0].ranks[rank].gpus.absent.clone();
    let said = "CUDA_VISIBLE_DEVICES=99 names 1, of which 0 can be used; there are 4 GPUs";
    assert_eq!((absent(0).as_deref(), absent(1).as_deref()), (Some(said), Some(said)));
    let many =
        crate::line::read("srun -n 8192 --cpu-bind=none --gpus-per-task=99999999999 ./a.out", &machine());
    assert!(many.is_err_and(|error| error.to_string().contains("do not agree")));
    Ok(())
}

#[test]
fn a_part_of_the_nodes_gpus_is_one_however_it_is_asked_for() {
    let of = |gpus: &str| {
        launched(&format!("srun -N1 -n2 {gpus} --cpu-bind=map_cpu:4,0 --gpu-bind=map:0,1 ./a.out"))
    };
    let all = placed(&[("4", &[0]), ("0", &[1])]);
    let unknown = placed(&[("4", &[]), ("0", &[])]);
    for part in [
        "--gpus-per-node=2",
        "--gpus-per-node=h100:1,a100:1",
        "--gres=gpu:2",
        "--gres=gpu:h100:1,tmp:9,gpu:a100:1",
        "-G h100:1,a100:1",
        "--gpus-per-socket=1 --sockets-per-node=2",
        "--gpus-per-socket=1",
    ] {
        assert_eq!(of(part), unknown, "{part}");
    }
    for whole in [
        "",
        "--gpus-per-node=h100:2,a100:2",
        "--gres=gpu:h100:2,gpu:a100:2",
        "--gpus-per-socket=2 --sockets-per-node=2",
        "--tres-per-task=gres/gpu:2,license/x:1",
    ] {
        assert_eq!(of(whole), all, "{whole}");
    }
}

#[test]
fn tasks_bound_to_cores_share_none_while_cores_are_free() {
    // Slurm's src/plugins/task/affinity/dist_tasks.c: "Binding to cores, skip remaining of the threads".
    let of = |line: &str| -> Vec<String> {
        launched(line)
            .map_or_else(|error| vec![error], |placed| placed.into_iter().map(|(pus, _)| pus).collect())
    };
    let cores = "srun -N1 -n4 --threads-per-core=2 --cpu-bind=cores --distribution=block:cyclic ./a.out";
    assert_eq!(of(cores), ["0,8", "4,12", "1,9", "5,13"]);
    assert_eq!(of(&cores.replace("=cores", "=threads")), ["0", "4", "8", "12"]);
    assert_eq!(of(&cores.replace("block:cyclic", "block:block")), ["0,8", "1,9", "2,10", "3,11"]);
    let threads =
        "srun -N1 -n4 --threads-per-core=2 --cpu-bind=threads --ntasks-per-core=1 -m block:block ./a.out";
    assert_eq!(of(threads), ["0", "1", "2", "3"]);
    // Nine tasks on eight cores: the ninth begins again.
    assert_eq!(of("srun -n9 --threads-per-core=2 --cpu-bind=cores -m block:block ./a.out")[8], "0,8");
    let of_socket =
        "srun -n3 --threads-per-core=2 --cpu-bind=threads --ntasks-per-socket=1 -m block:block ./a.out";
    assert_eq!(of(of_socket), ["0", "4", "0"]);
}

#[test]
fn tasks_are_laid_out_by_blocks_with_a_plane_and_by_default_where_the_site_has_it()
-> Result<(), Box<dyn std::error::Error>> {
    // Slurm's src/plugins/task/affinity/dist_tasks.c: "will use lllp_block because of SelectTypeParameters".
    let readings =
        |parameters: &str, distribution: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
            let conf = format!("{parameters}NodeName=n Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CPUs=8");
            let site = SlurmFiles { gres: None, nodes: Some(conf.parse()?) };
            let line = format!("srun -N1 -n2 --cpu-bind=cores {distribution} ./a.out");
            let readings = read_at(&line, &machine(), &site)?.readings;
            let ranks = |ranks: &[LineRank]| ranks.iter().map(pus).collect::<Vec<_>>().join(" ");
            Ok(readings.iter().map(|reading| ranks(&reading.ranks)).collect())
        };
    let (in_turn, in_blocks) = ("0,8 4,12", "0,8 1,9");
    let cyclic = "SelectType=select/cons_tres\n";
    let block = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n";
    for without in ["", "-m block", "-m cyclic", "-m nopack"] {
        assert_eq!(readings(cyclic, without)?, [in_turn], "{without}");
        assert_eq!(readings(block, without)?, [in_blocks], "{without}");
        assert_eq!(readings("", without)?, [in_turn, in_blocks], "{without}: the file does not say it");
    }
    for (with, wanted) in [
        ("-m block:cyclic", in_turn),
        ("-m *:*", in_turn),
        ("-m block:block", in_blocks),
        ("-m Block:Block", in_blocks),
        ("-m plane=2", in_blocks),
    ] {
        for parameters in [cyclic, block, ""] {
            assert_eq!(readings(parameters, with)?, [wanted], "{with}");
        }
    }
    Ok(())
}

#[test]
fn a_gres_conf_decides_which_gpus_slurm_gives_a_task() -> Result<(), Box<dyn std::error::Error>> {
    let at = |conf: &str| Ok::<_, GresConfError>(SlurmFiles { gres: Some(conf.parse()?), nodes: None });
    let given = |conf: &str, line: &str| -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
        let launched = read_at(line, &machine(), &at(conf)?)?;
        let buses = |rank: &LineRank| {
            rank.gpus.devices.iter().flatten().filter_map(|one| Some(one.pci?.bus)).collect()
        };
        assert_eq!(launched.readings.len(), 1, "{line}: {:?}", launched.readings);
        Ok(launched.readings[0].ranks.iter().map(buses).collect())
    };
    let buses = |gpus: &[&[u8]]| -> Vec<Vec<u8>> {
        gpus.iter().map(|gpus| gpus.iter().map(|gpu| address(*gpu).bus).collect()).collect()
    };
    // As the machine is: GPUs 2 and 3 near cores 0-3.
    let true_one = "Name=gpu File=/dev/nvidia[0-1] Cores=4-7\nName=gpu File=/dev/nvidia[2-3] Cores=0-3\n";
    let wrong_one = "Name=gpu File=/dev/nvidia[0-1] Cores=0-3\nName=gpu File=/dev/nvidia[2-3] Cores=4-7\n";
    let closest = "srun -n2 --cpu-bind=map_cpu:0,4 --gpu-bind=closest ./a.out";
    assert_eq!(given(true_one, closest)?, buses(&[&[2, 3], &[0, 1]]));
    assert_eq!(given(wrong_one, closest)?, buses(&[&[0, 1], &[2, 3]]), "Slurm believes its file");
    assert_eq!(given("AutoDetect=nvml\n", closest)?, buses(&[&[2, 3], &[0, 1]]));
    let detected = "AutoDetect=nvml\nName=gpu File=/dev/nvidia[0-3]\n";
    assert_eq!(given(detected, closest)?, buses(&[&[2, 3], &[0, 1]]), "lines that leave cores to detection");
    let single = "srun -n4 --cpu-bind=map_cpu:0,4 --ntasks-per-gpu=1 ./a.out";
    assert_eq!(given(true_one, single)?, buses(&[&[2], &[1], &[2], &[1]]), "as 22.05 counts");
    let per_task = "srun -n2 --cpu-bind=map_cpu:0,4 --gpus-per-task=1 ./a.out";
    assert_eq!(
        given("Name=gpu File=/dev/nvidia[0-3]\n", per_task)?,
        buses(&[&[0], &[1]]),
        "no cores: by number"
    );
    // Slurm's first GPU is the file that stands first.
    let turned = "Name=gpu File=/dev/nvidia3\nName=gpu File=/dev/nvidia[0-2]\n";
    assert_eq!(
        given(turned, "srun -n2 --cpu-bind=map_cpu:0,4 --gpu-bind=map:0,1 ./a.out")?,
        buses(&[&[3], &[0]])
    );
    for (conf, says) in [
        (
            "Name=gpu File=/dev/nvidia[0-7]\n",
            "gres.conf has 8 GPUs for this node, and the machine that is judged by has 4",
        ),
        (
            "Name=gpu File=/dev/nvidia[0-3] Cores=0-63\n",
            "gres.conf names Cores=8-63, and the machine that is judged by has 8 cores",
        ),
    ] {
        let refused = read_at(closest, &machine(), &at(conf)?).err().map(|error| error.to_string());
        assert_eq!(refused, Some(format!("--launch: {says}")));
    }
    Ok(())
}

#[test]
fn what_was_pasted_is_expanded_as_the_shell_does_before_the_launcher_sees_it() {
    let two = placed(&[("4", &[0]), ("0", &[1])]);
    for text in [
        "CPU_BIND=\"map_cpu:4,0\"\nsrun -n2 --cpu-bind=${CPU_BIND} --gpus-per-task=1 ./a.out",
        "export RANKS=1 NODES=1\nmodule load rocm\n\
         srun -N $NODES -n $((2 * RANKS)) --cpu-bind=map_cpu:4,0 --gpus-per-task=1 -A $PROJECT ./a.out \
         $INPUT > out.$SLURM_JOB_ID",
        "time srun --nodes 1 --tasks-per-node 2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out | sort",
        "# as documented\nsrun -n2 --cpu-bind=map_cpu:4,0 bash -c \"CUDA_VISIBLE_DEVICES=\\$SLURM_LOCALID \
         ./a.out\" &\nwait",
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 bash -c 'echo $SLURM_PROCID; taskset -cp $$' | \
         sort",
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 numactl --show",
    ] {
        assert_eq!(launched(text), two, "{text}");
    }
}

#[test]
fn a_job_around_a_launch_is_followed_to_it_and_another_one_is_not_taken_for_a_program() {
    let two = placed(&[("4", &[0]), ("0", &[1])]);
    for text in [
        "salloc -N1 srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out",
        "salloc --nodes=1 -n 2 --exclusive -t 10 -A me srun --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out",
        "salloc -N1 --ntasks-per-node=2 bash -c 'srun --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out'",
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out\nsbatch next.sh",
    ] {
        assert_eq!(launched(text), two, "{text}");
    }

    for (text, said) in [
        ("salloc -N1 -c 4 srun -n2 ./a.out", "what -c of salloc does to the launch behind it is not read"),
        ("salloc -N1 --gpus-per-node=4 srun -n2 ./a.out", "what --gpus-per-node of salloc does"),
        ("salloc -N1", "salloc starts a shell"),
        ("salloc -N1 ./a.out", "salloc runs its command where it is typed"),
        ("sbatch --gres=gpu:1 job.sh", "sbatch submits a job"),
        ("sbatch --wrap='srun -n2 --cpu-bind=map_cpu:0,0 ./a.out'", "sbatch submits a job"),
        ("qsub -l select=1 job.sh", "qsub submits a job"),
        ("time aprun -n 8 ./a.out", "aprun starts several processes"),
        ("/usr/bin/ccc_mprun -n 8 ./a.out", "ccc_mprun starts several processes"),
        ("deepspeed --num_gpus 4 train.py", "deepspeed starts its workers itself"),
        ("srnu -n2 --cpu-bind=map_cpu:0,0 ./a.out", "did you mean srun?"),
        ("OMP_NUM_THREADS=4 mpirum -np 2 ./a.out", "did you mean mpirun?"),
    ] {
        let refused = read(text, &machine());
        assert!(
            matches!(&refused, Err(LineError::NotSaid(why)) if why.contains(said)),
            "{text}: {refused:?}"
        );
    }
    for own in ["./sbatch -n2", "./srnu -n2 input", "my_app -n 2 x", "run", "tools/aprun -n 2 ./a.out"] {
        let all: &[u8] = &[0, 1, 2, 3];
        assert_eq!(launched(own), placed(&[("0-15", all)]), "{own}");
    }
}

#[test]
fn a_variable_that_nothing_sets_is_named_and_one_that_places_nothing_is_passed_over() {
    for (text, said) in [
        ("mpiexec -n ${RANKS} --ppn ${PPN} --cpu-bind depth ./a.out", "does not say what RANKS, PPN are"),
        ("srun --cpu-bind=$CPU_BIND ./a.out", "does not say what CPU_BIND is"),
        ("srun -n2 $OPTIONS ./a.out", "does not say what OPTIONS is"),
        ("SLURM_CPU_BIND=$BIND srun -n $N ./a.out", "does not say what BIND, N are"),
        ("srun -n $(nproc) ./a.out", "what $(…) gives is not known"),
        ("srun -n2 ./a.out\nsrun -n2 --cpu-bind=cores ./b.out", "several launches"),
        ("#SBATCH -n 2\nsrun --cpu-bind=cores ./a.out", "#SBATCH lines are not read"),
        ("srun -n2 --cpu-bind=none hwloc-bind --no-such core:0 -- ./a.out", "hwloc-bind"),
        ("numactl -N 0 srun -n2 --cpu-bind=map_cpu:4,0 ./a.out", "binds it and not its ranks"),
    ] {
        let error = launched(text).map_or_else(|error| error, |placed| format!("{placed:?}"));
        assert!(error.contains(said), "{text}: {error}");
    }
    // In double quotes the shell before the launcher expands it, and nobody knows to what.
    let early =
        launched("srun -n2 --cpu-bind=map_cpu:4,0 bash -c \"CUDA_VISIBLE_DEVICES=$SLURM_LOCALID ./a.out\"");
    assert!(early.is_err_and(|error| error.contains(
        "the shell expands SLURM_LOCALID before srun starts any rank"
    )));
}

/// What Open MPI's parameters say of places is followed or is not known; those of other frameworks say
/// nothing.
#[test]
fn a_parameter_of_open_mpi_that_is_not_followed_makes_the_places_unknown() {
    let at = |line: &str| match read(line, &machine()) {
        Ok(read) => read.readings.iter().map(|one| pus(&one.ranks[0])).collect::<Vec<_>>().join(" or "),
        Err(error) => error.to_string(),
    };
    for parameter in [
        "rmaps_ppr_pattern 1:core",
        "hwloc_base_cpu_list 4,0",
        "rmaps seq",
        "rmaps_base_no_schedule_local 1",
        "rmaps_base_ranking_policy core",
    ] {
        let (name, value) = parameter.split_once(' ').unwrap_or_default();
        for line in [
            format!("mpirun -np 2 --mca {parameter} --map-by core ./a"),
            format!("OMPI_MCA_{name}={value} mpirun -np 2 --map-by core ./a"),
        ] {
            let said = at(&line);
            assert!(said.contains(&format!("{name} of mpirun is not followed")), "{line}: {said}");
        }
    }
    for file in ["--tune x.conf", "--am x.conf"] {
        let said = at(&format!("mpirun -np 2 {file} --map-by core ./a"));
        assert!(said.contains("is not followed"), "{file}: {said}");
    }
    for other in ["pml ucx", "btl ^openib", "hwloc_base_report_bindings 1", "rmaps_base_verbose 5"] {
        assert_eq!(at(&format!("mpirun -np 2 --mca {other} --map-by core ./a")), "0,8", "{other}");
    }
    // Two cores a rank.
    let wide = at("mpirun -np 2 --mca rmaps_base_cpus_per_proc 2 --map-by numa ./a");
    assert!(wide.contains("0-1,8-9"), "{wide}");
    let wide = at("mpirun -np 2 --cpus-per-rank 2 --map-by numa ./a");
    assert!(wide.contains("0-1,8-9"), "{wide}");
}

#[test]
fn numactl_counts_cpus_within_the_affinity_that_it_is_started_with_and_nodes_within_the_cpuset() {
    // As numactl 2.0.16 bound the process, on a machine of two PUs.
    for (line, pus) in [
        ("taskset -c 1 numactl -C +0 ./a.out", "1"),
        ("taskset -c 0 numactl -C all ./a.out", "0"),
        ("taskset -c 0 numactl -C 0 ./a.out", "0"),
        ("taskset -c 0 numactl -aC 1 ./a.out", "1"),
        ("taskset -c 0 numactl -C '!0' ./a.out", "1-15"),
        ("taskset -c 0 numactl -N 0 ./a.out", "0-3,8-11"),
        ("taskset -c 0 numactl -N 0 numactl -C 1 ./a.out", "1"),
        ("numactl -C 0,all ./a.out", "0-15"),
        ("numactl -N 0,all ./a.out", "0-15"),
        ("numactl -C 3-1 ./a.out", "3"),
        ("numactl -C 0x3,010 ./a.out", "3,8"),
        ("numactl -C ' 3' ./a.out", "3"),
        ("numactl -bm 0 ./a.out", "0-15"),
    ] {
        assert_eq!(alone(line).map(|(pus, _)| pus).as_deref(), Ok(pus), "{line}");
    }
    for (line, why) in [
        ("taskset -c 0 numactl -C 1 ./a.out", "started on, which are 0: leave out the binding before it"),
        ("taskset -c 0 numactl -C +1 ./a.out", "1 are allowed"),
        ("taskset -c 0 numactl -N 0 -C 1 ./a.out", "started on, which are 0"),
        ("mpirun -np 2 --bind-to core numactl -C 0-15 ./a.out", "started on, which are 0,8"),
        ("numactl -C 16 ./a.out", "started on, which are 0-15"),
        ("numactl -C 0-6:2 ./a.out", "write CPUs as numactl reads them"),
        ("numactl -C all,0 ./a.out", "write CPUs as numactl reads them"),
        ("numactl -C 0,1, ./a.out", "write CPUs as numactl reads them"),
        ("numactl -N all,0 ./a.out", "write NUMA nodes"),
        ("numactl -N 1 -l -m 0 ./a.out", "Conflicting policies"),
        ("numactl -m 0 -m 0 ./a.out", "Conflicting policies"),
        ("numactl -p 0-1 ./a.out", "write one node"),
        ("numactl -C 0 -a ./a.out", "write it first"),
        ("numactl -l -b ./a.out", "write it first"),
        ("numactl --length 4K -m 0 ./a.out", "starts no program"),
    ] {
        let refused = read(line, &machine()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(why), "{line}: {refused}");
    }
}

#[test]
fn numactl_may_run_on_a_node_that_the_affinity_has_not_got_and_not_on_one_that_the_job_may_not_use() {
    let mut bound = machine();
    bound.allowed.pus = (4..8).collect();
    bound.allowed.not_in_affinity_pus = (0..4).chain(8..16).collect();
    let pus = |line: &str, machine: &topo::Topology| {
        read(line, machine).map(|read| pus(&read.readings[0].ranks[0])).map_err(|error| error.to_string())
    };
    assert_eq!(pus("numactl -N 0 ./a.out", &bound).as_deref(), Ok("0-3,8-11"));
    assert!(pus("numactl -C 0-3 ./a.out", &bound).is_err_and(|why| why.contains("which are 4-7")));
    let mut cut = machine();
    cut.allowed.nodes = [1].into_iter().collect();
    assert!(pus("numactl -m 0 ./a.out", &cut).is_err_and(|why| why.contains("may not use NUMA node 0")));
    assert_eq!(pus("numactl -a -N 0 ./a.out", &cut).as_deref(), Ok("0-3,8-11"));
}

#[test]
fn a_program_that_fails_in_one_of_a_sites_ways_only_is_not_known_to_fail() -> Result<(), LineError> {
    let read = read("srun -n2 numactl -C 0-15 ./a.out", &machine())?;
    let all: Vec<String> = read.readings.iter().flat_map(|reading| reading.ranks.iter().map(pus)).collect();
    assert!(all.iter().any(|pus| pus == "0-15"), "{all:?}");
    assert!(
        all.iter().any(|pus| pus.starts_with("not known: \"0-15\" is not a value of numactl -C")),
        "{all:?}"
    );
    let with_option = crate::line::read("srun -n2 --cpu-bind=cores numactl -C 0-15 ./a.out", &machine());
    assert!(with_option.is_err(), "in each way");
    Ok(())
}

/// The first rank's GPUs by index; why they are not known.
fn gpus_of_first(line: &str, topology: &topo::Topology) -> Result<Vec<u32>, String> {
    let read = read(line, topology).map_err(|error| error.to_string())?;
    let gpus = &read.readings[0].ranks[0].gpus;
    let devices = gpus.devices.clone().ok_or_else(|| gpus.reason.clone())?;
    Ok(devices.iter().filter_map(|one| Some(topology.gpu_at(one.pci?)?.index)).collect())
}

fn saved(name: &str) -> Result<topo::Topology, topo::TopoError> {
    let file = format!("{}/../topo/tests/fixtures/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    Ok(topo::survey_xml(std::path::Path::new(&file))?.topology)
}

#[test]
fn a_list_of_gpus_in_a_line_is_read_as_cuda_reads_it() -> Result<(), topo::TopoError> {
    let hgx = saved("hgx-h100")?;
    let uuid = hgx.gpus[4].uuid.clone().unwrap_or_default();
    for (list, seen) in [
        ("4,4", &[][..]),
        (",4", &[]),
        ("4,,0", &[4]),
        ("4,9,0", &[4]),
        ("4,0", &[4, 0]),
        ("NoDevFiles", &[]),
        ("-1", &[]),
        (&uuid, &[4]),
        (&uuid[..12], &[4]),
        ("GPU-dead", &[]),
    ] {
        let line = format!("CUDA_VISIBLE_DEVICES={list} numactl -N 1 ./a.out");
        assert_eq!(gpus_of_first(&line, &hgx).as_deref(), Ok(seen), "{line}");
    }
    let part = gpus_of_first("CUDA_VISIBLE_DEVICES=MIG-0aaa numactl -N 1 ./a.out", &hgx);
    assert!(part.is_err_and(|why| why.contains("does not say of which GPU")));

    let absent = read("CUDA_VISIBLE_DEVICES=4,9,0 numactl -N 1 ./a.out", &hgx);
    let absent = absent.map(|read| read.readings[0].ranks[0].gpus.absent.clone());
    let wanted = "CUDA_VISIBLE_DEVICES=4,9,0 names 3, of which 1 can be used; there are 8 GPUs";
    assert_eq!(absent.ok().flatten().as_deref(), Some(wanted));
    Ok(())
}

#[test]
fn hip_counts_over_what_rocr_leaves_as_its_runtime_reads_both() -> Result<(), topo::TopoError> {
    let lumi = saved("lumi-g")?;
    for (variables, seen) in [
        ("ROCR_VISIBLE_DEVICES=3,2", &[3, 2][..]),
        ("ROCR_VISIBLE_DEVICES=3,2 HIP_VISIBLE_DEVICES=1", &[2]),
        ("ROCR_VISIBLE_DEVICES=3,2 CUDA_VISIBLE_DEVICES=0", &[3]),
        ("HIP_VISIBLE_DEVICES=0,9,1", &[0]),
        ("ROCR_VISIBLE_DEVICES=0,0,1", &[0]),
    ] {
        let line = format!("{variables} taskset -c 1 ./a.out");
        assert_eq!(gpus_of_first(&line, &lumi).as_deref(), Ok(seen), "{line}");
    }
    Ok(())
}

#[test]
fn variables_beside_a_gpu_that_a_launcher_names_and_the_machine_has_not_are_no_fault() {
    let line = "flux run -n 1 -o gpu-affinity=map:99 sh -c 'CUDA_VISIBLE_DEVICES=0 ./a.out'";
    assert!(read(line, &machine()).is_ok());
}

#[test]
fn slurm_overwrites_the_variable_that_stands_before_srun_or_in_export() {
    // As seen with 22.05.8: CUDA_VISIBLE_DEVICES=3 outside reaches no task of a step with GPUs.
    let all = &[0, 1, 2, 3][..];
    for (line, seen) in [
        ("CUDA_VISIBLE_DEVICES=3 srun -n1 --gpus-per-node=4 --cpu-bind=map_cpu:0 ./a.out", all),
        ("srun -n1 --gpus-per-node=4 --export=ALL,CUDA_VISIBLE_DEVICES=3 --cpu-bind=map_cpu:0 ./a.out", all),
        ("CUDA_VISIBLE_DEVICES=3 srun -n2 --gpus-per-task=1 --cpu-bind=map_cpu:4,0 ./a.out", &[0]),
        ("CUDA_VISIBLE_DEVICES=3 srun -n1 --gpus-per-node=4 --gpu-bind=none --cpu-bind=none ./a.out", all),
        ("srun -n1 --gpus-per-node=4 --cpu-bind=none sh -c 'CUDA_VISIBLE_DEVICES=3 ./a.out'", &[3]),
    ] {
        assert_eq!(gpus_of_first(line, &machine()).as_deref(), Ok(seen), "{line}");
    }
    let note = |line: &str| read(line, &machine()).map(|read| read.notes.join("; ")).unwrap_or_default();
    let sure = note("CUDA_VISIBLE_DEVICES=3 srun -n1 --gpus-per-node=4 --cpu-bind=map_cpu:0 ./a.out");
    assert!(sure.contains("CUDA_VISIBLE_DEVICES=3 does not count"), "{sure}");

    // Whether the job has GPUs of Slurm's, a line without them does not say: where it has none, the variable
    // stays (LLNL's mpibind tutorial, cug23, module 3).
    let open = "CUDA_VISIBLE_DEVICES=3 srun -n1 --cpu-bind=map_cpu:0 ./a.out";
    assert!(gpus_of_first(open, &machine()).is_err_and(|why| why.contains("CUDA_VISIBLE_DEVICES")));
    assert!(note(open).contains("write --gpus-per-node=N where it has them"), "{}", note(open));
    let behind = "CUDA_VISIBLE_DEVICES=3 srun -n1 --cpu-bind=map_cpu:0 env CUDA_VISIBLE_DEVICES=2 ./a.out";
    assert_eq!(gpus_of_first(behind, &machine()).as_deref(), Ok(&[2][..]));
}

#[test]
fn mig_instances_are_no_gpus_and_a_model_that_the_machine_has_not_is_noted()
-> Result<(), Box<dyn std::error::Error>> {
    let hgx = saved("hgx-h100")?;
    for gpus in [
        "--gres=gpu:a100_1g.5gb:7 --gpus-per-task=1",
        "--gpus-per-task=1g.5gb:1",
        "--gpus-per-node=h100_3g.40gb:7",
        "-G 1g.10gb+me:7",
        "--tres-per-task=gres/gpu:1g.5gb=1",
    ] {
        let line = format!("srun -N1 -n7 {gpus} --cpu-bind=map_cpu:48,49,50,51,52,53,54 ./a.out");
        let seen = gpus_of_first(&line, &hgx);
        assert!(seen.as_ref().is_err_and(|why| why.contains("is a MIG instance")), "{line}: {seen:?}");
    }
    let notes = |gpus: &str| -> Result<String, LineError> {
        Ok(read(&format!("srun -N1 -n1 {gpus} --cpu-bind=map_cpu:48 ./a.out"), &hgx)?.notes.join("; "))
    };
    let other = notes("--gpus-per-node=a100:8")?;
    assert!(other.contains("GPUs of type a100, and this machine has NVIDIA H100"), "{other}");
    for own in ["--gpus-per-node=h100:8", "--gres=gpu:8", "--gres=gpu:hopper:8", "--gres=gpu:H100-80gb:8"] {
        assert!(!notes(own)?.contains("of type"), "{own}");
    }
    Ok(())
}

#[test]
fn an_option_of_a_plug_in_is_noted_and_a_slip_of_the_pen_is_refused_with_what_is_meant() {
    for (line, meant) in [
        ("srun -n2 --gpus-per-tsk=2 --cpu-bind=map_cpu:0,1 ./a.out", "--gpus-per-task?"),
        ("srun -n2 --gpubind=map_gpu:1,0 --cpu-bind=map_cpu:0,1 ./a.out", "--gpu-bind?"),
        ("srun -n2 --membind=local --cpu-bind=map_cpu:0,1 ./a.out", "--mem-bind?"),
        ("srun --ntaskspernode=2 --cpu-bind=map_cpu:0,1 ./a.out", "--ntasks-per-node?"),
        ("srun -n2 --overcomit --cpu-bind=map_cpu:0,1 ./a.out", "--overcommit?"),
        ("mpirun -np 2 --bindto=none ./a.out", "--bind-to?"),
        ("torchrun --nproc-per-nod3=2 train.py", "--nproc-per-node?"),
        ("flux run -n2 --gpus-pertask=1 ./a.out", "--gpus-per-task?"),
    ] {
        let refused = read(line, &machine()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(&format!("did you mean {meant}")), "{line}: {refused}");
    }
    for (line, option) in [
        ("srun -n2 --container-image=img --cpu-bind=map_cpu:0,1 ./a.out", "--container-image of srun"),
        ("srun -n2 --uenv=prgenv --view=x --cpu-bind=map_cpu:0,1 ./a.out", "--view of srun"),
        ("mpirun -np 2 --site-map=x --bind-to core ./a.out", "--site-map of mpirun"),
        ("torchrun --nproc-per-node 2 --own-thing=1 --numa-binding=node train.py", "--own-thing of torchrun"),
    ] {
        let notes = read(line, &machine()).map(|read| read.notes.join("; ")).unwrap_or_default();
        let (option, tool) = option.split_once(" of ").unwrap_or_default();
        assert!(
            notes.contains(&format!("{option} is no option of {tool} that numabench knows")),
            "{line}: {notes}"
        );
    }
}

#[test]
fn what_runs_in_a_container_or_starts_workers_of_its_own_is_not_judged_as_a_program() {
    for (line, why) in [
        ("docker run --gpus all --cpuset-cpus=0-3 img ./a.out", "inside of the container"),
        ("taskset -c 0-3 podman run img ./a.out", "inside of the container"),
        ("srun -n2 --cpu-bind=map_cpu:4,0 podman-hpc run img ./a.out", "inside of the container"),
        ("deepspeed --num_gpus 4 --bind_cores_to_rank train.py", "starts its workers itself"),
        ("accelerate launch --num_processes 4 train.py", "starts its workers itself"),
        ("numactl -N 0 python -m accelerate.commands.launch train.py", "starts its workers itself"),
    ] {
        let refused = read(line, &machine()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(why), "{line}: {refused}");
    }
    assert!(alone("taskset -c 0-3 apptainer exec img ./a.out").is_ok());
}
