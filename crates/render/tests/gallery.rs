//! The gallery in `docs/gallery` stays true: its pictures are those that this build makes of the documents beside them, byte for byte. `GALLERY=write cargo test -p
//! numabench-render --test gallery` makes them anew.

use std::error::Error;
use std::path::{Path, PathBuf};

use analysis::any_document::AnyDocument;
use analysis::gate::Checked;
use analysis::{node_run, nodes};
use render::html;
use report::result::BlockSample;
use report::{PlaceDocument, SavedDocument};

/// The pictures, each of a document, or of a folder of documents, by the beginning of its title in the report of them.
const PICTURES: [(&str, &str, &str); 23] = [
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
        if std::env::var_os("GALLERY").is_some_and(|value| value == "write") {
            std::fs::write(&file, drawn)?;
        }
        assert!(std::fs::read_to_string(&file)? == *drawn, "{} is not what this build draws", file.display());
    }
    Ok(())
}
