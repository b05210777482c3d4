//! Where cargo has put what the tests need beside themselves.

use std::path::{Path, PathBuf};

/// An example of this crate. `cargo test` and `cargo nextest` build them with the tests.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program's path");
    // target/debug/deps/TEST → target/debug/examples/NAME
    let built = test.parent().and_then(Path::parent).expect("a target folder").join("examples").join(name);
    assert!(
        built.exists(),
        "{} is not built: run the tests without --lib, --bins or --tests",
        built.display()
    );
    built
}
