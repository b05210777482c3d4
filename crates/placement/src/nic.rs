//! The network adapter for each rank: the nearest to its GPU by the bridges between them, which is what MPI
//! libraries and NCCL go by too.
//!
//! GPUs with the same adapters near share them evenly. The variables are each stack's own (UCX's
//! `UCX_NET_DEVICES`, NCCL's and RCCL's `NCCL_IB_HCA`, libfabric's `FI_CXI_DEVICE_NAME`); `place` says them,
//! and only `exec --nic near` sets them: libraries choose for themselves, and a wrong one costs more than
//! none. Left out: adapters with several ports, of which the first is named.

use std::collections::BTreeMap;

use stats::PciAddress;
use topo::interconnect::{Endpoint, Interconnect};
use topo::pci_path::PciLevel;

/// A variable to set, and its value.
type Variable = (&'static str, String);

/// A network adapter near a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearNic {
    /// What the kernel calls it (`mlx5_0`, `hsn0`).
    pub name: String,
    /// Its PCI address.
    pub pci: PciAddress,
    /// What lies between it and the GPU.
    pub level: PciLevel,
    /// Who says so.
    pub source: String,
    /// Variables by which communication libraries are told to take it, as `NAME=value`.
    pub variables: Vec<String>,
    /// The names of the machine's adapters that are farther from the GPU than it.
    pub farther: Vec<String>,
}

/// The adapter near the GPU at this address; `None` where none is known to be near.
pub fn near(interconnect: &Interconnect, gpu: PciAddress) -> Option<NearNic> {
    let names = |pci| -> Vec<&str> {
        interconnect.near_adapters(pci).into_iter().filter_map(|(nic, ..)| nic.name.as_deref()).collect()
    };
    let own = names(gpu);

    // Which of those that have the same adapters near this GPU is.
    let gpus =
        interconnect.devices.iter().filter(|device| device.affinity.is_some()).map(|device| device.pci);
    let turn = gpus.take_while(|pci| *pci != gpu).filter(|pci| names(*pci) == own).count();
    let adapters = interconnect.near_adapters(gpu);
    let (nic, level, source) = *adapters.get(turn % adapters.len().max(1))?;
    let name = nic.name.clone()?;
    let is_far = |device: &&Endpoint| {
        device.affinity.is_none() && !adapters.iter().any(|(near, ..)| near.pci == device.pci)
    };

    Some(NearNic {
        farther: interconnect
            .devices
            .iter()
            .filter(is_far)
            .filter_map(|device| device.name.clone())
            .collect(),
        variables: variables(&name).into_iter().map(|(name, value)| format!("{name}={value}")).collect(),
        name,
        pci: nic.pci,
        level,
        source: source.to_owned(),
    })
}

/// What the program of a rank is told of the adapter near its GPU, and what the user should know: what the
/// environment has is the user's word.
pub fn variables_and_note(
    interconnect: &Interconnect,
    gpu: Option<PciAddress>,
    environment: &BTreeMap<String, String>,
) -> (Vec<Variable>, Option<String>) {
    let Some(gpu) = gpu else {
        return (Vec::new(), Some("no network adapter is chosen: this rank has no GPU".to_owned()));
    };
    let Some(nic) = near(interconnect, gpu) else {
        return (
            Vec::new(),
            Some(format!("no network adapter is known to be near GPU {gpu}, and no variable names one")),
        );
    };
    let (set, unset): (Vec<Variable>, Vec<Variable>) =
        variables(&nic.name).into_iter().partition(|(name, _)| environment.contains_key(*name));
    let kept: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    let said = match (&kept[..], &unset[..]) {
        ([], []) => {
            Some(format!("the adapter near GPU {gpu} is {}, for which no variable is known", nic.name))
        }
        ([], _) => None,
        _ => Some(format!(
            "{} is left as it was set; the adapter near GPU {gpu} is {}",
            kept.join(", "),
            nic.name
        )),
    };

    (unset, said)
}

/// The variables that name an adapter or say how one is chosen, as far as numabench knows them.
const NAMING: [&str; 6] = [
    "FI_CXI_DEVICE_NAME",
    "MPICH_OFI_NIC_MAPPING",
    "MPICH_OFI_NIC_POLICY",
    "NCCL_IB_HCA",
    "UCX_NET_DEVICES",
    "OMPI_MCA_btl_openib_if_include",
];

/// Those of a process's variables that are of network adapters.
pub fn of_adapters(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    variables.into_iter().filter(|(name, _)| NAMING.contains(&name.as_str())).collect()
}

/// The variables by which libraries do not take this adapter, as `NAME=value` with what it does.
pub fn elsewhere(near: &NearNic, set: &BTreeMap<String, String>) -> Vec<(String, &'static str)> {
    let does = |told: &str| {
        if told.trim().starts_with('^') {
            "excludes the adapter"
        } else {
            "names another adapter than the one"
        }
    };
    having(near, set, false).map(|(variable, told)| (format!("{variable}={told}"), does(told))).collect()
}

/// The variables by which libraries take this adapter, as `NAME=value`.
pub fn agreeing(near: &NearNic, set: &BTreeMap<String, String>) -> Vec<String> {
    having(near, set, true).map(|(variable, told)| format!("{variable}={told}")).collect()
}

/// The variables that have libraries take this adapter, or that do not.
fn having<'s>(
    near: &NearNic,
    set: &'s BTreeMap<String, String>,
    wanted: bool,
) -> impl Iterator<Item = (&'s String, &'s String)> {
    set.iter().filter(move |(variable, told)| takes(near, variable, told) == Some(wanted))
}

/// Whether a variable has libraries take this adapter; `None` where it leaves the choice to them, or names
/// adapters by other names than the kernel's.
fn takes(near: &NearNic, variable: &str, told: &str) -> Option<bool> {
    let told = told.trim();
    match variable {
        "MPICH_OFI_NIC_POLICY" => return told.eq_ignore_ascii_case("GPU").then_some(true),
        "MPICH_OFI_NIC_MAPPING" => return None,
        _ => {}
    }
    let value = value(variable, &near.name)?;

    let (is_excluding, list) = told.strip_prefix('^').map_or((false, told), |list| (true, list));
    if list.is_empty() || ["all", "any"].iter().any(|all| list.split(',').any(|one| one == *all)) {
        return None;
    }
    // `mlx5_0:1` and `=mlx5_0` name mlx5_0, and NCCL takes `mlx5` for all that begin with it.
    let (is_exact, list) = list.strip_prefix('=').map_or((false, list), |list| (true, list));
    let entries = list.split(',').map(|one| one.trim().split(':').next().unwrap_or_default());
    let entries: Vec<&str> = entries.filter(|one| !one.is_empty()).collect();
    let is_named = |value: &str| {
        let is_meant =
            |one: &&str| *one == value || variable == "NCCL_IB_HCA" && !is_exact && value.starts_with(*one);
        entries.iter().any(is_meant)
    };
    let names_farther =
        || near.farther.iter().filter_map(|name| self::value(variable, name)).any(|value| is_named(&value));
    match (is_excluding, is_named(&value)) {
        (true, true) => Some(false),
        (true, false) => None,
        (false, true) => (!names_farther()).then_some(true),
        // The list may have the adapter by its other name, as `ib0` is some mlx5_0.
        (false, false) => (near.name.starts_with("mlx") || variable == "FI_CXI_DEVICE_NAME").then_some(false),
    }
}

/// What an adapter of this name is called in a variable.
fn value(variable: &str, name: &str) -> Option<String> {
    match variable {
        "FI_CXI_DEVICE_NAME" => {
            variables(name).into_iter().find(|(known, _)| *known == variable).map(|(_, value)| value)
        }
        _ => Some(name.to_owned()),
    }
}

/// How MPI libraries are told to take an adapter, as `NAME=value`: by its name, and over TCP by its
/// interface. Those of a name go before: a fast network is not left for TCP.
pub fn choosing(name: &str, interfaces: &[String]) -> Vec<String> {
    let of_interface = |interface: &String| {
        ["UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE"]
            .map(|variable| (variable, interface.clone()))
    };
    let mut chosen: Vec<Variable> =
        variables(name).into_iter().filter(|(name, _)| *name != "NCCL_IB_HCA").collect();
    if chosen.is_empty() {
        chosen.extend(interfaces.first().map(of_interface).into_iter().flatten());
    }
    chosen.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// How each stack is told to take the adapter of this name.
fn variables(name: &str) -> Vec<Variable> {
    let slingshot = ["hsn", "hsi", "cxi"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|number| !number.is_empty());
    match slingshot {
        Some(number) => {
            vec![("FI_CXI_DEVICE_NAME", format!("cxi{number}")), ("MPICH_OFI_NIC_POLICY", "GPU".to_owned())]
        }
        None if name.starts_with("mlx") => {
            // NCCL takes a name without `=` for all that begin with it, mlx5_1 for mlx5_10 too.
            vec![("UCX_NET_DEVICES", format!("{name}:1")), ("NCCL_IB_HCA", format!("={name}"))]
        }
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nics(machine: &str) -> Result<Vec<String>, topo::TopoError> {
        let file = format!("{}/../topo/tests/fixtures/{machine}.xml", env!("CARGO_MANIFEST_DIR"));
        let survey = topo::survey_xml(std::path::Path::new(&file))?;
        let one = |gpu: &topo::model::Gpu| {
            near(&survey.interconnect, gpu.pci)
                .map_or_else(|| "-".to_owned(), |nic| format!("{} {}", nic.name, nic.level.word()))
        };
        Ok(survey.topology.gpus.iter().map(one).collect())
    }

    #[test]
    fn each_gpu_has_the_adapter_beside_it_and_those_with_the_same_ones_share_them()
    -> Result<(), topo::TopoError> {
        let dgx = nics("dgx-a100")?;
        let switch = |first: usize| (0..2).map(move |nic| format!("mlx5_{} ", first + nic));
        let wanted: Vec<String> = [0, 2, 4, 6].into_iter().flat_map(switch).collect();
        assert!(dgx.iter().zip(&wanted).all(|(nic, wanted)| nic.starts_with(wanted.as_str())), "{dgx:?}");
        let lumi = nics("lumi-g")?;
        // Of a module's two GPUs the second has the adapter on its own L3; the first reaches it within the
        // NUMA node.
        assert!(
            lumi.iter().enumerate().all(|(gpu, nic)| nic.starts_with(&format!("hsn{} ", gpu / 2))),
            "{lumi:?}"
        );
        assert!(nics("vm-two-nodes")?.iter().all(|nic| nic == "-"), "nobody says what is near");
        Ok(())
    }

    #[test]
    fn each_stack_reads_its_own_variable() {
        let said = |name| -> Vec<String> {
            variables(name).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        assert_eq!(said("mlx5_3"), ["UCX_NET_DEVICES=mlx5_3:1", "NCCL_IB_HCA==mlx5_3"], "exactly it");
        for slingshot in ["hsn1", "hsi1", "cxi1"] {
            assert_eq!(said(slingshot), ["FI_CXI_DEVICE_NAME=cxi1", "MPICH_OFI_NIC_POLICY=GPU"]);
        }
        assert!(said("ib0").is_empty());
    }

    #[test]
    fn an_interface_that_is_no_fast_adapter_is_chosen_by_tcps_variables() {
        let eth = choosing("eth1", &["eth1".to_owned()]);
        assert_eq!(eth, ["UCX_NET_DEVICES=eth1", "OMPI_MCA_btl_tcp_if_include=eth1", "FI_TCP_IFACE=eth1"]);
        assert_eq!(choosing("mlx5_0", &["ib0".to_owned()]), ["UCX_NET_DEVICES=mlx5_0:1"]);
        assert_eq!(choosing("cxi0", &["hsn0".to_owned()])[0], "FI_CXI_DEVICE_NAME=cxi0");
        assert!(choosing("siw0", &[]).is_empty());
    }

    #[test]
    fn a_variable_that_names_another_adapter_or_excludes_the_near_one_is_told_and_an_open_one_is_not() {
        let near = |name: &str| NearNic {
            name: name.to_owned(),
            pci: PciAddress { domain: 0, bus: 1, device: 0, function: 0 },
            level: PciLevel::Pix,
            source: "PCI".to_owned(),
            variables: Vec::new(),
            farther: Vec::new(),
        };

        let other = |name: &str, variable: &str, value: &str| {
            elsewhere(&near(name), &BTreeMap::from([(variable.to_owned(), value.to_owned())])).len()
        };

        for (value, found) in [
            ("mlx5_0:1", 0),
            ("mlx5_3:1,mlx5_0:1", 0),
            ("mlx5_3:1", 1),
            ("all", 0),
            ("", 0),
            ("^mlx5_0:1", 1),
            ("mlx5_3:1,", 1),
        ] {
            assert_eq!(other("mlx5_0", "UCX_NET_DEVICES", value), found, "{value}");
        }

        for (value, found) in [("mlx5", 0), ("=mlx5_0", 0), ("=mlx5_1", 1), ("mlx5_1:1", 1), ("mlx5_1,", 1)] {
            assert_eq!(other("mlx5_0", "NCCL_IB_HCA", value), found, "{value}");
        }
        for (value, found) in [("^mlx5_0", 1), ("^mlx5_1", 0), ("^mlx5", 1), ("^=mlx5", 0), ("^=mlx5_0", 1)] {
            assert_eq!(other("mlx5_0", "NCCL_IB_HCA", value), found, "{value}");
        }
        for (value, found) in [("mlx5_7", 1), ("mlx5_0:1,mlx5_1:1", 0)] {
            assert_eq!(other("mlx5_0", "OMPI_MCA_btl_openib_if_include", value), found, "{value}");
        }
        assert_eq!(other("ib0", "UCX_NET_DEVICES", "mlx5_3:1"), 0, "mlx5_3 may be ib0");
        assert_eq!(other("hsn2", "FI_CXI_DEVICE_NAME", "cxi0"), 1);
        assert_eq!(other("hsn2", "MPICH_OFI_NIC_POLICY", "NUMA"), 0);
        let agrees = |name: &str, variable: &str, value: &str| {
            agreeing(&near(name), &BTreeMap::from([(variable.to_owned(), value.to_owned())])).len()
        };
        for (name, variable, value, found) in [
            ("hsn2", "FI_CXI_DEVICE_NAME", "cxi2", 1),
            ("hsn2", "MPICH_OFI_NIC_POLICY", "GPU", 1),
            ("hsn2", "MPICH_OFI_NIC_POLICY", "NUMA", 0),
            ("hsn2", "MPICH_OFI_NIC_MAPPING", "0:0-3;1:4-7", 0),
            ("hsn2", "NCCL_IB_HCA", "mlx5_0", 0),
            ("hsn2", "UCX_NET_DEVICES", "hsn2", 1),
            ("mlx5_0", "UCX_NET_DEVICES", "all", 0),
            ("mlx5_0", "NCCL_IB_HCA", "^mlx5_1", 0),
            ("mlx5_0", "NCCL_IB_HCA", "mlx5", 1),
        ] {
            assert_eq!(agrees(name, variable, value), found, "{variable}={value}");
        }
        let of = |name: &str| of_adapters(BTreeMap::from([(name.to_owned(), "x".to_owned())])).len();
        assert_eq!((of("NCCL_IB_HCA"), of("AWS_SECRET")), (1, 0));
    }

    #[test]
    fn a_variable_agrees_only_where_it_names_no_adapter_that_is_farther() {
        for (name, farther, variable, value, agrees) in [
            ("mlx5_1", "mlx5_10", "NCCL_IB_HCA", "mlx5_1", false),
            ("mlx5_1", "mlx5_10", "NCCL_IB_HCA", "mlx5_1:1", false),
            ("mlx5_1", "mlx5_10", "NCCL_IB_HCA", "=mlx5_1", true),
            ("mlx5_1", "mlx5_10", "NCCL_IB_HCA", "=mlx5_1,mlx5_10", false),
            ("mlx5_0", "mlx5_1", "NCCL_IB_HCA", "mlx5", false),
            ("mlx5_0", "mlx5_1", "NCCL_IB_HCA", "mlx5_0", true),
            ("mlx5_1", "mlx5_10", "UCX_NET_DEVICES", "mlx5_1:1", true),
            ("mlx5_1", "mlx5_10", "UCX_NET_DEVICES", "mlx5_1:1,mlx5_10:1", false),
            ("hsn0", "hsn1", "FI_CXI_DEVICE_NAME", "cxi0,cxi1", false),
        ] {
            let near = NearNic {
                name: name.to_owned(),
                pci: PciAddress { domain: 0, bus: 1, device: 0, function: 0 },
                level: PciLevel::Pix,
                source: "PCI".to_owned(),
                variables: Vec::new(),
                farther: vec![farther.to_owned()],
            };
            let set = BTreeMap::from([(variable.to_owned(), value.to_owned())]);
            assert_eq!(agreeing(&near, &set).len(), usize::from(agrees), "{name}: {variable}={value}");
            assert!(elsewhere(&near, &set).is_empty(), "{name}: {variable}={value}");
        }
    }

    #[test]
    fn a_rank_is_told_of_its_adapter_and_what_the_user_set_stays() -> Result<(), topo::TopoError> {
        let survey = topo::survey_xml(std::path::Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../topo/tests/fixtures/dgx-a100.xml"
        )))?;
        let gpu = survey.topology.gpus.first().map(|gpu| gpu.pci);
        let (told_it, said) = variables_and_note(&survey.interconnect, gpu, &BTreeMap::new());
        assert_eq!((told_it.len(), said), (2, None), "{told_it:?}");
        let set = BTreeMap::from([("NCCL_IB_HCA".to_owned(), "mlx5_9".to_owned())]);
        let (told_it, said) = variables_and_note(&survey.interconnect, gpu, &set);
        assert_eq!(told_it.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["UCX_NET_DEVICES"]);
        let (told_none, of_none) = variables_and_note(&survey.interconnect, None, &BTreeMap::new());
        assert!(told_none.is_empty());
        insta::assert_snapshot!(
            "notes_on_adapters",
            [said, of_none].map(Option::unwrap_or_default).join("\n")
        );

        Ok(())
    }
}
