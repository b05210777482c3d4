//! `numabench exec` in a step: the plan, whatever Slurm bound the tasks to; Slurm's own choice of GPUs;
//! everything else untouched.
//!
//! The lab's GPUs are null devices without a PCI address, so the variables are Slurm's own and must stay so.
//! Its nodes are this machine, all of whose CPUs a step of two nodes' tasks shares; there are no cgroups, so
//! a task can be seen to leave Slurm's binding.

use std::process::Stdio;
use std::time::{Duration, Instant};

use stats::IdSet;

use crate::lab::Lab;
use crate::run::{BINARY, Done, skipped};

/// The lab, where the machine has exactly the two CPUs by which a task can tell what the other has.
fn lab() -> Result<Option<Lab>, Box<dyn std::error::Error>> {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("tasks with a CPU each: this machine has one CPU");
        return Ok(None);
    }
    Lab::start()
}

/// What each task's program says, sorted.
fn lines(lab: &Lab, srun: &[&str], exec: &[&str], script: &str) -> Vec<String> {
    let program = ["--", "sh", "-c", script];
    let ended = lab.srun(&[srun, &[BINARY, "exec"], exec, &program].concat()).well();
    let mut lines: Vec<String> = ended.out.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn tasks_take_the_plan_in_place_of_sruns_binding_and_keep_the_gpus_that_slurm_gave() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let look = "echo $SLURM_LOCALID $(taskset -cp $$ | sed 's/.*: //') $(env | grep VISIBLE | sort)";
    let known = std::thread::available_parallelism()?.get() == 2;
    for (bind, gpu_bind, gpus) in [
        ("--cpu-bind=map_cpu:0,1", "--gpu-bind=map_gpu:0,1", ["0", "1"]),
        ("--cpu-bind=map_cpu:1,0", "--gpu-bind=map_gpu:1,0", ["1", "0"]),
        ("--cpu-bind=none", "--gpu-bind=none", ["", ""]),
    ] {
        let srun = ["-N1", "-n2", "--gpus=2", bind, gpu_bind];
        let told = lines(&lab, &srun, &[], look);
        assert_eq!(told.len(), 2, "{told:?}");
        for (task, line) in told.iter().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            let variables = match gpus[task] {
                "" => Vec::new(),
                gpu => vec![format!("CUDA_VISIBLE_DEVICES={gpu}"), format!("ROCR_VISIBLE_DEVICES={gpu}")],
            };
            assert_eq!(words[0], task.to_string());
            assert_eq!(words[2..], variables, "{bind}: {line}");
            let pus: IdSet = words[1].parse()?;
            if known {
                assert_eq!(pus, [task as u32].into_iter().collect(), "{bind}: {line}");
            }
        }
        let kept = lines(&lab, &srun, &["--keep-cpus"], look);
        let bare = lab.srun(&[&srun[..], &["sh", "-c", look]].concat()).well();
        let mut bare: Vec<&str> = bare.out.lines().collect();
        bare.sort_unstable();
        assert_eq!(kept, bare, "{bind}: --keep-cpus changes nothing where there is nothing to choose");
    }
    Ok(())
}

#[test]
fn every_task_of_two_nodes_says_who_it_is_among_those_of_its_node() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let ended = lab.srun(&["-N2", "-n3", "--cpu-bind=none", BINARY, "exec", "--report", "--", "true"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for who in
        ["rank 0 of 3 (rank 0 of 2 on ", "rank 1 of 3 (rank 1 of 2 on ", "rank 2 of 3 (rank 0 of 1 on "]
    {
        assert_eq!(ended.err.matches(who).count(), 1, "{who}: {}", ended.err);
    }
    assert_eq!(ended.err.lines().count(), 3, "{}", ended.err);
    Ok(())
}

#[test]
fn arguments_and_exit_codes_pass_through_a_step() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let odd = ["two words", "it's \"quoted\" $HOME", "two\nlines", "", "--", "-n"];
    let show = ["sh", "-c", "printf '<%s>' \"$@\"", "name"];
    let bare = lab.srun(&[&["-n1"], &show[..], &odd].concat()).well().out;
    let through = lab.srun(&[&["-n1", BINARY, "exec", "--"], &show[..], &odd].concat()).well().out;
    assert_eq!(through, bare);
    assert_eq!(bare, "<two words><it's \"quoted\" $HOME><two\nlines><><--><-n>");

    let ended = lab.srun(&["-n1", BINARY, "exec", "--", "sh", "-c", "exit 37"]);
    assert_eq!(ended.code, Some(37), "{}", ended.err);
    let ended = lab.srun(&["-n1", BINARY, "exec", "--", "no-such-program"]);
    assert_eq!(ended.code, Some(127), "{}", ended.err);
    assert!(ended.err.contains("cannot start no-such-program"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_signal_to_the_step_reaches_the_program_which_may_handle_it() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let began = lab.results().join("began");
    let script =
        format!("trap 'echo caught; exit 9' TERM; touch {}; while :; do sleep 0.05; done", began.display());
    // A process of its own, so that the step can be signalled while it runs.
    let mut srun = std::process::Command::new("bash");
    srun.args(["-c", ". \"$0\" && exec srun --quiet --time=5 -n1 \"$@\""]).arg(lab.folder().join("env.sh"));
    srun.args([BINARY, "exec", "--", "sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SLURM")) {
        srun.env_remove(name);
    }
    let step = srun.stderr(Stdio::null()).spawn()?;
    let limit = Instant::now() + Duration::from_secs(60);
    while !began.exists() {
        assert!(Instant::now() < limit, "the program does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = lab.command("scancel").args(["--signal=TERM", "1.0"]).output()?;
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let output = step.wait_with_output()?;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "caught\n");
    assert_eq!(output.status.code(), Some(9));
    Ok(())
}
