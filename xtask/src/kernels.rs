//! `cargo xtask kernels`: the vendors' own compilers take the kernels for every architecture that numabench
//! runs on. No GPU is needed.
//!
//! CUDA's kernels are PTX text that the driver compiles, so NVIDIA's assembler (`ptxas`: the CUDA toolkit's,
//! or that of the Python package `nvidia-cuda-nvcc-cu12`) is the judge; HIP's are source text that ROCm's
//! compiler at run time takes (`libhiprtc`, or `libamdhip64` up to ROCm 6). What is committed is what runs;
//! all PTX but that of the kernel that spins, which HIP needs none of, is made of source (`programs`) when
//! `--nvrtc` names NVIDIA's compiler at run time. A compiler that this machine lacks is named, and with none
//! of them the command fails.

pub mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::step;

const SPIN: &str = "crates/backend-cuda/src/spin_kernel.ptx";
const SOURCE: &str = "crates/backend-gpu/src/gpu/own.cu";
/// From Maxwell to Blackwell; each assembler knows some of them.
const CUDA: [&str; 11] =
    ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "sm_121"];
/// MI50, MI100, MI200, MI300, MI350; each compiler knows some of them.
const HIP: [&str; 5] = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"];

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args {
        [] => {}
        [option, library] if option == "--nvrtc" => return programs::make(root, library),
        other => bail!("takes --nvrtc LIBRARY or nothing, but was given {:?}", other.join(" ")),
    }
    let found = [assembled(root)?, compiled(root)?];
    if found == [false, false] {
        bail!("this machine has neither ptxas (CUDA toolkit) nor ROCm's libhiprtc (Debian: libamdhip64-5)");
    }
    Ok(())
}

/// Whether there is an assembler for PTX; it took everything.
fn assembled(root: &Path) -> Result<bool> {
    if !step::succeeds(Command::new("ptxas").arg("--version")) {
        eprintln!("kernels: note: not assembled: there is no ptxas on the PATH");
        return Ok(false);
    }
    let own = [(PathBuf::from(SPIN), 0)].into_iter();
    let files = own.chain(programs::all().into_iter().map(|made| (made.file, made.capability)));
    for (file, least) in files {
        let (file, mut took) = (file.display(), Vec::new());
        let newer =
            |architecture: &&str| architecture[3..].parse().is_ok_and(|capability: u32| capability >= least);
        for architecture in CUDA.into_iter().filter(newer) {
            let mut ptxas = Command::new("ptxas");
            ptxas
                .args(["--gpu-name", architecture, "--output-file", "/dev/null"])
                .arg(root.join(file.to_string()));
            let output = ptxas.output()?;
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            match (output.status.success(), is_unknown(&said)) {
                (true, _) => took.push(architecture),
                (false, true) => eprintln!("kernels: note: this ptxas does not know {architecture}"),
                (false, false) => bail!("ptxas refuses {file} for {architecture}: {}", said.trim()),
            }
        }
        if took.is_empty() {
            bail!("this ptxas knows none of {}", CUDA.join(", "));
        }
        println!("{file}: assembled for {}", took.join(", "));
    }
    Ok(true)
}

/// Whether ptxas says that it has no such architecture.
fn is_unknown(said: &str) -> bool {
    said.contains("is not defined for option 'gpu-name'")
}

/// Whether there is ROCm's compiler; it took everything that it knows. A process for each architecture: ROCm
/// 5's dies at a name that it does not know.
fn compiled(root: &Path) -> Result<bool> {
    const EXAMPLE: &str = "hip_kernels";
    let build = ["build", "--quiet", "--package", "numabench-backend-hip", "--example", EXAMPLE];
    step::run(Command::new("cargo").args(build).current_dir(root))?;
    let mut took = 0;
    for architecture in HIP {
        let output =
            Command::new(root.join("target/debug/examples").join(EXAMPLE)).arg(architecture).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => {
                took += 1;
                println!("{SOURCE}: {}", said.trim());
            }
            Some(77) => {
                eprintln!("kernels: note: not compiled for HIP: {}", said.trim());
                return Ok(false);
            }
            None => eprintln!("kernels: note: this compiler does not know {architecture}: {}", output.status),
            Some(_) => bail!("ROCm's compiler refuses {SOURCE}: {}", said.trim()),
        }
    }
    if took == 0 {
        bail!("ROCm's compiler took {SOURCE} for none of {}", HIP.join(", "));
    }
    Ok(true)
}
