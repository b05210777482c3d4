//! What sites take along: scripts for Slurm and NHC, pipelines for GitHub and GitLab, a dashboard. Each is
//! run as its host runs it, as far as that is a shell: a runner's steps, conditions and cache are played
//! here, from the committed file.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::driver;
use crate::run::{BINARY, Done, variables};

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file)
}

/// A folder of programs that come first in a script's path.
struct Programs(tempfile::TempDir);

impl Programs {
    /// The binary under test, and programs that write down what they were told.
    fn new() -> Result<Self, Box<dyn Error>> {
        let programs = Self(tempfile::tempdir()?);
        std::os::unix::fs::symlink(BINARY, programs.0.path().join("numabench"))?;
        for name in ["scontrol", "logger"] {
            programs.add(name, &format!("echo \"$@\" >> {}/{name}.told", programs.0.path().display()))?;
        }
        programs.add("squeue", "true")?;
        Ok(programs)
    }

    fn add(&self, name: &str, script: &str) -> Result<(), Box<dyn Error>> {
        let file = self.0.path().join(name);
        drop(fs::remove_file(&file));
        fs::write(&file, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(file, PermissionsExt::from_mode(0o755))?;
        Ok(())
    }

    /// What a program was told; nothing where it was not called.
    fn call_log(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(format!("{name}.told"))).unwrap_or_default()
    }

    /// Two simulated GPUs, of which the second copies so fast.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, second: &str) -> Result<Command, Box<dyn Error>> {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap_or_default());
        let folder = driver::fake()?;
        let mut command = Command::new(program);
        command.envs(variables(&folder)).env("PATH", path).env("SLURMD_NODENAME", "nid000012");
        command.env(
            "FAKE_DEVICES",
            format!(
                "repeats skip; device 0000:05:00.0; h2d 4GB/s 10us; d2h 4GB/s 10us; device 0000:c1:00.0; h2d \
                 {second} 10us; d2h {second} 10us"
            ),
        );
        command.env("LD_PRELOAD", folder.join(driver::Driver::Cuda.library()));
        Ok(command)
    }
}

fn both_streams(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What `check --bandwidth --quiet` printed of a node with a slow GPU.
const FINDING: &str = "slow: 0000:c1:00.0, alone/pinned/h2d/67108864: 27.10 GB/s where 55.30 is normal and \
    53.60 the least, below it in 3 of 3 passes";

#[test]
fn the_prologue_fails_with_the_findings_own_line_and_calls_no_slurm_command() -> Done {
    let programs = Programs::new()?;
    programs.add("numabench", &format!("echo '{FINDING}'; exit 5"))?;
    let output = programs.command(contrib("slurm/prolog.sh"), "4GB/s")?.output()?;
    assert_eq!(output.status.code(), Some(1), "{}", both_streams(&output));
    assert_eq!(both_streams(&output), format!("numabench: {FINDING}\n"));
    assert!(programs.call_log("logger").contains(FINDING));
    assert_eq!(programs.call_log("scontrol"), "");
    Ok(())
}

#[test]
fn the_health_check_drains_with_the_findings_own_line_and_not_beside_a_job() -> Done {
    let programs = Programs::new()?;
    programs.add("numabench", &format!("echo '{FINDING}'; exit 5"))?;
    let output = programs.command(contrib("slurm/health_check.sh"), "4GB/s")?.output()?;
    assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
    let drained = format!("update NodeName=nid000012 State=DRAIN Reason=numabench: {FINDING}\n");
    assert_eq!(programs.call_log("scontrol"), drained);
    programs.add("squeue", "echo 4711")?;
    programs.command(contrib("slurm/health_check.sh"), "4GB/s")?.output()?;
    assert_eq!(programs.call_log("scontrol"), drained, "a job runs there");
    Ok(())
}

#[test]
fn nhc_is_told_the_finding_and_not_what_is_undecided() -> Done {
    let programs = Programs::new()?;
    let script = "die() { echo \"die $*\"; }; log() { echo \"log $*\"; }; . \"$0\"; check_numabench";
    let check = || -> Result<String, Box<dyn Error>> {
        Ok(both_streams(
            &programs
                .command("bash", "4GB/s")?
                .args(["-c", script])
                .arg(contrib("nhc/numabench.nhc"))
                .output()?,
        ))
    };
    programs.add("numabench", &format!("echo '{FINDING}'; exit 5"))?;
    assert_eq!(check()?, format!("die 1 check_numabench: {FINDING}\n"));
    programs.add("numabench", "echo undecided; exit 6")?;
    assert_eq!(check()?, "log check_numabench: the check ended with 6: undecided\n");
    Ok(())
}

#[test]
fn nobody_is_drained_for_simulated_gpus() -> Done {
    let programs = Programs::new()?;
    let output = programs.command(contrib("slurm/prolog.sh"), "2GB/s")?.env("WHAT", "h2d").output()?;
    assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
    let parts = [" 5:", "SIMULATED:", "slow:", "0000:c1:00.0"];
    assert!(parts.iter().all(|part| both_streams(&output).contains(part)), "{}", both_streams(&output));
    let output = programs.command(contrib("slurm/health_check.sh"), "2GB/s")?.env("WHAT", "h2d").output()?;
    assert_eq!(
        (output.status.code(), programs.call_log("scontrol")),
        (Some(0), String::new()),
        "{}",
        both_streams(&output)
    );
    let logged = programs.call_log("logger");
    assert!(parts[1..].iter().all(|part| logged.contains(part)), "{logged}");
    Ok(())
}

/// A step of a GitHub workflow.
#[derive(Default, Debug)]
struct Step {
    name: String,
    condition: String,
    uses: String,
    run: String,
}

/// The steps of the committed workflow: a list of flat maps, with block texts. That is all of YAML that it
/// uses.
fn github_steps() -> Result<Vec<Step>, Box<dyn Error>> {
    let text = fs::read_to_string(contrib("github/numabench.yml"))?;
    let (_, steps) = text.split_once("    steps:\n").ok_or("no steps")?;
    let mut found: Vec<Step> = Vec::new();
    let mut is_block = false;
    for line in steps.lines() {
        let words = line.trim();
        if let Some(name) = line.strip_prefix("      - name: ") {
            found.push(Step { name: name.to_owned(), ..Step::default() });
            is_block = false;
        }
        let Some(step) = found.last_mut() else { continue };
        if is_block && line.starts_with("          ") {
            step.run.push_str(&line[10..]);
            step.run.push('\n');
        } else if line.starts_with("        ") && !line.starts_with("         ") {
            is_block = words == "run: |";
            match words.split_once(": ") {
                Some(("if", condition)) => condition.clone_into(&mut step.condition),
                Some(("uses", action)) => action.clone_into(&mut step.uses),
                Some(("run", command)) if !is_block => command.clone_into(&mut step.run),
                _ => {}
            }
        }
    }
    Ok(found)
}

/// A runner: a workspace that is emptied for each run, a cache that is not, and the name of the branch.
struct Runner {
    programs: Programs,
    cache: tempfile::TempDir,
}

/// What became of a run.
struct Job {
    failed: Vec<String>,
    said: String,
    workspace: tempfile::TempDir,
}

impl Runner {
    fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self { programs: Programs::new()?, cache: tempfile::tempdir()? })
    }

    /// The workflow on this branch, with the second GPU so fast.
    fn github(&self, branch: &str, second: &str) -> Result<Job, Box<dyn Error>> {
        let workspace = tempfile::tempdir()?;
        let mut job = Job { failed: Vec::new(), said: String::new(), workspace };
        let kept = self.cache.path().join("base.json");
        for step in github_steps()? {
            let here = job.workspace.path();
            let runs =
                step.condition.trim_start_matches("${{ ").trim_end_matches(" }}").split(" && ").all(|part| {
                    match part {
                        "" | "success()" => job.failed.is_empty(),
                        "!cancelled()" => true,
                        "github.ref_name == github.event.repository.default_branch" => branch == "main",
                        file => {
                            let name = file.trim_start_matches("hashFiles('").trim_end_matches("') != ''");
                            assert!(
                                file.starts_with("hashFiles("),
                                "a condition that no runner here knows: {file}"
                            );
                            here.join(name).exists()
                        }
                    }
                });
            if !runs {
                continue;
            }
            match step.uses.split('@').next().unwrap_or_default() {
                "" => {
                    let mut command = self.programs.command("bash", second)?;
                    command
                        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run])
                        .current_dir(here);
                    command.env("MEASURE", MEASURE).env("GITHUB_STEP_SUMMARY", here.join("summary"));
                    let output = command.output()?;
                    job.said.push_str(&both_streams(&output));
                    if !output.status.success() {
                        job.failed.push(format!("{} {:?}", step.name, output.status.code()));
                    }
                }
                "actions/cache/restore" => drop(fs::copy(&kept, here.join("base.json"))),
                "actions/cache/save" => drop(fs::copy(here.join("base.json"), &kept)?),
                "actions/upload-artifact" => {}
                other => return Err(format!("an action that no runner here knows: {other}").into()),
            }
        }
        Ok(job)
    }

    /// The job of GitLab's file: its lines in one shell, which GitLab ends at the first that fails, and its
    /// cache, kept also after a failure.
    fn gitlab(&self, branch: &str, second: &str) -> Result<Job, Box<dyn Error>> {
        let text = fs::read_to_string(contrib("gitlab/numabench.gitlab-ci.yml"))?;
        assert!(
            ["policy: pull-push", "unprotect: true", "paths: [base.json]"]
                .iter()
                .all(|words| text.contains(words)),
            "{text}"
        );
        let (_, script) = text.split_once("  script:\n").ok_or("no script")?;
        let (script, _) = script.split_once("  allow_failure:").ok_or("no end of the script")?;
        let lines: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("    - ")).collect();
        let workspace = tempfile::tempdir()?;
        let kept = self.cache.path().join("base.json");
        drop(fs::copy(&kept, workspace.path().join("base.json")));
        let mut command = self.programs.command("bash", second)?;
        command
            .args(["-c", &format!("set -eo pipefail\n{}", lines.join("\n"))])
            .current_dir(workspace.path());
        command.env("MEASURE", MEASURE).env("CI_COMMIT_BRANCH", branch).env("CI_DEFAULT_BRANCH", "main");
        let output = command.output()?;
        drop(fs::copy(workspace.path().join("base.json"), &kept));
        // allow_failure: exit_codes: [6]
        let code = output.status.code();
        let failed = (![Some(0), Some(6)].contains(&code)).then(|| format!("{code:?}"));
        Ok(Job { failed: failed.into_iter().collect(), said: both_streams(&output), workspace })
    }
}

const MEASURE: &str = "--gpus all --order alone --size 4MiB --direction h2d --max-time 2s";

/// A base is kept on the default branch and used elsewhere; what got worse fails the job, and its report is
/// there all the same.
fn holds(
    run: impl Fn(&str, &str) -> Result<Job, Box<dyn Error>>,
    reports: &[&str],
    compared: impl Fn(&Job) -> String,
) -> Done {
    let has = |job: &Job, file: &str| job.workspace.path().join(file).exists();
    let first = run("feature", "4GB/s")?;
    assert_eq!(first.failed, [""; 0], "there is no base yet: {}", first.said);
    assert!(!has(&first, "base.json"));
    let main = run("main", "4GB/s")?;
    assert_eq!(main.failed, [""; 0], "{}", main.said);
    let like = run("feature", "4GB/s")?;
    assert_eq!(like.failed, [""; 0], "{}", like.said);
    let table = compared(&like);
    assert!(has(&like, "base.json") && (table.contains("SAME") || table.contains("INCONCLUSIVE")), "{table}");
    // A tenth slower is no slower twin, and worse than the base.
    let worse = run("feature", "3.7GB/s")?;
    assert_eq!(worse.failed.len(), 1, "{}", worse.said);
    assert!(
        worse.failed[0].contains("Some(5)") && compared(&worse).contains("SUSPECT"),
        "{:?}",
        worse.failed
    );
    let twin = run("main", "1GB/s")?;
    assert!(twin.failed[0].contains("Some(5)"), "{:?} {}", twin.failed, twin.said);
    for job in [&like, &worse, &twin] {
        assert!(reports.iter().all(|file| has(job, file)), "{}", job.said);
    }
    // What failed on the default branch is no base.
    assert_eq!(run("feature", "4GB/s")?.failed, [""; 0]);
    Ok(())
}

#[test]
fn the_github_workflow_compares_with_the_last_good_run_and_reports_what_failed() -> Done {
    let runner = Runner::new()?;
    let summary = |job: &Job| fs::read_to_string(job.workspace.path().join("summary")).unwrap_or_default();
    holds(|branch, second| runner.github(branch, second), &["report.html", "benchmark.json"], summary)?;
    // A comparison that did not happen is no comparison that found nothing.
    fs::write(runner.cache.path().join("base.json"), "{}")?;
    let broken = runner.github("feature", "4GB/s")?;
    assert_eq!(broken.failed, ["Compare Some(2)"], "{}", broken.said);
    Ok(())
}

#[test]
fn the_gitlab_job_compares_with_the_last_good_run_and_reports_what_failed() -> Done {
    let runner = Runner::new()?;
    let printed = |job: &Job| job.said.clone();
    holds(
        |branch, second| runner.gitlab(branch, second),
        &["report.html", "metrics.txt", "junit.xml"],
        printed,
    )?;
    fs::write(runner.cache.path().join("base.json"), "{}")?;
    let broken = runner.gitlab("feature", "4GB/s")?;
    assert_eq!(broken.failed, ["Some(2)"], "{}", broken.said);
    Ok(())
}

/// What Prometheus itself adds to a scraped sample.
const SCRAPED: [&str; 2] = ["instance", "job"];

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_the_exporters_file_has() -> Done {
    let programs = Programs::new()?;
    let mut command = programs.command(contrib("node_exporter/numabench-metrics.sh"), "4GB/s")?;
    let options = ["--order", "alone", "--size", "4MiB", "--direction", "h2d,d2h", "--max-time", "2s"];
    let output = command.arg(programs.0.path()).args(options).output()?;
    assert!(output.status.success(), "{}", both_streams(&output));
    let metrics = fs::read_to_string(programs.0.path().join("numabench.prom"))?;
    let samples: Vec<&str> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
    let known: BTreeSet<&str> = samples.iter().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let labels: BTreeSet<&str> = samples
        .iter()
        .filter_map(|line| line.split_once('{')?.1.split_once('}'))
        .flat_map(|(labels, _)| labels.split("\",").filter_map(|label| label.split_once("=\"")))
        .map(|(name, _)| name)
        .chain(SCRAPED)
        .collect();
    let dashboard: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(contrib("node_exporter/grafana.json"))?)?;
    let panels = dashboard["panels"].as_array().ok_or("no panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut asked = 0;
    for expression in targets.filter_map(|target| target["expr"].as_str()) {
        // Names: what is no function, keyword, number or quoted text. A name in `by (…)`, `on (…)` or before
        // `=` is a label's.
        let mut plain = String::new();
        let mut is_quoted = false;
        for character in expression.chars() {
            is_quoted ^= character == '"';
            plain.push(if is_quoted { ' ' } else { character });
        }
        let words =
            plain.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| word.len() > 1);
        for word in words {
            let is_language =
                ["bottomk", "quantile", "count", "min", "max", "time", "by", "on", "group_left", "20", "0"]
                    .contains(&word);
            if word.starts_with("numabench_") {
                assert!(known.contains(word), "{word} is not exported: {known:?}");
                asked += 1;
            } else if !is_language {
                assert!(labels.contains(word), "{word} is no label of the export: {labels:?}");
            }
        }
    }
    assert_eq!(asked, 6, "every query was looked at");
    Ok(())
}
