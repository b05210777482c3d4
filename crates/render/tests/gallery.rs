//! The gallery in `docs/gallery` stays true: its pictures are those that this build makes of the documents
//! beside them, byte for byte, and so are the rows in these documents. `GALLERY=write cargo test -p
//! numabench-render --test gallery` makes both anew.

use std::error::Error;
use std::path::{Path, PathBuf};

use analysis::any_document::AnyDocument;
use analysis::gate::Checked;
use analysis::witness_launch::WitnessLaunch;
use analysis::{node_run, nodes};
use render::html;
use report::json::json_value;
use report::result::BlockSample;
use report::row::Row;
use report::{Document, PlaceDocument, SavedDocument};

/// The pictures, each of a document, or of a folder of documents, by the beginning of its title in the report
/// of them.
const PICTURES: [(&str, &str, &str); 24] = [
    ("node", "contend.json", "The node"),
    ("contention", "contend.json", "H2D: GB/s of each"),
    ("ranks", "pingpong.json", "16 MiB of each rank"),
    ("rate", "sweep.json", "Rate over the size"),
    ("time", "sweep.json", "Time over the size"),
    ("pieces", "pieces.json", "H2D: rate of 64 MiB in pieces"),
    ("moving", "moving.json", "Managed memory touched by the GPU"),
    ("loaded", "loaded.json", "Latency of a load"),
    ("differences", "trial.json", "Difference from the baseline"),
    ("runs", "trial.json", "Every run"),
    ("messages", "mpi.json", "Messages of 64 MiB"),
    ("copies", "witness-far.json", "Bytes between each NUMA node and GPU"),
    ("suite", "suite.json", "The node"),
    ("transfers", "kernels.json", "GPU 0, host memory of node 0"),
    ("halos", "laplace.json", "8192 by 8192 cells"),
    ("eight-gpus", "eight-gpus.json", "The node"),
    ("eight-gpus-contention", "eight-gpus.json", "H2D: GB/s of each"),
    ("lumi-g", "lumi-g.json", "The node"),
    ("peers", "peers.json", "The node"),
    ("places", "place.json", "The node"),
    ("turns", "place.json", "Every turn of each way"),
    ("nodes", "nodes", "Every node's figures"),
    ("changes", "history", "What changed"),
    ("history", "history", "H2D"),
];

type Pictures = Vec<(String, String)>;

/// The pictures of a document's report.
fn of_document(bytes: &[u8]) -> Result<Pictures, Box<dyn Error>> {
    if report::schema_of(bytes).as_deref() == Some(PlaceDocument::SCHEMA) {
        return Ok(html::pictures(&PlaceDocument::from_json(bytes)?));
    }
    Ok(match AnyDocument::<BlockSample>::from_json(bytes)? {
        AnyDocument::Result(document) => html::pictures(&*document),
        AnyDocument::Trial(document) => html::pictures(&*document),
        AnyDocument::Mpi(document) => html::pictures(&*document),
        AnyDocument::Imported(_) => Vec::new(),
        AnyDocument::Witness(document) => html::pictures(&WitnessLaunch::of_one("", *document)),
    })
}

/// The pictures of the report of a folder: of nodes that were checked, or of runs one after the other.
fn of_folder(folder: &Path) -> Result<Pictures, Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.sort();
    let (mut checked, mut runs) = (Vec::new(), Vec::new());
    for file in &files {
        let bytes = std::fs::read(file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match report::schema_of(&bytes).as_deref() {
            Some(Checked::SCHEMA) => checked.push(Checked::from_json(&bytes)?),
            _ => match AnyDocument::<BlockSample>::from_json(&bytes)? {
                AnyDocument::Result(document) => runs.push((name, *document)),
                other => return Err(format!("{name}: {:?}", other.kind()).into()),
            },
        }
    }
    Ok(match checked.first() {
        Some(first) => {
            let of_nodes = checked.iter().flat_map(node_run::of_check).collect();
            html::nodes_pictures(&nodes::nodes(first.tool.clone(), of_nodes, Vec::new()))
        }
        None => html::pictures_together(&runs),
    })
}

/// The result documents of the gallery, also those in its folders.
fn result_documents(folder: &Path) -> Result<Vec<(PathBuf, Document)>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(result_documents(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path)?;
            if report::schema_of(&bytes).as_deref() == Some(Document::SCHEMA) {
                found.push((path, Document::from_json(&bytes)?));
            }
        }
    }
    Ok(found)
}

/// The lines of the documentation read the rows of these files as they are (`jq`), so they have what this
/// build writes.
#[test]
fn the_rows_of_the_gallerys_documents_are_those_that_this_build_makes_of_the_rest()
-> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let documents = result_documents(&folder)?;
    assert!(documents.len() > 20, "{} documents", documents.len());
    for (path, mut document) in documents {
        (document.schema_version, document.rows) =
            (Document::VERSION.number(), report::rows::rows(&document));
        let kept = std::fs::read(&path)?;
        let is_on_one_line = kept.iter().filter(|byte| **byte == b'\n').count() <= 1;
        let mut made = if is_on_one_line { serde_json::to_vec(&document)? } else { json_value(&document)? };
        if is_on_one_line && kept.ends_with(b"\n") {
            made.push(b'\n');
        }

        // Other tests read these files meanwhile.
        if is_written_anew() {
            let beside = path.with_extension("new");
            std::fs::write(&beside, &made)?;
            std::fs::rename(&beside, &path)?;
        }
        assert!(std::fs::read(&path)? == made, "{} is not what this build writes", path.display());
    }
    Ok(())
}

/// A row is found by what was measured and where: `rank` is for those who look into the rest of the document.
#[test]
fn no_two_rows_of_a_document_have_the_same_experiment_case_and_place() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    for (path, document) in result_documents(&folder)? {
        let key = |row: &Row| {
            let place =
                (row.host.clone(), row.device.clone(), row.other_device.clone(), row.pu, row.memory_node);
            format!("{} {} {place:?}", row.experiment, row.case)
        };
        let mut keys: Vec<String> = document.rows.iter().map(key).collect();
        keys.sort();
        let twice: Vec<_> = keys.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert!(twice.is_empty(), "{}: {twice:?}", path.display());
    }
    Ok(())
}

fn is_written_anew() -> bool {
    std::env::var_os("GALLERY").is_some_and(|value| value == "write")
}

#[test]
fn the_gallery_is_what_this_build_draws_of_the_documents_beside_it() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    for (name, document, title) in PICTURES {
        let path = folder.join(document);
        let all = if path.is_dir() { of_folder(&path)? } else { of_document(&std::fs::read(&path)?)? };
        let titles: Vec<&String> = all.iter().map(|(title, _)| title).collect();
        let found = all.iter().find(|(found, _)| found.starts_with(title));
        let (_, drawn) = found.ok_or_else(|| format!("{document} has no picture {title:?}: {titles:?}"))?;
        let file = folder.join(format!("{name}.svg"));
        if is_written_anew() {
            std::fs::write(&file, drawn)?;
        }
        assert!(std::fs::read_to_string(&file)? == *drawn, "{} is not what this build draws", file.display());
    }
    Ok(())
}
