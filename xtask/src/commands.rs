//! The table of xtask's commands.

use std::path::Path;

use anyhow::Result;

use crate::{
    bench, bindings, demo, dist, kernels, mpi_plugin, proving, recipes, sanitize, schema, setup, site, test,
    tidy,
};

/// A command: its name, its line in the help, what it does.
pub type Command = (&'static str, &'static str, fn(&Path, &[String]) -> Result<()>);

/// All of them, in the order of the help.
pub const COMMANDS: &[Command] = &[
    ("setup", "install what building and testing need, where it is missing [--build-only]", setup::run),
    ("demo", "setup, a release build, then `topo` and `pingpong` on this machine", demo::run),
    ("test", "setup, then format, lints, tidy and every test: what CI runs", test::run),
    (
        "tidy",
        "check what no compiler checks: dependency directions, module docs, unsafe [--figures: \
         sizes and counts]",
        tidy::run,
    ),
    ("schema", "write the documents' schemas, crates/*/schema, from the types", schema::run),
    ("bindings", "write HIP's declarations from ROCm's header, by bindgen [--include FOLDER]", bindings::run),
    (
        "kernels",
        "assemble and compile the GPU kernels for every architecture; needs no GPU [--nvrtc LIBRARY: make \
         their PTX]",
        kernels::run,
    ),
    (
        "bench",
        "the performance targets, measured beside other programs [options of bench/run.sh]",
        bench::run,
    ),
    (
        "mpi-plugin",
        "the MPI plug-in, with the site's mpicc, by the binary [--out FILE | --each]",
        mpi_plugin::run,
    ),
    (
        "site",
        "the pages as a site with a search, in target/site/pages; a link to nothing is an error",
        site::run,
    ),
    ("recipes", "write the list of crates in EasyBuild's recipe, from Cargo.lock", recipes::run),
    (
        "launch-truth",
        "what the installed MPI launchers do with thousands of lines on saved machines, as tables for the \
         tests [--prefix FOLDER, --only FAMILY, --jobs N, --again]",
        |root, args| proving::run(root, "launch-truth", args),
    ),
    ("calibrate", "how often each verdict is wrong, by simulation [VERDICT]… [--short]", |root, args| {
        proving::run(root, "calibrate", args)
    }),
    (
        "real-runs",
        "what `compare` says of documents of one machine on which nothing changed FOLDER [--comparisons=N]",
        |root, args| proving::run(root, "real-runs", args),
    ),
    ("campaign", "bad input, kills and faults, counted [--long] [--seed N] [--binary FILE]", |root, args| {
        proving::run(root, "campaign", args)
    }),
    ("slurm-truth", "what a real Slurm does with srun lines, as the tests' table [MACHINE]", |root, args| {
        proving::run(root, "slurm-truth", args)
    }),
    (
        "sanitize",
        "tests under Miri and the sanitizers [--only miri|address|thread] [--target-dir FOLDER]",
        sanitize::run,
    ),
    (
        "dist",
        "release archives, .deb, .rpm and wheels in target/dist [--arch A, --hwloc SOURCE, --no-plugins, \
         --prove]",
        dist::run,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_program_that_proves_is_one_here() -> Result<()> {
        let program =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("proving/src/main.rs"))?;
        let names: Vec<&str> = program
            .lines()
            .filter_map(|line| line.trim().strip_prefix("(\"")?.split_once("\", ").map(|(name, _)| name))
            .collect();
        assert_eq!(names.len(), 5, "{names:?}");
        for name in names {
            assert!(COMMANDS.iter().any(|command| command.0 == name), "`cargo xtask {name}` is no command");
        }
        Ok(())
    }
}
