//! What an ELF file asks of the system that runs it: machine, the newest glibc symbol version, and the
//! libraries it names.
//!
//! Read from the file's own dynamic section and version needs (`.gnu.version_r`), not from a tool's output:
//! readelf of this machine need not know the other architecture. Left out: what a file opens by itself at run
//! time.

use std::path::Path;

use anyhow::{Context, Result};
use object::elf::{DT_NEEDED, EM_AARCH64, EM_X86_64, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, elf};

/// What one file asks for.
#[derive(Debug)]
pub struct Elf {
    /// As Rust names it.
    pub machine: &'static str,
    /// The newest `GLIBC_x.y` that it needs.
    pub glibc: Option<(u32, u32)>,
    /// The libraries that it names.
    pub needed: Vec<String>,
}

/// Reads the file; `None` where it is no ELF of 64 bits.
///
/// # Errors
/// It cannot be read, or is a broken ELF.
pub fn read(path: &Path) -> Result<Option<Elf>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !bytes.starts_with(&elf::ELFMAG) {
        return Ok(None);
    }
    parsed(&bytes).map(Some).with_context(|| format!("{} is a broken ELF", path.display()))
}

fn parsed(bytes: &[u8]) -> Result<Elf> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut needed = Vec::new();
    if let Some((entries, strings)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
            needed.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    let mut glibc = None;
    if let Some((mut files, strings)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        while let Some((_, mut versions)) = files.next()? {
            while let Some(version) = versions.next()? {
                let name = version.name(endian, strings)?;
                glibc = glibc.max(number(&String::from_utf8_lossy(name)));
            }
        }
    }
    let machine = match header.e_machine(endian) {
        EM_X86_64 => "x86_64",
        EM_AARCH64 => "aarch64",
        _ => "another machine",
    };
    Ok(Elf { machine, glibc, needed })
}

/// `GLIBC_2.28` as numbers; what is newer than any number (`GLIBC_ABI_DT_RELR`, `GLIBC_PRIVATE`) is the
/// newest.
fn number(version: &str) -> Option<(u32, u32)> {
    let number = version.strip_prefix("GLIBC_")?;
    let mut parts = number.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => Some((u32::MAX, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_this_machines_glibc_and_says_so() -> Result<()> {
        let elf = read(&std::env::current_exe()?)?.context("an ELF")?;
        assert_eq!(elf.machine, std::env::consts::ARCH);
        assert!(elf.glibc > Some((2, 0)), "{elf:?}");
        assert!(elf.needed.iter().any(|library| library.starts_with("libc.so")), "{elf:?}");
        assert!(read(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path())?.is_none());
        Ok(())
    }

    #[test]
    fn versions_are_numbers_and_what_is_none_is_newer_than_all() {
        assert!(number("GLIBC_2.9") < number("GLIBC_2.28") && number("GLIBC_2.28") < number("GLIBC_2.34"));
        assert!(
            number("GLIBC_2.2.5") < number("GLIBC_2.3") && number("GLIBC_2.36") < number("GLIBC_ABI_DT_RELR")
        );
        assert_eq!(number("GCC_3.0"), None);
    }
}
