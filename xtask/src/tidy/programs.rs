//! The committed PTX is that of the committed kernels.

use std::path::Path;

use super::finding::Finding;
use crate::kernels::programs::all;

const REMEDY: &str = "run `cargo xtask kernels --nvrtc LIBNVRTC` (of the Python package \
    nvidia-cuda-nvrtc-cu12 12.0.76) and commit what it writes";

/// Compares the first line of each file with that of the present source.
pub fn check(root: &Path) -> Vec<Finding> {
    let compared = all().into_iter().map(|made| {
        let committed = std::fs::read_to_string(root.join(&made.file)).ok();
        let expected = made.first_line(root).map_err(|error| error.to_string());
        compare(&made.file, committed.as_deref(), expected)
    });
    compared.flatten().collect()
}

fn compare(file: &Path, committed: Option<&str>, expected: Result<String, String>) -> Option<Finding> {
    match (committed, expected) {
        (None, _) => Some(Finding::new(file, 1, "there is no committed PTX", REMEDY)),
        (_, Err(error)) => Some(Finding::new(file, 1, error, REMEDY)),
        (Some(committed), Ok(expected)) => (!committed.starts_with(&expected))
            .then(|| Finding::new(file, 1, "the PTX is of another source", REMEDY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_of_another_source_is_found_and_its_own_passes() {
        let compared =
            |committed| compare(Path::new("a.ptx"), committed, Ok("// of source 01 for x, by ".to_owned()));
        assert_eq!(compared(Some("// of source 01 for x, by NVRTC 12.0\n")), None);
        for wrong in [None, Some(""), Some("// of source 02 for x, by NVRTC 12.0\n")] {
            assert!(compared(wrong).is_some(), "{wrong:?}");
        }
    }
}
