//! NVIDIA's management library costs time, so no view opens it that does not show what it says. A tripwire
//! lies in its place.
//!
//! On a machine with an NVIDIA GPU this holds the views themselves; elsewhere nothing would open it anyway,
//! and what is held is that it stays so. (That it is asked only where it was asked for is a test of `topo`,
//! with GPUs.)

use std::process::Command;

use crate::driver;
use crate::run::{Done, end, with_driver};

#[test]
fn no_view_that_does_not_need_it_opens_the_management_library() -> Done {
    let folder = tempfile::tempdir()?;
    let (tripped, library) = (folder.path().join("tripped"), driver::nvml_tripwire()?);
    // The wire works: whatever loads it leaves the file behind.
    let preload = library.join(driver::NVML);
    Command::new("true").env("LD_PRELOAD", &preload).env("TRIPWIRE", &tripped).status()?;
    assert!(tripped.exists(), "the tripwire itself");
    std::fs::remove_file(&tripped)?;

    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/");
    let file = [fixtures, "eight-gpus-nvswitch.xml"].concat();
    let file = file.as_str();
    for args in [
        &["topo"][..],
        &["topo", "--tree"],
        &["topo", "--numa"],
        &["topo", "--input", file],
        &["topo", "--input", file, "--matrix"],
        &["topo", "--input", file, "--identity"],
        &["topo", "--input", file, "--json"],
        &["pingpong", "--backend", "host", "--dry-run"],
    ] {
        end(with_driver(&library).env("TRIPWIRE", &tripped), args).well();
        assert!(!tripped.exists(), "{args:?} opened {}", driver::NVML);
    }
    Ok(())
}

#[test]
fn the_visible_devices_variables_of_the_process_are_shown_and_kept_in_what_it_saves() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("node.xml").display().to_string();
    let variables = [("CUDA_VISIBLE_DEVICES", "1,0"), ("ROCR_VISIBLE_DEVICES", "2")];
    let shown =
        |args: &[&str]| end(with_driver(&crate::run::no_driver()).envs(variables), args).well().json();
    let mut saved = shown(&["topo", "--json", "--save", &path])?;
    let mut read = crate::run::run(&["topo", "--json", "--input", &path]).well().json()?;
    // Settings are what `doctor` saw when the file was saved, and no part of the live model.
    for of in ["source", "settings"] {
        saved[of].take();
        read[of].take();
    }
    assert_eq!(saved, read);
    // Which GPU a value means depends on the GPUs that are there; that the value itself is kept does not.
    let file = std::fs::read_to_string(&path)?;
    let nvidia =
        saved["gpus"].as_array().is_some_and(|gpus| gpus.iter().any(|gpu| gpu["vendor_id"] == 0x10de));
    assert_eq!(
        saved["visibility"].as_array().is_some_and(|all| all.iter().any(|one| one["runtime"] == "cuda")),
        nvidia
    );
    for (name, value) in variables {
        assert!(file.contains(&format!("name=\"numabench:env:{name}\" value=\"{value}\"")), "{name}");
    }
    Ok(())
}
