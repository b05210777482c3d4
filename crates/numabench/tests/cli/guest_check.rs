//! `numabench check --pid` in a guest of four NUMA nodes: it says where a program's memory lies, and catches
//! a wrong place.

use std::process::Command;

use serde_json::Value;

use crate::guest::{guest_with, take};
use crate::run::{Done, skipped};

/// `start NAME OPTIONS...`: a program under numactl with these options, which has read 24 MB at once and
/// cannot get rid of them; `$pid_NAME` is its id.
const START: &str = r#"
mkfifo /tmp/full; exec 9<>/tmp/full
start() {
    name=$1; shift
    numactl "$@" dd if=/dev/zero bs=24000000 count=1 >&9 2>/dev/null &
    pid=$!
    eval "pid_$name=$pid"
    until [ "$(awk '/^VmRSS/ { print $2 }' /proc/$pid/status)" -gt 23000 ]; do sleep 0.05; done
}
"#;

#[test]
fn in_a_guest_the_memory_of_a_running_program_is_found_where_it_lies_and_a_wrong_place_is_5() -> Done {
    let numactl = Command::new("sh").args(["-c", "command -v numactl"]).output()?;
    if !numactl.status.success() {
        skipped("a guest's programs under numactl: it is not installed");
        return Ok(());
    }
    let script = format!(
        "{START}\
         start good -C 2 -m 1\n\
         start bound -C 0 -m 2\n\
         start moved -C 4 -l\n\
         taskset -p 1 $pid_moved\n\
         start wide -C 0-7 -l\n\
         run good numabench check --json --pid $pid_good\n\
         run bound numabench check --json --pid $pid_bound\n\
         run moved numabench check --json --pid $pid_moved\n\
         run wide numabench check --json --pid $pid_wide\n\
         run all numabench check --pid $pid_good,$pid_bound\n"
    );
    let path = String::from_utf8(numactl.stdout)?;
    let Some(mut all) = guest_with("lumig", &[path.trim()], &script)? else { return Ok(()) };

    // Of each: the code, the node with most of the memory, and what was found.
    for (name, code, node, kinds) in [
        ("good", 0, Some(1), &[][..]),
        ("bound", 5, Some(2), &["memory-elsewhere", "pages-elsewhere"]),
        ("moved", 5, Some(2), &["pages-elsewhere"]),
        ("wide", 6, None, &["spans-nodes"]),
    ] {
        let ended = take(&mut all, name)?;
        let document = ended.json()?;
        assert_eq!(ended.code, Some(code), "{name}: {document:#}");
        let found: Vec<&str> =
            list(&document["findings"]).filter_map(|finding| finding["kind"].as_str()).collect();
        assert_eq!(found, kinds, "{name}: {document:#}");
        let pages = list(&document["ranks"][0]["seen"]["pages"]["nodes"]);
        let most = pages.max_by_key(|pages| pages["bytes"].as_u64()).ok_or("no pages")?;
        assert!(most["bytes"].as_u64() > Some(20_000_000), "{name}: {most}");
        assert!(node.is_none_or(|node| most["node"] == node), "{name}: {most}");
    }
    let together = take(&mut all, "all")?;
    assert_eq!(together.code, Some(5), "{}", together.out);
    assert!(
        together.out.contains("WRONG: 1 of 2 ranks") && together.out.contains("bind 2"),
        "{}",
        together.out
    );
    assert!(together.out.contains("fix: migratepages"), "{}", together.out);
    Ok(())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
