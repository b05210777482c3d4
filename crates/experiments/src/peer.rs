//! Copies from each GPU's memory to each other's and to its own, one way, both ways at once, all at once, and
//! how long the smallest takes.

use device::PlatformKind;
use pingpong::device_bytes;
use placement::Target;
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::columns::name_of;
use crate::driver::{Making, Measurement, chosen};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::options::{Measuring, PeerOptions};
use crate::outline::Outline;
use crate::peer_plan::{self, PeerPlan};
use crate::reach::Reach;

impl Measurement for PeerOptions {
    fn command(&self) -> &'static str {
        "peer"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets: available, source } = untouched;
        let targets = self.gpus(kind, available.clone())?;
        let columns = targets.iter().map(name_of).collect();
        let peers = PeerPlan::new(self, &survey.topology, targets, available)?;
        Ok(Outline {
            source,
            rows: Vec::new(),
            columns,
            figures: peers.figures_description(),
            max_time: peers.max_time(),
            how: Vec::new(),
        })
    }

    fn experiment(
        &self,
        survey: &Survey,
        found: &FoundPlatform,
        making: Making,
    ) -> Result<Experiment, Fault> {
        Ok(self.peers(survey, found)?.experiment(self, survey, found, making.reached))
    }

    fn reach(&self, survey: &Survey, found: &FoundPlatform) -> Result<Option<Reach>, Fault> {
        Ok(Some(self.peers(survey, found)?.reach()))
    }
}

impl PeerOptions {
    fn peers(&self, survey: &Survey, found: &FoundPlatform) -> Result<PeerPlan, Fault> {
        let available = backends::targets(&*found.platform);
        let targets = self.gpus(found.platform.facts().kind, available.clone())?;
        let least = targets.iter().filter_map(|target| device_bytes(&*found.platform, target.id)).min();
        let size = self.size.or(least.map(|bytes| (bytes / 8).min(peer_plan::SIZE)));
        PeerPlan::new(&Self { size, ..self.clone() }, &survey.topology, targets, available)
    }

    /// The GPUs asked for.
    fn gpus(&self, kind: PlatformKind, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
        let targets = chosen(self.measuring.gpus.as_ref(), available)?;
        if kind == PlatformKind::Host || targets.is_empty() {
            let what = "there is no GPU here; `numabench matrix` measures memory between NUMA nodes";
            return Err(Fault::new(Exit::Absent, what));
        }
        Ok(targets)
    }
}
