//! The steps of traffic beside loads: none, tenths of what the threads can make, and all of it.

use hostmem::Pace;

use hostmem::Access;

/// The steps between idle and all traffic: tenths of it.
const TENTHS: u32 = 10;
/// A step of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficStep {
    /// No traffic.
    Idle,
    /// So many tenths of all traffic.
    Tenths(u32),
    /// All that the threads can make.
    Full,
}

impl TrafficStep {
    /// All of them, in order.
    pub fn all() -> Vec<Self> {
        let between = (1..TENTHS).map(Self::Tenths);
        std::iter::once(Self::Idle).chain(between).chain([Self::Full]).collect()
    }

    /// As documents name it.
    pub fn name(self, traffic: Access) -> String {
        let way = traffic.name();
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Tenths(tenths) => format!("{} % {way} traffic", tenths * 100 / TENTHS),
            Self::Full => format!("full {way} traffic"),
        }
    }

    /// The pace of each of so many threads, where all together can make `full` bytes/s. `None` for no
    /// traffic, and where `full` is not known.
    pub fn pace(self, full: Option<f64>, threads: usize, burst: f64) -> Option<Pace> {
        match self {
            Self::Idle => None,
            Self::Full => Some(Pace::UNPAUSED),
            Self::Tenths(tenths) => {
                Pace::of_rate(full? * f64::from(tenths) / f64::from(TENTHS), threads, burst)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nine_steps_lie_between_idle_and_all_traffic_and_each_has_its_pace() {
        let steps = TrafficStep::all();
        assert_eq!((steps.len(), steps[0], steps[10]), (11, TrafficStep::Idle, TrafficStep::Full));
        let name = |at: usize| steps[at].name(Access::Read);
        assert_eq!([name(0), name(3), name(10)], ["idle", "30 % read traffic", "full read traffic"]);
        // Four threads of 2.5 GB/s: half of it is a burst of 4 KiB in 3.2768 µs.
        let pace = |at: usize, full| steps[at].pace(full, 4, 4096.0);
        assert_eq!(pace(5, Some(10.0e9)), Some(Pace::every(Duration::from_nanos(3277))));
        assert_eq!((pace(0, Some(10.0e9)), pace(10, None)), (None, Some(Pace::UNPAUSED)));
        assert_eq!(pace(5, None), None, "no pace is guessed where all traffic is not known");
    }
}
