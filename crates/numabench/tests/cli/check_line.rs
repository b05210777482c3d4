//! `numabench check --launch`: lines that are pasted and not run, judged by saved machines.

use std::path::Path;
use std::time::Duration;

use crate::run::{Done, Ended, end, numabench, run};

/// A saved DGX A100: GPU 0 is near PUs 48-63, and PU 0 is on another NUMA node.
#[test]
fn a_pasted_line_is_judged_by_a_saved_machine_without_a_launch() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../topo/tests/fixtures/dgx-a100.xml")
        .display()
        .to_string();
    let of = |line: &str| run(&["check", "--input", &input, "--launch", line]);
    let right = "srun -n8 --cpu-bind=map_cpu:48,56,16,24,112,120,80,88 --gpus-per-task=1 ./a.out";
    let right = run(&["check", "--json", "--input", &input, "--launch", right]).well();
    assert_eq!(places(&right), ["well placed"; 8], "{}", right.out);
    let wrong = of("srun -n8 --cpu-bind=map_cpu:0,8,16,24,112,120,80,88 --gpus-per-task=1 ./a.out");
    assert_eq!(wrong.code, Some(5), "{}{}", wrong.out, wrong.err);
    for words in
        ["WRONG: 2 of 8 ranks", "rank 0 runs on PU 0, far from its GPU 0", "fix: srun --cpu-bind=map_cpu:48,"]
    {
        assert!(wrong.out.contains(words), "{words}: {}", wrong.out);
    }
    let line = "srun -n8 --gpus-per-task=1 ./a.out";
    let unknown = run(&["check", "--json", "--input", &input, "--launch", line]);
    // Whatever binds it, or nothing: each reading has ranks far from their GPUs.
    assert_eq!(
        (unknown.code, unknown.json().map(|said| said["placed"].clone()).ok()),
        (Some(5), Some("misplaced".into())),
        "{}",
        unknown.out
    );
    let memory = of("CUDA_VISIBLE_DEVICES=0 numactl --physcpubind=48-63 --membind=0 ./a.out");
    assert_eq!(memory.code, Some(5), "{}{}", memory.out, memory.err);
    // What `place` says is right, in each tool's words.
    for (dialect, code) in [("srun", 0), ("srun-map", 0), ("gpu-bind", 0), ("mpich", 6)] {
        let line = run(&["place", "--input", &input, "--emit", dialect, "-q"]).well().out;
        let gpus = if dialect == "gpu-bind" { "" } else { "--gpus-per-task=1" };
        let line = if dialect == "mpich" { line } else { format!("srun -n8 {gpus} {} ./a.out", line.trim()) };
        let said = of(&line);
        assert_eq!(said.code, Some(code), "{dialect}: {line}: {}", said.out);
        // Hydra's line says cores alone, as its note says: which GPU a rank uses is the program's choice.
        assert!(code == 0 || said.out.contains("decides"), "{dialect}: {}", said.out);
    }
}

/// How each rank is placed, as `check --json` says.
fn places(ended: &Ended) -> Vec<String> {
    let document = ended.json().unwrap_or_default();
    let ranks = document["ranks"].as_array().into_iter().flatten();
    ranks.filter_map(|rank| rank["placed"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_gres_conf_decides_which_gpus_slurm_takes_for_near_to_a_task() -> Done {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../topo/tests/fixtures/interleaved.xml")
        .display()
        .to_string();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gres.conf");
    let path = file.display().to_string();
    let launch = "srun -N1 -n2 --cpu-bind=map_cpu:0,1 --gpu-bind=closest ./app";
    let check = || run(&["check", "--json", "--input", &input, "--launch", launch, "--gres-conf", &path]);
    let missing = check();
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("--gres-conf") && missing.err.contains(&path), "{}", missing.err);
    std::fs::write(&file, "Name=gpu File=/dev/nvidia0 Cores=0-5\nName=gpu File=/dev/nvidia1 Cores=6-11\n")?;
    assert_eq!(places(&check().well()), ["well placed"; 2]);
    // Where the file names a part of the node's cores, a step gets those first, whatever it is bound to.
    std::fs::write(&file, "Name=gpu File=/dev/nvidia0 Cores=0-5\nName=gpu File=/dev/nvidia1 Cores=0-5\n")?;
    let both = check();
    assert_eq!(both.code, Some(6), "{}", both.out);
    assert!(both.err.contains("gres.conf names cores"), "{}", both.err);
    Ok(())
}

#[test]
fn a_sites_numbers_of_sockets_and_cpus_decide_which_cores_slurm_gives_a_task() -> Done {
    let input =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/lumi-g.xml").display().to_string();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("slurm.conf");
    let path = file.display().to_string();
    let launch = "srun -n2 -c8 --cpu-bind=thread --gpu-bind=map_gpu:4,5 ./app";
    let open = run(&["check", "--input", &input, "--launch", launch]);
    assert_eq!(open.code, Some(6), "{}", open.out);
    assert!(open.out.contains("depends") && open.out.contains("--slurm-conf"), "{}", open.out);
    let check = || run(&["check", "--json", "--input", &input, "--launch", launch, "--slurm-conf", &path]);
    let missing = check();
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("--slurm-conf") && missing.err.contains(&path), "{}", missing.err);
    std::fs::write(&file, "NodeName=nid[1-9] CPUs=64 Sockets=1 CoresPerSocket=64 ThreadsPerCore=2\n")?;
    assert_eq!(places(&check().well()), ["well placed"; 2]);
    // Each task in a NUMA node of its own, and both GPUs are of the first; unless the site has blocks.
    let node = "NodeName=nid[1-9] CPUs=128 Sockets=4 CoresPerSocket=16 ThreadsPerCore=2\n";
    std::fs::write(&file, node)?;
    assert_eq!(check().code, Some(6));
    std::fs::write(&file, format!("SelectTypeParameters=CR_Core_Memory\n{node}"))?;
    let by_nodes = check();
    assert_eq!(by_nodes.code, Some(5), "{}", by_nodes.out);
    assert_eq!(
        places(&by_nodes).iter().filter(|placed| *placed == "misplaced").count(),
        1,
        "{}",
        by_nodes.out
    );
    Ok(())
}

/// What `check --launch` says of this line on LUMI-G, whose site keeps the first core of every L3 from jobs.
fn on_lumi(line: &str) -> Ended {
    let fixture = "../topo/tests/fixtures/lumi-g-low-noise.xml";
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture).display().to_string();
    run(&["check", "--input", &input, "--launch", line])
}

const LUMI: &str = "--cpu-bind=map_cpu:49,57,17,25,1,9,33,41";

#[test]
fn a_line_that_names_reserved_cores_is_wrong_and_the_fix_has_none() -> Done {
    let gpus = "srun -N1 -n8 --gpus-per-task=1";
    let reserved = on_lumi(&format!("{gpus} --cpu-bind=map_cpu:0,8,16,24,32,40,48,56 ./app"));
    assert_eq!(reserved.code, Some(5), "{}{}", reserved.out, reserved.err);
    for words in ["WRONG: 8 of 8 ranks", "the line gives rank 0 PU 0, which this site keeps from jobs"] {
        assert!(reserved.out.contains(words), "{words}: {}", reserved.out);
    }
    let fix = reserved.out.lines().find_map(|line| line.strip_prefix("fix: srun ")).ok_or("no fix")?;
    assert_eq!(fix, LUMI);
    // Ended with 0, and with nothing on standard error, all ranks are well placed.
    on_lumi(&format!("{gpus} {fix} ./app")).well();
    let near = on_lumi(&format!("{gpus} --cpu-bind=map_cpu:48,56,16,24,0,8,32,40 ./app"));
    assert_eq!(near.code, Some(5), "near to its GPU, and not to be had: {}{}", near.out, near.err);
    let masks = "mask_cpu:ff000000000000,ff00000000000000,ff0000,ff000000,ff,ff00,ff00000000,ff0000000000";
    let wide = on_lumi(&format!("{gpus} --cpu-bind={masks} ./app"));
    assert_eq!(wide.code, Some(5), "{}{}", wide.out, wide.err);
    assert!(wide.out.contains("--cpu-bind=mask_cpu:0xfe000000000000,"), "{}", wide.out);
    Ok(())
}

#[test]
fn tools_before_the_program_are_read_as_they_read_themselves() {
    for (line, code, words) in [
        ("ROCR_VISIBLE_DEVICES=4 numactl --cpunodebind=0 --membind=0 ./app", 0, "well placed"),
        ("ROCR_VISIBLE_DEVICES=4 numactl -N0 -m0 ./app -m model.bin", 0, "1-7,9-15"),
        ("ROCR_VISIBLE_DEVICES=4 numactl -N 0 -m 3 ./app", 5, "memory policy is bind on node 3"),
        (
            "ROCR_VISIBLE_DEVICES=4 numactl --interleave=all ./app",
            5,
            "is not bound to the PUs near to its GPU 4",
        ),
        ("ROCR_VISIBLE_DEVICES=4 numactl -l ./app", 5, "is not bound to the PUs near to its GPU 4"),
        ("ROCR_VISIBLE_DEVICES=4 numactl -C1-3 ./app", 0, "NUMA  memory"),
        ("ROCR_VISIBLE_DEVICES=4 taskset 3 ./app", 0, "the kernel leaves out 0"),
        ("ROCR_VISIBLE_DEVICES=0 taskset fe000000000000 ./app", 0, "49-55"),
        ("ROCR_VISIBLE_DEVICES=4 taskset -ac 1-3 ./app --cpu-list=9", 0, "1-3"),
        (
            "ROCR_VISIBLE_DEVICES=4 numabench exec --membind interleave:0,3 -- ./app",
            0,
            "spreads its memory over nodes 0,3 (interleave), of which node 3 is not local",
        ),
        ("ROCR_VISIBLE_DEVICES=4 numabench exec --membind interleave:x -- ./app", 2, "interleave:x"),
        ("numactl -N 7 ./app", 2, "the NUMA nodes of this machine are 0-3"),
    ] {
        let ended = on_lumi(line);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(ended.code == Some(code) && said.contains(words), "{line}: {:?} {said}", ended.code);
    }
    let undecided = on_lumi("numactl -m netdev:hsn0 ./app");
    assert_eq!(undecided.code, Some(6), "{}", undecided.out);
    insta::assert_snapshot!(undecided.err, @"numabench: error: --launch: numactl -m=netdev:hsn0 depends on \
        the machine where numactl runs: write the number of the NUMA node");
}

#[test]
fn of_a_line_for_several_nodes_one_nodes_ranks_are_judged_and_the_answer_says_it() {
    let gpus = "--gpus-per-task=1";
    for line in [
        format!("srun -N2 -n16 {gpus} {LUMI} ./app"),
        format!("srun -n16 {gpus} {LUMI} --nodes 2-2 ./app"),
        format!("srun --ntasks-per-node=8 -n16 {gpus} {LUMI} ./app"),
    ] {
        let ended = on_lumi(&line).well();
        let words = "judged: 8 ranks of the line, which is not run: those of one node (of 16 ranks";
        assert!(ended.out.contains(words), "{line}: {}", ended.out);
    }
    on_lumi(&format!("srun -n16 {gpus} {LUMI} --nodes 2-4 ./app"))
        .refused(6, &["how many nodes the step gets"]);
}

#[test]
fn a_line_that_cannot_be_followed_is_2_and_names_what_is_wrong() {
    for (line, words) in [
        ("", "no command"),
        ("srun -n8 --cpu-bind=mask_cpu:zz ./app", "zz"),
        ("srun -n8 --cpu-bind=map_cpu:xyz ./app", "xyz"),
        ("srun -n 99999999999 --cpu-bind=none ./app", "8192 at most"),
        ("srun -n8 --site-flag --cpu-bind=none ./app", "--site-flag=VALUE"),
    ] {
        on_lumi(line).refused(2, &[words]);
    }
    let hint = on_lumi(&format!("srun -n8 --hint nomultithread --gpus-per-task 1 {LUMI} ./app")).well();
    assert!(hint.out.contains(" 8 "), "{}", hint.out);
}

#[test]
fn thousands_of_ranks_are_judged_within_seconds() {
    let fixture = "../topo/tests/fixtures/lumi-g.xml";
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture).display().to_string();
    for line in [
        "srun -n 5000 --overcommit --cpu-bind=none ./app",
        "srun -n 5000 --overcommit --gpus-per-node=8 --cpu-bind=map_cpu:49,57,17 ./app",
    ] {
        let mut command = numabench();
        command.timeout(Duration::from_secs(30));
        let ended = end(&mut command, ["check", "--input", &input, "--launch", line]);
        assert!(matches!(ended.code, Some(5 | 6)), "{line}: {:?} {}", ended.code, ended.err);
    }
}
