//! Lines as people paste them, on the small machine of `exec`'s tests.

use super::*;
use crate::written_machine::{address, machine};

type Placed = Vec<(String, Vec<u8>)>;

fn launched(line: &str) -> Result<Placed, String> {
    let read = read(line, &machine()).map_err(|error| error.to_string())?;
    let buses = |seen: &Seen| seen.running.gpus.devices.iter().flatten().filter_map(|one| Some(one.pci?.bus)).collect();
    Ok(read.ranks.iter().map(|seen| (seen.running.pus.clone().unwrap_or_default().to_string(), buses(seen))).collect())
}

fn placed(places: &[(&str, &[u8])]) -> Result<Placed, String> {
    let bus = |gpu: &u8| address(*gpu).bus;
    Ok(places.iter().map(|(pus, gpus)| ((*pus).to_owned(), gpus.iter().map(bus).collect())).collect())
}

#[test]
fn sruns_lists_give_each_rank_its_pus_and_gpus() {
    let two = placed(&[("4", &[0]), ("0", &[1])]);
    for line in [
        "srun -n2 --cpu-bind=map_cpu:4,0 --gpus-per-task=1 ./a.out --flag",
        "OMP_NUM_THREADS=1 srun -N 1 -n 2 --cpu-bind=verbose,mask_cpu:0x10,0x1 --gpus-per-task 1 ./a.out",
        "srun --ntasks=2 --cpu-bind map_cpu:4,0 --gpu-bind=map_gpu:0,1 a.out",
        "srun -n2 --exclusive --gpus-per-node=4 --gpu-bind=none --cpu-bind=map_cpu:4,0 sh -c 'export CUDA_DEVICE_ORDER=PCI_BUS_ID \
         CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; exec \"$@\"' sh a.out",
        "srun -n2 --cpu-bind=map_cpu:4,0 sh -c 'n=0; for g in 0 1; do [ $n = $SLURM_LOCALID ] && export CUDA_VISIBLE_DEVICES=$g; done' sh a",
    ] {
        assert_eq!(launched(line), two, "{line}");
    }
    let again = placed(&[("4", &[0]), ("0", &[0]), ("4", &[1]), ("0", &[1])]);
    assert_eq!(
        launched("srun -n4 --cpu-bind=map_cpu:4,0 sh -c 'CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID/2)) exec a'"),
        again
    );
}

#[test]
fn other_launchers_and_tools_are_read_by_their_own_words() {
    let both = placed(&[("4-5", &[0, 1, 2, 3]), ("0-1", &[0, 1, 2, 3])]);
    assert_eq!(launched("mpiexec -n 2 -bind-to user:4+5,0+1 ./a.out -n 7"), both);
    assert_eq!(launched("CUDA_VISIBLE_DEVICES=2 taskset -c 4-5 ./a.out"), placed(&[("4-5", &[2])]));
    let numactl = "env -u HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES=1 numactl --physcpubind=0-1 --membind=1 -- ./a.out";
    assert_eq!(launched(numactl), placed(&[("0-1", &[1])]));
    let unbound = launched("mpirun -np 1 --bind-to none --mca btl self ./a.out");
    assert_eq!(unbound, placed(&[("0-15", &[0, 1, 2, 3])]));
}

#[test]
fn a_wrapper_and_a_rankfile_are_read() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("place.sh");
    let text = "#!/bin/sh\ncase $rank in\n0)\n    pus=4\n    memory=1\n    export CUDA_VISIBLE_DEVICES=1\n    ;;\n1)\n    pus=0\n    memory=0\n    \
                export CUDA_VISIBLE_DEVICES=2\n    ;;\nesac\n";
    std::fs::write(&script, text)?;
    let line = format!("srun -n2 --cpu-bind=none {} ./a.out", script.display());
    assert_eq!(launched(&line), placed(&[("4", &[1]), ("0", &[2])]));
    let file = folder.path().join("ranks");
    std::fs::write(&file, "rank 0=n7 slot=4\nrank 1=n7 slot=0,1\n")?;
    let line = format!("mpirun -np 2 --mca rmaps_rank_file_physical 1 --rankfile {} ./a.out", file.display());
    assert_eq!(launched(&line), placed(&[("4", &[0, 1, 2, 3]), ("0-1", &[0, 1, 2, 3])]));
    Ok(())
}

#[test]
fn what_is_the_launchers_own_choice_is_not_guessed() {
    for (line, words) in [
        ("srun -n2 ./a.out", "default binding depends on the site"),
        ("srun -n2 --cpu-bind=cores ./a.out", "--cpu-bind=cores depends on the site"),
        ("srun -n2 --cpu-bind=none numabench exec -- a.out", "numabench place"),
        ("srun -n2 --cpu-bind=map_cpu:x ./a.out", "is not the number of a PU"),
        ("srun -n two --cpu-bind=none ./a.out", "whole number"),
        ("srun 'a", "quote"),
        ("", "no command"),
    ] {
        let refused = launched(line).err().unwrap_or_default();
        assert!(refused.contains(words), "{line}: {refused}");
    }
}
