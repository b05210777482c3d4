//! The device contract on this machine's own nodes.

#![allow(clippy::print_stdout, reason = "a test that skips something says so")]

use std::fs;

use backend_host::{NodeFacts, platform};
use device::conformance::{self, CheckOutcome};
use device::{DeviceError, HeapMemory, HostPair, Platform};
use stats::IdSet;

/// The nodes that have memory here; a kernel without NUMA has node 0.
fn nodes() -> Vec<NodeFacts> {
    let listed = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_else(|_| "0".to_owned());
    let nodes: IdSet = listed.parse().expect("the kernel writes lists of ids");
    nodes.iter().map(|node| NodeFacts { node, total_bytes: 1 << 30 }).collect()
}

#[test]
fn the_contract_is_kept_on_every_node_of_this_machine() {
    let findings = conformance::check(&platform(&nodes()));
    for finding in &findings {
        match &finding.outcome {
            CheckOutcome::Passed => {}
            CheckOutcome::Skipped(reason) => println!("skipped: {}: {reason}", finding.check),
            CheckOutcome::Failed(text) => panic!("{:?}: {}: {text}", finding.device, finding.check),
        }
    }
    let passed = findings.iter().filter(|finding| finding.outcome == CheckOutcome::Passed).count();
    assert!(passed >= 22, "only {passed} checks could be made");
}

#[test]
fn devices_come_in_node_order_and_once() {
    let node = |node| NodeFacts { node, total_bytes: 1 };
    let platform = platform(&[node(3), node(0), node(3)]);
    let names: Vec<&str> = platform.devices().iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["host memory of NUMA node 0", "host memory of NUMA node 3"]);
}

#[test]
fn a_node_without_memory_is_refused_before_anything_is_touched() {
    let nowhere = platform(&[NodeFacts { node: 1000, total_bytes: 0 }]);
    let device = nowhere.open(nowhere.devices()[0].id).expect("opening touches nothing");
    let host = HostPair { source: Some(Box::new(HeapMemory::new(4096))), destination: None };
    let refused = device.copier(host, false).map(drop);
    assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
}
