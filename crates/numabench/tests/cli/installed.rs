//! What an installation brings beside the binary's work: its version, its manual pages and its completions,
//! held against the tools and shells that read them, where they are on this machine.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{BINARY, Done, end, host, numabench, run, skipped};

fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What this program says, on both streams, to `input`.
fn program_output(program: &str, args: &[&str], input: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env("MANWIDTH", "100").env("LC_ALL", "C.UTF-8").spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(input)?;
    let output = child.wait_with_output()?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// The commit in `numabench VERSION (commit …, KIND build for TARGET)`.
fn commit(version: &str) -> Option<String> {
    let (_, after) = version.split_once("(commit ")?;
    Some(after.split(',').next()?.to_owned())
}

#[test]
fn the_version_is_one_line_with_commit_and_build_and_documents_have_the_same_commit() -> Done {
    let text = run(&["--version"]).well().out;
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with(&format!("numabench {} (", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(text.contains(std::env::consts::ARCH), "{text}");
    let checkout = Command::new("git").args(["ls-files", "--error-unmatch", "build.rs"]).output();
    if checkout.is_ok_and(|output| output.status.success()) {
        let hash = commit(&text).ok_or("a checkout has a commit")?;
        assert!(
            hash.len() >= 12 && hash.trim_end_matches('+').chars().all(|c| c.is_ascii_hexdigit()),
            "{text}"
        );
    }
    let document = host(&["--gpus", "0", "--size", "4KiB", "--reps", "1", "--json", "-"]).json()?;
    assert_eq!(document["tool"]["git"].as_str().map(str::to_owned), commit(&text));
    Ok(())
}

#[test]
fn the_whole_version_names_hwloc_and_every_plug_in_with_what_it_is() -> Done {
    let text = end(numabench().env("NUMABENCH_MPI", ""), ["--version", "--verbose"]).well().out;
    assert!(text.contains("\nhwloc: ") && text.contains("plug-in: "), "{text}");
    let text = end(numabench().env("NUMABENCH_MPI", "/nonexistent/x.so"), ["-V", "-v"]).well().out;
    let absent: Vec<&str> = text.lines().filter(|line| line.contains("/nonexistent/x.so")).collect();
    insta::assert_snapshot!("a_plug_in_that_is_not_there", absent.join("\n"));

    // Files that are no plug-ins, in a release's folders: each is asked by a process of its own, and said.
    let release = tempfile::tempdir()?;
    let binary = release.path().join("bin/numabench");
    fs::create_dir_all(release.path().join("bin"))?;
    fs::copy(BINARY, &binary)?;
    for family in ["openmpi", "mpich", "mpi-abi"] {
        let folder = release.path().join("lib/numabench").join(family);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("libnumabench_mpi.so"), "no library")?;
    }
    let output = Command::new(&binary).arg("-Vv").env_remove("NUMABENCH_MPI").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for family in ["openmpi", "mpich", "mpi-abi"] {
        let line = text.lines().find(|line| line.contains(&format!("/{family}/")));
        assert!(line.is_some_and(|line| line.ends_with("fit")), "{text}");
    }
    run(&["-v", "topo"]).refused(2, &["--version"]);
    Ok(())
}

#[test]
fn every_command_has_a_manual_page_that_the_manuals_own_checks_accept() -> Done {
    let folder = tempfile::tempdir()?;
    run(&["man", "--dir", &folder.path().join("man1").display().to_string()]).well();
    let pages: Vec<_> = fs::read_dir(folder.path().join("man1"))?.collect::<Result<_, _>>()?;
    let commands = run(&["--help"]).well().out;
    let listed =
        commands.lines().take_while(|line| *line != "Options:").filter_map(|line| line.strip_prefix("  "));
    let names: Vec<&str> =
        listed.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect();
    assert!(names.len() > 20, "{names:?}");
    for command in names {
        let page = folder.path().join(format!("man1/numabench-{command}.1"));
        let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
        assert!(text.contains(".SH EXAMPLES") && text.contains(".SH \"EXIT STATUS\""), "{command}");
    }
    let pingpong = fs::read_to_string(folder.path().join("man1/numabench-pingpong.1"))?;
    let synopsis = pingpong
        .split(".SH")
        .find(|section| section.trim_start().starts_with("SYNOPSIS"))
        .unwrap_or_default();
    for option in
        [r"[\fB\-\-gpus\fR \fILIST\fR]", r"[\fB\-\-color\fR \fIauto|always|never\fR]", r"[\fB\-\-full\fR]"]
    {
        assert!(synopsis.contains(option), "{option}: {synopsis}");
    }
    let first = run(&["man"]).well().out;
    assert_eq!(first, fs::read_to_string(folder.path().join("man1/numabench.1"))?);

    if is_here("man") {
        for page in &pages {
            let warnings = program_output(
                "man",
                &["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", &page.path().display().to_string()],
                b"",
            )?;
            let warnings: Vec<_> = warnings.lines().filter(|line| line.contains("warning")).collect();
            assert_eq!(warnings, [""; 0], "{}", page.path().display());
        }
    } else {
        skipped("groff's warnings of the manual pages: there is no man");
    }
    if is_here("mandoc") {
        for page in &pages {
            let found = program_output(
                "mandoc",
                &["-T", "lint", "-W", "warning", &page.path().display().to_string()],
                b"",
            )?;
            assert_eq!(found, "", "{}", page.path().display());
        }
    } else {
        skipped("mandoc's lint of the manual pages: there is no mandoc");
    }
    Ok(())
}

#[test]
fn each_shell_reads_its_completions_and_completes_a_command() -> Done {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(run(&["completions", shell]).well().out.contains("pingpong"), "{shell}");
    }
    run(&["completions", "csh"]).refused(2, &["csh", "bash"]);
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (shell, name) in [("bash", "numabench.bash"), ("zsh", "_numabench"), ("fish", "numabench.fish")] {
        fs::write(file(name), run(&["completions", shell]).well().out)?;
    }
    completes(
        "bash",
        &[
            "--norc",
            "-c",
            &format!(
                "source {} && COMP_WORDS=(numabench ping) COMP_CWORD=1 && _numabench numabench ping \
                 numabench && echo \"${{COMPREPLY[@]}}\"",
                file("numabench.bash")
            ),
        ],
    )?;
    completes(
        "zsh",
        &[
            "-f",
            "-c",
            &format!(
                "fpath=({0} $fpath); autoload -Uz compinit && compinit -u -d {0}/dump && (( \
                 $+functions[_numabench] )) && [[ ${{_comps[numabench]}} == _numabench ]] && autoload +X \
                 _numabench && which _numabench",
                folder.path().display()
            ),
        ],
    )?;
    completes(
        "fish",
        &["--no-config", "-c", &format!("source {}; complete -C 'numabench ping'", file("numabench.fish"))],
    )
}

/// Holds what a shell says of `numabench ping`.
fn completes(shell: &str, args: &[&str]) -> Done {
    if !is_here(shell) {
        skipped(&format!("{shell}'s completions: there is no {shell}"));
        return Ok(());
    }
    let text = program_output(shell, args, b"")?;
    assert!(text.contains("pingpong"), "{shell}: {text}");
    Ok(())
}

/// A release's folder with this binary and the module files, as an archive has it.
fn release() -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let release = tempfile::tempdir()?;
    let modules = release.path().join("share/modulefiles/numabench");
    fs::create_dir_all(&modules)?;
    fs::create_dir(release.path().join("bin"))?;
    std::os::unix::fs::symlink(BINARY, release.path().join("bin/numabench"))?;
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/modulefiles");
    fs::copy(ours.join("numabench.tcl"), modules.join("1.0"))?;
    fs::copy(ours.join("numabench.lua"), modules.join("1.0.lua"))?;
    Ok(release)
}

#[test]
fn module_systems_find_the_release_by_the_module_files_own_place() -> Done {
    let release = release()?;
    let root = fs::canonicalize(release.path())?.display().to_string();
    let systems =
        [("Environment Modules", "/usr/bin/modulecmd"), ("Lmod", "/usr/share/lmod/lmod/libexec/lmod")];
    for (system, command) in systems {
        if !Path::new(command).is_file() {
            skipped(&format!("the module file of {system}: there is no {command}"));
            continue;
        }
        let mut load = Command::new(command);
        load.args(["bash", "load", "numabench"]).env("PATH", "/usr/bin:/bin").env_remove("MANPATH");
        load.env("MODULEPATH", format!("{root}/share/modulefiles")).env_remove("LOADEDMODULES");
        let output = load.output()?;
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        let ask = format!("{script}\nnumabench --version && echo \"$MANPATH $NUMABENCH_JOBS\"");
        let said = program_output("bash", &["--norc", "-c", &ask], b"")?;
        assert!(
            said.contains("numabench ") && said.contains(std::env::consts::ARCH),
            "{system}: {said}{script}"
        );
        assert!(said.contains(&format!("{root}/share/man:")), "{system}: {said}");
        assert!(said.contains(&format!("{root}/share/numabench/jobs")), "{system}: {said}");
    }
    Ok(())
}

#[test]
fn pages_that_cannot_be_written_are_named() -> Done {
    let file = tempfile::NamedTempFile::new()?;
    let below = file.path().join("man1").display().to_string();
    run(&["man", "--dir", &below]).refused(1, &[below.as_str()]);
    assert!(Path::new(&below).metadata().is_err());
    Ok(())
}
