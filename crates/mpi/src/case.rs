//! What is measured between two ranks: a path, a pattern and a size.

use report::message::MpiPath;
pub use report::message::{GpuThreadAt, MessagePattern};
use serde::{Deserialize, Serialize};

/// Bytes of a copy beside messages: large enough to be fast, and short beside a block.
pub const COPY_BYTES: usize = 4 << 20;

/// The way of a message from the memory of one rank to that of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessagePath {
    /// Host memory to host memory, by MPI.
    Host,
    /// Device memory to device memory: copied to pinned host memory, sent by MPI, copied to the device.
    Staged,
    /// The same in chunks, so that copies and messages overlap.
    Pipelined,
    /// Device memory to device memory: MPI is given the device's addresses.
    GpuAware,
    /// Device memory to device memory by a peer copy of the driver: no message, the bound of a direct path.
    Peer,
    /// The copy from the first rank's device to its host memory: a bound of a staged path.
    ToHost,
    /// The copy from the second rank's host memory to its device: the other bound.
    ToDevice,
    /// As [`MessagePath::Host`], while a thread of each rank copies to and from its device.
    Beside(GpuThreadAt),
    /// What that thread copies while no message goes: there and back.
    GpuThread(GpuThreadAt),
    /// As [`MessagePath::Host`], while the launch's other ranks send messages of the same size in pairs (an
    /// odd one rests, and so does rank 0 where it leads without being measured); and while that thread of
    /// each rank copies, where one is named.
    Crowded(Option<GpuThreadAt>),
}

impl MessagePath {
    /// The path as documents have it. A thread elsewhere than near or apart is none of this version's.
    pub fn in_documents(self) -> MpiPath {
        match self {
            Self::Host => MpiPath::Host,
            Self::Staged => MpiPath::Staged,
            Self::Pipelined => MpiPath::Pipelined,
            Self::GpuAware => MpiPath::GpuAware,
            Self::Peer => MpiPath::PeerCopy,
            Self::ToHost => MpiPath::D2hCopy,
            Self::ToDevice => MpiPath::H2dCopy,

            Self::Beside(GpuThreadAt::Near) => MpiPath::HostGpuThreadNear,
            Self::Beside(GpuThreadAt::Apart) => MpiPath::HostGpuThreadApart,
            Self::GpuThread(GpuThreadAt::Near) => MpiPath::GpuThreadNear,
            Self::GpuThread(GpuThreadAt::Apart) => MpiPath::GpuThreadApart,
            Self::Crowded(None) => MpiPath::HostOthersSend,
            Self::Crowded(Some(GpuThreadAt::Near)) => MpiPath::HostGpuThreadNearOthersSend,
            Self::Crowded(Some(GpuThreadAt::Apart)) => MpiPath::HostGpuThreadApartOthersSend,
            Self::Beside(GpuThreadAt::Newer)
            | Self::GpuThread(GpuThreadAt::Newer)
            | Self::Crowded(Some(GpuThreadAt::Newer)) => MpiPath::Newer,
        }
    }

    /// Whether messages go.
    pub fn is_message(self) -> bool {
        !matches!(self, Self::Peer | Self::ToHost | Self::ToDevice | Self::GpuThread(_))
    }

    /// Whose messages they are.
    pub(crate) fn of_messages(self) -> Self {
        if matches!(self, Self::Beside(_) | Self::Crowded(_)) { Self::Host } else { self }
    }
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageCase {
    /// The way.
    pub path: MessagePath,
    /// How messages follow each other.
    pub pattern: MessagePattern,
    /// Bytes of a message.
    pub bytes: usize,
}

/// The most messages of a window, as OSU's.
const MOST_IN_WINDOW: usize = 64;
/// A window's messages together: larger ones take longer and are no faster.
const WINDOW_BYTES: usize = 256 << 20;

/// How many messages of this size are under way at once.
pub fn window(pattern: MessagePattern, bytes: usize) -> usize {
    match pattern {
        MessagePattern::PingPong => 1,
        MessagePattern::OneWay | MessagePattern::BothWays | MessagePattern::Newer => {
            (WINDOW_BYTES / bytes.max(1)).clamp(2, MOST_IN_WINDOW)
        }
    }
}

impl MessageCase {
    /// Messages that one round has one way.
    pub fn messages_a_round(self) -> usize {
        window(self.pattern, self.bytes)
    }

    /// What the time of a round is divided by, so that it is the time of a message: those that go one after
    /// the other.
    pub fn turns_a_round(self) -> f64 {
        match (self.path.is_message(), self.pattern) {
            (true, MessagePattern::PingPong) => 2.0,
            (true, _) => self.messages_a_round() as f64,
            (false, _) => 1.0,
        }
    }

    /// Bytes that move in the time of a message: both ways' where both go at once.
    pub fn bytes_a_turn(self) -> f64 {
        let both = self.pattern == MessagePattern::BothWays || matches!(self.path, MessagePath::GpuThread(_));
        let ways = if both { 2.0 } else { 1.0 };
        self.bytes as f64 * ways
    }
}

/// The cases of these paths, patterns and sizes. A window says something only of what MPI itself moves, and a
/// message of no bytes only of the latency between hosts' memory: nothing of a device's is sent.
pub fn cases(paths: &[MessagePath], patterns: &[MessagePattern], sizes: &[usize]) -> Vec<MessageCase> {
    let mut cases = Vec::new();
    for path in paths {
        for pattern in patterns {
            let windowed = matches!(path, MessagePath::Host | MessagePath::GpuAware);
            if *pattern != MessagePattern::PingPong && !windowed {
                continue;
            }
            let is_latency = *path == MessagePath::Host && *pattern == MessagePattern::PingPong;
            let sizes = sizes.iter().filter(|bytes| **bytes > 0 || is_latency);
            cases.extend(sizes.map(|bytes| MessageCase { path: *path, pattern: *pattern, bytes: *bytes }));
        }
        // A bound is asked for whatever the pattern.
        if !path.is_message() && !patterns.contains(&MessagePattern::PingPong) {
            let of_size =
                |bytes: &usize| MessageCase { path: *path, pattern: MessagePattern::PingPong, bytes: *bytes };
            cases.extend(sizes.iter().filter(|bytes| **bytes > 0).map(of_size));
        }
    }

    cases
}

/// The cases of messages while other ranks send too: without copies, and beside each thread's.
pub(crate) fn crowded(threads: &[GpuThreadAt], sizes: &[usize]) -> Vec<MessageCase> {
    let threads = [None].into_iter().chain(threads.iter().copied().map(Some));
    let of = |at| {
        sizes.iter().map(move |bytes| MessageCase {
            path: MessagePath::Crowded(at),
            pattern: MessagePattern::PingPong,
            bytes: *bytes,
        })
    };
    threads.flat_map(of).collect()
}

/// The cases of threads that copy beside messages: each alone, and one message at a time beside it.
pub(crate) fn beside(threads: &[GpuThreadAt], sizes: &[usize]) -> Vec<MessageCase> {
    let mut cases = Vec::new();
    for at in threads {
        let of = |path, bytes| MessageCase { path, pattern: MessagePattern::PingPong, bytes };
        cases.push(of(MessagePath::GpuThread(*at), COPY_BYTES));
        cases.extend(sizes.iter().map(|bytes| of(MessagePath::Beside(*at), *bytes)));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_osus_until_its_messages_are_large_and_never_less_than_two() {
        let windows =
            [1, 4 << 20, 8 << 20, 64 << 20, 1 << 30].map(|bytes| window(MessagePattern::OneWay, bytes));
        assert_eq!(windows, [64, 64, 32, 4, 2]);
        assert_eq!(window(MessagePattern::PingPong, 8), 1);
    }

    #[test]
    fn only_what_mpi_moves_itself_has_windows_and_a_bound_is_there_for_any_pattern() {
        let made = cases(
            &[MessagePath::Host, MessagePath::Staged, MessagePath::ToHost],
            &[MessagePattern::OneWay],
            &[8],
        );
        let named: Vec<_> = made.iter().map(|case| (case.path, case.pattern)).collect();
        assert_eq!(
            named,
            [(MessagePath::Host, MessagePattern::OneWay), (MessagePath::ToHost, MessagePattern::PingPong)]
        );
    }

    #[test]
    fn a_round_is_divided_by_what_goes_one_after_the_other() {
        let of = |path, pattern| MessageCase { path, pattern, bytes: 1 << 20 };
        assert_eq!(of(MessagePath::Host, MessagePattern::PingPong).turns_a_round(), 2.0);
        assert_eq!(of(MessagePath::Peer, MessagePattern::PingPong).turns_a_round(), 1.0);
        assert_eq!(of(MessagePath::Host, MessagePattern::BothWays).turns_a_round(), 64.0);
        assert_eq!(of(MessagePath::Host, MessagePattern::BothWays).bytes_a_turn(), 2.0 * 1048576.0);
    }

    #[test]
    fn a_thread_that_copies_is_measured_alone_and_beside_each_size() {
        let made = beside(&[GpuThreadAt::Near, GpuThreadAt::Apart], &[8, 1024]);
        assert_eq!(made.len(), 6);
        assert_eq!((made[0].path, made[0].bytes), (MessagePath::GpuThread(GpuThreadAt::Near), COPY_BYTES));
        assert_eq!(made[0].bytes_a_turn(), 2.0 * COPY_BYTES as f64, "out and home");
        assert_eq!((made[5].path, made[5].bytes), (MessagePath::Beside(GpuThreadAt::Apart), 1024));
        assert_eq!(made[5].turns_a_round(), 2.0, "a ping-pong goes out and home");
    }
}
