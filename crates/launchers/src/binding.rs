//! The option of a launcher that binds ranks to given places, read back before it is offered.
//!
//! A line that says another thing than it was written for is worse than none: what is written here is read as `check --launch` reads it, and it is
//! an answer only where each rank comes out in its place.

use crate::launch::Launcher;
use placement::NodePlaces;
use stats::IdSet;
use topo::Topology;

use crate::dialect::{Dialect, Situation, say};
use crate::line;
use crate::process::Known;
use crate::{flux, pals, rankfile};

/// Why a launcher has no option for these places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingRefusal {
    /// It has no words for single ranks' PUs.
    #[error("{} has no option that gives each rank its PUs", .0.name())]
    NoWords(Launcher),
    /// It cannot work in this step.
    #[error("{0}")]
    Cannot(String),
    /// Read back, it puts a rank elsewhere.
    #[error("read back, \"{0}\" puts a rank elsewhere")]
    Differs(String),
}

/// What to write for a launcher so that its ranks are in these places.
///
/// # Errors
/// [`BindingRefusal`].
pub fn binding(
    topology: &Topology,
    places: &NodePlaces,
    launcher: Launcher,
    situation: &Situation,
) -> Result<String, BindingRefusal> {
    let said = |dialect, before: &str| {
        let saying = say(topology, places, dialect, situation);
        saying.cannot.map_or_else(|| Ok(format!("{before}{}", saying.text)), |why| Err(BindingRefusal::Cannot(why)))
    };
    let count = places.places.len();
    let single = places.places.iter().all(|place| place.pus.len() == 1);
    let (text, read_back) = match launcher {
        Launcher::Srun => {
            let text = said(if single { Dialect::SrunMapCpu } else { Dialect::SrunMaskCpu }, "srun ")?;
            let line = format!("{text} -N1 -n{count} PROGRAM");
            (text, pus(&line, topology))
        }
        Launcher::Hydra => {
            let text = said(Dialect::Mpich, "")?;
            let read_back = pus(&text, topology);
            (text, read_back)
        }
        Launcher::Pals => {
            let text = pals::written(places);
            let read_back = pus(&text, topology);
            (text, read_back)
        }
        Launcher::Flux => {
            let text = flux::written(places);
            let read_back = pus(&text, topology);
            (text, read_back)
        }
        Launcher::Mpirun => {
            let text = said(Dialect::OpenMpi, "")?;
            let file = rankfile::parse(&text, "the rankfile", true, topology, &topology.allowed.pus);
            (text, file.map(|file| file.pus).unwrap_or_default())
        }
        // A line for each process.
        Launcher::Nobody => {
            let text = said(Dialect::Taskset, "")?;
            let lines = text.lines().map(|line| line.split("  #").next().unwrap_or_default());
            let read_back = lines.flat_map(|line| pus(line, topology)).collect();
            (text, read_back)
        }
        Launcher::Jsrun | Launcher::Torchrun | Launcher::Pmi | Launcher::Pmix => {
            return Err(BindingRefusal::NoWords(launcher));
        }
    };
    let wanted = places.places.iter().map(|place| Ok(place.pus.clone()));
    match wanted.eq(read_back) {
        true => Ok(text),
        false => Err(BindingRefusal::Differs(text)),
    }
}

/// The PUs of the ranks of a line that leaves nothing open; none where it cannot be read, or does.
fn pus(line: &str, topology: &Topology) -> Vec<Known<IdSet>> {
    match line::read(line, topology).map(|launched| launched.readings) {
        Ok(readings) => match readings.as_slice() {
            [only] => only.ranks.iter().map(|rank| rank.pus.clone()).collect(),
            _ => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}

/// What starts the program through `numabench exec`, which binds each rank itself: the launcher's own binding is switched off.
pub fn through_exec(launcher: Launcher) -> &'static str {
    match launcher {
        Launcher::Nobody => "numabench exec -- PROGRAM",
        Launcher::Srun => "srun … numabench exec -- PROGRAM",
        Launcher::Mpirun => "mpirun --bind-to none … numabench exec -- PROGRAM",
        Launcher::Hydra => "mpiexec -bind-to none … numabench exec -- PROGRAM",
        Launcher::Pals => "mpiexec --cpu-bind none … numabench exec -- PROGRAM",
        Launcher::Jsrun => "jsrun --bind none … numabench exec -- PROGRAM",
        Launcher::Flux => "flux run -o cpu-affinity=off … numabench exec -- PROGRAM",
        Launcher::Torchrun => "torchrun … --no-python numabench exec -- python3 PROGRAM",
        Launcher::Pmi | Launcher::Pmix => "start the program through numabench exec -- PROGRAM",
    }
}
