//! The PTX of the kernels: made of their committed sources by NVIDIA's compiler at run time (`cargo xtask
//! kernels --nvrtc LIBRARY`), and committed beside them.
//!
//! The first line of each file has a hash of its source, so that `tidy` finds PTX that is of another one
//! without having the compiler. The compiler is that of the Python package `nvidia-cuda-nvrtc-cu12`, in its
//! oldest release (12.0.76): PTX of release N is loaded by drivers of N and later ones.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Those of the backends, sources with nothing before them: what every GPU runs, from the first capability on
/// that the compiler knows, and what has the tensor memory accelerator copy.
const OWN_FOLDER: &str = "crates/backend-gpu/src/gpu";
const OWN: [(&str, u32); 2] = [("own", 50), ("tma", 90)];
/// Those that compute.
const FOLDER: &str = "crates/kernels/src/gpu";
const COMMON: &str = "common.h";
/// Each source, and the least compute capabilities that it is compiled for.
const SOURCES: [(&str, &[u32]); 8] = [
    ("stream", &[70]),
    ("sort", &[70]),
    ("gemm", &[70, 80]),
    ("fft", &[70]),
    ("md", &[70]),
    ("jacobi", &[70]),
    ("pieces", &[70]),
    ("moving", &[70]),
];

/// A PTX file, the sources it is made of, and the capability.
pub struct Made {
    /// The file, from the root.
    pub file: PathBuf,
    sources: Vec<PathBuf>,
    /// The least compute capability that it is for.
    pub capability: u32,
}

/// All of them.
pub fn all() -> Vec<Made> {
    let made = |(source, capability): (&str, u32)| Made {
        file: Path::new(FOLDER).join(format!("{source}.{capability}.ptx")),
        sources: vec![Path::new(FOLDER).join(COMMON), Path::new(FOLDER).join(format!("{source}.cu"))],
        capability,
    };
    let folder = Path::new(OWN_FOLDER);
    let own = |(source, capability): (&str, u32)| Made {
        file: folder.join(format!("{source}.{capability}.ptx")),
        sources: vec![folder.join(format!("{source}.cu"))],
        capability,
    };
    let computing =
        SOURCES.iter().flat_map(|(source, least)| least.iter().map(move |least| made((source, *least))));
    OWN.into_iter().map(own).chain(computing).collect()
}

impl Made {
    /// The line that a file of the present source begins with, up to the compiler's name.
    ///
    /// # Errors
    /// A source cannot be read.
    pub fn first_line(&self, root: &Path) -> Result<String> {
        let mut all = Vec::new();
        for source in &self.sources {
            let path = root.join(source);
            all.extend(std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
        Ok(format!("// of source {:016x} for compute_{}, by ", hash(&all), self.capability))
    }

    fn make(&self, root: &Path, nvrtc: &str) -> Result<()> {
        let build =
            ["run", "--quiet", "--package", "numabench-backend-cuda", "--example", "nvrtc", "--", nvrtc];
        let mut compile = Command::new("cargo");
        compile.args(build).arg(format!("compute_{}", self.capability)).args(&self.sources).current_dir(root);
        let output = compile.output().context("cargo cannot be started")?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("{} cannot be compiled: {}", self.file.display(), said.trim());
        }
        let ptx = String::from_utf8(output.stdout).context("the PTX is no text")?;
        // The compiler's own first line is its name and version.
        let (by, ptx) = ptx.split_once('\n').context("there is no PTX")?;
        let mut text = format!("{}{}\n", self.first_line(root)?, by.trim_start_matches("// "));
        for line in ptx.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with("//"))
        {
            writeln!(text, "{line}")?;
        }
        let path = root.join(&self.file);
        std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}: {} bytes, {}", self.file.display(), text.len(), by.trim_start_matches("// "));
        Ok(())
    }
}

/// Makes all of them anew.
///
/// # Errors
/// There is no such compiler, or it refuses a source.
pub fn make(root: &Path, nvrtc: &str) -> Result<()> {
    all().iter().try_for_each(|made| made.make(root, nvrtc))
}

/// FNV-1a (Fowler, Noll and Vo) of 64 bits: enough to see that a text is another one.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_authors() {
        // From the test vectors of the authors' page.
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
