//! What counts of files and folders, and what is said to be left out.

use std::cell::RefCell;

use super::*;

type Outcome = Result<(), Box<dyn Error>>;

const TWO_RANKS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../render/tests/report/fixtures/v1.0-two-ranks.json");

thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// How many documents these paths stand for in a comparison and in a terminal's report, and what was said
/// meanwhile.
fn counted(paths: &[PathBuf]) -> Result<(usize, usize, Vec<String>), String> {
    let say = |text: &str| SAID.with_borrow_mut(|said| said.push(text.to_owned()));
    let documents = Documents { paths, say };
    let runs = documents.each_run().map_err(|fault| fault.to_string())?.len();
    let said = SAID.take();
    let report = documents.terminal_report().map_err(|fault| fault.to_string())?;
    let TerminalReport::Nodes(nodes) = report else { return Ok((runs, 0, said)) };
    assert_eq!(SAID.take(), said, "the same is said of both");
    Ok((runs, nodes.len(), said))
}

#[test]
fn a_document_under_several_names_counts_once_and_is_said() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for name in ["1.json", "copy.json"] {
        fs::copy(TWO_RANKS, at(name))?;
    }
    let other = fs::read_to_string(TWO_RANKS)?.replacen("2026-", "2027-", 1);
    fs::write(at("2.json"), &other)?;

    let (runs, nodes, said) = counted(&[at("1.json"), at("1.json"), at("2.json")])?;
    assert_eq!((runs, nodes, said.len()), (2, 2, 1), "{said:?}");
    assert!(said[0].contains("1.json, which counts once"), "{said:?}");

    std::os::unix::fs::symlink(at("2.json"), at("latest.json"))?;
    let (runs, nodes, said) = counted(&[folder.path().to_owned(), at("2.json")])?;
    assert_eq!((runs, nodes, said.len()), (2, 2, 3), "{said:?}");
    let (runs, ..) = counted(&[at("2.json"), folder.path().to_owned(), folder.path().to_owned()])?;
    assert_eq!(runs, 2, "a folder that adds nothing is no fault");
    Ok(())
}

#[test]
fn folders_and_compressed_documents_in_a_folder_are_said_to_be_left_out() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::copy(TWO_RANKS, at("1.json"))?;
    for name in ["2024", "2025", ".git"] {
        fs::create_dir(at(name))?;
    }
    for name in ["0.json.gz", "notes.txt"] {
        fs::write(at(name), "")?;
    }

    let (runs, nodes, said) = counted(&[folder.path().to_owned()])?;
    assert_eq!((runs, nodes, said.len()), (1, 1, 2), "{said:?}");
    assert!(said[0].contains("/2024 is left out: it and 1 more are folders"), "{said:?}");
    assert!(said[1].contains("/0.json.gz is left out: it is a compressed document"), "{said:?}");
    Ok(())
}
