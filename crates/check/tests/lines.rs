//! Launch lines as centres, launchers' manuals and users write them, each with the machine that it is judged
//! on and the verdict that it must get.
//!
//! Each table has a line a row: verdict, machine (of `topo/tests/fixtures`), source, line. `quoted.tsv` has
//! lines as they stand in the documentation of centres and launchers, at the line of the file that its source
//! names; `lines.tsv` has lines made after a page or a manual for a case that it describes; `documented.tsv`
//! has lines of centres and applications that were searched for after the rules were made. A fifth column
//! names a file of `sites/`: what the page's own outputs show of the site's Slurm. `SCRIPTS/NAME` is a file
//! of `scripts/` beside it: a wrapper or a rankfile, as its page has it. `-cpus` behind a machine's name is
//! that machine without its GPUs, for programs that use none. Verdicts were worked out by hand from the
//! source and the machine. A verdict that is decided and not the table's is a wrong one, and there may be
//! none; too many that are not decided where the table has a verdict are a failure too.

mod judged_line;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use judged_line::judged;
use launchers::slurm_files::SlurmFiles;

/// Of the lines of the table at least so many of a hundred are to be decided.
const DECIDED: usize = 85;

struct Row {
    wanted: String,
    machine: String,
    source: String,
    line: String,
    site: SlurmFiles,
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn machine(name: &str) -> PathBuf {
    here().join(format!("../../topo/tests/fixtures/{name}.xml"))
}

/// The machine of a row; one without GPUs is written to `folder`.
fn machine_of(name: &str, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let Some(whole) = name.strip_suffix("-cpus") else { return Ok(machine(name)) };
    let path = folder.join(format!("{name}.xml"));
    if !path.exists() {
        // PCI classes 0302 and 0380 are display controllers, 0880 is a system peripheral.
        fs::write(
            &path,
            fs::read_to_string(machine(whole))?
                .replace("pci_type=\"0302 ", "pci_type=\"0880 ")
                .replace("pci_type=\"0380 ", "pci_type=\"0880 "),
        )?;
    }
    Ok(path)
}

fn rows(table: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = fs::read_to_string(here().join(table))?;
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (columns, site) = match columns.split_last_chunk() {
            Some((columns, [site])) if columns.len() == 4 => (columns, site_of(site)?),
            _ => (columns.as_slice(), SlurmFiles::default()),
        };
        let [wanted, machine, source, line] = columns else {
            return Err(format!("not four columns or five: {line}").into());
        };
        let scripts = here().join("scripts").display().to_string();
        rows.push(Row {
            wanted: (*wanted).to_owned(),
            machine: (*machine).to_owned(),
            source: (*source).to_owned(),
            line: line.replace("SCRIPTS", &scripts),
            site,
        });
    }
    Ok(rows)
}

fn site_of(name: &str) -> Result<SlurmFiles, Box<dyn Error>> {
    let text = fs::read_to_string(here().join("sites").join(name))?;
    Ok(SlurmFiles { gres: None, nodes: Some(text.parse()?) })
}

#[test]
fn no_line_of_the_table_gets_a_wrong_verdict_or_a_wrong_fix_and_few_get_none() -> Result<(), Box<dyn Error>> {
    let (quoted, made) = (rows("quoted.tsv")?, rows("lines.tsv")?);
    assert!(quoted.len() >= 150, "{} lines are quoted", quoted.len());
    let folder = tempfile::tempdir()?;
    let rows: Vec<&Row> = quoted.iter().chain(&made).collect();
    let (mut wrong, mut open, mut fixes) = (Vec::new(), Vec::new(), 0);
    for row in &rows {
        let machine = machine_of(&row.machine, folder.path())?;
        let (verdict, said, fix) = judged(&row.line, &machine, row.site.clone())?;
        let what = || {
            format!(
                "{verdict} and not {}: {} on {} ({})\n{said}",
                row.wanted, row.line, row.machine, row.source
            )
        };
        match (verdict, row.wanted.as_str()) {
            (verdict, wanted) if verdict == wanted => {}
            ("unknown", _) => open.push(what()),
            _ => wrong.push(what()),
        }
        for fix in fix.iter().filter(|fix| fix.starts_with("srun --")) {
            let line = mended(&row.line, fix);
            let (after, said, _) = judged(&line, &machine, row.site.clone())?;
            fixes += 1;
            if after != "well" {
                wrong.push(format!("the fix {fix} of {} makes it {after}:\n{said}", row.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{} verdicts or fixes are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(open.is_empty(), "{} lines are not decided that should be:\n{}", open.len(), open.join("\n"));
    assert!(fixes >= 10, "{fixes} fixes were tried");
    let decided = |rows: &[Row]| rows.iter().filter(|row| row.wanted != "unknown").count();
    for table in [&quoted, &made] {
        let (decided, of) = (decided(table), table.len());
        assert!(decided * 100 >= of * DECIDED, "{decided} of {of} lines are decided");
    }
    Ok(())
}

#[test]
fn of_lines_that_were_searched_for_later_none_is_judged_wrongly_and_few_are_not_judged()
-> Result<(), Box<dyn Error>> {
    let rows = rows("documented.tsv")?;
    assert!(rows.len() >= 40, "{} lines", rows.len());
    let folder = tempfile::tempdir()?;
    let (mut wrong, mut open, mut with_answer) = (Vec::new(), Vec::new(), 0);
    for row in &rows {
        let (verdict, said, _) =
            judged(&row.line, &machine_of(&row.machine, folder.path())?, row.site.clone())?;
        let what = format!(
            "{verdict} and not {}: {} on {} ({})\n{said}",
            row.wanted, row.line, row.machine, row.source
        );
        with_answer += usize::from(row.wanted != "unknown");
        match (verdict, row.wanted.as_str()) {
            (verdict, wanted) if verdict == wanted => {}
            ("unknown", _) => open.push(what),
            _ => wrong.push(what),
        }
    }
    assert!(wrong.is_empty(), "{} verdicts are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let judged = with_answer - open.len();
    assert!(judged * 100 >= with_answer * DECIDED, "{judged} of {with_answer}:\n{}", open.join("\n"));
    Ok(())
}

/// The line with the option of the fix, and without its own of that name: srun takes the last.
fn mended(line: &str, fix: &str) -> String {
    let (fix, has_remark) = fix.split_once(" (").map_or((fix, false), |(fix, _)| (fix, true));
    let option = fix.trim_start_matches("srun ");
    let is_size = |word: &str| {
        word.strip_prefix("-c").is_some_and(|count| count.starts_with(|c: char| c.is_ascii_digit()))
    };
    let name = option.split('=').next().unwrap_or_default();
    let variable = format!("SLURM_{}=", name.trim_start_matches('-').to_ascii_uppercase().replace('-', "_"));
    // Not bash's -c, behind which stands no number.
    let mut line = line.replace(" --cpus-per-task=", " -c").replace(" --cpus-per-task ", " -c");
    for digit in '0'..='9' {
        line = line.replace(&format!(" -c {digit}"), &format!(" -c{digit}"));
    }
    let own = |word: &&str| {
        !(has_remark && (is_size(word) || matches!(*word, "--exact" | "--exclusive")))
            && !word.starts_with(&format!("{name}="))
            && !word.starts_with(&variable)
    };
    let (before, after) = line.split_once("srun ").unwrap_or(("", line.as_str()));
    let kept = |text: &str| text.split(' ').filter(own).collect::<Vec<_>>().join(" ");
    format!("{} srun {option} {}", kept(before), kept(after))
}

/// The lines of a page's code blocks that begin with a launcher.
fn lines_of(page: &str) -> Vec<String> {
    let launchers = ["srun", "mpirun", "mpiexec", "torchrun", "jsrun", "flux", "numactl", "taskset"];
    let mut inside = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
            continue;
        }
        let line = line
            .trim_start_matches("$ ")
            .split("  #")
            .next()
            .unwrap_or_default()
            .split(" # ")
            .next()
            .unwrap_or_default();
        let first = line.split_whitespace().find(|word| !word.contains('='));
        let has_gap = line.contains('…') || line.contains("...") || line.contains('{');
        if inside && !has_gap && first.is_some_and(|first| launchers.contains(&first)) {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[test]
fn every_launch_line_of_the_readme_and_the_pages_is_read_and_none_is_wrong() -> Result<(), Box<dyn Error>> {
    let root = here().join("../../..");
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs"))? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let mut read = 0;
    for page in pages {
        for line in lines_of(&fs::read_to_string(&page)?) {
            let (verdict, said, _) = judged(&line, &machine("lumi-g"), SlurmFiles::default())?;
            assert!(matches!(verdict, "well" | "unknown"), "{}: {line}: {verdict}: {said}", page.display());
            read += 1;
        }
    }
    assert!(read >= 10, "{read} lines");
    Ok(())
}
