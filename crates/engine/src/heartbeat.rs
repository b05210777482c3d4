//! Who of the processes elsewhere is still there, by what is heard of them.
//!
//! A process that is gone is seen by its neighbours. A whole node that is gone (its power, its network, a
//! step's daemon that took all its ranks along) is seen by nobody, and a launcher told to go on without it
//! (`srun --no-kill`) says nothing. So one process of each node says every second that it is there, and the
//! lead says it to all. It costs a message a second and a node, from threads that sleep while ranks measure.
//!
//! Only time in which this process itself listened counts: one that was suspended, or wrote a long document,
//! hears the others first. Left out: what a network does to messages, which is MPI's to know.

use std::time::{Duration, Instant};

/// How often a process says that it is there.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// A node that is silent for so long is gone: ten words in a row have not come.
const SILENT: Duration = Duration::from_secs(10);
/// How long a lead may be silent: it writes documents meanwhile, on disks of any kind.
const LEAD_SILENT: Duration = Duration::from_secs(180);

/// When the other nodes were last heard, for the lead.
pub(crate) struct Pulse {
    /// By node; `None` for one that is out.
    heard: Vec<Option<Instant>>,
    said: Instant,
    listened: Instant,
}

impl Pulse {
    /// All nodes are there; `nodes`: the node of each rank.
    pub(crate) fn new(nodes: &[usize]) -> Self {
        let count = nodes.iter().max().map_or(0, |last| last + 1);
        let now = Instant::now();
        Self { heard: vec![Some(now); count], said: now, listened: now }
    }

    /// This process has not listened for a while: silence begins anew.
    pub(crate) fn awaken(&mut self) {
        self.awaken_at(Instant::now());
    }

    fn awaken_at(&mut self, now: Instant) {
        self.heard.iter_mut().flatten().for_each(|heard| *heard = now);
        self.listened = now;
    }

    /// Something came of this node.
    pub(crate) fn heard(&mut self, node: usize) {
        if let Some(Some(heard)) = self.heard.get_mut(node) {
            *heard = Instant::now();
        }
    }

    /// This node is out.
    pub(crate) fn forget(&mut self, node: usize) {
        if let Some(heard) = self.heard.get_mut(node) {
            *heard = None;
        }
    }

    /// Whether it is time for the lead to say that it is there; then it counts as said.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.said.elapsed() >= EVERY;
        if due {
            self.said = Instant::now();
        }
        due
    }

    /// The nodes that are silent for too long, with the seconds. To be asked after all messages have been
    /// read.
    pub(crate) fn silent(&mut self) -> Vec<(usize, u64)> {
        self.silent_at(Instant::now())
    }

    fn silent_at(&mut self, now: Instant) -> Vec<(usize, u64)> {
        if now.saturating_duration_since(self.listened) > EVERY * 2 {
            self.awaken_at(now);
        }
        self.listened = now;
        let silence = |heard: &Option<Instant>| Some(now.saturating_duration_since((*heard)?));
        let nodes = self.heard.iter().enumerate().filter_map(|(node, heard)| Some((node, silence(heard)?)));
        nodes
            .filter(|(_, silence)| *silence >= SILENT)
            .map(|(node, silence)| (node, silence.as_secs()))
            .collect()
    }
}

/// What a process that follows says and hears.
pub(crate) struct Contact {
    speaks: bool,
    said: Instant,
    heard: Instant,
    listened: Instant,
}

impl Contact {
    /// `speaks`: this process says for its node that it is there.
    pub(crate) fn new(speaks: bool) -> Self {
        let now = Instant::now();
        Self { speaks, said: now, heard: now, listened: now }
    }

    /// Whether it is time to say it; then it counts as said.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.speaks && self.said.elapsed() >= EVERY;
        if due {
            self.said = Instant::now();
        }
        due
    }

    /// The lead said something.
    pub(crate) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Whether the lead is silent for too long. To be asked after all messages have been read.
    pub(crate) fn is_lost(&mut self) -> bool {
        let now = Instant::now();
        if now.saturating_duration_since(self.listened) > EVERY * 2 {
            self.heard = now;
        }
        self.listened = now;
        now.saturating_duration_since(self.heard) >= LEAD_SILENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nodes that are silent after so many seconds of listening four times a second, node 1 speaking
    /// until `until`.
    fn silent_after(seconds: u64, until: u64, sleeps: bool) -> Vec<(usize, u64)> {
        let mut pulse = Pulse::new(&[0, 0, 1, 2]);
        let begin = pulse.listened;
        pulse.forget(0);
        let mut silent = Vec::new();

        for quarter in 1..=seconds * 4 {
            let now = begin + Duration::from_millis(quarter * 250);
            if sleeps && quarter < seconds * 4 {
                continue;
            }
            pulse.heard[2] = Some(now);
            if quarter < until * 4 {
                pulse.heard[1] = Some(now);
            }
            silent = pulse.silent_at(now);
        }
        silent
    }

    #[test]
    fn a_node_is_lost_after_ten_seconds_of_silence_and_not_before() {
        assert_eq!(silent_after(12, 3, false), []);
        assert_eq!(silent_after(13, 3, false), [(1, 10)]);
        assert_eq!(silent_after(30, 30, false), []);
    }

    #[test]
    fn who_did_not_listen_does_not_call_others_silent() {
        assert_eq!(silent_after(100, 0, true), []);
    }
}
