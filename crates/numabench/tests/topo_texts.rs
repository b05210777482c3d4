//! A machine that is described by what other tools printed: what each command makes of it, and where it says
//! that it is not enough.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

type Done = Result<(), Box<dyn Error>>;

/// What people paste most: the summary of the CPUs and nvidia-smi's matrix, one after the other, with the
/// prompts between.
const PASTED: &str = "user@node:~$ lscpu
Architecture:            x86_64
  On-line CPU(s) list:   0-7
    Thread(s) per core:  2
    Socket(s):           2
Caches (sum of all):
  L2:                    4 MiB (4 instances)
  L3:                    64 MiB (2 instances)
NUMA:
  NUMA node(s):          2
  NUMA node0 CPU(s):     0-1,4-5
  NUMA node1 CPU(s):     2-3,6-7
user@node:~$ nvidia-smi topo -m
\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m
GPU0\t X \tNV12\tPXB\t0-1,4-5\t0\t\tN/A
GPU1\tNV12\t X \tSYS\t2-3,6-7\t1\t\tN/A
NIC0\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
";

/// The list that says which PUs share a core.
const LISTED: &str = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE
0 0 0 0 0:0:0:0 yes
1 0 0 1 1:1:1:0 yes
2 1 1 2 2:2:2:1 yes
3 1 1 3 3:3:3:1 yes
4 0 0 0 0:0:0:0 yes
5 0 0 1 1:1:1:0 yes
6 1 1 2 2:2:2:1 yes
7 1 1 3 3:3:3:1 yes
";

struct Texts {
    _folder: tempfile::TempDir,
    pasted: PathBuf,
    listed: PathBuf,
}

impl Texts {
    fn written() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let (pasted, listed) = (folder.path().join("pasted.txt"), folder.path().join("listed.txt"));
        fs::write(&pasted, PASTED)?;
        fs::write(&listed, LISTED)?;
        Ok(Self { _folder: folder, pasted, listed })
    }

    /// Runs a command with the paste, and with the list too where that is asked for.
    fn run(&self, words: &[&str], with_list: bool) -> Result<Output, Box<dyn Error>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
        command.args(words).arg("--input").arg(&self.pasted);
        if with_list {
            command.arg("--input").arg(&self.listed);
        }
        Ok(command.env("COLUMNS", "120").output()?)
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_view_says_first_what_the_texts_do_not() -> Done {
    let text = stdout(&Texts::written()?.run(&["topo"], false)?);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "(host name not known): ? packages, 2 NUMA nodes, ? cores, 8 PUs, 2 GPUs");
    assert!(lines[1].starts_with("read from what lscpu, nvidia-smi topo -m printed, in "), "{text}");
    assert!(
        lines[2].starts_with("not said there: which PUs share a core, which PUs are in a package"),
        "{text}"
    );
    assert!(text.contains("GPU 1: nvidia-smi topo -m says CPUs 2-3,6-7, NUMA node 1"), "{text}");
    assert!(text.contains("  0  unknown-0    NVIDIA, model ?  0     driver"), "{text}");
    Ok(())
}

#[test]
fn the_matrix_and_the_picture_are_those_of_the_texts() -> Done {
    let texts = Texts::written()?;
    let matrix = stdout(&texts.run(&["topo", "--matrix"], false)?);
    assert!(matrix.contains("GPU0  X     NV12  PXB   0-1,4-5       0              N/A"), "{matrix}");
    assert!(matrix.contains("NIC0:  mlx5_0  unknown-2"), "{matrix}");
    let picture = stdout(&texts.run(&["topo", "--svg", "-"], false)?);
    assert!(picture.contains("<svg") && picture.contains("GPU 1"), "no picture: {picture:.200}");
    Ok(())
}

#[test]
fn without_cores_nothing_is_placed_and_no_line_is_judged() -> Done {
    let texts = Texts::written()?;
    let line = "srun -n2 --cpu-bind=map_cpu:0,2 --gpus-per-node=2 --gpu-bind=none ./a";
    for words in [&["place"][..], &["check", "--launch", line]] {
        let output = texts.run(words, false)?;
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{why}");
        assert!(
            why.contains("do not say which PUs share a core: give the output of lscpu -e or lstopo too"),
            "{why}"
        );
    }
    Ok(())
}

#[test]
fn with_a_list_of_the_cores_ranks_are_placed_and_lines_judged() -> Done {
    let texts = Texts::written()?;
    let place = texts.run(&["place", "--emit", "taskset"], true)?;
    assert_eq!(stdout(&place).lines().count(), 2, "{}", stdout(&place));
    let judged = |cpus: &str| -> Result<Option<i32>, Box<dyn Error>> {
        let line = format!("srun -n2 --cpu-bind=map_cpu:{cpus} --gpus-per-node=2 --gpu-bind=map:0,1 ./a");
        Ok(texts.run(&["check", "--launch", &line], true)?.status.code())
    };
    assert_eq!(judged("0,2")?, Some(0), "each at its GPU");
    assert_eq!(judged("2,0")?, Some(5), "each at the other's");
    Ok(())
}

#[test]
fn topo_place_and_check_say_once_that_reserved_cores_are_listed_too() -> Done {
    let texts = Texts::written()?;
    let line = "srun -n2 --cpu-bind=map_cpu:0,2 --gpus-per-node=2 --gpu-bind=map:0,1 ./a";
    for words in [&["topo"][..], &["place"], &["check", "--launch", line]] {
        let output = texts.run(words, true)?;
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches("as reserved cores are listed too").count(), 1, "{words:?}: {text}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(!text.contains("can be used"), "{text}");
    }
    Ok(())
}

#[test]
fn the_tree_counts_no_cores_that_no_text_says() -> Done {
    let texts = Texts::written()?;
    let head = |with_list| -> Result<String, Box<dyn Error>> {
        let tree = String::from_utf8(texts.run(&["topo", "--tree"], with_list)?.stdout)?;
        Ok(tree.lines().find(|line| line.starts_with("machine")).ok_or("no tree")?.to_owned())
    };
    assert_eq!(head(false)?, "machine  ? cores, 8 PUs");
    assert_eq!(head(true)?, "machine  4 cores, 8 PUs");
    Ok(())
}

#[test]
fn standard_input_may_be_a_text_or_xml_as_a_file_may() -> Done {
    let texts = Texts::written()?;
    let xml = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/cpu-only.xml");
    for path in [texts.pasted.display().to_string(), xml.to_owned()] {
        let view = |input: &str, stdin: fs::File| -> Result<String, Box<dyn Error>> {
            let mut command = Command::new(env!("CARGO_BIN_EXE_numabench"));
            let output = command.args(["topo", "--numa", "--input", input]).stdin(stdin).output()?;
            assert!(output.status.success(), "{input}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8(output.stdout)?)
        };
        let by_name = view(&path, fs::File::open("/dev/null")?)?;
        assert_eq!(view("-", fs::File::open(&path)?)?, by_name.replace(&path, "-"), "{path}");
    }
    Ok(())
}
