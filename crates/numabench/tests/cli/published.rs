//! The published table of kernels from a near and a far NUMA node (SHOC on two nodes at 5.5 and 4.3 GB/s), on
//! a stand-in with its rates: losses are ordered as published, and each is what the share of transfers
//! predicts.

use std::collections::BTreeMap;
use std::process::Command;

use device::RoundStep;
use kernels::{By, Kernel, ProblemSize};

use crate::driver::{Driver, stand_in};
use crate::kinds;
use crate::processors::allowed;
use crate::proof::{self, list, number};
use crate::run::{BINARY, Done, Ended, skipped, variables};

const NEAR: f64 = 5.5;
const FAR: f64 = 4.3;
/// What the bandwidths leave to lose: a kernel of nothing but transfers loses 27.9 %, and stencil and scan
/// are published with more.
const MOST: f64 = NEAR / FAR - 1.0;
/// The published losses, less a quarter each, so that all of them are possible at these bandwidths.
const LOSSES: [(Kernel, f64); 8] = [
    (Kernel::Stencil, 0.75 * 0.36),
    (Kernel::Scan, 0.75 * 0.31),
    (Kernel::Fft, 0.75 * 0.12),
    (Kernel::Reduction, 0.75 * 0.119),
    (Kernel::Md, 0.75 * 0.09),
    (Kernel::Sort, 0.75 * 0.089),
    (Kernel::Dgemm, 0.75 * 0.04),
    (Kernel::Sgemm, 0.75 * 0.03),
];
/// Small, so that the stand-in computes it quickly; and in one part, so that nothing overlaps.
const SIZE: ProblemSize = ProblemSize::Bytes(1 << 20);

/// How long a block of each of a kernel's functions takes, so that its share of transfers gives this loss.
fn described((kernel, loss): (Kernel, f64)) -> String {
    let problem = kernel.problem(By::Gpu, SIZE);
    let layout = problem.layout();
    let copies_ns = (layout.input + layout.output) as f64 / NEAR;
    let run_ns = copies_ns * (MOST / loss - 1.0);
    let mut blocks: BTreeMap<usize, u32> = BTreeMap::new();
    for step in problem.launches() {
        if let RoundStep::Launch { kernel, blocks: more, .. } = step {
            *blocks.entry(kernel).or_default() += more;
        }
    }
    // The function with the most blocks takes all of it.
    let (function, blocks) = blocks.into_iter().max_by_key(|(_, blocks)| *blocks).unwrap_or((0, 1));
    let name = problem.program().kernels[function].to_string_lossy();
    format!("kernel {name} {:.3}ns", run_ns / f64::from(blocks))
}

#[test]
fn losses_are_ordered_as_published_and_each_is_within_three_points_of_share_times_loss() -> Done {
    let pus: Vec<u32> = allowed()?.iter().collect();
    let [near, .., far] = pus[..] else {
        skipped("kernels from two cores: there is only one PU here");
        return Ok(());
    };
    let Some(kind) = kinds::tried().into_iter().find(|kind| kind.name == "cuda") else { return Ok(()) };
    let functions: Vec<String> = LOSSES.into_iter().map(described).collect();
    // The first PU stands for the GPU's node, the last one for another, whose copies pass a slower link.
    let devices = format!(
        "node 6 {near}; node 7 {far}; link far {FAR}GB/s; device 0000:05:00.0; host-node 6; h2d {NEAR}GB/s \
         10ns; d2h {NEAR}GB/s 10ns; over far 1 remote; {}",
        functions.join("; ")
    );
    let mut command = Command::new("taskset");
    command.args(["-c", &format!("{near},{far}"), "env", &format!("LD_PRELOAD={}", kind.library()?), BINARY]);
    command.args([
        "kernels",
        "--backend",
        "cuda",
        "--gpus",
        "0",
        "--rows",
        "core",
        "--size",
        "1MiB",
        "--reps",
        "2",
        "--no-verify",
    ]);
    let names: Vec<&str> = LOSSES.iter().map(|(kernel, _)| kernel.name()).collect();
    command.args(["--kernels", &names.join(","), "--json", "-"]).envs(variables(&stand_in(Driver::Cuda)?));
    command.envs([("FAKE_DEVICES", &devices[..]), ("FAKE_PUS", "seen")]);
    let document = proof::document(&Ended::of(&command.output()?))?;
    assert_eq!(document["status"], "complete", "{}", document["status_reason"]);
    if list(&document, "/matrices/0/rows").len() < 2 {
        skipped("kernels from two cores: the PUs here are one core's");
        return Ok(());
    }
    let mut last = f64::INFINITY;
    for (kernel, (expected, published)) in list(&document, "/kernels").iter().zip(LOSSES) {
        assert_eq!(kernel["name"], expected.name());
        let float =
            |pointer: &str| kernel.pointer(pointer).and_then(serde_json::Value::as_f64).ok_or("no figure");
        let (loss, predicted) = (float("/losses/0/loss")?, float("/losses/0/predicted_loss")?);
        let share = float("/places/0/transfer_share")?;
        assert!(loss < last, "{expected}: {loss} after {last}");
        assert!((loss - share * MOST).abs() < 0.03, "{expected}: {loss}, share {share}");
        assert!((loss - predicted).abs() < 0.03, "{expected}: {loss}, predicted {predicted}");
        assert!((loss - published).abs() < 0.03, "{expected}: {loss}, asked for {published}");
        last = loss;
    }
    assert_eq!(number(&document, "/exit_code"), 0);
    Ok(())
}
