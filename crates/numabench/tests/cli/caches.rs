//! Which ranks share an L3 cache decides what is held against it, and for whom one rank alone stands: on this
//! machine as if each of two PUs had a cache of its own, and as if both had one.

use std::error::Error;

use serde_json::Value;

use crate::proof::{self, list};
use crate::run::{Done, end, numabench, skipped};

const TWO_CACHES: &str = "l3:2(size=33554432) core:1 pu:1";
const ONE_CACHE: &str = "l3:1(size=33554432) core:2 pu:1";

/// The document of a command on such a machine.
fn on(machine: &str, command: &str) -> Result<Value, Box<dyn Error>> {
    let mut numabench = numabench();
    numabench.env("HWLOC_SYNTHETIC", machine).env("HWLOC_THISSYSTEM", "1");
    let words = command.split(' ').chain(["--backend", "host", "--reps", "2", "--json", "-"]);
    proof::document(&end(&mut numabench, words))
}

fn has_two_pus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|pus| pus.get() > 1);
    if !two {
        skipped("two caches: it takes two PUs");
    }
    two
}

#[test]
fn a_range_is_held_against_the_cache_of_those_that_share_it() -> Done {
    if !has_two_pus() {
        return Ok(());
    }
    // 64 MiB are beyond four times 32 MiB only where two threads of one cache read them.
    for (machine, cached) in [(TWO_CACHES, true), (ONE_CACHE, false)] {
        let document = on(machine, "matrix --threads 2 --range 64MiB")?;
        let reads = list(&document, "/rows").iter().filter(|row| row["direction"] == "read");
        let flagged: Vec<bool> = reads.map(|row| list(row, "/flags").contains(&"cached".into())).collect();
        assert!(!flagged.is_empty() && flagged.iter().all(|is| *is == cached), "{machine}: {flagged:?}");
    }
    Ok(())
}

#[test]
fn kernels_that_memory_bounds_are_the_caches_where_their_data_lie_in_it() -> Done {
    if !has_two_pus() {
        return Ok(());
    }
    let document = on(TWO_CACHES, "kernels --kernels spmv,stencil,sort,sgemm --size 3MiB --threads 1")?;
    let flagged = |name: &str| -> Vec<bool> {
        let cases = list(&document, "/cases").iter();
        let own = cases.filter(|case| case["id"].as_str().is_some_and(|id| id.contains(&format!("/{name}"))));
        let results = own.flat_map(|case| list(case, "/ranks"));
        results.map(|result| list(result, "/outcome/flags").contains(&"cached".into())).collect()
    };
    for (name, cached) in [("spmv", true), ("stencil", true), ("sort", true), ("sgemm", false)] {
        let found = flagged(name);
        assert!(!found.is_empty() && found.iter().all(|is| *is == cached), "{name}: {found:?}");
    }
    Ok(())
}

#[test]
fn one_rank_alone_stands_for_all_of_a_device_only_where_they_share_a_cache_too() -> Done {
    if !has_two_pus() {
        return Ok(());
    }
    for (machine, alone) in [(TWO_CACHES, 2), (ONE_CACHE, 1)] {
        let document = on(machine, "contend --gpus 0,0 --cpus 0,1 --size 1MiB --direction h2d")?;
        let of = list(&document, "/cases").iter().find(|case| case["order"] == "alone").ok_or("no case")?;
        assert_eq!(list(of, "/ranks").len(), alone, "{machine}");
    }
    Ok(())
}
