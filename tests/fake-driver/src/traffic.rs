//! How long copies and loads take on a described device: a copy its latency, then its bytes at the rate that
//! the links leave it among the copies that are in flight at the same time (`flow`), all in virtual time.

use crate::flow::{Direction, Flow};
use crate::{actor, devices, place};

/// Returns when a copy of so many bytes, which begins now, has taken its time. A device without described
/// rates takes none but this machine's.
pub fn carry(device: usize, direction: Direction, bytes: usize) {
    let described = &devices::all().devices[device];
    let speed = match direction {
        Direction::ToDevice => described.h2d,
        Direction::ToHost => described.d2h,
        Direction::Peer => described.peer,
        Direction::Within => described.within,
    };
    let Some(speed) = speed else { return };
    let with_host = matches!(direction, Direction::ToDevice | Direction::ToHost);
    let is_far = with_host && is_remote(device);
    let latency_ns = if is_far { speed.far_latency_ns } else { speed.latency_ns };
    pass_along(device, direction, latency_ns, bytes as f64);
}

/// Returns when so many loads of host memory, each waiting for the one before it, have taken their time.
pub fn load(device: usize, steps: u64) {
    let Some((local_ns, remote_ns)) = devices::all().devices[device].loads_ns else { return };
    let each_ns = if is_remote(device) { remote_ns } else { local_ns };
    pass_along(device, Direction::ToDevice, each_ns * steps as f64, 0.0);
}

/// The same of another device's memory.
pub fn peer_load(device: usize, steps: u64) {
    let Some(each_ns) = devices::all().devices[device].peer_loads_ns else { return };
    pass_along(device, Direction::Peer, each_ns * steps as f64, 0.0);
}

/// Returns when a launch of a kernel that computes has taken its time.
pub fn compute(device: usize, name: &str, blocks: usize) {
    let described = &devices::all().devices[device].kernels_ns;
    let Some((_, ns)) = described.iter().find(|(known, _)| known == name) else { return };
    pass_along(device, Direction::Within, *ns * blocks as f64, 0.0);
}

/// Whether the calling thread's memory is on another node than the device.
fn is_remote(device: usize) -> bool {
    place::node()
        .zip(devices::all().devices[device].host_node)
        .is_some_and(|(memory, device)| memory != device)
}

fn pass_along(device: usize, direction: Direction, latency_ns: f64, bytes: f64) {
    let flow = Flow { device, direction, remote: is_remote(device) };
    let me = actor::me();
    flow.begin(me, latency_ns, bytes);
    actor::wait(0, None, || me.flow.get() == 0);
}
