//! The network adapter for each rank: the nearest to its GPU by the bridges between them, which is what MPI libraries and NCCL go by too.
//!
//! GPUs with the same adapters near share them evenly. The variables are each stack's own (UCX's `UCX_NET_DEVICES`, NCCL's and RCCL's
//! `NCCL_IB_HCA`, libfabric's `FI_CXI_DEVICE_NAME`); they are said and never set: libraries choose for themselves, and a wrong one costs more than
//! none. Left out: adapters with several ports, of which the first is named.

use report::place::PlacedNic;
use stats::PciAddress;
use topo::interconnect::Interconnect;

/// The adapter near the GPU at this address.
pub fn near(interconnect: &Interconnect, gpu: PciAddress) -> Option<PlacedNic> {
    let names = |pci| -> Vec<&str> {
        interconnect.near_adapters(pci).into_iter().filter_map(|(nic, ..)| nic.name.as_deref()).collect()
    };
    let own = names(gpu);
    // Which of those that have the same adapters near this GPU is.
    let gpus = interconnect.devices.iter().filter(|device| device.affinity.is_some()).map(|device| device.pci);
    let turn = gpus.take_while(|pci| *pci != gpu).filter(|pci| names(*pci) == own).count();
    let adapters = interconnect.near_adapters(gpu);
    let (nic, level, source) = *adapters.get(turn % adapters.len().max(1))?;
    let name = nic.name.clone()?;
    Some(PlacedNic {
        variables: variables(&name),
        name,
        pci_address: nic.pci,
        level: level.word().to_owned(),
        source: source.to_owned(),
    })
}

/// How each stack is told to take the adapter of this name.
fn variables(name: &str) -> Vec<String> {
    let slingshot =
        ["hsn", "cxi"].iter().find_map(|prefix| name.strip_prefix(prefix)).filter(|number| !number.is_empty());
    match slingshot {
        Some(number) => vec![format!("FI_CXI_DEVICE_NAME=cxi{number}"), "MPICH_OFI_NIC_POLICY=GPU".to_owned()],
        None if name.starts_with("mlx") => vec![format!("UCX_NET_DEVICES={name}:1"), format!("NCCL_IB_HCA={name}")],
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
                .map_or_else(|| "-".to_owned(), |nic| format!("{} {}", nic.name, nic.level))
        };
        Ok(survey.topology.gpus.iter().map(one).collect())
    }

    #[test]
    fn each_gpu_has_the_adapter_beside_it_and_those_with_the_same_ones_share_them() -> Result<(), topo::TopoError> {
        let dgx = nics("dgx-a100")?;
        let switch = |first: usize| (0..2).map(move |nic| format!("mlx5_{} ", first + nic));
        let wanted: Vec<String> = [0, 2, 4, 6].into_iter().flat_map(switch).collect();
        assert!(dgx.iter().zip(&wanted).all(|(nic, wanted)| nic.starts_with(wanted.as_str())), "{dgx:?}");
        let lumi = nics("lumi-g")?;
        // Of a module's two GPUs the second has the adapter on its own L3; the first reaches it within the NUMA node.
        assert!(lumi.iter().enumerate().all(|(gpu, nic)| nic.starts_with(&format!("hsn{} ", gpu / 2))), "{lumi:?}");
        assert!(nics("vm-two-nodes")?.iter().all(|nic| nic == "-"), "nobody says what is near");
        Ok(())
    }

    #[test]
    fn each_stack_reads_its_own_variable() {
        assert_eq!(variables("mlx5_3"), ["UCX_NET_DEVICES=mlx5_3:1", "NCCL_IB_HCA=mlx5_3"]);
        assert_eq!(variables("hsn1"), ["FI_CXI_DEVICE_NAME=cxi1", "MPICH_OFI_NIC_POLICY=GPU"]);
        assert!(variables("ib0").is_empty());
    }
}
