//! Lines of public reports, each the smallest that showed a fault, on the project's own machines: what each
//! version of the launcher does with it.

use std::error::Error;
use std::path::Path;

use launchers::Assumption;
use launchers::line::{Reading, read};
use topo::Topology;

type Outcome = Result<(), Box<dyn Error>>;

fn machine(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml")))
}

/// `Open MPI 5: 0;1`, each reading's condition and ranks in the order of their numbers in the launch.
fn readings(line: &str, name: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let one = |reading: Reading| {
        let mut ranks = reading.ranks;
        ranks.sort_by_key(|rank| rank.world);
        let pus = ranks.iter().map(|rank| match &rank.pus {
            Ok(pus) if rank.world == rank.rank => pus.to_string(),
            Ok(pus) => format!("{pus}@{}", rank.rank),
            Err(_) => "?".to_owned(),
        });
        let places = pus.collect::<Vec<_>>().join(";");
        let of_way = |way: &Vec<Assumption>| way.iter().map(|one| &*one.what).collect::<Vec<_>>().join(", ");
        let ways = reading.ways.iter().map(of_way).collect::<Vec<_>>().join(" or ");
        if ways.is_empty() { places } else { format!("{ways}: {places}") }
    };
    Ok(read(&format!("{line} ./app"), &machine(name)?)?.readings.into_iter().map(one).collect())
}

fn refusal(line: &str, name: &str) -> Result<String, Box<dyn Error>> {
    match read(&format!("{line} ./app"), &machine(name)?) {
        Ok(_) => Err(format!("{line} is taken").into()),
        Err(error) => Ok(error.to_string()),
    }
}

#[test]
fn four_ranks_on_four_modules_are_spread_by_open_mpi_4_and_not_by_5() -> Outcome {
    let spread = "Open MPI 4: 0-71;72-143;144-215;216-287";
    assert_eq!(readings("mpirun -np 4", "gh200-quad")?, [spread, "Open MPI 5: 0;1;2;3"]);
    assert_eq!(readings("mpirun -np 4 -N 4", "gh200-quad")?, [spread, "Open MPI 5: 0-71;0-71;0-71;0-71"]);
    let core = readings("mpirun -np 4 --bind-to core", "gh200-quad")?;
    assert_eq!(core, ["Open MPI 4: 0;72;144;216", "Open MPI 5: 0;1;2;3"]);
    assert_eq!(readings("prterun -np 4", "gh200-quad")?, ["0;1;2;3"]);
    Ok(())
}

#[test]
fn open_mpi_5_numbers_one_node_after_the_other_and_local_ranks_go_round() -> Outcome {
    let by_numa = readings("mpirun -np 4 --map-by numa", "vm-two-nodes")?;
    assert_eq!(by_numa, ["Open MPI 4: 0-3;4-7;0-3;4-7", "Open MPI 5: 0-3;0-3@2;4-7@1;4-7"]);
    Ok(())
}

#[test]
fn every_rank_has_the_whole_list_of_cpus() -> Outcome {
    assert_eq!(readings("mpirun -np 2 --cpu-list 0,1", "vm-two-nodes")?, ["0-1;0-1"]);
    assert_eq!(readings("mpirun -np 2 --cpu-set 0,1", "interleaved")?, ["0,2,12,14;0,2,12,14"]);
    let ordered = readings("mpirun -np 2 --map-by pe-list=3,2:ordered", "vm-two-nodes")?;
    assert_eq!(ordered, ["Open MPI 5: 3;2"]);
    Ok(())
}

#[test]
fn cpus_beyond_a_package_are_refused_by_open_mpi_5_alone() -> Outcome {
    let wide = readings("mpirun -np 1 --map-by ppr:1:node:PE=4", "superchips")?;
    assert_eq!(wide, ["Open MPI 4: 0-3", "Open MPI 5: ?"]);
    Ok(())
}

#[test]
fn a_line_that_no_version_takes_is_refused() -> Outcome {
    let both = refusal("mpirun -np 2 --cpu-list 0,1 --map-by core", "vm-two-nodes")?;
    assert!(both.contains("(--cpu-list, --cpu-set) beside --map-by is refused"), "{both}");
    let slots = refusal("mpirun", "vm-two-nodes")?;
    assert!(slots.contains("write -np N"), "{slots}");
    Ok(())
}

#[test]
fn mpichs_list_gives_pus_to_several_ranks_and_none_to_those_beyond_it() -> Outcome {
    let list = readings("mpiexec -n 4 -bind-to user:0,1-3x2", "vm-two-nodes")?;
    assert_eq!(list, ["MPICH 4 or later: 0;1-3;1-3;0-7"]);
    Ok(())
}

#[test]
fn masks_that_intel_mpi_refuses_since_2021_18_pin_by_default_and_older_ones_take_them_and_env_marks_its_lines()
-> Outcome {
    let condition = "the mpiexec is Intel MPI's (2021.18 or later), which pins each rank";
    let older = "the mpiexec is Intel MPI's of 2021.13 or before, which takes such masks";
    for (masks, remedy, taken) in
        [("[2,1]", "write masks with 0x: [0x3,0xc]", "1;0"), ("[0x4]", "write one mask for each rank", "2;2")]
    {
        let refused = format!("{condition} but refuses I_MPI_PIN_DOMAIN={masks} ({remedy}): 0-3;4-7");
        assert_eq!(
            readings(&format!("I_MPI_PIN_DOMAIN={masks} mpiexec -n 2"), "vm-two-nodes")?,
            [refused, format!("{older}: {taken}")]
        );
    }
    let numa = format!("{condition}: 0-3;4-7");
    assert_eq!(
        readings("mpirun -env I_MPI_PIN_DOMAIN numa -n 2", "vm-two-nodes")?,
        std::slice::from_ref(&numa)
    );
    assert_eq!(readings("mpirun -genv I_MPI_PIN_DOMAIN=numa -n 2", "vm-two-nodes")?, [numa]);
    assert_eq!(
        readings("I_MPI_PIN_DOMAIN=[0x2,0x1] mpiexec -n 2", "vm-two-nodes")?,
        [format!("{condition}: 1;0")]
    );
    Ok(())
}
