//! hwloc to build in: its source as this machine's distribution has it, compiled once for each architecture.
//!
//! The source is that of the hwloc the tests here have run with, from apt (whose signatures vouch for it), in
//! a list and a state of our own: neither root nor a deb-src line is needed. Built without libxml2 (hwloc's
//! own parser reads what hwloc wrote), libudev (it tells only of disks), libpciaccess (Linux itself lists PCI
//! devices; the names of `pci.ids` are lost) and without anything that starts a GPU runtime.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tools::Tools;
use super::{Arch, Folders, GLIBC};
use crate::step;

/// Options of hwloc's configure beside those of the architecture.
const OPTIONS: [&str; 14] = [
    "--enable-static",
    "--disable-shared",
    "--disable-cairo",
    "--disable-libxml2",
    "--disable-opencl",
    "--disable-cuda",
    "--disable-nvml",
    "--disable-rsmi",
    "--disable-levelzero",
    "--disable-gl",
    "--disable-libudev",
    "--disable-plugins",
    "--disable-doxygen",
    "--without-x",
];

/// The unpacked source, as named or as apt has it.
pub fn source(folders: &Folders, named: Option<&Path>) -> Result<PathBuf> {
    let archive = match named {
        Some(file) => std::path::absolute(file)?,
        None => from_apt(&folders.dist.join("source"))?,
    };
    let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unpacked = folders.dist.join("source").join(name.split(".tar").next().unwrap_or(&name));
    if !unpacked.join("configure").is_file() {
        std::fs::create_dir_all(&unpacked).with_context(|| format!("cannot make {}", unpacked.display()))?;
        let mut tar = Command::new("tar");
        step::run(tar.arg("-xf").arg(&archive).arg("-C").arg(&unpacked).arg("--strip-components=1"))?;
    }
    Ok(unpacked)
}

/// Fetches the source archive of this machine's libhwloc-dev into `folder`.
fn from_apt(folder: &Path) -> Result<PathBuf> {
    if let Some(archive) = archive_in(folder) {
        return Ok(archive);
    }
    let targets = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)",
            "Created-By: Packages",
        ])
        .output()
        .context("no apt-get here: give hwloc's source archive with --hwloc")?;
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let lines = sources(&String::from_utf8_lossy(&targets.stdout), Path::new(keys).exists().then_some(keys));
    if lines.is_empty() {
        bail!("apt knows no repository of Debian's or Ubuntu's: give hwloc's source archive with --hwloc");
    }
    let state = folder.join("apt/lists");
    std::fs::create_dir_all(state.join("partial"))
        .with_context(|| format!("cannot make {}", state.display()))?;
    let list = folder.join("apt/sources.list");
    std::fs::write(&list, lines).with_context(|| format!("cannot write {}", list.display()))?;
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        for (option, path) in [("Dir::Etc::sourcelist", &list), ("Dir::State::lists", &state)] {
            apt.arg("-o").arg(format!("{option}={}", path.display()));
        }
        apt.args(["-o", "Dir::Etc::sourceparts=/dev/null", "-qq"]).args(words).current_dir(folder);
        step::run(&mut apt)
    };
    apt(&["update"])?;
    apt(&["source", "--download-only", "hwloc"])?;
    archive_in(folder).with_context(|| format!("apt left no hwloc_*.orig.tar.* in {}", folder.display()))
}

fn archive_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries
        .filter(|path| {
            path.to_string_lossy().contains("hwloc_") && path.to_string_lossy().contains(".orig.tar.")
        })
        .max()
}

/// deb-src lines of the distribution's own repositories, from apt's own list.
fn sources(targets: &str, keys: Option<&str>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for target in targets.lines() {
        let words: Vec<&str> = target.split_whitespace().collect();
        if let [uri, release, "main", "Debian" | "Ubuntu"] = words[..] {
            let option = keys.map_or(String::new(), |keys| format!("[signed-by={keys}] "));
            lines.push(format!("deb-src {option}{uri} {release} main\n"));
        }
    }
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// Compiles it for this architecture; the folder that pkg-config is to look in.
pub fn built(folders: &Folders, tools: &Tools, source: &Path, arch: Arch) -> Result<PathBuf> {
    // Another folder for other options: cargo compiles what is linked with it again when the path is new, and
    // for nothing else.
    let mut options = DefaultHasher::new();
    OPTIONS.hash(&mut options);
    let prefix = folders.dist.join("hwloc").join(format!("{}-{:016x}", arch.name(), options.finish()));
    let pkg_config = prefix.join("lib/pkgconfig");
    if pkg_config.join("hwloc.pc").is_file() {
        return Ok(pkg_config);
    }
    let build = folders.dist.join("build-hwloc").join(arch.name());
    std::fs::create_dir_all(&build).with_context(|| format!("cannot make {}", build.display()))?;
    let zig = |word: &str| format!("{} -m ziglang {word}", tools.bin.join("python3").display());
    let mut configure = Command::new(source.join("configure"));
    configure
        .arg(format!("--prefix={}", prefix.display()))
        .arg(format!("--host={}-linux-gnu", arch.name()))
        .args(OPTIONS);
    configure.env("CC", zig(&format!("cc -target {}-linux-gnu.{}.{}", arch.name(), GLIBC.0, GLIBC.1)));
    configure.env("AR", zig("ar")).env("RANLIB", zig("ranlib")).env("CFLAGS", "-O2 -g0");
    // libpciaccess, if this machine has it, clusters may not have.
    configure.env("PKG_CONFIG_LIBDIR", &build).env_remove("PKG_CONFIG_PATH");
    step::run(configure.arg("--quiet").current_dir(&build))?;
    sees_devices(&build)?;
    for part in ["include", "hwloc"] {
        let mut make = Command::new("make");
        step::run(make.args(["-s", "-j4", "-C", part, "install"]).current_dir(&build))?;
    }
    // Last: it says that the rest is there. hwloc's own makefile would build all of its programs first.
    std::fs::create_dir_all(&pkg_config).with_context(|| format!("cannot make {}", pkg_config.display()))?;
    std::fs::copy(build.join("hwloc.pc"), pkg_config.join("hwloc.pc"))
        .context("hwloc's configure left no hwloc.pc")?;
    Ok(pkg_config)
}

/// Whether it reads PCI devices from /sys: without that a node has no GPU.
fn sees_devices(build: &Path) -> Result<()> {
    let config = build.join("include/private/autogen/config.h");
    let text =
        std::fs::read_to_string(&config).with_context(|| format!("cannot read {}", config.display()))?;
    for needed in ["HWLOC_HAVE_LINUXIO", "HWLOC_HAVE_LINUXPCI"] {
        if !text.lines().any(|line| line == format!("#define {needed} 1")) {
            bail!("hwloc was configured without {needed}: it would show no GPU");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_from_the_distributions_own_repositories_only() {
        let targets = "http://m/debian/ bookworm main Debian\nhttp://m/debian/ bookworm main Debian\n\
                       https://other/ nodistro main Node\nhttp://m/debian/ bookworm contrib Debian\n";
        assert_eq!(sources(targets, None), "deb-src http://m/debian/ bookworm main\n");
        assert_eq!(sources(targets, Some("/k")), "deb-src [signed-by=/k] http://m/debian/ bookworm main\n");
    }
}
