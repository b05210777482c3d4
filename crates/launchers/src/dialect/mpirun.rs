//! Options of the `mpirun`s: Open MPI's rankfile, Hydra's list.
//!
//! Open MPI 4 has three ways to bind rank i to a given PU. `--cpu-list 1,0 --bind-to cpu-list:ordered` left
//! ranks in the order of the PUs when tried (4.1.4), and counts cores logically; a rankfile counts logically
//! too, unless `rmaps_rank_file_physical` is set: that is the one used. It binds to whole cores, unless
//! hardware threads count as CPUs. Open MPI 5 has only logical numbers (PRRTE's "Rankfiles"), which a
//! topology of OS ids cannot give for certain: there the wrapper binds.

use topo::model::Topology;

use super::{Dialect, Saying};
use placement::{NodePlaces, Place};
use stats::units::counted;

pub(super) fn open_mpi(topology: &Topology, places: &NodePlaces) -> Saying {
    let host = topology.hostname.as_deref().filter(|host| is_host_name(host)).unwrap_or("localhost");
    let line = |place: &Place| format!("rank {}={host} slot={}\n", place.rank, comma_list(place));
    let ranks: String = places.places.iter().map(line).collect();
    let count = places.places.len();

    // Open MPI 4 binds to whole cores, unless hardware threads count as CPUs.
    let threads = if has_parts_of_cores(topology, places) { "--use-hwthread-cpus " } else { "" };
    let text = format!(
        "cat > numabench.rankfile <<'END'\n{ranks}END\n\
         mpirun -np {count} {threads}--mca rmaps_rank_file_physical 1 --rankfile numabench.rankfile PROGRAM"
    );
    let shared =
        places.places.iter().enumerate().any(|(at, place)| {
            places.places[..at].iter().any(|before| !before.pus.and(&place.pus).is_empty())
        });

    Saying::new(Dialect::OpenMpi, text)
        .always(format!(
            "for {} of one node, {host}, and Open MPI 4; several nodes need a line for each rank",
            counted(count, "rank")
        ))
        .always(
            "Open MPI 5 counts cores of a rankfile logically, whatever this option says: there start the \
             wrapper under mpirun --bind-to none",
        )
        .remark(shared, || {
            "ranks that share a PU need --oversubscribe, and --bind-to core:overload-allowed".to_owned()
        })
}

pub(super) fn mpich(places: &NodePlaces) -> Saying {
    let one = |place: &Place| place.pus.iter().map(|pu| pu.to_string()).collect::<Vec<_>>().join("+");
    let lists: Vec<String> = places.places.iter().map(one).collect();
    let count = places.places.len();

    // Hydra copies the numbers into a mask of OS ids (its topo_hwloc.c), and begins the list again on each
    // node.
    Saying::new(
        Dialect::Mpich,
        format!(
            "mpiexec -n {count} -bind-to user:{} PROGRAM",
            lists.join(",")
        ),
    )
    .always(format!(
        "for {} a node (-ppn {count} where there are several), under the mpiexec of MPICH; not under srun",
        counted(count, "rank")
    ))
}

/// Whether a place has some and not all of a core's hardware threads.
fn has_parts_of_cores(topology: &Topology, places: &NodePlaces) -> bool {
    topology.cores.iter().any(|core| {
        let own = |place: &Place| core.pus.and(&place.pus);
        places.places.iter().any(|place| !own(place).is_empty() && own(place) != core.pus)
    })
}

/// A rankfile's slots: single PUs, because a range would be one of cores.
fn comma_list(place: &Place) -> String {
    place.pus.iter().map(|pu| pu.to_string()).collect::<Vec<_>>().join(",")
}

/// A saved file can say anything for its host's name, and this goes into a shell.
pub(super) fn is_host_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(fits)
}
