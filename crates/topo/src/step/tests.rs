//! The division of a node, on a saved machine of three GPUs, and what is made of Slurm's variables and
//! processes.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use super::*;
use crate::survey::Survey;

type Outcome = Result<(), Box<dyn Error>>;

/// 2 packages of 4 cores with 2 PUs each; PUs 2-15 are allowed.
fn machine() -> Result<Survey, crate::TopoError> {
    crate::survey_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/two-packages-gpus.xml"))
}

/// What Slurm 22.05 tells the first task of `srun -n1 -c1 --gpus=1` on a node of two, with these changes.
fn variables(changes: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let mut all: BTreeMap<String, String> = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_STEP_ID", "0"),
        ("SLURMD_NODENAME", "n0"),
        ("SLURM_JOB_NUM_NODES", "1"),
        ("SLURM_CPUS_ON_NODE", "1"),
        ("SLURM_GPUS_ON_NODE", "1"),
        ("SLURM_STEP_GPUS", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    all.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    move |name| all.get(name).filter(|value| *value != "unset").cloned()
}

/// A root with nothing in it.
fn bare() -> Result<(tempfile::TempDir, FsRoot), std::io::Error> {
    let folder = tempfile::tempdir()?;
    let root = FsRoot::at(folder.path());
    Ok((folder, root))
}

fn slurm_env(changes: &[(&str, &str)]) -> Result<SlurmEnv, Box<dyn Error>> {
    let (_folder, root) = bare()?;
    Ok(SlurmEnv::slurm(&variables(changes), &root).ok_or("no step")?)
}

fn sets(share: &StepShare) -> [String; 4] {
    [&share.usable, &share.other_tasks, &share.not_in_step, &share.untold]
        .map(|set| if set.is_empty() { String::new() } else { set.to_string() })
}

#[test]
fn a_bound_task_that_has_all_of_its_step_has_the_nodes_rest_outside() -> Outcome {
    let topology = machine()?.topology.restricted_to(&"4-5".parse()?);
    let cpus = cpus(&slurm_env(&[("SLURM_CPUS_ON_NODE", "2")])?, &topology);
    assert_eq!(sets(&cpus), ["4-5", "", "0-3,6-15", ""]);
    assert!(cpus.is_whole_step());
    Ok(())
}

#[test]
fn what_other_tasks_of_the_step_have_is_not_outside_of_it() -> Outcome {
    let topology = machine()?.topology.restricted_to(&"4-5".parse()?);
    let all_of_it = cpus(&slurm_env(&[("SLURM_CPUS_ON_NODE", "14")])?, &topology);
    assert_eq!(sets(&all_of_it), ["4-5", "2-3,6-15", "0-1", ""], "the cpuset has the last word");
    let some = cpus(&slurm_env(&[("SLURM_CPUS_ON_NODE", "6")])?, &topology);
    assert_eq!(sets(&some), ["4-5", "", "0-1", "2-3,6-15"]);
    insta::assert_snapshot!("reason_for_other_tasks", some.reason);
    let silent = cpus(&slurm_env(&[("SLURM_CPUS_ON_NODE", "unset")])?, &topology);
    assert_eq!(sets(&silent), ["4-5", "", "0-1", "2-3,6-15"]);
    Ok(())
}

#[test]
fn a_step_that_nothing_confines_is_told_so() -> Outcome {
    let cpus = cpus(&slurm_env(&[])?, &machine()?.topology);
    assert_eq!(sets(&cpus), ["2-15", "", "0-1", ""]);
    assert_eq!(cpus.reason, "SLURM_CPUS_ON_NODE=1, but nothing holds this task to fewer than 14");
    Ok(())
}

#[test]
fn slurms_numbers_are_taken_along_pci_order_where_nothing_is_hidden() -> Outcome {
    let gpus_of = |changes: &[(&str, &str)], access: [Access; 3]| -> Result<GpuShare, Box<dyn Error>> {
        Ok(gpus(&slurm_env(changes)?, &machine()?.topology.gpus, &access))
    };
    const NONE: [Access; 3] = [Access::Unknown; 3];
    let one = gpus_of(&[("SLURM_STEP_GPUS", "1")], NONE)?;
    assert_eq!(sets(&one.share), ["1", "", "0,2", ""]);

    let one_of_two = gpus_of(&[("SLURM_STEP_GPUS", "1"), ("SLURM_GPUS_ON_NODE", "2")], NONE)?;
    assert_eq!(sets(&one_of_two.share), ["1", "", "", "0,2"]);
    let one_of_all = gpus_of(&[("SLURM_STEP_GPUS", "1"), ("SLURM_GPUS_ON_NODE", "3")], NONE)?;
    assert_eq!(sets(&one_of_all.share), ["1", "0,2", "", ""]);

    let unbound = [("SLURM_STEP_GPUS", "unset"), ("SLURM_GPUS_ON_NODE", "2")];
    let two_unbound = gpus_of(&unbound, NONE)?;
    assert_eq!(sets(&two_unbound.share), ["", "", "", "0-2"]);
    assert_eq!((two_unbound.numbers, two_unbound.share.count), (None, Some(2)));
    let all_unbound = gpus_of(&[("SLURM_STEP_GPUS", "unset"), ("SLURM_GPUS_ON_NODE", "3")], NONE)?;
    assert_eq!(sets(&all_unbound.share), ["0-2", "", "", ""]);

    let beyond = gpus_of(&[("SLURM_STEP_GPUS", "5")], NONE)?;
    assert_eq!(sets(&beyond.share), ["", "", "", "0-2"]);
    let silent = gpus_of(&[("SLURM_STEP_GPUS", "unset"), ("SLURM_GPUS_ON_NODE", "unset")], NONE)?;
    let reasons = [one, beyond, silent].map(|found| found.share.reason);
    insta::assert_snapshot!("reasons_by_slurms_numbers", reasons.join("\n"));
    Ok(())
}

#[test]
fn device_files_that_are_refused_or_missing_prove_what_is_not_in_the_step() -> Outcome {
    let topology = machine()?.topology;
    let share = |told: &SlurmEnv, access: [Access; 3]| gpus(told, &topology.gpus, &access).share;
    // Slurm says 0, the kernel says otherwise: a gres.conf with another order.
    let proven = share(&slurm_env(&[])?, [Access::Refused, Access::Open, Access::Refused]);
    assert_eq!(sets(&proven), ["1", "", "0,2", ""]);
    let container = share(&slurm_env(&[])?, [Access::Open, Access::Missing, Access::Missing]);
    assert_eq!(sets(&container), ["0", "", "1-2", ""]);
    // The cgroup is the step's, the variable the task's.
    let task =
        share(&slurm_env(&[("SLURM_GPUS_ON_NODE", "2")])?, [Access::Open, Access::Open, Access::Refused]);
    assert_eq!(sets(&task), ["0", "1", "2", ""]);
    // So may the cgroup be: of three GPUs of the step this task has one, and of two nobody says which is the
    // other's.
    let confined = |count| {
        let told = slurm_env(&[("SLURM_STEP_GPUS", "unset"), ("SLURM_GPUS_ON_NODE", count)])?;
        Ok::<_, Box<dyn Error>>(share(&told, [Access::Refused, Access::Open, Access::Refused]))
    };
    assert_eq!(sets(&confined("3")?), ["1", "0,2", "", ""]);
    assert_eq!(sets(&confined("2")?), ["1", "", "", "0,2"]);
    assert!(confined("3")?.reason.contains("to this task"), "{}", confined("3")?.reason);
    // A file that cannot be judged proves nothing.
    let unclear = share(&slurm_env(&[])?, [Access::Open, Access::Refused, Access::Unknown]);
    let reasons = [proven, container, unclear].map(|found| found.reason);
    insta::assert_snapshot!("reasons_by_device_files", reasons.join("\n"));
    Ok(())
}

#[test]
fn without_pci_devices_slurms_numbers_are_all_there_is() -> Outcome {
    let shown = |changes: &[(&str, &str)]| -> Result<String, Box<dyn Error>> {
        let mut survey = machine()?;
        survey.topology.gpus.clear();
        survey.step = Some(step(slurm_env(changes)?, &survey.topology, &[]));
        let text = crate::text::render(&survey, 100);
        Ok(text.lines().filter(|line| line.contains("Slurm")).collect::<Vec<_>>().join("\n"))
    };
    let texts = [
        shown(&[("SLURM_JOB_GPUS", "0,1")])?,
        // Those of the variable are the batch script's node's.
        shown(&[("SLURM_JOB_GPUS", "0,1"), ("SLURM_JOB_NUM_NODES", "2")])?,
        shown(&[("SLURM_STEP_GPUS", "unset"), ("SLURM_GPUS_ON_NODE", "2")])?,
        shown(&[("SLURM_STEP_GPUS", "1"), ("SLURM_GPUS_ON_NODE", "2")])?,
    ];
    insta::assert_snapshot!("gpus_by_slurms_numbers", texts.join("\n\n"));
    Ok(())
}

#[test]
fn the_view_of_a_step_says_what_it_has_and_what_not() -> Outcome {
    let mut survey = machine()?;
    survey.topology = survey.topology.restricted_to(&"4-5".parse()?);
    let told = slurm_env(&[("SLURM_CPUS_ON_NODE", "2"), ("SLURM_STEP_GPUS", "1")])?;
    survey.step = Some(step(told, &survey.topology, &[Access::Unknown; 3]));
    for text in [crate::text::render(&survey, 100), crate::text::numa(&survey, 100)] {
        let section: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Slurm")).take(6).collect();
        assert_eq!(
            section,
            [
                "Slurm job 7, step 0, on node n0",
                "  PUs   4-5 (1 of 8 cores)",
                "        not in this step: 0-3,6-15",
                "  GPUs  1 (0000:83:00.0)",
                "        not in this step: 0,2",
                "        SLURM_GPUS_ON_NODE=1; Slurm's n-th GPU is taken for the n-th in PCI order",
            ]
        );
    }
    Ok(())
}

#[test]
fn a_process_outside_of_jobs_is_in_no_step_and_a_login_shell_of_salloc_neither() -> Outcome {
    let (_folder, root) = bare()?;
    assert_eq!(SlurmEnv::slurm(&|_: &str| None, &root), None);
    let login = variables(&[("SLURM_STEP_ID", "unset"), ("SLURMD_NODENAME", "unset")]);
    assert_eq!(SlurmEnv::slurm(&login, &root), None);
    Ok(())
}

#[test]
fn a_batch_script_has_the_jobs_gpus_also_when_a_step_submitted_it() -> Outcome {
    let (folder, root) = bare()?;
    let plain = [("SLURM_STEP_ID", "unset"), ("SLURM_STEP_GPUS", "unset"), ("SLURM_JOB_GPUS", "2-3")];
    let batch = slurm_env(&plain)?;
    assert_eq!((batch.step.as_str(), batch.gpu_numbers), ("batch", Some("2-3".parse()?)));
    assert_eq!(slurm_env(&[("SLURM_STEP_ID", "4294967290")])?.step, "interactive");

    // The submitting step's SLURM_STEP_ID and SLURM_STEP_GPUS are still there; process 41's starter says what
    // 41 is.
    let file = |path: &str, text: &str| -> std::io::Result<()> {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, text)
    };
    file("proc/41/stat", "41 (a (b) c) S 40 41 41 0 -1 0\n")?;
    file("proc/40/cmdline", "slurmstepd: [7.batch]\0\0\0")?;
    let inherited = variables(&[("SLURM_TASK_PID", "41"), ("SLURM_JOB_GPUS", "2-3")]);
    let batch = SlurmEnv::slurm(&inherited, &root).ok_or("no step")?;
    assert_eq!((batch.step.as_str(), batch.gpu_numbers), ("batch", Some("2-3".parse()?)));

    file("proc/40/cmdline", "slurmstepd: [6.batch]\0")?;
    let other = SlurmEnv::slurm(&inherited, &root).ok_or("no step")?;
    assert_eq!(other.step, "0", "the title of another job's is not believed");
    Ok(())
}

#[test]
fn a_gpus_file_is_asked_for_and_not_opened() -> Outcome {
    let (folder, root) = bare()?;
    let pci = "0000:03:00.0".parse()?;
    assert_eq!(device_access(&root, pci), Access::Unknown, "no driver has it");
    let information = folder.path().join("proc/driver/nvidia/gpus/0000:03:00.0/information");
    std::fs::create_dir_all(information.parent().ok_or("no parent")?)?;
    std::fs::write(&information, "Model: \t\t NVIDIA H200\nDevice Minor: \t 4094\n")?;
    assert_eq!(device_access(&root, pci), Access::Missing, "/dev/nvidia4094 is not there");
    Ok(())
}
