//! Lines of `flux run` on an MI300A node (96 cores, 4 GPUs) and a node of LUMI (64 cores, 8 GPUs): what
//! flux-core 4a5e79f56 and LLNL's mpibind d52918008 do with them, by their sources, and what LLNL's tutorials
//! print.

mod judged_line;

use std::error::Error;
use std::path::Path;

use launchers::slurm_files::SlurmFiles;

type Done = Result<(), Box<dyn Error>>;

const PER_TASK: &str = "-o cpu-affinity=per-task -o gpu-affinity=per-task";

/// The verdict on `flux run` with these words on one of the project's machines, what stands with it, and the
/// fixes.
fn judged(machine: &str, words: &str) -> Result<(&'static str, String, Vec<String>), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{machine}.xml"));
    judged_line::judged(&format!("flux run {words}"), &path, SlurmFiles::default())
}

/// The same where mpibind is switched off.
fn flux_alone(machine: &str, words: &str) -> Result<(&'static str, String), Box<dyn Error>> {
    let (verdict, said, _) = judged(machine, &format!("-o mpibind=off {words}"))?;
    Ok((verdict, said))
}

#[test]
fn nodes_without_a_number_of_cores_are_the_jobs_own() -> Done {
    for words in ["-N1 --tasks-per-node=4", "-N1 --gpus-per-node=4 --tasks-per-node=4"] {
        let (verdict, said) = flux_alone("mi300a", &format!("{words} {PER_TASK} ./app"))?;
        assert_eq!(verdict, "well", "{words}: {said}");
        assert!(said.contains(" 0-23 ") && said.contains(" 72-95 "), "{words}: {said}");
    }
    let (verdict, said) = flux_alone("lumi-g", &format!("-N1 --tasks-per-node=8 {PER_TASK} ./app"))?;
    assert_eq!(verdict, "wrong", "LUMI's GPUs are not in the order of its cores: {said}");
    Ok(())
}

#[test]
fn per_resource_options_say_how_many_tasks_there_are() -> Done {
    for (words, ranks, pus) in [
        ("--cores=4", 4, "ranks from 0 on PUs 0; 1; 2; 3"),
        ("-N1 --cores=4", 1, "ranks from 0 on PUs 0-3)"),
        ("-N1 --cores=8 --tasks-per-node=4", 4, "ranks from 0 on PUs 0-1; 2-3; 4-5; 6-7"),
        ("--cores=4 --tasks-per-core=2", 8, "rank 3  1 "),
        ("-N2 --cores=8 --tasks-per-core=1", 4, "ranks from 0 on PUs 0; 1; 2; 3"),
        ("-N1 --tasks-per-core=1", 96, " 0 "),
        ("-N1 --gpus-per-node=2", 1, " 0-95 "),
        ("-N1", 1, " 0-95 "),
    ] {
        let (_, said) = flux_alone("mi300a", &format!("{words} -o cpu-affinity=per-task ./app"))?;
        assert!(said.contains(&format!("judged: {ranks} rank")), "{words}: {said}");
        assert!(said.contains(pus), "{words}: {said}");
    }
    Ok(())
}

#[test]
fn what_flux_refuses_is_refused() -> Done {
    for (words, why) in [
        ("-N1 -n4 -c48 -g1", "192 cores on a node, and this one has 96"),
        ("-N1 -n8 -c8 -g1", "8 GPUs on a node, and this one has 4"),
        ("-N1 --gpus-per-node=8", "8 GPUs on a node"),
        ("-N1 -x -n4 -c48", "192 cores on a node"),
        ("-n4 -x", "exclusive can only be set with a node count"),
        ("-N1 -n4 -c24 --gpus-per-node=4", "can't be used with per-task options"),
        ("--cores=4 -n4", "can't be used with per-task options"),
        ("--gpus-per-node=4", "--gpus-per-node requires --nodes"),
        ("-N1 --tasks-per-node=2 --tasks-per-core=1", "per node and per core"),
        ("--tasks-per-node=2", "a number of nodes (-N) or of cores"),
        ("-N2 --cores=5", "evenly divisible"),
        ("-N4 -n2", "must not be greater than the task count"),
        ("-N1-2 -n2", "whole number"),
    ] {
        let (verdict, said) = flux_alone("mi300a", &format!("{words} {PER_TASK} ./app"))?;
        assert_eq!(verdict, "refused", "{words}: {said}");
        assert!(said.contains(why), "{words}: {said}");
    }
    // Without -N it may get several nodes.
    let (verdict, said) = flux_alone("mi300a", &format!("-n8 -c24 -g1 {PER_TASK} ./app"))?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(said.contains("192 cores") && said.contains("-N"), "{said}");
    Ok(())
}

/// LLNL's `flux run -N1 -n4 ./mpi+gpu` on such a node: "has 0 GPUs".
#[test]
fn a_job_that_asks_for_no_gpu_sees_none() -> Done {
    let line =
        |program: &str| flux_alone("mi300a", &format!("-N1 -n4 -c24 -o cpu-affinity=per-task {program}"));
    let select = |name: &str| line(&format!("bash -c 'export {name}=$FLUX_TASK_LOCAL_ID; exec ./app'"));

    let (verdict, said) = select("ROCR_VISIBLE_DEVICES")?;
    assert_eq!(verdict, "well", "{said}");
    assert!(said.contains("4 ranks, none of which sees a GPU"), "{said}");
    assert!(said.contains("CUDA_VISIBLE_DEVICES=-1") && said.contains("-g1"), "{said}");
    // HIP reads its own name first, and a program may set CUDA's again.
    for name in ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"] {
        let (verdict, said) = select(name)?;
        assert_eq!(verdict, "well", "{name}: {said}");
        assert!(!said.contains("none of which"), "{name}: {said}");
    }
    // A site that gives whole nodes gives GPUs too.
    let (verdict, said) = line("./app")?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(
        said.contains("well placed if Flux gives the job the first cores") && said.contains("lonodex"),
        "{said}"
    );
    let (_, said) = flux_alone("mi300a", "-N1 -n4 -x -o cpu-affinity=per-task ./app")?;
    assert!(!said.contains("CUDA_VISIBLE_DEVICES=-1"), "--exclusive gives all: {said}");
    Ok(())
}

#[test]
fn a_wrapper_behind_flux_shows_what_both_leave() -> Done {
    let rocr = "bash -c 'export ROCR_VISIBLE_DEVICES=$FLUX_TASK_LOCAL_ID; exec ./app'";
    // All GPUs are listed, and ROCr leaves each rank one of them.
    let (verdict, said) = flux_alone("mi300a", &format!("-N1 -n4 -x -o cpu-affinity=per-task {rocr}"))?;
    assert_eq!(verdict, "well", "{said}");
    // Of one that ROCr leaves, HIP then looks for number 1, 2 and 3.
    let (verdict, said) = flux_alone("mi300a", &format!("-N1 -n4 -x {PER_TASK} {rocr}"))?;
    assert_eq!(verdict, "wrong", "{said}");
    assert!(said.contains("CUDA_VISIBLE_DEVICES=3 names 1, of which 0 can be used"), "{said}");
    Ok(())
}

/// LLNL's output of the first line: cores 88-95, "Only process 3 is using a local GPU". Another site's Fluxion
/// gives whole nodes.
#[test]
fn cores_and_gpus_that_flux_chooses_are_not_taken_for_certain() -> Done {
    let (verdict, said) = flux_alone("mi300a", &format!("-N1 -n4 -c2 -g1 {PER_TASK} ./app"))?;
    assert_eq!(verdict, "unknown", "{said}");
    for part in [
        "misplaced if Flux gives the job the first cores of the node (ranks from 0 on PUs 0-1; 2-3",
        "misplaced if Flux gives the job the last cores of the node (ranks from 0 on PUs 88-89; 90-91",
        "well placed if Flux gives the job the whole node",
        "the job asks for 8 of the node's 96 cores",
        "to decide it: the line with -N, --exclusive and -o mpibind=off",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let (verdict, said) = flux_alone("mi300a", &format!("-N1 -n2 -c24 -g1 {PER_TASK} ./app"))?;
    assert_eq!(verdict, "unknown", "{said}");
    for part in [
        "if Flux gives the job the first cores and GPUs of the node (ranks from 0 on PUs 0-23; 24-47)",
        "if Flux gives the job the last cores and GPUs of the node (ranks from 0 on PUs 48-71; 72-95)",
        "48 of the node's 96 cores and 2 of the node's 4 GPUs",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let (verdict, said) = flux_alone("cpu-only", "-N1 -n4 -c2 -o cpu-affinity=per-task ./app")?;
    assert!(said.contains("cores, and Flux chooses which"), "{verdict}: {said}");
    let (verdict, said) = flux_alone("mi300a", &format!("-N1 -n4 -c24 -g1 {PER_TASK} ./app"))?;
    assert_eq!(verdict, "well", "all cores and GPUs: {said}");
    assert!(!said.contains("chooses"), "{said}");
    Ok(())
}

/// `hwloc_distrib`: of 96 cores five tasks have 19, 19, 19, 19 and 20.
#[test]
fn cores_that_do_not_divide_evenly_are_dealt_as_hwloc_does() -> Done {
    let (_, said) = flux_alone("mi300a", "-N1 -n5 -x -o cpu-affinity=per-task ./app")?;
    for pus in [" 0-18 ", " 19-37 ", " 38-56 ", " 57-75 ", " 76-95 "] {
        assert!(said.contains(pus), "{pus}: {said}");
    }
    let (_, said) = flux_alone("mi300a", "-N1 --tasks-per-core=2 -o cpu-affinity=per-task ./app")?;
    assert!(said.contains("judged: 192 ranks"), "{said}");
    Ok(())
}

#[test]
fn a_map_beyond_the_jobs_part_holds_where_the_site_confines_no_job() -> Done {
    let words = "-N1 -n2 -c2 -o cpu-affinity=map:0-23;24-47 -o gpu-affinity=map:0;1";
    let (verdict, said) = flux_alone("mi300a", &format!("{} ./app", words.replace(';', "\\;")))?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(said.contains("well placed if the site does not confine jobs"), "{said}");
    assert!(said.contains("sdexec-constrain-resources"), "{said}");
    let whole = words.replace("-c2", "-x").replace(';', "\\;");
    assert_eq!(flux_alone("mi300a", &format!("{whole} ./app"))?.0, "well");
    Ok(())
}

#[test]
fn where_mpibind_may_be_loaded_it_may_bind_instead() -> Done {
    let (verdict, said, _) = judged("mi300a", &format!("-N1 -n4 -x {PER_TASK} ./app"))?;
    assert_eq!(verdict, "unknown", "{said}");
    assert!(said.contains("well placed if mpibind is not loaded"), "{said}");
    assert!(said.contains("-o mpibind=off"), "{said}");
    for off in ["-o mpibind=off", "--setopt=mpibind=off", "-o mpibind=verbose,off"] {
        let (verdict, said, _) = judged("mi300a", &format!("-N1 -n4 -x {off} {PER_TASK} ./app"))?;
        assert_eq!(verdict, "well", "{off}: {said}");
    }
    for on in ["-o mpibind=on", "-o mpibind", "-o mpibind=smt:2,verbose"] {
        let (verdict, said, _) = judged("mi300a", &format!("-N1 -n4 -x {on} {PER_TASK} ./app"))?;
        assert_eq!(verdict, "unknown", "{on}: {said}");
    }
    // What a wrapper binds and shows counts in any case.
    let wrapper = "bash -c 'first=$((FLUX_TASK_LOCAL_ID * 24)); export \
        ROCR_VISIBLE_DEVICES=$FLUX_TASK_LOCAL_ID; exec taskset -c \
        $first-$((first + 23)) ./app'";
    let (verdict, said, _) = judged("mi300a", &format!("-N1 -n4 -x -o cpu-affinity=off {wrapper}"))?;
    assert_eq!(verdict, "well", "{said}");
    Ok(())
}

#[test]
fn a_misplaced_line_of_flux_is_mended_for_sites_with_mpibind_and_without() -> Done {
    let map = "-o cpu-affinity='map:72-95;48-71;24-47;0-23' -o gpu-affinity=per-task";
    let (verdict, said, fix) = judged("mi300a", &format!("-N2 -n8 -x {map} ./app"))?;
    assert_eq!(verdict, "wrong", "{said}");
    assert!(said.contains("where mpibind is loaded"), "{said}");
    let fix = fix.first().ok_or("no fix")?;
    assert!(fix.starts_with("flux run -N2 -n8 --exclusive ") && fix.contains(" -o mpibind=off "), "{fix}");
    let (verdict, said, _) = judged("mi300a", &fix.replace("flux run ", "").replace("PROGRAM", "./app"))?;
    assert_eq!(verdict, "well", "{fix}: {said}");
    Ok(())
}

#[test]
fn a_fix_leaves_gpus_that_a_wrapper_shows_to_the_wrapper() -> Done {
    let rocr = "bash -c 'export ROCR_VISIBLE_DEVICES=$FLUX_TASK_LOCAL_ID; exec ./app'";
    let map = "-o mpibind=off -o cpu-affinity='map:72-95;48-71;24-47;0-23'";
    let (verdict, said, fix) = judged("mi300a", &format!("-N1 -n4 -x {map} {rocr}"))?;
    assert_eq!(verdict, "wrong", "{said}");
    let fix = fix.first().ok_or("no fix")?;
    assert!(!fix.contains("gpu-affinity"), "{fix}");
    let (verdict, said, _) = judged("mi300a", &fix.replace("flux run ", "").replace("PROGRAM", rocr))?;
    assert_eq!(verdict, "well", "{fix}: {said}");
    Ok(())
}
