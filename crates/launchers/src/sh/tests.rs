//! Scripts as wrappers are written, followed for one rank: what the program is shown and where it is bound.

use std::collections::BTreeMap;

use crate::launcher::Launcher;
use stats::IdSet;

use crate::follow::follow;
use crate::line::process;
use crate::sh::run;
use crate::written_machine::machine;

mod against_bash;

/// The GPUs shown to the program and its PUs, for rank 2 under srun; `-` for a variable that is not set.
fn followed(script: &str, arguments: &[&str]) -> Result<Vec<(String, String)>, String> {
    followed_as(2, script, arguments)
}

/// The same for this rank of the node.
fn followed_as(rank: usize, script: &str, arguments: &[&str]) -> Result<Vec<(String, String)>, String> {
    let topology = machine();
    let variables = BTreeMap::from([("SLURM_LOCALID".to_owned(), rank.to_string())]);
    let process = process(&topology, Launcher::Srun, &variables);
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    let ended = run(script, "wrapper.sh", arguments, process, follow).map_err(|error| error.to_string())?;
    Ok(ended
        .iter()
        .map(|process| {
            let shown = process.exported("CUDA_VISIBLE_DEVICES");
            let shown = shown.map_or_else(
                |why| format!("not known: {why}"),
                |value| value.unwrap_or_else(|| "-".to_owned()),
            );
            (shown, process.pus.as_ref().map_or_else(|why| format!("not known: {why}"), IdSet::to_string))
        })
        .collect())
}

#[test]
fn a_value_of_which_a_part_is_known_is_not_empty() {
    let shown = |script: &str| followed(script, &["./app"]).map(|ways| ways[0].0.clone());
    for known in [
        "export CUDA_VISIBLE_DEVICES=1${TORCHELASTIC_RUN_ID:+0}",
        "X=step$(date); export CUDA_VISIBLE_DEVICES=${X:+1}",
        "X=step$(date); if [ -n \"$X\" ]; then export CUDA_VISIBLE_DEVICES=1; fi",
        "X=step$(date); if [ -z \"$X\" ] || ! [ \"$X\" ]; then n=0; else n=1; fi; export CUDA_VISIBLE_DEVICES=$n",
    ] {
        assert_eq!(shown(&format!("{known}\nexec \"$@\"")), Ok("1".to_owned()), "{known}");
    }
    for open in ["${X:+1}", "${SLURM_STEP_ID}", "${SLURM_STEP_ID%0}"] {
        let script = format!("X=$(date); export CUDA_VISIBLE_DEVICES={open}\nexec \"$@\"");
        assert!(shown(&script).is_ok_and(|shown| shown.starts_with("not known")), "{open}");
    }
}

#[test]
fn what_a_script_works_out_is_what_its_program_gets() {
    for (script, shown, pus) in [
        ("export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\nexec \"$@\"", "2", "0-15"),
        ("export CUDA_VISIBLE_DEVICES=$((3-SLURM_LOCALID)); $*", "1", "0-15"),
        ("export CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID % 2)); exec taskset -c 4-7 \"$@\"", "0", "4-7"),
        ("export CUDA_VISIBLE_DEVICES=$(( (SLURM_LOCALID*3+1) / 2 )); exec \"$@\"", "3", "0-15"),
        ("g=(3 2 1 0)\nexport CUDA_VISIBLE_DEVICES=${g[$SLURM_LOCALID]}\nexec \"$@\"", "1", "0-15"),
        ("g=(3 2 1 0); export CUDA_VISIBLE_DEVICES=${g[SLURM_LOCALID+1]}; exec \"$@\"", "0", "0-15"),
        (
            "case $SLURM_LOCALID in 0|1) n=0;; [2-3]) n=1;; *) n=9;; esac; exec numactl -N $n \"$@\"",
            "-",
            "4-7,12-15",
        ),
        ("if [ $SLURM_LOCALID -lt 2 ]; then n=0; elif true; then n=1; fi; numactl -N$n $@", "-", "4-7,12-15"),
        (
            "[[ $SLURM_LOCALID == [01] ]] && n=0 || n=1; exec numactl --cpunodebind=$n \"$@\"",
            "-",
            "4-7,12-15",
        ),
        (
            "r=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}; export CUDA_VISIBLE_DEVICES=$r; ./app",
            "2",
            "0-15",
        ),
        ("f() { local n=$1; shift; exec numactl -N $n \"$@\"; }\nf 1 \"$@\"", "-", "4-7,12-15"),
        (
            "for i in 0 1 2 3; do if (( i == SLURM_LOCALID )); then export CUDA_VISIBLE_DEVICES=$i; fi; \
             done; ./app",
            "2",
            "0-15",
        ),
        (
            "i=0; while [ $i -lt $SLURM_LOCALID ]; do i=$((i+1)); done; CUDA_VISIBLE_DEVICES=$i exec ./app",
            "2",
            "0-15",
        ),
        ("R=$SLURM_LOCALID; (( R < 3 ? (C=1) : (C=0) )); CUDA_VISIBLE_DEVICES=$C ./app", "1", "0-15"),
        ("N=1; (( N <<= 1 )); CUDA_VISIBLE_DEVICES=$N ./app", "2", "0-15"),
        ("g=(3 2 1); (( g[1] += 1 )); CUDA_VISIBLE_DEVICES=${g[1]} ./app", "3", "0-15"),
        ("for ((i=0; i<3; i++)); do n=$i; done; CUDA_VISIBLE_DEVICES=$n ./app", "2", "0-15"),
        ("taskset -pc 4-5 $$ > /dev/null; exec ./app", "-", "4-5"),
        ("bash -c 'numactl -N 1 ./app'", "-", "4-7,12-15"),
        (
            "echo start; nvidia-smi -L | grep A100; cat <<EOF\nnumactl -N 0\nEOF\n\
             numactl -C 3 ./app | tee log",
            "-",
            "3",
        ),
        ("n=node1; exec numactl -N ${n#node} ./app", "-", "4-7,12-15"),
        ("l=0,1,2,3; IFS=,; export CUDA_VISIBLE_DEVICES=${l:4:1}; unset IFS; ./app", "2", "0-15"),
        ("unset CUDA_VISIBLE_DEVICES; exec nsys profile taskset 0x10 ./app", "-", "4"),
        ("export CUDA_VISIBLE_DEVICES=`expr $SLURM_LOCALID + 1`; ./app", "3", "0-15"),
    ] {
        let found = followed(script, &["./app", "arg"]);
        assert_eq!(found, Ok(vec![(shown.to_owned(), pus.to_owned())]), "{script}");
    }
}

#[test]
fn what_does_not_follow_from_the_script_is_not_known() {
    for script in [
        "n=$(cat /sys/class/drm/card$SLURM_LOCALID/device/numa_node); exec numactl -N $n ./app",
        "source /nowhere/map.sh; exec numactl -N ${NODE[$SLURM_LOCALID]} ./app",
        "if [ -f /etc/site ]; then n=0; else n=1; fi; exec numactl -N $n ./app",
        "exec numactl -N $UNSET_ELSEWHERE ./app",
        "while read line; do n=$line; done; exec numactl -N $n ./app",
        "diff <(ls) <(ls); exec ./app",
        "while true; do :; done; exec ./app",
        "if then; exec ./app",
        "numactl $(cat options) ./app",
        "numactl $(cat options) -N 0 ./app",
        "taskset $(cat options) ./app",
        "taskset -c 0 $(cat options) ./app",
        "$(cat before) ./app",
        "\"$(cat before)\" ./app",
        "exec $(cat before) ./app",
        "p=; [ -e /site ] && p='numactl -N 0'; $p ./app",
        "set -- $(cat options); exec numactl \"$@\" ./app",
        "set -- $(cat words); exec \"$@\"",
        "set -- $(cat words); $1 ./app",
        "c=($(cat cpus)); exec taskset -c ${c[1]} ./app",
        "exec env $(cat words) ./app",
        "exec $(cat folder)/bind_gpu.sh ./app",
        "numactl -N 0 bash <<END\nnumactl -N 1 ./app\nEND",
        "echo numactl -N 0 ./app | bash -s x",
        "sh < commands",
    ] {
        let found = followed(script, &[]);
        assert!(
            matches!(found.as_deref(), Ok([(_, pus)]) if pus.starts_with("not known")),
            "{script}: {found:?}"
        );
    }
    let found = followed("CUDA_VISIBLE_DEVICES=1\n./app", &[]);
    assert!(matches!(found.as_deref(), Ok([(shown, _)]) if shown.contains("not exported")), "{found:?}");
    assert_eq!(
        followed("[ -x ./a ] && exec numactl -N 0 ./app\nexec numactl -N 1 ./app", &[]).map(|all| all.len()),
        Ok(2)
    );
    let nothing = followed("echo nothing; exit 1", &[]);
    assert!(
        nothing.as_ref().is_err_and(|error| error.contains("ends before it starts a program")),
        "{nothing:?}"
    );
    // What it shows is its own binding.
    assert_eq!(followed("echo $SLURM_PROCID; taskset -cp $$", &[]).map(|all| all.len()), Ok(1));
}

#[test]
fn no_script_makes_the_reader_fail() {
    for script in [
        "",
        "$",
        "${",
        "$((",
        "`",
        "\"",
        "'",
        "case x in",
        "((",
        "[[",
        "a=(",
        "<<",
        "<<X\n",
        "f() {",
        "((1<",
        "${a[",
        "\\",
        "& ;",
        "${#}",
        "$((1/0))",
        "$((9**99))",
        "${x%[}",
    ] {
        let _ = followed(script, &["a"]);
    }
    let deep = format!("{}:{}", "(".repeat(5000), ")".repeat(5000));
    let _ = followed(&deep, &[]);
    let _ = followed(&format!("$(({}1{}))", "(".repeat(3000), ")".repeat(3000)), &[]);
    let _ = followed(&"${x:-".repeat(3000), &[]);
    let _ = followed(&"$(echo ".repeat(3000), &[]);
    let _ = followed("f() { f; }; f", &[]);
    let ways = "for i in $(seq 0 2000); do [ -e /x ] && continue; [ -e /y ] && break; g=$g$r; done";
    let _ = followed(&format!("{ways}; {}", ways.replace("$(seq 0 2000)", "$(cat x)")), &[]);
    let _ = followed(
        &format!("{}:{}", "for i in $(cat x); do [ -e $i ] && ".repeat(20), "; done".repeat(20)),
        &[],
    );
}
