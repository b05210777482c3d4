//! What is to be measured of messages, as values: nothing here knows how they were typed.

use std::time::Duration;

use experiments::supervised::PlaceAsked;
use placement::RowsBy;
use ranks::ThreadLevel;
use stats::IdList;

use crate::case::MessagePattern;
use crate::operation::DeviceOperation;

/// Messages between ranks of a launch.
#[derive(Clone, Debug)]
pub struct MessageOptions {
    /// Where ranks go.
    pub place: PlaceAsked,
    /// A PU for each rank of a node, for a thread that copies to and from the rank's GPU beside the messages;
    /// the ranks' own PUs are named then too.
    pub gpu_cpus: Option<IdList>,
    /// Whether messages are also measured while the launch's other ranks send in pairs (an odd one rests, and
    /// so does rank 0 where it leads without being measured); `gpu_cpus` then names the PUs of the first
    /// ranks of a node alone.
    pub others_send: bool,
    /// Which ranks; the first two where none are named.
    pub pairs: Option<PairsAsked>,
    /// Places are compared: each rank of a host has one of its own.
    pub matrix: Option<RowsBy>,
    /// Sizes of messages, ascending.
    pub sizes: Vec<u64>,
    /// How messages follow each other.
    pub patterns: Vec<MessagePattern>,
    /// What MPI is given device memory for, `send` first: an MPI that refuses it refuses all.
    pub operations: Vec<DeviceOperation>,
    /// The thread level that MPI is started with.
    pub thread_level: ThreadLevel,
    /// No further pass over the cases of a phase begins after this time.
    pub max_time: Duration,
    /// An MPI whose operation takes longer than this hangs, and is ended.
    pub operation_timeout: Duration,
    /// How long ranks wait for each other before the run, and for a driver.
    pub timeout: Duration,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// The expectation; a finding where it fails.
    pub expect: Option<Expectation>,
}

impl Default for MessageOptions {
    fn default() -> Self {
        Self {
            place: PlaceAsked::default(),
            gpu_cpus: None,
            others_send: false,
            pairs: None,
            matrix: None,
            sizes: (0..9).map(|power| 8 << (3 * power)).collect(),
            patterns: vec![MessagePattern::PingPong, MessagePattern::OneWay, MessagePattern::BothWays],
            operations: DeviceOperation::ALL.to_vec(),
            thread_level: ThreadLevel::Single,
            max_time: Duration::from_secs(20),
            operation_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
            seed: 1,
            expect: None,
        }
    }
}

/// Which ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairsAsked {
    /// Every two.
    All,
    /// So many of them, which stand for all.
    Sample(usize),
    /// These.
    These(Vec<[usize; 2]>),
}

/// What is expected of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// MPI takes device memory in every operation tried, whichever way it goes.
    Aware,
    /// That, and from device to device.
    Direct,
    /// No message uses a remote adapter while a local one has a link.
    Near,
}
