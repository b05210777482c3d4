//! `tests/hardware/matrix.sh`, which holds `--matrix` against `nvidia-smi topo -m` on machines that have one:
//! that it finds what is different, and nothing where nothing is. The first output below is a machine's own,
//! of driver 580.159 on two H200 of a virtual machine; the others are made up in its form.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

type Done = Result<(), Box<dyn Error>>;

const TWO_H200: &str = "\t\u{1b}[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m
GPU0\t X \tNV18\t0-31\t0\t\tN/A
GPU1\tNV18\t X \t0-31\t0\t\tN/A

Legend:

  X    = Self
";

/// What nvidia-smi would print of the machine in the fixture `eight-gpus-nvswitch.xml`, with its adapters in
/// another order.
fn eight_gpus() -> String {
    // mlx5_10, mlx5_0, mlx5_2
    let nics = [
        ["SYS", "PIX", "PXB"],
        ["SYS", "PXB", "PIX"],
        ["SYS", "PHB", "PHB"],
        ["SYS", "NODE", "NODE"],
        ["PHB", "SYS", "SYS"],
        ["PHB", "SYS", "SYS"],
        ["PHB", "SYS", "SYS"],
        ["PHB", "SYS", "SYS"],
    ];
    let between = [[" X ", "SYS", "SYS"], ["SYS", " X ", "PXB"], ["SYS", "PXB", " X "]];
    let labels: Vec<String> =
        (0..8).map(|gpu| format!("GPU{gpu}")).chain((0..3).map(|nic| format!("NIC{nic}"))).collect();
    let mut text =
        format!("\t\u{1b}[4m{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n", labels.join("\t"));
    for (gpu, nics) in nics.iter().enumerate() {
        let gpus: Vec<&str> = (0..8).map(|other| if other == gpu { " X " } else { "NV18" }).collect();
        let affinity = if gpu < 4 { "0-3\t0\t\tN/A" } else { "4-7\t1\t\tN/A" };
        text += &format!("GPU{gpu}\t{}\t{}\t{affinity}\n", gpus.join("\t"), nics.join("\t"));
    }
    for (nic, others) in between.iter().enumerate() {
        let gpus: Vec<&str> = nics.iter().map(|row| row[nic]).collect();
        text += &format!("NIC{nic}\t{}\t{}\t\t\t\t\n", gpus.join("\t"), others.join("\t"));
    }
    text + "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_10\n  NIC1: mlx5_0\n  NIC2: mlx5_2\n\n"
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code and output of a comparison.
fn compared(ours: &str, theirs: &str) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (ours_at, theirs_at) = (folder.path().join("ours"), folder.path().join("theirs"));
    std::fs::write(&ours_at, ours)?;
    std::fs::write(&theirs_at, theirs)?;
    let script = root().join("tests/hardware/matrix.sh");
    let output = Command::new(script).arg("--compare").args([&ours_at, &theirs_at]).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
}

/// The matrix of a fixture.
fn matrix(fixture: &str) -> Result<String, Box<dyn Error>> {
    let path = root().join("crates/topo/tests/fixtures").join(fixture);
    let output = Command::new(env!("CARGO_BIN_EXE_numabench"))
        .args(["topo", "--matrix", "--input"])
        .arg(path)
        .env("COLUMNS", "100")
        .output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn an_output_of_nvidia_smis_is_read_cell_by_cell() -> Done {
    let (code, text) = compared(TWO_H200, TWO_H200)?;
    assert_eq!((code, text.trim()), (Some(0), "10 cells are the same, 0 are not"));
    Ok(())
}

#[test]
fn a_matrix_that_says_the_same_with_other_adapter_numbers_is_the_same() -> Done {
    let (code, text) = compared(&matrix("eight-gpus-nvswitch.xml")?, &eight_gpus())?;
    // 11 devices by 11, and three columns of affinity for 8 of them.
    assert_eq!((code, text.trim()), (Some(0), "145 cells are the same, 0 are not"));
    Ok(())
}

#[test]
fn each_cell_that_differs_is_named_with_both_values() -> Done {
    let ours = matrix("eight-gpus-nvswitch.xml")?;
    for (from, to, named) in [
        ("GPU2\tNV18", "GPU2\tNV17", "GPU2 GPU0: nvidia-smi NV17, numabench NV18"),
        ("NIC1\tPIX", "NIC1\tPXB", "mlx5_0 GPU0: nvidia-smi PXB, numabench PIX"),
        ("4-7\t1\t\tN/A\nNIC0", "4-6\t1\t\tN/A\nNIC0", "GPU7 CPU-Affinity: nvidia-smi 4-6, numabench 4-7"),
        ("4-7\t1\t\tN/A\nNIC0", "4-7\t1\t\t3\nNIC0", "GPU7 GPU-NUMA-ID: nvidia-smi 3, numabench N/A"),
        ("NIC0: mlx5_10", "NIC0: mlx5_9", "mlx5_9 GPU0: nvidia-smi SYS, numabench has no such cell"),
    ] {
        let theirs = eight_gpus();
        assert!(theirs.contains(from), "{from}");
        let (code, text) = compared(&ours, &theirs.replacen(from, to, 1))?;
        assert_eq!(code, Some(1), "{to}: {text}");
        assert!(text.lines().any(|line| line == named), "{named} is not in\n{text}");
    }
    // A row that is missing, on either side.
    let fewer: String = eight_gpus()
        .lines()
        .filter(|line| !line.starts_with("GPU7"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(compared(&ours, &fewer)?.0, Some(1));
    assert_eq!(compared(&fewer, &eight_gpus())?.0, Some(1));
    Ok(())
}

#[test]
fn slingshot_adapters_are_numabenchs_alone_and_others_are_a_difference() -> Done {
    let theirs = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0\t\tN/A\n";
    let ours = |name: &str| {
        format!(
            "        GPU0  NIC0  CPU Affinity  NUMA Affinity  GPU NUMA ID\n  GPU0  X     SYS   0-71          \
             0              N/A\n  NIC0  SYS   X\n\nNICs\n  NIC0:  {name}  0000:c5:00.0\n"
        )
    };
    let (code, text) = compared(&ours("hsn0"), theirs)?;
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Slingshot"), "{text}");
    let (code, text) = compared(&ours("mlx5_0"), theirs)?;
    assert_eq!(code, Some(1));
    assert!(text.contains("GPU0 mlx5_0: numabench SYS, nvidia-smi has no such cell"), "{text}");
    Ok(())
}

#[test]
fn an_output_without_a_matrix_is_unusable_and_a_machine_without_nvidia_smi_is_skipped() -> Done {
    assert_eq!(compared("nothing\n", TWO_H200)?.0, Some(2));
    assert_eq!(compared(TWO_H200, "No devices were found\n")?.0, Some(2));
    let script = root().join("tests/hardware/matrix.sh");
    let bash = Command::new("sh").args(["-c", "command -v bash"]).output()?;
    let bash = String::from_utf8(bash.stdout)?;
    let output = Command::new(bash.trim()).arg(&script).env("PATH", "/nowhere").output()?;
    assert_eq!(output.status.code(), Some(77));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("SKIPPED"), "{output:?}");
    Ok(())
}

/// The script as on a machine: a stand-in for nvidia-smi, and numabench told to read the fixture.
fn on_machine(list: &str) -> Result<(Option<i32>, String), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let program = |name: &str, text: String| -> std::io::Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    std::fs::write(folder.path().join("topo"), eight_gpus())?;
    std::fs::write(folder.path().join("list"), list)?;
    let at = folder.path().display();
    program(
        "nvidia-smi",
        format!("#!/bin/sh\ncase $1 in topo) cat {at}/topo ;; *) cat {at}/list ;; esac\n"),
    )?;
    let fixture = root().join("crates/topo/tests/fixtures/eight-gpus-nvswitch.xml");
    let ours =
        format!("#!/bin/sh\nexec {} \"$@\" --input {}\n", env!("CARGO_BIN_EXE_numabench"), fixture.display());
    let numabench = program("numabench", ours)?;
    let path = format!("{at}:{}", std::env::var("PATH")?);
    let output =
        Command::new(root().join("tests/hardware/matrix.sh")).arg(numabench).env("PATH", path).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn on_a_machine_indices_addresses_and_uuids_are_held_against_nvidia_smis_list_too() -> Done {
    let gpu = |(index, bus): (usize, &str)| {
        let digit = |count: usize| index.to_string().repeat(count);
        format!("{index}, 00000000:{bus}:00.0, GPU-{}-aaaa-bbbb-cccc-{}\n", digit(8), digit(12))
    };
    let list: String =
        ["13", "17", "19", "21", "81", "82", "83", "84"].into_iter().enumerate().map(gpu).collect();
    let (code, text) = on_machine(&list)?;
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("8 GPUs have nvidia-smi's index, address and UUID"), "{text}");
    let (code, text) = on_machine(&list.replace("00000000:84", "00000000:8A"))?;
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("-7\t0000:84:00.0") && text.contains("+7\t0000:8a:00.0"), "{text}");
    Ok(())
}
