//! The licences of everything that an archive holds: the texts themselves, as each crate and hwloc ship them.
//!
//! A crate that ships no text is named with what it declares; the texts of the two licences that most declare
//! are those of this repository. A crate that neither ships nor declares any is an error: it must not be
//! given on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::Package;

use crate::listing::listed;

/// Writes the table and the texts into `folder`.
pub fn write(folder: &Path, packages: &[Package], hwloc: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut table =
        String::from("What is in this program, and under which licence. The texts lie beside this file.\n\n");
    // One text under many names is most of them: it is kept once.
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for package in packages {
        let name = format!("{}-{}", package.name, package.version);
        let from = package
            .manifest_path
            .parent()
            .map(|folder| folder.as_std_path().to_path_buf())
            .unwrap_or_default();
        let files = texts_in(&from)?;
        let Some(declared) =
            package.license.clone().or_else(|| files.first().map(|_| "as its file says".into()))
        else {
            bail!("{name} declares no licence and ships none: it must not be given on");
        };
        let mut kept = Vec::new();
        for file in files {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let own = format!("{name}-{}", file.file_name().unwrap_or_default().to_string_lossy());
            kept.push(texts.entry(text).or_insert(own).clone());
        }
        let kept = if kept.is_empty() { "no text of its own".to_owned() } else { kept.join(", ") };
        table += &format!("{name}: {declared} ({kept})\n");
    }
    let copying = fs::read_to_string(hwloc.join("COPYING")).context("hwloc's source has no COPYING")?;
    texts.insert(copying, "hwloc-COPYING".into());
    table += "hwloc: BSD-3-Clause (hwloc-COPYING)\n";
    for (text, name) in &texts {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    fs::write(folder.join("LICENCES"), table).context("cannot write LICENCES")
}

/// The licence texts that lie in a crate's folder.
fn texts_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let marks = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
        path.is_file() && marks.iter().any(|mark| name.starts_with(mark)) && !name.ends_with(".RS")
    };
    Ok(listed(folder)?.into_iter().filter(is_text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_texts_are_known_by_their_names_and_code_is_none() -> Result<()> {
        let folder = tempfile::tempdir()?;
        for name in ["LICENSE-MIT", "Licence.txt", "COPYING", "license.rs", "README.md"] {
            fs::write(folder.path().join(name), "text")?;
        }
        let found = texts_in(folder.path())?;
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["COPYING", "LICENSE-MIT", "Licence.txt"]);
        Ok(())
    }
}
