//! Where output goes: files that cannot be written, pipes that are closed, standard output for the document
//! alone, colour, quiet.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::driver;
use crate::proof;
use crate::run::{BINARY, Done, Ended, end, host, no_driver, numabench, run, skipped, spawnable, variables};

/// A run of no time.
const QUICK: [&str; 8] = ["--gpus", "0", "--size", "4KiB", "--reps", "6", "--direction", "h2d"];

fn quick(more: &[&str]) -> Ended {
    host(&[&QUICK, more].concat())
}

#[test]
fn a_document_that_cannot_be_written_is_refused_before_the_run() -> Done {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let tripped = folder.path().join("driver-was-loaded");
    let refuse = |path: &str, code: i32| -> Result<String, Box<dyn std::error::Error>> {
        let mut command = crate::run::with_driver(&driver::tripwire()?);
        command.args(["pingpong", "--json", path]).env("TRIPWIRE", &tripped);
        let ended = end(&mut command, QUICK).refused(code, &[path]);
        assert!(!tripped.exists(), "the file is tried before any driver is");
        // Who may not write is told something else by the system than root is.
        let (said, rest) = ended.err.split_once(" failed (").unwrap_or((&ended.err, ""));
        let rest =
            rest.split_once("); ").map_or_else(String::new, |(_, rest)| format!(" failed (WHY); {rest}"));
        Ok(format!("{said}{rest}").replace(&folder.path().display().to_string(), "FOLDER"))
    };
    fs::write(at("file"), "")?;
    let mut said = String::new();
    for (path, code) in [
        (&*folder.path().display().to_string(), 2),
        (&at("no/such/result.json"), 2),
        (&at("file/result.json"), 1),
        // /proc takes no files from anybody, root included.
        ("/proc/numabench.json", 1),
        ("/dev/null", 2),
        ("", 2),
    ] {
        said += &refuse(path, code)?;
    }
    insta::assert_snapshot!(said, @"
    numabench: error: FOLDER is a folder: name a file in it, e.g. FOLDER/result.json
    numabench: error: FOLDER/no/such/result.json cannot be written, because there is no folder FOLDER/no/such: make it (mkdir -p FOLDER/no/such) or name another file
    numabench: error: FOLDER/file/result.json cannot be written: looking it up failed (WHY); name a file in a folder that is yours and has room
    numabench: error: /proc/numabench.json cannot be written: making a file beside it failed (WHY); name a file in a folder that is yours and has room
    numabench: error: /dev/null is not a regular file, and a document is replaced as a whole: name a file, or `-` for standard output
    error: a value is required for '--json [<FILE|->]' but none was supplied

    For more information, try '--help'.
    ");
    Ok(())
}

#[test]
fn a_document_in_a_file_is_the_one_that_standard_output_gets_and_the_table_is_printed_too() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    let table = quick(&["--json", &path.display().to_string()]).well();
    assert!(
        table.out.contains("complete") && table.out.contains(&path.display().to_string()),
        "{}",
        table.out
    );
    let written = proof::file(&path)?;
    proof::agrees(&written, table.code)?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 1, "nothing else is left in the folder");
    let printed = proof::document(&quick(&["--json", "-"]).well())?;
    assert_eq!(proof::case_ids(&written), proof::case_ids(&printed));
    Ok(())
}

#[test]
fn an_older_document_is_replaced_only_by_a_run_that_begins() -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json");
    fs::write(&path, "an older one")?;
    let name = path.display().to_string();
    host(&["--cpus", "60000", "--json", &name]).refused(2, &["PU 60000"]);
    assert_eq!(fs::read_to_string(&path)?, "an older one");
    quick(&["--json", &name]).well();
    proof::file(&path)?;
    Ok(())
}

/// What happens with a standard output that nobody reads.
fn into_a_closed_pipe(args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let output = spawnable(&no_driver()).args(args).stdout(writer).stderr(Stdio::piped()).output()?;
    Ok(Ended::of(&output))
}

#[test]
fn a_closed_pipe_is_no_error_and_says_nothing() -> Done {
    let run = [&["pingpong", "--backend", "host"], &QUICK[..]].concat();
    for args in [
        &["topo"][..],
        &["topo", "--json"],
        &["--help"],
        &["pingpong", "--help"],
        &["pingpong", "--backend", "host", "--dry-run"],
        &run,
        &[&run[..], &["--json", "-"]].concat(),
    ] {
        let ended = into_a_closed_pipe(args)?;
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{args:?}");
    }
    Ok(())
}

#[test]
fn a_reader_that_takes_one_line_or_one_byte_gets_it_without_a_complaint() -> Done {
    let shell = |script: &str| -> Result<Ended, Box<dyn std::error::Error>> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, BINARY]).envs(variables(&no_driver()));
        Ok(Ended::of(&shell.output()?))
    };
    let ended = shell("{ \"$0\" topo; echo \"exit $?\" >&2; } | head -1")?;
    assert_eq!((ended.out.lines().count(), ended.err.as_str()), (1, "exit 0\n"), "{}", ended.out);
    let many = "pingpong --backend host --gpus 0 --size 4B..64KiB --reps 10 --json -";
    let ended = shell(&format!("{{ \"$0\" {many}; echo \"exit $?\" >&2; }} | head -c 1"))?;
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("{", "exit 0\n"));
    Ok(())
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_that_says_so() -> Done {
    let full = Path::new("/dev/full");
    if !full.exists() {
        skipped("a full disk: there is no /dev/full");
        return Ok(());
    }
    let output =
        spawnable(&no_driver()).arg("topo").stdout(File::options().write(true).open(full)?).output()?;
    insta::assert_snapshot!(Ended::of(&output).refused(1, &[]).err, @"numabench: error: cannot write to \
        standard output: No space left on device (os error 28)");
    Ok(())
}

#[test]
fn with_the_document_on_standard_output_nothing_else_is_there() -> Done {
    for more in [&["--json", "-"][..], &["--json", "-", "-q"], &["--json", "-", "--color", "never"]] {
        let ended = quick(more).well();
        proof::document(&ended)?;
        assert!(ended.out.starts_with('{') && ended.out.ends_with("}\n"), "{}", ended.out);
    }
    Ok(())
}

#[test]
fn quiet_leaves_the_numbers_and_what_they_must_not_be_read_without() {
    let (all, quiet) = (quick(&[]).well().out, quick(&["-q"]).well().out);
    for kept in ["NO GPU: ", "median", "GB/s", "copy"] {
        assert!(quiet.contains(kept) && all.contains(kept), "{kept}: {quiet}");
    }
    for dropped in ["Settings", "Devices"] {
        assert!(!quiet.contains(dropped) && all.contains(dropped), "{dropped}: {quiet}");
    }
    assert!(quiet.lines().count() < all.lines().count());
}

#[test]
fn colour_is_there_only_when_asked_for_or_on_a_terminal() {
    let escape = "\u{1b}[";
    for more in [&["--color", "never"][..], &["--color", "auto"], &[]] {
        assert!(!quick(more).well().out.contains(escape), "{more:?}");
    }
    assert!(quick(&["--color", "always"]).well().out.contains(escape));
    let mut told = numabench();
    told.env("NO_COLOR", "1").args(["pingpong", "--backend", "host", "--color", "always"]);
    assert!(end(&mut told, QUICK).well().out.contains(escape), "what was asked for by name counts more");
}

#[test]
fn on_a_terminal_no_color_is_heeded() -> Done {
    let command = format!("{BINARY} pingpong --backend host {}", QUICK.join(" "));
    let on_a_terminal = |no_color: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).envs(variables(&no_driver())).stdin(Stdio::null());
        script.env("NO_COLOR", no_color).env("TERM", "xterm").output()
    };
    let Ok(coloured) = on_a_terminal("") else {
        skipped("colour on a terminal: there is no script(1) here");
        return Ok(());
    };
    let (coloured, plain) = (Ended::of(&coloured), Ended::of(&on_a_terminal("1")?));
    // A colour or an attribute is set by `ESC [ … m`; the progress line's own movements are not.
    let sets_colour = |text: &str| {
        text.split("\u{1b}[")
            .skip(1)
            .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
    };
    assert_eq!((coloured.code, plain.code), (Some(0), Some(0)));
    assert!(sets_colour(&coloured.out), "{}", coloured.out);
    assert!(!sets_colour(&plain.out), "{}", plain.out);
    Ok(())
}

#[test]
fn a_table_fits_the_columns_there_are_between_80_and_120() {
    for (columns, fits) in [("80", 80), ("100", 100), ("120", 120), ("10", 80), ("500", 120)] {
        let mut command = numabench();
        let ended =
            end(command.env("COLUMNS", columns).args(["pingpong", "--backend", "host"]), QUICK).well();
        let widest = ended.out.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= fits, "{widest} columns where {columns} were given:\n{}", ended.out);
    }
}

#[test]
fn topo_as_json_is_one_value_that_names_this_machines_pus() -> Done {
    let topology = run(&["topo", "--json"]).well().json()?;
    assert_eq!(proof::text(&topology, "/source/kind"), "this-system");
    assert!(!proof::list(&topology, "/pus").is_empty() && !proof::list(&topology, "/nodes").is_empty());
    Ok(())
}

#[test]
fn a_document_is_printed_alone_or_written_beside_what_is_printed_otherwise() -> Done {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("document.json").display().to_string();
    let [saved, other] = ["a.xml", "b.xml"].map(|name| folder.path().join(name).display().to_string());
    for path in [&saved, &other] {
        run(&["topo", "--save", path]).well();
    }
    let written = format!("--json={file}");
    for command in [&["topo"][..], &["doctor", "--input", &saved], &["topo", "diff", &saved, &other]] {
        let shown = |more: &[&str]| run(&[command, more].concat());
        let printed = shown(&["--json"]).json()?;
        let beside = shown(&[&written]);
        let kept: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
        assert_eq!(kept["schema"], printed["schema"], "{command:?}");
        // Free memory in later lines is that of the moment.
        assert_eq!(beside.out.lines().next(), shown(&[]).out.lines().next(), "{command:?}");
    }
    // What would be written to one place is refused; a file is written whatever standard output gets.
    run(&["topo", "--svg", "-", "--json"]).refused(2, &["--svg", "--json"]);
    fs::remove_file(&file)?;
    assert!(run(&["topo", "--svg", "-", &written]).well().out.contains("<svg"));
    assert!(fs::exists(&file)?);
    Ok(())
}

/// A run into `path` that goes on until it is told to end, its temporary folder being `temporary`.
fn long(path: &Path, temporary: &Path) -> std::io::Result<std::process::Child> {
    let mut command = spawnable(&no_driver());
    command.args(["pingpong", "--backend", "host", "--gpus", "0", "--size", "64KiB", "--direction", "h2d"]);
    command.args(["--reps", "3000000", "--json"]).arg(path).env("TMPDIR", temporary);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// The only file in this folder.
fn only_file(folder: &Path) -> Result<std::path::PathBuf, Box<dyn std::error::Error>> {
    let paths: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    match paths.as_slice() {
        [path] => Ok(path.clone()),
        others => Err(format!("{others:?}").into()),
    }
}

#[test]
fn a_document_whose_folder_goes_away_is_kept_elsewhere_and_the_table_comes() -> Done {
    let (folder, temporary) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let within = folder.path().join("within");
    fs::create_dir(&within)?;
    let path = within.join("result.json");
    let child = long(&path, temporary.path())?;
    let began = std::time::Instant::now();
    while !path.exists() && began.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::remove_dir_all(&within)?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let ended = Ended::of(&child.wait_with_output()?);
    assert_eq!(ended.code, Some(130), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("H2D") && ended.out.contains("INTERRUPTED"), "{}", ended.out);
    let kept = only_file(temporary.path())?;
    // What did not work, and whether it was seen before, depends on when the folder went.
    let last = ended.err.lines().last().unwrap_or_default().replace(&kept.display().to_string(), "KEPT");
    let said = last.split(&path.display().to_string()).next().unwrap_or_default();
    insta::assert_snapshot!(said, @"numabench: error: the document is in KEPT, because its own file could \
        not take it:");
    assert!(ended.out.contains(&kept.display().to_string()), "{}", ended.out);
    let document = proof::file(&kept)?;
    assert_eq!(document["status"], "interrupted", "{document:#}");
    Ok(())
}

#[test]
fn a_document_that_standard_output_does_not_take_is_kept_in_the_temporary_folder() -> Done {
    for (command, more) in [
        ("pingpong", &["--backend", "host", "--gpus", "0", "--size", "4KiB", "--reps", "6"][..]),
        ("place", &[]),
    ] {
        let temporary = tempfile::tempdir()?;
        let mut run = spawnable(&no_driver());
        run.arg(command).args(more).args(["--json", "-"]).env("TMPDIR", temporary.path());
        let output =
            run.stdout(File::options().write(true).open("/dev/full")?).stderr(Stdio::piped()).output()?;
        let ended = Ended::of(&output);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        let kept = only_file(temporary.path())?;
        assert!(ended.err.contains(&kept.display().to_string()), "{}", ended.err);
        let document: serde_json::Value = serde_json::from_slice(&fs::read(&kept)?)?;
        assert!(
            document["schema"].as_str().is_some_and(|schema| schema.starts_with("numabench.")),
            "{document:#}"
        );
    }
    Ok(())
}

#[test]
fn a_disk_without_room_is_found_before_the_run() -> Done {
    let arguments = QUICK.join(" ");
    let script = |prepare: &str, path: &str| {
        format!("{prepare}; exec {BINARY} pingpong --backend host {arguments} --json {path}")
    };
    let limited = |script: &str, program: &[&str]| -> Result<Ended, Box<dyn std::error::Error>> {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(["sh", "-c", script]).envs(variables(&no_driver()));
        Ok(Ended::of(&command.output()?))
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("result.json").display().to_string();
    // The limit of a file's size, in blocks of 512 or 1024 bytes: it ends no process, it is a message.
    limited(&script("ulimit -f 4", &path), &["env"])?.refused(1, &["there is no room", "ulimit -f"]);
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);

    let small = script("mount -t tmpfs -o size=4k none /mnt || exit 77", "/mnt/result.json");
    let full = limited(&small, &["unshare", "--mount", "--map-root-user"])?;
    if full.code == Some(77) || full.err.starts_with("unshare") {
        skipped(&format!("a full disk: no mount namespace of one's own ({})", full.err));
        return Ok(());
    }
    full.refused(1, &["/mnt/result.json cannot be written", "there is no room", "make room"]);
    Ok(())
}

#[test]
fn no_writer_of_a_file_dies_of_a_limit_of_its_size() -> Done {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let result = at("result.json");
    quick(&["--json", &result]).well();
    let bigger = at("bigger.json");
    host(&["--gpus", "0", "--size", "4KiB..64KiB", "--reps", "6", "--json", &bigger]).well();
    for (line, file) in [
        (format!("report {bigger} -o {}", at("report.html")), "report.html"),
        (format!("export {bigger} --to csv -o {}", at("table.csv")), "table.csv"),
        (format!("compare {result} {result} --json {}", at("compared.json")), "compared.json"),
        (format!("baseline {result} -o {}", at("baseline.json")), "baseline.json"),
        (format!("topo --save {}", at("machine.xml")), "machine.xml"),
        (format!("topo --svg {}", at("machine.svg")), "machine.svg"),
        (format!("man --dir {}", at("man")), "man"),
        (format!("place --json {}", at("place.json")), "place.json"),
        (format!("trial --vary X=1 --json {} -- true", at("trial.json")), "trial.json"),
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f 1; exec {BINARY} {line}")]).envs(variables(&no_driver()));
        let ended = Ended::of(&command.current_dir(folder.path()).output()?);
        assert_eq!(ended.code, Some(1), "{line}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains("error: ") && ended.err.contains(file), "{line}: {}", ended.err);
    }
    Ok(())
}

#[test]
fn a_closed_standard_output_is_no_success() -> Done {
    for line in [
        "topo",
        "pingpong --backend host --gpus 0 --size 4KiB --reps 6",
        "--version --verbose",
        "schema result",
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {BINARY} {line} >&-")]).envs(variables(&no_driver()));
        let ended = Ended::of(&command.output()?);
        assert_eq!(ended.code, Some(1), "{line}: {}", ended.err);
        assert!(line.starts_with("--") || ended.err.contains("standard output"), "{line}: {}", ended.err);
    }
    Ok(())
}
