//! What is known of a machine and of what is to be measured on it before a run: what its document has from the beginning.

use stats::flag::TimerFacts;
use topo::Topology;
use topo::environment::Environment;

use crate::backends::FoundPlatform;
use crate::document::Origin;
use crate::document::of_experiment::ExperimentFacts;
use crate::document::rank_part::Local;
use crate::experiment::Experiment;
use crate::options::Measuring;

/// What is known before a run.
pub(crate) struct RunFacts<'a> {
    args: &'a Measuring,
    topology: &'a Topology,
    pub found: &'a FoundPlatform,
    machine: Environment,
    pub timer: TimerFacts,
}

impl<'a> RunFacts<'a> {
    /// Of a run with these options on this platform.
    pub fn new(args: &'a Measuring, topology: &'a Topology, found: &'a FoundPlatform) -> Self {
        Self { args, topology, found, machine: topo::environment::probe(), timer: engine::clock::measure() }
    }

    /// Does something with what is known of an experiment.
    pub fn with_facts<T>(
        &self,
        experiment: &Experiment,
        origin: &Origin,
        then: impl FnOnce(&ExperimentFacts) -> T,
    ) -> T {
        let Self { args, topology, found, machine, timer } = self;
        let hosts = [topology.host()];
        let plan = &experiment.places;
        let local = Local { topology, found, machine, timer: *timer, plan, node: 0, hosts: &hosts };
        let places: Vec<usize> = plan.ranks.iter().map(|place| place.rank).collect();
        let (parts, platform, environment) = (local.parts(&places), local.platform(), local.environment());
        then(&ExperimentFacts {
            args,
            experiment,
            timer: *timer,
            parts: &parts,
            platform: &platform,
            environment: &environment,
            origin,
        })
    }
}
