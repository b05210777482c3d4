//! Lets the plug-in find the MPI it was linked with, also where no module is loaded that sets LD_LIBRARY_PATH
//! (Spack's do not).
//!
//! MPI is looked for as `mpi-sys` looks for it, by the same crate. What it links is its own business.

fn main() {
    for variable in ["MPICC", "MPI_PKG_CONFIG", "CRAY_MPICH_DIR"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // Where there is none, mpi-sys has said so already.
    for folder in build_probe_mpi::probe().map(|mpi| mpi.lib_paths).unwrap_or_default() {
        // A RUNPATH, not an RPATH: LD_LIBRARY_PATH, and so a loaded module, still comes first.
        println!("cargo::rustc-link-arg-cdylib=-Wl,--enable-new-dtags,-rpath,{}", folder.display());
    }
}
