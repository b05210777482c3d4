//! The gallery in `docs/gallery` stays true: its pictures are those that this build makes of the documents beside them, byte for byte. `GALLERY=write cargo test -p
//! numabench-render --test gallery` makes them anew.

use std::error::Error;
use std::path::PathBuf;

use analysis::kept::Kept;
use report::result::BlockSample;

/// The pictures, each of a document, by the beginning of its title in that document's report.
const PICTURES: [(&str, &str, &str); 10] = [
    ("node", "contend", "The node"),
    ("contention", "contend", "H2D: GB/s of each"),
    ("ranks", "pingpong", "16 MiB of each rank"),
    ("rate", "sweep", "Rate over the size"),
    ("time", "sweep", "Time over the size"),
    ("differences", "trial", "Difference from the baseline"),
    ("runs", "trial", "Every run"),
    ("messages", "mpi", "Messages of 64 MiB"),
    ("eight-gpus", "eight-gpus", "The node"),
    ("eight-gpus-contention", "eight-gpus", "H2D: GB/s of each"),
];

#[test]
fn the_gallery_is_what_this_build_draws_of_the_documents_beside_it() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    for (name, document, title) in PICTURES {
        let bytes = std::fs::read(folder.join(format!("{document}.json")))?;
        let all = match Kept::<BlockSample>::from_json(&bytes)? {
            Kept::Result(document) => render::html::pictures(&document),
            Kept::Trial(document) => render::html::trial_pictures(&document),
            Kept::Mpi(document) => render::html::mpi_pictures(&document),
            Kept::Imported(_) => Vec::new(),
        };
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
