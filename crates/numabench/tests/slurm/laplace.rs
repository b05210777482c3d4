//! `numabench laplace` as tasks of a step over two nodes: halos between processes that see none of each
//! other's memory.

use serde_json::Value;

use crate::messages::two_hosts;
use crate::mpi::{self, step};
use crate::run::{BINARY, Done, skipped};
use crate::{driver, proof};

#[test]
fn ranks_of_two_nodes_send_each_other_halos_by_every_way_and_have_one_residual() -> Done {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(());
    }
    let Some(lab) = two_hosts()? else { return Ok(()) };
    let libraries = format!("LD_LIBRARY_PATH={}", driver::fake()?.display());
    let gpus = ["env", "FAKE_DEVICES=device 0000:05:00.0; device 0000:c1:00.0", &libraries[..]];
    for mpi in mpi::all() {
        let srun = ["-N2", "-n2", "-c1", mpi.option];
        let laplace = [BINARY, "laplace", "--grid", "61x67", "--max-time", "1s", "--json", "-"];
        let ended = step(&lab, Some(&mpi.plugin), &[&srun[..], &gpus, &laplace].concat());
        assert_eq!(ended.code, Some(0), "{}: {}{}", mpi.name, ended.out, ended.err);
        let document: Value = ended.json()?;
        proof::valid(&document)?;
        assert_eq!(document["status"], "complete", "{}", document["status_reason"]);
        assert_ne!(document["ranks"][0]["host"], document["ranks"][1]["host"]);
        let ways = document["laplace"]["ways"].as_array().ok_or("ways")?;
        let of = |field: &str| ways.iter().map(|way| way[field].clone()).collect::<Vec<_>>();
        assert_eq!(
            of("name"),
            ["cpu", "cpu, overlapped", "staged", "staged, overlapped", "gpu-aware", "gpu-aware, overlapped"]
        );
        assert!(of("iteration_ns").iter().all(Value::is_f64), "{ways:#?}");
        let residuals = of("residual");
        assert!(
            residuals.iter().all(|residual| *residual == residuals[0] && residual.is_f64()),
            "{residuals:?}"
        );
    }
    Ok(())
}
