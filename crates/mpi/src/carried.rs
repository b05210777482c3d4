//! Which network adapters carried two ranks' messages: what each adapter of a host counted while nothing was
//! sent and while known bytes were, by turns.
//!
//! The pair is alone: no other rank of the launch sends meanwhile. What others send over the same adapters
//! goes on, so what was counted in a window of messages is lessened by what the windows at rest before and
//! after it counted in as long a time, and many windows say how well the rest is known. Left out: which
//! adapter is near (`host_adapters`), and what the windows come to (the document's).
//!
//! Nor is it told which switches messages passed, and which port of a PCI function sent them.

use std::thread;
use std::time::{Duration, Instant};

use engine::clock;
use serde::{Deserialize, Serialize};

use crate::case::{MessageCase, MessagePattern};
use crate::endpoint::{MessageEnd, warm_rounds};
use crate::fault::ExchangeFault;
use crate::host_adapters::HostAdapters;

/// What one adapter counted for each byte of messages, window by window: 1.0 is as much as the rank sent.
/// Empty where nothing can be said: its counters cannot be read, or no message goes that way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerByte {
    /// Sent.
    pub sent: Vec<f64>,
    /// Received.
    pub received: Vec<f64>,
}

/// What the adapters of both ranks' hosts counted while a case's messages went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The case.
    pub case: MessageCase,
    /// Of each adapter of the lower rank's host, and of each of the other's.
    pub by: [Vec<PerByte>; 2],
}

/// Windows of messages: the least of which the extremes are left out of a 95 % interval of their median.
const WINDOWS: usize = 9;
/// How long a window lasts at least.
const WINDOW: Duration = Duration::from_millis(8);
/// The kernel's clock, by which it knows how old a counter is, may stand still for 10 ms (HZ=100), at both
/// ends.
const TICKS: Duration = Duration::from_millis(20);

/// How long windows last, so that counters which may be so old are read anew at the end of each.
pub(crate) fn window(refresh: Duration) -> Duration {
    if refresh.is_zero() { WINDOW } else { WINDOW.max(2 * refresh + TICKS) }
}

/// The counters at a time.
struct Mark {
    ns: u64,
    counted: Vec<Option<[u64; 2]>>,
}

/// Sends so many rounds of a case in each window of messages. A window lasts so long at least, also where the
/// rounds do not.
pub(crate) fn carry(
    end: &mut MessageEnd,
    adapters: Option<&HostAdapters>,
    case: MessageCase,
    rounds: u32,
    window: Duration,
) -> Result<Vec<PerByte>, ExchangeFault> {
    let mark = || Mark { ns: clock::now_ns(), counted: adapters.map(HostAdapters::read).unwrap_or_default() };
    let rest = || thread::sleep(window);
    let mut marks = vec![mark()];
    for _ in 0..WINDOWS {
        rest();
        marks.push(mark());
        let began = Instant::now();
        end.rounds(case, rounds)?;
        // What was sent last may still be on its way: the other rank has it when it says so.
        end.meet()?;
        thread::sleep(window.saturating_sub(began.elapsed()));
        marks.push(mark());
    }

    rest();
    marks.push(mark());
    Ok(per_byte(&marks, bytes(case, rounds, end.is_lower)))
}

/// Bytes that a rank sends and receives in a window.
fn bytes(case: MessageCase, rounds: u32, is_lower: bool) -> [f64; 2] {
    let each_way =
        f64::from(rounds + warm_rounds(rounds)) * case.messages_a_round() as f64 * case.bytes as f64;
    match (case.pattern, is_lower) {
        (MessagePattern::PingPong | MessagePattern::BothWays, _) => [each_way; 2],
        (MessagePattern::OneWay, true) => [each_way, 0.0],
        (MessagePattern::OneWay, false) => [0.0, each_way],
        (MessagePattern::Newer, _) => [0.0; 2],
    }
}

/// Marks stand before and after each window: at rest, of messages, at rest, and so on.
fn per_byte(marks: &[Mark], bytes: [f64; 2]) -> Vec<PerByte> {
    let adapters = marks.iter().map(|mark| mark.counted.len()).min().unwrap_or_default();
    let of = |adapter: usize, way: usize| -> Vec<f64> {
        let rise = |from: &Mark, to: &Mark| {
            let (then, now) = (from.counted[adapter]?[way], to.counted[adapter]?[way]);
            Some((now.wrapping_sub(then) as f64, to.ns.wrapping_sub(from.ns) as f64))
        };
        let window = |marks: &[Mark]| {
            let [start, begun, over, end] = marks else { return None };
            let ((before, before_ns), (sent, sent_ns), (after, after_ns)) =
                (rise(start, begun)?, rise(begun, over)?, rise(over, end)?);
            Some((sent - (before + after) / (before_ns + after_ns) * sent_ns) / bytes[way])
        };
        if bytes[way] == 0.0 {
            return Vec::new();
        }
        marks.windows(4).step_by(2).map(window).collect::<Option<_>>().unwrap_or_default()
    };

    (0..adapters).map(|adapter| PerByte { sent: of(adapter, 0), received: of(adapter, 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::MessagePath;

    /// Two windows of messages of a second between three at rest: what an adapter sent in each of the five.
    fn marks(rises: [u64; 5]) -> Vec<Mark> {
        let mut sum = 1_000;
        let mut marks = vec![Mark { ns: 0, counted: vec![Some([sum, 0])] }];
        for (at, rise) in (1..).zip(rises) {
            sum += rise;
            marks.push(Mark { ns: at * 1_000_000_000, counted: vec![Some([sum, 0])] });
        }
        marks
    }

    #[test]
    fn what_was_counted_at_rest_before_and_after_is_taken_off() {
        let found = per_byte(&marks([100, 1_100, 100, 1_200, 300]), [1_000.0, 0.0]);
        assert_eq!(found, [PerByte { sent: vec![1.0, 1.0], received: Vec::new() }]);
    }

    /// What nine windows of messages come to, of an adapter whose counters the kernel reads anew once they
    /// are older than `lifespan`, by a clock of `hz`. It keeps what it read
    /// until then (`update_hw_stats` in the kernel's drivers/infiniband/core/sysfs.c).
    fn of_cached_counters(lifespan: Duration, hz: u64, window: Duration) -> Vec<f64> {
        const BYTES: u64 = 1_000_000;
        let window_ns = window.as_nanos() as u64;
        let jiffies = |ns: u64| ns * hz / 1_000_000_000;
        let lifespan = (lifespan.as_millis() as u64 * hz).div_ceil(1000);
        let sent_at = |ns: u64| {
            let (whole, part) = (ns / window_ns, ns % window_ns);
            whole / 2 * BYTES + if whole % 2 == 1 { BYTES * part / window_ns } else { 0 }
        };
        let (mut read_at, mut kept) = (0, 0);
        let mut marks = Vec::new();

        for at in 0..=2 * WINDOWS as u64 + 1 {
            let ns = 1_000_000_000 / window_ns / 2 * 2 * window_ns + at * window_ns;
            if at == 0 || jiffies(ns) > read_at + lifespan {
                (read_at, kept) = (jiffies(ns), sent_at(ns));
            }
            marks.push(Mark { ns, counted: vec![Some([kept, 0])] });
        }
        per_byte(&marks, [BYTES as f64, 0.0])[0].sent.clone()
    }

    #[test]
    fn counters_that_the_kernel_keeps_for_a_while_are_read_anew_in_each_window() {
        let mut inverted = 0;
        for hz in [100, 250, 300, 1000] {
            for lifespan in [1, 4, 10, 25, 100].map(Duration::from_millis) {
                let found = of_cached_counters(lifespan, hz, window(lifespan));
                assert!(
                    found.iter().all(|share| (share - 1.0).abs() < 1e-9),
                    "{lifespan:?} at {hz} Hz: {found:?}"
                );
            }
            // The windows of counters that are always new are too short for EFA's.
            let found = of_cached_counters(Duration::from_millis(10), hz, WINDOW);
            inverted += usize::from(found.iter().any(|share| (share - 1.0).abs() > 0.5));
        }

        assert!(
            inverted > 0,
            "short windows show wrong shares by no clock: the counters made up here are always new"
        );
    }

    #[test]
    fn traffic_that_stops_while_messages_go_is_no_part_of_them() {
        let found = per_byte(&marks([500, 0, 500, 0, 500]), [1_000.0, 0.0]);
        assert_eq!(found[0].sent, [-0.5, -0.5]);
    }

    #[test]
    fn an_adapter_that_could_not_be_read_once_says_nothing() {
        let mut marks = marks([0, 1_000, 0, 1_000, 0]);
        marks[3].counted[0] = None;
        assert_eq!(per_byte(&marks, [1_000.0; 2]), [PerByte::default()]);
        marks[4].counted.clear();
        assert!(per_byte(&marks, [1_000.0; 2]).is_empty());
    }

    #[test]
    fn messages_one_way_are_sent_by_the_one_rank_and_received_by_the_other() {
        let case = |pattern| MessageCase { path: MessagePath::Host, pattern, bytes: 1 << 20 };
        let mib = f64::from(1 << 20);
        assert_eq!(bytes(case(MessagePattern::PingPong), 8, true), [10.0 * mib; 2]);
        assert_eq!(bytes(case(MessagePattern::OneWay), 8, true), [640.0 * mib, 0.0]);
        assert_eq!(bytes(case(MessagePattern::OneWay), 8, false), [0.0, 640.0 * mib]);
    }
}
