//! What each network adapter of a host has sent and received since its driver was loaded, by the kernel's own
//! counters. Some 410 lines because half of them are tests, on trees of each kind of adapter.
//!
//! * InfiniBand, RoCE, Omni-Path: `port_xmit_data` and `port_rcv_data` of each port, in units of four bytes
//!   (Documentation/ABI/stable/sysfs-class-infiniband);
//! * EFA, whose ports have no such counters: `hw_counters/tx_bytes` and `rx_bytes`, which the kernel reads
//!   anew once they are older than `hw_counters/lifespan`
//!   (Documentation/ABI/stable/sysfs-class-infiniband);
//! * Slingshot: `hni_sts_tx_ok_octets` and `hni_sts_rx_ok_octets` of the telemetry, as `VALUE@TIME`;
//! * Ethernet: `statistics/tx_bytes` and `rx_bytes` of the interface; Broadcom's bnxt_en has them from its
//!   adapter once a second (`stats-block-usecs` of
//!   ethtool --show-coalesce, 1,000,000 unless it was changed).
//!
//! One adapter is one PCI function, as a [`Nic`](crate::Nic) is. An InfiniBand port and Slingshot's telemetry
//! count the packets of their interfaces (`ib0`, `hsn0`) too, a RoCE port counts RDMA alone: only there both
//! are added. Left out: interfaces above other ones (bonds, bridges, VLANs), whose packets the lower ones
//! count, loopback, and virtual interfaces that are down. Nothing is kept between two readings: what a
//! counter rose by is the caller's to say.

use std::time::Duration;

use stats::PciAddress;

use crate::devices::kernels_node;
use crate::fs_root::FsRoot;

/// A network adapter, and where its counters stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// What the kernel calls it: its RDMA device (`mlx5_0`), Slingshot's (`cxi0`), else its interface
    /// (`eth0`).
    pub name: String,
    /// Its interfaces, which TCP goes by.
    pub interfaces: Vec<String>,
    /// Its identity; `None` for a virtual interface.
    pub pci: Option<PciAddress>,
    /// The kernel's NUMA node; `None` where it does not tell (-1).
    pub node: Option<u32>,
    /// Whether it has a link; `None` where the kernel does not tell.
    pub is_up: Option<bool>,
    /// What its link carries one way, bytes/s, by the kernel: of several ports all of them; `None` where it
    /// does not tell.
    pub bytes_per_s: Option<u64>,
    counters: Vec<Counter>,
    /// Whether they count what goes over its interfaces too.
    has_all: bool,
}

/// Two files that count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counter {
    sent: String,
    received: String,
    /// Bytes of one.
    unit: u64,
    /// How old what they say may be.
    refresh: Duration,
}

/// How old hardware counters may be where the kernel shows no `lifespan`: its own default.
const LIFESPAN: Duration = Duration::from_millis(10);
/// How old the counters of bnxt_en may be.
const BNXT: Duration = Duration::from_secs(1);

/// ARPHRD_LOOPBACK (`linux/if_arp.h`), as `/sys/class/net/*/type` says it.
const LOOPBACK: &str = "772";
/// Where a port without the extended counters of InfiniBand stops counting.
const STUCK: u64 = u32::MAX as u64;

/// The adapters of a host, RDMA devices first, by name; empty where sysfs shows none.
pub fn nic_counters(root: &FsRoot) -> Vec<NicCounters> {
    let names = |class: &str| root.names(&format!("/sys/class/{class}"));
    let mut nics: Vec<NicCounters> = names("infiniband").into_iter().map(|name| rdma(root, name)).collect();
    nics.extend(names("cxi").into_iter().map(|name| slingshot(root, name)));
    for interface in interfaces(root, names("net")) {
        match nics.iter_mut().find(|nic| nic.is_same_function(&interface)) {
            Some(nic) => {
                nic.is_up = nic.is_up.or(interface.is_up);
                nic.bytes_per_s = nic.bytes_per_s.or(interface.bytes_per_s);
                nic.interfaces.extend(interface.interfaces);
                if !nic.has_all {
                    nic.counters.extend(interface.counters);
                }
            }
            None => nics.push(interface),
        }
    }

    nics
}

/// The interfaces, those of one PCI function as one: it is up if one of its ports is, and carries what they
/// carry together.
fn interfaces(root: &FsRoot, names: Vec<String>) -> Vec<NicCounters> {
    let mut functions: Vec<NicCounters> = Vec::new();
    for port in names.into_iter().filter_map(|name| ethernet(root, name)) {
        let Some(function) = functions.iter_mut().find(|function| function.is_same_function(&port)) else {
            functions.push(port);
            continue;
        };
        function.is_up = function.is_up.max(port.is_up);
        function.bytes_per_s = match (function.bytes_per_s, port.bytes_per_s) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        function.interfaces.extend(port.interfaces);
        function.counters.extend(port.counters);
    }
    functions
}

impl NicCounters {
    fn is_same_function(&self, other: &Self) -> bool {
        self.pci.is_some() && self.pci == other.pci
    }

    /// How old what its counters say may be.
    pub fn refresh(&self) -> Duration {
        self.counters.iter().map(|counter| counter.refresh).max().unwrap_or_default()
    }

    /// Bytes sent and received since the driver was loaded.
    ///
    /// # Errors
    /// Which counter cannot be read, and why.
    pub fn read(&self, root: &FsRoot) -> Result<[u64; 2], String> {
        let mut both = [0_u64; 2];
        for counter in &self.counters {
            for (sum, path) in both.iter_mut().zip([&counter.sent, &counter.received]) {
                let text = root.text(path)?;
                // Slingshot's are followed by when they were taken.
                let value = text.split('@').next().unwrap_or_default();
                let value: u64 = value.parse().map_err(|_| format!("{path}: {text:?} is no count"))?;
                if counter.unit == 4 && value == STUCK {
                    return Err(format!("{path}: stands at the end of its 32 bits"));
                }
                *sum = sum.wrapping_add(value.wrapping_mul(counter.unit));
            }
        }
        if self.counters.is_empty() { Err("the kernel shows no counter of it".to_owned()) } else { Ok(both) }
    }
}

fn rdma(root: &FsRoot, name: String) -> NicCounters {
    let device = format!("/sys/class/infiniband/{name}");
    let mut nic = nic(root, &device, name);
    let ports =
        root.names(&format!("{device}/ports")).into_iter().map(|port| format!("{device}/ports/{port}"));

    for port in ports {
        let says = |file: &str| root.text(&format!("{port}/{file}")).ok();
        // `4: ACTIVE`
        if let Some(state) = says("state") {
            nic.is_up = Some(nic.is_up == Some(true) || state.starts_with('4'));
        }
        // `100 Gb/sec (4X EDR)`; a port without a link has one too.
        let rate = says("rate").filter(|_| says("state").is_none_or(|state| state.starts_with('4')));
        let rate = rate.and_then(|rate| rate.split_whitespace().next()?.parse::<f64>().ok());
        if let Some(gigabits) = rate {
            nic.bytes_per_s = Some(nic.bytes_per_s.unwrap_or(0) + (gigabits * 1e9 / 8.0) as u64);
        }
        nic.has_all |= says("link_layer").as_deref() == Some("InfiniBand");
        let at = |folder: &str, names: [&str; 2], unit, refresh| {
            let [sent, received] = names.map(|name| format!("{port}/{folder}/{name}"));
            root.exists(&sent).then_some(Counter { sent, received, unit, refresh })
        };
        // Milliseconds.
        let lifespan = says("hw_counters/lifespan").and_then(|text| text.trim().parse().ok());
        let lifespan = lifespan.map_or(LIFESPAN, Duration::from_millis);
        let counter = at("counters", ["port_xmit_data", "port_rcv_data"], 4, Duration::ZERO)
            .or_else(|| at("hw_counters", ["tx_bytes", "rx_bytes"], 1, lifespan));
        nic.counters.extend(counter);
    }
    nic
}

fn slingshot(root: &FsRoot, name: String) -> NicCounters {
    let device = format!("/sys/class/cxi/{name}");
    let mut nic = nic(root, &device, name);
    let [sent, received] =
        ["tx", "rx"].map(|way| format!("{device}/device/telemetry/hni_sts_{way}_ok_octets"));
    nic.counters.push(Counter { sent, received, unit: 1, refresh: Duration::ZERO });
    nic.has_all = true;
    nic
}

/// An interface that no other one counts for.
fn ethernet(root: &FsRoot, name: String) -> Option<NicCounters> {
    let device = format!("/sys/class/net/{name}");
    let files = root.names(&device);
    let is_above = files.iter().any(|file| file.starts_with("lower_"));
    if is_above || root.text(&format!("{device}/type")).as_deref() == Ok(LOOPBACK) {
        return None;
    }
    let mut nic = nic(root, &device, name.clone());
    nic.is_up = match root.text(&format!("{device}/operstate")).as_deref() {
        Ok("up") => Some(true),
        Ok("down" | "lowerlayerdown" | "notpresent") => Some(false),
        _ => None,
    };
    let is_virtual = !files.iter().any(|file| file == "device");
    if is_virtual && nic.is_up != Some(true) {
        return None;
    }

    // Megabits; -1 where there is no link. What a virtual one says bounds nothing.
    let megabits = root.text(&format!("{device}/speed")).ok().and_then(|text| text.parse::<u64>().ok());
    nic.bytes_per_s =
        megabits.filter(|megabits| *megabits > 0 && !is_virtual).map(|megabits| megabits * 125_000);
    let [sent, received] = ["tx", "rx"].map(|way| format!("{device}/statistics/{way}_bytes"));
    let driver = root.target(&format!("{device}/device/driver")).unwrap_or_default();
    let refresh = if driver.ends_with("/bnxt_en") { BNXT } else { Duration::ZERO };
    nic.counters.push(Counter { sent, received, unit: 1, refresh });
    nic.interfaces.push(name);
    Some(nic)
}

fn nic(root: &FsRoot, device: &str, name: String) -> NicCounters {
    let path = root.target(&format!("{device}/device")).unwrap_or_default();
    // Virtio's device lies below the PCI function.
    let is_function = |part: &&str| part.contains('.');
    let pci: Option<PciAddress> = path.rsplit('/').filter(is_function).find_map(|part| part.parse().ok());
    let own_node = || root.text(&format!("{device}/device/numa_node")).ok()?.parse().ok();
    let node = pci.and_then(|pci| kernels_node(root, pci)).or_else(own_node);
    let node = node.and_then(|node| u32::try_from(node).ok());
    NicCounters { name, pci, node, ..NicCounters::default() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A sysfs of this test's own, in the form of the kernel's documents.
    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Result<Self, std::io::Error> {
            Ok(Self(tempfile::tempdir()?))
        }

        fn file(&self, path: &str, text: &str) -> Result<&Self, std::io::Error> {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            fs::write(path, format!("{text}\n"))?;
            Ok(self)
        }

        /// A PCI function with devices of these classes (`net/eth0`).
        fn function(&self, pci: &str, node: &str, devices: &[&str]) -> Result<&Self, std::io::Error> {
            let place = format!("sys/devices/pci0000:00/{pci}");
            self.file(&format!("{place}/numa_node"), node)?;
            self.link(&format!("sys/bus/pci/devices/{pci}"), &place)?;
            for device in devices {
                self.link(&format!("sys/class/{device}/device"), &place)?;
            }
            Ok(self)
        }

        fn link(&self, path: &str, to: &str) -> Result<(), std::io::Error> {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            symlink(self.0.path().join(to), path)
        }

        fn port(&self, name: &str, layer: &str, counts: [&str; 2]) -> Result<&Self, std::io::Error> {
            let port = format!("sys/class/infiniband/{name}/ports/1");
            self.file(&format!("{port}/state"), "4: ACTIVE")?.file(&format!("{port}/link_layer"), layer)?;
            self.file(&format!("{port}/rate"), "100 Gb/sec (4X EDR)")?;
            self.file(&format!("{port}/counters/port_xmit_data"), counts[0])?;
            self.file(&format!("{port}/counters/port_rcv_data"), counts[1])
        }

        fn interface(&self, name: &str, state: &str, counts: [&str; 2]) -> Result<&Self, std::io::Error> {
            let at = format!("sys/class/net/{name}");
            self.file(&format!("{at}/type"), "1")?.file(&format!("{at}/operstate"), state)?;
            self.file(&format!("{at}/speed"), if state == "up" { "25000" } else { "-1" })?;
            self.file(&format!("{at}/statistics/tx_bytes"), counts[0])?;
            self.file(&format!("{at}/statistics/rx_bytes"), counts[1])
        }

        fn root(&self) -> FsRoot {
            FsRoot::at(self.0.path())
        }

        /// Each adapter in a line: its name, node and link, and what it sent and received.
        fn shown(&self) -> Vec<String> {
            let root = self.root();
            let one = |nic: NicCounters| {
                let node = nic.node.map_or("-".to_owned(), |node| node.to_string());
                let up = nic.is_up.map_or("-", |up| if up { "up" } else { "down" });
                let counts =
                    nic.read(&root).map_or("unreadable".to_owned(), |[sent, got]| format!("{sent} {got}"));
                format!("{} {node} {up} {counts}", nic.name)
            };
            nic_counters(&root).into_iter().map(one).collect()
        }
    }

    #[test]
    fn an_infiniband_port_counts_in_fours_and_its_interface_is_counted_with_it() -> Outcome {
        let host = Host::new()?;
        host.function("0000:81:00.0", "1", &["infiniband/mlx5_0", "net/ib0"])?;
        host.port("mlx5_0", "InfiniBand", ["1000", "25"])?.interface("ib0", "up", ["70", "70"])?;
        assert_eq!(host.shown(), ["mlx5_0 1 up 4000 100"]);
        assert_eq!(nic_counters(&host.root())[0].interfaces, ["ib0"]);
        Ok(())
    }

    #[test]
    fn a_links_rate_is_the_ports_or_the_interfaces_and_unknown_without_a_link_or_of_a_virtual_one() -> Outcome
    {
        let host = Host::new()?;
        host.function("0000:81:00.0", "1", &["infiniband/mlx5_0", "net/ib0"])?;
        host.port("mlx5_0", "InfiniBand", ["0", "0"])?.interface("ib0", "up", ["0", "0"])?;
        host.function("0000:82:00.0", "1", &["net/eth0"])?.interface("eth0", "up", ["0", "0"])?;
        host.function("0000:83:00.0", "1", &["net/eth1"])?.interface("eth1", "down", ["0", "0"])?;
        host.function("0000:d5:00.0", "3", &["cxi/cxi2", "net/hsn2"])?.interface("hsn2", "up", ["9", "9"])?;
        host.interface("veth0", "up", ["0", "0"])?;
        let rates: Vec<(String, Option<u64>)> =
            nic_counters(&host.root()).into_iter().map(|nic| (nic.name, nic.bytes_per_s)).collect();
        let rate = |name: &str| rates.iter().find(|(known, _)| known == name).and_then(|(_, rate)| *rate);
        assert_eq!(rate("mlx5_0"), Some(12_500_000_000), "{rates:?}");
        assert_eq!(
            [rate("eth0"), rate("cxi2"), rate("eth1")],
            [Some(3_125_000_000), Some(3_125_000_000), None]
        );
        assert!(
            rates.contains(&("veth0".to_owned(), None)),
            "what a virtual one says bounds nothing: {rates:?}"
        );

        Ok(())
    }

    #[test]
    fn ports_of_one_function_carry_what_they_carry_together() -> Outcome {
        let host = Host::new()?;
        host.function("0000:41:00.0", "0", &["net/eth0", "net/eth1"])?;
        host.interface("eth0", "down", ["1", "2"])?.interface("eth1", "up", ["3", "4"])?;
        assert_eq!(host.shown(), ["eth0 0 up 4 6"]);
        assert_eq!(nic_counters(&host.root())[0].bytes_per_s, Some(3_125_000_000));
        host.interface("eth0", "up", ["1", "2"])?;
        assert_eq!(nic_counters(&host.root())[0].bytes_per_s, Some(6_250_000_000));
        Ok(())
    }

    #[test]
    fn a_roce_port_counts_rdma_alone_and_its_interface_the_rest() -> Outcome {
        let host = Host::new()?;
        host.function("0000:81:00.0", "0", &["infiniband/mlx5_0", "net/ens1f0"])?;
        host.port("mlx5_0", "Ethernet", ["10", "20"])?.interface("ens1f0", "up", ["5", "6"])?;
        assert_eq!(host.shown(), ["mlx5_0 0 up 45 86"]);
        Ok(())
    }

    #[test]
    fn slingshots_telemetry_is_read_without_its_time_and_counts_its_interface_too() -> Outcome {
        let host = Host::new()?;
        host.function("0000:d5:00.0", "3", &["cxi/cxi2", "net/hsn2"])?.interface("hsn2", "up", ["9", "9"])?;
        let telemetry = "sys/devices/pci0000:00/0000:d5:00.0/telemetry/hni_sts";
        host.file(&format!("{telemetry}_tx_ok_octets"), "123456@1718900000.000000001")?;
        assert_eq!(host.shown(), ["cxi2 3 up unreadable"]);
        host.file(&format!("{telemetry}_rx_ok_octets"), "77@1718900000.000000001")?;
        assert_eq!(host.shown(), ["cxi2 3 up 123456 77"]);
        Ok(())
    }

    #[test]
    fn efa_has_hardware_counters_and_a_device_without_any_says_so() -> Outcome {
        let host = Host::new()?;
        let port = "sys/class/infiniband/rdmap0s6/ports/1/hw_counters";
        host.file(&format!("{port}/tx_bytes"), "11")?.file(&format!("{port}/rx_bytes"), "12")?;
        host.file("sys/class/infiniband/siw0/ports/1/state", "1: DOWN")?;
        assert_eq!(host.shown(), ["rdmap0s6 - - 11 12", "siw0 - down unreadable"]);
        let without = nic_counters(&host.root())[1].read(&host.root());
        insta::assert_snapshot!(without.err().ok_or("it has counters")?, @"the kernel shows no counter of \
            it");
        Ok(())
    }

    #[test]
    fn counters_that_are_kept_for_a_while_say_how_old_they_may_be() -> Outcome {
        let refresh = |host: &Host| nic_counters(&host.root())[0].refresh().as_millis();
        let efa = |lifespan: Option<&str>| -> Result<u128, Box<dyn std::error::Error>> {
            let host = Host::new()?;
            let port = "sys/class/infiniband/rdmap0s6/ports/1/hw_counters";
            host.file(&format!("{port}/tx_bytes"), "1")?.file(&format!("{port}/rx_bytes"), "2")?;
            if let Some(lifespan) = lifespan {
                host.file(&format!("{port}/lifespan"), lifespan)?;
            }
            Ok(refresh(&host))
        };
        assert_eq!([efa(Some("10"))?, efa(Some("250"))?, efa(None)?], [10, 250, 10]);

        let driven_by = |driver: &str| -> Result<u128, Box<dyn std::error::Error>> {
            let host = Host::new()?;
            host.function("0000:41:00.0", "1", &["net/eth0"])?.interface("eth0", "up", ["1", "2"])?;
            host.link(
                "sys/devices/pci0000:00/0000:41:00.0/driver",
                &format!("sys/bus/pci/drivers/{driver}"),
            )?;
            host.file(&format!("sys/bus/pci/drivers/{driver}/module"), "")?;
            Ok(refresh(&host))
        };
        assert_eq!([driven_by("bnxt_en")?, driven_by("mlx5_core")?], [1000, 0]);
        Ok(())
    }

    #[test]
    fn a_counter_of_32_bits_at_its_end_is_no_count() -> Outcome {
        let host = Host::new()?;
        host.port("mlx4_0", "InfiniBand", ["4294967295", "5"])?;
        let found = nic_counters(&host.root())[0].read(&host.root());
        assert!(
            found.as_ref().is_err_and(|why| why.contains("port_xmit_data: stands at the end")),
            "{found:?}"
        );
        Ok(())
    }

    #[test]
    fn loopback_what_lies_above_others_and_virtual_interfaces_that_are_down_are_left_out() -> Outcome {
        let host = Host::new()?;
        host.interface("lo", "unknown", ["1", "1"])?.file("sys/class/net/lo/type", "772")?;
        host.interface("bond0", "up", ["1", "1"])?.file("sys/class/net/bond0/lower_eth0", "")?;
        host.interface("ifb0", "down", ["1", "1"])?.interface("veth0", "up", ["3", "4"])?;
        host.interface("eth0", "down", ["1", "2"])?.function("0000:03:00.0", "-1", &["net/eth0"])?;
        assert_eq!(host.shown(), ["eth0 - down 1 2", "veth0 - up 3 4"]);
        Ok(())
    }

    #[test]
    fn a_host_without_sysfs_has_none() -> Outcome {
        assert!(nic_counters(&Host::new()?.root()).is_empty());
        Ok(())
    }
}
