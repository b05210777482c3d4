//! `numabench check` of this process, of running ones, and under mpirun; in a Slurm step it is tried in the
//! tests of `slurm`, and in a guest of four nodes in those of `guest_check`. Lines that are pasted and not
//! run are in `check_line`. Some 430 lines because they are tests of one command.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use stats::IdSet;

use crate::run::{BINARY, Done, Ended, end, no_driver, numabench, run, skipped, variables};

/// Two packages whose PUs alternate, with a GPU on each.
fn interleaved() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/interleaved.xml").display().to_string()
}

/// The PUs of this process; of PUs 0 and 1 both are needed here.
fn has_two() -> Result<bool, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let pus: IdSet = list.trim().parse()?;
    let both = pus.contains(0) && pus.contains(1);
    if !both {
        skipped("checks on PUs 0 and 1: this process may not use both");
    }
    Ok(both)
}

/// The kinds of what `check --json` found.
pub fn found(document: &serde_json::Value) -> Vec<String> {
    let findings = document["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["kind"].as_str().map(str::to_owned)).collect()
}

/// A program on this PU, with the memory that a shell has.
fn sleeper(pu: &str, gpu: &str) -> std::io::Result<Child> {
    let mut command = Command::new("taskset");
    command.args(["-c", pu, "sleep", "1000"]).env("CUDA_VISIBLE_DEVICES", gpu).stdin(Stdio::null());
    let child = command.spawn()?;
    while !std::fs::read_to_string(format!("/proc/{}/comm", child.id()))?.starts_with("sleep") {
        thread::sleep(Duration::from_millis(2));
    }
    Ok(child)
}

#[test]
fn a_process_far_from_its_gpu_is_5_and_near_it_0() -> Done {
    if !has_two()? {
        return Ok(());
    }
    let check = |pu: &str, form: &[&str]| {
        let mut command = assert_cmd::Command::new("taskset");
        command.envs(variables(&no_driver())).env("CUDA_VISIBLE_DEVICES", "0");
        end(&mut command, [&["-c", pu, BINARY, "check", "--input", &interleaved()], form].concat())
    };
    let near = check("0", &[]).well();
    assert!(near.out.contains("NUMA-local"), "{}", near.out);
    let far = check("1", &[]);
    assert_eq!(far.code, Some(5), "{}{}", far.out, far.err);
    for words in
        ["far from its GPU 0 at 0000:06:00.0", "judged by the saved machine", "fix: taskset -c 0 PROGRAM"]
    {
        assert!(far.out.contains(words), "{words}: {}", far.out);
    }
    let unbound = check("0-1", &["--json"]);
    assert_eq!(
        (unbound.code, found(&unbound.json()?)),
        (Some(5), vec!["not-bound".to_owned()]),
        "{}",
        unbound.out
    );
    Ok(())
}

#[test]
fn running_processes_are_judged_together_and_the_fix_moves_them() -> Done {
    if !has_two()? {
        return Ok(());
    }
    let mut children = [sleeper("1", "0")?, sleeper("0", "1")?];
    let pids = children.iter().map(|child| child.id().to_string()).collect::<Vec<_>>().join(",");
    let check = || run(&["check", "--pid", &pids, "--input", &interleaved()]);
    let swapped = check();
    let mut fixed = Vec::new();
    for line in swapped.out.lines().filter_map(|line| line.strip_prefix("fix: ")) {
        let words: Vec<&str> = line.split(' ').collect();
        fixed.push(Command::new(words[0]).args(&words[1..]).output()?.status.success());
    }
    let after = check();
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    assert_eq!((swapped.code, fixed), (Some(5), vec![true, true]), "{}{}", swapped.out, swapped.err);
    assert_eq!(after.code, Some(0), "{}{}", after.out, after.err);
    assert!(after.out.contains("(sleep)") && after.out.contains("outside"), "{}", after.out);
    Ok(())
}

#[test]
fn a_running_program_is_seen_with_its_bound_threads_and_what_it_started() -> Done {
    if !has_two()? {
        return Ok(());
    }
    // A shell on both PUs that has started a program on one of them.
    let mut shell =
        Command::new("sh").args(["-c", "taskset -c 1 sleep 1000 & wait"]).stdin(Stdio::null()).spawn()?;
    let pid = shell.id().to_string();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let is_sleep =
        |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    let child = loop {
        match std::fs::read_to_string(&children)?.split_whitespace().find(|pid| is_sleep(pid)) {
            Some(child) => break child.to_owned(),
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let check = |options: &[&str]| run(&[&["check", "--pid", &pid][..], options].concat());
    let (folded, rows, document) = (check(&[]), check(&["--threads"]), check(&["--json"]));
    // A shell's own: a small system has no program of that name.
    Command::new("sh").args(["-c", &format!("kill {child}")]).status()?;
    shell.wait()?;
    let line =
        |text: &str| text.lines().find(|line| line.contains(" sleep ")).unwrap_or_default().trim().to_owned();
    let said = format!("{}\n{}", line(&folded.out), line(&rows.out));
    insta::assert_snapshot!("started_by_a_program", said.replace(&pid, "PID"));
    let document = document.json()?;
    assert_eq!(document["ranks"][0]["threads"]["children"][0]["name"], "sleep", "{document:#}");
    assert_eq!(document["ranks"][0]["remote_share"], 0.0, "{document:#}");
    Ok(())
}

#[test]
fn of_all_that_use_a_gpu_there_is_nobody_where_no_gpu_is() -> Done {
    let has_gpu =
        run(&["topo", "--json"]).well().json()?["gpus"].as_array().is_some_and(|gpus| !gpus.is_empty());
    if has_gpu {
        skipped("check --all without a GPU: there is one here");
        return Ok(());
    }
    let nobody = run(&["check", "--all"]);
    assert_eq!(nobody.code, Some(6), "{}{}", nobody.out, nobody.err);
    // After the first line, which names this host.
    insta::assert_snapshot!("nobody_uses_a_gpu", nobody.out.split_once('\n').unwrap_or_default().1);
    run(&["check", "--all", "--pid", "1"]).refused(2, &["--all", "--pid"]);
    Ok(())
}

#[test]
fn the_adapter_near_a_ranks_gpu_is_named_and_a_variable_that_names_another_is_told() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../topo/tests/fixtures/dgx-a100.xml")
        .display()
        .to_string();
    let told = end(
        numabench().env("CUDA_VISIBLE_DEVICES", "2").env("NCCL_IB_HCA", "=mlx5_9"),
        ["check", "--input", &input],
    );
    for words in ["mlx5_2 ", "names another adapter than the one near its GPU, mlx5_2"] {
        assert!(told.out.contains(words), "{words}: {}", told.out);
    }
}

#[test]
fn asked_for_adapters_a_variable_that_names_another_is_5_and_one_that_agrees_is_said() -> Done {
    let saved = format!("{}/../topo/tests/fixtures/eight-gpus-nvswitch.xml", env!("CARGO_MANIFEST_DIR"));
    let told = |adapter: &str| {
        let mut command = numabench();
        command.env("CUDA_DEVICE_ORDER", "PCI_BUS_ID").env("CUDA_VISIBLE_DEVICES", "0");
        end(command.env("UCX_NET_DEVICES", adapter).args(["check", "--nic", "--input"]), [&saved])
    };
    let (other, near) = (told("mlx5_9:1"), told("mlx5_0:1"));
    assert_eq!(other.code, Some(5), "{}{}", other.out, other.err);
    // The answer's words on adapters, and what is said of the rank's own.
    let said = |text: &str| {
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        let answer = first.split_once(';').map(|(_, on_adapters)| on_adapters).unwrap_or_default();
        let of_rank =
            rest.lines().filter(|line| line.contains("UCX_NET_DEVICES")).collect::<Vec<_>>().join("\n");
        format!("answer:{answer}\n{of_rank}")
    };
    insta::assert_snapshot!("told_of_adapters", format!("{}\n\n{}", said(&other.out), said(&near.out)));
    Ok(())
}

#[test]
fn a_process_that_is_not_there_is_refused_by_its_number() {
    // pid_max at its largest: one more than the largest number that Linux gives.
    run(&["check", "--pid", "4194304"]).refused(2, &["no process 4194304", "ps"]);
    let both = run(&["check", "--pid", "1", "--", "true"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
}

#[test]
fn the_document_says_what_the_table_says() -> Done {
    let ended =
        end(numabench().env("CUDA_VISIBLE_DEVICES", "1"), ["check", "--json", "--input", &interleaved()]);
    let document = ended.json()?;
    let rank = &document["ranks"][0];
    assert_eq!(rank["seen"]["gpus"]["devices"][0]["pci"], "0000:14:00.0", "{document:#}");
    assert_eq!(rank["seen"]["gpus"]["variables"]["CUDA_VISIBLE_DEVICES"], "1");
    assert!(rank["seen"]["pus"].as_array().is_some_and(|pus| !pus.is_empty()));
    let code = match document["placed"].as_str() {
        Some("well placed") => 0,
        Some("misplaced") => 5,
        Some("unknown") => 6,
        other => return Err(format!("{other:?}").into()),
    };
    assert_eq!(ended.code, Some(code), "{document:#}");
    Ok(())
}

/// Two processes with these variables of their own (`$r` is 0 and 1), started together.
fn two(variables: &str, options: &str) -> std::io::Result<std::process::Output> {
    let file = interleaved();
    let script = format!(
        "for r in 0 1; do {variables} CUDA_VISIBLE_DEVICES=$r taskset -c $r {BINARY} check --input {file} \
         {options} & p=\"$p $!\"; done; e=0; for p in $p; do wait $p || e=$?; done; exit $e"
    );
    let mut command = assert_cmd::Command::new("sh");
    command
        .timeout(Duration::from_secs(60))
        .envs(crate::run::variables(&no_driver()))
        .args(["-c", &script])
        .output()
}

#[test]
fn workers_of_torchrun_and_ranks_that_the_user_names_are_one_table() -> Done {
    if !has_two()? {
        return Ok(());
    }
    let torchrun = "TORCHELASTIC_RUN_ID=none MASTER_PORT=29511 GROUP_RANK=0 RANK=$r WORLD_SIZE=2 \
        LOCAL_RANK=$r LOCAL_WORLD_SIZE=2";
    for (variables, options, words) in
        [(torchrun, "", "2 ranks of torchrun or its like here"), ("", "--rank $r --ranks 2", "2 ranks here")]
    {
        let output = two(variables, options)?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        // Ended with 0 they are well placed.
        assert_eq!(out.matches(words).count(), 1, "{out}{err}");
    }
    run(&["check", "--rank", "2", "--ranks", "2"]).refused(2, &["rank 2 of 2", "0 to 1"]);
    Ok(())
}

#[test]
fn by_a_saved_machine_wrong_is_5_and_a_gpu_that_is_not_there_is_wrong() -> Done {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../topo/tests/fixtures/dgx-a100.xml")
        .display()
        .to_string();
    if !has_two()? {
        return Ok(());
    }
    let check = |gpu: &str| {
        let mut command = assert_cmd::Command::new("taskset");
        command.envs(variables(&no_driver())).env("CUDA_VISIBLE_DEVICES", gpu);
        end(&mut command, ["-c", "0", BINARY, "check", "--json", "--input", &input])
    };
    let far = check("0");
    assert_eq!(
        far.code,
        Some(5),
        "this machine has none of its near PUs, that one has: {}{}",
        far.out,
        far.err
    );
    let absent = check("99");
    assert_eq!(absent.code, Some(5), "{}{}", absent.out, absent.err);
    let document = absent.json()?;
    assert_eq!(found(&document)[..1], ["gpu-absent"], "{document:#}");
    let text = document["findings"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("CUDA_VISIBLE_DEVICES=99"), "{text}");
    Ok(())
}

#[test]
fn pingpong_under_torchrun_is_refused_and_not_run_by_every_worker() {
    let variables = [
        ("TORCHELASTIC_RUN_ID", "none"),
        ("RANK", "0"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "0"),
        ("LOCAL_WORLD_SIZE", "2"),
    ];
    let refused = end(numabench().envs(variables), ["pingpong", "--backend", "host"]);
    insta::assert_snapshot!(refused.refused(2, &[]).err, @"numabench: error: torchrun or its like started 2 \
        processes, and MPI cannot join processes of that launcher into one run: each process would measure \
        alone. Start numabench once on each node, without the launcher: its ranks are threads, one for each \
        GPU. numabench check shows where the workers are, and numabench exec places them");
}

#[test]
fn what_all_workers_of_torchrun_would_say_the_first_one_says_and_a_process_of_a_worker_says_it_itself() -> Done
{
    let variables = "export TORCHELASTIC_RUN_ID=none RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r LOCAL_WORLD_SIZE=2";
    let said = |script: &str| -> Result<usize, std::io::Error> {
        let mut shell = assert_cmd::Command::new("sh");
        shell.timeout(Duration::from_secs(60)).envs(crate::run::variables(&no_driver()));
        let output = shell.args(["-c", script]).output()?;
        Ok(String::from_utf8_lossy(&output.stderr)
            .matches("torchrun or its like started 2 processes")
            .count())
    };
    let workers =
        format!("for r in 0 1; do ({variables}; exec {BINARY} pingpong --backend host) & done; wait");
    assert_eq!(said(&workers)?, 1);
    let of_a_worker = format!("r=1; {variables}; sh -c '{BINARY} pingpong --backend host; exit 0'");
    assert_eq!(said(&of_a_worker)?, 1);
    Ok(())
}

#[test]
fn ranks_of_mpirun_and_of_hydra_meet_without_mpi() -> Done {
    if !has_two()? {
        return Ok(());
    }
    let file = interleaved();
    for (launcher, options) in [
        ("mpirun.openmpi", &["--allow-run-as-root", "--bind-to", "none", "-n", "2"][..]),
        ("mpiexec.hydra", &["-n", "2"]),
    ] {
        let script = format!(
            "r=${{OMPI_COMM_WORLD_LOCAL_RANK:-$MPI_LOCALRANKID}}; export CUDA_VISIBLE_DEVICES=$r; \
             exec taskset -c $r {BINARY} check --input {file}"
        );
        let mut command = assert_cmd::Command::new(launcher);
        command.timeout(Duration::from_secs(60)).envs(variables(&no_driver()));
        let Ok(output) = command.args(options).args(["sh", "-c", &script]).output() else {
            skipped(&format!("ranks of {launcher}: it is not installed"));
            continue;
        };
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{launcher}: {out}{err}");
        assert!(
            out.contains("well placed: 2 of 2 ranks") && out.matches("ranks of").count() == 1,
            "{launcher}: {out}"
        );
    }
    Ok(())
}

/// `check` with these options before `-- echo started`, as rank 1 of two whose first one never comes.
fn second_of_two(options: &[&str]) -> Ended {
    let mut command = numabench();
    for (name, value) in [("SIZE", "2"), ("RANK", "1"), ("LOCAL_SIZE", "2"), ("LOCAL_RANK", "1")] {
        command.env(format!("OMPI_COMM_WORLD_{name}"), value);
    }
    command.env("PMIX_NAMESPACE", format!("alone-{}", std::process::id()));
    end(command.args(["check", "--timeout", "200ms"]).args(options), ["--", "echo", "started"])
}

#[test]
fn a_program_behind_check_starts_whatever_keeps_the_ranks_from_meeting() {
    let file = interleaved();
    let alone = second_of_two(&[]);
    assert_eq!((alone.code, alone.out.as_str()), (Some(0), "started\n"), "{}", alone.err);
    assert!(alone.err.contains("warning:") && alone.err.contains(" 0.2 "), "{}", alone.err);
    let redirected = end(numabench().env("HWLOC_XMLFILE", &file), ["check", "--", "echo", "started"]);
    assert_eq!((redirected.code, redirected.out.as_str()), (Some(0), "started\n"), "{}", redirected.err);
    assert!(redirected.err.contains("HWLOC_XMLFILE"), "{}", redirected.err);
    let no_file = run(&["check", "--input", "/nowhere.xml", "--", "echo", "started"]);
    assert_eq!((no_file.code, no_file.out.as_str()), (Some(0), "started\n"), "{}", no_file.err);
    assert!(no_file.err.contains("/nowhere.xml"), "{}", no_file.err);
}

#[test]
fn with_strict_it_starts_only_where_all_ranks_were_seen_and_are_well_placed() {
    second_of_two(&["--strict"]).refused(6, &["did not answer within 0.2 s"]);
    run(&["check", "--strict", "--input", "/nowhere.xml", "--", "echo", "started"])
        .refused(2, &["/nowhere.xml"]);
}

#[test]
fn ranks_meet_where_no_file_can_be_made_and_a_killed_one_leaves_none() -> Done {
    // Nothing of it is in a file system: with no writable one at all the ranks still meet. The program may
    // lie below /tmp itself.
    let (folder, program) = BINARY.rsplit_once('/').ok_or("a program without a folder")?;
    let script = format!(
        "mount --bind {folder} /mnt || exit 77; for at in /dev/shm /tmp; do mount -t tmpfs -o ro none $at || \
         exit 77; done; export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 \
         PMIX_NAMESPACE=no-files-$$; OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 /mnt/{program} \
         check --timeout 20s & OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 /mnt/{program} check \
         --timeout 20s; code=$?; wait; exit $code"
    );
    let mut command = assert_cmd::Command::new("unshare");
    command.timeout(Duration::from_secs(60)).envs(variables(&no_driver()));
    let output = command.args(["--mount", "--map-root-user", "sh", "-c", &script]).output()?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || err.contains("unshare") {
        skipped(&format!(
            "ranks that meet without a writable file system: no mount namespace of one's own ({err})"
        ));
        return Ok(());
    }
    assert!(out.contains("2 ranks of Open MPI's mpirun here"), "{out}{err}");
    assert!(!out.contains("did not") && err.is_empty(), "{out}{err}");
    Ok(())
}

#[test]
fn gpus_that_only_the_driver_knows_are_said_and_unknown_is_not_well() -> Done {
    let four: Vec<String> = (5..9).map(|bus| format!("device 0000:{bus:02x}:00.0")).collect();
    let on_driver = |args: &[&str]| -> Result<Ended, Box<dyn std::error::Error>> {
        let folder = crate::driver::stand_in(crate::driver::Driver::Cuda)?;
        Ok(end(crate::run::with_driver(&folder).env("FAKE_DEVICES", four.join(";")), args))
    };
    let here = run(&["topo", "--json"]).json()?;
    if here["gpus"].as_array().is_some_and(|gpus| !gpus.is_empty()) {
        skipped("GPUs that only a driver knows: the PCI bus shows some here");
        return Ok(());
    }
    let ended = on_driver(&["check"])?;
    assert_eq!(ended.code, Some(6), "{}{}", ended.out, ended.err);
    let told = |text: &str| text.contains("CUDA's") && text.contains(" 4 ");
    assert!(told(&ended.out), "{}", ended.out);
    let ended = on_driver(&["place"])?;
    assert!(told(&ended.err), "{}{}", ended.out, ended.err);
    Ok(())
}
