//! How long a copy takes on a described device: its latency, then its bytes at the rate that the links leave it among the copies
//! that are in flight at the same time, all in virtual time.
//!
//! Copies are a fluid: each has its max-min fair rate (`share`) until one begins or ends anywhere, and then all have another one. Nothing is
//! sampled; when a copy ends is computed. An actor has one copy in flight at a time, and it is in the actor's place of the shared
//! page, so that the processes of a run share their links.

use crate::copy::{Copy, Direction};
use crate::devices::{self, Described};
use crate::page::{self, Actor, Locked};
use crate::{actor, place, share};

/// Less than so many nanoseconds left is nothing left: sums of rates are not exact.
const NOTHING: f64 = 1e-6;

/// What of a copy others need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    device: usize,
    direction: Direction,
    remote: bool,
}

impl Flow {
    fn pack(self) -> u32 {
        (self.device as u32) << 4 | (self.direction as u32) << 2 | u32::from(self.remote) << 1 | 1
    }

    fn unpack(word: u32) -> Option<Self> {
        let direction = match word >> 2 & 3 {
            0 => Direction::ToDevice,
            1 => Direction::ToHost,
            _ => Direction::Peer,
        };
        (word & 1 != 0).then_some(Self { device: (word >> 4) as usize, direction, remote: word & 2 != 0 })
    }

    /// The links it passes: the shared ones, and its own direction of its own device, which come after them.
    fn path(self, described: &Described) -> share::Path {
        let over = described.devices[self.device].over.iter().filter(|_| self.direction != Direction::Peer);
        let over = over.filter(|over| over.remote.is_none_or(|remote| remote == self.remote));
        let own = described.links.len() + 3 * self.device + self.direction as usize;
        over.map(|over| (over.link, over.weight)).chain([(own, 1.0)]).collect()
    }
}

/// All links' rates in the order that [`Flow::path`] counts them.
fn links(described: &Described) -> Vec<f64> {
    let own = described.devices.iter().flat_map(|device| [device.h2d, device.d2h, device.peer]);
    let own = own.map(|speed| speed.map_or(f64::INFINITY, |speed| speed.rate));
    described.links.iter().map(|link| link.rate).chain(own).collect()
}

/// Returns when the copy, which begins now, has taken its time. A device without described rates takes none but this machine's.
pub fn carry(copy: &Copy) {
    let device = &devices::all().devices[copy.device];
    let speed = match copy.direction {
        Direction::ToDevice => device.h2d,
        Direction::ToHost => device.d2h,
        Direction::Peer => device.peer,
    };
    let Some(speed) = speed else { return };
    pass_along(copy.device, copy.direction, speed.latency_ns, copy.len as f64);
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

/// Whether the calling thread's memory is on another node than the device.
fn is_remote(device: usize) -> bool {
    place::node().zip(devices::all().devices[device].host_node).is_some_and(|(memory, device)| memory != device)
}

fn pass_along(device: usize, direction: Direction, latency_ns: f64, bytes: f64) {
    let flow = Flow { device, direction, remote: is_remote(device) };
    let me = actor::me();
    {
        let _page = page::lock();
        me.begin(flow, latency_ns, bytes);
    }
    actor::wait(0, None, || me.flow.get() == 0);
}

impl Actor {
    fn begin(&self, flow: Flow, latency_ns: f64, bytes: f64) {
        self.latency.set(latency_ns);
        self.bytes.set(bytes);
        self.flow.set(flow.pack());
    }
}

/// Lets virtual time pass until a copy ends, but not beyond `limit`; whether one did. Without any copy it passes to the limit, if
/// that is a moment.
pub fn pass(page: &Locked, described: &Described, limit: f64) -> bool {
    loop {
        let flows: Vec<(&Actor, Flow)> =
            page.actors().filter_map(|actor| Some((actor, Flow::unpack(actor.flow.get())?))).collect();
        let rates = rates(&flows, described);
        let lasts = |actor: &Actor, rate: f64| {
            if actor.latency.get() > 0.0 { actor.latency.get() } else { actor.bytes.get() / rate }
        };
        let next = flows.iter().zip(&rates).map(|((actor, _), rate)| lasts(actor, *rate)).min_by(f64::total_cmp);
        let room = limit - page.now();
        let span = next.unwrap_or(f64::INFINITY).min(room);
        if !span.is_finite() {
            return false;
        }
        page.set_now(page.now() + span);
        let mut ended = false;
        for ((actor, _), rate) in flows.iter().zip(&rates) {
            let left = lasts(actor, *rate) - span;
            let over = left < NOTHING;
            if actor.latency.get() > 0.0 {
                actor.latency.set(if over { 0.0 } else { left });
            } else if over {
                ended = true;
                actor.flow.set(0);
                actor.rouse();
            } else {
                actor.bytes.set(left * rate);
            }
        }
        if ended || span >= room {
            return ended;
        }
    }
}

/// The rate of each copy; those that have not begun to move leave the links to the others.
fn rates(flows: &[(&Actor, Flow)], described: &Described) -> Vec<f64> {
    let moves = |actor: &Actor| actor.latency.get() <= 0.0;
    let paths: Vec<share::Path> = flows
        .iter()
        .map(|(actor, flow)| if moves(actor) { flow.path(described) } else { share::Path::new() })
        .collect();
    share::max_min(&paths, &links(described))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_survives_being_packed() {
        for device in [0, 7, 4095] {
            for direction in [Direction::ToDevice, Direction::ToHost, Direction::Peer] {
                for remote in [false, true] {
                    let flow = Flow { device, direction, remote };
                    assert_eq!(Flow::unpack(flow.pack()), Some(flow));
                }
            }
        }
        assert_eq!(Flow::unpack(0), None);
    }
}
