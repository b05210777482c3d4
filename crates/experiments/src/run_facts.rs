//! What is known of a machine and of what is to be measured on it before a run: what its document has from
//! the beginning.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::{CpuTime, HostShare, Order};
use report::Document;
use report::document::Status;
use stats::flag::TimerFacts;
use topo::Topology;
use topo::environment::{Environment, Probe, ProbeValue};

use crate::backends::FoundPlatform;
use crate::document::rank_part::Local;
use crate::document::{DocumentFacts, Origin, warnings};
use crate::experiment::Experiment;
use crate::options::Measuring;

/// From so many CPUs at once on the host is asked for them.
const MANY_AT_ONCE: usize = 4;
/// The part of them that a host runs at a time on which nothing is to be remarked.
const GIVEN: f64 = 0.95;

/// What is known before a run.
pub(crate) struct RunFacts<'a> {
    args: &'a Measuring,
    topology: &'a Topology,
    pub found: &'a FoundPlatform,
    machine: Environment,
    pub timer: TimerFacts,
    /// The time that the whole run was given, where it was.
    pub within: Option<Duration>,
    /// How many of the ranks' CPUs the host ran at a time before the run, where that was asked, and what it
    /// had taken from them by then.
    host: Option<(HostShare, Option<CpuTime>)>,
}

fn host_sentence(share: HostShare) -> String {
    let HostShare { at_a_time, cpus } = share;
    // Of a few CPUs half of one is a share that is told by nothing else.
    let ran = if at_a_time < 10.0 { format!("{at_a_time:.1}") } else { format!("{at_a_time:.0}") };
    format!(
        "The host of this virtual machine ran {ran} of {cpus} CPUs at a time: figures of many cores at once \
         are what it gives, and vary with its other guests."
    )
}

impl<'a> RunFacts<'a> {
    /// Of a run with these options on this platform.
    pub fn new(args: &'a Measuring, topology: &'a Topology, found: &'a FoundPlatform) -> Self {
        Self {
            args,
            topology,
            found,
            machine: topo::environment::probe(),
            timer: engine::clock::measure(),
            within: None,
            host: None,
        }
    }

    /// Asks the host of a virtual machine for the CPUs of an experiment whose ranks are many at once, before
    /// it begins. On other machines nobody but this system takes time from a thread.
    pub fn ask_host(&mut self, experiment: &Experiment) {
        let at_once = experiment.figures.cases.iter().any(|case| case.order == Order::Simultaneous);
        let pus: BTreeSet<u32> = experiment.workers.iter().map(|worker| worker.pu).collect();
        if !at_once || pus.len() < MANY_AT_ONCE || !self.machine.is_virtual() {
            return;
        }
        let share = engine::host_share(pus);
        self.host = share.map(|share| (share, CpuTime::now()));
        self.machine.probes.extend(share.map(|share| Probe {
            name: "host.cpus_at_a_time".to_owned(),
            value: Some(ProbeValue::Number(share.at_a_time.round() as u64)),
            source: format!("threads on {} CPUs that read the clock for 30 ms", share.cpus),
            reason: None,
        }));
    }

    /// What is to be said of the run beside its figures, now that it has ended.
    pub fn remark(&self, document: &mut Document) {
        if document.exit_code.is_some() {
            self.say_if_over(document);
            let few = self.host_share().filter(|share| share.at_a_time < GIVEN * share.cpus as f64);
            document.verdict.extend(few.map(host_sentence));
        }
    }

    /// What the host gave: before the run, or in it by its steal time, if that is less.
    fn host_share(&self) -> Option<HostShare> {
        let (share, before) = self.host?;
        let given = before.zip(CpuTime::now()).and_then(|(before, now)| now.given_since(before));
        let in_run = given.map_or(f64::INFINITY, |given| given * share.cpus as f64);
        Some(HostShare { at_a_time: share.at_a_time.min(in_run), ..share })
    }

    /// Says of a run that it took longer than it was given.
    fn say_if_over(&self, document: &mut Document) {
        let Some(within) = self.within.map(|within| within.as_secs_f64()) else { return };
        if document.elapsed_s > within {
            let why = match document.status {
                Status::Complete => ": every case has one block at least, whatever that takes",
                _ => "",
            };
            document.verdict.push(format!(
                "This run took {:.1} s, {:.1} s more than --within {within} s{why}.",
                document.elapsed_s,
                document.elapsed_s - within
            ));
        }
    }

    /// Does something with what is known of an experiment.
    pub fn with_facts<T>(
        &self,
        experiment: &Experiment,
        origin: &Origin,
        then: impl FnOnce(&DocumentFacts) -> T,
    ) -> T {
        let Self { args, topology, found, machine, timer, .. } = self;
        let hosts = [topology.host()];
        let plan = &experiment.places;
        let local = Local { topology, found, machine, timer: *timer, plan, node: 0, hosts: &hosts };
        let places: Vec<usize> = plan.ranks.iter().map(|place| place.rank).collect();
        let (parts, platform, environment) = (local.parts(&places), local.platform(), local.environment());

        then(&DocumentFacts {
            command: experiment.command,
            settings: experiment.settings(args),
            figures: &experiment.figures,
            matrices: &experiment.matrices,
            known: &experiment.known,
            parts: &parts,
            platform: &platform,
            environment: &environment,
            launch: None,
            messages: warnings(&parts),
            origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_gives_less_than_all_is_not_said_to_give_all() {
        for (at_a_time, cpus, said) in
            [(3.6, 4, "ran 3.6 of 4"), (7.55, 8, "ran 7.5 of 8"), (15.1, 16, "ran 15 of 16")]
        {
            let sentence = host_sentence(HostShare { at_a_time, cpus });
            assert!(at_a_time < GIVEN * cpus as f64 && sentence.contains(said), "{sentence}");
        }
    }
}
