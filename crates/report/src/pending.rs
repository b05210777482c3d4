//! The shapes of stats' flag, stop and compare until those are in: to be replaced by them, not kept.
#![allow(missing_docs)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::Interval;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    SlowFirstBlock,
    Drift,
    Bimodal,
    TimerLimited,
    Noisy,
}

impl Flag {
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::SlowFirstBlock => {
                "the first block was slower than all others: something warmed up inside it; try more warm-up"
            }
            Self::Drift => "blocks got steadily slower or faster: clocks or heat; try a longer run",
            Self::Bimodal => "rounds fall into two groups: two paths or an interferer; look at the blocks",
            Self::TimerLimited => {
                "a round is close to the timer's own cost: the number is an upper bound of the latency"
            }
            Self::Noisy => "the interval did not get as narrow as asked; try a longer --max-time on a quiet node",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    Target,
    Plateau,
    MaxBlocks,
    MaxTime,
    Fixed,
    Signal,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub ratio: f64,
    pub ratio_interval: Interval,
    pub p_value: f64,
    pub cliffs_delta: f64,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    NoMeasurableDifference,
    Lower,
    Higher,
    Undecided,
}
