//! Who watches a run from outside: told between passes how far it is, never while a sample is timed.

use pingpong::RunState;

/// What is told to whoever started a run.
pub trait Observer {
    /// A pass has ended.
    fn progress(&mut self, state: &RunState);

    /// Nothing more will be told of this run.
    fn ended(&mut self);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn progress(&mut self, _: &RunState) {}

    fn ended(&mut self) {}
}
