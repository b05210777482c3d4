//! In a Linux guest with four NUMA nodes and the PCI devices of eight AMD GPUs (`tests/lab/numa-guest.sh`): a
//! program's memory and its PUs are where they were told to be, as the guest's own kernel says.
//!
//! The guest has no AMD driver, so the nodes of its topology are written by hand over `/sys/class`, in the
//! opposite of PCI's order.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use crate::lab;
use crate::run::Done;

/// `rank NAME OPTIONS` runs a program of two megabytes under numabench, which shows what it has: one process,
/// as each costs an emulator a tenth of a second.
const SCRIPT: &str = r#"
part() { echo "@@@ $*"; }
look='function show(file) { while ((getline line < file) > 0) print line }
    BEGIN { x = sprintf("%2000000s", ""); gpus = "ROCR_VISIBLE_DEVICES" in ENVIRON ? ENVIRON["ROCR_VISIBLE_DEVICES"] : "unset"
        print "ROCR=" gpus " OMP=" ENVIRON["OMP_PLACES"]; show("/proc/self/status"); show("/proc/self/numa_maps") }'
rank() { part $1; shift; numabench exec "$@" -- awk "$look" 2>&1; }
rank no-driver --rank 2 --ranks 8 --report
gpus=$(cd /sys/bus/pci/devices; for device in *; do case $(cat $device/class) in 0x0300*) echo $device;; esac; done)
mount -t tmpfs class /sys/class
node=9
for device in $gpus; do
    node=$((node - 1))
    mkdir -p /sys/class/kfd/kfd/topology/nodes/$node
    bus=${device#*:}
    echo "simd_count 1
location_id $((0x${bus%%:*} << 8))
domain 0
unique_id 0" >/sys/class/kfd/kfd/topology/nodes/$node/properties
done
for rank in 0 1 2 3 4 5 6 7; do rank $rank --rank $rank --ranks 8; done
rank elsewhere --rank 2 --ranks 8 --membind 0
rank untouched --rank 2 --ranks 8 --membind none
rank named --rank 1 --ranks 2 --gpus 7,0
rank half --rank 1 --ranks 4
(export ROCR_VISIBLE_DEVICES=5; rank given --rank 2 --ranks 8)
(export ROCR_VISIBLE_DEVICES=5; rank taken --rank 2 --ranks 8 --gpus 3)
mkdir /sys/fs/cgroup/job; echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
echo 4-5 >/sys/fs/cgroup/job/cpuset.cpus; echo 2 >/sys/fs/cgroup/job/cpuset.mems
(echo 0 >/sys/fs/cgroup/job/cgroup.procs; rank cpuset --gpus 0; rank outside --membind 1)
true
"#;

/// What a program was seen to have.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// ROCR_VISIBLE_DEVICES.
    gpus: String,
    /// The PUs of its affinity.
    pus: String,
    /// The policies that its memory has.
    policies: BTreeSet<String>,
    /// The nodes that its own (anonymous) pages are on, and how many are on each.
    pages: BTreeMap<u32, u64>,
}

fn seen(text: &str) -> Result<Seen, Box<dyn Error>> {
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let maps = text.lines().filter(|line| line.split(' ').any(|word| word.starts_with("anon=")));
    let (mut policies, mut pages) = (BTreeSet::new(), BTreeMap::new());
    for line in maps {
        let mut words = line.split(' ').skip(1);
        policies.insert(words.next().ok_or("no policy")?.to_owned());
        // A file's page that was written to counts twice, once as the file's: it lies where it was read
        // first.
        if line.contains(" file=") {
            continue;
        }
        for (node, count) in words.filter_map(|word| word.strip_prefix('N')?.split_once('=')) {
            *pages.entry(node.parse()?).or_default() += count.parse::<u64>()?;
        }
    }
    let gpus = after("ROCR=").and_then(|rest| rest.split(' ').next()).ok_or("no variable")?.to_owned();
    Ok(Seen { gpus, pus: after("Cpus_allowed_list:").ok_or("no affinity")?.to_owned(), policies, pages })
}

#[test]
fn in_a_guest_of_four_nodes_each_ranks_program_has_its_gpu_and_the_cores_and_the_memory_beside_it() -> Done {
    let Some(text) = lab::written("lumig", &[], SCRIPT)? else { return Ok(()) };
    let parts = lab::parts(&text);
    let part =
        |name: &str| parts.get(name).ok_or_else(|| format!("the guest did not write {name}: {parts:#?}"));
    let of = |name: &str| -> Result<Seen, Box<dyn Error>> {
        let text = part(name)?;
        seen(text).map_err(|error| format!("{name}: {error}: {text}").into())
    };
    // Held against what was meant; that the same check says no to another node is seen from the ranks that
    // are elsewhere.
    let is = |name: &str, gpus: &str, pus: &str, node: Option<u32>| -> Done {
        let seen = of(name)?;
        assert_eq!((seen.gpus.as_str(), seen.pus.as_str()), (gpus, pus), "{name}: {seen:?}");
        let policy = node.map_or("default".to_owned(), |node| format!("bind:{node}"));
        assert_eq!(seen.policies, BTreeSet::from([policy]), "{name}");
        let total: u64 = seen.pages.values().sum();
        assert!(total >= 400, "{name}: two megabytes are some 500 pages: {seen:?}");
        if let Some(node) = node {
            assert_eq!(seen.pages.keys().copied().collect::<Vec<_>>(), [node], "{name}: {seen:?}");
        }
        Ok(())
    };
    // GPUs 0 to 7 are on nodes 3 3 1 1 0 0 2 2; a node has two PUs, and two GPUs share them.
    let places = [("6", 3), ("7", 3), ("2", 1), ("3", 1), ("0", 0), ("1", 0), ("4", 2), ("5", 2)];
    for (rank, (pu, node)) in places.into_iter().enumerate() {
        is(&rank.to_string(), &(7 - rank).to_string(), pu, Some(node))?;
    }
    is("elsewhere", "5", "2", Some(0))?;
    is("untouched", "5", "2", None)?;
    is("named", "7", "6", Some(3))?;
    is("half", "5", "2", Some(1))?;
    // ROCr's index 5 is GPU 2: what was given stays, and nothing else can be had.
    is("given", "5", "2", Some(1))?;
    assert!(part("taken")?.contains("there is no device 3 here"), "{}", part("taken")?);

    let no_driver = of("no-driver")?;
    assert_eq!(
        (no_driver.gpus.as_str(), no_driver.pus.as_str()),
        ("unset", "2"),
        "placed near it, and shown as it was"
    );
    assert!(part("no-driver")?.contains("no variable is set for HIP"), "{}", part("no-driver")?);

    let cpuset = of("cpuset")?;
    assert!(
        cpuset.pus == "4" || cpuset.pus == "5" || cpuset.pus == "4-5",
        "never outside of the cpuset: {cpuset:?}"
    );
    assert_eq!(cpuset.pages.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(
        part("outside")?.contains("NUMA node 1 is outside this process's cpuset"),
        "{}",
        part("outside")?
    );
    Ok(())
}
