//! In a Linux guest with four NUMA nodes (`tests/lab/numa-guest.sh`): memory on a far node is told from
//! memory on the near one, and a run that is moved is found.
//!
//! The guest is emulated and its memory is all alike, so the program takes the place of one that is bound by
//! memory: it asks the kernel where its own pages lie and which CPUs it may use, and prints a figure that is
//! half as large again where most pages are on another node. Binding and proof are the guest's kernel's own.

use crate::lab;
use crate::run::Done;

/// The program: some memory of its own, then a look at where it lies. CPUs 2 and 3 are of node 1.
const FIGURE: &str = r#"x=$(yes | head -c 600000)
awk '/anon=/ && !/file=/ { for (i = 3; i <= NF; i++) if ($i ~ /^N[0-9]+=/) {
    split(substr($i, 2), part, "="); all += part[2]; if (part[1] != 1) far += part[2] } }
    END { print "x=" (far > all / 2 ? 150 : 100) }' /proc/$$/numa_maps"#;

/// A program on CPU 2 with its memory on a far node; and one that somebody else moves to CPU 7 in the midst
/// of its third run, between the two looks at it, which waits for that. Each run lasts long enough for a look
/// to be worth its time where an emulated processor has half a real one.
const SCRIPT: &str = r#"
part() { echo "@@@ $*"; }
trial() { numabench trial --metric 'x=([0-9]+)' --better lower --launch 'taskset -c 2 {app}' "$@" 2>&1; echo "code $?"; }
part far
trial --vary membind=3 --quiet -- sh -c "$FIGURE"
part moved
(while ! [ -e /third ]; do sleep 0.1; done; sleep 5; taskset -p 80 $(cat /third); touch /moved) >/dev/null 2>&1 &
trial --vary Y=1 --max-time 45s -- sh -c 'echo run >>/ran
    if [ $(wc -l </ran) = 3 ]; then echo $$ >/third; while ! [ -e /moved ]; do sleep 0.1; done; fi
    sleep 10; echo x=100'
true
"#;

#[test]
fn in_a_guest_memory_on_a_far_node_is_found_slower_and_a_run_that_is_moved_is_flagged() -> Done {
    let script = format!("FIGURE={}\n{SCRIPT}", shell_words::quote(FIGURE));
    let Some(text) = lab::written("lumig", &[], &script)? else { return Ok(()) };
    let parts = lab::parts(&text);
    let part =
        |name: &str| parts.get(name).ok_or_else(|| format!("the guest did not write {name}: {parts:#?}"));
    let far = part("far")?;
    assert!(far.contains("No variant is better than the baseline; membind=3 is worse."), "{far}");
    assert!(far.contains("membind=3 gives 50.0 % more (50.0 %)") && far.ends_with("code 0\n"), "{far}");

    let moved = part("moved")?;
    assert!(moved.contains("MISPLACED, not counted: block 2"), "{moved}");
    assert!(
        moved.contains("PUs 2") && moved.contains("PUs 7") && moved.contains("something changed its binding"),
        "{moved}"
    );
    Ok(())
}
