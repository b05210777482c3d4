//! Types of GPUs in srun's options: MIG instances, and models that this machine has not got.
//!
//! What a type is called is the site's (gres.conf(5), Type). `AutoDetect=nvml` calls MIG instances by their
//! profile (`a100_1g.5gb`) and takes a type for a part of the GPU's name.

use topo::Topology;

/// The types in an option's value: `a100` of `a100:4`, `gpu:a100:4` and `gres/gpu:a100=4`.
pub(super) fn types<'l>(option: &str, value: &'l str) -> impl Iterator<Item = &'l str> {
    let gpus = move |entry: &'l str| match option {
        "gpus-per-task" | "gpus-per-socket" | "gpus-per-node" | "G" | "gpus" => Some(entry),
        "gres" => entry.strip_prefix("gpu:"),
        "tres-per-task" => entry.strip_prefix("gres/gpu:"),
        _ => None,
    };
    let parts = value.split(',').filter_map(gpus).flat_map(|entry| entry.split([':', '=']));
    parts.filter(|part| !part.is_empty() && part.parse::<u64>().is_err())
}

/// Whether the type of a GPU is that of MIG instances: `1g.5gb`, `a100_3g.20gb`, `mig-1g`.
pub(super) fn is_mig(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_profile = |part: &str| {
        let halves =
            part.split_once("g.").and_then(|(slices, size)| Some((slices, size.strip_suffix("gb")?)));
        halves.is_some_and(|(slices, size)| is_number(slices) && is_number(size))
    };
    let name = name.to_ascii_lowercase();
    name.split(['_', '-', '+', ' ']).any(|part| part.starts_with("mig") || is_profile(part))
}

/// What to say of types with a model's number that is none of this machine's GPUs.
pub(super) fn other_models(topology: &Topology, types: &[&str]) -> Vec<String> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let names = topology.gpus.iter().map(|gpu| gpu.name.value.as_deref());
    let Some(names) = names.collect::<Option<Vec<&str>>>() else { return Vec::new() };
    let is_other = |name: &&&str| {
        name.bytes().any(|byte| byte.is_ascii_digit())
            && !is_mig(name)
            && !names.iter().any(|known| plain(known).contains(&plain(name)))
    };

    let first = names.first().copied().unwrap_or("no GPU");
    let note = |name: &&str| {
        format!(
            "the line asks for GPUs of type {name}, and this machine has {first}: where that type is another \
             model, Slurm starts the job on another node"
        )
    };
    types.iter().filter(is_other).map(note).collect()
}
