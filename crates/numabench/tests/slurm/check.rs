//! `numabench check` in steps: ranks meet without MPI, one table a node, one code for all, and a fix that
//! works when it is pasted.
//!
//! The lab's GPUs have no PCI address, so the ranks are judged by a saved machine: two packages whose PUs
//! alternate, with a GPU on each, so that on PUs 0 and 1 the GPUs that Slurm gives to the two tasks are near
//! one way round and far the other.

use std::error::Error;
use std::path::Path;

use crate::lab::Lab;
use crate::mpi::without_sruns_words;
use crate::run::{BINARY, Done, Ended, skipped};

/// The saved machine.
fn interleaved() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures/interleaved.xml");
    file.display().to_string()
}

/// The lab, where the machine has a CPU for each of two tasks.
fn lab() -> Result<Option<Lab>, Box<dyn Error>> {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on PUs of their own: this machine has one CPU");
        return Ok(None);
    }
    Lab::start()
}

/// Two tasks with a GPU each, and these options of srun, then of check.
fn check(lab: &Lab, srun: &[&str], more: &[&str]) -> Ended {
    let file = interleaved();
    let step = ["-N1", "-n2", "--gpus-per-task=1", "--kill-on-bad-exit=0"];
    without_sruns_words(lab.srun(&[&step, srun, &[BINARY, "check", "--input", &file], more].concat()))
}

#[test]
fn a_good_binding_is_0_a_swapped_one_is_5_and_the_fix_pasted_makes_it_0() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let good = check(&lab, &["--cpu-bind=map_cpu:0,1"], &[]).well();
    assert!(good.out.contains("2 ranks of srun here, Slurm job 1, step 0"), "{}", good.out);
    for words in
        ["rank 0  0    0", "rank 1  1    1", "0 0000:06:00.0", "1 0000:14:00.0", "well placed: 2 of 2 ranks"]
    {
        assert!(good.out.contains(words), "{words}: {}", good.out);
    }
    assert!(!good.out.contains("fix:"), "{}", good.out);

    let swapped = check(&lab, &["--cpu-bind=map_cpu:1,0"], &[]);
    assert_eq!(swapped.code, Some(5), "{}{}", swapped.out, swapped.err);
    for words in [
        "misplaced: rank 0 runs on PU 1, far from its GPU 0 at 0000:06:00.0: PU 0 is near to it",
        "misplaced: rank 1 runs on PU 0, far from its GPU 1 at 0000:14:00.0: PU 1 is near to it",
        "WRONG: 2 of 2 ranks",
    ] {
        assert!(swapped.out.contains(words), "{words}: {}", swapped.out);
    }
    let fix = swapped.out.lines().find_map(|line| line.strip_prefix("fix: srun ")).ok_or("no fix")?;
    let options: Vec<&str> = fix.split(' ').collect();
    let fixed = check(&lab, &options, &[]);
    assert_eq!(fixed.code, Some(0), "{fix}: {}{}", fixed.out, fixed.err);
    assert_eq!(lab.shared_memory()?.unwrap_or_default(), [""; 0]);
    Ok(())
}

#[test]
fn ranks_that_nothing_binds_are_5_and_ranks_on_one_pu_are_5_with_a_fix() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    for (binding, words) in [
        (
            "--cpu-bind=none",
            "rank 0 is not bound to the PUs near to its GPU 0 at 0000:06:00.0: it may run on PU 1 too",
        ),
        ("--cpu-bind=map_cpu:0,0", "ranks 0-1 have only PU 0 between them, while no rank has PU 1"),
    ] {
        let ended = check(&lab, &[binding], &[]);
        assert_eq!(ended.code, Some(5), "{binding}: {}{}", ended.out, ended.err);
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
        let fix = ended.out.lines().find_map(|line| line.strip_prefix("fix: srun ")).ok_or("no fix")?;
        assert_eq!(check(&lab, &fix.split(' ').collect::<Vec<_>>(), &[]).code, Some(0), "{fix}");
    }
    Ok(())
}

#[test]
fn each_node_has_its_table_and_a_node_that_is_well_ends_well() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let file = interleaved();
    let step = [
        "-N2",
        "-n4",
        "--gpus-per-task=1",
        "--kill-on-bad-exit=0",
        "--cpu-bind=map_cpu:0,1",
        BINARY,
        "check",
        "--input",
        &file,
    ];
    let ended = without_sruns_words(lab.srun(&step)).well();
    assert_eq!(ended.out.matches("2 ranks of srun here").count(), 2, "{}", ended.out);
    for rank in 0..4 {
        assert_eq!(ended.out.matches(&format!("\n  rank {rank} ")).count(), 1, "{}", ended.out);
    }
    Ok(())
}

#[test]
fn a_rank_that_does_not_come_is_named_and_makes_it_unknown() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let script = format!("[ $SLURM_PROCID = 1 ] || exec {BINARY} check --timeout 500ms");
    let ended = without_sruns_words(lab.srun(&[
        "-N1",
        "-n2",
        "--kill-on-bad-exit=0",
        "--cpu-bind=map_cpu:0,1",
        "sh",
        "-c",
        &script,
    ]));
    assert_eq!(ended.code, Some(6), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("unknown: rank 1 of this node did not answer within"), "{}", ended.out);
    assert_eq!(lab.shared_memory()?.unwrap_or_default(), [""; 0]);
    Ok(())
}

#[test]
fn one_after_the_other_in_one_step_each_meets_its_own() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let one = format!("{BINARY} check --json");
    let script = format!("{one}; a=$?; {one} >/dev/null; b=$?; exit $((a + b))");
    let ended =
        without_sruns_words(lab.srun(&["-N1", "-n2", "--cpu-bind=map_cpu:0,1", "sh", "-c", &script])).well();
    let document = ended.json()?;
    assert_eq!(document["placed"], "well placed", "{document:#}");
    let pus: Vec<&serde_json::Value> =
        document["ranks"].as_array().into_iter().flatten().map(|rank| &rank["seen"]["pus"]).collect();
    assert_eq!(pus, [&serde_json::json!([0]), &serde_json::json!([1])]);
    Ok(())
}

#[test]
fn a_program_starts_after_the_table_and_under_strict_only_where_all_is_well() -> Done {
    let Some(lab) = lab()? else { return Ok(()) };
    let program = ["--", "sh", "-c", "echo \"$1\"", "sh", "a  b"];
    let swapped = ["--cpu-bind=map_cpu:1,0"];
    let ended = check(&lab, &swapped, &program);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "a  b\na  b\n"), "{}", ended.err);
    assert!(ended.err.contains("WRONG: 2 of 2 ranks"), "{}", ended.err);
    let strict = check(&lab, &swapped, &[&["--strict"], &program[..]].concat());
    assert_eq!((strict.code, strict.out.as_str()), (Some(5), ""), "{}", strict.err);
    let well = check(&lab, &["--cpu-bind=map_cpu:0,1"], &[&["--strict"], &program[..]].concat());
    assert_eq!((well.code, well.out.as_str()), (Some(0), "a  b\na  b\n"), "{}", well.err);
    Ok(())
}
