//! Unlike systems side by side (`report`): documents of stand-in GPUs whose rates are described.

use std::error::Error;
use std::path::Path;

use crate::driver::{self, Driver};
use crate::run::{Done, end, run, with_driver};

/// Writes the document of a command on these devices.
pub fn document(devices: &str, args: &[&str], file: &Path) -> Result<(), Box<dyn Error>> {
    let folder = driver::stand_in(Driver::Cuda)?;
    let told = [
        ("FAKE_DEVICES", format!("repeats skip; {devices}")),
        ("LD_PRELOAD", folder.join(Driver::Cuda.library()).display().to_string()),
    ];
    let file = file.display().to_string();
    end(with_driver(&folder).args(args).envs(told), ["--backend", "cuda", "--json", &file]).well();
    Ok(())
}

#[test]
fn unlike_systems_have_a_column_each_in_one_table_and_one_chart_and_no_verdict() -> Done {
    let folder = tempfile::tempdir()?;
    let [old, new, page] = ["old.json", "new.json", "page.html"].map(|name| folder.path().join(name));
    let matrix =
        ["matrix", "--size", "4MiB", "--memory", "pinned,pageable", "--direction", "h2d,d2h", "--reps", "6"];
    let gpu =
        |name: &str, rate: &str| format!("device 0000:05:00.0; name {name}; h2d {rate} 1us; d2h {rate} 1us");
    document(&gpu("Tesla K20Xm", "6GB/s"), &matrix, &old)?;
    document(&gpu("Tesla P100", "12GB/s"), &matrix, &new)?;
    let [old, new, page] = [&old, &new, &page].map(|file| file.display().to_string());

    let shown = run(&["report", &old, &new]).well().out;
    let said = "2 systems side by side: their GPU or CPU models differ, so there is no verdict.";
    assert!(shown.starts_with(said), "{shown}");
    assert!(shown.contains("THE DEVICES ARE SIMULATED"), "{shown}");
    insta::assert_snapshot!("two_systems", shown.split("\n\n").nth(1).ok_or("no table")?);
    run(&["report", &old, &new, "-o", &page]).well();
    let html = std::fs::read_to_string(&page)?;
    for words in [said, "H2D 4 MiB, pageable, by place and system", "GPU 0 from node 0, Tesla P100"] {
        assert!(html.contains(words), "{words}");
    }

    // One document named twice is one system, and counts once.
    let nodes = run(&["report", &old, &old]);
    assert!(nodes.code == Some(0) && !nodes.out.contains("systems side by side"), "{}", nodes.out);
    assert!(nodes.err.contains("which counts once"), "{}", nodes.err);
    Ok(())
}
