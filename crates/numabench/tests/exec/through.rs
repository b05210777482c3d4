//! The program is the one that was asked for, started as it was asked for: its arguments, environment,
//! signals, files and end.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::{BINARY, Done, end, no_driver, numabench, run, spawnable};

/// The same shell line without numabench and with it: `@` stands for where it is put.
fn both(line: &str) -> Result<(String, String), Box<dyn std::error::Error>> {
    let shown = |exec: &str| -> Result<String, Box<dyn std::error::Error>> {
        let output =
            Command::new("bash").args(["-c", &line.replace('@', exec)]).stdin(Stdio::null()).output()?;
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    Ok((shown("")?, shown(&format!("{BINARY} exec --"))?))
}

#[test]
fn arguments_arrive_byte_for_byte() -> Done {
    let odd: [&OsStr; 9] = [
        "two words".as_ref(),
        "it's \"quoted\" $HOME `x` \\".as_ref(),
        "two\nlines\n".as_ref(),
        "".as_ref(),
        "--".as_ref(),
        "--report".as_ref(),
        "-x".as_ref(),
        "*".as_ref(),
        OsStr::from_bytes(b"\xff\xfe not text"),
    ];
    let mut command = numabench();
    command.args(["exec", "--", "sh", "-c", "printf '%s\\0' \"$0\" \"$@\"", "name"]).args(odd);
    let output = command.output()?;
    let expected: Vec<u8> =
        [OsStr::new("name")].iter().chain(&odd).flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
    assert_eq!(output.stdout, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    Ok(())
}

#[test]
fn a_program_needs_no_dashes_before_it_and_keeps_its_own() {
    let plain = run(&["exec", "--membind", "none", "printf", "<%s>", "--report", "--", "-x"]);
    assert_eq!((plain.code, plain.out.as_str()), (Some(0), "<--report><--><-x>"), "{}", plain.err);
    run(&["exec", "--reprot", "true"]).refused(2, &["--reprot"]);
}

#[test]
fn the_exit_code_is_the_programs() {
    for code in [0, 1, 2, 77, 200] {
        let ended = run(&["exec", "--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(code), ""));
    }
}

#[test]
fn a_program_that_is_not_found_is_127_and_one_that_cannot_be_executed_126() -> Done {
    run(&["exec", "--", "no-such-program-anywhere"]).refused(127, &["cannot start no-such-program-anywhere"]);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("plain");
    std::fs::write(&file, "echo ran\n")?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    run(&["exec", "--", &file.display().to_string()]).refused(126, &["cannot start", "Permission denied"]);
    // As a shell does with a script that has no first line of its own.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    assert_eq!(run(&["exec", "--", &file.display().to_string()]).well().out, "ran\n");
    Ok(())
}

#[test]
fn a_program_is_needed() {
    run(&["exec"]).refused(2, &["<PROGRAM>"]);
    run(&["exec", "--"]).refused(2, &["<PROGRAM>"]);
}

#[test]
fn the_program_is_this_very_process_and_a_signal_is_its_own() -> Done {
    let mut command = spawnable(&no_driver());
    command.args(["exec", "--", "sh", "-c", "echo $$; exec sleep 1000"]).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    let out = child.stdout.as_mut().ok_or("no standard output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
    assert_eq!(line.trim().parse(), Ok(child.id()), "no process stands between");
    kill_process(Pid::from_child(&child), Signal::TERM)?;
    assert_eq!(child.wait()?.signal(), Some(15));
    Ok(())
}

#[test]
fn signals_are_ignored_blocked_and_handled_as_without_numabench() -> Done {
    // Not SigQ: that counts the signals queued for all of the user's processes.
    let look = "grep -E '^Sig[^Q]|^ShdPnd' /proc/self/status";
    for before in ["", "trap '' HUP USR2;", "trap '' PIPE;"] {
        let (without, with) = both(&format!("{before} exec @ {look}"))?;
        assert_eq!(with, without, "{before}");
    }
    let (without, with) = both(&format!("exec env --block-signal=USR1,TERM --ignore-signal=INT @ {look}"))?;
    assert_eq!(with, without);
    assert!(!with.contains("SigBlk:\t0000000000000000"), "nothing was blocked, so nothing was tried: {with}");
    Ok(())
}

#[test]
fn open_files_the_folder_and_limits_are_as_without_numabench() -> Done {
    for line in [
        "exec 7</dev/null 9>/dev/null; exec @ ls /proc/self/fd",
        "cd /tmp; umask 027; ulimit -n 200; exec @ sh -c 'pwd; umask; ulimit -n'",
    ] {
        let (without, with) = both(line)?;
        assert_eq!(with, without, "{line}");
    }
    Ok(())
}

#[test]
fn the_environment_has_openmps_variables_more_and_nothing_less() -> Done {
    let of = |text: String| -> BTreeSet<String> { text.split('\0').map(str::to_owned).collect() };
    let line = "ODD=$'two\\nlines' BAD=$'\\xff' OMP_NUM_THREADS= OMP_PROC_BIND= exec env -u OMP_NUM_THREADS \
        -u OMP_PROC_BIND @ env -0";
    let (without, with) = both(line)?;
    let (without, with) = (of(without), of(with));
    let lost: Vec<&String> = without.difference(&with).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let more: Vec<&str> =
        with.difference(&without).filter_map(|more| more.split_once('=')).map(|more| more.0).collect();
    assert_eq!(more, ["OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND"]);
    Ok(())
}

#[test]
fn no_gpu_runtime_no_management_library_and_no_mpi_is_loaded() -> Done {
    let folder = tempfile::tempdir()?;
    let mut command = numabench();
    command.env("LD_DEBUG", "files").env("LD_DEBUG_OUTPUT", folder.path().join("loaded"));
    end(&mut command, ["exec", "--print"]).well();
    let mut loaded = String::new();
    for entry in std::fs::read_dir(folder.path())? {
        loaded.push_str(&std::fs::read_to_string(entry?.path())?);
    }
    assert!(loaded.contains("libhwloc"), "the loader says what it loads: {loaded}");
    // Not libOpenCL: hwloc opens its own plug-ins with what they are linked with, and only then hears which
    // of them may do something.
    for library in ["libcuda", "libnvidia", "libamdhip", "libhsa", "rocm_smi", "libmpi", "libpmi", "_mpi.so"]
    {
        let found = loaded.lines().find(|line| {
            line.contains(&format!("file={library}")) || line.contains(&format!("{library}.so"))
        });
        assert_eq!(found, None, "{library}");
    }
    Ok(())
}
