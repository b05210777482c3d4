//! Small machines that each showed a fault, reduced from public reports, with what real tools do on them:
//! Slurm 22.05.8, numactl 2.0.16, and the formats' own documentation. Files are in `cases/`.
//!
//! Some 500 lines because what is expected of a case stands beside it.

mod judged_line;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use check::Whom;
use launchers::slurm_files::SlurmFiles;
use launchers::{Dialect, Situation, say};
use placement::{Ask, GpuChoice, NodePlaces, recommend};
use topo::Topology;
use topo::model::NodeKind;

type Done = Result<(), Box<dyn Error>>;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

fn topology(name: &str) -> Result<Topology, Box<dyn Error>> {
    Ok(topo::survey_xml(&case(&format!("{name}.xml")))?.topology)
}

/// The verdict on a line at the case's own site, the text that stands with it, and the fixes.
fn judged(name: &str, line: &str) -> Result<(&'static str, String, Vec<String>), Box<dyn Error>> {
    let file = |end: &str| fs::read_to_string(case(&format!("{name}.{end}.conf"))).ok();
    let site = SlurmFiles {
        gres: file("gres").map(|text| text.parse()).transpose()?,
        nodes: file("slurm").map(|text| text.parse()).transpose()?,
    };
    judged_line::judged(line, &case(&format!("{name}.xml")), site)
}

fn places(name: &str, ranks: usize, gpus: GpuChoice) -> Result<(Topology, NodePlaces), Box<dyn Error>> {
    let topology = topology(name)?;
    let places = recommend(&topology, &Ask { ranks: Some(ranks), gpus, ..Ask::default() })?;
    Ok((topology, places))
}

#[test]
fn a_step_with_fewer_gpus_than_the_node_gives_every_task_the_first_of_them() -> Done {
    let line = |tasks: usize, bind: &str| format!("srun -N1 -n{tasks} -c1 -G1 --cpu-bind=cores {bind} ./app");
    let binds = [
        "--gpu-bind=single:1",
        "--gpu-bind=closest",
        "--gpu-bind=map_gpu:1,0",
        "--gpu-bind=mask_gpu:0x2,0x1",
    ];
    for (tasks, bind) in binds.into_iter().flat_map(|bind| [(1, bind), (2, bind)]) {
        let (verdict, said, _) = judged("two-cores-gpus-reversed", &line(tasks, bind))?;
        assert_eq!(verdict, "unknown", "{tasks} {bind}: {said}");
        assert!(said.contains("a part of the node's GPUs"), "{said}");
    }
    let (verdict, said, _) = judged("two-cores-gpus-reversed", &line(1, "--ntasks-per-gpu=1"))?;
    assert_eq!(verdict, "unknown", "{said}");
    // With all of them each task gets the one that it names, or the near one.
    for bind in
        ["--gpu-bind=single:1", "--gpu-bind=closest", "--gpu-bind=map_gpu:1,0", "--gpu-bind=mask_gpu:0x2,0x1"]
    {
        let all = format!("srun -N1 -n2 -c1 --gpus-per-node=2 --cpu-bind=cores {bind} ./app");
        let (verdict, said, _) = judged("two-cores-gpus-reversed", &all)?;
        assert_eq!(verdict, "well", "{bind}: {said}");
    }
    Ok(())
}

#[test]
fn an_index_of_unlike_gpus_is_known_only_in_pci_order() -> Done {
    let name = "small-gpu-first-in-pci-order";
    let (verdict, said, _) = judged(name, "CUDA_VISIBLE_DEVICES=0 numactl -N 0 -m 0 ./app")?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(said.contains("CUDA_DEVICE_ORDER=PCI_BUS_ID"), "{said}");
    let ordered = "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 numactl -N 0 -m 0 ./app";
    let (verdict, said, _) = judged(name, ordered)?;
    assert_ne!(verdict, "unknown", "{said}");
    Ok(())
}

#[test]
fn numactl_refuses_a_node_without_memory() -> Done {
    for (name, line) in [
        ("two-nodes-without-memory", "numactl -N 0 -m 0 ./app"),
        ("two-nodes-without-memory", "numactl -m 3 ./app"),
        ("cpus-without-memory-3-memory-nodes", "numactl --membind=2 ./app"),
    ] {
        let (verdict, said, _) = judged(name, line)?;
        assert_eq!(verdict, "refused", "{name}: {line}: {said}");
        assert!(said.contains("no memory"), "{said}");
    }
    assert_eq!(judged("two-nodes-without-memory", "numactl -N 1 -m 1 ./app")?.0, "well");
    Ok(())
}

#[test]
fn memory_is_not_bound_to_one_of_several_nodes_that_are_as_near() -> Done {
    let (topology, places) = places("cpus-without-memory-3-memory-nodes", 2, GpuChoice::None)?;
    let text = say(&topology, &places, Dialect::Numactl, &Situation::default()).text;
    assert!(text.contains("--physcpubind=") && !text.contains("--membind"), "{text}");
    Ok(())
}

#[test]
fn a_pu_whose_node_is_left_out_has_the_memory_of_its_package() -> Done {
    let (topology, places) = places("memoryless-nodes-left-out", 4, GpuChoice::None)?;
    let of = |pu: u32| {
        places.places.iter().find(|place| place.pus.contains(pu)).and_then(|place| place.memory_node)
    };
    assert_eq!((of(2), of(4), of(6)), (Some(1), Some(2), Some(2)));
    let text = say(&topology, &places, Dialect::Numactl, &Situation::default()).text;
    assert!(
        text.lines().any(|line| line.contains("--physcpubind=6") && line.contains("--membind=2")),
        "{text}"
    );
    Ok(())
}

#[test]
fn nodes_that_are_cut_across_packages_are_those_of_the_kernels_lists() -> Done {
    let (topology, places) = places("nodes-cut-across-packages-saved", 2, GpuChoice::default())?;
    let pus = |node: u32| topology.node(node).map(|node| node.pus.to_string()).unwrap_or_default();
    assert_eq!((pus(0), pus(1)), ("0-1,4-5".to_owned(), "2-3,6-7".to_owned()));
    let second = &places.places[1];
    assert_eq!(second.memory_node, Some(1), "{second:?}");
    assert!(second.pus.is_subset(&"2-3,6-7".parse()?), "{second:?}");
    Ok(())
}

#[test]
fn where_a_file_does_not_say_whose_cpus_are_a_nodes_each_node_may_have_some() -> Done {
    let topology = topology("nodes-cut-across-packages")?;
    assert!(topology.nodes.iter().all(|node| node.kind == NodeKind::Normal), "{:?}", topology.nodes);
    assert!(topology.pus.iter().all(|pu| pu.nodes.is_empty()), "no PU's node is known");
    let (_, places) = places("nodes-cut-across-packages", 2, GpuChoice::None)?;
    assert!(places.places.iter().all(|place| place.memory_node.is_none()), "{places:?}");
    Ok(())
}

#[test]
fn the_fix_of_flux_gives_each_rank_its_gpu_and_is_well_placed() -> Done {
    let name = "four-modules-gpus-reversed";
    let line = "flux run -N1 -n4 -c4 -g1 -o cpu-affinity=per-task -o gpu-affinity=per-task ./app";
    let (verdict, said, fix) = judged(name, line)?;
    assert_eq!(verdict, "wrong", "{said}");
    let fix = fix.first().ok_or("no fix")?.replace("PROGRAM", "./app");
    let (verdict, said, _) = judged(name, &fix)?;
    assert_eq!(verdict, "well", "{fix}: {said}");
    Ok(())
}

/// The leonardo node has four GPUs.
fn judged_on_leonardo(line: &str) -> Result<(&'static str, String), Box<dyn Error>> {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/leonardo.xml");
    let (verdict, said, _) = judged_line::judged(line, &machine, SlurmFiles::default())?;
    Ok((verdict, said))
}

#[test]
fn a_gpu_chosen_by_the_number_in_the_launch_is_absent_on_the_second_node() -> Done {
    let by = |variable: &str| format!("sh -c \"CUDA_VISIBLE_DEVICES=\\${variable} exec ./app\"");
    let srun = "srun -N2 -n 8 --cpu-bind=map_cpu:0,4,8,12 --gpus-per-node=4";
    for (launcher, variable) in [
        (srun, "SLURM_PROCID"),
        ("mpiexec -n 8 -ppn 4 -bind-to user:0,4,8,12", "PMI_RANK"),
        ("mpiexec -n 8 --ppn 4 --cpu-bind list:0:4:8:12", "PALS_RANKID"),
    ] {
        let (verdict, said) = judged_on_leonardo(&format!("{launcher} {}", by(variable)))?;
        assert_eq!(verdict, "wrong", "{launcher}: {said}");
        assert!(
            said.contains("those of node 1 (of 8 ranks") && said.contains("node 0: well placed"),
            "{said}"
        );
    }
    let cyclic = format!("{srun} -m cyclic {}", by("SLURM_PROCID"));
    let (verdict, said) = judged_on_leonardo(&cyclic)?;
    assert_eq!(verdict, "wrong", "{said}");
    let local = format!("{srun} {}", by("SLURM_LOCALID"));
    assert_eq!(judged_on_leonardo(&local)?.0, "well");
    let modulo = format!("{srun} bash -c \"CUDA_VISIBLE_DEVICES=\\$((SLURM_PROCID % 4)) exec ./app\"");
    assert_eq!(judged_on_leonardo(&modulo)?.0, "well");
    Ok(())
}

fn judged_as_printed(name: &str, text: &str, line: &str) -> Result<(&'static str, String), Box<dyn Error>> {
    let line = Some((line.to_owned(), SlurmFiles::default()));
    judged_line::judged_of(Whom::Printed(text.to_owned(), line), &case(&format!("{name}.xml")))
        .map(|(verdict, said, _)| (verdict, said))
}

#[test]
fn of_a_text_of_several_nodes_the_worst_node_is_the_answer() -> Done {
    let task = |host: &str, task: usize, mask: &str| {
        format!("cpu-bind=MASK - {host}, task  {task}  {} [{}]: mask {mask} set\n", task % 2, 50 + task)
    };
    let near = task("n1", 0, "0x00f0") + &task("n1", 1, "0x000f");
    let text = |masks: [&str; 2]| near.clone() + &task("n2", 2, masks[0]) + &task("n2", 3, masks[1]);
    let line = "srun -N2 -n4 --gpus-per-node=4 --gpu-bind=map:2,3 ./app";
    let (verdict, said) = judged_as_printed("four-modules-gpus-reversed", &text(["0x00f0", "0x000f"]), line)?;
    assert_eq!(verdict, "well", "{said}");
    let (verdict, said) = judged_as_printed("four-modules-gpus-reversed", &text(["0xf000", "0xf000"]), line)?;
    assert_eq!(verdict, "wrong", "{said}");
    assert!(said.contains("on n2, of 2 nodes in the text") && said.contains("n1"), "{said}");
    Ok(())
}

#[test]
fn what_binds_behind_a_launcher_is_not_in_what_it_printed() -> Done {
    let text = "[vm:1] MCW rank 0 is not bound\n[vm:1] MCW rank 1 is not bound\n";
    for behind in ["numabench exec -- ./app", "taskset -c 20 ./app", "numactl -m 3 ./app"] {
        let line = format!("mpirun -np 2 {behind}");
        let (verdict, said) = judged_as_printed("four-modules-gpus-reversed", text, &line)?;
        assert_eq!(verdict, "unknown", "{behind}: {said}");
        assert!(said.contains("without --printed"), "{behind}: {said}");
    }
    Ok(())
}

/// Slurm 22.05 gives such tasks no CUDA_VISIBLE_DEVICES, or an empty one.
#[test]
fn a_step_without_gpus_shows_its_tasks_none() -> Done {
    let of = |before: &str, options: &str| -> Result<String, Box<dyn Error>> {
        let line = format!("{before} srun -N1 -n2 {options} --cpu-bind=map_cpu:0,4 ./app");
        let (_, said) = judged_on_leonardo(line.trim_start())?;
        Ok(said)
    };
    for (before, options) in [
        ("", "--gres=none"),
        ("", "--gpus-per-node=0"),
        ("", "--gpus-per-task=0"),
        ("", "--gpus=0"),
        ("", "--gres=gpu:0"),
        ("SLURM_STEP_GRES=none", ""),
        ("SLURM_GRES=none", "--gpu-bind=closest"),
    ] {
        let said = of(before, options)?;
        let gpus = said.lines().filter(|line| line.trim_start().starts_with("rank "));
        assert!(gpus.clone().count() == 2 && gpus.clone().all(|row| row.ends_with("-    -")), "{said}");
        assert!(said.contains("well placed: 2 of 2 ranks, none of which sees a GPU"), "{said}");
    }
    for (before, options) in [("SLURM_GRES=gpu:2", ""), ("SLURM_STEP_GRES=gpu:4 SLURM_GRES=gpu:2", "")] {
        let said = of(before, options)?;
        assert!(said.contains("2 of the node's 4 GPUs"), "{before} {options}: {said}");
    }
    let said = of("", "--gpus-per-node=2 --gres=craynetwork:1")?;
    assert!(said.contains("2 of the node's 4 GPUs"), "{said}");
    Ok(())
}

#[test]
fn variables_of_srun_stand_for_its_options_without_a_value() -> Done {
    let name = "two-cores-gpus-reversed";
    let within = "srun -N1 -n1 --cpu-bind=map_cpu:1 ./app";
    let is_refused = |variable: &str| -> Result<bool, Box<dyn Error>> {
        let (_, said, _) = judged(name, &format!("{variable} {within}"))?;
        Ok(said.contains("CPU binding outside of job step allocation"))
    };
    for on in ["SLURM_EXACT=1", "SLURM_EXACT=yes", "SLURM_EXACT=2", "SLURM_EXACT=", "SLURM_EXCLUSIVE="] {
        assert!(is_refused(on)?, "{on}");
    }
    for off in ["SLURM_EXACT=0", "SLURM_EXACT=true", "SLURM_EXACT=no", "SLURM_EXCLUSIVE=user"] {
        assert!(!is_refused(off)?, "{off}");
    }

    let many = "srun -N1 -n9 --cpu-bind=none ./app";
    assert_eq!(judged(name, many)?.0, "refused");
    assert_eq!(judged(name, &format!("SLURM_OVERCOMMIT=0 {many}"))?.0, "refused");
    assert_ne!(judged(name, &format!("SLURM_OVERCOMMIT=1 {many}"))?.0, "refused");
    Ok(())
}

#[test]
fn of_two_variables_of_srun_for_one_option_the_right_one_counts() -> Done {
    for (variables, ranks) in [
        ("SLURM_NTASKS=4 SLURM_NPROCS=2", "4 ranks of the line"),
        ("SLURM_NPROCS=2", "2 ranks of the line"),
        ("SLURM_NTASKS=4 SLURM_NNODES=1 SLURM_JOB_NUM_NODES=2", "2 ranks of the line"),
    ] {
        let line = format!("{variables} srun --cpu-bind=map_cpu:0,4,8,12 --gpu-bind=map:0,1,2,3 ./app");
        let (_, said) = judged_on_leonardo(&line)?;
        assert!(said.contains(ranks), "{variables}: {said}");
    }
    Ok(())
}

/// Slurm 22.05 bound such tasks so where a task without these options was left to both CPUs.
#[test]
fn options_that_bind_tasks_without_cpu_bind_leave_no_choice_to_the_site() -> Done {
    let name = "two-cores-gpus-reversed";
    for bound in ["-B 1:2:1", "--extra-node-info=1:2", "--threads-per-core=1", "--ntasks-per-core=1"] {
        let line = format!("srun -N1 -n2 {bound} --gpus-per-node=2 --gpu-bind=map_gpu:1,0 ./app");
        let (_, said, _) = judged(name, &line)?;
        assert!(!said.contains("leaves tasks unbound"), "{bound}: {said}");
    }
    let (verdict, said, _) = judged(name, "srun -N1 -B 1:2:1 ./app")?;
    assert!(verdict == "unknown" && said.contains("a task for each thread"), "{said}");
    Ok(())
}

#[test]
fn a_variable_that_counts_from_a_tasks_own_gpus_where_the_site_confines_it_is_not_known() -> Done {
    let line = |gpus: &str, value: &str| {
        format!(
            "srun -N1 -n4 {gpus} --cpu-bind=map_cpu:0,4,8,12 \
             sh -c \"CUDA_VISIBLE_DEVICES={value} exec ./app\""
        )
    };
    let (verdict, said) = judged_on_leonardo(&line("--gpus-per-task=1", "\\$SLURM_LOCALID"))?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(said.contains("how the site confines GPUs"), "{said}");
    let (verdict, said) = judged_on_leonardo(&line("--gpus-per-node=4", "\\$SLURM_LOCALID"))?;
    assert_eq!(verdict, "well", "{said}");
    Ok(())
}

#[test]
fn ranks_that_see_the_same_gpus_are_well_placed_on_a_condition() -> Done {
    let line = "srun -N1 -n4 --gpus-per-node=4 --gpu-bind=none --cpu-bind=map_cpu:0,4,8,12 ./app";
    let (verdict, said) = judged_on_leonardo(line)?;
    assert_eq!(verdict, "well", "{said}");
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains("4 of 4 ranks, if each uses another GPU"), "{said}");
    assert!(said.contains("note: ranks 0-3 each see the same 4 GPUs"), "{said}");
    let one = "srun -N1 -n1 --gpus-per-node=4 --gpu-bind=none --cpu-bind=map_cpu:0 ./app";
    assert!(!judged_on_leonardo(one)?.1.contains("if each uses"));
    Ok(())
}

#[test]
fn what_srun_takes_from_files_is_not_known_and_what_it_exports_counts_where_slurm_leaves_it() -> Done {
    let line = |options: &str| format!("srun -N1 -n4 --cpu-bind=map_cpu:0,4,8,12 {options} ./app");
    for (options, why) in [("--multi-prog", "a file that is not read"), ("--task-prolog=x.sh", "is not read")]
    {
        let (verdict, said) = judged_on_leonardo(&line(options))?;
        assert!(verdict == "unknown" && said.contains(why), "{options}: {said}");
    }
    let (_, said) = judged_on_leonardo(&line("--export=ALL,OMP_NUM_THREADS=2"))?;
    assert!(said.contains("OMP_NUM_THREADS=2"), "{said}");
    let (verdict, said) = judged_on_leonardo(&line("--export=ALL,CUDA_VISIBLE_DEVICES=3"))?;
    assert!(verdict == "unknown" && said.contains("which the line does not ask for"), "{said}");
    let (_, said) = judged_on_leonardo(&line("--gpus-per-node=4 --export=ALL,CUDA_VISIBLE_DEVICES=3"))?;
    assert!(said.contains("rank 0  0    0     default  ?      0-3"), "{said}");
    let (verdict, said) = judged_on_leonardo(&line("numabench exec --workers=2 --"))?;
    assert!(verdict == "unknown" && said.contains("the GPU that it opens first"), "{said}");
    Ok(())
}

#[test]
fn a_fix_for_a_saved_machine_names_that_machine() -> Done {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/hgx-h100.xml");
    let line =
        "mpirun -np 2 --cpu-list 0,1 sh -c 'CUDA_VISIBLE_DEVICES=$((7-OMPI_COMM_WORLD_LOCAL_RANK)) exec ./a'";
    let (_, said, fix) = judged_line::judged(line, &machine, SlurmFiles::default())?;
    let saved = topo::survey_xml(&machine)?.topology.host();
    assert!(fix.concat().contains(&format!("rank 0={saved} slot=")), "{saved}: {fix:?} {said}");
    Ok(())
}

#[test]
fn threads_of_openmp_that_do_not_fit_a_ranks_pus_are_a_note() -> Done {
    for (line, note) in [
        (
            "OMP_NUM_THREADS=64 CUDA_VISIBLE_DEVICES=0 taskset -c 0-3 ./app",
            "OMP_NUM_THREADS=64 is more threads",
        ),
        ("OMP_PLACES={16} CUDA_VISIBLE_DEVICES=0 taskset -c 0-3 ./app", "OMP_PLACES={16} names PUs outside"),
        ("OMP_NUM_THREADS=2 srun -n1 --cpu-bind=map_cpu:0 ./app", "than a rank has PUs (1 PU)"),
    ] {
        let (_, said) = judged_on_leonardo(line)?;
        assert!(said.contains(note), "{line}: {said}");
    }
    let fits = "OMP_NUM_THREADS=4 OMP_PLACES={0:4} CUDA_VISIBLE_DEVICES=0 taskset -c 0-3 ./app";
    assert!(!judged_on_leonardo(fits)?.1.contains("OMP_"));
    Ok(())
}

/// What stands in conditions, the first ones of each choice as a slurm.conf may have them.
const CHOICES: [&[&str]; 5] = [
    &["socket of Slurm is a package", "socket of Slurm is a NUMA node", "socket of Slurm is an L3"],
    &["CPU of Slurm is a core", "CPU of Slurm is a hardware thread"],
    &["cores of one socket after another", "cores in blocks"],
    &[
        "site leaves binding to Slurm",
        "default binds tasks to cores",
        "default leaves tasks unbound",
        "default binds tasks to threads",
        "default binds tasks to sockets",
        "default binds tasks to NUMA nodes",
    ],
    &["gets the CPUs that it asks for", "gets the whole node"],
];

/// A site for each slurm.conf: what is chosen, by its number, and the file.
fn sites() -> Vec<([usize; 5], String)> {
    let mut all = Vec::new();
    for at in 0..3 * 2 * 2 * 3 {
        let [socket, cpu, order, binding] = [at % 3, at / 3 % 2, at / 6 % 2, at / 12];
        let sockets = [1, 4, 8][socket];
        let blocks = ["", ",CR_CORE_DEFAULT_DIST_BLOCK"][order];
        let parameter = ["", "TaskPluginParam=cores", "TaskPluginParam=none"][binding];
        let conf = format!(
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core{blocks}\nTaskPlugin=task/affinity\n\
             {parameter}\nNodeName=n CPUs={} Sockets={sockets} CoresPerSocket={} ThreadsPerCore=2\n",
            [64, 128][cpu],
            64 / sockets
        );
        all.push(([socket, cpu, order, binding, 0], conf));
    }
    all
}

/// The verdicts of the notes whose conditions are so at a site.
fn verdicts_there(said: &str, chosen: [usize; 5]) -> Vec<&str> {
    let is_so = |condition: &str| {
        let not_chosen = |(choice, words): (usize, &&[&str])| {
            words.iter().enumerate().any(|(at, words)| at != chosen[choice] && condition.contains(words))
        };
        !CHOICES.iter().enumerate().any(not_chosen)
    };
    let conditional = said.lines().filter_map(|line| line.strip_prefix("note: ")?.split_once(" if "));
    let mut verdicts: Vec<&str> =
        conditional.filter(|(_, condition)| is_so(condition)).map(|(verdict, _)| verdict).collect();
    verdicts.dedup();
    verdicts
}

#[test]
fn at_each_site_the_verdict_is_that_of_the_conditions_that_are_so_there() -> Done {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/lumi-g-low-noise.xml");
    let list = "--cpu-bind=map_cpu:49,57,17,25";
    for (options, gpus) in [
        ("-n8".to_owned(), "4,5,2,3,6,7,0,1"),
        ("-n8 -c7".to_owned(), "4,5,2,3,6,7,0,1"),
        ("-n8 -c7 --cpu-bind=cores".to_owned(), "4,5,2,3,6,7,0,1"),
        (format!("-n4 -c14 {list}"), "0,1,2,3"),
        (format!("-n8 -c2 {list},1,9,33,41"), "0,1,2,3,4,5,6,7"),
        (format!("-n8 --exclusive {list},1,9,33,41"), "0,1,2,3,4,5,6,7"),
    ] {
        let line = format!("srun -N1 {options} --gpus-per-node=8 --gpu-bind=map_gpu:{gpus} ./app");
        let (verdict, said, _) = judged_line::judged(&line, &machine, SlurmFiles::default())?;
        assert_eq!(verdict, "unknown", "{line}: {said}");
        for (chosen, conf) in sites() {
            let site = SlurmFiles { gres: None, nodes: Some(conf.parse()?) };
            let (there, of_site, _) = judged_line::judged(&line, &machine, site)?;
            let wanted = match there {
                "well" => "well placed",
                "wrong" => "misplaced",
                _ => "unknown",
            };
            let all = verdicts_there(&said, chosen);
            assert_eq!(all, [wanted], "{line}: {there} at {conf}\n{said}\n{of_site}");
        }
    }
    Ok(())
}

#[test]
fn what_would_decide_a_line_is_what_is_open_and_nothing_that_was_given() -> Done {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/lumi-g-low-noise.xml");
    let conf = "SelectType=select/cons_tres\nTaskPlugin=task/affinity\nTaskPluginParam=cores\n\
        NodeName=n1 Sockets=8 CoresPerSocket=8 ThreadsPerCore=2\n";
    let printed = |version: &str| {
        format!("NodeName=n1 CoresPerSocket=8\n CPUTot=128 Version={version}\n Sockets=8 ThreadsPerCore=2\n")
    };
    let cores = ["48-55", "56-63", "16-23", "24-31", "0-7", "8-15", "32-39", "40-47"];
    let gres =
        (128..).zip(cores).map(|(gpu, cores)| format!("Name=gpu File=/dev/dri/renderD{gpu} Cores={cores}\n"));
    let gres: String = gres.collect();
    let judged = |line: &str, nodes: Option<&str>, gres: Option<&str>| -> Result<_, Box<dyn Error>> {
        let site =
            SlurmFiles { gres: gres.map(str::parse).transpose()?, nodes: nodes.map(str::parse).transpose()? };
        let (verdict, said, _) = judged_line::judged(line, &machine, site)?;
        let decides = said.lines().filter_map(|line| line.strip_prefix("to decide it: "));
        let decides: Vec<&str> = decides.filter(|what| !what.starts_with("the launch itself")).collect();
        Ok((verdict, decides.join("; "), said.clone()))
    };

    let line = "srun -N1 -n8 -c7 --gpus-per-task=1 --threads-per-core=1 ./app";
    let version = "the version of Slurm: --slurm-conf FILE (what scontrol show node prints)";
    let (verdict, decides, said) = judged(line, Some(conf), Some(&gres))?;
    assert_eq!((verdict, decides.as_str()), ("unknown", version), "{said}");
    assert!(said.contains("it depends on the version of Slurm"), "{said}");
    for (version, wanted) in [("24.05.8", "well"), ("23.02.1", "well"), ("22.05.11", "wrong")] {
        let (verdict, _, said) = judged(line, Some(&(conf.to_owned() + &printed(version))), Some(&gres))?;
        assert_eq!(verdict, wanted, "{version}: {said}");
    }

    let settings = |files: &str| format!("the site's settings: {files}");
    let node = "--slurm-conf FILE (slurm.conf, or what scontrol show node prints)";
    let (_, decides, said) = judged(line, Some(conf), None)?;
    assert_eq!(decides, settings("--gres-conf FILE"), "{said}");
    let cores = "srun -N1 -n8 -c7 --gpus-per-node=8 --gpu-bind=map_gpu:4,5,2,3,6,7,0,1 -m block:cyclic --cpu-bind=cores \
        --threads-per-core=1 ./app";
    let (_, decides, said) = judged(cores, None, None)?;
    assert_eq!(decides, settings(node), "{said}");
    Ok(())
}
