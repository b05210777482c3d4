//! `check --printed`: what a launcher said of its ranks, judged on a saved machine.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

type Done = Result<(), Box<dyn Error>>;

fn check(text: &str, machine: &str, more: &[&str]) -> Result<Output, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("printed.txt");
    fs::write(&path, text)?;
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{machine}.xml"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
    command.args(["check", "--printed"]).arg(&path).arg("--input").arg(machine).args(more);
    Ok(command.env("COLUMNS", "140").output()?)
}

fn srun(masks: [&str; 2]) -> String {
    let line = |(task, mask): (usize, &&str)| {
        format!("cpu-bind=MASK - nid001, task  {task}  {task} [{}]: mask {mask} set\n", 50 + task)
    };
    masks.iter().enumerate().map(line).collect()
}

#[test]
fn two_ranks_on_one_core_are_misplaced_and_two_apart_are_not() -> Done {
    let shared = check(&srun(["0x1", "0x1"]), "cpu-only", &[])?;
    let text = String::from_utf8_lossy(&shared.stdout).into_owned();
    assert_eq!(shared.status.code(), Some(5), "{text}");
    assert!(text.starts_with("cpu-only: WRONG: 2 of 2 ranks\n"), "{text}");
    assert!(text.contains("judged: 2 ranks as srun printed them"), "{text}");
    assert_eq!(check(&srun(["0x1", "0x2"]), "cpu-only", &[])?.status.code(), Some(0));
    Ok(())
}

#[test]
fn the_line_says_whose_gpu_is_near() -> Done {
    let (near, far) = (srun(["0xff000000000000", "0xff0000"]), srun(["0xff0000", "0xff000000000000"]));
    let alone = check(&near, "lumi-g", &[])?;
    let text = String::from_utf8_lossy(&alone.stdout).into_owned();
    assert_eq!(alone.status.code(), Some(6), "{text}");
    assert!(text.contains("the launcher did not print it; give its line with --launch too"), "{text}");
    let line = ["--launch", "srun -n2 --gpus-per-node=8 --gpu-bind=map:0,2 ./a"];
    assert_eq!(check(&near, "lumi-g", &line)?.status.code(), Some(0), "each near its GPU");
    assert_eq!(check(&far, "lumi-g", &line)?.status.code(), Some(5), "each near the other's");
    let other = ["--launch", "srun -n3 --gpus-per-node=8 --gpu-bind=map:0,2,4 ./a"];
    let refused = check(&near, "lumi-g", &other)?;
    assert_eq!(refused.status.code(), Some(2));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("the line starts 3 ranks on the node, and 2 were printed"), "{why}");
    Ok(())
}
