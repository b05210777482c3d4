//! GPUs of AMD, of other makers, and of two makers in one node.

use crate::node::{Node, folders};
use crate::{Case, Is, Outcome, tried};

/// A node with AMD GPUs.
fn amd(node: &mut Node) -> std::io::Result<()> {
    node.nvidia = None;
    node.survey.topology.gpus.iter_mut().for_each(|gpu| gpu.vendor_id = 0x1002);
    for at in [0, 2] {
        let device = folders(at).1;
        for (file, text) in [
            ("hwmon/hwmon3/power1_cap", "750000000\n"),
            ("hwmon/hwmon3/power1_cap_default", "750000000\n"),
            ("mem_info_vram_total", "137438953472\n"),
            ("mem_info_vis_vram_total", "137438953472\n"),
            ("current_compute_partition", "SPX\n"),
            ("current_memory_partition", "NPS1\n"),
        ] {
            node.file(&format!("{device}/{file}"), text)?;
        }
    }
    Ok(())
}

/// A node whose second GPU is AMD's, of which no file says anything.
fn mixed(node: &mut Node) -> std::io::Result<()> {
    node.survey.topology.gpus[1].vendor_id = 0x1002;
    let health = node.health();
    health.gpus.truncate(1);
    health.gpus[0].uncorrected = Some(3);
    health.gpus[0].power_mw = Some((350_000, 700_000));
    health.gpus[0].processes = Some(vec![4711]);
    Ok(())
}

/// An amd gpu is judged by its drivers files.
pub const AMD: &[Case] = &[
    ("gpu.power", Is::Well, "750 W", amd),
    ("gpu.power", Is::Odd, "GPU 1: 500 W of 750 W", |node| {
        amd(node)?;
        node.file(&format!("{}/hwmon/hwmon3/power1_cap", folders(2).1), "500000000\n")
    }),
    ("gpu.ecc", Is::Well, "no error", |node| {
        amd(node)?;
        node.file(&format!("{}/ras/umc_err_count", folders(0).1), "ue: 0\nce: 4\n")
    }),
    ("gpu.ecc", Is::Odd, "1 error of memory, not corrected, on GPU 0", |node| {
        amd(node)?;
        node.file(&format!("{}/ras/umc_err_count", folders(0).1), "ue: 1\nce: 4\n")
    }),
    ("gpu.mig", Is::Well, "SPX, NPS1", amd),
    ("pcie.bar", Is::Well, "whole memory", amd),
    ("pcie.bar", Is::Costly, "GPU 0: 256", |node| {
        amd(node)?;
        node.file(
            &format!("{}/resource", folders(0).1),
            "0x00000000e0000000 0x00000000efffffff 0x000000000014220c\n",
        )
    }),
    ("gpu.adapter-access", Is::Well, "AMD's driver", amd),
    ("gpu.processes", Is::Open, "/sys/class/kfd", amd),
    ("gpu.processes", Is::Well, "nobody computes on a GPU", |node| {
        amd(node)?;
        node.file("/sys/class/kfd/kfd/proc/4711/pasid", "1\n")
    }),
    // A partition is a function of its GPU.
    ("gpu.processes", Is::Costly, "GPU 0 (4711)", |node| {
        amd(node)?;
        let of_node = |file: &str| format!("/sys/class/kfd/kfd/topology/nodes/1/{file}");
        node.file(&of_node("properties"), "simd_count 440\nlocation_id 6145\ndomain 0\n")?;
        node.file(&of_node("gpu_id"), "7\n")?;
        node.file("/sys/class/kfd/kfd/proc/4711/queues/0/gpuid", "7\n")
    }),
    ("gpu.adapter-access", Is::Open, "GPU 0, GPU 1", |node| {
        node.nvidia = None;
        node.survey.topology.gpus.iter_mut().for_each(|gpu| gpu.vendor_id = 0x8086);
        Ok(())
    }),
    // One of each: what is asked of NVIDIA's is asked all the same.
    ("gpu.ecc", Is::Odd, "3 errors of memory, not corrected, on GPU 0", mixed),
    ("gpu.power", Is::Odd, "GPU 0: 350 W of 700 W", mixed),
    ("gpu.processes", Is::Costly, "GPU 0 (4711)", mixed),
    ("gpu.processes", Is::Open, "none", |node| {
        mixed(node)?;
        node.nvidia = Some(Err("none".to_owned()));
        node.file("/sys/class/kfd/kfd/proc/4711/pasid", "1\n")
    }),
    ("gpu.power", Is::Unknown, "none", |node| {
        amd(node)?;
        node.nvidia = Some(Err("none".to_owned()));
        Ok(())
    }),
    // A display of the CPU's maker beside NVIDIA's GPU.
    ("gpu.adapter-access", Is::Costly, "mlx5_0", |node| {
        node.survey.topology.gpus[1].vendor_id = 0x8086;
        crate::devices::closed_driver(node)
    }),
    ("gpu.confidential", Is::Gone, "", amd),
];

#[test]
fn an_amd_gpu_is_judged_by_its_drivers_files() -> Outcome {
    tried(AMD)
}
