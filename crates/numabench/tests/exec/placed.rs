//! Where the program runs, on this machine: whatever it has, the program has the part of it that was asked
//! for.

use std::collections::BTreeSet;
use std::thread::available_parallelism;

use crate::run::{Done, numabench, run, skipped};

/// The PUs that the program under these options may run on.
#[track_caller]
fn affinity(options: &[&str]) -> String {
    let program = ["--", "grep", "-h", "Cpus_allowed_list", "/proc/self/status"];
    let ended = run(&[&["exec"], options, &program].concat()).well();
    ended.out.trim_start_matches("Cpus_allowed_list:").trim().to_owned()
}

/// The first PUs that this process may use; `None` where there are fewer, which is said.
fn pus(count: usize) -> Result<Option<Vec<u32>>, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).ok_or("no affinity")?;
    let all: stats::IdSet = list.trim().parse()?;
    if all.len() < count || available_parallelism()?.get() < count {
        skipped(&format!("{count} ranks with PUs of their own: this process may use {all}"));
        return Ok(None);
    }
    Ok(Some(all.iter().collect()))
}

#[test]
fn ranks_that_are_named_get_parts_that_do_not_overlap() -> Done {
    let Some(_) = pus(2)? else { return Ok(()) };
    let of = |rank: &str| -> Result<stats::IdSet, stats::id_list::IdListError> {
        affinity(&["--rank", rank, "--ranks", "2"]).parse()
    };
    let (one, other) = (of("0")?, of("1")?);
    assert!(!one.is_empty() && !other.is_empty() && one.and(&other).is_empty(), "{one} and {other}");
    assert_eq!(one, of("0")?, "the same question, the same answer");
    Ok(())
}

#[test]
fn what_taskset_left_is_not_left_again() -> Done {
    let Some(all) = pus(2)? else { return Ok(()) };
    let last = all[all.len() - 1].to_string();
    let mut command = assert_cmd::Command::new("taskset");
    let exec = [crate::run::BINARY, "exec", "--", "grep", "-h", "Cpus_allowed_list", "/proc/self/status"];
    let output = command.args(["-c", &last]).args(exec).output()?;
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("Cpus_allowed_list:\t{last}"));
    Ok(())
}

#[test]
fn cores_are_kept_free_counted_and_left_alone_as_asked() -> Done {
    let Some(all) = pus(2)? else { return Ok(()) };
    let first = all[0].to_string();
    let reserved: stats::IdSet = affinity(&["--reserve", &first]).parse()?;
    assert!(!reserved.contains(all[0]), "{reserved}");
    let one: stats::IdSet = affinity(&["--cores-per-rank", "1"]).parse()?;
    assert_eq!(one.len(), 1);
    let kept: stats::IdSet = affinity(&["--keep-cpus"]).parse()?;
    assert_eq!(kept, all.iter().copied().collect());
    run(&["exec", "--cores-per-rank", "8192", "--", "true"]).refused(2, &["8192 cores"]);
    run(&["exec", "--cores-per-rank", "100000", "--", "true"]).refused(2, &["from 1 to 8192"]);
    run(&["exec", "--keep-cpus", "--smt", "--", "true"]).refused(2, &["cannot be used with"]);
    Ok(())
}

#[test]
fn a_rank_or_a_node_that_is_not_there_is_refused_before_anything_is_started() {
    let marks = ["--", "echo", "started"];
    let mut said = String::new();
    for (options, code, named) in [
        (&["--rank", "2", "--ranks", "2"][..], 2, "rank 2 of 2"),
        (&["--rank", "0"], 2, "--ranks"),
        (&["--ranks", "2"], 2, "without --rank"),
        (&["--rank", "0", "--ranks", "0"], 2, "--ranks"),
        (&["--membind", "77"], 2, "NUMA node 77"),
        (&["--membind", "near"], 2, "near"),
        (&["--gpus", "61"], 77, "61"),
        (&["--gpus", "x y"], 2, "x y"),
        (&["--strategy", "closest"], 2, "closest"),
    ] {
        let ended = run(&[&["exec"], options, &marks].concat()).refused(code, &[named]);
        // What there is on this machine comes after these words.
        let line = ended.err.lines().next().unwrap_or_default();
        let end =
            [" on this machine: ", " here: "].iter().find_map(|words| line.find(words)).unwrap_or(line.len());
        said += &format!("{}\n", &line[..end]);
    }
    insta::assert_snapshot!(said, @r#"
    numabench: error: rank 2 of 2: ranks are numbered from 0, so --rank is 0 to 1
    error: --rank needs --ranks: add it, or leave --rank out
    numabench: error: --ranks 2 without --rank: no launcher says which of them this process is; name it, --rank N (from 0)
    error: invalid value '0' for '--ranks <M>': "0" is not a whole number from 1 to 8192
    numabench: error: NUMA node 77 does not exist
    error: invalid value 'near' for '--membind <PLACE>': "near" is neither local, none, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as 0-1,3)
    numabench: error: there is no device 61
    error: invalid value 'x y' for '--gpus <LIST|all|none>': "x y" names no device: write indices in PCI order (0,1 or 0-3), PCI addresses (0000:c1:00.0), UUIDs (GPU-…) or all
    error: invalid value 'closest' for '--strategy <close|spread|compact|worst>': "closest" is not a strategy: write close, spread, compact or worst
    "#);
}

#[test]
fn a_report_is_one_line_and_the_programs_output_its_own() {
    let ended = run(&["exec", "--report", "--rank", "0", "--ranks", "1", "--", "echo", "hello"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "hello\n"));
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    for words in ["numabench: one process on ", "PUs ", "OMP_NUM_THREADS="] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
}

#[test]
fn what_is_printed_is_what_a_program_gets() -> Done {
    let options = ["--rank", "0", "--ranks", "1", "--membind", "none"];
    let printed = run(&[&["exec", "--print"], &options[..]].concat()).well().out;
    let of = |text: &str, start: &str| -> BTreeSet<String> {
        text.lines().filter_map(|line| line.strip_prefix(start)).map(|line| line.replace('\'', "")).collect()
    };
    let mut command = numabench();
    for name in ["OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND"] {
        command.env_remove(name);
    }
    let look = ["--", "sh", "-c", "env | grep -E '^(OMP|CUDA|ROCR|HIP)_'"];
    let ran = crate::run::end(&mut command, [&["exec"], &options[..], &look].concat()).well().out;
    let printed = of(&printed, "export ");
    assert!(!printed.is_empty() && printed.is_subset(&of(&ran, "")), "{printed:?}");
    Ok(())
}

#[test]
fn places_that_were_saved_are_taken_as_they_are_and_only_by_as_many_ranks() -> Done {
    let Some(pus) = pus(2)? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("best.json").display().to_string();
    let place =
        |options: &[&str]| run(&[&["place", "--gpus", "none", "--json", &file], options].concat()).well();
    // Not what two ranks would get by themselves: all of one rank's cores are kept free.
    place(&["-n", "1", "--reserve", &pus[0].to_string()]);
    let from = ["--from", &file];
    let alone: stats::IdSet = affinity(&[&from[..], &["--rank", "0", "--ranks", "1"]].concat()).parse()?;
    assert!(!alone.is_empty() && !alone.contains(pus[0]), "{alone}");
    let two = [&["exec"], &from[..], &["--rank", "0", "--ranks", "2", "--", "true"]].concat();
    run(&two).refused(2, &["places in the file: 1", "ranks of this node: 2"]);
    let both = [&["exec"], &from[..], &["--strategy", "spread", "--", "true"]].concat();
    run(&both).refused(2, &["--from", "--strategy"]);
    std::fs::write(&file, "no document")?;
    run(&[&["exec"], &from[..], &["--", "true"]].concat())
        .refused(2, &["--from", "not JSON", "numabench place"]);
    Ok(())
}

#[test]
fn an_adapter_near_no_gpu_is_refused() {
    run(&["exec", "--gpus", "none", "--nic", "near", "--print"]).refused(2, &["--nic near", "--gpus none"]);
}
