//! What is said of places, held against what was published, and run: the lines by the tools that they are
//! for, the script by a shell.
//!
//! A tool that is not here is said to be missing, on a line that begins with `SKIPPED`. Nothing depends on
//! how many PUs the machine has, but one PU tells less: ranks are placed in the reverse order of PUs, so that
//! a binding that does nothing is seen. Some 540 lines because each tool's words are run by that tool, or by
//! what stands in for it.

use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use launchers::{
    Dialect, LOCAL_RANK_VARIABLES, Saying, Situation, Starter, command, omp_places, parse_map_cpu,
    parse_mask_cpu, say, visible,
};
use placement::{Ask, GpuChoice, NodePlaces, Strategy, Target, recommend};
use stats::IdSet;
use topo::Topology;

type Outcome = Result<(), Box<dyn Error>>;

fn own(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml")))
}

fn saying(topology: &Topology, dialect: Dialect, situation: &Situation) -> Result<Saying, Box<dyn Error>> {
    Ok(say(topology, &recommend(topology, &Ask::default())?, dialect, situation))
}

#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn skipped(why: &str) {
    eprintln!("SKIPPED {why}");
}

/// This machine, and as many ranks as it has cores to give, at most four, the last core first; each on one
/// PU.
fn here() -> Result<(Topology, NodePlaces), Box<dyn Error>> {
    let topology = topo::read()?;
    let ask = |ranks| Ask { ranks, gpus: GpuChoice::None, strategy: Strategy::Compact, ..Ask::default() };
    let most = recommend(&topology, &ask(Some(4)))?;
    let distinct: std::collections::BTreeSet<u32> = most.places.iter().map(|place| place.first).collect();
    let mut places = recommend(&topology, &ask(Some(distinct.len())))?;
    places.places.reverse();
    (0..).zip(&mut places.places).for_each(|(rank, place)| place.rank = rank);
    Ok((topology, places))
}

/// A program for a rank to run: it says its rank and what it is bound to, as the kernel does.
fn reporter(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder.join("report.sh");
    let rank = LOCAL_RANK_VARIABLES.map(|name| format!("${{{name}-}}")).concat();
    let bound = "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status)";
    executable(&path, &format!("#!/bin/sh\necho \"rank ${{RANK-{rank}}} on {bound}\"\n"))?;
    Ok(path)
}

fn executable(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

/// Runs lines as a user pastes them.
fn pasted(folder: &Path, lines: &str) -> Result<Output, Box<dyn Error>> {
    let mut shell = Command::new("sh");
    // Open MPI refuses to run as root, which tests in a container often are; what launched the tests is not
    // what launches these.
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    LOCAL_RANK_VARIABLES.iter().for_each(|name| _ = shell.env_remove(name));
    Ok(shell.arg("-c").arg(lines).current_dir(folder).output()?)
}

#[track_caller]
fn binds_as_planned(output: &Output, places: &NodePlaces) {
    let text = String::from_utf8_lossy(&output.stdout);
    for place in &places.places {
        let want = format!("rank {} on {}", place.rank, place.pus);
        assert!(text.lines().any(|line| line == want), "no \"{want}\" in {output:?}");
    }
}

/// The first of these programs that says this of itself.
fn found(names: &[&'static str], says: &str) -> Option<&'static str> {
    names.iter().copied().find(|name| {
        let output = Command::new(name).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(says))
    })
}

#[test]
fn open_mpi_4_binds_each_rank_as_its_rankfile_says() -> Outcome {
    let Some(mpirun) = found(&["mpirun.openmpi", "mpirun"], "(Open MPI) 4") else {
        skipped("an Open MPI rankfile: no mpirun of Open MPI 4");
        return Ok(());
    };
    let (topology, places) = here()?;
    let folder = tempfile::tempdir()?;
    let program = reporter(folder.path())?;
    let saying = say(&topology, &places, Dialect::OpenMpi, &Situation::default());
    assert!(saying.remarks.iter().any(|remark| remark.contains("Open MPI 5")), "{saying:?}");
    let lines =
        saying.text.replace("mpirun ", &format!("{mpirun} ")).replace("PROGRAM", &program.to_string_lossy());
    binds_as_planned(&pasted(folder.path(), &lines)?, &places);
    Ok(())
}

#[test]
fn hydra_binds_each_rank_as_its_list_says() -> Outcome {
    let Some(mpiexec) = found(&["mpiexec.mpich", "mpiexec.hydra", "mpiexec"], "HYDRA") else {
        skipped("Hydra's user binding: no mpiexec of MPICH");
        return Ok(());
    };
    let (topology, mut places) = here()?;
    let folder = tempfile::tempdir()?;
    let program = reporter(folder.path())?;
    // The first rank on everything the others have, for a list of more than one PU.
    let all = places.places.iter().fold(IdSet::default(), |all, place| all.or(&place.pus));
    places.places[0].pus = all;
    let text = say(&topology, &places, Dialect::Mpich, &Situation::default()).text;
    let line =
        text.replace("mpiexec ", &format!("{mpiexec} ")).replace("PROGRAM", &program.to_string_lossy());
    binds_as_planned(&pasted(folder.path(), &line)?, &places);
    Ok(())
}

#[test]
fn numactl_taskset_and_openmp_take_what_is_said_to_them() -> Outcome {
    let (topology, places) = here()?;
    let folder = tempfile::tempdir()?;
    let program = reporter(folder.path())?;
    for (dialect, tool) in [(Dialect::Numactl, "numactl"), (Dialect::Taskset, "taskset")] {
        if Command::new(tool).arg("--help").output().is_err() {
            skipped(&format!("what is said to {tool}: it is not here"));
            continue;
        }
        let text = say(&topology, &places, dialect, &Situation::default()).text;
        assert_eq!(text.lines().count(), places.places.len());
        for (line, place) in text.lines().zip(&places.places) {
            let line = format!("RANK={} {}", place.rank, line.replace("PROGRAM", &program.to_string_lossy()));
            let alone = NodePlaces { places: vec![place.clone()], ..places.clone() };
            binds_as_planned(&pasted(folder.path(), &line)?, &alone);
        }
    }
    let text = say(&topology, &places, Dialect::OmpPlaces, &Situation::default()).text;
    let lines = text.replace("PROGRAM", "sh -c 'echo $OMP_PLACES $OMP_PROC_BIND $OMP_NUM_THREADS'");
    let output = pasted(folder.path(), &lines)?;
    let want: String = places.places.iter().map(|place| format!("{{{}}} close 1\n", place.first)).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), want, "{output:?}");
    assert_eq!(omp_places(&"49-51,113".parse()?), "{49},{50},{51},{113}");
    Ok(())
}

/// The script for ranks of this machine, each with a GPU of another one.
fn script(folder: &Path, gpus: &Topology) -> Result<(PathBuf, NodePlaces), Box<dyn Error>> {
    let (_, mut places) = here()?;
    let targets = Target::gpus_of(gpus);
    places.places.iter_mut().zip(targets).for_each(|(place, target)| place.target = Some(target));
    let path = folder.join("place.sh");
    executable(&path, &say(gpus, &places, Dialect::Wrapper, &Situation::default()).text)?;
    Ok((path, places))
}

#[test]
fn the_wrapper_passes_arguments_exit_code_and_process_on_untouched() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (script, places) = script(folder.path(), &own("dgx-a100")?)?;
    let program = folder.path().join("a program");
    executable(&program, "#!/bin/sh\nprintf '<%s>' \"$$\" \"$@\"\nexit 37\n")?;
    let odd = ["a b", "it's", "\"quoted\"", "two\nlines", "", "*", "$HOME", "--", "-c", "back\\slash"];
    for launcher in LOCAL_RANK_VARIABLES {
        let mut wrapper = Command::new(&script);
        LOCAL_RANK_VARIABLES.iter().for_each(|name| _ = wrapper.env_remove(name));
        let wrapper = wrapper
            .env(launcher, "0")
            .arg(&program)
            .args(odd)
            .stdout(std::process::Stdio::piped())
            .spawn()?;
        let process = wrapper.id();
        let output = wrapper.wait_with_output()?;
        let want: String = odd.iter().map(|argument| format!("<{argument}>")).collect();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("<{process}>{want}"), "{launcher}");
        assert_eq!(output.status.code(), Some(37), "{launcher}");
    }
    assert!(!places.places.is_empty());
    Ok(())
}

#[test]
fn the_wrapper_takes_a_rank_from_the_launcher_that_started_it_and_not_from_one_around() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (script, _) = script(folder.path(), &own("dgx-a100")?)?;
    let script = std::fs::read_to_string(script)?;
    let (head, _) = script.split_once("memory=").ok_or("no rank")?;
    let torchrun = [("TORCHELASTIC_RUN_ID", "none"), ("LOCAL_RANK", "2")];
    let batch = [("SLURM_JOB_ID", "7"), ("SLURM_LOCALID", "0")];
    let step = [("SLURM_STEP_ID", "0"), ("SLURM_LOCALID", "0")];
    let task = [("SLURM_STEP_ID", "0"), ("SLURM_LOCALID", "1")];
    for (variables, wanted) in [
        ([batch, torchrun], "2"),
        ([step, torchrun], "2"),
        ([batch, [("LOCAL_RANK", "3"), ("WORLD_SIZE", "4")]], "3"),
        ([task, [("LOCAL_RANK", "0"), ("LANG", "C")]], "1"),
        ([step, [("OMPI_COMM_WORLD_LOCAL_RANK", "3"), ("LANG", "C")]], "3"),
        ([task, [("LANG", "C"), ("LC_ALL", "C")]], "1"),
    ] {
        let mut shell = Command::new("sh");
        LOCAL_RANK_VARIABLES.iter().for_each(|name| _ = shell.env_remove(name));
        shell.env_remove("TORCHELASTIC_RUN_ID").env_remove("SLURM_STEP_ID").envs(variables.concat());
        let output = shell.args(["-euc", &format!("{head}\necho \"$rank\""), "sh", "a.out"]).output()?;
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), wanted, "{variables:?}");
    }
    Ok(())
}

#[test]
fn the_wrapper_binds_each_rank_and_shows_it_its_gpu() -> Outcome {
    if ["numactl", "taskset"].iter().all(|tool| Command::new(tool).arg("--help").output().is_err()) {
        skipped("the wrapper's binding: neither numactl nor taskset is here");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let program = reporter(folder.path())?;
    for name in ["dgx-a100", "gh200-quad", "lumi-g"] {
        let gpus = own(name)?;
        let (script, places) = script(folder.path(), &gpus)?;
        for place in &places.places {
            let shown = visible(&gpus, place.target.as_ref().ok_or("no GPU")?).variables;
            assert!(!shown.is_empty());
            let print: String = shown.iter().map(|(name, _)| format!("; echo \"{name}=${name}\"")).collect();
            let lines = format!(
                "SLURM_LOCALID={} {} sh -c '{}{print}'",
                place.rank,
                script.display(),
                program.display()
            );
            let output = pasted(folder.path(), &lines)?;
            let alone = NodePlaces { places: vec![place.clone()], ..places.clone() };
            binds_as_planned(&output, &alone);
            for (name, value) in shown {
                let want = format!("{name}={value}");
                assert!(
                    String::from_utf8_lossy(&output.stdout).lines().any(|line| line == want),
                    "{want}: {output:?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_rank_without_a_place_is_told_so_and_runs_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (script, _) = script(folder.path(), &own("dgx-a100")?)?;
    let script = script.display();
    for (line, code, says) in [
        (format!("{script} echo ran"), 1, "none of JSM_NAMESPACE_LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK, "),
        (format!("SLURM_LOCALID=99 {script} echo ran"), 1, "no place for rank 99 of this node"),
        (
            format!("SLURM_LOCALID=0 OMPI_COMM_WORLD_LOCAL_RANK=98 {script} echo ran"),
            1,
            "no place for rank 98",
        ),
        (format!("LOCAL_RANK=97 {script} echo ran"), 1, "no place for rank 97"),
        (format!("SLURM_LOCALID=0 {script}"), 2, "usage: "),
    ] {
        let output = pasted(folder.path(), &line)?;
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
        assert!(
            output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains(says),
            "{output:?}"
        );
    }
    Ok(())
}

#[test]
fn shellcheck_finds_nothing_in_the_wrapper() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in [
        "lumi-g-low-noise",
        "gh200-quad",
        "dgx-a100",
        "vm-one-node",
        "cpu-only",
        "hostile-names",
        "memory-apart",
    ] {
        let path = folder.path().join(format!("{name}.sh"));
        executable(
            &path,
            &format!("{}\n", saying(&own(name)?, Dialect::Wrapper, &Situation::default())?.text),
        )?;
        match Command::new("shellcheck").arg(&path).output() {
            Err(error) => {
                skipped(&format!("shellcheck of the wrapper: {error}"));
                return Ok(());
            }
            Ok(output) => {
                assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout))
            }
        }
    }
    Ok(())
}

#[test]
fn a_gpu_is_shown_by_its_place_among_its_vendors() -> Outcome {
    let shown = |machine: &str| -> Result<Vec<String>, Box<dyn Error>> {
        let topology = own(machine)?;
        let of = |target: &Target| {
            let shown = visible(&topology, target);
            shown
                .variables
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        Ok(Target::gpus_of(&topology).iter().map(of).collect())
    };
    assert_eq!(
        shown("gh200-quad")?[1],
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1",
        "no UUID of one host"
    );
    assert_eq!(shown("dgx-a100")?[7], "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=7");
    // NVIDIA's, AMD's, and one of neither: each vendor's runtime counts its own.
    let three = shown("two-packages-gpus")?;
    assert_eq!(three[0], "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0");
    assert_eq!(three[1], "ROCR_VISIBLE_DEVICES=0");
    let topology = own("two-packages-gpus")?;
    let remarks: Vec<Option<String>> =
        Target::gpus_of(&topology).iter().map(|gpu| visible(&topology, gpu).remark).collect();
    assert!(
        remarks[0].is_none() && remarks[1].as_ref().is_some_and(|remark| remark.contains("rocminfo")),
        "{remarks:?}"
    );
    // HIP reads these after ROCr has renumbered: "4" of a longer list would leave nothing of one GPU.
    assert!(visible(&topology, &Target::gpus_of(&topology)[1]).cleared.contains(&"HIP_VISIBLE_DEVICES"));
    let lumi = own("lumi-g")?;
    let script = saying(&lumi, Dialect::Wrapper, &Situation::default())?.text;
    assert_eq!(
        script.matches("unset HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL").count(),
        8
    );
    let hostile = Target { uuid: Some("MIG-1;reboot".to_owned()), ..Target::gpus_of(&topology)[0].clone() };
    assert_eq!(visible(&topology, &hostile).variables[1].1, "0", "what is no UUID never comes into a script");
    Ok(())
}

/// A MIG instance has no name but its UUID, and that is of one host.
#[test]
fn the_wrapper_runs_nothing_on_another_host_than_its_uuids_are_of() -> Outcome {
    let mut topology = own("gh200-quad")?;
    let mut places = recommend(&topology, &Ask::default())?;
    let whole = say(&topology, &places, Dialect::Wrapper, &Situation::default());
    assert!(!whole.text.contains("GPU-0") && !whole.text.contains("uname"), "{}", whole.text);
    let mig = places.places[0].target.as_mut().ok_or("no GPU")?;
    mig.uuid = Some("MIG-00000000-1111-2222-3333-444444444444".to_owned());
    let script = say(&topology, &places, Dialect::Wrapper, &Situation::default());
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("place.sh");
    executable(&path, &script.text)?;
    let output = pasted(folder.path(), &format!("SLURM_LOCALID=0 {} echo ran", path.display()))?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty() && told.contains("made for gh200-quad"), "{output:?}");
    topology.hostname = None;
    assert!(say(&topology, &places, Dialect::Wrapper, &Situation::default()).cannot.is_some());
    Ok(())
}

#[test]
fn numactl_and_taskset_select_the_gpu_too() -> Outcome {
    let taskset = saying(&own("dgx-a100")?, Dialect::Taskset, &Situation::default())?.text;
    let first = taskset.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 taskset -c 48-55 PROGRAM"),
        "{first}"
    );
    let numactl = saying(&own("lumi-g")?, Dialect::Numactl, &Situation::default())?.text;
    let last = numactl.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("env -u HIP_VISIBLE_DEVICES -u CUDA_VISIBLE_DEVICES -u GPU_DEVICE_ORDINAL "),
        "{last}"
    );
    assert!(last.contains("ROCR_VISIBLE_DEVICES=7 numactl --physcpubind=40-47 "), "{last}");
    Ok(())
}

/// What a rank prints under the line, srun's part played by a shell function.
#[test]
fn the_whole_srun_line_shows_each_rank_its_gpu() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("program");
    executable(
        &program,
        "#!/bin/sh\necho \"$ROCR_VISIBLE_DEVICES$CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS\"\n",
    )?;
    for (name, ranks, gpus, options) in [
        ("lumi-g-low-noise", 8, "0 1 2 3 4 5 6 7", "OMP_NUM_THREADS=7 srun -N1 -n8 --gpus-per-node=8 "),
        ("dgx-a100", 4, "0 2 4 6", "OMP_NUM_THREADS=8 srun -N1 -n4 --gpus-per-node=8 "),
        ("gh200-quad", 8, "0 0 1 1 2 2 3 3", "OMP_NUM_THREADS=36 srun -N1 -n8 --gpus-per-node=4 "),
    ] {
        let topology = own(name)?;
        let places = recommend(&topology, &Ask { ranks: Some(ranks), ..Ask::default() })?;
        let line = command(&topology, &places, Starter::Srun, &Situation::default(), "", None).text;
        assert!(
            line.starts_with(options) && line.contains(" --gpu-bind=none --cpu-bind=mask_cpu:0x"),
            "{line}"
        );
        let line = line.replace("PROGRAM", &program.display().to_string());
        // What is behind srun's options is what srun runs for each rank.
        let (_, from_shell) = line.split_once(" sh -c ").ok_or("no shell")?;
        let mut seen = Vec::new();
        for rank in 0..ranks {
            let output =
                pasted(folder.path(), &format!("SLURM_LOCALID={rank} OMP_NUM_THREADS=7 sh -c {from_shell}"))?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            seen.push(text.split_whitespace().next().unwrap_or_default().to_owned());
        }
        assert_eq!(seen.join(" "), gpus, "{name}: {line}");
    }
    let lumi = own("lumi-g-low-noise")?;
    let places = recommend(&lumi, &Ask::default())?;
    let part = Situation { owns_node: Some(false), ..Situation::default() };
    let line = command(&lumi, &places, Starter::Srun, &part, " --smt", None).text;
    assert_eq!(line, "srun -N1 -n8 --cpu-bind=none --gpu-bind=none numabench exec --smt -- PROGRAM");
    let job = Situation { owns_node: Some(true), ..Situation::default() };
    assert!(!command(&lumi, &places, Starter::Srun, &job, "", None).text.contains("--exclusive"));
    let mpirun = command(&lumi, &places, Starter::Mpirun, &part, "", None).text;
    assert_eq!(mpirun, "mpirun -np 8 --bind-to none numabench exec -- PROGRAM");
    Ok(())
}

#[test]
fn what_cannot_work_on_a_part_of_a_node_is_said_with_what_can() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let part = Situation { owns_node: Some(false), ..Situation::default() };
    let whole = Situation { owns_node: Some(true), ..Situation::default() };
    for dialect in [Dialect::SrunMapCpu, Dialect::SrunMaskCpu, Dialect::GpuBind] {
        let why = saying(&lumi, dialect, &part)?.cannot.ok_or("said to work")?;
        assert!(why.contains("does not own the whole node") && why.contains("--exclusive"), "{why}");
        assert!(why.contains("numabench exec"), "{why}");
        assert_eq!(saying(&lumi, dialect, &whole)?.cannot, None);
        assert!(
            saying(&lumi, dialect, &Situation::default())?.remarks[..]
                .iter()
                .any(|r| r.contains("--exclusive"))
        );
    }
    for dialect in [Dialect::Numactl, Dialect::Wrapper, Dialect::Mpich] {
        assert_eq!(saying(&lumi, dialect, &part)?.cannot, None, "{dialect}");
    }
    Ok(())
}

#[test]
fn ranks_cut_off_from_each_others_gpus_are_told_what_breaks_and_the_way_out() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let confined = Situation { gpus_are_confined: Some(true), ..Situation::default() };
    for dialect in [Dialect::SrunMapCpu, Dialect::SrunMaskCpu, Dialect::GpuBind, Dialect::Wrapper] {
        let remarks = saying(&lumi, dialect, &confined)?.remarks;
        let told = remarks.iter().filter(|remark| remark.contains("--gres-flags=allow-task-sharing")).count();
        assert_eq!(told, 1, "{dialect}: {remarks:?}");
    }
    let unknown = saying(&lumi, Dialect::GpuBind, &Situation::default())?.remarks;
    assert!(
        unknown.iter().any(|remark| remark.starts_with("where the site confines devices")),
        "{unknown:?}"
    );
    Ok(())
}

#[test]
fn gpu_bind_is_said_as_the_slurm_at_hand_has_it_and_not_without_gpus() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let of = |slurm| saying(&lumi, Dialect::GpuBind, &Situation { slurm, ..Situation::default() });
    assert!(of(Some((22, 5)))?.text.ends_with("--gpu-bind=map_gpu:4,5,2,3,6,7,0,1"));
    assert!(of(Some((24, 5)))?.text.ends_with("--gpu-bind=map:4,5,2,3,6,7,0,1"));
    assert!(of(None)?.remarks.iter().any(|remark| remark.contains("map_gpu:")));
    let without = saying(&own("cpu-only")?, Dialect::GpuBind, &Situation::default())?;
    assert!(
        without.text.is_empty() && without.cannot.is_some_and(|why| why.contains("not every rank has a GPU"))
    );
    Ok(())
}

#[test]
fn an_srun_line_is_read_as_srun_reads_it() -> Outcome {
    let sets = |texts: &[&str]| -> Result<Vec<IdSet>, Box<dyn Error>> {
        Ok(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
    };
    assert_eq!(parse_map_cpu("--cpu-bind=map_cpu:0*2,3")?, sets(&["0", "0", "3"])?);
    assert_eq!(parse_map_cpu("map_cpu:0x31,0x39*2")?, sets(&["49", "57", "57"])?);
    assert_eq!(parse_map_cpu("srun -n2 --cpu-bind=verbose,map_cpu:1,0 ./a.out x,y")?, sets(&["1", "0"])?);
    // srun(1): "CPU masks are always interpreted as hexadecimal values but can be preceded with an optional
    // '0x'".
    assert_eq!(parse_mask_cpu("mask_cpu:10,0X3*2")?, sets(&["4", "0-1", "0-1"])?);
    let wide = format!("mask_cpu:0x8{}", "0".repeat(72));
    assert_eq!(parse_mask_cpu(&wide)?, sets(&["291"])?, "wider than any integer");
    for (text, says) in [
        ("--cpu-bind=cores", "has no map_cpu:"),
        ("map_cpu:", "has no map_cpu:"),
        ("map_cpu:1,,2", "\"\" in"),
        ("map_cpu:0x", "\"0x\" in"),
        ("map_cpu:1*0", "\"1*0\" in"),
        ("map_cpu:99999999", "not the number of a PU"),
    ] {
        let error = parse_map_cpu(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(says), "{text}: {error}");
    }
    assert!(
        parse_mask_cpu("mask_cpu:xyz")
            .err()
            .is_some_and(|error| error.to_string().contains("hexadecimal mask"))
    );
    Ok(())
}

#[test]
fn every_dialect_is_read_by_the_name_it_prints_and_says_something_of_every_machine() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures");
    for dialect in Dialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
    }
    for entry in std::fs::read_dir(&folder)? {
        let topology = topo::from_xml(&entry?.path())?;
        for dialect in Dialect::ALL {
            let saying = saying(&topology, dialect, &Situation::default())?;
            assert!(!saying.text.is_empty() || saying.cannot.is_some(), "{saying:?}");
            assert!(!saying.text.ends_with('\n') && !saying.text.contains('\u{9b}'), "{saying:?}");
        }
    }
    let refused = "lsf".parse::<Dialect>().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        refused.contains("\"lsf\"") && refused.contains("srun, srun-map, gpu-bind, openmpi"),
        "{refused}"
    );
    Ok(())
}

#[test]
fn words_without_gpus_say_which_gpu_each_rank_is_meant_for() -> Outcome {
    let hgx = own("hgx-h100")?;
    let all = Target::gpus_of(&hgx);
    let gpus = GpuChoice::These([7, 2, 5].map(|gpu: usize| all[gpu].clone()).to_vec());
    let places = recommend(&hgx, &Ask { gpus, ..Ask::default() })?;
    for dialect in Dialect::ALL {
        let saying = say(&hgx, &places, dialect, &Situation::default());
        let told = saying.remarks.iter().any(|remark| remark.contains("are meant for GPUs 7,2,5"));
        // `gpu-bind` renumbers ranks in core order, and says so.
        let in_words =
            ["CUDA_VISIBLE_DEVICES=7", "--gpu-bind="].iter().any(|words| saying.text.contains(words));
        assert!(told != in_words, "{dialect}: {saying:?}");
    }
    Ok(())
}
