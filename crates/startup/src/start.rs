//! MPI, started from the plug-in of this launch, unless that is certain to make N runs of one.

use std::fmt;

use launchers::{Launch, Launcher};
use ranks::cray_gtl::Gtl;
use ranks::{Communicator, Mpi, PluginError, ThreadLevel, World, WorldError, farewell, pmi};

use crate::plugins;

/// The processes of a launch cannot become one run over MPI.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no plug-in that can be opened.
    #[error(transparent)]
    NoPlugin(#[from] PluginError),
    /// The launcher, the plug-in and its MPI do not go together.
    #[error(transparent)]
    Refused(#[from] launchers::LaunchRefusal),
    /// MPI does not start.
    #[error(transparent)]
    Mpi(#[from] WorldError),
}

/// Finds the plug-in and starts MPI, and says which MPI that is. `starting` is told so before, and what it
/// gives is kept until MPI has started or has refused to; `say` says what the user should know of the
/// library.
///
/// # Errors
/// [`StartError`]: there is no plug-in, it does not fit the launch, or MPI does not start.
pub fn start<G>(
    launch: &Launch,
    wanted: Option<ThreadLevel>,
    say: fn(&str),
    starting: impl FnOnce(&str) -> G,
) -> Result<(Mpi, String), StartError> {
    let plugin = match plugins::find(launch) {
        Ok(plugin) => plugin,
        Err(error) => {
            let tried: Vec<String> = error.tried.iter().map(ToString::to_string).collect();
            launch.without_plugin(&tried.join("; "))?;
            return Err(StartError::NoPlugin(error));
        }
    };

    if let (Gtl::Absent { tried, is_off }, true) = (plugin.gtl(), launch.speaks()) {
        let then = match is_off {
            true => "set to 0 here, so that MPI is given no device memory",
            false => {
                "not set to 0 here, because this process has threads already: start it with \
                 MPICH_GPU_SUPPORT_ENABLED=0"
            }
        };
        let text = format!(
            "warning: MPICH_GPU_SUPPORT_ENABLED is set, and Cray's library for it is not found, without \
             which its MPI ends every process: {then} ({}); load the site's module for the GPU, or let \
             NUMABENCH_GTL name libmpi_gtl_cuda.so or libmpi_gtl_hsa.so",
            tried.join("; ")
        );
        say(&text);
    }

    let library = plugin.library().clone();
    launch.accepts(&library)?;
    let kept = starting(&library.to_string());
    let mpi = plugin.start(wanted)?;
    drop(kept);

    if let Err(refusal) = launch.agrees(&library, mpi.place().size) {
        // Each is a world of its own here, and leaves it as such.
        if let Err(error) = mpi.leave() {
            say_failed(&error, say);
        }
        return Err(StartError::Refused(refusal));
    }
    Ok((mpi, library.to_string()))
}

/// How a process left the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// By MPI_Finalize.
    Finalized,
    /// Without it, and the launcher knows: this process may end with any code, at once, so that no exit
    /// handler of MPI waits for those who are gone.
    Unfinalized,
    /// It did not: the launcher ends with a code of its own, whatever was measured.
    Failed,
}

/// Leaves the launch in good order, collectively; where that fails, says so. `comm` is the one of this world.
pub fn leave(mpi: &Mpi, comm: &mut Communicator, launch: &Launch, say: impl Fn(&str)) -> Departure {
    // Hydra alone is known to be content with a word of the process itself.
    let without_finalize = launch.launcher == Launcher::Hydra && mpi.is_over_ucx();
    let left = if without_finalize {
        leave_without_finalize(comm)
    } else {
        mpi.leave().map_err(|error| error.to_string())
    };

    match left {
        Ok(()) if without_finalize => Departure::Unfinalized,
        Ok(()) => Departure::Finalized,
        Err(error) => {
            say_failed(&error, say);
            Departure::Failed
        }
    }
}

/// Leaves without MPI_Finalize, which may wait for ever ([`farewell`]).
fn leave_without_finalize(comm: &mut Communicator) -> Result<(), String> {
    farewell::bid(comm).map_err(|error| format!("leaving without MPI_Finalize failed: {error}"))?;
    pmi::finalize().then_some(()).ok_or_else(|| "Hydra does not answer that this process leaves".to_owned())
}

fn say_failed(error: &dyn fmt::Display, say: impl Fn(&str)) {
    say(&format!(
        "warning: MPI could not be left in order: {error}; the launcher may end with a code of its own"
    ));
}
