//! Cray MPICH's library between MPI and a GPU (GTL), which must be in the process before MPI is.
//!
//! With `MPICH_GPU_SUPPORT_ENABLED=1`, as the job templates of LUMI, Perlmutter and Alps have it, Cray MPICH
//! ends every process in MPI_Init ("GTL library is not linked") unless `libmpi_gtl_cuda.so` or
//! `libmpi_gtl_hsa.so` is there. A compiler wrapper links it into programs; a plug-in that is opened at run
//! time has it brought in, as MPI.jl does it. Where it is not to be had the variable is set to 0 for this
//! process: what passes no device memory to MPI runs as well without. MPI reads it by getenv(3), which
//! another thread's setenv(3) may not meet: so this is done once, before the process has other threads, and
//! not at all where it has some.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sys::file_ownership;

/// The variable that asks for it.
pub const ASKS: &str = "MPICH_GPU_SUPPORT_ENABLED";
/// The variable that names its file.
pub const NAMES: &str = "NUMABENCH_GTL";
/// What it is called, by the GPU's vendor.
const LIBRARIES: [&str; 2] = ["libmpi_gtl_cuda.so", "libmpi_gtl_hsa.so"];

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gtl {
    /// Nobody asks for it.
    NotAsked,
    /// It was opened from here.
    Opened(PathBuf),
    /// It is not to be had.
    Absent {
        /// What was tried, and why it was not that.
        tried: Vec<String>,
        /// The variable was set to 0; it was not where the process had other threads already.
        is_off: bool,
    },
}

static BROUGHT_IN: OnceLock<Gtl> = OnceLock::new();

/// Brings it in where the environment asks for it. A process that may open an MPI calls this before it starts
/// a thread; from then on this says what was done.
pub fn bring_in() -> &'static Gtl {
    BROUGHT_IN.get_or_init(|| bring(&std::env::vars_os().collect::<Vec<_>>()))
}

fn bring(variables: &[(OsString, OsString)]) -> Gtl {
    let asks = |(name, value): &(OsString, OsString)| name == ASKS && value != "0" && !value.is_empty();
    if !variables.iter().any(asks) {
        return Gtl::NotAsked;
    }
    let mut tried = Vec::new();
    for path in candidates(variables) {
        match open(&path) {
            Ok(()) => return Gtl::Opened(path),
            Err(why) => tried.push(format!("{}: {why}", path.display())),
        }
    }
    Gtl::Absent { tried, is_off: sys::environment::set_alone(ASKS.as_ref(), "0".as_ref()) }
}

/// Where it may be: the file that is named; where Cray's modules say (`PE_MPICH_GTL_DIR_…` is `-L` and a
/// folder); beside their MPI; where the dynamic linker looks.
fn candidates(variables: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let text =
        |(name, value): &(OsString, OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
    let variables: Vec<(String, String)> = variables.iter().filter_map(text).collect();
    let value = |wanted: &str| variables.iter().find(|(name, value)| name == wanted && !value.is_empty());
    if let Some((_, file)) = value(NAMES) {
        return vec![PathBuf::from(file)];
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    let told = variables.iter().filter(|(name, _)| name.starts_with("PE_MPICH_GTL_DIR_"));
    let words = told.flat_map(|(_, value)| value.split_whitespace());
    folders.extend(words.filter_map(|word| word.strip_prefix("-L")).map(PathBuf::from));
    folders.extend(value("CRAY_MPICH_ROOTDIR").map(|(_, root)| Path::new(root).join("gtl/lib")));

    // …/mpich/8.1.29/ofi/gnu/12.3 has its GTL in …/mpich/8.1.29/gtl/lib.
    let beside = value("CRAY_MPICH_DIR")
        .and_then(|(_, folder)| Some(Path::new(folder).ancestors().nth(3)?.join("gtl/lib")));
    folders.extend(beside);
    let in_folders = folders.iter().flat_map(|folder| LIBRARIES.map(|library| folder.join(library)));
    in_folders.filter(|path| path.exists()).chain(LIBRARIES.map(PathBuf::from)).collect()
}

fn open(path: &Path) -> Result<(), String> {
    // A bare name is the dynamic linker's to find, as a driver's is.
    if path.components().count() > 1 {
        file_ownership::may_open(path).map_err(|why| why.to_string())?;
    }
    // MPI looks for its functions as long as the process lives.
    plugin::keep_open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn nothing_is_opened_where_nobody_asks() {
        assert_eq!(bring(&variables(&[("PATH", "/bin")])), Gtl::NotAsked);
        assert_eq!(bring(&variables(&[(ASKS, "0")])), Gtl::NotAsked);
    }

    #[test]
    fn the_environment_of_a_process_that_has_other_threads_is_left_as_it_is() {
        let asked = variables(&[(ASKS, "1"), (NAMES, "/nowhere/gtl.so")]);
        // Beside the thread of this test.
        let brought =
            std::thread::scope(|scope| scope.spawn(|| bring(&asked)).join()).expect("the other thread");
        let Gtl::Absent { tried, is_off } = brought else { panic!("{brought:?}") };
        assert_eq!((tried.len(), is_off, std::env::var_os(ASKS)), (1, false, None));
    }

    #[test]
    fn it_is_looked_for_where_crays_modules_say_and_then_where_the_linker_looks() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("mpich/8.1.29");
        std::fs::create_dir_all(root.join("gtl/lib"))?;
        std::fs::write(root.join("gtl/lib/libmpi_gtl_hsa.so"), b"")?;
        let here = root.join("gtl/lib/libmpi_gtl_hsa.so");
        let by_the_linker = LIBRARIES.map(PathBuf::from);
        let found = |pairs: &[(&str, &str)]| candidates(&variables(pairs));
        let flag = format!("-L{}", root.join("gtl/lib").display());
        assert_eq!(found(&[("PE_MPICH_GTL_DIR_amd_gfx90a", &flag)])[0], here);
        let mpi = root.join("ofi/gnu/12.3").display().to_string();
        assert_eq!(found(&[("CRAY_MPICH_DIR", &mpi)])[0], here);
        assert_eq!(found(&[]), by_the_linker);
        assert_eq!(found(&[(NAMES, "/x/gtl.so"), ("CRAY_MPICH_DIR", &mpi)]), [PathBuf::from("/x/gtl.so")]);
        Ok(())
    }
}
