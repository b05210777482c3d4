//! `numabench exec --workers`: an engine that starts workers, each of which opens a simulated GPU. On this
//! machine the hook is told of two GPUs with a PU each; in a guest of four NUMA nodes `exec` tells it, and
//! `check --pid` looks at the workers.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::c_program::{compiled, in_guest};
use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::run::{BINARY, Done, Ended, run, skipped, variables};

/// Where the named processes were: `0-after` is the first worker after its last device.
fn places(out: &str) -> BTreeMap<String, String> {
    let place = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let word = |key: &str| rest.split_once(key)?.1.split(' ').next().map(str::to_owned);
        Some((name.to_owned(), format!("{} {}", word("pus=")?, word("policy=")?)))
    };
    out.lines().filter_map(place).collect()
}

/// PUs of this machine: all that this process has, and the first two of them.
struct TwoPus {
    all: String,
    a: String,
    b: String,
}

/// `None` where there is one, which is said.
fn two_pus() -> Result<Option<TwoPus>, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let pus: stats::IdSet = list.trim().parse()?;
    let mut pus = pus.iter();
    let two = pus.next().zip(pus.next());
    if two.is_none() {
        skipped("workers of two GPUs: this machine has one PU");
    }
    let all = list.trim().to_owned();
    Ok(two.map(|(a, b)| TwoPus { all, a: a.to_string(), b: b.to_string() }))
}

const DEVICES: &str = "device 0000:05:00.0; uuid a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0; device 0000:c1:00.0; uuid \
    a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 part b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";

/// Runs the engine with the hook, told so; its words may name the two PUs as `A` and `B`.
fn told(program: &Path, table: &str, set: &[(&str, &str)], words: &[&str]) -> Result<Ended, Box<dyn Error>> {
    let TwoPus { all, a, b } = two_pus()?.ok_or("one PU")?;
    let named = |text: &str| text.replace('A', &a).replace('B', &b);
    let folder = tempfile::tempdir()?;
    let (go, out) = (folder.path().join("go"), folder.path().join("out"));
    // The engine has the number of the shell that becomes it.
    let script = format!(
        "export NUMABENCH_WORKERS=\"1 parent=$$ token=$$.0 affinity={all} report=1 {}\"\n\
         LD_PRELOAD={} exec {} {} {}",
        named(table),
        driver::witness_hook()?.display(),
        program.display(),
        go.display(),
        words.iter().map(|word| named(word)).collect::<Vec<_>>().join(" ")
    );
    let mut command = Command::new("sh");
    let driver = driver::stand_in(if words[0] == "hip" { Driver::Hip } else { Driver::Cuda })?;
    command.args(["-c", &script]).envs(variables(&driver)).env("FAKE_DEVICES", DEVICES);
    command.envs(set.iter().copied()).stdin(Stdio::null()).stderr(Stdio::piped());
    let child = command.stdout(fs::File::create(&out)?).spawn()?;
    let workers = words[1..].iter().filter(|word| !word.starts_with('p')).count();
    await_lines(&out, workers + 1)?;
    fs::write(&go, "")?;
    let output = child.wait_with_output()?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ended::new(output.status.code(), fs::read_to_string(&out)?, err))
}

/// Waits until so many processes have opened their devices.
fn await_lines(out: &Path, count: usize) -> Done {
    let until = Instant::now() + Duration::from_secs(30);
    while fs::read_to_string(out)?.matches("-after ").count() < count {
        if Instant::now() > until {
            return Err(fs::read_to_string(out)?.into());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

const ONE_EACH: &str = "0000:05:00.0=A@ 0000:c1:00.0=B@";

#[test]
fn however_a_worker_is_started_and_reaches_the_driver_it_is_bound_to_its_gpus_pus_and_the_engine_is_not()
-> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { all, a, b }) = two_pus()? else { return Ok(()) };
    for (how, linked) in [("fork", false), ("spawn", false), ("asked", false), ("linked", true)] {
        let Some(program) = compiled("engine", folder.path(), linked)? else { return Ok(()) };
        let ended = told(&program, ONE_EACH, &[], &[how, "0", "1", "c1"])?;
        assert_eq!(ended.code, Some(42), "{how}: {}{}", ended.out, ended.err);
        let seen = places(&ended.out);
        let of = |name: &str| seen.get(name).and_then(|place| place.split(' ').next().map(str::to_owned));
        let pus = [&all, &a, &b, &b].map(|pus| Some(pus.clone()));
        assert_eq!(["engine-late", "0-after", "1-after", "2-late"].map(of), pus, "{how}: {}", ended.out);
        assert_eq!(of("1-before"), Some(all.clone()), "it is bound when it opens a GPU: {}", ended.out);
        assert_eq!(ended.err.matches("PUs ").count(), 3, "a line for each worker: {}", ended.err);
    }
    Ok(())
}

#[test]
fn a_gpu_is_the_drivers_own_whatever_variables_hide_and_a_part_of_it_has_its_place() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { b, .. }) = two_pus()? else { return Ok(()) };
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    let of_uuid = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1";
    for visible in ["1", of_uuid, "MIG-b1b1b1b1-b1b1-b1b1-b1b1-b1b1b1b1b1b1"] {
        let ended = told(&program, ONE_EACH, &[("CUDA_VISIBLE_DEVICES", visible)], &["spawn", "0"])?;
        let place = places(&ended.out).remove("0-after").unwrap_or_default();
        assert_eq!(place.split(' ').next(), Some(&b[..]), "{visible}: {}{}", ended.out, ended.err);
    }
    Ok(())
}

#[test]
fn the_first_device_decides_the_engine_stays_free_and_a_bound_workers_child_has_a_gpu_of_its_own() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { all, a, b }) = two_pus()? else { return Ok(()) };
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    // Of each: the engine's words, who is looked at, its PUs, and what is said of it.
    let cases: [(&[&str], &str, &str, &str); 8] = [
        (&["spawn", "0o1"], "0-after", &a, "0000:C1:00.0 is opened too: nothing changes"),
        (&["fork", "p0", "1"], "engine-late", &all, "left as it was: this is the engine itself"),
        (&["fork", "p0", "1"], "1-after", &b, "GPU 0000:C1:00.0: PUs"),
        (&["fork", "0fo1"], "0-after", &b, "GPU 0000:C1:00.0: PUs"),
        (&["spawn", "0fo1"], "0-after", &b, "GPU 0000:C1:00.0: PUs"),
        (&["spawn", "x9o1"], "0-after", &b, "GPU 0000:C1:00.0: PUs"),
        (&["spawn", "lBo0"], "0-after", &b, "left as it was: it has an affinity of its own"),
        (&["fork", "0lB"], "0-late", &b, "GPU 0000:05:00.0: PUs"),
    ];
    for (words, who, pus, said) in cases {
        let ended = told(&program, ONE_EACH, &[], words)?;
        let place = places(&ended.out).remove(who).unwrap_or_default();
        assert_eq!(place.split(' ').next(), Some(pus), "{words:?}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(said), "{words:?}: {}", ended.err);
        assert_eq!(ended.code, Some(42), "{words:?}: {}{}", ended.out, ended.err);
    }

    let absent = told(&program, "0000:c1:00.0=B@", &[], &["spawn", "0"])?;
    assert_eq!(places(&absent.out)["0-late"].split(' ').next(), Some(&all[..]), "{}", absent.out);
    assert!(absent.err.contains("exec --workers has no cores for it"), "{}", absent.err);
    let unread = told(&program, "0000:05:00.0=", &[], &["spawn", "0"])?;
    assert_eq!(places(&unread.out)["0-late"].split(' ').next(), Some(&all[..]), "{}", unread.out);
    Ok(())
}

#[test]
fn with_hip_the_device_that_is_used_first_decides_and_not_one_that_is_only_chosen() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { all, a, b }) = two_pus()? else { return Ok(()) };
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    let ended = told(&program, ONE_EACH, &[], &["hip", "0", "1", "c1", "x0o1", "0o1"])?;
    assert_eq!(ended.code, Some(42), "{}{}", ended.out, ended.err);
    let seen = places(&ended.out);
    let of = |name: &str| seen.get(name).and_then(|place| place.split(' ').next().map(str::to_owned));
    let expected = [&all, &a, &b, &b, &b, &a].map(|pus| Some(pus.clone()));
    let names = ["engine-late", "0-after", "1-after", "2-after", "3-after", "4-after"];
    assert_eq!(names.map(of), expected, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("GPU 0000:c1:00.0 is opened too: nothing changes"), "{}", ended.err);
    Ok(())
}

#[test]
fn threads_that_bound_themselves_stay_and_the_others_go_with_their_worker() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { a, b, .. }) = two_pus()? else { return Ok(()) };
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    for (word, pus) in [("wo0", &a), ("tBo0", &b)] {
        let ended = told(&program, ONE_EACH, &[], &["spawn", word])?;
        let seen = places(&ended.out);
        let of = |name: &str| seen.get(name).and_then(|place| place.split(' ').next().map(str::to_owned));
        let expected = [pus, &a].map(|pus| Some(pus.clone()));
        assert_eq!(["0-thread", "0-late"].map(of), expected, "{word}: {}", ended.out);
    }
    Ok(())
}

#[test]
fn workers_of_one_gpu_have_parts_of_their_own_and_one_more_than_there_are_has_all() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(TwoPus { a, b, .. }) = two_pus()? else { return Ok(()) };
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    let ended = told(&program, "0000:05:00.0=A|B@", &[], &["spawn", "0", "0", "0"])?;
    let seen = places(&ended.out);
    let mut pus: Vec<&str> = ["0", "1", "2"]
        .iter()
        .filter_map(|worker| seen[&format!("{worker}-after")].split(' ').next())
        .collect();
    pus.sort_unstable();
    let both: stats::IdSet = format!("{a},{b}").parse()?;
    let mut expected = [a, both.to_string(), b];
    expected.sort();
    assert_eq!(pus, expected, "{}{}", ended.out, ended.err);
    Ok(())
}

#[test]
fn without_a_gpu_or_the_library_nothing_is_started_and_the_other_options_of_ranks_are_refused() -> Done {
    let hook = driver::witness_hook()?;
    let hooked = |words: &[&str]| -> Result<Ended, Box<dyn Error>> {
        let mut command = Command::new(BINARY);
        command.arg("exec").args(words).envs(variables(&crate::run::no_driver()));
        Ok(Ended::of(&command.env("NUMABENCH_WITNESS_HOOK", &hook).output()?))
    };
    let topology = run(&["topo", "--json"]).well().json()?;
    if topology["gpus"].as_array().is_some_and(Vec::is_empty) {
        let folder = tempfile::tempdir()?;
        let started = folder.path().join("started");
        hooked(&["--workers", "--", "touch", &started.display().to_string()])?.refused(77, &["GPU"]);
        assert!(!started.exists(), "a program was started that no worker of it could be bound for");
    } else {
        skipped("an engine without a GPU: this machine has one");
    }
    for option in
        [&["--gpu", "near"][..], &["--cores-per-rank", "2"], &["--strategy", "spread"], &["--keep-cpus"]]
    {
        let words = [option, &["--workers", "--", "true"]].concat();
        hooked(&words)?.refused(2, &["--workers", "a worker has the cores of the GPU that it opens"]);
    }
    hooked(&["--workers", "--membind", "0", "--", "true"])?.refused(2, &["--membind none"]);
    hooked(&["--workers=0", "--", "true"])?.refused(2, &["--workers"]);
    run(&["exec", "--workers"]).refused(2, &["<PROGRAM>"]);
    Ok(())
}

/// Shell functions of the guest's script: `begin NAME COMMAND...` starts an engine, `opened COUNT` waits for
/// its workers, `$pids` are theirs, `finish` lets it end and reports what it said.
const FUNCTIONS: &str = r#"
begin() { which=$1; shift; rm -f /tmp/go; "$@" >/tmp/$which.out 2>/tmp/$which.err & engine=$!; }
opened() {
    until [ $(grep -c '^[0-9]*-after ' /tmp/$which.out) -ge $1 ] || ! kill -0 $engine; do sleep 0.05; done
    pids=$(sed -n 's/^[0-9]*-after pid=\([0-9]*\) .*/\1/p' /tmp/$which.out | tr '\n' ',' | sed 's/,$//')
}
finish() { touch /tmp/go; wait $engine; code=$?; cp /tmp/$which.err /tmp/err; report $which $code /tmp/$which.out; }
"#;

/// A GPU of each of the guest's nodes 3, 1, 0 and 2.
const FOUR: &str = "device 0000:c1:00.0; device 0000:c9:00.0; device 0000:d1:00.0; device 0000:d9:00.0";

#[test]
fn in_a_guest_each_worker_is_on_the_cores_and_prefers_the_memory_of_the_gpu_that_it_opens() -> Done {
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled("engine", folder.path(), false)? else { return Ok(()) };
    let programs = in_guest(Driver::Cuda, &program)?;
    let check = "numabench check --json --pid $pids";
    let script = format!(
        "{FUNCTIONS}\n\
        export LD_LIBRARY_PATH=/opt FAKE_DEVICES='{FOUR}'\n\
        begin spawn numabench exec --workers --report -- engine /tmp/go spawn 0 1 2 3\n\
        opened 4; run spawn-check {check}; finish\n\
        begin fork numabench exec --workers --gpus 0,2,4,6 --report -- engine /tmp/go fork h0o0 h0o1 h1o2 h1o3\n\
        opened 4; run fork-check {check}; finish\n\
        begin shared numabench exec --workers=2 --gpus 0,2,4,6 -- engine /tmp/go spawn 0 0 3\n\
        opened 3; run shared-check {check}; finish\n\
        begin own numabench exec --workers --report -- engine /tmp/go spawn m2o0 l1o1 0fo3 0tBo1\n\
        opened 4; finish\n\
        begin none numabench exec --workers --membind none -- engine /tmp/go spawn 1\n\
        opened 1; finish\n\
        run print numabench exec --workers=2 --print\n"
    );
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let Some(mut all) = guest_with("lumig", &programs, &script)? else { return Ok(()) };

    let mut places_of = |name: &str| -> Result<(BTreeMap<String, String>, String), Box<dyn Error>> {
        let ended = take(&mut all, name)?;
        assert_eq!(ended.code, Some(42), "{name}: {}{}", ended.out, ended.err);
        Ok((places(&ended.out), ended.err))
    };
    let after = |seen: &BTreeMap<String, String>, workers: usize| -> Vec<String> {
        (0..workers).map(|worker| seen[&format!("{worker}-after")].clone()).collect()
    };
    let on = |pus: &str, node: u32| format!("{pus} prefer(many):{node}");

    let (spawn, err) = places_of("spawn")?;
    assert_eq!(after(&spawn, 4), [on("6", 3), on("2", 1), on("0", 0), on("4", 2)], "{err}");
    assert_eq!(spawn["engine-late"], "0-7 default", "{err}");
    assert!(err.contains("workers of GPU 0 = 0000:c1:00.0: PUs 6 ("), "{err}");
    assert!(err.contains("GPU 0000:C9:00.0: PUs 2; memory preferred on node 1"), "{err}");
    let (fork, err) = places_of("fork")?;
    assert_eq!(after(&fork, 4), [on("6-7", 3), on("2-3", 1), on("0-1", 0), on("4-5", 2)], "{err}");
    let (shared, _) = places_of("shared")?;
    let mut two = after(&shared, 2);
    two.sort();
    assert_eq!((two, &shared["2-after"]), (vec![on("6", 3), on("7", 3)], &on("4", 2)));
    let (own, err) = places_of("own")?;
    let set_before = after(&own, 3);
    assert!(set_before[0].starts_with("6 prefer") && set_before[0].ends_with(":2"), "{own:?}");
    assert_eq!(set_before[1..], ["1 default".to_owned(), on("4", 2)], "{err}");
    assert!(err.contains("memory as it was: it has a policy of its own"), "{err}");
    let (none, _) = places_of("none")?;
    assert_eq!(after(&none, 1), ["2 default"]);

    for name in ["spawn-check", "fork-check", "shared-check"] {
        let ended = take(&mut all, name)?;
        let document = ended.json()?;
        assert_eq!(ended.code, Some(0), "{name}: {document:#}");
        for rank in document["ranks"].as_array().into_iter().flatten() {
            assert_eq!(rank["placed"], "well placed", "{name}: {document:#}");
        }
        if name == "fork-check" {
            // What the workers had before they opened a GPU lay on other nodes.
            for rank in document["ranks"].as_array().into_iter().flatten() {
                let (pages, preferred) = (&rank["seen"]["pages"]["nodes"], &rank["seen"]["policy"]["nodes"]);
                let most = pages.as_array().into_iter().flatten().max_by_key(|pages| pages["bytes"].as_u64());
                let most = most.ok_or("no pages")?;
                assert_eq!(most["node"], preferred[0], "{document:#}");
                assert!(most["bytes"].as_u64() > Some(20_000_000), "{most}");
            }
        }
    }
    let print = take(&mut all, "print")?;
    let table = "1 parent=0 token=";
    assert!(print.out.contains(table) && print.out.contains(" 0000:c1:00.0=6|"), "{}", print.out);
    assert!(print.out.contains("export LD_PRELOAD='/bin/libnumabench_witness.so'\n"), "{}", print.out);
    Ok(())
}
