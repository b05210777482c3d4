//! `cargo xtask dist`: release archives, packages and wheels for clusters, one for each architecture, made on
//! one Debian machine; nothing in them is newer than RHEL 8.
//!
//! ```text
//! tools ─► hwloc (static) ─► binary, plug-ins ─► tree ─► every ELF held against glibc 2.28 ─► .tar.xz, .deb, .rpm, wheel ─► SHA256SUMS
//! ```
//!
//! The binary is linked with glibc at run time, never statically: a static program cannot open a GPU driver.
//! zig has the symbols of every glibc, so `cargo zigbuild` links for one as old as is wanted, for both
//! architectures, without a container. hwloc is built in, because clusters have none or an old one. What the
//! archives promise (architecture, glibc, size, needed libraries) is read from the files themselves;
//! `--prove` runs them in the oldest system that can be had. Left out: musl, because a static program opens
//! no driver.

mod binary;
mod distro;
mod elf;
mod hwloc;
mod licences;
mod packages;
mod plugins;
mod prove;
mod sbom;
mod tools;
mod tree;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::listing::listed;
use crate::step;

/// The newest glibc that anything in an archive may ask for: RHEL 8's.
pub const GLIBC: (u32, u32) = (2, 28);
/// The largest binary, in bytes.
const LARGEST: u64 = 25_000_000;

/// One of the architectures that archives are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// LUMI, Leonardo, and most others.
    X86,
    /// GH200.
    Arm,
}

impl Arch {
    /// Both.
    pub const ALL: [Self; 2] = [Self::X86, Self::Arm];

    /// As the kernel and Rust name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    /// As Debian names it.
    pub fn debians(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }

    /// Rust's target.
    pub fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// Whether this machine runs it.
    pub fn is_here(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// Where Debian's cross packages put its libraries.
    pub fn libraries(self) -> PathBuf {
        PathBuf::from(format!("/usr/{}-linux-gnu", self.name()))
    }

    /// What runs a program of it here: nothing, or an emulator.
    pub fn runner(self) -> Option<String> {
        (!self.is_here()).then(|| format!("qemu-{}-static", self.name()))
    }
}

/// Where things lie.
pub struct Folders {
    /// The repository.
    pub root: PathBuf,
    /// target/dist.
    pub dist: PathBuf,
}

impl Folders {
    /// The archive's name, and that of the folder in it.
    pub fn name(arch: Arch) -> String {
        format!("numabench-{}-{}-linux-gnu", env!("CARGO_PKG_VERSION"), arch.name())
    }

    /// When the commit was made that is built, in seconds since 1970: what is packed has the same bytes,
    /// whoever packs it and when.
    pub fn epoch(&self) -> String {
        let epoch =
            step::told(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&self.root));
        epoch.ok().filter(|epoch| !epoch.is_empty()).unwrap_or_else(|| "0".into())
    }

    /// The tree that becomes an archive.
    pub fn tree(&self, arch: Arch) -> PathBuf {
        self.dist.join("tree").join(Self::name(arch))
    }
}

/// What was typed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    archs: Vec<Arch>,
    hwloc: Option<PathBuf>,
    no_plugins: bool,
    prove: bool,
}

fn options(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--arch" => {
                let name = words.next().context("--arch takes x86_64 or aarch64")?;
                let arch = Arch::ALL.into_iter().find(|arch| arch.name() == name);
                options
                    .archs
                    .push(arch.with_context(|| format!("--arch {name:?}; allowed: x86_64, aarch64"))?);
            }
            "--hwloc" => {
                options.hwloc = Some(words.next().context("--hwloc takes hwloc's source archive")?.into())
            }
            "--no-plugins" => options.no_plugins = true,
            "--prove" => options.prove = true,
            other => bail!(
                "unknown argument {other:?}; allowed: --arch x86_64|aarch64, --hwloc SOURCE.tar.*, \
                 --no-plugins, --prove"
            ),
        }
    }
    if options.archs.is_empty() {
        options.archs = Arch::ALL.to_vec();
    }
    Ok(options)
}

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = options(args)?;
    let folders = Folders { root: root.to_path_buf(), dist: root.join("target/dist") };
    std::fs::create_dir_all(&folders.dist)
        .with_context(|| format!("cannot make {}", folders.dist.display()))?;
    let tools = tools::ready(&folders, &options.archs)?;
    let source = hwloc::source(&folders, options.hwloc.as_deref())?;
    for &arch in &options.archs {
        let hwloc = hwloc::built(&folders, &tools, &source, arch)?;
        let built = binary::built(&folders, &tools, &hwloc, arch)?;
        let plugins = if options.no_plugins || arch != Arch::X86 {
            Vec::new()
        } else {
            plugins::built(&folders, &tools, arch)?
        };
        tree::laid_out(&folders, &source, arch, &built, &plugins)?;
        check(&folders.tree(arch), arch)?;
        pack(&folders, arch)?;
        distro::built(&folders, &tools, arch)?;
        wheel::built(&folders, &tools, arch)?;
        if options.prove {
            prove::run(&folders, arch)?;
            if arch.is_here() {
                wheel::prove(&folders, arch)?;
            }
        }
    }
    sums(&folders.dist)
}

/// Holds every ELF of the tree against what an archive promises, and prints what it found.
fn check(tree: &Path, arch: Arch) -> Result<()> {
    let mut wrong = Vec::new();
    println!("\n{:<44} {:>9}  {:<8} needs", "ELF", "bytes", "glibc");
    for path in tree::files(tree)? {
        let Some(elf) = elf::read(&path)? else { continue };
        let name = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
        let bytes = path.metadata().map(|meta| meta.len()).unwrap_or(0);
        let glibc = elf.glibc.map_or("none".to_owned(), |(major, minor)| format!("{major}.{minor}"));
        println!("{name:<44} {bytes:>9}  {glibc:<8} {}", elf.needed.join(" "));
        if elf.machine != arch.name() {
            wrong.push(format!("{name} is for {}, not for {}", elf.machine, arch.name()));
        }
        if elf.glibc > Some(GLIBC) {
            wrong.push(format!("{name} asks for glibc {glibc}, more than {}.{}", GLIBC.0, GLIBC.1));
        }
        if let Some(library) = elf
            .needed
            .iter()
            .find(|library| ["hwloc", "udev", "xml2", "pciaccess"].iter().any(|own| library.contains(own)))
        {
            wrong.push(format!("{name} needs {library}, which clusters may not have"));
        }
        if name == "bin/numabench" && bytes > LARGEST {
            wrong.push(format!("{name} has {bytes} bytes, more than {LARGEST}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("; ")) }
}

/// The archive and its symbols' archive.
fn pack(folders: &Folders, arch: Arch) -> Result<()> {
    let name = Folders::name(arch);
    for (archive, of) in
        [(format!("{name}.tar.xz"), name.clone()), (format!("{name}-debug.tar.xz"), format!("{name}-debug"))]
    {
        let mut tar = Command::new("tar");
        // The same bytes for the same files, whoever makes it.
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"]);
        tar.arg(format!("--mtime=@{}", folders.epoch())).args(["-C", "tree", "-cJf"]).arg(&archive).arg(of);
        step::run(tar.current_dir(&folders.dist))?;
        let bytes = folders.dist.join(&archive).metadata()?.len();
        println!("target/dist/{archive}: {:.1} MB", bytes as f64 / 1e6);
    }
    Ok(())
}

/// The sums of all that this version is given out as, in `SHA256SUMS`.
fn sums(dist: &Path) -> Result<()> {
    let names =
        listed(dist)?.into_iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let given: Vec<String> = names.filter(|name| is_given_out(name)).collect();
    let sums =
        Command::new("sha256sum").args(&given).current_dir(dist).output().context("cannot run sha256sum")?;
    if !sums.status.success() {
        bail!("sha256sum: {}", String::from_utf8_lossy(&sums.stderr));
    }
    print!("{}", String::from_utf8_lossy(&sums.stdout));
    let file = dist.join("SHA256SUMS");
    std::fs::write(&file, &sums.stdout).with_context(|| format!("cannot write {}", file.display()))
}

/// An archive, a package or a wheel of this version; what an earlier one left there is not.
fn is_given_out(name: &str) -> bool {
    let rest = name
        .strip_prefix("numabench")
        .and_then(|rest| rest[1.min(rest.len())..].strip_prefix(env!("CARGO_PKG_VERSION")));
    rest.is_some_and(|rest| {
        rest.starts_with('-') && [".tar.xz", ".deb", ".rpm", ".whl"].iter().any(|end| rest.ends_with(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Result<Options> {
        options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_both_architectures_are_made_and_what_is_unknown_is_named() -> Result<()> {
        assert_eq!(typed(&[])?.archs, Arch::ALL);
        assert_eq!(
            typed(&["--arch", "aarch64", "--prove"])?,
            Options { archs: vec![Arch::Arm], prove: true, ..Options::default() }
        );
        for (words, named) in
            [(&["--arch", "riscv64"][..], "riscv64"), (&["--musl"], "--musl"), (&["--hwloc"], "--hwloc")]
        {
            let error = typed(words).expect_err("unknown").to_string();
            assert!(error.contains(named), "{error}");
        }
        Ok(())
    }

    #[test]
    fn sums_are_made_of_what_this_version_is_given_out_as_and_of_nothing_else() {
        let version = env!("CARGO_PKG_VERSION");
        for end in [
            "-x86_64-linux-gnu.tar.xz",
            "-1_amd64.deb",
            "-1.x86_64.rpm",
            "-py3-none-manylinux_2_28_x86_64.whl",
        ] {
            assert!(is_given_out(&format!("numabench-{version}{end}")), "{end}");
        }
        assert!(is_given_out(&format!("numabench_{version}-1_arm64.deb")));
        for other in ["numabench-0.0.1-x86_64-linux-gnu.tar.xz", "SHA256SUMS", "tools", "numabench"] {
            assert!(!is_given_out(other), "{other}");
        }
        assert!(!is_given_out(&format!("numabench-{version}-x86_64-linux-gnu.tar.xz.sha256")));
    }

    #[test]
    fn cargo_binstall_looks_for_the_archive_and_the_folder_that_are_made() -> Result<()> {
        let manifest = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .context("no root")?
                .join("crates/numabench/Cargo.toml"),
        )?;
        let table = manifest.split("[package.metadata.binstall]").nth(1).context("no table")?;
        for arch in Arch::ALL {
            let filled = table
                .replace("{ version }", env!("CARGO_PKG_VERSION"))
                .replace("{ target-arch }", arch.name());
            let name = Folders::name(arch);
            assert!(filled.contains(&format!("/v{}/{name}.tar.xz\"", env!("CARGO_PKG_VERSION"))), "{filled}");
            assert!(filled.contains(&format!("\"{name}/bin/{{ bin }}")), "{filled}");
        }
        Ok(())
    }

    #[test]
    fn a_tree_with_a_program_of_this_machine_is_refused_where_its_glibc_or_architecture_is_another()
    -> Result<()> {
        let tree = tempfile::tempdir()?;
        std::fs::create_dir(tree.path().join("bin"))?;
        std::fs::copy(std::env::current_exe()?, tree.path().join("bin/other"))?;
        let other =
            Arch::ALL.into_iter().find(|arch| !arch.is_here()).context("one is not this machine's")?;
        let error = check(tree.path(), other).expect_err("of another machine").to_string();
        assert!(error.contains(std::env::consts::ARCH) && error.contains(other.name()), "{error}");
        Ok(())
    }
}
