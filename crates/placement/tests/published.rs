//! Mappings that centres and vendors publish for their nodes: each comes out of the recommender, from the
//! shape of the machine alone.
//!
//! Some 480 lines because each published node, and each rule that was found on one, is a test of its own.
//!
//! Of the project's own machines (`topo/tests/machines` says what each is made after), and of captures where
//! there are some.

mod machines;
mod places;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use launchers::{Dialect, Situation, parse_map_cpu, parse_mask_cpu, say};
use placement::{Ask, Closeness, GpuChoice, NodePlaces, Place, RecommendError, Strategy, Target, recommend};
use stats::IdSet;
use topo::Topology;
use topo::model::Rung;

use machines::{captures, load, shares};

type Outcome = Result<(), Box<dyn Error>>;

fn own(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml")))
}

/// The places, having kept the rules.
fn placed(topology: &Topology, ask: &Ask) -> Result<NodePlaces, Box<dyn Error>> {
    Ok(places::check(topology, ask)?.ok_or("refused")?)
}

fn close(topology: &Topology) -> Result<NodePlaces, Box<dyn Error>> {
    placed(topology, &Ask::default())
}

fn gpus(topology: &Topology, indices: &[usize]) -> GpuChoice {
    let all = Target::gpus_of(topology);
    GpuChoice::These(indices.iter().map(|index| all[*index].clone()).collect())
}

fn text(topology: &Topology, places: &NodePlaces, dialect: Dialect) -> String {
    say(topology, places, dialect, &Situation::default()).text
}

/// Each rank's PUs as a list.
fn pus(places: &NodePlaces) -> Vec<String> {
    places.places.iter().map(|place| place.pus.to_string()).collect()
}

fn firsts(places: &NodePlaces) -> Vec<u32> {
    places.places.iter().map(|place| place.first).collect()
}

fn memory(places: &NodePlaces) -> Vec<u32> {
    places.places.iter().filter_map(|place| place.memory_node).collect()
}

#[track_caller]
fn all_are(places: &NodePlaces, closeness: Closeness) {
    for place in &places.places {
        assert_eq!(place.verdict.as_ref().map(|verdict| verdict.closeness), Some(closeness), "{place:?}");
    }
}

/// How many ranks each PU has.
fn ranks_on(places: &NodePlaces) -> BTreeMap<u32, usize> {
    let mut ranks = BTreeMap::new();
    places.places.iter().flat_map(|place| place.pus.iter()).for_each(|pu| *ranks.entry(pu).or_default() += 1);
    ranks
}

/// Half of a DGX A100's NUMA nodes have no GPU: their cores come before second threads of the others'.
#[test]
fn every_core_of_a_package_has_a_rank_before_a_second_hardware_thread_has_one() -> Outcome {
    let dgx = own("dgx-a100")?;
    for (ranks, cores) in [(64, 64), (128, 128), (160, 128)] {
        let places = placed(&dgx, &Ask { ranks: Some(ranks), ..Ask::default() })?;
        let used = dgx
            .cores
            .iter()
            .filter(|core| places.places.iter().any(|place| !place.pus.and(&core.pus).is_empty()));
        assert_eq!(used.count(), cores, "{ranks} ranks");
        let remote =
            |place: &&Place| place.verdict.as_ref().is_some_and(|v| v.closeness == Closeness::Remote);
        assert_eq!(places.places.iter().filter(remote).count(), 0, "{ranks} ranks");
        let on_threads = places.notes.iter().any(|note| note.contains("threads"));
        assert_eq!(on_threads, ranks > 128, "{:?}", places.notes);
    }
    let places = placed(&dgx, &Ask { ranks: Some(128), ..Ask::default() })?;
    let off_node =
        places.places.iter().find(|place| place.nodes.to_string() == "0").ok_or("no rank on node 0")?;
    let pus = &off_node.pus;
    let reason = format!("are taken: placed on PU {pus} (same package)");
    assert!(off_node.why.contains(&reason), "{} has no \"{reason}\"", off_node.why);
    Ok(())
}

#[test]
fn cores_beyond_a_gpus_share_are_said_to_be_near_where_they_are() -> Outcome {
    let lumi = own("lumi-g")?;
    let whys = |ranks, cores| -> Result<Vec<String>, Box<dyn Error>> {
        let ask = Ask { ranks: Some(ranks), cores_per_rank: Some(cores), ..Ask::default() };
        Ok(placed(&lumi, &ask)?.places.into_iter().map(|place| place.why).collect())
    };
    let twelve = whys(4, 12)?;
    assert!(twelve[0].ends_with("; its share is 8 cores: 56-59 are NUMA-local too"), "{}", twelve[0]);
    let seventeen = whys(2, 17)?;
    let parts = "; its share is 8 cores: 56-63 are NUMA-local too, 16 comes from elsewhere";
    assert!(seventeen[0].ends_with(parts), "{}", seventeen[0]);
    Ok(())
}

#[test]
fn cores_from_elsewhere_are_no_other_ranks_where_as_near_ones_are_free() -> Outcome {
    let lumi = own("lumi-g")?;
    let places = placed(&lumi, &Ask { ranks: Some(2), cores_per_rank: Some(17), ..Ask::default() })?;
    assert_eq!(pus(&places), ["16,48-63", "0-15,17"], "nodes 1 and 2 have no rank's GPU");
    assert_eq!(memory(&places), [3, 0]);
    Ok(())
}

#[test]
fn with_fewer_pus_than_ranks_nobody_is_remote_while_a_pu_near_has_no_more_ranks() -> Outcome {
    let mut machines = vec![
        own("dgx-a100")?.restricted_to(&"16-17,80-81".parse()?),
        own("hgx-h100")?.restricted_to(&"0-1,60".parse()?),
    ];
    if let Some(folder) = captures("a DGX-2 of which a job has four PUs") {
        machines.push(load(&folder, "v100-dgx2-16gpu-restricted")?);
    }
    for machine in machines {
        for ranks in [8, 16, 21] {
            let places = placed(&machine, &Ask { ranks: Some(ranks), ..Ask::default() })?;
            let on = ranks_on(&places);
            for place in &places.places {
                let id = place.target.as_ref().ok_or("no target")?.id;
                let is_remote = |pu: u32| placement::verdict(&machine, pu, id).closeness == Closeness::Remote;
                if !is_remote(place.first) {
                    continue;
                }
                let fewest = on.iter().filter(|(pu, _)| !is_remote(**pu)).map(|(_, ranks)| *ranks).min();
                let own = on[&place.first];
                assert!(
                    fewest.is_none_or(|fewest| fewest > own),
                    "rank {}: {own} there, {fewest:?} near",
                    place.rank
                );
            }
        }
    }
    Ok(())
}

#[test]
fn cores_that_stay_idle_are_said_with_the_option_that_uses_them() -> Outcome {
    let dgx = own("dgx-a100")?;
    let places = close(&dgx)?;
    assert_eq!(
        places.notes.first().map(String::as_str),
        Some(
            "64 of 128 cores stay idle: with more cores each, ranks would reach into other L3s or NUMA nodes"
        ),
        "those of the nodes without a GPU"
    );
    let proposed = |machine: &str, ranks| -> Result<Option<String>, Box<dyn Error>> {
        let places = placed(&own(machine)?, &Ask { ranks: Some(ranks), ..Ask::default() })?;
        Ok(places.notes.into_iter().find(|note| note.contains("idle")))
    };
    assert_eq!(
        proposed("lumi-g", 4)?.as_deref(),
        Some("32 of 64 cores stay idle: --cores-per-rank 16 uses 64")
    );
    let three = proposed("lumi-g", 3)?.ok_or("no note")?;
    assert!(three.starts_with("40 ") && !three.contains(" 21"), "{three}");
    let wide = placed(&dgx, &Ask { cores_per_rank: Some(16), ..Ask::default() })?;
    assert!(wide.places.iter().all(|place| place.pus.len() == 16), "{wide:?}");
    insta::assert_snapshot!("notes_on_wide_ranks", wide.notes.join("\n"));
    assert!(close(&own("lumi-g")?)?.notes.is_empty());
    Ok(())
}

/// Four MI300A in mode CPX are 24 devices.
#[test]
fn each_partition_of_a_gpu_gets_a_rank_beside_its_cores() -> Outcome {
    let apus = own("mi300a-cpx")?;
    let places = placed(&apus, &Ask { ranks: Some(24), ..Ask::default() })?;
    assert_eq!(ranks_on(&places).len(), 96, "four cores each");
    all_are(&places, Closeness::NumaLocal);
    let wrapper = text(&apus, &places, Dialect::Wrapper);
    assert!((0..24).all(|at| wrapper.contains(&format!("export ROCR_VISIBLE_DEVICES={at}\n"))), "{wrapper}");
    Ok(())
}

/// LUMI-G: docs.lumi-supercomputer.eu, "Distribution and binding"; the cores, the masks, and the GPUs for
/// ranks in core order.
#[test]
fn lumi_g_gets_the_published_cores_masks_and_gpus() -> Outcome {
    let mut machines = vec![own("lumi-g-low-noise")?];
    if let Some(folder) = captures("LUMI-G as captured") {
        let tioga = load(&folder, "mi250x-tioga")?;
        let reserved: IdSet = "0-120:8".parse()?;
        machines.push(tioga.restricted_to(&tioga.allowed.pus.minus(&reserved)));
    }
    for lumi in machines {
        let places = close(&lumi)?;
        assert_eq!(text(&lumi, &places, Dialect::SrunMapCpu), "--cpu-bind=map_cpu:49,57,17,25,1,9,33,41");
        let masks =
            "0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000";
        assert_eq!(text(&lumi, &places, Dialect::SrunMaskCpu), format!("--cpu-bind=mask_cpu:{masks}"));
        let inverse = text(&lumi, &places, Dialect::GpuBind);
        assert!(inverse.ends_with(" --gpu-bind=map:4,5,2,3,6,7,0,1"), "{inverse}");
        let in_core_order: Vec<Option<u32>> = parse_mask_cpu(&inverse)?.iter().map(IdSet::first).collect();
        assert_eq!(in_core_order, [1, 9, 17, 25, 33, 41, 49, 57].map(Some));
        assert_eq!(memory(&places), [3, 3, 1, 1, 0, 0, 2, 2]);
        all_are(&places, Closeness::L3Local);
        assert!(places.places.iter().all(|place| place.rung == Some(Rung::L3) && place.l3s.len() == 1));
    }
    Ok(())
}

#[test]
fn half_of_lumi_gs_gpus_keep_their_cores_however_they_are_asked_for() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    for ask in [
        Ask { gpus: gpus(&lumi, &[0, 2, 4, 6]), ..Ask::default() },
        Ask { ranks: Some(4), ..Ask::default() },
        Ask { ranks: Some(4), cores_per_rank: Some(1), ..Ask::default() },
    ] {
        let places = placed(&lumi, &ask)?;
        assert_eq!(text(&lumi, &places, Dialect::SrunMapCpu), "--cpu-bind=map_cpu:49,17,1,33", "{ask:?}");
    }
    let each_alone = (0..8).map(|gpu| placed(&lumi, &Ask { gpus: gpus(&lumi, &[gpu]), ..Ask::default() }));
    let each_alone: Vec<String> =
        each_alone.map(|places| Ok(pus(&places?).concat())).collect::<Result<_, Box<dyn Error>>>()?;
    assert_eq!(
        each_alone,
        pus(&close(&lumi)?),
        "a rank that sees one GPU computes what the node's plan gives it"
    );
    Ok(())
}

#[test]
fn lumi_gs_reserved_cores_are_found_and_named() -> Outcome {
    let places = close(&own("lumi-g-low-noise")?)?;
    let kept: IdSet = "0-120:8".parse()?;
    assert_eq!(places.reserved, kept);
    let note = places.notes.first().ok_or("no note")?;
    assert_eq!(*note, format!("the site reserves 1 core of each L3: PUs {kept}"));
    assert_eq!(close(&own("lumi-g")?)?.reserved, IdSet::default());
    let asked = Ask { reserve: "1,57".parse()?, ..Ask::default() };
    let places = placed(&own("lumi-g")?, &asked)?;
    assert_eq!(places.reserved, "1,57,65,121".parse()?, "with their other threads");
    assert_eq!(pus(&places)[1], "56,58-63");
    Ok(())
}

#[test]
fn lumi_gs_threads_and_more_ranks_than_gpus_split_each_gpus_own_l3() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let places = placed(&lumi, &Ask { smt: true, gpus: gpus(&lumi, &[0]), ..Ask::default() })?;
    assert_eq!(pus(&places), ["49-55,113-119"]);
    let places = placed(&lumi, &Ask { ranks: Some(16), ..Ask::default() })?;
    let split = ["49-52", "53-55", "57-60", "61-63", "17-20", "21-23", "25-28", "29-31"];
    assert_eq!(pus(&places)[..8], split);
    let targets: Vec<u32> =
        places.places.iter().filter_map(|place| Some(place.target.as_ref()?.index)).collect();
    assert_eq!(targets, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    let of_16 = places.notes.join("\n");
    all_are(&places, Closeness::L3Local);
    // 112 PUs for 120 ranks: everyone is placed, and those that share are named.
    let places = placed(&lumi, &Ask { ranks: Some(120), ..Ask::default() })?;
    assert_eq!(ranks_on(&places).values().filter(|ranks| **ranks > 1).count(), 8);
    let last = &places.places[119].why;
    insta::assert_snapshot!(
        "notes_on_more_ranks_than_gpus",
        format!("{of_16}\n\n{}\n\n{last}", places.notes.join("\n"))
    );
    Ok(())
}

/// The user guides of the DGX A100 and of HGX H100 systems: `nvidia-smi topo -m`'s CPU affinities.
#[test]
fn dgx_a100_and_hgx_h100_split_each_nodes_cores_among_its_gpus() -> Outcome {
    let places = close(&own("dgx-a100")?)?;
    let half_nodes = ["48-55", "56-63", "16-23", "24-31", "112-119", "120-127", "80-87", "88-95"];
    assert_eq!(pus(&places), half_nodes);
    assert_eq!(memory(&places), [3, 3, 1, 1, 7, 7, 5, 5], "NUMA nodes 0, 2, 4 and 6 have no GPU");
    assert!(places.places.iter().all(|place| place.l3s.len() == 2), "two whole L3s of four cores each");
    all_are(&places, Closeness::NumaLocal);

    let hgx = own("hgx-h100")?;
    let every: IdSet = hgx.pus.iter().map(|pu| pu.os_index).collect();
    let places = placed(&hgx, &Ask { pus: Some(every), ..Ask::default() })?;
    let nodes: Vec<String> = places.places.iter().map(|place| place.nodes.to_string()).collect();
    assert_eq!(nodes, ["0", "0", "0", "0", "1", "1", "1", "1"]);
    let cores: usize = places.places.iter().map(|place| place.pus.len()).sum();
    assert_eq!(cores, hgx.cores.len(), "no core is left over");
    all_are(&places, Closeness::NumaLocal);
    Ok(())
}

/// CSCS and JSC: GPU i, NUMA node i, cores 72i to 72i+71; 36 NUMA nodes, of which four are for host memory.
#[test]
fn each_superchip_gets_its_own_cores_and_never_a_gpus_memory() -> Outcome {
    let mut machines = vec![own("gh200-quad")?];
    if let Some(folder) = captures("GH200 as published") {
        machines.push(load(&folder, "gh200-quad-synthetic-gpunuma-kept")?);
    }
    for machine in machines {
        let places = close(&machine)?;
        assert_eq!(pus(&places), ["0-71", "72-143", "144-215", "216-287"]);
        assert_eq!(memory(&places), [0, 1, 2, 3]);
        all_are(&places, Closeness::NumaLocal);
        for strategy in Strategy::ALL {
            for ranks in [1, 4, 36] {
                let places = placed(&machine, &Ask { strategy, ranks: Some(ranks), ..Ask::default() })?;
                assert!(memory(&places).iter().all(|node| *node < 4), "{strategy} {:?}", memory(&places));
            }
        }
    }
    Ok(())
}

/// One PU a core of four, ten L3s of two cores each for two GPUs a package; the first core of each package is
/// the system's (LLNL).
#[test]
fn lassen_splits_each_packages_cores_between_its_two_gpus() -> Outcome {
    let places = close(&own("power9")?)?;
    assert_eq!((firsts(&places), memory(&places)), (vec![4, 8, 20, 24], vec![0, 0, 8, 8]), "an L3 each");
    let Some(folder) = captures("Lassen as captured") else { return Ok(()) };
    for name in ["v100-lassen", "v100-lassen-gpunuma-hwloc1"] {
        let lassen = load(&folder, name)?;
        let places = close(&lassen)?;
        assert_eq!(pus(&places)[0], "8,12,16,20,24,28,32,36,40,44", "{name}");
        assert_eq!((firsts(&places), memory(&places)), (vec![8, 48, 96, 136], vec![0, 0, 8, 8]), "{name}");
        all_are(&places, Closeness::NumaLocal);
    }
    Ok(())
}

/// Corona: GPUs in PCI order, four to a package of eight L3s of three cores; and with four GPUs on eight NUMA
/// nodes.
#[test]
fn corona_gets_whole_l3s_and_nodes_without_gpu_stay_empty() -> Outcome {
    let Some(folder) = captures("Corona") else { return Ok(()) };
    let places = close(&load(&folder, "mi50-corona-8gpu")?)?;
    assert_eq!(pus(&places), ["0-5", "6-11", "12-17", "18-23", "24-29", "30-35", "36-41", "42-47"]);
    assert!(places.places.iter().all(|place| place.l3s.len() == 2));
    let eight = load(&folder, "mi60-corona-8numa")?;
    let places = close(&eight)?;
    assert_eq!(pus(&places), ["6-11", "12-17", "30-35", "42-47"]);
    assert_eq!(memory(&places), [1, 2, 5, 7]);
    let spread = placed(&eight, &Ask { strategy: Strategy::Spread, ..Ask::default() })?;
    assert_eq!(memory(&spread), [0, 2, 4, 6], "as evenly over eight nodes as four ranks can be");
    Ok(())
}

#[test]
fn pascals_gpus_share_the_cores_of_the_one_package_they_are_on() -> Outcome {
    let places = close(&own("pascal")?)?;
    assert_eq!((pus(&places), memory(&places)), (vec!["0-8".to_owned(), "9-17".to_owned()], vec![0, 0]));
    all_are(&places, Closeness::NumaLocal);
    let spread = placed(&own("pascal")?, &Ask { strategy: Strategy::Spread, ..Ask::default() })?;
    assert_eq!(pus(&spread), ["0-17", "18-35"]);
    let closeness: Vec<_> =
        spread.places.iter().filter_map(|place| Some(place.verdict.as_ref()?.closeness)).collect();
    assert_eq!(closeness, [Closeness::NumaLocal, Closeness::Remote]);
    Ok(())
}

/// Leonardo: every GPU is at node 0, and published runs were faster with ranks over both nodes. Both
/// candidates can be had.
#[test]
fn leonardos_two_candidates_are_near_the_gpus_and_over_both_nodes() -> Outcome {
    let leonardo = own("leonardo")?;
    assert_eq!(pus(&close(&leonardo)?), ["0-3", "4-7", "8-11", "12-15"]);
    let spread = placed(&leonardo, &Ask { strategy: Strategy::Spread, ..Ask::default() })?;
    assert_eq!(pus(&spread), ["0-7", "8-15", "16-23", "24-31"]);
    assert_eq!(memory(&spread), [0, 0, 1, 1]);
    Ok(())
}

#[test]
fn where_nobody_tells_ranks_are_spread_evenly_and_nothing_is_claimed() -> Outcome {
    let one = own("vm-one-node")?;
    let places = close(&one)?;
    assert_eq!(pus(&places), ["0-3", "4-7"]);
    all_are(&places, Closeness::Unknown);
    insta::assert_snapshot!("notes_on_unknown_localities", places.notes.join("\n"));
    let two = own("vm-two-nodes")?;
    assert_eq!(pus(&close(&two)?), ["0-1", "2-3", "4-7"], "three GPUs over two nodes of four cores");
    assert_eq!(pus(&placed(&two, &Ask { gpus: gpus(&two, &[2]), ..Ask::default() })?), ["4-7"]);
    let Some(folder) = captures("eight H200 in a virtual machine") else { return Ok(()) };
    let h200 = load(&folder, "h200-x8-vm-no-locality")?;
    let places = close(&h200)?;
    all_are(&places, Closeness::Unknown);
    let sizes: Vec<usize> = places.places.iter().map(|place| place.pus.len()).collect();
    assert_eq!(sizes, [h200.cores.len() / 8; 8]);
    Ok(())
}

#[test]
fn a_jobs_share_and_offline_pus_are_what_is_shared_out() -> Outcome {
    let job = own("job-share")?;
    let places = close(&job)?;
    assert_eq!(pus(&places), ["8-9", "10-11"], "GPU 0's own package is another job's");
    insta::assert_snapshot!("why_a_rank_is_elsewhere", places.places[0].why);
    let own_only = placed(&job, &Ask { gpus: gpus(&job, &[1]), ..Ask::default() })?;
    assert_eq!(pus(&own_only), ["8-11"], "and leaves GPU 1 all of its cores where nobody drives it");
    let offline = own("offline")?;
    let places = placed(&offline, &Ask { gpus: GpuChoice::None, ..Ask::default() })?;
    assert_eq!(pus(&places), ["0-2,11", "4-5,15"], "a core with one sibling online counts");
    let smt_off = placed(&own("smt-off")?, &Ask { smt: true, gpus: GpuChoice::None, ..Ask::default() })?;
    assert_eq!(pus(&smt_off), ["0-5", "6-11"]);
    Ok(())
}

#[test]
fn the_worst_is_another_node_and_says_so() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let places = placed(&lumi, &Ask { strategy: Strategy::Worst, ..Ask::default() })?;
    assert_eq!(memory(&places), [1, 1, 3, 3, 2, 2, 0, 0]);
    all_are(&places, Closeness::SamePackage);
    insta::assert_snapshot!("notes_on_the_worst", places.notes.join("\n"));
    let sizes: Vec<usize> = places.places.iter().map(|place| place.pus.len()).collect();
    assert_eq!(sizes, [7; 8], "as many cores as close gives, so that only the distance differs");
    let dgx = own("dgx-a100")?;
    all_are(&placed(&dgx, &Ask { strategy: Strategy::Worst, ..Ask::default() })?, Closeness::Remote);
    Ok(())
}

#[test]
fn compact_takes_the_first_cores_one_after_the_other() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let ask = Ask { strategy: Strategy::Compact, ..Ask::default() };
    assert_eq!(firsts(&placed(&lumi, &ask)?), [1, 2, 3, 4, 5, 6, 7, 9]);
    let ask = Ask { cores_per_rank: Some(7), ..ask };
    assert_eq!(firsts(&placed(&lumi, &ask)?), [1, 9, 17, 25, 33, 41, 49, 57]);
    Ok(())
}

#[test]
fn more_cores_than_there_are_are_refused_with_what_would_fit() -> Outcome {
    let lumi = own("lumi-g-low-noise")?;
    let refused = |ranks, each| {
        let ask = Ask { ranks: Some(ranks), cores_per_rank: Some(each), ..Ask::default() };
        recommend(&lumi, &ask).err()
    };
    for (ranks, each, needed) in [(8, 8, 64), (57, 1, 57)] {
        let error = refused(ranks, each);
        let Some(RecommendError::TooManyCores { needed: found, there: 56, .. }) = &error else {
            return Err(format!("{error:?}").into());
        };
        assert_eq!(*found, needed, "{error:?}");
    }
    let said =
        [refused(8, 8), refused(57, 1)].map(|error| error.map(|error| error.to_string()).unwrap_or_default());
    insta::assert_snapshot!("more_cores_than_there_are", said.join("\n"));
    let none = Ask { pus: Some("200-207".parse()?), ..Ask::default() };
    assert!(matches!(recommend(&lumi, &none), Err(RecommendError::NoPu { .. })));
    Ok(())
}

#[test]
fn every_machine_under_every_share_and_strategy_keeps_the_rules_and_srun_reads_it_back() -> Outcome {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures")];
    folders.extend(captures("every capture's places"));
    let (mut files, mut made) = (0, 0);
    for folder in folders {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "xml") {
                continue;
            }
            let Ok(whole) = topo::from_xml(&path) else { continue };
            files += 1;
            for share in shares(&whole) {
                let topology = whole.restricted_to(&share);
                for (strategy, ranks, smt) in Strategy::ALL.into_iter().flat_map(|strategy| {
                    [None, Some(3), Some(40)].map(|ranks| (strategy, ranks, ranks == Some(3)))
                }) {
                    let ask = Ask { strategy, ranks, smt, ..Ask::default() };
                    let places = places::check(&topology, &ask);
                    let places =
                        places.map_err(|error| format!("{}, PUs {share}: {error}", path.display()))?;
                    let Some(places) = places else { continue };
                    let want: Vec<IdSet> = places.places.iter().map(|place| place.pus.clone()).collect();
                    assert_eq!(parse_mask_cpu(&text(&topology, &places, Dialect::SrunMaskCpu))?, want);
                    let want: Vec<IdSet> =
                        firsts(&places).iter().map(|pu| [*pu].into_iter().collect()).collect();
                    assert_eq!(parse_map_cpu(&text(&topology, &places, Dialect::SrunMapCpu))?, want);
                    made += 1;
                }
            }
        }
    }
    assert!(files >= 24 && made > files * 40, "{made} of {files} machines");
    Ok(())
}
