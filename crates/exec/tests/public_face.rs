//! The crate as another program uses it: what a rank of a saved node would be given, without touching this
//! machine.

use std::collections::BTreeMap;
use std::path::Path;

use exec::{Asked, PoolOwner, plan, report};
use launchers::Launch;
use topo::Start;
use topo::visibility::{Runtime, Visibility, Visible};

#[test]
fn another_program_learns_the_place_the_gpu_and_the_variables_of_a_rank()
-> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g-low-noise.xml");
    let topology = topo::from_xml(Path::new(file))?;
    let rocr: Vec<stats::PciAddress> = topology.gpus.iter().map(|gpu| gpu.pci).collect();
    let devices = rocr.iter().map(|pci| Visible { pci: Some(*pci), part: None }).collect();
    let (variables, notes) = (BTreeMap::new(), Vec::new());
    let visible =
        Visibility { runtime: Runtime::Hip, variables, devices: Some(devices), reason: None, notes };
    let start =
        Start { topology, visibility: vec![visible], hidden: stats::IdSet::default(), rocr, step: None };
    let launch = Launch {
        local_rank: Some(3),
        local_size: Some(8),
        launcher: launchers::Launcher::Torchrun,
        ..Launch::ALONE
    };

    let setup = plan(&launch, &start, &Asked::default(), &BTreeMap::new())?;
    assert_eq!((setup.slot.local_rank, setup.slot.local_size, setup.drives.len()), (3, 8, 1));
    assert_ne!(setup.pool.owner, PoolOwner::Unchanged);
    assert!(setup.place.pus.is_subset(&setup.pool.pus) && !setup.place.pus.is_empty());
    let gpu = setup.drives[0].target.index.to_string();
    assert!(setup.variables.contains(&("ROCR_VISIBLE_DEVICES", gpu)), "{:?}", setup.variables);
    let line = report::line(&setup, "nid1");
    assert!(["rank 3", "of 8", "nid1"].iter().all(|part| line.contains(part)), "{line}");

    let unknown = Launch { local_size: None, ..launch };
    let refused = plan(&unknown, &start, &Asked::default(), &BTreeMap::new());
    assert!(refused.is_err_and(|error| error.to_string().contains("--ranks")));
    Ok(())
}
