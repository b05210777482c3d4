//! `numabench topo` in a step: what the step has, and the node's rest.
//!
//! The lab's GPUs are null devices without a PCI address, so they appear by Slurm's own numbers; how those
//! are mapped to PCI devices and device files is tested in the `topo` crate.

use std::error::Error;
use std::fs;

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::run::{BINARY, Done, skipped};

/// The lab, where the machine has the two CPUs that a node is divided into.
fn divided() -> Result<Option<Lab>, Box<dyn Error>> {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("a step with a part of the node: this machine has one CPU");
        return Ok(None);
    }
    Lab::start()
}

/// The lines of the view's section on the step.
fn section(view: &str) -> Vec<&str> {
    view.lines()
        .skip_while(|line| !line.starts_with("Slurm job"))
        .take_while(|line| !line.is_empty())
        .collect()
}

#[test]
fn a_step_with_one_core_and_one_of_two_gpus_shows_that_and_the_rest_as_not_in_it() -> Done {
    let Some(lab) = divided()? else { return Ok(()) };
    let script = lab.results().join("job.sh");
    // One step for all of it: Slurm gives each step the PU and the GPU that it likes.
    let step = format!(
        "grep Cpus_allowed_list /proc/self/status; echo $SLURM_STEP_GPUS\n\
         for view in '' --json --numa; do echo @@@; {BINARY} topo $view; done"
    );
    let inner = lab.results().join("step.sh");
    fs::write(&inner, step)?;
    let step = format!("srun --quiet -n1 -c1 --exact --gpus=1 sh {}", inner.display());
    fs::write(&script, format!("#!/bin/sh\n{BINARY} topo\necho @@@\n{step}\n"))?;
    let batch = lab.sbatch(&script, &["--nodes=1", "--exclusive", "--gpus=2"], &[])?;
    assert_eq!((batch.state.as_str(), batch.exit), ("COMPLETED", (0, 0)), "{}", batch.out);
    let parts: Vec<&str> = batch.out.split("@@@\n").collect();
    let [of_job, given, view, json, numa] = parts[..] else { return Err(batch.out.into()) };
    let given: Vec<u64> = given.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
    let [pu, gpu] = given[..] else { return Err(format!("not one PU and one GPU: {given:?}").into()) };

    let of_step = section(view);
    assert_eq!(of_step[0], "Slurm job 1, step 0, on node n0");
    assert!(of_step[1].starts_with(&format!("  PUs   {pu} (1 of ")), "{view}");
    assert!(of_step[2].starts_with("        not in this step: "), "{view}");
    assert_eq!(of_step[3], format!("  GPUs  {gpu} as Slurm numbers them"));
    assert_eq!(of_step[4], format!("        not in this step: {} as Slurm numbers them", 1 - gpu));
    assert_eq!(section(numa)[1..], of_step[1..], "{numa}");

    let json: Value = serde_json::from_str(json)?;
    let (step, allowed) = (&json["step"], &json["allowed"]);
    assert_eq!((&step["job"], &step["step"], &step["node"]), (&json!("1"), &json!("0"), &json!("n0")));
    assert_eq!((&step["cpus"]["count"], &step["cpus"]["usable"]), (&json!(1), &json!([pu])));
    let others = step["cpus"]["not_in_step"].as_array().ok_or("no PUs that are not in the step")?;
    assert!(!others.is_empty() && !others.contains(&json!(pu)), "{step:#}");
    assert_eq!(step["cpus"]["not_in_step"], allowed["not_in_affinity_pus"]);
    assert_eq!(
        (&step["gpus"]["numbers"], &step["gpus"]["other_numbers"]),
        (&json!([gpu]), &json!([1 - gpu]))
    );

    let of_job = section(of_job);
    assert_eq!(of_job[0], "Slurm job 1, its batch script, on node n0");
    assert!(of_job.contains(&"  GPUs  0-1 as Slurm numbers them"), "{of_job:?}");
    assert!(
        !of_job.iter().any(|line| line.contains("not in this step")),
        "the job has the whole node: {of_job:?}"
    );
    Ok(())
}

#[test]
fn tasks_of_one_step_have_each_their_own_and_the_others_is_not_outside_of_the_step() -> Done {
    let Some(lab) = divided()? else { return Ok(()) };
    let each = |task: &str| -> Result<Value, Box<dyn Error>> {
        let script = format!("if [ $SLURM_LOCALID = {task} ]; then exec {BINARY} topo --json; fi");
        let args = ["-N1", "-n2", "-c1", "--gpus-per-task=1", "--cpu-bind=cores", "sh", "-c", &script];
        Ok(lab.srun(&args).well().json()?["step"].take())
    };
    for (task, gpu) in [("0", 0), ("1", 1)] {
        let step = each(task)?;
        let (cpus, gpus) = (&step["cpus"], &step["gpus"]);
        assert_eq!(
            (&cpus["count"], cpus["usable"].as_array().map(Vec::len)),
            (&json!(2), Some(1)),
            "{step:#}"
        );
        assert_eq!((&gpus["count"], &gpus["numbers"]), (&json!(2), &json!([gpu])), "{step:#}");
        // With exactly two CPUs the other one is the other task's; with more, Slurm does not say which is.
        let known = std::thread::available_parallelism()?.get() == 2;
        let place = if known { "other_tasks" } else { "untold" };
        assert!(cpus[place].as_array().is_some_and(|pus| !pus.is_empty()), "{step:#}");
        assert_eq!(cpus["not_in_step"], json!([]), "{step:#}");
    }
    Ok(())
}

#[test]
fn a_batch_script_that_a_step_submitted_is_not_taken_for_that_step() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let (script, out) = (lab.results().join("inner.sh"), lab.results().join("out-inner"));
    fs::write(&script, format!("#!/bin/sh\nenv | grep SLURM_STEP_ID\n{BINARY} topo\n"))?;
    let submit = format!("sbatch --parsable -n1 --output {} {}", out.display(), script.display());
    let job = lab.srun(&["-n1", "--gpus=1", "sh", "-c", &submit]).well().out;
    lab.batch(job.trim())?;
    let text = fs::read_to_string(out)?;
    assert!(
        text.starts_with("SLURM_STEP_ID=0"),
        "Slurm no longer hands it on; this test has no object: {text}"
    );
    assert_eq!(section(&text).first(), Some(&"Slurm job 2, its batch script, on node n0"), "{text}");
    assert!(!text.contains("GPUs  0 as Slurm"), "the submitting step's GPU is not this job's: {text}");
    Ok(())
}
