//! The example programs, built with this machine's MPI and run: alone, and under its mpirun.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Done, end, numabench, skipped};
use crate::runs;

/// An example, built; `None` where there is no MPI compiler or it cannot build for OpenMP, which is said.
fn built(name: &str, folder: &Path) -> Result<Option<PathBuf>, Box<dyn std::error::Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/trial/{name}.c"));
    let program = folder.join(name);
    let mut compile = Command::new(std::env::var_os("MPICC").unwrap_or("mpicc".into()));
    compile.args(["-O2", "-Wall", "-Werror", "-fopenmp", "-o"]).arg(&program).arg(source).arg("-lm");
    match compile.output() {
        Err(error) => {
            skipped(&format!("the example {name}: no mpicc ({error})"));
            Ok(None)
        }
        Ok(output) if !output.status.success() => Err(String::from_utf8_lossy(&output.stderr).into()),
        Ok(_) => Ok(Some(program)),
    }
}

/// Threads and ranks that wait let others run: on a machine that has something else to do, those that spin
/// take its cores from those they wait for.
const PATIENT: [(&str, &str); 2] = [("OMP_WAIT_POLICY", "passive"), ("OMPI_MCA_mpi_yield_when_idle", "1")];

/// The sum that an example printed, from a run of it with these arguments.
fn sum(program: &Path, args: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let output = Command::new(program).args(args).env("OMP_NUM_THREADS", "2").envs(PATIENT).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sum = text.split("sum ").nth(1).and_then(|rest| rest.split(',').next());
    Ok(sum.ok_or_else(|| format!("no sum: {text}{}", String::from_utf8_lossy(&output.stderr)))?.to_owned())
}

#[test]
fn the_stencil_diffuses_what_its_first_column_gives_and_is_tried() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = built("stencil", folder.path())? else { return Ok(()) };
    // One step: the second column takes a quarter of the first's 1 in each of 64 rows, but for the rows at
    // the edge of the plane, which have no neighbour outside and lose nothing by it.
    assert_eq!(sum(&program, &["64", "1"])?.parse::<f64>()?, 64.0 + 16.0);
    let path = program.to_str().ok_or("a path that is no text")?;
    let options = [
        "trial",
        "--vary",
        "OMP_NUM_THREADS=1",
        "--metric",
        "rate ([0-9.]+)",
        "--better",
        "higher",
        "--max-runs",
        "6",
    ];
    let mut command = numabench();
    command.current_dir(folder.path()).envs(PATIENT);
    let ended = end(&mut command, [&options[..], &["--json", "-", "--", path, "256", "20"]].concat());
    let document = ended.json()?;
    assert_eq!(runs(&document).len(), 12, "{}", ended.err);
    assert!(runs(&document).iter().all(|run| run["outcome"] == "counted"), "{document}");
    Ok(())
}

#[test]
fn under_mpirun_every_rank_is_placed_by_exec_and_looked_at() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = built("compute", folder.path())? else { return Ok(()) };
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks with a core each: this machine has one");
        return Ok(());
    }
    assert_eq!(sum(&program, &["1"])?, sum(&program, &["1"])?, "the sum is the arithmetic's");
    let path = program.to_str().ok_or("a path that is no text")?;
    let launch = "mpirun --allow-run-as-root --oversubscribe -n 2 {bind} {app}";
    let options = [
        "trial",
        "--launch",
        launch,
        "--placements",
        "compact",
        "--metric",
        "rate ([0-9.]+)",
        "--better",
        "higher",
    ];
    // Outputs of runs that do not count are kept where the trial runs.
    let mut command = numabench();
    command.current_dir(folder.path()).envs(PATIENT);
    let ended =
        end(&mut command, [&options[..], &["--max-runs", "6", "--json", "-", "--", path, "150"]].concat());
    let document = ended.json().map_err(|error| format!("{error}: {}", ended.err))?;
    let line = document["variants"][1]["line"].as_str().unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    let bound =
        words.windows(6).any(|words| words == ["none", "numabench", "exec", "--strategy", "compact", "--"]);
    assert!(words.contains(&"--bind-to") && bound, "{line}");
    let looked: Vec<_> = runs(&document).into_iter().filter(|run| run["variant"] == "compact").collect();
    assert!(looked.iter().all(|run| run["outcome"] == "counted"), "{document}");
    let ranks: Vec<_> = looked
        .iter()
        .flat_map(|run| run["looks"].as_array().into_iter().flatten())
        .flat_map(|look| look["ranks"].as_array().into_iter().flatten())
        .collect();
    let of = |rank: u64| ranks.iter().filter(move |seen| seen["rank"] == rank);
    for rank in [0, 1] {
        assert!(of(rank).count() > 0, "rank {rank} was never seen: {document}");
        assert!(
            of(rank).all(|seen| seen["program"] == "compute" && seen["asked_pus"].is_array()),
            "{document}"
        );
    }
    let places =
        |rank| of(rank).map(|seen| seen["asked_pus"].to_string()).collect::<std::collections::BTreeSet<_>>();
    assert!(places(0).is_disjoint(&places(1)), "each has its own: {:?} {:?}", places(0), places(1));
    Ok(())
}
