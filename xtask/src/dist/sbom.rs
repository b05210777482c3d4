//! The bill of materials of an archive: CycloneDX 1.5, from cargo's own resolution, with hwloc beside the
//! crates.
//!
//! Each crate has its package URL, version, licence and, where the lock file has it, its checksum. No time
//! and no serial number stand in it, so that the same sources give the same file.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::Package;
use serde_json::{Value, json};

use crate::recipes::locked;

/// The document's text.
pub fn text(root: &Path, packages: &[Package], hwloc: &str) -> Result<String> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let sums = checksums(&lock);
    let mut components: Vec<Value> = packages
        .iter()
        .filter(|package| package.name != "numabench")
        .map(|package| component(package, &sums))
        .collect();
    components.push(json!({
        "type": "library", "name": "hwloc", "version": hwloc, "purl": format!("pkg:generic/hwloc@{hwloc}"),
        "licenses": [{"expression": "BSD-3-Clause"}],
    }));
    let version = env!("CARGO_PKG_VERSION");
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "name": "numabench", "version": version, "purl": format!("pkg:cargo/numabench@{version}"),
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components,
    });
    serde_json::to_string_pretty(&document).context("the bill of materials cannot be written")
}

fn component(package: &Package, sums: &HashMap<(String, String), String>) -> Value {
    let (name, version) = (package.name.to_string(), package.version.to_string());
    let mut component = json!({"type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}")});
    if let Some(licence) = &package.license {
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(sum) = sums.get(&(name, version)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let package = |package: &str| {
        let value = |key: &str| locked(package, key).map(str::to_owned);
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_is_a_component_with_its_sum_and_ours_have_none() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let packages = super::super::packages::all(root, &target)?;
        let document: Value = serde_json::from_str(&text(root, &packages, "2.9.0")?)?;
        let components = document["components"].as_array().context("components")?;
        assert_eq!(components.len(), packages.len(), "hwloc in the place of the program itself");
        let of = |name: &str| {
            components.iter().find(|component| component["name"] == name).cloned().unwrap_or_default()
        };
        assert_eq!(of("clap")["hashes"][0]["content"].as_str().map(str::len), Some(64));
        assert_eq!(of("hwloc")["version"], "2.9.0");
        assert!(of("numabench-topo")["hashes"].is_null() && of("numabench-topo")["licenses"].is_array());
        Ok(())
    }
}
