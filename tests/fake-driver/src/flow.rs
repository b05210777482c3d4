//! Copies in flight, and how virtual time passes until the next one ends.
//!
//! Copies are a fluid: each has its max-min fair rate (`share`) until one begins or ends anywhere, and then
//! all have another one. Nothing is sampled; when a copy ends is computed. An actor has one copy in flight at
//! a time, and it is in the actor's place of the shared page, so that the processes of a run share their
//! links.

use crate::devices::Described;
use crate::page::{self, Actor, Locked};
use crate::share;

/// Less than so many nanoseconds left is nothing left: sums of rates are not exact.
const NOTHING: f64 = 1e-6;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToDevice,
    ToHost,
    /// From another device, or to it.
    Peer,
    /// From the device's memory to the same.
    Within,
}

/// What of a copy others need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub device: usize,
    pub direction: Direction,
    /// Whether the host memory is on another node than the device.
    pub remote: bool,
}

impl Flow {
    /// It is in flight from now on, as the actor's one: so many nanoseconds before the first byte, and so
    /// many bytes.
    pub fn begin(self, actor: &Actor, latency_ns: f64, bytes: f64) {
        let _page = page::lock();
        actor.latency.set(latency_ns);
        actor.bytes.set(bytes);
        actor.flow.set(self.pack());
    }

    fn pack(self) -> u32 {
        (self.device as u32) << 4 | (self.direction as u32) << 2 | u32::from(self.remote) << 1 | 1
    }

    fn unpack(word: u32) -> Option<Self> {
        let direction = match word >> 2 & 3 {
            0 => Direction::ToDevice,
            1 => Direction::ToHost,
            2 => Direction::Peer,
            _ => Direction::Within,
        };
        (word & 1 != 0).then_some(Self { device: (word >> 4) as usize, direction, remote: word & 2 != 0 })
    }

    /// The links it passes: the shared ones, and its own direction of its own device, which come after them.
    fn path(self, described: &Described) -> share::Path {
        let to_host = matches!(self.direction, Direction::ToDevice | Direction::ToHost);
        let over = described.devices[self.device].over.iter().filter(|_| to_host);
        let over = over.filter(|over| over.remote.is_none_or(|remote| remote == self.remote));
        let own = described.links.len() + 4 * self.device + self.direction as usize;
        over.map(|over| (over.link, over.weight)).chain([(own, 1.0)]).collect()
    }
}

/// All links' rates in the order that [`Flow::path`] counts them.
fn links(described: &Described) -> Vec<f64> {
    let own =
        described.devices.iter().flat_map(|device| [device.h2d, device.d2h, device.peer, device.within]);
    let own = own.map(|speed| speed.map_or(f64::INFINITY, |speed| speed.rate));
    described.links.iter().map(|link| link.rate).chain(own).collect()
}

/// Lets virtual time pass until a copy ends, but not beyond `limit`; whether one did. Without any copy it
/// passes to the limit, if that is a moment.
pub fn pass(page: &Locked, described: &Described, limit: f64) -> bool {
    loop {
        let flows: Vec<(&Actor, Flow)> =
            page.actors().filter_map(|actor| Some((actor, Flow::unpack(actor.flow.get())?))).collect();
        let rates = rates(&flows, described);
        let lasts = |actor: &Actor, rate: f64| {
            if actor.latency.get() > 0.0 { actor.latency.get() } else { actor.bytes.get() / rate }
        };
        let next =
            flows.iter().zip(&rates).map(|((actor, _), rate)| lasts(actor, *rate)).min_by(f64::total_cmp);
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
            for direction in [Direction::ToDevice, Direction::ToHost, Direction::Peer, Direction::Within] {
                for remote in [false, true] {
                    let flow = Flow { device, direction, remote };
                    assert_eq!(Flow::unpack(flow.pack()), Some(flow));
                }
            }
        }
        assert_eq!(Flow::unpack(0), None);
    }
}
