//! The pages under `docs/`: every command in their `console` blocks is run, ends as the page says, and prints
//! what the page shows.
//!
//! A page is run in a folder of its own, its commands one after the other, with the binary under test first
//! in the path and no driver; in a block marked `gpus` with two devices of the stand-in driver whose rates
//! are described, so that a busy machine makes them no slower. `# exit code 0 or 6` behind a command says how
//! it may end; `3 on a busy machine` counts only with that for a reason. In what is shown, `…` stands for
//! anything (a line of it alone for any lines), and the lines must come in that order.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver;
use crate::run::{BINARY, Done, Ended, no_driver, skipped, variables};

/// How a page says that a command is partial only where other programs take the cores; and what the program
/// may then say.
const ON_A_BUSY_MACHINE: &str = "or 3 on a busy machine";
const BUSY: [&str; 2] = [
    "Status: PARTIAL: all ranks were at work in only",
    "no figure (skipped: the run ended before its first block)",
];

/// The devices of a block marked `gpus`.
const GPUS: &str = "repeats skip; device 0000:05:00.0; h2d 25GB/s 1us; d2h 25GB/s 1us; device 0000:c1:00.0; \
    h2d 25GB/s 1us; d2h 25GB/s 1us";

/// A command of a page.
struct Step {
    line: String,
    gpus: bool,
    codes: Vec<i32>,
    shown: Vec<String>,
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The codes of `# exit code 0, 5 or 6`; 0 where nothing is said.
fn codes(line: &str) -> Vec<i32> {
    let Some((_, said)) = line.split_once("# exit code ") else { return vec![0] };
    said.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// The commands of a page's `console` blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(kind), None) => block = Some(kind),
            (None, Some("console" | "console gpus")) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    line: command.to_owned(),
                    gpus: block == Some("console gpus"),
                    codes: codes(command),
                    shown: Vec::new(),
                }),
                (None, Some(step)) => step.shown.push(line.to_owned()),
                (None, None) => panic!("a block begins with what is shown: {line}"),
            },
            _ => {}
        }
    }
    steps
}

/// Whether a line is what is shown, where `…` stands for anything.
fn is_shown(line: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// The first line shown that the output does not have behind those before it.
fn missing<'a>(output: &str, shown: &'a [String]) -> Option<&'a str> {
    let mut lines = output.lines();
    shown.iter().map(String::as_str).find(|shown| !lines.by_ref().any(|line| is_shown(line, shown)))
}

/// Which of the tools of others that pages use are not here: jq, and a Python with pandas.
/// `NUMABENCH_TEST_PYTHON` names another interpreter, which pages then find under its usual name in these
/// folders.
fn lacking_tools(
    first: &tempfile::TempDir,
    second: &tempfile::TempDir,
) -> Result<Vec<&'static str>, Box<dyn std::error::Error>> {
    let interpreter = std::env::var("NUMABENCH_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let works = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
    };

    let mut lacking = Vec::new();
    if !works("jq", &["--version"]) {
        lacking.push("jq");
    }
    if !works(&interpreter, &["-c", "import pandas"]) {
        lacking.push("python3");
    } else if interpreter != "python3" {
        for folder in [first, second] {
            let program = folder.path().join("python3");
            fs::write(&program, format!("#!/bin/sh\nexec '{interpreter}' \"$@\"\n"))?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(lacking)
}

/// Runs a page's commands; the folder has these files of the repository.
fn followed(page: &str, files: &[&str]) -> Done {
    let text = fs::read_to_string(docs().join(page))?;
    let (folder, programs, with_gpus) = (tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?);
    std::os::unix::fs::symlink(BINARY, programs.path().join("numabench"))?;
    let program = with_gpus.path().join("numabench");
    let library = driver::fake()?.join("libcuda.so.1");
    fs::write(&program, format!("#!/bin/sh\nLD_PRELOAD='{}' exec '{BINARY}' \"$@\"\n", library.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    for file in files {
        let from = docs().join("..").join(file);
        fs::copy(&from, folder.path().join(from.file_name().ok_or("a file without a name")?))?;
    }
    let others = std::env::var("PATH").unwrap_or_default();
    let lacking = lacking_tools(&programs, &with_gpus)?;
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{page} has no command");
    for step in steps {
        if let Some(tool) = lacking.iter().find(|tool| step.line.split_whitespace().next() == Some(**tool)) {
            skipped(&format!("{page}: {tool} is not here, or has no pandas, for {}", step.line));
            continue;
        }
        let (driver, first) =
            if step.gpus { (driver::fake()?, &with_gpus) } else { (no_driver(), &programs) };
        let mut command = Command::new("sh");
        command.args(["-c", &step.line]).envs(variables(&driver)).current_dir(&folder);
        command.env("PATH", format!("{}:{others}", first.path().display())).env("FAKE_DEVICES", GPUS);
        let ended = Ended::of(&command.stdin(std::process::Stdio::null()).output()?);
        let said = format!("{}{}", ended.out, ended.err);
        let code = ended.code.unwrap_or(-1);
        assert!(step.codes.contains(&code), "{page}: {} ended with {code}:\n{said}", step.line);
        let busy = code == 3 && step.line.ends_with(ON_A_BUSY_MACHINE);
        assert!(
            !busy || BUSY.iter().any(|why| said.contains(why)),
            "{page}: {} is partial for another reason:\n{said}",
            step.line
        );
        let missing = missing(&said, &step.shown);
        assert!(missing.is_none(), "{page}: {} did not print {missing:?}:\n{said}", step.line);
    }
    Ok(())
}

#[test]
fn the_settings_are_as_the_page_says() -> Done {
    followed("doctor.md", &[])
}

#[test]
fn the_copies_of_a_program_are_as_the_page_says() -> Done {
    let gallery = ["docs/gallery/witness-far.json", "docs/gallery/witness-near.json"];
    followed("witness.md", &gallery)
}

#[test]
fn an_engine_without_a_gpu_is_refused_as_the_page_says() -> Done {
    followed("workers.md", &[])
}

#[test]
fn a_first_look_is_as_the_page_says() -> Done {
    followed("first-look.md", &[])
}

#[test]
fn five_questions_in_a_hurry_have_their_answers_in_the_first_lines() -> Done {
    followed("is-my-node-ok.md", &["crates/topo/tests/fixtures/lumi-g.xml"])
}

#[test]
fn a_line_for_the_job_script_is_found_and_judged_as_the_page_says() -> Done {
    let fixtures =
        ["crates/topo/tests/fixtures/lumi-g.xml", "crates/topo/tests/fixtures/lumi-g-low-noise.xml"];
    followed("job-script.md", &fixtures)
}

#[test]
fn commands_for_the_tables_of_the_sources_run_as_the_page_says() -> Done {
    followed("sources.md", &[])
}

#[test]
fn measurements_are_planned_as_the_page_says() -> Done {
    followed("measuring.md", &[])
}

#[test]
fn without_a_launcher_a_job_and_its_messages_are_as_the_pages_say() -> Done {
    followed("in-a-job.md", &[])?;
    followed("messages.md", &[])
}

#[test]
fn result_documents_are_written_and_read_as_the_page_says() -> Done {
    let gallery = ["pingpong", "lumi-g", "suite", "peers", "kernels", "contend"];
    let files = gallery.map(|name| format!("docs/gallery/{name}.json"));
    followed("results.md", &files.each_ref().map(|file| &file[..]))
}

#[test]
fn a_program_is_tried_as_the_page_says() -> Done {
    followed("my-program.md", &[])
}

#[test]
fn nodes_are_watched_as_the_page_says() -> Done {
    followed("nodes-over-time.md", &[])
}

#[test]
fn what_is_normal_is_told_as_the_page_says() -> Done {
    followed("normal.md", &[])
}

#[test]
fn every_page_is_in_the_table_and_run_here() -> Done {
    let table = fs::read_to_string(docs().join("README.md"))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(docs())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // Folders hold what was measured: nothing to run.
        if name != "README.md" && name.ends_with(".md") {
            assert!(table.contains(&format!("({name})")), "{name} is not in the table");
            pages.push(name);
        }
    }
    let this = include_str!("docs.rs");
    // The glossary has no commands; `cargo xtask tidy` holds it against the code.
    for page in pages.iter().filter(|page| *page != "glossary.md") {
        assert!(this.contains(&format!("followed(\"{page}\"")), "no test runs {page}");
    }
    assert!(pages.len() >= 8, "{pages:?}");
    Ok(())
}

#[test]
fn outputs_that_the_pages_show_are_of_this_version() -> Done {
    let this = format!("numabench {}", env!("CARGO_PKG_VERSION"));
    let root = docs().join("..");
    for page in ["README.md", "docs/measuring.md", "docs/my-program.md"] {
        let text = fs::read_to_string(root.join(page))?;
        let is_header = |line: &&str| {
            line.strip_prefix("numabench ").is_some_and(|rest| rest.starts_with(char::is_numeric))
        };
        let headers: Vec<&str> = text.lines().filter(is_header).collect();
        assert!(!headers.is_empty(), "{page} shows no output");
        assert!(
            headers.iter().all(|line| line.starts_with(&this)),
            "{page} is of an earlier version: {headers:?}"
        );
    }
    Ok(())
}

/// The anchor of a heading, as GitHub and GitLab make it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_to_a_heading_of_it() -> Done {
    let root = docs().join("..");
    let mut pages = vec![root.join("README.md")];
    for folder in [docs(), docs().join("measurements")] {
        for entry in fs::read_dir(folder)? {
            pages.push(entry?.path());
        }
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    for page in pages {
        let text = fs::read_to_string(&page)?;
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, heading) =
                link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
            let file = if file.is_empty() { page.clone() } else { page.parent().unwrap_or(&root).join(file) };
            assert!(file.exists(), "{}: no file for {link}", page.display());
            if let Some(heading) = heading {
                let there = fs::read_to_string(&file)?;
                let mut headings = there.lines().filter_map(|line| line.strip_prefix('#'));
                let is_there = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading);
                assert!(is_there, "{}: no heading for {link}", page.display());
            }
        }
    }
    Ok(())
}

#[test]
fn a_command_that_prints_something_else_or_ends_otherwise_is_seen() {
    assert!(is_shown("vm: 1 NUMA node, 2 cores", "…: … NUMA node…, … cores"));
    assert!(!is_shown("vm: 1 NUMA node, 2 cores", "…: … NUMA node…, … PUs"));
    assert!(!is_shown("rank 0 and more", "rank 0"));
    let output = "one\ntwo\nthree\n";
    let shown = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert_eq!(missing(output, &shown(&["one", "…", "three"])), None);
    assert_eq!(missing(output, &shown(&["two", "one"])), Some("one"), "lines come in the order of the page");
    assert_eq!((codes("true"), codes("true # exit code 0, 5 or 6")), (vec![0], vec![0, 5, 6]));
}
