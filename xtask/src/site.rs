//! `cargo xtask site`: the pages of the repository as a site with a search, in `target/site/pages`.
//!
//! MkDocs makes it (`site.yml`), from a copy of what the pages link to, laid out as in the repository, so
//! that links mean the same here, there and on a forge. A schema becomes a page of its own. A link or an
//! anchor that leads nowhere is an error, and so is a page that loads something from elsewhere.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::listing::listed;
use crate::{python_tools, step};

/// MkDocs' settings, all but the list of schemas.
const SETTINGS: &str = include_str!("site.yml");

/// What the site is made of; a folder with everything in it.
const SOURCES: [&str; 12] = [
    "README.md",
    "METHOD.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs",
    "jobs",
    "contrib",
    "examples",
    "packaging",
    "crates/analysis/reference",
    SCHEMAS,
];

/// The schemas of what the libraries write; those of the binary lie beside its sources.
const SCHEMAS: &str = "crates/report/schema";
const MORE_SCHEMAS: [&str; 2] = ["crates/analysis/schema", "crates/numabench/schema"];

/// Runs the command; it takes no argument.
///
/// # Errors
/// The Python environment cannot be made, or MkDocs finds something wrong, which it has printed.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    step::no_arguments(args)?;
    let tools = python_tools::ready()?;
    let source = root.join("target/site/source");
    // Nothing there is a first run.
    let _nothing_there = fs::remove_dir_all(&source);
    for part in SOURCES.iter().chain(&MORE_SCHEMAS) {
        stage(root, Path::new(part), &source)?;
    }
    let schemas = schema_pages(root, &tools, &source)?;
    let settings = root.join("target/site/mkdocs.yml");
    let filled = SETTINGS.replace("SCHEMAS", &format!("[{}]", schemas.join(", ")));
    fs::write(&settings, filled).with_context(|| format!("cannot write {}", settings.display()))?;
    let mut mkdocs = Command::new(tools.join("bin/mkdocs"));
    mkdocs.args(["build", "--strict", "--config-file"]).arg(&settings).env("NO_MKDOCS_2_WARNING", "1");
    step::run(mkdocs.current_dir(root))?;
    let pages = root.join("target/site/pages");
    let loading = loads_from_elsewhere(&pages)?;
    if !loading.is_empty() {
        bail!("these pages load something from elsewhere: {}", loading.join(", "));
    }
    println!("wrote {0}; with its search: python3 -m http.server --directory {0}", pages.display());
    Ok(())
}

/// The pages of a folder that do not read the same without a network: a script, a style or a picture of
/// theirs is another server's.
fn loads_from_elsewhere(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in listed(folder)? {
        if path.is_dir() {
            found.extend(loads_from_elsewhere(&path)?);
        } else if path.extension() == Some(OsStr::new("html")) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let loads = |tag: &str| {
                let from =
                    tag.split_once("src=").or_else(|| tag.split_once("href=")).map_or("", |(_, from)| from);
                let loaded =
                    tag.starts_with("script") || tag.starts_with("img") || tag.contains("stylesheet");
                loaded && from.trim_start_matches(['"', '\'']).starts_with("http")
            };
            if text.split('<').any(|tag| loads(tag.split('>').next().unwrap_or_default())) {
                found.push(path.display().to_string());
            }
        }
    }
    Ok(found)
}

/// The site as the test command makes it: a note where the Python environment cannot be made.
///
/// # Errors
/// MkDocs found something wrong, which it has printed.
pub fn check(root: &Path) -> Result<()> {
    match python_tools::ready() {
        Ok(_) => run(root, &[]),
        Err(error) => {
            eprintln!("test: note: the site was not made: {error:#}");
            Ok(())
        }
    }
}

/// A file or a folder, copied to where it lies in the repository. Pages link folders by their first page.
fn stage(root: &Path, part: &Path, source: &Path) -> Result<()> {
    let (from, to) = (root.join(part), source.join(part));
    let cannot = || format!("cannot copy {}", part.display());
    if from.is_dir() {
        let mut names: Vec<_> =
            fs::read_dir(&from).with_context(cannot)?.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in &names {
            stage(root, &part.join(name), source)?;
        }
        if first_page(&from) == INDEX {
            let item = |name: &OsStr| format!("- [{0}]({0})\n", name.to_string_lossy());
            let list: String =
                names.iter().filter(|name| from.join(name).is_file()).map(|name| item(name)).collect();
            fs::write(to.join(INDEX), format!("# {}\n\n{list}", part.display())).with_context(cannot)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(source)).with_context(cannot)?;
    if from.extension() == Some(OsStr::new("md")) {
        let text = fs::read_to_string(&from).with_context(cannot)?;
        let page = with_plain_fences(&with_pages_of_folders(&text, from.parent().unwrap_or(root)));
        return fs::write(&to, page).with_context(cannot);
    }
    fs::copy(&from, &to).map(drop).with_context(cannot)
}

const INDEX: &str = "index.md";

fn first_page(folder: &Path) -> &'static str {
    if folder.join("README.md").is_file() { "README.md" } else { INDEX }
}

/// The page with links to folders as links to their first pages.
fn with_pages_of_folders(text: &str, folder: &Path) -> String {
    let mut parts = text.split("](");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        page.push_str("](");
        match part.split_once(')') {
            Some((link, rest)) if !link.is_empty() && folder.join(link).is_dir() => {
                let _in_memory =
                    write!(page, "{}/{}){rest}", link.trim_end_matches('/'), first_page(&folder.join(link)));
            }
            _ => page.push_str(part),
        }
    }
    page
}

/// The page with the language alone behind what begins a block of code: tests read a word more there
/// (`console gpus`), and MkDocs takes such a line for text.
fn with_plain_fences(text: &str) -> String {
    let plain = |line: &str| match line.split_once(' ') {
        Some((fence, _)) if fence.starts_with("```") && fence.len() > 3 => fence.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|line| plain(line) + "\n").collect()
}

/// A page for each schema, and its line in the list of pages.
fn schema_pages(root: &Path, tools: &Path, source: &Path) -> Result<Vec<String>> {
    let mut schemas: Vec<PathBuf> = Vec::new();
    for folder in [SCHEMAS].into_iter().chain(MORE_SCHEMAS) {
        schemas.extend(listed(&root.join(folder))?);
    }
    schemas.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    let mut listed = Vec::new();
    for schema in schemas {
        let page = schema.strip_prefix(root)?.with_extension("md");
        let mut made = Command::new(tools.join("bin/jsonschema2md"));
        made.env("LC_ALL", "C.UTF-8").arg(&schema).arg(source.join(&page));
        if !step::succeeds(&mut made) {
            bail!("`{}` failed", step::line(&made));
        }
        listed.push(page.display().to_string());
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_folder_is_one_to_its_first_page() -> Result<()> {
        let tree = tempfile::tempdir()?;
        fs::create_dir_all(tree.path().join("jobs"))?;
        fs::create_dir_all(tree.path().join("contrib"))?;
        fs::write(tree.path().join("contrib/README.md"), "")?;
        let page = with_pages_of_folders("[a](jobs) [b](contrib/) [c](x.md#y) [d]( no end", tree.path());
        assert_eq!(page, "[a](jobs/index.md) [b](contrib/README.md) [c](x.md#y) [d]( no end");
        Ok(())
    }

    #[test]
    fn a_block_of_code_is_one_whatever_tests_read_behind_its_language() {
        let page = "```console gpus\n$ numabench topo\n```\n``` and text\n";
        assert_eq!(with_plain_fences(page), "```console\n$ numabench topo\n```\n``` and text\n");
    }

    #[test]
    fn a_page_that_loads_a_script_of_another_server_is_found_and_one_that_links_there_is_not() -> Result<()> {
        let tree = tempfile::tempdir()?;
        fs::create_dir_all(tree.path().join("docs"))?;
        fs::write(
            tree.path().join("index.html"),
            "<a href=\"https://x\">x</a><script src=\"assets/a.js\"></script>",
        )?;
        assert!(loads_from_elsewhere(tree.path())?.is_empty());
        for tag in [
            "<script src=\"https://x/y\">",
            "<link rel=\"stylesheet\" href=\"http://x\">",
            "<img src='https://x'>",
        ] {
            fs::write(tree.path().join("docs/page.html"), tag)?;
            assert_eq!(loads_from_elsewhere(tree.path())?.len(), 1, "{tag}");
        }
        Ok(())
    }

    #[test]
    fn a_folder_without_a_first_page_gets_one_that_lists_its_files() -> Result<()> {
        let tree = tempfile::tempdir()?;
        fs::create_dir_all(tree.path().join("jobs"))?;
        fs::write(tree.path().join("jobs/one.sh"), "true\n")?;
        let staged = tree.path().join("staged");
        stage(tree.path(), Path::new("jobs"), &staged)?;
        assert_eq!(fs::read_to_string(staged.join("jobs/index.md"))?, "# jobs\n\n- [one.sh](one.sh)\n");
        assert_eq!(fs::read_to_string(staged.join("jobs/one.sh"))?, "true\n");
        Ok(())
    }
}
