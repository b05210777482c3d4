//! `cargo xtask bindings`: HIP's declarations in Rust, from ROCm's own headers.
//!
//! The result is committed, so that no build needs ROCm, clang or bindgen. bindgen is called as a program
//! (`cargo install bindgen-cli`) instead of as a library, so that xtask itself stays small. Only what
//! `backend-hip` calls is taken over; enums become integers, because a value that the header does not know
//! would be undefined behaviour as a Rust enum; the functions are declared and never linked (`backend-hip`
//! finds each at run time).
//!
//! The committed ones are of the oldest header that is supported: what they hold is the same in ROCm 5.2, 6.4
//! and 7.2. The drivers of NVIDIA need none of this: cudarc has its types.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::need::{LIBCLANG, Probe, present};
use crate::{package_manager, step};

/// Where the bindings lie in the repository.
const PATH: &str = "crates/backend-hip/src/bindings.rs";
/// The version that the committed bindings were made with: another one may write other text.
const BINDGEN: &str = "0.73";
const HEADER: &str = "hip/hip_runtime_api.h";
/// Declares the compiler at run time.
const COMPILER_HEADER: &str = "hip/hiprtc.h";

/// The functions of HIP that numabench calls.
const FUNCTIONS: &[&str] = &[
    "hipInit",
    "hipGetErrorName",
    "hipGetErrorString",
    "hipDriverGetVersion",
    "hipGetDeviceCount",
    "hipDeviceGet",
    "hipDeviceGetName",
    "hipDeviceGetPCIBusId",
    "hipDeviceGetUuid",
    "hipDeviceTotalMem",
    "hipDeviceGetAttribute",
    "hipSetDevice",
    "hipMemGetInfo",
    "hipMalloc",
    "hipExtMallocWithFlags",
    "hipFree",
    "hipHostMalloc",
    "hipHostFree",
    "hipHostRegister",
    "hipHostUnregister",
    "hipMemcpyHtoD",
    "hipMemcpyDtoH",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemcpyPeerAsync",
    "hipDeviceCanAccessPeer",
    "hipDeviceEnablePeerAccess",
    "hipStreamCreateWithFlags",
    "hipStreamDestroy",
    "hipStreamSynchronize",
    "hipStreamQuery",
    "hipStreamWaitEvent",
    "hipStreamWaitValue32",
    "hipEventCreateWithFlags",
    "hipEventDestroy",
    "hipEventRecord",
    "hipEventQuery",
    "hipEventElapsedTime",
    "hipGetDevice",
    "hipHostGetDevicePointer",
    "hipModuleLoadData",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipModuleUnload",
    "hiprtcCreateProgram",
    "hiprtcCompileProgram",
    "hiprtcGetCodeSize",
    "hiprtcGetCode",
    "hiprtcGetProgramLogSize",
    "hiprtcGetProgramLog",
    "hiprtcDestroyProgram",
    "hiprtcGetErrorString",
];

/// The macros that are flags of those.
const FLAGS: &[&str] = &[
    "hipEventDefault",
    "hipHostMallocNumaUser",
    "hipHostMallocPortable",
    "hipHostRegisterPortable",
    "hipMallocSignalMemory",
    "hipStreamNonBlocking",
    "hipStreamWaitValueGte",
];

/// The values of enumerations that numabench knows: bindgen writes all of a header's, two hundred.
const VALUES: &[&str] = &[
    "hipError_t_hipErrorOutOfMemory",
    "hipError_t_hipErrorOperatingSystem",
    "hipError_t_hipErrorPeerAccessAlreadyEnabled",
    "hipError_t_hipErrorNotSupported",
    "hipError_t_hipErrorUnknown",
    "hipDeviceAttribute_t_hipDeviceAttributeConcurrentManagedAccess",
    "hipDeviceAttribute_t_hipDeviceAttributeIntegrated",
    "hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccess",
    "hipDeviceAttribute_t_hipDeviceAttributeCanUseStreamWaitValue",
];

const DOC: &str = "\
//! HIP's declarations, from ROCm's `hip/hip_runtime_api.h` and `hip/hiprtc.h` by `cargo xtask bindings`: do
//! not edit. The functions are never linked.
";

/// Runs the command: without an argument the header is looked for, with `--include FOLDER` it is that
/// folder's.
///
/// # Errors
/// bindgen, clang or the header is missing: the error says how to get it. Or bindgen fails.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let include = match args {
        [] => include_folder(std::env::var_os("ROCM_PATH").map(PathBuf::from))?,
        [include, folder] if include == "--include" => PathBuf::from(folder),
        other => bail!("unknown arguments {:?}; allowed: --include FOLDER", other.join(" ")),
    };
    if !present(Probe::Libclang) {
        bail!("bindgen needs clang's library. {}", package_manager::by_hand(&[LIBCLANG]));
    }
    let version = step::told(Command::new("bindgen").arg("--version")).unwrap_or_default();
    if !is_ours(&version) {
        let found = if version.is_empty() {
            "no bindgen is on the PATH".to_owned()
        } else {
            format!("this is {version}")
        };
        bail!("{found}; install the one that is used here: cargo install --locked bindgen-cli@{BINDGEN}");
    }
    let out = root.join(PATH);
    step::run(&mut bindgen(&include, &out))?;
    let text = std::fs::read_to_string(&out).with_context(|| format!("cannot read {}", out.display()))?;
    std::fs::write(&out, format!("{DOC}\n{}", without_other_values(&text)))
        .with_context(|| format!("cannot write {}", out.display()))?;
    println!("wrote {PATH}");
    Ok(())
}

fn bindgen(include: &Path, out: &Path) -> Command {
    let mut bindgen = Command::new("bindgen");
    bindgen.arg(include.join(HEADER)).arg("--output").arg(out);
    bindgen.args([
        "--default-enum-style",
        "consts",
        "--no-doc-comments",
        "--disable-header-comment",
        "--use-core",
    ]);
    bindgen.args(["--rust-edition", "2024", "--rust-target", "1.85"]);
    for name in FUNCTIONS {
        bindgen.args(["--allowlist-function", name]);
    }
    for name in FLAGS {
        bindgen.args(["--allowlist-var", name]);
    }
    bindgen.arg("--").arg("-I").arg(include).arg("-D__HIP_PLATFORM_AMD__");
    bindgen.arg("-include").arg(include.join(COMPILER_HEADER));
    bindgen
}

/// The bindings without the values of enumerations that nobody here knows.
fn without_other_values(bindings: &str) -> String {
    let mut is_left_out = false;
    let is_kept = |line: &&str| {
        if let Some((name, _)) = line.strip_prefix("pub const ").and_then(|value| value.split_once(':')) {
            is_left_out = !FLAGS.contains(&name) && !VALUES.contains(&name);
        }
        let is_kept = !is_left_out;
        // A value may go on in the next line.
        is_left_out &= !line.ends_with(';');
        is_kept
    };
    bindings.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

/// The folder that has the header: of the ROCm that is told, of a usual place, or the system's own.
fn include_folder(told: Option<PathBuf>) -> Result<PathBuf> {
    let usual = [told.unwrap_or_else(|| "/opt/rocm".into()).join("include"), "/usr/include".into()];
    let found = usual.iter().find(|folder| folder.join(HEADER).is_file()).cloned();
    found.with_context(|| {
        let looked: Vec<_> = usual.iter().map(|folder| folder.display().to_string()).collect();
        format!(
            "no {HEADER} in {}: install ROCm's HIP headers (Debian: libamdhip64-dev), or name their folder \
             with --include or their ROCm with ROCM_PATH",
            looked.join(" or ")
        )
    })
}

/// Whether this is what our bindgen says of itself: `bindgen 0.73.1`.
fn is_ours(version: &str) -> bool {
    version.strip_prefix("bindgen ").is_some_and(|number| number.starts_with(&format!("{BINDGEN}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_bindgen_is_not_taken_for_ours() {
        assert!(is_ours("bindgen 0.73.0") && is_ours("bindgen 0.73.12"));
        for other in ["", "bindgen 0.60.1", "bindgen 0.730.0", "0.73.0"] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn a_header_is_found_in_the_rocm_that_is_told_and_a_missing_one_says_how_to_get_it() -> Result<()> {
        let rocm = tempfile::tempdir()?;
        let include = rocm.path().join("include");
        std::fs::create_dir_all(include.join("hip"))?;
        std::fs::write(include.join(HEADER), "")?;
        assert_eq!(include_folder(Some(rocm.path().into()))?, include);
        Ok(())
    }

    #[test]
    fn values_that_nobody_knows_are_left_out_with_their_second_lines() {
        let known = format!("pub const {}:\n    hipError_t = 2;\n", VALUES[0]);
        let other = "pub const hipError_t_hipErrorOther: hipError_t = 3;\n\
            pub const hipError_t_hipErrorLong:\n    hipError_t = 4;\n";
        let rest = "pub type hipError_t = u32;\n";
        assert_eq!(without_other_values(&[other, &known, other, rest].concat()), [&known, rest].concat());
    }

    #[test]
    fn the_committed_bindings_hold_every_function_and_flag() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
        let text = std::fs::read_to_string(root.join(PATH))?;
        for function in FUNCTIONS {
            assert!(text.contains(&format!("pub fn {function}(")), "{function}");
        }
        for value in FLAGS.iter().chain(VALUES) {
            assert!(text.contains(&format!("pub const {value}:")), "{value}");
        }
        assert_eq!(
            text.matches("pub const ").count(),
            FLAGS.len() + VALUES.len(),
            "values that nobody knows"
        );
        assert!(text.starts_with(DOC) && !text.contains("enum "), "Rust enums, or no module doc");
        Ok(())
    }
}
