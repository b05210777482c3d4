//! Each GPU in the jobs of a shared queue against the node alone (`compare --by gpu`).

use crate::proof::{list, text};
use crate::run::{Done, run};
use crate::systems::document;

/// Two GPUs, one of which a shared queue gives far cores.
fn two(second: &str) -> String {
    format!(
        "device 0000:05:00.0; h2d 10GB/s 1us; d2h 8GB/s 1us; device 0000:c1:00.0; h2d {second} 1us; d2h 8GB/s 1us"
    )
}

#[test]
fn the_jobs_of_a_shared_queue_are_compared_with_the_node_alone_gpu_by_gpu() -> Done {
    let folder = tempfile::tempdir()?;
    let [exclusive, shared] = ["exclusive.json", "shared"].map(|name| folder.path().join(name));
    std::fs::create_dir(&shared)?;
    let ping = ["pingpong", "--size", "4MiB", "--direction", "h2d,d2h", "--reps", "20"];
    document(&two("10GB/s"), &[&ping[..], &["--order", "alone"]].concat(), &exclusive)?;
    let job = |gpu: &str, pu: &str, file: &str, devices: &str| {
        document(devices, &[&ping[..], &["--gpus", gpu, "--cpus", pu]].concat(), &shared.join(file))
    };
    job("0", "1", "0.json", &two("10GB/s"))?;
    job("1", "0", "1.json", &two("10GB/s"))?;
    let [exclusive, queue] = [&exclusive, &shared].map(|path| path.display().to_string());

    run(&["compare", &exclusive, &queue]).refused(2, &["no case in common"]);
    let same = run(&["compare", &exclusive, &queue, "--by", "gpu"]);
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
    assert!(same.out.contains("SAME: 4 of 4 cases"), "{}", same.out);
    assert!(same.out.contains("rank of 0000:c1:00.0"), "the cores that differ are named: {}", same.out);

    job("1", "0", "1.json", &two("6GB/s"))?;
    let lost = run(&["compare", &exclusive, &queue, "--by", "gpu", "--json", "-"]);
    let document = lost.json()?;

    let worst = &list(&document, "/cases")[0];
    // One run a side suspects, and three find.
    assert_eq!((lost.code, text(worst, "/verdict")), (Some(6), "suspect"), "{worst:#}");
    assert_eq!(text(worst, "/place"), "0000:c1:00.0");
    Ok(())
}
